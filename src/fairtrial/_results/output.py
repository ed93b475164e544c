"""Where results go: a place that cannot be written to is noticed before any work starts."""

from __future__ import annotations

import os
from pathlib import Path

from fairtrial._errors import Fault, InputError


def check_output_file(who: str, path: str | os.PathLike[str]) -> Path:
    """The file's path; raise unless it can be written, without touching it."""
    target = Path(path)
    try:
        fault = _why_not(target)
    except OSError as error:  # a name that no file system takes
        fault = str(error.strerror)[:1].lower() + str(error.strerror)[1:]
    if fault is not None:
        raise InputError(
            who, Fault("", f"cannot write {str(path)!r}: {fault}", cure="Mend that, or choose another place")
        )
    return target


def _why_not(target: Path) -> str | None:
    """Why the file cannot be written."""
    folder = target.parent
    if target.is_dir():
        return "it is a folder"
    if target.exists():
        return None if os.access(target, os.W_OK) else "it may not be written over"
    if not folder.exists():
        return f"the folder {str(folder)!r} does not exist"
    if not folder.is_dir():
        return f"{str(folder)!r} is not a folder"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"the folder {str(folder)!r} may not be written to"
    return None


def make_output_folder(
    who: str, argument: str, path: str | os.PathLike[str], *, files: tuple[str, ...] = (), folders: tuple[str, ...] = ()
) -> Path:  # fmt: skip
    """The folder, made where it is not there; `files` and `folders` are what will be written inside."""
    target = Path(path)
    try:
        target.mkdir(parents=True, exist_ok=True)
        if not os.access(target, os.W_OK | os.X_OK):
            raise PermissionError(0, "it may not be written to")
    except OSError as error:
        cure = str(error.strerror)[:1].lower() + str(error.strerror)[1:]
        fault = Fault(argument, "must be a folder one can write to", got=str(path), cure=cure)
        raise InputError(who, fault) from None
    for name in folders:
        if (target / name).exists():
            make_output_folder(who, argument, target / name)
    for name in files:
        check_output_file(who, target / name)
    return target

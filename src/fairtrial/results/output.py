"""Where results go: a place that cannot be written to is noticed before any work starts."""

from __future__ import annotations

import os
from pathlib import Path

from fairtrial.errors import Fault, InputError


def check_output_file(who: str, path: str | os.PathLike[str]) -> Path:
    """The file's path; raise unless it can be written, without touching it."""
    target = Path(path)
    folder = target.parent
    fault = None
    if target.is_dir():
        fault = "it is a folder"
    elif target.exists():
        fault = None if os.access(target, os.W_OK) else "it may not be written over"
    elif not folder.exists():
        fault = f"the folder {str(folder)!r} does not exist"
    elif not folder.is_dir():
        fault = f"{str(folder)!r} is not a folder"
    elif not os.access(folder, os.W_OK | os.X_OK):
        fault = f"the folder {str(folder)!r} may not be written to"
    if fault is not None:
        raise InputError(who, Fault("", f"cannot write {str(path)!r}: {fault}"))
    return target


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

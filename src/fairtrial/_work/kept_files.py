"""Atomic writes, cache fingerprints, and a place for results that is checked before any work starts."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import threading
import uuid
from collections.abc import Iterator, Mapping
from collections.abc import Set as AnySet
from pathlib import Path
from typing import Any

from fairtrial._errors import Fault, InputError, NotWritten


def write_whole(path: Path, content: str | bytes, *, lasting: bool = True) -> None:
    """Write beside the target, then put in its place: a reader sees the old file or the new one.

    A `lasting` file is on the disk when the call returns. What is no plain file, such as a pipe, is written to itself.
    """
    data = content.encode() if isinstance(content, str) else content
    with writing(path):
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        target = path.resolve()  # a link stays a link
        # two threads may write one file at once
        partial = target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}.part")
        try:
            with partial.open("wb") as file:
                file.write(data)
                file.flush()
                if lasting:
                    os.fsync(file.fileno())
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """What the system has against writing there, as a fault."""
    try:
        yield
    except OSError as error:
        raise not_written("output", path, error) from None
    except InputError:
        raise
    except ValueError as error:  # a name that no file can have
        raise not_written("output", path, OSError(errno.EINVAL, str(error))) from None


def not_written(who: str, path: Path, error: OSError) -> NotWritten:
    """A file or folder that cannot be written, and why."""
    named = error.filename if isinstance(error.filename, str) else str(path)
    reason = str(error.strerror or error)
    return NotWritten(
        who,
        Fault(
            "",
            f"cannot write {named!r}: {reason[:1].lower()}{reason[1:]}",
            cure="Free that place or choose another",
        ),
    )


# -- Whether what was given is what was given before: kept work is taken up again only if it is.


def sameness(value: Any) -> str:
    """A hash of all that a value is, for finding kept work again.

    Numbers, texts, lists and tables of them count by content, arrays, dataframes and estimators (fitted or not) by
    every value in them. What a function answers cannot be seen from outside, so none equals another, nor itself.

    >>> sameness({"a": [1, 2.0]}) == sameness({"a": (1, 2.0)})
    True
    >>> sameness(len) == sameness(len)
    False
    """
    return hashlib.sha256(repr(_plain(value)).encode("utf-8", "backslashreplace")).hexdigest()


def _plain(value: Any) -> Any:
    """The value as texts and lists whose repr is whole."""
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return repr(value)
    if isinstance(value, Mapping):
        return "table", sorted((repr(_plain(key)), _plain(part)) for key, part in value.items())
    if isinstance(value, AnySet):
        return "set", sorted(repr(_plain(part)) for part in value)
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return type(value).__module__, type(value).__qualname__, _content(value)


def _content(value: Any) -> str:
    """A hash of an object's values; of what has none that can be compared, something that is never met again."""
    import joblib

    if not callable(value):
        try:
            return str(joblib.hash(value, hash_name="sha1"))
        except Exception:  # whatever an object raises on being read whole
            pass
    return uuid.uuid4().hex


# -- Where results go: a place that cannot be written to is noticed before any work starts.


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

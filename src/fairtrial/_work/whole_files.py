"""Files that are there whole or not at all; a disk that is full or read-only is a fault."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path

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

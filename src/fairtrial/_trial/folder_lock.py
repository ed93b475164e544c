"""One run at a time in a folder: a lock file with the process that holds it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from fairtrial._errors import Fault, InputError, Set, Words

NAME = ".lock"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder as long as the block runs; a lock whose process is gone is taken over."""
    path = folder / NAME
    if not _taken(path):
        holder = _holder(path)
        if holder is not None and _alive(holder):
            cure = Words("wait for it or choose another folder with {}", Set("out"))
            required = f"is used by another run (process {holder})"
            raise InputError("run", Fault("out", required, cure=cure, subject=f"the folder {folder}"))
        path.unlink(missing_ok=True)
        if not _taken(path):
            raise InputError(
                "run",
                Fault(
                    "out",
                    "was taken by another run just now",
                    subject=str(folder),
                    cure="wait for it, or name another folder",
                ),
            )
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _taken(path: Path) -> bool:
    """True when the lock file was made by this call."""
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return False
    try:
        with os.fdopen(handle, "w") as file:
            file.write(str(os.getpid()))
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return True


def _holder(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True

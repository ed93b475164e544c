"""The state of a watch on disk: lines that are only ever appended, each bound to the one before by a hash.

A line is `{"hash": …, "line": …}`; the hash is that of the line before and of the text of this one. A process that is
killed while it writes leaves at most a last line without its end, which is cut off at the next update. Anything else
that does not fit the hashes is damage, and refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from fairtrial._errors import Fault, InputError
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.sequential.streams import Streams
from fairtrial._metrics.groups import Group
from fairtrial._watch.monitor import PARTS, Cells, Monitor, cells_of
from fairtrial._watch.request import WatchRequest
from fairtrial._work import FileStore

WHO = "watch"
OPENING, MIDDLE = b'{"hash":"', b'","line":'
HASH_SIZE = 64
PATIENCE = 10.0  # seconds for which another writer is waited for


class StateFile:
    """An open, locked and verified state.

    Parameters
    ----------
    path : Path
        Where it lies.
    file : file
        Open for reading and appending.
    """

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self.path, self.file = path, file
        self.bodies: list[bytes] = []
        self.hashes: list[str] = [""]
        self.unfinished = False  # whether a write had been interrupted
        self._read()

    def _read(self) -> None:
        self.file.seek(0)
        *whole, rest = self.file.read().split(b"\n")
        for number, line in enumerate(whole, start=1):
            body = line[len(OPENING) + HASH_SIZE + len(MIDDLE) : -1]
            digest = _hash(self.hashes[-1], body)
            if line != _line(digest, body):
                raise damaged(
                    self.path, f"line {number} does not fit the hash it carries or the line before it"
                )
            self.bodies.append(body)
            self.hashes.append(digest)
        self.end = sum(len(line) + 1 for line in whole)
        self.unfinished = bool(rest)
        if not whole:
            self._check_beginning(rest)

    def _check_beginning(self, rest: bytes) -> None:
        """A state without a whole line is new only where nothing is there of it."""
        snapshot = self.path.with_name(f"{self._snapshot_key}.npz")
        kept = snapshot.exists()
        if rest or kept:
            why = "its first line is cut off" if rest else "it is empty"
            also = f", and {snapshot.name!r} beside it was made from more" if kept else ""
            cure = "Bring back a whole copy. To begin anew with the rows of all periods, delete "
            cure += "both files" if kept else "the file"
            raise InputError(WHO, Fault("state", f"{str(self.path)!r} is damaged: {why}{also}", cure=cure))

    def lines(self, start: int = 0) -> Iterator[dict[str, Any]]:
        """What the lines from a number on say."""
        for number, body in enumerate(self.bodies[start:], start=start + 1):
            try:
                content = json.loads(body)
            except (ValueError, RecursionError):
                raise damaged(self.path, f"line {number} is no JSON") from None
            yield content

    def append(self, content: Mapping[str, Any]) -> None:
        """One more line, on disk before this returns."""
        body = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        digest = _hash(self.hashes[-1], body)
        if self.unfinished:
            self.file.truncate(self.end)
            self.unfinished = False
        line = _line(digest, body) + b"\n"
        self.file.write(line)
        self.file.flush()
        os.fsync(self.file.fileno())
        self.end += len(line)
        self.bodies.append(body)
        self.hashes.append(digest)

    # -- the snapshot: saves replaying, and can always be made anew -----------------------------------------
    def load_snapshot(self) -> dict[str, Any] | None:
        """The arrays after some line of this file; None where there is no snapshot that fits."""
        found = FileStore(self.path.parent).load(self._snapshot_key)
        if found is None or "lines" not in found:
            return None
        lines = int(found["lines"])
        if lines > len(self.bodies):
            raise damaged(
                self.path,
                f"it has {len(self.bodies)} lines, its snapshot was made from {lines}: lines are lost",
            )
        return found if str(found["hash"]) == self.hashes[lines] else None

    def save_snapshot(self, arrays: Mapping[str, Any]) -> None:
        """Keep the arrays after the last line."""
        import numpy as np

        facts = {"lines": np.array(len(self.bodies)), "hash": np.array(self.hashes[-1])}
        FileStore(self.path.parent).save(self._snapshot_key, {**arrays, **facts})

    @property
    def _snapshot_key(self) -> str:
        return f"{self.path.name}.snapshot"


def _hash(previous: str, body: bytes) -> str:
    return hashlib.sha256(previous.encode() + body).hexdigest()


def _line(digest: str, body: bytes) -> bytes:
    return OPENING + digest.encode() + MIDDLE + body + b"}"


def damaged(path: Path, why: str) -> InputError:
    """The refusal of a state that cannot be trusted."""
    cure = "Bring back a whole copy, or begin a new one with the rows of all periods"
    return InputError(WHO, Fault("state", f"{str(path)!r} is damaged: {why}", cure=cure))


@contextmanager
def open_state(path: Path) -> Iterator[StateFile]:
    """The state, made where there is none, for this process alone until the end of the block."""
    try:
        if path.is_dir() or not path.parent.is_dir():
            required = "must be a file" if path.is_dir() else "must be in a folder that exists"
            raise InputError(WHO, Fault("state", required, got=str(path)))
        file = path.open("a+b")
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(
            WHO,
            Fault(
                "state",
                f"cannot be opened: {getattr(error, 'strerror', None) or error}",
                got=str(path),
                cure="name a file one can write to",
            ),
        ) from None
    with file:
        _lock(file, path)
        try:
            yield StateFile(path, file)
        finally:
            if path.stat().st_size == 0:
                path.unlink()  # nothing came of it: what was refused leaves nothing behind


def _lock(file: IO[bytes], path: Path) -> None:
    """Wait a little for another writer; the system frees the lock of a process that dies."""
    give_up = time.monotonic() + PATIENCE
    while not _try_lock(file):
        if time.monotonic() > give_up:
            required = f"{str(path)!r} is being written by another process"
            raise InputError(WHO, Fault("state", required, cure="wait for it and try again"))
        time.sleep(0.05)


def _try_lock(file: IO[bytes]) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


# -- A watch as arrays, floats bit for bit: what saves replaying the lines of its state.

VERSION = 2
FACTS = ("opening", "batches", "periods", "left_out", "crossed")
TABLES = ("history", "prompt", "later", "windows")


def to_arrays(monitor: Monitor) -> dict[str, Any]:
    """All that a watch remembers."""
    facts = {
        "version": VERSION,
        "groups": [group.where for group in monitor.groups],
        "waiting": {label: [_listed(part) for part in parts] for label, parts in monitor.waiting.items()},
        "prompt": list(monitor.prompt),
        "later": list(monitor.later),
        "windows": [window[:2] for window in monitor.windows],
        **{name: getattr(monitor, name) for name in FACTS},
    }
    tables = {
        "history": monitor.history,
        "prompt": list(monitor.prompt.values()),
        "later": list(monitor.later.values()),
        "windows": [window[2] for window in monitor.windows],
    }
    arrays: dict[str, Any] = {"facts": np.array(json.dumps(facts, allow_nan=False))}
    for name in PARTS:
        arrays |= {f"{name} {part}": values for part, values in getattr(monitor, name)._asdict().items()}
    for name in TABLES:
        arrays |= _stacked(name, tables[name])
    people = np.array(sorted(int(name, 16) for name in monitor.people), dtype=np.uint64)
    return {**arrays, "people": people, "sums": monitor.sums, "reference": monitor.reference}


def from_arrays(asked: WatchRequest, arrays: Mapping[str, Any]) -> Monitor | None:
    """The watch again; None from another version of the snapshot."""
    facts = json.loads(str(arrays["facts"]))
    if facts["version"] != VERSION:
        return None
    found = Monitor(asked)
    found.add_groups(
        Group(tuple((name, tuple(values)) for name, values in where)) for where in facts["groups"]
    )
    for name in FACTS:
        setattr(found, name, facts[name])
    for name in PARTS:
        setattr(found, name, Streams(*(arrays[f"{name} {part}"] for part in Streams._fields)))
    tables = {name: _separate(name, arrays) for name in TABLES}
    found.people = {f"{number:016x}" for number in arrays["people"].tolist()}
    found.waiting = {label: [cells_of(part) for part in parts] for label, parts in facts["waiting"].items()}
    found.history = tables["history"]
    found.prompt = dict(zip(facts["prompt"], tables["prompt"], strict=True))
    found.later = dict(zip(facts["later"], tables["later"], strict=True))
    found.windows = [(*ends, said) for ends, said in zip(facts["windows"], tables["windows"], strict=True)]
    found.sums, found.reference = arrays["sums"], arrays["reference"]
    return found


def _listed(cells: Cells) -> list[Any]:
    return [[list(key), *values.tolist()] for key, values in cells.items()]


def _stacked(name: str, tables: list[Floats]) -> dict[str, Any]:
    """Tables of different lengths one below the other, and their lengths."""
    lengths = np.array([len(table) for table in tables], dtype=np.int64)
    return {name: np.concatenate(tables) if tables else np.zeros((0, 1)), f"{name} lengths": lengths}


def _separate(name: str, arrays: Mapping[str, Any]) -> list[Floats]:
    return (
        np.split(arrays[name], np.cumsum(arrays[f"{name} lengths"])[:-1])
        if arrays[f"{name} lengths"].size
        else []
    )

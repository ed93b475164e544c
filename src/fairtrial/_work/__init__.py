"""Long loops: one seed gives the same numbers for any number of jobs, and nothing finished is lost.

Every permutation, bootstrap, refit or split loop goes through `map_batches`. The batch size is fixed by
the caller and never depends on `jobs`; batch i draws from a generator seeded by (seed, task name, i);
finished batches go into a store before the next ones start.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from fairtrial._errors import Cancelled, Fault, InputError
from fairtrial._work.kept_files import write_whole
from fairtrial._work.notebook import Progress as Progress
from fairtrial._work.notebook import notebook_bar
from fairtrial._work.notebook import time_left as time_left

COMPILING = "compiling, once: the machine code is kept for the next time"
Arrays = dict[str, NDArray[np.generic]]
Task = Callable[[range, np.random.Generator], Arrays]


def announce(text: str) -> bool:
    """Say why nothing seems to happen: to whoever shows the progress, else to a terminal or a notebook.

    Whether anybody was told.
    """
    progress = _session.get().progress
    if progress is not None:
        progress(Progress(text, 0, 0, 0.0))
    elif sys.stderr.isatty() or "ipykernel" in sys.modules:
        print(f"fairtrial: {text}", file=sys.stderr)
    else:
        return False
    return True


class BatchStore(Protocol):
    """Where finished batches are kept."""

    def load(self, key: str) -> Arrays | None: ...
    def save(self, key: str, arrays: Mapping[str, NDArray[np.generic]]) -> None: ...


class MemoryStore:
    """Keeps finished batches as long as the object lives."""

    def __init__(self) -> None:
        self.batches: dict[str, Arrays] = {}

    def load(self, key: str) -> Arrays | None:
        return self.batches.get(key)

    def save(self, key: str, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        self.batches[key] = dict(arrays)


class FileStore:
    """Keeps finished batches as .npz files behind a checksum (written whole or not at all, never pickled).

    The checksum is over the key and the content: a file that was shortened, edited or put in another's place is not
    read, its batch is computed again, and `damaged` counts it.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.damaged = 0

    def load(self, key: str) -> Arrays | None:
        try:
            content = (self.folder / f"{key}.npz").read_bytes()
        except OSError:
            return None
        check, arrays = content[:CHECK_SIZE], content[CHECK_SIZE:]
        if check == checksum(key, arrays):
            # none of ours looks otherwise; what somebody else wrote there may be anything
            with contextlib.suppress(Exception), np.load(io.BytesIO(arrays), allow_pickle=False) as stored:
                return {name: stored[name] for name in stored.files}
        self.damaged += 1
        return None

    def save(self, key: str, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        if any(values.dtype.hasobject for values in arrays.values()):
            raise TypeError("a batch may hold numbers and texts only, not Python objects")
        buffer = io.BytesIO()
        np.savez(buffer, **dict(arrays))  # type: ignore[arg-type]
        content = checksum(key, buffer.getvalue()) + buffer.getvalue()
        write_whole(self.folder / f"{key}.npz", content, lasting=False)


RESTARTS = 3  # of parallel workers that were killed
# Of this machine's processes, and of Dask: one batch killed too many, or after ten seconds not one is left.
WORKERS_GONE = frozenset({"BrokenProcessPool", "KilledWorker", "TimeoutError"})
CHECK_SIZE = hashlib.sha256().digest_size


def checksum(key: str, content: bytes) -> bytes:
    """A hash of what is kept and of the key it is kept under."""
    return hashlib.sha256(key.encode() + b"\0" + content).digest()


@dataclass(frozen=True, slots=True)
class Session:
    """What loops use when their caller names nothing else."""

    jobs: int = 1
    progress: Callable[[Progress], None] | None = None
    cancel: Callable[[], bool] | None = None
    store: BatchStore | None = field(default=None)


_session: ContextVar[Session] = ContextVar("fairtrial_session", default=Session())  # noqa: B039


@contextlib.contextmanager
def session(
    *,
    jobs: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    store: BatchStore | None = None,
) -> Iterator[Session]:
    """Set jobs, progress, cancel and store for every loop run inside the `with` block."""
    current = _session.get()
    chosen = replace(
        current,
        jobs=current.jobs if jobs is None else jobs,
        progress=progress or current.progress,
        cancel=cancel or current.cancel,
        store=store or current.store,
    )
    token = _session.set(chosen)
    try:
        yield chosen
    finally:
        _session.reset(token)


def generator(seed: int, name: str, index: int = 0) -> np.random.Generator:
    """The generator of batch `index` of the task `name`."""
    digest = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    return np.random.Generator(np.random.PCG64DXSM(np.random.SeedSequence([seed, digest, index])))


def map_batches(
    task: Task,
    n: int,
    *,
    name: str,
    seed: int,
    batch_size: int,
    key: str = "",
    jobs: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    store: BatchStore | None = None,
    prefer: Literal["threads", "processes"] = "threads",
) -> Arrays:
    """Run `task(range, generator)` over 0..n-1 in batches and return its arrays joined in order.

    `task` returns a dict of arrays whose first axis has the length of its range. `key` must name all
    that the numbers depend on (data digest and arguments), so that a store is never read for other work.

    >>> draws = map_batches(lambda part, random: {"x": random.normal(size=len(part))},
    ...                     10, name="example", seed=0, batch_size=4)
    >>> draws["x"].shape
    (10,)
    """
    check_seed(seed)
    if n < 1 or batch_size < 1:
        required = f"a loop needs at least one step and a positive batch size, got {n} and {batch_size}"
        raise InputError(name, Fault("", required))
    current = _session.get()
    jobs = current.jobs if jobs is None else jobs
    progress = progress or current.progress or notebook_bar()
    cancel = cancel or current.cancel
    store = store or current.store or MemoryStore()
    loop = _Loop(task, n, name, seed, batch_size, key, store, progress, cancel)
    return loop.run(max(1, jobs), prefer)


def check_seed(seed: object) -> None:
    """A seed is a whole number ≥ 0: it can be recorded and used again."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError("seed", Fault("seed", "must be a whole number of at least 0", got=seed))


@dataclass(slots=True)
class _Loop:
    task: Task
    n: int
    name: str
    seed: int
    batch_size: int
    key: str
    store: BatchStore
    progress: Callable[[Progress], None] | None
    cancel: Callable[[], bool] | None

    def run(self, jobs: int, prefer: str) -> Arrays:
        parts = [
            range(start, min(start + self.batch_size, self.n)) for start in range(0, self.n, self.batch_size)
        ]
        found = {
            i: arrays for i in range(len(parts)) if (arrays := self.store.load(self._key(i))) is not None
        }
        waiting = [i for i in range(len(parts)) if i not in found]
        started = time.monotonic()
        done = sum(len(parts[i]) for i in found)
        self._tell(done, started)
        for wave in _waves(waiting, jobs):
            if self.cancel is not None and self.cancel():
                raise Cancelled(f"{self.name}: stopped after {done} of {self.n}; finished batches are kept")
            for i, arrays in zip(wave, self._compute(wave, parts, jobs, prefer), strict=True):
                self.store.save(self._key(i), arrays)
                found[i] = arrays
                done += len(parts[i])
            self._tell(done, started)
        return {field: np.concatenate([found[i][field] for i in range(len(parts))]) for field in found[0]}

    def _compute(self, wave: list[int], parts: list[range], jobs: int, prefer: str) -> list[Arrays]:
        calls = [(parts[i], generator(self.seed, self.name, i)) for i in wave]
        if jobs == 1 or len(calls) == 1:
            return [self.task(*call) for call in calls]
        return self._together(calls, jobs, prefer)

    def _together(self, calls: list[Any], jobs: int, prefer: str) -> list[Arrays]:
        """The calls at once; workers that were killed are replaced, and in the end the calls are made here."""
        from joblib import Parallel, delayed

        for _ in range(RESTARTS):
            # Anew for each try: a generator that was used up to the kill must not go on from there.
            fresh = copy.deepcopy(calls)
            try:
                return list(Parallel(n_jobs=jobs, prefer=prefer)(delayed(self.task)(*call) for call in fresh))
            except Exception as error:
                if not WORKERS_GONE & {kind.__name__ for kind in type(error).__mro__}:
                    raise
        return [self.task(*call) for call in calls]

    def _key(self, index: int) -> str:
        identity = f"{self.name}|{self.key}|{self.seed}|{self.n}|{self.batch_size}|{index}"
        return hashlib.sha256(identity.encode()).hexdigest()[:32]

    def _tell(self, done: int, started: float) -> None:
        if self.progress is not None:
            self.progress(Progress(self.name, done, self.n, time.monotonic() - started))


def _waves(items: list[int], jobs: int) -> Iterator[list[int]]:
    """Batches started together; cancel is polled and results are stored between waves."""
    for start in range(0, len(items), jobs):
        yield items[start : start + jobs]

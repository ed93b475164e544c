"""Time several ways of doing the same work in one run, so that their ratio means something on any machine.

A benchmark is a file `bench_<part>.py` beside this one with `run(quick: bool) -> list[Row]`, and, where growth is
worth showing, `growth(quick: bool) -> list[Growth]`. benchmarks/run.py finds them all.
"""

from __future__ import annotations

import gc
import importlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Row:
    """One comparison. `ratio` = peer / ours, so above one we are ahead; `goal` is the ratio to reach."""

    name: str
    ours_seconds: float | None
    peer: str
    peer_seconds: float | None
    ratio: float | None
    goal: float
    met: bool | None
    note: str = ""
    unit: str = "s"

    @property
    def goal_text(self) -> str:
        if self.goal >= 1:
            return f"≥ {self.goal:g}×"
        return f"within {1 / self.goal:.3g}× of it"


@dataclass(frozen=True, kw_only=True)
class Growth:
    """Time against size on one axis (rows, groups, attributes, features); the slope is that of the log-log line."""

    name: str
    axis: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]

    @property
    def slope(self) -> float:
        x = [math.log(size) for size in self.sizes]
        y = [math.log(second) for second in self.seconds]
        mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
        spread = sum((a - mean_x) ** 2 for a in x)
        return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread


def within(times: float) -> float:
    """The goal "at most `times` as slow as the peer", as a ratio peer / ours."""
    return 1 / times


def interleaved(
    callables: Mapping[str, Callable[[], object]], repeats: int = 5, once: Sequence[str] = ()
) -> dict[str, float]:
    """The shortest time of each callable over `repeats` rounds in which they take turns.

    Each is called once before the rounds, so that compilation and caches are warm for all; those in `once` are
    too slow for that and run a single time in the first round. The shortest time is the one least disturbed by
    whatever else the machine does.
    """
    for name, call in callables.items():
        if name not in once:
            call()
    best = dict.fromkeys(callables, math.inf)
    for turn in range(repeats):
        for name, call in callables.items():
            if name in once and turn:
                continue
            best[name] = min(best[name], seconds(call))
    return best


def seconds(call: Callable[[], object]) -> float:
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start
    finally:
        gc.enable()


def compare(
    name: str,
    ours: Callable[[], object],
    peers: Mapping[str, tuple[Callable[[], object] | None, float]],
    *,
    repeats: int = 5,
    once: Sequence[str] = (),
    note: str = "",
) -> list[Row]:
    """One row per peer: {name: (callable, goal)}; a callable that is None stands for a peer that is missing."""
    callables = {"ours": ours} | {peer: call for peer, (call, _) in peers.items() if call is not None}
    times = interleaved(callables, repeats, once)
    rows = []
    for peer, (call, goal) in peers.items():
        if call is None:
            rows.append(missing(name, times["ours"], peer, goal))
        else:
            rows.append(row(name, times["ours"], peer, times[peer], goal, note=note))
    return rows


def row(
    name: str, ours: float, peer: str, theirs: float, goal: float, *, note: str = "", unit: str = "s"
) -> Row:
    ratio = theirs / ours
    return Row(
        name=name,
        ours_seconds=ours,
        peer=peer,
        peer_seconds=theirs,
        ratio=ratio,
        goal=goal,
        met=ratio >= goal,
        note=note,
        unit=unit,
    )


def limit(name: str, ours: float, most: float, *, note: str = "", unit: str = "s") -> Row:
    """A goal that is a plain limit: seconds, or with unit="MB" memory."""
    return row(name, ours, "limit", most, 1.0, note=note, unit=unit)


def missing(name: str, ours: float | None, peer: str, goal: float) -> Row:
    return Row(
        name=name,
        ours_seconds=ours,
        peer=peer,
        peer_seconds=None,
        ratio=None,
        goal=goal,
        met=None,
        note=f"{peer} does not install here",
    )


def peer(name: str) -> ModuleType | None:
    """A peer's module, or None where it is not installed or does not import."""
    try:
        return importlib.import_module(name)
    except Exception as problem:  # a peer may fail on import in any way it likes
        print(f"benchmarks: {name} is left out: {type(problem).__name__}: {problem}", file=sys.stderr)
        return None


def versions(names: Sequence[str]) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def in_subprocess(code: str, *arguments: str) -> dict[str, Any]:
    """Run `code` in a fresh interpreter: {"seconds", "peak_mb", "baseline_mb", "result"}.

    The code defines `prepare()`, whose memory is the baseline (imports), and `work()`, which is timed and may
    return something JSON can hold. Memory is the kernel's high-water mark of that process alone.
    """
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "work.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(code + _REPORT)
        done = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"benchmark process failed:\n{done.stderr}")
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


# VmHWM rather than ru_maxrss: the latter starts at the parent's memory after a vfork.
_REPORT = """

def _high_water_mb():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


if __name__ == "__main__":
    import json
    import time

    prepare()
    baseline = _high_water_mb()
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "peak_mb": _high_water_mb(), "baseline_mb": baseline, "result": result}))
"""

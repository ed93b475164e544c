"""Time several ways of doing the same work in one run, so that their ratio means something on any machine.

A benchmark is a file `bench_<part>.py` beside this one with `run(quick: bool) -> list[Row]`, and, where growth is
worth showing, `growth(quick: bool) -> list[Growth]`. benchmarks/run.py finds them all.
"""

from __future__ import annotations

import gc
import importlib
import json
import logging
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

LIMIT = "limit"  # stands as the peer where the goal is a plain number of seconds or megabytes

# A ratio may fall to this share of its goal before a check fails: other work on the machine moves ratios too, and
# plain limits more than those.
SLACK = 0.5
SLACK_OF_LIMITS = 0.25


@dataclass(frozen=True, kw_only=True)
class Row:
    """One comparison. `ratio` = peer / ours, so above one we are ahead; `goal` is the ratio to reach, if one is set.

    `least` is the ratio below which a check fails, for rows without a goal; None: such a row is only shown.
    """

    name: str
    ours_seconds: float | None
    peer: str
    peer_seconds: float | None
    ratio: float | None
    goal: float | None
    met: bool | None
    note: str = ""
    unit: str = "s"
    least: float | None = None

    @property
    def goal_text(self) -> str:
        if self.goal is None:
            return "–"
        if self.peer == LIMIT:
            return f"≤ {amount(self.peer_seconds, self.unit)}"
        if self.goal >= 1:
            return f"≥ {self.goal:g}×"
        return f"within {1 / self.goal:.3g}× of it"

    @property
    def floor(self) -> float | None:
        """The ratio that a check insists on."""
        if self.goal is None:
            return self.least
        return (SLACK_OF_LIMITS if self.peer == LIMIT else SLACK) * self.goal


@dataclass(frozen=True, kw_only=True)
class Growth:
    """Time (or memory, by its unit) against size on one axis: rows, groups, attributes, coalitions."""

    name: str
    axis: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    unit: str = "s"

    @property
    def slope(self) -> float:
        """Of the line through all points, both axes logarithmic: 1 is proportional, 0 is constant."""
        x = [math.log(size) for size in self.sizes]
        y = [math.log(second) for second in self.seconds]
        mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
        spread = sum((a - mean_x) ** 2 for a in x)
        return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread

    @property
    def last_slope(self) -> float:
        """Of the last step alone, where fixed costs weigh least."""
        return math.log(self.seconds[-1] / self.seconds[-2]) / math.log(self.sizes[-1] / self.sizes[-2])


def amount(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    if unit != "s":
        return f"{value:,.0f} {unit}"
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.3g} ms"


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
    peers: Mapping[str, tuple[Callable[[], object] | None, float | None]],
    *,
    repeats: int = 5,
    once: Sequence[str] = (),
    note: str = "",
    least: float | None = None,
) -> list[Row]:
    """One row per peer: {name: (callable, goal)}; a callable that is None stands for a peer that is missing.

    `least` is what a check insists on for peers without a goal.
    """
    callables = {"ours": ours} | {peer: call for peer, (call, _) in peers.items() if call is not None}
    times = interleaved(callables, repeats, once)
    rows = []
    for peer, (call, goal) in peers.items():
        if call is None:
            rows.append(missing(name, times["ours"], peer, goal))
        else:
            rows.append(row(name, times["ours"], peer, times[peer], goal, note=note, least=least))
    return rows


def row(
    name: str,
    ours: float,
    peer: str,
    theirs: float,
    goal: float | None,
    *,
    note: str = "",
    unit: str = "s",
    least: float | None = None,
) -> Row:
    ratio = theirs / ours
    return Row(
        name=name,
        ours_seconds=ours,
        peer=peer,
        peer_seconds=theirs,
        ratio=ratio,
        goal=goal,
        met=None if goal is None else ratio >= goal,
        note=note,
        unit=unit,
        least=least,
    )


def limit(name: str, ours: float, most: float, *, note: str = "", unit: str = "s") -> Row:
    """A goal that is a plain limit: seconds, or with unit="MB" memory."""
    return row(name, ours, LIMIT, most, 1.0, note=note, unit=unit)


def alone(name: str, ours: float, *, most: float, note: str = "", unit: str = "s") -> Row:
    """A time without a goal and without a peer; a check fails when it is over `most`."""
    shown = row(name, ours, "–", most, None, note=note, unit=unit, least=1.0)
    return replace(shown, peer_seconds=None)


def missing(name: str, ours: float | None, peer: str, goal: float | None) -> Row:
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
    """A peer's module, or None where it is not installed or does not import.

    What a peer logs about its own optional dependencies is not news here.
    """
    logging.disable(logging.WARNING)
    try:
        return importlib.import_module(name)
    except Exception as problem:  # a peer may fail on import in any way it likes
        print(f"benchmarks: {name} is left out: {type(problem).__name__}: {problem}", file=sys.stderr)
        return None
    finally:
        logging.disable(logging.NOTSET)


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
        script = os.path.join(folder, "_work.py")
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

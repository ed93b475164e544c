"""`make soak`: a scan and a search on a cluster whose workers and whose main process are killed at random.

Each run is taken up again until it ends; its numbers must be those of a run that nobody disturbed, on one process.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from properties.engines import equal
from properties.random_tables import Generator

SPEC = """\
[data]
dataset = "compas"
outcome = "two_year_recid"
score = "decile_score"
threshold = 5
groups = ["race", "sex"]
features = ["age", "priors_count", "sex", "c_charge_degree"]
bins = {{ juv_other_count = [1, 3] }}

[scan]
metric = "fpr"
protected = {{ race = "African-American" }}
features = ["sex", "age_cat", "priors_count", "c_charge_degree", "juv_misd_count", "juv_other_count"]
permutations = {draws}

[improve]
metric = "fpr"
keep = "accuracy"
by = [{{ race = "African-American" }}, {{ race = "Caucasian" }}]
margin = {{ everyone = 0.02 }}
candidates = "{candidates}"
splits = {splits}
bootstrap = 500
"""
LONG = SPEC.format(draws=10_000, candidates="frontier", splits=3)
SHORT = SPEC.format(draws=999, candidates="decile_score", splits=3).replace(
    'candidates = "decile_score"\nsplits = 3',
    'candidates = { fixed = "decile_score" }\nconstraints = { capacity = 0.4 }',
)
WORKERS = 0.7  # the share of kills that hit a worker
MOST_OF_MAIN = 6  # kills of the main process before a run may end
LONGEST = 900.0  # seconds that an undisturbed rest of a run may take


@dataclass(slots=True)
class Soaked:
    """What was done and what went wrong."""

    runs: int = 0
    workers: int = 0
    mains: int = 0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.runs} runs, {self.workers} workers and {self.mains} main processes killed, "
            f"{len(self.wrong)} runs with other numbers"
        )


def soak(seed: int, seconds: float, folder: Path, spec: str = LONG, most_runs: int = 10_000) -> Soaked:
    """Runs one after the other until the time is over; the last one is left to end."""
    done = Soaked()
    whole = folder / "whole"
    clock = time.monotonic()
    if _start(whole, spec, "--jobs", "1").wait() != 0:
        raise RuntimeError("the run that nobody disturbed did not end well")
    usual = time.monotonic() - clock
    expected = _results(whole)
    end = time.monotonic() + seconds
    while time.monotonic() < end and done.runs < most_runs:
        place = folder / f"run-{done.runs}"
        code = _Disturbed(place, spec, np.random.default_rng([seed, done.runs]), usual).run(done, end)
        done.runs += 1
        if code != 0:
            said = (place / "said.txt").read_text(errors="replace")[-2000:]
            done.wrong.append(f"seed {seed}, run {done.runs}: ended with {code}: {said}")
        elif not equal(_results(place), expected, tolerance=1e-12):
            done.wrong.append(f"seed {seed}, run {done.runs}: not the numbers of an undisturbed run")
        shutil.rmtree(place, ignore_errors=True)
        print(f"soak: {done}", flush=True)
    return done


class _Disturbed:
    """One run on a cluster of this machine, and who is killed in it."""

    def __init__(self, place: Path, spec: str, random: Generator, usual: float) -> None:
        self.place, self.spec, self.random = place, spec, random
        self.wait = usual / 4  # between two kills, on average
        self.process = self._begin()

    def run(self, done: Soaked, end: float) -> int:
        """Kill until it ends, or until its main process was killed often enough and the time is over."""
        mains = 0
        while (code := self._pause()) is None:
            if time.monotonic() > end + LONGEST:
                self._clear()
                return -1
            victims = workers_of(self.process.pid)
            if self.random.random() < WORKERS:
                done.workers += _killed(victims[self.random.integers(len(victims))]) if victims else 0
            elif mains < MOST_OF_MAIN and time.monotonic() < end and self.process.poll() is None:
                mains += 1
                done.mains += 1
                self._clear()
                self.process = self._begin()
        self._clear()
        return code

    def _pause(self) -> int | None:
        """Until the next kill, or the code the run ended with."""
        try:
            return self.process.wait(timeout=float(self.random.exponential(self.wait)) + 0.05)
        except subprocess.TimeoutExpired:
            return None

    def _begin(self) -> subprocess.Popen[bytes]:
        return _start(self.place, self.spec, "--parallel", "dask", "--jobs", "2")

    def _clear(self) -> None:
        """The main process first, by itself; then what it has left behind."""
        group = self.process.pid  # of a session of its own
        _killed(group)
        self.process.wait()
        time.sleep(0.2)
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            return


def workers_of(parent: int) -> list[int]:
    """The worker processes that a main process has made, by what the kernel tells."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            above = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            command = (folder / "cmdline").read_bytes()
        except (OSError, ValueError):
            continue
        if above == parent and b"spawn_main" in command:
            found.append(int(folder.name))
    return sorted(found)


def _killed(process: int) -> int:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return 0
    return 1


def _start(place: Path, spec: str, *more: str) -> subprocess.Popen[bytes]:
    """A run in a session of its own, which goes on with what an earlier one has kept there."""
    place.mkdir(exist_ok=True)
    (place / "audit.toml").write_text(spec, encoding="utf-8")
    command = [sys.executable, "-m", "fairtrial", "run", "audit.toml", "--out", "out", "--resume", *more]
    with (place / "said.txt").open("ab") as said:
        return subprocess.Popen(command, cwd=place, stdout=said, stderr=said, start_new_session=True)


def _results(place: Path) -> dict[str, Any]:
    """All but what tells of the run itself."""
    content: dict[str, Any] = json.loads((place / "out" / "results.json").read_text(encoding="utf-8"))
    return {name: part for name, part in content.items() if name not in ("run", "notes", "spec")}

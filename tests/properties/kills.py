"""Runs that are killed at random moments, their kept files damaged: taken up again, the answers are the same."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from properties.engines import equal
from properties.random_tables import Generator
from properties.tally import Tally

SPEC = """\
[data]
dataset = "compas"
outcome = "two_year_recid"
score = "decile_score"
threshold = 5
groups = ["race", "sex"]
bins = { priors_count = [1, 4, 10] }

[measure]
metric = ["fpr", "mean_score"]

[flag]
metric = "fpr"
depth = 2

[scan]
metric = "fpr"
protected = { race = "African-American" }
features = ["sex", "age_cat", "priors_count", "c_charge_degree"]
permutations = 4999

[transport]
metric = "equalized_odds"
by = "sex"
"""
EACH = 4  # kills of one run before it may end


def fuzz_kills(seed: int, count: int, folder: Path) -> Tally:
    """Kill `count` times with a signal that nothing can answer; two of three times a kept file is damaged, too."""
    tally = Tally()
    whole = folder / "whole"
    clock = time.monotonic()
    _start(whole).wait()
    seconds = time.monotonic() - clock
    expected = _results(whole)
    for first in range(0, count, EACH):
        place = folder / f"run-{first}"
        for index in range(first, min(first + EACH, count)):
            random = np.random.default_rng([seed, 5, index])
            process = _start(place)
            time.sleep(float(random.uniform(0.1, 0.95)) * seconds)
            process.kill()
            process.wait()
            if random.random() < 2 / 3:
                damage(place / "out" / ".unfinished", random)
        code = _start(place).wait()
        tally.answered += min(EACH, count - first)
        tally.checked += min(EACH, count - first)
        tally.numbers += _numbers(expected) * min(EACH, count - first)
        if code != 0:
            tally.wrong.append(f"seed {seed}, kills from {first}: the run ended with {code}")
        elif not equal(_results(place), expected, tolerance=1e-12):
            tally.wrong.append(f"seed {seed}, kills from {first}: not the answers of an undisturbed run")
        shutil.rmtree(place)
    return tally


def damage(folder: Path, random: Generator) -> None:
    """Shorten, flip a bit of, edit a digit of, or exchange one of the kept files."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if not files:
        return
    path, other = (files[random.integers(len(files))] for _ in range(2))
    content = bytearray(path.read_bytes() or b"0")
    place = int(random.integers(len(content)))
    kind = random.integers(4)
    if kind == 0:
        content = content[:place]
    elif kind == 1:
        content[place] ^= 1 << int(random.integers(8))
    elif kind == 2:
        digits = [spot for spot, byte in enumerate(content) if 48 <= byte <= 57] or [place]
        content[digits[random.integers(len(digits))]] = 48 + int(random.integers(10))
    else:
        content = bytearray(other.read_bytes())
    path.write_bytes(bytes(content))


def _start(place: Path) -> subprocess.Popen[bytes]:
    """A run in the folder, which goes on with what an earlier one has kept there."""
    place.mkdir(exist_ok=True)
    (place / "audit.toml").write_text(SPEC, encoding="utf-8")
    command = [sys.executable, "-m", "fairtrial", "run", "audit.toml", "--out", "out", "--resume"]
    return subprocess.Popen(command, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _numbers(content: Any) -> int:
    inside = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    return isinstance(content, float) + sum(map(_numbers, inside))


def _results(place: Path) -> dict[str, Any]:
    """All but what tells of the run itself; what was damaged is among the notes."""
    content: dict[str, Any] = json.loads((place / "out" / "results.json").read_text(encoding="utf-8"))
    return {name: part for name, part in content.items() if name not in ("run", "notes")}

"""Two years of weekly decisions, watched from the first week: a drift that was planted is found and dated.

COMPAS scores and outcomes, drawn anew each week; who belongs to which group is drawn too: no group differs. From
week 60 on, in the second run, one group's scores are a decile and a half higher than they should be. The first run is
left as it is and stays silent.

    python examples/watch/two_years.py [folder]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import fairtrial

WEEKS, DRIFT, ROWS = 104, 60, 400


def week_of(number: int, people: pd.DataFrame, *, drift: bool) -> pd.DataFrame:
    """The people of one week."""
    random = np.random.default_rng([2026, number])
    frame = people.iloc[random.integers(0, len(people), ROWS)].reset_index(drop=True)
    frame["race"] = random.choice(["African-American", "Caucasian", "Hispanic"], ROWS, p=[0.5, 0.35, 0.15])
    if drift and number >= DRIFT:
        frame["decile_score"] += 1.5 * (frame["race"] == "African-American")
    return frame.assign(week=f"{2025 + (number - 1) // 52}-W{(number - 1) % 52 + 1:02d}")


def two_years(state: Path, *, drift: bool) -> fairtrial.WatchResult:
    """One look every week; the state file is all that is kept from week to week."""
    people = fairtrial.load("compas", backend="pandas")[["decile_score", "two_year_recid"]]
    said = ""
    for number in range(1, WEEKS + 1):
        audit = fairtrial.Audit(
            week_of(number, people, drift=drift), outcome="two_year_recid", score="decile_score", threshold=5,
            groups="race",
        )  # fmt: skip
        result = fairtrial.watch(
            str(state), audit, "fpr", period="week", tolerance=0.05, reference=["2025-W01", "2025-W26"]
        )
        if result.verdict.code != said:
            print(f"{result.details['last_period']}: {result.verdict.text}\n")
            said = result.verdict.code
    return result


def main(folder: Path) -> dict[str, fairtrial.WatchResult]:
    """Both runs; the status page of each is written beside its state."""
    results = {}
    for name, drift in (("without drift", False), ("with drift", True)):
        print(f"== {name}")
        results[name] = two_years(folder / f"{name.replace(' ', '-')}.jsonl", drift=drift)
        print(results[name], "\n")
        results[name].plot(str(folder / f"{name.replace(' ', '-')}.html"))
    return results


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()))

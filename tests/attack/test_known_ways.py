"""Ways around `--publish` that are known and told in docs/threat-model.md: a test fails until its way is closed."""

from __future__ import annotations

from itertools import product
from typing import Any

import pandas as pd
import pytest

import fairtrial

pytestmark = pytest.mark.filterwarnings("ignore::fairtrial.FairtrialWarning")


def release(counts: dict[tuple[str, int], int]) -> dict[str, tuple[int, float]]:
    """People and rate of each group, as published."""
    rows = [key for key, count in counts.items() for _ in range(count)]
    frame = pd.DataFrame(rows, columns=["g", "d"])
    spec: dict[str, Any] = {
        "data": {"source": "x.csv", "decision": "d", "groups": ["g"]},
        "measure": {"metric": "selection_rate"},
        "run": {"publish": True},
    }
    rows_of = fairtrial.run(spec, data=frame).to_dict()["sections"][0]["result"]["estimates"]
    return {row["group"]: (row["n"], row["rate"]) for row in rows_of}


@pytest.mark.xfail(strict=True, reason="no account is kept over releases: the newcomer's decision is told")
def test_one_person_more_between_two_releases_is_not_told() -> None:
    counts = {("a", 1): 120, ("a", 0): 280, ("b", 1): 200, ("b", 0): 200}
    before = release(counts)
    right = 0
    for newcomer in product("ab", (0, 1)):
        after = release({**counts, newcomer: counts[newcomer] + 1})
        fits = [
            guess
            for guess in product("ab", (0, 1))
            if all(
                after[group][0] == before[group][0] + (group == guess[0])
                and abs(after[group][1] - _rate(counts, guess, group)) < 1e-3
                and (group != guess[0] or (after[group][1] > before[group][1]) == (guess[1] == 1))
                for group in "ab"
            )
        ]
        right += fits == [newcomer]
    assert right < 4


def _rate(counts: dict[tuple[str, int], int], guess: tuple[str, int], group: str) -> float:
    """The rate of a group if the guess is the newcomer."""
    yes = counts[group, 1] + (guess == (group, 1))
    return yes / (yes + counts[group, 0] + (guess == (group, 0)))

"""Of very many rows transport counts those that are alike: every number is that of the rows themselves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairtrial as ft
from fairtrial import Audit
from inside.transport import Nearest

RUN = {"data", "notes", "provenance"}


def people(n: int = 900, grid: int = 16) -> pd.DataFrame:
    random = np.random.default_rng(11)
    race, sex = random.choice(["A", "B", "C"], n), random.choice(["F", "M"], n)
    score = np.clip(random.normal(0.5 - 0.08 * (race == "B") + 0.05 * (sex == "F"), 0.2, n), 0.02, 0.98)
    score = np.round(score * grid) / grid if grid else score
    outcome = (random.random(n) < score).astype(float)
    return pd.DataFrame(
        {"race": race, "sex": sex, "s": score, "y": outcome, "region": random.choice(["N", "S"], n)}
    )


def both(monkeypatch: pytest.MonkeyPatch, make: Any, *arguments: Any, **options: Any) -> tuple[Any, Any]:
    """The result from rows, and from counts."""
    rows = ft.transport(make(), *arguments, **options)
    monkeypatch.setattr("fairtrial._audit.columns.MOST_ROWS", 100)
    counted = ft.transport(make(), *arguments, **options)
    assert "score-cells" in [note.code for note in counted.notes]
    assert "score-cells" not in [note.code for note in rows.notes]
    return rows, counted


def same(first: Any, second: Any) -> None:
    """Equal up to the rounding of sums taken in another order."""
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        for key in first:
            same(first[key], second[key])
    elif isinstance(first, list | tuple):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            same(one, other)
    elif isinstance(first, float) and math.isfinite(first):
        assert second == pytest.approx(first, rel=1e-9, abs=1e-9)
    else:
        assert first == second


@pytest.mark.parametrize(
    ("criterion", "options"),
    [
        ("statistical_parity", {"by": "race"}),
        ("equal_opportunity", {"by": "race"}),
        ("equalized_odds", {"by": "race"}),
        ("equalized_odds", {"by": "sex", "tolerance": 0.02}),
        ("statistical_parity", {"by": ["race", "sex"]}),
        ("statistical_parity", {"by": ["race", "sex"], "tolerance": 0.01, "direction": "below"}),
        ("statistical_parity", {"by": "race", "distance": "log-odds"}),
        ("conditional_statistical_parity", {"by": "sex", "within": "region"}),
        ("statistical_parity", {"by": [{"race": "A"}, {"race": "B"}]}),
    ],
)  # fmt: skip
def test_counts_give_the_numbers_of_rows(
    criterion: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = people()

    def make() -> Audit:
        return Audit(frame, outcome="y", score="s", threshold=0.5, groups=["race", "sex"])

    rows, counted = both(monkeypatch, make, criterion, **options)
    found, other = (
        {key: part for key, part in result.to_dict().items() if key not in RUN} for result in (rows, counted)
    )
    same(found, other)
    assert rows.details["moved"] > 0
    with pytest.raises(ft.InputError, match="no plan"):
        counted.transport_plan()


def test_missing_values_are_left_out_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = people()
    frame.loc[::7, "y"] = np.nan

    def make() -> Audit:
        return Audit(frame, outcome="y", score="s", threshold=0.5, groups="race", missing="drop")

    rows, counted = both(monkeypatch, make, "statistical_parity")
    same(list(rows.estimates), list(counted.estimates))


def test_decisions_without_a_score_are_counted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = people().assign(d=lambda rows: (rows["s"] >= 0.5).astype(int))

    def make() -> Audit:
        return Audit(frame, decision="d", outcome="y", groups="race")

    rows, counted = both(monkeypatch, make, "equalized_odds")
    same(list(rows.estimates), list(counted.estimates))
    same(rows.details["p_value"], counted.details["p_value"])


def test_rows_are_read_where_each_has_a_score_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairtrial._audit.columns.MOST_ROWS", 100)
    monkeypatch.setattr("fairtrial._transport.criterion.MOST_SCORES", 50)
    audit = Audit(people(grid=0), outcome="y", score="s", threshold=0.5, groups="race")
    result = ft.transport(audit, "statistical_parity")
    assert "score-cells" not in [note.code for note in result.notes]
    assert result.transport_plan().size == 900


def test_nearest_stands_for_the_repeated_distances() -> None:
    """Against the array that it stands for."""
    random = np.random.default_rng(5)
    values, count = np.sort(random.random(12)), random.integers(1, 6, 12)
    one_each, counted = Nearest(np.repeat(values, count)), Nearest(values, count)
    assert one_each.size == counted.size == count.sum()
    places = range(counted.size)
    assert [one_each.at(place) for place in places] == [counted.at(place) for place in places]
    for side in ("left", "right"):
        points = np.concatenate([values, random.random(9), [-1.0, 2.0]])
        assert one_each.below(points, side).tolist() == counted.below(points, side).tolist()
    rows = np.concatenate([np.arange(counted.size + 2), random.random(20) * counted.size])
    np.testing.assert_allclose(one_each.paid(rows), counted.paid(rows), rtol=1e-13, atol=1e-13)
    brute = [float(np.repeat(values, count)[: int(n)].sum()) for n in np.arange(counted.size + 1)]
    np.testing.assert_allclose(counted.paid(np.arange(counted.size + 1)), brute, rtol=1e-13, atol=1e-13)

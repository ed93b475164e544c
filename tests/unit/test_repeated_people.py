"""People with several rows: what each method makes of `unit=`, and that a unit of one row each changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairtrial as ft
from fairtrial.errors import NotApplicable


def decisions(people: int = 60, each: int = 5, seed: int = 4) -> pd.DataFrame:
    """Several decisions of each person, who is in one group for good; the first two groups differ."""
    random = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), each)
    group = np.array(["a", "b", "c"])[person % 3]
    own = np.clip(0.35 + 0.2 * random.normal(size=people), 0.05, 0.9)[person] + 0.25 * (group == "b")
    score = np.clip(own + 0.3 * random.normal(size=person.size), 0, 1)
    outcome = (random.random(person.size) < 0.5).astype(int)
    return pd.DataFrame(
        {
            "g": group,
            "person": person,
            "row": range(person.size),
            "s": score,
            "d": (score > 0.5).astype(int),
            "y": outcome,
        }
    )


def numbers(result: Any) -> list[dict[str, Any]]:
    return [dict(row) for row in result.estimates]


# -- transport ----------------------------------------------------------------------------------------------------
def transport(unit: str | None, groups: str = "ab", **options: Any) -> ft.TransportResult:
    frame = decisions()
    audit = ft.Audit(frame[frame["g"].isin(list(groups))], score="s", threshold=0.5, groups="g", unit=unit)
    return ft.transport(audit, "statistical_parity", **options)


def test_transport_tests_the_gap_that_measure_states() -> None:
    frame = decisions()
    audit = ft.Audit(frame[frame["g"] != "c"], score="s", threshold=0.5, groups="g", unit="person")
    result = ft.transport(audit, "statistical_parity", target={"g": "a"})
    measured = next(
        row
        for row in ft.measure(audit, "selection_rate", target={"g": "a"}, minimum=2).estimates
        if row["group"] == "b"
    )
    row = next(row for row in result.estimates if row["group"] == "b")
    assert result.details["p_value"] == pytest.approx(measured["p_value"], rel=1e-9)
    for name in ("n", "target_n", "rate", "difference", "difference_low", "difference_high"):
        assert row[name] == pytest.approx(measured[name]), name
    assert row["n"] == 20, "people, not rows"
    assert any(note.code == "repeated-people" for note in result.notes)


def test_transport_with_a_unit_of_one_row_each_is_plain() -> None:
    plain, alone = transport(None, "abc"), transport("row", "abc")
    assert numbers(plain) == numbers(alone)
    assert plain.details["p_value"] == alone.details["p_value"]


def test_transport_moves_the_same_rows_whoever_they_belong_to() -> None:
    plain, together = transport(None, "abc"), transport("person", "abc")
    assert plain.details["moved"] == together.details["moved"]
    assert together.details["p_value"] > plain.details["p_value"]
    for options in ({"tolerance": 0.05}, {"tolerance": 0.05, "direction": "above"}):
        assert 0 < transport("person", "abc", **options).details["p_value"] <= 1


def test_transport_says_what_it_cannot_honour() -> None:
    with pytest.raises(NotApplicable, match="'paper' takes every row for a person of its own"):
        transport("person", calibration="paper")
    frame = decisions().assign(w=1.5)
    with pytest.raises(NotApplicable, match="'weight' is not honoured by"):
        ft.transport(ft.Audit(frame, score="s", threshold=0.5, groups="g", weight="w"), "statistical_parity")

"""The strongest finding in people, from the harmed side; sections that compare with others say so."""

from __future__ import annotations

from typing import Any

import pytest

import fairtrial
from inside.trial import build_page

CAUCASIAN = {"race": "Caucasian"}


def page(favourable: int | None, target: object = CAUCASIAN) -> dict[str, Any]:
    data = {
        "dataset": "compas", "outcome": "two_year_recid", "score": "decile_score", "threshold": 5, "groups": ["race"],
    }  # fmt: skip
    if favourable is not None:
        data["favourable"] = favourable
    trial = fairtrial.run(
        {
            "data": data,
            "measure": {"metric": ["fpr"], "target": target},
            "flag": {"metric": "fpr"},
        }
    )
    return build_page(trial.to_dict())


def headline(shown: dict[str, Any]) -> str:
    return "".join(piece["text"] for piece in shown["first"]["headline"])


@pytest.fixture(scope="module")
def harmful() -> dict[str, Any]:
    return page(0)


def test_the_strongest_finding_is_told_in_people(harmful: dict[str, Any]) -> None:
    told = headline(harmful)
    assert told.startswith("Of people whose two_year_recid is 0, 45 of 100 African-American people")
    assert (
        "have a decile_score of 5 or more, against 23 of 100 Caucasian people" in told or "100 others" in told
    )


def test_other_targets_are_named(harmful: dict[str, Any]) -> None:
    measured, flagged = harmful["sections"]
    assert measured["beside"] == "", "told once, where the second target comes"
    assert flagged["beside"].startswith("Here groups are compared with everyone else")
    assert "with race: Caucasian" in flagged["beside"] or "with Caucasian" in flagged["beside"]


def test_sections_that_agree_say_nothing() -> None:
    shown = page(0, "rest")
    assert [section["beside"] for section in shown["sections"]] == ["", ""]


def test_rates_are_told_where_nothing_was_found() -> None:
    trial = fairtrial.run(
        {
            "data": {"dataset": "ricci", "decision": "passed", "groups": ["position"]},
            "measure": {"metric": "selection_rate"},
        }
    )
    told = headline(build_page(trial.to_dict()))
    assert told.endswith("44 of 100 people with position = Lieutenant. That may be chance.")

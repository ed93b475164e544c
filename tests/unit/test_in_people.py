"""Findings told in people, from the harmed side."""

from __future__ import annotations

import pytest

from fairtrial import METRICS, Metric
from inside.trial import in_people

RISK = {"outcome": "reoffended", "score": "risk", "threshold": 5}
HIRED = {"decision": "hired", "outcome": "stayed", "positive": {"decision": "yes"}}
BOTH = (("race: Black", 0.4485), ("race: White", 0.2345))


@pytest.mark.parametrize(
    ("metric", "roles", "text"),
    [
        ("fpr", RISK, "Of people whose reoffended is 0, 45 of 100 in race: Black have a risk of 5 or more, against "
                      "23 of 100 in race: White."),
        ("fnr", RISK, "Of people whose reoffended is 1, 45 of 100 in race: Black have a risk below 5, against 23 of "
                      "100 in race: White."),
        ("ppv", RISK, "Of people who have a risk of 5 or more, 45 of 100 in race: Black have reoffended = 1, against "
                      "23 of 100 in race: White."),
        ("selection_rate", HIRED, "45 of 100 in race: Black have hired = yes, against 23 of 100 in race: White."),
        ("npv", HIRED, "Of people who have hired = not yes, 45 of 100 in race: Black have stayed = 0, against 23 of "
                       "100 in race: White."),
        ("error_rate", HIRED, "45 of 100 in race: Black were decided wrongly, against 23 of 100 in race: White."),
    ],
)  # fmt: skip
def test_the_sentence(metric: str, roles: dict, text: str) -> None:
    assert in_people(METRICS[metric], roles, BOTH) == text


@pytest.mark.parametrize(
    ("rates", "text"),
    [
        ((0.012, 0.03), "1 of 100 in a have hired = yes, against 3 of 100 in b"),
        ((0.0012, 0.003), "1 of 1,000 in a have hired = yes, against 3 of 1,000 in b"),
        ((0.501, 0.504), "501 of 1,000 in a have hired = yes, against 504 of 1,000 in b"),
        ((0.0, 0.2), "0 of 100 in a have hired = yes, against 20 of 100 in b"),
        ((1.0, 0.999), "1,000 of 1,000 in a have hired = yes, against 999 of 1,000 in b"),
        ((0.5, 0.5), "50 of 100 in a have hired = yes, against 50 of 100 in b"),
    ],
)
def test_how_many_people_it_takes(rates: tuple[float, float], text: str) -> None:
    said = in_people(METRICS["selection_rate"], HIRED, (("a", rates[0]), ("b", rates[1])))
    assert said == f"{text}."


def test_means_are_not_told_in_people() -> None:
    assert in_people(METRICS["mean_score"], RISK, BOTH) is None
    assert in_people(Metric("late", value="days"), RISK, BOTH) is None
    assert in_people(Metric("late", value="days", given={"colour": "red"}), RISK, BOTH) is None


def test_everyone_else() -> None:
    said = in_people(METRICS["selection_rate"], HIRED, (("a", 0.1), ("everyone else", 0.2)))
    assert said == "10 of 100 in a have hired = yes, against 20 of 100 of everyone else."

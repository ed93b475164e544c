"""Findings told in people, from the harmed side."""

from __future__ import annotations

import pytest

from fairtrial import METRICS, Metric
from inside.trial import FileWords, in_people

RISK = FileWords.of({"data": {"outcome": "reoffended", "score": "risk", "threshold": 5}})
HIRED = FileWords.of({"data": {"decision": "hired", "outcome": "stayed", "positive": {"decision": "yes"}}})
SAID = FileWords.of({
    "data": {"decision": "d", "outcome": "y"},
    "words": {"people": "defendants", "decision": "were held", "outcome": "came back", "not_outcome": "stayed away"},
})  # fmt: skip
BOTH = (("Black people", 0.4485), ("White people", 0.2345))


@pytest.mark.parametrize(
    ("metric", "words", "text"),
    [
        ("fpr", RISK, "Of people who did not reoffend, 45 of 100 Black people have a risk of 5 or more, against 23 of "
                      "100 White people."),
        ("fnr", RISK, "Of people who reoffended, 45 of 100 Black people have a risk below 5, against 23 of 100 White "
                      "people."),
        ("ppv", RISK, "Of people who have a risk of 5 or more, 45 of 100 Black people reoffended, against 23 of 100 "
                      "White people."),
        ("selection_rate", HIRED, "45 of 100 Black people were hired, against 23 of 100 White people."),
        ("npv", HIRED, "Of people who were not hired, 45 of 100 Black people have stayed = 0, against 23 of 100 White "
                       "people."),
        ("tpr", HIRED, "Of people whose stayed is 1, 45 of 100 Black people were hired, against 23 of 100 White "
                       "people."),
        ("error_rate", HIRED, "45 of 100 Black people were decided wrongly, against 23 of 100 White people."),
        ("fpr", SAID, "Of defendants who stayed away, 45 of 100 Black people were held, against 23 of 100 White "
                      "people."),
        ("npv", SAID, "Of defendants who were not held, 45 of 100 Black people stayed away, against 23 of 100 White "
                      "people."),
    ],
)  # fmt: skip
def test_the_sentence(metric: str, words: FileWords, text: str) -> None:
    assert in_people(METRICS[metric], words, BOTH) == text


@pytest.mark.parametrize(
    ("rates", "text"),
    [
        ((0.012, 0.03), "1 of 100 a were hired, against 3 of 100 b"),
        ((0.0012, 0.003), "1 of 1,000 a were hired, against 3 of 1,000 b"),
        ((0.501, 0.504), "501 of 1,000 a were hired, against 504 of 1,000 b"),
        ((0.0, 0.2), "0 of 100 a were hired, against 20 of 100 b"),
        ((1.0, 0.999), "1,000 of 1,000 a were hired, against 999 of 1,000 b"),
        ((0.5, 0.5), "50 of 100 a were hired, against 50 of 100 b"),
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
    assert said == "10 of 100 a were hired, against 20 of 100 others."

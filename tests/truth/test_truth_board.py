"""The truth board in its short form: ten whole audits claim what is true and miss nothing that is clear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from inside.results import Claim
from truth.cells import SHORT, lines, played
from truth.check import Outcome, Said, falsehood
from truth.scenario import Scenario
from truth.scenarios import SCENARIOS
from truth.world import People, true_gap
from validity.board import Judged, judge
from validity.page import full_page
from validity.results import Board

IN_SHORT = [scenario for scenario in SCENARIOS if scenario.short]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::fairtrial.FairtrialWarning")
@pytest.mark.parametrize("scenario", IN_SHORT, ids=lambda scenario: scenario.name)
def test_scenario(scenario: Scenario) -> None:
    judged = [judge(cell, cell.short) for cell in lines(scenario)]
    outcomes = played(scenario.name, SHORT)
    assert all(line.holds for line in judged), [(one.false, one.missing, one.forbidden) for one in outcomes]


def test_there_are_enough_of_them() -> None:
    assert len(SCENARIOS) >= 40
    assert len(IN_SHORT) >= 10
    assert sum(scenario.from_readme for scenario in SCENARIOS) >= 10
    assert len({scenario.name for scenario in SCENARIOS}) == len(SCENARIOS)


def world() -> Scenario:
    return next(scenario for scenario in SCENARIOS if scenario.name == "clearly below four fifths")


def said(**changes: object) -> Said:
    claim = Claim(
        method="certify", metric="selection_rate", who="sex: women", against="sex: men", direction="below",
        size=-0.2, scale="difference", tolerance=(-0.05, 0.05), level=0.95, verdict="found",
    )  # fmt: skip
    claim = replace(claim, **changes)  # type: ignore[arg-type]
    return Said("api", claim.verdict, "certify", claim.metric, {"sex": "women"}, claim.direction, claim)


@pytest.mark.parametrize(
    ("changes", "true"),
    [
        ({}, True),
        ({"direction": "above"}, False),
        ({"verdict": "certified"}, False),
        ({"verdict": "certified", "tolerance": (-0.25, 0.25)}, True),
        ({"tolerance": (-0.25, 0.25)}, False),
        ({"scale": "ratio", "tolerance": (0.8, 1.25)}, True),
        ({"scale": "ratio", "tolerance": (0.8, 1.25), "verdict": "certified"}, False),
        ({"scale": "ratio", "tolerance": (0.4, 2.5), "verdict": "certified"}, True),
        ({"verdict": "undetermined", "direction": "above"}, True),
        ({"against": "everyone else"}, True),
        ({"against": "0.5"}, True),
        ({"against": "0.1"}, False),
    ],
)
def test_claims_are_compared_with_the_truth(changes: dict[str, object], true: bool) -> None:
    """20% of women and 40% of men are hired in this world."""
    assert (falsehood(world(), said(**changes)) == "") is true


def test_the_truth_is_counted_from_everyone() -> None:
    people = People(
        {"g": np.array(["a", "a", "b", "b"])}, np.array([1.0, 0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0, 0.0])
    )
    assert true_gap(people, "selection_rate", {"g": "a"}, "rest") == (0.5, 1.0)
    assert true_gap(people, "fpr", {"g": "a"}, {"g": "b"}) == (0.5, 1.0)
    assert true_gap(people, "ppv", {"g": "b"}, 0.3) == (0.5, 0.3)


def judged(outcomes: Sequence[Outcome]) -> list[Judged]:
    """The lines of a scenario that was played with these outcomes: nothing false, and what is due is found."""
    cells = list(lines(world(), lambda repeats: outcomes[:repeats]))
    assert [cell.claim for cell in cells] == ["false claims", "power"]
    questions = len(world().asks) + 1
    return [judge(cell, len(outcomes) * times) for cell, times in zip(cells, (questions, 1), strict=True)]


def hold(*outcomes: Outcome) -> bool:
    return all(line.holds for line in judged(outcomes))


def test_a_board_that_lies_would_be_noticed() -> None:
    good, lies = Outcome(), Outcome(false=["api: measure found x: no", "report: run found x: no"])
    assert hold(*[good] * 20)
    assert not hold(*[lies] * 20)
    assert not hold(*[Outcome(missing=["api: x"])] * 20)
    assert not hold(*[good] * 19, Outcome(forbidden=["api: certify certified"]))
    assert not hold(*[lies] * SHORT) or SHORT * (len(world().asks) + 1) < 4
    text = full_page(Board(tuple(judged([lies] * 20)), "long", 0))
    assert "**FAILS**" in text

"""The scenarios as lines of the board: how often something false was claimed, and how often what is due was not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

import numpy as np

from truth.check import Outcome, play
from truth.scenario import Scenario
from truth.scenarios import SCENARIOS
from validity.board import AUDITS, Cell

LEVEL = 0.05  # the chance of something false that every question may take
DUE = 0.8  # of repeats in which a clear finding must be made
SHORT, LONG = 2, 10  # times a scenario is played, each time with other people

Errors = np.ndarray
Play = Callable[[int], Sequence[Outcome]]


@cache
def played(name: str, repeats: int) -> tuple[Outcome, ...]:
    """Seeds derive from the scenario's name and the repeat."""
    scenario = next(one for one in SCENARIOS if one.name == name)
    return tuple(play(scenario, repeat) for repeat in range(repeats))


def lines(scenario: Scenario, outcomes: Play | None = None) -> Iterator[Cell]:
    """What a scenario claims must be true; where something is due, it must be found."""
    shown = outcomes or partial(played, scenario.name)
    # each call of the API is a question, and the trial is one
    questions = len(scenario.asks) + 1

    def false_claims(repeats: int, random: np.random.Generator) -> Errors:
        """One per question; what must never be claimed is never a matter of chance."""
        found, errors = shown(repeats // questions), np.zeros(repeats)
        if any(outcome.forbidden for outcome in found):
            return errors + 1.0
        errors[: sum(map(_wrong_questions, found))] = 1.0
        return errors

    def due(repeats: int, random: np.random.Generator) -> Errors:
        return np.array([not outcome.missing for outcome in shown(repeats)], dtype=float)

    short = SHORT if scenario.short else 0
    yield Cell(
        AUDITS, scenario.name, scenario.story, "false claims", false_claims, nominal=LEVEL, worst=LEVEL,
        short=short * questions, long=LONG * questions, whole_analysis=True,
    )  # fmt: skip
    if scenario.must or scenario.must_in_report:
        yield Cell(
            AUDITS, f"{scenario.name}: what is due is found", scenario.story, "power", due, nominal=DUE,
            short=short, long=LONG, whole_analysis=True,
        )  # fmt: skip


def _wrong_questions(outcome: Outcome) -> int:
    """Questions with something false in them."""
    return len({text.split(":")[0] + text.split(" ")[1] for text in outcome.false})


CELLS: list[Cell] = [line for scenario in SCENARIOS for line in lines(scenario)]

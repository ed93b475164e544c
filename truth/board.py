"""The board: scenarios repeated, judged by how often something false was claimed or something due was not."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scipy.stats import binom

from truth.check import Outcome, play
from truth.scenario import Scenario
from truth.scenarios import SCENARIOS

LEVEL = 0.05  # the chance of something false that every question may take
DUE = 0.8  # of repeats in which a clear finding must be made
CHANCE = 0.001
SHORT, LONG = 2, 10


@dataclass(frozen=True, slots=True)
class Line:
    """A scenario after its repeats."""

    scenario: Scenario
    outcomes: tuple[Outcome, ...]
    seconds: float

    @property
    def questions(self) -> int:
        """Questions asked in one repeat: each call of the API, and the trial as one."""
        return len(self.scenario.asks) + 1

    @property
    def false(self) -> list[str]:
        return [text for outcome in self.outcomes for text in outcome.false]

    @property
    def wrong_questions(self) -> int:
        """Questions with something false in them."""
        return sum(len({text.split(":")[0] + text.split(" ")[1] for text in o.false}) for o in self.outcomes)

    @property
    def missing(self) -> int:
        return sum(bool(outcome.missing) for outcome in self.outcomes)

    @property
    def holds(self) -> bool:
        """False claims within their level, what is due mostly claimed, what is forbidden never."""
        repeats = len(self.outcomes)
        allowed = binom.isf(CHANCE, repeats * self.questions, LEVEL)
        misses = binom.isf(CHANCE, repeats, 1 - DUE)
        forbidden = any(outcome.forbidden for outcome in self.outcomes)
        return bool(self.wrong_questions <= allowed and self.missing <= misses and not forbidden)


def run_board(
    *, long: bool, names: Sequence[str] = (), tell: Callable[[Line], None] | None = None
) -> list[Line]:
    """Play the scenarios named, or those of the form."""
    chosen = [one for one in SCENARIOS if (one.name in names if names else long or one.short)]
    lines = []
    for scenario in chosen:
        clock = time.process_time()
        outcomes = tuple(play(scenario, repeat) for repeat in range(LONG if long else SHORT))
        lines.append(Line(scenario, outcomes, time.process_time() - clock))
        if tell is not None:
            tell(lines[-1])
    return lines

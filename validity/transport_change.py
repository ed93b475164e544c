"""Coverage of the size of transport's change: number moved, N·P and mean shift."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

from inside.transport import (
    Floats,
    RateContrasts,
    Sizes,
    band,
    change_intervals,
    disjoint_families,
    pooled_test,
    sizes_of_change,
)
from validity.board import Cell

Run = Callable[[int, np.random.Generator], np.ndarray]
LEVEL = 0.95
# People of each cell in the stand-in for the population, at evenly spaced quantiles.
MANY = 40_000
SIZES = ("moved", "cost", "shift")


class Design:
    """Normal scores cut at 0, of the given means; of so many people; in whole steps where there is one."""

    def __init__(
        self,
        people: tuple[int, ...],
        means: tuple[float, ...],
        step: float = 0.0,
        allowed: float = 0.0,
        families: tuple[tuple[int, ...], ...] = (),
    ) -> None:
        self.people, self.means, self.step, self.allowed = people, means, step, allowed
        self.families = families or (tuple(range(len(people))),)

    def problem(self, scores: list[Floats]) -> tuple[RateContrasts, Floats]:
        score = np.concatenate(scores)
        if self.step:
            score = (np.floor(score / self.step) + 0.5) * self.step
        cell = np.repeat(np.arange(len(scores)), [part.size for part in scores])
        members = [(family, family[0]) for family in self.families]
        return disjoint_families(cell, members, (score >= 0).astype(np.uint8)), np.abs(score)

    def limits(self, problem: RateContrasts) -> tuple[Floats, Floats]:
        return band(problem.size, np.full(problem.size, self.allowed), "differs")

    def drawn(self, random: np.random.Generator) -> tuple[RateContrasts, Floats]:
        return self.problem([random.normal(m, 1.0, n) for n, m in zip(self.people, self.means, strict=True)])

    def truth(self) -> Sizes:
        """Of as many people as there are, whose scores are exactly as distributed."""
        unit = MANY // max(self.people)
        counts = [n * unit for n in self.people]
        scores = [m + ndtri((np.arange(n) + 0.5) / n) for n, m in zip(counts, self.means, strict=True)]
        problem, distance = self.problem(scores)
        found = sizes_of_change(problem, distance, self.limits(problem))
        assert found is not None
        return Sizes(found.moved / unit, found.cost / unit, found.shift)


def missed(design: Design, size: str) -> Run:
    """Whether the interval of one of the three sizes misses what is true of the population."""
    true = float(getattr(design.truth(), size))

    def run(repeats: int, random: np.random.Generator) -> np.ndarray:
        found = np.zeros(repeats)
        for r in range(repeats):
            problem, distance = design.drawn(random)
            allowed = np.full(problem.size, design.allowed)
            shown = pooled_test(problem, distance, allowed, "differs").p_value <= 1 - LEVEL
            asked = (LEVEL, shown, random)
            limits = change_intervals(problem, distance, None, design.limits(problem), asked)
            assert not isinstance(limits, str)
            low, high = getattr(limits, size)
            found[r] = not low - 1e-9 <= true <= high + 1e-9
        return found

    return run


DESIGNS = {
    "200 and 100 people, half a standard deviation apart": Design((200, 100), (0.0, 0.5)),
    "200 and 100 people, alike": Design((200, 100), (0.0, 0.0)),
    "200 and 100 people, .15 apart": Design((200, 100), (0.0, 0.15)),
    "100 and 40 people, .8 apart": Design((100, 40), (0.0, 0.8)),
    "200 and 100 people, scores in steps of a half": Design((200, 100), (0.0, 0.5), step=0.5),
    "400 and 100 people, scores in steps of a quarter": Design((400, 100), (0.3, -0.3), step=0.25),
    "200 and 100 people, tolerance 5 points": Design((200, 100), (0.0, 0.5), allowed=0.05),
    "three groups of 200, 150 and 100": Design((200, 150, 100), (0.0, 0.3, 0.6)),
    "two criteria, 100 to 200 people": Design(
        (200, 150, 100, 100), (0.0, 0.3, 0.6, 0.2), families=((0, 1), (2, 3))
    ),
    "300 and 60 people, rates near .9": Design((300, 60), (1.5, 0.9)),
}
WORDS = {"moved": "number moved", "cost": "N·P", "shift": "mean shift"}
COVERED = {"moved": "moved", "cost": "statistic", "shift": "mean_shift"}
_FIRST = next(iter(DESIGNS))

CELLS: list[Cell] = [
    Cell(
        "transport",
        f"{WORDS[size]}: {name}",
        "normal scores, distance to the threshold",
        "coverage",
        missed(design, size),
        covers=tuple(f"transport.intervals.{COVERED[size]}_{end}" for end in ("low", "high")),
        # each line draws 200 samples of samples: the short board has one, the long one all
        short=400 if (name, size) == (_FIRST, "moved") else 0,
    )
    for name, design in DESIGNS.items()
    for size in SIZES
]

"""Criteria as one verdict: the joint test of all rates, wrong certificates and wrong violations of any of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial import Audit, certify
from inside.certify import joint_of
from inside.gaps import certified
from inside.inference import CORRECTIONS, Atoms, Comparison, Gaps, JointTest, holm, joint_test, make_gaps
from validity.board import Cell

Random = np.random.Generator
Run = Callable[[int, Random], NDArray[np.float64]]
Rate = tuple[Gaps, JointTest]


def draw(random: Random, sizes: tuple[int, ...], rates: tuple[float, float], gap: float) -> list[Rate]:
    """Outcomes of 40%, decisions at these rates with and without it; the last group's first rate is moved.

    Both rates' gaps to the first group, with their joint test.
    """
    with_outcome = random.binomial(sizes, 0.4)
    found = []
    for place, people in enumerate((with_outcome, np.array(sizes) - with_outcome)):
        rate = np.full(len(sizes), rates[place])
        rate[-1] += gap if place == 0 else 0.0
        count = people.astype(np.float64)
        mean = random.binomial(people, rate) / count
        atoms = Atoms(count, mean, count * mean * (1 - mean), True)
        member = np.eye(len(sizes), dtype=bool)[1:]
        first = np.eye(len(sizes), dtype=bool)[0]
        gaps = make_gaps(atoms, Comparison(member, np.tile(first, (len(sizes) - 1, 1))))
        found.append((gaps, joint_test(atoms, member, first, None, gaps=gaps)))
    return found


def told(
    sizes: tuple[int, ...], rates: tuple[float, float], gap: float, error: Callable[[list[Rate]], float]
) -> Run:
    """The errors of what is said of both rates together."""

    def run(repeats: int, random: Random) -> NDArray[np.float64]:
        return np.array([error(draw(random, sizes, rates, gap)) for _ in range(repeats)], dtype=np.float64)

    return run


def joint(found: list[Rate]) -> float:
    """Separation is rejected."""
    return float(joint_of([test for _, test in found], apart=True).p_value <= 0.05)


def doubled(found: list[Rate]) -> float:
    """The smaller of both joint p-values, doubled."""
    return float(2 * min(test.p_value for _, test in found) <= 0.05)


def wrongly_certified(band: float) -> Callable[[list[Rate]], float]:
    return lambda found: float(all(certified(gaps, (-band, band), 0.9).all() for gaps, _ in found))


def violated(band: float) -> Callable[[list[Rate]], float]:
    """Some rate of some group is found outside the band by Holm over all of them."""
    return lambda found: float(
        holm(np.concatenate([gaps.p_inside(-band, band) for gaps, _ in found])).min() <= 0.05
    )


def wrong_flags(found: list[Rate]) -> float:
    """Share of wrong flags; the last group's first rate is the one that differs."""
    p = np.concatenate([gaps.p_equal() for gaps, _ in found])
    flagged = CORRECTIONS["bh"](p) <= 0.05
    right = np.arange(p.size) == found[0][0].estimate.size - 1
    return float((flagged & ~right).sum() / max(flagged.sum(), 1))


def whole(repeats: int, random: Random) -> NDArray[np.float64]:
    """Certify itself calls separation violated though one rate lies on the edge and the others inside."""
    found = np.zeros(repeats)
    for i in range(repeats):
        group = np.repeat([0, 1, 2], [200, 300, 100])
        y = (random.random(600) < 0.4).astype(int)
        rate = np.where(y == 1, 0.5, 0.3) + 0.1 * ((group == 2) & (y == 1))
        data: Any = {"g": [f"g{g}" for g in group], "y": y, "d": (random.random(600) < rate).astype(int)}
        audit = Audit(data, outcome="y", decision="d", groups="g")
        result = certify(audit, "separation", target={"g": "g0"}, tolerance=0.1)
        found[i] = result.verdict.code == "violated"
    return found


_THREE, _SMALL, _LARGE = (200, 300, 100), (80, 80, 80, 80), (800, 800, 800)
_USUAL = (0.6, 0.3)

CELLS: list[Cell] = [
    Cell("certify", "separation, joint test of all rates", "three groups of 100 to 300, rates 60% and 30%", "size",
         told(_THREE, _USUAL, 0.0, joint), short=400, long=4000),
    Cell("certify", "separation, joint test, small groups", "four groups of 80, rates 90% and 5%", "size",
         told(_SMALL, (0.9, 0.05), 0.0, joint), short=0, long=4000),
    Cell("certify", "separation certified, one rate at the edge", "three groups of 800, tolerance 15 points",
         "wrong certification", told(_LARGE, (0.5, 0.3), 0.15, wrongly_certified(0.15)), short=400, long=4000),
    Cell("certify", "separation violated, all rates inside", "three groups, one rate at the edge, tolerance 10 points",
         "size", told(_THREE, (0.5, 0.3), 0.1, violated(0.1)), short=400, long=4000),
    Cell("certify", "separation violated, by certify itself", "three groups, one rate at the edge, tolerance 10 points",
         "size", whole, short=0, long=150, whole_analysis=True),
    Cell("certify", "power, separation, one rate of one group", "three groups of 100 to 300, 25 points", "power",
         told(_THREE, _USUAL, -0.25, joint), nominal=0.5, rival=told(_THREE, _USUAL, -0.25, doubled),
         rival_name="the smaller of both rates' p-values, doubled", short=0, long=2000),
]  # fmt: skip

FLAGS: list[Cell] = [
    Cell("flag", "separation, one rate of one group differs", "three groups, 25 points", "false flagging rate",
         told(_THREE, _USUAL, -0.25, wrong_flags), short=400, long=4000),
]  # fmt: skip

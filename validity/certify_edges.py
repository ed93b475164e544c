"""Cells of certify and flag where the limit laws are weakest: known rates, real values at the edge, small groups."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from inside.gaps import certified
from inside.inference import (
    Comparison,
    KnownRateGaps,
    bonferroni_level,
    gap_covariance,
    holm,
    joint_test,
    make_gaps,
    max_t_quantile,
)
from validity.board import Cell
from validity.certify_designs import (
    ATOM_SHARES,
    Generator,
    Pair,
    atoms_of,
    atoms_of_counts,
    overlapping_groups,
)

Run = Callable[[int, Generator], np.ndarray]
SPREADS = (1.0, 3.0, 0.5, 2.0)
FOUR = np.array([0.1, 0.2, 0.3, 0.4])
TEN = np.full(10, 0.1)


def known_rate_certificate(n: int, rate: float, target: float) -> Run:
    """Certificates against a known number when the true rate is exactly the tolerance away from it."""
    edge = abs(rate - target)
    return lambda repeats, generator: certified(
        _known(n, rate, target, repeats, generator), (-edge, edge), 0.9
    ).astype(float)


def known_rate_test(n: int, rate: float, side: str) -> Run:
    """Rejections of a true null about one rate against a known number: one-sided at the bound, or a band's edge."""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        target = rate - 0.05 if side == "inside" else rate
        gaps = _known(n, rate, target, repeats, generator)
        p = {
            "above": lambda: gaps.p_at_most(0.0),
            "below": lambda: gaps.p_at_least(0.0),
            "differs": lambda: gaps.p_equal(0.0),
            "inside": lambda: gaps.p_inside(-0.05, rate - target),
        }[side]()
        return (p <= 0.05).astype(float)

    return run


def _known(n: int, rate: float, target: float, repeats: int, generator: Generator) -> KnownRateGaps:
    ones = generator.binomial(n, rate, repeats).astype(float)
    return KnownRateGaps(np.full(repeats, float(n)), ones, np.full(repeats, target))


def real_valued(design: Pair, decide: str) -> Run:
    """Wrong decisions about a mean whose gap is exactly at the bound."""
    gap = design.gap

    def one(generator: Generator) -> bool:
        gaps = make_gaps(*design.rows(generator))
        if decide == "certify above":
            return bool(certified(gaps, (gap - 4.0, gap), 0.9)[0])
        if decide == "certify below":
            return bool(certified(gaps, (gap, gap + 4.0), 0.9)[0])
        if decide == "inside":
            return bool(gaps.p_inside(gap - 0.3, gap)[0] <= 0.05)
        p = gaps.p_at_most(gap) if decide == "above" else gaps.p_at_least(gap)
        return bool(p[0] <= 0.05)

    return lambda repeats, generator: np.array([one(generator) for _ in range(repeats)], dtype=float)


def joint_small(
    kind: str, n: int, *, spreads: tuple[float, ...] = SPREADS, known: bool = False, likelihood: str = "empirical",
    rate: float | None = None,
) -> Run:  # fmt: skip
    """Rejections of 'every gap is zero' in small groups: skewed values, or rare events where `rate` is given."""
    shares = {"four": FOUR, "ten": TEN, "overlapping": ATOM_SHARES}[kind]
    member = overlapping_groups() if kind == "overlapping" else np.eye(shares.size, dtype=bool)
    everyone = None if known else np.ones(shares.size, dtype=bool)

    def one(generator: Generator) -> float:
        sizes = generator.multinomial(n, shares)
        if rate is not None:
            values = [(generator.random(size) < rate).astype(float) for size in sizes]
        else:
            values = [
                2.0 + spread * (generator.exponential(size=size) - 1.0)
                for spread, size in zip(np.resize(spreads, sizes.size), sizes, strict=True)
            ]
        atoms = atoms_of(values, binary=rate is not None)
        theta = (rate if rate is not None else 2.0) if known else None
        return float(joint_test(atoms, member, everyone, theta, likelihood).p_value <= 0.05)  # type: ignore[arg-type]

    return lambda repeats, generator: np.array([one(generator) for _ in range(repeats)])


def violated_at_once(kind: str, n: int, width: float) -> Run:
    """Some group called violated, for all at once, when no gap leaves the band: Holm or a simultaneous interval."""
    shares = {"ten": TEN, "overlapping": ATOM_SHARES}[kind]
    member = overlapping_groups() if kind == "overlapping" else np.eye(shares.size, dtype=bool)

    def one(seed: int, generator: Generator) -> bool:
        sizes = generator.multinomial(n, shares)
        ones = generator.binomial(sizes, 0.3)
        atoms = atoms_of_counts(sizes, ones)
        gaps = make_gaps(atoms, Comparison(member, ~member))
        critical = max_t_quantile(gap_covariance(atoms, member, ~member), 0.95, seed=seed, draws=2000)
        level = 1.0 - 2.0 * float(special.ndtr(-critical))
        low, high = gaps.limits_together(level, bonferroni_level(member.shape[0], 0.95))
        outside = (low > width) | (high < -width)
        return bool(np.any((holm(gaps.p_inside(-width, width)) <= 0.05) | outside))

    return lambda repeats, generator: np.array([one(i, generator) for i in range(repeats)], dtype=float)


def _cell(name: str, design: str, claim: str, run: Run, **more: object) -> Cell:
    return Cell("certify", name, design, claim, run, **more)  # type: ignore[arg-type]


# a twentieth to a fifth of a second each
_BY_ROWS: dict[str, object] = {"short": 60, "long": 800, "whole_analysis": True}
SKEWED = Pair("rest", 0.1, 2000, 2.0, 1.0)
SKEWED_REFERENCE = Pair("reference", 0.5, 2000, 1.0, 1.0, 0.1)

CELLS: list[Cell] = [
    *(
        _cell(f"certificate at the band's edge, {rate:.0%} against a known {target:.0%}, n {n}",
              f"{n} people at {rate:.0%}, known {target:.0%} ± {abs(rate - target):.0%}", "wrong certification",
              known_rate_certificate(n, rate, target))
        for n, rate, target in ((100, 0.1, 0.2), (100, 0.3, 0.2), (200, 0.15, 0.3), (1000, 0.05, 0.1))
    ),
    *(
        _cell(f"known rate, {side}, n {n}", f"{n} people at a known {rate:.0%}" + more, "size",
              known_rate_test(n, rate, side))
        for n, rate, side, more in (
            (100, 0.1, "above", ""), (100, 0.1, "below", ""), (60, 0.3, "differs", ""),
            (100, 0.15, "inside", ", 5 points above the target ± 5 points"),
        )
    ),
    _cell("certificate at the band's edge, exponential, from above", f"{SKEWED.words}; gap at the upper edge",
          "wrong certification", real_valued(SKEWED, "certify above"), **_BY_ROWS),
    _cell("certificate at the band's edge, exponential, from below", f"{SKEWED.words}; gap at the lower edge",
          "wrong certification", real_valued(SKEWED, "certify below"), **_BY_ROWS),
    _cell("one-sided above at the bound, exponential", SKEWED.words, "size", real_valued(SKEWED, "above")),
    _cell("one-sided below at the bound, exponential", SKEWED_REFERENCE.words, "size",
          real_valued(SKEWED_REFERENCE, "below")),
    _cell("interval null, exponential", f"{SKEWED_REFERENCE.words}; gap at the edge of a band 0.3 wide", "size",
          real_valued(SKEWED_REFERENCE, "inside"), **_BY_ROWS),
    _cell("overall violated, ten groups", "no gap, tolerance of a tenth of a point, n 4000", "size",
          violated_at_once("ten", 4000, 0.001)),
    _cell("overall violated, overlapping groups", "23 groups, no gap, tolerance of a tenth of a point, n 4000", "size",
          violated_at_once("overlapping", 4000, 0.001)),
    _cell("joint test, partition, exponential, n 500", "four groups of 50 to 200, unequal variances", "size",
          joint_small("four", 500)),
    _cell("joint test, ten groups of 30, exponential", "against overall, n 300", "size",
          joint_small("ten", 300, spreads=(1.0,)), **_BY_ROWS),
    _cell("joint test, ten groups of 30, known mean, exponential", "n 300", "size",
          joint_small("ten", 300, spreads=(1.0,), known=True)),
    _cell("joint test, 23 overlapping groups, exponential", "groups down to 18 people, n 300", "size",
          joint_small("overlapping", 300, spreads=(1.0,)), **_BY_ROWS),
    _cell("joint test, Euclidean, rare events", "ten groups of 30, rate 5%", "size",
          joint_small("ten", 300, likelihood="euclidean", rate=0.05)),
]  # fmt: skip

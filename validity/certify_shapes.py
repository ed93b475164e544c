"""Cells of certify and flag for small groups of skewed, heavy-tailed and mostly equal values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from inside.gaps import certified
from inside.inference import (
    Atoms,
    Comparison,
    Floats,
    benjamini_hochberg,
    bonferroni_level,
    gap_covariance,
    joint_test,
    make_gaps,
    simultaneous_level,
)
from inside.papers import paper_gaps
from validity.board import Cell
from validity.certify_designs import Generator, atoms_of

Run = Callable[[int, Generator], np.ndarray]
SHAPES: dict[str, tuple[Callable[[Generator, int], Floats], float]] = {
    "exponential": (lambda generator, size: generator.exponential(1.0, size), 1.0),
    "lognormal": (lambda generator, size: generator.lognormal(0.0, 1.0, size), float(np.exp(0.5))),
}


def _mostly_zero(share: float) -> tuple[Callable[[Generator, int], Floats], float]:
    """Exponential costs of a share of the people, none for the others."""

    def draw(generator: Generator, size: int) -> Floats:
        return np.where(generator.random(size) < share, generator.exponential(1.0, size), 0.0)

    return draw, share


for _share in (0.02, 0.03, 0.1, 0.3):
    SHAPES[f"{1 - _share:.0%} zeros"] = _mostly_zero(_share)


def _data(shape: str, sizes: Sequence[int], known: bool, generator: Generator) -> tuple[Atoms, Comparison]:
    """Groups with one and the same mean, each against the others or against that mean."""
    draw, mean = SHAPES[shape]
    member = np.eye(len(sizes), dtype=bool)
    against = np.zeros_like(member) if known else ~member
    target = np.full(len(sizes), mean) if known else None
    return atoms_of([draw(generator, size) for size in sizes]), Comparison(member, against, target)


def _each(error: Callable[[Atoms, Comparison], float], shape: str, sizes: Sequence[int], known: bool) -> Run:
    return lambda repeats, generator: np.array(
        [error(*_data(shape, sizes, known, generator)) for _ in range(repeats)]
    )


def joint(shape: str, sizes: Sequence[int], *, known: bool = False, by_limit_law: bool = False) -> Run:
    """Rejections of 'every gap is zero', by our test or by the likelihood's chi-square."""

    def error(atoms: Atoms, comparison: Comparison) -> float:
        everyone = None if known else np.ones(len(sizes), dtype=bool)
        mean = SHAPES[shape][1] if known else None
        gaps = None if by_limit_law else make_gaps(atoms, comparison)
        test = joint_test(atoms, comparison.member, everyone, mean, gaps=gaps, by_limit_law=by_limit_law)
        return float(test.p_value <= 0.05)

    return _each(error, shape, sizes, known)


def first_interval(shape: str, sizes: Sequence[int], *, known: bool = False) -> Run:
    """Misses of the first group's interval; a group without one makes no claim."""

    def error(atoms: Atoms, comparison: Comparison) -> float:
        low, high = (float(side[0]) for side in make_gaps(atoms, comparison).limits(0.95))
        return float(low > 0.0 or high < 0.0)

    return _each(error, shape, sizes, known)


def together(shape: str, sizes: Sequence[int], *, known: bool = False) -> Run:
    """Repeats in which some interval of all those at once misses."""

    def error(atoms: Atoms, comparison: Comparison) -> float:
        gaps = make_gaps(atoms, comparison)
        told = gaps.defined
        if not told.any():
            return 0.0
        covariance = gap_covariance(atoms, comparison.member[told], comparison.reference[told])
        level = simultaneous_level(covariance, 0.95, 0)
        low, high = gaps.limits_together(level, bonferroni_level(len(sizes), 0.95))
        return float(np.any((low > 0.0) | (high < 0.0)))

    return _each(error, shape, sizes, known)


def certificate(shape: str, sizes: Sequence[int], edge: float) -> Run:
    """Certificates of the first group when its true gap is exactly the band's lower edge."""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        draw, _ = SHAPES[shape]
        member = np.eye(len(sizes), dtype=bool)[:1]
        wrong = np.zeros(repeats)
        for index in range(repeats):
            values = [draw(generator, size) for size in sizes]
            values[0] = values[0] - edge
            gaps = make_gaps(atoms_of(values), Comparison(member, ~member))
            wrong[index] = float(certified(gaps, (-edge, edge), 0.9)[0])
        return wrong

    return run


def wrong_flags(
    shape: str, sizes: Sequence[int], side: str = "differs", *, known: bool = False, paper: bool = False
) -> Run:
    """Repeats with a flag although no group differs; the paper compares the likelihood with its limit law."""

    def error(atoms: Atoms, comparison: Comparison) -> float:
        gaps = (
            paper_gaps(atoms, comparison, target_method="profile", refinement="none")
            if paper
            else make_gaps(atoms, comparison)
        )
        if side == "outside":
            p = gaps.p_inside(-0.01, 0.0)
        else:
            p = {"differs": gaps.p_equal, "above": gaps.p_at_most, "below": gaps.p_at_least}[side](0.0)
        return float((benjamini_hochberg(p) <= 0.05).any())

    return _each(error, shape, sizes, known)


def _certify(name: str, design: str, claim: str, run: Run, **more: object) -> Cell:
    return Cell("certify", name, design, claim, run, **more)  # type: ignore[arg-type]


def _flag(name: str, design: str, run: Run, **more: object) -> Cell:
    return Cell("flag", name, design, "false flagging rate", run, **{"long": 4000, **more})  # type: ignore[arg-type]


TEN = [40] * 10
BESIDE = [30, 30, 2500]
FEW_EVENTS = [100] * 5

CERTIFY: list[Cell] = [
    _certify("joint test, lognormal, small beside large", "groups of 30, 30 and 2,500 against overall", "size",
             joint("lognormal", BESIDE), short=60, long=800, whole_analysis=True),
    _certify("joint test, lognormal, known mean", "three groups of 100", "size",
             joint("lognormal", [100] * 3, known=True)),
    _certify("joint test, half the groups untold", "five groups of 100, 90% zeros, against overall", "size",
             joint("90% zeros", FEW_EVENTS), short=80, long=600, whole_analysis=True),
    _certify("joint test by its limit law, mostly zeros", "five groups of 100, 90% zeros, against overall", "size",
             joint("90% zeros", FEW_EVENTS, by_limit_law=True), variant="paper",
             counterpart="joint test, half the groups untold"),
    _certify("joint test, mostly zeros", "five groups of 300, 90% zeros, against overall", "size",
             joint("90% zeros", [300] * 5), short=0, long=1000, whole_analysis=True),
    _certify("joint test, mostly zeros, known mean", "five groups of 300, 90% zeros", "size",
             joint("90% zeros", [300] * 5, known=True)),
    _certify("joint test, hardly a value but zero", "groups of 30, 30 and 2,500, 97% zeros, against overall", "size",
             joint("97% zeros", BESIDE), short=80, long=800, whole_analysis=True),
    _certify("joint test by its limit law, hardly a value but zero",
             "groups of 30, 30 and 2,500, 97% zeros, against overall", "size",
             joint("97% zeros", BESIDE, by_limit_law=True), variant="paper",
             counterpart="joint test, hardly a value but zero"),
    _certify("interval, lognormal, 50 members", "50 against 450 others", "coverage",
             first_interval("lognormal", [50, 450]), short=400),
    _certify("interval, lognormal, small reference", "450 against 50", "coverage",
             first_interval("lognormal", [450, 50]), short=400),
    _certify("interval, mostly zeros", "300 against 1,200 others, 90% zeros", "coverage",
             first_interval("90% zeros", [300, 1200]), short=0),
    _certify("interval, mostly zeros, known mean", "1,000 people, 98% zeros", "coverage",
             first_interval("98% zeros", [1000], known=True)),
    _certify("simultaneous intervals, exponential", "ten groups of 40 against their rests", "coverage",
             together("exponential", TEN), short=0, long=500, whole_analysis=True),
    _certify("simultaneous intervals, mostly zeros", "five groups of 100, 70% zeros, against their rests", "coverage",
             together("70% zeros", FEW_EVENTS), short=0, long=500, whole_analysis=True),
    _certify("certificate at the band's edge, lognormal", "50 against 2,000 others, gap at the lower edge",
             "wrong certification", certificate("lognormal", [50, 2000], 0.8), short=0, long=1500, whole_analysis=True),
]  # fmt: skip

_KNOWN = "ten groups of 40 exponential values against their known mean"
FLAG: list[Cell] = [
    *(
        _flag(f"no disparity, ten small groups, exponential, {side}", "ten groups of 40 against their rests",
              wrong_flags("exponential", TEN, side), short=80 if side == "differs" else 0, long=2000,
              whole_analysis=True)
        for side in ("differs", "above", "below", "outside")
    ),
    _flag("no disparity, ten small groups, exponential, known mean", _KNOWN,
          wrong_flags("exponential", TEN, known=True)),
    _flag("likelihood by its limit law, ten small groups", _KNOWN,
          wrong_flags("exponential", TEN, known=True, paper=True), variant="paper",
          counterpart="no disparity, ten small groups, exponential, known mean"),
    _flag("no disparity, ten small groups, lognormal", "ten groups of 40 against their rests",
          wrong_flags("lognormal", TEN), short=0, long=2000, whole_analysis=True),
    _flag("no disparity, mostly zeros", "five groups of 300, 90% zeros, against their rests",
          wrong_flags("90% zeros", [300] * 5), short=0, long=1000, whole_analysis=True),
]  # fmt: skip

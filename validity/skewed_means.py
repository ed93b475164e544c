"""Means of small and skewed groups: sizes by shapes by targets, families, all gaps at once, and the power that is left.

Shapes are centred at their true mean, so every gap is zero. Rows of the issue on one inference stand here by name: ten
groups of 40, twenty of 30 or 100, log losses and Brier scores of calibrated scores, a known mean, 40 against 400 of
another shape. What is held from sums alone has lines of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy import special, stats

from inside.inference import (
    Atoms,
    Comparison,
    Floats,
    Gaps,
    TwoMeans,
    UnsharedSkewness,
    benjamini_hochberg,
    bonferroni_level,
    gap_covariance,
    holm,
    joint_test,
    make_gaps,
    simultaneous_level,
    two_sides,
)
from validity.board import Cell

Random = np.random.Generator
Draw = Callable[[Random, int], Floats]
Run = Callable[[int, Random], np.ndarray]

# Of calibrated scores S with the law beta(a, b): E[S log S] = a/(a+b) (ψ(a+1) - ψ(a+b+1)), and the same for 1 - S.
_A, _B = 0.3, 0.7
MEAN_LOG_LOSS = float(
    -sum(c / (_A + _B) * (special.psi(c + 1.0) - special.psi(_A + _B + 1.0)) for c in (_A, _B))
)
MEAN_BRIER = _A * _B / ((_A + _B) * (_A + _B + 1.0))


def _losses(random: Random, size: int, loss: str) -> Floats:
    score = random.beta(0.3, 0.7, size)
    happened = random.random(size) < score
    if loss == "brier":
        return np.asarray((happened - score) ** 2 - MEAN_BRIER)
    sure = np.where(happened, score, 1.0 - score)
    return np.asarray(-np.log(np.maximum(sure, 1e-300)) - MEAN_LOG_LOSS)


def _zeros(random: Random, size: int, share: float = 0.2) -> Floats:
    return np.where(random.random(size) < share, random.gamma(2.0, 1.0, size), 0.0) - 2.0 * share


_STARS = [0.05, 0.1, 0.2, 0.35, 0.3]
SHAPES: dict[str, Draw] = {
    "normal": lambda random, size: random.standard_normal(size),
    "beta(.3, .7)": lambda random, size: random.beta(0.3, 0.7, size) - 0.3,
    "exponential": lambda random, size: random.exponential(1.0, size) - 1.0,
    "lognormal(1)": lambda random, size: random.lognormal(0.0, 1.0, size) - np.exp(0.5),
    "lognormal(1.5)": lambda random, size: random.lognormal(0.0, 1.5, size) - np.exp(1.125),
    "Pareto(2.5)": lambda random, size: random.pareto(2.5, size) - 1.0 / 1.5,
    "80% zeros": _zeros,
    "log loss": partial(_losses, loss="log"),
    "Brier": partial(_losses, loss="brier"),
    "ratings": lambda random, size: random.choice(np.arange(5.0), size, p=_STARS) - 2.75,
    "outliers": lambda random, size: random.standard_normal(size) * np.where(random.random(size) < 0.05, 10.0, 1.0),
}  # fmt: skip
SPREAD = {
    "normal": 1.0, "beta(.3, .7)": 0.324, "exponential": 1.0, "lognormal(1)": 2.161, "lognormal(1.5)": 8.974,
    "Pareto(2.5)": 1.491, "80% zeros": 1.02, "log loss": 0.53, "Brier": 0.189, "ratings": 1.135, "outliers": 2.44,
}  # fmt: skip
PAIR = np.array([[True, False]])


def gaps_of(first: Floats, second: Floats) -> Gaps:
    return make_gaps(Atoms.of_values([first, second]), Comparison(PAIR, ~PAIR))


def gaps_from_sums(first: Floats, second: Floats) -> Gaps:
    """The same without rows, as of very many people."""
    atoms = replace(Atoms.of_values([first, second]), values=None)
    return make_gaps(atoms, Comparison(PAIR, ~PAIR))


def target_of(random: Random, shape: str, target: str, n: int) -> Floats:
    if target == "10n normal":
        return SPREAD[shape] * random.standard_normal(10 * n)
    return SHAPES[shape](random, 9 * n if target == "9n" else n)


def _each(one: Callable[[Random], Any]) -> Run:
    return lambda repeats, random: np.array([float(one(random)) for _ in range(repeats)])


def two_sided(shape: str, target: str, n: int, level: float = 0.05) -> Run:
    """Rejections of a true equality."""

    def one(random: Random) -> bool:
        gaps = gaps_of(SHAPES[shape](random, n), target_of(random, shape, target, n))
        return bool(gaps.p_equal(0.0)[0] <= level)

    return _each(one)


def missed(shape: str, target: str, n: int) -> Run:
    """Misses of the 95% interval; a side without a limit cannot miss."""

    def one(random: Random) -> bool:
        low, high = gaps_of(SHAPES[shape](random, n), target_of(random, shape, target, n)).limits(0.95)
        return bool(low[0] > 0.0 or high[0] < 0.0)

    return _each(one)


def from_sums(shape: str, n: int, level: float = 0.05, other: int = 9) -> Run:
    """Rejections from sums alone, all repeats in one comparison."""

    def run(repeats: int, random: Random) -> np.ndarray:
        wrong = []
        for _ in range(repeats):
            gaps = gaps_from_sums(SHAPES[shape](random, n), SHAPES[shape](random, other * n))
            wrong.append(float(gaps.p_equal(0.0)[0] <= level))
        return np.array(wrong)

    return run


def found_at_the_step(shape: str, n: int, *, sums: bool) -> Run:
    """A gap of three standard errors, found by rows or by sums: what changes where an audit goes over to sums."""

    def one(random: Random) -> bool:
        first, second = SHAPES[shape](random, n), SHAPES[shape](random, 9 * n)
        lower = 3.0 * SPREAD[shape] * np.sqrt(1.0 / n + 1.0 / (9.0 * n))
        gaps = (gaps_from_sums if sums else gaps_of)(first - lower, second)
        return bool(gaps.p_equal(0.0)[0] <= 0.05)

    return _each(one)


def family_of(
    shape: str, groups: int, n: int, random: Random, *, known: bool = False
) -> tuple[Atoms, Comparison]:
    member = np.eye(groups, dtype=bool)
    atoms = Atoms.of_values([SHAPES[shape](random, n) for _ in range(groups)])
    if known:
        return atoms, Comparison(member, np.zeros_like(member), np.zeros(groups))
    return atoms, Comparison(member, ~member)


def p_values_up_to(edge: float, atoms: Atoms, comparison: Comparison) -> Floats:
    """p-values of no gap: the package's wherever they may be at most `edge`, elsewhere one of their bounds alone.

    A p-value is the largest of its bounds, so where one that costs nothing is above `edge`, the whole is too: the same
    findings at `edge` for a fifth of the time.
    """
    sides = two_sides(atoms, comparison)
    above, below = UnsharedSkewness(TwoMeans(sides.first, sides.second)).tails(
        np.zeros(len(comparison.member))
    )
    p = np.minimum(1.0, 2.0 * np.minimum(above, below))
    near = ~(p > edge * (1.0 + 1e-9))  # also where a group without variation has no such bound
    if near.any():
        part = replace(comparison, member=comparison.member[near], reference=comparison.reference[near])
        p[near] = make_gaps(atoms, part).p_equal(0.0)
    return np.asarray(p)


def any_found(shape: str, groups: int, n: int, *, sums: bool = False) -> Run:
    """Repeats in which a group is found after Holm's correction, although none differs."""

    def one(random: Random) -> bool:
        atoms, comparison = family_of(shape, groups, n, random)
        if sums:
            p = make_gaps(replace(atoms, values=None), comparison).p_equal(0.0)
        else:
            p = p_values_up_to(0.05 / groups, atoms, comparison)  # Holm finds any where it finds the smallest
        return bool((holm(p) <= 0.05).any())

    return _each(one)


def any_flagged(shape: str, groups: int, n: int, *, below: bool = False) -> Run:
    """The same by Benjamini–Hochberg, as flag corrects: differing from the rest, or below the known mean."""

    def one(random: Random) -> bool:
        atoms, comparison = family_of(shape, groups, n, random, known=below)
        p = make_gaps(atoms, comparison).p_at_least(0.0) if below else p_values_up_to(0.05, atoms, comparison)
        return bool((benjamini_hochberg(p) <= 0.05).any())

    return _each(one)


def jointly(shape: str, groups: int, n: int, *, known: bool = False, by_limit_law: bool = False) -> Run:
    """Rejections of 'every gap is zero' by the joint test."""

    def one(random: Random) -> bool:
        atoms, comparison = family_of(shape, groups, n, random, known=known)
        everyone = None if known else np.ones(groups, dtype=bool)
        target = 0.0 if known else None
        gaps = None if by_limit_law else make_gaps(atoms, comparison)
        test = joint_test(atoms, comparison.member, everyone, target, gaps=gaps, by_limit_law=by_limit_law)
        return bool(test.p_value <= 0.05)

    return _each(one)


def at_once(shape: str, groups: int, n: int, *, known: bool = False) -> Run:
    """Repeats in which some interval of those for all groups at once misses."""

    def one(random: Random) -> bool:
        atoms, comparison = family_of(shape, groups, n, random, known=known)
        gaps = make_gaps(atoms, comparison)
        covariance = gap_covariance(atoms, comparison.member, comparison.reference)
        level = simultaneous_level(covariance, 0.95, 0)
        low, high = gaps.limits_together(level, bonferroni_level(groups, 0.95))
        return bool(np.any((low > 0.0) | (high < 0.0)))

    return _each(one)


# -- power, beside the usual test --------------------------------------------------------------------------------------
CHANGES: dict[str, Callable[[Random, int], Floats]] = {
    "normal, half a spread lower": lambda random, n: random.standard_normal(n) - 0.5,
    "exponential times .6": lambda random, n: 0.6 * random.exponential(1.0, n) - 1.0,
    "lognormal(1) times .5": lambda random, n: 0.5 * random.lognormal(0.0, 1.0, n) - np.exp(0.5),
    "lognormal(1) times 1.8": lambda random, n: 1.8 * random.lognormal(0.0, 1.0, n) - np.exp(0.5),
    "log loss times .5": lambda random, n: 0.5 * (_losses(random, n, "log") + MEAN_LOG_LOSS) - MEAN_LOG_LOSS,
    "Brier times .5": lambda random, n: 0.5 * (_losses(random, n, "brier") + MEAN_BRIER) - MEAN_BRIER,
    "zeros 80% to 94%": lambda random, n: _zeros(random, n, 0.06) - 0.28,
    "outliers, one normal spread lower": lambda random, n: SHAPES["outliers"](random, n) - 1.0,
}  # fmt: skip
BASE = {
    "normal": "normal", "exponential": "exponential", "lognormal(1)": "lognormal(1)", "log": "log loss",
    "Brier": "Brier", "zeros": "80% zeros", "outliers": "outliers",
}  # fmt: skip


def _changed(change: str, n: int, random: Random) -> tuple[Floats, Floats]:
    base = next(shape for start, shape in BASE.items() if change.startswith(start))
    return CHANGES[change](random, n), SHAPES[base](random, 9 * n)


def found(change: str, n: int) -> Run:
    """How often a true gap is found at 2.5% on its side."""
    upwards = "1.8" in change

    def one(random: Random) -> bool:
        gaps = gaps_of(*_changed(change, n, random))
        above, below = gaps.tails(np.zeros(1))
        return bool((above if upwards else below)[0] <= 0.025)

    return _each(one)


def found_by_welch(change: str, n: int) -> Run:
    side: Literal["greater", "less"] = "greater" if "1.8" in change else "less"

    def one(random: Random) -> bool:
        first, second = _changed(change, n, random)
        return bool(stats.ttest_ind(first, second, equal_var=False, alternative=side).pvalue <= 0.025)

    return _each(one)


def found_by_permutation(change: str, n: int) -> Run:
    """The studentised permutation test, which holds where both samples have one shape."""
    from inside.inference import DRAWS, ResampledGap

    sign = -1.0 if "1.8" in change else 1.0

    def one(random: Random) -> bool:
        gap = ResampledGap(*_changed(change, n, random))
        return gap._permuted_tail(sign * gap.gap / gap.error, sign, DRAWS) <= 0.025

    return _each(one)


# -- the lines ---------------------------------------------------------------------------------------------------------
def _cell(method: str, name: str, design: str, claim: str, run: Run, **more: Any) -> Cell:
    return Cell(method, name, design, claim, run, **more)  # type: ignore[arg-type]


_WORDS = {"9n": "nine times as many of the same shape", "n": "as many of the same shape",
          "10n normal": "ten times as many normal values"}  # fmt: skip
_SHORT = {("lognormal(1)", "9n"), ("exponential", "n"), ("lognormal(1)", "10n normal")}

MEASURE: list[Cell] = [
    *(
        _cell("measure", f"means, {shape}, {target}", f"40 {shape} values against {_WORDS[target]}", "size",
              two_sided(shape, target, 40), short=400 if (shape, target) in _SHORT else 0)
        for target in _WORDS
        for shape in SHAPES
    ),
    *(
        _cell("measure", f"means of {n}, {shape}", f"{n} {shape} values against {_WORDS['9n']}", "size",
              two_sided(shape, "9n", n), short=0)
        for n in (20, 100)
        for shape in ("exponential", "lognormal(1)", "80% zeros", "log loss")
    ),
    *(
        _cell("measure", f"means of {n} from sums, {shape}", f"{n} {shape} values against {_WORDS['9n']}, sums only",
              "size", from_sums(shape, n), short=400 if (n, shape) == (220, "lognormal(1)") else 0)
        for n in (220, 2000)
        for shape in SHAPES
    ),
    *(
        _cell("measure", f"means at .5%, {shape}", f"40 {shape} values against {_WORDS['9n']}", "size",
              two_sided(shape, "9n", 40, 0.005), nominal=0.005, worst=0.01, short=0)
        for shape in ("exponential", "lognormal(1)", "log loss")
    ),
    *(
        _cell("measure", f"any of {groups} groups of {n}, {shape}", f"{groups} groups of {n}, Holm, nothing differs",
              "size", any_found(shape, groups, n), short=0, long=20_000 if n <= 40 else 4000)
        for shape, groups, n in (
            ("exponential", 10, 40), ("lognormal(1)", 10, 40), ("80% zeros", 10, 40), ("log loss", 10, 40),
            ("Brier", 10, 40), ("lognormal(1)", 20, 30), ("lognormal(1.5)", 20, 100), ("exponential", 8, 110),
            ("log loss", 10, 500),
        )
    ),
    *(
        _cell("measure", f"any of {groups} groups of {n} from sums, {shape}",
              f"{groups} groups of {n}, Holm, nothing differs, sums only", "size",
              any_found(shape, groups, n, sums=True), short=0)
        for shape, groups, n in (
            ("exponential", 10, 40), ("lognormal(1)", 20, 30), ("lognormal(1.5)", 20, 100), ("log loss", 10, 40),
        )
    ),
]  # fmt: skip

_LOST = {
    "zeros 80% to 94%": "a group of 40 with two or three values tells hardly more than a rate; sums of few events are "
    "not trusted",
    "outliers, one normal spread lower": "what looks like one wild value may be half of the true spread",
    "lognormal(1) times 1.8": "the largest value is not trusted on the side where it would tell",
}
POWER: list[Cell] = [
    *(
        _cell("measure", f"power beside {words}, {change}", f"40 against 360, {change}", "power", found(change, 40),
              rival=rival(change, 40), rival_name=words, loses=_LOST.get(change, ""), short=0)
        for words, rival, changes in (
            ("Welch's test", found_by_welch, ("normal, half a spread lower", "outliers, one normal spread lower")),
            ("the permutation test", found_by_permutation, tuple(CHANGES)[1:7]),
        )
        for change in changes
    ),
    *(
        _cell("measure", f"power by sums beside rows, {shape}", f"{n:,} {shape} values against nine times as many, "
              "three standard errors lower: what an audit of over 1,000,000 rows loses by comparing sums", "power",
              found_at_the_step(shape, n, sums=True), rival=found_at_the_step(shape, n, sums=False),
              rival_name="the rows", short=0, long=300, whole_analysis=True)
        for shape, n in (("normal", 2000), ("beta(.3, .7)", 2000), ("exponential", 2000))
    ),
]  # fmt: skip

CERTIFY: list[Cell] = [
    _cell("certify", "interval of means, another shape", "40 lognormal(1) values against 400 normal ones", "coverage",
          missed("lognormal(1)", "10n normal", 40)),
    _cell("certify", "interval of means, heavier tails, another shape",
          "40 lognormal(1.5) values against 400 normal ones", "coverage",
          missed("lognormal(1.5)", "10n normal", 40), short=0),
    *(
        _cell("certify", f"joint test, {groups} of {n}, {shape}", f"{groups} groups of {n} {shape} values", "size",
              jointly(shape, groups, n), short=60 if shape == "lognormal(1.5)" else 0, long=1500, whole_analysis=True)
        for shape, groups, n in (
            ("lognormal(1.5)", 6, 220), ("lognormal(1)", 10, 40), ("exponential", 10, 30), ("log loss", 10, 40),
            ("normal", 10, 30),
        )
    ),
    *(
        _cell("certify", f"joint test, known mean, {shape}", f"5 groups of {n} {shape} values, known mean", "size",
              jointly(shape, 5, n, known=True), short=0)
        for shape, n in (("lognormal(1)", 100), ("lognormal(1.5)", 520), ("exponential", 40))
    ),
    *(
        _cell("certify", f"all intervals at once, {groups} groups of {n}, {shape}",
              f"{groups} groups of {n} {shape} values against their rests", "coverage", at_once(shape, groups, n),
              short=0, long=400, whole_analysis=True)
        for shape, groups, n in (("lognormal(1.5)", 6, 220), ("log loss", 10, 40))
    ),
    _cell("certify", "all intervals at once, known mean", "10 groups of 40 lognormal(1) values", "coverage",
          at_once("lognormal(1)", 10, 40, known=True), short=0),
]  # fmt: skip

FLAG: list[Cell] = [
    _cell("flag", "no disparity, ten of 520, lognormal(1.5)", "10 groups of 520 lognormal(1.5) values, rest",
          "false flagging rate", any_flagged("lognormal(1.5)", 10, 520), short=0, long=4000),
    *(
        _cell("flag", f"no disparity below a known mean, {shape}", f"{groups} groups of {n} {shape} values, known mean",
              "false flagging rate", any_flagged(shape, groups, n, below=True),
              short=400 if n == 520 else 0, long=4000)
        for shape, groups, n in (
            ("lognormal(1.5)", 5, 520), ("lognormal(1)", 10, 40), ("80% zeros", 10, 100), ("log loss", 10, 40),
        )
    ),
]  # fmt: skip

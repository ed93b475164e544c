"""More lines of certify: known targets and their refinements, other target methods, regions, and the paper's rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from inside.gaps import certified
from inside.inference import (
    Comparison,
    Floats,
    KnownRateGaps,
    Likelihood,
    Refinement,
    bounded,
    estimate_gaps,
    holm,
    joint_test,
    make_gaps,
    normal_quantile,
    orthogonal_joint,
    shrunk,
)
from inside.papers import TargetMethod, paper_gaps, region_test
from validity.board import Cell
from validity.certify_designs import (
    ATOM_SHARES,
    Generator,
    Pair,
    TwoRates,
    atoms_of,
    atoms_of_counts,
    overlapping_counts,
    overlapping_groups,
)

Run = Callable[[int, Generator], np.ndarray]
LONE = np.array([[True]])


def _each(one: Callable[[Generator], bool]) -> Run:
    return lambda repeats, generator: np.array([float(one(generator)) for _ in range(repeats)])


# -- a known number --------------------------------------------------------------------------------------------
def known_mean(shape: str, n: int, refinement: Refinement | None = None) -> Run:
    """Misses of the interval of a mean against a known number; every distribution has mean 1."""

    def one(generator: Generator) -> bool:
        gaps = paper_gaps(
            atoms_of([_mean_one(generator, shape, n)]),
            Comparison(LONE, ~LONE, np.array([1.0])),
            refinement=refinement,
        )
        low, high = gaps.limits(0.95)
        return bool((low[0] > 0.0) | (high[0] < 0.0))

    return _each(one)


def _mean_one(generator: Generator, shape: str, n: int) -> Floats:
    if shape == "exponential":
        return generator.exponential(1.0, n)
    if shape == "gamma":
        return generator.gamma(2.0, 0.5, n)
    # risk scores 1 to 10 with their mean moved to 1
    return (
        generator.choice(np.arange(1.0, 11.0), n, p=_DECILES) - float(_DECILES @ np.arange(1.0, 11.0)) + 1.0
    )


_DECILES = np.array([0.22, 0.16, 0.12, 0.1, 0.09, 0.08, 0.07, 0.06, 0.05, 0.05])


def known_rate_size(n: int, rate: float) -> Run:
    """Rejections of 'the rate is the known number' when it is."""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        ones = generator.binomial(n, rate, repeats).astype(float)
        gaps = KnownRateGaps(np.full(repeats, float(n)), ones, np.full(repeats, rate))
        return (gaps.p_equal(0.0) <= 0.05).astype(float)

    return run


def joint_known(rate: float, sizes: tuple[int, ...]) -> Run:
    """Rejections of 'every group has the known rate' when they do."""
    member = np.eye(len(sizes), dtype=bool)

    def one(generator: Generator) -> bool:
        atoms = atoms_of_counts(np.array(sizes), generator.binomial(sizes, rate))
        return joint_test(atoms, member, None, rate).p_value <= 0.05

    return _each(one)


# -- estimated targets ---------------------------------------------------------------------------------------------
def rows_missed(
    pair: Pair, target_method: TargetMethod = "profile", likelihood: Likelihood = "empirical"
) -> Run:
    """Misses of the interval for exponential values by another target method or likelihood."""

    def one(generator: Generator) -> bool:
        atoms, comparison = pair.rows(generator)
        gaps = paper_gaps(atoms, comparison, target_method=target_method, likelihood=likelihood)
        return bool(gaps.p_equal(pair.gap)[0] <= 0.05)

    return _each(one)


def counts_missed(pair: Pair, target_method: TargetMethod) -> Run:
    """The same for rates."""

    def one(generator: Generator) -> bool:
        sizes = generator.multinomial(pair.n, pair.shares)
        values = [(generator.random(size) < rate).astype(float)
                  for size, rate in zip(sizes[:2], (pair.mean, pair.other_mean), strict=True)]  # fmt: skip
        member = np.array([[True, False]])
        reference = np.ones_like(member) if pair.target == "overall" else ~member
        gaps = paper_gaps(
            atoms_of(values, binary=True), Comparison(member, reference), target_method=target_method
        )
        return bool(gaps.p_equal(pair.gap)[0] <= 0.05)

    return _each(one)


def discrete_scores(n: int, share: float) -> Run:
    """Misses for mean risk scores of 1 to 10, the rest one point higher on average."""
    values = np.arange(1.0, 11.0)
    gap = float(_DECILES @ values - _DECILES[::-1] @ values)

    def one(generator: Generator) -> bool:
        size = int(generator.binomial(n, share))
        rows = [
            generator.choice(values, size, p=_DECILES),
            generator.choice(values, n - size, p=_DECILES[::-1]),
        ]
        member = np.array([[True, False]])
        return bool(make_gaps(atoms_of(rows), Comparison(member, ~member)).p_equal(gap)[0] <= 0.05)

    return _each(one)


def own_estimate(n: int) -> Run:
    """Misses against a caller's own target, log E exp(M), with its influence values: nothing the package knows."""
    member = np.array([[True, False]])

    def one(generator: Generator) -> bool:
        inside = generator.random(n) < 0.3
        values = generator.normal(np.where(inside, 0.5, 0.0), 0.5)
        level = np.exp(values).mean()
        influence = np.exp(values) / level - 1.0
        atoms = atoms_of([values[inside], values[~inside]])
        nobody = np.zeros_like(member)
        gaps = estimate_gaps(
            atoms, Comparison(member, nobody), np.where(inside, 0, 1), values, float(np.log(level)), influence
        )
        truth = 0.5 - np.log(0.3 * np.exp(0.5 + 0.125) + 0.7 * np.exp(0.125))
        return bool(gaps.p_equal(float(truth))[0] <= 0.05)

    return _each(one)


def own_estimate_joint(kind: str, likelihood: Likelihood) -> Run:
    """Joint rejections where the caller's own target is everybody's mean and three groups make up everyone."""
    member = np.eye(3, dtype=bool)

    def one(generator: Generator) -> bool:
        group = generator.choice(3, 500, p=[0.5, 0.3, 0.2])
        values = generator.exponential(size=500) if kind == "exponential" else generator.normal(size=500)
        atoms = atoms_of([values[group == k] for k in range(3)])
        comparison = Comparison(member, np.zeros_like(member))
        own = estimate_gaps(atoms, comparison, group, values, values.mean(), values - values.mean())
        test = orthogonal_joint(own.points, np.ones(3, dtype=bool), likelihood)
        assert test is not None
        known = replace(comparison, known=np.full(3, values.mean()))
        return shrunk(test, bounded(own, atoms, known), np.zeros(3)).p_value <= 0.05

    return _each(one)


# -- regions, families and the paper's rules -----------------------------------------------------------------------
def region_missed(kind: str, n: int) -> Run:
    """Repeats in which the true vector of disparities is not in the 95% region."""
    rates = np.array([0.2, 0.3, 0.25, 0.4])
    shares = np.array([0.15, 0.2, 0.25, 0.4])
    disjoint = np.eye(4, dtype=bool)
    overlapping = overlapping_groups()[[0, 2, 4]]

    def one(generator: Generator) -> bool:
        if kind == "rest":
            levels = np.linspace(0.2, 0.5, ATOM_SHARES.size)
            sizes, ones = (part[0] for part in overlapping_counts(1, n, levels, generator))
            inside = overlapping @ ATOM_SHARES, ~overlapping @ ATOM_SHARES
            means = overlapping @ (ATOM_SHARES * levels), ~overlapping @ (ATOM_SHARES * levels)
            truth = means[0] / inside[0] - means[1] / inside[1]
            member, reference, known = overlapping, None, None
        else:
            sizes = generator.multinomial(n, shares).astype(float)
            ones = generator.binomial(sizes.astype(int), rates).astype(float)
            member, reference, known = (
                (disjoint, None, 0.3) if kind == "known" else (disjoint[:-1], disjoint[-1], None)
            )
            truth = rates - 0.3 if kind == "known" else rates[:-1] - rates[-1]
        return region_test(atoms_of_counts(sizes, ones), member, reference, known, truth).p_value <= 0.05

    return _each(one)


def region_with_few(sizes: tuple[int, ...], rates: tuple[float, ...], known: float | None) -> Run:
    """The same with few events: groups against a known number, or against the last of them."""
    count, level = np.array(sizes, dtype=float), np.array(rates)
    groups = np.eye(len(sizes), dtype=bool)

    def one(generator: Generator) -> bool:
        atoms = atoms_of_counts(count, generator.binomial(sizes, rates))
        if known is not None:
            return region_test(atoms, groups, None, known, level - known).p_value <= 0.05
        return region_test(atoms, groups[:-1], groups[-1], None, level[:-1] - level[-1]).p_value <= 0.05

    return _each(one)


def plug_in_joint(kind: str) -> Run:
    """The paper's joint test: scores at the estimated target, chi-square with one degree per group."""
    sizes_of, spreads = np.array([0.1, 0.2, 0.3, 0.4]), (1.0, 3.0, 0.5, 2.0)

    def one(generator: Generator) -> bool:
        sizes = generator.multinomial(2000, sizes_of)
        values = [2.0 + s * (generator.exponential(size=size) - 1.0)
                  for s, size in zip(spreads, sizes, strict=True)]  # fmt: skip
        atoms, disjoint = atoms_of(values), np.eye(4, dtype=bool)
        if kind == "partition":
            return joint_test(atoms, disjoint, None, float(np.concatenate(values).mean())).p_value <= 0.05
        return joint_test(atoms, disjoint[:-1], None, float(values[-1].mean())).p_value <= 0.05

    return _each(one)


def edge_certificate(pair: Pair, *, paper: bool) -> Run:
    """A group at the band's edge is certified: by two one-sided tests, or because equality is not rejected."""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        gaps, edge = TwoRates(pair.counts(repeats, generator)), abs(pair.gap)
        certificate = gaps.p_equal(0.0) > 0.05 if paper else certified(gaps, (-edge, edge), 0.9)
        return certificate.astype(float)

    return run


def pointwise_as_simultaneous(n: int) -> Run:
    """Repeats in which one of 23 pointwise intervals misses: what the authors read off their table."""
    member = overlapping_groups()
    rates = np.linspace(0.15, 0.5, ATOM_SHARES.size)
    group = member @ (ATOM_SHARES * rates) / (member @ ATOM_SHARES)
    truth = group - ~member @ (ATOM_SHARES * rates) / (~member @ ATOM_SHARES)

    def run(repeats: int, generator: Generator) -> np.ndarray:
        sizes, ones = overlapping_counts(repeats, n, rates, generator)
        missed = np.zeros(repeats)
        for index in range(repeats):
            atoms = atoms_of_counts(sizes[index], ones[index])
            roots = make_gaps(atoms, Comparison(member, ~member)).root(truth)
            missed[index] = np.abs(roots).max() > normal_quantile(0.95)
        return missed

    return run


def any_violation(n: int, *, band: float, adjust: bool = True) -> Run:
    """Some group is called violated (Holm) while every gap is exactly at the edge of the band, or zero."""
    member = np.eye(6, dtype=bool)
    rates = np.array([0.3] * 6) + band * np.array([0, 1, 0, 1, 0, 1])

    def one(generator: Generator) -> bool:
        sizes = generator.multinomial(n, [1 / 6] * 6).astype(float)
        atoms = atoms_of_counts(sizes, generator.binomial(sizes.astype(int), rates))
        gaps = make_gaps(atoms, Comparison(member[1:], np.tile(member[0], (5, 1))))
        p = gaps.p_inside(-band, band) if band else gaps.p_equal(0.0)
        return bool((holm(p) if adjust else p).min() <= 0.05)

    return _each(one)


def _cell(name: str, design: str, claim: str, run: Run, **more: object) -> Cell:
    return Cell("certify", name, design, claim, run, **more)  # type: ignore[arg-type]


def _paper(name: str, ours: str, design: str, claim: str, run: Run, **more: object) -> Cell:
    return _cell(name, design, claim, run, variant="paper", counterpart=ours, **more)


# A small sample whose true gap is the tolerance: it cannot be certified, and the paper's rule does so most of the time.
SMALL_EDGE = Pair("reference", 0.5, 200, 0.35, 0.30, 0.5)
_SMALL_EDGE = "true gap exactly the tolerance of 5 points, two groups of 100"
_SIX = "five groups against a sixth, equal rates of 30%, n 1200"

CELLS: list[Cell] = [
    _cell("known number, rate, p-value", "100 people, rate 10%", "size", known_rate_size(100, 0.1)),
    _cell("known number, rate, p-value, rare events", "50 people, rate 2%", "size", known_rate_size(50, 0.02)),
    _cell("known number, mean", "gamma with shape 2, 200 people", "coverage", known_mean("gamma", 200)),
    _cell("known number, mean, t-calibrated", "gamma with shape 2, 60 people", "coverage", known_mean("gamma", 60)),
    _cell("known number, mean of discrete scores", "scores 1 to 10, 60 people", "coverage", known_mean("scores", 60)),
    *(
        _cell(f"known number, mean, {refinement}", "exponential, 200 people", "coverage",
              known_mean("exponential", 200, refinement))
        for refinement in ("none", "bartlett", "adjusted", "balanced")
    ),
    _cell("known number, joint test", "four groups, rate 30%, n 500", "size", joint_known(0.3, (50, 100, 150, 200))),
    _cell("known number, joint test, rare events", "six groups of 30 to 80, rate 3%", "size",
          joint_known(0.03, (30, 40, 50, 60, 70, 80))),
    _cell("interval, orthogonal scores, binary", "group of 50% against overall, rates 5% and 50%, n 500", "coverage",
          counts_missed(Pair("overall", 0.5, 500, 0.05, 0.5), "orthogonal")),
    _cell("interval, scaled plug-in", "binary, group of 50%, rates 5% and 50%, overall, n 2000", "coverage",
          counts_missed(Pair("overall", 0.5, 2000, 0.05, 0.5), "scaled")),
    _cell("interval, scaled plug-in, exponential", "group of 50% against rest, n 2000", "coverage",
          rows_missed(Pair("rest", 0.5, 2000, 1.0, 2.0), "scaled")),
    _cell("interval, Euclidean", "exponential, group of 50% against rest, n 500", "coverage",
          rows_missed(Pair("rest", 0.5, 500, 1.0, 2.0), likelihood="euclidean")),
    _cell("interval, discrete scores", "mean score of 1 to 10, group of about 60 against rest, n 400", "coverage",
          discrete_scores(400, 0.15)),
    _cell("interval, a target of one's own", "log E exp(M) of everybody with its influence values, n 500", "coverage",
          own_estimate(500)),
    _cell("joint test, a target of one's own", "everybody's mean, three groups, exponential, n 500", "size",
          own_estimate_joint("exponential", "empirical"), covers=("certify.joint.p_value",)),
    _cell("joint test, a target of one's own, euclidean", "everybody's mean, three groups, normal, n 500", "size",
          own_estimate_joint("normal", "euclidean"), covers=("certify.joint.p_value",)),
    _cell("region, known target", "four groups against 30%, n 800", "coverage", region_missed("known", 800),
          covers=("certify.region.p_value",)),
    _cell("region, reference", "three groups and a reference, n 800", "coverage", region_missed("reference", 800),
          covers=("certify.region.p_value",)),
    _cell("region, rest, overlapping", "three overlapping groups against their rests, n 1000", "coverage",
          region_missed("rest", 1000)),
    _cell("region, known target, few events", "groups of 50, 80 and 60 people, rates 5%, 5% and 10%", "coverage",
          region_with_few((50, 80, 60), (0.05, 0.05, 0.1), 0.1)),
    _cell("region, reference, few events", "five groups of 30 to 70 and a reference of 800, rate 5%", "coverage",
          region_with_few((30, 40, 50, 60, 70, 800), (0.05,) * 6, None)),
    _cell("no group called violated", _SIX, "size", any_violation(1200, band=0.0)),
    _paper("every group at its own 5%", "no group called violated", _SIX, "size",
           any_violation(1200, band=0.0, adjust=False)),
    _cell("no group called violated, at the band's edge", "three of five gaps exactly the tolerance, n 1200", "size",
          any_violation(1200, band=0.05)),
    _cell("certificate at the band's edge, small sample", _SMALL_EDGE, "wrong certification",
          edge_certificate(SMALL_EDGE, paper=False)),
    _paper("certified because equality is not rejected", "certificate at the band's edge, small sample", _SMALL_EDGE,
           "wrong certification", edge_certificate(SMALL_EDGE, paper=True)),
    _paper("pointwise intervals read all at once", "simultaneous intervals, rest",
           "23 overlapping groups, rates 15% to 50%, n 2000", "coverage", pointwise_as_simultaneous(2000)),
    _paper("plug-in scores, joint test, reference", "joint test, reference, exponential",
           "three groups and a reference, unequal variances, n 2000", "size", plug_in_joint("reference")),
    _paper("plug-in scores, joint test, partition", "joint test, partition, exponential",
           "four groups against overall, unequal variances, n 2000", "size", plug_in_joint("partition")),
]  # fmt: skip

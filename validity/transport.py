"""Validity of `transport`: size of the gap test under true nulls, in the designs where such tests break."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr

from inside.direct_calls import gap_limits
from inside.inference import PartCounts
from inside.transport import (
    RateContrasts,
    article_test,
    band,
    disjoint_families,
    from_matrices,
    linear_distance,
    overlapping_families,
    pooled_test,
    project,
)
from validity.board import Cell
from validity.printed_numbers import printed
from validity.repeated_people import TRANSPORT as REPEATED
from validity.transport_change import CELLS as CHANGE
from validity.transport_widest import CELLS as WIDEST
from validity.whole_functions import lines

Floats = NDArray[np.float64]
Run = Callable[[int, np.random.Generator], Floats]
Draw = Callable[[np.random.Generator], tuple[RateContrasts, Floats | None]]


def _pooled(draw: Draw, tolerance: float = 0.0, direction: str = "differs") -> Run:
    def run(repeats: int, rng: np.random.Generator) -> Floats:
        p_values = np.empty(repeats)
        for repeat in range(repeats):
            problem, distance = draw(rng)
            allowed = np.full(problem.size, tolerance)
            try:
                p_values[repeat] = pooled_test(problem, distance, allowed, direction, seed=repeat).p_value
            except ArithmeticError:  # no p-value is given, so nothing is rejected
                p_values[repeat] = 1.0
        return (p_values <= 0.05).astype(float)

    return run


def _half_chi_square(draw: Draw, tolerance: float) -> Run:
    """The two-sided tolerance by half a chi-square tail: it forgets that a narrow band is left on both sides."""

    def run(repeats: int, rng: np.random.Generator) -> Floats:
        rejected = np.zeros(repeats)
        for repeat in range(repeats):
            problem, distance = draw(rng)
            test = pooled_test(problem, distance, np.full(problem.size, tolerance), "differs")
            rejected[repeat] = test.statistic > 0 and ndtr(-np.sqrt(2 * test.statistic)) <= 0.05
        return rejected

    return run


def _article(draw: Draw, power: float = 1.0) -> Run:
    """The article's calibration; with `power` 2 of a squared distance, as its kernel cost (3b) is one."""

    def run(repeats: int, rng: np.random.Generator) -> Floats:
        p_values = np.empty(repeats)
        for repeat in range(repeats):
            problem, distance = draw(rng)
            assert distance is not None
            distance = distance**power
            none = np.zeros(problem.size)
            value = project(problem, distance, *band(problem.size, none, "differs")).statistic
            p_values[repeat] = article_test(problem, distance, value, problem.rows**-0.2, "differs").p_value
        return (p_values <= 0.05).astype(float)

    return run


def _appendix_b1(rows: int) -> Draw:
    """The article's Gaussian mixture with θ = (0, 1): the decision is fair, equal opportunity holds."""

    def draw(rng: np.random.Generator) -> tuple[RateContrasts, Floats]:
        while True:
            cell = rng.choice(4, size=rows, p=[0.4, 0.1, 0.4, 0.1])  # (A, Y) = (1,1), (0,1), (1,0), (0,0)
            codes = np.where(cell < 2, cell, -1)
            if (codes == 1).any() and (codes == 0).any():
                break
        margin = rng.normal(size=rows) * np.sqrt(5)
        return disjoint_families(codes, [((0, 1), 1)], (margin >= 0).astype(np.uint8)), np.abs(margin)

    return draw


@cache
def _compas_rows() -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8], Floats]:
    """Race, outcome, decision and distance of 1,584 people under a logistic rule fitted on 3,694 others."""
    from sklearn.linear_model import LogisticRegression

    from fairtrial import load

    table = load("compas", backend="pyarrow")
    columns = {
        name: np.asarray(table[name].to_pylist()) for name in ("race", "sex", "c_charge_degree", "age_cat")
    }
    days = np.array(
        [np.nan if v is None else v for v in table["days_b_screening_arrest"].to_pylist()], dtype=float
    )
    kept = (np.abs(days) <= 30) & np.isin(columns["race"], ["African-American", "Caucasian"])
    x = np.column_stack(
        [
            columns["sex"] == "Male",
            table["priors_count"].to_numpy(),
            columns["c_charge_degree"] == "F",
            columns["age_cat"] == "Less than 25",
            columns["age_cat"] == "Greater than 45",
        ]
    )[kept].astype(float)
    outcome = table["two_year_recid"].to_numpy()[kept].astype(np.int64)
    race = (columns["race"][kept] == "African-American").astype(np.int64)
    order = np.random.default_rng(0).permutation(len(x))
    train, test = np.split(order, [int(0.7 * len(x))])
    model = LogisticRegression().fit(x[train], outcome[train])
    margin = model.decision_function(x[test])
    return (
        race[test],
        outcome[test],
        (margin >= 0).astype(np.uint8),
        linear_distance(margin, model.coef_.ravel()),
    )


def _compas(scale: float = 1.0, both: bool = False) -> Draw:
    """Discrete scores: race permuted within the outcome, so that every error rate is the same by construction."""

    def draw(rng: np.random.Generator) -> tuple[RateContrasts, Floats]:
        race, outcome, decision, distance = _compas_rows()
        shuffled = race.copy()
        for value in (0, 1):
            inside = np.flatnonzero(outcome == value)
            shuffled[inside] = race[rng.permutation(inside)]
        if both:
            families = [((0, 1), 0), ((2, 3), 2)]
            return disjoint_families(2 * outcome + shuffled, families, decision), distance * scale
        codes = np.where(outcome == 1, shuffled, -1)
        return disjoint_families(codes, [((0, 1), 0)], decision), distance * scale

    return draw


def _shifted(rows: int, shift: float, scale: float = 0.5) -> Draw:
    """Two groups, one with scores moved by `shift` standard deviations; distances below one, as those of kernels."""

    def draw(rng: np.random.Generator) -> tuple[RateContrasts, Floats]:
        codes = np.where(rng.random(rows) < 0.5, (rng.random(rows) < 0.2).astype(np.int64), -1)
        codes[:2] = (0, 1)
        margin = (rng.normal(size=rows) + shift * (codes == 1)) * scale
        return disjoint_families(codes, [((0, 1), 0)], (margin >= 0).astype(np.uint8)), np.abs(margin)

    return draw


def _strata(rows: int) -> Draw:
    """Conditional parity: two groups in three strata that are selected at 20%, 50% and 70%."""

    def draw(rng: np.random.Generator) -> tuple[RateContrasts, Floats]:
        stratum, group = rng.integers(0, 3, rows), (rng.random(rows) < 0.25).astype(np.int64)
        selected = rng.random(rows) < np.array([0.2, 0.5, 0.7])[stratum]
        families = [((2 * value, 2 * value + 1), 2 * value) for value in range(3)]
        distance = np.abs(rng.normal(size=rows))
        return disjoint_families(2 * stratum + group, families, selected.astype(np.uint8)), distance

    return draw


def _difference(n1: int, n2: int, first: float, second: float) -> Run:
    """Misses of the interval shown beside each difference of two rates."""

    def run(repeats: int, rng: np.random.Generator) -> Floats:
        k1, k2 = (
            rng.binomial(n, rate, repeats).astype(np.float64) for n, rate in ((n1, first), (n2, second))
        )
        none = np.zeros(repeats)
        low, high = gap_limits(PartCounts(none, none, k1, none + n1, k2, none + n2), 0.95)
        gap = first - second
        return ((gap < low) | (gap > high)).astype(float)

    return run


def _four_groups(rows: int, shares: tuple[float, ...], rate: float) -> Draw:
    """Groups of very different size whose scores are spread differently, all selected at the same rate."""
    from scipy.special import ndtri

    cut = float(-ndtri(rate))
    spread = np.array([0.5, 1.0, 2.0, 4.0])

    def draw(rng: np.random.Generator) -> tuple[RateContrasts, Floats]:
        group = rng.choice(4, size=rows, p=shares)
        group[:4] = np.arange(4)
        margin = (rng.normal(size=rows) - cut) * spread[group]
        return disjoint_families(group, [(range(4), 0)], (margin >= 0).astype(np.uint8)), np.abs(margin)

    return draw


def _overlapping(rows: int) -> Draw:
    """Two attributes with equal rates each, while the four intersections differ: .7 and .3 crosswise."""

    def draw(rng: np.random.Generator) -> tuple[RateContrasts, Floats]:
        first, second = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
        rate = np.where(first == second, 0.7, 0.3)
        selected = rng.random(rows) < rate
        distance = np.abs(rng.normal(size=rows))
        return overlapping_families([first, second], [0, 0], selected.astype(np.uint8)), distance

    return draw


def _stuck_group(rows: int, small: int) -> Draw:
    """A small group none of whose members can move: what the projection does to it must not touch the p-value."""

    def draw(rng: np.random.Generator) -> tuple[RateContrasts, Floats]:
        group = np.repeat([0, 1, 2], [rows // 2, rows - rows // 2, small])
        margin = rng.normal(size=group.size)
        distance = np.where(group == 2, np.inf, np.abs(margin))
        return disjoint_families(group, [(range(3), 0)], (margin >= 0).astype(np.uint8)), distance

    return draw


def _own_contrast(rows: int) -> Draw:
    """One rate against the mean of two others, which differ: the null leaves them free, so nothing is pooled."""

    def draw(rng: np.random.Generator) -> tuple[RateContrasts, None]:
        group = rng.integers(0, 3, rows)
        selected = rng.random(rows) < np.array([0.5, 0.2, 0.8])[group]
        return from_matrices(np.eye(3)[group], [[1.0, -0.5, -0.5]], selected.astype(np.uint8)), None

    return draw


def _rare_overlapping(rows: int) -> Draw:
    """Two overlapping attributes, one of them rare, and rare events."""

    def draw(rng: np.random.Generator) -> tuple[RateContrasts, None]:
        first, second = rng.integers(0, 2, rows), (rng.random(rows) < 0.06).astype(np.int64)
        selected = (rng.random(rows) < 0.03).astype(np.uint8)
        return overlapping_families([first, second], [0, 0], selected), None

    return draw


def _rare(small: int, large: int, rate: float, groups: int = 2) -> Draw:
    """Rare events: a normal law would reject far too often."""

    def draw(rng: np.random.Generator) -> tuple[RateContrasts, None]:
        group = np.repeat(np.arange(groups), [large] + [small] * (groups - 1))
        selected = rng.random(group.size) < rate
        return disjoint_families(group, [(range(groups), 0)], selected.astype(np.uint8)), None

    return draw


def _small_beside_large(sizes: tuple[int, ...], rate: float, level: float) -> Run:
    """Rejections of equal rates at a small level. Only tables whose chi-square comes near it are tested."""
    count = np.array(sizes)
    group = np.repeat(np.arange(count.size), count)

    def run(repeats: int, rng: np.random.Generator) -> Floats:
        events = rng.binomial(count, rate, (repeats, count.size))
        pooled = events.sum(axis=1, keepdims=True) / count.sum()
        squared = ((events / count - pooled) ** 2 * count).sum(axis=1) / np.maximum(
            pooled * (1 - pooled), 1e-12
        )[:, 0]
        rejected = np.zeros(repeats)
        for repeat in np.flatnonzero(chdtrc(count.size - 1, squared) <= 10 * level):
            event = np.concatenate(
                [np.arange(size) < k for size, k in zip(sizes, events[repeat], strict=True)]
            ).astype(np.uint8)
            problem = disjoint_families(group, [(range(count.size), 0)], event)
            p = pooled_test(problem, None, np.zeros(problem.size), "differs", seed=int(repeat)).p_value
            rejected[repeat] = p <= level
        return rejected

    return run


def _at_tolerance(gaps: tuple[float, ...], rows: int, base: float = 0.4) -> Draw:
    """Rates that differ by exactly the tolerance: the edge of the null."""

    def draw(rng: np.random.Generator) -> tuple[RateContrasts, None]:
        rates = np.array([base, *(base + gap for gap in gaps)])
        group = rng.integers(0, len(rates), rows)
        selected = rng.random(rows) < rates[group]
        return disjoint_families(group, [(range(len(rates)), 0)], selected.astype(np.uint8)), None

    return draw


def _cell(name: str, design: str, run: Run, **more: object) -> Cell:
    claim = more.pop("claim", "size")
    return Cell("transport", name, design, claim, run, **more)  # type: ignore[arg-type]


_B1 = "the article's Appendix B.1, 30 rows"
_COMPAS = "discrete scores: COMPAS, race permuted within the outcome"
_NARROW = "gap exactly 0.2 points = tolerance, two-sided"
_SHIFTED = "scores of the smaller group moved by 0.75 standard deviations, distances of about 0.4, 500 rows"

CELLS: list[Cell] = [
    *REPEATED,
    _cell("b1-100", "the article's Appendix B.1, 100 rows", _pooled(_appendix_b1(100))),
    _cell("b1-500", "the article's Appendix B.1, 500 rows", _pooled(_appendix_b1(500))),
    _cell("b1-30", _B1, _pooled(_appendix_b1(30))),
    _cell("compas-discrete", _COMPAS, _pooled(_compas())),
    _cell(
        "compas-discrete-odds",
        "the same for equalized odds: two equalities at once",
        _pooled(_compas(both=True)),
    ),
    _cell(
        "four-groups",
        "4 groups of 60/25/10/5%, 600 rows",
        _pooled(_four_groups(600, (0.6, 0.25, 0.1, 0.05), 0.4)),
    ),
    _cell(
        "four-groups-low-rate",
        "4 groups, selection rate 6%, 1,500 rows",
        _pooled(_four_groups(1500, (0.6, 0.25, 0.1, 0.05), 0.06)),
    ),
    _cell(
        "overlapping", "two attributes, intersections differ crosswise, 400 rows", _pooled(_overlapping(400))
    ),
    _cell("stuck-group", "a group of 40 that cannot move, beside 600", _pooled(_stuck_group(600, 40))),
    *(
        _cell(
            f"small-beside-large-{len(sizes)}-{level:g}",
            f"{len(sizes) - 1} of {sizes[1]} people beside {sizes[0]:,}, rate {rate:.0%}, level {level:g}",
            _small_beside_large(sizes, rate, level),
            nominal=level,
            worst=1.5 * level,
            short=20_000 if len(sizes) == 2 and level == 0.001 else 0,
            long=round(100 / level),
            covers=("transport.p_value",),
        )
        for sizes, rate in (((2000, 60), 0.1), ((2000, 60, 60, 60), 0.1))
        for level in (0.001, 0.0001)
    ),
    _cell("rare-pair", "30 people beside 3,000, rate 0.5%", _pooled(_rare(30, 3000, 0.005))),
    _cell("rare-four", "4 groups, three of 40 people, rate 2%", _pooled(_rare(40, 1000, 0.02, 4))),
    _cell(
        "rare-overlapping",
        "two attributes, one of 36 people, rate 3%, 600 rows",
        _pooled(_rare_overlapping(600)),
    ),
    _cell(
        "own-contrast", "one rate against the mean of two that differ, 180 rows", _pooled(_own_contrast(180))
    ),
    _cell(
        "tolerance", "gap exactly 5 points = tolerance, two-sided", _pooled(_at_tolerance((0.05,), 600), 0.05)
    ),
    _cell(
        "tolerance-narrow",
        "gap exactly 1 point = tolerance, two-sided",
        _pooled(_at_tolerance((0.01,), 600), 0.01),
    ),
    _cell(
        "tolerance-above",
        "gap exactly 5 points = tolerance, one-sided",
        _pooled(_at_tolerance((0.05,), 600), 0.05, "above"),
    ),
    _cell(
        "tolerance-four",
        "3 gaps exactly at ±5 points = tolerance",
        _pooled(_at_tolerance((0.05, -0.05, 0.05), 1000), 0.05),
    ),
    _cell(
        "tolerance-rare",
        "rates 0.2% and 3.2%, tolerance 3 points, 200 rows",
        _pooled(_at_tolerance((0.03,), 200, 0.002), 0.03),
    ),
    _cell("tolerance-tiny", _NARROW, _pooled(_at_tolerance((0.002,), 600), 0.002), short=2000),
    _cell(
        "paper-half-chi-square",
        _NARROW,
        _half_chi_square(_at_tolerance((0.002,), 600), 0.002),
        variant="paper",
        counterpart="tolerance-tiny",
        short=4000,
        long=4000,
    ),
    _cell(
        "strata",
        "conditional parity: 2 groups in 3 strata of different rates, 450 rows",
        _pooled(_strata(450)),
    ),
    _cell("strata-small", "the same with 150 rows, about 12 people in a cell", _pooled(_strata(150))),
    _cell(
        "difference-interval",
        "250 people of 40% against 400 of 25%",
        _difference(250, 400, 0.4, 0.25),
        claim="coverage",
        short=2000,
    ),
    _cell(
        "difference-interval-rare",
        "35 people of 4% against 900 of 6%",
        _difference(35, 900, 0.04, 0.06),
        claim="coverage",
        short=2000,
    ),
    _cell("power", _SHIFTED, _pooled(_shifted(500, 0.75)), claim="power", nominal=0.9),
    _cell(
        "paper-squared-distance",
        _SHIFTED,
        _article(_shifted(500, 0.75), power=2.0),
        claim="power",
        nominal=0.9,
        variant="paper",
        counterpart="power",
    ),
    _cell("paper-b1-30", _B1, _article(_appendix_b1(30)), variant="paper", counterpart="b1-30"),
    _cell(
        "paper-compas-discrete", _COMPAS, _article(_compas()), variant="paper", counterpart="compas-discrete"
    ),
    *CHANGE,
    *WIDEST,
    *lines("transport"),
    *printed("transport"),
]

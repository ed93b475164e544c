"""Strata, weights, units, pairs and the highest rate: the page's numbers, oracles written another way, every table."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import optimize, stats
from statsmodels.stats.contingency_tables import StratifiedTable, mcnemar

from inside.direct_calls import difference_interval
from inside.inference import (
    Comparison,
    LinearGaps,
    PairGaps,
    StrataGaps,
    TwoRates,
    UnitSums,
    at_null,
    heterogeneity,
    mcnemar_mid_p,
    pairs_of_groups,
    ratio_to_highest,
)

STRATA = np.array([(3, 10, 8, 20), (5, 12, 9, 15), (2, 8, 1, 5), (4, 6, 0, 0)], dtype=float)
UNITS = [(4, 1, 10, 4), (6, 3, 8, 5), (3, 0, 12, 3), (5, 2, 9, 4), (7, 2, 6, 3), (2, 1, 15, 6)]
APART = Comparison(np.array([[True, False]]), np.array([[False, True]]))
EVERYONE = Comparison(np.array([[True, False]]), np.array([[True, True]]))


def strata_law(rows, scale):
    return StrataGaps(TwoRates(*(column[None] for column in np.asarray(rows, dtype=float).T)), scale)


def unit_rows():
    """The page's units as rows: unit, group (0 or 1), value."""
    rows = []
    for unit, (n1, k1, n2, k2) in enumerate(UNITS):
        for group, (n, k) in enumerate(((n1, k1), (n2, k2))):
            rows += [(unit, group, 1.0)] * k + [(unit, group, 0.0)] * (n - k)
    unit, group, value = (np.array(column) for column in zip(*rows, strict=True))
    return unit, group, value


# Strata


def score_of(law, gap):
    """The score within strata by hand: of the two roots the one without the correction for skewness."""
    null = at_null(law.table, np.array([[gap]]), law.scale)
    distance = (law.weight * null.distance).sum()
    score = distance / np.sqrt((law.weight**2 * null.variance).sum())
    assert min(abs(root[0] - score) for root in law.roots(law.to_point(np.array([gap])))) <= 1e-9 * abs(score)
    return score


def test_published_numbers_of_strata():
    """methods/gaps.md, Numbers."""
    for scale, expected, bounded in (
        ("difference", (-0.105729, -0.328227, 0.129623), (-0.332581, 0.130930)),
        ("ratio", (0.761737, 0.397584, 1.380373), (0.384289, 1.388876)),
    ):
        law = strata_law(STRATA, scale)
        assert law.to_gap(law.centre)[0] == pytest.approx(expected[0], abs=5e-7)
        for limit, root in zip(expected[1:], (1.959964, -1.959964), strict=True):
            assert score_of(law, limit) == pytest.approx(root, abs=2e-5)
        # never sharper than the skewness of the score allows
        low, high = law.limits(0.95)
        assert (low[0], high[0]) == pytest.approx(bounded, abs=5e-7)
        assert low[0] <= expected[1] + 5e-7
        assert high[0] >= expected[2] - 5e-7
    law = strata_law(STRATA, "difference")
    assert score_of(law, 0.0) ** 2 == pytest.approx(0.767631, abs=5e-7)
    found = heterogeneity(law)
    assert (found.statistic[0], found.df[0]) == pytest.approx((0.512781, 2), abs=5e-7)
    usable = STRATA[:, 3] > 0
    assert STRATA[usable, 1].sum() / STRATA[:, 1].sum() == pytest.approx(0.833333, abs=5e-7)


def test_no_gap_is_cochran_mantel_haenszel():
    rng = np.random.default_rng(5)
    for _ in range(5):
        n1, n2 = rng.integers(4, 40, (2, 7))
        rows = np.stack([rng.binomial(n1, 0.3), n1, rng.binomial(n2, 0.4), n2], axis=1)
        tables = [np.array([[a, b - a], [c, d - c]], dtype=float) for a, b, c, d in rows]
        expected = StratifiedTable(tables).test_null_odds(correction=False)
        for scale, value in (("difference", 0.0), ("ratio", 1.0)):
            law = strata_law(rows, scale)
            assert score_of(law, value) ** 2 == pytest.approx(expected.statistic, rel=1e-9)
            assert law.p_equal()[0] >= expected.pvalue * (1.0 - 1e-9)
        ratio = strata_law(rows, "ratio")
        by_hand = sum(a * d / (b + d) for a, b, c, d in rows) / sum(c * b / (b + d) for a, b, c, d in rows)
        assert ratio.to_gap(ratio.centre)[0] == pytest.approx(by_hand, rel=1e-12)


def test_one_stratum_is_the_plain_score():
    law = strata_law([(12, 40, 31, 55)], "difference")
    plain = difference_interval(12, 40, 31, 55, only="score")
    for limit, root in ((plain.low, 1.959963984540054), (plain.high, -1.959963984540054)):
        assert score_of(law, float(limit)) == pytest.approx(root, abs=1e-7)
    low, high = law.limits(0.95)
    assert low[0] <= float(plain.low) + 1e-9
    assert high[0] >= float(plain.high) - 1e-9


# Weights and units


def test_published_numbers_of_units():
    unit, group, value = unit_rows()
    sums = UnitSums.of_rows(unit, group, np.ones(unit.size), value, 2)
    gaps = LinearGaps(sums, APART)
    low, high = gaps.limits(0.95)
    found = (gaps.df[0], gaps.p_equal(0.0)[0], low[0], high[0])
    assert found == pytest.approx((4.816774, 0.066087, -0.171200, 0.008322), abs=5e-7)
    plain = (gaps.mean * (1 - gaps.mean) / gaps.size).sum()
    effect = (gaps.variances[0, 0] + gaps.variances[1, 0] - 2 * gaps.variances[2, 0]) / plain
    assert effect == pytest.approx(0.096785, abs=5e-7)
    ratio = LinearGaps(sums, APART, "ratio")
    low, high = ratio.limits(0.95)
    assert (low[0], high[0]) == pytest.approx((0.541600, 1.019107), abs=5e-7)
    assert ratio.p_equal()[0] == pytest.approx(gaps.p_equal()[0], rel=1e-12), (
        "no difference is a ratio of one"
    )


def by_rows(unit, group, weight, value, comparison):
    """Covariance and degrees of freedom row by row, every matrix written out."""
    inside = [side[0][group] for side in (comparison.member, comparison.reference)]
    totals = [weight[rows].sum() for rows in inside]
    means = [(weight * value)[rows].sum() / total for rows, total in zip(inside, totals, strict=True)]
    effects, residuals = [], []
    for u in np.unique(unit):
        effect, residual = np.zeros((2, unit.size)), np.zeros(2)
        for g in (0, 1):
            mine = inside[g] & (unit == u)
            part = weight[mine].sum() / totals[g]
            if part > 0:
                stretch = 1 / np.sqrt(1 - part)
                effect[g] = stretch * (weight * mine - part * weight * inside[g]) / totals[g]
                residual[g] = stretch * (weight * (value - means[g]))[mine].sum() / totals[g]
        effects.append(effect[0] - effect[1])
        residuals.append(residual)
    spread = np.array(effects) @ np.array(effects).T
    residuals = np.array(residuals)
    return residuals.T @ residuals, np.trace(spread) ** 2 / np.trace(spread @ spread)


@pytest.mark.parametrize("comparison", [APART, EVERYONE], ids=["apart", "everyone"])
def test_covariance_and_degrees_of_freedom_row_by_row(comparison):
    unit, group, value = unit_rows()
    weight = np.random.default_rng(2).uniform(0.3, 4.0, unit.size)
    gaps = LinearGaps(UnitSums.of_rows(unit, group, weight, value, 2), comparison)
    covariance, df = by_rows(unit, group, weight, value, comparison)
    expected = (covariance[0, 0], covariance[1, 1], covariance[0, 1])
    assert gaps.variances[:, 0] == pytest.approx(expected, rel=1e-10)
    assert gaps.df[0] == pytest.approx(df, rel=1e-10)


def test_many_persons_approach_taylor_linearisation():
    """The textbook's linearised variance, m/(m-1) times the squared influences per unit."""
    rng = np.random.default_rng(9)
    unit, weight = np.repeat(np.arange(400), 3), rng.uniform(0.5, 2.0, 1200)
    group, value = rng.integers(0, 2, 1200), rng.gamma(2.0, 1.0, 1200)
    gaps = LinearGaps(UnitSums.of_rows(unit, group, weight, value, 2), APART)
    influence = np.zeros(1200)
    for g, sign in ((0, 1.0), (1, -1.0)):
        rows = group == g
        mean = np.average(value[rows], weights=weight[rows])
        influence[rows] += sign * weight[rows] * (value[rows] - mean) / weight[rows].sum()
    per_unit = np.bincount(unit, influence)
    textbook = np.sqrt(400 / 399 * np.sum((per_unit - per_unit.mean()) ** 2))
    assert gaps.error[0] == pytest.approx(textbook, rel=0.01)
    half = stats.t.isf(0.025, gaps.df[0]) * gaps.error[0]
    low, high = gaps.limits(0.95)
    assert (low[0], high[0]) == pytest.approx((gaps.estimate[0] - half, gaps.estimate[0] + half), rel=1e-9)


def test_equal_weights_and_distinct_units_are_counts():
    rng = np.random.default_rng(1)
    value, group = (rng.random(80) < 0.4).astype(float), rng.integers(0, 2, 80)
    assert UnitSums.of_rows(np.arange(80), group, np.full(80, 2.5), value, 2).counted
    assert not UnitSums.of_rows(np.arange(80), group, rng.random(80), value, 2).counted
    assert not UnitSums.of_rows(np.arange(80) // 2, group, np.ones(80), value, 2).counted


def test_weights_may_be_in_any_unit_and_inference_is_continuous_in_them():
    unit, group, value = unit_rows()
    weight = np.random.default_rng(4).uniform(0.5, 2.0, unit.size)

    def limits(weights):
        return np.ravel(LinearGaps(UnitSums.of_rows(unit, group, weights, value, 2), APART).limits(0.95))

    assert limits(1000 * weight) == pytest.approx(limits(weight), rel=1e-9)
    assert limits(weight * (1 + 1e-7)) == pytest.approx(limits(weight), abs=1e-6)


@pytest.mark.parametrize("comparison", [APART, EVERYONE], ids=["apart", "everyone"])
@pytest.mark.parametrize("scale", ["difference", "ratio"])
def test_many_rows_pooled_at_few_weights_give_the_same_numbers(comparison, scale):
    random = np.random.default_rng(8)
    n = 60_000
    group, value = (random.random(n) < 0.9).astype(int), (random.random(n) < 0.03).astype(float)
    sums = UnitSums.of_rows(np.arange(n), group, np.exp(0.8 * random.normal(size=n)), value, 2)
    pooled = sums.pooled()
    assert pooled.units < 100 < sums.units
    full, few = (LinearGaps(of, comparison, scale) for of in (sums, pooled))
    for name in ("estimate", "error", "df", "people", "size", "variances", "covariance"):
        assert getattr(few, name) == pytest.approx(getattr(full, name), rel=1e-9), name
    assert np.ravel(few.limits(0.95)) == pytest.approx(np.ravel(full.limits(0.95)), rel=1e-9)
    assert few.p_equal() == pytest.approx(full.p_equal(), rel=1e-9)
    assert few.joint().p_value == pytest.approx(full.joint().p_value, rel=1e-9)


def test_few_rows_heavy_rows_and_repeated_units_are_not_pooled():
    random = np.random.default_rng(9)
    n = 30_000
    group, value, unit = random.integers(0, 2, n), (random.random(n) < 0.3).astype(float), np.arange(n)
    heavy = np.where(unit == 0, 1000.0, random.uniform(0.5, 1.0, n))
    for rows in (
        (unit[:100], group[:100], heavy[:100] + unit[:100], value[:100]),
        (unit, group, heavy, value),
        (unit // 2, group, random.random(n), value),
        (unit, group, random.random(n), random.random(n)),
    ):
        sums = UnitSums.of_rows(*rows, 2)
        assert sums.pooled() is sums


def test_one_unit_gives_a_reason():
    unit, group = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 0, 1, 1, 1])
    gaps = LinearGaps(UnitSums.of_rows(unit, group, np.ones(6), np.array([1.0, 0, 0, 1, 0, 1]), 2), APART)
    assert "one unit" in str(gaps.reason[0])
    assert gaps.p_equal(0.0)[0] == 1.0
    assert np.isnan(gaps.limits(0.95)[0][0])


# Pairs


def test_published_numbers_of_pairs():
    first, second, pairs = (np.array([v]) for v in (9.0, 2.0, 40.0))
    law = PairGaps(first, second, pairs)
    critical = stats.norm.isf(0.025)
    ends = [
        optimize.brentq(lambda gap, z=z: law.score(np.array([gap]))[0] - z, -0.5, 0.8)
        for z in (critical, -critical)
    ]
    assert ends == pytest.approx((0.014426, 0.339023), abs=5e-7), "Tango's score"
    low, high = law.limits(0.95)
    assert low[0] <= ends[0]
    assert high[0] >= ends[1]
    assert law.p_equal()[0] == 2 * min(tail[0] for tail in law.tails(np.zeros(1)))
    assert mcnemar_mid_p(first, second)[0] == pytest.approx(0.038574, abs=5e-7)


def test_mid_p_is_mcnemars_exact_p_less_half_of_the_observed_table():
    for first, second in ((9, 2), (3, 3), (14, 5), (0, 6)):
        exact = mcnemar(np.array([[10, first], [second, 10]]), exact=True).pvalue
        observed = stats.binom.pmf(max(first, second), first + second, 0.5)
        expected = min(exact, 1.0) - observed if first != second else 1.0
        ours = mcnemar_mid_p(np.array([float(first)]), np.array([float(second)]))[0]
        assert ours == pytest.approx(expected, abs=1e-12)


def every_pair_table(pairs):
    tables = [(b, c) for b in range(pairs + 1) for c in range(pairs + 1 - b)]
    return (np.array(column, dtype=float) for column in zip(*tables, strict=True))


def test_exact_tails_of_pairs_equal_every_table():
    first, second = every_pair_table(14)
    for b, c, gap in ((5, 1, 0.1), (2, 6, -0.05), (4, 4, 0.2)):
        law = PairGaps(np.array([b * 1.0]), np.array([c * 1.0]), np.array([14.0]))
        rates = np.linspace(max(0.0, -gap), (1 - gap) / 2, 200_001)[1:-1]
        with np.errstate(divide="ignore"):
            likelihood = b * np.log(rates + gap) + c * np.log(rates)
            likelihood += (14 - b - c) * np.log(np.maximum(1 - 2 * rates - gap, 1e-300))
        rate = rates[np.argmax(likelihood)]
        mass = stats.multinomial.pmf(
            np.stack([first, second, 14 - first - second], axis=-1),
            14,
            [rate + gap, rate, 1 - 2 * rate - gap],
        )
        for above, beyond in ((True, first - second >= b - c), (False, first - second <= b - c)):
            tail = law.exact_tail(np.array([gap]), np.array([True]), above=above)[0]
            tied = mass[first - second == b - c].sum()
            assert tail == pytest.approx(mass[beyond].sum() - tied / 2, abs=1e-4)


def test_limits_of_pairs_leave_zero_out_exactly_where_mcnemar_rejects():
    first, second = every_pair_table(25)
    for level in (0.9, 0.95, 0.99):
        law = PairGaps(first, second, np.full(first.size, 25.0))
        low, high = law.limits(level)
        assert np.array_equal((low > 0) | (high < 0), law.p_equal() <= 1 - level)
        assert np.all((low <= law.centre) & (law.centre <= high))


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [20, 40])
def test_levels_of_pairs_by_every_table(pairs):
    """At most .0503 over these rates; methods/gaps.md: Tango alone .072, mid-p at most .049."""
    first, second = every_pair_table(pairs)
    count = np.full(first.size, float(pairs))
    p = mcnemar_mid_p(first, second)
    for b, c in itertools.product((0.02, 0.1, 0.2, 0.4), repeat=2):
        rates = [b, c, 1 - b - c]
        mass = stats.multinomial.pmf(np.stack([first, second, count - first - second], -1), pairs, rates)
        likely = mass > 1e-9
        law = PairGaps(first[likely], second[likely], count[likely])
        above, below = law.tails(np.full(likely.sum(), b - c))
        assert mass[likely][2 * np.minimum(above, below) <= 0.05].sum() <= 0.0505, (b, c)
        for tail in (above, below):
            assert mass[likely][tail <= 0.05].sum() <= 0.06, (b, c)
        if b == c:
            assert mass[p <= 0.05].sum() <= 0.0505


# The highest rate


def test_published_numbers_of_the_ratio_to_the_highest():
    found = ratio_to_highest(np.array([30.0, 45, 18]), np.array([100.0, 120, 90]), 0.95)
    assert found.low == pytest.approx([0.541076, 0.860841, 0.322739], abs=5e-7)
    assert found.high == pytest.approx([1, 1, 0.898120], abs=5e-7)
    pairs = pairs_of_groups(np.array([30.0, 45, 18]), np.array([100.0, 120, 90]), (0.8, 1.25), 0.95)
    assert pairs.p_value[-1] == pytest.approx(0.042392, abs=5e-7)
    assert not pairs.certified.any()


def test_equal_rates_are_seldom_marked_and_large_ones_certified():
    """The bare four-fifths mark is set in .89 of such tables."""
    rng = np.random.default_rng(6)
    events = rng.binomial(50, 0.3, (300, 4)).astype(float)
    marked = [
        pairs_of_groups(row, np.full(4, 50.0), (0.8, 1.25), 0.95).p_adjusted.min() <= 0.05 for row in events
    ]
    assert np.mean(marked) < 0.03
    assert np.mean((events / events.max(axis=1, keepdims=True) < 0.8).any(axis=1)) > 0.8
    large = pairs_of_groups(np.array([3000.0, 3050, 2980]), np.full(3, 10_000.0), (0.8, 1.25), 0.95)
    assert large.certified.all()

"""What must be true of every gap, to 1e-9: signs, counts, weights and clusters; all small tables in the long form.

`make test` takes drawn tables and files; `make properties` every table of two groups of up to 40 people.
"""

from __future__ import annotations

import os
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest

from fairtrial import Audit, Metric, certify, measure
from inside.inference import CountedGaps, KnownRateGaps, ResampledGap

pytestmark = pytest.mark.slow
EVERY_TABLE = bool(os.environ.get("FAIRTRIAL_EVERY_TABLE"))
LARGEST = 40
SOME = [(40, 11), (5, 40), (17, 23), (1, 3)]
# of tables with the smaller group first the swap tells
SIZES = [(n, m) for n in range(1, LARGEST + 1) for m in range(1, n + 1)] if EVERY_TABLE else SOME
LEVELS = (0.8, 0.95) if EVERY_TABLE else (0.95,)
EXACT = {"rel": 1e-9, "abs": 1e-9}
PAY = Metric("pay", "pay")


# -- Two rates: every table of two groups of these sizes, the first group's events by row, the second's by column.
def every_table(size, other, scale, level):
    """Limits and tails of no gap."""
    events, others = np.meshgrid(np.arange(size + 1.0), np.arange(other + 1.0), indexing="ij")
    n, m = np.full(events.size, float(size)), np.full(events.size, float(other))
    gaps = CountedGaps(events.ravel(), n, others.ravel(), m, scale)
    none = np.full(events.size, 0.0 if scale == "difference" else 1.0)
    return [column.reshape(events.shape) for column in (*gaps.limits(level), *gaps.tails(none), gaps.defined)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_swapping_and_negating_change_the_sign_of_a_difference(sizes):
    for level in LEVELS:
        low, high, above, below, _ = every_table(*sizes, "difference", level)
        other_low, other_high, other_above, _, _ = every_table(*sizes[::-1], "difference", level)
        assert low == pytest.approx(-other_high.T, **EXACT)
        assert high == pytest.approx(-other_low.T, **EXACT)
        assert below == pytest.approx(other_above.T, **EXACT)
        assert low == pytest.approx(-high[::-1, ::-1], **EXACT), "events and their absence"
        assert above == pytest.approx(below[::-1, ::-1], **EXACT)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_swapping_turns_a_ratio_over(sizes):
    for level in LEVELS:
        low, high, above, _, defined = every_table(*sizes, "ratio", level)
        other_low, other_high, _, other_below, also = every_table(*sizes[::-1], "ratio", level)
        both = defined & also.T
        assert low[both] * other_high.T[both] == pytest.approx(1.0, **EXACT)
        assert high[both] * other_low.T[both] == pytest.approx(1.0, **EXACT)
        assert above[both] == pytest.approx(other_below.T[both], **EXACT)


@pytest.mark.parametrize("scale", ["difference", "ratio"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_limits_never_fall_with_more_events(sizes, scale):
    """Nor rise with more events of the target; where a ratio has no limit there is none with fewer of its events."""
    for level in LEVELS:
        for limit in every_table(*sizes, scale, level)[:2]:
            with np.errstate(invalid="ignore"):
                steps = np.diff(limit, axis=0), -np.diff(limit, axis=1)
            for step in steps:
                assert not (step < -1e-9).any()


@pytest.mark.parametrize("scale", ["difference", "ratio"])
@pytest.mark.parametrize("target", [0.02, 0.3, 0.5, 0.97])
@pytest.mark.parametrize("size", range(1, LARGEST + 1) if EVERY_TABLE else (1, 7, 40))
def test_limits_beside_a_known_rate_are_monotone_and_change_sign(size, target, scale):
    events, n = np.arange(size + 1.0), np.full(size + 1, float(size))
    for level in LEVELS:
        low, high = KnownRateGaps(n, events, np.full(size + 1, target), scale=scale).limits(level)
        assert (np.diff(low) >= -1e-9).all()
        assert (np.diff(high) >= -1e-9).all()
        if scale == "difference":
            mirror = KnownRateGaps(n, n - events, np.full(size + 1, 1.0 - target)).limits(level)
            assert low == pytest.approx(-mirror[1], **EXACT)


# -- Two means by their rows: the draws are mirrored.
@pytest.mark.parametrize(
    ("sizes", "turned"),
    [*product([(5, 7), (60, 90), (80, 80), (1_500, 1_100)], [False]), ((80, 80), True)],
    ids=str,
)
def test_drawn_limits_change_only_their_sign(sizes, turned):
    random = np.random.default_rng(sum(sizes))
    first, second = (random.lognormal(0.1 * place, 1.0, size) for place, size in enumerate(sizes))
    if turned:
        second = -first  # of one size and one spread: there is no first sample
    gap = ResampledGap(first, second)
    for other in (ResampledGap(-first, -second), ResampledGap(second, first)):
        for tail, sign in product((0.025, 0.002), (1.0, -1.0)):
            assert other.limit(tail, -sign) == pytest.approx(-gap.limit(tail, sign), **EXACT)
            assert other.tail(-0.2, -sign) == pytest.approx(gap.tail(0.2, sign), **EXACT)


# -- Whole answers.
def people(seed: int, size: int = 120) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    group = random.choice(list("abc"), size, p=[0.2, 0.3, 0.5])
    return pd.DataFrame({
        "g": group, "d": (random.random(size) < np.where(group == "a", 0.35, 0.15)).astype(int),
        "pay": random.lognormal(0.0, 1.0, size), "w": random.uniform(0.5, 3.0, size), "row": np.arange(size),
        "cluster": random.integers(0, size // 3, size), "job": random.choice(["x", "y"], size),
    })  # fmt: skip


NUMBERS = (
    "rate",
    "target_rate",
    "difference",
    "difference_low",
    "difference_high",
    "ratio_low",
    "ratio_high",
    "p_value",
)
TARGETS = ("rest", "overall", {"g": "b"}, 0.3)
EVIDENCE = ({}, {"weight": "w"}, {"unit": "cluster"}, {"weight": "w", "unit": "cluster"})
METRICS = pytest.mark.parametrize("metric", ["selection_rate", PAY], ids=["rate", "mean"])
SEEDS = pytest.mark.parametrize("seed", range(20 if EVERY_TABLE else 1))


def rows(data, metric, target="rest", ask=measure, within=None, **roles):
    more = {} if within is None else {"within": within}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        audit = Audit(data, decision="d", groups="g", **roles)
        found = ask(audit, metric, by="g", target=target, minimum=1, **more)
    return {row["group"]: row for row in found.estimates}


def assert_equal(first, second, names=NUMBERS):
    for group, row in first.items():
        for name in names:
            one, other = row.get(name), second[group].get(name)
            assert isinstance(one, float) == isinstance(other, float), (group, name)
            if isinstance(one, float):
                assert other == pytest.approx(one, **EXACT), (group, name)


def assert_turned(first, second):
    """Differences with the sign changed, limits with their places too, the same p-values."""
    for name, other, sign in (("difference", "difference", -1), ("difference_low", "difference_high", -1),
                              ("difference_high", "difference_low", -1), ("p_value", "p_value", 1)):  # fmt: skip
        assert isinstance(first.get(name), float) == isinstance(second.get(other), float), name
        if isinstance(first.get(name), float):
            assert second[other] == pytest.approx(sign * first[name], **EXACT), name


@SEEDS
@METRICS
@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("roles", EVIDENCE, ids=str)
def test_negating_every_value_changes_only_the_sign(seed, metric, target, roles):
    data = people(seed)
    negative = data.assign(d=1 - data["d"], pay=-data["pay"])
    mirrored = target if target != 0.3 else -0.3 if metric is PAY else 0.7
    first, second = rows(data, metric, target, **roles), rows(negative, metric, mirrored, **roles)
    for group, row in first.items():
        assert_turned(row, second[group])


@SEEDS
@METRICS
@pytest.mark.parametrize("within", [None, "job"])
@pytest.mark.parametrize("roles", EVIDENCE, ids=str)
def test_swapping_two_groups_changes_only_the_sign(seed, metric, within, roles):
    data = people(seed).query("g != 'c'")
    found = rows(data, metric, ask=certify, within=within, **roles)
    assert_turned(found["a"], found["b"])
    negative = data.assign(d=1 - data["d"], pay=-data["pay"])
    assert_turned(found["a"], rows(negative, metric, ask=certify, within=within, **roles)["a"])


@SEEDS
@METRICS
@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("unit", ["row", "cluster"])
def test_every_row_twice_with_half_its_weight_is_the_row(seed, metric, target, unit):
    """Of one person; without a unit two rows are two people."""
    data = people(seed)
    roles = {"weight": "w", "unit": "cluster"} if unit == "cluster" else {"weight": "w"}
    twice = pd.concat([data.assign(w=data["w"] / 2.0)] * 2)
    assert_equal(rows(data, metric, target, **roles), rows(twice, metric, target, weight="w", unit=unit))


@SEEDS
@METRICS
@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_one_row_is_one_cluster_and_counts_are_rows(seed, metric, target):
    data = people(seed)
    plain = rows(data, metric, target)
    assert_equal(plain, rows(data, metric, target, unit="row"))
    assert_equal(plain, rows(data.assign(w=2.5), metric, target, weight="w"))
    if metric is not PAY:
        table = data.groupby(["g", "d"], as_index=False).size()
        assert_equal(plain, rows(table, metric, target, count="size"))
    table = data.assign(d=data["d"], n=1)
    assert_equal(plain, rows(table, metric, target, count="n"))

"""Intervals of explain where few rows tell: quarter rows, paired decisions, and Theorem A.1 for features."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fairtrial import Audit, explain
from inside.explain import (
    RowForm,
    b_sequence,
    coefficients,
    contributions,
    interval,
    multi_attribute_targets,
    pair_targets,
    two_sided_p,
)
from inside.inference import PairGaps
from inside.papers import shapley_rawls
from oracles.esl import DEFINITIONS
from oracles.quarter_rows import bonett_price_limits, mid_p_limits, quarter_interval, tango_limits

# Shapley's coefficients of the first of three features: decisions of the coalitions 1, 2, 12, 3, 13, 23, 123 whose
# form Σ c·Ŷ is 0, ½ and 1.
FORMS = {0.0: [0, 0, 0, 0, 0, 0, 0], 0.5: [1, 0, 1, 0, 0, 0, 0], 1.0: [1, 0, 1, 0, 1, 0, 1]}
NAMES = [("a",), ("b",), ("a", "b"), ("c",), ("a", "c"), ("b", "c"), ("a", "b", "c")]


def part(result, name, **where):
    return [
        row for row in result.estimates if row["part"] == name and all(row[k] == v for k, v in where.items())
    ]


def explained(first, second, **settings):
    """Two groups whose forms of the feature a are these."""
    decided = np.array([FORMS[x] for x in [*first, *second]])
    frame = pd.DataFrame({"g": ["x"] * len(first) + ["y"] * len(second), "y": 1, "a": 0, "b": 0, "c": 0})
    audit = Audit(frame, outcome="y", groups="g", features=["a", "b", "c"])
    given = {names: decided[:, column] for column, names in enumerate(NAMES)}
    return explain(audit, "tpr", coalitions=given, sensitive="absent", **settings)


def test_quarter_rows_give_the_numbers_of_the_method_page():
    first, second = [0.5, 0.5, 0, 0.5, 1, 0.5], [0, 0, 0.5, 0]
    (row,) = part(explained(first, second), "contribution to the gap", feature="a")
    assert (row["difference_low"], row["difference_high"]) == pytest.approx((-0.217828, 0.907286), abs=1e-6)
    assert row["p_value"] == pytest.approx(0.194719, abs=1e-6)
    assert row["difference"] == pytest.approx(0.375, abs=1e-12)
    low, high, p = quarter_interval([first, second], [1, -1], -2 / 3, 1)
    assert (row["difference_low"], row["difference_high"], row["p_value"]) == pytest.approx(
        (low, high, p), abs=1e-6
    )
    (own,) = part(explained([0.0] * 25, second), "contribution to the rate", feature="a", group="x")
    assert (own["difference_low"], own["difference_high"]) == pytest.approx((-0.046280, 0.052816), abs=1e-6)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_every_row_has_an_interval_that_agrees_with_its_p_value(level):
    random = np.random.default_rng(4)
    for sizes in ((1, 1), (2, 30), (8, 8), (60, 25)):
        drawn = [random.choice([0.0, 0.5, 1.0], size, p=[0.8, 0.1, 0.1]) for size in sizes]
        result = explained(*(part.tolist() for part in drawn), confidence_level=level)
        for row in result.estimates:
            name = "value" if row["part"] == "contribution to the value" else "difference"
            if row["part"].startswith("contribution"):
                low, high = row[f"{name}_low"], row[f"{name}_high"]
                assert low < high
                assert low <= row[name] <= high
                assert (row["p_value"] <= 1 - level) == (not low <= 0 <= high)


def test_contributions_of_rates_whose_denominator_moves_rest_on_those_counted():
    """A predictive value: as rows at either end, selected by every coalition, are written into the data."""
    random = np.random.default_rng(8)
    n = 60
    group, y = np.repeat([0, 1], n // 2).astype(np.int64), (random.random(n) < 0.5).astype(float)
    decided = np.c_[np.zeros(n), random.random((n, 3)) < 0.4].astype(np.uint8)
    c = coefficients(b_sequence("shapley", 2))[None]
    gap = pair_targets(2, [(0, 1)], np.ones(1), 1.0)
    found = contributions(decided, RowForm(0 * y, y, 0 * y, 1 + 0 * y), group, 2, c, gap)
    quartered = found.with_quarter_rows()
    for k in range(2):
        centre, variance, total = 0.0, [], []
        for g, sign in ((0, 1.0), (1, -1.0)):
            rows = [
                *[(1.0, decided[i, 1:] * y[i], decided[i, 1:] * 1.0) for i in np.flatnonzero(group == g)],
                (0.25, (c[0, k, 1:] > 0) * 1.0, np.ones(3)), (0.25, (c[0, k, 1:] < 0) * 1.0, np.ones(3)),
            ]  # fmt: skip
            weight = sum(w * d for w, _, d in rows)
            rate = sum(w * v for w, v, _ in rows) / weight
            centre += sign * float(c[0, k, 1:] @ rate)
            psi = [(w, float(c[0, k, 1:] @ ((v - rate * d) / weight))) for w, v, d in rows]
            mean = sum(w * x for w, x in psi) / sum(w for w, _ in psi)
            people = np.abs(c[0, k, 1:]).sum() / (np.abs(c[0, k, 1:]) / weight).sum()
            variance.append(sum(w * (x - mean) ** 2 for w, x in psi) * people / (people - 1))
            total.append(people - 1)
        assert found.centre[0, 0, k] == pytest.approx(centre, abs=1e-12)
        assert quartered.error[0, 0, k] == pytest.approx(np.sqrt(sum(variance)), rel=1e-5)
        df = sum(variance) ** 2 / sum(v**2 / d for v, d in zip(variance, total, strict=True))
        assert quartered.df[0, 0, k] == pytest.approx(df, rel=1e-5)


# -- paired decisions ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("counts", [(0, 0, 25), (1, 0, 30), (0, 3, 20), (7, 2, 40), (12, 12, 60)])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
def test_changes_of_paired_decisions(counts, level):
    """Never sharper than Tango's limits, found where the likelihood's own maximum puts them, nor Bonett and Price's."""
    law = PairGaps(*(np.array([float(x)]) for x in counts))
    # the oracle searches the likelihood for its maximum, to about 1e-6
    by_search = tango_limits(*counts, level)
    critical = stats.norm.isf((1 - level) / 2)
    for limit, z in zip(by_search, (critical, -critical), strict=True):
        assert abs(limit) == 1 or law.score(np.array([limit]))[0] == pytest.approx(z, abs=2e-3)
    adjusted = bonett_price_limits(*counts, level)
    (low,), (high,) = law.limits(level)
    outer = min(by_search[0], adjusted[0]), max(by_search[1], adjusted[1])
    assert low <= outer[0] + 2e-5
    assert high >= outer[1] - 2e-5
    assert max(outer[0] - low, high - outer[1]) < 0.015, "the exact tail is a bound, not another law"
    assert (law.p_equal()[0] <= 1 - level) == (not low <= 0 <= high)


def test_tango_gives_the_numbers_of_the_method_page():
    low, high = PairGaps(np.array([0.0, 1.0]), np.zeros(2), np.array([25.0, 30.0])).limits(0.95)
    assert low == pytest.approx([-0.133192, -0.083964], abs=1e-6)
    assert high == pytest.approx([0.133192, 0.166704], abs=1e-6)


def test_mitigation_has_the_interval_of_paired_decisions():
    """Of 20 people a feature's absence selects three more and one less."""
    full = np.array([1] * 8 + [0] * 12)
    without = full.copy()
    without[[9, 10, 11]], without[0] = 1, 0
    frame = pd.DataFrame({"g": ["x"] * 20 + ["y"] * 20, "y": 1, "a": 0, "b": 0})
    audit = Audit(frame, outcome="y", groups="g", features=["a", "b"])
    both = {("a",): np.r_[without, full], ("b",): np.r_[full, full], ("a", "b"): np.r_[full, full]}
    result = explain(audit, "selection_rate", coalitions=both, sensitive="absent")
    (entry,) = [entry for entry in result.details["pareto"] if entry["feature"] == "b"]
    found = {change["group"]: change for change in entry["changes"]}
    assert found["x"]["difference"] == pytest.approx(0.1)
    for group, counts in (("x", (3, 1, 20)), ("y", (0, 0, 20))):
        limits = (found[group]["difference_low"], found[group]["difference_high"])
        both = tango_limits(*counts), bonett_price_limits(*counts), mid_p_limits(*counts)
        assert limits == pytest.approx((min(x[0] for x in both), max(x[1] for x in both)), abs=2e-5)


# -- Theorem A.1 for features ----------------------------------------------------------------------------------------
CELLS = (
    (5, "10111", "01101", "11101"),
    (4, "1011", "1100", "1001"),
    (4, "0100", "0010", "0101"),
    (3, "001", "010", "000"),
)


def tensor():
    rows = [np.array([list(text) for text in cell[1:]], dtype=int).T for cell in CELLS]
    decided = np.concatenate(rows)
    size = [cell[0] for cell in CELLS]
    frame = pd.DataFrame(
        {"s": np.repeat(list("ffmm"), size), "r": np.repeat(list("pqpq"), size), "y": 1, "a": 0, "b": 0}
    )
    return frame, decided, np.repeat(np.arange(4), size)


def test_contributions_of_cells_add_up_to_the_tensor_value():
    frame, decided, _ = tensor()
    audit = Audit(frame, outcome="y", groups=["s", "r"], features=["a", "b"])
    given = {("a",): decided[:, 0], ("b",): decided[:, 1], ("a", "b"): decided[:, 2]}
    result = shapley_rawls.explain(
        audit, "selection_rate", coalitions=given, sensitive="absent", baseline=0.5
    )
    found = {
        name: [row["value"] for row in part(result, "contribution to the value", feature=name)]
        for name in "ab"
    }
    assert found["a"] == pytest.approx([0.331845, 0.282242, 0.155258, -0.144345], abs=1e-6)
    assert found["b"] == pytest.approx([0.199107, 0.067758, 0.194742, -0.086607], abs=1e-6)
    values = [row["value"] for row in part(result, "value")]
    assert np.add(found["a"], found["b"]) == pytest.approx(values, abs=1e-12)
    # the value of the whole, shared out over the features (Shapley of the pooled rates)
    pooled = np.r_[0.0, decided.mean(axis=0)] / 0.5
    whole = DEFINITIONS["shapley"](pooled, 2)
    assert (sum(found["a"]), sum(found["b"])) == pytest.approx(tuple(whole), abs=1e-12)
    for row in part(result, "contribution to the value"):
        assert row["value_low"] < row["value"] < row["value_high"]
        assert (row["p_value"] <= 0.05) == (not row["value_low"] <= 0 <= row["value_high"])


def test_contributions_of_cells_have_the_standard_errors_of_the_method_page():
    _, decided, cell = tensor()
    targets = multi_attribute_targets([b_sequence("shapley", 2)] * 2, 0.5)
    one = np.ones(cell.size)
    outputs = np.c_[np.zeros(cell.size), decided].astype(np.uint8)
    c = coefficients(b_sequence("shapley", 2))[None]
    found = contributions(outputs, RowForm(0 * one, one, one, one), cell, 4, c, targets)
    expected = [0.279359, 0.380989, 0.389572, 0.327199]
    assert found.spread().error[:, 0, 0] == pytest.approx(expected, abs=1e-6)
    # and with the quarter rows: α of every cell from the rates' own derivatives, cells joined by hand
    forms = outputs @ c[0, 0]
    mixing = np.empty((4, 4))
    for h in range(4):
        moved = outputs.astype(float)
        moved[cell == h] += 1.0 / c[0, 0].sum()  # every form of the cell is one more
        mixing[:, h] = contributions(moved, RowForm(0 * one, one, one, one), cell, 4, c, targets).estimate[
            :, 0, 0
        ]
    mixing -= found.estimate[:, :1, 0]
    quartered = found.with_quarter_rows()
    low, high = interval(found.centre, quartered, 0.95)
    p = two_sided_p(found.centre, quartered)
    for t in range(4):
        by_hand = quarter_interval([forms[cell == h] for h in range(4)], mixing[t], -0.5, 1.0)
        assert (low[t, 0, 0], high[t, 0, 0], p[t, 0, 0]) == pytest.approx(by_hand, abs=1e-5)


def test_the_first_stage_rejects_exactly_where_its_interval_excludes_zero():
    """p is the level at which the shown interval touches 0: every table of 18 against 11 people, three levels."""
    from inside.explain import gap_tests
    from inside.inference import Atoms

    k, j = (part.ravel().astype(float) for part in np.meshgrid(np.arange(19), np.arange(12)))
    count = np.r_[np.full(k.size, 18.0), np.full(k.size, 11.0)]
    mean = np.r_[k, j] / count
    atoms = Atoms(count, mean, count * mean * (1 - mean), True)
    pairs = [(t, k.size + t) for t in range(k.size)]
    for level in (0.8, 0.95, 0.99):
        for gap in gap_tests(atoms, np.eye(count.size, dtype=bool), pairs, level):
            assert (gap.p_value <= 1 - level) == (not gap.low <= 0 <= gap.high)

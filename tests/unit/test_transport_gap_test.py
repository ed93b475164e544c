"""The p-values: closed forms, invariances, the article's numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import fairtrial
from inside.inference import Atoms, Comparison, Gaps, make_gaps
from inside.transport import (
    article_test,
    band,
    disjoint_families,
    from_matrices,
    linear_distance,
    overlapping_families,
    pooled_test,
    project,
    transport_plan,
)
from oracles.transport_designs import appendix_b1, compas

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "transport.json").read_text())["values"]


def _drawn(seed: int, n: int = 500, k: int = 2):  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    group = rng.integers(0, k, n)
    margin = rng.normal(size=n) + 0.1 * group
    return group, np.abs(margin), (margin > 0).astype(int)


def _pooled_z(event: np.ndarray, group: np.ndarray) -> float:
    """The textbook two-proportion statistic."""
    n1, n0 = (group == 1).sum(), (group == 0).sum()
    p1, p0, p = event[group == 1].mean(), event[group == 0].mean(), event.mean()
    return float((p1 - p0) / np.sqrt(p * (1 - p) * (1 / n1 + 1 / n0)))


def _gap_of(event: np.ndarray, group: np.ndarray) -> Gaps:
    """The gap of group 1 to group 0 as measure, certify and flag infer it, from counts."""
    count = np.array([(group == side).sum() for side in (0, 1)], dtype=float)
    mean = np.array([event[group == side].mean() for side in (0, 1)])
    atoms = Atoms(count, mean, count * mean * (1 - mean), True)
    return make_gaps(atoms, Comparison(np.array([[False, True]]), np.array([[True, False]])))


@pytest.mark.parametrize("seed", range(4))
def test_one_equality_is_the_gaps_own_test(seed: int) -> None:
    group, distance, event = _drawn(seed)
    problem = disjoint_families(group, [((0, 1), 0)], event)
    gap = _gap_of(event, group)
    for how, width, expected in [
        ("differs", 0.0, gap.p_equal(0.0)),
        ("above", 0.0, gap.p_at_most(0.0)),
        ("below", 0.0, gap.p_at_least(0.0)),
        ("differs", 0.03, gap.p_inside(-0.03, 0.03)),
        ("above", 0.03, gap.p_at_most(0.03)),
        ("below", 0.03, gap.p_at_least(-0.03)),
    ]:
        assert pooled_test(problem, distance, np.full(1, width), how).p_value == expected[0]
    # near the textbook's pooled two-proportion test, which has no protection for small counts
    textbook = 2 * stats.norm.sf(abs(_pooled_z(event, group)))
    assert gap.p_equal(0.0)[0] == pytest.approx(textbook, rel=0.02)


def test_two_sided_tolerance_and_its_limit_at_zero() -> None:
    group, distance, event = _drawn(5)
    problem = disjoint_families(group, [((0, 1), 0)], event)
    exact = pooled_test(problem, distance, np.zeros(1), "differs").p_value
    assert pooled_test(problem, distance, np.full(1, 1e-12), "differs").p_value == pytest.approx(
        exact, rel=1e-6
    )
    widening = [
        pooled_test(problem, distance, np.full(1, e), "differs").p_value for e in (0.0, 0.02, 0.05, 0.2, 0.9)
    ]
    assert (np.diff(widening[:4]) > 0).all()
    assert widening[-1] == 1.0


def test_tolerance_with_several_equalities_is_bonferroni() -> None:
    group, distance, event = _drawn(6, k=3)
    problem = disjoint_families(group, [(range(3), 0)], event)
    tolerance = np.full(2, 0.01)
    parts = []
    for other in (1, 2):
        codes = np.where(group == 0, 0, np.where(group == other, 1, -1))
        part = disjoint_families(codes, [((0, 1), 0)], event)
        parts.append(pooled_test(part, distance, tolerance[:1], "differs").p_value)
    got = pooled_test(problem, distance, tolerance, "differs").p_value
    assert got == pytest.approx(min(1.0, 2 * min(parts)), rel=1e-9)


def test_neither_units_nor_reference_nor_row_order_change_the_p_value() -> None:
    group, distance, event = _drawn(7, k=4)
    base = pooled_test(
        disjoint_families(group, [(range(4), 0)], event), distance, np.zeros(3), "differs"
    ).p_value
    for factor in (10.0, 0.1, 1e-9):
        other = pooled_test(
            disjoint_families(group, [(range(4), 0)], event), distance * factor, np.zeros(3), "differs"
        )
        assert other.p_value == pytest.approx(base, rel=1e-9)
    for reference in (1, 2, 3):
        problem = disjoint_families(group, [(range(4), reference)], event)
        assert pooled_test(problem, distance, np.zeros(3), "differs").p_value == pytest.approx(base, rel=1e-9)
    order = np.random.default_rng(0).permutation(group.size)
    problem = disjoint_families(group[order], [(range(4), 0)], event[order])
    assert pooled_test(problem, distance[order], np.zeros(3), "differs").p_value == pytest.approx(
        base, rel=1e-9
    )


def test_an_attribute_given_twice_counts_once() -> None:
    group, distance, event = _drawn(8)
    doubled = overlapping_families([group, group], [0, 0], event)
    z = _pooled_z(event, group)
    # the variance of overlapping attributes is taken row by row, hence the loose tolerance
    expected = 2 * stats.norm.sf(abs(z))
    assert pooled_test(doubled, distance, np.zeros(2), "differs").p_value == pytest.approx(expected, rel=0.05)


def test_nobody_decided_differently_is_no_evidence() -> None:
    group = np.array([0, 0, 1, 1, 1])
    problem = disjoint_families(group, [((0, 1), 0)], np.ones(5, int))
    assert pooled_test(problem, np.ones(5), np.zeros(1), "differs").p_value == 1.0
    assert pooled_test(problem, None, np.full(1, 0.1), "differs").p_value == pytest.approx(1.0)


def test_without_distances_the_gap_is_still_tested() -> None:
    group, distance, event = _drawn(9, k=3)
    problem = disjoint_families(group, [(range(3), 0)], event)
    with_distances = pooled_test(problem, distance, np.zeros(2), "differs").p_value
    without = pooled_test(problem, None, np.zeros(2), "differs").p_value
    assert 0 < without < 1
    assert abs(np.log(without / with_distances)) < 1.5


def test_a_contrast_that_does_not_equate_all_rates_is_not_pooled() -> None:
    """r1 = (r2 + r3)/2 leaves r2 and r3 free; pooling all three would use a wrong variance."""
    rng = np.random.default_rng(10)
    group = rng.integers(0, 3, 900)
    event = (rng.random(900) < np.array([0.5, 0.02, 0.98])[group]).astype(int)
    u = np.eye(3)[group]
    problem = from_matrices(u, [[1.0, -0.5, -0.5]], event)
    rates, counts = (problem.cell_events + 1) / (problem.cell_rows + 2), problem.cell_rows
    variance = (np.array([1, 0.25, 0.25]) * rates * (1 - rates) / counts).sum()
    expected = 2 * stats.norm.sf(abs(problem.gap[0]) / np.sqrt(variance))
    assert pooled_test(problem, None, np.zeros(1), "differs").p_value == pytest.approx(expected, rel=1e-9)


def test_small_counts_of_one_equality_are_the_gaps_own() -> None:
    group = np.repeat([0, 1], [300, 40])
    event = np.zeros(340, int)
    event[[0, 300, 301]] = 1
    problem = disjoint_families(group, [((0, 1), 0)], event)
    gap = _gap_of(event, group)
    for direction, expected in (("above", gap.p_at_most(0.0)), ("below", gap.p_at_least(0.0))):
        assert pooled_test(problem, None, np.zeros(1), direction).p_value == expected[0]
    both = pooled_test(problem, None, np.zeros(1), "differs").p_value
    assert both == gap.p_equal(0.0)[0]
    wide = pooled_test(problem, None, np.full(1, 0.01), "differs").p_value
    assert wide > both, "a tolerance can only make it harder to reject"


def test_large_counts_of_several_groups_follow_the_limit_law() -> None:
    """At the border of what is drawn, the draws and the chi-square law tell the same."""
    group = np.repeat([0, 1, 2], [3000, 920, 920])
    event = np.zeros(4840, int)
    for start, events in ((0, 300), (3000, 125), (3920, 96)):
        event[start : start + events] = 1
    table = [[300, 2700], [125, 795], [96, 824]]
    expected = stats.chi2_contingency(table, correction=False).pvalue
    drawn = pooled_test(disjoint_families(group, [(range(3), 0)], event), None, np.zeros(2), "differs")
    assert "drawn" in drawn.how
    assert drawn.p_value == pytest.approx(expected, rel=0.1)
    doubled = disjoint_families(np.tile(group, 2), [(range(3), 0)], np.tile(event, 2))
    limit = pooled_test(doubled, None, np.zeros(2), "differs")
    assert "drawn" not in limit.how
    twice = stats.chi2_contingency(2 * np.array(table), correction=False).pvalue
    assert limit.p_value == pytest.approx(twice, rel=1e-6)


def test_small_counts_of_several_groups_are_drawn_given_the_number_of_events() -> None:
    """With two groups of three equal in size the draws must agree with the exact hypergeometric answer."""
    group = np.repeat([0, 1, 2], [200, 60, 60])
    event = np.zeros(320, int)
    event[[0, 1, 200, 201, 202, 203, 204]] = 1
    problem = disjoint_families(group, [(range(3), 0)], event)
    test = pooled_test(problem, None, np.zeros(2), "differs")
    generator = np.random.default_rng(0)
    far = []
    plain = np.asarray((problem.phi.T * (problem.class_count.sum(axis=1) / 320)) @ problem.phi)
    inverse = np.linalg.inv(plain)
    for _ in range(4000):
        shuffled = disjoint_families(group, [(range(3), 0)], generator.permutation(event))
        far.append(shuffled.gap @ inverse @ shuffled.gap)
    expected = np.mean(np.array(far) >= problem.gap @ inverse @ problem.gap * (1 - 1e-9))
    assert test.p_value == pytest.approx(expected, abs=0.02)


def test_article_one_sided_halves_the_two_sided_tail() -> None:
    group, distance, event = _drawn(11)
    problem = disjoint_families(group, [((0, 1), 0)], event)
    value = project(problem, distance, *band(1, 0.0, "above")).statistic
    both = article_test(problem, distance, value, 0.3, "differs").p_value
    one = article_test(problem, distance, value, 0.3, "above").p_value
    assert one == pytest.approx(both / 2 if value > 0 else 1.0)


def test_article_bound_for_independent_equalities_is_a_chi_bar_square() -> None:
    """Two independent gaps, S diagonal: P(½Σ max(V,0)²/S > t) = ½ P(χ²₁ > 2t) + ¼ P(χ²₂ > 2t)."""
    from inside.transport import _bound_tail

    got = _bound_tail(np.eye(2), np.eye(2), 1.5, 0)
    expected = 0.5 * stats.chi2.sf(3, 1) + 0.25 * stats.chi2.sf(3, 2)
    assert got == pytest.approx(expected, abs=0.008)


def test_article_without_rows_near_the_boundary_says_so() -> None:
    group, distance, event = _drawn(12, k=3)
    problem = disjoint_families(group, [(range(3), 0)], event)
    with pytest.raises(ArithmeticError, match="too few rows"):
        article_test(problem, distance + 1e6, 1.0, 0.01, "differs")


@pytest.mark.slow
@pytest.mark.parametrize("rows", [100, 500])
def test_rejections_of_the_articles_calibration_in_its_own_design(rows: int) -> None:
    """Table 4's design: the published calibration rejects as often as measured with 4,000 repeats."""
    rng = np.random.default_rng([rows, 1])
    repeats, p_values = 1500, []
    while len(p_values) < repeats:
        drawn = appendix_b1(rows, rng)
        codes = np.where(drawn.outcome == 1, drawn.attribute, -1)
        problem = disjoint_families(codes, [((0, 1), 0)], drawn.decision)
        value = project(problem, drawn.distance, *band(1, 0.0, "differs")).statistic
        p_values.append(article_test(problem, drawn.distance, value, rows**-0.2, "differs").p_value)
    rates = [(np.array(p_values) <= level).mean() for level in GOLDEN["levels"]]
    for got, expected in zip(rates, GOLDEN["rejections"][str(rows)], strict=True):
        spread = np.sqrt(expected * (1 - expected) * (1 / repeats + 1 / GOLDEN["repeats_behind_rejections"]))
        assert abs(got - expected) < 4.5 * spread


def test_compas_logistic_equal_opportunity() -> None:
    from sklearn.linear_model import LogisticRegression

    data, golden = compas(), GOLDEN["compas"]
    model = LogisticRegression().fit(data.x[data.train], data.outcome[data.train])
    margin = model.decision_function(data.x[data.test])
    distance = linear_distance(margin, model.coef_.ravel())
    codes = np.where(data.outcome[data.test] == 1, data.african_american[data.test], -1)
    problem = disjoint_families(codes, [((0, 1), 0)], (margin >= 0).astype(int))
    assert problem.cell_rows.sum() == golden["rows_with_outcome"]
    assert problem.rates[1] == pytest.approx(golden["rate_african_american"], abs=5e-4)
    assert problem.rates[0] == pytest.approx(golden["rate_caucasian"], abs=5e-4)
    moved = project(problem, distance, *band(1, 0.0, "differs"))
    assert problem.rates_after(moved.moved) == pytest.approx([golden["rate_after"]] * 2, abs=5e-5)
    assert round(moved.moved.sum()) == golden["moved"]
    assert round(moved.moved[1, 1]) == golden["moved_down"]
    assert round(moved.moved[0, 0]) == golden["moved_up"]
    plan = transport_plan(problem, distance, moved)
    assert ((plan > 0) & (plan < 1)).sum() == golden["ties"]


@pytest.mark.slow
def test_a_naive_linear_svm_on_compas_is_always_rejected() -> None:
    """Tables 1 and 2, naive SVM: 100% of random 70/30 splits, for equal opportunity and for equalized odds."""
    from sklearn.svm import LinearSVC

    data, rejected = compas(), []
    rng = np.random.default_rng(70)
    for _ in range(12):
        train, test = np.split(rng.permutation(len(data.x)), [int(0.7 * len(data.x))])
        margin = (
            LinearSVC(max_iter=20_000).fit(data.x[train], data.outcome[train]).decision_function(data.x[test])
        )
        outcome, group, decided = data.outcome[test], data.african_american[test], (margin >= 0).astype(int)
        opportunity = disjoint_families(np.where(outcome == 1, group, -1), [((0, 1), 0)], decided)
        odds = disjoint_families(2 * outcome + group, [((0, 1), 0), ((2, 3), 2)], decided)
        for problem in (opportunity, odds):
            test_of_gap = pooled_test(problem, np.abs(margin), np.zeros(problem.size), "differs")
            rejected.append(test_of_gap.p_value <= 0.05)
    assert np.mean(rejected) == GOLDEN["naive_svm_rejections_on_compas"]


def test_the_verdict_quotes_an_interval_that_holds_for_all_gaps_at_once():
    counts = {"A": (60, 24), "B": (60, 20), "C": (60, 36), "D": (60, 25)}
    table = pd.DataFrame(
        [(g, int(i < events)) for g, (n, events) in counts.items() for i in range(n)], columns=["g", "d"]
    )
    audit = fairtrial.Audit(table, decision="d", groups="g")
    found = fairtrial.transport(audit, "statistical_parity", target={"g": "A"})
    widest = next(row for row in found.estimates if row["group"] == "C")
    quoted = re.search(r"interval (-?[0-9.]+) to (-?[0-9.]+)", found.verdict.text)
    low, high = (float(end) for end in quoted.groups())
    assert "(the widest, over all 3 gaps at once)" in found.verdict.text
    assert low < 100 * widest["difference_low"] < 100 * widest["difference_high"] < high
    bonferroni = fairtrial.measure(audit, target={"g": "A"}, confidence_level=1 - 0.05 / 3)
    outer = next(row for row in bonferroni.estimates if row["group"] == "C")
    assert 100 * outer["difference_low"] - 0.2 < low, "no wider than Bonferroni's, printed to a tenth"
    assert high < 100 * outer["difference_high"] + 0.2
    two = fairtrial.transport(
        fairtrial.Audit(table[table.g < "C"], decision="d", groups="g"), "statistical_parity"
    )
    assert "at once" not in two.verdict.text

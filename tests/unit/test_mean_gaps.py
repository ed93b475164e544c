"""Ratios of means and means within strata: other ways to their estimates, limits and levels, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import optimize, stats

from fairtrial import Audit, InputError, Metric, certify, flag, measure
from inside.inference import Atoms, Comparison, EuclideanGaps, MeanStrataGaps, Sums, SumsGaps, bounded

PAY = Metric("pay", "pay")
APART = Comparison(np.array([[True, False]]), np.array([[False, True]]))


@pytest.fixture(scope="module")
def staff():
    random = np.random.default_rng(5)
    group, job = random.choice(["a", "b"], 500), random.choice(["x", "y", "z"], 500, p=[0.6, 0.3, 0.1])
    pay = np.exp(random.normal(3, 0.4, 500) + 0.15 * (group == "a") + 0.4 * (job == "x"))
    return pd.DataFrame({"g": group, "job": job, "pay": pay, "w": random.uniform(1, 2, 500)})


def row(result, group="a"):
    return next(row for row in result.estimates if row["group"] == group)


def sums_atoms(pieces):
    """Atoms that hold no rows."""
    full = Atoms.of_values(pieces)
    return Atoms(full.count, full.mean, full.m2, False, None, full.m3, full.low, full.high)


def test_a_ratio_is_the_difference_of_one_and_so_many_times_the_other():
    random = np.random.default_rng(1)
    one, two = random.exponential(3.0, 40), random.exponential(2.0, 160)
    ratio = SumsGaps(Sums.of_values([one]), Sums.of_values([two]), "ratio")
    for value in (0.7, 1.0, 1.6, 2.4):
        pieces = sums_atoms([one, value * two])
        expected = bounded(EuclideanGaps(pieces, APART), pieces, APART).tails(np.zeros(1))
        found = ratio.tails(np.array([value]))
        assert [side[0] for side in found] == pytest.approx([side[0] for side in expected], rel=1e-6)
    (low,), (high,) = ratio.limits(0.95)
    for limit, side in ((low, 0), (high, 1)):
        assert ratio.tails(np.array([limit]))[side][0] == pytest.approx(0.025, rel=1e-4)
    assert low < one.mean() / two.mean() < high


def test_limits_of_normal_values_are_about_fiellers():
    random = np.random.default_rng(2)
    one, two = random.normal(10, 2, 400), random.normal(8, 2, 500)
    (low,), (high,) = SumsGaps(Sums.of_values([one]), Sums.of_values([two]), "ratio").limits(0.95)
    a, b = stats.sem(one), stats.sem(two)
    z = stats.norm.isf(0.025)

    def fieller(v):
        return (one.mean() - v * two.mean()) ** 2 - z**2 * (a**2 + v**2 * b**2)

    centre = one.mean() / two.mean()
    expected = optimize.brentq(fieller, 0.5, centre), optimize.brentq(fieller, centre, 2.0)
    assert (low, high) == pytest.approx(expected, abs=0.003)


def test_a_ratio_of_one_has_the_p_value_of_no_difference(staff):
    audit = Audit(staff, groups="g")
    for target in ("rest", {"g": "b"}, 25.0):
        one, other = (
            row(measure(audit, PAY, target=target, scale=scale)) for scale in ("difference", "ratio")
        )
        assert one["p_value"] == other["p_value"]
        assert other["ratio"] == pytest.approx(other["rate"] / other["target_rate"], rel=1e-12)
        outside = not other["ratio_low"] <= 1 <= other["ratio_high"]
        assert outside == (not one["difference_low"] <= 0 <= one["difference_high"])
        certified = row(certify(audit, PAY, target=target, scale="ratio"))
        assert certified["ratio_low"] == pytest.approx(other["ratio_low"], rel=1e-12)


def test_a_known_number_scales_the_difference(staff):
    audit = Audit(staff, groups="g")
    difference, ratio = (
        row(certify(audit, PAY, target=25.0, scale=scale)) for scale in ("difference", "ratio")
    )
    assert ratio["ratio_low"] == pytest.approx(1 + difference["difference_low"] / 25.0, rel=1e-12)


def test_what_has_no_ratio(staff):
    with pytest.raises(InputError, match="not inferred against everyone"):
        certify(Audit(staff, groups="g"), PAY, target="overall", scale="ratio")
    moved = staff.assign(pay=staff["pay"] - 20)
    found = row(certify(Audit(moved, groups="g"), PAY, target={"g": "b"}, scale="ratio", tolerance=0.8))
    assert found["ratio"]["reason"] == "a ratio is for values of zero and more with means above zero"
    assert found["state"] == "undetermined"


# -- within strata -------------------------------------------------------------------------------------------------
def test_mantel_haenszel_weights_are_least_squares_with_strata(staff):
    found = row(certify(Audit(staff, groups="g"), PAY, target={"g": "b"}, within="job"))
    model = smf.ols("pay ~ C(g, Treatment('b')) + C(job)", staff).fit()
    assert found["difference"] == pytest.approx(model.params.iloc[1], rel=1e-9)
    plain = row(certify(Audit(staff, groups="g"), PAY, target={"g": "b"}))
    for name in ("difference", "difference_low", "difference_high"):
        assert found[name.replace("difference", "unadjusted")] == pytest.approx(plain[name], rel=1e-9)


def test_the_error_is_that_of_the_strata():
    """Squared shares times each stratum's own squared standard errors, by hand."""
    random = np.random.default_rng(4)
    pieces = [random.gamma(2.0, 1.0, n) for n in (5, 9, 12, 20, 3, 1)]
    member = np.array([[True, False] * 3])
    gaps = MeanStrataGaps(Atoms.of_values(pieces), Comparison(member, ~member), np.array([0, 0, 1, 1, 2, 2]))
    weights = np.array([5 * 9 / 14, 12 * 20 / 32])
    share = weights / weights.sum()
    gap = sum(w * (pieces[2 * s].mean() - pieces[2 * s + 1].mean()) for s, w in enumerate(share))
    error = sum(w**2 * sum(stats.sem(pieces[2 * s + i]) ** 2 for i in (0, 1)) for s, w in enumerate(share))
    assert gaps.estimate[0] == pytest.approx(gap, rel=1e-12)
    assert gaps.error[0] == pytest.approx(np.sqrt(error), rel=1e-12)
    assert gaps.compared[0] == pytest.approx(17 / 20), "one person has no spread to be compared with"
    assert gaps.one_sided(0).tolist() == [2]


def test_one_stratum_is_the_plain_law_of_sums():
    random = np.random.default_rng(6)
    pieces = sums_atoms([random.exponential(1.0, 30), random.exponential(1.2, 90)])
    plain = bounded(EuclideanGaps(pieces, APART), pieces, APART)
    strata = MeanStrataGaps(pieces, APART, np.zeros(2, dtype=np.int64))
    assert [side[0] for side in strata.limits(0.95)] == pytest.approx(
        [s[0] for s in plain.limits(0.95)], rel=1e-9
    )
    assert strata.p_equal(0.0)[0] == pytest.approx(plain.p_equal(0.0)[0], rel=1e-6)


def test_strata_of_means_reach_flag_ratios_and_refusals(staff):
    audit = Audit(staff, groups="g")
    flagged = row(flag(audit, PAY, within="job", target={"g": "b"}))
    assert flagged["difference"] == row(certify(audit, PAY, within="job", target={"g": "b"}))["difference"]
    ratio = row(certify(audit, PAY, within="job", target={"g": "b"}, scale="ratio", tolerance=0.8))
    assert ratio["unadjusted_ratio"] == pytest.approx(ratio["rate"] / ratio["target_rate"], rel=1e-12)
    weighted = Audit(staff, groups="g", weight="w")
    with pytest.raises(InputError, match="no law of it was measured"):
        certify(weighted, PAY, within="job", adjustment="model")

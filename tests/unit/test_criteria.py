"""Criteria as one verdict, the harmed side, and the ratio scale in plan and measure, against other ways to them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from typer.testing import CliRunner

import fairtrial
from fairtrial import Audit, InputError, certify, flag, measure, plan, read_result
from inside.cli import program
from inside.ground import NotApplicable
from inside.inference import TwoRateLaw, TwoRates
from inside.papers import elfa


@pytest.fixture(scope="module")
def people():
    random = np.random.default_rng(3)
    group = random.choice(list("abc"), 1500, p=[0.5, 0.3, 0.2])
    y = (random.random(1500) < 0.45).astype(int)
    d = (random.random(1500) < 0.3 + 0.3 * y + 0.05 * (group == "b")).astype(int)
    return pd.DataFrame({"g": group, "y": y, "d": d, "site": random.choice(["n", "s"], 1500)})


def audit_of(data, **more):
    return Audit(data, outcome="y", decision="d", groups="g", **more)


def test_separation_is_conditional_independence(people):
    """The joint test is the likelihood-ratio test of independence, summed over the outcomes (scipy)."""
    result = certify(audit_of(people), "separation", target="overall")
    parts = [
        stats.chi2_contingency(pd.crosstab(rows["g"], rows["d"]), correction=False, lambda_="log-likelihood")
        for _, rows in people.groupby("y")
    ]
    assert result.details["joint"]["df"] == sum(part.dof for part in parts)
    assert result.details["joint"]["statistic"] == pytest.approx(
        sum(part.statistic for part in parts), rel=1e-6
    )
    assert result.p_value == pytest.approx(stats.chi2.sf(sum(part.statistic for part in parts), 4), rel=1e-6)
    assert [row["metric"] for row in result.estimates] == ["tpr"] * 3 + ["fpr"] * 3


def test_sufficiency_asks_the_outcome_given_the_decision(people):
    result = certify(audit_of(people), "sufficiency", target="overall")
    parts = [
        stats.chi2_contingency(pd.crosstab(rows["g"], rows["y"]), correction=False, lambda_="log-likelihood")
        for _, rows in people.groupby("d")
    ]
    assert result.details["joint"]["statistic"] == pytest.approx(
        sum(part.statistic for part in parts), rel=1e-6
    )


@pytest.mark.parametrize("tolerance", [0.03, 0.1, 0.4])
def test_rows_are_those_of_each_metric_corrected_over_all(people, tolerance):
    audit = audit_of(people)
    joined = certify(audit, "equalized_odds", tolerance=tolerance)
    alone = [certify(audit, name, tolerance=tolerance) for name in ("tpr", "fpr")]
    rows = [row for result in alone for row in result.estimates]
    for one, other in zip(joined.estimates, rows, strict=True):
        for name in ("group", "difference", "difference_low", "certificate_low", "p_value", "state"):
            assert one[name] == other[name], name
    _, expected, _, _ = multipletests([row["p_value"] for row in rows], method="holm")
    assert [row["p_adjusted"] for row in joined.estimates] == pytest.approx(expected, rel=1e-12)
    every = all(row["state"] == "certified" for row in rows)
    assert (joined.verdict.code == "certified") == every
    assert joined.verdict.text.split(": ")[1].startswith("equalized odds")


def test_a_criterion_of_one_metric_is_that_metric(people):
    assert (
        certify(audit_of(people), "independence").estimates
        == certify(audit_of(people), "selection_rate").estimates
    )


def test_conditional_criteria_need_to_know_who_is_alike(people):
    for name in ("conditional_statistical_parity", "conditional_demographic_disparity", "conditional_parity"):
        found = certify(audit_of(people), name, within="site", tolerance=0.1)
        assert (
            found.estimates
            == certify(audit_of(people), "selection_rate", within="site", tolerance=0.1).estimates
        )
        with pytest.raises(InputError, match="'within' is needed"):
            certify(audit_of(people), name)


def test_flag_corrects_over_all_rates(people):
    audit = audit_of(people, favourable=1)
    joined = flag(audit, "separation")
    alone = [row for name in ("tpr", "fpr") for row in flag(audit, name).estimates]
    assert [row["p_value"] for row in joined.estimates] == [row["p_value"] for row in alone]
    _, expected, _, _ = multipletests([row["p_value"] for row in alone], method="fdr_bh")
    assert [row["p_adjusted"] for row in joined.estimates] == pytest.approx(expected, rel=1e-12)
    assert joined.details["direction"] == "below", "of a good decision less of either rate harms"
    assert [part.metric for part in joined.primary()] == ["true positive rate"] * 3 + [
        "false positive rate"
    ] * 3


def test_a_criterion_comes_back_and_is_drawn(people):
    for result in (
        certify(audit_of(people), "separation", tolerance=0.1),
        flag(audit_of(people), "separation"),
    ):
        assert read_result(json.loads(json.dumps(result.to_dict()))).to_dict() == result.to_dict()
        assert result.pictures()
        assert len(result.claims()) == 6
    with pytest.raises(NotApplicable, match="'vector' is about the gaps of one metric"):
        elfa.certify(audit_of(people), "separation", vector=[0.0, 0.0, 0.0])


def test_repeated_people_make_the_joint_test_bonferronis(people):
    result = certify(audit_of(people.assign(u=np.arange(1500) // 5), unit="u"), "separation")
    alone = [
        certify(audit_of(people.assign(u=np.arange(1500) // 5), unit="u"), name) for name in ("tpr", "fpr")
    ]
    assert result.p_value == pytest.approx(min(1.0, 2 * min(one.p_value for one in alone)), rel=1e-12)
    assert "χ²" not in " ".join(result.reading())


def test_command_and_file(people, tmp_path):
    path = tmp_path / "people.csv"
    people.to_csv(path, index=False)
    options = [
        "--outcome",
        "y",
        "--decision",
        "d",
        "--by",
        "g",
        "--metric",
        "separation",
        "--tolerance",
        "0.2",
    ]
    done = CliRunner().invoke(program, ["certify", str(path), *options])
    assert done.exit_code == 0, done.output
    assert "Does separation hold" in done.output
    spec = tmp_path / "audit.toml"
    spec.write_text(
        '[data]\nsource = "people.csv"\ndecision = "d"\noutcome = "y"\ngroups = ["g"]\nfavourable = 1\n'
        '[certify]\nmetric = "separation"\ntolerance = 0.2\ndirection = "harmed"\n'
        '[flag]\nmetric = "conditional_statistical_parity"\nwithin = ["site"]\n',
        encoding="utf-8",
    )
    trial = fairtrial.run(str(spec))
    assert [answer.result.kind for answer in trial.answers] == ["certify", "flag"]
    assert trial.answers[0].result.details["criterion"] == "separation"


# -- the harmed side -----------------------------------------------------------------------------------------------
def test_harmed_is_the_side_that_the_audit_says(people):
    for favourable, side in ((1, "below"), (0, "above")):
        audit = audit_of(people, favourable=favourable)
        for scale, tolerance in (("difference", 0.05), ("ratio", 0.8)):
            harmed = certify(audit, "selection_rate", tolerance=tolerance, scale=scale, direction="harmed")
            named = certify(audit, "selection_rate", tolerance=tolerance, scale=scale, direction=side)
            assert harmed.estimates == named.estimates
            assert harmed.details["tolerance"] == named.details["tolerance"]
    with pytest.raises(InputError, match="does not say who is harmed"):
        certify(audit_of(people), "selection_rate", tolerance=0.05, direction="harmed")


def test_a_criterion_has_the_harmed_side_of_each_rate(people):
    """Of a wrong decision more is worse, of a right one less: predictive values and omissions differ."""
    result = certify(audit_of(people, favourable=1), "sufficiency", tolerance=0.05, direction="harmed")
    assert result.details["tolerance"] == [None, 0.05]
    assert result.question.startswith("Does sufficiency hold")


# -- ratios in plan and measure ------------------------------------------------------------------------------------
def exact_power(n, rates, told):
    """The chance of the test's yes over all likely tables."""
    first, second = (np.arange(*stats.binom.ppf([1e-7, 1 - 1e-7], n, rate), dtype=float) for rate in rates)
    k1, k2 = (side.ravel() for side in np.meshgrid(first, second, indexing="ij"))
    mass = stats.binom.pmf(k1, n, rates[0]) * stats.binom.pmf(k2, n, rates[1])
    size = np.full(k1.shape, float(n))
    law = TwoRateLaw(TwoRates(k1, size, k2, size), "ratio")
    return float(mass[told(law, k1.shape)].sum())


def test_planned_sizes_have_their_power():
    result = plan("selection_rate", rate=0.3, scale="ratio", tolerance=0.8, disparity=0.6)
    certify_n, detect_n = (row["members"] for row in result.estimates)

    def certified(law, shape):
        above, below = law.tails(np.full(shape, 0.8))[0], law.tails(np.full(shape, 1.25))[1]
        return np.maximum(above, below) <= 0.05

    assert exact_power(certify_n, (0.3, 0.3), certified) == pytest.approx(0.8, abs=0.01)
    power = exact_power(detect_n, (0.18, 0.3), lambda law, shape: law.tails(np.full(shape, 0.8))[1] <= 0.05)
    assert power == pytest.approx(0.8, abs=0.01)
    assert "a ratio of 0.8 to 1.25" in result.verdict.text


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"tolerance": 1.5}, "of a ratio must be a number between 0 and 1"),
        ({"tolerance": 0.8, "disparity": 0.9}, "lies inside the tolerance"),
        ({"disparity": 5.0}, "0.3 times 'disparity' 5 must lie between 0 and 1"),
    ],
)
def test_ratios_that_cannot_be_planned(more, words):
    with pytest.raises(InputError, match=words):
        plan("selection_rate", rate=0.3, scale="ratio", **more)
    with pytest.raises(InputError, match="'ratio' is planned for rates"):
        plan("mean_score", deviation=1.0, scale="ratio", tolerance=0.8)


@pytest.mark.parametrize("target", ["rest", "overall", {"g": "a"}, 0.45])
@pytest.mark.parametrize("scale", ["difference", "ratio"])
@pytest.mark.parametrize("tolerance", [None, 0.9])
def test_measure_tests_what_certify_tests(people, target, scale, tolerance):
    tolerance = 0.02 if scale == "difference" and tolerance else tolerance
    asked = {"target": target, "scale": scale, "tolerance": tolerance}
    measured = measure(audit_of(people), "selection_rate", **asked)
    certified = {row["group"]: row for row in certify(audit_of(people), "selection_rate", **asked).estimates}
    for row in measured.estimates:
        if row["group"] in certified:
            other = certified[row["group"]]
            names = ["difference", "difference_low", "p_value"]
            for name in [*names, "ratio", "ratio_low", "ratio_high"] if scale == "ratio" else names:
                assert row[name] == pytest.approx(other[name], rel=1e-12), name


def test_a_ratio_of_one_is_a_difference_of_zero(people):
    for target in ("rest", "overall", {"g": "a"}, 0.45):
        found = [measure(audit_of(people), target=target, scale=scale) for scale in ("difference", "ratio")]
        for one, other in zip(found[0].estimates, found[1].estimates, strict=True):
            assert one["p_value"] == other["p_value"]
            if isinstance(one["p_value"], float):
                outside = not other["ratio_low"] <= 1 <= other["ratio_high"]
                assert outside == (not one["difference_low"] <= 0 <= one["difference_high"])
    assert "times that of" in found[1].verdict.text or found[1].verdict.code == "none-shown"


def test_a_tolerance_is_told_in_the_finding(people):
    result = measure(audit_of(people), "tpr", target={"g": "a"}, tolerance=0.001)
    assert "within 0.1 points of a" in result.null
    assert result.details["tolerance"] == [-0.001, 0.001]

"""Two answers to one person: against McNemar's test, paired differences by hand, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from typer.testing import CliRunner

import fairtrial
from fairtrial import Audit, InputError, Metric, certify, flag, measure, read_result
from inside.cli import program
from inside.ground import NotApplicable
from inside.methods import declared_methods
from inside.papers import elfa

ASKED = {"decision": "invited", "groups": "name", "pair": "person"}


def answers(both=30, first=14, second=5, neither=51, seed=0):
    """People with two answers, under the names A and B: how many are invited under both, A alone, B alone, neither."""
    kinds = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], [both, first, second, neither], axis=0)
    people = np.random.default_rng(seed).permutation(len(kinds))
    rating = np.random.default_rng(seed).normal(size=(len(kinds), 2)) + np.array([0.3, 0.0])
    return pd.DataFrame({
        "person": np.tile(people, 2), "name": np.repeat(["A", "B"], len(kinds)), "invited": kinds.T.ravel(),
        "rating": rating.T.ravel(),
    })  # fmt: skip


def row(result, group="A"):
    return next(row for row in result.estimates if row["group"] == group)


def mid_p(first, second):
    exact = mcnemar(np.array([[10, first], [second, 10]]), exact=True).pvalue
    return exact - stats.binom.pmf(max(first, second), first + second, 0.5)


@pytest.mark.parametrize("ask", [measure, certify, lambda *a, **k: flag(*a, depth=1, **k)])
def test_no_gap_is_mcnemars_test(ask):
    found = row(ask(Audit(answers(), **ASKED), "selection_rate", target={"name": "B"}))
    assert found["p_value"] == pytest.approx(mid_p(14, 5), abs=1e-12)
    assert (found["n"], found["rate"], found["target_rate"]) == (100, 0.44, 0.35)
    assert found["difference"] == pytest.approx(0.09, abs=1e-12)
    assert 0 < found["difference_low"] < 0.09 < found["difference_high"]
    assert found["unpaired"] == 0


def test_both_groups_against_the_rest_mirror_each_other():
    result = certify(Audit(answers(), **ASKED), "selection_rate")
    one, other = row(result, "A"), row(result, "B")
    assert one["p_value"] == pytest.approx(other["p_value"], rel=1e-12)
    assert one["difference_low"] == pytest.approx(-other["difference_high"], abs=1e-9)
    assert result.p_value == pytest.approx(mid_p(14, 5), abs=1e-12), "two groups have one gap"


def test_means_are_compared_by_each_persons_difference():
    data = answers()
    found = row(
        measure(Audit(data, score="rating", groups="name", pair="person"), "mean_score", target={"name": "B"})
    )
    wide = data.pivot(index="person", columns="name", values="rating")
    single = pd.DataFrame({"d": wide["A"] - wide["B"], "g": "x"})
    expected = measure(Audit(single, groups="g"), Metric("d", "d"), target=0.0).estimates[0]
    for name in ("difference", "difference_low", "difference_high", "p_value"):
        assert found[name] == pytest.approx(expected[name], rel=1e-9), name
    plain = stats.ttest_rel(wide["A"], wide["B"])
    assert found["p_value"] == pytest.approx(plain.pvalue, rel=0.6), "normal differences: about the paired t"
    assert found["rate"] == pytest.approx(wide["A"].mean(), rel=1e-12)


def ratings(changes, pairs=60):
    """One change for each of the first people, none for the others."""
    before = np.random.default_rng(5).normal(size=pairs)
    after = before + np.r_[changes, np.zeros(pairs - len(changes))]
    return pd.DataFrame({
        "person": np.tile(np.arange(pairs), 2), "name": np.repeat(["A", "B"], pairs), "rating": np.r_[after, before],
    })  # fmt: skip


def compared(changes, level=0.95, **options):
    audit = Audit(ratings(changes), score="rating", groups="name", pair="person")
    return row(measure(audit, "mean_score", target={"name": "B"}, confidence_level=level, **options))


def test_no_gap_is_tested_from_the_pairs_that_change():
    changes = np.random.default_rng(8).gamma(2.0, size=15) - 1.0
    found = compared(changes)
    alone = measure(
        Audit(pd.DataFrame({"d": changes, "g": "x"}), groups="g"), Metric("d", "d"), target=0.0, minimum=2
    )
    assert found["p_value"] == pytest.approx(alone.estimates[0]["p_value"], rel=1e-9)
    assert found["difference"] == pytest.approx(changes.sum() / 60, rel=1e-9)
    assert found["n"] == 60


@pytest.mark.parametrize("seed", range(12))
def test_limits_of_pairs_that_change_agree_with_no_gap(seed):
    random = np.random.default_rng(seed)
    changes = np.exp(1.2 * random.normal(size=6 + 3 * seed)) - random.uniform(0.5, 2.5)
    mirrored = compared(-changes)
    for level in (0.8, 0.95, 0.99):
        found = compared(changes, level)
        low, high = (float(found[f"difference_{end}"]) if isinstance(found[f"difference_{end}"], float) else sign
                     for end, sign in (("low", -np.inf), ("high", np.inf)))  # fmt: skip
        assert low <= found["difference"] <= high
        assert (low <= 0 <= high) == (found["p_value"] > 1 - level)
    assert mirrored["p_value"] == pytest.approx(compared(changes)["p_value"], rel=1e-6)


def test_too_few_changes_are_undetermined_and_say_so():
    found = compared([2.0, 2.1, 1.9])
    assert found["p_value"] == 1.0
    assert "fewer than 6 people's answers change" in str(found["difference_low"])
    assert "same value" in str(compared([])["difference_low"])


def test_changes_that_are_all_alike_keep_the_law_of_all_differences():
    found = compared(np.ones(30))
    assert found["p_value"] < 1e-6
    assert 0.3 < found["difference_low"] < 0.5 < found["difference_high"] < 0.7


def test_people_with_one_answer_are_counted_and_not_compared():
    data = answers()
    lacking = data.drop(data.index[[0, 1, 150]])
    found = row(measure(Audit(lacking, **ASKED), "selection_rate", target={"name": "B"}))
    alone = data.loc[data["person"].isin(data.loc[data.index[[0, 1, 150]], "person"]), "person"].unique()
    kept = data[~data["person"].isin(alone)]
    expected = row(measure(Audit(kept, **ASKED), "selection_rate", target={"name": "B"}))
    assert found["unpaired"] == 3
    for name in ("n", "events", "rate", "rate_low", "target_rate", "target_n", "difference_low", "p_value"):
        assert found[name] == expected[name], name


def test_several_groups_need_a_reference_and_have_a_joint_test():
    data = answers()
    more = data[data["name"] == "B"].assign(name="C")
    three = pd.concat([data, more])
    with pytest.raises(InputError, match="several answers of 100 people"):
        certify(Audit(three, **ASKED), "selection_rate")
    result = certify(Audit(three, **ASKED), "selection_rate", target={"name": "A"})
    assert row(result, "B")["difference"] == row(result, "C")["difference"]
    assert result.details["joint"]["df"] == 1, "two equal answers are one"


def test_a_person_with_two_rows_of_a_group_is_a_fault():
    data = answers()
    with pytest.raises(InputError, match="2 people with more than one row of 'A'"):
        measure(Audit(pd.concat([data, data.head(2)]), **ASKED))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"scale": "ratio", "tolerance": 0.8}, "'ratio' is not for pairs"),
        ({"target": "overall"}, "of pairs is the rest or a reference group"),
        ({"target": 0.3}, "of pairs is the rest or a reference group"),
        ({"within": "site"}, "is not for pairs"),
    ],
)
def test_what_pairs_do_not_answer_is_refused_by_name(more, words):
    data = answers().assign(site="x")
    with pytest.raises(InputError, match=words):
        certify(Audit(data, **ASKED), "selection_rate", **more)
    with pytest.raises(NotApplicable, match="'pair'"):
        elfa.certify(Audit(data, **ASKED), "selection_rate", vector={"A": 0.1, "B": -0.1})


def test_metrics_among_the_decided_and_other_evidence_are_refused():
    data = answers().assign(right=1, w=1.0)
    with pytest.raises(NotApplicable, match="depends on what was decided"):
        measure(Audit(data, outcome="right", **ASKED), "ppv")
    with pytest.raises(NotApplicable, match="'weight' and pairs"):
        measure(Audit(data, weight="w", **ASKED))


@pytest.mark.parametrize("name", [name for name, found in declared_methods().items() if found.takes_audit])
def test_every_method_honours_pairs_or_refuses_them(name):
    found = declared_methods()[name]
    if "pair" in found.evidence:
        assert name in ("measure", "certify", "flag", "tabulate")
        return
    required = {
        "metric": "selection_rate",
        "state": "s",
        "table": "local-law-144",
        "protected": {"name": "A"},
        "criterion": "statistical_parity",
    }
    given = {part.name: required.get(part.name, "x") for part in found.arguments if part.required}
    with pytest.raises(NotApplicable, match="'pair' is not honoured"):
        found.function(audit=Audit(answers(), **ASKED), **given)


def test_too_few_pairs_are_not_tested():
    data = answers()
    lacking = data[(data["name"] == "A") | (data["person"] < 40)]
    found = row(measure(Audit(lacking, **ASKED), target={"name": "B"}, minimum=40))
    assert (found["n"], found["unpaired"]) == (40, 60)
    partly = data[
        ((data["name"] == "A") & (data["person"] < 75)) | ((data["name"] == "B") & (data["person"] >= 25))
    ]
    found = row(measure(Audit(partly, **ASKED), minimum=60))  # 75 on each side, of whom 50 have both
    assert found["state_reason"] == "fewer than 60 people with both answers"


def test_saved_results_come_back():
    result = certify(Audit(answers(), **ASKED), "selection_rate", tolerance=0.3)
    again = read_result(json.loads(json.dumps(result.to_dict())))
    assert again.to_dict() == result.to_dict()
    assert result.verdict.code == "certified"
    assert result.provenance["roles"]["pair"] == "person"


def test_command_and_file(tmp_path):
    path = tmp_path / "answers.csv"
    answers().to_csv(path, index=False)
    options = [
        "--decision",
        "invited",
        "--by",
        "name",
        "--pair",
        "person",
        "--target",
        "name=B",
        "--json",
        "-",
    ]
    done = CliRunner().invoke(program, ["measure", str(path), *options])
    assert done.exit_code == 0, done.output
    assert row(read_result(json.loads(done.stdout)))["p_value"] == pytest.approx(mid_p(14, 5), abs=1e-12)
    spec = tmp_path / "audit.toml"
    spec.write_text(
        '[data]\nsource = "answers.csv"\ndecision = "invited"\ngroups = ["name"]\npair = "person"\n'
        '[measure]\nmetric = ["selection_rate"]\ntarget = { name = "B" }\n',
        encoding="utf-8",
    )
    trial = fairtrial.run(str(spec))
    assert row(trial.answers[0].result)["p_value"] == pytest.approx(mid_p(14, 5), abs=1e-12)

"""improve for rules fixed beforehand, on all rows; margins, words, money, and claims of several parts."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import fairtrial
from fairtrial import Audit, Fixed, InputError, Payoff
from inside.ground import NotApplicable
from inside.improve import Rule
from inside.results import mask_result
from oracles.improve_data import misled_people
from validity.improve_asked import improve

QUICK = {"splits": 3, "bootstrap": 400, "by": "group"}


def audit_of(data, **changes):
    roles = {"outcome": "outcome", "decision": "decision", "groups": "group", "features": ["need", "proxy"]}
    return Audit(data, **{**roles, **changes})


# -- rules fixed beforehand, on all rows ------------------------------------------------------------------------

FIXED = {"candidates": "better", "by": "group", "bootstrap": 999}


def test_a_fixed_rule_is_tested_on_all_rows():
    data = misled_people()
    result = improve(audit_of(data), "tpr", sign={"group": "a"}, **FIXED)
    assert result.rejected
    assert "all 2,000 rows" in result.verdict.text
    rows = {row["group"]: row for row in result.estimates}
    for name in "ab":
        inside = data[data["group"] == name]
        assert rows[name]["n"] == len(inside)
        assert rows[name]["alternative"] == pytest.approx((inside["better"] == inside["outcome"]).mean())
    assert result.provenance["arguments"]["splits"] is None
    assert [picture.name for picture in result.pictures()] == ["utilities", "surface"]
    assert "splits" not in " ".join(result.reading())


def test_a_rule_that_cannot_read_rows_is_refused():
    rule = Rule("as needed", lambda inputs: inputs.matrix[:, 0])
    with pytest.raises(
        InputError, match="candidate 'as needed' does not say how it reads rows: give it a reading"
    ):
        improve(audit_of(misled_people(500)), "accuracy", "tpr", **{**FIXED, "candidates": Fixed([rule])})


def test_a_direction_that_was_not_stated_is_paid_for():
    audit = audit_of(misled_people(500, seed=3))
    stated, unstated, wrong = (
        improve(audit, "tpr", **sign, **{**FIXED, "bootstrap": 9999})
        for sign in ({"sign": {"group": "a"}}, {}, {"sign": {"group": "b"}})
    )
    gap = {name: r.estimates[-1]["p_value"] for name, r in (("stated", stated), ("unstated", unstated))}
    assert gap["unstated"] == pytest.approx(2 * gap["stated"], abs=0.004)
    assert any(note.code == "direction-not-stated" for note in unstated.notes)
    assert not any(note.code == "direction-not-stated" for note in stated.notes)
    assert wrong.p_value > 0.5
    (told,) = (note.text for note in wrong.notes if note.code == "other-direction")
    assert "higher for b than for a; in these rows it is lower" in told
    assert not any(note.code == "other-direction" for note in stated.notes)


def test_several_fixed_rules_pay_for_their_number():
    data = misled_people()
    data["noise"] = np.random.default_rng(1).integers(0, 2, len(data))
    asked = {**FIXED, "candidates": ["noise", "better"], "sign": {"group": "a"}}
    result = improve(audit_of(data), "tpr", **asked)
    assert result.p_value == pytest.approx(2 * min(s["p_value"] for s in result.details["splits"]))
    assert "2 fixed rules" in result.verdict.text
    assert result.rule.name == "better"
    assert "p of the split" not in result.summary()
    assert "p of the fixed rule" in json.dumps(
        {p.name: p.chart.to_dict() for p in result.pictures()}["splits"]
    )


def test_threshold_sign_and_capacity_from_an_earlier_sample():
    data = misled_people()
    earlier, now = data.iloc[:800], data.iloc[800:]
    audit = audit_of(now, outcome="conditions", decision=None, score="risk")
    asked = {**FIXED, "candidates": "need", "capacity": 0.2}
    result = improve(audit, "ppv", "ppv", earlier=earlier, **asked)
    threshold = np.quantile(earlier["need"], 0.8)
    selected = now[now["need"] >= threshold]
    rows = {row["group"]: row for row in result.estimates}
    for name in "ab":
        expected = selected[selected["group"] == name]["conditions"].mean()
        assert rows[name]["alternative"] == pytest.approx(expected)
    stated = improve(
        audit,
        "ppv",
        "ppv",
        threshold=float(threshold),
        sign={"group": "b"},
        **{**asked, "capacity": 0.21},
    )
    assert {r["group"]: r for r in stated.estimates}["a"]["alternative"] == pytest.approx(
        rows["a"]["alternative"]
    )


def test_an_earlier_sample_has_the_same_groups_of_ones_own():
    data = misled_people()
    define = {"low": {"proxy": {"below": 0.5}}, "high": {"proxy": {"least": 0.5}}}
    audit = audit_of(data.iloc[800:], groups=(), define=define, features=())
    asked = {**FIXED, "by": [{"low": "low"}, {"high": "high"}]}
    found = improve(audit, "selection_rate", earlier=data.iloc[:800], **asked)
    stated = improve(audit, "selection_rate", sign={"high": "high"}, **asked)
    assert found.p_value == stated.p_value


def test_the_threshold_stated_is_that_of_models_and_rules_too():
    before, data = misled_people(1000, seed=7), misled_people()
    model = LogisticRegression().fit(before[["need", "proxy"]], before["outcome"])
    asked = {**FIXED, "sign": {"group": "a"}, "threshold": 0.7}
    result = improve(audit_of(data), "tpr", **{**asked, "candidates": model})
    expected = (model.predict_proba(data[["need", "proxy"]])[:, 1] >= 0.7).astype(int)
    np.testing.assert_array_equal(result.rule.predict(data), expected)
    rows = {row["group"]: row for row in result.estimates}
    for name in "ab":
        inside = (data["group"] == name).to_numpy()
        right = (expected == data["outcome"].to_numpy())[inside].mean()
        assert rows[name]["alternative"] == pytest.approx(right)
    again = improve(
        audit_of(data),
        "tpr",
        **{**asked, "candidates": result.rule, "threshold": 0.2},
    )
    assert again.rule.threshold == 0.2
    assert again.rule.predict(data).sum() > expected.sum()


def test_a_small_gap_is_no_small_number_of_people():
    """A gap of .002 between groups of 1,000 tells of no 2 people; rates of few people behind it are masked."""
    data = misled_people()
    result = improve(audit_of(data), "selection_rate", sign={"group": "a"}, **FIXED)
    gap = result.estimates[-1]
    assert 0 < gap["alternative"] * gap["n"] < 30 < gap["fewest"]
    assert mask_result(result, 30)["verdict"]["text"] == result.verdict.text
    rates = [data[data["group"] == name][rule].mean() for name in "ab" for rule in ("decision", "better")]
    sizes = data["group"].value_counts()
    counts = [rate * sizes[name] for rate, name in zip(rates, "aabb", strict=True)]
    others = [sizes[name] - count for count, name in zip(counts, "aabb", strict=True)]
    assert gap["fewest"] == round(min(counts + others))
    assert "masked" in mask_result(result, gap["fewest"] + 1)["verdict"]["text"]


def test_splits_are_still_there_for_a_fixed_column():
    result = improve(audit_of(misled_people()), "tpr", splits=3, **FIXED)
    assert len(result.details["splits"]) == 3
    assert "median of 3 splits" in result.verdict.text


def test_one_split_is_its_own_p_value_and_says_so():
    result = improve(audit_of(misled_people()), "tpr", splits=1, **FIXED)
    assert result.p_value == result.details["splits"][0]["p_value"]
    assert not any("median" in note.text for note in result.notes)
    assert "one split" in result.verdict.text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sign": {"group": "c"}}, "the sign that was stated must name groups among"),
        ({"sign": ["a", "b"]}, "must name the group with the higher level"),
        (
            {"splits": 3, "threshold": 0.5},
            "'threshold' is for rules fixed beforehand; with splits",
        ),
    ],
)
def test_bad_input_of_fixed_rules(changes, message):
    with pytest.raises(InputError, match=message):
        improve(audit_of(misled_people(300)), "tpr", **{**FIXED, **changes})


def test_whoever_brings_a_rule_says_that_it_was_not_fitted_on_these_rows():
    message = "must not have been fitted on these rows: if it was not, say candidates={'fixed': 'better'}"
    with pytest.raises(InputError, match=message):
        fairtrial.improve(audit_of(misled_people(300)), "tpr", by="group", candidates="better")


def test_an_audit_file_names_no_file_of_an_earlier_sample():
    """A page's reader could otherwise have the server read any of its files."""
    with pytest.raises(InputError, match="needs 'fixed', a column, and may have 'threshold' and 'sign'"):
        fairtrial.improve(
            audit_of(misled_people(300)), "tpr", candidates={"fixed": "better", "earlier": "secret.csv"}
        )


# -- margins and words ------------------------------------------------------------------------------------------


def equally_accurate(rows=9000, seed=5):
    """An alternative exactly as accurate on average, with a gap near none in place of a large one."""
    rng = np.random.default_rng(seed)
    data = misled_people(rows, seed)
    group = (data["group"] == "b").to_numpy()
    right = rng.random(rows) < 0.8
    data["decision"] = np.where(right, data["outcome"], np.where(group, 0, 1))
    swap = rng.random(rows)
    data["other"] = np.where(right, data["outcome"], (swap < 0.5).astype(int))
    return data


def test_as_good_as_people_mean_it_needs_a_margin():
    audit = audit_of(equally_accurate())
    asked = {**FIXED, "candidates": "other", "sign": {"group": "a"}}
    strict = improve(audit, "selection_rate", **asked)
    assert not strict.rejected
    assert "accuracy higher than now for each group" in strict.question
    assert "(superiority) and" in strict.null
    told = {row["margin"]: row["p_value"] for row in strict.details["margins"]}
    assert told[0.0] == strict.p_value
    assert told[0.02] < 0.05
    conceded = improve(audit, "selection_rate", margin=0.02, **asked)
    assert conceded.rejected
    assert conceded.p_value == pytest.approx(told[0.02], abs=0.01)
    assert "accuracy at most 2% lower for each group" in conceded.question
    assert "accuracy at most 2% lower for each group (non-inferiority)" in conceded.null
    assert "with accuracy at most 2% lower for each group: the gap" in conceded.verdict.text
    points = improve(audit, "selection_rate", margin=0.02, absolute=True, **asked)
    assert "accuracy at most 2 points lower for each group" in points.question
    assert "more than -" not in " ".join([points.null, points.question, points.verdict.text])


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"margin": -0.01}, "accuracy more than 1% higher for each group"),
        ({"margin": {"a": 0.01, "b": 0.03}}, "accuracy at most 1% lower for a and at most 3% lower for b"),
        ({"margin": 0.05, "everyone": True}, "accuracy at most 5% lower for everyone together"),
        ({"weights": {"a": 1, "b": 3}}, "accuracy higher than now for the weighted groups together"),
        ({"reduction": 0.5}, "smaller by more than 50%"),
        ({"scale": "ratio"}, "an impact ratio in selection rate between a, b nearer to 1 than now"),
        (
            {"keep": ["accuracy", "tpr"], "margin": {"tpr": 0.1}},
            "and true positive rate at most 10% lower for each",
        ),
    ],
)
def test_question_and_null_say_what_was_conceded(extra, words):
    asked = {**FIXED, "candidates": "other", **extra}
    result = improve(audit_of(equally_accurate(1500)), **asked)
    assert words in result.question
    assert words.split(" for each")[0] in result.null
    content = json.loads(json.dumps(result.to_dict()))
    assert type(result).from_dict(content).to_dict() == content
    assert result.pictures()


def test_two_accuracies_must_both_hold():
    data = misled_people()
    asked = {**FIXED, "sign": {"group": "a"}}
    both = improve(audit_of(data), "tpr", ["accuracy", "tnr"], **asked)
    each = [improve(audit_of(data), "tpr", one, **asked) for one in ("accuracy", "tnr")]
    assert both.p_value == pytest.approx(max(r.p_value for r in each), abs=0.02)
    assert [row["metric"] for row in both.estimates] == ["accuracy"] * 2 + ["tnr"] * 2 + ["tpr"]


def test_weighted_groups_and_everyone():
    data = misled_people()
    sizes = data["group"].value_counts(normalize=True)
    asked = {**FIXED, "sign": {"group": "a"}}
    pooled = improve(audit_of(data), "tpr", everyone=True, **asked).estimates[0]
    weighted = improve(audit_of(data), "tpr", weights=sizes.to_dict(), **asked).estimates[0]
    for part in ("status_quo", "alternative", "statistic"):
        assert weighted[part] == pytest.approx(pooled[part])


def test_impact_ratio():
    data = misled_people()
    result = improve(audit_of(data), "selection_rate", scale="ratio", **{**FIXED, "sign": {"group": "a"}})
    rates = data.groupby("group")[["decision", "better"]].mean()
    row = result.estimates[-1]
    assert row["group"] == "impact ratio"
    assert row["status_quo"] == pytest.approx(rates["decision"].min() / rates["decision"].max())
    assert row["alternative"] == pytest.approx(rates["better"].min() / rates["better"].max())
    assert result.rejected
    assert "impact ratio in selection rate rises from" in result.verdict.text


def test_rare_losses_are_undetermined_and_say_so():
    """Extra approvals that all happened to pay: 36 gains of 1 and no loss, where 49 can be lost."""
    rng = np.random.default_rng(0)
    rows = 1200
    data = misled_people(rows)
    data["decision"] = (data["group"] == "a").astype(int)
    data["other"] = data["decision"].where(rng.random(rows) > 0.15, 1)
    data["profit"] = 1.0
    data.loc[(data["other"] == data["decision"]) & (rng.random(rows) < 0.01), "profit"] = -49.0
    payoff = Payoff("profit", selected="profit")
    asked = {
        **FIXED,
        "candidates": "other",
        "everyone": True,
        "absolute": True,
        "sign": {"group": "a"},
    }
    result = improve(audit_of(data), "selection_rate", payoff, **asked)
    assert result.verdict.code == "undetermined"
    assert "undetermined: whether profit falls rests on 0 people who fare worse" in result.verdict.text
    sales = Payoff("sales", selected="sales")  # of two, the one that falls short is named
    data["sales"] = np.where(rng.random(rows) < 0.3, -0.1, 1.0)
    both = improve(audit_of(data), "selection_rate", [sales, payoff], **asked)
    assert "undetermined: whether profit falls rests on 0 people who fare worse" in both.verdict.text
    # P(no loss) = (L/(1 + L))^gains with the file's largest loss L
    gains = int((data["other"] != data["decision"]).sum())
    assert result.p_value == pytest.approx((49 / 50) ** gains, abs=0.05)
    with pytest.raises(NotApplicable, match="shows no loss: no row of the data loses by being selected"):
        improve(audit_of(data.assign(profit=1.0)), "selection_rate", payoff, **asked)
    stated = Payoff("profit", selected="profit", at_least=-1.0)
    assert improve(audit_of(data.assign(profit=1.0)), "selection_rate", stated, **asked).rejected
    with pytest.raises(InputError, match="says at least -1, but a row of the data yields -49"):
        improve(audit_of(data), "selection_rate", stated, **asked)


def test_a_fitted_model_and_a_saved_rule_are_fixed_rules(tmp_path):
    """Fitted on other people; the decisions tested are the model's own."""
    from fairtrial import load_rule

    before, data = misled_people(1000, seed=7), misled_people()
    model = LogisticRegression().fit(before[["need", "proxy"]], before["outcome"])
    asked = {**FIXED, "candidates": [model], "sign": {"group": "a"}}
    result = improve(audit_of(data), "tpr", **asked)
    assert result.details["all_rows"]
    expected = model.predict(data[["need", "proxy"]])
    rows = {row["group"]: row for row in result.estimates}
    for name in "ab":
        inside = (data["group"] == name).to_numpy()
        right = (expected == data["outcome"].to_numpy())[inside].mean()
        assert rows[name]["alternative"] == pytest.approx(right)
    np.testing.assert_array_equal(result.rule.predict(data), expected)
    learned = improve(audit_of(before), "tpr", candidates=["frontier"], **{**QUICK, "splits": 1}).rule
    rule = load_rule(learned.save(tmp_path / "rule.skops"))
    again = improve(audit_of(data), "tpr", **{**asked, "candidates": [rule]})
    assert again.details["candidates"] == [rule.name]
    changes = {row["group"]: row["selected_alternative"] for row in again.details["refit"]["changes"]}
    decisions = rule.predict(data)
    for name in "ab":
        assert changes[name] == decisions[(data["group"] == name).to_numpy()].sum()
    np.testing.assert_array_equal(again.rule.predict(data), decisions)
    with pytest.raises(InputError, match="must not have been fitted on these rows"):
        fairtrial.improve(audit_of(data), "tpr", by="group", candidates=[rule])
    with pytest.raises(InputError, match="uses 'proxy', which is banned"):
        improve(audit_of(data), "tpr", banned=["proxy"], **{**asked, "candidates": [rule]})


def test_an_accuracy_without_groups():
    """AUC, log loss and profit of everyone together; the area is scikit-learn's."""
    from sklearn.metrics import roc_auc_score

    data = misled_people()
    data["old_score"] = 1 / (1 + np.exp(-data["need"] - data["proxy"]))
    data["new_score"] = 1 / (1 + np.exp(-3 * data["need"]))
    audit = audit_of(data, score="old_score")
    asked = {
        **FIXED,
        "candidates": "new_score",
        "threshold": 0.5,
        "everyone": True,
        "sign": {"group": "a"},
    }
    result = improve(audit, "tpr", ["auc", "log_loss"], absolute=True, margin={"auc": 0.01}, **asked)
    area = result.estimates[0]
    assert area["metric"] == "auc"
    assert area["status_quo"] == pytest.approx(roc_auc_score(data["outcome"], data["old_score"]))
    assert area["alternative"] == pytest.approx(roc_auc_score(data["outcome"], data["new_score"]))
    assert result.rejected
    assert (
        f"area under the curve goes from {area['status_quo']:.3g} to {area['alternative']:.3g} for everyone"
        in result.verdict.text
    )
    assert result.pictures()
    assert "area under the curve at most 0.01 lower for everyone together" in result.question
    assert "log loss lower than now for everyone together" in result.question
    with pytest.raises(InputError, match="compares people across groups: say margin={'everyone': 0.0}"):
        improve(audit, "tpr", "auc", absolute=True, **{**asked, "everyone": False})
    with pytest.raises(InputError, match="has a margin in points: say margin={'absolute': 0.0}"):
        improve(audit, "tpr", "auc", **asked)
    learned = improve(audit, "tpr", "auc", by="group", everyone=True, absolute=True, splits=1, bootstrap=200,
                      candidates=[LogisticRegression(), DecisionTreeClassifier(max_depth=3)])  # fmt: skip
    assert 0.8 < learned.estimates[0]["alternative"] < 1

"""improve from data to verdict: utilities, constraints, candidates, seeds, refusals."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fairtrial import Audit, Estimator, ImproveResult, InputError, Metric, Payoff, role
from inside.ground import Cancelled, MemoryStore, NotApplicable, session
from inside.improve import Rule
from inside.papers import LinearProgram
from inside.results import mask_result
from oracles.improve_data import misled_people
from validity.improve_asked import improve

QUICK = {"splits": 3, "bootstrap": 400, "by": "group"}


def audit_of(data, **changes):
    roles = {"outcome": "outcome", "decision": "decision", "groups": "group", "features": ["need", "proxy"]}
    return Audit(data, **{**roles, **changes})


LOGISTIC = LogisticRegression()
LOADED = Rule("loaded", LOGISTIC)
# the argument that an option of a grid is part of
TOLD_OF = {"reduction": "margin", "sign": "candidates", "banned": "constraints", "capacity": "constraints"}
TOLD_OF |= {"rising": "constraints"}


def test_a_better_rule_is_found_refitted_and_counted():
    data = misled_people()
    result = improve(audit_of(data), "tpr", candidates=[LOGISTIC], **QUICK)
    assert result.rejected
    assert result.verdict.code == "alternative-exists"
    assert result.verdict.text.startswith(
        "a less discriminatory alternative exists, with accuracy higher than now for each group: the gap in true "
        "positive rate falls"
    )
    decisions = result.rule.predict(audit_of(data))
    for change in result.details["refit"]["changes"]:
        inside = (data["group"] == change["group"]).to_numpy()
        gained = inside & (data["decision"].to_numpy() == 0) & (decisions == 1)
        assert change["gain_decision"] == gained.sum()
    expected = {(row["use"], row["group"]): row for row in result.details["refit"]["expected_levels"]}
    accuracy = [
        row["alternative"] for row in result.estimates if row["part"] == "accuracy" and row["group"] == "b"
    ]
    assert expected["accuracy", "b"]["alternative"] == pytest.approx(np.mean(accuracy))
    (primary,) = result.primary()
    assert primary.p_value == result.p_value
    assert primary.effect < 0
    assert len(result.estimates) == 3 * 3
    assert {row["part"] for row in result.estimates} == {"accuracy", "fairness"}
    content = json.loads(json.dumps(result.to_dict()))
    assert type(result).from_dict(content).to_dict() == content
    assert result.details["splits_against_manipulation"] == 7
    assert result.largest_fairness_gain(0.0) > 0
    assert result.largest_fairness_gain(0.1) >= result.largest_fairness_gain(0.0)


def test_a_count_that_is_masked_stands_in_no_sentence():
    result = improve(audit_of(misled_people()), "tpr", candidates=[LOGISTIC], **QUICK)
    fewest = min(
        min(row["gain_decision"], row["lose_decision"]) for row in result.details["refit"]["changes"]
    )
    assert f"{fewest:,} " in " ".join(result.reading())
    published = ImproveResult.from_dict(mask_result(result, fewest + 1))
    assert f"{fewest:,} " not in " ".join(published.reading())
    assert len(published.details["refit"]["changes"]) < 2


def test_the_status_quo_itself_is_no_improvement():
    data = misled_people()
    result = improve(audit_of(data), "tpr", candidates=["decision"], **QUICK)
    assert result.p_value == 1.0
    assert "not evidence that none exists" in result.verdict.text
    assert result.rule.card["shown"] is False
    assert "the best found, not shown to be better" in " ".join(result.reading())


def test_levels_are_the_metrics_of_the_test_half():
    """The first split's levels agree with means over the rows of its test half."""
    from inside.ground import generator
    from inside.improve import split_rows

    data = misled_people()
    result = improve(audit_of(data), "tpr", candidates=["better"], **QUICK)
    _, test = split_rows(len(data), 0.5, generator(0, "improve/split", 0))
    half = data.iloc[test]
    rows = [row for row in result.estimates if row["split"] == 1]
    for row, name in zip(rows, "ab", strict=False):
        inside = half[half["group"] == name]
        assert row["status_quo"] == pytest.approx((inside["decision"] == inside["outcome"]).mean())
        assert row["alternative"] == pytest.approx((inside["better"] == inside["outcome"]).mean())
    tpr = half[half["outcome"] == 1].groupby("group")["decision"].mean()
    assert rows[2]["status_quo"] == pytest.approx(abs(tpr["a"] - tpr["b"]))


@pytest.mark.parametrize("jobs", [2, 3])
def test_one_seed_gives_the_same_result_for_any_number_of_jobs(jobs):
    audit = audit_of(misled_people(600))
    models = [LOGISTIC, DecisionTreeClassifier(max_depth=3)]
    first, second = (improve(audit, "tpr", candidates=models, jobs=j, **QUICK).to_dict() for j in (1, jobs))
    assert first == second
    other = improve(audit, "tpr", candidates=models, seed=1, **QUICK).to_dict()
    assert other["details"]["splits"] != first["details"]["splits"]


def test_progress_and_cancel():
    audit, events, store = audit_of(misled_people(600)), [], MemoryStore()
    models = [LOGISTIC, DecisionTreeClassifier(max_depth=3)]
    with session(cancel=lambda: len(events) > 3, store=store), pytest.raises(Cancelled):
        improve(audit, "tpr", candidates=models, progress=events.append, **QUICK)
    kept = len(store.batches)
    assert kept > 0
    assert events[0].total == 3 * 2  # splits × candidates
    with session(store=store):
        resumed = improve(audit, "tpr", candidates=models, **QUICK)
    assert resumed.to_dict() == improve(audit, "tpr", candidates=models, **QUICK).to_dict()


# -- utilities ----------------------------------------------------------------------------------------------


def test_capacity_of_a_score_is_recomputed_on_each_training_half():
    data = misled_people()
    audit = audit_of(data, outcome="conditions", decision=None, score="risk")
    result = improve(audit, "ppv", "ppv", candidates=[LinearRegression()], capacity=0.2, **QUICK)
    selected = result.details["refit"]["changes"] if result.details["refit"] else []
    assert result.details["claim"]["accuracy"] == ["ppv"]
    for change in selected:
        assert 0 < change["selected_alternative"] < 0.4 * change["n"]
    shares = [row["n"] for row in result.estimates]
    assert max(shares) < 0.25 * len(data) / 2


@pytest.mark.parametrize(
    ("accuracy", "fairness", "extra"),
    [
        ("accuracy", ["tpr", "fpr"], {}),
        ("accuracy", "equalized_odds", {}),
        ("accuracy", "tpr", {"everyone": True}),
        ("accuracy", "tpr", {"absolute": True}),
        ("accuracy", "tpr", {"component": "paper"}),
        ("accuracy", "tpr", {"direction": "below", "target": {"group": "a"}}),
        ("error_rate", "fnr", {"absolute": True}),
        (Payoff("profit", "margin"), "tpr", {"absolute": True}),
        ({"name": "profit", "selected": "margin", "rejected": 0}, "tpr", {"absolute": True}),
        (
            Metric("right about the well", value=role.correct, given={"sector": ["public", "other"]}),
            "tpr",
            {},
        ),
        ("accuracy", Metric("margin of the selected", value="margin", given={role.decision: 1}), {}),
        ("accuracy", "tpr", {"aggregate": "running-median"}),
        ("accuracy", "tpr", {"aggregate": "single"}),
        ("accuracy", "tpr", {"margin": 0.02, "reduction": 0.1}),
        ("accuracy", "tpr", {"margin": {"a": 0.01, "b": -0.02}, "reduction": 0.1}),
    ],
)
def test_every_option_runs_and_says_what_it_did(accuracy, fairness, extra):
    result = improve(
        audit_of(misled_people(800)),
        fairness,
        accuracy,
        candidates=["better"],
        **QUICK,
        **extra,
    )
    assert 0 < result.p_value <= 1
    assert result.summary()
    assert all(0 < row["p_value"] <= 1 for row in result.estimates)
    accuracies = 1 if extra.get("everyone") else 2
    metrics = 2 if fairness in (["tpr", "fpr"], "equalized_odds") else 1
    splits = 1 if extra.get("aggregate") == "single" else 3
    assert len(result.estimates) == splits * (accuracies + metrics)


def test_three_groups():
    data = misled_people(3000, groups=3)
    result = improve(audit_of(data), "tpr", candidates=[LOGISTIC], **QUICK)
    components = result.details["splits"][0]["components"]
    assert len(components) == 3 + 6  # three groups, all ordered pairs
    assert result.rejected


def test_a_group_that_was_never_selected():
    data = misled_people(1500)
    data.loc[data["group"] == "b", "decision"] = 0
    given = {"candidates": ["better"], **QUICK}
    result = improve(audit_of(data), "selection_rate", "tpr", **given)
    assert result.rejected
    assert result.to_dict()["details"]["surface"]


# -- charts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [2, 3])
def test_charts_are_valid_and_carry_their_captions(groups):
    data = misled_people(1500, groups=groups).replace({"group": {"b": "</script><b>"}})
    result = improve(audit_of(data), "tpr", candidates=[LOGISTIC], **QUICK)
    pictures = result.pictures()
    assert [picture.name for picture in pictures] == [
        "utilities",
        "surface",
        "splits",
    ]  # one candidate: no search
    specs = {picture.name: json.dumps(picture.chart.to_dict()) for picture in pictures}
    assert "a corner picked freely only at 0.1" in specs["surface"]
    assert "0.025, the level each split must meet" in specs["splits"]
    assert "</script>" not in result._repr_html_()


def test_without_any_rejection_there_is_no_surface_to_draw():
    given = {"candidates": ["decision"], **QUICK}
    result = improve(audit_of(misled_people(400)), "tpr", reduction=0.5, **given)
    assert result.plot().to_dict()


# -- constraints: a violating candidate is an error ------------------------------------------------------------


def test_capacity_refuses_a_candidate_that_selects_more():
    with pytest.raises(InputError, match=r"candidate 'better' selects .* above the capacity of 20\.0%"):
        improve(
            audit_of(misled_people()),
            "tpr",
            candidates=["better"],
            capacity=0.2,
            **QUICK,
        )


def test_monotone_refuses_a_candidate_that_falls():
    data = misled_people()
    with pytest.raises(InputError, match="candidate 'LogisticRegression' rises as 'need' rises"):
        improve(audit_of(data), "tpr", candidates=[LOGISTIC], falling="need", **QUICK)
    improve(audit_of(data), "tpr", candidates=[LOGISTIC], rising="need", **QUICK)


def test_monotone_refuses_a_fixed_column_by_pairs_of_rows():
    data = misled_people()
    data["need"], data["proxy"] = data["need"].round(), 0.0
    data["odd"] = (data["need"] % 2 == 0).astype(int)
    with pytest.raises(InputError, match="candidate 'odd' falls as 'need' rises in .* pairs"):
        improve(
            audit_of(data),
            "tpr",
            candidates=["odd"],
            rising="need",
            **QUICK,
        )


@pytest.mark.parametrize("binary", [True, False], ids=["binary outcome", "real outcome"])
def test_the_portfolio_keeps_monotone_directions(binary):
    """need raises the outcome; asking for the opposite direction leaves it without effect, never with the wrong one."""
    data = misled_people(600)
    audit = audit_of(data, outcome="outcome" if binary else "conditions")
    metric = "accuracy" if binary else "ppv"
    improve(audit, "selection_rate", metric, falling="need", **{**QUICK, "splits": 1})


def test_banned_features_are_refused():
    candidate = Estimator(LOGISTIC, features=("need", "proxy"))
    with pytest.raises(InputError, match="candidate 'LogisticRegression' uses 'proxy', which is banned"):
        improve(audit_of(misled_people()), "tpr", candidates=[candidate], banned=["proxy"], **QUICK)


def test_banned_columns_are_out_of_reach_of_functions():
    def peeks(train):
        return lambda inputs: inputs.frame["proxy"].to_numpy() > 0

    with pytest.raises(
        InputError, match="candidate 'peeks' asks for 'proxy', which is not a permitted input"
    ):
        improve(audit_of(misled_people()), "tpr", candidates=[peeks], banned=["proxy"], **QUICK)


def test_blind_refuses_rules_that_know_the_group():
    data = misled_people()
    audit = audit_of(data, features=["need", "proxy", "group"])
    knows = Estimator(LOGISTIC, features=("need", "group"))
    with pytest.raises(InputError, match="uses 'group', which is a group attribute, and rules must be blind"):
        improve(audit, "tpr", candidates=[knows], **QUICK)
    with pytest.raises(InputError, match="'group thresholds' decides by group: it needs blind=False"):
        improve(audit, "tpr", candidates=["group-thresholds"], **QUICK)
    improve(audit, "tpr", candidates=[knows, "group-thresholds"], blind=False, **QUICK)


def test_blind_refuses_a_fixed_column_that_follows_the_group():
    data = misled_people()
    data["need"], data["proxy"] = data["need"].round(), 0.0
    data["by_group"] = ((data["need"] > 0) | (data["group"] == "b")).astype(int)
    with pytest.raises(
        InputError, match="candidate 'by_group' gives people with equal features different decisions"
    ):
        improve(audit_of(data), "tpr", candidates=["by_group"], **QUICK)


# -- refusals -----------------------------------------------------------------------------------------------


def test_a_status_quo_without_disparity_is_refused():
    data = misled_people()
    data["decision"] = np.resize([0, 1], len(data))
    data["group"] = np.resize(["a", "a", "b", "b"], len(data))
    with pytest.raises(NotApplicable, match="the status quo has no disparity in selection rate"):
        improve(audit_of(data), "selection_rate", candidates=[LOGISTIC], **QUICK)


def test_one_sided_refuses_when_the_protected_group_is_not_behind():
    with pytest.raises(NotApplicable, match="no disparity"):
        improve(
            audit_of(misled_people()),
            "tpr",
            candidates=[LOGISTIC],
            direction="below",
            target={"group": "b"},
            **QUICK,
        )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"keep": "accurcy"}, "Did you mean 'accuracy'"),
        ({"keep": "base_rate"}, "is the same under every rule"),
        ({"keep": "calibration"}, "is a mean per score bin"),
        ({"keep": "error_rate"}, "is better when lower"),
        ({"keep": Payoff("profit", "margin")}, "can be negative .*margin={'absolute': 0.0}"),
        ({"candidates": ["beter"]}, "Did you mean 'better'"),
        ({"candidates": LOADED}, "must not have been fitted on these rows: if it was not, say candidates="),
        ({"candidates": [3]}, "'candidates' must be"),
        ({"candidates": [LOGISTIC, LogisticRegression()]}, "same name"),
        ({"candidates": LinearProgram("F.5")}, "needs two groups and 'accuracy'"),
        ({"reduction": 1}, "must be above -1"),
        ({"margin": {"c": 0.1}}, "names \\['c'\\]: it may name the metrics"),
        ({"margin": "none"}, "'margin' must be a number"),
        ({"reduction": 0.1, "scale": "ratio"}, "leave it out, or take scale='difference'"),
        ({"weights": {"a": 1}}, "must name each of the groups"),
        (
            {"sign": {"group": "a"}},
            "a fixed rule must be a column, a rule that improve gave, or",
        ),
        ({"capacity": 1.5}, "the capacity must be a number between 0 and 1 or 'status quo'"),
        ({"component": "papr"}, "Did you mean 'paper'"),
        ({"direction": "below"}, "needs a reference group: name it with target="),
        ({"rising": "needs"}, "Did you mean 'need'"),
        ({"banned": ["prox"]}, "Did you mean 'proxy'"),
        ({"splits": 0}, "'splits' must be a whole number between 1 and 10,000"),
        ({"train_share": 1.0}, "between 0 and 1"),
        ({"by": [{"group": "a"}]}, "at least two groups"),
    ],
)
def test_bad_input_is_one_clear_message(changes, message):
    arguments = {"metric": "tpr", "candidates": [LOGISTIC], **QUICK, **changes}
    with pytest.raises(InputError, match=message) as error:
        improve(audit_of(misled_people(300)), **arguments)
    assert str(error.value).startswith("improve:")
    assert {fault.argument for fault in error.value.faults} <= {
        *(TOLD_OF.get(one, one) for one in changes),
        "",
    }


def test_small_groups_are_named():
    data = misled_people(400)
    data.loc[:9, "group"] = "tiny"
    with pytest.raises(InputError, match=r"the groups \['tiny'\] have fewer than 30 rows"):
        improve(audit_of(data), "tpr", candidates=[LOGISTIC], **QUICK)


def test_weights_are_refused_by_name():
    data = misled_people(300).assign(weight=1.0)
    with pytest.raises(NotApplicable, match="'weight' is not honoured by improve"):
        improve(audit_of(data, weight="weight"), "tpr", **QUICK)


def test_the_programs_say_what_they_proved():
    result = improve(
        audit_of(misled_people(400)),
        "accuracy",
        candidates=[LinearProgram("F.5", rows=24, seconds=5)],
        **{**QUICK, "splits": 1},
    )
    assert "on 24 rows" in result.details["splits"][0]["proved"]

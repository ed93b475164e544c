"""The search: which candidate is tested, the frontier of two regressions, the log, and how thorough it was."""

import json
import time

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import minimize_scalar
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fairtrial import Audit, ImproveResult
from inside.ground import NotApplicable
from inside.improve import (
    FrontierRules,
    ImproveRequest,
    Searched,
    gain_of,
    least_gap,
    least_gap_bound,
    prepare,
    sure_enough,
)
from inside.improve import frontier_gap_of as gap_of
from inside.trial import build_table
from oracles.improve_data import misled_people
from validity.improve_asked import improve, together

QUICK = {"splits": 3, "bootstrap": 400, "by": "group"}
LOGISTIC = LogisticRegression()


def audit_of(data, **changes):
    roles = {"outcome": "outcome", "decision": "decision", "groups": "group", "features": ["need", "proxy"]}
    return Audit(data, **{**roles, **changes})


def found_of(merit, gap, within):
    arrays = {"merit": np.array([merit]), "gap": np.array([gap]), "within": np.array([within], dtype=float)}
    return Searched(arrays, [str(i) for i in range(len(merit))], sure=2.49)


def test_the_least_gap_among_those_that_are_sure_enough_is_tested():
    found = found_of([3.0, 2.5, 9.0, 2.4], [0.4, 0.3, 0.8, 0.1], [1, 1, 1, 1])
    assert found.best(0) == 1
    assert found.least_discriminatory(0) == 3


def test_without_one_that_is_sure_enough_the_surest_is_tested():
    found = found_of([1.0, -np.inf, 2.4], [0.1, 0.0, 0.9], [0, 1, 0])
    assert found.best(0) == 2
    assert found.least_discriminatory(0) == 1
    assert found_of([1.0], [0.5], [0]).least_discriminatory(0) is None


def test_how_sure_follows_the_test_that_comes():
    """Power nine tenths at the level of each split, more where fewer rows are left to test on."""
    assert sure_enough(0.025, 0.5) == pytest.approx(1.959964 + 1.281552, abs=1e-6)
    assert sure_enough(0.05, 0.5) == pytest.approx(1.644854 + 1.281552, abs=1e-6)
    assert sure_enough(0.05, 0.8) == pytest.approx(2 * sure_enough(0.05, 0.5))


def contest_of(data, keep="accuracy", metric="selection_rate", **changes):
    asked = {"by": "group", "splits": 1, "candidates": [LOGISTIC], **together(**changes)}
    return prepare(audit_of(data), ImproveRequest(keep=keep, metric=metric, **asked)).contest


@pytest.mark.parametrize("fairness", ["selection_rate", "tpr", "fpr"])
def test_gain_and_gap_are_what_a_changed_decision_does_to_the_levels(fairness):
    """Changing one rejected person to selected changes accuracy and gap as the targets say ."""
    data = misled_people(500)
    contest = contest_of(data, metric=fairness)
    everyone = np.arange(contest.rows)
    gain, gap = gain_of(contest, everyone), gap_of(contest, everyone)
    np.testing.assert_array_equal(gain, 2 * data["outcome"] - 1)

    def level(decision):
        given = {
            "selection_rate": np.ones(500, bool),
            "tpr": data["outcome"] == 1,
            "fpr": data["outcome"] == 0,
        }[fairness]
        means = [decision[(data["group"] == g) & given].mean() for g in "ab"]
        return means[0] - means[1]

    before = data["decision"].to_numpy(float)
    sign = np.sign(level(before))
    for row in np.flatnonzero(before == 0)[:20]:
        after = before.copy()
        after[row] = 1
        assert sign * (level(after) - level(before)) == pytest.approx(gap[row] / 500)


@pytest.mark.parametrize("kind", ["linear", "boosted"])
def test_a_higher_price_of_the_gap_gives_a_smaller_gap(kind):
    data = misled_people(4000)
    data["need"] += 0.8 * (data["group"] == "a")  # the groups differ in what decides
    data["outcome"] = (data["need"] + 0.5 * np.random.default_rng(2).normal(size=4000) > 0.4).astype(int)
    contest = contest_of(data)
    rules = FrontierRules(kind).fit(contest, np.arange(contest.rows), np.random.default_rng(0))
    assert len(rules) == 41

    def gap_and_accuracy(rule):
        decision = rule.outcome_of(contest.inputs)[0]
        rates = [decision[data["group"] == g].mean() for g in "ab"]
        return rates[0] - rates[1], np.mean(decision == data["outcome"])

    points = [gap_and_accuracy(rule) for rule in rules.values()]
    gaps, accuracies = zip(*points, strict=True)
    assert accuracies[0] > max(accuracies) - 0.005
    assert gaps[0] > 0.2
    assert min(abs(g) for g in gaps) < 0.05
    assert np.corrcoef(np.arange(41), gaps)[0, 1] < -0.8


def test_the_frontier_is_that_of_the_known_probabilities():
    """One feature, groups that differ in it: the rule at each price is a threshold, and near the best one."""
    rng = np.random.default_rng(4)
    rows = 20_000
    group = rng.integers(0, 2, rows)
    need = rng.normal(size=rows) + 0.5 * (group == 0)
    outcome = (rng.random(rows) < 1 / (1 + np.exp(-2 * need))).astype(int)
    data = misled_people(rows)
    data["group"], data["need"], data["outcome"] = np.array(["a", "b"])[group], need, outcome
    data["proxy"] = 0.0
    data["decision"] = (need + 0.3 * rng.normal(size=rows) > 0).astype(int)
    contest = contest_of(data)
    rules = FrontierRules("linear").fit(contest, np.arange(rows), rng)
    first = next(iter(rules.values()))
    best = minimize_scalar(lambda t: -np.mean((need > t) == outcome), bounds=(-1, 1), method="bounded")
    assert np.mean(first.outcome_of(contest.inputs)[0] == outcome) == pytest.approx(-best.fun, abs=0.003)


def test_the_log_lists_every_candidate_and_why():
    result = improve(audit_of(misled_people(1200)), "tpr", candidates=["frontier", LOGISTIC], **QUICK)
    log = result.search
    assert len(log) == 41 + 41 + 1
    assert sum(row["chosen"] for row in log) == 3
    assert all(row["seconds"] >= 0 for row in log)
    for row in log:
        assert row["why"].startswith(("chosen in", "sure enough in", "not sure enough"))
        assert {part["group"] for part in row["groups"]} == {"a", "b"}
    chosen = {split["candidate"] for split in result.details["splits"]}
    assert chosen == {row["candidate"] for row in log if row["chosen"]}
    least = result.details["least_discriminatory"]
    assert least["gap"] == min(row["gap"] for row in log if row["gap"] == least["gap"])
    text = " ".join(result.reading())
    assert "83 candidates were tried" in text
    assert f"within the margin out of fold is {least['candidate']}" in text
    assert "search" in [picture.name for picture in result.pictures()]
    content = json.loads(json.dumps(result.to_dict()))
    assert ImproveResult.from_dict(content).to_dict() == content
    table, by_group = result.further_tables()
    assert len(build_table(table)["lines"]) == 83
    assert table.columns[-1].name == "seconds"  # of a result that was not saved
    assert "seconds" not in [c.name for c in ImproveResult.from_dict(content).further_tables()[0].columns]
    assert len(build_table(by_group)["lines"]) == 83 * 2 * 2  # two levels of the claim in two groups


def test_the_logs_seconds_are_each_candidates_own():
    """One that only waits is not told the time of the one that works beside it."""

    def works(train):
        until = time.thread_time() + 0.1
        while time.thread_time() < until:
            pass
        return lambda inputs: inputs.matrix[:, 0]

    def waits(train):
        time.sleep(0.3)
        return lambda inputs: inputs.matrix[:, 0]

    audit = audit_of(misled_people(300))
    result = improve(audit, "tpr", **{**QUICK, "splits": 2}, candidates=[works, waits], jobs=2)
    seconds = {row["candidate"]: row["seconds"] for row in result.search}
    assert seconds["works"] > 2 * 4 * 0.1  # three folds and the whole training half of each split
    assert seconds["waits"] < seconds["works"] / 3


def test_the_log_says_how_each_was_made_its_levels_and_what_it_was_held_to():
    data = misled_people(1200)
    asked = {
        "candidates": ["frontier", DecisionTreeClassifier(max_depth=3, random_state=0)],
        "banned": "proxy",
    }
    result = improve(audit_of(data), ["fpr", "selection_rate"], ["accuracy", "tpr"], **asked, **QUICK)
    log = result.search
    assert log[0]["settings"].startswith("two linear regressions (C=1)")
    assert log[-1]["settings"] == "DecisionTreeClassifier(max_depth=3, random_state=0)"
    for row in log:
        levels = {(part["part"], part["metric"], part["group"]): part["level"] for part in row["groups"]}
        assert len(levels) == 4 * 2
        gap = abs(
            levels["fairness", "false positive rate", "a"] - levels["fairness", "false positive rate", "b"]
        )
        assert row["gap"] == pytest.approx(gap)
    text = " ".join(result.reading())
    assert "held to this: blind to the group; without proxy." in text
    assert result.rule.card["checks"] == ["blind to the group", "without proxy"]


def test_estimators_of_one_class_are_called_by_their_settings():
    tried = [LogisticRegression(), LogisticRegression(C=0.01), DecisionTreeClassifier(max_depth=2)]
    result = improve(audit_of(misled_people(600)), "tpr", candidates=tried, **QUICK)
    names = [row["candidate"] for row in result.search]
    assert names == ["LogisticRegression()", "LogisticRegression(C=0.01)", "DecisionTreeClassifier"]


def test_a_function_of_ones_own_says_what_is_permissible():
    data = misled_people(1200)

    def few(rule, inputs):
        return "λ=0" in rule.name.split(", ")[-1] and rule.name.startswith("linear")

    result = improve(audit_of(data), "tpr", candidates=["frontier"], permissible=few, **QUICK)
    permitted = {row["candidate"] for row in result.search if row["permissible"]}
    assert permitted
    assert all(name.startswith("linear") for name in permitted)
    assert {split["candidate"] for split in result.details["splits"]} <= permitted
    assert any(row["why"] == "not permissible" for row in result.search)
    with pytest.raises(NotApplicable, match="all candidates are not permissible"):
        improve(audit_of(data), "tpr", candidates=[LOGISTIC], permissible=lambda r, i: False, **QUICK)


def test_the_frontier_is_refused_where_it_cannot_be():
    with pytest.raises(NotApplicable, match="'frontier' needs an outcome"):
        improve(
            audit_of(misled_people(300)),
            "tpr",
            candidates=["frontier"],
            rising="need",
            **QUICK,
        )


# -- how thorough ---------------------------------------------------------------------------------------------


def test_the_least_gap_of_any_rule_on_cells():
    """The listed number of the method's page."""
    a = np.array([0.1, 0.2, 0.3, 0.4])
    assert least_gap(a, a[::-1], np.array([-0.2, -0.02, 0.05, 0.15]), 0.15) == pytest.approx(0.24)
    assert least_gap(a, a[::-1], np.array([-0.2, -0.02, 0.05, 0.15]), 0.5) is None


def test_the_bound_is_below_the_true_least_gap():
    rng = np.random.default_rng(8)
    cells = 10
    p_a = np.linspace(1, 3, cells) / np.linspace(1, 3, cells).sum()
    p_b = p_a[::-1]
    chance = np.linspace(0.1, 0.9, cells)
    gain = (p_a + p_b) / 2 * (2 * chance - 1)
    accuracy = float((((p_a + p_b) / 2) * np.maximum(chance, 1 - chance)).sum()) - 0.01
    base = float(((p_a + p_b) / 2 * (1 - chance)).sum())
    truth = least_gap(p_a, p_b, gain, accuracy - base)
    assert truth > 0.05
    found = []
    for _ in range(40):
        second = rng.random(20_000) < 0.5
        cell = np.where(second, rng.choice(cells, 20_000, p=p_b), rng.choice(cells, 20_000, p=p_a))
        outcome = (rng.random(20_000) < chance[cell]).astype(float)
        found.append(least_gap_bound(cell, second, outcome, accuracy, 0.05))
    assert max(found) <= truth
    assert np.mean(found) > 0.3 * truth  # not vacuous


def test_a_bound_is_given_where_features_have_few_combinations():
    rng = np.random.default_rng(1)
    group, value = rng.integers(0, 2, 20_000), rng.integers(0, 3, 20_000)
    value = np.where(rng.random(20_000) < 0.5, value, np.minimum(2, value + group))
    outcome = rng.random(20_000) < np.array([0.2, 0.5, 0.85])[value]
    data = {
        "group": np.array(["a", "b"])[group],
        "value": value,
        "outcome": outcome.astype(int),
        "decision": (value >= 1).astype(int),
    }
    audit = Audit(pa.table(data), outcome="outcome", decision="decision", groups="group", features=["value"])
    asked = {**QUICK, "splits": 1, "candidates": ["frontier"]}
    result = improve(audit, "selection_rate", everyone=True, margin=0.02, **asked)
    bound = result.details["smallest_possible_gap"]
    assert bound > 0.1
    told = f"No rule on these features whose accuracy is within the margin has a gap below {bound:.3g}"
    assert told in " ".join(result.reading())
    # a rule that may decide by group can close the gap: no bound rather than one of zero
    known = {**asked, "candidates": "group-thresholds", "blind": False, "everyone": True, "margin": 0.02}
    weighted = {**asked, "weights": {"a": 1, "b": 9}}
    for other in (known, weighted):
        found = improve(audit, "selection_rate", **other)
        assert found.details["smallest_possible_gap"] is None
        assert "is not bounded" in " ".join(found.reading())
    few = improve(audit_of(misled_people(600)), "selection_rate", **asked)
    assert few.details["smallest_possible_gap"] is None

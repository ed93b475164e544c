"""The rule to take away: one way to decide, saved and loaded without running code, the same on every kind of data."""

import json
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from fairtrial import InputError, load_rule
from inside.improve import Scored
from inside.papers import LinearProgram
from oracles.improve_data import audit_of, misled_people
from validity.improve_asked import improve

QUICK = {"splits": 1, "bootstrap": 200, "by": "group"}


def pipeline():
    encoder = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    return make_pipeline(
        ColumnTransformer([("sector", encoder, ["sector"])], remainder="passthrough"),
        LogisticRegression(max_iter=500),
    )


CANDIDATES = {
    "logistic": ([LogisticRegression()], {}),
    "boosting": ([HistGradientBoostingClassifier(max_iter=20, random_state=0)], {}),
    "pipeline": ([pipeline()], {}),
    "frontier": (["frontier"], {}),
    "boosted trees": ([Scored("boosted trees", "boosting")], {}),
    "monotone": ([Scored("logistic", "logistic")], {"rising": "need"}),
    "dropped": ([Scored("dropped", "logistic", drop=True)], {}),
    "reductions": (["reductions"], {}),
    "group thresholds": (["group-thresholds"], {"blind": False}),
    "column": (["better"], {}),
    "capacity": ([LogisticRegression()], {"capacity": 0.3}),
}


@pytest.fixture(scope="module")
def people():
    return misled_people(700)


@pytest.fixture(scope="module")
def rules(people):
    made = {}
    for name, (candidates, asked) in CANDIDATES.items():
        made[name] = improve(audit_of(people), "selection_rate", candidates=candidates, **QUICK, **asked)
    return made


APPLY = """
import json, sys
import fairtrial
rule = fairtrial.load_rule(sys.argv[1])
kind, path = sys.argv[2:4]
if kind == "pandas":
    import pandas
    data = pandas.read_parquet(path)
elif kind == "polars":
    import polars
    data = polars.read_parquet(path)
else:
    data = path
print(json.dumps(rule.predict(data).tolist()))
"""


def decided_in_the_audit(result, people):
    """What the audit counted of the rule's decisions, by group."""
    return {change["group"]: change["selected_alternative"] for change in result.details["refit"]["changes"]}


@pytest.mark.parametrize("name", CANDIDATES)
def test_one_way_to_decide(name, rules, people):
    """From a frame, an audit, a file and after pickling the decisions are those that the audit counted."""
    rule = rules[name].rule
    decisions = rule.predict(people)
    counted = decided_in_the_audit(rules[name], people)
    for group in "ab":
        assert decisions[(people["group"] == group).to_numpy()].sum() == counted[group]
    np.testing.assert_array_equal(rule.predict(audit_of(people)), decisions)
    np.testing.assert_array_equal(rule.predict(pl.from_pandas(people)), decisions)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(rule)).predict(people), decisions)  # noqa: S301
    np.testing.assert_array_equal((rule.decision_function(people) >= 0).astype(int), decisions)
    if hasattr(rule, "predict_proba"):
        probabilities = rule.predict_proba(people)
        np.testing.assert_array_equal((probabilities[:, 1] >= rule.threshold).astype(int), decisions)
    # a few rows are decided as they were among all
    np.testing.assert_array_equal(rule.predict(people.iloc[5:9]), decisions[5:9])


@pytest.mark.parametrize("name", CANDIDATES)
def test_a_saved_rule_decides_the_same(name, rules, people, tmp_path):
    rule = rules[name].rule
    path = rule.save(tmp_path / "rule.skops")
    loaded = load_rule(path)
    np.testing.assert_array_equal(loaded.predict(people), rule.predict(people))
    assert loaded.card == rule.card
    assert loaded.name == rule.name


@pytest.mark.parametrize(
    ("name", "kind"),
    [("pipeline", "polars"), ("pipeline", "csv"), ("frontier", "pandas"), ("frontier", "parquet")],
)
def test_a_new_process_decides_row_by_row_as_the_audit(name, kind, rules, people, tmp_path):
    rule = rules[name].rule
    file = rule.save(tmp_path / "rule.skops")
    data = tmp_path / ("new.csv" if kind == "csv" else "new.parquet")
    people.to_csv(data, index=False) if kind == "csv" else people.to_parquet(data)
    done = subprocess.run(
        [sys.executable, "-c", APPLY, str(file), kind, str(data)], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == rule.predict(people).tolist()


def test_it_is_a_scikit_learn_classifier(rules, people):
    rule = rules["logistic"].rule
    assert is_classifier(rule)
    assert rule.classes_.tolist() == [0, 1]
    assert rule.feature_names_in_.tolist() == ["need", "proxy", "sector"]
    assert set(rule.get_params(deep=False)) == {"name", "scorer", "threshold", "reading", "statement", "card"}
    np.testing.assert_array_equal(clone(rule).predict(people), rule.predict(people))
    accuracy = np.mean(rule.predict(people) == people["outcome"])
    assert rule.score(people, people["outcome"]) == pytest.approx(accuracy)
    assert rule.fit(people) is rule
    assert not hasattr(rules["group thresholds"].rule, "predict_proba")


def test_scikit_learn_takes_it_wherever_it_takes_a_fitted_classifier(rules, people):
    """Tags, cross-validation and permutation importance ask for nothing that a rule has not."""
    rule, columns = rules["logistic"].rule, ["need", "proxy", "sector"]
    check_is_fitted(rule)
    assert get_tags(rule).estimator_type == "classifier"
    assert rule.n_features_in_ == 3
    assert clone(rule).set_params(threshold=2.0).predict(people).sum() == 0
    folds = cross_val_score(rule, people[columns], people["outcome"], cv=3)
    assert folds.mean() == pytest.approx(rule.score(people, people["outcome"]), abs=0.01)
    found = permutation_importance(rule, people[columns], people["outcome"], n_repeats=2, random_state=0)
    assert found.importances_mean[0] == found.importances_mean.max()  # need is what the outcome follows


def test_the_card_says_where_the_rule_comes_from(rules):
    card = rules["logistic"].rule.card
    assert card["shown"] == rules["logistic"].rejected
    assert card["data"] == rules["logistic"].provenance["data"]
    assert card["constraints"]["blind"] is True
    assert card["verdict"] == rules["logistic"].verdict.text
    assert json.loads(json.dumps(card)) == card
    assert card["limits"][0].startswith("This rule was fitted on all rows after the test.")


def test_rules_refuse_what_they_cannot_read(rules, people):
    rule = rules["logistic"].rule
    with pytest.raises(InputError, match=r"not fitted with the labels \['church'\] of 'sector'"):
        rule.predict(people.assign(sector="church"))
    with pytest.raises(InputError, match="proxy"):
        rule.predict(people.drop(columns="proxy"))
    with pytest.raises(InputError, match=r"has rows without \['need'\]: fill it in or leave these rows out"):
        rule.predict(people.assign(need=people["need"].where(people.index != 3)))
    with pytest.raises(InputError, match=r"must have the columns \['need', 'proxy', 'sector'\]"):
        rule.predict(np.zeros((3, 2)))
    strangers = people.copy()
    strangers.loc[strangers.index[:3], "group"] = "z"
    with pytest.raises(InputError, match="decides by group, and 3 rows are in none of"):
        rules["group thresholds"].rule.predict(strangers)


def test_a_program_can_be_saved(people, tmp_path):
    program = LinearProgram("F.5", rows=16, seconds=2)
    rule = improve(audit_of(people), "accuracy", candidates=[program], **QUICK).rule
    loaded = load_rule(rule.save(tmp_path / "rule.skops"))
    np.testing.assert_array_equal(loaded.predict(people), rule.predict(people))


def test_functions_are_not_saved(people, tmp_path):
    def by_need(train):
        return lambda inputs: inputs.matrix[:, 0] > 0

    rule = improve(audit_of(people), "selection_rate", candidates=[by_need], **QUICK).rule
    assert rule.predict(people).sum() > 0
    with pytest.raises(InputError, match="the rule 'by_need' cannot be saved"):
        rule.save(tmp_path / "rule.skops")
    assert not (tmp_path / "rule.skops").exists()


# -- files from strangers ---------------------------------------------------------------------------------------


class Harm:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


def rewritten(source, target, change):
    """A rule's file with its schema changed."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for item in old.namelist():
            content = old.read(item)
            new.writestr(item, change(content.decode()).encode() if item == "schema.json" else content)
    return target


@pytest.mark.parametrize(
    ("module", "name"),
    [("builtins", "eval"), ("os", "system"), ("subprocess", "Popen"), ("test_rules", "Harm")],
)
def test_a_file_that_names_other_types_is_refused_unread(module, name, rules, tmp_path):
    saved = rules["logistic"].rule.save(tmp_path / "rule.skops")

    def change(schema):
        content = json.loads(schema)
        node = content["content"]["content"]["scorer"]
        assert node["__loader__"] == "ObjectNode"
        node["__class__"], node["__module__"] = name, module
        return json.dumps(content)

    bad = rewritten(saved, tmp_path / "bad.skops", change)
    with pytest.raises(InputError, match=f"holds {module}.{name}, which are not trusted; it was not read"):
        load_rule(bad)


def test_a_pickle_is_refused_unread(tmp_path):
    proof = tmp_path / "run"
    bad = tmp_path / "bad.skops"
    bad.write_bytes(pickle.dumps(Harm(str(proof))))
    with pytest.raises(InputError, match="cannot be read as a rule"):
        load_rule(bad)
    assert not proof.exists()


def test_a_foreign_class_is_named_and_not_made(tmp_path):
    import skops.io

    skops.io.dump({"rule": subprocess.Popen}, tmp_path / "foreign.skops")
    with pytest.raises(InputError, match="holds subprocess.Popen, which are not trusted"):
        load_rule(tmp_path / "foreign.skops")


def crossed(nodes, children, parent=0):
    """Nodes of a tree whose root points outside of it."""
    nodes = nodes.copy()
    for child in children:
        nodes[child][parent] = 2**31 - 1
    return nodes


def beyond(nodes, feature):
    """Nodes of a tree whose root looks at a feature that is not there."""
    nodes = nodes.copy()
    nodes[feature][0] = 10_000
    return nodes


def endless(nodes, children):
    """Nodes of a tree whose root is its own child."""
    nodes = nodes.copy()
    for child in children:
        nodes[child][0] = 0
    return nodes


def with_nodes(tree, nodes):
    """A decision tree's compiled part with other nodes."""
    tree.__setstate__({**tree.__getstate__(), "nodes": nodes})


@pytest.mark.parametrize("change", ["crossed", "beyond", "endless", "uncounted", "of nobody"])
@pytest.mark.parametrize("model", [HistGradientBoostingClassifier(max_iter=3), RandomForestClassifier(3)])
def test_trees_that_leave_their_arrays_are_refused(change, model, people, tmp_path):
    """Compiled code follows a tree's indices wherever they point: such a file ended the process."""
    import skops.io

    rule = improve(audit_of(people), "selection_rate", candidates=[model], **QUICK).rule
    path = rule.save(tmp_path / "rule.skops")
    np.testing.assert_array_equal(load_rule(path).predict(people), rule.predict(people))
    fitted = rule.scorer.model
    boosted = isinstance(model, HistGradientBoostingClassifier)
    tree = fitted._predictors[0][0] if boosted else fitted.estimators_[0].tree_
    children = ("left", "right") if boosted else ("left_child", "right_child")
    nodes = tree.nodes if boosted else tree.__getstate__()["nodes"]
    changed = {
        "crossed": crossed(nodes, children),
        "beyond": beyond(nodes, "feature_idx" if boosted else "feature"),
        "endless": endless(nodes, children),
    }.get(change, nodes)
    if boosted:
        tree.nodes = changed
    else:
        with_nodes(tree, changed)
    if change == "uncounted":  # scikit-learn then checks no number of columns
        del (fitted if boosted else fitted.estimators_[0]).n_features_in_
    if change == "of nobody":
        rule.scorer.model = tree
    bad = tmp_path / "bad.skops"
    skops.io.dump(rule, bad)
    with pytest.raises(InputError, match="cannot be read as a rule: .*tree"):
        load_rule(bad)
    with pytest.raises(InputError, match="cannot be saved: .*tree"):
        rule.save(tmp_path / "again.skops")


@pytest.mark.parametrize(
    ("model", "held"),
    [
        (SVC(), "sklearn.svm._classes.SVC"),
        (KNeighborsClassifier(algorithm="brute"), "sklearn.neighbors._classification.KNeighborsClassifier"),
        (GradientBoostingClassifier(n_estimators=2), "sklearn.ensemble._gb.GradientBoostingClassifier"),
        (LogisticRegression(), "scipy.sparse._csr.csr_matrix"),
    ],
)
def test_models_whose_compiled_code_trusts_the_file_are_not_saved(model, held, people, tmp_path):
    import skops.io

    rule = improve(audit_of(people), "selection_rate", candidates=[model], **QUICK).rule
    if isinstance(model, LogisticRegression):
        rule.scorer.model.sparsify()
    with pytest.raises(InputError, match=f"cannot be saved: it holds .*{held}"):
        rule.save(tmp_path / "rule.skops")
    skops.io.dump(rule, tmp_path / "bad.skops")
    with pytest.raises(InputError, match=f"{held}.*not trusted; it was not read"):
        load_rule(tmp_path / "bad.skops")


@pytest.mark.parametrize(
    "model",
    [
        CalibratedClassifierCV(LogisticRegression(), cv=2),
        VotingClassifier([("a", LogisticRegression()), ("b", HistGradientBoostingClassifier(max_iter=3))]),
        AdaBoostClassifier(n_estimators=3),
        RandomForestClassifier(3, max_leaf_nodes=5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_ensembles_are_saved(model, people, tmp_path):
    rule = improve(audit_of(people), "selection_rate", candidates=[model], **QUICK).rule
    loaded = load_rule(rule.save(tmp_path / "rule.skops"))
    np.testing.assert_array_equal(loaded.predict(people), rule.predict(people))


@pytest.mark.parametrize(
    "change",
    [{"scorer": None}, {"scorer": {}}, {"name": 3}, {"threshold": "½"}, {"reading": {}}, {"card": {}}],
)
def test_a_rule_without_its_parts_is_none(change, rules, tmp_path):
    import skops.io

    rule = pickle.loads(pickle.dumps(rules["logistic"].rule))  # noqa: S301
    vars(rule).update(change)
    skops.io.dump(rule, tmp_path / "bad.skops")
    with pytest.raises(InputError, match="holds no rule"):
        load_rule(tmp_path / "bad.skops")


def test_a_rule_that_cannot_decide_says_so(rules, people, tmp_path):
    import skops.io

    rule = pickle.loads(pickle.dumps(rules["logistic"].rule))  # noqa: S301
    rule.scorer.model.coef_ = np.zeros((1, 1))
    skops.io.dump(rule, tmp_path / "bad.skops")
    with pytest.raises(
        InputError, match="new data cannot be decided about by 'LogisticRegression': ValueError"
    ):
        load_rule(tmp_path / "bad.skops").predict(people)


def test_a_file_that_unpacks_to_too_much_is_refused_unread(tmp_path, monkeypatch, rules):
    path = rules["logistic"].rule.save(tmp_path / "rule.skops")
    monkeypatch.setattr("fairtrial._improve.rule_file.LARGEST", 100)
    with pytest.raises(InputError, match="cannot be read as a rule: it unpacks to .* bytes, more than 100"):
        load_rule(path)


def test_a_file_without_a_rule(tmp_path):
    import skops.io

    skops.io.dump({"a": 1}, tmp_path / "no.skops")
    with pytest.raises(InputError, match="holds no rule"):
        load_rule(tmp_path / "no.skops")
    with pytest.raises(InputError, match="must be a file"):
        load_rule(tmp_path / "nowhere.skops")

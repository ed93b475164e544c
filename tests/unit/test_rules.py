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
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from fairtrial import Audit, InputError, LinearProgram, improve, load_rule
from fairtrial.methods.improve.candidates.portfolio import Scored
from oracles.improve_data import misled_people

QUICK = {"splits": 1, "bootstrap": 200, "by": "group"}


def audit_of(data, **changes):
    roles = {
        "outcome": "outcome",
        "decision": "decision",
        "groups": "group",
        "features": ["need", "proxy", "sector"],
    }
    return Audit(data, **{**roles, **changes})


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
    "monotone": ([Scored("logistic", "logistic")], {"monotone": {"need": 1}}),
    "dropped": ([Scored("dropped", "logistic", drop=True)], {}),
    "reductions": (["reductions"], {}),
    "group thresholds": (["group-thresholds"], {"blind": False}),
    "column": (["better"], {"fitted_elsewhere": True}),
    "capacity": ([LogisticRegression()], {"capacity": 0.3}),
}


@pytest.fixture(scope="module")
def people():
    return misled_people(700)


@pytest.fixture(scope="module")
def rules(people):
    made = {}
    for name, (candidates, asked) in CANDIDATES.items():
        made[name] = improve(
            audit_of(people), "accuracy", "selection_rate", candidates=candidates, **QUICK, **asked
        )
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


def test_rules_refuse_what_they_cannot_read(rules, people):
    rule = rules["logistic"].rule
    with pytest.raises(InputError, match=r"not fitted with the labels \['church'\] of 'sector'"):
        rule.predict(people.assign(sector="church"))
    with pytest.raises(InputError, match="proxy"):
        rule.predict(people.drop(columns="proxy"))
    with pytest.raises(InputError, match=r"must have the columns \['need', 'proxy', 'sector'\]"):
        rule.predict(np.zeros((3, 2)))
    strangers = people.copy()
    strangers.loc[strangers.index[:3], "group"] = "z"
    with pytest.raises(InputError, match="decides by group, and 3 rows are in none of"):
        rules["group thresholds"].rule.predict(strangers)


def test_a_program_can_be_saved(people, tmp_path):
    program = LinearProgram("F.5", rows=16, seconds=2)
    rule = improve(audit_of(people), "accuracy", "accuracy", candidates=[program], **QUICK).rule
    loaded = load_rule(rule.save(tmp_path / "rule.skops"))
    np.testing.assert_array_equal(loaded.predict(people), rule.predict(people))


def test_functions_are_not_saved(people, tmp_path):
    def by_need(train):
        return lambda inputs: inputs.matrix[:, 0] > 0

    rule = improve(audit_of(people), "accuracy", "selection_rate", candidates=[by_need], **QUICK).rule
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


def test_a_file_without_a_rule(tmp_path):
    import skops.io

    skops.io.dump({"a": 1}, tmp_path / "no.skops")
    with pytest.raises(InputError, match="holds no rule"):
        load_rule(tmp_path / "no.skops")
    with pytest.raises(InputError, match="must be a file"):
        load_rule(tmp_path / "nowhere.skops")

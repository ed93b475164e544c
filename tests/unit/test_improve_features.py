"""What candidates may be fitted on and must respect: missing and named categories, tuning, the group, independence."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from fairtrial import InputError, load_rule
from inside.improve import SignedLinear, dependence_p
from oracles.improve_data import audit_of, misled_people
from validity.improve_asked import improve

QUICK = {"splits": 1, "bootstrap": 200, "by": "group"}


def with_gaps(rows=1200):
    """People of whom some lack a number and some a label."""
    data = misled_people(rows)
    data.loc[np.arange(rows) % 5 == 0, "need"] = np.nan
    data["sector"] = data["sector"].where(np.arange(rows) % 7 > 0, None)
    return data


@pytest.mark.slow
def test_missing_features_are_taken_and_the_rule_takes_them_too(tmp_path):
    pytest.importorskip("skops")
    data = with_gaps()
    tried = ["frontier", HistGradientBoostingClassifier()]
    result = improve(audit_of(data, missing="category"), "tpr", candidates=tried, **QUICK)
    assert result.details["rows"] == len(data)
    (note,) = (note.text for note in result.notes if note.code == "missing-features")
    lacking = int(data["need"].isna().sum())
    assert note.startswith(f"Features are missing in {lacking} rows")
    decided = result.rule.predict(data)
    np.testing.assert_array_equal(load_rule(result.rule.save(tmp_path / "rule.skops")).predict(data), decided)
    with pytest.raises(InputError, match="is missing in 240 rows"):
        improve(audit_of(data), "tpr", candidates="frontier", **QUICK)


def test_an_estimator_that_takes_no_missing_features_is_named_before_any_work():
    audit = audit_of(with_gaps(600), missing="category")
    with pytest.raises(InputError, match="candidate 'LogisticRegression' takes no missing features"):
        improve(audit, "tpr", candidates=[LogisticRegression()], **QUICK)
    filled = make_pipeline(SimpleImputer(), LogisticRegression())
    assert improve(audit, "tpr", candidates=[filled], **QUICK).rule is not None


def test_linear_models_see_the_mean_and_that_it_is_missing():
    """The same as filling by hand and fitting with a column that says so."""
    random = np.random.default_rng(0)
    x = random.normal(size=(400, 2))
    missing = random.random(400) < 0.3
    y = (x[:, 0] + 2 * missing + random.normal(size=400) > 0.5).astype(float)
    x[missing, 0] = np.nan
    found = SignedLinear(1.0, True, None).fit(x, y).predict_proba(x)
    spread = np.nanstd(x, axis=0)
    by_hand = np.column_stack([np.nan_to_num((x - np.nanmean(x, axis=0)) / spread), missing])
    np.testing.assert_allclose(found, LogisticRegression(max_iter=200).fit(by_hand, y).predict_proba(by_hand))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_categories_by_name(kind):
    """An estimator that names its categories gets the original columns, labels and all."""
    data = misled_people(600)
    model = HistGradientBoostingClassifier(categorical_features=["sector"], max_iter=20, random_state=0)
    native = data
    if kind == "polars":
        native = pytest.importorskip("polars").from_pandas(data)
    result = improve(audit_of(native), "tpr", candidates=[model], **QUICK)
    fitted = result.rule.scorer.model
    assert list(fitted.is_categorical_) == [False, False, True] or fitted.is_categorical_.sum() == 1
    assert set(result.rule.predict(native)) <= {0, 1}


@pytest.mark.slow
def test_settings_are_found_by_successive_halving_inside_the_training_rows(tmp_path):
    pytest.importorskip("skops")
    data = misled_people(900)
    result = improve(audit_of(data), "tpr", candidates="tuned", **{**QUICK, "folds": 2})
    assert {row["candidate"].split(",")[0] for row in result.search} == {"boosted trees"}
    tuned = result.rule.scorer.model
    assert tuned.model.max_leaf_nodes in (4, 8, 16, 31)
    assert np.mean(result.rule.predict(data) == data["outcome"]) > 0.8
    again = load_rule(result.rule.save(tmp_path / "rule.skops"))
    np.testing.assert_array_equal(again.predict(data), result.rule.predict(data))


def test_rules_by_group_reach_a_gap_that_blind_ones_do_not():
    """Where the group is all that tells people apart, only thresholds by group can close the gap at no cost."""
    data = misled_people(3000)
    asked = {"everyone": True, "margin": 0.05, **QUICK}
    result = improve(audit_of(data), "selection_rate", candidates="group-thresholds", blind=False, **asked)
    names = {row["candidate"] for row in result.search}
    assert "linear group frontier, λ=0" in names
    assert len(names) == 83
    frame = data.assign(group=data["group"])
    decided = result.rule.predict(frame)
    assert set(decided) == {0, 1}
    with pytest.raises(InputError, match="'linear group frontier' decides by group: it needs blind=False"):
        improve(audit_of(data), "selection_rate", candidates="group-thresholds", **asked)


# -- independence of the group given features ---------------------------------------------------------------------


def test_dependence_is_mantel_and_haenszels():
    """statsmodels' formula without correction, worked out by hand for two strata."""
    decision = np.array([1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 0], dtype=float)
    group = np.array([0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0])
    strata = np.array([0] * 6 + [1] * 6)
    # stratum 0: a=2 of 3 in group 0, 3 of 6 selected: E=1.5, V=3*3*3*3/(36*5)=.45; stratum 1: a=1 of 3, 4 of 6
    expected = 1.5 + 2.0
    variance = 81 / 180 + 3 * 3 * 4 * 2 / 180
    z = abs(3 - expected) / np.sqrt(variance)
    from scipy.stats import norm

    assert dependence_p(decision, group, strata) == pytest.approx(2 * norm.sf(z))
    assert dependence_p(decision, group, np.arange(12)) == 1.0


@pytest.mark.slow
def test_rules_that_depend_on_the_group_given_features_are_left_out():
    data = misled_people(2000)
    data["needy"] = np.where(data["need"] > 0, "yes", "no")
    data["by_need"] = (data["need"] > 0).astype(int)
    data["by_group"] = ((data["need"] > 0) | (data["group"] == "a")).astype(int)
    fixed = {
        "by": "group",
        "bootstrap": 200,
        "sign": {"group": "a"},
        "blind": False,
    }
    audit = audit_of(data)
    asked = {"independent_given": ["needy"], **fixed}
    assert improve(audit, "selection_rate", candidates="by_need", **asked).details["rows"] == 2000
    with pytest.raises(InputError, match="'by_group' is not permissible"):
        improve(audit, "selection_rate", candidates="by_group", **asked)
    asked = {"blind": False, "independent_given": "needy", **QUICK}
    searched = improve(audit, "selection_rate", candidates="group-thresholds", **asked)
    assert any(row["why"] == "not permissible" for row in searched.search)
    assert any(row["permissible"] for row in searched.search)
    with pytest.raises(InputError, match="needing"):
        improve(audit, "tpr", candidates="frontier", **{**asked, "independent_given": "needing"})

"""Whose system explain speaks of: the audited decisions, the one that is explained, and how far they are the same."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fairtrial
from fairtrial import Audit, FairtrialWarning, InputError, explain, read_result

FEATURES = ["age", "skill"]
NUMBERS = ("difference", "difference_low", "difference_high", "p_value")


def people(n=800, seed=1):
    random = np.random.default_rng(seed)
    sex = np.where(random.random(n) < 0.4, "F", "M")
    age = random.normal(size=n) + 0.7 * (sex == "M")
    skill = random.normal(size=n)
    y = (age + 0.6 * skill + random.normal(size=n) > 0.3).astype(int)
    decided = (age + 0.5 * skill > 0.2).astype(int)
    return pd.DataFrame({"sex": sex, "age": age, "skill": skill, "y": y, "decided": decided})


@pytest.fixture(scope="module")
def frame():
    return people()


@pytest.fixture(scope="module")
def fitted(frame):
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(frame[FEATURES].to_numpy(), frame["y"])


def part(result, name):
    return [row for row in result.estimates if row["part"] == name]


def codes(result):
    return {note.code for note in result.notes}


# -- a model that says 1 to everyone ---------------------------------------------------------------------------------
def test_a_model_that_says_one_to_everyone_violates_nothing(frame):
    everyone = DummyClassifier(strategy="constant", constant=1).fit(frame[FEATURES].to_numpy(), frame["y"])
    alone = explain(Audit(frame, outcome="y", groups="sex", features=FEATURES), "fpr", model=everyone)
    assert alone.verdict.code == "no violation shown"
    assert alone.gap["difference"] == 0.0
    assert "by the decisions of the explained system (none were audited)" in alone.verdict.text
    assert all(row["difference"] == 0.0 for row in alone.drivers)
    assert {row["state"] for row in alone.drivers} == {"not shown"}


def test_the_verdict_is_about_the_audited_decisions(frame):
    everyone = DummyClassifier(strategy="constant", constant=1).fit(frame[FEATURES].to_numpy(), frame["y"])
    audit = Audit(frame, outcome="y", decision="decided", groups="sex", features=FEATURES)
    with pytest.warns(FairtrialWarning, match="about another system than the audited one") as warned:
        result = explain(audit, "fpr", model=everyone, target={"sex": "F"})
    assert warned[0].filename == __file__
    (row,) = fairtrial.certify(audit, "fpr", by=[{"sex": "M"}], target={"sex": "F"}).estimates
    assert result.verdict.code == "violated"
    assert [result.gap[name] for name in NUMBERS] == [row[name] for name in NUMBERS]
    (other,) = part(result, "gap of the explained system")
    assert other["difference"] == 0.0
    assert other["state"] == "not shown"
    agrees = 100 * frame["decided"].mean()
    assert result.verdict.text.endswith(
        f"; the system that is explained has M minus F = +0.0 points and decides {np.floor(10 * agrees) / 10:.1f}% of "
        "the rows evaluated as the audited system did"
    )
    assert {"agreement", "another-system"} <= codes(result)
    assert result.primary()[0].p_value == row["p_value"]
    assert read_result(result.to_dict()).summary() == result.summary()


def test_the_audited_system_itself_needs_no_second_line(frame, fitted):
    """Its own decisions, on all rows: contributions add up to certify's gap."""
    made = frame.assign(decided=fitted.predict(frame[FEATURES].to_numpy()))
    audit = Audit(made, outcome="y", decision="decided", groups="sex", features=FEATURES)
    result = explain(audit, "selection_rate", model=fitted, target={"sex": "F"})
    assert not part(result, "gap of the explained system")
    assert sum(row["difference"] for row in result.drivers) == pytest.approx(
        result.gap["difference"], abs=1e-12
    )
    assert result.details["agreement"] == 1.0
    assert "another-system" not in codes(result)
    assert "explained" not in result.verdict.text


# -- defaults --------------------------------------------------------------------------------------------------------
def test_a_fitted_model_is_explained_as_it_is_unless_refitting_is_asked_for(frame, fitted):
    audit = Audit(frame, outcome="y", groups="sex", features=FEATURES)
    asked = explain(audit, "tpr", model=fitted)
    assert asked.details["coalitions"] == "marginal"
    assert asked.estimates == explain(audit, "tpr", model=fitted, coalitions="marginal").estimates
    decided = fitted.predict(frame[FEATURES].to_numpy())
    (rate,) = [row for row in part(asked, "rate") if row["group"] == "F"]
    assert rate["rate"] == pytest.approx(decided[(frame["sex"] == "F") & (frame["y"] == 1)].mean(), abs=1e-12)
    assert explain(audit, "tpr", model=fitted, coalitions="retrain").details["coalitions"] == "retrain"
    assert explain(audit, "tpr", model="logistic").details["coalitions"] == "retrain"
    assert explain(audit, "tpr", model=LogisticRegression()).details["coalitions"] == "retrain"


# -- functions, regressors, labels -----------------------------------------------------------------------------------
@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_a_plain_function_of_the_features(frame, fitted, backend):
    import polars as pl

    data = frame if backend == "pandas" else pl.from_pandas(frame)
    audit = Audit(data, outcome="y", groups="sex", features=FEATURES)

    def decide(table):
        return fitted.predict(np.asarray(table[["age", "skill"]], dtype=float))

    by_function = explain(audit, "tpr", model=decide)
    assert by_function.estimates == explain(audit, "tpr", model=fitted).estimates
    assert by_function.details["coalitions"] == "marginal"


def test_functions_that_give_scores_or_labels(frame, fitted):
    def score(table):
        return fitted.predict_proba(np.asarray(table, dtype=float))[:, 1]

    made = frame.assign(s=score(frame[FEATURES]))
    plain = Audit(made, outcome="y", groups="sex", features=FEATURES)
    with pytest.raises(
        InputError, match=r"'model' must give decisions, 0 or 1, got 0\..*give threshold= in the Audit"
    ):
        explain(plain, "tpr", model=score)
    cut = Audit(made, outcome="y", score="s", threshold=0.5, groups="sex", features=FEATURES)
    asked = explain(cut, "tpr", model=score)
    assert asked.details["agreement"] == 1.0
    assert [row["difference"] for row in asked.drivers] == pytest.approx(
        [row["difference"] for row in explain(plain, "tpr", model=fitted).drivers], abs=1e-12
    )
    assert explain(cut, "mean_score", model=score).details["agreement"] == 1.0

    def label(table):
        return np.where(score(table) >= 0.5, "yes", "no")

    with pytest.raises(InputError, match="name the label that counts as 1"):
        explain(plain, "tpr", model=label)
    named = Audit(
        made.assign(d=label(made[FEATURES]), y=np.where(made["y"] == 1, "yes", "no")), outcome="y", decision="d",
        positive="yes", groups="sex", features=FEATURES,
    )  # fmt: skip
    assert explain(named, "tpr", model=label).details["agreement"] == 1.0


def test_a_fitted_regressor_is_asked_for_its_scores(frame):
    line = LinearRegression().fit(frame[FEATURES].to_numpy(), frame["y"])
    made = frame.assign(s=line.predict(frame[FEATURES].to_numpy()))
    audit = Audit(made, outcome="y", score="s", threshold=0.5, groups="sex", features=FEATURES)
    assert explain(audit, "selection_rate", model=line).details["agreement"] == 1.0
    with pytest.raises(InputError, match="must be a scikit-learn classifier or a function"):
        explain(audit, "selection_rate", model=LinearRegression())


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (lambda table: np.ones((len(table), 2)), r"one number for each of [\d,]+ rows, got shape"),
        (lambda table: np.full(len(table), np.nan), "missing or infinite"),
        (StandardScaler(), "must be a scikit-learn classifier or a function"),
        (LogisticRegression, "must be a scikit-learn classifier or a function"),
    ],
)
def test_what_is_no_system_is_refused(frame, model, match):
    with pytest.raises(InputError, match=match):
        explain(Audit(frame, outcome="y", groups="sex", features=FEATURES), "tpr", model=model)


def test_a_function_cannot_be_refitted(frame):
    audit = Audit(frame, outcome="y", groups="sex", features=FEATURES)
    with pytest.raises(InputError, match="can only be asked, not fitted again"):
        explain(audit, "tpr", model=lambda table: np.ones(len(table)), coalitions="retrain")


# -- no model --------------------------------------------------------------------------------------------------------
def test_decisions_without_a_model_are_explained_by_a_copy_of_them(frame):
    audit = Audit(frame, decision="decided", groups="sex", features=FEATURES)  # no outcome either
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairtrialWarning)
        result = explain(audit, "selection_rate", target={"sex": "F"})
    (row,) = fairtrial.certify(audit, "selection_rate", by=[{"sex": "M"}], target={"sex": "F"}).estimates
    assert [result.gap[name] for name in NUMBERS] == [row[name] for name in NUMBERS]
    assert result.details["agreement"] > 0.9
    assert "copy of the audited decisions" in result.details["meaning"]
    assert result.drivers[0]["feature"] == "age"
    assert result.drivers[0]["state"] == "carries"


def test_a_score_column_without_a_model(frame):
    made = frame.assign(s=1 / (1 + np.exp(-(frame["age"] + 0.5 * frame["skill"]))))
    audit = Audit(made, score="s", groups="sex", features=FEATURES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairtrialWarning)
        result = explain(audit, "mean_score", target={"sex": "F"})
    (row,) = fairtrial.certify(audit, "mean_score", by=[{"sex": "M"}], target={"sex": "F"}).estimates
    assert [result.gap[name] for name in NUMBERS] == [row[name] for name in NUMBERS]
    assert result.drivers[0]["feature"] == "age"
    with pytest.raises(InputError, match="'model' is missing"):
        explain(audit, "mean_score", coalitions="retrain")


def test_decisions_that_never_differ_have_nothing_to_carry(frame):
    audit = Audit(frame.assign(decided=1), decision="decided", groups="sex", features=FEATURES)
    with pytest.raises(InputError, match="audited decisions are all the same"):
        explain(audit, "selection_rate")


# -- sentences -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("value", "kind", "said"),
    [
        (-1e-9, "percent", "+0.0"),
        (0.05, "percent", "+5.0"),
        (-0.0, "number", "+0"),
        (1234.5, "number", "+1,234"),
    ],
)
def test_numbers_in_sentences_have_no_minus_zero(value, kind, said):
    from inside.explain import signed
    from inside.results import counted

    assert signed(value, kind) == said
    assert (counted(1, "row"), counted(2164, "row")) == ("1 row", "2,164 rows")


def test_few_people_are_masked_in_the_table_and_behind_it(frame, fitted):
    few = pd.concat([frame[frame["sex"] == "M"], frame[frame["sex"] == "F"].head(6)])
    audit = Audit(few, outcome="y", groups="sex", features=FEATURES)
    from inside.results import mask_result, published_rows

    result = explain(audit, "selection_rate", model=fitted, target={"sex": "F"})
    masked = mask_result(result, 10)
    shown = [row for row in masked["estimates"] if row["state"] != "masked"]
    assert {(row["group"], row["target"]) for row in shown} == {("M", None)}
    assert [entry["group"] for entry in masked["details"]["groups"]] == ["M"]
    assert masked["details"]["panel"] == []
    assert {change["group"] for entry in masked["details"]["pareto"] for change in entry["changes"]} == {"M"}
    assert all(picture.chart.to_dict() for picture in published_rows(read_result(masked)).pictures())

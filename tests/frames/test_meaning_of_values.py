"""Labels, missing values, bins and conditions mean the same whatever the data came as."""

from __future__ import annotations

import datetime
import math

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from fairtrial import Audit, InputError, Metric, measure, role
from frames.makers import KINDS, make
from inside.ground import NotApplicable

NAN = math.nan
NULLS = ["pandas", "pandas-object", "polars", "polars-lazy", "pyarrow", "duckdb", "csv", "parquet"]


def message(call) -> str:
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([1, 2], ("1", "2")),
        ([1.0, 2.0], ("1", "2")),
        (["1", "2"], ("1", "2")),
        (["1.0", "2.0"], ("1", "2")),
        ([True, False], ("false", "true")),
        (["True", "False"], ("false", "true")),
        ([0.5, -1.0], ("-1", "0.5")),
        (["01", "1"], ("01", "1")),
        ([0.0, -0.0], ("0",)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["pandas", "pandas-object", "polars", "polars-lazy", "pyarrow", "duckdb"])
def test_one_text_for_a_label(kind, labels, expected, tmp_path, request):
    audit = Audit(make(kind, {"g": labels, "d": [0, 1]}, tmp_path, request), decision="d")
    assert audit.levels("g") == expected


@pytest.mark.parametrize("labels", [["1", "1.0"], ["True", "true"], [1, "1"], [1.0, "1.0"]])
def test_two_labels_that_become_one(labels):
    audit = Audit(pd.DataFrame({"g": pd.Series(labels, dtype=object), "d": [0, 1]}), decision="d")
    text = message(lambda: audit.levels("g"))
    assert f"'g' has the labels {labels[0]!r} and {labels[1]!r}, which are one label here" in text


def test_the_text_of_missing_is_taken():
    audit = Audit(pd.DataFrame({"g": ["(missing)", "b"], "d": [0, 1]}), decision="d", missing="category")
    assert "'g' has the label '(missing)', which stands for missing values here" in message(
        lambda: audit.levels("g")
    )


def test_labels_of_other_types():
    days = [datetime.date(2020, 1, 5), datetime.date(2021, 1, 5)]
    frame = pl.DataFrame({"g": days, "d": [0, 1], "e": pl.Series(["x", "y"], dtype=pl.Enum(["x", "y", "z"]))})
    audit = Audit(frame, decision="d")
    assert audit.levels("g") == ("2020-01-05", "2021-01-05")
    assert audit.levels("e") == ("x", "y")
    numbers = pd.DataFrame({"g": pd.Categorical([2, 10]), "d": pd.Categorical([0, 1])})
    assert Audit(numbers, decision="d").levels("g") == ("2", "10")
    assert [row["rate"] for row in measure(Audit(numbers, decision="d"), by="g").estimates] == [0.0, 1.0]


def with_missing(text=None):
    return {
        "race": ["a", text, "b", "b"] * 20,
        "y": [0, 1, None, 0] * 20,
        "d": [0, 1, 1, 0] * 20,
    }


@pytest.mark.filterwarnings("ignore:Every decision is:fairtrial.FairtrialWarning")
@pytest.mark.parametrize("kind", NULLS)
def test_missing_values(kind, tmp_path, request):
    data = make(kind, with_missing(), tmp_path, request)
    roles = {"outcome": "y", "decision": "d", "groups": "race"}
    text = message(lambda: measure(Audit(data, **roles), "accuracy"))
    assert (
        "'race' is missing in 20 rows: choose missing='drop' in the Audit (or 'category' for groups)" in text
    )
    assert "outcome 'y' is missing in 20 rows" in text

    dropping = Audit(data, missing="drop", **roles)
    dropped = measure(dropping, ["selection_rate", "ppv"], minimum=1)
    assert [(row["metric"], row["group"], row["n"]) for row in dropped.estimates] == [
        ("selection_rate", "a", 20), ("selection_rate", "b", 40), ("ppv", "a", 0), ("ppv", "b", 0),
    ]  # fmt: skip
    assert [entry["text"] for entry in dropped.details["left_out"]] == [
        "selection rate: 20 of 80 rows (25.0%) left out, 20 without a group",
        "positive predictive value: 40 of 40 rows (100.0%) left out, 20 without a group and 20 without the outcome",
    ]
    assert "'accuracy' needs the outcome of people with either decision" in message(
        lambda: measure(dropping, "accuracy")
    )

    category = measure(Audit(data, missing="category", **roles), "selection_rate")
    assert [(row["group"], row["n"], row["rate"]) for row in category.estimates] == [
        ("(missing)", 20, 1.0), ("a", 20, 0.0), ("b", 40, 0.5),
    ]  # fmt: skip
    refused = message(lambda: measure(Audit(data, missing="category", **roles), "accuracy"))
    assert refused == (
        "measure: outcome 'y' is missing in 20 rows: missing='category' is for groups; choose missing='drop' in the "
        "Audit"
    )


def test_dropping_looks_at_what_is_asked():
    """A row without a race is left out of a comparison by race, declared or not, and of nothing else."""
    audit = Audit(pd.DataFrame(with_missing()), decision="d", missing="drop")
    result = measure(audit, by="race")
    assert sum(row["n"] for row in result.estimates) == 60
    assert "Selection rate: 20 of 80 rows (25.0%) left out, 20 without 'race'." in [
        note.text for note in result.notes
    ]


def test_an_empty_text_is_missing():
    audit = Audit(pl.DataFrame(with_missing("")), decision="d", groups="race", missing="drop")
    assert [row["n"] for row in measure(audit).estimates] == [20, 40]
    kept = Audit(pl.DataFrame(with_missing("")), decision="d", groups="race", missing="category")
    assert kept.levels("race") == ("(missing)", "a", "b")


def test_missing_in_categories():
    """Filling a category in place stays null in Polars and raises in pandas."""
    for frame in (
        pd.DataFrame(with_missing()).astype({"race": "category"}),
        pl.DataFrame(with_missing()).with_columns(pl.col("race").cast(pl.Enum(["a", "b"]))),
        pd.DataFrame(with_missing()).convert_dtypes(),
    ):
        audit = Audit(frame, decision="d", groups="race", missing="category")
        assert [row["n"] for row in measure(audit).estimates] == [20, 20, 40]


def test_missing_in_mixed_objects():
    values = ["a", pd.NA, 1, 2.5, None, NAN, pd.NaT, "b"] * 10
    frame = pd.DataFrame({"g": pd.Series(values, dtype=object), "d": [0, 1] * 40})
    assert Audit(frame, decision="d", missing="category").levels("g") == ("(missing)", "1", "2.5", "a", "b")


REAL = {"g": ["a", "b"] * 40, "cost": [0.5, 2.0, 3.0, 0.0] * 20, "d": [0, 1, 1, 0] * 20, "s": [0.2, 0.9] * 40}


@pytest.mark.filterwarnings("ignore:The rows stay in Spark")
@pytest.mark.parametrize("kind", KINDS)
def test_a_real_valued_outcome(kind, tmp_path, request):
    """Metrics that only average it take it; metrics that condition on it refuse by name."""
    data = make(kind, REAL, tmp_path, request)
    audit = Audit(data, outcome="cost", decision="d", score="s")
    result = measure(audit, ["base_rate", "ppv", "for", "squared_error"], by="g")
    rates = {(row["metric"], row["group"]): row["rate"] for row in result.estimates}
    assert rates["base_rate", "a"] == pytest.approx(1.75)
    assert rates["ppv", "b"] == pytest.approx(2.0)
    assert rates["for", "a"] == pytest.approx(0.5)
    assert rates["squared_error", "b"] == pytest.approx((1.1**2 + 0.9**2) / 2)
    assert {row["value_kind"] for row in result.estimates} == {"number"}
    refused = (
        ["tpr"] if kind == "spark" else ["tpr", "fdr", "npv", "accuracy", "balance_positive", "log_loss"]
    )
    for name in refused:
        with pytest.raises(
            NotApplicable, match=f"'{name}' conditions on the outcome, but outcome 'cost' is real"
        ):
            measure(audit, name, by="g")


def test_whole_numbers_as_outcome():
    """1 and 2 are numbers until positive= says that 2 is the label."""
    data = pd.DataFrame({"g": ["a", "b"] * 40, "y": [1, 2] * 40, "d": [0, 1] * 40})
    with pytest.raises(NotApplicable, match="say which label counts: positive="):
        measure(Audit(data, outcome="y", decision="d"), "tpr", by="g")
    audit = Audit(data, outcome="y", decision="d", positive={"outcome": 2})
    assert measure(audit, "tpr", by="g").estimates[1]["rate"] == 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_conditions_as_expressions(kind, tmp_path, request):
    """A caller's expression sees NaN as null on every engine, so a row without a value never meets it."""
    columns = {
        "g": ["a", "b"] * 40, "d": [0, 1, 1, 0] * 20, "x": [0.1, 0.7, NAN, 0.8] * 20, "age": [30, 40, 50, 60] * 20,
    }  # fmt: skip
    audit = Audit(make(kind, columns, tmp_path, request), decision="d")
    made = Metric("late", role.decision, (nw.col("x") >= 0.5) & (nw.col("age") < 55))
    rows = {row["group"]: row for row in measure(audit, made, by="g").estimates}
    assert rows["a"]["n"] == 0
    assert rows["b"]["n"] == 20
    assert rows["b"]["rate"] == 1.0


@pytest.mark.parametrize("kind", ["pandas", "polars", "csv"])
def test_columns_named_like_roles(kind, tmp_path, request):
    columns = {
        "score_bin": ["q", "r"] * 40, "decision": ["x", "z"] * 40, "correct": [1, 2] * 40,
        "y": [0, 1, 1, 0] * 20, "s": [0.2, 0.8, 0.6, 0.1] * 20,
    }  # fmt: skip
    audit = Audit(
        make(kind, columns, tmp_path, request), outcome="y", score="s", threshold=0.5, bins={"score": [0.5]}
    )
    result = measure(audit, ["calibration", "accuracy", Metric("m", "correct")], by=["score_bin", "decision"])
    seen = {(row["metric"], row["group"]): row for row in result.estimates}
    assert seen["calibration [0.5 and over]", "score_bin: q"]["n"] == 20
    assert seen["calibration [under 0.5]", "decision: z"]["rate"] == 0.0
    assert seen["accuracy", "decision: x"]["rate"] == 1.0
    assert seen["m", "score_bin: q"]["rate"] == 1.0


@pytest.mark.parametrize("kind", ["pandas", "polars-lazy", "duckdb", "csv"])
def test_bins(kind, tmp_path, request):
    age = list(range(20, 100))
    columns = {"age": age, "d": [0, 1] * 40, "income": [1_234_567 + i / 100 for i in range(80)]}
    data = make(kind, columns, tmp_path, request)
    edges = Audit(data, decision="d", bins={"age": [25, 26, 45]})
    assert [(row["group"], row["n"]) for row in measure(edges, by="age", minimum=1).estimates] == [
        ("age: under 25", 5), ("age: 25", 1), ("age: 26–44", 19), ("age: 45 and over", 55),
    ]  # fmt: skip
    quarters = measure(Audit(data, decision="d", bins={"age": 4}), by="age")
    cuts = np.quantile(age, [0.25, 0.5, 0.75])
    assert {row["group"] for row in quarters.estimates} == {
        f"age: under {cuts[0]:g}", f"age: {cuts[0]:g} to under {cuts[1]:g}",
        f"age: {cuts[1]:g} to under {cuts[2]:g}", f"age: {cuts[2]:g} and over",
    }  # fmt: skip
    close = measure(Audit(data, decision="d", bins={"income": 4}), by="income")
    assert [row["n"] for row in close.estimates] == [20, 20, 20, 20], "labels of near edges stay apart"


def test_bins_of_missing_values():
    data = pd.DataFrame({"age": [20.0, NAN, 50.0, 60.0] * 20, "d": [0, 1, 1, 0] * 20})
    audit = Audit(data, decision="d", bins={"age": [30]}, missing="category")
    assert audit.levels("age") == ("(missing)", "under 30", "30 and over")
    with pytest.raises(InputError, match="'age' is missing in 20 rows"):
        Audit(data, decision="d", bins={"age": [30]}).levels("age")


def test_frames_come_back_as_they_came():
    columns = {"g": ["a", "b"] * 40, "d": [0, 1, 1, 0] * 20}
    expected = {"pandas": "pandas.DataFrame", "polars-lazy": "polars.dataframe.frame.DataFrame"}
    for kind in ("pandas", "polars", "polars-lazy", "pyarrow", "duckdb"):
        frame = measure(Audit(make(kind, columns, None, None), decision="d"), by="g").to_frame()
        name = f"{type(frame).__module__}.{type(frame).__qualname__}"
        library = {"pandas": "pandas", "polars": "polars", "polars-lazy": "polars"}.get(kind, "pyarrow")
        assert name.startswith(f"{library}."), (kind, name, expected)
    pandas = measure(Audit(pd.DataFrame(columns), decision="d"), by="g").to_frame(backend="polars")
    assert pandas["n"].to_list() == [40, 40]
    with pytest.raises(InputError, match="'backend' must be"):
        measure(Audit(pd.DataFrame(columns), decision="d"), by="g").to_frame(backend="spark")

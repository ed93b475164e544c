"""Every fault of the input is one message that says what is wrong and what to do."""

from __future__ import annotations

import math

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairtrial import Audit, InputError, Metric, measure
from frames.makers import KINDS, make

INFINITE, NAN = math.inf, math.nan
# kinds whose engines differ in how they treat NaN, infinities and text
ENGINES = ["pandas", "polars", "pyarrow", "duckdb", "csv", pytest.param("spark", marks=pytest.mark.spark)]


COLUMNS = " Columns: 'race', 'y', 'd', 's'."


def table(**changes):
    columns = {
        "race": ["a", "b"] * 40,
        "y": [0, 1, 1, 0] * 20,
        "d": [0, 0, 1, 1] * 20,
        "s": [0.1, 0.2, 0.3, 0.4] * 20,
    }
    return {**columns, **changes}


def message(call) -> str:
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)


def audited(**changes):
    """An Audit of the plain table with other arguments."""
    return Audit(pd.DataFrame(table()), **{"outcome": "y", "decision": "d", **changes})


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"outcome": "z"}, f"Audit: 'outcome' names the unknown column 'z'.{COLUMNS}"),
        ({"groups": "rase"}, "Audit: 'groups' names the unknown column 'rase'. Did you mean 'race'?"),
        ({"groups": ["race", "race"]}, "Audit: 'groups' names 'race' twice: name it once"),
        ({"groups": None}, "Audit: 'groups' must be a column or a list of columns, got None"),
        ({"threshold": 0.5, "decision": None}, "Audit: 'threshold' needs a score: name its column with score="),
        (
            {"threshold": 0.5, "score": "s"},
            "Audit: 'decision' and 'threshold' both define the decision: give one of them",
        ),
        (
            {"threshold": NAN, "score": "s", "decision": None},
            "Audit: 'threshold' must be a finite number, got nan",
        ),
        (
            {"threshold": "0.5", "score": "s", "decision": None},
            "Audit: 'threshold' must be a number, got '0.5'",
        ),
        (
            {"missing": "dropp"},
            "Audit: 'missing' must be one of ['error', 'drop', 'category'], got 'dropp'. Did you mean 'drop'?",
        ),
        (
            {"positive": {"desision": 1}},
            "Audit: 'positive' must be a label or a dict with 'decision' and 'outcome', got the key 'desision'",
        ),
        ({"bins": {"s": [0.5, 0.5]}}, "Audit: 'bins' of 's' must be increasing, got [0.5, 0.5]"),
        ({"bins": {"s": [0.7, 0.5]}}, "Audit: 'bins' of 's' must be increasing, got [0.7, 0.5]"),
        ({"bins": {"s": 1}}, "Audit: 'bins' of 's' must be 2 to 100 quantile bins, got 1"),
        (
            {"bins": {"s": list(range(201))}},
            "Audit: 'bins' of 's' must be at most 200 edges, got 201: cut it more coarsely",
        ),
        (
            {"bins": {"s": [NAN]}},
            "Audit: 'bins' must hold finite numbers, got {'s': [nan]}",
        ),
        ({"bins": {"t": [1]}}, f"Audit: 'bins' names the unknown column 't'.{COLUMNS}"),
    ],
)  # fmt: skip
def test_faults_of_the_declaration(arguments, expected):
    assert message(lambda: audited(**arguments)) == expected


def test_one_message_lists_all_faults():
    text = message(lambda: audited(outcome="z", groups=["rase"], bins={"s": [2, 1]}, missing="no"))
    assert text.startswith("Audit: 4 faults:\n  - 'outcome' names the unknown column 'z'")
    assert "'bins' of 's' must be increasing" in text
    assert "'missing' must be one of" in text


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame([[1, 2, 3]], columns=["y", "d", "y"]),
        pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], ["y", "d", "y"]),
    ],
    ids=["pandas", "pyarrow"],
)
def test_duplicated_columns(data):
    text = message(lambda: Audit(data, decision="d"))
    assert text == "Audit: 'data' has duplicated columns: 'y'; rename them"


@pytest.mark.parametrize("library", [pd.DataFrame, pa.table])
def test_columns_that_differ_only_in_case(library):
    """DuckDB would silently give the values of one of them for both."""
    audit = Audit(library(table(Race=["u", "v"] * 40)), decision="d")
    assert "differ only in case and are used together" in message(lambda: measure(audit, by=["race", "Race"]))
    assert [row["group"] for row in measure(audit, by="race").estimates] == ["a", "b"]
    assert [row["group"] for row in measure(audit, by="Race").estimates] == ["u", "v"]
    told_apart = Audit(pl.DataFrame(table(Race=["u", "v"] * 40)), decision="d")
    assert [row["group"] for row in measure(told_apart, by=["race", "Race"]).estimates] == [
        "race: a",
        "race: b",
        "Race: u",
        "Race: v",
    ]


def test_columns_with_equal_values_are_not_duplicates():
    audit = Audit(pa.table(table(copy=table()["y"])), outcome="y", decision="d")
    assert measure(audit, "tpr", by="race").estimates[0]["n"] == 20


def test_not_a_table():
    assert message(lambda: Audit([1, 2])).startswith("Audit: 'data' must be a dataframe (pandas, Polars,")


@pytest.mark.parametrize("kind", KINDS)
def test_labels_of_a_decision(kind, tmp_path, request):
    columns = table(d=["Yes", "No"] * 40, three=["x", "y", "z", "x"] * 20, e=[1, 2] * 40)
    data = make(kind, columns, tmp_path, request)

    def asked(**arguments):
        return message(lambda: measure(Audit(data, outcome="y", **arguments), "selection_rate", by="race"))

    assert asked(decision="d") == (
        "measure: decision 'd' has the labels 'No', 'Yes': say which counts as 1, e.g. "
        "positive={'decision': 'Yes'} in the Audit"
    )
    if kind == "spark":
        return  # the rest is the same code after the query
    assert "decision 'three' has the labels 'x', 'y', 'z': say which counts as 1" in asked(decision="three")
    assert "decision 'e' holds numbers other than 0 and 1: say which counts with positive=" in asked(
        decision="e"
    )
    absent = asked(decision="d", positive={"decision": "yes"})
    assert (
        absent
        == "measure: 'positive' label 'yes' does not occur in decision 'd': name labels that do, spelt as in the data"
    )
    counted = Audit(data, outcome="y", decision="e", positive={"decision": 2})
    assert [row["rate"] for row in measure(counted, by="race").estimates] == [0.0, 1.0]


@pytest.mark.parametrize("kind", ENGINES)
def test_values_that_are_not_finite(kind, tmp_path, request):
    """NaN counts as missing on every engine; an infinity is an error, also where it only decides."""
    columns = table(
        nan=[0.1, 0.2, 0.3, NAN] * 20, infinite=[0.1, 0.2, 0.3, INFINITE] * 20, minus=[-INFINITE, 0.0] * 40
    )
    data = make(kind, columns, tmp_path, request)

    def asked(metric, **arguments):
        return message(lambda: measure(Audit(data, outcome="y", **arguments), metric, by="race"))

    cure = "choose missing='drop' in the Audit (or 'category' for groups)"
    assert (
        asked("selection_rate", score="infinite", threshold=0.2)
        == "measure: score 'infinite' has 20 infinite values"
    )
    assert asked("brier", score="nan") == f"measure: score 'nan' or outcome 'y' is missing in 20 rows: {cure}"
    if kind == "spark":
        return  # a query each: the other engines cover the rest
    assert (
        asked("mean_score", score="minus") == "measure: score 'minus' has infinite values; remove or cap them"
    )
    assert asked("mean_score", score="nan") == f"measure: score 'nan' is missing in 20 rows: {cure}"
    assert "('nan' ≥ 0.2) is missing in 20 rows" in asked("selection_rate", score="nan", threshold=0.2)
    assert "'infinite' has infinite values" in asked(Metric("x", "infinite"))
    assert "'nan' is missing in 20 rows" in asked(Metric("x", "nan"))
    assert "'infinite' has infinite values" in message(
        lambda: measure(Audit(data, outcome="y"), "base_rate", by="infinite")
    )
    binned = Audit(data, outcome="y", bins={"infinite": [0.2]})
    assert "'infinite' has infinite values" in message(lambda: measure(binned, "base_rate", by="infinite"))
    assert "'nan' is missing in 20 rows" in message(
        lambda: measure(Audit(data, outcome="y"), "base_rate", by="nan")
    )


def test_log_loss_wants_probabilities():
    audit = Audit(pd.DataFrame(table(s=[3.0, 0.1] * 40)), outcome="y", score="s")
    assert message(lambda: measure(audit, "log_loss", by="race")) == (
        "measure: log loss needs scores from 0 to 1, but score 's' has others"
    )


def test_empty_after_drop():
    data = pd.DataFrame(table(race=[None] * 80))
    audit = Audit(data, outcome="y", decision="d", groups="race", missing="drop")
    assert message(lambda: measure(audit)) == (
        "measure: no rows are left: every row has a missing value in one of the columns used. "
        "Fill in the column that is missing most, or leave it out of the audit"
    )
    empty = Audit(data.iloc[:0], outcome="y", decision="d")
    said = message(lambda: measure(empty, by="race"))
    assert said == "measure: 'data' has no rows: look whether a filter or an export left any"


@pytest.mark.parametrize("kind", ["pandas", "polars", "csv"])
def test_too_many_levels(kind, tmp_path, request):
    columns = {"d": [0, 1] * 501, "code": list(range(1002))}
    audit = Audit(make(kind, columns, tmp_path, request), decision="d")
    assert message(lambda: measure(audit, by="code")) == (
        "measure: 'code' has 1,002 levels, more than 1,000: cut it with bins={'code': 4} in the Audit (quarters) or "
        "edges of your own"
    )
    names = {"d": columns["d"], "name": [f"person {i}" for i in range(1002)]}
    assert message(lambda: measure(Audit(make(kind, names, tmp_path, request), decision="d"), by="name")) == (
        "measure: 'name' has 1,002 levels, more than 1,000: join them into fewer; a column of names, dates or "
        "identifiers is no group"
    )
    cut = Audit(make(kind, columns, tmp_path, request), decision="d", bins={"code": 3})
    assert [row["n"] for row in measure(cut, by="code").estimates] == [334, 334, 334]


def test_numbers_that_are_text():
    data = pd.DataFrame(table(s=["0.1", "high"] * 40))
    audit = Audit(data, outcome="y", score="s")
    assert message(lambda: measure(audit, "mean_score", by="race")) == (
        "Audit: 's' (score) must hold numbers, got 'high'"
    )
    binned = Audit(data, outcome="y", bins={"race": [1, 2]})
    assert message(lambda: measure(binned, "base_rate", by="race")) == (
        "Audit: 'race' (bins) must hold numbers, got 'a', 'b'"
    )


def test_a_label_besides_0_and_1_may_mean_missing():
    audit = Audit(pd.DataFrame(table(y=["0", "1", "NA", "0"] * 20)), outcome="y")
    assert message(lambda: measure(audit, "base_rate", by="race")) == (
        "measure: outcome 'y' has the labels 'NA' besides 0 and 1: leave them empty where they mean missing, or say "
        "which counts as 1, e.g. positive={'outcome': 'NA'} in the Audit"
    )


def test_a_metric_without_its_role():
    audit = Audit(pd.DataFrame(table()), outcome="y")
    text = message(lambda: measure(audit, ["tpr", "mean_score"], by="race"))
    assert "'tpr' needs the decision: name its column with decision= in the Audit" in text
    assert "'mean_score' needs the score: name its column with score= in the Audit" in text


def test_a_constant_outcome_is_a_fault_only_where_it_matters():
    audit = Audit(pd.DataFrame(table(y=[0] * 80)), outcome="y", decision="d")
    assert [row["rate"] for row in measure(audit, "fpr", by="race").estimates] == [0.5, 0.5]
    reasons = [row["rate"]["reason"] for row in measure(audit, "tpr", by="race").estimates]
    assert reasons == ["nobody meets the metric's condition"] * 2
    one_level = Audit(pd.DataFrame(table(race=["a"] * 80)), outcome="y", decision="d")
    row = measure(one_level, "fpr", by="race").estimates[0]
    assert row["rate"] == 0.5
    assert row["state_reason"] == "it is everyone: there is nobody to compare with"


def test_check_finds_all_faults_of_the_data_at_once():
    data = pd.DataFrame(table(race=[None, "b"] * 40, d=["Yes", "No"] * 40, s=[INFINITE, 0.0] * 40))
    audit = Audit(data, outcome="y", decision="d", score="s", groups="race")
    text = message(audit.check)
    assert "decision 'd' has the labels" in text
    assert "'race' is missing in 40 rows" in text
    assert "score 's' has 40 infinite values" in text
    assert "outcome" not in text
    assert Audit(pd.DataFrame(table()), outcome="y", decision="d", score="s", groups="race").check() is None


@pytest.mark.parametrize("ours", [True, False])
def test_nan_in_parquet(ours, tmp_path):
    """Parquet's statistics leave NaN out; DuckDB then takes isnan() for always false and NaN for a large number."""
    import duckdb
    from pyarrow import parquet

    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table(table(s=[0.1, 0.7, NAN, 0.8] * 20)), path)
    connection = duckdb.connect()  # before DuckDB 1.5 a relation does not keep its connection open
    audit = Audit(path if ours else connection.read_parquet(str(path)), score="s", threshold=0.5)
    assert "is missing in 20 rows" in message(lambda: measure(audit, by="race"))
    dropping = Audit(path, score="s", threshold=0.5, groups="race", missing="drop")
    assert [row["n"] for row in measure(dropping).estimates] == [20, 40]


def test_an_edge_beyond_every_number():
    assert "'bins' of 's' must be a list of edges" in message(lambda: audited(bins={"s": [10**400]}))


def test_as_many_edges_as_are_allowed():
    """They are conditions inside each other, which no engine nests without end."""
    frame = pd.DataFrame({"x": range(201), "d": [0, 1, 1] * 67})
    edges = [number + 0.5 for number in range(200)]
    assert (
        len(
            measure(
                Audit(frame, decision="d", groups="x", bins={"x": edges}), "selection_rate", minimum=1
            ).estimates
        )
        == 201
    )

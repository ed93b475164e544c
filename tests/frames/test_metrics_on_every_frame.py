"""Every metric on every kind of data equals the NumPy oracle; so does COMPAS."""

from __future__ import annotations

import numpy as np
import pytest

import fairtrial
from fairtrial import METRICS, Audit, Metric, measure, role
from frames.makers import KINDS, make
from oracles.metrics import moments, value_and_given

GROUPS = ["Ångström & co", 'O"Brien', "b, c", "O'Neill"]
SCORED = [name for name, metric in METRICS.items() if metric.each is None]


def people(n: int = 240) -> dict[str, list[object]]:
    random = np.random.default_rng(2)
    outcome = random.integers(0, 2, n)
    score = np.round(np.clip(0.25 * outcome + random.uniform(0, 0.75, n), 0, 1), 6)
    score[:4] = [0.0, 1.0, 0.5, 1.0]
    return {
        "race": [GROUPS[i] for i in random.integers(0, 4, n)],
        "age": random.integers(18, 80, n).tolist(),
        "outcome_": outcome.tolist(),
        "decision_": (score > random.uniform(0, 1, n)).astype(int).tolist(),
        "score_": score.tolist(),
        "answer": ["Yes" if y else "No" for y in outcome],
        "cost": np.round(random.gamma(2.0, 3.0, n), 3).tolist(),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_every_metric(kind, tmp_path, request):
    columns = people()
    audit = Audit(
        make(kind, columns, tmp_path, request), outcome="outcome_", decision="decision_", score="score_"
    )
    cells = audit.cells(("race",), [METRICS[name] for name in SCORED])
    y, d, s = (np.array(columns[name], dtype=float) for name in ("outcome_", "decision_", "score_"))
    race = np.array(columns["race"])
    assert cells.labels["race"] == tuple(sorted(GROUPS))
    for name in SCORED:
        value, given = value_and_given(name, y, d, s)
        for i, label in enumerate(sorted(GROUPS)):
            count, total, m2 = moments(value, given & (race == label))
            assert cells.count[name][i] == count, (name, label)
            assert cells.total[name][i] == pytest.approx(total, rel=1e-10), (name, label)
            if not cells.binary[name]:
                assert cells.m2[name][i] == pytest.approx(m2, rel=1e-8), (name, label)


@pytest.mark.filterwarnings("ignore:The rows stay in Spark")
@pytest.mark.parametrize("kind", KINDS)
def test_calibration_bins_text_labels_and_given_columns(kind, tmp_path, request):
    """Calibration per score bin, a text outcome, a bin of age and a condition on a column: one audit."""
    columns = people()
    audit = Audit(
        make(kind, columns, tmp_path, request), outcome="answer", score="score_", positive="Yes",
        bins={"score": [0.3, 0.6], "age": [30, 50]},
    )  # fmt: skip
    made = Metric("cost_of_yes", "cost", {role.outcome: 1, "race": ["b, c", "O'Neill"]})
    result = measure(audit, ["calibration", "brier", made], by="age", minimum=1)
    y, s, age, cost = (
        np.array([1.0 if text == "Yes" else 0.0 for text in columns["answer"]]),
        *(np.array(columns[name], dtype=float) for name in ("score_", "age", "cost")),
    )
    chosen_race = np.isin(np.array(columns["race"]), ["b, c", "O'Neill"])
    ages = {
        "age: under 30": age < 30, "age: 30–49": (age >= 30) & (age < 50), "age: 50 and over": age >= 50,
    }  # fmt: skip
    scores = {"under 0.3": s < 0.3, "0.3 to under 0.6": (s >= 0.3) & (s < 0.6), "0.6 and over": s >= 0.6}
    expected = {
        **{f"calibration [{label}]": (y, inside) for label, inside in scores.items()},
        "brier": ((s - y) ** 2, np.ones(len(y), dtype=bool)),
        "cost_of_yes": (cost, (y == 1) & chosen_race),
    }
    seen = {(row["metric"], row["group"]): row for row in result.estimates}
    assert set(seen) == {(metric, label) for metric in expected for label in ages}
    for (metric, label), row in seen.items():
        value, given = expected[metric]
        count, total, _ = moments(value, given & ages[label])
        assert row["n"] == count
        assert row["rate"] == pytest.approx(total / count, rel=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_compas_false_positive_rates(kind, tmp_path, request):
    """Published in ProPublica's analysis as 44.85 and 23.45 per cent of those who did not reoffend."""
    chosen = ["race", "two_year_recid", "decile_score"]
    columns = fairtrial.load("compas", backend="pyarrow").select(chosen).to_pydict()
    data = make(kind, columns, tmp_path, request)
    audit = Audit(data, outcome="two_year_recid", score="decile_score", threshold=5)
    result = measure(audit, "fpr", by="race")
    rows = {row["group"]: row for row in result.estimates}
    assert round(rows["African-American"]["rate"], 4) == 0.4485
    assert round(rows["Caucasian"]["rate"], 4) == 0.2345
    assert rows["African-American"]["n"] == 1795
    assert rows["African-American"]["events"] == 805


@pytest.mark.parametrize("kind", KINDS)
def test_rows_keep_one_order(kind, tmp_path, request):
    """Rows, the design matrix and the features' frame line up with each other, whatever was asked for."""
    columns = people(60)
    audit = Audit(
        make(kind, columns, tmp_path, request),
        outcome="outcome_",
        decision="decision_",
        features=("age", "race"),
    )
    rows = audit.rows(attributes=["race"], roles=["outcome"], columns=["cost"])
    again = audit.rows(columns=["cost", "age"], metrics=[METRICS["tpr"]])
    design = audit.design()
    frame = audit.features_frame()
    assert again.columns["cost"].tolist() == rows.columns["cost"].tolist()
    assert design.matrix[:, 0].tolist() == again.columns["age"].tolist()
    assert [int(age) for age in frame["age"]] == again.columns["age"].astype(int).tolist()
    assert again.given["tpr"].tolist() == (rows.roles["outcome"] == 1).tolist()
    labels = rows.attributes["race"]
    race = [labels.labels[code] for code in labels.codes]
    hot = design.matrix[:, list(design.names).index("race=b, c")]
    assert (hot == 1).tolist() == [label == "b, c" for label in race]
    together = sorted(zip(race, rows.columns["cost"].tolist(), rows.roles["outcome"].tolist(), strict=True))
    expected = sorted(zip(columns["race"], columns["cost"], columns["outcome_"], strict=True))
    assert together == expected
    if kind not in ("spark", "duckdb", "polars-lazy", "polars-lazy-categorical"):
        assert rows.columns["cost"].tolist() == columns["cost"], "source order"


def test_rows_of_a_duckdb_query_keep_one_order():
    """Grouping in several threads returns rows in another order for every choice of columns."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 2")
    connection.execute(
        "CREATE TABLE t AS SELECT i AS id, i % 2 AS d, i * 7919 % 97 AS v FROM range(200000) r(i)"
    )
    audit = Audit(connection.sql("SELECT id, max(d) AS d, max(v) AS v FROM t GROUP BY id"), decision="d")
    first = audit.rows(columns=["id", "v"], roles=["decision"])
    assert audit.rows(columns=["id"]).columns["id"].tolist() == first.columns["id"].tolist()
    assert (first.columns["id"] * 7919 % 97).tolist() == first.columns["v"].tolist()
    assert audit.design(["v"]).matrix[:, 0].tolist() == first.columns["v"].tolist()


def test_rows_of_a_lazy_polars_query_keep_one_order():
    import polars as pl

    numbers = pl.LazyFrame({"id": range(50_000)}).with_columns(d=pl.col("id") % 2, v=pl.col("id") * 7919 % 97)
    audit = Audit(numbers.group_by("id").agg(pl.col("d").max(), pl.col("v").max()), decision="d")
    first = audit.rows(columns=["id", "v"])
    assert audit.rows(columns=["id"]).columns["id"].tolist() == first.columns["id"].tolist()
    assert (first.columns["id"] * 7919 % 97).tolist() == first.columns["v"].tolist()

"""Audits of data that live in Spark: the counts of DuckDB, few jobs, and no row on the driver."""

from __future__ import annotations

import tempfile
from itertools import takewhile
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairtrial import (
    Audit,
    FairtrialWarning,
    InputError,
    certify,
    explain,
    flag,
    improve,
    measure,
    run,
    scan,
    transport,
    watch,
)
from inside.data import Query, columns, spark_units
from inside.ground import NotApplicable
from inside.inference import weighted_means

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::fairtrial.FairtrialWarning"),
]
ROWS = 6_000
ROLES = {"decision": "decision", "outcome": "outcome", "groups": ["race", "sex"], "features": ["region"]}


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> str:
    random = np.random.default_rng(4)
    race = random.choice(["A", "B", "C"], ROWS)
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    table = {
        "race": race,
        "sex": random.choice(["F", "M"], ROWS),
        "region": random.choice(["n", "s", "w"], ROWS),
        "outcome": random.integers(0, 2, ROWS),
        "decision": (random.random(ROWS) < np.where(race == "B", 0.3, 0.5)).astype(int),
        "amount": random.lognormal(size=ROWS),
        "challenger": (random.random(ROWS) < 0.45).astype(int),
        "week": random.choice(["W01", "W02", "W03"], ROWS),
        "weight": random.uniform(0.5, 3.0, ROWS),
        "heavy": np.where(np.arange(ROWS) == 7, 5000.0, random.choice([1.0, 2.0], ROWS)),
        "person": random.integers(0, 2_500, ROWS),
        "hospital": random.integers(0, 40, ROWS),
    }
    pq.write_table(pa.table(table), path)
    return str(path)


# All ways by which lines of a Spark dataframe come to the driver.
FETCHING = ("collect", "first", "head", "tail", "take", "toArrow", "toLocalIterator", "toPandas")


class Watched:
    """Counts the jobs that Spark ran, the answers that came back, and their lines."""

    def __init__(self, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        from pyspark.sql.classic.dataframe import DataFrame

        self.spark, self.lines, self.answers = spark, 0, 0
        self.group = f"watched-{uuid4()}"  # its own for good: the address of an object is given to later ones
        for name in FETCHING:
            monkeypatch.setattr(DataFrame, name, self._counting(getattr(DataFrame, name)))
        spark.sparkContext.setJobGroup(self.group, "counted")

    def _counting(self, inner: Any) -> Any:
        def fetch(frame: Any, *arguments: Any) -> Any:
            found = inner(frame, *arguments)
            self.answers += 1
            self.lines += len(found)  # an answer without a length fails here
            return found

        return fetch

    @property
    def jobs(self) -> int:
        return len(self.spark.sparkContext.statusTracker().getJobIdsForGroup(self.group))


QUESTIONS = {
    "measure": lambda audit: measure(audit, ["fpr", "selection_rate"], depth=2),
    "certify": lambda audit: certify(audit, "selection_rate", depth=2, tolerance=0.1, target="rest"),
    "flag": lambda audit: flag(audit, "selection_rate", depth=2, target="rest"),
    "flag means": lambda audit: flag(audit, {"name": "amount", "value": "amount"}, depth=2, target="rest"),
    "flag within": lambda audit: flag(audit, "selection_rate", by="race", within="region", target="rest"),
    "scan": lambda audit: scan(audit, "selection_rate", protected={"race": "B"}, features=["sex", "region"],
                               permutations=99),
    "transport": lambda audit: transport(audit, "equal_opportunity", by="race"),
    "challenger": lambda audit: improve(audit, "tpr", candidates={"fixed": "challenger"},
                                        by="sex", bootstrap=499),
    "watch": lambda audit: watch(f"{tempfile.mkdtemp()}/state", audit, "selection_rate", by="race",
                                 target=0.4, tolerance=0.1, period="week"),
}  # fmt: skip


# Jobs of one question, by the line of the table in docs/scale.md that tells of it and what comes back.
RATES = "rates in measure, certify, flag, watch; strata (`within`); transport by score cells"
JOBS = {
    "flag means": "means", "scan": "scan", "challenger": "improve, for decisions or scores in a column",
    "weights": "weights", "weights of means": "means with weights", "one weight above all": "weights",
    "people": "repeated people (`unit`)", "places": "repeated people (`unit`)",
    "places with weights": "means of repeated people", "equal weights": "equal weights",
    "weights of many rows": "weights",
}  # fmt: skip


def _documented() -> dict[str, int]:
    """The table of jobs: | question | jobs | what comes back |."""
    lines = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8").splitlines()
    start = lines.index("| question | jobs | what comes back |") + 2
    table = [line.split("|")[1:3] for line in takewhile(lambda line: line.startswith("|"), lines[start:])]
    return {question.strip(): int(jobs) for question, jobs in table}


def test_every_line_of_the_table_of_jobs_is_counted_here() -> None:
    assert set(_documented()) == {RATES, *JOBS.values()}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_answers_of_duckdb_without_a_row_on_the_driver(
    question: str, spark: Any, people: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if question != "challenger":  # which reads a sample of very many
        monkeypatch.setattr(columns, "MOST_ROWS", 1_000)  # so that DuckDB, too, compares means by their sums
    here = QUESTIONS[question](Audit(people, **ROLES))
    audit = Audit(spark.read.parquet(people), **ROLES)
    assert not audit.decision_is_real  # the one job that comes before every question
    watched = Watched(spark, monkeypatch)
    there = QUESTIONS[question](audit)
    assert watched.lines < 50  # cells, of 6,000 rows
    assert watched.jobs == watched.answers == _documented()[JOBS.get(question, RATES)]
    _same(here.estimates, there.estimates)


AMOUNT = {"name": "amount", "value": "amount"}
# Roles, metric, and the most lines that may come back: cells, or different people.
WEIGHTED = {
    "weights": ({"weight": "weight"}, "fpr", 100),
    "weights of means": ({"weight": "weight"}, AMOUNT, 100),
    "one weight above all": ({"weight": "heavy"}, "selection_rate", 100),
    "people": ({"unit": "person"}, "selection_rate", 3_500),
    "places": ({"unit": "hospital"}, "fpr", 1_200),
    "places with weights": ({"unit": "hospital", "weight": "weight"}, AMOUNT, 500),
    "equal weights": ({"weight": "equal"}, "selection_rate", 100),
    "weights of many rows": ({"weight": "weight"}, "fpr", 100),
}


@pytest.mark.parametrize("roles", WEIGHTED)
def test_weights_and_repeated_people_by_grouping(
    roles: str, spark: Any, people: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    extra, metric, most = WEIGHTED[roles]
    times = 4 if roles == "weights of many rows" else 1
    frame: Any = spark.read.parquet(people).selectExpr(
        "*", "2.5D as equal", f"explode(sequence(1, {times})) as copy"
    )
    rows: Any = pq.read_table(people).append_column("equal", pa.array(np.full(ROWS, 2.5)))
    rows = pa.concat_tables([rows] * times)
    monkeypatch.setattr(Audit, "check_fetchable", _never)  # rows are asked of DuckDB alone
    monkeypatch.setattr(weighted_means, "MANY_UNITS", 0)  # so that DuckDB, too, draws no rows
    here = flag(Audit(rows, **ROLES, **extra), metric, depth=2, target="rest")
    audit = Audit(frame, **ROLES, **extra)
    assert not audit.decision_is_real
    watched = Watched(spark, monkeypatch)
    there = flag(audit, metric, depth=2, target="rest")
    assert watched.lines < most
    assert watched.jobs == watched.answers == _documented()[JOBS[roles]]
    _same(here.estimates, there.estimates)


def test_strata_of_repeated_people_by_grouping(
    spark: Any, people: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Audit, "check_fetchable", _never)
    asked = {"by": "race", "within": "region", "target": "rest"}
    here, there = (
        flag(Audit(rows, **ROLES, unit="person"), "selection_rate", **asked)
        for rows in (people, spark.read.parquet(people))
    )
    _same(here.estimates, there.estimates)
    with pytest.raises(NotApplicable, match="the rows stay in Spark"):
        flag(Audit(spark.read.parquet(people), **ROLES, weight="weight"), AMOUNT, **asked)


def _never(audit: Audit, who: str) -> None:
    assert not audit.source.on_cluster


def test_many_different_people_are_refused_by_name(
    spark: Any, people: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_units, "MOST_LINES", 1_000)
    frame = spark.read.parquet(people)
    with pytest.raises(NotApplicable, match=r"unit.* more than 1,000 different sums of people"):
        flag(Audit(frame, **ROLES, unit="person"), AMOUNT, by="race", target="rest")
    odd = frame.selectExpr("*", "if(person = 7, 1e6, weight) as odd")
    with pytest.raises(NotApplicable, match=r"weight.* more than 1,000 different values"):
        flag(Audit(odd, **ROLES, weight="odd"), AMOUNT, by="race", target="rest")


def test_faults_of_weights_and_people_in_spark(spark: Any, people: str) -> None:
    frame = spark.read.parquet(people).selectExpr(
        "*", "if(person = 7, -1.0, weight) as debt", "if(person = 7, null, person) as somebody",
        "if(person = 7, null, weight) as gap",
    )  # fmt: skip
    for extra, said in (
        ({"weight": "debt"}, "must not be negative"),
        ({"unit": "somebody"}, r"'somebody' \(unit\) is missing in \d+ rows"),
        ({"weight": "gap"}, "is missing in"),
    ):
        with pytest.raises(InputError, match=said):
            flag(Audit(frame, **ROLES, **extra), "selection_rate", by="race", target="rest")


def test_a_challenger_of_very_many_rows_is_tested_on_a_stated_sample(
    spark: Any, people: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "MOST_ROWS", 1_000)
    audit = Audit(spark.read.parquet(people), **ROLES)
    asked = {"candidates": {"fixed": "challenger"}, "by": "sex", "bootstrap": 199, "seed": 5}
    first, again = (improve(audit, "tpr", **asked) for _ in range(2))
    assert any("a random sample of 1,000" in note.text for note in first.notes)
    assert first.to_dict() == again.to_dict()


def _same(here: Any, there: Any) -> None:
    assert len(here) == len(there)
    for one, other in zip(here, there, strict=True):
        assert one.keys() == other.keys()
        for name, value in one.items():
            if isinstance(value, float):
                assert other[name] == pytest.approx(value, rel=1e-10, abs=1e-12), name
            else:
                assert other[name] == value, name


def test_rows_are_fetched_only_where_they_are_few(
    spark: Any, people: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = Audit(spark.read.parquet(people), **ROLES)
    monkeypatch.setattr("fairtrial._audit.columns.MOST_ROWS", 1_000)
    with pytest.raises(NotApplicable, match=r"explain.*needs its 6,000 rows"):
        explain(audit, "selection_rate", by="race")


def test_means_say_that_the_rows_stay_in_spark(spark: Any, people: str) -> None:
    audit = Audit(spark.read.parquet(people), **ROLES)
    with pytest.warns(FairtrialWarning, match="The rows stay in Spark"):
        flag(audit, {"name": "amount", "value": "amount"}, by="race", target="rest")


def test_max_t_fetches_no_row_and_says_that_it_is_holm(
    spark: Any, people: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = {"source": people, "decision": "decision", "groups": ["race"]}
    asked = {"measure": {"metric": "selection_rate"}, "flag": {"metric": "selection_rate"}}
    watched = Watched(spark, monkeypatch)
    there = run({"data": {"engine": "spark", **data}, **asked}, correction="max-t")
    assert watched.lines < 50
    assert any(note.startswith("The rows stay in Spark: how the tests depend") for note in there.notes)
    assert [entry.adjusted for entry in there.family] == [
        entry.adjusted for entry in run({"data": data, **asked}).family
    ]


@pytest.mark.parametrize("how", ["table", "source", "sql"])
def test_a_spec_names_a_table_a_path_or_a_query(how: str, spark: Any, people: str, tmp_path: Path) -> None:
    spark.read.parquet(people).createOrReplaceTempView("people_of_the_spec")
    rows = {"table": "people_of_the_spec", "source": people, "sql": "select * from people_of_the_spec"}[how]
    roles = {"decision": "decision", "groups": ["race"]}
    asked = {"flag": {"metric": "selection_rate"}}
    trial = run({"data": {"engine": "spark", how: rows, **roles}, **asked}, out=tmp_path / how)
    here = run({"data": {"source": people, **roles}, **asked})
    _same(here.results["flag"].estimates, trial.results["flag"].estimates)
    assert trial.data["source"] == rows
    assert (tmp_path / how / "report.html").exists()


def test_a_spec_of_very_many_rows_fetches_none(
    spark: Any, people: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Features are checked where the rows lie, and the whole trial is made of cells."""
    monkeypatch.setattr(columns, "MOST_ROWS", 1_000)
    data = {
        "source": people,
        "decision": "decision",
        "groups": ["race"],
        "features": ["region", "sex", "amount"],
    }
    asked = {"scan": {"metric": "selection_rate", "protected": {"race": "B"}, "features": ["region", "sex"],
                      "permutations": 99}}  # fmt: skip
    here = run({"data": data, **asked})
    watched = Watched(spark, monkeypatch)
    there = run({"data": {"engine": "spark", **data}, **asked})
    assert watched.lines < 100  # cells
    _same(here.results["scan"].estimates, there.results["scan"].estimates)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"engine": "spark", "table": "nowhere_at_all"}, "cannot be read by Spark"),
        ({"engine": "spark"}, "needs one of table, source"),
        ({"table": "loans"}, 'needs engine = "spark"'),
    ],
)
def test_faults_of_where_the_rows_are(data: dict[str, str], said: str, spark: Any) -> None:
    with pytest.raises(InputError, match=said):
        run(
            {
                "data": {**data, "decision": "decision", "groups": ["race"]},
                "flag": {"metric": "selection_rate"},
            }
        )


def test_weighted_rates_need_no_row(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of the weights' powers come back, one line per group and decision; numbers and fingerprint are DuckDB's."""
    random, n = np.random.default_rng(5), 24_000
    table = {"g": random.choice(["A", "B"], n), "d": random.integers(0, 2, n), "w": random.gamma(3.0, 1.0, n)}
    pq.write_table(pa.table(table), tmp_path / "weighted.parquet")
    monkeypatch.setattr(Query, "plain", lambda *_, **__: pytest.fail("rows were fetched"))
    roles = {"decision": "d", "groups": "g", "weight": "w"}
    there, here = (
        flag(Audit(data, **roles), "selection_rate")
        for data in (
            spark.read.parquet(str(tmp_path / "weighted.parquet")),
            str(tmp_path / "weighted.parquet"),
        )
    )
    assert there.provenance["data"] == here.provenance["data"]
    for one, other in zip(there.estimates, here.estimates, strict=True):
        for name in ("n", "rate", "difference_low", "difference_high", "p_value"):
            assert one[name] == pytest.approx(other[name], rel=1e-10), name

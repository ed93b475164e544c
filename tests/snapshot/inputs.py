"""Fixed people, frames and audits that the cases are asked about."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

import fairtrial
from validity.improve_asked import improve

Columns = dict[str, Any]
_folders: list[TemporaryDirectory[str]] = []

# the arguments that the cases give by position, by their old names; the first stays positional
POSITIONS: dict[str, tuple[str, ...]] = {
    "Audit": ("data",),
    "load": ("name",),
    "measure": ("audit", "metric"),
    "certify": ("audit", "metric"),
    "flag": ("audit", "metric"),
    "papers.elfa.certify": ("audit", "metric"),
    "papers.elfa.flag": ("audit", "metric"),
    "plan": ("metric",),
    "scan": ("audit", "metric"),
    "transport": ("audit", "metric"),
    "papers.transport.fairness_test": ("audit", "criterion"),
    "explain": ("audit", "metric"),
    "papers.shapley_rawls.explain": ("audit", "metric"),
    "compare": ("explanation", "other"),
    "improve": ("audit", "keep", "metric"),
    "Metric": ("name", "value", "given"),
    "run": ("spec",),
}


def call(function: str, /, *given: Any, **named: Any) -> Any:
    """A public function by its name; arguments after the first by theirs."""
    rest = dict(zip(POSITIONS[function][1:], given[1:], strict=False))
    if function == "compare":
        return given[0].compare(*given[1:], **named)
    if function == "improve":  # its options one by one
        return improve(*given[:1], **rest, **named)
    return attrgetter(function)(fairtrial)(*given[:1], **rest, **named)


def metric(name: str, value: Any, given: Any = None, **more: Any) -> Any:
    return call("Metric", name, value, {} if given is None else given, **more)


@cache
def scratch() -> Path:
    """A folder for files, gone when the process ends."""
    folder = TemporaryDirectory(prefix="snapshot-")
    _folders.append(folder)
    return Path(folder.name)


def elsewhere(run: Callable[[], Any]) -> Any:
    """Runs in an empty folder: what lies where the comparison was started is not looked at."""
    folder = scratch() / "empty"
    folder.mkdir(exist_ok=True)
    with contextlib.chdir(folder):
        return run()


# -- people ----------------------------------------------------------------------------------------------------------
@cache
def people(n: int = 900, groups: tuple[str, ...] = ("Alpha", "Beta", "Gamma"), seed: int = 7) -> pd.DataFrame:
    """A score that favours the first group; weights, repeated persons, costs, texts and missing values beside it."""
    random = np.random.default_rng(seed)
    group, side = random.choice(groups, n), random.choice(["left", "right"], n)
    level = np.minimum(random.integers(0, 3, n) + (group == groups[0]) * random.integers(0, 2, n), 2)
    age = random.integers(18, 80, n) + 5 * (group == groups[0])
    outcome = (random.random(n) < 0.2 + 0.2 * level + 0.3 * ((age > 30) & (age < 55))).astype(int)
    noise = random.random(n)
    score = np.round(0.15 + 0.2 * outcome + 0.12 * (group == groups[0]) + 0.1 * (level - 1) + 0.3 * noise, 3)
    score = np.clip(score, 0.01, 0.99)
    cost = np.round(np.where(random.random(n) < 0.4, 0.0, random.lognormal(1.0 + 0.2 * outcome, 1.0, n)), 4)
    decision = (score >= 0.45).astype(int)
    return pd.DataFrame({
        "g": group, "level": [f"level {value}" for value in level], "side": side, "y": outcome, "age": age,
        "part": np.where(random.random(n) < 0.5, "train", "test"), "s": score, "d": decision,
        "d2": (score + 0.06 * (group != groups[0]) >= 0.5).astype(int),
        "w": np.round(random.uniform(0.5, 3.0, n), 3), "u": random.integers(0, n // 2, n),
        "cost": cost, "grade": np.round(random.normal(50 + 3 * (group == groups[0]), 10, n), 2),
        "psi": np.round(cost - cost.mean(), 6), "psi01": np.round(decision - decision.mean(), 9),
        "dt": np.where(decision == 1, "granted", "refused"), "yt": np.where(outcome == 1, "yes", "no"),
        "decile": np.ceil(score * 10).astype(int), "far": np.round(np.abs(score - 0.45), 3),
        "flag": random.random(n) < 0.3,
    })  # fmt: skip


@cache
def gaps(n: int = 600) -> pd.DataFrame:
    """People with missing groups, outcomes, scores and ages."""
    frame = people(n).copy()
    random = np.random.default_rng(3)
    for name, share in (("g", 0.06), ("side", 0.03), ("y", 0.05), ("s", 0.04), ("age", 0.02), ("cost", 0.03)):
        values = frame[name].astype(object)
        values[random.random(n) < share] = None
        frame[name] = values if name in ("g", "side") else pd.to_numeric(values)
    return frame


@cache
def sparse() -> pd.DataFrame:
    """Small groups, rare events, groups without any variation, one group of one person."""
    counts = {
        "big": (60, 400), "rare": (2, 300), "never": (0, 120), "always": (80, 80), "small": (4, 25),
        "tiny": (1, 6),
        "one": (1, 1), "even": (50, 100),
    }  # fmt: skip
    rows = [(name, 1) for name, (k, _) in counts.items() for _ in range(k)]
    rows += [(name, 0) for name, (k, n) in counts.items() for _ in range(n - k)]
    frame = pd.DataFrame(rows, columns=["g", "d"])
    random = np.random.default_rng(11)
    frame["y"] = (random.random(len(frame)) < 0.15 + 0.3 * frame["d"]).astype(int)
    frame["sex"] = random.choice(["f", "m"], len(frame), p=[0.2, 0.8])
    frame["w"] = np.round(random.uniform(0.2, 4.0, len(frame)), 2)
    return frame


@cache
def losses() -> pd.DataFrame:
    """Real values of many shapes: normal, skewed, mostly zero, two-valued, constant, few."""
    random = np.random.default_rng(23)
    shapes = {
        "normal": random.normal(2.0, 1.0, 250), "skewed": random.lognormal(0.4, 1.1, 160),
        "zeros": np.where(random.random(140) < 0.85, 0.0, random.exponential(12.0, 140)),
        "two": random.choice([0.5, 4.0], 90), "constant": np.full(60, 2.0),
        "few": random.normal(2.4, 1.5, 34),
        "handful": random.normal(1.0, 1.0, 8),
    }  # fmt: skip
    frame = pd.concat([pd.DataFrame({"g": name, "loss": np.round(x, 5)}) for name, x in shapes.items()])
    frame = frame.reset_index(drop=True)
    frame["half"] = np.resize(["p", "q", "q"], len(frame))
    frame["w"] = np.round(random.uniform(0.5, 2.0, len(frame)), 3)
    frame["psi"] = frame["loss"] - frame["loss"].mean()
    return frame


@cache
def misled(n: int = 700, groups: int = 2) -> pd.DataFrame:
    """A status quo that is misled by a proxy, more so for group b; `need` is what it should have used."""
    random = np.random.default_rng(0)
    group = random.integers(0, groups, n)
    need, proxy = np.round(random.normal(size=(2, n)), 3)
    outcome = (need + 0.5 * random.normal(size=n) > 0).astype(int)
    misread = np.where(group == 1, 1.5, 0.8)
    return pd.DataFrame({
        "group": np.array(list("abc"))[group], "need": need, "proxy": proxy, "outcome": outcome,
        "decision": (need + misread * proxy - 0.6 * (group == 1) > 0).astype(int),
        "conditions": random.poisson(np.exp(0.5 * need + 0.5)),
        "risk": np.round(1 / (1 + np.exp(-(need + proxy * (group == 1) + 0.5 * (group == 0)))), 4),
        "better": (need > 0).astype(int), "near": (need + 0.3 * proxy > 0.1).astype(int),
        "sector": np.resize(["public", "private", "other"], n), "margin": np.where(outcome == 1, 2.0, -1.0),
        "small": random.random(n) < 0.02,
    })  # fmt: skip


@cache
def linear(n: int = 500) -> pd.DataFrame:
    """Numeric features and the decision of a written linear rule."""
    random = np.random.default_rng(5)
    race = random.choice(["a", "b"], n, p=[0.6, 0.4])
    frame = pd.DataFrame({
        "race": race, "sex": random.choice(["f", "m"], n),
        "x1": np.round(random.normal(0.3 * (race == "a"), 1.0), 2), "x2": np.round(random.normal(size=n), 2),
        "male": random.integers(0, 2, n),
    })  # fmt: skip
    margin = frame["x1"] + 0.5 * frame["x2"] + 0.4 * frame["male"] - 0.35 + 1e-4
    frame["y"] = (margin + random.normal(0, 0.8, n) > 0).astype(int)
    frame["d"] = (margin > 0).astype(int)
    frame["p"] = np.round(1 / (1 + np.exp(-margin)), 4)
    return frame


LINEAR = {"coefficients": {"x1": 1.0, "x2": 0.5, "male": 0.4}, "intercept": -0.3499}


@cache
def compas(step: int = 5) -> pd.DataFrame:
    frame: pd.DataFrame = call("load", "compas", backend="pandas").iloc[::step].reset_index(drop=True)
    return frame


@cache
def adult(step: int = 40) -> pd.DataFrame:
    frame: pd.DataFrame = call("load", "adult", backend="pandas").iloc[::step].reset_index(drop=True)
    return frame


@cache
def ricci() -> pd.DataFrame:
    frame: pd.DataFrame = call("load", "ricci", backend="pandas")
    return frame


@cache
def fitted_model(name: str) -> Any:
    """A classifier fitted on the linear people."""
    from sklearn.linear_model import LogisticRegression, RidgeClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    makers: dict[str, Callable[[], Any]] = {
        "logistic": LogisticRegression,
        "scaled": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
        "ridge": RidgeClassifier,
        "tree": lambda: DecisionTreeClassifier(max_depth=3, random_state=0),
        "svm": lambda: SVC(kernel="rbf", random_state=0),
        "linear svm": lambda: LinearSVC(random_state=0),
        "bayes": GaussianNB,
    }
    frame = linear()
    return makers[name]().fit(frame[["x1", "x2", "male"]], frame["y"])


# -- audits ----------------------------------------------------------------------------------------------------------
_NEED = {"outcome": "outcome", "decision": "decision", "groups": "group", "features": ["need", "proxy"]}
_WORDS = {"outcome": "yt", "decision": "dt", "groups": "g"}
_DECILE = {"outcome": "two_year_recid", "score": "decile_score", "threshold": 5, "groups": ["race", "sex"]}
_ALL = {"outcome": "y", "decision": "d", "score": "s", "groups": "g", "features": ["level", "side"]}
# name -> (data, roles)
AUDITS: dict[str, tuple[Callable[[], Any], Mapping[str, Any]]] = {
    "people": (people, _ALL),
    "people two": (people, {**_ALL, "groups": ["g", "side"], "features": []}),
    "people three": (people, {**_ALL, "groups": ["g", "side", "level"], "features": []}),
    "people aged": (people, {**_ALL, "features": ["level", "age"]}),
    "people by score": (people, {"outcome": "y", "score": "s", "threshold": 0.45, "groups": "g", "bins": {"s": 4}}),
    "people six": (people, {**_ALL, "features": ["level", "side", "age", "grade", "cost", "flag"]}),
    "people bins": (people, {**_ALL, "groups": "age", "bins": {"age": [30, 50], "s": [0.3, 0.5]}, "features": "g"}),
    "people quarters": (people, {**_ALL, "groups": "age", "bins": {"age": 4, "score": 5}, "features": []}),
    "people words": (
        people, {**_WORDS, "positive": {"outcome": "yes", "decision": "granted"}},
    ),
    "people turned": (
        people, {**_WORDS, "positive": {"outcome": "no", "decision": "refused"}},
    ),
    "people yes": (people, {"outcome": "yt", "groups": "g", "positive": "yes"}),
    "people flag": (people, {"decision": "flag", "groups": ["side"]}),
    "people cost": (people, {"outcome": "cost", "decision": "d", "score": "s", "groups": "g"}),
    "people grade": (people, {"outcome": "grade", "score": "cost", "groups": "g"}),
    "people decile": (people, {"outcome": "y", "score": "decile", "threshold": 5, "groups": "g", "features": "side"}),
    "people decisions": (people, {"decision": "d", "groups": "g"}),
    "people weighted": (people, {**_ALL, "weight": "w"}),
    "people units": (people, {**_ALL, "unit": "u"}),
    "people both": (people, {**_ALL, "weight": "w", "unit": "u", "groups": ["g", "side"], "features": []}),
    "people cost weighted": (people, {"outcome": "cost", "decision": "d", "groups": "g", "weight": "w"}),
    "gaps drop": (gaps, {**_ALL, "missing": "drop", "features": []}),
    "gaps category": (gaps, {"decision": "d", "groups": ["g", "side"], "missing": "category"}),
    "gaps error": (gaps, {**_ALL, "features": []}),
    "gaps plain": (gaps, {"decision": "d", "groups": "level"}),
    "gaps weighted": (gaps, {**_ALL, "missing": "drop", "features": [], "weight": "w"}),
    "sparse": (sparse, {"outcome": "y", "decision": "d", "groups": "g"}),
    "sparse two": (sparse, {"outcome": "y", "decision": "d", "groups": ["g", "sex"]}),
    "sparse weighted": (sparse, {"outcome": "y", "decision": "d", "groups": "g", "weight": "w"}),
    "losses": (losses, {"groups": "g", "outcome": "loss"}),
    "losses two": (losses, {"groups": ["g", "half"], "outcome": "loss"}),
    "losses half": (losses, {"groups": "half", "outcome": "loss"}),
    "losses weighted": (losses, {"groups": "g", "outcome": "loss", "weight": "w"}),
    "misled": (
        misled, _NEED,
    ),
    "misled three": (
        lambda: misled(900, 3),
        _NEED,
    ),
    "misled knowing": (
        misled, {**_NEED, "features": ["need", "proxy", "group"]},
    ),
    "misled risk": (misled, {"outcome": "outcome", "score": "risk", "groups": "group", "features": ["need", "proxy"]}),
    "misled scored": (
        misled,
        {**_NEED, "score": "risk"},
    ),
    "misled conditions": (
        misled, {"outcome": "conditions", "score": "risk", "groups": "group", "features": ["need", "proxy"]},
    ),
    "linear": (linear, {"outcome": "y", "decision": "d", "groups": "race", "features": ["x1", "x2", "male"]}),
    "linear scored": (
        linear, {"outcome": "y", "score": "p", "threshold": 0.5, "groups": "race", "features": ["x1", "x2", "male"]},
    ),
    "compas": (compas, _DECILE),
    "compas features": (
        compas,
        {
            "outcome": "two_year_recid", "score": "decile_score", "threshold": 5, "groups": ["race", "sex"],
            "features": ["age_cat", "sex", "priors_count", "c_charge_degree"],
            "bins": {"priors_count": [1, 4, 10], "decile_score": [3, 5, 8]},
        },
    ),
    "compas numbers": (
        compas,
        {"outcome": "two_year_recid", "score": "decile_score", "threshold": 5, "groups": "sex",
         "features": ["priors_count", "age", "juv_other_count"]},
    ),
    "adult": (adult, {"outcome": "income", "groups": ["sex", "race"], "positive": ">50K"}),
    "ricci": (ricci, {"decision": "passed", "score": "combined", "groups": ["race", "position"]}),
}  # fmt: skip


@cache
def audit(name: str) -> Any:
    """One of AUDITS, made once."""
    data, roles = AUDITS[name]
    return call("Audit", data(), **roles)


# -- the same table in every form ------------------------------------------------------------------------------------
@cache
def form(kind: str, table: str = "people") -> Any:
    """People as the kind of frame or file asked for."""
    import duckdb
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    frame = {"people": people, "gaps": gaps}[table]()
    texts = [name for name in frame if name in ("g", "level", "side", "part", "dt", "yt")]
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    path = scratch() / f"{table}-{kind}"
    match kind:
        case "pandas":
            return frame
        case "pandas categorical":
            return frame.astype(dict.fromkeys(texts, "category"))
        case "pandas nullable":
            return frame.convert_dtypes()
        case "pandas object":
            return frame.astype(object)
        case "polars":
            return pl.from_arrow(arrow)
        case "polars lazy":
            return pl.from_arrow(arrow).lazy()  # type: ignore[union-attr]
        case "polars categorical":
            return pl.from_arrow(arrow).with_columns(pl.col(pl.String).cast(pl.Categorical))  # type: ignore[union-attr]
        case "pyarrow":
            return arrow
        case "duckdb":
            return duckdb.connect().from_arrow(arrow)
        case "csv":
            frame.to_csv(path.with_suffix(".csv"), index=False)
            return path.with_suffix(".csv")
        case "csv glob":
            half = len(frame) // 2
            frame.iloc[:half].to_csv(f"{path}-1.csv", index=False)
            frame.iloc[half:, ::-1].to_csv(f"{path}-2.csv", index=False)
            return f"{path}-*.csv"
        case "tsv":
            frame.to_csv(path.with_suffix(".tsv"), index=False, sep="\t")
            return str(path.with_suffix(".tsv"))
        case "parquet":
            pq.write_table(arrow, path.with_suffix(".parquet"))
            return str(path.with_suffix(".parquet"))
        case "spark":
            pq.write_table(arrow, path.with_suffix(".parquet"))
            return spark().read.parquet(str(path.with_suffix(".parquet")))
    raise ValueError(kind)


FORMS = (
    "pandas", "pandas categorical", "pandas nullable", "pandas object", "polars", "polars lazy",
    "polars categorical",
    "pyarrow", "duckdb", "csv", "csv glob", "tsv", "parquet",
)  # fmt: skip


@cache
def spark() -> Any:
    """A small local Spark session."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").appName("fairtrial-snapshot")
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch()),
        "spark.sql.warehouse.dir": str(scratch() / "warehouse"),
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session

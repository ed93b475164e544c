"""One Audit in several threads and in another process: the same numbers."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest

import fairtrial

ROLES = {"outcome": "two_year_recid", "score": "decile_score", "threshold": 5, "groups": ["race", "sex"]}


def people() -> pd.DataFrame:
    frame: pd.DataFrame = fairtrial.load("compas")
    return frame


def as_csv(folder: Path) -> str:
    people().to_csv(folder / "people.csv", index=False)
    return str(folder / "people.csv")


def as_parquet(folder: Path) -> str:
    people().to_parquet(folder / "people.parquet")
    return str(folder / "people.parquet")


SOURCES: dict[str, Callable[[Path], Any]] = {
    "csv": as_csv,
    "parquet": as_parquet,
    "pandas": lambda folder: people(),
    "polars": lambda folder: pl.from_pandas(people()),
    "relation": lambda folder: duckdb.connect().from_arrow(pl.from_pandas(people()).to_arrow()),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_four_threads_share_an_audit(kind: str, tmp_path: Path) -> None:
    audit = fairtrial.Audit(SOURCES[kind](tmp_path), **ROLES)
    calls = [("race", "fpr"), ("sex", "tpr"), ("race", "ppv"), ("sex", "selection_rate")] * 3
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda call: fairtrial.measure(audit, call[1], by=call[0]).estimates, calls))
    alone = fairtrial.Audit(SOURCES[kind](tmp_path), **ROLES)
    for (by, metric), estimates in zip(calls, found, strict=True):
        assert estimates == fairtrial.measure(alone, metric, by=by).estimates


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "polars"])
def test_an_audit_is_passed_on(kind: str, tmp_path: Path) -> None:
    audit = fairtrial.Audit(SOURCES[kind](tmp_path), **ROLES)
    first = fairtrial.measure(audit, "fpr", by="race")
    passed = pickle.loads(pickle.dumps(audit))  # noqa: S301
    assert fairtrial.measure(passed, "fpr", by="race").estimates == first.estimates

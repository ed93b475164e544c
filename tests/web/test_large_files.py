"""A large file is read once: checks and looks are then made of a copy, and of counts of people alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from starlette.testclient import TestClient

import fairtrial
from inside.data import Counted, Query
from inside.web import COPY, LARGE, MEGABYTE, LookRequest, RatesExplorer, ServerSettings, create_app
from web_server import TOKEN

DATA: dict[str, Any] = {"outcome": "y", "score": "s", "threshold": 0.5, "groups": ["g", "h"]}
CONTENT: dict[str, Any] = {"data": DATA, "measure": {"metric": ["fpr"]}}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Few distinct rows, some without a group, an outcome or a score."""
    draws = np.random.default_rng(24)
    size = 4_000
    score = draws.integers(0, 20, size) / 20
    return pd.DataFrame(
        {
            "g": draws.choice(["a", "b", "c"], size, p=[0.6, 0.39, 0.01]),
            "h": draws.choice(["x", "y"], size),
            "s": score,
            "y": (draws.random(size) < 0.2 + 0.5 * score).astype(float),
        }
    )


@pytest.mark.parametrize("missing", ["error", "drop", "category"])
@pytest.mark.parametrize("metric", ["fpr", "accuracy", "ppv"])
def test_counts_of_people_alike_give_the_numbers_of_the_rows(
    frame: pd.DataFrame, metric: str, missing: Any
) -> None:
    if missing != "error":
        frame = frame.mask(np.random.default_rng(1).random(frame.shape) < 0.05)
        frame = frame.astype({"s": float, "y": float})
    if missing == "category":
        frame = frame.dropna(subset=["s", "y"])
    lines = frame.groupby(list(frame), dropna=False).size().reset_index(name="n")
    counted = Counted(pa.Table.from_pandas(lines, preserve_index=False), "n")
    declared = {**DATA, "missing": missing}
    answers = []
    for rows in (frame, counted):
        audit = fairtrial.Audit(rows, **declared)
        audit.check()
        assert audit.count_rows() == len(frame)
        judged = fairtrial.certify(audit.at(0.7), metric, by=["g", "h"], tolerance=0.1)
        answers.append((fairtrial.measure(audit.at(0.7), metric, depth=2), judged))
    for plain, other in zip(*answers, strict=True):
        assert plain.verdict == other.verdict
        assert plain.estimates == other.estimates


def test_what_needs_rows_is_not_asked_of_counts(frame: pd.DataFrame, tmp_path: Path) -> None:
    place = tmp_path / "rows.parquet"
    frame.to_parquet(place)
    explorer = RatesExplorer()
    for metric in ("mean_score", "brier"):
        seen = explorer.see({"data": DATA}, place, LookRequest(metric, ("g",), tolerance=0.1))
        expected = fairtrial.measure(fairtrial.Audit(frame, **DATA), metric, by="g").estimates
        assert seen["measure"]["estimates"][0]["rate"] == pytest.approx(expected[0]["rate"], rel=1e-12)


@pytest.mark.filterwarnings("ignore:Every decision is")
def test_what_is_asked_at_one_threshold_is_counted_once_and_told_as_the_api_tells_it(
    frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "rows.parquet"
    frame.to_parquet(place)
    asked: list[Query] = []
    grouped = Query.grouped
    monkeypatch.setattr(Query, "grouped", lambda query: (asked.append(query), grouped(query))[1])
    explorer, counts = RatesExplorer(), []
    audit = fairtrial.Audit(frame, **DATA).with_roles(names_attributes=True)  # as in every trial
    content = {"data": DATA, "report": {"suppress_below": 0}}
    explorer.see(content, place, LookRequest("fpr", ("g",), threshold=0.5))
    for threshold in (0.6, 0.0, 2.0, 0.6):  # at the ends everyone is decided alike; then back again
        rates = fairtrial.measure(audit.at(threshold), "fpr", by=["g"]).to_dict()
        for tolerance in (0.1, 0.02):
            judged = fairtrial.certify(audit.at(threshold), "fpr", by=["g"], tolerance=tolerance).to_dict()
            asked.clear()
            seen = explorer.see(content, place, LookRequest("fpr", ("g",), "rest", threshold, tolerance))
            counts.append(len(asked))
            for name, told in (("measure", rates), ("certify", judged)):
                assert seen[name]["estimates"] == told["estimates"]
                assert seen[name]["notes"] == told["notes"]
    assert counts == [1, 0, 1, 0, 1, 0, 0, 0]


def test_nothing_of_an_audit_is_kept_for_its_copies(frame: pd.DataFrame) -> None:
    audit = fairtrial.Audit(frame, **DATA).keeping_cells()
    before = fairtrial.measure(audit, "fpr", by="g").estimates
    assert len(audit.kept) == 1
    moved = fairtrial.measure(audit.at(0.9), "fpr", by="g").estimates
    assert (
        moved
        == fairtrial.measure(fairtrial.Audit(frame, **{**DATA, "threshold": 0.9}), "fpr", by="g").estimates
    )
    assert moved != before == fairtrial.measure(audit, "fpr", by="g").estimates


def test_sizes_are_planned_only_when_they_are_asked_for(frame: pd.DataFrame, tmp_path: Path) -> None:
    place = tmp_path / "rows.parquet"
    frame.to_parquet(place)
    quick, whole = (
        RatesExplorer().see({"data": DATA}, place, LookRequest("fpr", ("g",), tolerance=0.05, sizes=sizes))
        for sizes in (False, True)
    )
    assert quick["needed"] == []
    assert whole["needed"]
    assert quick["certify"]["verdict"]["code"] == whole["certify"]["verdict"]["code"]
    for one, other in zip(quick["certify"]["estimates"], whole["certify"]["estimates"], strict=True):
        assert one["state"] == other["state"]


def test_a_large_file_is_copied_once_and_gives_the_same_numbers(tmp_path: Path, frame: pd.DataFrame) -> None:
    block = frame.to_csv(index=False, header=False).encode()
    times = LARGE // len(block) + 1
    body = b"g,h,s,y\n" + block * times
    settings = ServerSettings(token=TOKEN, home=tmp_path / "home", most_upload=64 * MEGABYTE)
    with TestClient(create_app(settings), base_url="http://127.0.0.1:8721") as client:
        client.headers["authorization"] = f"Bearer {TOKEN}"
        file = client.post("/api/files", params={"name": "large.csv"}, content=body).json()["id"]
        assert (settings.home / "files" / file / COPY).is_file()
        assert client.get(f"/api/files/{file}").json()["rows"] == times * len(frame)
        assert client.post("/api/check", json={"file": file, "content": CONTENT}).json()["faults"] == []
        identity = client.post("/api/audits", json={"file": file, "content": CONTENT}).json()["id"]
        query = {"metric": "fpr", "by": "g", "threshold": 0.7}
        seen = client.get(f"/audits/{identity}/explore.json", params=query).json()
        assert seen["people"] == times * len(frame)
        whole = pd.concat([frame] * times, ignore_index=True)
        expected = fairtrial.measure(fairtrial.Audit(whole, **{**DATA, "threshold": 0.7}), "fpr", by="g")
        for told, own in zip(seen["measure"]["estimates"], expected.estimates, strict=True):
            for name in ("n", "rate", "rate_low", "difference", "difference_high"):
                assert told[name] == own[name]

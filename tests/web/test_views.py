"""What can be seen of a finished audit: each view's rows are those of its results, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import openpyxl
import pandas as pd
import pytest
from starlette.testclient import TestClient

import fairtrial
from inside.results import DARK, scalar
from inside.web import (
    EXPLORATORY,
    LookRequest,
    RatesExplorer,
    ServerSettings,
    marked_exploratory,
    on_dark,
    views,
)
from web_server import finished, run_to_end

COMPAS: dict[str, Any] = {
    "report": {"title": "COMPAS"},
    "data": {
        "outcome": "two_year_recid", "score": "decile_score", "threshold": 5, "groups": ["race", "sex"],
        "features": ["age", "priors_count"], "favourable": 0,
    },
    "measure": {"metric": ["selection_rate", "fpr"]},
    "certify": {"metric": "fpr", "tolerance": 0.1, "by": "race"},
    "flag": {"metric": "fpr", "depth": 2, "tolerance": 0.05},
    "scan": {"metric": "fpr", "protected": {"race": "African-American"}, "permutations": 99},
}  # fmt: skip
FAIR: dict[str, Any] = {
    "report": {"title": "Both halves"},
    "data": {"decision": "d", "groups": ["g"]},
    "certify": {"metric": "selection_rate", "tolerance": 0.2},
}


@pytest.fixture(scope="module")
def seen(client: TestClient) -> tuple[str, dict[str, Any]]:
    """An audit of COMPAS, and its results."""
    identity = run_to_end(client, COMPAS, "compas")
    return identity, client.get(f"/api/audits/{identity}/report/results.json").json()


@pytest.fixture(scope="module")
def improved() -> Any:
    """One small answer of improve."""
    draws = np.random.default_rng(7)
    group = draws.choice(["a", "b"], 600)
    skill = draws.normal(size=600)
    outcome = (skill + 0.5 * draws.normal(size=600) > 0).astype(int)
    decision = ((skill + (group == "a") * 0.8) > 0.3).astype(int)
    frame = pd.DataFrame({"g": group, "x": skill, "z": draws.normal(size=600), "y": outcome, "d": decision})
    audit = fairtrial.Audit(frame, decision="d", outcome="y", groups="g", features=["x", "z"])
    return fairtrial.improve(audit, candidates="frontier", splits=3, bootstrap=200)


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_every_view_that_has_something_to_show_has_json_and_csv(
    client: TestClient, seen: tuple[str, dict[str, Any]]
) -> None:
    identity, _ = seen
    present = client.get(f"/api/audits/{identity}/views").json()
    assert present == ["heatmap", "tests", "subgroups", "needed"]
    for view in views.VIEWS:
        assert client.get(f"/audits/{identity}/{view}").headers["content-type"].startswith("text/html")
        rows = client.get(f"/audits/{identity}/{view}.json").json()["rows"]
        assert len(rows_of(client.get(f"/audits/{identity}/{view}.csv").text)) == len(rows)
        assert bool(rows) == (view in present)
    assert client.get(f"/audits/{identity}/nothing.json").status_code == 422


def test_the_report_has_its_charts(client: TestClient, seen: tuple[str, dict[str, Any]]) -> None:
    """The limit of memory is one that the renderer of charts lives with."""
    identity, _ = seen
    for name in ("measure.rates", "scan.subgroup"):
        place = f"/api/audits/{identity}/report/charts/{name}.svg"
        light, dark = (client.get(place, params={"dark": dark}).text for dark in (False, True))
        assert light.startswith("<svg")
        assert '"#3c434c"' in light
        assert not [
            colour for colour in ("#000", *DARK) if f'"{colour}"' in dark
        ]  # what is read on white alone


def test_a_chart_keeps_its_data_s_words_and_says_that_it_is_exploratory() -> None:
    plain = '<svg class="m" width="200" height="50" viewBox="0 0 200 50"><text fill="#000">a fill="#000"</text></svg>'
    assert on_dark(plain) == plain.replace('<text fill="#000">', f'<text fill="{DARK["#3c434c"]}">')
    marked = marked_exploratory(plain)
    assert 'width="480" height="74" viewBox="0 0 480 74"' in marked
    assert marked.count(EXPLORATORY) == 1
    ElementTree.fromstring(marked)


def test_the_map_has_every_group_and_metric_and_says_what_was_not_tested(
    client: TestClient, seen: tuple[str, dict[str, Any]]
) -> None:
    identity, results = seen
    found = client.get(f"/audits/{identity}/heatmap.json").json()
    cells = {(row["group"], row["metric"]): row for row in found["rows"]}
    assert len(cells) == len(found["groups"]) * len(found["metrics"]) == len(found["rows"])
    significant = {(entry["subject"], entry["metric"]) for entry in results["family"] if entry["significant"]}
    for cell in found["rows"]:
        if cell["tone"] == "bad":  # colours follow the corrected verdict
            assert (cell["group"], cell["label"]) in significant
    assert cells["race: African-American", "fpr"]["tone"] == "bad"
    pair = cells["race: African-American, sex: Male", "selection_rate"]
    assert (pair["tested"], pair["state"], pair["reason"]) == (False, "not tested", views.NOT_ASKED)
    assert cells["race: Native American", "fpr"]["rate"] is None  # masked


def test_a_subgroup_tells_its_rates_and_how_it_was_found(
    client: TestClient, seen: tuple[str, dict[str, Any]]
) -> None:
    identity, results = seen
    found = client.get(f"/audits/{identity}/subgroups.json").json()
    scan = next(section for section in results["sections"] if section["id"] == "scan")["result"]
    listed = [row for row in found["rows"] if row["section"] == "scan"]
    assert [row["rate"] for row in listed] == [row["rate"] for row in scan["estimates"]]
    search = found["searches"]["scan"]
    assert search["facts"]["subgroups"] == scan["details"]["subgroups"]
    assert any("every one was considered" in text for text in search["reading"])


def test_whoever_is_undetermined_is_told_how_many_more_people_it_takes(
    client: TestClient, seen: tuple[str, dict[str, Any]]
) -> None:
    identity, results = seen
    certify = next(section for section in results["sections"] if section["id"] == "certify")["result"]
    undetermined = {row["group"]: row for row in certify["estimates"] if row["state"] == "undetermined"}
    assert undetermined
    rows = client.get(f"/audits/{identity}/needed.json").json()["rows"]
    assert {row["group"] for row in rows} == set(undetermined)
    for row in rows:
        own = undetermined[row["group"]]
        assert row["rows_needed"] == scalar(own["rows_needed"])
        more = scalar(own["members_needed"]) - own["n"]
        assert (row["more"], row["reason"]) == ((more, None) if more > 0 else (None, views.ENOUGH))
    query = {"metric": "fpr", "by": "race", "tolerance": 0.1}
    told = rows_of(client.get(f"/audits/{identity}/explore.csv", params=query).text)
    assert {row["group"] for row in told if row["against_tolerance"] == "undetermined"} == set(undetermined)
    assert {row["group"] for row in told if row["members_needed"]} == set(undetermined)


def test_frontier_and_surface_are_those_of_improve(improved: Any) -> None:
    section = {"id": "improve", "method": "improve", "result": improved.to_dict()}
    content = {"sections": [section], "family": [], "correction": {}}
    rows = views.frontier(content)["rows"]
    edge = [row for row in rows if row["frontier"]]
    assert rows
    for row in edge:  # nothing beats it in both
        assert not any(other["gap"] <= row["gap"] and other["accuracy"] > row["accuracy"] for other in rows)
    for loss in (0.0, 0.05, 0.2):
        told = views.surface(content, loss)["surfaces"]["improve"]
        for one in told["gains"]:
            gain = improved.surface(one["level"]).largest_fairness_gain(-loss)
            assert one["gain"] == (None if gain == -np.inf else gain)


def test_what_can_be_taken_away(client: TestClient, seen: tuple[str, dict[str, Any]]) -> None:
    identity, _ = seen
    for name in ("audit.toml", "audit.py", "audit.sh"):
        answer = client.get(f"/api/audits/{identity}/code/{name}")
        assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    archive = zipfile.ZipFile(io.BytesIO(client.get(f"/api/audits/{identity}/tables.zip").content))
    assert {"measure.csv", "flag.parquet"} <= set(archive.namelist())
    workbook = client.get(f"/api/audits/{identity}/tables.xlsx")
    assert workbook.headers["content-disposition"] == 'attachment; filename="tables.xlsx"'
    assert {"Summary", "measure", "flag"} <= set(
        openpyxl.load_workbook(io.BytesIO(workbook.content)).sheetnames
    )
    refused = client.get(f"/api/audits/{identity}/certificate.html")
    assert refused.status_code == 422
    assert "certificate" in refused.json()["faults"][0]


def test_a_certificate_says_that_it_is_exploratory(client: TestClient) -> None:
    body = "d,g\n" + "1,a\n0,a\n1,b\n0,b\n" * 400
    file = client.post("/api/files", params={"name": "halves.csv"}, content=body.encode()).json()["id"]
    told = []
    for look in (False, True):
        identity = client.post("/api/audits", json={"file": file, "content": FAIR}).json()["id"]
        if look:
            client.get(f"/audits/{identity}/explore.json")
        client.post(f"/api/audits/{identity}/plan")
        client.post(f"/api/audits/{identity}/run")
        assert finished(client, identity)["verdict"]["code"] == "certified"
        told.append(client.get(f"/api/audits/{identity}/certificate.html").text)
    assert ["xploratory" in text for text in told] == [False, True]
    # the two are compared
    pair = [meta["id"] for meta in client.get("/api/audits").json()][:2]
    query = {"old": pair[1], "new": pair[0]}
    found = client.get("/compare.json", params=query).json()
    assert found["verdict"]["changed"] is False
    assert len(rows_of(client.get("/compare.csv", params=query).text)) == len(found["tests"])
    assert client.get("/compare.json", params={**query, "old": "0" * 16}).status_code == 404


def test_a_watch_goes_on_from_audit_to_audit(client: TestClient, settings: ServerSettings) -> None:
    state = {"state": "weekly", "metric": "selection_rate", "period": "week", "tolerance": 0.1}
    content = {"data": {"decision": "d", "groups": ["g"]}, "watch": state}
    for week in (1, 2):
        draws = np.random.default_rng(week)
        frame = pd.DataFrame(
            {"d": draws.integers(0, 2, 300), "g": draws.choice(["a", "b"], 300), "week": week}
        )
        body = frame.to_csv(index=False).encode()
        file = client.post("/api/files", params={"name": f"week{week}.csv"}, content=body).json()["id"]
        identity = client.post("/api/audits", json={"file": file, "content": content}).json()["id"]
        assert client.post(f"/api/audits/{identity}/plan").status_code == 200
        client.post(f"/api/audits/{identity}/run")
        assert finished(client, identity)["stage"] == "done"
    [watch] = client.get("/watches.json").json()
    assert (watch["watch"], watch["audit"]) == ("weekly", identity)
    seen = client.get(f"/audits/{identity}/watch.json").json()
    assert sum(row["n"] for row in seen["rows"]) == 600  # both weeks
    assert seen["watches"]["watch"]["reading"]
    assert watch["verdict"] == seen["watches"]["watch"]["verdict"]["text"]
    first = next(meta["id"] for meta in client.get("/api/audits").json() if meta["title"] == "week1.csv")
    for gone, left in ((first, True), (identity, False)):  # the last of its audits takes it along
        client.delete(f"/api/audits/{gone}")
        assert (settings.home / "watches" / "weekly.jsonl").exists() == left


def test_a_look_masks_below_the_audit_s_own_limit(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    pd.DataFrame({"d": [0, 1] * 60, "g": ["few"] * 40 + ["many"] * 80}).to_csv(path, index=False)
    content = {"data": {"decision": "d", "groups": ["g"]}}
    asked = LookRequest("selection_rate", ("g",), tolerance=0.1)
    plain = RatesExplorer().see(content, path, asked)["measure"]["estimates"]
    assert [scalar(row["n"]) for row in plain] == [40, 80]
    masked = RatesExplorer().see({**content, "report": {"suppress_below": 50}}, path, asked)
    for question in ("measure", "certify"):
        assert scalar(masked[question]["estimates"][0]["n"]) is None

"""What is fixed before any rate is shown, and what says so when it was not."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.testclient import TestClient

from inside.web import EXPLORATORY, ServerSettings
from web_server import finished, written

CONTENT: dict[str, Any] = {
    "report": {"title": "Halves"},
    "data": {"decision": "d", "groups": ["g"], "favourable": 1},
    "measure": {"metric": "selection_rate"},
    "certify": {"metric": "selection_rate", "tolerance": 0.2},
}


def brought(client: TestClient, times: int, name: str = "halves.csv") -> str:
    """A file of as many rows; the same times are the same data."""
    body = "d,g\n" + "1,a\n0,a\n1,b\n0,b\n" * times
    return str(client.post("/api/files", params={"name": name}, content=body.encode()).json()["id"])


def made(client: TestClient, file: str, content: dict[str, Any] = CONTENT) -> str:
    return str(client.post("/api/audits", json={"file": file, "content": content}).json()["id"])


def planned(client: TestClient, identity: str) -> dict[str, Any]:
    told: dict[str, Any] = client.post(f"/api/audits/{identity}/plan").json()
    return told


def run(client: TestClient, identity: str) -> None:
    planned(client, identity)
    assert client.post(f"/api/audits/{identity}/run").status_code == 202
    assert finished(client, identity)["stage"] == "done"


def test_the_fingerprint_is_that_of_a_file_that_can_be_kept(
    client: TestClient, settings: ServerSettings
) -> None:
    file = brought(client, 300)
    identity = made(client, file, {**CONTENT, "preset": "general"})
    assert client.get(f"/api/audits/{identity}/plan.json").status_code == 409  # nothing is fixed yet
    meta = planned(client, identity)
    kept = client.get(f"/api/audits/{identity}/plan.json").content
    assert hashlib.sha256(kept).hexdigest() == meta["plan"]
    plan = json.loads(kept)
    body = "d,g\n" + "1,a\n0,a\n1,b\n0,b\n" * 300
    assert plan["data_sha256"] == hashlib.sha256(body.encode()).hexdigest()
    assert {"id": "certify", "method": "certify", "arguments": CONTENT["certify"]} in plan["questions"]
    assert len(plan["questions"]) > 2  # those of the preset too
    assert str(settings.home) not in kept.decode()
    again = made(client, file, {**CONTENT, "preset": "general", "report": {"title": "Other words"}})
    assert (
        planned(client, again)["plan"] != meta["plan"]
    )  # by its salt: a fingerprint tells nobody of which data
    assert len(plan["salt"]) == 32
    assert without_salt(client, again) == without_salt(client, identity)
    other = made(client, file, {**CONTENT, "certify": {"metric": "selection_rate", "tolerance": 0.1}})
    planned(client, other)
    assert without_salt(client, other) != without_salt(client, identity)


def without_salt(client: TestClient, identity: str) -> dict[str, Any]:
    kept = json.loads(client.get(f"/api/audits/{identity}/plan.json").content)
    return {name: value for name, value in kept.items() if name != "salt"}


@pytest.mark.parametrize("shown_by", ["a look", "a run", "one that was deleted"])
def test_data_whose_rates_were_shown_are_known_again(client: TestClient, shown_by: str) -> None:
    times = 310 + 2 * len(shown_by)
    early, first = (made(client, brought(client, times)) for _ in range(2))
    planned(client, early)  # fixed before anything was shown
    if shown_by == "a run":
        run(client, first)
    else:
        client.get(f"/audits/{first}/explore.json")
    if shown_by == "one that was deleted":
        client.delete(f"/api/audits/{first}")
    assert planned(client, early)["exploratory"] is False
    late = made(client, brought(client, times, "another name.csv"))
    assert client.get(f"/api/audits/{late}").json()["exploratory"] is True  # said before it is fixed
    assert planned(client, late)["exploratory"] is True
    fresh = made(client, brought(client, times + 1))
    assert planned(client, fresh)["exploratory"] is False


def test_a_plan_that_waits_while_rates_are_shown_is_no_longer_one(client: TestClient) -> None:
    waiting, looking = (made(client, brought(client, 400)) for _ in range(2))
    client.get(f"/audits/{looking}/explore.csv")
    assert client.get(f"/api/audits/{waiting}").json()["exploratory"] is False
    assert planned(client, waiting)["exploratory"] is True


def exports(client: TestClient, settings: ServerSettings, identity: str) -> dict[str, tuple[str, str]]:
    """Everything that can be taken away of an audit: its file's name, and what is in it."""
    base = f"/api/audits/{identity}"
    places = [f"{base}/report/{name}?download=true" for name in ("results.json", "report.html", "summary.md")]
    places += [f"{base}/code/audit.{kind}" for kind in ("toml", "py", "sh")]
    views = ["", *(f"/{name}" for name in client.get(f"{base}/views").json()), "/explore"]
    places += [f"/audits/{identity}{view}.{kind}" for view in views for kind in ("json", "csv")]
    pair = f"?old={identity}&new={identity}"
    places += [f"/compare.json{pair}", f"/compare.csv{pair}", f"{base}/certificate.html"]
    report = settings.home / "audits" / identity / "report"
    places += [f"{base}/report/{name}" for name in sorted(written(report))]
    answers = {place: client.get(place) for place in places}
    assert {place: answer.status_code for place, answer in answers.items() if answer.status_code != 200} == {}
    told = {
        place: (answer.headers.get("content-disposition", ""), answer.text)
        for place, answer in answers.items()
    }
    archive = zipfile.ZipFile(io.BytesIO(client.get(f"{base}/tables.zip").content))
    workbook = client.get(f"{base}/tables.xlsx").headers["content-disposition"]
    return told | {name: (name, "") for name in archive.namelist()} | {"tables.xlsx": (workbook, "")}


@pytest.mark.slow
def test_everything_that_leaves_says_exploratory_and_nothing_else_does(
    client: TestClient, settings: ServerSettings
) -> None:
    first, second = (made(client, brought(client, 500 + look)) for look in (False, True))
    client.get(f"/audits/{second}/explore.json")
    for identity, exploratory in ((first, False), (second, True)):
        run(client, identity)
        for place, (name, text) in exports(client, settings, identity).items():
            said = text.replace('"exploratory":false', "")
            assert exploratory == ("xploratory" in said or "exploratory" in name), place
            if "/code/" in place or place.endswith(".svg"):
                assert exploratory == (EXPLORATORY in text), place
            assert str(settings.home) not in text, place
    code = client.get(f"/api/audits/{second}/code").json()
    assert 'title = "Exploratory: Halves"' in code["audit.toml"]
    assert 'source = "halves.csv"' in code["audit.toml"]


def test_plans_and_runs_that_come_at_once_with_a_deletion_are_answered(client: TestClient) -> None:
    identity = made(client, brought(client, 600, "odd [1] *name*?.csv"))
    paths = [f"/api/audits/{identity}/{action}" for action in ("plan", "plan", "run", "run", "cancel", "run")]
    with ThreadPoolExecutor(7) as pool:
        asked = [pool.submit(client.post, path) for path in paths]
        gone = pool.submit(client.delete, f"/api/audits/{identity}")
    codes = {done.result().status_code for done in asked}
    assert codes <= {200, 202, 404, 409, 422}
    assert gone.result().status_code == 204

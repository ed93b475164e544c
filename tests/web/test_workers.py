"""Audits in processes of their own: killed, out of memory, out of time, stopped; none takes the server along."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from inside.web import MEGABYTE, ServerSettings, create_app
from web_server import TOKEN, finished, made_audit, run_to_end, wait_for, workers

QUICK: dict[str, Any] = {
    "data": {"decision": "passed", "groups": ["race"]},
    "measure": {"metric": "selection_rate"},
}
LONG: dict[str, Any] = {
    "data": {"outcome": "two_year_recid", "score": "decile_score", "threshold": 5, "groups": ["race"]},
    "scan": {
        "metric": "fpr",
        "protected": {"race": "African-American"},
        "permutations": 100_000,
    },
}


def opened(settings: ServerSettings) -> TestClient:
    """A browser at a server of its own."""
    headers = {"authorization": f"Bearer {TOKEN}"}
    return TestClient(create_app(settings), base_url="http://127.0.0.1:8721", headers=headers)


def started(client: TestClient, content: dict[str, Any], dataset: str) -> str:
    identity = made_audit(client, content, dataset)
    assert client.post(f"/api/audits/{identity}/plan").status_code == 200
    assert client.post(f"/api/audits/{identity}/run").status_code == 202
    return identity


@pytest.fixture
def own(tmp_path: Path) -> ServerSettings:
    """Settings of a server with a home of its own."""
    return ServerSettings(token=TOKEN, home=tmp_path / "home", most_running=2)


def test_a_worker_that_is_killed_takes_nothing_along(own: ServerSettings) -> None:
    with opened(own) as client:
        killed = started(client, LONG, "compas")
        other = started(client, QUICK, "ricci")
        place = str(own.home / "audits" / killed).encode()
        [victim] = wait_for(
            lambda: [pid for pid in workers(own.home) if place in Path(f"/proc/{pid}/cmdline").read_bytes()]
        )
        os.kill(victim, signal.SIGKILL)
        meta = finished(client, killed)
        assert (meta["stage"], "code -9" in meta["error"]) == ("failed", True)
        assert finished(client, other)["stage"] == "done"
        said = client.get(f"/api/audits/{killed}/events").text.splitlines()
        assert json.loads([line for line in said if line.startswith("data: ")][-1][6:])["stage"] == "failed"
        # it can be run again, and be cancelled
        assert client.post(f"/api/audits/{killed}/run").status_code == 202
        assert client.post(f"/api/audits/{killed}/run").status_code == 422  # not twice at once
        client.post(f"/api/audits/{killed}/cancel")
        assert finished(client, killed)["stage"] == "cancelled"
        wait_for(lambda: not workers(own.home))


def test_an_audit_that_needs_too_much_memory_or_time_fails_alone(own: ServerSettings) -> None:
    small = replace(own, most_memory=200 * MEGABYTE)
    with opened(small) as client:
        identity = started(client, QUICK, "ricci")
        assert finished(client, identity)["stage"] == "failed"
        assert client.get("/api/audits").status_code == 200
    with opened(replace(own, most_seconds=1)) as client:
        identity = started(client, LONG, "compas")
        meta = finished(client, identity)
        assert (meta["stage"], "took longer" in meta["error"]) == ("failed", True)
    assert workers(own.home) == []


def test_a_server_that_stops_ends_its_processes_and_goes_on_later(own: ServerSettings) -> None:
    with opened(own) as client:
        running = started(client, LONG, "compas")
        wait_for(lambda: workers(own.home))
    assert workers(own.home) == []
    with opened(own) as client:
        meta = client.get(f"/api/audits/{running}").json()
        assert meta["stage"] == "stopped"
        assert client.delete(f"/api/audits/{running}").status_code == 204
        assert list((own.home / "audits").iterdir()) == []
        assert list((own.home / "files").iterdir()) == []  # no other audit was of that file


def test_an_audit_is_deleted_while_it_runs_and_while_others_delete_it(own: ServerSettings) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with opened(own) as client:
        identity = started(client, LONG, "compas")
        wait_for(lambda: workers(own.home))
        paths = [f"/api/audits/{identity}"] * 6
        with ThreadPoolExecutor(6) as pool:
            reading = [pool.submit(client.get, path) for path in paths]
            deleting = [pool.submit(client.delete, path) for path in paths]
            changing = [pool.submit(client.post, f"{path}/plan") for path in paths]
        codes = {done.result().status_code for done in [*reading, *deleting, *changing]}
        assert codes <= {200, 204, 404}
        assert [done.result().status_code for done in deleting].count(204) == 1
        wait_for(lambda: not workers(own.home))
        assert list((own.home / "audits").iterdir()) == []
        assert client.get(f"/api/audits/{identity}/events").status_code == 404


def test_what_a_question_took_here_tells_what_the_next_one_takes(own: ServerSettings) -> None:
    with opened(own) as client:
        file = client.post("/api/files/dataset", json={"name": "ricci"}).json()["id"]
        [before] = client.post("/api/check", json={"file": file, "content": QUICK}).json()["questions"]
        assert (before["method"], before["seconds"]) == ("measure", 1.0)  # as declared
        identity = run_to_end(client, QUICK)
        took = client.get(f"/api/audits/{identity}").json()["seconds"]["measure"]
        [after] = client.post("/api/check", json={"file": file, "content": QUICK}).json()["questions"]
        assert after["seconds"] == pytest.approx(took)


def test_a_worker_ends_with_a_server_that_was_killed(own: ServerSettings) -> None:
    """Nothing is left that would hold the audit's lock."""
    started_here = (
        "import time\n"
        "from test_workers import LONG, ServerSettings, Path, opened, started\n"
        f"own = ServerSettings(token={TOKEN!r}, home=Path({str(own.home)!r}))\n"
        "client = opened(own).__enter__()\n"
        "started(client, LONG, 'compas'); print('ready', flush=True); time.sleep(600)\n"
    )
    folder = Path(__file__).parent
    path = os.pathsep.join(
        [str(folder), str(folder.parent), str(folder.parent.parent), os.environ.get("PYTHONPATH", "")]
    )
    server = subprocess.Popen(
        [sys.executable, "-c", started_here], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}
    )
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    wait_for(lambda: workers(own.home))
    server.kill()
    server.wait()
    server.stdout.close()
    wait_for(lambda: not workers(own.home))

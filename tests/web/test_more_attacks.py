"""What fills the memory, holds connections open, leaves the machine, or takes the token."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import uvicorn
from starlette.testclient import TestClient

import fairtrial
from inside.web import (
    MEGABYTE,
    MOST_JOBS,
    ServerSettings,
    Unreadable,
    create_app,
    look,
    patient_protocol,
    receive,
)
from web_browser import listening_on_a_free_port
from web_server import TOKEN

RICCI: dict[str, Any] = {
    "data": {"decision": "passed", "groups": ["race"]},
    "measure": {"metric": "selection_rate"},
}


@pytest.mark.parametrize(
    "run", [{"parallel": "tcp://203.0.113.1:8786"}, {"parallel": "dask"}, {"jobs": MOST_JOBS + 1}]
)
def test_no_audit_of_a_page_is_sent_elsewhere_or_takes_every_core(
    client: TestClient, run: dict[str, Any]
) -> None:
    file = client.post("/api/files/dataset", json={"name": "ricci"}).json()["id"]
    content = {**RICCI, "run": run}
    assert client.post("/api/check", json={"file": file, "content": content}).status_code == 422
    identity = client.post("/api/audits", json={"file": file, "content": content}).json()["id"]
    assert client.post(f"/api/audits/{identity}/plan").status_code == 422
    assert client.post(f"/api/audits/{identity}/run").status_code == 409


def test_more_than_a_form_holds_is_not_read(client: TestClient) -> None:
    body = b'{"file": "x", "content": {"x": "' + b"y" * 5 * MEGABYTE + b'"}}'
    headers = {"content-type": "application/json"}
    assert client.post("/api/check", content=body, headers=headers).status_code == 413
    parts = (body[start : start + 65_536] for start in range(0, len(body), 65_536))
    assert client.post("/api/check", content=parts, headers=headers).status_code == 400  # broken off


def test_cookies_of_other_programs_of_the_machine_do_no_harm(client: TestClient) -> None:
    for cookie in ("a/b=1; x", "fairtrial-8721", "=;;=", "fairtrial-99=" + TOKEN, "ä=ö"):
        headers = {b"cookie": cookie.encode("latin-1"), b"authorization": b""}
        assert client.get("/api/audits", headers=headers).status_code == 401
    own = {"cookie": f"a/b=1; fairtrial-8721={TOKEN}", "authorization": ""}
    assert client.get("/api/audits", headers=own).status_code == 200


def test_what_a_browser_is_started_with_opens_the_page_once(tmp_path: Path) -> None:
    settings = ServerSettings(token=TOKEN, home=tmp_path / "home")
    assert TOKEN not in settings.ticket_address
    app = create_app(settings)
    own = {"base_url": "http://127.0.0.1:8721", "follow_redirects": False}
    with TestClient(app, **own) as browser, TestClient(app, **own) as thief:  # type: ignore[arg-type]
        answer = browser.get("/", params={"token": settings.ticket})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert browser.get("/api/audits").status_code == 200
        assert thief.get("/", params={"token": settings.ticket}).status_code == 401
        assert (
            thief.get("/api/audits", headers={"authorization": f"Bearer {settings.ticket}"}).status_code
            == 401
        )


def test_a_server_of_every_address_is_asked_for_by_addresses_and_by_no_foreign_name() -> None:
    settings = ServerSettings(host="0.0.0.0", token=TOKEN)
    known = ("192.168.1.5:8721", "127.0.0.1:8721", "[::1]:8721", f"{socket.gethostname()}:8721")
    assert all(settings.knows(host) for host in known)
    assert not any(
        settings.knows(host) for host in ("evil.example:8721", "192.168.1.5:80", "", "8721", ":8721")
    )
    assert not ServerSettings(token=TOKEN).knows("192.168.1.5:8721")


def test_connections_that_do_not_finish_a_head_are_ended(tmp_path: Path) -> None:
    """Thirty of them, for a few seconds, on this machine alone."""
    listening = listening_on_a_free_port()
    port = listening.getsockname()[1]
    app = create_app(ServerSettings(port=port, token=TOKEN, home=tmp_path / "home"))
    running = uvicorn.Server(uvicorn.Config(app, log_level="warning", http=patient_protocol(0.5)))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    listening.listen()  # as the command does: whoever comes early waits
    whole = f"GET / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n".encode()
    heads = [b"", b"GET / HT", whole + b"GET / HTTP/1.1\r\nhost: "]  # the last after an answer
    held = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(30)]
    for number, connection in enumerate(held):
        connection.sendall(heads[number % 3])
    for connection in held:
        while connection.recv(65_536):
            pass  # an answer, and then the end
        connection.close()
    running.should_exit = True
    thread.join(30)
    listening.close()
    assert not thread.is_alive()


@pytest.mark.slow
def test_strangers_connections_are_few_and_short_and_lock_nobody_out(tmp_path: Path) -> None:
    """Three hundred that show no token, beside one that does: that one is answered, and theirs are ended."""
    listening = listening_on_a_free_port()
    port = listening.getsockname()[1]
    app = create_app(ServerSettings(port=port, token=TOKEN, home=tmp_path / "home"))
    protocol = patient_protocol(admits=app.admits, stranger_seconds=8.0)
    running = uvicorn.Server(uvicorn.Config(app, log_level="warning", http=protocol, limit_concurrency=150))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    listening.listen(512)
    owner, late = (HTTPConnection("127.0.0.1", port, timeout=300) for _ in range(2))

    def answered(connection: HTTPConnection) -> int:
        connection.request("GET", "/", headers={"authorization": f"Bearer {TOKEN}"})
        answer = connection.getresponse()
        answer.read()
        return answer.status

    assert answered(owner) == 200
    held = [socket.create_connection(("127.0.0.1", port), timeout=300) for _ in range(300)]
    assert answered(late) == 200  # more came than are served at once
    for connection in held:
        assert connection.recv(10) == b""
        connection.close()
    for connection in (owner, late):
        connection.close()
    running.should_exit = True
    thread.join(30)
    listening.close()


def test_an_upload_that_stalls_is_ended_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, settings: ServerSettings
) -> None:
    from inside.web import Store, app

    monkeypatch.setattr(app, "STALLED", 0.05)

    async def stalling() -> AsyncIterator[bytes]:
        yield b"a,b\n"
        await asyncio.sleep(60)

    store = Store(settings.home)
    before = {meta["id"] for meta in store.files.all()}
    clock = time.monotonic()
    # in a thread of its own: a browser test of the same process may have a loop running
    with ThreadPoolExecutor(1) as apart, pytest.raises(Unreadable) as caught:
        apart.submit(lambda: asyncio.run(receive(store, settings, "x.csv", stalling()))).result()
    assert (caught.value.status, time.monotonic() - clock < 30) == (408, True)
    assert {meta["id"] for meta in store.files.all()} == before


def test_few_bytes_that_stand_for_very_many_rows_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table = pa.table({"d": np.ones(10_000, dtype=np.int64), "g": ["a"] * 10_000})
    parquet.write_table(table, tmp_path / "rows.parquet")
    monkeypatch.setattr(look, "MOST_ROWS", 5_000)
    assert look.looked_at(tmp_path / "rows.parquet")["rows"] == 10_000  # of the machine's own user
    with pytest.raises(fairtrial.InputError, match="10,000 rows; 5,000 are the most"):
        look.looked_at(tmp_path / "rows.parquet", unpacked=MEGABYTE)


def test_content_that_is_no_spec_can_still_be_shown_as_code(client: TestClient) -> None:
    file = client.post("/api/files/dataset", json={"name": "ricci"}).json()["id"]
    content = {**RICCI, "x": [{"a": 1}, 0.5], "y": [], "z": {"a": {"b": [{}]}}, "w": None}
    identity = client.post("/api/audits", json={"file": file, "content": content}).json()["id"]
    assert client.get(f"/api/audits/{identity}/code").status_code == 200


def test_looks_are_masked_by_the_reports_own_limit(client: TestClient) -> None:
    file = client.post("/api/files/dataset", json={"name": "ricci"}).json()["id"]
    shown = {}
    for below in (0, 40, "x"):
        content = {**RICCI, "report": {"suppress_below": below}}
        identity = client.post("/api/audits", json={"file": file, "content": content}).json()["id"]
        seen = client.get(f"/audits/{identity}/explore.json").json()
        shown[below] = [isinstance(row["rate"], float) for row in seen["measure"]["estimates"]]
    assert all(shown[0])
    assert not any(shown[40])
    assert any(shown["x"])  # as by default
    assert not all(shown["x"])

"""A server in this process, with a home of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from inside.web import ServerSettings, create_app

TOKEN = "a-token-of-the-tests"


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> ServerSettings:
    """Small limits, so that reaching them costs nothing."""
    folder = tmp_path_factory.mktemp("folder")
    (folder / "own.csv").write_text("g,d\na,1\nb,0\n" * 40)
    home = tmp_path_factory.mktemp("home")
    return ServerSettings(
        token=TOKEN, home=home, folder=folder, most_upload=200_000, most_running=1, most_waiting=2
    )


@pytest.fixture(scope="module")
def client(settings: ServerSettings) -> Iterator[TestClient]:
    """A browser that has the token."""
    with TestClient(create_app(settings), base_url="http://127.0.0.1:8721") as made:
        made.headers["authorization"] = f"Bearer {TOKEN}"
        yield made


def made_audit(client: TestClient, content: dict[str, Any], dataset: str = "ricci") -> str:
    """A new audit of a bundled dataset."""
    file = client.post("/api/files/dataset", json={"name": dataset}).json()["id"]
    return str(client.post("/api/audits", json={"file": file, "content": content}).json()["id"])


def finished(client: TestClient, identity: str, seconds: float = 120.0) -> dict[str, Any]:
    """The audit once it has ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        meta: dict[str, Any] = client.get(f"/api/audits/{identity}").json()
        if meta["stage"] not in ("queued", "running"):
            return meta
        time.sleep(0.2)
    raise AssertionError("the audit did not end")


def written(path: Path) -> set[str]:
    """Names of the files below a folder."""
    return {str(found.relative_to(path)) for found in path.rglob("*") if found.is_file()}


def run_to_end(client: TestClient, content: dict[str, Any], dataset: str = "ricci") -> str:
    """A finished audit of a bundled dataset."""
    identity = made_audit(client, content, dataset)
    assert client.post(f"/api/audits/{identity}/plan").status_code == 200
    assert client.post(f"/api/audits/{identity}/run").status_code == 202
    meta = finished(client, identity)
    assert meta["stage"] == "done", meta["error"]
    return identity


def workers(home: Path) -> list[int]:
    """Processes that run audits or look at files of this home."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended meanwhile
        if any(word.startswith(b"fairtrial._web.") for word in words) and any(
            str(home).encode() in word for word in words
        ):
            found.append(int(place.parent.name))
    return found


def wait_for(condition: Any, seconds: float = 60.0) -> Any:
    """What a condition gives as soon as it holds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answer := condition():
            return answer
        time.sleep(0.1)
    raise AssertionError("it did not come about")

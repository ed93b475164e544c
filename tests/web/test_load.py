"""Fifty pages watch five audits that run: all are told of it, pages answer meanwhile, and nothing is left behind.

Bounded: 50 streams and 40 page actions, of which every fifth moves a threshold, on this machine alone, each with a
limit of time. What page actions take is printed (pytest -s): docs/serve.md.
"""

from __future__ import annotations

import statistics
import threading
import time
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from inside.web import ServerSettings
from web_browser import listening_on_a_free_port, serve
from web_server import TOKEN, wait_for, workers

CLIENTS, AUDITS, ACTIONS = 50, 5, 40
LONG: dict[str, Any] = {
    "data": {"outcome": "two_year_recid", "score": "decile_score", "threshold": 5, "groups": ["race"]},
    "scan": {"metric": "fpr", "protected": {"race": "African-American"}, "permutations": 100_000},
}


def watch(base: str, identity: str, counts: list[int], place: int) -> None:
    """Read a stream of events to its end."""
    headers = {"authorization": f"Bearer {TOKEN}"}
    with httpx.stream("GET", f"{base}/api/audits/{identity}/events", headers=headers, timeout=120) as answer:
        for line in answer.iter_lines():
            counts[place] += line.startswith("data: ")


@pytest.mark.slow
def test_fifty_pages_watch_five_audits(tmp_path: Path) -> None:
    listening = listening_on_a_free_port()
    port = listening.getsockname()[1]
    settings = ServerSettings(port=port, token=TOKEN, home=tmp_path / "home", most_running=AUDITS)
    base = f"http://127.0.0.1:{port}"
    threads_before = threading.active_count()
    for _ in serve(settings, listening):
        with httpx.Client(base_url=base, headers={"authorization": f"Bearer {TOKEN}"}, timeout=120) as client:
            took, counts = loaded(client, base, settings)
    looks = statistics.median(took[4::5])
    print(
        f"median of {len(took)} page actions: {1000 * statistics.median(took):.0f} ms; looks: {1000 * looks:.0f} ms"
    )
    assert min(counts) >= 2  # everyone was told of the run and of its end
    assert workers(settings.home) == []
    wait_for(lambda: threading.active_count() <= threads_before + 1, 20)
    left = [path for path in settings.home.rglob("*") if path.name.endswith((".part", ".going"))]
    assert left == []


def loaded(client: httpx.Client, base: str, settings: ServerSettings) -> tuple[list[float], list[int]]:
    """Times of page actions while fifty watch five, and how often each was told something."""
    identities = []
    for _ in range(AUDITS):
        file = client.post("/api/files/dataset", json={"name": "compas"}).json()["id"]
        identities.append(client.post("/api/audits", json={"file": file, "content": LONG}).json()["id"])
        client.post(f"/api/audits/{identities[-1]}/plan")
        assert client.post(f"/api/audits/{identities[-1]}/run").status_code == 202
    counts = [0] * CLIENTS
    watching = [
        threading.Thread(target=watch, args=(base, identities[place % AUDITS], counts, place), daemon=True)
        for place in range(CLIENTS)
    ]
    for thread in watching:
        thread.start()
    wait_for(lambda: len(workers(settings.home)) == AUDITS)
    took = []
    for number in range(ACTIONS):
        identity = identities[number % AUDITS]
        look = (
            f"/audits/{identity}/explore.json?metric=fpr&threshold={1 + number % 9}&tolerance=0.1&sizes=false"
        )
        path = ("/", "/api/audits", "/api/about", f"/api/audits/{identity}", look)[number % 5]
        clock = time.perf_counter()
        assert client.get(path).status_code == 200
        took.append(time.perf_counter() - clock)
    for identity in identities:
        client.post(f"/api/audits/{identity}/cancel")
    for thread in watching:
        thread.join(60)
        assert not thread.is_alive()
    return took, counts

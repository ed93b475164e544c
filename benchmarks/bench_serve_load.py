"""serve under load: page actions while fifty pages watch five audits that run. For a machine that is otherwise idle."""

from __future__ import annotations

import contextlib
import os
import statistics
import tempfile
import threading
import time

from bench_serve import COMPAS, Server, running, started_by
from harness import Row, limit

CLIENTS, AUDITS = 50, 5
LONG = {
    "data": COMPAS["data"],
    "scan": {"metric": "fpr", "protected": {"race": "African-American"}, "permutations": 100_000},
}


def watch(server: Server, identity: str) -> None:
    """Read a stream of events until the server ends it."""
    with (
        contextlib.suppress(OSError),
        server.browser.open(f"{server.base}api/audits/{identity}/events", timeout=600) as stream,
    ):
        for _ in stream:
            pass


def loaded(server: Server) -> list[str]:
    """The audits, once all of them run and all pages watch."""
    identities = []
    for _ in range(AUDITS):
        file = server.ask("POST", "api/files/dataset", {"name": "compas"})["id"]
        identities.append(server.ask("POST", "api/audits", {"file": file, "content": LONG})["id"])
        server.ask("POST", f"api/audits/{identities[-1]}/plan")
        server.ask("POST", f"api/audits/{identities[-1]}/run")
    for place in range(CLIENTS):
        threading.Thread(target=watch, args=(server, identities[place % AUDITS]), daemon=True).start()
    end = time.monotonic() + 120
    while len(started_by(server.process.pid)) < AUDITS and time.monotonic() < end:
        time.sleep(0.2)
    assert len(started_by(server.process.pid)) == AUDITS
    return identities


def actions(server: Server, identities: list[str], rounds: int) -> tuple[list[float], list[float]]:
    """Seconds of page actions and of moves of the threshold, one after the other as a person makes them."""
    pages, moves = [], []
    for number in range(rounds):
        identity = identities[number % AUDITS]
        for path in ("api/audits", "api/about", f"api/audits/{identity}"):
            clock = time.perf_counter()
            server.ask("GET", path)
            pages.append(time.perf_counter() - clock)
        query = {"metric": "fpr", "by": "race", "tolerance": 0.1, "sizes": "false"}
        clock = time.perf_counter()
        server.ask("GET", f"audits/{identity}/explore.json", **query, threshold=1 + number % 10)
        moves.append(time.perf_counter() - clock)
    return pages, moves


def run(quick: bool) -> list[Row]:
    with (
        tempfile.TemporaryDirectory() as folder,
        running(os.path.join(folder, "home"), "--jobs", str(AUDITS)) as server,
    ):
        identities = loaded(server)
        actions(server, identities, AUDITS)  # each audit's data are read at its first look
        pages, moves = actions(server, identities, 20 if quick else 100)
        for identity in identities:
            server.ask("POST", f"api/audits/{identity}/cancel")
    named = f"with {CLIENTS} pages watching {AUDITS} audits that run, median"
    return [
        limit(f"page action {named}", statistics.median(pages), 0.2, note="wall time"),
        limit(f"move of the threshold {named}", statistics.median(moves), 0.2, note="wall time"),
    ]

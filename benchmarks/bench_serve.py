"""serve: from its start to the first page, moving the threshold, and a file of half a gigabyte."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from harness import Row, limit

MEGABYTE = 1024**2
COMPAS = {
    "data": {"outcome": "two_year_recid", "score": "decile_score", "threshold": 5, "groups": ["race"]},
    "measure": {"metric": "fpr"},
}
LARGE = {
    "data": {"outcome": "outcome", "score": "score", "threshold": 0.5, "groups": ["race"]},
    "measure": {"metric": "fpr"},
}


class Server:
    """The command in a process of its own, asked as a page asks it."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process, self.base = process, address.split("?")[0]
        self.browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        self.browser.open(address, timeout=600).read()
        self.peak = {"server": 0.0, "others": 0.0}

    def ask(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """An answer as JSON."""
        sent = body if body is None or hasattr(body, "read") else json.dumps(body).encode()
        asked = urllib.request.Request(f"{self.base}{path}?{urlencode(query)}", data=sent, method=method)
        asked.add_header("content-type", "application/json")
        if hasattr(body, "read"):
            asked.add_header("content-length", str(os.fstat(body.fileno()).st_size))
        return json.loads(self.browser.open(asked, timeout=1200).read())

    def processor(self) -> float:
        """Seconds that the server's own process has taken."""
        parts = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")

    def watch_memory(self, done: threading.Event) -> None:
        """Keep the peaks of the server and of the processes that it started, in MB."""
        while not done.wait(0.1):
            others = [resident(pid) for pid in started_by(self.process.pid)]
            self.peak["server"] = max(self.peak["server"], resident(self.process.pid))
            self.peak["others"] = max(self.peak["others"], sum(others))


def resident(pid: int) -> float:
    """Of a process, in MB."""
    with contextlib.suppress(OSError):
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGESIZE") / MEGABYTE
    return 0.0


def started_by(parent: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(place.read_text(encoding="utf-8").rsplit(")", 1)[1].split()[1]) == parent:
                found.append(int(place.parent.name))
    return found


@contextlib.contextmanager
def running(home: str, *more: str) -> Iterator[Server]:
    """A server on a free port of this machine, until the end of the block."""
    command = [
        sys.executable,
        "-m",
        "fairtrial",
        "serve",
        "--port",
        "0",
        "--home",
        home,
        "--upload",
        "600",
        *more,
    ]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http\S+", process.stdout.readline())
            assert found is not None
            yield Server(process, found.group())
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


def write_file(place: Path, size: int) -> int:
    """A CSV file of about so many bytes; gives how many rows it has."""
    draws, rows = np.random.default_rng(1), 200_000
    race = draws.choice(["African-American", "Caucasian", "Hispanic", "Other"], rows)
    score = draws.integers(1, 1000, rows) / 1000
    outcome = (draws.random(rows) < score).astype(int)
    lines = zip(race, score, outcome, strict=True)
    block = "".join(f"{who},{how:.3f},{what}\n" for who, how, what in lines).encode()
    with place.open("wb") as file:
        file.write(b"race,score,outcome\n")
        for _ in range(size // len(block)):
            file.write(block)
    return rows * (size // len(block))


def looks(server: Server, identity: str, thresholds: list[float], metric: str = "fpr") -> list[float]:
    """Seconds of processor that a move to each threshold takes."""
    took = []
    for threshold in thresholds:
        before = server.processor()
        for nudge in range(
            5
        ):  # the clock of processes has hundredths; just below, nobody is decided otherwise
            query = {"metric": metric, "by": "race", "tolerance": 0.1, "sizes": "false"}
            server.ask("GET", f"audits/{identity}/explore.json", **query, threshold=threshold - nudge * 1e-9)
        took.append((server.processor() - before) / 5)
    return took


def run(quick: bool) -> list[Row]:
    size = (20 if quick else 500) * MEGABYTE
    with tempfile.TemporaryDirectory() as folder, running(os.path.join(folder, "home")) as server:
        start = server.processor()
        file = server.ask("POST", "api/files/dataset", {"name": "compas"})["id"]
        audit = server.ask("POST", "api/audits", {"file": file, "content": COMPAS})["id"]
        looks(server, audit, [3])
        small = statistics.median(looks(server, audit, [2, 4, 5, 6, 7, 8]))
        ends = max(looks(server, audit, [1, 10, 11]) + looks(server, audit, [1, 10, 11], "selection_rate"))
        place = Path(folder) / "large.csv"
        rows = write_file(place, size)
        done = threading.Event()
        watching = threading.Thread(target=server.watch_memory, args=(done,))
        watching.start()
        try:
            clock = time.perf_counter()
            with place.open("rb") as opened:
                file = server.ask("POST", "api/files", opened, name="large.csv")["id"]
            brought = time.perf_counter() - clock
            place.unlink()
            assert server.ask("POST", "api/check", {"file": file, "content": LARGE})["faults"] == []
            audit = server.ask("POST", "api/audits", {"file": file, "content": LARGE})["id"]
            looks(server, audit, [0.5])
            large = statistics.median(looks(server, audit, [0.2, 0.3, 0.4, 0.6, 0.7]))
        finally:
            done.set()
            watching.join()
    named = f"a file of {size // MEGABYTE} MB, {rows:,} rows"
    return [
        limit("start to the first page, processor time", start, 2.0),
        limit("move the threshold of COMPAS, processor time", small, 0.1, note="measure and certify"),
        limit(
            "the same at the ends of the scale, at most",
            ends,
            0.1,
            note="everyone or nobody is decided alike",
        ),
        limit(f"move the threshold of {named}, processor time", large, 0.1),
        limit(f"memory of the server with {named}", server.peak["server"], 1024.0, unit="MB"),
        limit(f"memory of what reads {named}", server.peak["others"], 2048.0, unit="MB"),
        limit(f"bring {named}", brought, 300.0, note="wall time, with a look at it and the copy"),
    ]

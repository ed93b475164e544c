"""`fairtrial serve` from its first line to its first page: quick, and nobody is turned away meanwhile."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

from inside.cli import _listen

HEAVY = ("numba", "sklearn", "scipy", "pandas", "pyarrow", "duckdb", "altair", "vl_convert")
LOADED = """
import sys
from pathlib import Path
import uvicorn
from fairtrial._web.app import create_app
from fairtrial._web.settings import ServerSettings
create_app(ServerSettings(home=Path(sys.argv[1])))
print([name for name in sys.argv[2:] if name in sys.modules])
"""


def test_a_server_starts_without_what_only_audits_need(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LOADED, str(tmp_path / "home"), *HEAVY]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"


def test_answers_are_sent_without_waiting_for_an_acknowledgement() -> None:
    with _listen("127.0.0.1", 0) as listening:
        assert (
            listening.proto == socket.IPPROTO_TCP
        )  # else asyncio leaves the delay on: 40 ms for every answer


def test_a_browser_that_comes_as_soon_as_the_address_is_printed_is_answered(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fairtrial", "serve", "--port", "0", "--home", str(tmp_path / "home")]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http\S+", process.stdout.readline())
            assert found is not None
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with browser.open(found.group(), timeout=120) as answer:
                assert answer.status == 200
                assert "token" not in answer.url
                assert b"fairtrial" in answer.read()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)

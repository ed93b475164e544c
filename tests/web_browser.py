"""A real server on a free port, and a page of Chromium that fails its test with whatever it complains of."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from inside.cli import _listen
from inside.web import MEGABYTE, ServerSettings, create_app

REFUSALS = ("status of 422", "status of 413", "status of 404")  # what was refused is said in the page


def serve(settings: ServerSettings, listening: socket.socket) -> Iterator[ServerSettings]:
    """A server in a thread, until the end of the block."""
    config = uvicorn.Config(create_app(settings), log_level="warning", timeout_graceful_shutdown=2)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    end = time.monotonic() + 30
    while not running.started and time.monotonic() < end:
        time.sleep(0.05)
    yield settings
    running.should_exit = True
    thread.join(20)
    listening.close()


def listening_on_a_free_port() -> socket.socket:
    """A port of this machine alone, as the command takes it."""
    return _listen("127.0.0.1", 0)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerSettings]:
    """A real server on a free port, with a home of its own; files may have 6 MB."""
    listening = listening_on_a_free_port()
    home = tmp_path_factory.mktemp("home")
    settings = ServerSettings(port=listening.getsockname()[1], home=home, most_upload=6 * MEGABYTE)
    yield from serve(settings, listening)


@pytest.fixture
def page(browser: Any, server: ServerSettings) -> Iterator[Any]:
    """A page that has the token; whatever it complains of, or asks of anybody else, fails the test."""
    base = f"http://127.0.0.1:{server.port}"
    context = browser.new_context(viewport={"width": 1280, "height": 900}, base_url=base)
    opened = context.new_page()
    opened.set_default_timeout(300_000)  # a busy machine is no fault of the page
    complaints: list[str] = []
    outside: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    opened.on(
        "request", lambda asked: outside.append(asked.url) if f":{server.port}/" not in asked.url else None
    )
    opened.goto(server.address)
    yield opened
    assert [text for text in complaints if not any(part in text for part in REFUSALS)] == []
    assert [url for url in outside if not url.startswith(("data:", "about:", "blob:"))] == []
    context.close()


def unfold(page: Any, part: str) -> None:
    """On the page of columns: open what is folded away."""
    page.wait_for_selector("#continue")
    page.evaluate(f"document.getElementById('{part}').open = true")


def ask_rates(page: Any) -> None:
    """On the page of columns: one question, the rates."""
    unfold(page, "asked")
    page.select_option("#preset", "")
    page.check("[data-question=measure]")
    page.wait_for_selector("#cost")


def choose_parts(page: Any, **parts: str) -> None:
    """On the page of columns: which part each of them plays, in the table that is folded away."""
    unfold(page, "all")
    for column, part in parts.items():
        page.locator(f"select[aria-label='Part of {column}']").first.select_option(part)


def plan_and_run(page: Any, *, reload: bool = False) -> None:
    """From the columns to the verdict, with one question."""
    ask_rates(page)
    page.click("#continue")
    page.click("#fix")
    page.click("#run")
    page.wait_for_selector("#cancel, #verdict")
    if reload:
        page.reload()
    page.wait_for_selector("#verdict")


def bring(page: Any, place: Path) -> None:
    """Choose a file on the first page."""
    page.set_input_files("#file", place)


def post(page: Any, path: str, content: dict[str, Any] | None = None) -> dict[str, Any]:
    """What the server answers to a page."""
    answer = page.request.post(path, data=content or {})
    assert answer.ok, answer.text()
    told: dict[str, Any] = json.loads(answer.text())
    return told


def finished_audit(page: Any, content: dict[str, Any], file: str) -> str:
    """The identity of an audit of a file, once it has been run."""
    identity = str(post(page, "/api/audits", {"file": file, "content": content})["id"])
    post(page, f"/api/audits/{identity}/plan")
    post(page, f"/api/audits/{identity}/run")
    end = time.monotonic() + 240
    while time.monotonic() < end:
        meta = json.loads(page.request.get(f"/api/audits/{identity}").text())
        if meta["stage"] not in ("queued", "running"):
            assert meta["stage"] == "done", meta
            return identity
        time.sleep(0.3)
    raise AssertionError("the audit did not end")


def assert_accessible(page: Any, server: ServerSettings, places: list[str]) -> None:
    """No finding of axe-core at any of these addresses, light and dark; a run is looked at while it runs."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        for place in places:
            page.goto(f"http://127.0.0.1:{server.port}{place}")
            page.wait_for_selector("main h1")
            if page.locator("#cancel").count():  # its stream of events never rests
                page.wait_for_selector("progress")
            else:
                page.wait_for_load_state("networkidle")
            found = axe.run(page, options={"iframes": False}).response["violations"]
            told = [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in found]
            assert told == [], (scheme, place, told)

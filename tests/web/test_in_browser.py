"""The page in Chromium: a file from drop to verdict, the slider, coming back, and labels that are HTML."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

import fairtrial
from fairtrial.web.app import create_app
from fairtrial.web.settings import Settings

HOSTILE = ["<img src=x onerror=window.hurt=1>", "');window.hurt=1;//", "a\x0bb"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A real server on a free port."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    settings = Settings(port=listening.getsockname()[1], home=tmp_path_factory.mktemp("home"))
    running = uvicorn.Server(
        uvicorn.Config(create_app(settings), log_level="warning", timeout_graceful_shutdown=2)
    )
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    end = time.monotonic() + 30
    while not running.started and time.monotonic() < end:
        time.sleep(0.05)
    yield settings
    running.should_exit = True
    thread.join(20)
    listening.close()


@pytest.fixture
def page(browser: Any, server: Settings) -> Iterator[Any]:
    """A page that has the token; whatever it complains of fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    outside: list[str] = []
    opened.on(
        "request", lambda asked: outside.append(asked.url) if f":{server.port}/" not in asked.url else None
    )
    opened.goto(server.address)
    yield opened
    assert [
        text for text in complaints if "status of 422" not in text
    ] == []  # what was refused is said in the page
    assert [url for url in outside if not url.startswith(("data:", "about:", "blob:"))] == []
    context.close()


def plan_and_run(page: Any) -> None:
    """From the columns to the verdict, with one question."""
    page.wait_for_selector("#continue")
    page.select_option("#preset", "")
    page.check("[data-question=measure]")
    page.click("#continue")
    page.click("#fix")
    page.click("#run")
    page.wait_for_selector("#cancel, #verdict")
    page.reload()  # in the middle
    page.wait_for_selector("#verdict", timeout=120_000)


def test_a_bundled_dataset_from_the_first_page_to_the_report(page: Any) -> None:
    page.click("[data-dataset=ricci]")
    plan_and_run(page)
    assert "selection rate of W is 30.3 points above" in page.inner_text("#verdict")
    frame = page.frame_locator("iframe")
    frame.locator("h1").wait_for()
    assert "Groups, metrics, tolerance and scale were fixed on" in frame.locator("body").inner_text()
    assert "fairtrial.run(" in page.locator("details pre").first.text_content()


def test_the_slider_moves_every_number(page: Any) -> None:
    page.click("[data-dataset=compas]")
    page.wait_for_selector("#look")
    page.select_option("#preset", "")
    page.check("[data-question=measure]")
    page.click("#look")
    page.wait_for_selector("#numbers table")
    assert "Exploratory" in page.inner_text("main")
    for threshold in (3, 8):
        page.locator("#threshold").fill(str(threshold))
        page.wait_for_function(f"document.querySelector('output').textContent.includes('{threshold}')")
        audit = fairtrial.Audit(
            fairtrial.load("compas"),
            outcome="two_year_recid",
            score="decile_score",
            threshold=threshold,
            groups="sex",
        )
        page.select_option("label:has-text('People by') select", "sex")
        expected = {row["group"]: row["rate"] for row in fairtrial.measure(audit).estimates}
        for group, rate in expected.items():
            page.wait_for_selector(f"tr[data-group*='{group}'] td[data-rate='{rate!r}']", timeout=20_000)
    assert "threshold=8" in page.url
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_labels_that_are_html_are_only_text(page: Any, tmp_path: Path) -> None:
    lines = ["decided,who"] + [f'{i % 2},"{HOSTILE[i % 3]}"' for i in range(300)]
    (tmp_path / "<b>odd.csv").write_text("\n".join(lines))
    page.set_input_files("#file", tmp_path / "<b>odd.csv")
    plan_and_run(page)
    page.click("text=Move the threshold")
    page.wait_for_selector("#numbers table")
    page.goto(page.url.split("/audits")[0] + "/")
    page.wait_for_selector("table")
    assert page.evaluate("window.hurt === undefined")
    assert page.locator("main img, main b").count() == 0


def test_a_broken_file_is_said_where_it_was_dropped(page: Any, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("")
    page.set_input_files("#file", tmp_path / "empty.csv")
    page.wait_for_selector(".faults")
    assert "empty" in page.inner_text(".faults")

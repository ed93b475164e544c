"""Every `fairtrial` command and the audit.toml that the README shows work as they are copied."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import fairtrial

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```(\w+)\n(.*?)```\n", re.DOTALL)
Run = Callable[..., tuple[int, str, str]]


def commands() -> Iterator[tuple[str, list[str]]]:
    """("toml", [text]) and ("fairtrial", words) in the order of the page."""
    for kind, content in BLOCK.findall(README):
        if kind == "toml":
            yield kind, [content]
        for line in content.replace("\\\n", " ").splitlines() if kind == "sh" else ():
            words = shlex.split(line, comments=True)
            if words[:1] == ["fairtrial"]:
                yield "fairtrial", words[1:]


@pytest.mark.slow
def test_the_commands_do_what_they_say(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(
        "typer.prompt", lambda text, default=None, show_default=True: default
    )  # Enter at each question
    fairtrial.load("compas", backend="pandas").to_csv("decisions.csv", index=False)
    seen = []
    for kind, words in commands():
        if kind == "toml":
            Path("audit.toml").write_text(words[0], encoding="utf-8")
            seen.append(kind)
            continue
        seen.append(words[0])
        if words[0] == "serve":
            continue
        code, _, err = run(*words)
        assert code == (3 if "--fail-on" in words else 0), err
        if words[0] == "run":
            results = json.loads(Path("audit-report/results.json").read_text(encoding="utf-8"))
            assert results["verdict"]["code"] == "violated"
            assert {"report.html", "summary.md"} <= set(os.listdir("audit-report"))
    assert Path("rates.json").exists()
    assert Path("rates.html").exists()
    assert seen == ["measure", "init", "run", "toml", "run", "run", "serve"]


def first_answer(address: str, seconds: float = 60.0) -> str:
    """The page, once the server answers."""
    end = time.monotonic() + seconds
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())  # the token becomes a cookie
    while True:
        try:
            return str(browser.open(address, timeout=20).read().decode())
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def test_the_page_opens(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    words = next(words for kind, words in commands() if words[0] == "serve")
    command = [sys.executable, "-m", "fairtrial", *words, "--port", "0", "--home", str(tmp_path)]
    environment = {**os.environ, "BROWSER": "true"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        try:
            address = server.stdout.readline().strip().removeprefix("fairtrial: open ")
            assert "<title>fairtrial" in first_answer(address)
        finally:
            server.terminate()

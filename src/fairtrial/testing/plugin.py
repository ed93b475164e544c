"""The pytest plugin: every verdict that the tests asked for, at the end of the run and in a Markdown file if wanted."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from fairtrial import testing

KEY = "fairtrial verdict"


def pytest_addoption(parser: pytest.Parser) -> None:
    """One option."""
    parser.addoption(
        "--fairtrial-summary", metavar="FILE", help="write the verdicts of fairtrial's assertions as Markdown"
    )


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    """Keep what this test's assertions found: with the test, so that it also comes back from other processes."""
    testing.verdicts.clear()
    yield
    item.user_properties += [(KEY, text) for text in testing.verdicts]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the verdicts, and write the file."""
    found = [
        (report.nodeid, report.outcome, text)
        for outcome in ("passed", "failed")
        for report in terminalreporter.getreports(outcome)
        if report.when == "call"
        for key, text in report.user_properties
        if key == KEY
    ]
    if found:
        terminalreporter.section("fairtrial")
        for name, outcome, text in found:
            terminalreporter.write_line(f"{outcome.upper()} {name}: {text}")
    path = config.getoption("--fairtrial-summary")
    if path:
        lines = ["| test | outcome | verdict |", "|---|---|---|"]
        lines += [f"| {_cell(name)} | {outcome} | {_cell(text)} |" for name, outcome, text in found]
        Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _cell(text: str) -> str:
    """A text inside a Markdown table: one line, without a bar and without HTML."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")
    return " ".join(plain.split())

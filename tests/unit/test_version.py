"""pyproject.toml's version is the only one; whatever repeats it must agree."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import fairtrial

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
NAMED = re.compile(r"\bfairtrial[ =]+v?(\d+\.\d+\.\d+)")
# Written by a run: they name the version that ran, which may be older than the code around them.
RECORDS = {"benchmarks.md", "cost.md", "validity.md"}


def parts(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def test_the_package_says_its_version() -> None:
    assert fairtrial.__version__ == version("fairtrial") == VERSION


def test_the_citation_names_it() -> None:
    assert re.findall(r"(?m)^version: (.+)$", (ROOT / "CITATION.cff").read_text()) == [VERSION]


def test_the_changelog_begins_with_it() -> None:
    newest = re.findall(r"(?m)^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text())[0]
    assert newest in (VERSION, "Unreleased")


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name
)
def test_pages_name_no_other(page: Path) -> None:
    for found in NAMED.findall(page.read_text()):
        assert parts(found) <= parts(VERSION) if page.name in RECORDS else found == VERSION

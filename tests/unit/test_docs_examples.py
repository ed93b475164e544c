"""Every Python block of the README and the pages runs, in order, one namespace per page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_CODE = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
@pytest.mark.filterwarnings("ignore")
def test_examples_run(page, tmp_path, monkeypatch):
    """In an empty folder: what a page writes goes there, and what it reads it must have written."""
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    namespace = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        line = text[: block.start(1)].count("\n")
        # the block keeps its line numbers, so that a traceback points into the page
        exec(compile("\n" * line + block.group(1), str(page), "exec"), namespace)


def test_pages_have_code():
    assert ROOT / "README.md" in WITH_CODE
    methods = ["measure", "certify", "flag", "scan", "transport", "explain", "improve"]
    assert {page.stem for page in WITH_CODE} >= set(methods)


def test_no_block_escapes():
    """A block that is indented or named otherwise would not be run."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert len(re.findall(r"```\s*(?:python|py|Python)", text)) == len(BLOCK.findall(text)), page

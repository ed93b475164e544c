"""Every Python block of the README and the pages runs, in order, one namespace per page.

A ```text block shows what the Python block before it printed, and must be what it prints.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

import fairtrial

ROOT = Path(__file__).parents[2]
SHOWN = re.compile(r"^```(python|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def tidy(text):
    return [line.rstrip() for line in text.strip("\n").splitlines()]


WITH_CODE = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
@pytest.mark.filterwarnings("ignore")
def test_examples_run(page, tmp_path, monkeypatch):
    """In an empty folder: what a page writes goes there, and what it reads it must have written."""
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    namespace = {"__name__": "__main__"}
    printed = ""
    for block in SHOWN.finditer(text):
        kind, content = block.groups()
        if kind == "text":
            assert tidy(content) == tidy(printed), "run scripts/write_readme_outputs.py"
            continue
        line = text[: block.start(2)].count("\n")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            # the block keeps its line numbers, so that a traceback points into the page
            exec(compile("\n" * line + content, str(page), "exec"), namespace)
        printed = out.getvalue()


def test_pages_have_code():
    assert ROOT / "README.md" in WITH_CODE
    methods = ["measure", "certify", "flag", "scan", "transport", "explain", "improve", "watch"]
    assert {page.stem for page in WITH_CODE} >= set(methods)


def test_no_block_escapes():
    """A block that is indented or named otherwise would not be run."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert len(re.findall(r"```\s*(?:python|py|Python)", text)) == len(BLOCK.findall(text)), page


def test_pages_show_what_comes_out_instead_of_asserting_it():
    """What a reader sees is code and its output; that the output is true is for test_examples_run."""
    for page in PAGES:
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            assert not re.search(r"^\s*assert\b", block, re.MULTILINE), page


def test_question_pages_open_with_the_question_and_an_example():
    for name in [*QUESTIONS, "tabulate"]:
        text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        assert re.findall(r"^## (.+)$", text, re.MULTILINE)[:2] == ["What it answers", "Example"], name


QUESTIONS = [
    "measure",
    "certify",
    "flag",
    "plan",
    "scan",
    "transport",
    "explain",
    "improve",
    "watch",
    "trial",
    "report",
]
PARTS = ["What it answers", "Example", "When not to use it", "The maths", "Assumptions and limits"]


@pytest.mark.parametrize("name", QUESTIONS)
def test_question_pages_have_the_same_parts(name):
    """In this order, each with something in it, and an example that is run."""
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert [title for title in sections if title in PARTS] == PARTS
    assert all(sections[part].strip() for part in PARTS)
    assert BLOCK.search(sections["Example"])


def test_every_public_name_is_in_the_reference():
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    public = set(fairtrial.__all__) - {"__version__"}
    listed = {name.rpartition(".")[2] for name in re.findall(r"^::: (\S+)", text, re.MULTILINE)}
    assert public - listed <= set(re.findall(r"^### (\w+)", text, re.MULTILINE))
    assert {*fairtrial.METRICS, *fairtrial.CRITERIA} <= set(re.findall(r"`(\w+)`", text))

"""Every line of the papers' coverage has a call that runs, and says what comes out."""

from __future__ import annotations

import ast
import importlib.util
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairtrial

ROOT = Path(__file__).parents[2]


def module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = found  # dataclasses look their module up
    spec.loader.exec_module(found)
    return found


COVERAGE = module(ROOT / "scripts" / "papers_coverage.py")
PAPERS = {name: COVERAGE.read(name) for name in COVERAGE.written()}
LINES = [(name, kind, line) for name, paper in PAPERS.items() for kind, line in COVERAGE.lines(paper)]


@cache
def example(name: str) -> Any:
    sys.path.insert(0, str(ROOT / "examples" / "papers"))  # a paper's parts import each other
    try:
        return module(ROOT / "examples" / "papers" / f"{name}.py")
    finally:
        sys.path.pop(0)


@cache
def prepared(name: str) -> dict[str, Any]:
    """What a paper's calls may use."""
    namespace: dict[str, Any] = {"fairtrial": fairtrial, "np": np, "example": example}
    exec(compile(PAPERS[name].get("setup", ""), f"{name}.toml: setup", "exec"), namespace)
    return namespace


def value_of(code: str, namespace: dict[str, Any], name: str) -> object:
    """Run code; the value of its last expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), namespace)
    if last is None:
        return None
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), name, "eval"), namespace)  # noqa: S307


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name, line",
    [
        pytest.param(name, line, id=f"{name}: {line['item']}", marks=pytest.mark.xdist_group(name))
        for name, _, line in LINES
        if line["state"] != "missing"
    ],
)
def test_a_lines_call_runs(name: str, line: dict[str, str]) -> None:
    found = value_of(line["call"], dict(prepared(name)), f"{name}: {line['item']}")
    if isinstance(found, str) and "ours" in line:
        assert found == line["ours"]


@pytest.mark.parametrize("name", PAPERS)
def test_lines_are_whole(name: str) -> None:
    """What must be told of a line, by its state; a reason says what was measured."""
    paper = PAPERS[name]
    assert set(paper) <= {"paper", "question", "page", "setup", *COVERAGE.KINDS}
    items = [line["item"] for _, line in COVERAGE.lines(paper)]
    assert len(set(items)) == len(items)
    for _, line in COVERAGE.lines(paper):
        assert set(line) <= COVERAGE.KEYS, line["item"]
        assert {"item", "says", "where", "state"} <= set(line), line["item"]
        assert line["state"] in COVERAGE.STATES, line["item"]
        if line["state"] in ("reproduces", "differs"):
            assert line.get("printed"), line["item"]
            assert line.get("ours"), line["item"]
        if line["state"] in ("differs", "refuted", "missing"):
            assert any(sign.isdigit() for sign in line.get("reason", "")), line["item"]
        assert ("call" in line) == (line["state"] != "missing"), line["item"]


def test_every_line_is_on_its_page() -> None:
    pages = COVERAGE.pages()
    assert set(pages) == {*(f"{name}.md" for name in PAPERS), "index.md"}
    for name, paper in PAPERS.items():
        assert pages[f"{name}.md"].count("\n| ") == len(COVERAGE.lines(paper)) + len(
            set(COVERAGE.KINDS) & set(paper)
        )


def test_all_five_papers_are_told() -> None:
    assert tuple(COVERAGE.written()) == COVERAGE.PAPERS


def test_figures_are_small() -> None:
    """`parts/drawing.py` writes them."""
    large = [path.name for path in (ROOT / "docs").rglob("*.svg") if path.stat().st_size > 150_000]
    assert large == []

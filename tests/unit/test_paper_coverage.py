"""Every line of the papers' coverage has a call that runs, and says what comes out."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import sys
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairtrial
from fairtrial.papers._studies import (
    conditional_bias_scan,
    elfa,
    improvability,
    improvability_patients,
    shapley_rawls,
    transport,
)

ROOT = Path(__file__).parents[2]
NUMBER = re.compile(r"[-−+]?(?:\d[\d,]*)?\.?\d+(?:e[-+]?\d+)?")


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


NOT_COMPARED = 17  # lines of which the paper prints nothing that a number could be compared with; never more

STUDIES = {
    "elfa": elfa,
    "transport": transport,
    "conditional_bias_scan": conditional_bias_scan,
    "shapley_rawls": shapley_rawls,
    "improvability": improvability,
    "improvability_patients": improvability_patients,
}


def page_lines(page: str) -> list[str]:
    return (ROOT / "docs" / "papers" / page).read_text(encoding="utf-8").splitlines()


def page_rows(page: str) -> Callable[..., list[float]]:
    """`row("| 30 | article |", 1)`: numbers of the table row of the paper's page that begins so, by their place.

    `after` names a line above it, where others begin alike.
    """
    lines = page_lines(page)

    def row(start: str, *places: int, after: str = "") -> list[float]:
        above = next(place for place, line in enumerate(lines) if after in line)
        found = next(line for line in lines[above:] if line.startswith(start))
        numbers = [
            float(one.replace(",", "").replace("−", "-")) for one in NUMBER.findall(found[len(start) :])
        ]
        return [numbers[place] for place in places] if places else numbers

    return row


def near(number: float, other: float, by: float = 1e-9) -> None:
    """The two agree, relative to the second where it is large."""
    assert abs(number - other) <= by * max(1.0, abs(other)), (number, other)


def said(*numbers: float) -> str:
    """Numbers to four digits."""
    return ", ".join(f"{number:.4g}" for number in numbers)


def board(line: str) -> float:
    """The measured error, or power, of a line of the validity board."""
    [found] = [one for one in kept_lines() if one.get("line") == line]
    return float(found["error"])


@cache
def kept_lines() -> list[dict[str, Any]]:
    text = (ROOT / "validity" / "results.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@cache
def prepared(name: str) -> dict[str, Any]:
    """What a paper's calls may use."""
    namespace: dict[str, Any] = {"fairtrial": fairtrial, "np": np, "example": STUDIES.__getitem__}
    namespace |= {"row": page_rows(PAPERS[name]["page"]), "page_lines": page_lines(PAPERS[name]["page"])}
    namespace |= {"near": near, "said": said, "board": board}
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
def test_a_lines_call_runs(name: str, line: dict[str, Any]) -> None:
    found = value_of(line["call"], dict(prepared(name)), f"{name}: {line['item']}")
    if COVERAGE.how_checked(line) == "text" or (isinstance(found, str) and "ours" in line):
        assert found == line["ours"]
    if "compared" in line:
        check_numbers(line, np.atleast_1d(np.asarray(found, dtype=float)).ravel().tolist())


def check_numbers(line: dict[str, Any], found: list[float]) -> None:
    """Ours to the digits written; printed within the tolerance, or in one place not, as the state says."""
    assert len(found) == len(line["compared"]), found
    apart = []
    for number, (printed, ours, tolerance) in zip(found, line["compared"], strict=True):
        digit = Decimal(1).scaleb(int(Decimal(ours).as_tuple().exponent))
        assert abs(number - float(ours)) <= 0.5001 * float(digit), (found, line["compared"])
        apart.append(abs(float(ours) - float(printed)) > float(tolerance) + 1e-12)
    if line["state"] == "limit":  # a curve, to the largest sample
        assert apart[0]
        assert not apart[-1]
    else:
        assert any(apart) == (line["state"] in ("differs", "refuted")), line["compared"]


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
            assert len({"compared", "asserts", "not_compared"} & set(line)) == 1, line["item"]
        if line["state"] in ("differs", "refuted", "limit", "missing"):
            assert any(sign.isdigit() for sign in line.get("reason", "")), line["item"]
        assert ("call" in line) == (line["state"] != "missing"), line["item"]


def asserting(call: str) -> bool:
    """Whether code holds an assertion."""
    return any(
        isinstance(node, ast.Assert)
        or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "near")
        for node in ast.walk(ast.parse(call))
    )


def test_every_line_compares_or_says_that_it_does_not() -> None:
    """A line whose call runs and compares nothing is found here, and those without a comparison are counted."""
    silent = [
        f"{name}: {line['item']}"
        for name, _, line in LINES
        if COVERAGE.how_checked(line) == "not compared" and not line.get("not_compared")
    ]
    assert silent == []
    for name, _, line in LINES:
        if "asserts" in line:
            assert asserting(line["call"]), (name, line["item"])
        if COVERAGE.how_checked(line) == "text":
            assert isinstance(ast.parse(line["call"]).body[-1], ast.Expr), (name, line["item"])
    checks = [COVERAGE.how_checked(line) for _, _, line in LINES]
    assert checks.count("not compared") <= NOT_COMPARED


def test_a_line_that_compares_nothing_would_be_found() -> None:
    assert COVERAGE.how_checked({"state": "here", "call": "1 + 1"}) == "not compared"
    assert not asserting("found = 1\nfound")
    assert asserting("near(1.0, 1.0)")
    with pytest.raises(AssertionError):
        near(1.0, 1.1)


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

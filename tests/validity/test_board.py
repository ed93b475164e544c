"""The validity board in its short form: every p-value and interval holds its level, and what fails is known to."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from itertools import takewhile
from pathlib import Path

import numpy as np
import pytest

from inside.methods import declared_methods
from validity.board import AUDITS, METHODS, Cell, Judged, cells, judge
from validity.code import _reached
from validity.page import SUMMARY, full_page, side_by_side, summary_page
from validity.results import Board, read, write
from validity.run import run_board

CELLS = list(cells())
DOCS = Path(__file__).parents[2] / "docs"
PAPERS = [cell for cell in CELLS if cell.variant == "paper"]
OURS = {(cell.method, cell.name): cell for cell in CELLS if cell.variant == "ours"}

# a whole analysis takes seconds: fewer repeats, and bounds as wide as that makes them
WHOLE_ANALYSES = [cell for cell in CELLS if cell.whole_analysis]
IN_SHORT = [cell for cell in CELLS if cell.short or cell.exact]


def name_of(cell: Cell) -> str:
    return f"{cell.method}/{cell.name}"


@cache
def judged(method: str, name: str) -> Judged:
    cell = next(cell for cell in cells(method) if cell.name == name)
    return judge(cell, cell.short)


@pytest.mark.slow
@pytest.mark.parametrize("cell", IN_SHORT, ids=name_of)
def test_cell(cell: Cell) -> None:
    line = judged(cell.method, cell.name)
    assert line.as_expected, (
        f"{name_of(cell)} ({cell.variant}): {cell.claim} {line.error:.4f} in {line.repeats} repeats, "
        f"nominal {cell.nominal:g}, limit {cell.limit:.3f}; {cell.design}"
    )


@pytest.mark.slow
@pytest.mark.parametrize("cell", PAPERS, ids=name_of)
def test_swapping_in_a_published_variant_makes_its_line_fail(cell: Cell) -> None:
    """The same design, claim and level: ours holds, the variant in its place does not."""
    ours = OURS[cell.method, cell.counterpart]
    assert judged(cell.method, ours.name).holds
    assert not judged(cell.method, cell.name).holds


def test_every_published_variant_stands_beside_a_line_of_ours() -> None:
    for cell in PAPERS:
        ours = OURS.get((cell.method, cell.counterpart))
        assert ours is not None, f"{name_of(cell)} names no line of ours: {cell.counterpart!r}"
        same = ("design", "claim", "nominal")
        assert [getattr(ours, x) for x in same] == [getattr(cell, x) for x in same], name_of(cell)
    assert not any(cell.counterpart for cell in OURS.values())


def test_every_public_function_is_on_the_board() -> None:
    """Whatever returns a Result, run, and scan of every class; each with four designs, and a variant that fails."""
    assert set(METHODS) == {*declared_methods(), "compare", "run", "scan_all"}
    for method in METHODS:
        designs = {cell.design for cell in cells(method) if cell.variant == "ours"}
        assert len(designs) >= 4, method
        assert any(cell.method == method for cell in PAPERS), method


def test_options_that_reproduce_a_paper_are_on_the_board() -> None:
    """What a caller can ask for with "paper" in its name, or that a note calls not valid, has a line that fails."""
    wanted = {
        "certify": ["rule='paper'", "target_method='plug-in'"],
        "improve": ["method='paper'"],
        "scan": ["global permutation", "main-effects"],
        "transport": ["paper-compas-discrete", "paper-b1-30"],
        "explain": ["the paper's pooled interval"],
        "measure": ["plain likelihood ratio"],
    }
    for method, names in wanted.items():
        for name in names:
            assert any(cell.method == method and name in cell.name for cell in PAPERS), (method, name)


def test_names_are_unique() -> None:
    """A cell's seed derives from its name."""
    names = [name_of(cell) for cell in CELLS]
    assert len(set(names)) == len(names)
    assert all(cell.method == method for method in METHODS for cell in cells(method))


def test_repeats_are_enough() -> None:
    for cell in CELLS:
        if cell.exact:
            continue
        if cell.whole_analysis:
            assert cell.short >= 8 or not cell.short
            assert cell.long >= 60
            continue
        assert cell.short >= 400 or not cell.short, cell.name
        assert cell.long >= (4000 if cell.claim == "false flagging rate" else 2000), cell.name


def test_a_bad_method_would_be_noticed() -> None:
    """A test of size 8% and an interval that covers 92% fail; one of 5% does not."""

    def with_error(error: float, claim: str = "size") -> Cell:
        return Cell(
            "measure",
            f"x {error} {claim}",
            "",
            claim,
            lambda n, random: (random.random(n) < error).astype(float),
        )  # type: ignore[arg-type]

    assert not judge(with_error(0.08), 4000).holds
    assert not judge(with_error(0.085, "coverage"), 4000).holds
    assert judge(with_error(0.05), 4000).holds
    assert judge(with_error(0.001), 4000).holds, "conservatism is shown, not failed"


@pytest.mark.parametrize("cell", WHOLE_ANALYSES, ids=name_of)
def test_a_line_of_few_repeats_can_fail(cell: Cell) -> None:
    """Lines of whole analyses are short: were they always wrong, they would fail."""
    wrong = 0.0 if cell.claim == "power" else 1.0
    broken = replace(cell, run=lambda n, random: random.random(n) * 0 + wrong, rival=None)
    assert not judge(broken, cell.short or cell.long).holds


def test_an_exact_line_allows_for_no_chance() -> None:
    cell = Cell("measure", "x", "", "size", lambda n, random: np.array([0.01, 0.0601]), exact=True)
    assert not judge(cell, 400).holds
    assert judge(replace(cell, worst=0.061), 400).holds


def test_a_line_of_power_stands_beside_a_rival() -> None:
    """Ten points may be lost; a larger loss fails beyond chance, unless the line says why."""

    def found(power: float):
        return lambda n, random: (random.random(n) < power).astype(float)

    cell = Cell("measure", "x", "", "power", found(0.5), rival=found(0.55), rival_name="Welch")
    assert judge(cell, 2000).holds
    weak = replace(cell, run=found(0.3))
    assert not judge(weak, 2000).holds
    assert judge(replace(weak, loses="it holds its level"), 2000).holds
    assert abs((judge(cell, 2000).rival or 0.0) - 0.55) < 0.04


def test_a_line_depends_on_the_code_it_imports() -> None:
    assert "fairtrial/_plan/answer.py" in _reached("validity.plan")
    assert "fairtrial/_inference/rates/proportions.py" in _reached("validity.plan")
    assert "fairtrial/_scan/method.py" not in _reached("validity.plan")
    assert "fairtrial/_scan/method.py" in _reached("validity.trial")


def _run(folder, monkeypatch, form="short", seed=0):
    """Two quick lines of flag; how many of them were computed rather than read."""
    few = [
        cell for cell in cells("flag") if cell.name in ("no disparity, rest", "BH in each node of the tree")
    ]
    computed = []
    monkeypatch.setattr("validity.run.cells", lambda method=None: iter(few))
    board = run_board(
        form=form, methods=["flag"], seed=seed, folder=folder, tell=lambda *line: computed.append(line)
    )
    return board, len(computed)


def test_kept_lines_are_used_for_the_same_repeats_seed_and_code_only(tmp_path, monkeypatch) -> None:
    first, computed = _run(tmp_path, monkeypatch)
    assert computed == 2
    again, computed = _run(tmp_path, monkeypatch)
    assert computed == 0
    assert again.seconds == first.seconds > 0, (
        "a re-rendered page shows what the lines took, not the rendering"
    )
    assert _run(tmp_path, monkeypatch, form="long")[1] == 2
    assert _run(tmp_path, monkeypatch, seed=1)[1] == 2
    monkeypatch.setattr("validity.run.code_digest", lambda listed_in, run_by: "other code")
    assert _run(tmp_path, monkeypatch)[1] == 2
    assert "repeats" in (tmp_path / "README.md").read_text(encoding="utf-8")


def test_a_line_depends_on_what_runs_it() -> None:
    """On the modules of all functions bound to it, wherever they are held; not on those of its neighbours."""
    from fractions import Fraction

    from fairtrial import certify
    from inside.inference import holm
    from validity.code import code_digest, modules_of

    def inner(repeats: int) -> object:
        return certify, repeats

    bound = partial(inner, 3, [holm], design={"value": Fraction(1, 2)})
    assert modules_of(bound, None) >= {
        "fairtrial._inference.multiplicity",
        "fairtrial._compare.method",
    }
    few, more = (
        frozenset({name}) for name in ("fairtrial._inference.multiplicity", "fairtrial._scan.method")
    )
    assert code_digest("validity.watch", few) != code_digest("validity.watch", few | more)
    assert code_digest("validity.watch", few) != code_digest("validity.plan", few)


def test_a_variant_is_shown_below_its_counterpart(monkeypatch) -> None:
    board, _ = _run(None, monkeypatch)
    text = full_page(board)
    ours, paper = (
        text.index(f"| {name} |") for name in ("no disparity, rest", "↳ BH in each node of the tree")
    )
    assert ours < paper
    assert "fails, as expected" in text


def test_lines_without_an_error_are_told_apart() -> None:
    never, power, *others = [
        next(cell for cell in CELLS if cell.claim == claim and cell.variant == "ours" and cell.rival is None)
        for claim in ("size", "power", "coverage")
    ]
    judged = (Judged(never, 2000, 0.0, 1.0), Judged(power, 400, 0.0, 1.0), Judged(others[0], 400, 0.05, 0.5))
    text = full_page(Board(judged, "long", 0))
    section = text[text.index("## Never wrong") :]
    assert "These 1 of 2 lines" in section
    assert f"| {never.method}: {never.name} | {never.design} | 2,000 |" in section
    assert power.name not in section


def test_no_line_is_lost_on_the_page() -> None:
    for method in METHODS:
        lines = [Judged(cell, 400, 0.05, 0.5) for cell in cells(method)]
        assert sorted(line.cell.key for line in side_by_side(lines)) == sorted(
            line.cell.key for line in lines
        )
    assert Board((), "short", 0).seconds == 0


KEPT = read()


def test_the_kept_results_have_the_lines_of_this_board() -> None:
    """A line added, renamed or dropped asks for `make validity`, or `make truth`."""
    assert {line.cell.key for line in KEPT.judged} == {cell.key for cell in [*CELLS, *cells(AUDITS)]}
    assert KEPT.form == "long"
    assert KEPT.as_expected


def test_the_summary_says_what_the_kept_results_say() -> None:
    text = SUMMARY.read_text(encoding="utf-8")
    assert text == summary_page(KEPT), "`make validity` writes it"
    assert len(text.replace("|", " ").split()) <= 1500


def test_every_kept_line_is_on_the_full_page() -> None:
    text = full_page(KEPT)
    for line in KEPT.judged:
        arrow = "" if line.cell.variant == "ours" else "↳ "
        assert f"| {arrow}{line.cell.name} | {line.cell.design} | {line.cell.claim} |" in text


def test_lines_of_sections_that_did_not_run_are_kept(tmp_path) -> None:
    path = tmp_path / "results.jsonl"
    write(KEPT, [""] * len(KEPT.judged), path)
    first = read(path)
    plan = [replace(line, error=0.5) for line in first.lines("plan")]
    write(Board(tuple(plan), "long", 0), [""] * len(plan), path)
    again = read(path)
    assert again.lines("plan") == plan
    assert [line for line in again.judged if line not in plan] == [
        line for line in first.judged if line.cell.method != "plan"
    ]


@pytest.mark.parametrize("page", ["means.md", "attacks.md"])
def test_pages_quote_the_kept_results(page: str) -> None:
    errors = {line.cell.name: line.error for line in KEPT.judged}
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    rows = [place for place, line in enumerate(lines) if line.startswith("| line of the board |")]
    quoted = [
        line for start in rows for line in takewhile(lambda line: line.startswith("| "), lines[start + 2 :])
    ]
    assert len(quoted) > 20
    for line in quoted:
        name, _, here = (cell.strip() for cell in line.strip("| ").split("|"))
        assert abs(float(here) - errors[name]) <= 0.00051, line

"""The validity board in its short form: every p-value and interval holds its level, and what fails is known to."""

from __future__ import annotations

import importlib.util

import pytest

from fairtrial.validity.board import METHODS, Cell, cells, judge

WRITTEN = [method for method in METHODS if importlib.util.find_spec(f"fairtrial.validity.{method}")]
CELLS = [cell for method in WRITTEN for cell in cells(method)]

# minutes each: judged in the long form only, here they are run once to see that they run
WHOLE_ANALYSES = {"improve/the portfolio finds a known better rule", "improve/the portfolio at the frontier"}


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell.method}/{cell.name}")
def test_cell(cell: Cell) -> None:
    judged = judge(cell, cell.short)
    if f"{cell.method}/{cell.name}" in WHOLE_ANALYSES:
        assert judged.repeats >= 1
        return
    assert judged.as_expected, (
        f"{cell.method}/{cell.name} ({cell.variant}): {cell.claim} {judged.error:.4f} in {judged.repeats} repeats, "
        f"nominal {cell.nominal:g}, limit {cell.limit:.3f}; {cell.design}"
    )


def test_every_method_has_cells() -> None:
    assert tuple(WRITTEN) == METHODS
    for method in METHODS:
        assert any(cell.variant == "ours" for cell in cells(method)), method


def test_names_are_unique() -> None:
    """A cell's seed derives from its name."""
    names = [f"{cell.method}/{cell.name}" for cell in CELLS]
    assert len(set(names)) == len(names)
    assert all(cell.method == method for method in WRITTEN for cell in cells(method))


def test_repeats_are_enough() -> None:
    for cell in CELLS:
        if f"{cell.method}/{cell.name}" in WHOLE_ANALYSES:
            continue
        assert cell.short >= 400, cell.name
        assert cell.long >= (4000 if cell.claim == "false flagging rate" else 2000), cell.name


def test_failing_variants_are_shown() -> None:
    assert {cell.method for cell in CELLS if cell.variant == "paper"} == set(METHODS)


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

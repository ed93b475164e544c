"""Odd inputs in their short form: the right answer or one clear fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.arguments import fuzz_arguments
from fuzz.calls import fuzz_calls
from fuzz.engines import fuzz_engines
from fuzz.files import FUZZERS
from fuzz.tally import Tally

FILES = {"files": 50, "specs": 120, "results": 16}


@pytest.mark.slow
def test_calls() -> None:
    tally = fuzz_calls(1, 150)
    assert tally.wrong == []
    assert tally.checked >= tally.inputs / 2, "the numbers of at least half of the inputs must be checked"


@pytest.mark.slow
def test_arguments(tmp_path: Path) -> None:
    tally = fuzz_arguments(1, 1500, tmp_path)
    assert tally.wrong == []
    assert tally.answered
    assert tally.refused


@pytest.mark.slow
@pytest.mark.parametrize("kind", FILES)
def test_files(kind: str, tmp_path: Path) -> None:
    tally = FUZZERS[kind](1, FILES[kind], tmp_path)
    assert tally.wrong == []
    assert tally.answered
    assert tally.refused


@pytest.mark.slow
def test_engines(tmp_path: Path) -> None:
    tally = fuzz_engines(1, 25, tmp_path)
    assert tally.wrong == []
    assert tally.checked


def test_a_hang_and_a_foreign_error_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes too long is stopped, although it takes every Exception for a failure of its own."""
    monkeypatch.setattr("fuzz.tally.LONGEST", 0.05)
    tally = Tally()
    tally.attempt("loop", _forever)
    tally.attempt("foreign", lambda: [str(1 / 0)])
    assert tally.wrong == ["loop: a hang", "foreign: ZeroDivisionError: division by zero"]


def _forever() -> list[str]:
    while True:
        try:
            sum(range(1000))
        except Exception:
            continue

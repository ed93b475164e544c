"""Odd inputs in their short form: the right answer or one clear fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.calls import fuzz_calls
from fuzz.engines import fuzz_engines
from fuzz.files import FUZZERS

FILES = {"files": 50, "specs": 120, "results": 16}


@pytest.mark.slow
def test_calls() -> None:
    tally = fuzz_calls(1, 150)
    assert tally.wrong == []
    assert tally.answered >= tally.inputs / 2, "most inputs must pass, so that their numbers are checked"
    assert tally.checked > 200


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
    assert tally.answered

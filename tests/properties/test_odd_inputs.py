"""Odd inputs, few of each kind or with `make fuzz` thousands: the right answer or one clear fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from properties.odd_inputs import KINDS, MANY, PAGE, feed, write_page
from properties.tally import Tally

FED = [kind for kind, found in KINDS.items() if MANY or found.few]


@pytest.mark.slow
@pytest.mark.parametrize("kind", FED)
def test_the_right_answer_or_one_clear_fault(kind: str, tmp_path: Path) -> None:
    tally = feed(kind, tmp_path)
    assert tally.wrong == []
    assert tally.answered
    if kind == "calls":
        assert tally.checked >= tally.inputs / 2, "the numbers of at least half of the inputs must be checked"
    elif kind in ("engines", "kills"):
        assert tally.checked
    else:
        assert tally.refused


def test_the_page_keeps_the_lines_of_other_kinds(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    write_page("specs", Tally(answered=1200, refused=3), page)
    new, old = (set(path.read_text(encoding="utf-8").splitlines()) for path in (page, PAGE))
    assert new - old == {f"| {KINDS['specs'].what} | 1,203 | 1,200 | 3 | 0 | 0 | 0 |"}
    assert all(any(line.startswith(f"| {kind.what} | ") for line in old) for kind in KINDS.values())


def test_a_hang_and_a_foreign_error_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes too long is stopped, although it takes every Exception for a failure of its own."""
    monkeypatch.setattr("properties.tally.LONGEST", 0.05)
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

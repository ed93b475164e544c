"""Published numbers: which counts fit them, where none does, and what limits would have said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fairtrial import InputError
from inside.trial import recheck


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "published.csv"
    path.write_text(text)
    return path


def test_every_count_that_rounds_to_a_rate_fits_and_no_other(tmp_path: Path) -> None:
    """Against trying each count."""
    for n in (3, 7, 40, 333):
        for k in range(n + 1):
            rate = f"{100 * k / n:.0f}%"
            found = recheck(table(tmp_path, f"group,n,rate\nA,{n},{rate}\n"))
            fits = [other for other in range(n + 1) if abs(100 * other / n - float(rate[:-1])) <= 0.5]
            span = f"{fits[0]:,}" if len(fits) == 1 else f"{fits[0]:,} to {fits[-1]:,}"
            assert found.possible == (f"A: {span} of {n:,}.",)
            assert found.contradictions == ()


CONTRADICTIONS = {
    "no count fits": ("group,n,rate\nA,9,25%\n", "no number of 9 people is 25% of them"),
    "count and rate": ("group,n,events,rate\nA,100,28,29%\n", "28 of 100 is 28.00%, and not 29%"),
    "more than all": ("group,n,events\nA,100,128\n", "more than all"),
    "a rate above one": ("group,rate\nA,130%\n", "more than all"),
    "people add up": ("group,n,events\nA,100,28\nB,100,10\ntotal,201,38\n", "200 people together, and not 201"),
    "events add up": ("group,n,events\nA,100,28\nB,100,10\ntotal,200,39\n", "38 events together, and not 39"),
    "four fifths": ("group,n,events,ratio\nA,100,50,1\nB,100,39,0.85\n", "0.85 does not follow.*0.780"),
    "ratio of rates": ("group,rate,ratio\nA,50%,1.00\nB,30%,0.75\n", "0.75 does not follow"),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_contradictions_are_named(name: str, tmp_path: Path) -> None:
    text, message = CONTRADICTIONS[name]
    [found] = recheck(table(tmp_path, text)).contradictions
    assert re.search(message, found), found


def test_rounded_numbers_that_agree_are_let_pass(tmp_path: Path) -> None:
    text = "group,n,rate,ratio\nA,1000,41.2%,1\nB,300,35%,0.85\ntotal,1300,40%,\n"
    found = recheck(table(tmp_path, text))
    assert found.contradictions == ()
    assert found.possible[0] == "A: 412 of 1,000."


def test_limits_are_those_of_measure(tmp_path: Path) -> None:
    found = recheck(table(tmp_path, "group,n,events\nA,100,28\nB,100,9\n"))
    assert found.limits[0].startswith("A: 28.0%, +19.0 points (+")
    assert ", p 0.0" in found.limits[0]


@pytest.mark.parametrize(
    "text", ["", "a,b\n1,2\n", "group,n\nA,many\n", "group,rate\nA,x%\n", "group,n\nA,99999999999\n",
             "group,n,n\nA,1,1\n", "group,n\n", "group,rate\nA," + "1" * 50 + "\n"],
)  # fmt: skip
def test_what_is_no_table_is_one_message(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="recheck: 'table'"):
        recheck(table(tmp_path, text))

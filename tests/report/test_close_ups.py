"""A subgroup can be opened: its rates, what it is compared with and how it was found, without a script."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd
import pytest

import fairtrial as ft
from inside.trial import drawn
from inside.trial import writing_render as render

# Of class a, 30 of 50 in the north are refused and 10 of 50 in the south; of class b 10 of 50 in each.
COUNTS = {("a", "north"): 30, ("a", "south"): 10, ("b", "north"): 10, ("b", "south"): 10}
ROWS = [(*who, int(place < refused)) for who, refused in COUNTS.items() for place in range(50)]


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    spec = {
        "data": {"source": "planted.csv", "decision": "refused", "groups": ["class"], "features": ["part"],
                 "favourable": 0},
        "scan": [{"metric": "selection_rate", "protected": {"class": "a"}, "permutations": 199},
                 {"metric": "selection_rate", "protected": "class", "features": ["part"], "permutations": 199}],
    }  # fmt: skip
    return ft.run(spec, data=pd.DataFrame(ROWS, columns=["class", "part", "refused"])).to_dict()


def words(page: str) -> list[str]:
    """The close-ups' texts, by what a reader without scripts sees."""
    found = re.findall(r'<details class="closeup">(.*?)</details>', page, flags=re.DOTALL)
    return [" ".join(re.sub(r"<[^>]*>", " ", text).split()) for text in found]


def test_the_numbers_stand_in_the_page_itself(content: dict[str, Any]) -> None:
    first = words(re.sub(r"<script.*?</script>", "", render(content), flags=re.DOTALL))[0]
    # by counting: 30 of 50, and 10 of 50 comparable people, who are all the others of the north
    assert first.startswith("class: a: part: north")
    assert "Its rate 60.0% of 50 people" in first
    assert "Comparable people outside the class get 20.0%" in first
    assert "Difference to them, in points +40.0" in first
    assert "The same subgroup among class: not a 20.0% of 50 people" in first
    assert "It is defined by part: north. It came out first with a score of" in first
    assert "every subgroup of these features was considered" in first
    assert re.search(r"repeated 199 times on data in which the class does not matter: p = 0\.005\.", first), (
        first
    )


def test_every_listed_subgroup_and_every_class_can_be_opened(content: dict[str, Any]) -> None:
    scan, every = (section["result"]["estimates"] for section in content["sections"])
    told = words(render(content))
    assert len(told) == len(scan) + sum(row["rate"] is not None for row in every)
    assert sum("carries no claim of its own" in text for text in told) == len(scan) - 1
    assert any("corrected over all classes" in text for text in told)


def test_marks_lie_on_one_scale_from_zero(content: dict[str, Any]) -> None:
    one = drawn(ft.read_result(content["sections"][0]["result"]).close_ups()[0])
    most = float(one["most"].rstrip("%"))
    for mark in one["marks"]:
        assert float(mark["at"].rstrip("%")) == pytest.approx(
            100 * float(mark["text"].rstrip("%")) / most, abs=0.01
        )
        ends = [float(mark[name].rstrip("%")) for name in ("low", "at", "high") if mark[name]]
        assert ends == sorted(ends)
        assert 0 <= ends[0] <= ends[-1] <= 100

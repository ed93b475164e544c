"""A masked group must not be the total minus the rest, and where it is, the report says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairtrial import Audit, certify, flag, measure, read_result, run
from inside.results import is_masked, mask_groups, mask_result, scalar
from inside.trial import csv_text
from inside.trial import writing_render as render


def people(**sizes: int) -> pd.DataFrame:
    rows = [(name, i % 2) for name, n in sizes.items() for i in range(n)]
    return pd.DataFrame(rows, columns=["g", "d"])


def notes(content: dict[str, Any], code: str) -> list[str]:
    return [note["text"] for note in content["notes"] if note["code"] == code]


@pytest.mark.parametrize("method", [measure, flag])
def test_the_next_smallest_is_masked_too(method: Any) -> None:
    audit = Audit(people(a=500, b=400, c=25, e=28, f=8), decision="d", groups="g")
    content = mask_result(method(audit, "selection_rate"), 10)
    masked = [row["group"] for row in content["estimates"] if is_masked(row)]
    assert sorted(masked) == ["c", "f"]
    assert notes(content, "masked") == [
        "Numbers about fewer than 10 people are masked (1 row of the table, and 1 more from which they could be "
        "worked out)."
    ]
    assert not notes(content, "given-away")
    line = next(row for row in csv_text(read_result(content)).splitlines() if ",c," in row)
    assert "a group of fewer than 10 people could be worked out from it" in line
    assert "25" not in line


def test_untested_groups_of_certify() -> None:
    audit = Audit(people(a=500, b=400, c=25, e=28, f=8), decision="d", groups="g")
    content = mask_result(certify(audit, "selection_rate", tolerance=0.1), 10)
    assert [item["group"] for item in content["details"]["untested"]] == ["e"]
    assert [row["group"] for row in content["estimates"]] == ["a", "b"]


def test_two_small_groups_need_no_third() -> None:
    audit = Audit(people(a=500, c=25, e=9, f=8), decision="d", groups="g")
    content = mask_result(measure(audit, "selection_rate"), 10)
    assert [row["group"] for row in content["estimates"] if is_masked(row)] == ["e", "f"]


@pytest.mark.parametrize("method", [measure, certify, flag])
def test_groups_that_were_compared_stay_and_the_report_says_what_they_give_away(method: Any) -> None:
    audit = Audit(people(a=500, b=400, f=8), decision="d", groups="g")
    content = mask_result(method(audit, "selection_rate"), 10)
    assert [row["group"] for row in content["estimates"] if not is_masked(row)] == ["a", "b"]
    (text,) = notes(content, "given-away")
    assert text.startswith(
        "The number of people in f is masked, but totals and the groups compared give it away."
    )


def test_sizes_in_the_data_section() -> None:
    def level(label: str, n: int) -> dict[str, Any]:
        return {"label": label, "n": n}

    groups = {"g": [level("a", 90), level("b", 40), level("c", 8), level("none", 0)], "h": [level("x", 138)]}
    published = mask_groups(groups, 10)
    assert [item["n"] for item in published["g"]] == [90, None, None, 0]
    assert published["h"] == groups["h"]
    assert mask_groups(groups, 0) == groups
    two_small = {"g": [level("a", 90), level("b", 9), level("c", 8)]}
    assert [item["n"] for item in mask_groups(two_small, 10)["g"]] == [90, None, None]


def test_the_page_and_its_files_do_not_hold_the_masked_size() -> None:
    data = people(a=500, b=400, c=25, f=8)
    spec = {"data": {"source": "memory.csv", "decision": "d", "groups": ["g"]},
            "measure": {"metric": ["selection_rate"]}}  # fmt: skip
    content = run(spec, data=data).to_dict()
    assert [item["n"] for item in content["data"]["groups"]["g"]] == [500, 400, None, None]
    page = render(content)
    assert page.count('<span class="num">masked</span>') == 2


def recovered(rows: list[dict[str, Any]], sizes: dict[tuple[str, ...], int]) -> set[str]:
    """By linear algebra: the masked counts that the shown ones and all totals determine."""
    places = list(sizes)
    shown = [place for place, row in zip(places, rows, strict=True) if not is_masked(row)]
    equations = [[float(place == one) for place in places] for one in shown]
    cells = [place for place in places if len(place) == 2]
    margins = [place for place in places if len(place) == 1]
    equations.append([float(place in cells) for place in places])
    for margin in margins:
        inside = [cell for cell in cells if margin[0] in cell]
        equations.append([1.0 if place in inside else -1.0 if place == margin else 0.0 for place in places])
    matrix = np.array(equations)
    rank = np.linalg.matrix_rank(matrix)
    found = set()
    for index, row in enumerate(rows):
        unit = np.eye(len(places))[index]
        if is_masked(row) and np.linalg.matrix_rank(np.vstack([matrix, unit])) == rank:
            found.add(", ".join(places[index]))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_intersections(seed: int) -> None:
    """Whatever totals and margins determine of the small groups is named in the report."""
    random = np.random.default_rng(seed)
    sizes = random.choice([4, 7, 12, 18, 25, 28, 60, 200], size=(3, 3))
    rows = [(f"r{i}", f"s{j}", k % 2) for i in range(3) for j in range(3) for k in range(sizes[i, j])]
    audit = Audit(pd.DataFrame(rows, columns=["r", "s", "d"]), decision="d", groups=["r", "s"])
    result = measure(audit, "selection_rate", depth=2)
    places = {tuple(value for _, value in place): int(row["n"]) for place, row in
              zip(result.details["places"], result.estimates, strict=True)}  # fmt: skip
    content = mask_result(result, 10)
    small = {row["group"] for row in result.estimates if row["n"] < 10}
    told = " ".join(notes(content, "given-away"))
    for name in recovered(content["estimates"], places) & small:
        assert name in told
    assert all(scalar(row["n"]) is None or scalar(row["n"]) >= 10 for row in content["estimates"])

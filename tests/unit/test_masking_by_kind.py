"""The owner's report: masking goes by what a column is, and a number that tells of few people is not shown."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

from fairtrial import Audit, measure, read_result, run
from inside.ground import Note
from inside.methods import declared_methods
from inside.results import Column, Result, few_of, mask_note, mask_result, masked_rows, scalar
from inside.scan import ScanEachResult
from inside.trial import render

# Rates that are no share of people whom the same row counts, and why.
NO_SHARE = {
    (
        "certify",
        "target_rate",
    ): "the target's people are not in the row; it is a group of its own or the rest",
    ("flag", "target_rate"): "the target's people are not in the row; it is a group of its own or the rest",
    ("flag", "borrowed"): "made of all groups' counts, and masked with the group's own rate",
    ("plan", "power"): "a probability, of nobody",
    ("scan", "expected"): "an expectation, not a count",
    ("scan", "target_expected"): "an expectation, not a count",
    ("tabulate", "share"): "of everyone, who are not in the row; n itself stands beside it",
}
LIMITS = ("_low", "_high")


def people(**groups: tuple[int, int]) -> pd.DataFrame:
    """Per group how many people, and how many of them are selected."""
    rows = [(name, int(i < events)) for name, (n, events) in groups.items() for i in range(n)]
    return pd.DataFrame(rows, columns=["g", "d"])


KINDS = [*((name, found.result) for name, found in declared_methods().items()), ("scan", ScanEachResult)]


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_every_rate_says_whose_share_it_is_and_every_part_of_what(name: str, kind: type[Result]) -> None:
    columns = {column.name: column for column in kind.columns}
    for column in kind.columns:
        if column.kind == "rate" and not column.name.endswith(LIMITS):
            assert column.share_of or (name, column.name) in NO_SHARE, (name, column.name)
        for whole in (column.share_of, column.part_of):
            assert not whole or columns[whole].counts_people, (name, column.name)
        if column.name in ("n", "events") or column.name.endswith("_n"):
            assert column.kind == "people", (name, column.name)


@pytest.mark.parametrize(
    ("n", "events", "text"),
    [
        (500, 3, "fewer than 10 of 500"),
        (500, 10, ""),
        (500, 0, ""),  # nobody is not few
        (500, 497, "all but fewer than 10 of 500"),
        (500, 490, ""),
    ],
)
def test_a_rate_that_tells_of_few_people(n: int, events: int, text: str) -> None:
    row = {"n": n, "rate": events / n, "events": events, "value_kind": "percent"}
    assert few_of(row, Column("rate", "rate", "rate", share_of="n"), 10) == text
    assert few_of(row, Column("events", "events", "people", part_of="n"), 10) == text
    assert few_of({**row, "value_kind": "number"}, Column("rate", "rate", "rate", share_of="n"), 10) == ""


def test_small_numerators_are_not_in_the_owners_report() -> None:
    frame = people(a=(500, 250), b=(400, 220), c=(300, 3))
    trial = run({"data": {"source": "x.csv", "decision": "d", "groups": ["g"]}, "measure": {}}, data=frame)
    content = trial.to_dict()
    row = next(row for row in content["sections"][0]["result"]["estimates"] if row["group"] == "c")
    assert row["n"] == 300
    assert row["rate"] == {"value": None, "reason": "fewer than 10 of 300", "masked": True}
    hidden = ("events", "rate_low", "rate_high", "difference", "difference_low", "ratio", "impact_ratio")
    assert [scalar(row[name]) for name in hidden] == [None] * len(hidden)
    assert scalar(row["p_adjusted"]) is not None  # what was found is still said
    assert row["state"] == "violated"
    entry = next(entry for entry in content["family"] if entry["subject"] == "c")
    assert (entry["effect"], entry["low"]) == (None, None)
    assert "of c is" not in content["verdict"]["text"]
    page = render(content)
    assert "fewer than 10 of 300" in page
    assert f"{3 / 300:.1%}" not in page.split("</style>")[1].split("Reproduce")[0]


def test_a_further_table_is_masked_alike() -> None:
    columns = (
        Column("group", "group", "text"),
        Column("n", "n", "people"),
        Column("rate", "rate", "rate", share_of="n"),
    )
    rows = masked_rows(
        [{"group": "a", "n": 4, "rate": 0.5}, {"group": "b", "n": 400, "rate": 0.01}], columns, 10
    )
    assert [scalar(row["n"]) for row in rows] == [None, 400]
    assert rows[1]["rate"]["reason"] == "fewer than 10 of 400"


def test_a_note_that_tells_of_few_people() -> None:
    few, many = (Note("few-comparators", f"The comparison rests on {n} people.", n) for n in (4, 14))
    assert mask_note(few.to_dict(), 10)["text"] == "A note about fewer than 10 people is masked."
    assert mask_note(many.to_dict(), 10) == many.to_dict()
    assert Note(**json.loads(json.dumps(few.to_dict()))) == few


def test_real_values_have_no_numerator() -> None:
    frame = people(a=(500, 250), b=(400, 220))
    frame["y"] = 0.004 + 0.0001 * (frame.index % 7)
    content: dict[str, Any] = mask_result(measure(Audit(frame, outcome="y", groups="g"), "base_rate"), 10)
    assert all(scalar(row["rate"]) is not None for row in content["estimates"])
    assert read_result(content).claims() == read_result(content).claims()

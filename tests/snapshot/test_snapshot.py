"""The numbers are those of the snapshot: a fast part here, everything by `python tests/snapshot/compare.py`."""

from __future__ import annotations

import pytest

from snapshot.compare import compare, differences, report, same
from snapshot.take import chosen_cases

PARTS = sorted({case.name.split("/")[0] for case in chosen_cases(fast=True)})


@pytest.mark.parametrize("part", PARTS)
def test_numbers_texts_and_faults_are_those_of_the_snapshot(part):
    found = compare(only=f"{part}/", fast=True)
    assert not found, f"\n{report(found)}\nMeant so? Say it in tests/snapshot/moved.md, then take.py."


@pytest.mark.parametrize(
    ("path", "old", "new", "equal"),
    [
        ("rate", 0.5, 0.5 + 1e-13, True), ("rate", 0.5, 0.5 + 1e-11, False), ("rate", 1e6, 1e6 + 1e-7, True),
        ("n", 5, 6, False), ("n", 5, 5.0, False), ("flag", True, 1, False), ("p_value", 1e-40, 2e-40, False),
        ("p_value", 1e-40, 1e-40 * (1 + 1e-9), True), ("finding", "violated", "violated", True),
        ("rate", None, 0.0, False), ("summary", "n  disparity\n5     0.20", "n  disparity\n5  0.20", True),
        ("summary", "n  disparity\n5     0.20", "n  disparity\n5  0.21", False), ("summary", "a\n", "b\n", False),
    ],
)  # fmt: skip
def test_what_counts_as_the_same(path, old, new, equal, monkeypatch):
    monkeypatch.setattr("snapshot.compare.TOLERANCE", 1e-12)
    monkeypatch.setattr("snapshot.compare.OF_P_VALUES", 1e-6)
    assert same(path, old, new) is equal


def test_columns_are_compared_by_name_and_in_their_order():
    old = {"columns/0/0": "scale", "columns/0/1": "values are", "columns/1/0": "n", "columns/1/1": "n"}
    new = {"columns/0/0": "n", "columns/0/1": "n", "columns/1/0": "scale", "columns/1/1": "values are"}
    assert not differences("", old, dict(old))
    assert [(one.path, one.new) for one in differences("", old, new)] == [("columns", "n scale")]
    titled = {**old, "columns/1/1": "people"}
    assert [(one.path, one.new) for one in differences("", old, titled)] == [("columns/n/title", "people")]


def test_a_refused_call_is_not_an_answer():
    assert differences("x", {"error": "ValueError"}, {"verdict/text": "violated"})
    assert differences(
        "x", {"error": "InputError", "faults/0": "a"}, {"error": "InputError", "faults/0": "b"}
    )
    assert not differences(
        "x", {"error": "InputError", "faults/0": "a"}, {"error": "InputError", "faults/0": "a"}
    )

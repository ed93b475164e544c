"""The numbers are those of the snapshot: a fast part here, everything by `python tests/snapshot/compare.py`."""

from __future__ import annotations

import pytest

from snapshot import renames
from snapshot.compare import compare, differences, report, same, translated
from snapshot.take import chosen_cases

PARTS = sorted({case.name.split("/")[0] for case in chosen_cases(fast=True)})


@pytest.mark.parametrize("part", PARTS)
def test_numbers_texts_and_faults_are_those_of_the_snapshot(part):
    found = compare(only=f"{part}/", fast=True)
    assert not found, f"\n{report(found)}\nMeant so? List it in tests/snapshot/renames.py, with the reason."


def test_every_rename_has_a_reason():
    assert [name for name, reason in renames.entries().items() if not reason.strip()] == []


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
def test_what_counts_as_the_same(path, old, new, equal):
    assert same(path, old, new) is equal


def test_columns_are_compared_by_name_and_in_their_order():
    listed = {"about/kind": "certify", "columns/0/0": "scale", "columns/0/1": "scale", "columns/1/0": "n"}
    old = {**listed, "columns/1/1": "n"}
    new = {
        "about/kind": "certify",
        "columns/1/0": "value_kind",
        "columns/1/1": "values are",
        "columns/0/0": "n",
    }
    assert translated(old) == {
        "about/kind": "certify", "columns/value_kind/title": "values are", "columns/n/title": "n",
    }  # fmt: skip
    assert not differences("", old, {**new, "columns/2/0": "n", "columns/2/1": "n"})
    found = differences("", old, {"columns/0/1": "people", **new})
    assert [(one.path, one.new) for one in found] == [
        ("columns/n/title", "people"),
        ("columns", "n value_kind"),
    ]


def test_what_stands_elsewhere_is_still_compared():
    old = {"kind": "scan", "question": "Which?", "provenance/arguments/seed": 3}
    assert not differences("scan/x", old, {"kind": "scan", "question": "Which?", "provenance/seed": 3})
    found = differences("scan/x", old, {"kind": "scan", "question": "Which?", "provenance/seed": 4})
    assert [one.path for one in found] == ["provenance/seed"]


def test_a_record_of_a_refused_call_is_compared_as_a_whole():
    case, wanted = next(iter(renames.RECORDS.items()))
    assert not differences(case, {"error": "ValueError"}, wanted.new)
    assert differences(case, {"error": "ValueError"}, {**wanted.new, "faults/0": "something else"})


def test_renames_reach_keys_values_and_texts(monkeypatch):
    to = renames.To
    monkeypatch.setitem(renames.COLUMNS, "certify", {"scale": to("value_kind", "it names the value")})
    monkeypatch.setitem(renames.DETAILS, "*", {"joint": to("together", "one word")})
    monkeypatch.setitem(renames.ARGUMENTS, "certify", {"rule": to("certificate", "one word")})
    monkeypatch.setitem(renames.ARGUMENT_VALUES, ("*", "direction"), {"both": to("differs", "one word")})
    monkeypatch.setitem(renames.VERDICTS, "violated", to("harmed", "one word"))
    monkeypatch.setitem(renames.VALUES, ("certify", "details/kind"), {"a": to("b", "one word")})
    monkeypatch.setattr(renames, "PATTERNS", [("Rows are", to("Lines are", "one word"))])
    renames.text_of.cache_clear()
    old = {
        "kind": "certify", "question": "Is it?", "estimates/0/scale": "percent", "details/joint/df": 2,
        "provenance/arguments/rule": "paper",
        "provenance/arguments/direction": "both", "verdict/code": "violated", "notes/x": "Rows are people.",
        "details/kind": "a",
    }  # fmt: skip
    new = translated(old)
    renames.text_of.cache_clear()
    assert new["estimates/0/value_kind"] == "percent"
    assert new["details/together/df"] == 2
    assert new["provenance/arguments/certificate"] == "paper"
    assert new["provenance/arguments/direction"] == "differs"
    assert new["verdict/code"] == "harmed"
    assert new["notes/x"] == "Lines are people."
    assert renames.arguments("scan", {"direction": "both", "top": 3}) == {"direction": "differs", "top": 3}

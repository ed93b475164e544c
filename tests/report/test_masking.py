"""Masking goes by what a column is: whatever the limit, no count of fewer people is published anywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fairtrial
from fairtrial import read_result
from inside.methods import declared_methods, trial_methods
from inside.results import is_masked, mask_result, published_rows, scalar
from inside.trial import load_results, render

pytestmark = pytest.mark.slow
LIMIT = 450


def masked(content: dict[str, Any]) -> dict[str, Any]:
    changed: dict[str, Any] = json.loads(json.dumps(content))
    for section in changed["sections"]:
        section["result"] = mask_result(read_result(section["result"]), LIMIT)
    return changed


def counts_under(names: Any, value: Any, limit: int) -> list[tuple[str, int]]:
    """Every count under the limit that stands under one of the names, however deep."""
    if isinstance(value, list):
        return [found for item in value for found in counts_under(names, item, limit)]
    if not isinstance(value, dict):
        return []
    own = [
        (name, item)
        for name, item in value.items()
        if name in names and isinstance(item, int) and 0 < item < limit
    ]
    return own + [found for item in value.values() for found in counts_under(names, item, limit)]


def people_left(result: dict[str, Any], limit: int) -> list[tuple[str, int]]:
    """Counts of few people in the table and in the details, by what the result's class declares."""
    kind = next(
        method.result for method in declared_methods().values() if method.result.kind == result["kind"]
    )
    columns = {column.name for column in kind.columns if column.kind == "people"}
    table = counts_under(columns, result["estimates"], limit)
    return table + counts_under({*columns, *kind.people_in_details}, result["details"], limit)


@pytest.mark.parametrize("name", declared_methods())
def test_whatever_counts_people_is_declared_so(name: str) -> None:
    kind = declared_methods()[name].result
    undeclared = [
        column.name
        for column in kind.columns
        if (column.name == "n" or column.name.endswith("_n")) and column.kind != "people"
    ]
    assert undeclared == []


def test_every_method_survives_masking(content: dict[str, Any]) -> None:
    changed = masked(content)
    assert any(is_masked(row) for section in changed["sections"] for row in section["result"]["estimates"])
    for section in changed["sections"]:
        assert people_left(section["result"], LIMIT) == [], section["id"]
        visible = published_rows(read_result(section["result"]))
        sizes = [scalar(row.get("n")) for row in visible.estimates]
        assert all(n is None or n >= LIMIT or n == 0 for n in sizes)
    page = render(changed)
    assert f"fewer than {LIMIT} people" in page


def test_no_count_under_ten_is_published(whole_spec: dict[str, Any], tmp_path: Path) -> None:
    """Ten is the limit by default; few people and small groups that are tested make counts under it."""
    frame = fairtrial.load("compas", backend="pandas").head(900)
    spec = {key: value for key, value in whole_spec.items() if key in trial_methods() or key == "data"}
    sections = {name: whole_spec[name] for name in spec if name != "data"}
    for name, tables in sections.items():
        takes = {argument.name for argument in trial_methods()[name].arguments}
        listed = tables if isinstance(tables, list) else [tables]
        spec[name] = [{**table, **({"minimum": 2} if "minimum" in takes else {})} for table in listed]
    spec["watch"][0]["state"] = str(tmp_path / "state.jsonl")
    fairtrial.run(spec, data=frame, out=tmp_path)
    content = load_results(tmp_path)
    assert content["report"]["suppress_below"] == 10
    hidden = 0
    for section in content["sections"]:
        if section["result"] is not None:
            hidden += sum(is_masked(row) for row in section["result"]["estimates"])
            assert people_left(section["result"], 10) == [], section["id"]
    assert hidden, "nothing had to be masked: the test shows nothing"
    assert counts_under({"n"}, content["family"], 10) == []
    assert counts_under({"n", "missing"}, content["data"], 10) == []


def test_masking_is_off_when_asked(content: dict[str, Any]) -> None:
    section = content["sections"][0]["result"]
    assert mask_result(read_result(section), 0) == read_result(section).to_dict()


def test_the_spec_of_these_tests_asks_every_question(whole_spec: dict[str, Any]) -> None:
    assert set(trial_methods()) <= set(whole_spec)


def test_unknown_and_small_categories_are_not_counted_in_notes() -> None:
    frame = fairtrial.load("compas", backend="pandas")[["race", "is_recid"]].head(600)
    frame["race"] = frame["race"].mask(frame.index < 4)
    data = {"source": "x.csv", "decision": "is_recid", "groups": ["race"]}
    trial = fairtrial.run({"preset": "employment", "data": data}, data=frame)
    content = trial.to_dict()
    table = next(item["result"] for item in content["sections"] if item["id"] == "tabulate-1")
    rows = {row["group"]: row for row in table["estimates"]}
    assert rows["(unknown)"]["n"]["masked"]
    assert rows["Native American"]["n"]["masked"]
    assert next(item for item in content["data"]["missing"] if item["column"] == "race")["missing"] is None
    assert "masked" in render(content)

"""Masking reaches every method: with a high limit the page is still made, and no small number is in it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairtrial.methods.declaration import read_result
from fairtrial.results.column import scalar
from fairtrial.results.masking import PEOPLE, is_masked, mask_result, published_rows
from fairtrial.trial.report import render
from fairtrial.methods.declaration import trial_methods

pytestmark = pytest.mark.slow
LIMIT = 450


def masked(content: dict[str, Any]) -> dict[str, Any]:
    changed: dict[str, Any] = json.loads(json.dumps(content))
    for section in changed["sections"]:
        section["result"] = mask_result(read_result(section["result"]), LIMIT)
    return changed


def small_counts(value: Any) -> list[int]:
    """Every count of people under the limit that is left somewhere."""
    if isinstance(value, list):
        return [count for item in value for count in small_counts(item)]
    if not isinstance(value, dict):
        return []
    own = [
        item for name, item in value.items() if name in PEOPLE and isinstance(item, int) and 0 < item < LIMIT
    ]
    return own + [count for item in value.values() for count in small_counts(item)]


def test_every_method_survives_masking(content: dict[str, Any]) -> None:
    changed = masked(content)
    assert any(is_masked(row) for section in changed["sections"] for row in section["result"]["estimates"])
    for section in changed["sections"]:
        assert small_counts(section["result"]["estimates"]) == [], section["id"]
        visible = published_rows(read_result(section["result"]))
        sizes = [scalar(row.get("n")) for row in visible.estimates]
        assert all(n is None or n >= LIMIT or n == 0 for n in sizes)
        assert small_counts(list(section["result"]["details"].values())) == [], section["id"]
    page = render(changed)
    assert f"fewer than {LIMIT} people" in page


def test_masking_is_off_when_asked(content: dict[str, Any]) -> None:
    section = content["sections"][0]["result"]
    assert mask_result(read_result(section), 0) == read_result(section).to_dict()


def test_the_spec_of_these_tests_asks_every_question(whole_spec: dict[str, Any]) -> None:
    assert set(trial_methods()) <= set(whole_spec)

"""No count of few people can be solved for from everything that is published; in the owner's report some can."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.attack.attacker import Published, attack, charts, records
from tests.attack.audits import Case, random_case

from fairtrial import InputError

LIMIT = 10
AUDITS = int(os.environ.get("FAIRTRIAL_ATTACKS", "20"))  # `make attack` runs 200

pytestmark = pytest.mark.filterwarnings("ignore::fairtrial.FairtrialWarning")


def case(cells: dict[str, list[list[int]]], metrics: list[str], **measure: object) -> Case:
    """One attribute; per level the counts by decision and outcome."""
    truth = np.array(list(cells.values()))
    spec = {
        "data": {"source": "x.csv", "decision": "d", "outcome": "y", "groups": ["g"]},
        "measure": {"metric": metrics, "minimum": 2, **measure},
    }
    return Case({"g": list(cells)}, truth, spec)


# What was found when masking was attacked on purpose; each is found out in the owner's report.
EXAMPLES = {
    "two groups of 4 and 3 masked: total and target's rate give both back": case(
        {"a": [[100, 40], [60, 90]], "b": [[80, 30], [50, 70]], "c": [[1, 1], [1, 1]], "e": [[1, 0], [1, 1]]},
        ["selection_rate"],
    ),
    "the true positive rate is masked, selection minus false positives gives it": case(
        {"a": [[100, 40], [60, 90]], "b": [[80, 30], [50, 70]], "c": [[60, 4], [40, 3]]},
        ["selection_rate", "fpr", "tpr"],
    ),
    "3 of 40": case(
        {"a": [[100, 40], [60, 90]], "b": [[80, 30], [50, 70]], "c": [[37, 20], [3, 20]]}, ["fpr"],
        target="overall",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_attacker_breaks_the_owners_report_and_not_what_is_published(name: str) -> None:
    one = EXAMPLES[name]
    assert attack(one.published(publish=False), one.labels, one.truth, LIMIT), "the attacker is too weak"
    assert attack(one.published(publish=True), one.labels, one.truth, LIMIT) == []


def test_a_coarser_form_of_an_attribute_gives_few_people_away_unless_it_is_left_out(monkeypatch) -> None:
    """“a or e” of the one attribute minus “a” of the other are the few people of e."""
    truth = np.zeros((3, 2, 2, 2), dtype=int)
    truth[0, 0], truth[1, 1], truth[2, 1] = [[90, 40], [60, 80]], [[100, 40], [60, 90]], [[2, 1], [1, 2]]
    spec = {
        "data": {"source": "x.csv", "decision": "d", "outcome": "y", "groups": ["g", "h"]},
        "measure": {"metric": ["selection_rate"], "minimum": 2, "depth": 1},
    }
    one = Case({"g": ["a", "b", "e"], "h": ["A", "not A"]}, truth, spec)
    assert attack(one.published(publish=True), one.labels, truth, LIMIT) == []
    monkeypatch.setattr("fairtrial._trial.publishing.making.apart", lambda *given: ())
    assert attack(one.published(publish=True), one.labels, truth, LIMIT), "the attacker is too weak"


def numbers(value: Any) -> Iterator[float]:
    """Every number in the content, however deep."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from numbers(item)


def published_or_none(one: Case) -> Published | None:
    """What is published; None where the audit refuses to publish anything."""
    try:
        return one.published(publish=True)
    except InputError as error:
        if error.faults[0].argument != "publish":
            raise
        return None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(AUDITS))
def test_nothing_is_found_out(seed: int) -> None:
    one = random_case(seed)
    assert one.truth.size <= 40
    published = published_or_none(one)
    if published is not None:
        assert attack(published, one.labels, one.truth, LIMIT) == []
        assert attack(published, one.labels, one.truth, LIMIT, all_of=True) == []


def test_tables_and_charts_hold_nothing_that_the_results_do_not() -> None:
    one = random_case(0)
    published = one.published(publish=True)
    told = {float(f"{value:.3g}") for value in numbers(published.content)}
    for text in published.tables.values():
        for cell in (cell for line in csv.reader(io.StringIO(text)) for cell in line):
            if re.fullmatch(r"-?[\d.]+(e-?\d+)?", cell):
                assert float(f"{float(cell):.3g}") in told
    for record in records(list(charts(published.page))):
        for name in ("estimate", "n", "now", "after", "disparity"):
            if isinstance(record.get(name), int | float):
                assert float(f"{record[name]:.3g}") in told, record

"""No count of few people can be solved for from everything that is published; in the owner's report some can."""

from __future__ import annotations

import os

import numpy as np
import pytest
from tests.attack.attacker import Published, attack
from tests.attack.audits import Case, random_case

from fairtrial.errors import InputError

LIMIT = 10
AUDITS = int(os.environ.get("FAIRTRIAL_ATTACKS", "20"))  # `make attack` runs 200

pytestmark = pytest.mark.filterwarnings("ignore::fairtrial.errors.FairtrialWarning")


def case(cells: dict[str, list[list[int]]], metrics: list[str], **measure: object) -> Case:
    """One attribute; per level the counts by decision and outcome."""
    truth = np.array(list(cells.values()))
    spec = {
        "data": {"source": "x.csv", "decision": "d", "outcome": "y", "groups": ["g"]},
        "measure": {"metrics": metrics, "minimum": 2, **measure},
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

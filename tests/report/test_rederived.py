"""The numbers of a trial that asks every question agree with each other, by the check that strangers' files meet."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import fairtrial
from fairtrial import InputError
from inside.trial import certificate_page, contradictions


@pytest.mark.slow
def test_a_whole_trial_does_not_contradict_itself(content: dict[str, Any]) -> None:
    assert contradictions(content) == []


@pytest.fixture(scope="module")
def undetermined() -> dict[str, Any]:
    """Two groups of the same rate, too few people to certify one point; and a test of the same."""
    return fairtrial.run(
        {
            "data": {"dataset": "compas", "outcome": "two_year_recid", "score": "decile_score", "threshold": 5,
                     "groups": ["sex"]},
            "certify": {"metric": "fpr", "tolerance": 0.01},
            "flag": {"metric": "base_rate"},
        }
    ).to_dict()  # fmt: skip


def test_a_certificate_that_its_interval_does_not_bear_out_is_refused(undetermined: dict[str, Any]) -> None:
    assert contradictions(undetermined) == []
    forged = copy.deepcopy(undetermined)
    forged["sections"] = forged["sections"][:1]
    forged["family"], forged["correction"]["tests"] = [], 0
    result = forged["sections"][0]["result"]
    result["verdict"] = {"code": "certified", "text": "certified: all of it"}
    forged["verdict"] = {"code": "certified", "text": "Certified."}
    assert "certify: Female: is undetermined, where all are called certified" in " ".join(
        contradictions(forged)
    )
    for row in result["estimates"]:
        row["state"] = row["family_state"] = "certified"
    assert any("not inside the tolerance" in text for text in contradictions(forged))
    with pytest.raises(InputError, match="contradict each other.*not inside the tolerance"):
        certificate_page(forged)
    result["details"]["tolerance"] = None
    assert any("not inside the tolerance" in text for text in contradictions(forged))


def test_a_test_that_is_left_out_of_the_correction_is_told(undetermined: dict[str, Any]) -> None:
    forged = copy.deepcopy(undetermined)
    assert forged["verdict"]["code"] == "violated"
    for value in (1.0, 0.3):
        for entry in forged["family"]:
            entry["test_p"] = value
        assert any("the p-value of its test does not follow" in text for text in contradictions(forged))
    forged["family"], forged["correction"]["tests"] = [], 0
    forged["verdict"]["code"] = "undetermined"
    assert any("not among those corrected together" in text for text in contradictions(forged))

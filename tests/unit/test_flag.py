"""flag: four tests, one family, what is not tested, and small groups."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import fairtrial
from fairtrial import Audit, InputError, Metric, flag, read_result
from inside.inference import benjamini_hochberg
from inside.results import scalar


@pytest.fixture(scope="module")
def compas():
    data = fairtrial.load("compas", backend="pandas")
    return Audit(data, outcome="two_year_recid", score="decile_score", threshold=5, groups=["race", "sex"])


def line(result, group):
    return next(row for row in result.estimates if row["group"] == group)


def test_family_is_every_intersection_corrected_at_once(compas):
    result = flag(compas, "fpr", depth=2, tolerance=0.05, direction="above")
    tested = [row for row in result.estimates if scalar(row["p_value"]) is not None]
    assert len(tested) == result.details["tested"] == 14
    p = np.array([row["p_value"] for row in tested])
    assert [row["p_adjusted"] for row in tested] == pytest.approx(benjamini_hochberg(p).tolist())
    assert [row["group"] for row in tested if row["flagged"]] == [
        "race: African-American",
        "race: African-American, sex: Male",
    ]


def test_four_directions(compas):
    above = flag(compas, "fpr", depth=1, direction="above", tolerance=0.05)
    below = flag(compas, "fpr", depth=1, direction="below", tolerance=0.05)
    outside = flag(compas, "fpr", depth=1, direction="outside", tolerance=0.05)
    differs = flag(compas, "fpr", depth=1, direction="differs")
    assert line(above, "race: African-American")["flagged"]
    assert line(above, "race: Caucasian")["p_value"] == 1.0
    assert line(below, "race: Caucasian")["flagged"]
    assert line(below, "race: African-American")["p_value"] == 1.0
    assert line(outside, "race: Caucasian")["flagged"]
    assert line(outside, "race: African-American")["flagged"]
    for row in outside.estimates:
        if scalar(row["p_value"]) is not None and row["state"] != "undetermined":
            other = min(line(above, row["group"])["p_value"], line(below, row["group"])["p_value"])
            assert row["p_value"] >= other - 1e-12
            assert line(differs, row["group"])["p_value"] <= row["p_value"] + 1e-12


def test_differs_from_a_value(compas):
    gap = line(flag(compas, "fpr", depth=1, direction="differs"), "sex: Female")["difference"]
    at = flag(compas, "fpr", depth=1, direction="differs", tolerance=gap)
    assert line(at, "sex: Female")["p_value"] == pytest.approx(1.0)


def test_default_direction_is_the_side_that_harms(compas):
    """Which side that is nobody knows before the audit says what is good for a person."""
    assert {flag(compas, name).details["direction"] for name in ("fpr", "tpr", "selection_rate")} == {
        "outside"
    }
    roles = {"outcome": "two_year_recid", "score": "decile_score", "threshold": 5, "groups": ["race", "sex"]}
    harmful, helpful = (Audit(fairtrial.load("compas"), favourable=decision, **roles) for decision in (0, 1))
    for name in ("fpr", "tpr", "selection_rate"):
        assert flag(harmful, name).details["direction"] == "above"
        assert flag(helpful, name, direction="harmed").details["direction"] == "below"
    with pytest.raises(
        InputError, match="does not say who is harmed: say which decision is good for a person"
    ):
        flag(compas, "fpr", direction="harmed")


@pytest.mark.parametrize(("small", "told"), [("list", ""), ("describe", "; described")])
def test_small_groups_are_listed_not_tested(compas, small, told):
    result = flag(compas, "fpr", depth=2, small=small)
    row = line(result, "race: Native American")
    assert (row["state"], row["state_reason"]) == ("too few", f"fewer than 30 members{told}")
    assert scalar(row["p_value"]) is None
    assert not row["flagged"]


def test_hull_failures_never_give_a_tiny_p(compas):
    # The paper's code flags groups of two and three people, whose values cannot average to the target.
    result = flag(compas, "ppv", by=["race", "sex"], depth=2, minimum=1, direction="differs", target=0.6)
    tiny = [row for row in result.estimates if row["n"] <= 3 and scalar(row["p_value"]) is not None]
    assert tiny
    assert min(row["p_value"] for row in tiny) > 0.05
    assert not any(row["flagged"] for row in tiny)


def test_constant_group_stays_in_the_family_with_p_one():
    rng = np.random.default_rng(9)
    frame = pd.DataFrame(
        {"g": np.repeat(["a", "b", "c"], 60), "loss": np.r_[rng.exponential(size=120), np.ones(60)]}
    )
    result = flag(Audit(frame, groups="g"), Metric("loss", "loss"), direction="above")
    row = line(result, "c")
    assert (row["state"], row["p_value"], result.details["tested"]) == ("undetermined", 1.0, 3)


def test_holm_and_by_flag_no_more_than_bh(compas):
    flagged = {
        name: {row["group"] for row in flag(compas, "fpr", correction=name).estimates if row["flagged"]}
        for name in ("bh", "by", "holm")
    }
    assert flagged["by"] <= flagged["bh"]
    assert flagged["holm"] <= flagged["bh"]


def test_overlap_is_said_in_the_notes(compas):
    assert "bh-dependence" in {note.code for note in flag(compas, "fpr", depth=2).notes}
    assert "bh-dependence" not in {note.code for note in flag(compas, "fpr", by="race", depth=1).notes}


def test_result_round_trips_and_draws(compas):
    result = flag(compas, "fpr", depth=2, tolerance=0.05, direction="above")
    assert read_result(result.to_dict()).to_dict() == result.to_dict()
    json.dumps(result.to_dict(), allow_nan=False)
    names = ["disparities", "intersections", "small-groups"]
    assert [picture.name for picture in result.pictures()] == names
    for picture in result.pictures():
        picture.chart.to_dict()
    assert result.verdict.text.startswith("2 of 14 groups flagged")
    assert result.reading()[1] == "Of the flagged groups, at most 5% are expected to be flagged wrongly."
    assert len(result.primary()) == 14


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"direction": "up"}, "'direction' must be one of"),
        ({"correction": "bonferroni"}, "'correction' must be one of"),
        ({"confidence_level": 0}, "'confidence_level' must be a number between"),
        ({"small": "shown"}, "'small' must be one of"),
        ({"depth": 0}, "'depth' must be a whole number"),
        ({"direction": "differs", "tolerance": [0, 1]}, "the one value tested"),
        ({"by": "rce"}, "rce"),
    ],
)
def test_bad_input_has_one_clear_message(compas, arguments, message):
    with pytest.raises(InputError, match=message) as caught:
        flag(compas, "fpr", **arguments)
    assert str(caught.value).startswith("flag: ")


@pytest.mark.parametrize(
    ("options", "question", "null"),
    [
        (
            {"direction": "below"},
            "below that of everyone else?",
            "is not below that of",
        ),
        (
            {"direction": "above", "tolerance": 0.05},
            "more than 5.0 points above",
            "is not more than 5.0 points above",
        ),
        (
            {"direction": "above", "tolerance": [-0.1, -0.02]},
            "less than 2.0 points below",
            "is not less than 2.0",
        ),
        (
            {"direction": "below", "tolerance": [0.01, 0.05]},
            "less than 1.0 points above",
            "is not less than 1.0",
        ),
        (
            {"direction": "differs"},
            "different from that of everyone else?",
            "is not different from that of everyone else.",
        ),
        (
            {"direction": "differs", "tolerance": 0.05},
            "other than 5.0 points above",
            "is 5.0 points above everyone",
        ),
        (
            {"direction": "differs", "tolerance": -0.05},
            "other than 5.0 points below",
            "is 5.0 points below everyone",
        ),
        (
            {"direction": "outside", "tolerance": 0.05},
            "more than 5.0 points from",
            "is not more than 5.0 points from",
        ),
    ],
)
def test_question_and_null_read_as_english(compas, options, question, null):
    result = flag(compas, "fpr", depth=1, **options)
    assert question in result.question
    assert null in result.null
    assert "not not" not in result.null
    assert "-0.0" not in result.question + result.null


def test_a_harmed_group_is_flagged_on_the_scale_of_ratios_too():
    """A ratio of .5 is a gap below: told from 0 instead of 1 it would pass for a favour."""
    frame = pd.DataFrame({"g": ["a"] * 400 + ["b"] * 400, "hired": [1, 0, 0, 0] * 100 + [1, 0] * 200})
    audit = Audit(frame, decision="hired", groups="g", favourable=1)
    for scale in ("difference", "ratio"):
        found = line(flag(audit, "selection_rate", by=[{"g": "a"}], target={"g": "b"}, scale=scale), "a")
        assert (found["state"], found["effect"]) == ("flagged", "harmed"), scale

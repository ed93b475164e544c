"""What is good for a person, who is meant, and certificates that nobody asked for."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import fairtrial as ft
from fairtrial import METRICS, InputError, Metric, role
from inside.metrics import Favours, describes_people, effect_of, harmed_side
from inside.trial import build_page


def hiring(
    women: int = 200, men: int = 300, n: int = 500, labels: tuple[str, str] = ("F", "M")
) -> pd.DataFrame:
    """`women` of 500 women and `men` of 500 men are selected."""
    decided = np.repeat([1, 0, 1, 0], [women, n - women, men, n - men])
    return pd.DataFrame({"sex": np.repeat(labels, n), "d": decided})


# -- what is good for a person ----------------------------------------------------------------------------------------
GOOD = {
    "selection_rate": "below", "mean_decision": "below",
    "tpr": "below", "fpr": "below", "tnr": "above", "fnr": "above", "ppv": "above",
    "fdr": "below", "npv": "below", "for": "above", "mean_score": "below", "balance_positive": "below",
    "balance_negative": "below", "calibration": "above", "calibration_negative": "below",
}  # fmt: skip
WRONG = {"accuracy": "below", "error_rate": "above", "brier": "above", "log_loss": "above", "squared_error": "above",
         "absolute_error": "above"}  # fmt: skip


def test_every_metric_has_a_harmed_side_once_it_is_known_what_is_good() -> None:
    assert set(GOOD) | set(WRONG) | {"base_rate"} == set(METRICS)
    other = {"above": "below", "below": "above"}
    good, bad = Favours(1, "high", 1), Favours(0, "low", 0)
    for name, side in GOOD.items():
        assert harmed_side(METRICS[name], good) == side
        assert harmed_side(METRICS[name], bad) == other[side]
        assert harmed_side(METRICS[name], Favours()) is None
    for name, side in WRONG.items():
        assert harmed_side(METRICS[name], bad) == harmed_side(METRICS[name], good) == side
    assert harmed_side(METRICS["base_rate"], good) is None
    assert [name for name, metric in METRICS.items() if describes_people(metric)] == ["base_rate"]


def test_a_metric_of_ones_own_may_say_what_hurts() -> None:
    assert harmed_side(Metric("refused", role.decision, hurts="above"), Favours(1)) == "above"
    assert effect_of(-0.1, "below") == "harmed"
    assert effect_of(0.1, "below") == "favoured"
    assert effect_of(0.0, "below") == effect_of(0.1, None) == ""


@pytest.mark.parametrize(
    ("favourable", "women", "men"),
    [(None, "violated", "violated"), (1, "harmed", "favoured"), (0, "favoured", "harmed")],
)
def test_measure_says_who_is_harmed(favourable: int | None, women: str, men: str) -> None:
    result = ft.measure(
        ft.Audit(hiring(), decision="d", groups="sex", favourable=favourable), "selection_rate"
    )
    states = {row["group"]: row["state"] for row in result.estimates}
    assert states == {"F": women, "M": men}
    assert "violated" not in result.summary()
    told = {
        None: "differs: selection rate of F",
        1: "harmed: selection rate of F",
        0: "harmed: selection rate of M",
    }
    assert result.verdict.text.startswith(told[favourable])
    tones = {row["group"]: result.state_of(row).tone for row in result.estimates}
    assert [name for name, tone in tones.items() if tone == "bad"] == {None: ["F", "M"], 1: ["F"], 0: ["M"]}[
        favourable
    ]
    effects = {claim.who: (claim.verdict, claim.effect) for claim in result.claims()}
    said = {None: ("", ""), 1: ("harmed", "favoured"), 0: ("favoured", "harmed")}[favourable]
    assert effects == {"sex: F": ("found", said[0]), "sex: M": ("found", said[1])}


def test_four_fifths_work_on_the_favourable_rate() -> None:
    def ratios(favourable: int | None) -> dict[str, float]:
        audit = ft.Audit(hiring(), decision="d", groups="sex", favourable=favourable)
        return {row["group"]: row["impact_ratio"] for row in ft.measure(audit, "selection_rate").estimates}

    assert ratios(1) == ratios(None) == {"F": pytest.approx(0.4 / 0.6), "M": 1.0}
    assert ratios(0) == {"F": 1.0, "M": pytest.approx(0.4 / 0.6)}


def test_certify_and_flag_say_who_is_harmed() -> None:
    audit = ft.Audit(hiring(), decision="d", groups="sex", favourable=1)
    certificate = ft.certify(audit, "selection_rate", tolerance=0.05)
    assert [(row["state"], row["effect"]) for row in certificate.estimates] == [
        ("violated", "harmed"), ("favoured", "favoured")
    ]  # fmt: skip
    assert "selection rate of F is 20.0 points below everyone else (harmed)" in certificate.verdict.text
    flagged = ft.flag(audit, "selection_rate", direction="outside")
    assert [(row["state"], row["flagged"]) for row in flagged.estimates] == [
        ("flagged", True),
        ("favoured", True),
    ]
    assert "F is 20.0 points below everyone else (harmed)" in flagged.verdict.text
    assert ft.flag(audit, "selection_rate").details["flagged"] == 1
    nothing = ft.certify(ft.Audit(hiring(250, 252), decision="d", groups="sex", favourable=1), "selection_rate",
                         tolerance=0.2)  # fmt: skip
    assert {row["effect"] for row in nothing.estimates} == {
        None
    }  # nothing is said of who is not found to be harmed


def test_the_base_rate_is_described_and_never_violated() -> None:
    audit = ft.Audit(hiring().rename(columns={"d": "y"}), outcome="y", groups="sex")
    measured = ft.measure(audit, "base_rate")
    assert {row["state"] for row in measured.estimates} == {"described"}
    assert measured.verdict.code == "described"
    assert measured.tone == "open"
    assert measured.primary() == []  # no part of the trial's findings
    for result in (measured, ft.certify(audit, "base_rate", tolerance=0.05), ft.flag(audit, "base_rate")):
        assert not any(result.state_of(row).tone == "bad" for row in result.estimates)
        assert "violated" not in result.verdict.text
    assert ft.certify(audit, "base_rate", tolerance=0.05).tone == "open"
    spec = {
        "data": {"source": "x.csv", "outcome": "y", "groups": ["sex"]},
        "measure": {"metric": "base_rate"},
    }
    assert ft.run(spec, data=hiring().rename(columns={"d": "y"})).verdict.code == "undetermined"


def test_the_favourable_decision_by_its_label() -> None:
    frame = hiring().assign(word=lambda rows: np.where(rows["d"] == 1, "denied", "granted"))
    roles = {"decision": "word", "positive": {"decision": "denied"}, "groups": "sex"}
    assert ft.Audit(frame, favourable="granted", **roles).favourable == 0
    assert ft.Audit(frame, favourable="denied", **roles).favourable == 1
    assert ft.Audit(frame, favourable=True, decision="d").favourable == 1
    with pytest.raises(
        InputError, match="'favourable' must be a decision that is good for a person: 1 or 0 or one of"
    ):
        ft.Audit(frame, favourable="perhaps", **roles).check()
    with pytest.raises(
        InputError, match="'favourable' needs a decision: name the decision's column with decision="
    ):
        ft.Audit(frame, outcome="d", favourable=1)


# -- who is meant -----------------------------------------------------------------------------------------------------
def answers() -> pd.DataFrame:
    """Two attributes whose values are yes and no."""
    frame = hiring(labels=("No", "Yes")).rename(columns={"sex": "disabled"})
    return frame.assign(veteran=["Yes", "No"] * 500)


def test_labels_carry_the_attribute_where_there_are_several() -> None:
    audit = ft.Audit(answers(), decision="d", groups=["disabled", "veteran"])
    for result in (ft.measure(audit, "selection_rate"), ft.certify(audit, "selection_rate", tolerance=0.05),
                   ft.flag(audit, "selection_rate", depth=1)):  # fmt: skip
        assert {row["group"] for row in result.estimates} == {
            "disabled: No", "disabled: Yes", "veteran: No", "veteran: Yes"
        }  # fmt: skip
        assert "selection rate of disabled: No is 20.0 points below" in result.verdict.text
        assert not re.search(r"(?<!: )\b(No|Yes)\b", result.summary().replace("Notes", ""))
        labels = str([picture.chart.to_dict() for picture in result.pictures()])
        assert "disabled: No" in labels


def test_a_value_that_says_nothing_carries_its_attribute_alone() -> None:
    for labels in (("No", "Yes"), (0, 1), ("under 25", "25 and over")):
        frame = hiring(labels=labels)  # type: ignore[arg-type]
        rows = ft.measure(ft.Audit(frame, decision="d", groups="sex"), "selection_rate").estimates
        assert all(row["group"].startswith("sex: ") for row in rows)
    plain = ft.measure(ft.Audit(hiring(), decision="d", groups="sex"), "selection_rate")
    assert [row["group"] for row in plain.estimates] == ["F", "M"]


def test_the_target_carries_its_attribute_too() -> None:
    audit = ft.Audit(answers(), decision="d", groups=["disabled", "veteran"])
    result = ft.certify(audit, "selection_rate", by="veteran", target={"disabled": "Yes"}, tolerance=0.05)
    assert {row["target"] for row in result.estimates} == {"disabled: Yes"}
    assert "points below disabled: Yes" in result.verdict.text


def test_in_a_trial_every_section_names_the_attribute() -> None:
    frame = hiring().assign(race=["a", "b"] * 500)
    data = {"source": "x.csv", "decision": "d", "groups": ["sex", "race"]}
    trial = ft.run({"data": data, "measure": {"metric": "selection_rate", "by": "sex"}}, data=frame)
    assert "the selection rate of sex: F is 20.0 points below" in trial.verdict.text


# -- certificates that nobody asked for -------------------------------------------------------------------------------
def test_a_tolerance_as_wide_as_the_rates_is_said_in_the_verdict() -> None:
    audit = ft.Audit(hiring(6, 15), decision="d", groups="sex")
    verdict = ft.certify(audit, "selection_rate", tolerance=0.05).verdict
    assert verdict.text == (
        "certified: selection rate of F and M is within 5.0 points of everyone else at level 95%; warning: a tolerance "
        "of 5.0 points is no smaller than the smallest rate compared (1.2%), so that even a rate of zero could pass: "
        "ask for a ratio"
    )
    assert "warning" not in ft.certify(ft.Audit(hiring(250, 252), decision="d", groups="sex"), "selection_rate",
                                       tolerance=0.2).verdict.text  # fmt: skip


@pytest.mark.parametrize("preset", ["employment", "lending"])
def test_no_preset_certifies_by_a_tolerance_that_nobody_chose(preset: str) -> None:
    """6 of 500 women and 15 of 500 men: an impact ratio of .40 is no case for a green word."""
    data = {"source": "x.csv", "decision": "d", "groups": ["sex"]}
    trial = ft.run({"preset": preset, "data": data}, data=hiring(6, 15))
    assert trial.verdict.code != "certified"
    for result in trial.results.values():
        assert result.verdict.code != "certified"
    assert "certify" not in {result.kind for result in trial.results.values()}


def test_four_fifths_of_a_harmful_decision_are_those_of_the_other_one() -> None:
    data = {"source": "x.csv", "decision": "d", "groups": ["sex"], "favourable": 0}
    good = {"value": "role.not_decision", "label": "rate of the favourable decision"}
    own = {"metric": "favourable_rate", "scale": "ratio", "tolerance": 0.8}
    spec = {"preset": "employment", "data": data, "metrics": {"favourable_rate": good}, "certify": own}
    trial = ft.run(spec, data=hiring(100, 300))
    certificate = trial.results["certify"]
    assert {row["metric"] for row in certificate.estimates} == {"favourable_rate"}
    assert (
        "rate of the favourable decision of M is 0.50 times that of everyone else" in certificate.verdict.text
    )


def test_the_headline_of_a_certified_trial_says_what_is_certified() -> None:
    data = {"source": "x.csv", "decision": "d", "groups": ["sex"]}
    spec = {"data": data, "certify": {"metric": "selection_rate", "tolerance": 0.2}}
    trial = ft.run(spec, data=hiring(250, 252))
    assert trial.verdict.text == (
        "Certified: selection rate of F and M is within 20.0 points of everyone else at level 95%. This covers nothing "
        "else."
    )


def test_violated_verdicts_name_the_tolerance() -> None:
    audit = ft.Audit(hiring(), decision="d", groups="sex")
    assert ft.certify(audit, "selection_rate", tolerance=0.05).verdict.text.endswith("; tolerance 5.0 points")


# -- wrong words ------------------------------------------------------------------------------------------------------
def test_sections_are_told_apart_by_what_they_ask() -> None:
    frame = hiring().assign(race=["a", "b"] * 500, s=np.arange(1000) / 1000, y=[0, 1] * 500)
    data = {"source": "x.csv", "decision": "d", "groups": ["sex", "race"]}
    page = build_page(ft.run({"preset": "lending", "data": data}, data=frame).to_dict())
    assert [section["short"] for section in page["sections"]] == [
        "Rates by sex", "Rates by race", "Field table by sex", "Field table by race", "Flags",
    ]  # fmt: skip
    risk = {**data, "outcome": "y", "score": "s"}
    sections = [{"metric": ["fpr"]}, {"metric": ["ppv"]}]
    page = build_page(ft.run({"data": risk, "measure": sections}, data=frame).to_dict())
    assert [section["short"] for section in page["sections"]] == ["Rates: fpr", "Rates: ppv"]
    sections = [
        {"metric": ["fpr"]},
        {"metric": ["ppv"], "by": "race"},
    ]  # who is compared is named once only
    page = build_page(ft.run({"data": risk, "measure": sections}, data=frame).to_dict())
    assert [section["short"] for section in page["sections"]] == ["Rates", "Rates by race"]

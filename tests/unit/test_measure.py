"""Rates, differences and ratios of `measure` against published numbers, other libraries and their definitions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.proportion import (
    proportion_confint,
)

import fairtrial
from fairtrial import Audit, InputError, Metric, certify, measure, role
from inside.inference import ratio_to_highest
from inside.results import reason, scalar
from oracles.two_rates import largest_tail


def counts(**groups):
    """A frame with k positive decisions of n people per group."""
    rows = [(name, int(i < k)) for name, (k, n) in groups.items() for i in range(n)]
    return Audit(pd.DataFrame(rows, columns=["g", "d"]), decision="d")


def by_group(result):
    return {row["group"]: row for row in result.estimates}


@pytest.fixture(scope="module")
def compas():
    return Audit(
        fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5, groups="race"
    )


def test_compas(compas):
    """ProPublica: 805 of 1,795 and 349 of 1,488 who did not reoffend were labelled high risk."""
    result = measure(compas, "fpr", target={"race": "Caucasian"})
    rows = by_group(result)
    first = rows["African-American"]
    assert (first["events"], first["n"]) == (805, 1795)
    assert (rows["Caucasian"]["events"], rows["Caucasian"]["n"]) == (349, 1488)
    assert (round(first["rate_low"], 3), round(first["rate_high"], 3)) == (0.425, 0.472)
    assert round(first["difference"], 3) == 0.214
    assert (round(first["difference_low"], 3), round(first["difference_high"], 3)) == (0.182, 0.245)
    assert first["state"] == "violated"
    assert rows["Caucasian"]["state"] == "reference"
    assert rows["Caucasian"]["difference"] is None
    assert (rows["Asian"]["state"], rows["Asian"]["state_reason"]) == ("too few", "fewer than 30 members")
    assert result.verdict.text == (
        "differs: false positive rate of African-American is 21.4 points above Caucasian, 95% interval 18.2 to 24.5 "
        "(strongest of 2 findings)"
    )


@pytest.mark.parametrize(
    ("interval", "upper"), [("wilson", 0.092), ("exact", 0.093), ("half-count", 0.083), ("likelihood", 0.049)]
)
def test_nobody_of_38(interval, upper):
    row = by_group(measure(counts(a=(0, 38), b=(9, 60)), by="g", interval=interval))["a"]
    assert row["rate"] == row["rate_low"] == 0
    assert round(row["rate_high"], 3) == upper


@pytest.mark.parametrize(("interval", "name"), [("wilson", "wilson"), ("exact", "beta")])
def test_rates_equal_statsmodels(interval, name):
    result = measure(counts(a=(7, 50), b=(31, 41)), by="g", interval=interval, confidence_level=0.9)
    for row in result.estimates:
        expected = proportion_confint(row["events"], row["n"], 0.1, name)
        assert (row["rate_low"], row["rate_high"]) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("table", [(40, 90, 33, 120), (4, 35, 33, 120)])
@pytest.mark.parametrize("scale", ["difference", "ratio"])
def test_limits_are_where_the_largest_tail_is_the_level(table, scale):
    """Every law by search or by every table: likelihood ratio, score, score without its skewness, exact tail."""
    k1, n1, k2, n2 = table
    row = by_group(measure(counts(a=(k1, n1), b=(k2, n2)), by="g"))["a"]
    for side, name in ((0, f"{scale}_low"), (1, f"{scale}_high")):
        assert largest_tail(*table, row[name], scale, side) == pytest.approx(0.025, rel=1e-4)
    if scale == "difference":
        p = 2 * min(largest_tail(*table, 0.0, scale, side) for side in (0, 1))
        assert row["p_value"] == pytest.approx(p, rel=1e-4)
    else:
        assert row["ratio"] == pytest.approx(k1 / n1 / (k2 / n2))


def test_few_events_are_announced():
    notes = measure(counts(a=(4, 35), b=(33, 120)), by="g").notes
    assert "small-counts" in [note.code for note in notes]


def test_a_target_without_events():
    rows = by_group(measure(counts(a=(12, 90), b=(0, 120)), by="g"))
    assert rows["a"]["ratio"] == {"value": None, "reason": "the target's rate is zero"}
    assert scalar(rows["a"]["ratio_high"]) is None
    assert rows["a"]["ratio_low"] > 1
    assert rows["b"]["ratio"] == 0
    assert 0 < rows["b"]["ratio_high"] < 1


@pytest.mark.filterwarnings("ignore:Every decision is:fairtrial.FairtrialWarning")
def test_four_fifths():
    rows = by_group(measure(counts(a=(30, 100), b=(40, 100), c=(33, 100), tiny=(9, 10)), by="g"))
    assert rows["b"]["impact_ratio"] == 1
    assert rows["a"]["impact_ratio"] == pytest.approx(0.75)
    limits = ratio_to_highest(np.array([30.0, 40.0, 33.0]), np.array([100.0, 100.0, 100.0]), 0.95)
    found = [(rows[name]["impact_ratio_low"], rows[name]["impact_ratio_high"]) for name in "abc"]
    assert np.array(found) == pytest.approx(np.stack([limits.low, limits.high], axis=1), rel=1e-9)
    assert [rows[name]["four_fifths"] for name in "abc"] == [False] * 3, "a quotient of .75 that may be luck"
    large = by_group(measure(counts(a=(3_000, 10_000), b=(4_000, 10_000), c=(3_900, 10_000)), by="g"))
    assert [large[name]["four_fifths"] for name in "abc"] == [True, False, False]
    assert rows["tiny"]["four_fifths"] is None
    assert rows["tiny"]["impact_ratio"] is None, "too small to be the best or to be judged"
    assert by_group(measure(counts(a=(0, 40), b=(0, 40)), by="g"))["a"]["impact_ratio"] is None


def test_below_four_fifths_is_shown_by_a_test():
    """gaps.md: 30/100, 45/120, 18/90 to the highest .541076–1, .860841–1, .322739–.898120; the last pair p .042392."""
    rows = by_group(measure(counts(a=(30, 100), b=(45, 120), c=(18, 90)), by="g"))
    ends = {name: (row["impact_ratio_low"], row["impact_ratio_high"]) for name, row in rows.items()}
    assert ends["a"] == pytest.approx((0.541076, 1.0), abs=2e-5)
    assert ends["b"] == pytest.approx((0.860841, 1.0), abs=2e-5)
    assert ends["c"] == pytest.approx((0.322739, 0.898120), abs=2e-5)
    assert not any(row["four_fifths"] for row in rows.values()), ".042 times three pairs"
    far = by_group(measure(counts(a=(10, 100), b=(45, 120), c=(40, 90)), by="g"))
    assert [far[name]["four_fifths"] for name in "abc"] == [True, False, False]


def test_a_group_alone_has_no_impact_ratio():
    """It would be 1, whatever the others get."""
    alone = measure(counts(a=(4, 40), b=(30, 40)), by={"g": "a"})
    assert [row["impact_ratio"] for row in alone.estimates] == [None]
    few = by_group(measure(counts(a=(4, 40), b=(5, 6)), by="g"))
    assert few["a"]["impact_ratio"] is None


def test_impact_ratios_are_for_selection_rates_only(compas):
    assert all(row["impact_ratio"] is None for row in measure(compas, "fpr").estimates)


def test_holm_over_the_whole_table(compas):
    result = measure(compas, ["fpr", "tpr"])
    tested = [row for row in result.estimates if scalar(row["p_value"]) is not None]
    p = np.sort([row["p_value"] for row in tested])
    expected = np.minimum(np.maximum.accumulate(p * np.arange(len(p), 0, -1)), 1)
    assert np.sort([row["p_adjusted"] for row in tested]) == pytest.approx(expected)
    for row in tested:
        assert row["state"] == ("violated" if row["p_adjusted"] <= 0.05 else "no violation shown")
        assert 0 < row["p_value"] <= row["p_adjusted"] <= 1


def test_targets(compas):
    rest = by_group(measure(compas, "selection_rate", target="rest"))["Hispanic"]
    overall = by_group(measure(compas, "selection_rate", target="overall"))["Hispanic"]
    number = by_group(measure(compas, "selection_rate", target=0.4))["Hispanic"]
    frame = fairtrial.load("compas")
    selected, hispanic = frame["decile_score"] >= 5, frame["race"] == "Hispanic"
    assert rest["target_rate"] == pytest.approx(selected[~hispanic].mean())
    assert overall["target_rate"] == pytest.approx(selected.mean())
    assert overall["difference"] == pytest.approx((~hispanic).mean() * rest["difference"])
    assert overall["p_value"] == pytest.approx(rest["p_value"], rel=0.01)
    assert number["difference"] == pytest.approx(number["rate"] - 0.4)
    assert number["difference_low"] == pytest.approx(number["rate_low"] - 0.4)
    z = number["difference"] / np.sqrt(0.4 * 0.6 / number["n"])
    assert number["p_value"] == pytest.approx(2 * stats.norm.sf(abs(z)))
    assert number["target"] == "0.4"


@pytest.mark.parametrize("target", [0, 1, 1.5, -0.2])
def test_a_rate_is_compared_with_a_rate(compas, target):
    with pytest.raises(InputError, match="'target' of a rate must lie between 0 and 1"):
        measure(compas, "fpr", target=target)


def test_a_group_that_overlaps_its_reference(compas):
    groups = [{"race": ["Hispanic", "Caucasian"]}, {"race": "Caucasian"}]
    row = measure(compas, by=groups, target={"race": "Caucasian"}).estimates[0]
    assert row["group"] == "Caucasian or Hispanic"
    assert row["difference_low"] < row["difference"] < row["difference_high"]


def test_intersections(compas):
    result = measure(compas, "fpr", by=["race", "sex"], depth=2, minimum=50)
    rows = by_group(result)
    frame = fairtrial.load("compas")
    inside = (frame["race"] == "Caucasian") & (frame["sex"] == "Female") & (frame["two_year_recid"] == 0)
    assert rows["race: Caucasian, sex: Female"]["n"] == inside.sum()
    assert rows["race: Caucasian, sex: Female"]["rate"] == pytest.approx(
        (frame["decile_score"][inside] >= 5).mean()
    )
    assert len(result.estimates) == 6 + 2 + 12


REAL = pd.DataFrame({
    "g": np.repeat(["a", "b", "c"], [80, 60, 50]),
    "loss": np.random.default_rng(4).gamma(2.0, 1.5, 190) + np.repeat([0.0, 0.6, 0.0], [80, 60, 50]),
})  # fmt: skip
LOSS = Metric("loss", "loss")


def test_gaps_of_means_are_certifys():
    rows = by_group(measure(Audit(REAL), LOSS, by="g", confidence_level=0.9))
    inside, outside = REAL["loss"][REAL["g"] == "b"], REAL["loss"][REAL["g"] != "b"]
    own = by_group(certify(Audit(REAL), LOSS, by="g", confidence_level=0.9))
    row = rows["b"]
    assert row["difference"] == pytest.approx(inside.mean() - outside.mean())
    for name in ("difference_low", "difference_high", "p_value"):
        assert row[name] == own["b"][name]
    spread = np.sqrt((inside.var() + outside.var()) / 2)
    assert row["standardized"] == pytest.approx((inside.mean() - outside.mean()) / spread)
    assert (row["events"], row["target_n"], row["value_kind"]) == (None, 130, "number")


def test_a_mean_has_the_interval_of_its_gap_to_a_known_number():
    rows = by_group(measure(Audit(REAL), LOSS, by="g", target=3.0))
    for row in rows.values():
        for end in ("low", "high"):
            assert row[f"rate_{end}"] - 3.0 == pytest.approx(row[f"difference_{end}"], abs=1e-9)
        assert row["target_n"] == 0, "nobody stands behind a known number"
    overall = by_group(measure(Audit(REAL), LOSS, by="g", target="overall"))["b"]
    assert overall["difference"] == pytest.approx(REAL["loss"][REAL["g"] == "b"].mean() - REAL["loss"].mean())


def test_constant_means():
    """Adding up tenths leaves rounding that is no spread."""
    data = pd.DataFrame({"g": ["a", "b", "c"] * 40, "h": ["x", "z"] * 60, "loss": 0.1})
    result = measure(Audit(data), LOSS, by=["g", "h"], depth=2, minimum=5)
    why = "every member has the same value, so there is no variation to infer from"
    assert {(row["state"], row["state_reason"]) for row in result.estimates} == {("undetermined", why)}
    assert {row["p_value"] for row in result.estimates} == {1.0}, (
        "kept in the family: leaving would be a choice"
    )
    assert {reason(row["rate_low"]) for row in result.estimates} == {why}
    assert result.verdict.code == "not-tested"
    half = data.assign(loss=np.where(data["g"] == "a", np.arange(120.0), 0.1))
    row = by_group(measure(Audit(half), LOSS, by="g", target={"g": "b"}))["a"]
    assert row["state"] == "undetermined"
    assert "the target" in row["state_reason"]


@pytest.mark.parametrize("target", ["rest", "overall", {"g": "few"}])
def test_too_few_to_compare_with(target):
    """996 people are not judged against four."""
    audit = counts(many=(500, 996), few=(0, 4))
    row = by_group(measure(audit, by="g", target=target))["many"]
    assert (row["state"], row["state_reason"]) == ("few in target", "fewer than 30 to compare with")
    assert scalar(row["p_value"]) is None
    assert by_group(measure(audit, by="g", target=target, minimum=4))["many"]["target_n"] == (
        1000 if target == "overall" else 4
    )
    with pytest.raises(InputError, match="fewer than 30 to compare with"):
        certify(audit, "selection_rate", by="g", target=target)


def test_a_target_that_nobody_meets():
    data = pd.DataFrame({"g": ["a", "b"] * 60, "d": [1, 0] * 60, "y": [1, 0, 0, 0] * 30})
    audit = Audit(data, decision="d", outcome="y", groups="g")
    row = by_group(measure(audit, "ppv", target={"g": "b"}))["a"]
    assert (row["state"], row["state_reason"]) == (
        "no target",
        "nobody in the target meets the metric's condition",
    )


def test_verdicts():
    equal = measure(counts(a=(20, 60), b=(21, 60)), by="g")
    assert equal.verdict.code == "none-shown"
    assert "not a certificate of fairness" in equal.verdict.text
    assert measure(counts(a=(2, 9), b=(3, 9)), by="g").verdict.code == "not-tested"
    below = measure(counts(a=(5, 100), b=(60, 100)), by="g")
    assert below.verdict.text.startswith(
        "differs: selection rate of a is 55.0 points below everyone else, 95% interval"
    )
    numbers = [float(part) for part in below.verdict.text.split("interval ")[1].split(" (")[0].split(" to ")]
    assert numbers[0] < 55.0 < numbers[1], "limits of the size of the gap, not of its sign"


def test_reading(compas):
    sentences = measure(compas, ["fpr", "tpr"]).reading()
    assert sentences[1:] == ["4 of 12 lines could not be compared and are not judged."], (
        "no sentence repeats the chart"
    )


def test_a_user_column_of_zeros_and_ones_is_a_rate():
    data = pd.DataFrame({"g": ["a", "b"] * 60, "late": [0, 1, 1, 0] * 30, "d": [1, 0, 1] * 40})
    audit = Audit(data, decision="d")
    made = Metric("late_when_selected", "late", {role.decision: 1})
    row = by_group(measure(audit, made, by="g"))["a"]
    chosen = data[(data["g"] == "a") & (data["d"] == 1)]
    assert (row["value_kind"], row["n"], row["events"]) == ("percent", len(chosen), chosen["late"].sum())


def test_order_of_metrics_and_levels_of_confidence(compas):
    result = measure(compas, ["tpr", "fpr"], confidence_level=0.8)
    assert list(dict.fromkeys(row["metric"] for row in result.estimates)) == ["tpr", "fpr"]
    wide = measure(compas, ["tpr", "fpr"], confidence_level=0.99)
    for narrow, broad in zip(result.estimates, wide.estimates, strict=True):
        assert broad["rate_low"] < narrow["rate_low"] < narrow["rate_high"] < broad["rate_high"]
    assert "80% interval" in result.summary()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"metric": "fprr"}, "'metric' is unknown: 'fprr'. Did you mean 'fpr'?"),
        ({"metric": "fpr", "interval": "wald"}, "'interval' must be one of"),
        (
            {"metric": "fpr", "confidence_level": 95},
            "'confidence_level' must be a number between 0 and 1, got 95",
        ),
        ({"metric": "fpr", "minimum": 0}, "'minimum' must be a whole number of at least 1, got 0"),
        ({"metric": "fpr", "by": "rase"}, "'by' names the unknown column 'rase'. Did you mean 'race'?"),
        ({"metric": "fpr", "target": {"race": "Caucasan"}}, "Did you mean 'Caucasian'?"),
        ({"metric": "fpr", "target": {"rase": "x"}}, "names the unknown column 'rase'"),
        ({"metric": "fpr", "depth": 0}, "'depth' must be a whole number of at least 1, got 0"),
    ],
)
def test_faults(compas, arguments, text):
    with pytest.raises(InputError) as caught:
        measure(compas, **arguments)
    assert str(caught.value).startswith("measure: ")
    assert text in str(caught.value)


def test_provenance(compas):
    facts = measure(compas, "fpr").provenance
    assert facts["roles"] == {"outcome": "two_year_recid", "score": "decile_score", "threshold": 5}
    assert facts["arguments"]["metric"][0]["name"] == "fpr"
    shuffled = fairtrial.load("compas").sample(frac=1, random_state=1)
    again = Audit(shuffled, outcome="two_year_recid", score="decile_score", threshold=5, groups="race")
    assert measure(again, "fpr").provenance["data"] == facts["data"], (
        "the fingerprint does not know the order"
    )
    fewer = Audit(
        shuffled.iloc[1:], outcome="two_year_recid", score="decile_score", threshold=5, groups="race"
    )
    assert measure(fewer, "fpr").provenance["data"] != facts["data"]


def test_charts(compas):

    pictures = measure(compas, ["fpr", "tpr"]).pictures()
    assert [picture.name for picture in pictures] == ["rates", "differences"]
    assert all(picture.alt for picture in pictures)
    only_small = measure(counts(a=(2, 9), b=(3, 9)), by="g")
    assert [picture.name for picture in only_small.pictures()] == ["rates"]


def test_small_groups_of_real_values_carry_a_note():
    generator = np.random.default_rng(1)
    frame = pd.DataFrame({"g": ["a"] * 400 + ["b"] * 40, "cost": generator.exponential(size=440)})
    result = measure(Audit(frame, groups="g"), Metric("cost", "cost"))
    assert "means" in {note.code for note in result.notes}

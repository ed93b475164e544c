"""certify: verdicts, targets, regions, edges, and one clear message for bad input."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import fairtrial
from fairtrial import Audit, FairtrialWarning, InputError, Metric, certify, flag, measure, read_result
from inside.gaps import certified
from inside.inference import CountedGaps, KnownRateGaps
from inside.papers import elfa
from inside.results import reason, scalar

CAUCASIAN = {"race": "Caucasian"}


@pytest.fixture(scope="module")
def compas():
    data = fairtrial.load("compas", backend="pandas")
    return Audit(data, outcome="two_year_recid", score="decile_score", threshold=5, groups="race")


def table(counts):
    """An audit of selections from {group: (selected, people)}."""
    rows = [(name, 1) for name, (k, _) in counts.items() for _ in range(k)]
    rows += [(name, 0) for name, (k, n) in counts.items() for _ in range(n - k)]
    return Audit(pd.DataFrame(rows, columns=["g", "selected"]), decision="selected", groups="g")


def values(groups, **roles):
    frame = pd.DataFrame([(name, value) for name, x in groups.items() for value in x], columns=["g", "loss"])
    return Audit(frame, groups="g", **roles)


def line(result, group):
    return next(row for row in result.estimates if row["group"] == group)


def test_three_verdicts():
    audit = table({"a": (5000, 10_000), "b": (5040, 10_000), "c": (450, 600), "d": (52, 100)})
    result = certify(audit, "selection_rate", target={"g": "a"}, tolerance=0.05)
    assert [row["state"] for row in result.estimates] == ["certified", "violated", "undetermined"]
    assert result.verdict.code == "violated"
    assert result.verdict.text.startswith(
        "violated: selection rate of c is 25.0 points above a, 95% interval 21."
    )


def test_certified_needs_every_group():
    good = table({"a": (5000, 10_000), "b": (5040, 10_000), "c": (4980, 10_000)})
    result = certify(good, "selection_rate", target={"g": "a"}, tolerance=0.05)
    assert result.verdict.code == "certified"
    assert "selection rate of b and c is within 5.0 points of a at level 95%" in result.verdict.text
    unsure = table({"a": (5000, 10_000), "b": (5040, 10_000), "c": (50, 100)})
    assert certify(unsure, "selection_rate", target={"g": "a"}, tolerance=0.05).verdict.code == "undetermined"


def test_a_tiny_sample_certifies_nothing_except_by_the_papers_rule():
    audit = table({"a": (20, 40), "b": (19, 38)})
    assert certify(audit, "selection_rate", tolerance=0.05).verdict.code == "undetermined"
    paper = elfa.certify(audit, "selection_rate")
    assert paper.verdict.code == "paper-certified"
    assert "absence of evidence" in paper.verdict.text
    assert "paper-rule" in {note.code for note in paper.notes}


def test_certificate_is_the_ninety_percent_interval():
    audit = table({"a": (500, 1000), "b": (500, 1000)})
    result = certify(audit, "selection_rate", target={"g": "a"}, tolerance=0.05)
    row = line(result, "b")
    ninety = certify(audit, "selection_rate", target={"g": "a"}, confidence_level=0.9).estimates[0]
    assert row["certificate_high"] == pytest.approx(ninety["difference_high"], abs=1e-9)
    at_edge = certify(audit, "selection_rate", target={"g": "a"}, tolerance=row["certificate_high"] + 1e-6)
    below = certify(audit, "selection_rate", target={"g": "a"}, tolerance=row["certificate_high"] - 1e-6)
    assert (at_edge.verdict.code, below.verdict.code) == ("certified", "undetermined")


def test_without_tolerance_nothing_is_certified():
    result = certify(table({"a": (500, 1000), "b": (502, 1000)}), "selection_rate")
    assert result.verdict.code == "none-shown"
    assert "nothing can be certified" in result.verdict.text
    assert {row["state"] for row in result.estimates} == {"no violation shown"}


def test_thousands_of_groups_are_not_planned(monkeypatch):
    """Eight attributes at depth 3 are 7,740 groups: their verdicts take seconds, planning each took minutes."""
    monkeypatch.setattr("fairtrial._compare.needed.MOST_PLANNED", 1)
    result = certify(table({"a": (20, 40), "b": (20, 40)}), "selection_rate", tolerance=0.05)
    for row in result.estimates:
        for column in ("members_needed", "rows_needed", "detectable"):
            assert "more than" in reason(row[column])


def test_rows_needed_would_certify():
    """At unchanged shares the textbook's size; with the reference as it is there is none, and it is said."""
    counts = {"a": (200, 400), "b": (200, 400)}
    result = certify(table(counts), "selection_rate", target={"g": "a"}, tolerance=0.05)
    row = line(result, "b")
    error = np.sqrt(0.5 * 400 / 399 / 400)
    expected = 800 * (error / (0.05 / (stats.norm.isf(0.05) + stats.norm.isf(0.1)))) ** 2
    assert row["rows_needed"] == pytest.approx(expected, rel=0.02)
    assert reason(row["members_needed"]).startswith("the target has too few people")
    assert (
        f"b would need an audit of about {row['rows_needed']:,} rows with the same shares"
        in result.verdict.text
    )


@pytest.mark.parametrize(
    ("events", "target"), [((0, 40), {"g": "b"}), ((20, 200), {"g": "b"}), ((0, 40), 0.05)]
)
def test_what_is_needed_and_detectable_is_reached(events, target):
    """Drawn audits of the promised size, or with the promised gap, through certify's own test."""
    counts = {"a": events, "b": (600, 6000)}
    result = certify(table(counts), "selection_rate", target=target, tolerance=0.04)
    row = line(result, "a")
    generator = np.random.default_rng(7)
    repeats = 4000
    rate = target if isinstance(target, float) else (events[0] + 600.5) / (events[1] + 6001)
    others = (
        None if isinstance(target, float) else (generator.binomial(6000, rate, repeats).astype(float), 6000.0)
    )

    def gaps(members, group_rate):
        k, n = (
            generator.binomial(members, group_rate, repeats).astype(float),
            np.full(repeats, float(members)),
        )
        if others is None:
            return KnownRateGaps(n, k, np.full(repeats, rate))
        return CountedGaps(k, n, others[0], np.full(repeats, others[1]))

    if isinstance(row["members_needed"], int):
        power = certified(gaps(row["members_needed"], rate), (-0.04, 0.04), 0.9).mean()
        assert 0.77 <= power <= 0.87
    found = gaps(events[1], rate + row["detectable"]).p_inside(-0.04, 0.04) <= 0.05
    assert 0.77 <= found.mean() <= 0.87


def test_asymmetric_tolerance():
    audit = table({"a": (5000, 10_000), "b": (5300, 10_000)})
    assert (
        certify(audit, "selection_rate", target={"g": "a"}, tolerance=[-0.01, 0.06]).verdict.code
        == "certified"
    )
    assert (
        certify(audit, "selection_rate", target={"g": "a"}, tolerance=[-0.06, 0.01]).verdict.code
        == "violated"
    )


def test_intervals_are_those_of_measure(compas):
    for target in (CAUCASIAN, "rest", "overall", 0.6):
        ours = certify(compas, "ppv", target=target)
        theirs = {row["group"]: row for row in measure(compas, "ppv", target=target).estimates}
        for row in ours.estimates:
            other = theirs[row["group"]]
            assert row["difference"] == pytest.approx(other["difference"], abs=1e-12)
            assert row["difference_low"] == pytest.approx(other["difference_low"], abs=1e-9)
            assert row["difference_high"] == pytest.approx(other["difference_high"], abs=1e-9)


def test_reference_is_not_tested_and_small_groups_are_listed(compas):
    result = certify(compas, "ppv", target=CAUCASIAN)
    untested = {item["group"]: item["state_reason"] for item in result.details["untested"]}
    assert untested["Caucasian"] == "it is the reference"
    assert untested["Native American"] == "fewer than 30 members"
    assert "Caucasian" not in {row["group"] for row in result.estimates}


def test_joint_degrees_of_freedom(compas):
    assert certify(compas, "ppv", target=CAUCASIAN).details["joint"]["df"] == 3
    assert certify(compas, "ppv", target=0.6, minimum=1).details["joint"]["df"] == 6
    assert certify(compas, "ppv", target="overall", minimum=1).details["joint"]["df"] == 5
    assert certify(compas, "ppv", target="rest", minimum=1).details["joint"]["df"] == 5


def test_simultaneous_intervals_are_wider(compas):
    result = certify(compas, "fpr", by=["race", "sex"], depth=2, target="rest")
    for row in result.estimates:
        assert row["together_low"] < row["difference_low"] < row["difference_high"] < row["together_high"]
    assert 0.95 < result.details["together_level"] < 1 - 0.05 / len(result.estimates) + 1e-3


def test_euclidean_and_other_target_methods_agree_on_large_groups(compas):
    profile = line(certify(compas, "fpr", target=CAUCASIAN), "African-American")
    for options in (
        {"likelihood": "euclidean"},
        {"target_method": "orthogonal"},
        {"target_method": "scaled"},
    ):
        asked = {"target_method": "profile", "rule": "equivalence", "minimum": 30, **options}
        other = line(elfa.certify(compas, "fpr", target=CAUCASIAN, **asked), "African-American")
        assert other["difference_low"] == pytest.approx(profile["difference_low"], abs=2e-3)
    plugged = elfa.certify(compas, "fpr", target=CAUCASIAN)
    assert "plug-in-not-valid" in {note.code for note in plugged.notes}


def test_region_membership(compas):
    result = certify(compas, "fpr", target=CAUCASIAN)
    centre = {row["group"]: row["difference"] for row in result.estimates}
    by_region = partial(elfa.certify, target_method="profile", minimum=30)
    inside = by_region(compas, "fpr", target=CAUCASIAN, vector=centre).details["region"]
    assert (inside["inside"], inside["p_value"]) == (True, pytest.approx(1.0))
    outside = by_region(compas, "fpr", target=CAUCASIAN, vector=dict.fromkeys(centre, 0.0)).details["region"]
    joint = result.details["joint"]
    assert not outside["inside"]
    assert outside["statistic"] == pytest.approx(joint["statistic"], rel=1e-6)
    with pytest.raises(InputError, match="no regular limit against 'overall'"):
        by_region(compas, "fpr", target="overall", vector=[0.0] * 4)
    with pytest.raises(InputError, match="three or more groups"):
        by_region(compas, "fpr", target="rest", minimum=1, vector=[0.0] * 6)
    with pytest.raises(InputError, match="Did you mean 'Hispanic'"):
        by_region(compas, "fpr", target=CAUCASIAN, vector={"Hispanics": 0.0})


def test_users_estimate_with_influence_values():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"g": rng.choice(["a", "b"], 3000), "y": rng.random(3000) < 0.4})
    frame["y"] = frame["y"].astype(int)
    frame["psi"] = frame["y"] - frame["y"].mean()
    metric = Metric("share", "y")
    audit = Audit(frame, groups="g")
    mean = float(frame["y"].mean())
    own = certify(audit, metric, target={"estimate": mean, "influence": "psi"})
    overall = certify(audit, metric, target="overall")
    for mine, built_in in zip(own.estimates, overall.estimates, strict=True):
        assert mine["difference_low"] == pytest.approx(built_in["difference_low"], abs=1e-3)
        assert mine["p_value"] == pytest.approx(built_in["p_value"], abs=0.01)
    listed = certify(audit, metric, target={"estimate": mean, "influence": frame["psi"].tolist()})
    assert listed.estimates[0]["difference_low"] == own.estimates[0]["difference_low"]
    with pytest.raises(InputError, match="one finite value for each of the 3,000 rows"):
        certify(audit, metric, target={"estimate": mean, "influence": [0.1, 0.2]})


@pytest.mark.parametrize("people", [0, 1, 2, 3])
@pytest.mark.parametrize("selected", ["none", "all"])
def test_a_handful_of_people(people, selected):
    counts = {"a": (300, 1000), "b": (0 if selected == "none" else people, people), "c": (290, 1000)}
    audit = table({name: pair for name, pair in counts.items() if pair[1]})
    result = certify(audit, "selection_rate", target={"g": "a"}, tolerance=0.05, minimum=1)
    for row in result.estimates:
        if row["group"] == "b":
            assert row["state"] != "certified"
            assert row["p_value"] > 0.3**people / 4
            assert -1 <= row["difference_low"] <= row["difference_high"] <= 1
    json.dumps(result.to_dict(), allow_nan=False)


def test_constant_real_valued_group_is_undetermined_with_a_reason():
    rng = np.random.default_rng(5)
    audit = values({"a": rng.exponential(size=200), "b": np.full(50, 1.0), "c": rng.exponential(size=150)})
    result = certify(audit, Metric("loss", "loss"), target={"g": "a"}, tolerance=0.2)
    row = line(result, "b")
    assert (row["state"], row["p_value"]) == ("undetermined", 1.0)
    assert "same value" in reason(row["difference_low"])
    assert result.verdict.code != "certified"
    assert "no-inference" in {note.code for note in result.notes}


def test_one_group_varies_and_everyone_else_is_constant():
    rng = np.random.default_rng(5)
    audit = values({"a": rng.exponential(size=50), "b": np.full(50, 1.0), "c": np.full(40, 1.0)})
    for target in ("overall", "rest", 1.0):
        result = certify(audit, Metric("loss", "loss"), target=target)
        assert 0.01 < result.p_value <= 1.0
        json.dumps(result.to_dict(), allow_nan=False)


@pytest.mark.parametrize("size", [1, 2, 3, 12])
def test_small_real_valued_groups_give_no_tiny_p(size):
    rng = np.random.default_rng(6)
    far = 5.0 + rng.normal(size=size)
    audit = values({"a": rng.normal(size=400), "b": far})
    result = certify(audit, Metric("loss", "loss"), target={"g": "a"}, minimum=1)
    row = line(result, "b")
    floor = {1: 1.0, 2: 1e-3, 3: 1e-4, 12: 1e-13}[size]
    assert row["p_value"] >= floor
    json.dumps(result.to_dict(), allow_nan=False)


@pytest.mark.filterwarnings("ignore:Every decision is:fairtrial.FairtrialWarning")
def test_all_zero_all_one_everywhere():
    nobody = certify(table({"a": (0, 100), "b": (0, 100)}), "selection_rate", tolerance=0.05)
    everybody = certify(table({"a": (100, 100), "b": (100, 100)}), "selection_rate", tolerance=0.05)
    for result in (nobody, everybody):
        assert [row["p_value"] for row in result.estimates] == [1.0, 1.0]
        json.dumps(result.to_dict(), allow_nan=False)


def test_refinements_for_a_known_target():
    rng = np.random.default_rng(7)
    audit = values({"a": rng.exponential(size=40), "b": rng.exponential(size=60)})
    widths = {}
    for refinement in ("none", "bartlett", "adjusted", "balanced"):
        row = elfa.certify(audit, Metric("loss", "loss"), target=1.0, refinement=refinement).estimates[0]
        widths[refinement] = row["difference_high"] - row["difference_low"]
    assert min(widths, key=widths.get) == "none"
    with pytest.raises(InputError, match="'refinement' is for a real-valued metric against a known number"):
        elfa.certify(audit, Metric("loss", "loss"), target="rest", refinement="bartlett")


def test_row_order_and_labels_do_not_matter(compas):
    data = fairtrial.load("compas", backend="pandas")
    shuffled = Audit(
        data.sample(frac=1, random_state=1),
        outcome="two_year_recid",
        score="decile_score",
        threshold=5,
        groups="race",
    )
    first, second = (
        certify(compas, "mean_score", tolerance=0.5),
        certify(shuffled, "mean_score", tolerance=0.5),
    )
    for one, other in zip(first.estimates, second.estimates, strict=True):
        assert scalar(one["difference_low"]) == pytest.approx(scalar(other["difference_low"]), rel=1e-9)


def test_duplicating_every_row_changes_only_the_certainty(compas):
    data = fairtrial.load("compas", backend="pandas")
    doubled = Audit(
        pd.concat([data, data]), outcome="two_year_recid", score="decile_score", threshold=5, groups="race"
    )
    for metric in ("fpr", "mean_score"):
        once, twice = certify(compas, metric), certify(doubled, metric)
        for one in once.estimates:
            if one["n"] >= 100:
                two = line(twice, one["group"])
                assert two["difference"] == pytest.approx(one["difference"], rel=1e-12)
                assert two["difference_low"] > one["difference_low"]


def test_same_numbers_from_every_frame(compas):
    other = Audit(
        fairtrial.load("compas", backend="pyarrow"),
        outcome="two_year_recid",
        score="decile_score",
        threshold=5,
    )
    one, two = certify(compas, "ppv", target=CAUCASIAN), certify(other, "ppv", by="race", target=CAUCASIAN)
    assert [row["difference_low"] for row in one.estimates] == [
        row["difference_low"] for row in two.estimates
    ]


def test_result_round_trips_and_draws(compas):
    result = certify(compas, "ppv", target=CAUCASIAN, tolerance=0.05)
    assert read_result(result.to_dict()).to_dict() == result.to_dict()
    assert result.summary().count("undetermined") >= 3
    assert list(result.to_frame()["group"]) == [row["group"] for row in result.estimates]
    assert len(result.reading()) >= 2
    assert [entry.subject for entry in result.primary()] == [row["group"] for row in result.estimates]
    picture = result.pictures()[0]
    assert picture.chart.to_dict()["layer"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": "fprr"}, "Did you mean 'fpr'"),
        ({"target": "overal"}, "Did you mean 'overall'"),
        ({"target": {"race": "Caucasians"}}, "Did you mean 'Caucasian'"),
        ({"target": 1.5}, "must lie between 0 and 1"),
        ({"tolerance": -0.1}, "'tolerance' must not be negative"),
        ({"tolerance": 5}, "'tolerance' of a rate is a share: 0.05 is 5 points, got 5"),
        ({"tolerance": [-1, 1]}, "'tolerance' of a rate is a share"),
        ({"tolerance": "small"}, "'tolerance' must be a number"),
        ({"tolerance": [0.1, 0.2, 0.3]}, "two numbers"),
        ({"confidence_level": 95}, "between 0.5 and 1"),
        ({"minimum": 100_000}, "there is no group to test"),
    ],
)
def test_bad_input_has_one_clear_message(compas, arguments, message):
    with pytest.raises(InputError, match=message) as caught:
        certify(compas, **{"metric": "fpr", **arguments})
    assert str(caught.value).startswith("certify: ")


def test_many_rows_are_audited_from_moments(compas, monkeypatch):
    rows = certify(compas, "mean_score", target=CAUCASIAN, tolerance=0.5)
    monkeypatch.setattr("fairtrial._audit.columns.MOST_ROWS", 100)
    with pytest.warns(FairtrialWarning, match="means are compared by their sums"):
        moments = certify(compas, "mean_score", target=CAUCASIAN, tolerance=0.5)
    assert "from-moments" in {note.code for note in moments.notes}
    for one, other in zip(rows.estimates, moments.estimates, strict=True):
        assert other["difference"] == pytest.approx(one["difference"], rel=1e-9)
        if one["n"] >= 100:
            assert other["difference_low"] == pytest.approx(one["difference_low"], abs=0.03)
    assert moments.details["joint"]["df"] == rows.details["joint"]["df"]


def test_rows_or_sums_is_decided_once(monkeypatch):
    """By the rows of the data, not by those that one question leaves in."""
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"g": ["a", "b"] * 60, "h": ["x", "x", "y", None] * 30, "s": random.random(120)})
    audit = Audit(frame, score="s", groups=["g", "h"], missing="drop")
    monkeypatch.setattr("fairtrial._audit.columns.MOST_ROWS", 100)
    for method, by in ((certify, "g"), (certify, "h"), (flag, "h")):
        with pytest.warns(FairtrialWarning, match="means are compared by their sums"):
            found = method(audit, "mean_score", by=by, tolerance=0.1)
        assert "from-moments" in {note.code for note in found.notes}


def test_a_tolerance_wider_than_all_values_is_refused():
    """Means of values from 1 to 10 differ by 9 at most: within 9 everything would be certified."""
    random = np.random.default_rng(5)
    audit = values({"a": [1.0, 10.0, *random.uniform(2, 9, 60)], "b": random.uniform(2, 9, 60)})
    loss = Metric("loss", "loss")
    for method in (certify, flag):
        for tolerance in (9, 50, [-9, 20]):
            with pytest.raises(
                InputError, match=r"'tolerance' \[.*\] holds every difference .* runs from 1 to 10"
            ):
                method(audit, loss, tolerance=tolerance)
        method(audit, loss, tolerance=5)
        method(audit, loss, tolerance=[-20, 5])  # one side may be open
    with pytest.raises(InputError, match="holds every difference that is possible"):
        certify(audit, loss, target=4, tolerance=[-3, 6])
    certify(audit, loss, target=4, tolerance=[-2.9, 6])


def test_a_column_that_turns_out_binary_has_rates():
    audit = values({"a": [0, 1] * 40, "b": [0, 0, 1, 1] * 20})
    with pytest.raises(InputError, match=r"'tolerance' \[-2, 2\] holds every .* runs from 0 to 1"):
        certify(audit, Metric("loss", "loss"), tolerance=2)
    assert certify(audit, Metric("loss", "loss"), tolerance=0.5).verdict.code == "certified"


def test_a_tolerance_to_everyone_may_be_more_than_two_rates_can_differ() -> None:
    """A tenth to everyone is more than a whole to the few others: the power of larger audits still has an answer."""
    people = {"d": [1] * 403 + [1, 0] * 15, "g": ["most"] * 403 + ["few"] * 30}
    audit = fairtrial.Audit(people, decision="d", groups="g")
    result = fairtrial.certify(audit, "selection_rate", target="overall", tolerance=(-0.1, 0.3))
    assert {row["group"]: row["state"] for row in result.estimates}["most"] == "certified"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"likelihood": "empirica"}, "Did you mean 'empirical'"),
        ({"target_method": "plugin"}, "Did you mean 'plug-in'"),
        ({"rule": "papers"}, "Did you mean 'paper'"),
    ],
)
def test_the_papers_options_are_checked(compas, arguments, message):
    with pytest.raises(InputError, match=message):
        elfa.certify(compas, "fpr", **arguments)

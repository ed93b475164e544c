"""plan: textbook sizes, inverses, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fairtrial import InputError, plan, read_result
from inside.gaps import certified
from inside.inference import CountedGaps


def members(**arguments):
    return [row["members"] for row in plan(arguments.pop("metric", "fpr"), **arguments).estimates]


def drawn(tail):
    """A quantile of 4,000 drawn numbers that is two of its standard errors too far out, from the law of an order
    statistic: tail(1 - tail)/draws over the squared density."""
    z = stats.norm.isf(tail)
    return z + 2 * np.sqrt(tail * (1 - tail) / 4000) / stats.norm.pdf(z)


@pytest.mark.parametrize("known", [False, True])
def test_means_follow_the_textbook_and_leave_room_for_the_draws(known):
    quantile, samples = (stats.norm.isf, 1) if known else (drawn, 2)
    asked = {"metric": "mean_score", "deviation": 3.0, "target_known": known}
    z = quantile(0.025) + stats.norm.isf(0.2)
    assert members(**asked, disparity=0.5) == [np.ceil(samples * (z * 3.0 / 0.5) ** 2)]
    z = quantile(0.05) + stats.norm.isf(0.1)
    assert members(**asked, tolerance=0.5) == [np.ceil(samples * (z * 3.0 / 0.5) ** 2)]


def test_rates_are_near_farrington_and_manning():
    # Superiority of .5 over .3 at two-sided 5% and 80%: 93 with the pooled null variance (Fleiss, table A.3). The test
    # itself has steps: at 93 its power is below 80% by a little.
    assert members(rate=0.3, disparity=0.2)[0] == pytest.approx(93, abs=5)


@pytest.mark.parametrize("groups", [1, 5])
def test_all_groups_are_certified_with_the_power_promised(groups):
    """Drawn audits of the planned size: groups that share their target, all of them certified."""
    asked = {"rate": 0.2, "tolerance": 0.06, "groups": groups}
    size = members(**asked)[0]
    generator = np.random.default_rng(groups)
    repeats = 3000
    target = generator.binomial(size, 0.2, repeats).astype(float)
    n = np.full(repeats, float(size))
    every = np.ones(repeats, dtype=bool)
    for _ in range(groups):
        own = generator.binomial(size, 0.2, repeats).astype(float)
        every &= certified(CountedGaps(own, n, target, n), (-0.06, 0.06), 0.9)
    assert 0.775 <= every.mean() <= 0.84


@pytest.mark.parametrize("asked", [
    {"rate": 0.1, "disparity": 0.6}, {"rate": 0.3, "tolerance": 0.6}, {"rate": 0.2, "disparity": 0.7, "groups": 3},
    {"metric": "mean_score", "deviation": 1.0, "disparity": 2.0}, {"rate": 0.2, "disparity": 0.7, "target_known": True},
])  # fmt: skip
def test_no_plan_goes_below_the_members_that_are_tested(asked):
    asked = {"metric": "fpr", **asked}
    found = plan(asked.pop("metric"), **asked)
    assert [row["members"] for row in found.estimates] == [30]
    assert "30 members per group, the fewest that are tested, to" in found.verdict.text
    assert [note.code for note in found.notes].count("fewest") == 1
    assert "fewest" not in [note.code for note in plan("fpr", rate=0.2, disparity=0.1).notes]


def test_known_target_needs_fewer():
    assert (
        members(rate=0.2, disparity=0.05, target_known=True)[0] < members(rate=0.2, disparity=0.05)[0] / 1.8
    )


def test_more_power_less_tolerance_more_groups_need_more():
    base = members(rate=0.2, disparity=0.1)[0]
    assert members(rate=0.2, disparity=0.1, power=0.9)[0] > base
    assert members(rate=0.2, disparity=0.1, groups=5)[0] > base
    assert members(rate=0.2, disparity=0.1, tolerance=0.05)[1] > base
    assert members(rate=0.2, tolerance=0.03)[0] > members(rate=0.2, tolerance=0.05)[0]
    assert members(rate=0.2, disparity=0.1, target_ratio=4.0)[0] < base


def test_curve_passes_through_the_plan():
    result = plan("fpr", rate=0.2, tolerance=0.05, disparity=0.1)
    for row, goal in zip(result.estimates, ("certify", "detect"), strict=True):
        curve = [point for point in result.details["curves"] if point["goal"] == goal]
        powers = [point["power"] for point in curve]
        assert powers == sorted(powers)
        below = max(point["power"] for point in curve if point["members"] < row["members"])
        above = min(point["power"] for point in curve if point["members"] > row["members"])
        assert below < 0.8 < above


def test_result_round_trips_and_draws():
    result = plan("fpr", rate=0.2, tolerance=0.05, disparity=-0.1, groups=3)
    assert read_result(result.to_dict()).to_dict() == result.to_dict()
    assert result.pictures()[0].chart.to_dict()["layer"]
    assert "members per group to certify all 3 groups within 5.0 points" in result.verdict.text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"disparity": 0.1}, "'rate' is needed for 'fpr'"),
        ({"rate": 0.2}, "give 'tolerance'"),
        ({"rate": 0.2, "tolerance": 0.1, "disparity": 0.05}, "inside the tolerance"),
        ({"rate": 0.95, "disparity": 0.1}, "must lie between 0 and 1"),
        ({"rate": 0.2, "deviation": 1.0, "disparity": 0.1}, "either 'rate'"),
        ({"rate": 0.2, "tolerance": [0.01, 0.1]}, "must contain zero"),
        ({"rate": 0.2, "disparity": 0.1, "groups": 0}, "'groups' must be"),
        ({"rate": 1.2, "disparity": 0.1}, "'rate' must be a number between"),
        ({"rate": 0.5, "tolerance": 1e-8}, "members would be needed"),
    ],
)
def test_bad_input_has_one_clear_message(arguments, message):
    with pytest.raises(InputError, match=message) as caught:
        plan("fpr", **arguments)
    assert str(caught.value).startswith("plan: ")


def test_the_plan_of_a_watch_says_when_a_watch_shows_it() -> None:
    """By watches of another seed: in about 80% of them the violation is shown by then, in fewer a period before."""
    import math

    from inside.inference import StreamRule, advance, new_streams

    result = plan("fpr", rate=0.3, disparity=0.15, tolerance=0.02, each_period=60)
    line = result.estimates[-1]
    assert line["members"] == 60 * line["periods"] == line["target_members"]
    assert f"{line['periods']} periods to notice 15.0 points, 2.0 points tolerated" in result.verdict.text
    streams, random = new_streams(2000), np.random.default_rng(11)
    for period in range(line["periods"]):
        ones = random.binomial(60, [0.45, 0.3], (2000, 2)).astype(float)
        cells = np.stack([np.full_like(ones, 60.0), ones, ones], axis=2)
        rule = StreamRule(-0.02, 0.02, False, math.nan, False, True, 1, 2, math.log(20))
        advance(streams, cells, period, rule, np.zeros((0, 2)), 2.0)
    shown = np.mean(streams.crossed >= 0)
    assert shown >= 0.8 - 0.04, "1,000 and 2,000 simulated watches: a standard error of .016"
    assert np.mean((streams.crossed >= 0) & (streams.crossed < line["periods"] - 1)) <= 0.8 + 0.04


def test_a_watch_needs_a_disparity() -> None:
    with pytest.raises(InputError) as refused:
        plan("fpr", rate=0.3, tolerance=0.05, each_period=50)
    assert [fault.argument for fault in refused.value.faults] == ["each_period"]
    with pytest.raises(InputError, match="for binary metrics only"):
        plan("brier", deviation=0.3, disparity=0.1, each_period=50)


# -- Rows that are repeated, weighted, paired or compared among people alike.
def test_units_need_the_design_effect_and_students_t():
    """Donner and Klar: 1 + (m - 1) times the correlation; a little more for few units and for the bounds."""
    plain = members(rate=0.2, tolerance=0.05)[0]
    found = members(rate=0.2, tolerance=0.05, design={"unit": [20, 0.05]})[0]
    assert 1.95 * plain < found < 1.95 * 1.1 * plain
    assert members(rate=0.2, tolerance=0.05, design={"unit": [1, 0.5]})[0] < 1.07 * plain
    few = plan("fpr", rate=0.3, tolerance=0.6, design={"unit": [50, 0.0]})
    assert few.estimates[0]["members"] == 400, "eight units of a side"


def test_weights_need_one_and_the_square_of_their_spread():
    plain = members(rate=0.3, disparity=0.1)[0]
    assert members(rate=0.3, disparity=0.1, design={"weight": 1.0})[0] == pytest.approx(2.1 * plain, rel=0.03)


def test_pairs_are_near_connor():
    """McNemar's test with a share of differing answers (Connor 1987): (z sqrt(s) + z' sqrt(s - d^2))^2 / d^2 people."""
    z, other = stats.norm.isf(0.025), stats.norm.isf(0.2)
    textbook = (z * np.sqrt(0.3) + other * np.sqrt(0.3 - 0.01)) ** 2 / 0.01
    row = plan("fpr", rate=0.2, disparity=0.1, design={"pair": 0.3}).estimates[0]
    assert row["members"] == pytest.approx(textbook, rel=0.1)
    assert row["target_members"] == row["members"], "the same people"


def test_one_stratum_is_the_plain_normal_plan_and_alike_strata_need_no_more():
    one = members(rate=0.3, disparity=0.1, design={"within": [1.0, 0.5, 0.3]})[0]
    two = members(rate=0.3, disparity=0.1, design={"within": [0.5, 0.5, 0.3, 0.5, 0.5, 0.3]})[0]
    assert one == two == pytest.approx(members(rate=0.3, disparity=0.1)[0], rel=0.06)
    apart = plan("fpr", rate=0.3, disparity=0.1, design={"within": [1, 0.2, 0.3, 1, 0.8, 0.3]}).estimates[0]
    assert apart["members"] > 1.4 * one
    assert apart["target_members"] == apart["members"], "half of all people are of the group"


@pytest.mark.parametrize(("design", "match"), [
    ({"units": [20, 0.1]}, "knows unit, weight, pair, within"), ({"unit": 20}, "rows of one unit"),
    ({"unit": [20, 1.5]}, "rows of one unit"), ({"pair": 0}, "answers differ"),
    ({"within": [0.5, 0.5]}, "each stratum"), ({"pair": 0.2, "weight": 1.0}, "by itself"),
])  # fmt: skip
def test_designs_that_cannot_be(design, match):
    with pytest.raises(InputError, match=match):
        plan("fpr", rate=0.2, tolerance=0.05, design=design)
    with pytest.raises(InputError, match="known target"):
        plan("fpr", rate=0.2, tolerance=0.05, target_known=True, design={"pair": 0.2})

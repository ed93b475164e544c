"""improve where outcomes are known for some only: bounds, stated odds, and claims that need no outcome."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from fairtrial import Audit, InputError, Payoff, read_result
from inside.ground import NotApplicable
from inside.inference import bootstrap_levels
from oracles.improve_data import misled_people
from validity.improve_asked import improve

FIXED = {
    "candidates": "better",
    "by": "group",
    "bootstrap": 499,
    "sign": {"group": "a"},
}


def audit_of(data, **changes):
    roles = {"outcome": "outcome", "decision": "decision", "groups": "group", "features": ["need", "proxy"]}
    return Audit(data, **{**roles, "missing": "drop", **changes})


def labelled_where(known, **changes):
    data = misled_people(**changes)
    data["outcome"] = data["outcome"].astype(float).where(known(data))
    return data


# -- the completion that is worst, against every completion ------------------------------------------------------


def small_people(seed):
    """Twenty people, seven without an outcome, with both rules' decisions."""
    random = np.random.default_rng(seed)
    outcome = random.integers(0, 2, 20).astype(float)
    outcome[random.permutation(20)[:7]] = np.nan
    return pd.DataFrame(
        {
            "group": ["a", "b"] * 10, "outcome": outcome, "decision": random.integers(0, 2, 20),
            "better": random.integers(0, 2, 20),
        }
    )  # fmt: skip


def contest_of(data, accuracy, fairness, stated="bounds"):
    """The contest that improve makes of these people, without the sizes that it asks for."""
    from unittest.mock import patch

    from inside.improve import preparation

    seen = {}

    def remembered(contest, candidates, settings, stated):
        seen["contest"] = contest
        raise InterruptedError

    with (
        patch.object(preparation, "MINIMUM_SIZE", 2),
        patch.object(preparation, "refuse_equal_levels"),
        patch("fairtrial._improve.answer.run_challenge", remembered),
        pytest.raises(InterruptedError),
    ):
        improve(audit_of(data, features=[]), fairness, accuracy, reject_inference=stated, **FIXED)
    return seen["contest"]


def levels_with(data, outcome, metric):
    """The levels of both rules by group with these outcomes, straight from the definition."""
    found = {}
    for rule, name in enumerate(("decision", "better")):
        for group in "ab":
            inside = (data["group"] == group).to_numpy()
            decided = data[name].to_numpy()
            given, value = {
                "accuracy": (inside, decided == outcome),
                "tpr": (inside & (outcome == 1), decided),
                "fpr": (inside & (outcome == 0), decided),
                "ppv": (inside & (decided == 1), outcome),
            }[metric]
            found[rule, group] = value[given].mean() if given.any() else np.nan
    return found


def every_completion(data):
    unknown = np.flatnonzero(data["outcome"].isna())
    for ends in product((0.0, 1.0), repeat=unknown.size):
        outcome = data["outcome"].to_numpy().copy()
        outcome[unknown] = ends
        yield outcome


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("metric", ["accuracy", "tpr", "fpr", "ppv"])
def test_the_worst_completion_is_the_worst_of_all(metric, seed):
    data = small_people(seed)
    contest = contest_of(data, metric, "selection_rate")
    sign = contest.claim.accuracy.sign
    ends = contest.ends(
        np.arange(20), contest.status_quo(np.arange(20)), (data["better"].to_numpy(dtype=float), None)
    )
    coefficients = np.array([[-1.0, -1.0, 0.0], [1.0, 1.0, 0.0]])
    found = bootstrap_levels(
        ends.completed(ends.least(0, coefficients)), 0, np.random.default_rng(0)
    ).estimate[0]
    for g, group in enumerate("ab"):
        least = min(
            sign * (levels[1, group] - levels[0, group])
            for outcome in every_completion(data)
            if np.isfinite(list((levels := levels_with(data, outcome, metric)).values())).all()
        )
        assert found[1, g] - found[0, g] == pytest.approx(least)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("metric", ["tpr", "ppv"])
def test_the_gap_is_bounded_over_all_completions(metric, seed):
    data = small_people(seed)
    contest = contest_of(data, "accuracy", metric)
    ends = contest.ends(
        np.arange(20), contest.status_quo(np.arange(20)), (data["better"].to_numpy(dtype=float), None)
    )
    coefficients = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0]])
    found = bootstrap_levels(
        ends.completed(ends.least(1, coefficients)), 0, np.random.default_rng(0)
    ).estimate[1]
    shrinks = []
    for outcome in every_completion(data):
        levels = levels_with(data, outcome, metric)
        if np.isfinite(list(levels.values())).all():
            shrinks.append((levels[0, "a"] - levels[0, "b"]) - (levels[1, "a"] - levels[1, "b"]))
    assert (found[0, 0] - found[0, 1]) - (found[1, 0] - found[1, 1]) == pytest.approx(min(shrinks))


# -- stated odds --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("odds", [1.0, 2.0])
def test_odds_are_those_of_people_alike(odds):
    """The share of positive outcomes among the unknown, by hand, group by group and band by band."""
    data = labelled_where(lambda d: d["decision"] == 1)
    data["band"] = np.where(data["need"] > 0, "high", "low")
    contest = contest_of(data, "accuracy", "selection_rate", {"odds": odds, "alike": ["band"]})
    everyone = np.arange(len(data))
    ends = contest.ends(everyone, contest.status_quo(everyone), (data["better"].to_numpy(dtype=float), None))
    coefficients = np.array([[-1.0, -1.0, 0.0], [1.0, 1.0, 0.0]])
    cells = ends.completed(ends.least(0, coefficients))
    found = bootstrap_levels(cells, 400, np.random.default_rng(0))
    for g, group in enumerate("ab"):
        change = 0.0
        inside = data[data["group"] == group]
        for _, band in inside.groupby("band"):
            known = band["outcome"].dropna()
            q = (known.sum() + 0.5) / (len(known) + 1)
            low, high = q / (q + odds * (1 - q)), odds * q / (1 - q + odds * q)
            for _, row in band.iterrows():
                old, new = row["decision"], row["better"]
                share = row["outcome"] if np.isfinite(row["outcome"]) else low if new else high
                change += (share if new else 1 - share) - (share if old else 1 - share)
        assert found.estimate[0, 1, g] - found.estimate[0, 0, g] == pytest.approx(change / len(inside))
        drawn = found.draws[:, 0, 1, g] - found.draws[:, 0, 0, g]
        psi = found.influence[:, 0, 1, g] - found.influence[:, 0, 0, g]
        error = np.sqrt(cells.counts @ psi**2) / cells.rows
        # the bootstrap's standard deviation of 400 draws is known to 4%; without q's own error it is 9% or more off
        assert drawn.std() == pytest.approx(error, rel=0.12)


def test_wider_odds_show_less_and_bounds_show_least():
    data = labelled_where(lambda d: d["decision"] == 1, rows=2000)
    shown = [
        improve(audit_of(data), "selection_rate", reject_inference=stated, **FIXED).estimates[0]["statistic"]
        for stated in ({"odds": 1}, {"odds": 3}, "bounds")
    ]
    assert shown[0] > shown[1] > shown[2]


# -- what is said -------------------------------------------------------------------------------------------------


def test_outcomes_of_the_approved_alone_must_be_answered_for():
    data = labelled_where(lambda d: d["decision"] == 1)
    with pytest.raises(
        NotApplicable, match="known for 100% of the people decided 1 and 0% of those decided 0"
    ) as error:
        improve(audit_of(data), "selection_rate", **FIXED)
    assert "Say unlabelled='bounds' in the Audit for what holds whatever they are" in str(error.value)
    assert "a payoff that is known for everybody" in str(error.value)


def test_bounds_say_that_it_depends_on_the_unknown():
    data = labelled_where(lambda d: d["decision"] == 1)
    result = improve(audit_of(data), "selection_rate", reject_inference="bounds", **FIXED)
    unknown = int(data["outcome"].isna().sum())
    assert result.details["rows"] == len(data)
    assert result.details["unlabelled"]["needed_by"] == ["accuracy"]
    assert result.verdict.code == "undetermined"
    assert f"it depends on the {unknown:,} people whose outcome is unknown" in result.verdict.text
    assert "whatever the unknown outcomes are" in result.question
    assert any(f"unknown for {unknown:,} of {len(data):,} people" in line for line in result.reading())
    assert "dropped-missing" not in {note.code for note in result.notes}
    assert read_result(result.to_dict()).details["unlabelled"] == result.details["unlabelled"]


def test_the_audit_says_it_by_decision():
    """Bounds are the same either way; the audit's odds are those of people with the same decision, who may be none."""
    data = labelled_where(lambda d: d["decision"] == 1)
    asked = {"keep": "accuracy", "metric": "selection_rate", **FIXED}

    def statistic(unlabelled=None, stated=None):
        found = improve(audit_of(data, unlabelled=unlabelled), reject_inference=stated, **asked)
        return found.estimates[0]["statistic"], found.null

    bounds, odds = statistic("bounds"), statistic({"odds": 2})
    assert bounds == statistic(stated="bounds")
    assert odds[0] == bounds[0]  # nobody who was refused has an outcome
    assert "people alike in group and decision whose outcome is known" in odds[1]
    assert statistic("bounds", {"odds": 2})[0] > bounds[0]
    data = labelled_where(lambda d: np.arange(len(d)) % 3 > 0)
    assert statistic({"odds": 2})[0] > statistic("bounds")[0]


def test_few_unknown_outcomes_still_show_it_whatever_they_are():
    data = labelled_where(lambda d: np.arange(len(d)) % 50 > 0)
    result = improve(audit_of(data), "tpr", reject_inference="bounds", **FIXED)
    assert result.rejected
    assert "whatever the unknown outcomes are: the gap" in result.verdict.text
    full = improve(audit_of(misled_people()), "tpr", absolute=True, **FIXED)
    assert result.estimates[0]["statistic"] < full.estimates[0]["statistic"]


def test_a_claim_that_needs_no_outcome_is_tested_on_all_rows():
    data = labelled_where(lambda d: d["decision"] == 1)
    asked = {**FIXED, "absolute": True}
    result = improve(audit_of(data), "selection_rate", Payoff("profit", "margin"), **asked)
    assert result.details["rows"] == len(data)
    assert any("no part of the claim needs it" in line for line in result.reading())
    possible = audit_of(data, outcome=None, features=[])
    same = improve(possible, "selection_rate", Payoff("profit", "margin"), **asked)
    assert same.p_value == pytest.approx(result.p_value, abs=0.05)
    assert same.estimates[0]["statistic"] == result.estimates[0]["statistic"]


def test_the_board_repeats_what_the_public_function_does():
    """The p-value of a prepared challenge is the public function's, but for the chance of their draws."""
    from validity.challenges import Challenge

    data = labelled_where(lambda d: np.arange(len(d)) % 4 > 0, rows=300)
    table = {name: data[name].to_numpy() for name in ("group", "outcome", "decision")}
    table["other"] = data["better"].to_numpy()
    roles = {"outcome": "outcome", "decision": "decision", "groups": "group", "missing": "drop"}
    asked = {
        "keep": "accuracy",
        "metric": "tpr",
        "reject_inference": {"odds": 1.5},
        "sign": {"group": "a"},
    }
    challenge = Challenge(table, roles, **asked)
    public = improve(Audit(pd.DataFrame(table), **roles), candidates="other", **asked)
    assert 0.1 < public.p_value < 0.9
    assert challenge.p_value(table, np.random.default_rng(0)) == pytest.approx(public.p_value, abs=0.02)


def test_profits_known_for_the_approved_are_bounded_by_what_is_stated():
    data = misled_people()
    data["profit"] = np.where(data["outcome"] == 1, 10.0, -15.0)
    data.loc[data["decision"] == 0, "profit"] = np.nan
    audit = audit_of(data, outcome=None, features=[])
    result = improve(audit, "selection_rate", Payoff("profit", "profit"), reject_inference="bounds", **FIXED)
    for g, row in enumerate(result.estimates[:2]):
        inside = data[data["group"] == "ab"[g]]
        worst = np.where(inside["better"] == 1, inside["profit"].fillna(-15.0), 0.0).mean()
        assert row["alternative"] == pytest.approx(worst)
    stated = Payoff("profit", "profit", at_least=-100.0)
    lower = improve(audit, "selection_rate", stated, reject_inference="bounds", **FIXED).estimates
    assert lower[0]["alternative"] < result.estimates[0]["alternative"]
    with pytest.raises(InputError, match="are odds of the outcome, but a payoff is unknown as well"):
        improve(audit, "selection_rate", stated, reject_inference={"odds": 2}, **FIXED)


def test_rules_are_learned_where_outcomes_are_known_for_some():
    data = labelled_where(lambda d: (d["decision"] == 1) | (np.arange(len(d)) % 2 == 0), rows=3000)
    result = improve(
        audit_of(data), "selection_rate", by="group", reject_inference={"odds": 1.5}, candidates="frontier",
        splits=1, bootstrap=200, everyone=True,
    )  # fmt: skip
    assert result.details["rows"] == 3000
    assert "if the odds of unknown outcomes are at most 1.5 times" in result.null
    assert result.rule is not None
    assert len(result.search) == 82


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reject_inference": "drop"}, "must be 'bounds' or odds of at least 1"),
        ({"reject_inference": {"odds": 0.5}}, "must be 'bounds' or odds of at least 1"),
        ({"reject_inference": {"odds": 2, "alike": "bond"}}, "bond"),
        ({"margin": 0.02}, "has margins in units, not in shares: say margin={'absolute': 0.02}"),
        ({"component": "paper"}, "is tested by the smooth component alone"),
    ],
)
def test_what_bounds_cannot_answer(changes, message):
    data = labelled_where(lambda d: d["decision"] == 1)
    asked = {"reject_inference": "bounds", **FIXED, **changes}
    with pytest.raises(InputError, match=message):
        improve(audit_of(data), "selection_rate", **asked)

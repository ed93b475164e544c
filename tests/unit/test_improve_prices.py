"""Decisions that are prices (Example 4): revenue of whoever would pay, gaps in revenue and in the prices themselves."""

import numpy as np
import pandas as pd
import pytest

from fairtrial import Audit, ImproveResult, InputError, Payoff
from validity.improve_asked import improve

FIXED = {"candidates": "other", "sign": {"group": "b"}, "bootstrap": 300}


def offers(rows=1500, seed=0):
    """Group b is asked for more; the other prices are nearly one price."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, rows)
    would_pay = rng.gamma(4, 5, rows) + 4 * group
    now = np.where(group == 1, 18.0, 12.0) + rng.normal(0, 1, rows).round(1)
    other = 14.0 + rng.normal(0, 0.1, rows).round(2)
    return pd.DataFrame(
        {"group": np.array(["a", "b"])[group], "would_pay": would_pay, "price": now, "other": other}
    )


def audit_of(data, **changes):
    return Audit(data, **{"outcome": "would_pay", "score": "price", "groups": "group", **changes})


@pytest.mark.filterwarnings("ignore::fairtrial.FairtrialWarning")
@pytest.mark.parametrize("pooled", [False, True])
def test_revenue_is_the_price_of_whoever_would_pay_it(pooled):
    """Levels, T and standard errors are those of a payoff with the same numbers per person."""
    data = offers()
    data["now"] = data["price"] * (data["would_pay"] >= data["price"])
    data["then"] = data["other"] * (data["would_pay"] >= data["other"])
    data["nobody"], data["everybody"] = 0, 1
    asked = {**FIXED, "margin": 0.5, "absolute": True, "everyone": pooled}
    priced = improve(audit_of(data), "revenue", "revenue", **asked)
    payoff = Payoff("paid", selected="then", rejected="now")
    paid = improve(
        Audit(data, decision="nobody", groups="group"), payoff, payoff, **{**asked, "candidates": "everybody"}
    )
    for one, other in zip(priced.estimates, paid.estimates, strict=True):
        for name in ("status_quo", "alternative", "statistic", "standard_error"):
            assert one[name] == pytest.approx(other[name], rel=1e-12)


def test_the_gap_may_be_that_of_the_prices():
    data = offers()
    result = improve(audit_of(data), "mean_score", "revenue", margin=0.1, **FIXED)
    gap = result.estimates[-1]
    means = data.groupby("group")[["price", "other"]].mean()
    assert gap["status_quo"] == pytest.approx(abs(means["price"].diff().iloc[-1]))
    assert gap["alternative"] == pytest.approx(abs(means["other"].diff().iloc[-1]))
    assert "revenue at most 10% lower for each group" in result.question
    assert "other changes the score." in result.reading()
    assert result.details["refit"]["changes"] == []
    assert ImproveResult.from_dict(result.to_dict()).to_dict() == result.to_dict()
    np.testing.assert_array_equal(result.rule.decided(data)[1], data["other"])


def test_prices_that_follow_the_group_are_not_blind():
    data = offers().assign(district=0)
    data["other"] = np.where(data["group"] == "a", 13.0, 15.0)
    with pytest.raises(InputError, match="different decisions by group, in 1 combinations"):
        improve(audit_of(data, features=["district"]), "mean_score", "revenue", **FIXED)


@pytest.mark.parametrize(
    ("accuracy", "fairness", "candidates", "message"),
    [
        ("revenue", "mean_score", "portfolio", "revenue is that of prices: bring prices"),
        ("accuracy", "mean_score", "other", "the status quo needs a decision"),
    ],
)
def test_prices_are_brought_and_decisions_are_needed_where_they_count(
    accuracy, fairness, candidates, message
):
    with pytest.raises(InputError, match=message):
        improve(audit_of(offers()), fairness, accuracy, **{**FIXED, "candidates": candidates})


def test_unknown_willingness_is_not_bounded():
    data = offers()
    data.loc[:40, "would_pay"] = np.nan
    with pytest.raises(InputError, match="the revenue cannot be bounded"):
        improve(audit_of(data, missing="drop"), "mean_score", "revenue", reject_inference="bounds", **FIXED)

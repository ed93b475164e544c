"""Decisions that are numbers: means, medians, ratios, tails, adjusted ones, from the call to the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import fairtrial as ft
from fairtrial import InputError
from inside.inference import median_gap, median_of


def staff(n: int = 400) -> pd.DataFrame:
    draw = np.random.default_rng(7)
    sex, grade = draw.choice(["women", "men"], n), draw.choice(["a", "b"], n)
    pay = np.exp(10 + 0.4 * (grade == "b") + 0.15 * (sex == "men") + 0.25 * draw.standard_normal(n))
    return pd.DataFrame({"sex": sex, "grade": grade, "pay": pay.round()})


def audit_of(data: Any, **more: Any) -> ft.Audit:
    return ft.Audit(data, decision="pay", favourable="high", groups=["sex"], **more)


def test_means_are_those_of_the_column_and_harm_follows_what_is_good() -> None:
    data = staff()
    rows = {row["group"]: row for row in ft.measure(audit_of(data), "mean_decision").estimates}
    mean = data.groupby("sex")["pay"].mean()
    assert rows["women"]["rate"] == pytest.approx(mean["women"], rel=1e-12)
    assert rows["women"]["ratio"] == pytest.approx(mean["women"] / mean["men"], rel=1e-12)
    assert rows["women"]["ratio_low"] < rows["women"]["ratio"] < rows["women"]["ratio_high"]
    assert (rows["women"]["effect"], rows["men"]["effect"]) == ("harmed", "favoured")
    low = ft.Audit(data, decision="pay", favourable="low", groups=["sex"])
    assert ft.measure(low, "mean_decision").estimates[1]["effect"] == "favoured"


def test_the_table_of_pay_is_what_can_be_worked_out_by_hand() -> None:
    data = staff()
    result = ft.tabulate(audit_of(data), "pay")
    rows = {(row["metric"], row["group"]): row for row in result.estimates}
    women, men = (data.loc[data.sex == sex, "pay"].to_numpy() for sex in ("women", "men"))
    median = rows["median pay", "women"]
    assert median["rate"] == np.median(women)
    assert median["ratio"] == pytest.approx(np.median(women) / np.median(men), rel=1e-12)
    top = data.pay >= np.quantile(data.pay, 0.9)
    assert rows["top tenth", "men"]["rate"] == top[data.sex == "men"].mean()
    quarters = [rows[f"{name} quarter", "men"]["rate"] for name in ("lowest", "second", "third", "top")]
    assert sum(quarters) == pytest.approx(1.0, abs=1e-12)


def test_adjusted_means_stand_in_the_table() -> None:
    result = ft.tabulate(audit_of(staff()), "pay", within="grade")
    mean = result.estimates[0]
    flagged = ft.flag(audit_of(staff()), "mean_decision", within="grade").estimates
    own = next(row for row in flagged if row["group"] == mean["group"])
    assert mean["difference"] == pytest.approx(own["difference"], rel=1e-12)


def test_limits_of_a_median_are_the_sorted_values_that_the_binomial_law_names() -> None:
    draw = np.random.default_rng(3)
    for n in (5, 6, 11, 40, 101):
        values = np.sort(draw.lognormal(size=n))
        found = median_of(draw.permutation(values), 0.95)
        outside = [k for k in range(1, n // 2 + 1) if stats.binom.cdf(k - 1, n, 0.5) <= 0.025]
        if not outside:
            assert np.isnan(found.low)
            continue
        assert (found.low, found.high) == (values[outside[-1] - 1], values[-outside[-1]])


def test_swapping_the_groups_changes_only_the_sign() -> None:
    draw = np.random.default_rng(4)
    one, other = median_of(draw.lognormal(size=30), 0.95), median_of(draw.lognormal(size=55), 0.95)
    gap, back = median_gap(one, other), median_gap(other, one)
    assert (gap.value, gap.low, gap.high) == pytest.approx((-back.value, -back.high, -back.low), rel=1e-12)
    ratio, inverse = median_gap(one, other, "ratio"), median_gap(other, one, "ratio")
    assert (ratio.low, ratio.high) == pytest.approx((1 / inverse.high, 1 / inverse.low), rel=1e-12)


def test_a_rate_of_amounts_is_refused_with_what_to_ask_instead() -> None:
    with pytest.raises(InputError, match="ask for metric='mean_decision' or the table 'pay'"):
        ft.measure(audit_of(staff()), "selection_rate")
    codes = staff().assign(pay=lambda data: (data.pay > data.pay.median()) + 1)
    with pytest.raises(InputError, match="0 and 1: say which counts"):
        ft.measure(audit_of(codes), "selection_rate")


def test_from_the_file_to_the_report(tmp_path: Path) -> None:
    staff().to_csv(tmp_path / "pay.csv", index=False)
    data = {"source": str(tmp_path / "pay.csv"), "decision": "pay", "favourable": "high", "groups": ["sex"]}
    trial = ft.run({"preset": "general", "data": data})
    assert trial.complete
    assert {section.method for section in (answer.section for answer in trial.answers)} == {
        "measure", "tabulate", "flag",
    }  # fmt: skip
    page = trial.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "median pay" in page
    wrong = {"data": data, "certify": {"metric": "selection_rate"}}
    with pytest.raises(InputError, match="is about a yes or no, but 'pay' is a number"):
        ft.run(wrong)

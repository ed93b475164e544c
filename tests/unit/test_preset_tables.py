"""The table of every preset, run as a person would run it, beside a calculation by hand (pandas and arithmetic)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import fairtrial


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    random = np.random.default_rng(12)
    race = random.choice(["B", "W"], 700, p=[0.4, 0.6])
    score = random.normal(600 + 15 * (race == "W"), 40).round()
    band = np.where(score > 610, "high", "low")
    chance = 0.3 + 0.25 * (band == "high") + 0.08 * (race == "W")
    ok = (random.random(700) < chance).astype(int)
    return pd.DataFrame({
        "race": race, "ok": ok, "score": score, "band": band, "apr": random.gamma(4, 1.5, 700).round(2),
        "y": (random.random(700) < 0.3 + 0.2 * ok).astype(int), "need": random.poisson(2.0, 700),
    })  # fmt: skip


def tables(frame: pd.DataFrame, preset: str, **spec: Any) -> dict[str, list[dict[str, Any]]]:
    """The rows of each table that the preset asks for."""
    data = {"source": "x.csv", "decision": "ok", "groups": ["race"], "favourable": 1} | spec.pop("data", {})
    trial = fairtrial.run({"preset": preset, "data": data, **spec}, data=frame)
    found = [result for name, result in trial.results.items() if name.startswith("tabulate")]
    return {str(result.details["table"]): list(result.estimates) for result in found}


def of(rows: list[dict[str, Any]], **which: Any) -> dict[str, Any]:
    chosen = [
        row for row in rows if all(str(row[name]).endswith(str(value)) for name, value in which.items())
    ]
    assert len(chosen) == 1, chosen
    return chosen[0]


def counts(frame: pd.DataFrame) -> dict[str, tuple[int, int]]:
    return {name: (int(part["ok"].sum()), len(part)) for name, part in frame.groupby("race")}


def test_employment(people: pd.DataFrame) -> None:
    found = tables(people, "employment")
    (k1, n1), (k2, n2) = (counts(people)[name] for name in "BW")
    rates = {"B": k1 / n1, "W": k2 / n2}
    law = found["local-law-144"]
    for name, (k, n) in counts(people).items():
        row = of(law, metric="selection_rate", group=name)
        assert (row["n"], row["events"]) == (n, k)
        assert row["rate"] == pytest.approx(k / n, rel=1e-12)
        assert row["impact_ratio"] == pytest.approx(rates[name] / max(rates.values()), rel=1e-12)
    row = of(found["adverse-impact"], group="B")
    total, selected = n1 + n2, k1 + k2
    expected = n1 * selected / total
    variance = n1 * n2 * selected * (total - selected) / (total**2 * (total - 1))
    assert row["shortfall"] == pytest.approx(expected - k1, rel=1e-9)
    assert row["standard_deviations"] == pytest.approx((k1 - expected) / np.sqrt(variance), rel=1e-9)
    assert row["fisher_p"] == pytest.approx(
        stats.fisher_exact([[k1, n1 - k1], [k2, n2 - k2]]).pvalue, rel=1e-9
    )
    assert row["exchanged_ratio"] == pytest.approx((k1 + 1) / n1 / ((k2 - 1) / n2), rel=1e-12)


@pytest.mark.parametrize("preset", ["lending", "insurance"])
def test_credit_and_insurance(people: pd.DataFrame, preset: str) -> None:
    settings = {"references": {"race": "W"}, "within": ["band"], "price": "apr", "price_unit": "percent"}
    found = tables(people, preset, data={"score": "score"}, **{preset: settings})
    (k1, n1), (k2, n2) = (counts(people)[name] for name in "BW")
    row = of(found["credit-decisions"], group="B")
    assert row["unadjusted_ratio"] == pytest.approx((k1 / n1) / (k2 / n2), rel=1e-9)
    strata = [counts(part) for _, part in people.groupby("band")]
    # Mantel and Haenszel's: sums over the bands of k1 n2 / N and k2 n1 / N
    above, below = (
        sum(s[one][0] * s[other][1] / (s["B"][1] + s["W"][1]) for s in strata) for one, other in ("BW", "WB")
    )
    assert row["ratio"] == pytest.approx(above / below, rel=1e-9)
    denied = [
        sum((s[one][1] - s[one][0]) * s[other][0] / (s["B"][1] + s["W"][1]) for s in strata)
        for one, other in ("BW", "WB")
    ]
    assert row["odds_ratio"] == pytest.approx(denied[0] / denied[1], rel=1e-9)
    black, white = (people[people["race"] == name] for name in "BW")
    spread = np.sqrt((black["score"].var() + white["score"].var()) / 2)
    score = of(found["score-and-price"], metric="mean_score", group="B")
    assert score["standardized"] == pytest.approx(
        (black["score"].mean() - white["score"].mean()) / spread, rel=1e-9
    )
    price = of(found["score-and-price"], metric="mean apr", group="B")
    assert price["basis_points"] == pytest.approx(100 * (black["apr"].mean() - white["apr"].mean()), rel=1e-9)
    for row in found["score-quantiles"]:
        shares = [(part["score"] >= row["cutoff"]).mean() for part in (black, white)]
        assert row["ratio"] == pytest.approx(shares[0] / shares[1], rel=1e-9)


RECORD = {"group": {"race": "B"}, "hazard": "is refused", "threshold": 0.5, "mitigation": "a second reader",
          "review": "each quarter"}  # fmt: skip


@pytest.mark.parametrize(
    ("preset", "measure", "inside", "value"),
    [
        ("insurance", "selection_rate", None, "ok"),
        ("public-sector", "fpr", ("y", 0), "ok"),
        ("public-sector", "fnr", ("y", 1), "not ok"),
        ("healthcare", "base_rate", None, "y"),
    ],
)
def test_the_bias_record(people: pd.DataFrame, preset: str, measure: str, inside: Any, value: str) -> None:
    frame = people.assign(**{"not ok": 1 - people["ok"]})
    asked = {"records": [{**RECORD, "measure": measure}]}
    data = {} if preset == "insurance" else {"outcome": "y"}
    row = of(tables(frame, preset, data=data, bias=asked)["bias-record"], group="B")
    chosen = frame if inside is None else frame[frame[inside[0]] == inside[1]]
    means = chosen.groupby("race")[value].mean()
    assert row["n"] == int((chosen["race"] == "B").sum())
    assert row["rate"] == pytest.approx(means["B"], rel=1e-12)
    assert row["difference"] == pytest.approx(means["B"] - means["W"], rel=1e-9)
    # half a point either way of a gap this far inside fifty points is certified by any test
    assert row["state"] == "within"
    assert (row["hazard"], row["mitigation"], row["review"]) == (
        "is refused",
        "a second reader",
        "each quarter",
    )


def test_the_usual_record_of_healthcare_is_need_among_the_selected(people: pd.DataFrame) -> None:
    rows = tables(people, "healthcare", data={"outcome": "need"})["bias-record"]
    means = people[people["ok"] == 1].groupby("race")["need"].mean()
    row = of(rows, group="B")
    assert row["difference"] == pytest.approx(means["B"] - means["W"], rel=1e-9)
    assert row["hazard"] == "has to be sicker than others to be selected"
    assert row["state"] == "no threshold"

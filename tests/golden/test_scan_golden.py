"""COMPAS, against the article's Table 4."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fairtrial

GOLDEN = json.loads((Path(__file__).parent / "scan_compas.json").read_text())


@pytest.fixture(scope="module")
def audit() -> fairtrial.Audit:
    """ProPublica's filters; attributes as the article cuts them."""
    data = fairtrial.load("compas", backend="pandas")
    kept = (
        data["days_b_screening_arrest"].between(-30, 30)
        & (data["is_recid"] != -1)
        & (data["c_charge_degree"] != "O")
        & (data["score_text"] != "N/A")
    )
    data = data[kept]
    assert len(data) == GOLDEN["settings"]["rows"]
    return fairtrial.Audit(
        data, outcome="two_year_recid", score="decile_score", threshold=5,
        groups=["race", "sex", "age", "c_charge_degree", "priors_count"],
        bins={"age": [25], "priors_count": [1, 6]},
    )  # fmt: skip


def scanned(audit: fairtrial.Audit, row: dict[str, Any], **options: Any) -> Any:
    side = {"above": "positive", "below": "negative"}[row.get("direction", "above")]
    return fairtrial.papers.conditional_bias_scan.scan(
        audit, row["metric"], protected=row["protected"], direction=side, probability="outcome-rate", null=None,
        search="exact", **options,
    )  # fmt: skip


@pytest.mark.parametrize("row", GOLDEN["values"], ids=lambda row: f"{row['metric']}-{row['protected']}")
def test_table_4(audit: fairtrial.Audit, row: dict[str, Any]) -> None:
    result = scanned(audit, row)
    assert result.subgroup == row["subgroup"]
    assert result.estimates[0]["n"] == row["n"]
    assert result.score == pytest.approx(row["score"], rel=GOLDEN["tolerance"])


def test_rates_of_black_males(audit: fairtrial.Audit) -> None:
    row = GOLDEN["rates"]
    best = scanned(audit, row).estimates[0]
    assert best["rate"] == pytest.approx(row["rate"], abs=0.005)
    assert best["target_rate"] == pytest.approx(row["target_rate"], abs=0.005)
    assert best["target_n"] == row["target_n"]


def test_scores_that_rest_on_two_people_move_with_the_ridge(audit: fairtrial.Audit) -> None:
    """Male, Native American, 25+ is compared with two women: the score says more about the ridge than about them."""
    result = fairtrial.papers.conditional_bias_scan.scan(
        audit, "calibration", protected={"sex": "Male"}, direction="negative", probability="outcome-rate",
        search="auto", sigma="estimated", ranges=True, null=None,
    )  # fmt: skip
    by_ridge = {row["ridge"]: row["score"] for row in result.details["ridge"]}
    assert by_ridge[0.01] == pytest.approx(23.6, rel=0.01)
    assert by_ridge[1.0] < 6 < by_ridge[0.01] < by_ridge[0.001]
    assert "few-comparators" in {note.code for note in result.notes}


def test_matched_score_of_compas() -> None:
    """methods/scan.md, second part: all rows, fpr, African-American, sex × age_cat × charge; T, V and F of the class.

    T and V are counted here once more, stratum by stratum, with pandas.
    """
    data = fairtrial.load("compas", backend="pandas")
    whole = fairtrial.Audit(
        data, outcome="two_year_recid", score="decile_score", threshold=5,
        groups=["race", "sex", "age_cat", "c_charge_degree"],
    )  # fmt: skip
    result = fairtrial.scan(whole, "fpr", protected={"race": "African-American"}, null=None)
    everyone = next(row for row in result.estimates if row["subgroup"] == "everyone")
    assert everyone["score"] == pytest.approx(85.709112, abs=5e-7)
    assert everyone["log_odds"] == pytest.approx(182.822265 / 194.984990, abs=1e-7)
    asked = data[data["two_year_recid"] == 0].assign(
        event=lambda rows: (rows["decile_score"] >= 5).astype(float),
        inside=lambda rows: (rows["race"] == "African-American").astype(float),
    )
    gain = variance = 0.0
    for _, stratum in asked.groupby(["sex", "age_cat", "c_charge_degree"]):
        n, inside, events = len(stratum), stratum["inside"].sum(), stratum["event"].sum()
        gain += (stratum["event"] * stratum["inside"]).sum() - inside * events / n
        variance += inside * (n - inside) * events * (n - events) / (n**2 * (n - 1)) if n > 1 else 0.0
    assert gain == pytest.approx(182.822265, abs=5e-7)
    assert variance == pytest.approx(194.984990, abs=5e-7)

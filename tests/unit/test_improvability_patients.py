"""The article's tables as code, on a made file of the same shape as the one that is not bundled."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairtrial
from fairtrial.papers._studies import improvability_patients as study


def made_patients(path: Path, rows: int = 8000) -> Path:
    """A score made for cost, which counts the same illness for less in one group."""
    random = np.random.default_rng(0)
    black = random.random(rows) < 0.3
    need = random.gamma(1.5, 1.0, rows)
    now, later = random.poisson(need), random.poisson(need)
    cost = np.exp(7 + 0.4 * need - 0.5 * black + random.normal(0, 0.8, rows))
    pd.DataFrame(
        {
            "race": np.where(black, "black", "white"),
            "risk_score_t": np.log(cost) + random.normal(0, 0.5, rows),
            "gagne_sum_t": later,
            "gagne_sum_tm1": now,
            "cost_t": np.round(cost, -2),
            "dem_female": random.integers(0, 2, rows),
            "dem_race_black": black.astype(int),
            "cost_dialysis_tm1": np.round(cost * random.random(rows)),
            "hypertension_elixhauser_tm1": (need + random.normal(0, 1, rows) > 1.5).astype(int),
            "ghba1c_mean_tm1": need + random.normal(0, 0.5, rows),
        }
    ).to_csv(path, index=False)
    return path


@pytest.mark.slow
def test_every_table_and_figure_is_written(tmp_path: Path) -> None:
    path = made_patients(tmp_path / "data_new.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few: dict[str, Any] = {"trees": 8, "draws": 100, "splits": 2}
        tables = [study.item(path, f"table {number}", **few)[0] for number in (1, 2, 6)]
        assert [text.count("| Black a1 |") for text in tables] == [1, 1, 1]
        assert "The article does not reject" in study.item(path, "figure 7", **few)[0]
        words = str(study.item(path, "figure 2", **few)[1].to_dict())
    assert all(name in words for name in ("status quo", "random forest", "lasso", "linear regression"))


def test_neither_race_nor_the_outcome_is_a_feature(tmp_path: Path) -> None:
    path = made_patients(tmp_path / "data_new.csv", 200)
    assert "gagne_sum_tm1" in study.patients(path, "gagne_sum_t").features
    features = study.patients(path, "gagne_sum_tm1").features
    assert "gagne_sum_tm1" not in features
    assert "dem_race_black" not in features


def test_printed_tables_agree_with_themselves() -> None:
    """p of a split is the largest of its three, and the gap is the distance of the levels, to the digits printed."""
    for table in study.PRINTED["tables"]:
        values = np.array(table["values"])
        assert values.shape == (7, 10)
        np.testing.assert_allclose(values[:, 9], values[:, [2, 5, 8]].max(axis=1), atol=1e-9)
        np.testing.assert_allclose(np.abs(values[:, 0] - values[:, 3]), values[:, 6], atol=0.0101)


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("race,score\nblack,1\n", encoding="utf-8")
    with pytest.raises(fairtrial.InputError, match="is it the full file"):
        study.patients(path, "gagne_sum_t")


def test_printed_tables_have_a_line_each() -> None:
    lines = study.printed_medians([("mine", [0.5] * 10)]).splitlines()
    assert [line.split(":")[0] for line in lines[2:8]] == [f"| {number}" for number in range(1, 7)]
    assert lines[2].startswith("| 1: random forest, the year after | 7.55 | 6.52 | 0.0001 |")
    assert lines[-1].startswith("| mine | 0.50 | 0.50 | 0.5000 |")

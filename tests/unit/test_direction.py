"""Whether a high score is good for a person: declared, compared with the data, and the same wherever harm is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairtrial as ft
from fairtrial import METRICS, InputError
from inside.data import associate, harmed_side, read_score_favours
from inside.trial import build_page

NOT_HARMED = {"favoured", "no violation shown", "reference"}


def applicants(n: int = 2000, *, slope: float = -1.0, seed: int = 0) -> pd.DataFrame:
    """Black applicants have a higher probability of default (pd); approval falls with it (slope −1) or rises."""
    random = np.random.default_rng(seed)
    race = random.choice(["Black", "White"], n)
    risk = np.clip(random.normal(np.where(race == "Black", 0.45, 0.3), 0.12), 0, 1)
    approved = random.random(n) < 1 / (1 + np.exp(-slope * 8 * (risk - 0.35)))
    default = random.random(n) < risk
    return pd.DataFrame(
        {"race": race, "pd": risk, "approved": approved.astype(int), "default": default.astype(int)}
    )


ROLES: dict[str, Any] = {"decision": "approved", "score": "pd", "groups": "race", "favourable": 1}


def told(audit: ft.Audit, metric: str, **how: Any) -> dict[str, str]:
    result = ft.measure(audit, metric, **how)
    return {
        row["group"]: str(row["effect"]) for row in result.estimates if str(row["metric"]).startswith(metric)
    }


def test_nothing_is_called_harmed_by_a_score_of_unknown_direction() -> None:
    audit = ft.Audit(applicants(), **ROLES)
    assert told(audit, "mean_score") == {"Black": "None", "White": "None"}
    assert told(audit, "selection_rate") == {"Black": "harmed", "White": "favoured"}
    with pytest.raises(InputError, match="say which scores are good for a person with score_favours="):
        ft.flag(audit, "mean_score", direction="harmed")
    assert ft.flag(audit, "mean_score").details["direction"] == "outside"


def test_a_falling_score_harms_the_group_that_has_more_of_it() -> None:
    audit = ft.Audit(applicants(), score_favours="low", **ROLES)
    for metric in ("mean_score", "selection_rate"):
        assert told(audit, metric) == {"Black": "harmed", "White": "favoured"}
    assert told(audit, "selection_rate", thresholds="all") == {"Black": "harmed", "White": "favoured"}
    flagged = ft.flag(audit, "mean_score")
    assert flagged.details["direction"] == "above"
    assert [row["group"] for row in flagged.estimates if row["flagged"]] == ["Black"]
    assert harmed_side(audit, METRICS["mean_score"]) == "above"


def test_a_score_that_contradicts_the_decisions_is_refused() -> None:
    audit = ft.Audit(applicants(), score_favours="high", **ROLES)
    said = "'score_favours' is 'high', but the data say otherwise: people whose decision is 1, which is good for them"
    for call in (audit.check, lambda: ft.measure(audit, "mean_score")):
        with pytest.raises(InputError) as fault:
            call()
        assert said in str(fault.value)
        assert 'write score_favours="low"' in str(fault.value).replace("'", '"')
    assert told(audit, "selection_rate")["Black"] == "harmed"  # which does not rest on the score


def test_a_weak_contradiction_is_a_note() -> None:
    frame = applicants(slope=0.0)
    frame["pd"] = frame["pd"] - 0.005 * frame["approved"]
    found = associate(frame["pd"], frame["approved"])
    assert found is not None
    wrong = "low" if found.higher else "high"
    notes = {note.code: note.text for note in ft.Audit(frame, score_favours=wrong, **ROLES).notes()}
    assert not found.clear
    assert "do not show it" in notes["score-direction"]
    right = "high" if found.higher else "low"
    assert "score-direction" not in {
        note.code for note in ft.Audit(frame, score_favours=right, **ROLES).notes()
    }


def test_a_threshold_ties_score_and_decision() -> None:
    frame = ft.load("compas", backend="pandas")
    roles: dict[str, Any] = {
        "outcome": "two_year_recid",
        "score": "decile_score",
        "threshold": 5,
        "groups": "race",
    }
    by_decision = ft.Audit(frame, favourable=0, **roles)
    by_score = ft.Audit(frame, score_favours="low", **roles)
    assert by_score.favourable == 0
    for audit in (by_decision, by_score):
        for metric in ("selection_rate", "fpr", "mean_score"):
            assert told(audit, metric)["African-American"] == "harmed"
            assert told(audit, metric)["Caucasian"] == "favoured"
    with pytest.raises(
        InputError, match="'score_favours' contradicts favourable=0: decision 1 is a high score"
    ):
        ft.Audit(frame, favourable=0, score_favours="high", **roles)
    with pytest.raises(InputError, match="'score_favours' needs a score"):
        ft.Audit(frame, outcome="two_year_recid", score_favours="high")


@pytest.mark.parametrize("metric", ["selection_rate", "fpr", "tpr", "fnr"])
def test_one_threshold_and_all_of_them_agree(metric: str) -> None:
    audit = ft.Audit(
        ft.load("compas"),
        outcome="two_year_recid",
        score="decile_score",
        threshold=5,
        groups="race",
        favourable=0,
    )
    one, every = told(audit, metric), told(audit, metric, thresholds="all")
    both = {group for group in one if {one[group], every.get(group)} <= {"harmed", "favoured"}}
    assert {"African-American", "Caucasian"} <= both
    assert {group: one[group] for group in both} == {group: every[group] for group in both}


def test_an_outcome_that_speaks_against_the_decision_harms_nobody() -> None:
    """Default is no outcome that makes an approval right: nothing is said of who defaults among the approved."""
    audit = ft.Audit(applicants(), outcome="default", score_favours="low", **ROLES)
    assert harmed_side(audit, METRICS["ppv"]) is None
    assert set(told(audit, "ppv").values()) == {"None"}
    repaid = applicants().assign(default=lambda rows: 1 - rows["default"])
    assert (
        harmed_side(ft.Audit(repaid, outcome="default", score_favours="low", **ROLES), METRICS["ppv"])
        == "above"
    )


def test_reading_a_direction_off_arrays() -> None:
    frame = applicants()
    found = associate(frame["pd"], frame["approved"])
    assert found is not None
    assert found.clear
    assert read_score_favours(found, 1) == "low"
    assert read_score_favours(found, 0) == "high"
    assert read_score_favours(found, None) is None
    assert read_score_favours(associate(frame["pd"], 1 - frame["approved"]), 1) == "high"
    chance = np.random.default_rng(3).integers(0, 2, len(frame))
    assert read_score_favours(associate(frame["pd"], chance), 1) is None
    assert associate([1.0, 1.0], [0, 1]) is None
    assert associate([0.5] * 8, [0, 1] * 4) is None


def test_from_file_to_report(tmp_path: Path) -> None:
    """A probability of default that falls with approval: White applicants are favoured by both, in every section."""
    applicants().to_csv(tmp_path / "loans.csv", index=False)
    text = """
    preset = "general"
    [data]
    source = "loans.csv"
    decision = "approved"
    favourable = 1
    score = "pd"
    score_favours = "low"
    groups = ["race"]
    """
    (tmp_path / "audit.toml").write_text("\n".join(line.strip() for line in text.splitlines()))
    trial = ft.run(tmp_path / "audit.toml")
    effects = {
        (row["group"], row["effect"])
        for result in trial.results.values()
        for row in result.estimates
        if row.get("effect")
    }
    assert effects == {("Black", "harmed"), ("White", "favoured")}
    page = build_page(trial.to_dict())
    assert "White (harmed)" not in page
    (tmp_path / "audit.toml").write_text((tmp_path / "audit.toml").read_text().replace('"low"', '"high"'))
    with pytest.raises(
        InputError, match=r"line 8, \[data\] score_favours: is 'high', but the data say otherwise"
    ):
        ft.run(tmp_path / "audit.toml")

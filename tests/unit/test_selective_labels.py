"""Who is in the rows: a row is left out only of what needs it, and outcomes known for one decision refuse what they
cannot answer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairtrial as ft
from fairtrial import METRICS, InputError, read_result
from inside.ground import NotApplicable
from inside.inference import labelling_p
from inside.methods import trial_methods

SPANNING = sorted(
    name
    for name, metric in METRICS.items()
    if "outcome" in metric.needs and not {"ppv", "npv", "fdr", "for"} & {name}
)


def loans(n: int = 4000, seed: int = 3, **labelled: float) -> pd.DataFrame:
    """Approved: 42% of women, 61% of men; the outcome is known for the approved, or as often as `labelled` says."""
    random = np.random.default_rng(seed)
    sex = random.choice(["F", "M"], n)
    approved = (random.random(n) < np.where(sex == "F", 0.42, 0.61)).astype(int)
    chance = np.where(approved == 1, labelled.get("approved", 1.0), labelled.get("refused", 0.0))
    repaid = np.where(random.random(n) < chance, (random.random(n) < 0.8).astype(float), np.nan)
    return pd.DataFrame({"sex": sex, "approved": approved, "repaid": repaid, "score": random.random(n)})


def audit_of(frame: pd.DataFrame, **more: object) -> ft.Audit:
    roles = {"decision": "approved", "outcome": "repaid", "groups": "sex", "missing": "drop", **more}
    return ft.Audit(frame, **roles)  # type: ignore[arg-type]


def test_the_selection_rate_is_everybodys() -> None:
    frame = loans()
    truth = frame.groupby("sex")["approved"].agg(["size", "mean"])
    rows = {row["group"]: row for row in ft.measure(audit_of(frame), "selection_rate").estimates}
    assert {name: row["n"] for name, row in rows.items()} == truth["size"].to_dict()
    assert {name: row["rate"] for name, row in rows.items()} == pytest.approx(truth["mean"].to_dict())
    certificate = ft.certify(audit_of(frame), "selection_rate", tolerance=0.05)
    assert certificate.verdict.code == "violated"


def test_real_values_and_weights_are_everybodys_too() -> None:
    frame = loans().assign(w=1.0)
    truth = frame.groupby("sex")["score"].mean().to_dict()
    for more in ({}, {"weight": "w"}):
        result = ft.measure(audit_of(frame, score="score", **more), "mean_score")
        assert {row["group"]: row["rate"] for row in result.estimates} == pytest.approx(truth)
    rows = ft.certify(audit_of(frame, score="score"), "mean_score", tolerance=0.1).estimates
    assert sum(row["n"] for row in rows) == len(frame)


def test_what_was_left_out_is_counted_per_metric() -> None:
    frame = loans(approved=0.7, refused=0.7)
    known = frame["repaid"].notna()
    result = ft.measure(audit_of(frame), ["selection_rate", "fpr", "ppv"])
    entries = {entry["metric"]: entry for entry in result.details["left_out"]}
    assert set(entries) == {"fpr", "ppv"}
    # whoever lacks the outcome may be one of fpr's people; ppv is about the approved alone
    assert entries["fpr"]["lacking"] == int((~known).sum())
    assert entries["ppv"]["lacking"] == int((~known & (frame["approved"] == 1)).sum())
    assert entries["ppv"]["rows"] == int((frame["approved"] == 1).sum())
    assert sum(row["n"] for row in result.estimates if row["metric"] == "ppv") == int(
        (known & (frame["approved"] == 1)).sum()
    )
    first_screen = result.summary().split("Notes")[0]
    assert f"Left out: false positive rate: {int((~known).sum()):,} of" in first_screen
    assert read_result(result.to_dict()).details["left_out"] == result.details["left_out"]


def test_little_is_left_out_in_the_notes_only() -> None:
    frame = loans(approved=1.0, refused=1.0)
    frame.loc[:19, "repaid"] = np.nan
    result = ft.measure(audit_of(frame), "accuracy")
    assert "Left out:" not in result.summary().split("Notes")[0]
    assert "Accuracy: 20 of 4,000 rows (0.5%) left out, 20 without the outcome." in [
        note.text for note in result.notes
    ]
    frame = loans(approved=1.0, refused=1.0)
    frame.loc[:2, "repaid"] = np.nan
    entry = ft.measure(audit_of(frame), "fpr").details["left_out"][0]
    assert (entry["rows"], entry["lacking"]) == (None, None)  # few people are not counted in public
    assert (
        entry["text"] == "false positive rate: fewer than 10 rows left out, fewer than 10 without the outcome"
    )


def test_a_row_without_a_group_is_left_out_of_that_comparison_only() -> None:
    frame = loans(approved=1.0, refused=1.0).assign(race=["a", "b", None, "a"] * 1000)
    audit = audit_of(frame, groups=["sex", "race"])
    assert sum(row["n"] for row in ft.measure(audit, "selection_rate", by="sex").estimates) == 4000
    result = ft.measure(audit, "selection_rate", by="race")
    assert sum(row["n"] for row in result.estimates) == 3000
    assert result.details["left_out"][0]["text"] == (
        "selection rate: 1,000 of 4,000 rows (25.0%) left out, 1,000 without a group"
    )


@pytest.mark.parametrize("name", SPANNING)
def test_metrics_that_span_decisions_are_refused(name: str) -> None:
    audit = audit_of(loans(), score="score")
    with pytest.raises(NotApplicable, match="the outcome is known for 100% of the people decided 1 and 0%"):
        ft.measure(audit, name)
    if METRICS[name].each is None:
        for method in (ft.certify, ft.flag):
            with pytest.raises(NotApplicable, match="What can be said: selection_rate"):
                method(audit, name)


@pytest.mark.parametrize("name", ["selection_rate", "ppv", "fdr"])
def test_metrics_of_one_decision_are_answered(name: str) -> None:
    assert ft.flag(audit_of(loans()), name).details["tested"] == 2


def test_a_scan_refuses_what_measure_refuses() -> None:
    with pytest.raises(NotApplicable, match="needs the outcome of people with either decision"):
        ft.scan(audit_of(loans(), features=["score"], bins={"score": 3}), "fpr", protected={"sex": "F"})


COMPLETE_ROWS = {
    "transport": {"metric": "statistical_parity", "by": "sex"},
    "explain": {"metric": "selection_rate", "by": "sex", "features": ["score"]},
    "improve": {"by": "sex"},
}


@pytest.mark.parametrize(
    "name",
    sorted(set(trial_methods()) - {"measure", "tabulate", "certify", "flag", "scan", "watch"}),
)
def test_methods_of_complete_rows_are_refused_whatever_is_asked(name: str) -> None:
    """They would leave out everybody who was refused a loan."""
    method = trial_methods()[name].function
    with pytest.raises(NotApplicable, match="the outcome is known for 100% of the people decided 1 and 0%"):
        method(audit_of(loans(), score="score"), **COMPLETE_ROWS.get(name, {}))


def test_labels_missing_at_random_are_not_refused() -> None:
    assert ft.measure(audit_of(loans(approved=0.6, refused=0.6)), "fpr").estimates[0]["n"] > 0


def test_a_constant_decision_after_dropping_is_never_certified() -> None:
    frame = loans()
    frame["approved"] = frame["approved"].where(frame["approved"] == 1)  # only approvals were recorded
    with pytest.warns(ft.FairtrialWarning, match="Every decision is 1"):
        result = ft.certify(audit_of(frame, outcome=None), "selection_rate", tolerance=0.05)
    assert result.verdict.code == "undetermined"
    assert {row["state"] for row in result.estimates} == {"undetermined"}
    assert (
        "rows were left out, and the decision is the same for all the others"
        in result.estimates[0]["state_reason"]
    )


def test_the_detector_by_its_numbers() -> None:
    def p(*counts: float) -> float:
        return float(labelling_p(*(np.array([count]) for count in counts))[0])

    assert p(500, 1000, 500, 1000) == 1.0
    assert p(1000, 1000, 0, 1000) < 1e-100
    assert p(700, 1000, 500, 1000) == pytest.approx(p(500, 1000, 700, 1000))
    assert p(3, 3, 0, 0) == 1.0


def test_a_preset_asks_what_can_be_answered(tmp_path) -> None:
    path = tmp_path / "loans.csv"
    loans().assign(race=["a", "b"] * 2000).to_csv(path, index=False)
    data = {
        "source": str(path),
        "decision": "approved",
        "outcome": "repaid",
        "groups": ["sex"],
        "missing": "drop",
    }
    trial = ft.run({"preset": "risk-score", "data": data})
    assert trial.complete
    assert {row["metric"] for result in trial.results.values() for row in result.estimates} == {
        "ppv", "selection_rate"
    }  # fmt: skip
    assert any(note.startswith("Not asked, because the outcome is known for 100%") for note in trial.notes)
    lending = ft.run({"preset": "lending", "data": {**data, "groups": ["sex", "race"]}})
    assert [answer.section.id for answer in lending.answers] == [
        "measure-1", "measure-2", "tabulate-1", "tabulate-2", "flag"
    ]  # fmt: skip


def test_a_frame_in_place_of_an_audit() -> None:
    with pytest.raises(
        InputError, match="measure: 'audit' must be an Audit, got DataFrame: say what the columns mean"
    ):
        ft.measure(loans(), "selection_rate")  # type: ignore[arg-type]

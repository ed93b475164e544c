"""A trial in a real MLflow store on this machine."""

from __future__ import annotations

from pathlib import Path

import mlflow
import pytest

import fairtrial
import fairtrial.mlflow
from fairtrial._trial import Trial


def test_numbers_tables_and_report_are_there(trial: Trial, tmp_path: Path) -> None:
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    experiment = mlflow.create_experiment("audit", artifact_location=(tmp_path / "artifacts").as_uri())
    with mlflow.start_run(experiment_id=experiment) as run:
        logged = fairtrial.mlflow.log(trial)
    found = mlflow.get_run(run.info.run_id)
    assert found.data.metrics == pytest.approx(logged)
    rates = {row["group"]: row["rate"] for row in trial.results["measure"].estimates}
    assert found.data.metrics["fairtrial/measure/selection_rate/W/rate"] == pytest.approx(rates["W"])
    assert "fairtrial/measure/selection_rate/B/rate" not in found.data.metrics  # masked as in the report
    assert found.data.tags["fairtrial.verdict"] == trial.verdict.code
    names = {
        path.path
        for path in mlflow.artifacts.list_artifacts(run_id=run.info.run_id, artifact_path="fairtrial")
    }
    assert {
        "fairtrial/report.html",
        "fairtrial/results.json",
        "fairtrial/summary.md",
        "fairtrial/tables",
    } <= names


def test_only_trials_are_logged() -> None:
    with pytest.raises(fairtrial.InputError, match="must be a Trial, got int"):
        fairtrial.mlflow.log(3)  # type: ignore[arg-type]

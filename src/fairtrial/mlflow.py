"""A trial as an entry of an MLflow run: numbers, tables and the report.

import mlflow, fairtrial, fairtrial.mlflow

with mlflow.start_run():
    fairtrial.mlflow.log(fairtrial.run("audit.toml"))
"""

from __future__ import annotations

import re
import tempfile
from typing import Any

from fairtrial._errors import Fault, InputError, MissingExtra
from fairtrial._results.column import scalar
from fairtrial._trial.record import Trial
from fairtrial._work.extras import installing

__all__ = ["log"]

NUMBERS = ("rate", "rate_low", "rate_high", "difference", "difference_low", "difference_high", "p_adjusted")


def log(trial: Trial, *, folder: str = "fairtrial") -> dict[str, float]:
    """Log a trial to the active MLflow run, or to a new one.

    What is logged is what the report shows: numbers about few people are masked as they are there.

    Parameters
    ----------
    trial : Trial
        What `fairtrial.run` returned.
    folder : str
        Where the artifacts go, and what the names of metrics and tags begin with.

    Returns
    -------
    dict
        The metrics that were logged: folder/section/metric/group/number.
    """
    if not isinstance(trial, Trial):
        raise InputError("mlflow.log", Fault("trial", f"must be a Trial, got {type(trial).__name__}"))
    try:
        import mlflow
    except ImportError:
        text = f"mlflow.log: needs mlflow, which is not installed: {installing(['mlflow'])}"
        raise MissingExtra(text) from None
    content = trial.to_dict()
    metrics = metrics_of(content, folder)
    mlflow.log_metrics(metrics)
    mlflow.set_tags(
        {f"{folder}.verdict": content["verdict"]["code"], f"{folder}.data": content["data"]["digest"]}
    )
    with tempfile.TemporaryDirectory() as scratch:
        trial.save(scratch)
        mlflow.log_artifacts(scratch, folder)
    return metrics


def metrics_of(content: dict[str, Any], folder: str) -> dict[str, float]:
    """Every number of a group in a trial's content, by a name that MLflow takes."""
    found = {}
    for section in content["sections"]:
        for row in section["result"]["estimates"] if section["result"] else ():
            place = "/".join(_name(row[key]) for key in ("metric", "group") if isinstance(row.get(key), str))
            for name in NUMBERS:
                value = scalar(row.get(name))
                if isinstance(value, int | float) and place:
                    found[f"{folder}/{section['id']}/{place}/{name}"] = float(value)
    return found


def _name(text: str) -> str:
    """MLflow's names hold letters, digits, underscores, dashes, points, blanks and colons."""
    return re.sub(r"[^\w\-. :]", "_", text, flags=re.ASCII)[:80]

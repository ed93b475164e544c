"""What rates are divided by to give values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairtrial.errors import Fault, InputError
from fairtrial.methods.explain.solver.coalitions import RowForm
from fairtrial.methods.explain.solver.esl import Floats
from fairtrial.methods.explain.solver.esl_groups import baseline_of
from fairtrial.metrics.metric import Metric


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """What rates are divided by, with its rows' influence when it is estimated."""

    kind: str
    value: float
    influence: Floats | None


def check_baseline(baseline: str | float, metric: Metric, scores: bool) -> None:
    """Scores have no coin that shows 1 as often as the outcome."""
    if scores and baseline == "prior":
        required = f"must be a number: no coin has such a {metric.label}"
        raise InputError("explain", Fault("baseline", required, subject=f"'baseline' of {metric.name!r}"))


def find_baseline(kind: object, form: RowForm, outcome: Floats | None) -> Baseline:
    """A number, the metric of a coin ("random"), or of a coin that shows 1 as often as the outcome ("prior")."""
    if isinstance(kind, int | float):
        return Baseline("number", float(kind), None)
    if kind == "random":
        value, influence = baseline_of(form, 0.5)
    else:
        assert outcome is not None
        share = float(outcome.mean())
        value, influence = baseline_of(form, share, (outcome - share) / outcome.size)
    estimated = bool(np.abs(influence).max() > 1e-15)
    return Baseline(str(kind), value, influence if estimated else None)

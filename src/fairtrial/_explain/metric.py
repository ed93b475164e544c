"""A metric as a function of decisions that are not in the data: those of each coalition's classifier."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.cells import Rows
from fairtrial._errors import Fault, NotApplicable, Use, Words
from fairtrial._explain.request import WHO
from fairtrial._explain.solver.coalitions import RowForm
from fairtrial._explain.solver.esl import Floats
from fairtrial._labels import canonical
from fairtrial._metrics.metric import Metric
from fairtrial._metrics.values import ROLES, Role

# A loss that grows beyond this at certain errors has no end to speak of.
LARGEST_END = 10.0


def check_metric(metric: Metric, scores: bool) -> None:
    """Refuse a metric that the coalitions' decisions do not move, or whose condition moves with them."""
    if metric.expression is not None:
        raise _refused(metric, "has an expression as 'given', where explain takes a dict", "both")
    if metric.each is not None or ROLES["score_bin"] in metric.conditions:
        why = "conditions on the score's bin, which changes with every coalition"
        raise _refused(metric, why, "one bin")
    moved = "decision" in metric.needs
    if moved and scores:
        raise _refused(metric, "mixes scores and decisions, where explain takes one of them", "both")
    if not moved and not scores:
        raise _refused(metric, "does not depend on the decisions, so no feature of the model can carry it")


def _refused(metric: Metric, why: str, takes: str = "it") -> NotApplicable:
    """The metric is not for explain; certify takes it, or some form of it."""
    cure = Words(f"{{}} takes {takes}", Use("certify"))
    return NotApplicable(WHO, Fault("metric", why, cure=cure, subject=repr(metric.name)))


def row_form(metric: Metric, rows: Rows) -> RowForm:
    """Value and weight of every row if it were decided 0 and if it were decided 1.

    A metric of scores is linear in the value computed from the score: value 0 and value 1 bracket it the same way.
    """
    (value0, weight0), (value1, weight1) = (_at(metric, rows, decision) for decision in (0.0, 1.0))
    ends = (float(min(value0.min(), value1.min(), 0.0)), float(max(value0.max(), value1.max(), 1.0)))
    return RowForm(value0 * weight0, value1 * weight1, weight0, weight1, ends)


def score_values(metric: Metric, scores: Floats, outcome: Floats | None) -> Floats:
    """The metric's value of each row (rows) under each coalition's scores (columns)."""
    assert isinstance(metric.value, Role)
    parts = {"score": scores, "outcome": None if outcome is None else outcome[:, None]}
    values = np.asarray(metric.value.of(parts))
    if metric.value.wants and not np.isfinite(values).all():
        raise _refused(metric, f"needs {metric.value.wants}, but the model gives others")
    return values


def score_ends(metric: Metric, values: Floats) -> tuple[float, float]:
    """The least and the largest value of the metric at scores from 0 to 1, or what the rows show beyond it.

    A log loss has no largest value: there the rows' own must do.
    """
    assert isinstance(metric.value, Role)
    corners = np.array([0.0, 0.0, 1.0, 1.0])
    at = np.asarray(
        metric.value.of({"score": corners, "outcome": np.array([0.0, 1.0, 0.0, 1.0])}), dtype=float
    )
    at = at[at < LARGEST_END]
    return float(min(values.min(), at.min())), float(max(values.max(), at.max()))


def _at(metric: Metric, rows: Rows, decision: float) -> tuple[Floats, Floats]:
    """Value and weight of every row when everybody is decided `decision`."""
    weight = np.ones(rows.n)
    for key, admitted in metric.conditions.items():
        weight = weight * _meets(key, admitted, rows, decision)
    return _value(metric, rows, decision), weight


def _value(metric: Metric, rows: Rows, decision: float) -> Floats:
    if isinstance(metric.value, str):
        return rows.columns[metric.value]
    if "score" in metric.value.needs:
        return np.full(rows.n, decision)
    known = _role(metric.value, rows, decision)
    if known is None:
        raise _refused(metric, f"takes the mean of {metric.value.words}, which explain does not know")
    return known


def _meets(key: Role | str, admitted: Sequence[object], rows: Rows, decision: float) -> NDArray[np.float64]:
    if isinstance(key, str):
        coded = rows.attributes[key]
        allowed = {canonical(value) for value in admitted}
        inside = np.array([label in allowed for label in coded.labels])
        return inside[coded.codes].astype(float)
    numbers = [float(value) for value in admitted]  # type: ignore[arg-type]
    known = _role(key, rows, decision)
    if known is None:
        why = f"conditions on {key.words}, which explain does not know"
        cure = Words("{} does", Use("certify"))
        raise NotApplicable(WHO, Fault("metric", why, cure=cure, subject="'given'"))
    return np.isin(known, numbers).astype(float)


def _role(key: Role, rows: Rows, decision: float) -> Floats | None:
    """What the role is when everyone's decision is this one; None where decisions alone do not tell."""
    if not set(key.needs) <= {"decision", "outcome"}:
        return None
    parts = {"decision": np.full(rows.n, decision), "outcome": rows.roles.get("outcome")}
    return np.asarray(key.of(parts), dtype=np.float64)

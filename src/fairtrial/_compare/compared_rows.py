"""Gaps of rows that count once each and of weighted ones, by what their evidence allows."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Cells
from fairtrial._compare.request import Inference, refuse_ways
from fairtrial._compare.sorted_groups import Estimate
from fairtrial._compare.weights import WeightedRows, atom_of_rows
from fairtrial._errors import FairtrialWarning, Fault, InputError, NotApplicable, Note
from fairtrial._inference.bounds import bounded
from fairtrial._inference.compare.choose_gaps import make_gaps
from fairtrial._inference.compare.gaps import Gaps
from fairtrial._inference.compare.linear_gaps import LinearGaps
from fairtrial._inference.evidence.atoms import Atoms, Comparison
from fairtrial._inference.means.target_methods import estimate_gaps
from fairtrial._inference.numeric.roots import Floats
from fairtrial._metrics.groups import Target
from fairtrial._metrics.metric import Metric
from fairtrial._work import announce

# What flag takes of one core for each gap of means by its rows; certify, whose limits are at several levels, more.
SECONDS_PER_GAP = 0.02
SECONDS_PER_ROW = 4.5e-7
LONG = 300.0


def weighted_gaps(
    who: str,
    weighted: WeightedRows,
    comparison: Comparison,
    target: Target | Estimate,
    inference: Inference,
) -> tuple[Gaps, list[Note]]:
    """Gaps of weighted rows and of persons with several rows; other ways of inference are refused by name."""
    faults = refuse_ways(inference, "weighted rows or persons with several rows")
    if isinstance(target, Estimate):
        required = "of your own estimate is not for weighted rows or repeated persons"
        faults.append(Fault("target", required, cure="name a group or a number"))
    if faults:
        raise NotApplicable(who, faults)
    text = (
        "Weights and repeated rows: inference at the number of people that the gap's own variance is worth."
    )
    return LinearGaps(weighted.sums, comparison, inference.scale), [Note("effective-counts", text)]


def plain_gaps(
    who: str,
    audit: Audit,
    metric: Metric,
    cells: Cells,
    atoms: Atoms,
    comparison: Comparison,
    target: Target | Estimate,
    inference: Inference,
) -> tuple[Gaps, list[Note]]:
    notes: list[Note] = []
    if isinstance(target, Estimate):
        codes, values, influence = _estimate_rows(who, audit, metric, cells, target)
        notes.append(
            Note(
                "own-estimate",
                "The target is an estimate of your own: orthogonal scores carry its influence values.",
            )
        )
        own = estimate_gaps(atoms, comparison, codes, values, target.value, influence)
        taken = replace(comparison, known=np.full(own.estimate.shape, target.value))
        return (own if atoms.binary else bounded(own, atoms, taken)), notes
    if not atoms.binary and atoms.values is None and inference.likelihood == "empirical":
        text = (
            f"{audit.why_sums}: means are compared by their sums (n, mean, second and third central sums, "
            "smallest and largest value), not by their rows. For skewed values that is the more careful way."
        )
        notes.append(Note("from-moments", text))
        warnings.warn(text, FairtrialWarning, stacklevel=4)
    if atoms.values is not None and comparison.known is None:
        _tell_long_work(len(comparison.member), int(atoms.count.sum()))
    if inference.refinement is not None and (comparison.known is None or atoms.binary):
        required = "is for a real-valued metric against a known number; leave it out here"
        raise InputError(who, Fault("refinement", required))
    gaps = make_gaps(
        atoms,
        comparison,
        likelihood=inference.likelihood,
        target_method=inference.target_method,
        rate_method=inference.rate_interval,
        refinement=inference.refinement,
        scale=inference.scale,
    )
    return gaps, notes


def _tell_long_work(groups: int, rows: int) -> None:
    """Real values of very many groups, by their rows: about how long at least, before it begins."""
    seconds = groups * (SECONDS_PER_GAP + SECONDS_PER_ROW * rows)
    if seconds < LONG:
        return
    text = (
        f"means of {groups:,} groups are compared by drawing from {rows:,} rows for each: at least about "
        f"{_duration(seconds)}. Fewer attributes, a smaller depth or a larger minimum take less."
    )
    if not announce(text):
        warnings.warn(text, FairtrialWarning, stacklevel=5)


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def _estimate_rows(
    who: str, audit: Audit, metric: Metric, cells: Cells, target: Estimate
) -> tuple[Any, Floats, Floats]:
    columns = [target.influence] if isinstance(target.influence, str) else []
    rows = audit.rows(attributes=cells.attributes, metrics=[metric], columns=columns, complete=False, who=who)
    influence = rows.columns[columns[0]] if columns else np.array(target.influence, dtype=np.float64)
    if influence.shape != (rows.n,) or not np.isfinite(influence).all():
        required = f"must have one finite value for each of the {rows.n:,} rows, got {influence.size:,}"
        raise InputError(who, Fault("target", required, subject="'influence'"))
    codes = np.where(rows.given[metric.name], atom_of_rows(cells, rows), -1)
    return codes, rows.values[metric.name], influence


def worked_out(
    who: str, audit: Audit, metric: Metric, cells: Cells, target: Target | Estimate
) -> Target | Estimate:
    """A target that is a function of the rows, as its number and influence values.

    The function gets the metric's `value` of each row, whether the row meets the metric's condition (`given`), and the
    columns it asked for, and returns the estimate and one influence value per row.
    """
    if not isinstance(target, Estimate) or target.function is None:
        return target
    for name in target.columns:
        audit.check_column(who, "target", name)
    rows = audit.rows(
        attributes=cells.attributes, metrics=[metric], columns=target.columns, complete=False, who=who
    )
    given = rows.given[metric.name]
    asked = {"value": np.where(given, rows.values[metric.name], np.nan), "given": given}
    found = target.function(asked | {name: rows.columns[name] for name in target.columns})
    try:
        value, influence = found
        listed = tuple(float(one) for one in influence)
        return Estimate(float(value), listed)
    except (TypeError, ValueError):
        required = "as a function must return the estimate and one influence value for each row"
        raise InputError(who, Fault("target", required, subject="'estimate'")) from None

"""From an audit to the table a scan works on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairtrial.data.audit import Audit
from fairtrial.data.cells import Cells
from fairtrial.errors import Fault, InputError, NotApplicable, Note, Set, Words
from fairtrial.methods.scan.question import ScanQuestion, real_valued_fault
from fairtrial.methods.scan.solver.scan_table import (
    CountedRows,
    ScanTable,
    build_table,
    inside_unit_interval,
    log_odds,
)
from fairtrial.metrics.metric import Metric
from fairtrial.metrics.table import METRICS
from fairtrial.metrics.values import Role

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

MOST_VALUES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScanData:
    """The table and what words it needs to be told about."""

    table: ScanTable
    features: tuple[str, ...]
    labels: dict[str, tuple[str, ...]]
    cells: Cells
    notes: tuple[Note, ...]


def read_data(audit: Audit, question: ScanQuestion) -> ScanData:
    """One grouping query, then atoms, cells and strata."""
    cells = _counted(audit, question)
    lines = _score_lines(question, cells) if question.real_valued else _count_lines(question, cells)
    protected = cells.mask(question.protected)[lines.cell]
    kept = protected.copy()
    kept |= cells.mask(question.reference)[lines.cell] if question.reference else True
    kept &= lines.count > 0
    table = build_table(
        CountedRows(
            codes=cells.codes[:, : len(question.features)].astype(np.int64)[lines.cell[kept]],
            protected=protected[kept],
            event=lines.event[kept],
            scanned=lines.scanned[kept],
            condition=None if lines.condition is None else lines.condition[kept],
            count=lines.count[kept],
        ),
        arity=np.array([len(cells.labels[name]) for name in question.features], dtype=np.int64),
        strata_bins=question.strata_bins if question.on_score and question.scores == "exact" else None,
        real_valued=question.real_valued,
    )
    notes = [*lines.notes, *_notes(audit, question, cells, float(lines.count[~kept].sum()))]
    _check_classes(question, table)
    return ScanData(
        table=table, features=question.features, labels=cells.labels, cells=cells, notes=tuple(notes)
    )


def _counted(audit: Audit, question: ScanQuestion) -> Cells:
    """The one query."""
    who, reference = question.who, question.reference
    of_classes = [*question.protected.attributes, *(reference.attributes if reference else ())]
    by = [*question.features, *dict.fromkeys(of_classes)]
    metrics, roles = _query(question)
    cells = audit.cells(by, metrics=metrics, roles=roles, who=who)
    for name in question.features:
        if len(cells.labels[name]) > MOST_VALUES:
            raise InputError(
                who,
                Fault(
                    "features",
                    f"has {len(cells.labels[name]):,} values",
                    subject=f"feature {name!r}",
                    cure=Words("cut it first with {}", Set("bins", {name: 4}, of="Audit")),
                ),
            )
    return cells


def _notes(audit: Audit, question: ScanQuestion, cells: Cells, left_out: float) -> list[Note]:
    """What the table leaves out, and what cannot tell subgroups apart."""
    notes = []
    defining = [name for name in audit.features if name in question.protected.attributes]
    if defining:
        text = (
            f"{', '.join(defining)} defines the protected class and is not among the features of subgroups."
        )
        notes.append(Note("defining-feature", text))
    if not question.features:
        notes.append(Note("no-features", "No feature was named: the protected class is compared as a whole."))
    if left_out:
        neither = f"neither {question.protected.label} nor {question.target}"
        notes.append(Note("left-out", f"{left_out:,.0f} people who are {neither} were left out."))
    constant = [name for name in question.features if len(cells.labels[name]) == 1]
    if constant:
        text = f"{', '.join(constant)} has one value only and cannot tell subgroups apart."
        notes.append(Note("constant-feature", text))
    return notes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Lines:
    """Counted lines; `cell` is the line of the query they come from."""

    cell: NDArray[np.int64]
    event: FloatArray
    scanned: BoolArray
    condition: FloatArray | None
    count: FloatArray
    notes: tuple[Note, ...] = ()


_MEAN_SCORE = METRICS["mean_score"]
_BASE_RATE = METRICS["base_rate"]
_CONDITIONS_OF_SCORES = Fault(
    "metric", "can be conditioned on outcome and decision only", subject="a scan of scores"
)


def _query(question: ScanQuestion) -> tuple[list[Metric], list[str]]:
    """What the one query must bring: counts of the event, and the roles that become keys."""
    score_key = "score_bin" if question.scores == "bins" else "score"
    needs_score = question.real_valued or question.on_score
    metrics = []
    roles = [score_key] if needs_score else []
    if question.real_valued:
        roles += [part.name for part in question.metric.conditions if isinstance(part, Role)]
    else:
        metrics.append(replace(question.metric, each=None))
    if question.free_condition is not None:
        roles.append(question.free_condition.name)
    if needs_score and question.scores == "bins":
        metrics.append(_MEAN_SCORE)
    if needs_score and question.probability == "outcome-rate":
        metrics.append(_BASE_RATE)
    return list({metric.name: metric for metric in metrics}.values()), [*dict.fromkeys(roles)]


def _count_lines(question: ScanQuestion, cells: Cells) -> _Lines:
    """Binary events: per line of the query so many with, so many without, so many outside the condition."""
    name = question.metric.name
    if not cells.binary[name]:
        raise NotApplicable(question.who, real_valued_fault(question.metric, "is real-valued here"))
    size = len(cells.rows)
    met = cells.count[name].astype(np.float64)
    events = np.round(cells.total[name])
    line = np.arange(size, dtype=np.int64)
    condition: FloatArray | None = None
    notes: tuple[Note, ...] = ()
    if question.on_score:
        probability, notes = _probabilities(question, cells)
        condition = np.tile(log_odds(probability), 3)
    elif question.free_condition is not None:
        condition = np.tile(cells.roles[question.free_condition.name], 3)
    return _Lines(
        cell=np.tile(line, 3),
        event=np.repeat([1.0, 0.0, 0.0], size),
        scanned=np.repeat([True, True, False], size),
        condition=condition,
        count=np.concatenate([events, met - events, cells.rows - met]),
        notes=notes,
    )


def _score_lines(question: ScanQuestion, cells: Cells) -> _Lines:
    """The score as a real-valued event: every distinct score (or bin) is a line of the query."""
    scanned = np.ones(len(cells.rows), dtype=np.bool_)
    for part, values in question.metric.conditions.items():
        if not isinstance(part, Role) or part.name not in ("outcome", "decision"):
            raise NotApplicable(question.who, _CONDITIONS_OF_SCORES)
        scanned &= np.isin(cells.roles[part.name], [float(value) for value in values])
    if question.metric.expression is not None:
        raise NotApplicable(question.who, _CONDITIONS_OF_SCORES)
    probability, notes = _probabilities(question, cells)
    free = question.free_condition
    return _Lines(
        cell=np.arange(len(cells.rows), dtype=np.int64),
        event=probability,
        scanned=scanned,
        condition=None if free is None else cells.roles[free.name],
        count=cells.rows.astype(np.float64),
        notes=notes,
    )


def _probabilities(question: ScanQuestion, cells: Cells) -> tuple[FloatArray, tuple[Note, ...]]:
    """The score of every line as a probability strictly between 0 and 1."""
    key = cells.roles["score_bin" if question.scores == "bins" else "score"]
    distinct, index = np.unique(key, return_inverse=True)
    index = index.reshape(-1)
    people = np.bincount(index, cells.rows, minlength=len(distinct))
    notes = []
    if question.probability == "outcome-rate":
        values = np.bincount(index, cells.total[_BASE_RATE.name], minlength=len(distinct)) / people
        text = "The score stands for the share of people with the outcome among all who have that score."
        notes.append(Note("score-as-outcome-rate", text))
    elif question.scores == "bins":
        values = np.bincount(index, cells.total[_MEAN_SCORE.name], minlength=len(distinct)) / people
    else:
        values = distinct
    if question.scores == "bins":
        notes.append(
            Note("score-bins", f"Scores were cut into {len(distinct)} bins, each standing for its mean.")
        )
    if values.min() < 0.0 or values.max() > 1.0:
        cure = Words(
            "Give {} to read each score as the outcome rate of the people who have it",
            Set("probability", "outcome-rate"),
        )
        must = f"must be a probability between 0 and 1, got {values.min():g} to {values.max():g}"
        raise InputError(question.who, Fault("score", must, subject="the score", cure=cure))
    moved, distance = inside_unit_interval(values)
    if distance:
        text = f"Scores of 0 or 1 have infinite log-odds and were moved {distance:.2g} inwards."
        notes.append(Note("scores-at-border", text))
    return moved[index], tuple(notes)


def _check_classes(question: ScanQuestion, table: ScanTable) -> None:
    """Both classes need somebody who meets the metric's condition."""
    scanned = table.atom_scanned
    among = " who meet the metric's condition" if not scanned.all() else ""
    for argument, words, people in (
        ("protected", question.protected.label, table.atom_protected),
        ("reference" if question.reference else "protected", question.target, table.atom_comparison),
    ):
        if not people[scanned].sum():
            nobody = f"is nobody ({words}){among}: nothing can be compared"
            raise NotApplicable(question.who, Fault(argument, nobody, subject="there"))

"""From an audit to the table a scan works on: which event, which condition, who is protected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairtrial.data.audit import Audit
from fairtrial.data.cells import Cells
from fairtrial.data.groups import find_groups
from fairtrial.errors import InputError, NotApplicable, Note
from fairtrial.methods.scan.solver.table import ScanTable, build_table, inside_unit_interval, log_odds
from fairtrial.metrics.groups import Group
from fairtrial.metrics.metric import Metric
from fairtrial.metrics.table import METRICS
from fairtrial.metrics.values import Role, role

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

MOST_VALUES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is scanned: the event of `metric`, among whom, and how the condition enters.

    `condition` is None (the metric's own), or the role whose both values take part ("any").
    """

    metric: Metric
    protected: Group
    reference: Group | None
    features: tuple[str, ...]
    free_condition: Role | None
    on_score: bool
    scores: Literal["exact", "bins"]
    probability: Literal["score", "outcome-rate"]
    strata_bins: int

    @property
    def real_valued(self) -> bool:
        return self.metric.value is role.score

    @property
    def comparison_words(self) -> str:
        return self.reference.label if self.reference else f"not {self.protected.label}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScanData:
    """The table and what words it needs to be told about."""

    table: ScanTable
    features: tuple[str, ...]
    labels: dict[str, tuple[str, ...]]
    cells: Cells
    notes: tuple[Note, ...]


def resolve_metric(who: str, metric: Metric, condition: object) -> tuple[Metric, Role | None, bool]:
    """The metric with its condition as asked, the role left free by condition="any", and whether C is the score."""
    on_score = metric.each is role.score_bin
    if on_score:
        metric = replace(metric, label="outcome rate given the score")
    means = (role.outcome, role.score)
    if isinstance(metric.value, Role) and not metric.value.binary and metric.value not in means:
        raise NotApplicable(
            who,
            f"{metric.name!r} is real-valued; a scan takes 0/1 metrics and mean scores. Use flag or certify for it",
        )
    if condition is None:
        return metric, None, on_score
    conditions = metric.conditions
    if len(conditions) != 1 or next(iter(conditions)) not in (role.outcome, role.decision):
        raise InputError(
            who,
            f"'condition' changes a metric's condition on outcome or decision, and {metric.name!r} has no such one",
        )
    part = next(iter(conditions))
    if condition == "any":
        assert isinstance(part, Role)
        label = f"{_value_words(metric)} given the {part.name}"
        return replace(metric, given={}, name=f"{metric.name} (any {part.name})", label=label), part, on_score
    if isinstance(condition, bool) or condition not in (0, 1):
        raise InputError(who, f"'condition' must be None, 0, 1 or 'any', got {condition!r}")
    return replace(metric, given={part: condition}), None, on_score


def _value_words(metric: Metric) -> str:
    words = {
        "decision": "selection rate",
        "not_decision": "rate of negative decisions",
        "outcome": "outcome rate",
        "not_outcome": "rate of negative outcomes",
        "score": "mean score",
    }
    return words.get(metric.value.name, metric.label) if isinstance(metric.value, Role) else metric.label


def find_protected(who: str, audit: Audit, protected: object, argument: str = "protected") -> Group:
    """The group a dict such as {"race": "African-American"} names; it must exist in the data."""
    if isinstance(protected, Group):
        return protected
    if not isinstance(protected, Mapping) or not protected:
        raise InputError(
            who, f"{argument!r} must be a group like {{'race': 'African-American'}}, got {protected!r}"
        )
    (group,) = find_groups(who, audit, [dict(protected)], argument=argument)
    return group


def find_features(
    who: str, audit: Audit, features: Sequence[str] | str | None, taken: Sequence[str]
) -> tuple[str, ...]:
    """The attributes subgroups are built from: those named, else the audit's features, else its other groups."""
    if features is None:
        named = tuple(name for name in audit.features or audit.groups if name not in taken)
    else:
        named = tuple(dict.fromkeys((features,) if isinstance(features, str) else features))
    for name in named:
        audit.check_column(who, "features", name)
        if name in taken:
            raise InputError(
                who,
                f"'features' names {name!r}, which defines the protected class; subgroups are built from the others",
            )
    if audit.features and features is None and not named:
        raise InputError(
            who,
            f"'features' of the Audit names {', '.join(map(repr, audit.features))} alone, which defines the protected "
            "class; subgroups are built from others",
        )
    return named


def read_data(who: str, audit: Audit, asked: Asked) -> ScanData:
    """One grouping query, then atoms, cells and strata."""
    class_attributes = [
        *asked.protected.attributes,
        *(asked.reference.attributes if asked.reference else ()),
    ]
    by = [*asked.features, *dict.fromkeys(class_attributes)]
    metrics, roles = _query(asked)
    cells = audit.cells(by, metrics=metrics, roles=roles, who=who)
    for name in asked.features:
        if len(cells.labels[name]) > MOST_VALUES:
            raise InputError(
                who,
                f"feature {name!r} has {len(cells.labels[name]):,} values; cut it first with "
                f"bins={{{name!r}: 4}} in the Audit",
            )
    lines = (
        _score_lines(who, audit, asked, cells)
        if asked.real_valued
        else _count_lines(who, audit, asked, cells)
    )
    protected = cells.mask(asked.protected)[lines.cell]
    kept = protected.copy()
    kept |= cells.mask(asked.reference)[lines.cell] if asked.reference else True
    kept &= lines.count > 0
    left_out = float(lines.count[~kept].sum())
    codes = cells.codes[:, : len(asked.features)].astype(np.int64)[lines.cell[kept]]
    arity = np.array([len(cells.labels[name]) for name in asked.features], dtype=np.int64)
    table = build_table(
        codes=codes,
        arity=arity,
        protected=protected[kept],
        event=lines.event[kept],
        scanned=lines.scanned[kept],
        condition=None if lines.condition is None else lines.condition[kept],
        count=lines.count[kept],
        strata_bins=asked.strata_bins if asked.on_score and asked.scores == "exact" else None,
        real_valued=asked.real_valued,
    )
    notes = list(lines.notes)
    defining = [name for name in audit.features if name in asked.protected.attributes]
    if defining:
        text = (
            f"{', '.join(defining)} defines the protected class and is not among the features of subgroups."
        )
        notes.append(Note("defining-feature", text))
    if not asked.features:
        notes.append(Note("no-features", "No feature was named: the protected class is compared as a whole."))
    if left_out:
        neither = f"neither {asked.protected.label} nor {asked.comparison_words}"
        text = f"{left_out:,.0f} people who are {neither} were left out."
        notes.append(Note("left-out", text))
    constant = [name for name in asked.features if len(cells.labels[name]) == 1]
    if constant:
        notes.append(
            Note(
                "constant-feature",
                f"{', '.join(constant)} has one value only and cannot tell subgroups apart.",
            )
        )
    _check_classes(who, asked, table)
    return ScanData(
        table=table, features=asked.features, labels=cells.labels, cells=cells, notes=tuple(notes)
    )


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


def _query(asked: Asked) -> tuple[list[Metric], list[str]]:
    """What the one query must bring: counts of the event, and the roles that become keys."""
    score_key = "score_bin" if asked.scores == "bins" else "score"
    needs_score = asked.real_valued or asked.on_score
    metrics = []
    roles = [score_key] if needs_score else []
    if asked.real_valued:
        roles += [part.name for part in asked.metric.conditions if isinstance(part, Role)]
    else:
        metrics.append(replace(asked.metric, each=None))
    if asked.free_condition is not None:
        roles.append(asked.free_condition.name)
    if needs_score and asked.scores == "bins":
        metrics.append(_MEAN_SCORE)
    if needs_score and asked.probability == "outcome-rate":
        metrics.append(_BASE_RATE)
    return list({metric.name: metric for metric in metrics}.values()), [*dict.fromkeys(roles)]


def _count_lines(who: str, audit: Audit, asked: Asked, cells: Cells) -> _Lines:
    """Binary events: per line of the query so many with, so many without, so many outside the condition."""
    name = asked.metric.name
    if not cells.binary[name]:
        raise NotApplicable(
            who,
            f"{name!r} is real-valued here; a scan takes 0/1 metrics and mean scores. Use flag or certify for it",
        )
    size = len(cells.rows)
    met = cells.count[name].astype(np.float64)
    events = np.round(cells.total[name])
    line = np.arange(size, dtype=np.int64)
    condition: FloatArray | None = None
    notes: tuple[Note, ...] = ()
    if asked.on_score:
        probability, notes = _probabilities(who, audit, asked, cells)
        condition = np.tile(log_odds(probability), 3)
    elif asked.free_condition is not None:
        condition = np.tile(cells.roles[asked.free_condition.name], 3)
    return _Lines(
        cell=np.tile(line, 3),
        event=np.repeat([1.0, 0.0, 0.0], size),
        scanned=np.repeat([True, True, False], size),
        condition=condition,
        count=np.concatenate([events, met - events, cells.rows - met]),
        notes=notes,
    )


def _score_lines(who: str, audit: Audit, asked: Asked, cells: Cells) -> _Lines:
    """The score as a real-valued event: every distinct score (or bin) is a line of the query."""
    scanned = np.ones(len(cells.rows), dtype=np.bool_)
    for part, values in asked.metric.conditions.items():
        if not isinstance(part, Role) or part.name not in ("outcome", "decision"):
            raise NotApplicable(who, "a scan of scores can be conditioned on outcome and decision only")
        scanned &= np.isin(cells.roles[part.name], [float(value) for value in values])
    if asked.metric.expression is not None:
        raise NotApplicable(who, "a scan of scores can be conditioned on outcome and decision only")
    probability, notes = _probabilities(who, audit, asked, cells)
    free = asked.free_condition
    return _Lines(
        cell=np.arange(len(cells.rows), dtype=np.int64),
        event=probability,
        scanned=scanned,
        condition=None if free is None else cells.roles[free.name],
        count=cells.rows.astype(np.float64),
        notes=notes,
    )


def _probabilities(who: str, audit: Audit, asked: Asked, cells: Cells) -> tuple[FloatArray, tuple[Note, ...]]:
    """The score of every line as a probability strictly between 0 and 1."""
    key = cells.roles["score_bin" if asked.scores == "bins" else "score"]
    distinct, index = np.unique(key, return_inverse=True)
    index = index.reshape(-1)
    people = np.bincount(index, cells.rows, minlength=len(distinct))
    notes = []
    if asked.probability == "outcome-rate":
        values = np.bincount(index, cells.total[_BASE_RATE.name], minlength=len(distinct)) / people
        text = "The score stands for the share of people with the outcome among all who have that score."
        notes.append(Note("score-as-outcome-rate", text))
    elif asked.scores == "bins":
        values = np.bincount(index, cells.total[_MEAN_SCORE.name], minlength=len(distinct)) / people
    else:
        values = distinct
    if asked.scores == "bins":
        notes.append(
            Note("score-bins", f"Scores were cut into {len(distinct)} bins, each standing for its mean.")
        )
    if values.min() < 0.0 or values.max() > 1.0:
        raise InputError(
            who,
            f"the score must be a probability between 0 and 1, got {values.min():g} to {values.max():g}. "
            "Give probability='outcome-rate' to read each score as the outcome rate of the people who have it",
        )
    moved, distance = inside_unit_interval(values)
    if distance:
        text = f"Scores of 0 or 1 have infinite log-odds and were moved {distance:.2g} inwards."
        notes.append(Note("scores-at-border", text))
    return moved[index], tuple(notes)


def _check_classes(who: str, asked: Asked, table: ScanTable) -> None:
    """Both classes need somebody who meets the metric's condition."""
    scanned = table.atom_scanned
    among = " who meet the metric's condition" if not scanned.all() else ""
    for words, people in (
        (asked.protected.label, table.atom_protected),
        (asked.comparison_words, table.atom_comparison),
    ):
        if not people[scanned].sum():
            raise NotApplicable(who, f"there is nobody ({words}){among}: nothing can be compared")


def describe_arguments(asked: Asked) -> dict[str, Any]:
    """For the provenance."""
    return {
        "metric": asked.metric.to_dict(),
        "protected": asked.protected.to_dict(),
        "reference": asked.reference.to_dict() if asked.reference else None,
        "features": list(asked.features),
        "condition": f"any {asked.free_condition.name}" if asked.free_condition else None,
        "scores": asked.scores,
        "probability": asked.probability,
        "strata_bins": asked.strata_bins,
    }

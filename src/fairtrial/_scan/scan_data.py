"""From an audit to the table a scan works on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Cells
from fairtrial._errors import Fault, InputError, NotApplicable, Note, Set, Words
from fairtrial._metrics.table import METRICS
from fairtrial._metrics.values import Metric, Role, role
from fairtrial._scan.request import ScanRequest, real_valued_fault
from fairtrial._scan.solver.person_strata import PersonRows
from fairtrial._scan.solver.scan_table import (
    BoolArray,
    Codes,
    CountedRows,
    FloatArray,
    ScanTable,
    build_table,
    empty_codes,
    log_odds,
)
from fairtrial._scan.solver.value_sets import Attribute, ValueOrder, coarser, value_order, with_numbers_cut

MOST_VALUES = 2_000
NUMBER_BINS = 8  # ordered bins that numbers of more different values are cut into
BIN_PARTS = 8  # and parts of each bin, within which strata are cut where there are people enough


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScanData:
    """The table and what words it needs to be told about; `values` are the searched features' in their order."""

    table: ScanTable
    values: dict[str, ValueOrder]
    cells: Cells
    notes: tuple[Note, ...]
    persons: PersonRows | None = None  # where some have several rows

    def attributes(self, ranges: bool) -> tuple[Attribute, ...]:
        """The searched features as the search takes them; a class without any is searched as a whole."""
        return tuple(
            Attribute(values=len(order.labels), ordered=ranges and order.ordered, apart=order.apart * ranges)
            for order in self.values.values()
        ) or (Attribute(values=1),)


def read_data(audit: Audit, request: ScanRequest) -> ScanData:
    """One grouping query, then atoms, cells and strata."""
    names = (*request.features, *request.within)
    of_classes = (
        *request.protected.attributes,
        *(request.target.attributes if request.target else ()),
    )
    audit, cut = with_numbers_cut(
        audit, [name for name in names if name not in of_classes], NUMBER_BINS, BIN_PARTS
    )
    cells = _counted(audit, request)
    lines = _score_lines(request, cells) if request.real_valued else _count_lines(request, cells)
    fine = {name: value_order(audit, name, cells.labels[name]) for name in names}
    orders, numbers = _joined(fine, cut)
    kept = lines.count > 0
    if request.target:
        kept &= (cells.mask(request.protected) | cells.mask(request.target))[lines.cell]
    counted = _rows(request, cells, lines, (_codes(cells, fine), numbers), kept)
    table = build_table(
        counted,
        arity=np.array([len(order.labels) for order in orders.values()], dtype=np.int64),
        searched=len(request.features),
        neighbours=request.neighbours,
        on_score=request.on_score,
        real_valued=request.real_valued,
    )
    left_out = float(lines.count[~kept].sum())
    notes = [*lines.notes, *_notes(audit, request, cells, left_out), *_cut_notes(cut)]
    _check_classes(request, table)
    _check_events(request, table)
    values = {name: orders[name] for name in request.features}
    persons = None
    if audit.unit is not None:
        persons = _persons(request, table, counted, cells.codes[lines.cell[kept], -1])
    return ScanData(table=table, values=values, cells=cells, notes=tuple(notes), persons=persons)


def _persons(
    request: ScanRequest, table: ScanTable, rows: CountedRows, unit: NDArray[np.int64]
) -> PersonRows | None:
    """Whose the rows are; None where everybody has one. Persons must be in the class or outside it as a whole."""
    assert table.row_atom is not None
    found = PersonRows(atom=table.row_atom, person=unit, count=rows.count, protected=rows.protected)
    if not found.several:
        return None
    mixed = found.mixed(table)
    if mixed:
        required = (
            f"has rows inside and outside of {request.who_is} for {mixed:,} of its values: a scan deals whole persons "
            "to the class, and these cannot be"
        )
        cure = "use a unit that is in one class only, or compare within it instead of across"
        raise NotApplicable(request.who, Fault("unit", required, cure=cure))
    return found


def _joined(
    fine: dict[str, ValueOrder], cut: dict[str, tuple[float, ...]]
) -> tuple[dict[str, ValueOrder], dict[str, NDArray[np.int64]]]:
    """The attributes as they are searched, and for those that were cut the bin of each of their parts."""
    orders, numbers = dict(fine), {}
    for name, edges in cut.items():
        orders[name], joined = coarser(fine[name], edges)
        numbers[name] = np.array(joined, dtype=np.int64)
    return orders, numbers


def _rows(
    request: ScanRequest,
    cells: Cells,
    lines: _Lines,
    coded: tuple[Codes, dict[str, NDArray[np.int64]]],
    kept: BoolArray,
) -> CountedRows:
    fine, numbers = coded
    codes = fine.copy()
    for place, name in enumerate((*request.features, *request.within)):
        if name in numbers:
            codes[:, place] = numbers[name][fine[:, place]]
    parts = [place for place, name in enumerate((*request.features, *request.within)) if name in numbers]
    near = [] if lines.near is None else [lines.near[kept]]
    if not near:
        near = [fine[lines.cell[kept], place].astype(np.float64) for place in parts]
    return CountedRows(
        codes=codes[lines.cell[kept]],
        protected=cells.mask(request.protected)[lines.cell[kept]],
        event=lines.event[kept],
        scanned=lines.scanned[kept],
        condition=None if lines.condition is None else lines.condition[kept],
        count=lines.count[kept],
        near=tuple(near),
    )


def _codes(cells: Cells, orders: dict[str, ValueOrder]) -> Codes:
    """Every line's values as numbers in the attributes' own order."""
    most = max((len(order.labels) for order in orders.values()), default=0)
    codes = empty_codes(len(cells.rows), len(orders), most)
    for place, (name, order) in enumerate(orders.items()):
        number = {label: i for i, label in enumerate(order.labels)}
        to_order = np.array([number[label] for label in cells.labels[name]], dtype=codes.dtype)
        codes[:, place] = to_order[cells.codes[:, place]]
    return codes


def _cut_notes(cut: dict[str, tuple[float, ...]]) -> list[Note]:
    """Which numbers were cut, and where."""
    notes = []
    for name, edges in cut.items():
        listed = ", ".join(f"{edge:g}" for edge in edges)
        text = (
            f"{name} was cut at its quantiles ({listed}), and strata within its bins only as finely as there are "
            "people; bins of the Audit cut it otherwise."
        )
        notes.append(Note("cut-numbers", text))
    return notes


def _counted(audit: Audit, request: ScanRequest) -> Cells:
    """The one query."""
    who, reference = request.who, request.target
    of_classes = [*request.protected.attributes, *(reference.attributes if reference else ())]
    by = list(dict.fromkeys([*request.features, *request.within, *of_classes]))
    if audit.unit is not None:
        by = [
            *(name for name in by if name != audit.unit),
            audit.unit,
        ]  # the last one, where it is looked for
    cells = audit.cells(by, metrics=_metrics(request), roles=_roles(request), who=who)
    for name in request.features:
        if len(cells.labels[name]) > MOST_VALUES:
            cure = Words("cut it first with {}", Set("bins", {name: 4}, of="Audit"))
            many = f"has {len(cells.labels[name]):,} values"
            raise InputError(who, Fault("features", many, subject=f"feature {name!r}", cure=cure))
    return cells


def _notes(audit: Audit, request: ScanRequest, cells: Cells, left_out: float) -> list[Note]:
    """What the table leaves out, and what cannot tell subgroups apart."""
    notes = []
    defining = [name for name in audit.features if name in request.protected.attributes]
    if defining:
        text = "defines the protected class and is not among the features of subgroups"
        notes.append(Note("defining-feature", f"{', '.join(defining)} {text}."))
    if not request.features:
        notes.append(Note("no-features", "No feature was named: the protected class is compared as a whole."))
    if left_out:
        neither = f"neither {request.who_is} nor {request.against}"
        who, were = ("person who is", "was") if round(left_out) == 1 else ("people who are", "were")
        text = f"{left_out:,.0f} {who} {neither} {were} left out."
        notes.append(Note("left-out", text, round(left_out)))
    constant = [name for name in request.features if len(cells.labels[name]) == 1]
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
    near: FloatArray | None = None  # the exact score, which strata of neighbours go by


_MEAN_SCORE = METRICS["mean_score"]
_BASE_RATE = METRICS["base_rate"]


def _metrics(request: ScanRequest) -> list[Metric]:
    """What the one query must count: the event, and what scores stand for."""
    metrics = [] if request.real_valued else [replace(request.metric, each=None)]
    if request.score_role == "score_bin":
        metrics.append(_MEAN_SCORE)
    if request.needs_probability and request.probability == "outcome-rate":
        metrics.append(_BASE_RATE)
    return list({metric.name: metric for metric in metrics}.values())


def _roles(request: ScanRequest) -> list[str]:
    """The roles that become keys of the query."""
    conditions = request.metric.conditions if request.real_valued else ()
    found = [part.name for part in (*conditions, request.free_condition) if isinstance(part, Role)]
    exact = ["score"] if request.on_score else []  # strata of neighbours need it, whatever the models take
    return list(dict.fromkeys([request.score_role, *exact, *found] if request.score_role else found))


def _count_lines(request: ScanRequest, cells: Cells) -> _Lines:
    """Binary events: per line of the query so many with, so many without, so many outside the condition."""
    name = request.metric.name
    if not cells.binary[name]:
        raise NotApplicable(request.who, real_valued_fault(request.metric, "is real-valued here"))
    size = len(cells.rows)
    met = cells.count[name].astype(np.float64)
    events = np.round(cells.total[name])
    line = np.arange(size, dtype=np.int64)
    condition: FloatArray | None = None
    notes: tuple[Note, ...] = ()
    near: FloatArray | None = None
    if request.on_score and not request.models_condition:
        condition = near = np.tile(cells.roles["score"], 3)  # strata of neighbours go by its order alone
    elif request.on_score:
        probability, notes = _probabilities(request, cells)
        # the event's own log-odds: where the event is the outcome's absence, those of its absence
        sign = -1.0 if request.metric.value is role.not_outcome else 1.0
        condition, near = np.tile(sign * log_odds(probability), 3), np.tile(cells.roles["score"], 3)
    elif request.free_condition is not None:
        condition = np.tile(cells.roles[request.free_condition.name], 3)
    return _Lines(
        cell=np.tile(line, 3),
        event=np.repeat([1.0, 0.0, 0.0], size),
        scanned=np.repeat([True, True, False], size),
        condition=condition,
        count=np.concatenate([events, met - events, cells.rows - met]),
        notes=notes,
        near=near,
    )


def _score_lines(request: ScanRequest, cells: Cells) -> _Lines:
    """The score as a real-valued event: every distinct score (or bin) is a line of the query."""
    scanned = np.ones(len(cells.rows), dtype=np.bool_)
    conditions = {getattr(part, "name", ""): values for part, values in request.metric.conditions.items()}
    if not conditions.keys() <= {"outcome", "decision"} or request.metric.expression is not None:
        why = "can be conditioned on outcome and decision only"
        raise NotApplicable(
            request.who,
            Fault("metric", why, subject="a scan of scores", cure="take other conditions out of the metric"),
        )
    for name, values in conditions.items():
        scanned &= np.isin(cells.roles[name], [float(value) for value in values])
    probability, notes = _probabilities(request, cells)
    free = request.free_condition
    return _Lines(
        cell=np.arange(len(cells.rows), dtype=np.int64),
        event=probability,
        scanned=scanned,
        condition=None if free is None else cells.roles[free.name],
        count=cells.rows.astype(np.float64),
        notes=notes,
    )


def _probabilities(request: ScanRequest, cells: Cells) -> tuple[FloatArray, tuple[Note, ...]]:
    """The score of every line as a probability strictly between 0 and 1."""
    assert request.score_role is not None
    key = cells.roles[request.score_role]
    distinct, index = np.unique(key, return_inverse=True)
    index = index.reshape(-1)
    people = np.bincount(index, cells.rows, minlength=len(distinct))
    notes = []
    if request.probability == "outcome-rate":
        values = np.bincount(index, cells.total[_BASE_RATE.name], minlength=len(distinct)) / people
        text = "The score stands for the share of people with the outcome among all who have that score."
        notes.append(Note("score-as-outcome-rate", text))
    elif request.scores == "bins":
        values = np.bincount(index, cells.total[_MEAN_SCORE.name], minlength=len(distinct)) / people
    else:
        values = distinct
    if request.scores == "bins":
        text = f"Scores were cut into {len(distinct)} bins, each standing for its mean."
        notes.append(Note("score-bins", text))
    if values.min() < 0.0 or values.max() > 1.0:
        give = "Give {} to read each score as the outcome rate of the people who have it"
        cure = Words(give, Set("probability", "outcome-rate"))
        must = f"must be a probability between 0 and 1, got {values.min():g} to {values.max():g}"
        raise InputError(request.who, Fault("score", must, subject="the score", cure=cure))
    moved, distance = inside_unit_interval(values)
    if distance:
        text = f"Scores of 0 or 1 have infinite log-odds and were moved {distance:.2g} inwards."
        notes.append(Note("scores-at-border", text))
    return moved[index], tuple(notes)


def inside_unit_interval(score: FloatArray) -> tuple[FloatArray, float]:
    """Scores of exactly 0 or 1 have infinite log-odds: move them halfway to the border from the next score.

    Returns the scores and the distance from the border that was used (0 when nothing was moved).
    """
    at_border = (score <= 0.0) | (score >= 1.0)
    if not at_border.any():
        return score, 0.0
    inner = score[~at_border]
    closest = float(np.minimum(inner, 1.0 - inner).min()) if len(inner) else 0.01
    distance = min(0.5 * closest, 0.005)
    return np.clip(score, distance, 1.0 - distance), distance


def _check_classes(request: ScanRequest, table: ScanTable) -> None:
    """Both classes need somebody who meets the metric's condition."""
    scanned = table.atom_scanned
    among = " who meet the metric's condition" if not scanned.all() else ""
    for argument, words, people in (
        ("protected", request.who_is, table.atom_protected),
        ("target" if request.target else "protected", request.against, table.atom_comparison),
    ):
        if not people[scanned].sum():
            nobody = f"is nobody ({words}){among}: nothing can be compared"
            raise NotApplicable(
                request.who,
                Fault(
                    argument,
                    nobody,
                    subject="there",
                    cure="Compare others, or ask for a metric that some of them meet the condition of",
                ),
            )


def _check_events(request: ScanRequest, table: ScanTable) -> None:
    """Without different events there is nothing to scan."""
    events = table.atom_event[table.atom_scanned & (table.atom_total > 0)]
    if events.min() == events.max():
        why = "is the same for everybody: without different events there is nothing to scan"
        fault = Fault("metric", why, subject=f"the {request.metric.label}", cure="Scan another metric")
        raise NotApplicable(request.who, fault)

"""From an audit to one line of the state: counts per period and cell, nothing else of the rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Bools, Cells, Floats, Ints, Rows
from fairtrial._errors import Fault, InputError, Note
from fairtrial._labels import MISSING
from fairtrial._method.selective_labels import left_out_details, left_out_notes
from fairtrial._metrics.values import Metric
from fairtrial._watch.request import WHO, WatchRequest, check_dates, period_order
from fairtrial._work import generator

SPLIT = 64


class Counter:
    """From an audit to what its batch adds; `cells` are those of its grouping query, None where rows are read."""

    def __init__(
        self, audit: Audit, metric: Metric, asked: WatchRequest, salt: str, cells: Cells | None
    ) -> None:
        self.audit, self.metric, self.asked, self.salt = audit, metric, asked, salt
        names = (*asked.cell_attributes, asked.period)
        if audit.unit is None and (cells is None or cells.attributes != names):
            cells = audit.cells(names, [metric], who=WHO)
        self.cells = cells

    def count(self, seen: set[str], first: bool) -> tuple[dict[str, Any], list[Note]]:
        """The batch as its line records it, and what a reader must know of it."""
        people: list[str] = []
        if self.cells is None:
            periods, people, notes = self._from_rows(seen, first)
            digest = _digest([periods, people])
        else:
            _check_cells(self.asked, self.cells, self.metric)
            notes = left_out_notes(left_out_details([self.metric], self.cells.left_out))
            periods = _from_cells(self.cells, self.metric, self.asked)
            digest = _digest(periods)
            if first and not self.asked.binary and not self.audit.by_sums:  # to teach it a centre
                periods = self._from_rows(seen, first)[0]
        if any(period["label"] == MISSING for period in periods):
            required = f"{self.asked.period!r} is missing in some rows"
            raise InputError(WHO, Fault("period", required, cure="fill it in, or leave these rows out"))
        check_dates([period["label"] for period in periods])
        return {"digest": digest, "periods": periods, "people": people}, notes

    def _from_rows(self, seen: set[str], first: bool) -> tuple[list[dict[str, Any]], list[str], list[Note]]:
        return _from_rows(self.audit, self.metric, self.asked, self.salt, seen, first)


def _digest(content: Any) -> str:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _check_cells(asked: WatchRequest, cells: Cells, metric: Metric) -> None:
    there = cells.count[metric.name] > 0
    if there.any():
        low, high = cells.low[metric.name][there], cells.high[metric.name][there]
        check_values(asked, float(low.min()), float(high.max()))


def check_values(asked: WatchRequest, low: float, high: float) -> None:
    """Refuse values outside the bounds that were stated: bets on them would not be bounded."""
    if asked.bounds is None or not (low < asked.bounds[0] or high > asked.bounds[1]):
        return
    required = f"[{asked.bounds[0]:g}, {asked.bounds[1]:g}] do not hold all values: they run from {low:g} to {high:g}"
    raise InputError(
        WHO, Fault("stream", required, cure="state bounds that no value can ever pass", subject="'bounds'")
    )


def _scaled(asked: WatchRequest, n: Floats, total: Floats, m2: Floats) -> Floats:
    """Rows, sum and sum of squares of the values, brought to [0, 1]; binary ones are their own squares."""
    if asked.binary:
        return np.stack([n, total, total], axis=1)
    low, width = (asked.bounds or (0.0, 1.0))[0], asked.width
    mean = np.divide(total, n, out=np.zeros_like(total), where=n > 0)
    centred = (mean - low) / width
    return np.stack([n, n * centred, m2 / width**2 + n * centred**2], axis=1)


def _from_cells(cells: Cells, metric: Metric, asked: WatchRequest) -> list[dict[str, Any]]:
    """Cells of the grouping query, by period in its order."""
    n = cells.count[metric.name].astype(np.float64)
    values = _scaled(asked, n, cells.total[metric.name], cells.m2[metric.name])
    texts = [
        np.array(cells.labels[name], dtype=object)[cells.codes[:, i]]
        for i, name in enumerate(cells.attributes)
    ]
    return _periods(texts[-1], texts[:-1], [values])


def _periods(period: Any, attributes: list[Any], parts: list[Floats]) -> list[dict[str, Any]]:
    """The cells of each period; a period may come in parts, one after the other."""
    found: dict[str, list[list[Any]]] = {}
    for place in range(len(period)):
        listed = found.setdefault(str(period[place]), [[] for _ in parts])
        labels = [str(values[place]) for values in attributes]
        for part, values in enumerate(parts):
            if values[place, 0] > 0:
                listed[part].append([labels, *[_plain(value) for value in values[place].tolist()]])
    return [
        {"label": label, "parts": [sorted(part) for part in found[label] if part] or [[]]}
        for label in sorted(found, key=period_order)
    ]


def _plain(value: float) -> float | int:
    return int(value) if value.is_integer() else value


# -- row by row: repeated people, and the first period of real values -------------------------------------------
def _from_rows(
    audit: Audit, metric: Metric, asked: WatchRequest, salt: str, seen: set[str], first: bool
) -> tuple[list[dict[str, Any]], list[str], list[Note]]:
    unit = (
        () if audit.unit is None else (audit.unit,)
    )  # as labels: the same person has the same one in every batch
    names = tuple(dict.fromkeys([*asked.cell_attributes, asked.period, *unit]))
    rows = audit.rows(attributes=names, metrics=[metric], who=WHO)
    used = rows.given[metric.name].copy()
    people: list[str] = []
    notes: list[Note] = []
    if used.any():
        values = rows.values[metric.name][used]
        check_values(asked, float(values.min()), float(values.max()))
    if audit.unit is not None and asked.repeated == "once":
        before = int(used.sum())
        used, people = _once_ever(rows, used, audit.unit, asked.period, salt, seen)
        left = before - int(used.sum())
        if left:
            text = f"{left:,} of {before:,} rows are of people who were counted before, and were left out."
            notes.append(Note("repeated-people", text, left))
    return _grouped(rows, metric, asked, used, first and not asked.binary), people, notes


def _once_ever(
    rows: Rows, used: Bools, unit: str, when: str, salt: str, seen: set[str]
) -> tuple[Bools, list[str]]:
    """Of each person never counted before one row of their first period, drawn by lot: a value must not decide."""
    units = rows.attributes[unit]
    names = [hashlib.sha256(f"{salt}{label}".encode()).hexdigest()[:16] for label in units.labels]
    known = np.array([name in seen for name in names], dtype=bool)
    period = rows.attributes[when]
    rank = _ranks(period.labels)
    candidates = np.flatnonzero(used & ~known[units.codes])
    lot = generator(0, f"watch {salt} {rows.digest}").permutation(candidates.size)
    order = np.lexsort((lot, rank[period.codes[candidates]], units.codes[candidates]))
    sorted_ = candidates[order]
    first = np.ones(sorted_.size, dtype=bool)
    first[1:] = units.codes[sorted_[1:]] != units.codes[sorted_[:-1]]
    kept = np.zeros(rows.n, dtype=bool)
    kept[sorted_[first]] = True
    return kept, sorted(names[code] for code in units.codes[sorted_[first]])


def _ranks(labels: tuple[str, ...]) -> Ints:
    order = sorted(range(len(labels)), key=lambda place: period_order(labels[place]))
    ranks = np.empty(len(labels), dtype=np.int64)
    ranks[order] = np.arange(len(labels))
    return ranks


def _grouped(
    rows: Rows, metric: Metric, asked: WatchRequest, used: Bools, split: bool
) -> list[dict[str, Any]]:
    """The rows used, as cells; of the first period of real values some rows come first, to teach a centre."""
    names = (*asked.cell_attributes, asked.period)
    codes = np.stack([rows.attributes[name].codes[used] for name in names], axis=1)
    values = rows.values[metric.name][used]
    if not len(values):
        return []
    keys, cell = np.unique(codes, axis=0, return_inverse=True)
    cell = cell.ravel()
    texts = [np.array(rows.attributes[name].labels, dtype=object)[keys[:, i]] for i, name in enumerate(names)]
    teaching = _teaching(rows, cell, texts[-1], asked) if split else np.zeros(len(values), dtype=bool)
    chosen = [teaching, ~teaching] if split else [~teaching]
    parts = [_moments(asked, cell[part], values[part], len(keys)) for part in chosen]
    return _periods(texts[-1], texts[:-1], parts)


def _teaching(rows: Rows, cell: Ints, periods: Any, asked: WatchRequest) -> Bools:
    """About the square root of the first period's rows of each cell, drawn by lot."""
    earliest = min((str(label) for label in periods), key=period_order)
    lot = generator(0, f"watch teaching {rows.digest}").permutation(len(cell))
    chosen = np.zeros(len(cell), dtype=bool)
    for place in range(len(periods)):
        if str(periods[place]) == earliest:
            members = np.flatnonzero(cell == place)
            size = min(SPLIT, int(np.ceil(np.sqrt(members.size))))
            chosen[members[np.argsort(lot[members])[:size]]] = True
    return chosen


def _moments(asked: WatchRequest, cell: Ints, values: Floats, cells: int) -> Floats:
    n = np.bincount(cell, minlength=cells).astype(np.float64)
    total = np.bincount(cell, values, minlength=cells).astype(np.float64)
    mean = np.divide(total, n, out=np.zeros_like(total), where=n > 0)
    m2 = np.bincount(cell, (values - mean[cell]) ** 2, minlength=cells).astype(np.float64)
    return _scaled(asked, n, total, m2)


def roles_of(audit: Audit) -> Mapping[str, Any]:
    """What the columns mean, as far as a metric's value depends on it."""
    named = {name: getattr(audit, name) for name in ("outcome", "decision", "score", "threshold", "unit")}
    more = {"positive": dict(audit.positive), "bins": {k: _bin(v) for k, v in audit.bins.items()}}
    return json.loads(json.dumps({**named, **more}, default=str))  # type: ignore[no-any-return]


def _bin(cut: Any) -> Any:
    return cut if isinstance(cut, int) else [float(edge) for edge in cut]

"""The answer of a query as arrays: its keys and values, their faults, and the metrics' values on its lines."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairtrial._audit.cells import (
    Bools,
    Coded,
    Floats,
    Hashes,
    Ints,
    MetricMoments,
    WeightPowers,
    WeightSides,
)
from fairtrial._audit.columns import Columns
from fairtrial._audit.engine import read_floats
from fairtrial._audit.role_expressions import OTHER, decision_is_real, label_number, text_role
from fairtrial._audit.schema import cut_into_bins
from fairtrial._errors import Fault, Faults, NotApplicable, Set, Words
from fairtrial._labels import INFINITE, MISSING, canonical, is_missing
from fairtrial._metrics.values import Metric, Role

MAX_LEVELS = 1000
SCORE_BIN = "role.score_bin"  # where the score's bins are kept, apart from any column of that name
NOT_FINITE = "has infinite values; remove or cap them"
TOO_LARGE = "has infinite values, or some too large to square; remove or cap them"
# Beyond these the powers that intervals need leave the range of numbers.
SMALLEST, LARGEST = 1e-60, 1e60


@dataclass(slots=True, eq=False)
class QueryAnswer:
    """The answer of a query: per line a weight `n`, coded keys, and moments of the values."""

    n: Ints
    labels: dict[str, Coded] = field(default_factory=dict)
    binary: dict[str, Floats] = field(default_factory=dict)
    numbers: dict[str, Floats] = field(default_factory=dict)
    values: dict[str, MetricMoments] = field(default_factory=dict)
    others: dict[str, int] = field(default_factory=dict)
    hashes: Hashes | None = None  # sums of hashes of the values, where the engine has made them
    weights: WeightPowers | None = None

    def role(self, name: str) -> Floats:
        """A role's value of every line; of the score's bins their codes."""
        if name == "score_bin":
            return self.labels[SCORE_BIN].codes.astype(float)
        known = next((known[name] for known in (self.binary, self.numbers) if name in known), None)
        return self.value(name) if known is None else known

    def value(self, name: str) -> Floats:
        """A number of every row, NaN where there is none."""
        return np.where(self.values[name].count > 0, self.values[name].total, np.nan)

    def known(self, value: Role) -> Bools:
        """Which lines have all that a binary value needs."""
        lacks: Bools = np.isnan(np.array([self.binary[need] for need in value.needs])).any(axis=0)
        return ~lacks

    def unknown(self, part: Role | str) -> Bools:
        """Which lines lack a role or a column's label."""
        if isinstance(part, Role) and part.name != "score_bin":
            return np.isnan(self.numbers["score"] if part.name == "score" else self.binary[part.name])
        return self.labels[SCORE_BIN if isinstance(part, Role) else part].among({MISSING})

    def among(self, part: Role | str, admitted: Collection[Any]) -> Bools:
        """Which lines have one of the admitted values of a role, or labels of a column."""
        if isinstance(part, Role) and part.name != "score_bin":
            column = self.numbers["score"] if part.name == "score" else self.binary[part.name]
            return np.isin(column, [float(value) for value in admitted])
        coded = self.labels[SCORE_BIN if isinstance(part, Role) else part]
        return coded.among({canonical(value) for value in admitted})


def read_numbers(
    columns: Columns, name: str, column: Any, n: Ints, faults: Faults, partial: bool = False
) -> Floats:
    """A role as a number of every line; `partial` lines may lack it."""
    numbers = read_floats(column)
    missing = int(n[np.isnan(numbers)].sum())
    if missing and not partial:
        faults.add(columns.roles.missing_fault(missing, name))
    if np.isinf(numbers).any():
        faults.add(columns.roles.fault([name], f"has {int(n[np.isinf(numbers)].sum())} infinite values"))
    return numbers


def size_faults(
    columns: Columns, names: Iterable[str], values: MetricMoments, made: bool = False
) -> Iterator[Fault]:
    """What is wrong with the size of real values.

    They may be `made` of the roles that are named: then an infinite one need not stand in the data.
    """
    sizes = np.abs(np.concatenate([values.low, values.high]))
    largest = float(sizes[~np.isnan(sizes)].max(initial=0.0))
    if np.isinf(largest):
        yield columns.roles.fault(names, TOO_LARGE if made else NOT_FINITE)
    elif largest > LARGEST or 0 < largest < SMALLEST:
        required = f"must have its largest value between {SMALLEST:g} and {LARGEST:g}, got {largest:.4g}"
        yield columns.roles.fault(names, required, "count in other units")


def read_role(
    columns: Columns, name: str, column: Any, n: Ints, faults: Faults, partial: bool = False
) -> Floats:
    """A binary role's key as 0 and 1; anything else is a fault or makes the outcome real-valued."""
    if str(column.type).startswith("dictionary"):
        column = column.dictionary_decode()
    if str(column.type).endswith("string"):
        values = text_role(columns, name, column, faults)
        told = (
            {canonical(value) for value in column.unique().to_pylist()} if name in columns.positive else set()
        )
    else:
        numbers = np.asarray(column.to_numpy(zero_copy_only=False), dtype=float)
        values, told = _number_role(columns, name, numbers)
    missing = int(n[np.isnan(values)].sum())
    if missing and not partial:
        faults.add(columns.roles.missing_fault(missing, name))
    fault = _role_fault(columns, name, values, n, told)
    if fault is not None:
        faults.add(fault)
    elif name == "outcome":
        columns.note_outcome(bool((values == OTHER).any()))
    if name == "decision":
        decided = np.unique(values[~np.isnan(values)])
        if decided.size == 1 and decided[0] in (0.0, 1.0):
            columns.note_constant(int(decided[0]))
    return values


def _number_role(columns: Columns, name: str, values: Floats) -> tuple[Floats, set[str]]:
    """A role's numbers as 0, 1 and OTHER, and which labels that count as 1 were among them."""
    if name == "decision" and columns.decision is None:
        return values, set()
    labels = columns.roles.counted(name)
    if labels and columns.kind(str(getattr(columns, name))) == "float":  # the query tells which label it is
        told = {label for place, label in enumerate(labels, start=1) if (values == place).any()}
        return np.where(np.isnan(values), np.nan, values > 0), told
    if labels:
        told = {label for label in labels if (values == label_number(label)).any()}
        counted = np.isin(values, [label_number(label) for label in labels])
        return np.where(np.isnan(values), np.nan, counted), told
    return np.where(np.isnan(values) | (values == 0) | (values == 1), values, OTHER), set()


def _role_fault(columns: Columns, name: str, values: Floats, n: Ints, told: set[str]) -> Fault | None:
    if name in columns.positive:
        absent = [label for label in columns.roles.counted(name) if label not in told]
        if not absent:
            return None
        listed = " and ".join(repr(label) for label in absent)
        do = f"label {listed} does" if len(absent) == 1 else f"labels {listed} do"
        required = f"{do} not occur in {columns.roles.subject(name)}"
        return Fault("positive", required, cure="name labels that do, spelt as in the data")
    if name != "decision" or not (values == OTHER).any():
        return None
    if columns.decision is None:
        return columns.roles.fault(["score"], f"has {int(n[values == OTHER].sum()):,} infinite values")
    cure: str | Words = Words("say which counts with {}", Set("positive", of="Audit"))
    if decision_is_real(columns):
        cure = Words(
            "ask for {} or the table 'pay', or say which counts with {}",
            Set("metric", "mean_decision"),
            Set("positive", of="Audit"),
        )
    return columns.roles.fault(["decision"], "holds numbers other than 0 and 1", cure)


def read_labels(
    columns: Columns, name: str, column: Any, n: Ints, faults: Faults, partial: bool = False
) -> Coded:
    """Raw labels as canonical text, sorted; missing and colliding labels are faults."""
    encoded = column.dictionary_encode()
    try:
        raw = encoded.dictionary.to_pylist()
    except UnicodeDecodeError:
        cure = "read it in the encoding that it was written in"
        faults.add(_label_fault(columns, name, "holds text that is not UTF-8", cure))
        faults.raise_any()
        raise
    positions = np.asarray(encoded.indices.fill_null(len(raw)), dtype=np.int64)
    texts = [*map(canonical, raw), MISSING]
    _check_collisions(columns, name, raw, texts, faults)
    texts = [columns.roles.label(name, text) for text in texts]
    used = columns.in_order(name, {texts[i] for i in np.unique(positions)})
    columns.note_alike(name, used)
    code_of = {label: i for i, label in enumerate(used)}
    lookup = np.array([code_of.get(text, -1) for text in texts], dtype=np.int32)
    codes = lookup[positions]
    missing = int(n[codes == code_of[MISSING]].sum()) if MISSING in code_of else 0
    if missing and not partial and (columns.missing != "category" or name == SCORE_BIN):
        faults.add(columns.roles.missing_fault(missing, "score" if name == SCORE_BIN else f"column {name}"))
    if len(used) > MAX_LEVELS:
        faults.add(_levels_fault(columns, name, len(used)))
    return Coded(codes, tuple(used))


def _levels_fault(columns: Columns, name: str, levels: int) -> Fault:
    cure: str | Words = cut_into_bins(name)
    if columns.kind(name) not in ("int", "float"):
        cure = "join them into fewer; a column of names, dates or identifiers is no group"
    return _label_fault(columns, name, f"has {levels:,} levels, more than {MAX_LEVELS:,}", cure)


def read_persons(role: str, name: str, column: Any, faults: Faults) -> Coded:
    """Persons as integers; their names are not kept."""
    encoded = column.dictionary_encode()
    codes = np.asarray(encoded.indices.fill_null(-1), dtype=np.int32)
    nobody = [i for i, person in enumerate(encoded.dictionary.to_pylist()) if is_missing(person)]
    missing = int(np.isin(codes, [-1, *nobody]).sum())
    if missing:
        required = f"is missing in {missing:,} rows"
        subject = f"{name!r} ({role})"
        faults.add(Fault(role, required, subject=subject, cure="every row needs its person"))
    return Coded(codes, ())


def _check_collisions(columns: Columns, name: str, raw: list[Any], texts: list[str], faults: Faults) -> None:
    seen: dict[str, Any] = {}
    for value, text in sorted(zip(raw, texts, strict=False), key=lambda pair: str(pair[0])):
        if is_missing(value):
            continue
        if text == MISSING:
            required = f"has the label {MISSING!r}, which stands for missing values here; rename it"
            faults.add(_label_fault(columns, name, required))
        elif value in (INFINITE, float("inf"), float("-inf")):
            faults.add(_label_fault(columns, name, NOT_FINITE))
        elif text in seen and seen[text] != value and not _are_zero(seen[text], value):
            required = f"has the labels {seen[text]!r} and {value!r}, which are one label here; make them one"
            faults.add(_label_fault(columns, name, required))
        seen[text] = value


def _are_zero(one: Any, other: Any) -> bool:
    """Zero with and without its sign is one label, as a text as well."""
    return canonical(one) == "0" and str(one).lstrip("-") == str(other).lstrip("-")


def _label_fault(columns: Columns, name: str, required: str, cure: str | Words = "") -> Fault:
    return columns.roles.fault([f"column {name}"], required, cure)


# -- a metric's value on the lines of the answer
def refuse_real_outcome(who: str, columns: Columns, metric: Metric) -> None:
    """A real-valued outcome has no positive and no negative case to condition on."""
    if metric.conditions_on_outcome:
        required = f"conditions on the outcome, but {columns.roles.subject('outcome')} is real-valued"
        cure = Words(
            "Metrics that only average it: base_rate, ppv, for. Or say which label counts: {}",
            Set("positive", of="Audit"),
        )
        raise NotApplicable(who, Fault("metric", required, subject=repr(metric.name), cure=cure))


def evaluate(metric: Metric, table: QueryAnswer, *, outcome_real: bool) -> MetricMoments:
    """The moments of the metric's value per line of the table."""
    given = _given(metric, table)
    value = metric.value
    if isinstance(value, Role) and (value.binary or (value.name == "outcome" and not outcome_real)):
        known = given & table.known(value)
        return MetricMoments.constant(
            np.where(known, table.n, 0),
            np.where(known, np.nan_to_num(value.of(table.binary)), 0.0),
            binary=True,
        )
    name = f"column {value}" if isinstance(value, str) else value.name
    if name == "outcome" and name in table.numbers:
        known = given & ~np.isnan(table.numbers[name])
        return MetricMoments.constant(
            np.where(known, table.n, 0), np.where(known, np.nan_to_num(table.numbers[name]), 0.0)
        )
    binary = isinstance(value, str) and table.others[name] == 0
    return table.values[name].among(given, binary=binary)


def weigh(metric: Metric, table: QueryAnswer, *, outcome_real: bool) -> WeightSides | None:
    """The weights of those a rate is about, without the event and with it; None where the lines do not tell."""
    value = metric.value
    binary = isinstance(value, Role) and (value.binary or (value.name == "outcome" and not outcome_real))
    if table.weights is None or not binary:
        return None
    assert isinstance(value, Role)
    known = _given(metric, table) & table.known(value)
    event = np.nan_to_num(value.of(table.binary)) == 1
    return WeightSides(*(table.weights.chosen(known & side) for side in (~event, event)))


def count_lacking(metric: Metric, table: QueryAnswer, count: Ints) -> tuple[int, int]:
    """Rows that lack what the metric needs, and the rows it may be about: no condition is known to fail."""
    possible = np.ones(len(table.n), dtype=bool)
    for part, admitted in metric.conditions.items():
        possible &= table.among(part, admitted) | table.unknown(part)
    if metric.expression is not None:
        possible &= table.binary[f"given {metric.name}"] == 1
    rows = int(table.n[possible].sum())
    return rows - int(count.sum()), rows


def _given(metric: Metric, table: QueryAnswer) -> Bools:
    given = np.ones(len(table.n), dtype=bool)
    for part, admitted in metric.conditions.items():
        given &= table.among(part, admitted)
    if metric.expression is not None:
        given &= table.binary[f"given {metric.name}"] == 1
    return given

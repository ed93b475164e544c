"""One query for many metrics: discrete columns become keys, real ones become sums; faults are counted in it.

The same keys and values serve two queries: grouped (cells) and plain (rows). Nothing else touches the data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairtrial.data.cells import Bools, Coded, Floats, Ints
from fairtrial.data.expressions import clean_number
from fairtrial.data.source import collect
from fairtrial.errors import Faults, NotApplicable
from fairtrial.labels import INFINITE, MISSING, canonical, is_missing
from fairtrial.metrics.table import ROLES, Metric, Role

if TYPE_CHECKING:
    from fairtrial.data.audit import Audit

MAX_LEVELS = 1000
SCORE_BIN = "role.score_bin"  # where the score's bins are kept, apart from any column of that name


@dataclass(slots=True, eq=False)
class Table:
    """The answer of a query: per line a weight `n`, coded keys, and moments of the values."""

    n: Ints
    labels: dict[str, Coded] = field(default_factory=dict)
    binary: dict[str, Floats] = field(default_factory=dict)
    numbers: dict[str, Floats] = field(default_factory=dict)
    count: dict[str, Ints] = field(default_factory=dict)
    total: dict[str, Floats] = field(default_factory=dict)
    m2: dict[str, Floats] = field(default_factory=dict)
    others: dict[str, int] = field(default_factory=dict)


class Query:
    """Collects what metrics, attributes and roles need, runs once, and reads the answer."""

    def __init__(self, audit: Audit, who: str) -> None:
        self.audit = audit
        self.who = who
        self.keys: dict[str, nw.Expr] = {}
        self.values: dict[str, nw.Expr] = {}
        self.meaning: dict[str, tuple[str, str]] = {}  # key alias -> (kind, name)
        self.columns: set[str] = set()

    # -- what to ask for ------------------------------------------------------------------------------------
    def attribute(self, name: str) -> None:
        column = self.audit.label_column(name)
        self.columns.add(column)
        self._key(
            "label", name, lambda: nw.col(column) if column != name else self.audit.attribute_expression(name)
        )

    def unit(self) -> None:
        assert self.audit.unit is not None
        self.columns.add(self.audit.unit)
        self._key("unit", self.audit.unit, lambda: nw.col(str(self.audit.unit)))

    def expression(self, metric: Metric) -> None:
        self.columns.update(self.audit.source.columns)
        self._key("expression", metric.name, lambda: metric.expression.cast(nw.Int64))

    def role(self, name: str) -> None:
        self.columns.update(self.audit.role_columns(name))
        if name in ("decision", "outcome"):
            self._key("role", name, lambda: self.audit.role_key(name))
        elif name == "score":
            self._key("number", "score", lambda: self.audit.number("score"))
        elif name == "score_bin":
            self._key("label", SCORE_BIN, self.audit.score_bin_expression)

    def column(self, name: str) -> None:
        self.columns.add(name)
        self.values.setdefault(f"column {name}", self.audit.column_number(self.who, name))

    def role_value(self, name: str) -> None:
        """A role, or what is derived from roles, as a real number."""
        for need in ROLES[name].needs:
            self.columns.update(self.audit.role_columns(need))
        self.values.setdefault(name, self.audit.derived(name))

    def metric(self, metric: Metric) -> None:
        """Ask for all that the metric reads."""
        for part in metric.conditions:
            self.role(part.name) if isinstance(part, Role) else self.attribute(part)
        if metric.expression is not None:
            self.expression(metric)
        if isinstance(metric.value, str):
            self.column(metric.value)
        elif metric.value.name == "outcome":
            self.role("outcome")
            if self.audit.outcome_may_be_real and self.audit.kind(str(self.audit.outcome)) == "float":
                self.role_value("outcome")  # whole numbers are keys as they are, and need no sums
        elif metric.value.binary:
            for need in metric.value.needs:
                self.role(need)
        else:
            self.role_value(metric.value.name)

    def _key(self, kind: str, name: str, build: Any) -> None:
        if (kind, name) not in self.meaning.values():
            alias = f"k{len(self.keys)}"
            self.keys[alias] = build()
            self.meaning[alias] = (kind, name)

    # -- asking ---------------------------------------------------------------------------------------------
    def grouped(self) -> Table:
        """One grouping query; faults of the data found in it are raised together."""
        named = {f"v{i}": value for i, value in enumerate(self.values.values())}
        frame = self._prepared(named)
        sums: list[nw.Expr] = [nw.len().alias("n")]
        for alias in named:
            column = nw.col(alias)
            sums += [
                column.count().alias(f"{alias}_count"),
                column.sum().alias(f"{alias}_sum"),
                nw.col(f"{alias}_other").sum().alias(f"{alias}_others"),
            ]
        answer = self._with_variances(frame, sums, list(named))
        table = Table(n=_ints(answer["n"]))
        for alias, name in zip(named, self.values, strict=True):
            count, variance = _ints(answer[f"{alias}_count"]), _floats(answer[f"{alias}_var"])
            table.count[name] = count
            table.total[name] = np.where(count > 0, _floats(answer[f"{alias}_sum"]), 0.0)
            table.m2[name] = np.where(count > 1, np.nan_to_num(variance) * (count - 1), 0.0)
            table.others[name] = int(_ints(answer[f"{alias}_others"]).sum())
        return self._read_keys(table, answer)

    def _with_variances(
        self, frame: nw.LazyFrame[Any], sums: list[nw.Expr], values: list[str]
    ) -> dict[str, Any]:
        def asked(aggregates: list[nw.Expr]) -> nw.LazyFrame[Any]:
            return frame.group_by(*self.keys).agg(*aggregates) if self.keys else frame.select(*aggregates)

        try:
            return collect(
                asked([*sums, *[nw.col(alias).var(ddof=1).alias(f"{alias}_var") for alias in values]])
            )
        except Exception as error:
            # Before 2.0 DuckDB refuses a variance beyond all numbers; the sums then show whose it is.
            if type(error).__name__ != "OutOfRangeException":
                raise
        beyond = [nw.lit(1e290).alias(f"{alias}_var") for alias in values]
        return collect(asked(sums).with_columns(*beyond))

    def plain(self) -> Table:
        """The rows themselves, in the defined order."""
        named = {f"v{i}": value for i, value in enumerate(self.values.values())}
        answer = collect(self._prepared(named, in_order=True).select(*self.keys, *named))
        length = len(next(iter(answer.values())))
        table = Table(n=np.ones(length, dtype=np.int64))
        for alias, name in zip(named, self.values, strict=True):
            values = _floats(answer[alias])
            present = ~np.isnan(values)
            table.count[name] = present.astype(np.int64)
            table.total[name] = np.where(present, values, 0.0)
            table.m2[name] = np.zeros(length)
            table.others[name] = int((present & (values != 0) & (values != 1)).sum())
        return self._read_keys(table, answer)

    def _prepared(self, named: dict[str, nw.Expr], *, in_order: bool = False) -> nw.LazyFrame[Any]:
        """Keys and values as columns of their own first: aggregating conditional expressions is unsafe."""
        frame = self.audit.lazy(self.columns, in_order=in_order)
        if any(kind == "expression" for kind, _ in self.meaning.values()):
            # NaN becomes null before a caller's condition sees it: engines disagree on how NaN compares
            known = sorted(self.columns & set(self.audit.source.columns))
            floats = [name for name in known if self.audit.kind(name) == "float"]
            if floats:
                frame = frame.with_columns(*[clean_number(name, "float").alias(name) for name in floats])
        columns = [expression.alias(alias) for alias, expression in {**self.keys, **named}.items()]
        frame = frame.select(*columns) if columns else frame
        other = [
            nw.when((nw.col(alias) == 0) | (nw.col(alias) == 1)).then(nw.lit(0)).otherwise(nw.lit(1))
            .cast(nw.Int64).alias(f"{alias}_other")
            for alias in named
        ]  # fmt: skip
        return frame.with_columns(*other) if other else frame

    # -- reading the answer ---------------------------------------------------------------------------------
    def _read_keys(self, table: Table, answer: dict[str, Any]) -> Table:
        faults = Faults(self.who)
        if table.n.sum() == 0:
            faults.add(self.audit.empty_text())
            faults.raise_any()
        for alias, (kind, name) in self.meaning.items():
            if kind == "label":
                table.labels[name] = _read_labels(answer[alias], name, table.n, self.audit, faults)
            elif kind == "unit":
                table.labels[f"unit {name}"] = _read_units(answer[alias], name, table.n, faults)
            elif kind == "expression":
                table.binary[f"given {name}"] = np.nan_to_num(_floats(answer[alias]))
            elif kind == "number":
                table.numbers[name] = _floats(answer[alias])
                self._missing(table.numbers[name], name, table.n, faults)
            else:
                table.binary[name] = self.audit.read_role(name, answer[alias], table.n, faults)
                if name == "outcome" and self.audit.kind(str(self.audit.outcome)) == "int":
                    table.numbers[name] = _floats(answer[alias])
        for name in self.values:
            self._check_values(table, name, faults)
        faults.raise_any()
        return table

    def _missing(self, numbers: Floats, name: str, n: Ints, faults: Faults) -> None:
        missing = int(n[np.isnan(numbers)].sum())
        if missing:
            faults.add(self.audit.missing_text(name, missing))
        if np.isinf(numbers).any():
            faults.add(
                f"{self.audit.column_text(name)} has {int(n[np.isinf(numbers)].sum())} infinite values"
            )

    def _check_values(self, table: Table, name: str, faults: Faults) -> None:
        if not np.isfinite(table.total[name]).all():
            if name == "log_loss":
                faults.add(
                    f"log loss needs scores from 0 to 1, but {self.audit.column_text('score')} has others"
                )
            else:
                faults.add(f"{self.audit.column_text(name)} has infinite values; remove or cap them")
        missing = int((table.n - table.count[name]).sum())
        if missing and not (name == "outcome" and "outcome" in table.binary):
            faults.add(self.audit.missing_text(name, missing))


def evaluate(audit: Audit, who: str, metric: Metric, table: Table) -> tuple[Ints, Floats, Floats, bool]:
    """count, total, m2 of the metric per line of the table, and whether its value is binary."""
    given = _given(metric, table)
    value = metric.value
    outcome_real = "outcome" in metric.needs and audit.outcome_is_real
    if outcome_real and metric.conditions_on_outcome:
        raise NotApplicable(
            who,
            f"{metric.name!r} conditions on the outcome, but {audit.column_text('outcome')} is real-valued. Metrics "
            "that only average it: base_rate, ppv, for. Or say which label counts: positive=",
        )
    if isinstance(value, Role) and (value.binary or (value.name == "outcome" and not outcome_real)):
        outcome_of_line = _binary_value(value.name, table)
        count = np.where(given, table.n, 0)
        return count, np.where(given, table.n * outcome_of_line, 0.0), np.zeros(len(count)), True
    name = f"column {value}" if isinstance(value, str) else value.name
    if name == "outcome" and name in table.numbers:
        total = np.where(given, table.n * np.nan_to_num(table.numbers[name]), 0.0)
        return np.where(given, table.n, 0), total, np.zeros(len(given)), False
    binary = isinstance(value, str) and table.others[name] == 0
    count = np.where(given, table.count[name], 0)
    total, m2 = np.where(given, table.total[name], 0.0), np.where(given, table.m2[name], 0.0)
    return count, total, m2, binary


def _given(metric: Metric, table: Table) -> Bools:
    given = np.ones(len(table.n), dtype=bool)
    for part, values in metric.conditions.items():
        name = part.name if isinstance(part, Role) else part
        if name in ("decision", "outcome") and isinstance(part, Role):
            given &= np.isin(table.binary[name], [float(value) for value in values])
        elif isinstance(part, Role) and part.name == "score":
            given &= np.isin(table.numbers["score"], [float(value) for value in values])
        else:
            coded = table.labels[SCORE_BIN if isinstance(part, Role) else name]
            wanted = [
                i for i, label in enumerate(coded.labels) if label in {canonical(value) for value in values}
            ]
            given &= np.isin(coded.codes, wanted)
    if metric.expression is not None:
        given &= table.binary[f"given {metric.name}"] == 1
    return given


def _binary_value(name: str, table: Table) -> Floats:
    decision, outcome = table.binary.get("decision"), table.binary.get("outcome")
    if name == "decision" and decision is not None:
        return decision
    if name == "outcome" and outcome is not None:
        return outcome
    if name == "not_decision" and decision is not None:
        return 1.0 - decision
    if name == "not_outcome" and outcome is not None:
        return 1.0 - outcome
    assert decision is not None
    assert outcome is not None
    same: Floats = (decision == outcome).astype(np.float64)
    return same if name == "correct" else 1.0 - same


def _read_labels(column: Any, name: str, n: Ints, audit: Audit, faults: Faults) -> Coded:
    """Raw labels as canonical text, sorted; missing and colliding labels are faults."""
    encoded = column.dictionary_encode()
    raw = encoded.dictionary.to_pylist()
    positions = np.asarray(encoded.indices.fill_null(len(raw)), dtype=np.int64)
    texts = [canonical(value) for value in raw] + [MISSING]
    _check_collisions(name, raw, texts, audit, faults)
    used = sorted({texts[i] for i in np.unique(positions)})
    code_of = {label: i for i, label in enumerate(used)}
    lookup = np.array([code_of.get(text, -1) for text in texts], dtype=np.int32)
    codes = lookup[positions]
    missing = int(n[codes == code_of[MISSING]].sum()) if MISSING in code_of else 0
    if missing and (audit.missing != "category" or name == SCORE_BIN):
        faults.add(audit.missing_text("score" if name == SCORE_BIN else f"column {name}", missing))
    if len(used) > MAX_LEVELS:
        cure = f"cut it with bins={{{name!r}: 4}} (quarters) or edges of your own"
        if audit.kind(name) not in ("int", "float"):
            cure = "join them into fewer; a column of names, dates or identifiers is no group"
        faults.add(f"{name!r} has {len(used):,} levels, more than {MAX_LEVELS:,}: {cure}")
    return Coded(codes, tuple(used))


def _read_units(column: Any, name: str, n: Ints, faults: Faults) -> Coded:
    """Persons as integers; their names are not kept."""
    encoded = column.dictionary_encode()
    codes = np.asarray(encoded.indices.fill_null(-1), dtype=np.int32)
    nobody = [i for i, person in enumerate(encoded.dictionary.to_pylist()) if is_missing(person)]
    missing = int(np.isin(codes, [-1, *nobody]).sum())
    if missing:
        faults.add(f"{name!r} (unit) is missing in {missing:,} rows: every row needs its person")
    return Coded(codes, ())


def _check_collisions(name: str, raw: list[Any], texts: list[str], audit: Audit, faults: Faults) -> None:
    seen: dict[str, Any] = {}
    for value, text in sorted(zip(raw, texts, strict=False), key=lambda pair: str(pair[0])):
        if is_missing(value):
            continue
        if text == MISSING:
            faults.add(f"{name!r} has the label {MISSING!r}, which stands for missing values here; rename it")
        elif value in (INFINITE, float("inf"), float("-inf")):
            faults.add(f"{name!r} has infinite values; remove or cap them")
        elif text in seen and seen[text] != value:  # 0.0 and -0.0 are equal
            faults.add(
                f"{name!r} has the labels {seen[text]!r} and {value!r}, which are one label here; make them one"
            )
        seen[text] = value


def _ints(column: Any) -> Ints:
    values: NDArray[Any] = np.asarray(column.fill_null(0).to_numpy(zero_copy_only=False))
    return values.astype(np.int64)


def _floats(column: Any) -> Floats:
    import pyarrow as pa

    return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)

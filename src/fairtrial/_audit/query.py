"""One query for many metrics: discrete columns become keys, real ones become sums; faults are counted in it.

The same keys and values serve two queries: grouped (cells) and plain (rows). Nothing else touches the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from fairtrial._audit.cells import MetricMoments
from fairtrial._audit.columns import Columns
from fairtrial._audit.engine import collect, read_floats, read_hashes, read_ints
from fairtrial._audit.expressions import (
    POWER_SUMS,
    clean_number,
    find_centres,
    power_sums,
    read_moments,
    with_cubes,
)
from fairtrial._audit.reading import (
    SCORE_BIN,
    QueryAnswer,
    read_labels,
    read_numbers,
    read_persons,
    read_role,
    size_faults,
)
from fairtrial._audit.role_expressions import (
    column_number,
    find_scale,
    power_aggregates,
    read_powers,
    role_key,
    role_number,
    role_value,
    weight_columns,
    with_powers,
)
from fairtrial._audit.source import with_hash
from fairtrial._errors import Fault, Faults, Set, Use, Words, column_fault
from fairtrial._metrics.values import ROLES, Metric, Role
from fairtrial._work.memory import check_memory

HASH = "hash of values"
# Of rows that are read: the answer of the query, and the arrays made of it.
BYTES_PER_ROW, BYTES_PER_KEY, BYTES_PER_VALUE = 16, 28, 64


class Query:
    """Collects what metrics, attributes and roles need, runs once, and reads the answer."""

    def __init__(self, data: Columns, who: str, *, complete: bool = False) -> None:
        self.data = data
        self.who = who
        # Rows are left out where an attribute, role or column asked for is missing; what only a metric needs leaves
        # its row out of that metric alone. Complete rows lack nothing that the audit names.
        self.partial = data.missing == "drop" and not complete
        self.required: set[str] = set(data.roles.needed) if complete else set()
        self.keys: dict[str, nw.Expr] = {}
        self.values: dict[str, nw.Expr] = {}
        self.parts: dict[str, Role] = {}  # the roles among the values
        self.meaning: dict[str, tuple[str, str]] = {}  # key alias -> (kind, name)
        self.columns: set[str] = set()
        self.weighed = False  # whether sums of the rows' weights are asked for

    # -- what to ask for ------------------------------------------------------------------------------------
    def ask(
        self,
        attributes: Sequence[str],
        metrics: Sequence[Metric],
        roles: Sequence[str],
        *,
        real: bool = False,
        unknown: bool = False,
    ) -> None:
        """All of it; a `real` outcome is read as a number, and `unknown` roles do not leave their row out."""
        for name in attributes:
            self.attribute(name)
            self._require(name)
        for name in roles:
            if not unknown:
                self._require(*self.data.roles.role_columns(name))
            self.role_value(ROLES[name]) if real and name == "outcome" else self.role(name)
        for metric in metrics:
            self.metric(metric)

    def attribute(self, name: str) -> None:
        column = self.data.label_column(name)
        self.columns.add(column)
        self._key(
            "label", name, lambda: nw.col(column) if column != name else self.data.attribute_expression(name)
        )

    def person(self, role: str) -> None:
        """Who a row is about: the column of 'unit' or of 'pair'."""
        column = str(getattr(self.data, role))
        self.data.kind(column)  # refuses what names nobody
        self.columns.add(column)
        self._require(column)
        self._key(role, column, lambda: nw.col(column))

    def role(self, name: str) -> None:
        self.columns.update(self.data.roles.role_columns(name))
        if name in ("decision", "outcome"):
            self._key("role", name, lambda: role_key(self.data, name))
        elif name == "score":
            self._key("number", "score", lambda: role_number(self.data, "score"))
        elif name == "score_bin":
            self._key("label", SCORE_BIN, lambda: self.data.binned(str(self.data.score), default=10))

    def column(self, name: str) -> None:
        self.columns.add(name)
        self.values.setdefault(f"column {name}", column_number(self.data, self.who, name))

    def role_value(self, part: Role) -> None:
        """A role, or what is derived from roles, as a real number."""
        for need in part.needs:
            self.columns.update(self.data.roles.role_columns(need))
        if part.name not in self.values:
            self.values[part.name] = role_value(self.data, part)
            self.parts[part.name] = part

    def metric(self, metric: Metric) -> None:
        """Ask for all that the metric reads."""
        for part in metric.conditions:
            self.role(part.name) if isinstance(part, Role) else self.attribute(part)
        if metric.expression is not None:
            self.columns.update(self.data.source.columns)
            self._key("expression", metric.name, lambda: metric.expression.cast(nw.Int64))
        if isinstance(metric.value, str):
            self.column(metric.value)
        elif metric.value.name == "outcome":
            self.role("outcome")
            if self.data.outcome_may_be_real and self.data.kind(str(self.data.outcome)) == "float":
                self.role_value(metric.value)  # whole numbers are keys as they are, and need no sums
        elif metric.value.binary:
            for need in metric.value.needs:
                self.role(need)
        else:
            self.role_value(metric.value)

    def _require(self, *columns: str) -> None:
        if self.partial:
            self.required.update(set(columns) - self.data.roles.may_lack)

    def number_column(self, name: str) -> None:
        """A column of numbers that every row must have."""
        self._require(name)
        self.column(name)

    def number_key(self, name: str) -> None:
        """A column of numbers whose different values are told apart."""
        self._require(name)
        self.columns.add(name)
        self._key("column", name, lambda: column_number(self.data, self.who, name))

    def weights(self) -> None:
        """Sums of powers of the rows' weights; a row that lacks its weight stays, and is in none of them."""
        self.columns.add(str(self.data.weight))
        self.weighed = True

    def _key(self, kind: str, name: str, build: Any) -> None:
        if (kind, name) not in self.meaning.values():
            alias = f"k{len(self.keys)}"
            self.keys[alias] = build()
            self.meaning[alias] = (kind, name)

    # -- asking ---------------------------------------------------------------------------------------------
    def grouped(self) -> QueryAnswer:
        """One grouping query; faults of the data found in it are raised together.

        Rows that count several people are counted as such; where real values are summed, each person has a row.
        """
        each = bool(self.values) or self.weighed
        named = {f"v{i}": value for i, value in enumerate(self.values.values())}
        scale, more = None, {}
        if self.weighed:
            column_number(self.data, self.who, str(self.data.weight))  # refuses what is no number
            scale = find_scale(self.data)
            more = weight_columns(self.data, *scale)
        frame = self._prepared(named, more, each=each)
        frame = frame if scale is None else with_powers(frame)
        centres = find_centres(frame, list(named))
        # Of very many rows the values are hashed on the way: reading them once more would take as long again.
        hashed = with_hash(frame, list(named), HASH) if named and self.data.very_many else None
        frame = with_cubes(frame if hashed is None else hashed, centres)
        people = nw.len() if each else self.data.source.number_of_rows
        answer = self._answered(frame, list(named), people.alias("n"), hashed is not None)
        table = QueryAnswer(n=read_ints(answer["n"]))
        if hashed is not None:
            table.hashes = read_hashes(answer[HASH])
        if scale is not None:
            table.weights = read_powers(answer, *scale)
        for alias, name in zip(named, self.values, strict=True):
            table.values[name] = read_moments(alias, answer)
            table.others[name] = int(read_ints(answer[f"{alias}_others"]).sum())
        return self._read_keys(table, answer)

    def _answered(
        self, frame: nw.LazyFrame[Any], values: list[str], rows: nw.Expr, hashed: bool
    ) -> dict[str, Any]:
        def asked(aggregates: list[nw.Expr]) -> nw.LazyFrame[Any]:
            return frame.group_by(*self.keys).agg(*aggregates) if self.keys else frame.select(*aggregates)

        sums, moments = [rows, *(power_aggregates() if self.weighed else [])], []
        for alias in values:
            column = nw.col(alias)
            sums += [
                column.count().alias(f"{alias}_count"),
                column.sum().alias(f"{alias}_sum"),
                column.min().alias(f"{alias}_min"),
                column.max().alias(f"{alias}_max"),
                nw.col(f"{alias}_other").sum().alias(f"{alias}_others"),
            ]
            moments += power_sums(alias)
        sums += [nw.col(HASH).sum().alias(HASH)] if hashed else []
        try:
            return collect(asked([*sums, *moments]))
        except Exception as error:
            # Before 2.0 DuckDB refuses a variance beyond all numbers; the sums then show whose it is.
            if type(error).__name__ != "OutOfRangeException":
                raise
        beyond = [nw.lit(1e290).alias(f"{alias}_{name}") for alias in values for name in POWER_SUMS]
        return collect(asked(sums).with_columns(*beyond))

    def plain(self) -> QueryAnswer:
        """The rows themselves, in the defined order."""
        rows, kept = self.data.count_rows(), self.data.count_read()
        needed = kept * (BYTES_PER_ROW + BYTES_PER_KEY * len(self.keys) + BYTES_PER_VALUE * len(self.values))
        needed += (rows - kept) * BYTES_PER_ROW * (len(self.keys) + len(self.values))
        check_memory(self.who, needed, f"{rows:,} rows")
        named = {f"v{i}": value for i, value in enumerate(self.values.values())}
        frame = self._prepared(named, in_order=True, each=True)
        answer = self.data.drawn(collect(frame.select(*self.keys, *named)))
        length = len(next(iter(answer.values())))
        table = QueryAnswer(n=np.ones(length, dtype=np.int64))
        for alias, name in zip(named, self.values, strict=True):
            values = read_floats(answer[alias])
            present = ~np.isnan(values)
            table.values[name] = MetricMoments.constant(
                present.astype(np.int64), np.where(present, values, 0.0)
            )
            table.others[name] = int((present & (values != 0) & (values != 1)).sum())
        return self._read_keys(table, answer)

    def _prepared(
        self, named: dict[str, nw.Expr], more: Mapping[str, nw.Expr] | None = None, *,
        in_order: bool = False, each: bool = False,
    ) -> nw.LazyFrame[Any]:  # fmt: skip
        """Keys and values as columns of their own first: aggregating conditional expressions is unsafe."""
        frame = self.data.lazy(self.columns, complete=self.required, in_order=in_order, each=each)
        floats = self._floats_of_conditions()
        if floats:
            frame = frame.with_columns(*[clean_number(name, "float").alias(name) for name in floats])
        columns = [
            expression.alias(alias) for alias, expression in {**self.keys, **named, **(more or {})}.items()
        ]
        count = [] if each else self.data.source.with_count([])
        frame = frame.select(*count, *columns) if columns else frame
        other = [
            nw.when((nw.col(alias) == 0) | (nw.col(alias) == 1)).then(nw.lit(0)).otherwise(nw.lit(1))
            .cast(nw.Int64).alias(f"{alias}_other")
            for alias in named
        ]  # fmt: skip
        return frame.with_columns(*other) if other else frame

    def _floats_of_conditions(self) -> list[str]:
        """NaN becomes null before a caller's condition sees it: engines disagree on how NaN compares."""
        if not any(kind == "expression" for kind, _ in self.meaning.values()):
            return []
        known = sorted(self.columns & set(self.data.source.columns))
        return [name for name in known if self.data.kind(name) == "float"]

    # -- reading the answer ---------------------------------------------------------------------------------
    def _read_keys(self, table: QueryAnswer, answer: dict[str, Any]) -> QueryAnswer:
        faults = Faults(self.who)
        if table.n.sum() == 0:
            faults.add(self.data.empty_fault())
            faults.raise_any()
        for alias, (kind, name) in self.meaning.items():
            self._read_key(table, kind, name, answer[alias], faults)
        for name in self.values:
            self._check_values(table, name, faults)
        faults.raise_any()
        return table

    def _partial(self, *columns: str) -> bool:
        """Whether a line without what these columns hold is no fault."""
        return self.partial or set(columns) <= self.data.roles.may_lack

    def _read_key(self, table: QueryAnswer, kind: str, name: str, column: Any, faults: Faults) -> None:
        if kind == "label":
            table.labels[name] = read_labels(self.data, name, column, table.n, faults, self._partial(name))
        elif kind in ("unit", "pair"):
            table.labels[f"{kind} {name}"] = read_persons(kind, name, column, faults)
        elif kind == "expression":
            table.binary[f"given {name}"] = np.nan_to_num(read_floats(column))
        elif kind == "column":
            numbers = read_numbers(self.data, name, column, table.n, faults, self._partial(name))
            table.numbers[f"column {name}"] = numbers
        elif kind == "number":
            partial = self._partial(*self.data.roles.role_columns(name))
            table.numbers[name] = read_numbers(self.data, name, column, table.n, faults, partial)
        else:
            partial = self._partial(*self.data.roles.role_columns(name))
            partial |= name == "outcome" and self.data.unlabelled is not None
            table.binary[name] = read_role(self.data, name, column, table.n, faults, partial)
            if name == "outcome" and self.data.kind(str(self.data.outcome)) == "int":
                table.numbers[name] = read_floats(column)

    def _columns_of(self, name: str) -> list[str]:
        """The columns that a value is read from."""
        part = self.parts.get(name)
        roles = () if part is None else part.needs
        return [column for need in roles for column in self.data.roles.role_columns(need)] or [
            name.removeprefix("column ")
        ]

    def _check_values(self, table: QueryAnswer, name: str, faults: Faults) -> None:
        part = self.parts.get(name)
        needs = (name,) if part is None else part.needs
        if part is not None and part.wants:
            if not np.isfinite(table.values[name].total).all():
                required = f"needs {part.wants}, but {self.data.roles.subject('score')} has others"
                faults.add(Fault("score", required, subject=name.replace("_", " ")))
        else:
            made = part is not None and needs != (name,)
            for fault in size_faults(self.data, needs, table.values[name], made):
                faults.add(fault)
        missing = int((table.n - table.values[name].count).sum())
        if (
            missing
            and not self._partial(*self._columns_of(name))
            and not (name == "outcome" and "outcome" in table.binary)
        ):
            faults.add(self.data.roles.missing_fault(missing, *needs))


def check_asked(
    who: str, audit: Columns, by: Sequence[str], metrics: Sequence[Metric], roles: Sequence[str]
) -> None:
    """All that is asked for and not there, in one message, before any query."""
    faults, known = Faults(who), audit.source.columns
    found = [column_fault("by", name, known) for name in by]
    for metric in metrics:
        found += [
            *_metric_faults(audit, metric),
            *[column_fault("metric", name, known) for name in metric.columns],
        ]
    for name in roles:
        if not audit.has("score" if name == "score_bin" else name):
            cure = Words("name its column with {}", Set(name, of="Audit"))
            found.append(Fault(name, "is needed", subject=f"the {name}", cure=cure))
    for fault in found:
        if fault is not None:
            faults.add(fault)
    faults.raise_any()


def _metric_faults(audit: Columns, metric: Metric) -> Iterator[Fault]:
    subject = repr(metric.name)
    if metric.each is not None:
        cure = Words(
            "{} takes it; elsewhere make a metric that is given one bin of the score", Use("measure")
        )
        yield Fault("metric", "compares the outcome in each score bin", subject=subject, cure=cure)
    for need in sorted(metric.needs):
        if not audit.has(need):
            cure = Words("name its column with {}", Set(need, of="Audit"))
            if need == "decision" and audit.score:
                cure = Words(f"{cure.text}, or cut the score with {{}}", *cure.parts, Set("threshold"))
            yield Fault(need, f"needs the {need}", subject=subject, cure=cure)

"""The columns of a source under their roles: how each is read, as expressions, and what its values have against it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

import narwhals as nw
import numpy as np

from fairtrial._audit.cells import Coded, Ints
from fairtrial._audit.engine import Fingerprint, collect
from fairtrial._audit.expressions import bin_expression, bin_labels, clean_number, present
from fairtrial._audit.frames import Frame
from fairtrial._audit.roles import Roles
from fairtrial._audit.schema import UnknownOutcomes
from fairtrial._audit.source import Kind, Source
from fairtrial._audit.totals import check_counts, with_people
from fairtrial._errors import Fault, InputError, NotApplicable, Use, Words, column_fault
from fairtrial._labels import MISSING, canonical, is_missing, is_number

MOST_ROWS = 1_000_000  # whose real values are compared row by row, and that models are fitted to


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Columns:
    """A source and the roles of its columns, frozen; what the roles say can be asked of it as well.

    What is found in the data is kept by the source, under all that it depends on.
    """

    source: Source
    roles: Roles
    outcome: str | None
    decision: str | None
    score: str | None
    weight: str | None
    unit: str | None
    pair: str | None
    count: str | None
    total: str | None
    threshold: float | None
    groups: tuple[str, ...]
    features: tuple[str, ...]
    positive: dict[str, Any]
    bins: dict[str, Any]
    missing: str
    unlabelled: UnknownOutcomes | None
    define: dict[str, Any]
    probable: dict[str, dict[str, str]]
    order: tuple[str, ...] | None
    levels_read: dict[str, tuple[str, ...]]  # the labels that the last query found

    def _hold(self, source: Source, roles: Roles) -> None:
        """The one place where it is filled: a frozen object has no other."""
        said = {part.name: getattr(roles, part.name) for part in fields(roles)}
        vars(self).update(said, source=source, roles=roles, levels_read={})

    def has(self, name: str) -> bool:
        """Whether the audit has a role; a score with a threshold gives a decision."""
        return self.roles.has(name)

    @property
    def frame(self) -> Frame:
        """The kind of dataframe that the data came in."""
        return self.source.frame

    # -- rows and values ------------------------------------------------------------------------------------
    def kind(self, column: str) -> Kind:
        """What a column holds: 'bool', 'int', 'float', 'text' or 'other'."""
        found: Kind | None = self.source.found.get(("kind", column))
        if found is None:
            declared = self.roles.declared  # together: a CSV file is then read once
            kinds = self.source.kinds(declared if column in declared else [column])
            self.source.found.update({("kind", name): kind for name, kind in kinds.items()})
            found = kinds[column]
        if found == "unfit":
            required = "holds values that are neither numbers, texts nor dates"
            cure = "make a column of numbers or labels from it"
            raise InputError("Audit", Fault("data", required, subject=repr(column), cure=cure))
        return found

    def lazy(
        self,
        columns: Iterable[str],
        *,
        complete: Iterable[str] = (),
        in_order: bool = False,
        each: bool = False,
    ) -> nw.LazyFrame[Any]:
        """The data, in the order of rows() where asked for; where rows are dropped, those complete in some columns.

        Rows that count several people come with their count, or, where asked for, once for `each` person.
        """
        self._check_counts()
        counted = self.source.counted
        wanted = (set(columns) or {self.source.any_column}) - {counted}
        sort = in_order and not self.source.ordered
        if sort:  # by every column: only rows alike in all of them can change places
            wanted = set(self.source.columns) - {counted}
        kept = sorted(complete) if self.missing == "drop" else []
        frame = self.source.lazy(self.source.with_count(sorted(wanted | set(kept))))
        frame = frame if counted is None else with_people(frame, counted, each=each)
        if kept:
            frame = frame.filter(*[present(name, self.kind(name)) for name in kept])
        return frame.sort(*sorted(wanted)) if sort else frame

    def _check_counts(self) -> None:
        if self.source.counted is not None:
            check_counts(self.source, "count" if self.total is None else "total")

    def fingerprint(self, columns: Iterable[str], *, declared: bool = True) -> Fingerprint:
        """The fingerprint of some columns, with those that are declared unless said otherwise."""
        wanted = {*columns, *(self.roles.declared if declared else ())}
        self._check_counts()
        return self.source.fingerprint(wanted, many=self.very_many)

    @property
    def by_sums(self) -> bool:
        """Whether real values are compared by their sums and not row by row: decided once, for every question."""
        return self.source.on_cluster or self.very_many

    @property
    def very_many(self) -> bool:
        """Whether there are more rows than are read one by one."""
        return self.count_rows() > MOST_ROWS

    @property
    def why_sums(self) -> str:
        """Why real values are compared by their sums."""
        return "The rows stay in Spark" if self.source.on_cluster else f"More than {MOST_ROWS:,} rows"

    def check_fetchable(self, who: str) -> None:
        """Rows of a cluster are fetched only where they are few: a sample is the caller's to draw and to name."""
        if self.source.on_cluster and self.very_many:
            required = f"stays in Spark, and what is asked of {{}} needs its {self.count_rows():,} rows"
            cure = f"Give a sample of at most {MOST_ROWS:,} rows, drawn with a seed: sample(fraction, seed)"
            raise NotApplicable(who, Fault("data", Words(required, Use(who)), cure=cure))

    def drawn(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Rows that were read, or a sample of them, always the same for one seed, where the audit is `sampled`."""
        length = len(next(iter(answer.values())))
        if self.roles.drawn_by is None or length <= MOST_ROWS:
            return answer
        places = np.random.default_rng([self.roles.drawn_by, length]).choice(length, MOST_ROWS, replace=False)
        return {name: column.take(np.sort(places)) for name, column in answer.items()}

    def drawn_counts(self, counts: Ints) -> Ints:
        """How many rows of each line are read: all, or those of a sample, always the same for one seed."""
        total = int(counts.sum())
        if self.roles.drawn_by is None or total <= MOST_ROWS:
            return counts
        random = np.random.default_rng([self.roles.drawn_by, total])
        return np.asarray(random.multivariate_hypergeometric(counts, MOST_ROWS, method="marginals"))

    def count_read(self) -> int:
        """How many rows are read at most: those of the sample where one is drawn."""
        return self.count_rows() if self.roles.drawn_by is None else min(self.count_rows(), MOST_ROWS)

    def count_rows(self) -> int:
        """All rows of the source, or the people that they count."""
        self._check_counts()
        return self.source.count_rows()

    def lacks(self, column: str) -> bool:
        """Whether a column has missing values."""
        return bool(self.source.once(("lacks", column), lambda: self.count_missing([column])[column] > 0))

    def count_missing(self, columns: Sequence[str]) -> dict[str, int]:
        """How many rows, or people, lack a value of each column, in one pass."""
        people = nw.lit(1) if self.source.counted is None else nw.col(self.source.counted)
        flags = [
            nw.when(present(name, self.kind(name))).then(nw.lit(0)).otherwise(people).cast(nw.Int64)
            for name in columns
        ]
        named = [flag.alias(f"m{i}") for i, flag in enumerate(flags)]
        sums = [nw.col(f"m{i}").sum() for i in range(len(columns))]
        counts = collect(self.lazy(columns).select(*named).select(*sums))
        return {name: int(counts[f"m{i}"][0].as_py() or 0) for i, name in enumerate(columns)}

    def count_dropped(self) -> tuple[int, int]:
        """Rows left out for a missing value, and all rows; zeros where none are left out."""
        if self.missing != "drop":
            return 0, 0
        needed = self.roles.needed or [self.source.any_column]
        return cast(
            "tuple[int, int]", self.source.once(("dropped", *needed), lambda: self._count_dropped(needed))
        )

    def _count_dropped(self, needed: Sequence[str]) -> tuple[int, int]:
        source, flag = self.source, nw.lit(1).cast(nw.Int64)
        for name in needed:
            flag = nw.when(present(name, self.kind(name))).then(flag).otherwise(nw.lit(0).cast(nw.Int64))
        if source.counted is not None:
            flag = flag * nw.col(source.counted)
        frame = source.lazy(source.with_count(needed)).select(*source.with_count([]), kept=flag)
        counts = collect(frame.select(source.number_of_rows.alias("n"), nw.col("kept").sum().alias("kept")))
        total, kept = int(counts["n"][0].as_py()), int(counts["kept"][0].as_py() or 0)
        return total - kept, total

    def labels_of(self, labels: Mapping[str, Coded], attributes: Sequence[str]) -> dict[str, Coded]:
        """The labels of a query's lines, remembered as the attributes' levels."""
        found = {name: labels[name] for name in attributes}
        self.levels_read.update({name: coded.labels for name, coded in found.items()})
        return found

    # -- what the values turned out to be -------------------------------------------------------------------
    def _outcome_key(self) -> tuple[Any, ...]:
        return "real outcome", self.outcome, repr(self.positive.get("outcome"))

    @property
    def decision_key(self) -> tuple[Any, ...]:
        """All that a decision depends on, for what is kept of it."""
        return self.decision, self.score, self.threshold, repr(self.positive.get("decision"))

    @property
    def found_real_outcome(self) -> bool | None:
        """Whether the outcome holds numbers other than 0 and 1; None before it was read."""
        return cast("bool | None", self.source.found.get(self._outcome_key()))

    def note_outcome(self, real: bool) -> None:
        """Remember what the outcome turned out to be."""
        self.source.found[self._outcome_key()] = real

    def note_constant(self, value: int) -> None:
        """Remember that the decision was read and is the same for everybody."""
        self.source.found["constant decision", *self.decision_key] = value

    def note_alike(self, name: str, labels: Sequence[str]) -> None:
        """Remember labels that differ only by case or blanks: most likely they mean the same."""
        folded: dict[str, list[str]] = {}
        for label in labels:
            folded.setdefault(" ".join(label.split()).lower(), []).append(label)
        self.source.alike[name] = [label for same in folded.values() if len(same) > 1 for label in same]

    @property
    def outcome_may_be_real(self) -> bool:
        """A numeric outcome without a positive label may turn out to be real-valued."""
        if self.outcome is None or "outcome" in self.positive or self.found_real_outcome is False:
            return False
        return self.kind(self.outcome) in ("int", "float")

    @property
    def favourable(self) -> int | None:
        """The decision that is good for a person, 0 or 1; None where nobody said which."""
        if self.roles.favourable_label is None:
            made = self.decision is None and self.threshold is not None and self.roles.score_favours
            return int(self.roles.score_favours == "high") if made else None
        label = canonical(self.roles.favourable_label)
        if self.order is not None:
            return self._favourable_end(label)
        if label in self.roles.counted("decision"):
            return 1
        number = {"true": "1", "false": "0", **self._ends_of_numbers()}.get(label, label)
        return int(number) if number in ("0", "1") else self._favourable_label(number)

    def _ends_of_numbers(self) -> dict[str, str]:
        """Of a decision that is a number more of it is good for a person, or less."""
        numeric = self.decision is not None and self.kind(self.decision) in ("int", "float")
        return {"high": "1", "low": "0"} if numeric and "decision" not in self.positive else {}

    def _favourable_end(self, label: str) -> int:
        """Of decisions with an order one end is good for a person."""
        assert self.order is not None
        ends = {self.order[0]: 0, self.order[-1]: 1}
        if label not in ends:
            required = f"must be an end of the order: {self.order[0]!r} or {self.order[-1]!r}"
            raise InputError("Audit", Fault("favourable", required, got=self.roles.favourable_label))
        return ends[label]

    def decision_labels(self) -> list[str]:
        """The labels that the decision takes."""
        column = self.source.label_column(str(self.decision), self.kind(str(self.decision)))
        raw = collect(self.lazy([column]).select(nw.col(column).alias("x")).unique())["x"].to_pylist()
        return sorted({canonical(value) for value in raw} - {MISSING})

    def _favourable_label(self, label: str) -> int:
        """A label that is not the positive one is decision 0, if it occurs."""
        named = self.decision is not None and "decision" in self.positive
        labels = self.decision_labels() if named else []
        if label not in labels:
            listed = f" or one of its labels {', '.join(map(repr, labels))}" if labels else ""
            required = f"must be a decision that is good for a person: 1 or 0{listed}"
            raise InputError("Audit", Fault("favourable", required, got=self.roles.favourable_label))
        return 0

    def decision_cuts(self) -> list[tuple[str, list[str]]]:
        """Cuts of an ordered decision between any two of its labels: 'refer or above', and the labels from there on.

        From the lowest cut to the highest; cuts that part the same people are one. None without an `order`.
        """
        if self.order is None:
            return []
        told = self.decision_labels()
        strange = [label for label in told if label not in self.order]
        if strange:
            listed = ", ".join(map(repr, strange[:6]))
            required = f"lacks labels of {self.roles.subject('decision')}: {listed}"
            raise InputError("Audit", Fault("order", required, cure="Give every label its place"))
        present = [label for label in self.order if label in told]
        last = len(present) - 1
        return [
            (f"{present[min(place, last)]}{' or above' if place < last else ''}", present[place:] or present)
            for place in range(1, max(len(present), 2))
        ]

    # -- expressions that queries are built from ------------------------------------------------------------
    def label_column(self, name: str) -> str:
        """The column that an attribute's labels are read from."""
        return name if name in self.bins else self.source.label_column(name, self.kind(name))

    def attribute_expression(self, name: str) -> nw.Expr:
        """A column as labels: its bins where it is cut."""
        if name not in self.bins:
            return nw.col(name)
        if self.kind(name) not in ("bool", "int", "float"):
            raise InputError("Audit", self.not_numbers(name, "bins"))
        return self.binned(name)

    def binned(self, name: str, default: int | None = None) -> nw.Expr:
        """A column of numbers as the labels of its bins."""
        edges, kind = self.bin_edges(name, default), self.kind(name)
        return bin_expression(clean_number(name, kind), edges, bin_labels(edges, kind))

    def score_bins(self) -> list[str]:
        """The labels of the score's bins, from low to high: tenths, unless the score is cut; none without a score."""
        if self.score is None:
            return []
        return bin_labels(self.bin_edges(self.score, default=10), self.kind(self.score))

    def bin_edges(self, name: str, default: int | None = None) -> list[float]:
        """Where a column is cut, from low to high."""
        cut: Any = self.bins.get(name, self.bins.get("score", default) if name == self.score else default)
        if not isinstance(cut, int | np.integer):
            return [float(edge) for edge in cut]
        found: list[float] = self.source.once(("edges", name, cut), lambda: self._quantiles(name, int(cut)))
        return found

    def _quantiles(self, name: str, parts: int) -> list[float]:
        number = clean_number(name, self.kind(name)).alias("x")
        ask = nw.col("x").quantile
        quantiles = [ask(i / parts, interpolation="linear").alias(f"q{i}") for i in range(1, parts)]
        numbers = self.lazy([name], each=True).select(number).filter(~nw.col("x").is_null())
        answer = collect(numbers.select(*quantiles))
        found = [column[0].as_py() for column in answer.values()]
        edges = sorted({float(edge) + 0.0 for edge in found if edge is not None})  # −0 is 0
        if not edges:
            cure = "take it out of the bins, or fill it"
            fault = Fault("bins", "has no values to cut into bins", subject=repr(name), cure=cure)
            raise InputError("Audit", fault)
        return edges

    def in_order(self, name: str, labels: set[str]) -> list[str]:
        """Labels as they follow one another: bins and numbers by size, ordered categories as declared, else by text.

        What is missing comes first.
        """
        known: Sequence[str] = self.source.orders.get(name, ())
        if name in self.bins:
            known = bin_labels(self.bin_edges(name), self.kind(name))
        place = {label: index for index, label in enumerate(known)}

        def key(label: str) -> tuple[bool, float, str]:
            number = float(label) if not known and is_number(label) else 0.0
            return label != MISSING, place.get(label, number), label

        numbers = all(is_number(label) for label in labels - {MISSING})
        return sorted(labels, key=key) if known or numbers else sorted(labels)

    # -- facts and faults -----------------------------------------------------------------------------------
    def empty_fault(self) -> Fault:
        """There is no row to audit."""
        if self.missing == "drop" and self.count_dropped()[1]:
            required = "are left: every row has a missing value in one of the columns used"
            cure = "Fill in the column that is missing most, or leave it out of the audit"
            return Fault("data", required, subject="no rows", cure=cure)
        return Fault("data", "has no rows", cure="look whether a filter or an export left any")

    def not_numbers(self, column: str, use: str) -> Fault:
        """A column of texts where numbers are needed."""
        frame = self.lazy([column]).select(nw.col(column).alias("x")).unique().head(1000)
        raw = collect(frame)["x"].to_pylist()
        present = sorted(str(value) for value in raw if not is_missing(value))
        strange = [value for value in present if not is_number(value)]
        argument = "metric" if use == "value" else use
        required, subject = "must hold numbers", f"{column!r} ({use})"
        if told := self.source.stays_text(column):
            cure = "correct them, or leave those cells empty and say what to do with missing values"
            return Fault(argument, f"{required}; {told}", subject=subject, cure=cure)
        if not strange and present:  # numbers are text where one of them has too many digits for a float
            strange, required = [max(present, key=len)], "must hold numbers of at most 15 digits"
        required += f", got {', '.join(map(repr, strange[:3])) or 'no values'}"
        return Fault(argument, required, subject=subject)

    def check_column(self, who: str, argument: str, name: object) -> None:
        """Refuse a name that is no column of the data, as a fault of the argument that holds it."""
        if fault := column_fault(argument, name, [*self.source.columns, *self.probable]):
            raise InputError(who, fault)

"""What the columns mean: the roles of an audit as expressions, and the faults their values may have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np

from fairtrial._audit.cells import Floats
from fairtrial._audit.columns import Columns
from fairtrial._audit.definitions import definition_expression
from fairtrial._audit.expressions import (
    EXPRESSIONS,
    bin_expression,
    bin_labels,
    clean_number,
    infinite,
    one_or_zero,
    present,
)
from fairtrial._audit.schema import ROLE_NAMES, Declared, column_fault, find_unlabelled, is_number, labels_of
from fairtrial._audit.source import Source, collect
from fairtrial._errors import Fault, Faults, InputError, Note, Set, Words
from fairtrial._labels import MISSING, canonical, is_missing
from fairtrial._metrics.values import Role

OTHER = 2.0  # stands for a number that is neither 0 nor 1 in the key of a binary role
_BINARY_LABELS = {"0": 0.0, "1": 1.0, "false": 0.0, "true": 1.0, MISSING: np.nan}


class Roles(Columns):
    """Columns and their roles; knows how each is read, and nothing of what is asked of them."""

    def __init__(self, source: Source, declared: Declared) -> None:
        super().__init__(source)
        columns = declared.columns
        self.outcome, self.decision, self.score = columns["outcome"], columns["decision"], columns["score"]
        self.weight, self.unit, self.pair = columns["weight"], columns["unit"], columns["pair"]
        self.threshold, self.missing = declared.threshold, declared.missing
        self.groups, self.features = declared.groups, declared.features
        self.positive = {
            name: label for name, label in declared.positive.items() if columns[name] is not None
        }
        self.bins = declared.bins
        self.probable = declared.probable
        self.unlabelled = find_unlabelled(declared.unlabelled)
        self.define = declared.define
        source.expression_of = partial(definition_expression, self)
        self._favourable = declared.favourable
        self.order: tuple[str, ...] | None = (
            None  # the decision's labels from low to high, where it has an order
        )
        if declared.order is not None:
            self.order = tuple(canonical(label) for label in labels_of(declared.order))
        self.found_real_outcome: bool | None = None  # known once the outcome was read
        self.constant_decision: int | None = None  # the value of a decision that was read and never varies
        self._edges: dict[str, list[float]] = {}
        self._ranges: dict[str, tuple[float, float]] = {}  # of scores, the same in every copy
        self.joined: dict[str, dict[str, str]] = {}  # labels of an attribute that stand for others
        self.alike: dict[str, list[str]] = {}  # labels of an attribute that differ only by case or blanks

    @property
    def declared(self) -> list[str]:
        """The columns that the audit names, each once."""
        roles = [getattr(self, name) for name in ROLE_NAMES if getattr(self, name) is not None]
        alike = () if self.unlabelled is None else self.unlabelled.alike
        groups = [column for name in self.groups for column in self.probable.get(name, {name: name}).values()]
        return list(dict.fromkeys([*roles, *groups, *self.features, *alike]))

    @property
    def keeps_unlabelled(self) -> bool:
        """Whether rows without an outcome may be there: they are dropped where they are needed, or reckoned with."""
        return self.missing == "drop" or self.unlabelled is not None

    def has(self, name: str) -> bool:
        """Whether the audit has the role; a score with a threshold gives a decision.

        Parameters
        ----------
        name : str
            'outcome', 'decision', 'score', 'weight', 'unit' or 'pair'.

        Returns
        -------
        bool
            True where its values can be read.
        """
        if name == "decision":
            return self.decision is not None or (self.score is not None and self.threshold is not None)
        if name == "probable":
            return bool(self.probable)
        return getattr(self, name) is not None

    def counted(self, name: str) -> list[str]:
        """The labels of a binary role that count as 1, as canonical texts; none where nobody said which."""
        return [canonical(label) for label in labels_of(self.positive[name])] if name in self.positive else []

    @property
    def favourable(self) -> int | None:
        """The decision that is good for a person, 0 or 1; None where nobody said which."""
        if self._favourable is None:
            return None
        label = {"true": "1", "false": "0"}.get(canonical(self._favourable), canonical(self._favourable))
        if self.order is not None:
            return self._favourable_end(canonical(self._favourable))
        if canonical(self._favourable) in self.counted("decision"):
            return 1
        if label in ("0", "1"):
            return int(label)
        return self._favourable_label(label)

    def _favourable_end(self, label: str) -> int:
        """Of decisions with an order one end is good for a person."""
        assert self.order is not None
        ends = {self.order[0]: 0, self.order[-1]: 1}
        if label not in ends:
            required = f"must be an end of the order: {self.order[0]!r} or {self.order[-1]!r}"
            raise InputError("Audit", Fault("favourable", required, got=self._favourable))
        return ends[label]

    def decision_labels(self) -> list[str]:
        """The labels that the decision takes."""
        column = self.source.label_column(str(self.decision), self.kind(str(self.decision)))
        raw = collect(self.lazy([column]).select(nw.col(column).alias("x")).unique())["x"].to_pylist()
        return sorted({canonical(value) for value in raw} - {MISSING})

    def _favourable_label(self, label: str) -> int:
        """A label that is not the positive one is decision 0, if it occurs."""
        labels: list[str] = []
        if self.decision is not None and "decision" in self.positive:
            labels = self.decision_labels()
        if label not in labels:
            listed = f" or one of its labels {', '.join(map(repr, labels))}" if labels else ""
            required = f"must be a decision that is good for a person: 1 or 0{listed}"
            raise InputError("Audit", Fault("favourable", required, got=self._favourable))
        return 0

    @property
    def outcome_may_be_real(self) -> bool:
        """A numeric outcome without a positive label may turn out to be real-valued."""
        if self.outcome is None or "outcome" in self.positive or self.found_real_outcome is False:
            return False
        return self.kind(self.outcome) in ("int", "float")

    # -- expressions that queries are built from ------------------------------------------------------------
    def role_columns(self, name: str) -> list[str]:
        """The columns that a role is read from."""
        if (name == "decision" and self.decision is None) or name == "score_bin":
            return [str(self.score)]
        return [str(getattr(self, name))]

    def label_column(self, name: str) -> str:
        """The column that an attribute's labels are read from."""
        return name if name in self.bins else self.source.label_column(name, self.kind(name))

    def attribute_expression(self, name: str) -> nw.Expr:
        """A column as labels: its bins where it is cut."""
        if name not in self.bins:
            return nw.col(name)
        if self.kind(name) not in ("bool", "int", "float"):
            raise InputError("Audit", self.not_numbers(name, "bins"))
        return self._binned(name)

    def score_bin_expression(self) -> nw.Expr:
        """The score's bins as labels."""
        return self._binned(str(self.score), default=10)

    def _binned(self, name: str, default: int | None = None) -> nw.Expr:
        edges, kind = self.bin_edges(name, default), self.kind(name)
        return bin_expression(clean_number(name, kind), edges, bin_labels(edges, kind))

    def score_bins(self) -> list[str]:
        """The labels of the score's bins, from low to high.

        Returns
        -------
        list of str
            Tenths, unless the audit cuts the score otherwise; none without a score.
        """
        if self.score is None:
            return []
        return bin_labels(self.bin_edges(self.score, default=10), self.kind(self.score))

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

    def note_alike(self, name: str, labels: Sequence[str]) -> None:
        """Remember labels that differ only by case or blanks: most likely they mean the same."""
        folded: dict[str, list[str]] = {}
        for label in labels:
            folded.setdefault(" ".join(label.split()).lower(), []).append(label)
        self.alike[name] = [label for same in folded.values() if len(same) > 1 for label in same]

    def role_key(self, name: str) -> nw.Expr:
        """A binary role as a grouping key: 0, 1, null, OTHER for other numbers; raw labels for text."""
        if name == "decision" and self.decision is None:
            assert self.threshold is not None
            score = self.number("score")
            decided = one_or_zero(score >= self.threshold, score < self.threshold)
            return nw.when(infinite(score)).then(nw.lit(OTHER)).otherwise(decided)
        column = str(getattr(self, name))
        kind = self.kind(column)
        if kind == "other":
            raise InputError("Audit", self.fault([name], "must hold 0 and 1, two labels or numbers"))
        if kind != "float":
            return nw.col(column)  # grouped as it is: engines are fastest so
        if name in self.positive:
            return self._which_positive(name, column)
        number = clean_number(column, kind)
        return (
            nw.when((number == 0) | (number == 1))
            .then(number)
            .otherwise(nw.when((number != 0) & (number != 1)).then(nw.lit(OTHER)))
        )

    def _is_positive(self, name: str, column: str) -> nw.Expr:
        return (
            nw.when(self._which_positive(name, column) > 0)
            .then(nw.lit(1.0))
            .otherwise(nw.when(~clean_number(column, self.kind(column)).is_null()).then(nw.lit(0.0)))
        )

    def _which_positive(self, name: str, column: str) -> nw.Expr:
        """Which of the labels that count as 1 a number is, from 1 on; 0 for any other."""
        number = clean_number(column, self.kind(column))
        which: nw.Expr = nw.when(~number.is_null()).then(nw.lit(0.0))
        for place, label in reversed(list(enumerate(self.counted(name), start=1))):
            which = nw.when(number == label_number(label)).then(nw.lit(float(place))).otherwise(which)
        return which

    def number(self, name: str) -> nw.Expr:
        """A role as a real number; text labels as 0 and 1."""
        if name == "decision" and self.decision is None:
            return self.role_key("decision")
        column = str(getattr(self, name))
        kind = self.kind(column)
        if kind in ("text", "other"):
            if name in ("score", "weight"):
                raise InputError("Audit", self.not_numbers(column, name))
            raw = self._positive_labels(name, column)
            return one_or_zero(nw.col(column).is_in(raw), present(column, kind))
        return self._is_positive(name, column) if name in self.positive else clean_number(column, kind)

    def derived(self, part: Role) -> nw.Expr:
        """A role's value as an expression."""
        expression: nw.Expr = part.of({need: self.number(need) for need in part.needs}, EXPRESSIONS)
        return expression

    def column_number(self, who: str, name: str) -> nw.Expr:
        """A column of numbers as a float."""
        self.check_column(who, "metric", name)
        if self.kind(name) not in ("bool", "int", "float"):
            raise InputError(who, self.not_numbers(name, "value"))
        return clean_number(name, self.kind(name))

    # -- facts and faults -----------------------------------------------------------------------------------
    def constant_note(self) -> Note | None:
        """What to say of a decision that was read and is the same for everybody."""
        value = self.constant_decision
        if value is None:
            return None
        why = f"{self.decision!r} does not vary"
        if self.decision is None:
            low, high = self._score_range()
            side = f"at or below the smallest score {low:g}" if value else f"above the largest score {high:g}"
            why = f"threshold {self.threshold:g} is {side}"
        return Note("constant-decision", f"Every decision is {value}: {why}.")

    def _score_range(self) -> tuple[float, float]:
        name = str(self.score)
        if name not in self._ranges:
            score = nw.col("x")
            frame = self.lazy([name]).select(self.number("score").alias("x"))
            answer = collect(frame.select(score.min().alias("low"), score.max().alias("high")))
            self._ranges[name] = float(answer["low"][0].as_py()), float(answer["high"][0].as_py())
        return self._ranges[name]

    def count_scores(self, rows: int) -> int:
        """How many different scores some rows have."""
        frame = self.lazy([str(self.score)]).select(self.number("score").alias("x")).head(rows)
        return int(collect(frame.select(nw.col("x").n_unique()))["x"][0].as_py())

    def subject(self, *names: str) -> str:
        """What a sentence about the values of roles or columns is about: "score 's' or outcome 'y'"."""
        return " or ".join(map(self._subject, names))

    def _subject(self, name: str) -> str:
        if name == "decision" and self.decision is None:
            return f"decision ({self.score!r} ≥ {self.threshold})"
        return f"{name} {getattr(self, name)!r}" if name in ROLE_NAMES else repr(name.removeprefix("column "))

    def argument(self, name: str) -> str:
        """The argument that brought a role or a column in."""
        if name in ROLE_NAMES:
            return "score" if name == "decision" and self.decision is None else name
        column = name.removeprefix("column ")
        probable = {part for columns in self.probable.values() for part in columns.values()}
        if column in self.groups or column in probable:
            return "groups"
        return "features" if column in self.features else "data"

    def fault(self, names: Iterable[str], required: str, cure: str | Words = "") -> Fault:
        """A fault of the values of roles or columns."""
        named = tuple(names)
        return Fault(self.argument(named[0]), required, cure=cure, subject=self.subject(*named))

    def missing_fault(self, missing: int, *names: str) -> Fault:
        """Values that are missing, with the cure that the audit's rule leaves."""
        drop = Set("missing", "drop", of="Audit")
        cure = Words("choose {} (or 'category' for groups)", drop)
        if self.missing == "drop":
            cure = Words(
                "name it in {} or {}, so that {} sees it",
                Set("groups"), Set("features", of="Audit"), Set("missing", "drop"),
            )  # fmt: skip
        elif self.missing == "category":
            cure = Words("{} is for groups; choose {}", Set("missing", "category"), drop)
        return self.fault(names, f"is missing in {missing:,} rows", cure)

    def empty_fault(self) -> Fault:
        """There is no row to audit."""
        if self.missing == "drop" and self.count_dropped()[1]:
            required = "are left: every row has a missing value in one of the columns used"
            return Fault(
                "data",
                required,
                subject="no rows",
                cure="Fill in the column that is missing most, or leave it out of the audit",
            )
        return Fault("data", "has no rows", cure="look whether a filter or an export left any")

    def not_numbers(self, column: str, use: str) -> Fault:
        """A column of texts where numbers are needed."""
        frame = self.lazy([column]).select(nw.col(column).alias("x")).unique().head(1000)
        raw = collect(frame)["x"].to_pylist()
        present = sorted(str(value) for value in raw if not is_missing(value))
        strange = [value for value in present if not is_number(value)]
        required = "must hold numbers"
        if (
            not strange and present
        ):  # a column of numbers is text where one of them has too many digits for a float
            strange, required = [max(present, key=len)], "must hold numbers of at most 15 digits"
        required += f", got {', '.join(map(repr, strange[:3])) or 'no values'}"
        return Fault("metric" if use == "value" else use, required, subject=f"{column!r} ({use})")

    def check_column(self, who: str, argument: str, name: object) -> None:
        """Refuse a name that is no column of the data.

        Parameters
        ----------
        who : str
            Whom the fault names.
        argument : str
            The argument that holds the name.
        name : object
            What should be a column.
        """
        fault = column_fault(argument, name, [*self.source.columns, *self.probable])
        if fault is not None:
            raise InputError(who, fault)

    # -- helpers --------------------------------------------------------------------------------------------
    def text_role(self, name: str, column: Any, faults: Faults) -> Floats:
        """The labels of a binary role as 0, 1 and NaN."""
        encoded = column.dictionary_encode()
        labels = [canonical(value) for value in encoded.dictionary.to_pylist()]
        if name in self.positive:
            counted = self.counted(name)
            numbers = [np.nan if label == MISSING else float(label in counted) for label in labels]
        else:
            numbers = [_BINARY_LABELS.get(label, 0.0) for label in labels]
            strange = sorted({label for label in labels if label not in _BINARY_LABELS})
            if strange:
                faults.add(self._labels_fault(name, strange, len(strange) < len(labels)))
        indices = np.asarray(encoded.indices.fill_null(len(numbers)), dtype=np.int64)
        return np.array([*numbers, np.nan])[indices]

    def _labels_fault(self, name: str, strange: list[str], others: bool) -> Fault:
        shown = ", ".join(repr(label) for label in strange[:6])
        cure, example = "say which counts as 1, e.g. {}", Set("positive", {name: strange[-1]}, of="Audit")
        if others:
            shown, cure = f"{shown} besides 0 and 1", f"leave them empty where they mean missing, or {cure}"
        return self.fault([name], f"has the labels {shown}", Words(cure, example))

    def bin_edges(self, name: str, default: int | None = None) -> list[float]:
        """Where a column is cut, from low to high."""
        cut: Any = self.bins.get(name, self.bins.get("score", default) if name == self.score else default)
        if not isinstance(cut, int | np.integer):
            return [float(edge) for edge in cut]
        if name not in self._edges:
            number = clean_number(name, self.kind(name)).alias("x")
            shares = [i / cut for i in range(1, cut)]
            quantiles = [
                nw.col("x").quantile(q, interpolation="linear").alias(f"q{i}") for i, q in enumerate(shares)
            ]
            answer = collect(
                self.lazy([name]).select(number).filter(~nw.col("x").is_null()).select(*quantiles)
            )
            found = [column[0].as_py() for column in answer.values()]
            edges = sorted({float(edge) + 0.0 for edge in found if edge is not None})  # −0 is 0
            if not edges:
                cure = "take it out of the bins, or fill it"
                fault = Fault("bins", "has no values to cut into bins", subject=repr(name), cure=cure)
                raise InputError("Audit", fault)
            self._edges[name] = edges
        return self._edges[name]

    def _positive_labels(self, name: str, column: str) -> list[Any]:
        answer = collect(self.lazy([column]).select(nw.col(column).alias("x")).unique())
        faults = Faults("Audit")
        values = self.text_role(name, answer["x"], faults)
        faults.raise_any()
        return [raw for raw, value in zip(answer["x"].to_pylist(), values, strict=True) if value == 1]


def label_number(label: object) -> float:
    """A positive label of a numeric or boolean column as a number; NaN, which equals nothing, when it is none."""
    text = {"true": "1", "false": "0"}.get(canonical(label), canonical(label))
    return float(text) if is_number(text) else float("nan")

"""How an audit is declared, and the faults a declaration can have before any data are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from fairtrial._errors import (
    Example,
    Fault,
    Faults,
    InputError,
    Named,
    Set,
    Words,
    did_you_mean,
    known_columns,
)
from fairtrial._labels import canonical
from fairtrial._options import arguments_of, faults_of

ROLE_NAMES = (
    "outcome",
    "decision",
    "score",
    "weight",
    "unit",
    "pair",
)  # the arguments of Audit that name one column each


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The arguments of an Audit besides its data; `columns` has the column of each role, or None."""

    columns: dict[str, str | None]
    threshold: float | None
    groups: tuple[str, ...]
    features: tuple[str, ...]
    positive: dict[str, Any]
    favourable: object
    bins: dict[str, Any]
    missing: str
    unlabelled: Any = None
    define: dict[str, Any] = field(default_factory=dict)
    probable: dict[str, dict[str, str]] = field(default_factory=dict)  # columns of probabilities by group
    order: Any = None  # the decision's labels from low to high

    def check(self, known: Sequence[str], given: Mapping[str, Any], function: Callable[..., Any]) -> None:
        """All faults in one message, in the order of the arguments, before any data are read.

        Those that the declaration of the `function` tells of what was `given` come first: a fault of the columns is
        not told of an argument that is none of its kind.
        """
        order = [argument.name for argument in arguments_of(function)]
        told = faults_of(function, given)
        wrong = {fault.argument for fault in told}
        told += [fault for fault in self._faults(known) if fault.argument not in wrong]
        faults = Faults("Audit")
        for fault in sorted(told, key=lambda fault: order.index(fault.argument)):
            faults.add(fault)
        faults.raise_any()

    def _faults(self, known: Sequence[str]) -> Iterator[Fault]:
        """Every fault that the names of the known columns show."""
        yield from self._column_faults(known)
        for argument, listed in (("groups", self.groups), ("features", self.features)):
            for name in sorted({name for name in listed if listed.count(name) > 1}, key=str):
                yield Fault(argument, f"names {name!r} twice", cure="name it once")
        yield from self._leaking_faults()
        yield from self._threshold_faults()
        for key in self.positive:
            if key not in ("decision", "outcome"):
                required = f"must be a label or a dict with 'decision' and 'outcome', got the key {key!r}"
                yield Fault("positive", required)
            elif not labels_of(self.positive[key]):
                yield Fault(
                    "positive", f"names no label of the {key}", cure="name the label that counts as 1"
                )
        yield from self._order_faults()
        if getattr(self.favourable, "ndim", 0):
            yield Fault("favourable", "must be one label of the decision", got=self.favourable)
        if self.favourable is not None and not self._decides and self.columns["score"] is None:
            cure = Words("name the decision's column with {}", Set("decision"))
            yield Fault("favourable", "needs a decision", cure=cure)
        for name, cut in self.bins.items():
            yield from _bin_faults(name, cut)
        yield from self._partly_faults(known)
        yield from unlabelled_faults(self.unlabelled, self.columns["outcome"], known)

    def _partly_faults(self, known: Sequence[str]) -> Iterator[Fault]:
        """What cannot be joined with unknown outcomes, and what is wrong with probable groups."""
        if self.unlabelled is not None and self.order is not None:
            yield Fault("unlabelled", "is not for a decision with an order yet", cure="Leave one of them out")
        if self.unlabelled is not None and self.probable:
            yield Fault(
                "unlabelled", "is not for groups known with a probability yet", cure="Leave one of them out"
            )
        yield from probable_faults(self.probable, known)

    def _order_faults(self) -> Iterator[Fault]:
        if self.order is None:
            return
        labels = [canonical(label) for label in labels_of(self.order)]
        if len(labels) < 2 or len(set(labels)) < len(labels):
            yield Fault("order", "must list two or more labels of the decision, each once", got=self.order)
        if self.columns["decision"] is None:
            cure = Words("name the decision's column with {}", Set("decision"))
            yield Fault("order", "needs a column of decisions", cure=cure)
        if "decision" in self.positive:
            cure = Words("keep one of them; {} says it of the outcome alone", Set("positive", {"outcome": 1}))
            subject = "'order' and 'positive'"
            yield Fault("order", "both say which decisions count", subject=subject, cure=cure)

    @property
    def _decides(self) -> bool:
        return self.columns["decision"] is not None or self.threshold is not None

    def _column_faults(self, known: Sequence[str]) -> Iterator[Fault]:
        named: list[tuple[str, Any]] = [*self.columns.items()]
        named += [("groups", name) for name in self.groups if name not in self.probable]
        named += [("features", name) for name in self.features]
        named += [("bins", name) for name in self.bins if name != "score"]
        found = (column_fault(argument, name, known) for argument, name in named if name is not None)
        yield from (fault for fault in found if fault is not None)

    def _leaking_faults(self) -> Iterator[Fault]:
        """What is to be explained or learnt explains itself perfectly; a score may well be known beforehand."""
        for role in ("decision", "outcome"):
            name = self.columns[role]
            if name is not None and name in self.features:
                cure = "leave it out of the features: they are what was known before"
                yield Fault("features", f"names {name!r}, which is the {role} itself", cure=cure)

    def _threshold_faults(self) -> Iterator[Fault]:
        if self.threshold is None:
            return
        if self.columns["score"] is None:
            yield Fault("threshold", "needs a score", cure=Words("name its column with {}", Set("score")))
        if self.columns["decision"] is not None:
            subject = "'decision' and 'threshold'"
            yield Fault("threshold", "both define the decision", subject=subject, cure="give one of them")


def column_list(argument: str, columns: object) -> tuple[str, ...]:
    """One column or several, as a tuple."""
    if isinstance(columns, str):
        return (columns,)
    if not isinstance(columns, list | tuple):
        raise InputError("Audit", Fault(argument, "must be a column or a list of columns", got=columns))
    if any(name is None or isinstance(name, list | dict | set) for name in columns):
        raise InputError("Audit", Fault(argument, "must list names of columns", got=columns))
    return tuple(columns)


def positive_labels(positive: object) -> dict[str, Any]:
    """The label or labels that count as 1 of each binary role, from those of both alike or of each."""
    if positive is None:
        return {}
    if isinstance(positive, Mapping):
        return dict(positive)
    listed = labels_of(positive)
    pairs = [pair for pair in listed if isinstance(pair, tuple) and len(pair) == 2]
    if pairs and len(pairs) == len(listed):
        return _said_of_each(pairs)
    if pairs or not listed:
        required = "must be labels that count as 1, for both alike or for 'decision' and 'outcome' each"
        raise InputError("Audit", Fault("positive", required, got=positive))
    label = listed[0] if len(listed) == 1 else list(listed)
    return {"decision": label, "outcome": label}


def _said_of_each(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Pairs of a role and a label as one label, or several, of each role."""
    said: dict[str, list[Any]] = {}
    for name, label in pairs:
        said.setdefault(name, []).append(label)
    return {name: labels[0] if len(labels) == 1 else labels for name, labels in said.items()}


def labels_of(label: object) -> tuple[Any, ...]:
    """One label or several, as a tuple."""
    if isinstance(label, np.ndarray):
        label = label.tolist()
    return tuple(label) if isinstance(label, list | tuple | set | frozenset) else (label,)


def column_fault(argument: str, name: object, known: Sequence[str]) -> Fault | None:
    """The fault of a name that is no column; None when it is one."""
    if isinstance(name, str) and name in known:
        return None
    hint = did_you_mean(name, known) or known_columns(known)
    parts = [part.strip() for part in str(name).split(",")]
    if len(parts) > 1 and set(parts) <= set(known):
        hint = f" Name the columns one by one: {', '.join(map(repr, parts))}."
    return Fault(argument, f"names the unknown column {name!r}", hint=hint)


def cut_into_bins(column: str) -> Words:
    """What to do with a column of too many numbers."""
    return Words("cut it with {} (quarters) or edges of your own", Set("bins", {column: 4}, of="Audit"))


def is_number(value: object) -> bool:
    """Whether it is a finite number, or a text that stands for one."""
    try:
        return not isinstance(value, bool) and bool(np.isfinite(float(value)))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


MOST_EDGES = 200  # each is a condition inside the last one's, and engines nest no thousands of them


def _bin_faults(name: str, cut: Any) -> Iterator[Fault]:
    if isinstance(cut, int | np.integer) and not isinstance(cut, bool):
        if not 2 <= cut <= 100:
            yield Fault("bins", f"of {name!r} must be 2 to 100 quantile bins", got=int(cut))
        return
    edges = isinstance(cut, list | tuple | np.ndarray) and len(cut) and all(is_number(edge) for edge in cut)
    if not edges:
        yield Fault("bins", f"of {name!r} must be a list of edges or a number of quantile bins", got=cut)
    elif len(cut) > MOST_EDGES:
        required = f"of {name!r} must be at most {MOST_EDGES} edges, got {len(cut):,}"
        yield Fault("bins", required, cure="cut it more coarsely")
    elif any(high <= low for low, high in pairwise(cut)):
        yield Fault("bins", f"of {name!r} must be increasing", got=list(cut))


@dataclass(frozen=True, slots=True)
class Unlabelled:
    """What is assumed of people whose outcome is unknown.

    Their odds of outcome 1 are at most `odds` times those of the labelled people of the same group and decision who are
    alike in the columns `alike`, and at least one `odds`th of them; without a limit nothing is assumed.
    """

    odds: float = np.inf
    alike: tuple[str, ...] = ()

    @property
    def assumed(self) -> bool:
        return bool(np.isfinite(self.odds))

    @property
    def words(self) -> str:
        """What the numbers assume, for sentences."""
        if not self.assumed:
            return "whatever the unknown outcomes are"
        alike = ["group and decision", *self.alike]
        within = f"{', '.join(alike[:-1])} and {alike[-1]}" if len(alike) > 1 else alike[0]
        if self.odds == 1:
            return f"if the unlabelled fare like the labelled of the same {within}"
        odds = f"within {self.odds:g} times those of the labelled of the same {within}"
        return f"if the odds of the unlabelled are {odds}"

    def to_dict(self) -> Any:
        """The form used in files."""
        return {"odds": self.odds, "alike": list(self.alike)} if self.assumed else "bounds"


def find_unlabelled(given: Any) -> Unlabelled | None:
    """What was declared, once it has no faults."""
    if not isinstance(given, Mapping):
        return None if given is None else Unlabelled()
    alike = given.get("alike", ())
    return Unlabelled(float(given["odds"]), (alike,) if isinstance(alike, str) else tuple(alike))


def unlabelled_faults(given: Any, outcome: str | None, known: Sequence[str]) -> Iterator[Fault]:
    """What is wrong with the declaration, from the columns' names alone."""
    if given is None:
        return
    if outcome is None:
        yield Fault(
            "unlabelled",
            "is about people without an outcome, and the audit names no outcome",
            cure=Words("name its column with {}, or leave {} out", Set("outcome"), Named("unlabelled")),
        )
    if isinstance(given, Mapping):
        yield from _table_faults(given, known)
    elif not (isinstance(given, str) and given == "bounds"):
        required = Words("must be 'bounds' or a table such as {}", Example({"odds": 2, "alike": ["region"]}))
        yield Fault("unlabelled", required, got=given)


def _table_faults(given: Mapping[str, Any], known: Sequence[str]) -> Iterator[Fault]:
    for key in given:
        if key not in ("odds", "alike"):
            yield Fault("unlabelled", f"has 'odds' and 'alike', not {key!r}", cure="leave that out")
    odds = given.get("odds")
    if not is_number(odds) or isinstance(odds, str) or float(odds) < 1:  # type: ignore[arg-type]
        yield Fault("unlabelled", "needs 'odds', a number of at least 1", got=odds)
    alike = given.get("alike", ())
    listed = [alike] if isinstance(alike, str) else alike
    if not isinstance(listed, list | tuple):
        yield Fault("unlabelled", "needs a list of columns as 'alike'", got=alike)
        return
    found = (column_fault("unlabelled", name, known) for name in listed)
    yield from (fault for fault in found if fault is not None)


def probable_faults(probable: dict[str, dict[str, str]], known: Sequence[str]) -> Iterator[Fault]:
    """What the names of the columns show."""
    for name, columns in probable.items():
        subject = f"groups of {name!r}"
        if name in known:
            yield Fault("groups", "is also a column: choose another name", subject=repr(name))
        if len(columns) < 2:
            yield Fault("groups", "need a column of probabilities for two groups or more", subject=subject)
        if len(set(map(str, columns.values()))) < len(columns):
            yield Fault("groups", "name a column twice", subject=subject, cure="name each column once")
        found = (column_fault("groups", column, known) for column in columns.values())
        yield from (fault for fault in found if fault is not None)

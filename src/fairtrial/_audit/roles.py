"""What the columns of an audit mean: frozen, with all faults of the declaration found before any data are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

from fairtrial._audit.schema import (
    UnknownOutcomes,
    bin_faults,
    count_faults,
    find_unlabelled,
    labels_of,
    merge_faults,
    merged_labels,
    probable_faults,
    unlabelled_faults,
)
from fairtrial._errors import Fault, Faults, NotApplicable, Set, Use, Words, column_fault
from fairtrial._labels import canonical
from fairtrial._metrics.groups import High, is_selection
from fairtrial._metrics.table import METRICS
from fairtrial._metrics.values import Metric
from fairtrial._options import arguments_of, faults_of

ROLE_NAMES = (
    "outcome",
    "decision",
    "score",
    "weight",
    "unit",
    "pair",
    "count",
    "total",
)  # the arguments of Audit that name one column each
OWN_NAMES = (
    "threshold",
    "missing",
    "unlabelled",
    "order",
    "score_favours",
)  # that are kept as they are given


@dataclass(frozen=True, kw_only=True, eq=False)
class Roles:
    """The arguments of an Audit besides its data, and which rows are read."""

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
    favourable_label: object
    score_favours: High | None
    bins: dict[str, Any]
    merge: Mapping[
        str, Mapping[str, Any]
    ]  # labels that mean the same; of each, once checked, the one it counts as
    missing: str
    unlabelled: UnknownOutcomes | None
    define: dict[str, Any]
    probable: dict[str, dict[str, str]]  # columns of probabilities by group
    order: tuple[str, ...] | None  # the decision's labels from low to high
    joined: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # labels that stand for others
    may_lack: frozenset[str] = frozenset()  # columns whose missing values are kept, as NaN
    drawn_by: int | None = None  # the seed of a sample, where not every row is read
    # In a trial all groups are in play at once, whatever one section compares.
    names_attributes: bool = False
    # The file's words: what labels of attributes mean, what the rates of the decision and of the good one are called.
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    rate: str = ""
    good_rate: str = "rate of the favourable decision"

    def checked(self, known: Sequence[str], given: Mapping[str, Any], function: Callable[..., Any]) -> Roles:
        """The roles as they are used; all faults in one message, in the order of the arguments.

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
        return replace(
            self,
            positive={
                name: label for name, label in self.positive.items() if getattr(self, name) is not None
            },
            unlabelled=find_unlabelled(self.unlabelled),
            merge=merged_labels(self.merge),
            order=None if self.order is None else tuple(canonical(label) for label in labels_of(self.order)),
        )

    # -- which columns they are -----------------------------------------------------------------------------
    @property
    def columns(self) -> dict[str, str]:
        """The column of each role that is played."""
        return {name: getattr(self, name) for name in ROLE_NAMES if getattr(self, name) is not None}

    @property
    def declared(self) -> list[str]:
        """The columns that are named, each once."""
        alike = () if self.unlabelled is None else self.unlabelled.alike
        groups = [column for name in self.groups for column in self.probable.get(name, {name: name}).values()]
        return list(dict.fromkeys([*self.columns.values(), *groups, *self.features, *alike]))

    @property
    def needed(self) -> list[str]:
        """The named columns that a complete row has."""
        return [name for name in self.declared if name not in self.may_lack]

    @property
    def keeps_unlabelled(self) -> bool:
        """Whether rows without an outcome may be there: they are dropped where they are needed, or reckoned with."""
        return self.missing == "drop" or self.unlabelled is not None

    def has(self, name: str) -> bool:
        """Whether the audit has the role; a score with a threshold gives a decision.

        Parameters
        ----------
        name : str
            'outcome', 'decision', 'score', 'weight', 'unit', 'pair', 'count' or 'total'.

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

    def in_words(self, metric: Metric) -> Metric:
        """The metric as the file calls it: the rate of its decision may have a name of its own."""
        named = self.rate and is_selection(metric) and METRICS.get(metric.name) is metric
        return replace(metric, label=self.rate) if named else metric

    def counted(self, name: str) -> list[str]:
        """The labels of a binary role that count as 1, as canonical texts; none where nobody said which."""
        return [canonical(label) for label in labels_of(self.positive[name])] if name in self.positive else []

    def label(self, name: str, text: str) -> str:
        """The label that a column's label counts as: merged with those that mean the same, joined to be published."""
        text = self.merge.get(name, {}).get(text, text)
        return self.joined.get(name, {}).get(text, text)

    def role_columns(self, name: str) -> list[str]:
        """The columns that a role is read from."""
        if (name == "decision" and self.decision is None) or name == "score_bin":
            return [str(self.score)]
        return [str(getattr(self, name))]

    def html(self) -> str:
        """What is shown, as a table."""
        rows = "".join(
            f"<tr><th scope='row'>{escape(name)}</th><td>{escape(text)}</td></tr>"
            for name, text in self.shown()
        )
        return f"<table><caption>Audit</caption><tbody>{rows}</tbody></table>"

    def shown(self) -> list[tuple[str, str]]:
        """The parts that are played, with their columns, as they were declared."""
        score = self.score
        if score is not None and self.threshold is not None:
            score = f"{score} (1 from {self.threshold:g} on)"
        parts = {
            "outcome": self.outcome,
            "decision": self.decision,
            "score": score,
            "favourable": None if self.favourable_label is None else str(self.favourable_label),
            "score_favours": self.score_favours,
            "groups": ", ".join(self.groups),
            "features": ", ".join(self.features),
            "weight": self.weight,
            "unit": self.unit,
            "pair": self.pair,
            "count": self.count,
            "total": self.total,
            "missing": None if self.missing == "error" else self.missing,
        }
        return [(name, str(text)) for name, text in parts.items() if text]

    def refuse(self, who: str, *roles: str, why: str = "") -> None:
        """Refuse survey weights, repeated rows, pairs or unknown outcomes by name, for methods that do not honour them.

        Roles are 'weight', 'unit', 'pair', 'order', 'unlabelled' or 'probable'; `why` goes on after "because".
        """
        for name in roles:
            because = f", because {why}" if why else " yet"
            if name == "probable" and self.probable:
                text = f"known with a probability are not honoured by {{}}{because}; {{}} does"
                required = Words(text, Use(who), Use("measure"))
                raise NotApplicable(who, Fault("groups", required, cure="Make an Audit without them"))
            if name != "probable" and getattr(self, name) is not None:
                required = Words(f"is not honoured by {{}}{because}; {{}} does", Use(who), Use("measure"))
                raise NotApplicable(who, Fault(name, required, cure="Make an Audit without it"))

    # -- faults of their values -----------------------------------------------------------------------------
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

    # -- faults of the declaration --------------------------------------------------------------------------
    def _faults(self, known: Sequence[str]) -> Iterator[Fault]:
        """Every fault that the names of the known columns show."""
        yield from self._column_faults(known)
        for argument, listed in (("groups", self.groups), ("features", self.features)):
            for name in sorted({name for name in listed if listed.count(name) > 1}, key=str):
                yield Fault(argument, f"names {name!r} twice", cure="name it once")
        yield from self._leaking_faults()
        yield from count_faults(self.columns, (*self.groups, *self.features), self.positive)
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
        if getattr(self.favourable_label, "ndim", 0):
            yield Fault("favourable", "must be one label of the decision", got=self.favourable_label)
        if self.favourable_label is not None and not self._decides and self.score is None:
            cure = Words("name the decision's column with {}", Set("decision"))
            yield Fault("favourable", "needs a decision", cure=cure)
        yield from self._direction_faults()
        for name, cut in self.bins.items():
            yield from bin_faults(name, cut)
        yield from merge_faults(self.merge, known, {*self.groups, *self.features}, set(self.bins))
        yield from self._partly_faults(known)
        yield from unlabelled_faults(self.unlabelled, self.outcome, known)

    def _direction_faults(self) -> Iterator[Fault]:
        """A direction of the score needs one, and must not contradict the decision that a threshold makes of it."""
        if self.score_favours is None:
            return
        if self.score is None:
            cure = Words("name its column with {}", Set("score"))
            yield Fault("score_favours", "needs a score", cure=cure)
        made = self.decision is None and self.threshold is not None
        good = {"1": "high", "true": "high", "0": "low", "false": "low"}.get(canonical(self.favourable_label))
        if made and good not in (None, self.score_favours):
            required = Words(
                "contradicts {}: decision 1 is a high score", Set("favourable", self.favourable_label)
            )
            cure = Words("write {}, or leave one of them out", Set("score_favours", good))
            yield Fault("score_favours", required, got=self.score_favours, cure=cure)

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
        if self.decision is None:
            cure = Words("name the decision's column with {}", Set("decision"))
            yield Fault("order", "needs a column of decisions", cure=cure)
        if "decision" in self.positive:
            cure = Words("keep one of them; {} says it of the outcome alone", Set("positive", {"outcome": 1}))
            subject = "'order' and 'positive'"
            yield Fault("order", "both say which decisions count", subject=subject, cure=cure)

    @property
    def _decides(self) -> bool:
        return self.decision is not None or self.threshold is not None

    def _column_faults(self, known: Sequence[str]) -> Iterator[Fault]:
        named: list[tuple[str, Any]] = [*self.columns.items()]
        named += [("groups", name) for name in self.groups if name not in self.probable]
        named += [("features", name) for name in self.features]
        named += [("bins", name) for name in self.bins if name != "score"]
        found = (column_fault(argument, name, known) for argument, name in named)
        yield from (fault for fault in found if fault is not None)

    def _leaking_faults(self) -> Iterator[Fault]:
        """What is to be explained or learnt explains itself perfectly; a score may well be known beforehand."""
        for role in ("decision", "outcome"):
            name = getattr(self, role)
            if name is not None and name in self.features:
                cure = "leave it out of the features: they are what was known before"
                yield Fault("features", f"names {name!r}, which is the {role} itself", cure=cure)

    def _threshold_faults(self) -> Iterator[Fault]:
        if self.threshold is None:
            return
        if self.score is None:
            yield Fault("threshold", "needs a score", cure=Words("name its column with {}", Set("score")))
        if self.decision is not None:
            subject = "'decision' and 'threshold'"
            yield Fault("threshold", "both define the decision", subject=subject, cure="give one of them")

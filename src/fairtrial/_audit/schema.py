"""Parts of an audit's declaration, and their faults: columns, labels, bins, unknown outcomes, probable groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from fairtrial._errors import Example, Fault, InputError, Named, Set, Words, column_fault
from fairtrial._labels import canonical, is_number


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


MERGED = {"sex": {"M": ["m", "Male"]}}  # an example


def merge_faults(merge: object, known: Sequence[str], used: set[str], cut: set[str]) -> Iterator[Fault]:
    """What is wrong with labels that are said to mean the same, from the columns' names alone."""
    if not isinstance(merge, Mapping):
        yield Fault("merge", Words("must be a table such as {}", Example(MERGED)), got=merge)
        return
    for name, labels in merge.items():
        if fault := column_fault("merge", name, known):
            yield fault
        elif not isinstance(labels, Mapping) or not all(map(labels_of, labels.values())):
            yield Fault("merge", Words("must be a table such as {}", Example(MERGED)), got=labels)
        elif name in cut:
            cure = "merge its labels or cut it into bins, not both"
            yield Fault("merge", "is cut into bins", subject=repr(name), cure=cure)
        elif name not in used:
            required = "merges labels of a column that is neither a group nor a feature"
            cure = "a decision or an outcome may list all labels that count as 1 as positive"
            yield Fault("merge", required, got=name, cure=cure)
        else:
            said = [canonical(label) for same in labels.values() for label in labels_of(same)]
            twice = sorted({label for label in said if said.count(label) > 1})
            if twice:
                required = f"merges the label {twice[0]!r} of {name!r} into more than one"
                yield Fault("merge", required, cure="name it once")


def merged_labels(merge: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Of each label of each column the one that it counts as."""
    return {
        name: {
            canonical(label): canonical(stands)
            for stands, same in labels.items()
            for label in labels_of(same)
        }
        for name, labels in merge.items()
    }


def cut_into_bins(column: str) -> Words:
    """What to do with a column of too many numbers."""
    return Words("cut it with {} (quarters) or edges of your own", Set("bins", {column: 4}, of="Audit"))


def count_faults(
    roles: Mapping[str, str], others: Sequence[str], positive: Mapping[str, Any]
) -> Iterator[Fault]:
    """What is wrong with a column that says how many people a row stands for; `others` are groups and features."""
    counting = {role: roles[role] for role in ("count", "total") if role in roles}
    for role, name in counting.items():
        played = [other for other, column in roles.items() if column == name and other not in counting]
        if played or name in others:
            other = played[0] if played else "a group or a feature"
            yield Fault(role, f"names {name!r}, which is also {other}", cure="keep it as one of the two")
        if "pair" in roles:
            cure = "leave one of them out: of a pair, each row is one person's answer"
            yield Fault(role, "is not for pairs", subject=f"{role} {name!r}", cure=cure)
    if len(counting) > 1:
        keep = Words("keep {} where another column says how many of them were chosen", Named("total"))
        yield Fault(
            "total", "both say how many people a row stands for", cure=keep, subject="'count' and 'total'"
        )
    counted = [role for role in ("decision", "outcome") if role in roles]
    if "total" in roles and len(counted) != 1:
        which = Words("name the column of how many were chosen, or of their share, with {}", Set("decision"))
        required = "needs one column that counts some of the people: decision or outcome"
        yield Fault("total", required, cure=which)
    elif "total" in roles and counted[0] in positive:
        yield Fault("positive", f"is not needed: the {counted[0]} counts people", cure="leave it out")


Probable = dict[str, dict[str, str]]
FORM = {"race": {"White": "p_white", "Black": "p_black"}}  # an example
MOST_EDGES = 200  # each is a condition inside the last one's, and engines nest no thousands of them


def bin_faults(name: str, cut: Any) -> Iterator[Fault]:
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
class UnknownOutcomes:
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


def find_unlabelled(given: Any) -> UnknownOutcomes | None:
    """What was declared, once it has no faults."""
    if not isinstance(given, Mapping):
        return None if given is None else UnknownOutcomes()
    alike = given.get("alike", ())
    return UnknownOutcomes(float(given["odds"]), (alike,) if isinstance(alike, str) else tuple(alike))


def unlabelled_faults(given: Any, outcome: str | None, known: Sequence[str]) -> Iterator[Fault]:
    """What is wrong with the declaration, from the columns' names alone."""
    if given is None:
        return
    if outcome is None:
        lacks = "is about people without an outcome, and the audit names no outcome"
        cure = Words("name its column with {}, or leave {} out", Set("outcome"), Named("unlabelled"))
        yield Fault("unlabelled", lacks, cure=cure)
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


def split_groups(groups: object) -> tuple[object, Probable]:
    """The attributes by name, and of those known with a probability the column of each of their groups."""
    listed = groups if isinstance(groups, list | tuple) else [groups]
    if not any(isinstance(entry, Mapping) for entry in listed):
        return groups, {}
    names: list[Any] = []
    probable: Probable = {}
    for entry in listed:
        if not isinstance(entry, Mapping):
            names.append(entry)
            continue
        for name, columns in entry.items():
            if not isinstance(columns, Mapping):
                required = Words(
                    "must pair an attribute with a column for each group, such as {}", Example(FORM)
                )
                raise InputError("Audit", Fault("groups", required, got=columns))
            names.append(str(name))
            probable[str(name)] = {canonical(label): column for label, column in columns.items()}
    return names, probable

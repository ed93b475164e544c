"""The file's own words: what people, decisions, outcomes and groups are called in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fairtrial._labels import MISSING, canonical
from fairtrial._metrics.groups import is_selection
from fairtrial._metrics.table import METRICS
from fairtrial._metrics.values import Metric, label_text
from fairtrial._trial.spec.name_words import label_of, parts

YES, NO = ("1", "yes", "true", "y"), ("0", "no", "false", "n")
# Columns of yes and no that are named by a word which is true of those who say yes.
TRUE_OF_PEOPLE = {
    "married", "single", "divorced", "widowed", "veteran", "disabled", "pregnant", "foreign", "immigrant", "citizen",
    "smoker", "student", "parent", "retired", "unemployed", "employed", "minority", "insured", "homeless",
}  # fmt: skip
_NEGATED = re.compile(r"(were|was|are|is|have|has|had|did|do|does|can|could|will|would)\b\s*(.*)", re.DOTALL)
_RANGE = re.compile(r"(under |over )?[-+−]?[0-9][0-9.,]*( ?[–-] ?[0-9][0-9.,]*| and over| or more|\+)?")
_LISTED = " or "  # between the values of a group of several


@dataclass(frozen=True, slots=True)
class FileWords:
    """What people, decisions, outcomes and groups of one audit file are called.

    Parameters
    ----------
    people : str
        What the people are called.
    verbs : mapping
        What a decision or an outcome of 1 or 0 means, said of people.
    rate : str
        What the share of decision 1 is called; empty for "selection rate".
    score : str
        What the score is called: its column where the file has no words for it.
    groups : mapping
        The words for each attribute's labels; of a text alone, those for yes.
    columns : mapping
        The column of each role, and the threshold that makes a decision of a score.
    positive : object
        The labels that count as 1.

    Examples
    --------
    >>> data = {"decision": "deny", "positive": "yes", "groups": ["afam"], "favourable": 0}
    >>> said = {"people": "applicants", "decision": "were denied", "groups": {"afam": "Black"}}
    >>> words = FileWords.of({"data": data, "words": said})
    >>> words.people, words.done("decision", 1), words.done("decision", 0)
    ('applicants', 'were denied', 'were not denied')
    >>> words.group("afam", "yes"), words.group("afam", "no"), words.rate_name("selection_rate")
    ('Black', 'not Black', 'share who were denied')
    """

    people: str = "people"
    verbs: Mapping[tuple[str, int], str] = field(default_factory=dict)
    rate: str = ""
    score: str = ""
    groups: Mapping[str, str | Mapping[str, str]] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)
    positive: Any = None

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> FileWords:
        """From the content of an audit file, as results.json keeps it under spec, content.

        Parameters
        ----------
        spec : mapping
            The file's tables; those that are not there leave the words to its columns and labels.

        Returns
        -------
        FileWords
            With a fallback for everything that the file has no words for.
        """
        data, said = _table(spec, "data"), _table(spec, "words")
        verbs = {
            (role, label): str(said[key])
            for role in ("decision", "outcome")
            for label, key in ((1, role), (0, f"not_{role}"))
            if said.get(key)
        }
        columns = {name: data[name] for name in ("decision", "outcome", "score", "threshold") if name in data}
        told = {
            str(name): text
            if isinstance(text, str)
            else {canonical(key): str(one) for key, one in text.items()}
            for name, text in _table(said, "groups").items()
            if isinstance(text, str | Mapping)
        }
        return cls(
            people=str(said.get("people") or "people"), verbs=verbs, rate=_rate(said, data),
            score=str(said.get("score") or data.get("score") or "score"), groups=told, columns=columns,
            positive=data.get("positive"),
        )  # fmt: skip

    # -- what was done, and what happened ---------------------------------------------------------------------------
    def done(self, role: str, label: int) -> str:
        """What a decision or an outcome of 1 or 0 means, as a verb of people: 'were denied', 'have deny = yes'.

        Parameters
        ----------
        role : {'decision', 'outcome'}
            Which of the two.
        label : {0, 1}
            Its value.

        Returns
        -------
        str
            To follow a number of people: '28 of 100 applicants were denied'.
        """
        if (role, label) in self.verbs:
            return self.verbs[role, label]
        other = _NEGATED.fullmatch(self.verbs.get((role, 1 - label), ""))
        if other is not None:
            verb, rest = other.groups()
            return f"{verb} {rest.removeprefix('not ')}" if rest.startswith("not ") else f"{verb} not {rest}"
        return self._as_written(role, label)

    def _as_written(self, role: str, label: int) -> str:
        """What the column says, where nobody put it into words."""
        if role == "decision" and "decision" not in self.columns:
            if self.columns.get("threshold") is None:
                return "were selected" if label == 1 else "were not selected"
            limit = self.columns["threshold"]
            if limit == "median":
                return f"have a {self.score} {'above' if label == 1 else 'of at most'} the median"
            return (
                f"have a {self.score} of {limit:g} or more"
                if label == 1
                else f"have a {self.score} below {limit:g}"
            )
        counted = label_text(self.positive, role, 1)
        if label == 0 and label_text(self.positive, role, 0) != "0":
            return f"do not have {self.columns.get(role, role)} = {counted}"
        return f"have {self.columns.get(role, role)} = {counted if label == 1 else '0'}"

    # -- groups -----------------------------------------------------------------------------------------------------
    def said(self, attribute: str, label: str) -> str:
        """The file's own words for a group; empty where it has none."""
        told = self.groups.get(attribute, {})
        if isinstance(told, Mapping):
            return told.get(canonical(label), "")
        answer = _answer(attribute, label)
        return "" if answer is None else told if answer else f"not {told}"

    def group(self, attribute: str, label: str) -> str:
        """A group in words: 'women', 'Black', 'not white', 'age 25–44'; 'people with sens = 1' as the last resort.

        Parameters
        ----------
        attribute : str
            The column, or the group that the file defines.
        label : str
            Its value, or several as 'A or B'.

        Returns
        -------
        str
            Readable without the attribute's name.
        """
        told = self.said(attribute, label)
        if told or _LISTED not in label:
            return told or self._called(attribute, label)
        return _LISTED.join(self.group(attribute, part) for part in label.split(_LISTED))

    def _called(self, attribute: str, label: str) -> str:
        """A group without words of its own, by its label and, where that is a riddle, its column."""
        if label in (*self._told_labels(attribute), attribute, f"not {attribute}") and not _is_code(
            attribute
        ):
            return label
        if label == MISSING:
            return f"{self.people} whose {attribute} is not known"
        answer = _answer(attribute, label)
        if answer is not None and (label_of(attribute) or _plain(attribute) & TRUE_OF_PEOPLE):
            name = " ".join(_plain(attribute)) if len(_plain(attribute)) == 1 else attribute
            return name if answer else f"not {name}"
        if answer is None and _RANGE.fullmatch(label) and not label.isdigit():
            return f"{attribute} {label}"
        return f"{self.people} with {attribute} = {label}" if _is_code(label) else label

    def _told_labels(self, attribute: str) -> Iterable[str]:
        """The words for an attribute: a label that is one of them is told already."""
        told = self.groups.get(attribute, {})
        return told.values() if isinstance(told, Mapping) else (told, f"not {told}")

    def who(self, place: Iterable[Iterable[str]]) -> str:
        """People of one or several attributes at once, from the pairs that results hold: 'women, Black'."""
        return ", ".join(self.group(name, label) for name, label in place)

    # -- rates ------------------------------------------------------------------------------------------------------
    @property
    def good_rate(self) -> str:
        """What the share of the other decision is called where 1 is a bad one; empty where the file has no words."""
        return f"share who {self.done('decision', 0)}" if ("decision", 1) in self.verbs else ""

    def rate_name(self, metric: Metric | str) -> str:
        """What a rate is called: 'denial rate' in place of 'selection rate', where the file's words say so."""
        found = METRICS[metric] if isinstance(metric, str) else metric
        return self.rate if self.rate and is_selection(found) else found.label


def _table(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = content.get(name)
    return found if isinstance(found, Mapping) else {}


def _rate(said: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """The name of the decision's rate: the file's, or from what the decision means; a bad one is never "selection"."""
    if said.get("rate"):
        return str(said["rate"])
    if said.get("decision"):
        return f"share who {said['decision']}"
    if data.get("decision") and _is_bad(data):
        return f"rate of {data['decision']} = {label_text(data.get('positive'), 'decision', 1)}"
    return ""


def _is_bad(data: Mapping[str, Any]) -> bool:
    """Whether the file says that decision 1 is not the one that is good for a person."""
    if data.get("favourable") is None or data.get("order") is not None:
        return False
    good, positive = canonical(data["favourable"]), data.get("positive")
    counted = positive.get("decision") if isinstance(positive, Mapping) else positive
    listed = counted if isinstance(counted, list | tuple) else [] if counted is None else [counted]
    labels = {canonical(label) for label in listed}
    return good not in labels and ((bool(labels) and good != "1") or good in ("0", "false"))


def _answer(attribute: str, label: str) -> bool | None:
    """What a label of yes and no answers, or a defined group's own name; None for one of any other kind."""
    if label in (attribute, f"not {attribute}") and not _is_code(attribute):
        return label == attribute
    text = label.strip().lower()
    return None if text not in YES + NO else text in YES


def _is_code(label: str) -> bool:
    """Whether a label says nothing without its column: 1, yes, F, other."""
    text = label.strip().lower()
    return text in (*YES, *NO, "other", "others", "none", "unknown") or len(text) < 2 or _is_number(text)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?[0-9][0-9.,]*", text) is not None


def _plain(name: str) -> set[str]:
    """The words of a column's name, without what stands beside them, as in is_married."""
    return {part for part in parts(name) if part not in ("is", "applicant", "dummy", "race", "sex", "gender")}

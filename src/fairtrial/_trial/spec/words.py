"""The file's own words: what people, decisions, outcomes and groups are called in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fairtrial._labels import MISSING, canonical
from fairtrial._metrics.groups import is_selection
from fairtrial._metrics.table import METRICS
from fairtrial._metrics.values import Metric, label_text
from fairtrial._trial.spec.name_words import attribute_of, fold, label_of, parts, values
from fairtrial._trial.spec.plain_words import done_by_name, is_name, sex_words, shape

YES, NO = ("1", "yes", "true", "y"), ("0", "no", "false", "n")
# Columns of yes and no that are named by a word which is true of those who say yes.
TRUE_OF_PEOPLE = {
    "married", "single", "divorced", "widowed", "veteran", "disabled", "pregnant", "foreign", "immigrant", "citizen",
    "smoker", "student", "parent", "retired", "unemployed", "employed", "minority", "insured", "homeless",
}  # fmt: skip
PERSONS = (
    "worker",
    "citizen",
    "student",
    "immigrant",
    "smoker",
    "veteran",
    "parent",
)  # as the last word of a name
COLOURS = {"colour", "color"}
_NEGATED = re.compile(r"(were|was|are|is|have|has|had|did|do|does|can|could|will|would)\b\s*(.*)", re.DOTALL)
_RANGE = re.compile(
    r"(under |over |(less|greater|more|younger|older) than )?[-+−]?[0-9][0-9.,]*"
    r"( ?[–-] ?[0-9][0-9.,]*| and over| or more|\+)?",
    re.IGNORECASE,
)
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
        words = cls(
            people=str(said.get("people") or "people"), verbs=verbs,
            score=str(said.get("score") or data.get("score") or "score"), groups=told, columns=columns,
            positive=data.get("positive"),
        )  # fmt: skip
        return replace(words, rate=str(said.get("rate") or "") or words._rate(data))

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
        return self._in_words(role, label) or self._as_written(role, label)

    def told(self, role: str, label: int) -> bool:
        """Whether `done` is in words, the file's or those that its column or label is.

        Parameters
        ----------
        role : {'decision', 'outcome'}
            Which of the two.
        label : {0, 1}
            Its value.

        Returns
        -------
        bool
            False where it says 'have deny = yes'.
        """
        return bool(self._in_words(role, label))

    def _in_words(self, role: str, label: int) -> str:
        """What the file says of it, or the name of its column or label; empty where neither is in words."""
        if (role, label) in self.verbs:
            return self.verbs[role, label]
        other = _NEGATED.fullmatch(self.verbs.get((role, 1 - label), ""))
        if other is not None:
            verb, rest = other.groups()
            return f"{verb} {rest.removeprefix('not ')}" if rest.startswith("not ") else f"{verb} not {rest}"
        if role == "decision" and "decision" not in self.columns:
            return ""
        return self._by_name(role, label)

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
        bounded = "" if label == 1 and counted[:1] in "<>≤≥" else "= "
        return f"have {self.columns.get(role, role)} {bounded}{counted if label == 1 else '0'}"

    def _by_name(self, role: str, label: int) -> str:
        """'were approved', where the column or the label that counts as 1 is such a word."""
        column, counted = str(self.columns.get(role, role)), label_text(self.positive, role, 1)
        return done_by_name((column, counted) if counted.lower() in YES else (counted,), label)

    # -- groups -----------------------------------------------------------------------------------------------------
    def said(self, attribute: str, label: str) -> str:
        """The file's own words for a group; empty where it has none."""
        told = self.groups.get(attribute, {})
        if isinstance(told, Mapping):
            return told.get(canonical(label), "") or ("" if told else _said_by_name(attribute, label))
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

    def label(self, place: Iterable[Iterable[str]]) -> str:
        """People in a list or a table: 'Black, women' where the file has words, else 'race: Black, sex: F'."""
        told = []
        for name, label in place:
            whole = label in (name, f"not {name}") and not _is_code(name)
            if whole and name not in self.groups:
                told.append(label)  # a defined group is called by its own name
            else:
                told.append(self._listed(name, label) or f"{name}: {label}")
        return ", ".join(told)

    def _listed(self, name: str, label: str) -> str:
        """The words for one label or for several; empty where one of them has none."""
        told = self.said(name, label)
        if told or _LISTED not in label:
            return told
        each = [self.said(name, part) for part in label.split(_LISTED)]
        return _LISTED.join(each) if all(each) else ""

    def crowd(self, place: Iterable[Iterable[str]]) -> str:
        """People in a sentence: 'Black applicants', 'Black women', 'applicants under 25', 'people with sens = 1'.

        Parameters
        ----------
        place : iterable
            The pairs of attribute and label that results hold.

        Returns
        -------
        str
            To follow a number: '28 of 100 Black applicants'.
        """
        parts_of = [self._part(name, label) for name, label in place]
        before, nouns, after = (
            [text for at, text in parts_of if at == kind] for kind in ("before", "noun", "after")
        )
        after = [f"who are {noun}" for noun in nouns[1:]] + after
        text = " ".join([*before, nouns[0] if nouns else self.people])
        return f"{text} {' and '.join(after)}" if after else text

    def _part(self, name: str, label: str) -> tuple[str, str]:
        """Where a group stands in a sentence: before the noun, as the noun, or behind it."""
        told = self._listed(name, label)
        if not told and attribute_of(name) == "sex":
            told = sex_words(name, label.lower())
        if not told and label in (name, f"not {name}") and not _is_code(name):
            told = label
        if told:
            return shape(told)
        if label == MISSING:
            return "after", f"whose {name} is not known"
        if _RANGE.fullmatch(label) and not label.isdigit():
            told = label[:1].lower() + label[1:]
            return "after", f"aged {told}" if "age" in parts(name) else f"with {name} {told}"
        if _is_of_origin(name, label) and not _is_code(label) and is_name(label):
            return "before", label
        return "after", f"with {name} = {label}"

    # -- rates ------------------------------------------------------------------------------------------------------
    def _rate(self, data: Mapping[str, Any]) -> str:
        """The name of the decision's rate from what the decision means; a bad one is never "selection"."""
        if ("decision", 1) in self.verbs:
            return f"share who {self.verbs['decision', 1]}"
        if not data.get("decision") or not _is_bad(data):
            return ""
        named = label_text(self.positive, "decision", 1)
        return (
            f"share who {told}"
            if (told := self._by_name("decision", 1))
            else f"rate of {data['decision']} = {named}"
        )

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


def _said_by_name(attribute: str, label: str) -> str:
    """'white', 'not white': what a column of yes and no that is named after a group says."""
    answer = _answer(attribute, label)
    if answer is None or not (label_of(attribute) or _plain(attribute) & TRUE_OF_PEOPLE):
        return ""
    words = [part for part in parts(attribute) if part in _plain(attribute)]
    if len(words) > 1 and words[-1] not in PERSONS and not label_of(attribute):
        return ""
    plural = "s" if len(words) > 1 and words[-1] in PERSONS else ""
    name = f"{' '.join(words)}{plural}"
    return name if answer else f"not {name}"


def _is_of_origin(attribute: str, label: str) -> bool:
    """Whether a label can stand before people as it is: 'Black' of a race, or of the colour of people's skin."""
    if attribute_of(attribute) in ("race", "ethnic", "nationality"):
        return True
    return bool(COLOURS & set(parts(attribute))) and fold(label) in values("race")


def _is_code(label: str) -> bool:
    """Whether a label says nothing without its column: 1, yes, F, other."""
    text = label.strip().lower()
    return text in (*YES, *NO, "other", "others", "none", "unknown") or len(text) < 2 or _is_number(text)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?[0-9][0-9.,]*", text) is not None


def _plain(name: str) -> set[str]:
    """The words of a column's name, without what stands beside them, as in is_married."""
    return {part for part in parts(name) if part not in ("is", "applicant", "dummy", "race", "sex", "gender")}

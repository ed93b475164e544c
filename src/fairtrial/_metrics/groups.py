"""Groups and targets as values, without the data they are looked up in; and which side of a metric harms."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from fairtrial._errors import Example, Fault, InputError, Set, Words, did_you_mean
from fairtrial._labels import canonical
from fairtrial._metrics.table import METRICS
from fairtrial._metrics.values import Direction, Metric, Role, role

# What an argument that names people must be, said alike wherever one can be given.
A_GROUP = Words("a group like {}", Example({"race": "A"}))
COMPARED = Words("a column, a group like {}, or a list of these", Example({"race": "A"}))
TARGETS = Words("a number, 'overall', 'rest' or a group like {}", Example({"race": "A"}))

FOUR_FIFTHS = (0.8, 1.25)


def within_four_fifths(low: float | None, high: float | None) -> bool:
    """Whether the interval of a ratio lies between four fifths and its inverse."""
    return low is not None and high is not None and bool(low >= FOUR_FIFTHS[0] and high <= FOUR_FIFTHS[1])


@dataclass(frozen=True, slots=True)
class Group:
    """People whose attributes take the given values; `where` pairs each attribute with its admitted values.

    A group that is `named` carries its attributes in its label, which it must wherever a value alone could be one of
    another attribute.
    """

    where: tuple[tuple[str, tuple[str, ...]], ...]
    named: bool = field(default=False, compare=False)
    said: tuple[str, ...] = field(default=(), compare=False)  # each attribute's values in the file's words

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Group:
        """From a dict of attribute → value or values; values may be of any type."""
        pairs = []
        for attribute, values in content.items():
            listed = values if isinstance(values, list | tuple | set | frozenset) else [values]
            pairs.append((attribute, tuple(sorted({canonical(value) for value in listed}))))
        return cls(tuple(pairs))

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(attribute for attribute, _ in self.where)

    @property
    def label(self) -> str:
        """'African-American', or with attributes 'race: African-American, sex: Male'."""
        said = self.said or ("",) * len(self.where)
        parts = zip(self.where, said, strict=True)
        return ", ".join(words or self._part(name, values) for (name, values), words in parts)

    def in_words(self, words: Mapping[str, Mapping[str, str]]) -> Group:
        """The group as the file's words call it; values without words are called as they are written."""
        if not any(name in words for name in self.attributes):
            return self
        return replace(
            self, said=tuple(_in_words(words.get(name, {}), values) for name, values in self.where)
        )

    def _part(self, name: str, values: tuple[str, ...]) -> str:
        """One attribute's values; a defined group and who is not in it say their attribute themselves."""
        joined = " or ".join(values)
        return f"{name}: {joined}" if self.named and not _names_itself(name, joined) else joined

    @property
    def place(self) -> list[list[str]]:
        """[attribute, value] pairs, as results record where each line of their table belongs."""
        return [[name, " or ".join(values)] for name, values in self.where]

    def to_dict(self) -> dict[str, str | list[str]]:
        return {name: values[0] if len(values) == 1 else list(values) for name, values in self.where}


def _in_words(words: Mapping[str, str], values: tuple[str, ...]) -> str:
    """The values in words; empty where one of them has none."""
    return " or ".join(words[value] for value in values) if words.keys() >= set(values) else ""


def told_apart(groups: Sequence[Group], beside: Collection[str] = ()) -> list[Group]:
    """The groups with their attributes in their labels, where more than one attribute is in play or a value says
    nothing without it; `beside` names attributes that are in play besides theirs."""
    attributes = {name for group in groups for name in group.attributes} | set(beside)
    bare = any(
        _says_nothing(value) and not _names_itself(name, value)
        for group in groups
        for name, values in group.where
        for value in values
    )
    if len(attributes) < 2 and not bare:
        return list(groups)
    return [replace(group, named=True) for group in groups]


def _names_itself(name: str, label: str) -> bool:
    """Whether a label is a defined group's own name, or that of who is not in it; a column 0 of 0 and 1 is none."""
    return label in (name, f"not {name}") and not _says_nothing(name)


def _says_nothing(value: str) -> bool:
    """Whether a value needs its attribute to be understood: yes, false, 3, under 25."""
    words = {"yes", "no", "true", "false", "y", "n"}
    text = value.strip().lower()
    return text in words or re.match(r"(under )?[-+]?[0-9.]", text) is not None


@dataclass(frozen=True, slots=True)
class Target:
    """What a group's rate is compared with."""

    kind: Literal["number", "overall", "rest", "reference"]
    value: float | None = None
    group: Group | None = None

    @property
    def label(self) -> str:
        if self.kind == "number":
            return f"{self.value:g}"
        if self.kind == "reference" and self.group is not None:
            return self.group.label
        return {"overall": "overall", "rest": "everyone else"}[self.kind]

    def beside(self, groups: Sequence[Group]) -> Target:
        """The target as it is called where these groups are compared with it."""
        if self.group is None or not any(group.named for group in groups):
            return self
        return replace(self, group=replace(self.group, named=True))

    def to_dict(self) -> Any:
        """The form used in files."""
        if self.kind == "number":
            return self.value
        return self.group.to_dict() if self.group is not None else self.kind


def find_target(who: str, target: object, argument: str = "target") -> Target:
    """A Target from a number, 'overall', 'rest' or a reference group such as {"race": "Caucasian"}."""
    if isinstance(target, Target):
        return target
    if isinstance(target, Mapping) and target:
        return Target("reference", group=Group.of(target))
    if isinstance(target, int | float) and not isinstance(target, bool) and abs(target) < float("inf"):
        return Target("number", value=float(target))
    if target == "overall":
        return Target("overall")
    if target == "rest":
        return Target("rest")
    required = Words(f"must be {TARGETS.text}", *TARGETS.parts)
    hint = did_you_mean(target, ["overall", "rest"])
    raise InputError(who, Fault(argument, required, got=target, hint=hint))


def explicit_groups(by: object) -> set[Group]:
    """The groups that `by` lists as dicts."""
    listed = [by] if isinstance(by, Mapping) else by if isinstance(by, list | tuple) else []
    return {Group.of(entry) for entry in listed if isinstance(entry, Mapping)}


# -- What is good for a person: on which side of a metric a group is harmed, once it is known what
# decisions do.

Effect = Literal["harmed", "favoured", ""]
High = Literal["high", "low"]

# On which side a group is harmed where a decision, a score or an outcome of 1 speaks for a person; where it speaks
# against one, on the other. More people whom the outcome speaks for, at the same decision or score, had a higher bar.
_WHERE_GOOD: dict[str, Direction] = {
    "decision": "below",
    "amount": "below",
    "not_decision": "above",
    "score": "below",
    "outcome": "above",
    "not_outcome": "below",
}
Part = Literal["decision", "score", "outcome", ""]
_TURNS_ON: dict[str, Part] = {
    "decision": "decision",
    "not_decision": "decision",
    "amount": "decision",
    "score": "score",
    "outcome": "outcome",
    "not_outcome": "outcome",
}
_OTHER: dict[Direction, Direction] = {"above": "below", "below": "above"}


@dataclass(frozen=True, slots=True)
class Favours:
    """What is good for a person, as far as it is known.

    Parameters
    ----------
    decision : {0, 1} or None
        The decision that is good for a person.
    score : {'high', 'low'} or None
        The scores that are.
    outcome : {0, 1} or None
        The outcome that speaks for a good decision.
    """

    decision: int | None = None
    score: High | None = None
    outcome: int | None = None

    def speaks(self, part: Part) -> bool | None:
        """Whether more of a part is good for a person; None where nobody knows.

        Parameters
        ----------
        part : {'decision', 'score', 'outcome', ''}
            What a metric turns on.

        Returns
        -------
        bool or None
            Of the score, whether high ones are good.
        """
        if part == "score":
            return None if self.score is None else self.score == "high"
        known = self.outcome if part == "outcome" else self.decision
        return None if known is None else known == 1


def describes_people(metric: Metric) -> bool:
    """Whether it is about who people are and not about what was decided: the outcome, whatever the decision."""
    return metric.needs == {"outcome"}


def turns_on(metric: Metric) -> Part:
    """The part whose good side decides who is harmed by the metric; empty where none does.

    Examples
    --------
    >>> [turns_on(METRICS[name]) for name in ("fpr", "mean_score", "ppv", "accuracy")]
    ['decision', 'score', 'outcome', '']
    """
    if _hurts_by_itself(metric) or describes_people(metric) or not isinstance(metric.value, Role):
        return ""
    return _TURNS_ON.get(metric.value.name, "")


def _hurts_by_itself(metric: Metric) -> bool:
    """Whether it is one of somebody's own that says which side hurts; those of the table keep their sentence."""
    return metric.hurts is not None and not any(row.harm == metric.harm for row in METRICS.values())


def harmed_side(metric: Metric, favours: Favours) -> Direction | None:
    """On which side of its target a group is harmed; None where nobody said what is good for a person.

    Parameters
    ----------
    metric : Metric
        One of one's own may say itself which side hurts.
    favours : Favours
        What is good for a person.

    Returns
    -------
    {'above', 'below'} or None
        The harmed side.

    Examples
    --------
    >>> good, bad = Favours(decision=1), Favours(decision=0, score="low")
    >>> harmed_side(METRICS["selection_rate"], good), harmed_side(METRICS["fpr"], bad)
    ('below', 'above')
    >>> harmed_side(METRICS["mean_score"], bad), harmed_side(METRICS["mean_score"], good)
    ('above', None)
    """
    if describes_people(metric):
        return metric.hurts if _hurts_by_itself(metric) else None
    part = turns_on(metric)
    if not part or not isinstance(metric.value, Role):
        return metric.hurts if _hurts_by_itself(metric) or favours != Favours() else None
    good, side = favours.speaks(part), _WHERE_GOOD[metric.value.name]
    return None if good is None else side if good else _OTHER[side]


def find_side(who: str, direction: str | None, metric: Metric, side: Direction | None) -> str | None:
    """The direction with 'harmed' as the side it is, which must be known from the audit or from the metric."""
    if direction != "harmed":
        return direction
    if side is None:
        required = Words("of {} does not say who is harmed", Example("harmed"))
        raise InputError(who, Fault("direction", required, cure=say_what_is_good(metric)))
    return side


def say_what_is_good(metric: Metric) -> Words:
    """What the audit must say before a group can be called harmed by the metric."""
    if describes_people(metric):
        return Words("it describes the people, not the decisions; leave the direction out")
    if turns_on(metric) == "score":
        return Words("say which scores are good for a person with {}", Set("score_favours", of="Audit"))
    return Words("say which decision is good for a person with {}", Set("favourable", of="Audit"))


def effect_of(gap: float, side: Direction | None, none: float = 0.0) -> Effect:
    """Whether a gap harms or favours the group; empty where that is not known."""
    if side is None or gap == none:
        return ""
    return "harmed" if (gap > none) == (side == "above") else "favoured"


def is_selection(metric: Metric) -> bool:
    """Whether it is the rate of the decision among everybody."""
    return metric.value is role.decision and not metric.conditions and metric.expression is None

"""Who is compared with whom, as values: groups and targets, without the data they are looked up in."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from fairtrial._errors import Example, Fault, InputError, Words, did_you_mean
from fairtrial._labels import canonical

# What an argument that names people must be, said alike wherever one can be given.
A_GROUP = Words("a group like {}", Example({"race": "A"}))
COMPARED = Words("a column, a group like {}, or a list of these", Example({"race": "A"}))
TARGETS = Words("a number, 'overall', 'rest' or a group like {}", Example({"race": "A"}))


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

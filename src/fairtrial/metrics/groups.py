"""Who is compared with whom, as values: groups and targets, without the data they are looked up in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fairtrial.errors import Example, Fault, InputError, Words, did_you_mean
from fairtrial.labels import canonical


@dataclass(frozen=True, slots=True)
class Group:
    """People whose attributes take the given values; `where` pairs each attribute with its admitted values."""

    where: tuple[tuple[str, tuple[str, ...]], ...]

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
        """The values, joined: 'African-American', 'African-American, Male'."""
        return ", ".join(" or ".join(values) for _, values in self.where)

    @property
    def place(self) -> list[list[str]]:
        """[attribute, value] pairs, as results record where each line of their table belongs."""
        return [[name, " or ".join(values)] for name, values in self.where]

    def to_dict(self) -> dict[str, str | list[str]]:
        return {name: values[0] if len(values) == 1 else list(values) for name, values in self.where}


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
    required = Words("must be a number, 'overall', 'rest' or a group like {}", Example({"race": "A"}))
    hint = did_you_mean(target, ["overall", "rest"])
    raise InputError(who, Fault(argument, required, got=target, hint=hint))


def explicit_groups(by: object) -> set[Group]:
    """The groups that `by` lists as dicts."""
    listed = [by] if isinstance(by, Mapping) else by if isinstance(by, list | tuple) else []
    return {Group.of(entry) for entry in listed if isinstance(entry, Mapping)}

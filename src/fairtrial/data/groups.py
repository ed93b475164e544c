"""Who is compared: groups, their intersections, and what each is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, Literal

from fairtrial.errors import InputError, did_you_mean
from fairtrial.labels import canonical

if TYPE_CHECKING:
    from fairtrial.data.audit import Audit

MINIMUM_SIZE = 30
MANY_NUMBERS = 100  # a column of more different numbers is looked at before its values are taken for groups


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


def find_target(who: str, target: object) -> Target:
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
    hint = did_you_mean(target, ["overall", "rest"])
    raise InputError(
        who,
        f"'target' must be a number, 'overall', 'rest' or a group like {{'race': 'A'}}, got {target!r}.{hint}",
    )


def check_target(who: str, audit: Audit, target: Target) -> None:
    """The reference group must exist in the data."""
    if target.group is not None:
        _check_group(who, audit, target.group, "target")


def by_attributes(who: str, audit: Audit, by: object) -> tuple[str, ...]:
    """The attributes that `by` names, in order; the audit's groups when it names nothing."""
    entries = _entries(who, audit, by)
    names = [name for entry in entries for name in (entry if isinstance(entry, Mapping) else [entry])]
    return tuple(dict.fromkeys(str(name) for name in names))


def find_groups(who: str, audit: Audit, by: object = None, depth: int = 1) -> list[Group]:
    """All groups that `by` asks for, with every intersection of up to `depth` attributes."""
    entries = _entries(who, audit, by)
    if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
        raise InputError(who, f"'depth' must be a whole number of at least 1, got {depth!r}")
    explicit = [Group.of(entry) for entry in entries if isinstance(entry, Mapping)]
    for group in explicit:
        _check_group(who, audit, group, "by")
    attributes = [entry for entry in entries if isinstance(entry, str)]
    for name in attributes:
        check_not_continuous(who, audit, name)
    return list(dict.fromkeys([*intersections(audit, attributes, depth), *explicit]))


def check_not_continuous(who: str, audit: Audit, attribute: str) -> None:
    """Refuse to make a group of every value of a continuous column; codes with many people each are groups."""
    if attribute in audit.bins or audit.kind(attribute) not in ("int", "float"):
        return
    levels = len(audit.levels(attribute))
    if levels <= MANY_NUMBERS:
        return
    sizes = audit.cells((attribute,), who=who).rows
    if 2 * int((sizes < MINIMUM_SIZE).sum()) > levels:
        raise InputError(
            who,
            f"'by' names {attribute!r}, which holds {levels:,} different numbers, most of them of fewer than "
            f"{MINIMUM_SIZE} people: cut it with bins={{{attribute!r}: 4}} (quarters) or edges of your own",
        )


def explicit_groups(by: object) -> set[Group]:
    """The groups that `by` lists as dicts."""
    listed = [by] if isinstance(by, Mapping) else by if isinstance(by, list | tuple) else []
    return {Group.of(entry) for entry in listed if isinstance(entry, Mapping)}


def intersections(audit: Audit, attributes: Sequence[str], depth: int) -> list[Group]:
    """Groups of one attribute, then of two, up to `depth`."""
    found = []
    for size in range(1, min(depth, len(attributes)) + 1):
        for chosen in combinations(attributes, size):
            for values in product(*(audit.levels(name) for name in chosen)):
                pairs = zip(chosen, values, strict=True)
                found.append(Group(tuple((name, (value,)) for name, value in pairs)))
    return found


def _entries(who: str, audit: Audit, by: object) -> list[str | Mapping[str, Any]]:
    if by is None:
        by = list(audit.groups)
    listed = [by] if isinstance(by, str | Mapping) else by
    if not isinstance(listed, list | tuple) or not all(
        isinstance(entry, str | Mapping) and entry for entry in listed
    ):
        raise InputError(
            who, f"'by' must be a column, a list of columns or a list of group dicts, got {by!r}"
        )
    if not listed:
        raise InputError(
            who, "'by' is missing: name the attribute(s) to compare, here or as groups= of the Audit"
        )
    for entry in listed:
        for name in [entry] if isinstance(entry, str) else entry:
            audit.check_column(who, "by", name)
    return list(listed)


def _check_group(who: str, audit: Audit, group: Group, argument: str) -> None:
    for attribute, values in group.where:
        audit.check_column(who, argument, attribute)
        if not values:
            raise InputError(who, f"{argument!r} names no value of {attribute!r}")
        levels = audit.levels(attribute)
        for value in values:
            if value not in levels:
                listed = ", ".join(repr(level) for level in levels[:20])
                raise InputError(
                    who,
                    f"{argument!r} names {attribute} = {value!r}, which is not in the data. "
                    f"Levels: {listed}.{did_you_mean(value, levels)}",
                )

"""Which groups the data hold: levels, intersections, and whether what was asked for is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

from fairtrial._audit.schema import cut_into_bins
from fairtrial._errors import Elsewhere, Fault, InputError, Words, did_you_mean
from fairtrial._metrics.groups import COMPARED, Group, Target, told_apart

if TYPE_CHECKING:
    from fairtrial._audit.audit import Audit

MINIMUM_SIZE = 30
MANY_NUMBERS = 100  # a column of more different numbers is looked at before its values are taken for groups


def check_target(who: str, audit: Audit, target: Target, argument: str = "target") -> None:
    """The reference group must exist in the data."""
    if target.group is not None:
        _check_group(who, audit, target.group, argument)


def check_target_columns(who: str, audit: Audit, target: object) -> None:
    """Before any query, which takes them for attributes like others: the reference's attributes must be columns."""
    group = target.group if isinstance(target, Target) else None
    for name in group.attributes if group is not None else ():
        audit.check_column(who, "target", name)


def by_attributes(who: str, audit: Audit, by: object, argument: str = "by") -> tuple[str, ...]:
    """The attributes that `by` names, in order; the audit's groups when it names nothing."""
    return tuple(dict.fromkeys(str(name) for name in _names(_entries(who, audit, by, argument))))


def find_groups(
    who: str, audit: Audit, by: object = None, depth: int = 1, argument: str = "by"
) -> list[Group]:
    """All groups that `by` asks for, with every intersection of up to `depth` attributes."""
    entries = _entries(who, audit, by, argument)
    if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
        raise InputError(who, Fault("depth", "must be a whole number of at least 1", got=depth))
    explicit = [Group.of(entry) for entry in entries if isinstance(entry, Mapping)]
    for group in explicit:
        _check_group(who, audit, group, argument)
    attributes = [entry for entry in entries if isinstance(entry, str)]
    for name in attributes:
        check_not_continuous(who, audit, name, argument)
    listed = dict.fromkeys([*intersections(audit, attributes, depth), *explicit])
    found = [group.in_words(audit.roles.words) for group in listed]
    return told_apart(found, audit.groups) if audit.roles.names_attributes else found


def compared_groups(
    who: str, audit: Audit, by: object, depth: int, target: Target | None
) -> tuple[list[Group], Target | None]:
    """The groups that `by` asks for and what they are compared with, called so that no two can be confused."""
    beside = target.group.attributes if target is not None and target.group is not None else ()
    groups = told_apart(find_groups(who, audit, by, depth), beside)
    if target is not None and target.group is not None:
        target = replace(target, group=target.group.in_words(audit.roles.words))
    return groups, None if target is None else target.beside(groups)


def check_not_continuous(who: str, audit: Audit, attribute: str, argument: str = "by") -> None:
    """Refuse to make a group of every value of a continuous column; codes with many people each are groups."""
    if (
        attribute in audit.probable
        or attribute in audit.bins
        or audit.kind(attribute) not in ("int", "float")
    ):
        return
    levels = len(audit.levels(attribute))
    if levels <= MANY_NUMBERS:
        return
    sizes = audit.cells((attribute,), who=who).rows
    if 2 * int((sizes < MINIMUM_SIZE).sum()) > levels:
        required = (
            f"names {attribute!r}, which holds {levels:,} different numbers, most of them of fewer than "
            f"{MINIMUM_SIZE} people"
        )
        raise InputError(who, Fault(argument, required, cure=cut_into_bins(attribute)))


def intersections(audit: Audit, attributes: Sequence[str], depth: int) -> list[Group]:
    """Groups of one attribute, then of two, up to `depth`."""
    found = []
    for size in range(1, min(depth, len(attributes)) + 1):
        for chosen in combinations(attributes, size):
            for values in product(*(_compared_levels(audit, name) for name in chosen)):
                pairs = zip(chosen, values, strict=True)
                found.append(Group(tuple((name, (value,)) for name, value in pairs)))
    return found


def _compared_levels(audit: Audit, name: str) -> tuple[str, ...]:
    """The groups of an attribute; of a defined group it alone, since those who are not in it mirror it."""
    if name not in audit.define:
        return audit.levels(name)
    if name not in audit.levels(name):
        cure = "change its conditions or leave it out"
        raise InputError("Audit", Fault("define", "is met by nobody", subject=repr(name), cure=cure))
    return (name,)


def _entries(who: str, audit: Audit, by: object, argument: str) -> list[str | Mapping[str, Any]]:
    by = list(audit.groups) if by is None else by
    listed = [by] if isinstance(by, str | Mapping) else by
    entries: Sequence[Any] = listed if isinstance(listed, list | tuple) else [None]
    if not all(isinstance(entry, str | Mapping) and entry for entry in entries):
        required = Words(f"must be {COMPARED.text}", *COMPARED.parts)
        raise InputError(who, Fault(argument, required, got=by))
    if not entries:
        cure = Words("name the attribute(s) to compare{}", Elsewhere(argument, "groups", of="Audit"))
        raise InputError(who, Fault(argument, "is missing", cure=cure))
    for name in _names(entries):
        audit.check_column(who, argument, name)
    return list(entries)


def _names(entries: Iterable[str | Mapping[str, Any]]) -> list[Any]:
    """The attributes that they name, in order."""
    return [name for entry in entries for name in ([entry] if isinstance(entry, str) else entry)]


def _check_group(who: str, audit: Audit, group: Group, argument: str) -> None:
    for attribute, values in group.where:
        audit.check_column(who, argument, attribute)
        if not values:
            raise InputError(
                who, Fault(argument, f"names no value of {attribute!r}", cure="name at least one")
            )
        levels = audit.levels(attribute)
        for value in values:
            if value not in levels:
                listed = ", ".join(repr(level) for level in levels[:20])
                required = f"names {attribute} = {value!r}, which is not in the data"
                hint = f"Levels: {listed}.{did_you_mean(value, levels)}"
                raise InputError(who, Fault(argument, required, hint=hint))

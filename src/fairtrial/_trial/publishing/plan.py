"""What is joined, what is left out and what is asked instead: decided from counts, before any question is answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Bools
from fairtrial._audit.groups import find_groups
from fairtrial._method.declaration import find_method
from fairtrial._metrics.groups import Group
from fairtrial._metrics.table import find_metrics
from fairtrial._metrics.values import Metric
from fairtrial._options import Argument
from fairtrial._trial.publishing.tables import (
    MOST_CELLS,
    Known,
    by_case,
    few,
    further_counts,
    metrics_of,
    tells_more,
)
from fairtrial._trial.spec.load import Spec
from fairtrial._trial.spec.sections import Section
from fairtrial._trial.spec.tables import admits_groups, is_attributes


@dataclass(slots=True)
class PublishingPlan:
    """How an audit is published: the coarser audit, the original one's labels in it, and what is said of it."""

    original: Audit
    audit: Audit
    limit: int
    roles: tuple[str, ...]
    attributes: tuple[
        str, ...
    ]  # by which anything is published: the audit's groups and what sections name besides
    stands_for: dict[
        str, dict[str, str]
    ]  # per attribute the label that each of the data's is published under
    gone: tuple[str, ...]
    notes: list[str] = field(default_factory=list)
    unpublished: list[str] = field(default_factory=list)  # those of the notes that say what is left out

    def leave_out(self, section: Section, why: str) -> None:
        """Say that a question is not published."""
        title = section.title or find_method(section.method).question
        self._not_published(f"“{title}” ({section.id}), because {why}")

    def _not_published(self, what: str) -> None:
        self.notes.append(f"Not published: {what}.")
        self.unpublished.append(self.notes[-1])

    # -- groups under their published names -------------------------------------------------------------------------
    def translated(self, spec: Spec) -> Spec:
        """The spec with its sections in terms of the published groups; those that cannot be asked are left out."""
        kept = [self._translated(section) for section in spec.sections]
        sections = tuple(section for section in kept if section is not None)
        return replace(spec, sections=sections, content=self._translated_words(spec.content))

    def _translated_words(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """The content with words for published groups alone."""
        words = content.get("words", {})
        told = {name: dict(said) for name, said in self.audit.roles.words.items() if name not in self.gone}
        return {**content, "words": {**words, "groups": told}} if "groups" in words else dict(content)

    def _translated(self, section: Section) -> Section | None:
        arguments = dict(section.arguments)
        for argument in find_method(section.method).arguments:
            value = arguments.get(argument.name)
            if value is None or not (is_attributes(argument) or admits_groups(argument)):
                continue
            listed = list(value) if isinstance(value, list | tuple) else [value]
            named = [found for item in listed if (found := self._named(item)) is not None]
            if not named or (len(named) < len(listed) and not is_attributes(argument)):
                self.leave_out(section, self._why_unnamed(listed))
                return None
            arguments[argument.name] = named if isinstance(value, list | tuple) else named[0]
        return replace(section, arguments=arguments)

    def _why_unnamed(self, items: Sequence[Any]) -> str:
        names = {
            name
            for item in items
            for name in ([item] if isinstance(item, str) else Group.of(item).attributes)
        }
        if names <= set(self.gone):
            return "no group of what it is about is published"
        return "it names a group that is joined with others"

    def _named(self, item: Any) -> Any:
        """An attribute or a group under its published names; None where it is not published."""
        if isinstance(item, str):
            return None if item in self.gone else item
        if not isinstance(item, Mapping):
            return item
        found: dict[str, Any] = {}
        for name, values in Group.of(item).where:
            names = self.stands_for.get(name, {})
            published = sorted({names.get(value, value) for value in values})
            members = {label for label, stands in names.items() if stands in published}
            if name in self.gone or (names and members != set(values)):
                return None
            found[name] = published if len(published) > 1 else published[0]
        return found

    # -- which questions, of which groups ---------------------------------------------------------------------------
    def admitted(self, sections: Sequence[Section]) -> tuple[Section, ...]:
        """The questions that may be published, with the intersections that may."""
        crossed = any(self._crossed(section) for section in sections)
        told = [self._told(section, crossed) for section in sections]
        kept = [section for section in told if section is not None]
        asked = {section.id: self._crossed(section) for section in kept}
        crossings = None
        if any(asked.values()):
            crossings = Crossings(
                self.original, self.audit, self.attributes, self.stands_for, self.roles, self.limit
            )
            crossings.decide(group for groups in asked.values() for group in groups)
            self._say_refused(crossings)
        held = {} if crossings is None else crossings.held
        found = [self._with_groups(section, asked[section.id], held) for section in kept]
        return tuple(section for section in found if section is not None)

    def _say_refused(self, crossings: Crossings) -> None:
        refused = sum(not held for held in crossings.held.values())
        if refused:
            self.notes.append(
                f"{refused} of {len(crossings.held)} intersections of groups are not published: counts of fewer than "
                f"{self.limit} people could be worked out with them."
            )

    def _told(self, section: Section, crossed: bool) -> Section | None:
        """The question without metrics that count people by more than the cases, where they are few."""
        method = find_method(section.method)
        given = {one.option.counts_by: section.arguments.get(one.name) for one in method.arguments}
        strata = given.get("strata")
        why = "" if method.of_groups else method.not_published
        if given.get("score") is not None:
            why = "its curves count people by their score"
        elif strata is not None and self._few_in_strata(section, strata):
            why = "some stratum has few people"
        if why:
            self.leave_out(section, why)
            return None
        metrics = metrics_of(section) or []
        refused = [
            metric for metric in metrics if tells_more(metric) and self._few_by(section, metric, crossed)
        ]
        if not refused:
            return section
        labels = ", ".join(metric.label for metric in refused)
        asked = section.arguments.get("metric")
        names = {metric.name for metric in refused}
        left = [item for item in (asked if isinstance(asked, list) else []) if not _names(item) & names]
        if not left:
            self.leave_out(section, f"it would tell of few people: {labels}")
            return None
        self._not_published(f"{labels} ({section.id}), because it would tell of few people")
        return replace(section, arguments={**section.arguments, "metric": left})

    def _few_by(self, section: Section, metric: Metric, crossed: bool) -> bool:
        """Whether the metric tells of few people in a group asked about, or in an intersection where any are asked."""
        _, groups, _ = self._groups(section)
        names = dict.fromkeys(name for group in groups for name in group.attributes)
        tables = [list(self.attributes)] if crossed else [[name] for name in names]
        counts = [further_counts(self.audit, by, metric, self.roles) for by in tables]
        return any(few(one, self.limit).any() for one in counts)

    def _few_in_strata(self, section: Section, strata: Any) -> bool:
        _, groups, _ = self._groups(section)
        names = [name for group in groups for name in group.attributes]
        by = list(dict.fromkeys([*names, *([strata] if isinstance(strata, str) else strata)]))
        return bool(few(self.audit.cells(by, roles=self.roles).rows, self.limit).any())

    def _groups(self, section: Section) -> tuple[Argument | None, list[Group], bool]:
        """The argument that lists groups, the groups asked for, and whether intersections are chosen by a depth."""
        declared = {argument.name: argument for argument in find_method(section.method).arguments}
        by = next((argument for argument in declared.values() if is_attributes(argument)), None)
        if by is None:
            return None, [], False
        depth = declared.get("depth")
        deep = 1 if depth is None else int(section.arguments.get("depth", depth.default))
        found = find_groups(section.method, self.audit, section.arguments.get(by.name), deep)
        return by, found, depth is not None

    def _crossed(self, section: Section) -> list[Group]:
        """The intersections that a question is about."""
        _, groups, by_depth = self._groups(section)
        crossed = [group for group in groups if len(group.attributes) > 1]
        names = list(dict.fromkeys(name for group in groups for name in group.attributes))
        if not by_depth and len(names) > 1:  # then it takes all attributes at once
            every = find_groups(section.method, self.audit, names, len(names))
            crossed += [group for group in every if len(group.attributes) == len(names)]
        return [*crossed, *self._named_crossings(section)]

    def _named_crossings(self, section: Section) -> list[Group]:
        """Intersections that a question compares with, or is about, besides those it lists."""
        named = [Group.of(item) for item in _group_items(section, listed=False) if isinstance(item, Mapping)]
        return [group for group in named if len(group.attributes) > 1]

    def _with_groups(
        self, section: Section, crossed: Sequence[Group], held: Mapping[Group, bool]
    ) -> Section | None:
        """Intersections listed one by one, those that would give a small count away left out."""
        by, groups, by_depth = self._groups(section)
        if by is None or not crossed:
            return section
        kept = [group for group in crossed if held[group]]
        if not all(held[group] for group in self._named_crossings(section)):
            self.leave_out(section, "it compares with an intersection of few people")
            return None
        if not by_depth and len(kept) < len(crossed):
            self.leave_out(section, "it needs intersections of few people")
            return None
        if not by_depth:
            return section
        listed = [group.to_dict() for group in groups if len(group.attributes) == 1 or held[group]]
        if not listed:
            self.leave_out(section, "it asks for intersections of few people")
            return None
        return replace(section, arguments={**section.arguments, by.name: listed, "depth": 1})


def _names(item: Any) -> set[str]:
    return {metric.name for metric in find_metrics("publish", item)}


def named_attributes(sections: Sequence[Section]) -> list[str]:
    """The attributes that questions name themselves, in lists or in groups."""
    found: list[str] = []
    for section in sections:
        found += [item for item in _group_items(section, listed=True) if isinstance(item, str)]
        items = [*_group_items(section, listed=True), *_group_items(section, listed=False)]
        found += [str(name) for item in items if isinstance(item, Mapping) for name in item]
    return list(dict.fromkeys(found))


def _group_items(section: Section, *, listed: bool) -> list[Any]:
    """What stands where groups are listed, or in the other arguments that may name one."""
    found: list[Any] = []
    for argument in find_method(section.method).arguments:
        value = section.arguments.get(argument.name)
        if is_attributes(argument) == listed and (listed or admits_groups(argument)) and value is not None:
            found += value if isinstance(value, list | tuple) else [value]
    return found


# -- Intersections of published groups: each is published only where no small count could be solved for with
# it.
class Crossings:
    """The table of all attributes at once, in the data's own labels, and what is published of it.

    Parameters
    ----------
    original, published : Audit
        With the data's own labels, and with joined ones.
    names : tuple of str
        The attributes that anything is published by.
    stands_for : mapping
        Per attribute the label that each of the data's own is published under.
    roles : tuple of str
        What tells cases apart.
    limit : int
        Counts of fewer people must not be found out.
    """

    def __init__(
        self,
        original: Audit,
        published: Audit,
        names: tuple[str, ...],
        stands_for: Mapping[str, Mapping[str, str]],
        roles: tuple[str, ...],
        limit: int,
    ) -> None:
        self.names = names
        self.stands_for = stands_for
        self.labels = {name: original.levels(name) for name in self.names}
        self.held: dict[Group, bool] = {}
        self.known: Known | None = None
        if published.unit is None and prod(map(len, self.labels.values())) <= MOST_CELLS:
            self.known = self._one_by_one(original, published, roles, limit)

    def _one_by_one(
        self, original: Audit, published: Audit, roles: tuple[str, ...], limit: int
    ) -> Known | None:
        """Every group of one attribute, published."""
        cells = original.cells(self.names, roles=roles, unknown=original.roles.keeps_unlabelled)
        shape = [len(self.labels[name]) for name in self.names]
        place = np.ravel_multi_index(tuple(cells.codes.T.astype(np.int64)), shape)
        known = Known(by_case(cells, place, prod(shape)), limit)
        single = [Group(((name, (label,)),)) for name in self.names for label in published.levels(name)]
        return known if known.admit([self.members(group) for group in single]) else None

    def members(self, group: Group) -> Bools:
        """The cells of the table that belong to a published group."""
        inside = np.ones([len(self.labels[name]) for name in self.names], dtype=bool)
        for name, values in group.where:
            names = self.stands_for.get(name, {})
            chosen = np.array([names.get(label, label) in values for label in self.labels[name]])
            axes = [-1 if other == name else 1 for other in self.names]
            inside &= chosen.reshape(axes)
        return inside.reshape(-1)

    def decide(self, groups: Iterable[Group]) -> None:
        """Publish as many of them as may be, the largest first."""
        asked = [group for group in dict.fromkeys(groups) if group not in self.held]
        if self.known is None:
            self.held |= dict.fromkeys(asked, False)
            return
        counts = self.known.counts
        for group in sorted(asked, key=lambda group: -int(counts[self.members(group)].sum())):
            self.held[group] = self.known.admit([self.members(group)])

"""A scenario: a world, the file a user has of it, what the user says and asks, and what must or must not be claimed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from truth.world import Generator, Labels, People, World

File = Mapping[str, Labels]


@dataclass(frozen=True, slots=True)
class Ask:
    """One call of the API: a method's name and its arguments; `needs` adds what is fitted on the file's rows."""

    method: str
    arguments: Mapping[str, Any]
    needs: Callable[[File], Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class Expect:
    """A kind of claim, about a metric, a group and a side; what is None may be anything."""

    kind: str  # "found", "certified", "undetermined", "refused"
    metric: str | None = None
    who: Mapping[str, str] | None = None
    side: str | None = None  # "above" or "below"
    method: str | None = None
    effect: str | None = None  # "harmed" or "favoured"
    within: tuple[str, ...] | None = None  # what it is adjusted for; () of a gap as it is


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One whole audit with known truth."""

    name: str
    story: str
    world: World
    size: int
    seen: Callable[[People, Generator], File]
    roles: Mapping[str, Any]
    asks: tuple[Ask, ...]
    init: tuple[str, ...] | None = ()  # what the user adds to `init people.csv --yes`; None: the roles
    must: tuple[Expect, ...] = ()  # of the API's answers
    must_in_report: tuple[Expect, ...] = ()  # of the trial that init proposed
    never: tuple[Expect, ...] = ()  # neither here nor there
    rarely: tuple[Expect, ...] = ()  # false where it is claimed: as often as the level allows
    from_readme: bool = False  # written from the README alone
    short: bool = False  # one of those that run in `make test`
    groups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # labels as shown → as in the world
    more: str = ""  # what the user adds to the audit file that init wrote
    words: str = ""  # and under its [words]
    first: tuple[str, ...] = ()  # patterns that the report's first sentences hold
    screen: tuple[str, ...] = ()  # and its first screen
    verdicts: tuple[str, ...] = ()  # codes of which the report's verdict is one; any where there are none
    warnings: bool = False  # whether the product is meant to warn


def file_of(
    decision: str | None = None,
    outcome: str | None = None,
    score: str | None = None,
    *,
    yes: tuple[Any, Any] = (1, 0),
) -> Callable[[People, Generator], File]:
    """The file in which everything is known, under these names."""

    def seen(people: People, generator: Generator) -> File:
        file: dict[str, Labels] = {**people.groups, **people.columns}
        for name, values in ((decision, people.decision), (outcome, people.outcome)):
            if name is not None and values is not None:
                file[name] = _named(values, yes)
        if score is not None and people.score is not None:
            file[score] = people.score
        return file

    return seen


def _named(values: Any, yes: tuple[Any, Any]) -> Labels:
    one, zero = yes
    return np.asarray(np.where(np.asarray(values) == 1, one, zero))

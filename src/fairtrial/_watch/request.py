"""What a watch asks, fixed before its first look: the claims hold only for questions that did not follow the data."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from fairtrial._errors import Fault, Faults, InputError
from fairtrial._inference.sequential.streams import StreamRule
from fairtrial._metrics.groups import Group, Target

WHO = "watch"
_DAY, _MONTH, _YEAR = r"(0?[1-9]|[12][0-9]|3[01])", r"(0?[1-9]|1[0-2])", r"((?:19|20)[0-9]{2})"
_POINTS = re.compile(rf"{_DAY}\.{_MONTH}\.{_YEAR}|(0[1-9]|1[0-2])\.{_YEAR}")
_SLASHES = re.compile(r"[0-9]{1,2}[/-][0-9]{1,2}[/-](?:[0-9]{2}|[0-9]{4})")
SIDES = {"below": 0, "above": 1, "differs": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRequest:
    """The question as its state records it; `to_dict` is the first line's content."""

    metric: Mapping[str, Any]
    label: str
    roles: Mapping[str, Any]
    attributes: tuple[str, ...]  # compared one by one and in intersections
    groups: tuple[Group, ...]  # named one by one
    depth: int
    target: Target
    scale: str
    band: tuple[float, float] | None
    direction: str
    period: str
    bounds: tuple[float, float] | None
    waiting: int
    window: int | None
    reference: tuple[str, str] | None
    run_length: int
    block: int
    repeated: str
    confidence_level: float
    binary: bool

    def to_dict(self) -> dict[str, Any]:
        return {
            "metric": dict(self.metric),
            "roles": dict(self.roles),
            "attributes": list(self.attributes),
            "groups": [group.to_dict() for group in self.groups],
            "depth": self.depth,
            "target": self.target.to_dict(),
            "scale": self.scale,
            "tolerance": None if self.band is None else [_finite(end) for end in self.band],
            "direction": self.direction,
            "period": self.period,
            "bounds": None if self.bounds is None else list(self.bounds),
            "waiting": self.waiting,
            "window": self.window,
            "reference": None if self.reference is None else list(self.reference),
            "run_length": self.run_length,
            "block": self.block,
            "repeated": self.repeated,
            "confidence_level": self.confidence_level,
            "binary": self.binary,
        }

    @property
    def cell_attributes(self) -> tuple[str, ...]:
        """Every attribute that a cell tells apart."""
        named = [name for group in self.groups for name in group.attributes]
        own = self.target.group.attributes if self.target.group is not None else ()
        return tuple(dict.fromkeys([*self.attributes, *named, *own]))

    @property
    def closed(self) -> bool:
        """Whether no group can come up later."""
        return not self.attributes

    @property
    def alpha(self) -> float:
        return 1.0 - self.confidence_level

    @property
    def width(self) -> float:
        """What values are divided by, so that they lie in [0, 1]."""
        return 1.0 if self.bounds is None else self.bounds[1] - self.bounds[0]

    @property
    def rule(self) -> StreamRule:
        """The question as the compiled loops take it."""
        neutral = 1.0 if self.scale == "ratio" else 0.0
        low, high = (float(end) for end in self.band or (neutral, neutral))
        known = math.nan if self.target.value is None else float(self.target.value)
        if self.bounds is not None:
            known = (known - self.bounds[0]) / self.width
        if self.scale == "difference":
            low, high = low / self.width, high / self.width
        return StreamRule(
            low, high, self.scale == "ratio", known, self.target.kind == "overall", self.binary, self.block,
            SIDES[self.direction], -math.log(self.alpha),
        )  # fmt: skip

    def check_same(self, recorded: Mapping[str, Any]) -> None:
        """Refuse a state that watches something else."""
        own = self.to_dict()
        faults = Faults(WHO)
        for name, value in own.items():
            before = recorded.get(name)
            if before != value:
                required = f"belongs to a watch with {name} {before!r}"
                cure = "a question is fixed before its first look; begin a new state for another one"
                faults.add(Fault("state", required, got=value, cure=cure))
        faults.raise_any()

    def groups_among(self, labels: Sequence[Sequence[str]]) -> list[Group]:
        """The groups that the cells' labels hold, in a fixed order, without the reference itself."""
        found = dict.fromkeys(self.groups)
        places = [self.cell_attributes.index(name) for name in self.attributes]
        for size in range(1, min(self.depth, len(places)) + 1):
            for chosen in combinations(places, size):
                for values in sorted({tuple(label[place] for place in chosen) for label in labels}):
                    names = [self.cell_attributes[place] for place in chosen]
                    found[Group(tuple((n, (v,)) for n, v in zip(names, values, strict=True)))] = None
        return [group for group in found if group != self.target.group]


def _finite(end: float) -> float | None:
    return end if math.isfinite(end) else None


def inside(group: Group, attributes: Sequence[str], labels: Sequence[str]) -> bool:
    """Whether a cell belongs to the group."""
    return all(labels[attributes.index(name)] in values for name, values in group.where)


def period_order(label: str) -> tuple[int, float, str]:
    """Periods by number where they are numbers, by text (dates, weeks such as 2026-W07) otherwise.

    31.12.2024 and 12.2024 are dates: with points the day comes before the month, and the year last.
    """
    if date := _POINTS.fullmatch(label):
        day, month, year, alone, its = date.groups()
        return 1, 0.0, f"{year}-{int(month):02}-{int(day):02}" if day else f"{its}-{alone}"
    try:
        return 0, float(label), ""
    except ValueError:
        return 1, 0.0, label


def check_dates(labels: Sequence[str]) -> None:
    """Refuse dates of which nobody can tell whether the day or the month comes first: their order would be a guess."""
    found = next((label for label in labels if _SLASHES.fullmatch(label)), None)
    if found is not None:
        required = "must be in an order; of dates such as this one the day or the month may come first"
        cure = "write year, month and day, such as 2024-12-31, or 31.12.2024"
        raise InputError(WHO, Fault("period", required, got=found, cure=cure))


def check_reference(reference: Any) -> tuple[str, str] | None:
    """First and last period of the reference."""
    if reference is None:
        return None
    pair = [str(part) for part in reference] if isinstance(reference, list | tuple) else []
    if len(pair) != 2 or period_order(pair[0]) > period_order(pair[1]):
        required = "must be two periods, the first and the last"
        raise InputError(WHO, Fault("reference", required, got=reference))
    return pair[0], pair[1]

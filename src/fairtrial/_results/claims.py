"""What a result claims, as data: who, compared with whom, on which side, by how much, and how it was judged.

A claim is read off the rows and their states, never off a sentence. A row whose state is bad, or is said to be a
finding, claims one; a row with a good state claims a certificate, and any other row that was tested that nothing is
settled. A row that was not tested claims nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

from fairtrial._results.column import StateKind, scalar

Side = Literal["above", "below", "differs", "within"]
Judged = Literal["found", "certified", "undetermined"]


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that a result says about one group.

    Parameters
    ----------
    method : str
        The kind of the result.
    metric : str
        The metric's name.
    who : str
        The group with its attribute: "race: Black", "race: Black, sex: Male".
    against : str
        What it is compared with: "everyone else", "overall", "race: White", "0.3".
    direction : str
        "above", "below", "differs" where the side is not known, "within" of what was certified.
    size : float or None
        The estimate of the gap, on its scale.
    scale : str
        "difference" or "ratio".
    tolerance : tuple or None
        The tolerated gaps, low and high; None where none was given.
    level : float or None
        Of the intervals.
    verdict : str
        "found", "certified" or "undetermined".
    effect : str
        "harmed" or "favoured" where the audit says what is good for a person; else empty.
    within : tuple of str
        What both sides are alike in; empty of a gap as it is.
    """

    method: str
    metric: str
    who: str
    against: str
    direction: Side
    size: float | None
    scale: str
    tolerance: tuple[float, float] | None
    level: float | None
    verdict: Judged
    effect: str = ""
    within: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; what a result is adjusted for stands in its details."""
        return {
            **{name: value for name, value in asdict(self).items() if name != "within"},
            "tolerance": None
            if self.tolerance is None
            else [end if math.isfinite(end) else None for end in self.tolerance],
        }


class Claiming(Protocol):
    """What claims are read off."""

    @property
    def kind(self) -> str: ...
    @property
    def estimates(self) -> tuple[dict[str, Any], ...]: ...
    @property
    def details(self) -> dict[str, Any]: ...
    @property
    def provenance(self) -> dict[str, Any]: ...
    @property
    def confidence_level(self) -> float | None: ...
    def state_of(self, row: Mapping[str, Any], column: str = "state") -> StateKind: ...


def place_words(place: Sequence[Sequence[str]]) -> str:
    """A group with its attributes.

    >>> place_words([["race", "Black"], ["sex", "Male"]])
    'race: Black, sex: Male'
    """
    return ", ".join(f"{attribute}: {value}" for attribute, value in place)


def target_words(target: Any) -> str:
    """A target with its attributes, from the form in which it is recorded.

    >>> target_words("rest"), target_words({"race": ["A", "B"]}), target_words(0.25)
    ('everyone else', 'race: A or B', '0.25')
    """
    if isinstance(target, Mapping):
        if "estimate" in target:
            return f"{target['estimate']:g} (estimated)"
        values = {name: value if isinstance(value, list) else [value] for name, value in target.items()}
        return place_words([(name, " or ".join(map(str, listed))) for name, listed in values.items()])
    if isinstance(target, float | int):
        return f"{target:g}"
    return {"rest": "everyone else"}.get(str(target), str(target))


def group_claims(result: Claiming) -> list[Claim]:
    """The claims of a table with one group's gap per row."""
    return [claim for _, claim in claimed_rows(result)]


def claimed_rows(result: Claiming) -> list[tuple[dict[str, Any], Claim]]:
    """Every row that claims something, with its claim."""
    places = result.details.get("places", [])
    if len(places) != len(result.estimates):
        return []
    target = target_words(result.provenance.get("arguments", {}).get("target", ""))
    found = []
    for row, place in zip(result.estimates, places, strict=True):
        judged = _judged(result.state_of(row), row)
        if judged is not None:
            found.append((row, _claim(result, row, place_words(place), target, judged)))
    return found


def _claim(result: Claiming, row: Mapping[str, Any], who: str, against: str, judged: Judged) -> Claim:
    details = result.details
    scale = str(details.get("scale", "difference"))
    size = scalar(row.get(scale))
    if size is None:
        size = _nearest(scalar(row.get(f"{scale}_least")), scalar(row.get(f"{scale}_most")), scale)
    band = details.get("tolerance")
    return Claim(
        method=result.kind,
        metric=str(row["metric"]),
        who=who,
        against=against,
        direction=_side(size, scale, judged),
        size=None if size is None else float(size),
        scale=scale,
        tolerance=None if band is None else (_end(band[0], -math.inf), _end(band[1], math.inf)),
        level=result.confidence_level,
        verdict=judged,
        effect=str(row.get("effect") or ""),
        within=tuple(map(str, details.get("within") or ())),
    )


def _nearest(least: float | None, most: float | None, scale: str) -> float | None:
    """Of a gap between two ends, the one that is nearest to none."""
    if least is None or most is None:
        return None
    return min(max(1.0 if scale == "ratio" else 0.0, least), most)


def _end(value: float | None, open_end: float) -> float:
    """An end of a tolerance, infinite where only the other side counts."""
    return open_end if value is None else float(value)


def _judged(state: StateKind, row: Mapping[str, Any]) -> Judged | None:
    if state.tone == "bad" or state.found:
        return "found"
    if state.tone == "good":
        return "certified"
    return "undetermined" if scalar(row.get("p_value")) is not None else None


def _side(size: float | None, scale: str, judged: Judged) -> Side:
    if judged == "certified":
        return "within"
    none = 1.0 if scale == "ratio" else 0.0
    if size is None or size == none:
        return "differs"
    return "above" if size > none else "below"

"""What is asked of improve, in the two parts that are checked apart: the claim and the rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairtrial.errors import Fault, InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedClaim:
    """What would count as an improvement, as it was asked for."""

    accuracy: object
    fairness: object
    by: object
    delta: object
    method: str
    scale: str
    pooled: bool
    direction: str
    target: object


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedRules:
    """Which rules are tried and what they must respect, as it was asked for."""

    candidates: object
    fitted_elsewhere: bool
    folds: int
    capacity: float | str | None
    blind: bool
    banned: Sequence[str]
    monotone: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The whole question."""

    claim: WantedClaim
    rules: WantedRules


def find_monotone(asked: object) -> dict[str, Any]:
    """Features with their directions; which of them can be used is told once the audit is known."""
    if asked is not None and (not isinstance(asked, Mapping) or "" in asked):
        raise InputError("improve", Fault("monotone", "must pair features with 1 or -1", got=asked))
    return dict(asked or {})

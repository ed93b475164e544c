"""What the two stages of explain take and give, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial.methods.explain.solver.coalitions import CoalitionRates, Contributions, RowForm, Targets
from fairtrial.methods.explain.solver.esl import Floats, Masks
from fairtrial.methods.explain.solver.esl_groups import WaldTest
from fairtrial.methods.explain.solver.shapley_sampling import SampledOrders


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """One ESL value: its sequence over the groups and over the players."""

    name: str
    groups: Floats
    players: Floats
    sampled: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Estimates with intervals, standard errors and p-values, all of one shape; NaN where undefined."""

    value: Floats
    low: Floats
    high: Floats
    error: Floats
    p_value: Floats


@dataclass(frozen=True, slots=True, eq=False)
class GapTest:
    """One pair of groups: the gap of their rates, its interval and its p-value."""

    gap: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """What rates are divided by, with its rows' influence when it is estimated."""

    kind: str
    value: float
    influence: Floats | None


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """The data of both stages on the rows evaluated."""

    outputs: NDArray[Any]
    masks: Masks
    form: RowForm
    group: NDArray[np.int64]
    groups: int
    levels: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    players: int
    allocations: tuple[Allocation, ...]
    orders: SampledOrders | None
    baseline: Baseline
    level: float

    @property
    def full(self) -> int:
        return int(np.flatnonzero(self.masks == (1 << self.players) - 1)[0])

    @property
    def removals(self) -> list[int] | None:
        """Where the coalitions of all players but one are; None when they were not evaluated."""
        whole = (1 << self.players) - 1
        places = [np.flatnonzero(self.masks == whole - (1 << k)) for k in range(self.players)]
        return [int(place[0]) for place in places] if all(place.size for place in places) else None


@dataclass(frozen=True, slots=True, eq=False)
class FirstStage:
    """Rates per group under the full coalition and what the tests say. Undefined rates are NaN."""

    count: Floats
    rate: Floats
    low: Floats
    high: Floats
    binary: bool
    omnibus: WaldTest | None
    gaps: tuple[GapTest | None, ...]
    value: Estimates  # (groups, allocations, 1)
    cells: Estimates | None  # (cells, 1, 1): the multi-stage values of several attributes
    interaction: WaldTest | None


@dataclass(frozen=True, slots=True, eq=False)
class SecondStage:
    """Contributions by allocation and player.

    `value` is C^k_g in units of the baseline; `rate` contributions to the groups' own rates; `gap` to the
    differences of rates, pair by pair (and the interaction last, for two attributes of two levels).
    """

    value: Estimates  # (groups, allocations, players)
    rate: Estimates  # (groups, allocations, players)
    gap: Estimates  # (pairs, allocations, players)
    removal: Estimates | None  # (groups, 1, players): change of the group's rate when the player is left out
    undefined: NDArray[np.bool_]  # (targets, allocations) in the order value, rate, gap
    monte_carlo: (
        Floats | None
    )  # (pairs, players): standard error from sampling orders, of the gap contributions
    rates: CoalitionRates
    targets: Targets
    found: Contributions  # with the rows' influence on everything above

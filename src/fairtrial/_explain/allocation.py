"""How the gap is shared out: the allocations that are computed, and the coalitions that they need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._errors import Fault, InputError, Named, Set, Words, check_choice, choice_fault
from fairtrial._explain.solver.coalitions import RowForm
from fairtrial._explain.solver.esl import (
    LARGEST_PLAYERS,
    MEMBERS,
    Floats,
    Masks,
    all_coalitions,
    b_sequence,
    given_sequence,
    needed_coalitions,
    tells_groups_apart,
)
from fairtrial._explain.solver.sampled_coalitions import (
    FEWEST_PAIRS,
    USUAL_PAIRS,
    SampledCoalitions,
    budget_for,
    sample_coalitions,
)
from fairtrial._explain.wanted import WHO
from fairtrial._work import generator

# All coalitions are evaluated up to this many players; a budget that covers them allows a few more.
EXACT_PLAYERS = 12
LARGEST_EXACT_BUDGET = 16


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """One ESL value: its sequence over the groups and over the players."""

    name: str
    groups: Floats
    players: Floats
    sampled: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class CoalitionPlan:
    """The coalitions that are evaluated, and how they were drawn when there are too many for all."""

    masks: Masks
    sampled: SampledCoalitions | None = None


def check_allocation(allocation: Any) -> None:
    """Raise unless it is a member, a function, or sequences for the groups and the features."""
    if isinstance(allocation, str):
        check_choice(WHO, "allocation", allocation, MEMBERS)
    elif not callable(allocation) and not (
        isinstance(allocation, Mapping) and set(allocation) <= {"groups", "features"}
    ):
        required = f"must be one of {list(MEMBERS)} or sequences b for 'groups' and 'features'"
        raise InputError(WHO, Fault("allocation", required, got=allocation))


def plan_coalitions(allocation: Any, players: int, budget: int | None, seed: int) -> CoalitionPlan:
    """Which coalitions are evaluated: all, the few of Equal Surplus, or some that are drawn."""
    if players > LARGEST_PLAYERS:
        subject, cure = f"at most {LARGEST_PLAYERS} features", "join some in a dict"
        raise InputError(WHO, Fault("features", "can be players", got=players, cure=cure, subject=subject))
    if allocation == "equal_surplus":
        return CoalitionPlan(needed_coalitions(b_sequence("equal_surplus", players)))
    whole = (1 << players) - 1  # the full coalition, and the number of all but the empty one
    most = EXACT_PLAYERS if budget is None else LARGEST_EXACT_BUDGET
    if players <= most and (budget is None or whole <= budget):
        return CoalitionPlan(all_coalitions(players)[1:])
    budget = _checked_budget(allocation, players, budget)
    sampled = sample_coalitions(players, budget, generator(seed, "explain coalitions"))
    return CoalitionPlan(sampled.masks, sampled)


def _checked_budget(allocation: Any, players: int, budget: int | None) -> int:
    """The budget, where it is large enough to draw coalitions by."""
    least = budget_for(players, FEWEST_PAIRS)
    subject, many = f"{players} features", f"have {(1 << players) - 1:,} coalitions"
    if allocation != "shapley":
        text = (
            f"take 'shapley' with a {{}} of at least {least}, or 'equal_surplus', which needs {players + 1}"
        )
        required, cure = f"{many}, too many for this allocation", Words(text, Set("budget"))
        raise InputError(WHO, Fault("allocation", required, cure=cure, subject=subject))
    if budget is None:
        return budget_for(players, USUAL_PAIRS)
    if budget < least:
        text = f"give at least {least} to draw some of them, or {{}}, which needs {players + 1}"
        cure = Words(text, Set("allocation", "equal_surplus"))
        raise InputError(WHO, Fault("budget", many, cure=cure, subject=subject))
    return budget


def find_allocations(
    allocation: Any, groups: int, players: int, plan: CoalitionPlan
) -> tuple[Allocation, ...]:
    """The primary allocation first, then every other member that the evaluated coalitions allow."""

    def member(name: str, sampled: bool = False) -> Allocation:
        return Allocation(name, b_sequence(name, groups), b_sequence(name, players), sampled)

    if plan.sampled is not None:
        return member("shapley", sampled=True), member("equal_surplus")
    complete = plan.masks.size == (1 << players) - 1
    if isinstance(allocation, str):
        others = [name for name in MEMBERS if name != allocation] if complete else []
        return (member(allocation), *(member(name) for name in others))
    parts = {"groups": allocation, "features": allocation} if callable(allocation) else dict(allocation)
    sequences = {
        part: _sequence(part, parts.get(part, "shapley"), count)
        for part, count in (("groups", groups), ("features", players))
    }
    given = Allocation("given", sequences["groups"], sequences["features"])
    return (given, *(member(name) for name in MEMBERS))


def _sequence(part: str, b: str | Sequence[float] | Callable[[int, int], float], count: int) -> Floats:
    if isinstance(b, str):
        fault = choice_fault("allocation", b, MEMBERS)
        if fault is not None:
            raise InputError(WHO, replace(fault, subject=f"'allocation[{part}]'"))
        return b_sequence(b, count)
    try:
        return given_sequence(b, count)
    except (ValueError, TypeError) as error:
        raise InputError(
            WHO,
            Fault(
                "allocation",
                f"over the {part}: {error}",
                cure=Words("Leave {} out to have the default", Named("allocation")),
            ),
        ) from None


def check_tells_apart(primary: Allocation, form: RowForm, group: NDArray[np.int64], groups: int) -> None:
    """Refuse an allocation whose group values can be equal while the rates are not."""
    weights = np.array([max(1.0, float(form.weight0[group == g].sum())) for g in range(groups)])
    if not tells_groups_apart(primary.groups, weights):
        why = "b_1 = 0 makes the groups' values equal whatever their rates"
        if groups > 2:
            why = "these b make the groups' values equal for some unequal rates"
        raise InputError(
            WHO,
            Fault(
                "allocation",
                f"over the groups cannot tell them apart: {why}",
                cure=Words("Leave {} out to have the default", Named("allocation")),
            ),
        )

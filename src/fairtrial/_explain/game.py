"""The game that both stages of explain solve: its coalitions, allocations and baseline, and the form of the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._errors import Fault, InputError, Named, Set, Words, check_choice, choice_fault
from fairtrial._explain.explained_rows import ExplainedRows
from fairtrial._explain.models import row_form, score_ends, score_values
from fairtrial._explain.request import WHO, ExplainRequest
from fairtrial._explain.solver.coalitions import Contributions, RowForm, Targets
from fairtrial._explain.solver.esl import (
    FEWEST_PAIRS,
    LARGEST_PLAYERS,
    MEMBERS,
    USUAL_PAIRS,
    Floats,
    Masks,
    SampledCoalitions,
    all_coalitions,
    b_sequence,
    budget_for,
    given_sequence,
    needed_coalitions,
    sample_coalitions,
    tells_groups_apart,
)
from fairtrial._explain.solver.group_values import (
    BackgroundChanges,
    baseline_of,
    group_targets,
    multi_attribute_targets,
)
from fairtrial._explain.solver.influence import Spread, combine, interval, two_sided_p
from fairtrial._metrics.groups import Group
from fairtrial._work import generator

# -- How the gap is shared out: the allocations that are computed, and the coalitions that they need.
# All coalitions are evaluated up to this many players; a budget that covers them allows a few more.
EXACT_PLAYERS = 12
LARGEST_EXACT_BUDGET = 16


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """One ESL value: its sequences over the groups (one for each attribute) and over the players."""

    name: str
    attributes: tuple[Floats, ...]
    players: Floats
    pair: float  # b_1 of two groups by themselves
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
    allocation: Any, levels: tuple[int, ...], players: int, plan: CoalitionPlan
) -> tuple[Allocation, ...]:
    """The primary allocation first, then every other member that the evaluated coalitions allow.

    `levels` has the number of groups, or of several attributes the number of each one's levels (Theorem A.1).
    """

    def member(name: str, sampled: bool = False) -> Allocation:
        each = tuple(b_sequence(name, size) for size in levels)
        return Allocation(name, each, b_sequence(name, players), float(b_sequence(name, 2)[1]), sampled)

    if plan.sampled is not None:
        return member("shapley", sampled=True), member("equal_surplus")
    complete = plan.masks.size == (1 << players) - 1
    if isinstance(allocation, str):
        others = [name for name in MEMBERS if name != allocation] if complete else []
        return (member(allocation), *(member(name) for name in others))
    parts = {"groups": allocation, "features": allocation} if callable(allocation) else dict(allocation)
    over = parts.get("groups", "shapley")
    each = tuple(_given_sequence("groups", over, size) for size in levels)
    own = _given_sequence("features", parts.get("features", "shapley"), players)
    given = Allocation("given", each, own, _first_of_two(over, each))
    return (given, *(member(name) for name in MEMBERS))


def _first_of_two(over: Any, each: tuple[Floats, ...]) -> float:
    """b_1 of two groups: of the function or the member at n = 2, of numbers for two levels; of others Shapley's 1."""
    if callable(over) or isinstance(over, str):
        return float(_given_sequence("groups", over, 2)[1])
    return next((float(b[1]) for b in each if b.size == 3), 1.0)


def _given_sequence(part: str, b: str | Sequence[float] | Callable[[int, int], float], count: int) -> Floats:
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
    several = len(primary.attributes) > 1  # then each attribute by itself, its levels of equal size
    for b in primary.attributes:
        if tells_groups_apart(b, np.ones(b.size - 1) if several else weights):
            continue
        why = "b_1 = 0 makes the groups' values equal whatever their rates"
        if b.size > 3:
            why = "these b make the groups' values equal for some unequal rates"
        raise InputError(
            WHO,
            Fault(
                "allocation",
                f"over the groups cannot tell them apart: {why}",
                cure=Words("Leave {} out to have the default", Named("allocation")),
            ),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """What rates are divided by, with its rows' influence when it is estimated."""

    kind: str
    value: float
    influence: Floats | None


def find_baseline(kind: object, form: RowForm, outcome: Floats | None) -> Baseline:
    """A number, the metric of a coin ("random"), or of a coin that shows 1 as often as the outcome ("prior")."""
    if isinstance(kind, int | float):
        return Baseline("number", float(kind), None)
    if kind == "random":
        value, influence = baseline_of(form, 0.5)
    else:
        assert outcome is not None
        share = float(outcome.mean())
        value, influence = baseline_of(form, share, (outcome - share) / outcome.size)
    estimated = bool(np.abs(influence).max() > 1e-15)
    return Baseline(str(kind), value, influence if estimated else None)


@dataclass(frozen=True, slots=True, eq=False)
class TwoStageGame:
    """Groups and players as both stages see them, on the rows evaluated."""

    outputs: NDArray[Any]
    masks: Masks
    form: RowForm
    group: NDArray[np.int64]
    groups: int
    levels: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    players: int
    allocations: tuple[Allocation, ...]
    sampled: SampledCoalitions | None
    baseline: Baseline
    level: float
    scores_or_decisions: Floats  # the full coalition's, before a metric of scores is taken of them
    background: BackgroundChanges | None = None  # where absent features were imputed

    @property
    def whole(self) -> NDArray[Any]:
        """What the full coalition decides, as one column."""
        return self.outputs[:, self.full][:, None]

    @property
    def singles(self) -> Masks:
        """Each group on its own, as unions of groups."""
        return np.left_shift(np.int64(1), np.arange(self.groups, dtype=np.int64))

    @property
    def full(self) -> int:
        return int(np.flatnonzero(self.masks == (1 << self.players) - 1)[0])

    @property
    def removals(self) -> list[int] | None:
        """Where the coalitions of all players but one are; None when they were not evaluated."""
        whole = (1 << self.players) - 1
        places = [np.flatnonzero(self.masks == whole - (1 << k)) for k in range(self.players)]
        return [int(place[0]) for place in places] if all(place.size for place in places) else None


def make_game(
    request: ExplainRequest,
    explained: ExplainedRows,
    plan: CoalitionPlan,
    outputs: NDArray[Any],
    background: BackgroundChanges | None,
) -> TwoStageGame:
    """The game from the coalitions' decisions (or scores) on the rows evaluated."""
    form = row_form(request.metric, explained.rows).take(explained.test)
    outcome = explained.rows.roles.get("outcome")
    outcome = None if outcome is None else outcome[explained.test]
    baseline, whole = (
        request.baseline,
        int(np.flatnonzero(plan.masks == (1 << len(explained.players)) - 1)[0]),
    )
    given = outputs[:, whole].astype(np.float64)
    if request.scores:
        outputs = score_values(request.metric, outputs, outcome)
        form = replace(form, ends=score_ends(request.metric, outputs))
        baseline = 1.0 if baseline == "random" else baseline
    group, groups = explained.group[explained.test], len(explained.groups)
    allocations = find_allocations(
        request.allocation, explained.levels or (groups,), len(explained.players), plan
    )
    check_tells_apart(allocations[0], form, group, groups)
    return TwoStageGame(
        outputs=outputs, masks=plan.masks, form=form, group=group, groups=groups, levels=explained.levels,
        pairs=_pairs(explained, request.target), players=len(explained.players), allocations=allocations,
        sampled=plan.sampled, baseline=find_baseline(baseline, form, outcome), level=request.confidence_level,
        scores_or_decisions=given, background=background,
    )  # fmt: skip


def value_targets(game: TwoStageGame, extra: int) -> Targets:
    """φ of every group under every allocation, baseline 1; `extra` allocations more that have none.

    The groups of several attributes are cells, whose φ is that of Theorem A.1.
    """
    if game.levels:
        by_attribute = [
            multi_attribute_targets(allocation.attributes, 1.0) for allocation in game.allocations
        ]
        weights = np.concatenate([found.weights for found in by_attribute], axis=1)
        found = Targets(by_attribute[0].unions, weights)
    else:
        found = group_targets([allocation.attributes[0] for allocation in game.allocations], 1.0)
    padding = np.zeros((game.groups, extra, found.unions.size))
    return Targets(found.unions, np.concatenate([found.weights, padding], axis=1))


def _pairs(explained: ExplainedRows, target: Mapping[str, Any] | None) -> tuple[tuple[int, int], ...]:
    count = len(explained.groups)
    if target is not None:
        last = explained.groups.index(Group.of(target))
        return tuple((g, last) for g in range(count) if g != last)
    return tuple((g, h) for g in range(count) for h in range(g + 1, count))


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Estimates with intervals, standard errors and p-values, all of one shape; NaN where undefined."""

    value: Floats
    low: Floats
    high: Floats
    error: Floats
    p_value: Floats

    def at(self, allocation: int) -> Estimates:
        """Those of one allocation, the second axis."""
        parts = (self.value, self.low, self.high, self.error, self.p_value)
        return Estimates(*(part[:, allocation] for part in parts))

    def times(self, factor: float) -> Estimates:
        """In other units; p-values stay."""
        return Estimates(
            self.value * factor, self.low * factor, self.high * factor, self.error * factor, self.p_value
        )


def estimates_of(
    found: Contributions, place: tuple[slice, slice], level: float, error: Spread, scale: float = 1.0
) -> Estimates:
    """Some targets and allocations of a decomposition, in units of `scale`, with intervals and tests at the level.

    Interval and test are about the centre that the quarter rows make, so they agree; the estimate itself is the one
    that adds up. Nothing lies beyond what is possible. NaN where undefined.
    """
    gone = found.undefined[place][..., None]
    value = np.where(np.abs(found.estimate[place]) < 1e-13, 0.0, found.estimate[place]) / scale
    centre = found.centre[place] / scale
    low, high = interval(centre, error, level)
    low, high = (
        np.maximum(low, found.reach[0][place] / scale),
        np.minimum(high, found.reach[1][place] / scale),
    )
    p = two_sided_p(np.where(np.abs(centre) < 1e-13, 0.0, centre), error)
    return Estimates(*(np.where(gone, np.nan, part) for part in (value, low, high, error.error, p)))


def in_units_of_baseline(
    game: TwoStageGame,
    found: Contributions,
    error: Spread,
    place: tuple[slice, slice],
    chance: Spread | None = None,
) -> Estimates:
    """Some targets and allocations in units of the baseline; an estimated baseline adds its influence.

    `chance` is the error that does not come from the people: drawn coalitions and background rows.
    """
    base = game.baseline
    scaled = Spread(error.error[place] / base.value, error.df[place])
    if base.influence is not None:
        errors = scaled.error.copy()
        for column, v in enumerate(range(len(game.allocations))[place[1]]):
            targets = found.estimate[place[0], v] / base.value
            variance = found.scaled_variance(v, place[0], targets, base.influence, game.group)
            errors[:, column] = np.sqrt(variance) / base.value
            if chance is not None:
                errors[:, column] = np.hypot(errors[:, column], chance.error[place[0], v] / base.value)
        scaled = Spread(errors, scaled.df)
    return estimates_of(found, place, game.level, scaled, base.value)


def add_error(error: Spread, chance: Spread) -> Spread:
    """One more independent error, with its own degrees of freedom."""
    freedom = np.where(np.isfinite(error.df), error.df, 1e12)
    return combine(np.stack([error.error**2, chance.error**2]), np.stack([freedom, chance.df]))

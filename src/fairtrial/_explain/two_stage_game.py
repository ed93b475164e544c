"""The game that both stages of explain solve, what rates are divided by, and the form of the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._explain.allocation import Allocation, CoalitionPlan, check_tells_apart, find_allocations
from fairtrial._explain.explained_rows import ExplainedRows
from fairtrial._explain.metric import row_form, score_ends, score_values
from fairtrial._explain.solver.coalitions import Contributions, RowForm, Targets
from fairtrial._explain.solver.esl import MEMBERS, Floats, Masks, b_sequence
from fairtrial._explain.solver.esl_groups import baseline_of, group_targets, multi_attribute_targets
from fairtrial._explain.solver.influence import Spread, combine, interval, two_sided_p
from fairtrial._explain.solver.sampled_coalitions import SampledCoalitions
from fairtrial._explain.wanted import Wanted
from fairtrial._metrics.groups import Group


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
    wanted: Wanted, explained: ExplainedRows, plan: CoalitionPlan, outputs: NDArray[Any]
) -> TwoStageGame:
    """The game from the coalitions' decisions (or scores) on the rows evaluated."""
    form = row_form(wanted.metric, explained.rows).take(explained.test)
    outcome = explained.rows.roles.get("outcome")
    outcome = None if outcome is None else outcome[explained.test]
    baseline, whole = wanted.baseline, int(np.flatnonzero(plan.masks == (1 << len(explained.players)) - 1)[0])
    given = outputs[:, whole].astype(np.float64)
    if wanted.scores:
        outputs = score_values(wanted.metric, outputs, outcome)
        form = replace(form, ends=score_ends(wanted.metric, outputs))
        baseline = 1.0 if baseline == "random" else baseline
    group, groups = explained.group[explained.test], len(explained.groups)
    allocations = find_allocations(wanted.allocation, groups, len(explained.players), plan)
    check_tells_apart(allocations[0], form, group, groups)
    return TwoStageGame(
        outputs=outputs, masks=plan.masks, form=form, group=group, groups=groups, levels=explained.levels,
        pairs=_pairs(explained, wanted.reference), players=len(explained.players), allocations=allocations,
        sampled=plan.sampled, baseline=find_baseline(baseline, form, outcome), level=wanted.confidence_level,
        scores_or_decisions=given,
    )  # fmt: skip


def value_targets(game: TwoStageGame, extra: int) -> Targets:
    """φ of every group under every allocation, baseline 1; `extra` allocations more that have none.

    The groups of several attributes are cells, whose φ is that of Theorem A.1.
    """
    if game.levels:
        by_attribute = [
            multi_attribute_targets([_sequence(allocation, size) for size in game.levels], 1.0)
            for allocation in game.allocations
        ]
        weights = np.concatenate([found.weights for found in by_attribute], axis=1)
        found = Targets(by_attribute[0].unions, weights)
    else:
        found = group_targets([allocation.groups for allocation in game.allocations], 1.0)
    padding = np.zeros((game.groups, extra, found.unions.size))
    return Targets(found.unions, np.concatenate([found.weights, padding], axis=1))


def _sequence(allocation: Allocation, size: int) -> Floats:
    """Of one attribute's levels; a given sequence is for the groups as they are, so Shapley stands for it here."""
    return b_sequence(allocation.name if allocation.name in MEMBERS else "shapley", size)


def _pairs(explained: ExplainedRows, reference: Mapping[str, Any] | None) -> tuple[tuple[int, int], ...]:
    count = len(explained.groups)
    if reference is not None:
        last = explained.groups.index(Group.of(reference))
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
    """Some targets and allocations in units of the baseline; an estimated baseline adds its influence."""
    base = game.baseline
    scaled = Spread(error.error[place] / base.value, error.df[place])
    if base.influence is not None:
        errors = scaled.error.copy()
        for column, v in enumerate(range(len(game.allocations))[place[1]]):
            targets = found.estimate[place[0], v] / base.value
            variance = found.scaled_variance(v, place[0], targets, base.influence, game.group)
            errors[:, column] = np.sqrt(variance) / base.value
            if chance is not None and game.allocations[v].sampled:
                errors[:, column] = np.hypot(errors[:, column], chance.error[place[0]] / base.value)
        scaled = Spread(errors, scaled.df)
    return estimates_of(found, place, game.level, scaled, base.value)


def add_error(error: Spread, chance: Spread) -> Spread:
    """One more independent error, with its own degrees of freedom."""
    freedom = np.where(np.isfinite(error.df), error.df, 1e12)
    return combine(np.stack([error.error**2, chance.error**2]), np.stack([freedom, chance.df]))

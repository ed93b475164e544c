"""The game that the two stages of explain solve: groups and players on the rows evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial.methods.explain.allocation import (
    Allocation,
    CoalitionPlan,
    check_tells_apart,
    find_allocations,
)
from fairtrial.methods.explain.baseline import Baseline, find_baseline
from fairtrial.methods.explain.explained_rows import ExplainedRows
from fairtrial.methods.explain.metric import row_form, score_values
from fairtrial.methods.explain.solver.coalitions import RowForm
from fairtrial.methods.explain.solver.esl import Masks
from fairtrial.methods.explain.solver.shapley_sampling import SampledOrders
from fairtrial.metrics.groups import Group
from fairtrial.metrics.metric import Metric


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
    orders: SampledOrders | None
    baseline: Baseline
    level: float

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


@dataclass(frozen=True, slots=True)
class GameChoices:
    """How the game is to be solved."""

    allocation: Any
    baseline: str | float
    reference: Mapping[str, Any] | None
    level: float
    scores: bool


def make_game(
    metric: Metric, explained: ExplainedRows, plan: CoalitionPlan, outputs: NDArray[Any], choices: GameChoices
) -> TwoStageGame:
    """The game from the coalitions' decisions (or scores) on the rows evaluated."""
    form = row_form(metric, explained.rows).take(explained.test)
    outcome = explained.rows.roles.get("outcome")
    outcome = None if outcome is None else outcome[explained.test]
    baseline = choices.baseline
    if choices.scores:
        outputs = score_values(metric, outputs, outcome)
        baseline = 1.0 if baseline == "random" else baseline
    group, groups = explained.group[explained.test], len(explained.groups)
    allocations = find_allocations(choices.allocation, groups, len(explained.players), plan)
    check_tells_apart(allocations[0], form, group, groups)
    return TwoStageGame(
        outputs=outputs, masks=plan.masks, form=form, group=group, groups=groups, levels=explained.levels,
        pairs=_pairs(explained, choices.reference), players=len(explained.players), allocations=allocations,
        orders=plan.orders, baseline=find_baseline(baseline, form, outcome), level=choices.level,
    )  # fmt: skip


def _pairs(explained: ExplainedRows, reference: Mapping[str, Any] | None) -> tuple[tuple[int, int], ...]:
    count = len(explained.groups)
    if reference is not None:
        last = explained.groups.index(Group.of(reference))
        return tuple((g, last) for g in range(count) if g != last)
    return tuple((g, h) for g in range(count) for h in range(g + 1, count))

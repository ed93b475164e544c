"""An explanation with all it was made from, and why a part of it is undefined."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairtrial._explain.explained_rows import ExplainedRows
from fairtrial._explain.first_stage import ComparedGroups, FirstStage
from fairtrial._explain.second_stage import SecondStage
from fairtrial._explain.solver.coalitions import group_members
from fairtrial._explain.two_stage_game import TwoStageGame
from fairtrial._explain.wanted import Wanted
from fairtrial._metrics.metric import Metric

INTERACTION = "interaction"


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Both stages' numbers with the metric, the rows and the choices behind them."""

    wanted: Wanted
    by_text: str
    explained: ExplainedRows
    game: TwoStageGame
    first: FirstStage
    second: SecondStage
    agreement: (
        float | None
    )  # share of the rows evaluated that the explained system decides as the audited one did

    @property
    def metric(self) -> Metric:
        return self.wanted.metric

    @property
    def favourable(self) -> str:
        """Which side is better for people: "higher" or "lower"."""
        return self.wanted.favourable or ("lower" if self.metric.hurts == "above" else "higher")

    @property
    def labels(self) -> list[str]:
        return self.explained.labels

    @property
    def allocation(self) -> str:
        """The primary one."""
        return self.game.allocations[0].name

    @property
    def alpha(self) -> float:
        return 1.0 - self.game.level

    @property
    def value_kind(self) -> str:
        return "percent" if self.first.binary else "number"

    @property
    def another_system(self) -> bool:
        """Whether decisions were audited that are not, row by row, the explained ones."""
        return self.first.audited is not None and (self.agreement != 1.0 or not self.explained.everybody)

    @property
    def pair_labels(self) -> list[tuple[str, str]]:
        """(group, minus what) of every gap; the interaction of two attributes comes last."""
        labels = self.labels
        pairs = [(labels[g], labels[h]) for g, h in self.game.pairs]
        return pairs + [(INTERACTION, "")] * (self.second.gap.value.shape[0] - len(pairs))

    def reason(self, target: int, allocation: int) -> str:
        """Why a contribution is undefined: the first coalition and group without a denominator."""
        if not self.second.undefined[target, allocation]:
            return ""
        weights = self.second.targets.weights[target, allocation]
        members = group_members(self.second.targets.unions, self.game.groups)
        union, coalition = np.argwhere((weights != 0)[:, None] & ~self.second.rates.defined)[0]
        who = " and ".join(self.labels[g] for g in np.flatnonzero(members[union]))
        names = ", ".join(self.explained.names_of(int(self.game.masks[coalition])))
        why = f"is undefined for the classifier of ({names}): nobody meets its condition"
        return f"{self.metric.label} of {who} {why}"

    def empty_group(self, groups: ComparedGroups) -> str:
        """Which group has nobody who counts."""
        rates = zip(self.labels, groups.rate, strict=True)
        empty = [label for label, rate in rates if math.isnan(rate)]
        why = "is undefined: nobody among the rows evaluated meets its condition"
        return f"{self.metric.label} of {', '.join(empty)} {why}"

"""The article's test: its split, its median rule, and the gap |F_r − F_b| with its kink by the reflected bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairtrial._improve.combining import Sampled

# the split, Corollary 1 and Proposition 1, which hold their level and are those of `improve`
from fairtrial._improve.combining import combine_p_values as combine_p_values
from fairtrial._improve.combining import splits_against_manipulation as splits_against_manipulation
from fairtrial._improve.components import Component, LevelSide, MarginKind, Pair, log_levels, worst_pair
from fairtrial._improve.contest import Contest, GapVariant
from fairtrial._improve.request import split_rows as split_rows
from fairtrial._inference.numeric.cell_bootstrap import Levels

PAPER = (
    "The article's fairness component rejects up to four times too often when gaps are one or two standard errors from "
    "zero; the smooth method does not."
)


@dataclass(frozen=True, slots=True, eq=False)
class KinkedComponent(Component):
    """The article's inequality between two absolute gaps, its draws left as printed."""

    def _reversed(self) -> NDArray[np.bool_] | bool:
        return False


def kinked_gap(
    levels: Levels, utility: int, *, kind: MarginKind, pairs: Sequence[Pair], one_sided: bool
) -> KinkedComponent:
    """The article's T_f = |F1r − F1b| − (1−Δf)|F0r − F0b|, kink included; more groups: the largest gap."""
    new, old = (_largest_gap(levels, utility, rule, pairs, one_sided) for rule in (1, 0))
    return KinkedComponent("gap", "fairness", kind, new, old, levels.counts)


def _largest_gap(
    levels: Levels, utility: int, rule: int, pairs: Sequence[Pair], one_sided: bool
) -> LevelSide:
    worst = LevelSide.of(levels, utility, rule, *worst_pair(levels.estimate[utility, rule], pairs))
    draws = np.max([LevelSide.of(levels, utility, rule, *pair).draws for pair in pairs], 0)
    if not one_sided:
        return LevelSide(worst.estimate, draws, worst.influence)
    influence = worst.influence if worst.estimate > 0 else np.zeros_like(worst.influence)
    return LevelSide(max(worst.estimate, 0.0), np.maximum(draws, 0.0), influence)


def _components(contest: Contest, sampled: Sampled, m: int) -> list[KinkedComponent]:
    claim, levels = contest.claim, sampled.plain[1]
    ratio = claim.scale == "ratio"
    levels = log_levels(levels) if ratio else levels
    kind: MarginKind = "relative" if ratio else claim.kind
    return [kinked_gap(levels, m, kind=kind, pairs=claim.pairs, one_sided=claim.one_sided)]


ARTICLE = GapVariant("paper", PAPER, _components)

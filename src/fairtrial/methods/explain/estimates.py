"""Estimates with their intervals and p-values, in rates or in units of the baseline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairtrial.methods.explain.solver.coalitions import Contributions
from fairtrial.methods.explain.solver.esl import Floats
from fairtrial.methods.explain.solver.influence import (
    Spread,
    combine,
    interval,
    spread,
    two_sided_p,
    with_estimated_scale,
)
from fairtrial.methods.explain.two_stage_game import TwoStageGame


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


def estimates_of(value: Floats, error: Spread, undefined: NDArray[np.bool_], level: float) -> Estimates:
    """Intervals and tests at the level; NaN where undefined."""
    gone = np.broadcast_to(
        undefined.reshape(undefined.shape + (1,) * (value.ndim - undefined.ndim)), value.shape
    )
    value = np.where(np.abs(value) < 1e-13, 0.0, value)
    low, high = interval(value, error, level)
    p = two_sided_p(value, error)
    parts = [np.where(gone, np.nan, part) for part in (value, low, high, error.error, p)]
    return Estimates(*parts)


def in_units_of_baseline(
    game: TwoStageGame, found: Contributions, error: Spread, part: slice, chance: Floats | None = None
) -> Estimates:
    """C^k_g in units of the baseline; an estimated baseline adds its influence."""
    base, real = game.baseline, len(game.allocations)
    value = found.estimate[part, :real] / base.value
    undefined = found.undefined[part, :real]
    scaled = Spread(error.error[part, :real] / base.value, error.df[part, :real])
    if base.influence is not None:
        errors, df = scaled.error.copy(), scaled.df.copy()
        for v in range(value.shape[1]):
            raw = found.influence(v)[:, part] / base.value
            joined = spread(with_estimated_scale(raw, value[:, v], base.influence, base.value), game.group)
            if chance is not None and game.allocations[v].sampled:
                joined = add_variance(joined, chance / base.value**2, game)
            errors[:, v], df[:, v] = joined.error, joined.df
        scaled = Spread(errors, df)
    return estimates_of(value, scaled, undefined, game.level)


def add_variance(error: Spread, chance: Floats, game: TwoStageGame) -> Spread:
    """One more independent variance, known from the sampled pairs of orders."""
    assert game.orders is not None
    freedom = np.where(np.isfinite(error.df), error.df, 1e12)
    both = np.stack([error.error**2, chance])
    return combine(both, np.stack([freedom, np.full_like(freedom, game.orders.pairs - 1.0)]))

"""Empirical likelihood limits of many groups' means at once: compiled passes over rows, no solve inside a solve."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from fairtrial._inference.means.empirical_likelihood import Sample
from fairtrial._inference.numeric.roots import Floats, Integers


class EndToEnd(NamedTuple):
    """The values of all groups one after another, group g from starts[g] to starts[g + 1]."""

    values: Floats
    counts: Floats  # empty where every value counts once
    starts: Integers
    offset: Floats | float = 0.0  # what was taken off each group's values beforehand

    @staticmethod
    def of_rows(groups: Sequence[Floats]) -> EndToEnd:
        """One value per row."""
        return EndToEnd(_joined(groups), np.empty(0), _starts(groups))

    @staticmethod
    def of_samples(samples: Sequence[Sample]) -> EndToEnd:
        """Distinct values with their counts, each group centred at its own mean."""
        centred = [sample.centred for sample in samples]
        repeated = any(sample.size > sample.centred.size for sample in samples)
        counts = _joined([sample.counts for sample in samples]) if repeated else np.empty(0)
        means = np.array([sample.mean for sample in samples])
        return EndToEnd(_joined(centred), counts, _starts(centred), means)


def _joined(groups: Sequence[Floats]) -> Floats:
    return np.concatenate(groups).astype(np.float64, copy=False) if groups else np.empty(0)


def _starts(groups: Sequence[Floats]) -> Integers:
    return np.array([0, *accumulate(group.size for group in groups)], dtype=np.int64)


def mean_limits_of_many(groups: EndToEnd, critical: Floats) -> tuple[Floats, Floats]:
    """Limits of every group's mean at its own critical value (see `el_mean_limits`); NaN without variation.

    The root of the log ratio is nearly linear in the tilt of the weights: its expansion to third order starts the
    search, and the expansion around that tilt mostly ends it, after a single pass with a division per row.
    """
    # Compiled code loads only when it is asked for.
    from fairtrial._inference.means.likelihood_loops import limits_of_groups

    low, high = limits_of_groups(groups.values, groups.counts, groups.starts, critical)
    return groups.offset + low, groups.offset + high

"""Small data sets for the tests of improve."""

from __future__ import annotations

import numpy as np

from fairtrial.stats.cell_bootstrap import Utility, bootstrap_levels, level_cells
from fairtrial.stats.improvement import (
    accuracy_components,
    directed_pairs,
    paper_fairness_component,
    smooth_fairness_components,
)


def split_components(*, splits, method, rows=600, draws=400):
    """Components of several splits of one two-group comparison in which the candidate is better."""
    found = []
    for split in range(splits):
        rng = np.random.default_rng(split)
        group = rng.integers(0, 2, rows)
        ones = np.ones(rows)
        right0 = (rng.random(rows) < np.array([0.75, 0.5])[group]).astype(float)
        right1 = (rng.random(rows) < np.array([0.8, 0.72])[group]).astype(float)
        utility = Utility(name="accuracy", u0=right0, w0=ones, u1=right1, w1=ones)
        levels = bootstrap_levels(level_cells(group, 2, [utility]), draws, rng)
        pairs = directed_pairs(2)
        accuracy = accuracy_components(levels, 0, ["a", "b"], scale="ratio", pooled=False)
        if method == "paper":
            fairness = [paper_fairness_component(levels, 0, scale="ratio", pairs=pairs, one_sided=False)]
        else:
            fairness = smooth_fairness_components(
                levels, 0, ["a", "b"], scale="ratio", pairs=pairs, worst=(0, 1), one_sided=False
            )
        found.append([*accuracy, *fairness])
    return found

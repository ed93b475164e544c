"""Small data sets for the tests of improve."""

from __future__ import annotations

import numpy as np

from fairtrial import Audit
from inside.improve import (
    accuracy_components,
    directed_pairs,
    smooth_fairness_components,
    split_level,
    split_thresholds,
    staircase,
)
from inside.inference import Utility, bootstrap_levels, level_cells
from inside.papers import kinked_gap


def audit_of(data, **changes):
    """The audit of misled people, with other roles where they are named."""
    roles = {
        "outcome": "outcome",
        "decision": "decision",
        "groups": "group",
        "features": ["need", "proxy", "sector"],
    }
    return Audit(data, **{**roles, **changes})


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
        accuracy = accuracy_components(levels, 0, ["a", "b"], kind="relative")
        if method == "paper":
            fairness = [kinked_gap(levels, 0, kind="relative", pairs=pairs, one_sided=False)]
        else:
            fairness = smooth_fairness_components(
                levels, 0, ["a", "b"], kind="relative", pairs=pairs, worst=(0, 1), one_sided=False
            )
        found.append([*accuracy, *fairness])
    return found


def surface(splits, levels, aggregation):
    """The staircases of several levels from the components of all splits."""
    return [
        staircase([split_thresholds(c, split_level(level, aggregation)) for c in splits], level, aggregation)
        for level in levels
    ]


def misled_people(rows=2000, seed=0, groups=2):
    """A status quo that is misled by a proxy, more so for group b; `need` is what it should have used."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, rows)
    need, proxy = rng.normal(size=(2, rows))
    outcome = (need + 0.5 * rng.normal(size=rows) > 0).astype(int)
    misread = np.where(group == 1, 1.5, 0.8)
    return pd.DataFrame(
        {
            "group": np.array(list("abc"))[group],
            "need": need,
            "proxy": proxy,
            "outcome": outcome,
            "decision": (need + misread * proxy - 0.6 * (group == 1) > 0).astype(int),
            "conditions": rng.poisson(np.exp(0.5 * need + 0.5)),
            "risk": need + proxy * (group == 1) + 0.5 * (group == 0),
            "better": (need > 0).astype(int),
            "sector": np.resize(["public", "private", "other"], rows),
            "margin": np.where(outcome == 1, 2.0, -1.0),
        }
    )

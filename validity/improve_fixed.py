"""Rules fixed beforehand, tested on all rows: size with every option that changes the test, and power beside splits.

Every line runs the public function on rows. The candidate is far more accurate, so that only the gap stands between
the test and a rejection; its gap is exactly as large as the status quo's (size) or smaller (power).
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial.errors import NotApplicable
from validity.board import Cell

Floats = NDArray[np.float64]
Random = np.random.Generator


def _improve(table: dict[str, NDArray[Any]], **asked: Any) -> float | None:
    """The p-value of the candidate column `other`; None where the sample shows no disparity."""
    import pyarrow as pa

    from fairtrial.data.audit import Audit
    from fairtrial.methods.improve.method import improve

    roles: dict[str, Any] = {
        "outcome": "outcome",
        "groups": "group",
        **asked.pop("roles", {"decision": "decision"}),
    }
    asked = {"accuracy": "accuracy", "fairness": "selection_rate", "bootstrap": 199, "jobs": 1, **asked}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            audit = Audit(pa.table(table), **roles)
            return improve(audit, candidates="other", fitted_elsewhere=True, **asked).p_value
        except NotApplicable:
            return None


def decided(rng: Random, group: NDArray[np.int64], old: Floats, new: Floats) -> dict[str, NDArray[Any]]:
    """People with even outcomes; `old` and `new` have (true, false) positive rates by group, with common luck."""
    outcome = (rng.random(group.size) < 0.5).astype(np.int64)
    luck = rng.random(group.size)
    d0, d1 = ((luck < rates[group, 1 - outcome]).astype(np.int64) for rates in (old, new))
    return {"group": np.array(["a", "b", "c"])[group], "outcome": outcome, "decision": d0, "other": d1}


def rates_of(selection: tuple[float, ...], accuracy: float) -> Floats:
    """(true, false) positive rates that give these selection rates and this accuracy with even outcomes."""
    share = np.array(selection)
    return np.stack([share + (accuracy - 0.5), share - (accuracy - 0.5)], axis=1)


def column_rejections(
    repeats: int,
    rng: Random,
    *,
    people: int,
    old: tuple[float, ...],
    new: tuple[float, ...],
    **asked: Any,
) -> Floats:
    """Selection rates of both rules by group; the status quo's accuracy is .6 and the candidate's .85."""
    group = np.repeat(np.arange(len(old)), people)
    found = np.zeros(repeats)
    for i in range(repeats):
        table = decided(rng, group, rates_of(old, 0.6), rates_of(new, 0.85))
        p = _improve(table, seed=int(rng.integers(2**31)), **asked)
        found[i] = p is not None and p <= 0.05
    return found


def mixed_errors(repeats: int, rng: Random) -> Floats:
    """Two fairness metrics: one gap closes, the other stays; all of them must shrink."""
    group = np.repeat([0, 1], 300)
    old, new = rates_of((0.42, 0.58), 0.6), np.array([[0.77, 0.23], [0.93, 0.07]])
    found = np.zeros(repeats)
    for i in range(repeats):
        table = decided(rng, group, old, new)
        p = _improve(
            table, fairness=["selection_rate", "tpr"], sign={"group": "b"}, seed=int(rng.integers(2**31))
        )
        found[i] = p is not None and p <= 0.05
    return found


def capacity_errors(repeats: int, rng: Random, *, people: int, capacity: float) -> Floats:
    """Two scores with equal gaps, the top κ of the same rows: the threshold is estimated where it is tested."""
    found = np.zeros(repeats)
    for i in range(repeats):
        group = rng.integers(0, 2, people)
        common, first, second = rng.normal(size=(3, people))
        outcome = (rng.random(people) < 1 / (1 + np.exp(-3 * second))).astype(np.int64)
        table = {
            "group": np.array(["a", "b"])[group],
            "outcome": outcome,
            "score": common + first + 0.5 * group,
            "other": common + second + 0.5 * group,
        }
        asked = {"accuracy": "ppv", "capacity": capacity, "roles": {"score": "score"}, "sign": {"group": "b"}}
        p = _improve(table, seed=int(rng.integers(2**31)), **asked)
        found[i] = p is not None and p <= 0.05
    return found


def rerun_errors(repeats: int, rng: Random, *, reruns: int) -> Floats:
    """Section 5's game: the analyst repeats seven splits with other seeds and reports the best p-value."""
    from fairtrial.methods.improve.solver.all_splits import combine_p_values

    group = np.repeat([0, 1], 150)
    found = np.zeros(repeats)
    for i in range(repeats):
        # the gap of the status quo less the candidate's, by normal theory on halves: T = 0 and a sign that is known
        effect = rng.normal(size=group.size)
        best = 1.0
        for _ in range(reruns):
            halves = np.array([effect[rng.permutation(effect.size)[: effect.size // 2]] for _ in range(7)])
            z = halves.mean(axis=1) / (halves.std(axis=1, ddof=1) / np.sqrt(halves.shape[1]))
            best = min(best, combine_p_values(list(_upper(z)), "median"))
        found[i] = best <= 0.05
    return found


def _upper(z: Floats) -> Floats:
    from scipy.special import ndtr

    return np.asarray(ndtr(-z))


def ratio_errors(
    repeats: int, rng: Random, *, people: int, old: tuple[float, float], new: tuple[float, float]
) -> Floats:
    """Impact ratios of the two rules that are equal, or each other's inverse."""
    from fairtrial.inference.numeric.cell_bootstrap import bootstrap_levels
    from fairtrial.methods.improve.solver.improvement import (
        directed_pairs,
        log_levels,
        smooth_fairness_components,
    )
    from validity.improve_designs import NAMES, cells_of_rates, largest_p

    group = np.repeat([0, 1], people)
    worst = (0, 1) if old[0] > old[1] else (1, 0)
    found = np.zeros(repeats)
    for i in range(repeats):
        cells = cells_of_rates(rng, group, np.array(old), np.array(new), 0.5)
        logs = log_levels(bootstrap_levels(cells, 1, rng))
        components = smooth_fairness_components(
            logs,
            0,
            NAMES,
            kind="relative",
            pairs=directed_pairs(2),
            worst=worst,
            one_sided=False,
            law="normal",
        )
        found[i] = largest_p(components) <= 0.05
    return found


def area_errors(repeats: int, rng: Random, *, people: int, positives: int) -> Floats:
    """Two scores with equal areas, correlated; few positives."""
    from fairtrial.methods.improve.solver.area import area_component

    outcome = np.zeros(people)
    outcome[:positives] = 1.0
    found = np.zeros(repeats)
    for i in range(repeats):
        common, first, second = rng.normal(size=(3, people))
        p = area_component("everyone", outcome, common + first + outcome, common + second + outcome).p_value(
            0.0
        )
        found[i] = p <= 0.05
    return found


def _cell(name: str, design: str, run: Any, **settings: Any) -> Cell:
    return Cell("improve", name, design, settings.pop("claim", "size"), run, **settings)


_SIGN: dict[str, Any] = {"sign": {"group": "b"}}
_SAME = "candidate column, far more accurate and exactly as unfair, all rows"

CELLS = [
    *(
        _cell(
            f"fixed rule, {people} a group, gap {old[1] - old[0]:.2f}, {side} side, {name}",
            f"{_SAME}, on the {side} side",
            partial(column_rejections, people=people, old=old, new=new, **asked),
            short=400 if people == 120 and name == "sign stated" and side == "other" else 0,
            long=2000,
        )
        for people, old, new, side in (
            (120, (0.43, 0.57), (0.57, 0.43), "other"),
            (120, (0.43, 0.57), (0.43, 0.57), "same"),
            (400, (0.45, 0.55), (0.55, 0.45), "other"),
        )
        for name, asked in (("sign stated", _SIGN), ("sign not stated", {}))
    ),
    _cell("fixed rule, no disparity at all, sign not stated", "no gap under either rule, 150 a group",
          partial(column_rejections, people=150, old=(0.5, 0.5), new=(0.5, 0.5)), short=0, long=2000),
    _cell("fixed rule, three groups, gap opened elsewhere", "closes the worst gap, opens an equal one, 3 × 250",
          partial(column_rejections, people=250, old=(0.6, 0.4, 0.5), new=(0.6, 0.6, 0.4), sign=["a", "b"]),
          short=0, long=2000),
    _cell("fixed rule, three groups, sign not stated", "the candidate permutes the groups' levels, 3 × 150",
          partial(column_rejections, people=150, old=(0.5, 0.58, 0.42), new=(0.42, 0.5, 0.58)), short=0, long=2000),
    _cell("fixed rule, several metrics", "selection rates become equal, true positive rates stay as unequal, 2 × 300",
          mixed_errors, short=0, long=2000),
    *(
        _cell(f"fixed score, top {capacity:g} of {people:,} rows", "equal gaps, the threshold from the rows tested",
              partial(capacity_errors, people=people, capacity=capacity), short=0, long=2000)
        for people, capacity in ((2000, 0.03), (2000, 0.1), (8000, 0.03), (2000, 0.3))
    ),
    *(
        _cell(f"impact ratio {old[0]:g}/{old[1]:g} against {new[0]:g}/{new[1]:g}, {people} a group",
              "equal impact ratios, or each other's inverse",
              partial(ratio_errors, people=people, old=old, new=new), short=400 if people == 400 else 0)
        for people in (400, 1000, 2000)
        for old, new in (((0.1, 0.05), (0.1, 0.05)), ((0.4, 0.3), (0.3, 0.4)), ((0.4, 0.2), (0.2, 0.4)))
    ),
    *(
        _cell(f"area under the curve, {positives} positives of {people}", "two correlated scores with equal areas",
              partial(area_errors, people=people, positives=positives), short=400 if positives == 20 else 0)
        for people, positives in ((200, 20), (200, 100), (1000, 50))
    ),
    _cell("best of 20 re-runs of seven splits", "T = 0; the smallest p-value of twenty seeds is reported",
          partial(rerun_errors, reruns=20), short=0, long=2000),
    *(
        _cell(f"power of a fixed rule on all rows, {people} a group",
              f"half of the gap, far more accurate, {'sign stated' if asked else 'sign not stated'}",
              partial(column_rejections, people=people, old=(0.42, 0.58), new=(0.48, 0.52), **asked),
              claim="power", nominal=promised,
              rival=partial(column_rejections, people=people, old=(0.42, 0.58), new=(0.48, 0.52), splits=7),
              rival_name="the same in seven half splits", short=0, long=200, whole_analysis=True)
        for people, promised, asked in ((300, 0.4, _SIGN), (800, 0.9, _SIGN))
    ),
]  # fmt: skip

"""Rules fixed beforehand, tested on all rows: size with every option that changes the test, and power beside splits.

Every line runs what the public function does on all rows (see `challenges`). Unless a line says otherwise the candidate
is far more accurate, so that only the gap stands between the test and a rejection; its gap is exactly as large as the
status quo's (size) or smaller (power).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from validity.board import Cell
from validity.challenges import Challenge, Table

Floats = NDArray[np.float64]
Random = np.random.Generator


ASKED: dict[str, Any] = {"keep": "accuracy", "metric": "selection_rate", "bootstrap": 199}
DECIDED = {"outcome": "outcome", "groups": "group", "decision": "decision"}


def rejections(
    repeats: int, rng: Random, draw: Callable[[], Table], roles: Mapping[str, Any] = DECIDED, **asked: Any
) -> Floats:
    """How often the column `other` is shown to be better, on tables drawn anew."""
    challenge = Challenge(draw(), roles, **{**ASKED, **asked})
    test = challenge.split_p_value if "splits" in asked else challenge.p_value
    found = np.zeros(repeats)
    for i in range(repeats):
        p = test(draw(), rng)
        found[i] = p is not None and p <= 0.05
    return found


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
    rates = rates_of(old, 0.6), rates_of(new, 0.85)
    return rejections(repeats, rng, lambda: decided(rng, group, *rates), **asked)


def mixed_errors(repeats: int, rng: Random) -> Floats:
    """Two fairness metrics: one gap closes, the other stays; all of them must shrink."""
    group = np.repeat([0, 1], 300)
    old, new = rates_of((0.42, 0.58), 0.6), np.array([[0.77, 0.23], [0.93, 0.07]])
    asked: dict[str, Any] = {"metric": ["selection_rate", "tpr"], "sign": {"group": "b"}}
    return rejections(repeats, rng, lambda: decided(rng, group, old, new), **asked)


def capacity_errors(repeats: int, rng: Random, *, people: int, capacity: float) -> Floats:
    """Two scores with equal gaps, the top κ of the same rows: the threshold is estimated where it is tested."""

    def draw() -> Table:
        group = rng.integers(0, 2, people)
        common, first, second = rng.normal(size=(3, people))
        return {
            "group": np.array(["a", "b"])[group],
            "outcome": (rng.random(people) < 1 / (1 + np.exp(-3 * second))).astype(np.int64),
            "score": common + first + 0.5 * group,
            "other": common + second + 0.5 * group,
        }

    roles = {"outcome": "outcome", "groups": "group", "score": "score"}
    asked: dict[str, Any] = {"keep": "ppv", "capacity": capacity, "sign": {"group": "b"}}
    return rejections(repeats, rng, draw, roles, **asked)


def margin_errors(repeats: int, rng: Random, *, people: int, margin: float, **asked: Any) -> Floats:
    """The gap is all but closed and group b's accuracy is exactly the margin below the status quo's."""
    group = np.repeat([0, 1], people)
    worse = 0.7 - margin * (1.0 if asked.get("absolute") else 0.7)
    accuracy = (worse, worse) if asked.get("everyone") else (0.8, worse)
    new = np.concatenate([rates_of((0.5,), accuracy[0]), rates_of((0.5,), accuracy[1])])
    old = rates_of((0.35, 0.65), 0.7)
    asked = {"margin": margin, "sign": {"group": "b"}, **asked}
    return rejections(repeats, rng, lambda: decided(rng, group, old, new), **asked)


def payoff_errors(repeats: int, rng: Random, *, people: int, rate: float) -> Floats:
    """More people are selected, and the gap closes; those of group b yield 0 on average: 1, or a loss at `rate`."""
    loss = (1 - rate) / rate

    def draw() -> Table:
        group = np.repeat([0, 1], people)
        luck = rng.random(group.size)
        old = luck < np.array([0.2, 0.5])[group]
        new = luck < np.array([0.6, 0.6])[group]
        profit = np.where(rng.random(group.size) < rate, -loss, 1.0)
        profit[(group == 0) & new & ~old] += 0.5  # clearly better for group a; group b is at the edge
        return {
            "group": np.array(["a", "b"])[group], "decision": old.astype(np.int64), "other": new.astype(np.int64),
            "profit": profit,
        }  # fmt: skip

    from fairtrial import Payoff

    asked: dict[str, Any] = {
        "keep": Payoff("profit", "profit"),
        "absolute": True,
        "sign": {"group": "b"},
    }
    return rejections(repeats, rng, draw, {"groups": "group", "decision": "decision"}, **asked)


def rerun_procedure_errors(repeats: int, rng: Random, *, people: int, reruns: int) -> Floats:
    """Section 5's game with the procedure itself: the best p-value of several seeds; the gap is as large as before."""
    group = np.repeat([0, 1], people)
    rates = rates_of((0.43, 0.57), 0.6), rates_of((0.43, 0.57), 0.9)
    challenge = Challenge(decided(rng, group, *rates), DECIDED, **ASKED, splits=7)
    found = np.zeros(repeats)
    for i in range(repeats):
        table = decided(rng, group, *rates)
        p_values = [challenge.split_p_value(table, rng) for _ in range(reruns)]
        found[i] = min(1.0 if p is None else p for p in p_values) <= 0.05
    return found


def rerun_errors(repeats: int, rng: Random, *, reruns: int) -> Floats:
    """Section 5's game: the analyst repeats seven splits with other seeds and reports the best p-value."""
    from inside.improve import combine_p_values

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
    from inside.improve import directed_pairs, log_levels, smooth_fairness_components
    from inside.inference import bootstrap_levels
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
    from inside.improve import area_component

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


# the public function itself, thirty times a second
_WHOLE: dict[str, Any] = {"long": 1000, "whole_analysis": True}
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
          partial(column_rejections, people=150, old=(0.5, 0.5), new=(0.5, 0.5)), short=0, **_WHOLE),
    _cell("fixed rule, three groups, gap opened elsewhere", "closes the worst gap, opens an equal one, 3 × 250",
          partial(column_rejections, people=250, old=(0.6, 0.4, 0.5), new=(0.6, 0.6, 0.4), sign=["a", "b"]),
          short=0, **_WHOLE),
    _cell("fixed rule, three groups, sign not stated", "the candidate permutes the groups' levels, 3 × 150",
          partial(column_rejections, people=150, old=(0.5, 0.58, 0.42), new=(0.42, 0.5, 0.58)), short=0, **_WHOLE),
    _cell("fixed rule, several metrics", "selection rates become equal, true positive rates stay as unequal, 2 × 300",
          mixed_errors, short=0, **_WHOLE),
    *(
        _cell(f"fixed score, top {capacity:g} of {people:,} rows", "equal gaps, the threshold from the rows tested",
              partial(capacity_errors, people=people, capacity=capacity), short=0, **_WHOLE)
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
    *(
        _cell(f"fixed rule, margin {margin:g} {kind}, {whose}, {people} a group",
              "accuracy exactly the margin lower, the gap closes",
              partial(margin_errors, people=people, margin=margin, absolute=kind == "absolute", everyone=pooled),
              short=200 if people == 300 and margin == 0.02 and whose == "pooled" and kind == "absolute" else 0,
              whole_analysis=True)
        for people in (300, 2000)
        for margin in (0.02, 0.05)
        for kind in ("absolute", "relative")
        for whose, pooled in (("each group", False), ("pooled", True))
    ),
    *(
        _cell(f"fixed rule, payoff with losses at {rate:g}, {people:,} a group",
              "a mean payoff of 0 among the newly selected of one group, the gap closes",
              partial(payoff_errors, people=people, rate=rate), short=100 if people == 300 and rate == 0.02 else 0,
              whole_analysis=True)
        for people in (300, 1000, 4000)
        for rate in (0.02, 0.1, 0.3)
    ),
    *(
        _cell(f"fixed rule, impact ratio, {people} a group, {side} side", f"{_SAME}, on the {side} side, as a ratio",
              partial(column_rejections, people=people, old=(0.4, 0.5), new=new, scale="ratio", **_SIGN), short=0)
        for people in (300, 1000)
        for new, side in (((0.4, 0.5), "same"), ((0.5, 0.4), "other"))
    ),
    _cell("fixed rule, weighted groups", "accuracy of the groups weighed 1 to 3, exactly as unfair, 2 × 300",
          partial(column_rejections, people=300, old=(0.43, 0.57), new=(0.57, 0.43), weights={"a": 1, "b": 3},
                  **_SIGN), short=0),
    _cell("best of 20 re-runs of the procedure", "seven splits with twenty seeds, 150 a group, exactly as unfair",
          partial(rerun_procedure_errors, people=150, reruns=20), short=0, long=300, whole_analysis=True),
    _cell("best of 20 re-runs of seven splits", "T = 0; the smallest p-value of twenty seeds is reported",
          partial(rerun_errors, reruns=20), short=0, long=2000),
    *(
        _cell(f"power of a fixed rule on all rows, {people} a group",
              f"half of the gap, far more accurate, {'sign stated' if asked else 'sign not stated'}",
              partial(column_rejections, people=people, old=(0.42, 0.58), new=(0.48, 0.52), **asked),
              claim="power", nominal=promised,
              rival=partial(column_rejections, people=people, old=(0.42, 0.58), new=(0.48, 0.52), splits=7),
              rival_name="the same in seven half splits", short=0, long=1000, whole_analysis=True)
        for people, promised, asked in ((300, 0.4, _SIGN), (800, 0.9, _SIGN))
    ),
]  # fmt: skip

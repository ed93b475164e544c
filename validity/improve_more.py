"""More lines of improve: delta-method p-values, differences, the Δ-surface, shortcuts, and the whole function."""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import Any, Literal

import numpy as np

from inside.ground import NotApplicable
from inside.improve import (
    Component,
    MarginKind,
    accuracy_components,
    directed_pairs,
    smooth_fairness_components,
)
from inside.papers import kinked_gap
from validity.board import Cell
from validity.improve_designs import (
    COVARIANCE,
    DRAWS,
    NAMES,
    Floats,
    gap_levels,
    largest_p,
    levels_and_adverse,
    one_sided_errors,
    standard_errors,
    three_groups_errors,
    whole_procedure_errors,
)

Random = np.random.Generator
EVERYONE = np.array([0.0, 0.0, 1.0])


def _smooth(
    repeats: int, rng: Random, rows: int, gap0: float, gap1: float, kind: MarginKind
) -> list[list[Component]]:
    """The smooth fairness components of many samples of Appendix E's design, the sign from a training half."""
    found, spread = [], math.sqrt(COVARIANCE[0, 0] / rows)
    for levels in gap_levels(repeats, rng, rows, (gap0, gap1), DRAWS):
        worst = (0, 1) if gap0 + spread * rng.standard_normal() > 0 else (1, 0)
        found.append(
            smooth_fairness_components(
                levels, 0, NAMES, kind=kind, pairs=directed_pairs(2), worst=worst, one_sided=False
            )
        )
    return found


def difference_errors(
    repeats: int, rng: Random, *, rows: int, gap0: float, gap1: float, delta: float
) -> Floats:
    """Differences in place of ratios: the candidate's gap is smaller by exactly Δ."""
    found = _smooth(repeats, rng, rows, gap0, gap1, "absolute")
    return np.array([float(largest_p(components, delta) <= 0.05) for components in found])


def delta_method_errors(repeats: int, rng: Random, *, rows: int, gap0: float, gap1: float) -> Floats:
    """The normal-theory p-value shown beside the bootstrap's, for the fairness part."""
    found = _smooth(repeats, rng, rows, gap0, gap1, "relative")
    p = [max(component.delta_method(0.0) or 1.0 for component in components) for components in found]
    return np.asarray(np.array(p) <= 0.05, dtype=np.float64)


def surface_errors(repeats: int, rng: Random, *, rows: int, gap0: float, gap1: float) -> Floats:
    """The largest gain in fairness shown at a fixed loss of accuracy exceeds the true one."""
    truth = 1.0 - abs(gap1) / abs(gap0)
    found = _smooth(repeats, rng, rows, gap0, gap1, "relative")
    shown = [min(component.largest_delta(0.05) for component in components) for components in found]
    return np.asarray(np.array(shown) > truth, dtype=np.float64)


def printed_p_rejections(repeats: int, rng: Random, *, rows: int, gap0: float, gap1: float) -> Floats:
    """The article's p-value as printed, without √ℓ on the side of the statistic: P*(√ℓ(T* − T) ≥ T)."""
    rejected = np.zeros(repeats)
    for i, levels in enumerate(gap_levels(repeats, rng, rows, (gap0, gap1), DRAWS)):
        part = kinked_gap(levels, 0, kind="relative", pairs=directed_pairs(2), one_sided=False)
        held = part.status_quo.estimate - part.candidate.estimate
        draws = part.status_quo.draws - part.candidate.draws
        rejected[i] = np.mean(math.sqrt(rows) * (draws - held) >= held) <= 0.05
    return rejected


def accuracy_errors(
    repeats: int, rng: Random, *, rows: int, pooled: bool = False, by_delta_method: bool = False
) -> Floats:
    """A candidate exactly as accurate as the status quo: for everybody pooled, or in one small group."""
    group = np.repeat([0, 1], [rows, 2 * rows])
    # pooled: better for the small group by what it is worse for the large one
    old, new = (np.array([0.6, 0.7]), np.array([0.7, 0.65])) if pooled else (np.full(2, 0.7), np.full(2, 0.7))
    rejected = np.zeros(repeats)
    for i in range(repeats):
        levels, adverse = levels_and_adverse(rng, group, old, new, 0.5)
        weights = EVERYONE if pooled else None
        part = accuracy_components(
            levels, 0, (*NAMES[:2], "all"), kind="relative", weights=weights, adverse=adverse
        )[0]
        p = part.delta_method(0.0) if by_delta_method else part.p_value(0.0)
        rejected[i] = (1.0 if p is None else p) <= 0.05
    return rejected


def whole_function(
    repeats: int, rng: Random, *, method: Literal["smooth", "paper"] = "smooth", column: str = ""
) -> Floats:
    """A candidate column far more accurate and exactly as unfair, its gap on the other side; one split.

    The p-value of the test, or what is printed in `column` of the gap's row or of the details.

    Outcomes are even in both groups. Selection rates are 57% and 43% under the status quo and the other way round
    under the candidate: gaps about one standard error from zero in the half that is tested.
    """
    import pyarrow as pa

    from fairtrial import Audit
    from validity.improve_asked import improve

    people = 120
    group = np.repeat([0, 1], people)
    # (true positive rate, false positive rate) by group: accuracy .6 and .9, selection rates .57/.43 and .43/.57
    old, new = np.array([[0.67, 0.47], [0.53, 0.33]]), np.array([[0.83, 0.03], [0.97, 0.17]])
    rejected, refused = np.zeros(repeats), 0
    for i in range(repeats):
        outcome = (rng.random(group.size) < 0.5).astype(np.int64)
        luck = rng.random(group.size)  # the same for both rules, which therefore often agree
        decided, other = ((luck < rates[group, 1 - outcome]).astype(np.int64) for rates in (old, new))
        names = np.array(["a", "b"])[group]
        table = pa.table({"group": names, "outcome": outcome, "decision": decided, "other": other})
        audit = Audit(table, outcome="outcome", decision="decision", groups="group")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = improve(
                    audit, "selection_rate", candidates=["other"], component=method,
                    aggregate="single", bootstrap=199, jobs=1, seed=int(rng.integers(2**31)),
                )  # fmt: skip
            except NotApplicable:  # no disparity at all in this sample
                refused += 1
                continue
        row = next(row for row in result.estimates if row["part"] == "fairness")
        rejected[i] = (result.details | row)[column] <= 0.05 if column else result.p_value <= 0.05
    if refused > 0.05 * repeats + 2:
        raise RuntimeError(f"improve refused {refused} of {repeats} samples: too many to speak of a level")
    return rejected


def _cell(name: str, design: str, run: Any, **settings: Any) -> Cell:
    return Cell("improve", name, design, settings.pop("claim", "size"), run, **settings)


_OPPOSITE: dict[str, Any] = {"rows": 100, "gap0": standard_errors(1.5), "gap1": -standard_errors(1.5)}
_HALF: dict[str, Any] = {"rows": 400, "gap0": standard_errors(4, 400), "gap1": -standard_errors(2, 400)}
_COLUMN = (
    "a fixed candidate column, more accurate and as unfair the other way round, 2 × 120 people, one split"
)
_ELSEWHERE = "the candidate closes the worst gap and opens an equal one elsewhere, 3 × 200 people"
_LIFTED = "F0 = 0 and a candidate that lifts the protected group"
_FAIR = "Appendix E, 100 people, η = 0"

CELLS = [
    _cell("whole function, method='smooth'", _COLUMN, partial(whole_function, method="smooth")),
    _cell("whole function, method='paper'", _COLUMN, partial(whole_function, method="paper"), variant="paper",
          counterpart="whole function, method='smooth'"),
    *(
        _cell(f"printed, {words}", _COLUMN, partial(whole_function, column=column), short=0, long=600,
              whole_analysis=True, covers=tuple(f"improve.{name}" for name in (column, *also)))
        for column, words, *also in (
            ("p_value", "p of the gap", "splits.components.p_value"), ("p_split", "p of the split", "splits.p_value"),
            ("p_delta_method", "delta-method p of the gap"), ("p_value_delta_method", "delta-method p of the test"),
        )
    ),
    _cell("only the worst pair", _ELSEWHERE, partial(three_groups_errors, only_worst=True), variant="paper",
          counterpart="three groups, equal gap opened elsewhere"),
    _cell("one-sided without asking for a disparity", _LIFTED,
          partial(one_sided_errors, old=(0.5, 0.5), new=(0.5, 0.8), kind="absolute", existence=False),
          variant="paper", counterpart="one-sided, no disparity, differences"),
    _cell("p-value of the article as printed", _FAIR, partial(printed_p_rejections, rows=100, gap0=1.52, gap1=0.0),
          claim="power", nominal=0.77, variant="paper",
          counterpart="power of the smooth fairness component, perfectly fair candidate"),
    _cell("smooth fairness, differences", "Appendix E's normals, 400 people, the gap smaller by exactly Δ",
          partial(difference_errors, **_HALF, delta=standard_errors(2, 400))),
    _cell("smooth fairness, delta method", "Appendix E's normals, 100 people, gaps 1.5 s.e. on opposite sides",
          partial(delta_method_errors, **_OPPOSITE)),
    _cell("Δ-surface, largest gain at a fixed loss",
          "Appendix E's normals, 400 people, the candidate's gap is exactly half", partial(surface_errors, **_HALF)),
    _cell("accuracy component, pooled", "better for one group by what it is worse for the other, 300 people",
          partial(accuracy_errors, rows=100, pooled=True)),
    _cell("accuracy component, delta method", "paired binary decisions, rate .7, 80 people in the group, T_g = 0",
          partial(accuracy_errors, rows=80, by_delta_method=True)),
    _cell("whole procedure, single split", "one split, more accurate and exactly as unfair",
          partial(whole_procedure_errors, aggregation="single", splits=1)),
]  # fmt: skip

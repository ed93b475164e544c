"""How little would have to change? The smallest move across the decision boundary that makes the rates equal."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairtrial.data.audit import Audit
from fairtrial.data.groups import MINIMUM_SIZE
from fairtrial.errors import (
    FairtrialWarning,
    Faults,
    InputError,
    NotApplicable,
    check_between,
    choice_fault,
)
from fairtrial.methods.transport.compared_rates import Posed, pose
from fairtrial.methods.transport.distance import UNITS, Distances, Moves, find_distance
from fairtrial.methods.transport.movers import Moved, bands, compared_rows, group_lines, histogram, moved
from fairtrial.methods.transport.sentences import between, notes, null_words, verdict
from fairtrial.methods.transport.solver.closed_form_distances import NORMS, Norm
from fairtrial.methods.transport.solver.gap_test import GapTest, article_test, pooled_test
from fairtrial.methods.transport.solver.projection import Projection, project
from fairtrial.methods.transport.solver.rate_contrasts import band
from fairtrial.results.column import Column, Primary, reason, scalar, undefined
from fairtrial.results.result import Result

WHO = "transport"
CALIBRATIONS = ("pooled", "paper")
DIRECTIONS = {
    "differs": "differs",
    "both": "differs",
    "outside": "differs",
    "above": "above",
    "below": "below",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TransportResult(Result):
    """The smallest change: who moves, how far, and whether the gap is more than chance."""

    kind: ClassVar[str] = "transport"
    columns: ClassVar[tuple[Column, ...]] = (
        Column("comparison", "rate", "text"),
        Column("attribute", "attribute", "text", shown=False),
        Column("group", "group", "text"),
        Column("n", "n", "count"),
        Column("rate", "now", "rate"),
        Column("rate_after", "after", "rate"),
        Column("reference", "compared with", "text"),
        Column("difference", "difference", "points"),
        Column("difference_low", "low", "points"),
        Column("difference_high", "high", "points"),
        Column("gained", "0 → 1", "number"),
        Column("lost", "1 → 0", "number"),
        Column("share_moved", "share moved", "rate"),
        Column("mean_shift", "mean shift", "number"),
        Column("largest_shift", "largest shift", "number"),
        Column("cannot_move", "cannot move", "count", shown=False),
        Column("tied", "tied at the edge", "count", shown=False),
        Column("state", "finding", "state"),
    )
    method: ClassVar[str] = (
        "The cheapest plan that moves people across the decision boundary until the criterion holds (an optimal "
        "transport projection), solved exactly by sorting, by a search for the common rate, or by a linear program "
        "with a certificate. The p-value tests the gap itself with rates pooled under the null; where expected counts "
        "are below five it is exact given the number of events. Intervals of differences are likelihood-ratio or score "
        "intervals."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "Rows are independent people.",
        "The model was not fitted on these rows.",
        "The distance says what a move costs; another distance gives another smallest change, not another p-value for "
        "one equality.",
    )
    citation: ClassVar[str] = (
        "Si, Murthy, Blanchet & Nguyen (2021), Testing Group Fairness via Optimal Transport Projections, ICML."
    )

    @property
    def p_value(self) -> float | None:
        """The p-value of the gap; None where it is undefined (`details["p_value"]` has the reason)."""
        return _number(self.details["p_value"])

    @property
    def statistic(self) -> float | None:
        """N·P: the sum over people of move probability times distance."""
        return _number(self.details["statistic"])

    @property
    def moved(self) -> float | None:
        """How many people cross the boundary."""
        return _number(self.details["moved"])

    def transport_plan(self) -> NDArray[np.float64]:
        """The probability that each row moves, in the audit's row order; ties at a band's edge share it."""
        if "plan" not in self.objects:
            why = reason(self.details["statistic"]) or "it is not saved with a result: run transport again"
            raise InputError("transport_plan", f"there is no plan: {why}")
        plan: NDArray[np.float64] = self.objects["plan"]
        return plan.copy()

    def reading(self) -> list[str]:
        """What the numbers say, and what they do not."""
        sentences = [self.verdict.text]
        unit = self.details["distance"]["unit"]
        for part in self.details["bands"]:
            shared = part["share_at_edge"] < 1 and part["at_edge"] > 1
            tied = f"; {part['at_edge']} are tied at that edge and share the last places" if shared else ""
            sentences.append(
                f"{part['group']}, {part['comparison']}: {part['mass']:.1f} decisions change {part['direction']}, "
                f"none by more than {part['farthest']:.3g} {unit}{tied}."
            )
        sentences.append(
            "The plan is the cheapest one under this distance. It shows how near the boundary the gap sits; it is not "
            "a recommendation to decide any person differently."
        )
        return sentences

    def primary(self) -> list[Primary]:
        p = self.p_value
        if p is None:
            return []
        criterion = str(self.details["criterion"]).replace("_", " ")
        compared = [row for row in self.estimates if scalar(row["difference"]) is not None]
        if not compared:
            subject = f"by {', '.join(self.details['by'])}" if self.details["by"] else "between its cells"
            return [Primary(criterion, subject, p)]
        # one p-value for all equalities; the widest gap stands for them
        widest = max(compared, key=lambda row: abs(float(scalar(row["difference"]))))
        gap, low, high = (
            _number(widest[name]) for name in ("difference", "difference_low", "difference_high")
        )
        metric = f"{criterion} ({widest['comparison']})" if widest["comparison"] else criterion
        against = str(widest["reference"])
        return [Primary(metric, str(widest["group"]), p, gap, low, high, against=against, n=int(widest["n"]))]


def _number(cell: Any) -> float | None:
    value = scalar(cell)
    return None if value is None else float(value)


def transport(
    audit: Audit,
    criterion: Any,
    *,
    by: Any = None,
    distance: Any = None,
    tolerance: float = 0.0,
    direction: str = "differs",
    target: Any = None,
    strata: str | Sequence[str] | None = None,
    calibration: str = "pooled",
    bandwidth: float | None = None,
    norm: Norm = "l2",
    units: str | None = None,
    immutable: str | Sequence[str] = (),
    discrete: str | Sequence[str] = (),
    step_cost: float | None = None,
    minimum: int = MINIMUM_SIZE,
    confidence_level: float = 0.95,
    seed: int = 0,
) -> TransportResult:
    """The smallest change of decisions that would make a criterion hold, and whether the gap is more than chance.

    `criterion` is "equal_opportunity", "predictive_equality", "equalized_odds", "statistical_parity",
    "conditional_parity" (with `strata`), "accuracy_equality", "fnr_parity", a metric, or a table of one's own
    {"cells": […], "contrasts": […], "event": role.decision}. `by` is one attribute, several at once, or a list of
    disjoint groups. `distance` is "score" (default), "log-odds", a column, a fitted classifier, a predict function, or
    {"coefficients": …, "intercept": …}; for models `norm`, `units`, `immutable`, `discrete` and `step_cost` say what a
    move costs. With `tolerance` the rates may differ by that much; `direction` "above" or "below" looks at one side of
    the reference group `target` (default: the largest).

    >>> import fairtrial
    >>> audit = fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5)
    >>> groups = [{"race": "African-American"}, {"race": "Caucasian"}]
    >>> result = fairtrial.transport(audit, "predictive_equality", by=groups)
    >>> round(result.moved), [f"{line['rate']:.1%} to {line['rate_after']:.1%}" for line in result.estimates]
    (349, ['44.8% to 35.0%', '23.5% to 35.0%'])
    """
    audit.refuse(WHO)
    side, moves = _check_arguments(
        tolerance, direction, calibration, bandwidth, norm, units, immutable, discrete, step_cost, minimum
    )
    check_between(WHO, "confidence_level", confidence_level, 0, 1)
    posed = pose(audit, criterion, by, target, strata, minimum)
    distances = find_distance(audit, distance, posed.decision, moves, compared_rows(posed))
    allowed = np.full(posed.problem.size, float(tolerance))
    projection = None
    if distances.values is not None:
        projection = project(posed.problem, distances.values, *band(posed.problem.size, allowed, side))
    if calibration == "paper":
        test = _paper(posed, distances, projection, bandwidth, allowed, side, seed)
    else:
        test = _pooled(posed, distances, allowed, side, seed)
    after, why = None, distances.why_none or ""
    if projection is not None and projection.infeasible is not None:
        why = f"no move makes the criterion hold: {projection.infeasible}"
    elif projection is not None and distances.values is not None:
        after = moved(posed, distances.values, projection)
    why_in_table = "no distance" if distances.why_none else why
    lines = group_lines(posed, distances, after, why_in_table, confidence_level, minimum)
    details = _details(posed, distances, projection, after, test, why)
    details |= {
        "tolerance": float(tolerance),
        "direction": side,
        "calibration": calibration,
        "confidence_level": confidence_level,
    }
    arguments = {"criterion": posed.name, "by": posed.by, "tolerance": float(tolerance), "direction": side,
                 "calibration": calibration, "distance": distances.kind, "norm": norm, "minimum": minimum,
                 "strata": strata, "seed": seed}  # fmt: skip
    return TransportResult(
        question=f"How little would have to change for {posed.name.replace('_', ' ')}{between(posed)}?",
        null=null_words(posed, float(tolerance), side),
        verdict=verdict(lines, details, test, confidence_level),
        estimates=tuple(lines),
        details=details,
        notes=(*audit.notes(), *notes(posed, distances, after, calibration, minimum)),
        provenance=audit.provenance(posed.rows, arguments=arguments),
        objects={} if after is None else {"plan": after.plan},
    )


def _check_arguments(
    tolerance: float,
    direction: str,
    calibration: str,
    bandwidth: float | None,
    norm: str,
    units: str | None,
    immutable: str | Sequence[str],
    discrete: str | Sequence[str],
    step_cost: float | None,
    minimum: int,
) -> tuple[str, Moves]:
    faults = Faults(WHO)
    for fault in (
        choice_fault("direction", direction, DIRECTIONS),
        choice_fault("calibration", calibration, CALIBRATIONS),
        choice_fault("norm", norm, NORMS),
        None if units is None else choice_fault("units", units, UNITS),
    ):
        if fault:
            faults.add(fault)
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 <= tolerance < 1:
        faults.add(f"'tolerance' must be a number from 0 to below 1, got {tolerance!r}")
    for name, value in (("bandwidth", bandwidth), ("step_cost", step_cost)):
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, int | float) or not value > 0
        ):
            faults.add(f"{name!r} must be a number above 0, got {value!r}")
    if isinstance(minimum, bool) or not isinstance(minimum, int) or minimum < 1:
        faults.add(f"'minimum' must be a whole number of at least 1, got {minimum!r}")
    if bandwidth is not None and calibration == "pooled":
        faults.add("'bandwidth' belongs to calibration='paper': the pooled p-value needs none")
    faults.raise_any()
    side = DIRECTIONS[direction]
    if calibration == "paper" and side == "differs" and tolerance > 0:
        raise NotApplicable(
            WHO,
            "calibration='paper' with a tolerance is one-sided in the article: use direction='above' or 'below', or "
            "the pooled calibration",
        )
    return side, Moves(
        norm=norm,  # type: ignore[arg-type]
        immutable=(immutable,) if isinstance(immutable, str) else tuple(immutable),
        discrete=(discrete,) if isinstance(discrete, str) else tuple(discrete),
        step_cost=step_cost,
        units=units,
    )


def _pooled(
    posed: Posed, distances: Distances, allowed: NDArray[np.float64], side: str, seed: int
) -> GapTest | str:
    try:
        return pooled_test(posed.problem, distances.values, allowed, side, seed)
    except ArithmeticError as error:
        return str(error)


def _paper(
    posed: Posed,
    distances: Distances,
    projection: Projection | None,
    bandwidth: float | None,
    allowed: NDArray[np.float64],
    side: str,
    seed: int,
) -> GapTest | str:
    """The article's test, or the reason why it cannot be made."""
    warnings.warn(
        "calibration='paper' does not hold its level for discrete scores and depends on the units of the distance",
        FairtrialWarning,
        stacklevel=3,
    )
    if projection is None or distances.values is None:
        return distances.why_none or "there is no distance"
    if projection.infeasible is not None:
        return f"the article's statistic is infinite: {projection.infeasible}"
    width = bandwidth if bandwidth is not None else posed.problem.rows**-0.2
    # "below" is the article's one-sided test with the contrasts turned round, which changes neither S nor Σ
    try:
        return article_test(posed.problem, distances.values, projection.statistic, width, side, seed)
    except ArithmeticError as error:
        return str(error)


def _details(
    posed: Posed,
    distances: Distances,
    projection: Projection | None,
    after: Moved | None,
    test: GapTest | str,
    why: str,
) -> dict[str, Any]:
    compared = int(compared_rows(posed).sum())
    mean = largest = 0.0
    if after is not None and after.total > 0:
        mean = float(after.cost_total / after.total)
        largest = float(after.largest.max())
    shifts = [
        {
            "feature": part["feature"],
            "mean": abs(part["change"]) * mean,
            "largest": abs(part["change"]) * largest,
        }
        for part in distances.per_feature
    ]
    missing = undefined(why)
    known = after is not None and projection is not None
    return {
        "criterion": posed.name,
        "by": [part if isinstance(part, str) else ", ".join(map(str, part.values())) for part in posed.by],
        "compared": compared,
        "equalities": posed.problem.size,
        "p_value": undefined(test) if isinstance(test, str) else test.p_value,
        "test": test if isinstance(test, str) else test.how,
        "statistic": projection.statistic if known and projection is not None else missing,
        "moved": after.total if after is not None else missing,
        "mean_shift": mean if known else missing,
        "largest_shift": largest if known else missing,
        "tied": 0 if after is None else int(((after.plan > 0) & (after.plan < 1)).sum()),
        "routes": list(projection.routes) if projection is not None else [],
        "distance": {
            "kind": distances.kind,
            "unit": distances.unit,
            "movable": list(distances.movable),
            "immutable": list(distances.immutable),
            "shifts": shifts,
        },
        "bands": bands(posed, distances.values, after)
        if after is not None and distances.values is not None
        else [],
        "histogram": histogram(posed, distances.values, after) if distances.values is not None else [],
    }

"""What a scan tells about each subgroup: words, sizes, rates and the comparison."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairtrial._labels import MISSING
from fairtrial._results.column import State, undefined
from fairtrial._scan.matched_scan import Rates
from fairtrial._scan.request import ScanRequest
from fairtrial._scan.scan_data import ScanData
from fairtrial._scan.solver.scan_table import BoolArray, FloatArray
from fairtrial._scan.solver.value_sets import FoundSubgroup, ValueOrder

MOST_LISTED = 5
MOST_CHART_VALUES = 30
CHART_NUMBERS = ("n", "rate", "expected", "target_n", "target_rate")
AnyScan: TypeAlias = Any  # MatchedScan, or one by another score with the same questions


class SubgroupDescriber:
    """Turns found subgroups into words and numbers."""

    def __init__(
        self,
        request: ScanRequest,
        data: ScanData,
        scan: AnyScan,
        found: list[FoundSubgroup],
    ) -> None:
        self.request, self.data, self.scan, self.found = request, data, scan, found
        self.table = data.table

    def members(self, values: NDArray[np.bool_]) -> BoolArray:
        """The scanned cells whose values are all admitted."""
        inside: BoolArray = self.scan.searched_cells.copy()
        for attribute, size in enumerate(self.table.searched_arity):
            if not values[attribute, :size].all():
                inside &= values[attribute, self.table.column(attribute)]
        return inside

    def restricted(self, found: FoundSubgroup) -> dict[str, list[str]]:
        """Attribute → admitted values, for the attributes that do not admit all of theirs."""
        chosen = {}
        for j, (name, order) in enumerate(self.data.values.items()):
            admitted = found.values[j, : len(order.labels)]
            if not admitted.all():
                chosen[name] = [label for label, inside in zip(order.labels, admitted, strict=True) if inside]
        return chosen

    def words(self, found: FoundSubgroup) -> str:
        """'sex: Male; age: 18 to 24', or 'everyone'."""
        parts = [
            f"{name}: {self._listed(values, self.data.values[name])}"
            for name, values in self.restricted(found).items()
        ]
        return "; ".join(parts) if parts else "everyone"

    def _listed(self, values: list[str], order: ValueOrder) -> str:
        absent = [label for label in order.labels if label not in values]
        if self.request.ranges and order.ordered and MISSING not in values:
            known = len(order.labels) - order.apart
            return f"not {MISSING}" if len(values) == known else order.range_text(values[0], values[-1])
        if len(values) > 3 and len(absent) <= 3:
            return f"not {' or '.join(absent)}"
        shown = " or ".join(values[:MOST_LISTED])
        more = len(values) - MOST_LISTED
        return f"{shown} or {more} more" if more > 0 else shown

    def estimate(self, rank: int, found: FoundSubgroup, p_value: Any, state: State) -> dict[str, Any]:
        """One line of the result."""
        inside = self.members(found.values)
        rows, told = self.scan.rates(inside), self._told(inside)
        nobody = undefined("nobody outside the class in this subgroup")
        alone = undefined("nobody outside the class is comparable")
        subgroups = self.scan.subgroups(found)
        low, high = self._interval(told.rate, rows.n, subgroups)
        other_low, other_high = self._interval(told.target_rate, rows.target_n, subgroups)
        return {
            "rank": rank,
            "protected": self.request.who_is,
            "subgroup": self.words(found),
            "direction": found.direction,
            **asdict(told),
            "rate_low": low,
            "rate_high": high,
            "expected": alone if told.expected is None else told.expected,
            "difference": alone if told.difference is None else told.difference,
            "target": self.request.against,
            "target_rate": nobody if told.target_rate is None else told.target_rate,
            "target_rate_low": other_low,
            "target_rate_high": other_high,
            "target_expected": self._target_expected(told.target_expected),
            "score": found.score,
            "log_odds": self._log_odds(found),
            "p_value": p_value,
            **state.cells(),
        }

    def _told(self, inside: BoolArray) -> Rates:
        """Sizes and rates of these cells, in persons where they have several rows."""
        told: Rates = self.scan.rates(inside)
        if self.data.persons is None:
            return told
        n, others = self.data.persons.people(self.table, inside)
        return replace(told, n=n, target_n=others)

    @cached_property
    def _most_rows(self) -> float:
        return 1.0 if self.data.persons is None else self.data.persons.most_rows(self.table)

    def _interval(self, rate: float | None, rows: int, subgroups: float) -> tuple[float | None, float | None]:
        """Sums of up to k rows per person are no surer than a k-th of the rows, each a person of its own."""
        if rate is None:
            return None, None
        return selected_rate_interval(rate, rows / self._most_rows, subgroups, self.request.confidence_level)

    def _target_expected(self, expected: float | None) -> Any:
        if expected is not None:
            return expected
        return undefined(self.scan.no_model)

    def _log_odds(self, found: FoundSubgroup) -> Any:
        """θ: the shift of the log-odds against the expectation."""
        if not math.isfinite(found.theta):
            return undefined("everybody in the subgroup is on one side")
        if not self.scan.has_odds:
            return undefined("of mean scores there are no odds")
        if self.data.persons is not None:
            return undefined("of persons' sums there are no odds")
        return found.theta * self.scan.sigma if self.scan.sigma is not None else found.theta

    def value_rows(self, found: FoundSubgroup) -> list[dict[str, Any]]:
        """Every value of every attribute, the others held at the subgroup: is it in, and what are its rates?"""
        rows = []
        for j, (name, order) in enumerate(self.data.values.items()):
            admitted = found.values[j, : len(order.labels)]
            opened = found.values.copy()
            opened[j] = True
            around, column = self.members(opened), self.table.column(j)
            for v in self._chart_values(admitted):
                told = self._told(around & (column == v))
                rows.append(
                    {
                        "attribute": name,
                        "value": order.labels[v],
                        "inside": bool(admitted[v]),
                        "restricted": not admitted.all(),
                        "of": len(order.labels),
                        **{name: getattr(told, name) for name in CHART_NUMBERS},
                    }
                )
        return rows

    def _chart_values(self, admitted: BoolArray) -> Sequence[int]:
        """All values, or for long attributes those inside first."""
        if len(admitted) <= MOST_CHART_VALUES:
            return range(len(admitted))
        order = np.argsort(~admitted, kind="stable")[:MOST_CHART_VALUES]
        return sorted(int(v) for v in order)


def histogram(scores: FloatArray, observed: float, bins: int = 40) -> list[dict[str, Any]]:
    """The null distribution as bars; the rare draws far above all else share the last bar."""
    top = max(float(np.quantile(scores, 0.995)), 1.1 * observed, 1e-6)
    counts, edges = np.histogram(np.minimum(scores, top), bins=bins, range=(0.0, top))
    highest = np.append(edges[1:-1], max(top, float(scores.max())))
    bars = zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), highest.tolist(), strict=True)
    return [{"low": low, "high": high, "draws": draws, "highest": far} for low, high, draws, far in bars]


def selected_rate_interval(mean: float, people: float, subgroups: float, level: float) -> tuple[float, float]:
    """Limits that hold for all `subgroups` at once, hence also for the one that was picked.

    Chernoff's bound for values in [0, 1]: P(mean ≥ p and n·KL(mean, p) > x) ≤ e^(−x), for 0/1 and for
    real values alike, whatever the people's own probabilities are; x = log(2·subgroups/(1 − level)).
    """
    if people <= 0:
        return 0.0, 1.0
    reach = (math.log(2.0 / (1.0 - level)) + math.log(subgroups)) / people
    return _limit(mean, reach, 0.0), _limit(mean, reach, 1.0)


def _limit(mean: float, reach: float, border: float) -> float:
    """The p between `mean` and `border` with KL(mean, p) = reach, by bisection."""
    near, far = mean, border
    for _ in range(200):
        middle = 0.5 * (near + far)
        if middle in (near, far):
            break
        if _divergence(mean, middle) > reach:
            far = middle
        else:
            near = middle
    return far


def _divergence(mean: float, p: float) -> float:
    total = 0.0
    if mean > 0.0:
        total += mean * np.log(mean / p) if p > 0.0 else np.inf
    if mean < 1.0:
        total += (1.0 - mean) * np.log((1.0 - mean) / (1.0 - p)) if p < 1.0 else np.inf
    return float(total)

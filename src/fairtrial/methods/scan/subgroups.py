"""What a scan tells about each subgroup: words, sizes, rates, comparison, fit and sensitivity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial.methods.scan.question import ScanQuestion
from fairtrial.methods.scan.scan_data import ScanData
from fairtrial.methods.scan.solver.interval import selected_rate_interval
from fairtrial.methods.scan.solver.statistic import Observed, ScanSetup, scan_observed, supported_cells
from fairtrial.methods.scan.solver.subgroup_search import Found, subgroup_count
from fairtrial.results.column import State, undefined

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

MOST_LISTED = 5
MOST_CHART_VALUES = 30
SENSITIVITY = (1.0, 0.1, 0.01, 0.001)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rates:
    """Sizes and rates of a set of cells in both classes."""

    n: int
    rate: float | None
    expected: float | None
    target_n: int
    target_rate: float | None
    target_expected: float | None
    unsupported: int


class SubgroupDescriber:
    """Turns found subgroups into words and numbers."""

    def __init__(
        self, question: ScanQuestion, data: ScanData, setup: ScanSetup, seen: Observed, level: float
    ) -> None:
        self.question, self.data, self.setup, self.seen, self.level = question, data, setup, seen, level
        self.supported = supported_cells(setup.table, seen.sums)[0]
        self.subgroups = subgroup_count(setup.table.arity)

    def members(self, values: NDArray[np.bool_]) -> BoolArray:
        """The scanned cells whose values are all admitted."""
        codes = self.setup.table.cell_codes
        inside = self.setup.table.cell_scanned.copy()
        if self.setup.drop_unsupported:
            inside &= self.supported
        for attribute in range(codes.shape[1]):
            inside &= values[attribute, codes[:, attribute]]
        return inside

    def restricted(self, found: Found) -> dict[str, list[str]]:
        """Attribute → admitted values, for the attributes that do not admit all of theirs."""
        chosen = {}
        for j, name in enumerate(self.data.features):
            labels = self.data.labels[name]
            admitted = found.values[j, : len(labels)]
            if not admitted.all():
                chosen[name] = [label for label, inside in zip(labels, admitted, strict=True) if inside]
        return chosen

    def words(self, found: Found) -> str:
        """'sex: Male; priors: 0 or 1–5', or 'everyone'."""
        parts = [
            f"{name}: {self._listed(values, self.data.labels[name])}"
            for name, values in self.restricted(found).items()
        ]
        return "; ".join(parts) if parts else "everyone"

    def _listed(self, values: list[str], labels: tuple[str, ...]) -> str:
        absent = [label for label in labels if label not in values]
        if len(values) > 3 and len(absent) <= 3:
            return f"not {' or '.join(absent)}"
        shown = " or ".join(values[:MOST_LISTED])
        more = len(values) - MOST_LISTED
        return f"{shown} or {more} more" if more > 0 else shown

    def rates(self, inside: BoolArray) -> Rates:
        sums, expected = self.seen.sums, self.seen.expected

        def share(total: FloatArray, people: FloatArray) -> float | None:
            n = float(people[inside].sum())
            return float(total[inside].sum()) / n if n else None

        people, others = sums.protected[0], sums.comparison[0]
        return Rates(
            n=round(float(people[inside].sum())),
            rate=share(sums.protected_events[0], people),
            expected=share(people * expected, people),
            target_n=round(float(others[inside].sum())),
            target_rate=share(sums.comparison_events[0], others),
            target_expected=share(others * expected, others),
            unsupported=round(float(people[inside & ~self.supported].sum())),
        )

    def estimate(self, rank: int, found: Found, p_value: Any, state: State) -> dict[str, Any]:
        """One line of the result."""
        told = self.rates(self.members(found.values))
        nobody = undefined("nobody outside the class in this subgroup")
        low, high = self._interval(told.rate, told.n)
        other_low, other_high = self._interval(told.target_rate, told.target_n)
        return {
            "rank": rank,
            "protected": self.question.protected.label,
            "subgroup": self.words(found),
            "direction": found.direction,
            "n": told.n,
            "rate": told.rate,
            "rate_low": low,
            "rate_high": high,
            "expected": told.expected,
            "difference": None if told.rate is None or told.expected is None else told.rate - told.expected,
            "target": self.question.target,
            "target_n": told.target_n,
            "target_rate": nobody if told.target_rate is None else told.target_rate,
            "target_rate_low": other_low,
            "target_rate_high": other_high,
            "target_expected": nobody if told.target_expected is None else told.target_expected,
            "unsupported": told.unsupported,
            "score": found.score,
            "log_odds": self._log_odds(found),
            "p_value": p_value,
            **state.cells(),
        }

    def _interval(self, rate: float | None, people: int) -> tuple[float | None, float | None]:
        if rate is None:
            return None, None
        return selected_rate_interval(rate, people, self.subgroups, self.level)

    def _log_odds(self, found: Found) -> Any:
        """θ: the shift of the log-odds against the expectation."""
        if not math.isfinite(found.theta):
            return undefined("everybody in the subgroup is on one side")
        return found.theta * self.seen.sigma if self.seen.sigma is not None else found.theta

    def value_rows(self, found: Found) -> list[dict[str, Any]]:
        """Every value of every attribute, the others held at the subgroup: is it in, and what are its rates?"""
        rows = []
        for j, name in enumerate(self.data.features):
            labels = self.data.labels[name]
            admitted = found.values[j, : len(labels)]
            opened = found.values.copy()
            opened[j] = True
            around = self.members(opened)
            for v in self._chart_values(admitted):
                told = self.rates(around & (self.setup.table.cell_codes[:, j] == v))
                rows.append(
                    {
                        "attribute": name,
                        "value": labels[v],
                        "inside": bool(admitted[v]),
                        "restricted": not admitted.all(),
                        "of": len(labels),
                        "n": told.n,
                        "rate": told.rate,
                        "expected": told.expected,
                        "target_n": told.target_n,
                        "target_rate": told.target_rate,
                    }
                )
        return rows

    def _chart_values(self, admitted: BoolArray) -> Sequence[int]:
        """All values, or for long attributes those inside first."""
        if len(admitted) <= MOST_CHART_VALUES:
            return range(len(admitted))
        order = np.argsort(~admitted, kind="stable")[:MOST_CHART_VALUES]
        return sorted(int(v) for v in order)

    def fit_rows(self) -> list[dict[str, Any]]:
        """Observed against expected in the comparison class, overall and per value: does the model describe it?"""
        table = self.setup.table
        everyone = self.rates(table.cell_scanned)
        rows = [_fit_row("everyone", "everyone", everyone)]
        for j, name in enumerate(self.data.features):
            for v, label in enumerate(self.data.labels[name][:MOST_CHART_VALUES]):
                told = self.rates(table.cell_scanned & (table.cell_codes[:, j] == v))
                if told.target_n:
                    rows.append(_fit_row(name, label, told))
        return rows

    def worst_cell_fit(self) -> dict[str, Any]:
        """The largest gap between observed and expected over comparison cells of at least 30 people."""
        table, sums = self.setup.table, self.seen.sums
        n = sums.comparison[0]
        big = table.cell_scanned & (n >= 30)
        if not big.any():
            return {"cells": 0, "gap": None, "n": None}
        gaps = np.abs(sums.comparison_events[0][big] / n[big] - self.seen.expected[big])
        worst = int(np.argmax(gaps))
        return {"cells": int(big.sum()), "gap": float(gaps[worst]), "n": round(float(n[big][worst]))}

    def ridge_rows(self) -> list[dict[str, Any]]:
        """The best subgroup when the ridge of the logistic models is another one."""
        if self.setup.how.event_model is not None:
            return []
        rows = []
        for ridge in sorted({*SENSITIVITY, self.setup.how.ridge}, reverse=True):
            other = replace(self.setup, how=replace(self.setup.how, ridge=ridge))
            best = scan_observed(other).found[0]
            rows.append({"ridge": ridge, "score": best.score, "subgroup": self.words(best)})
        return rows


def _fit_row(attribute: str, value: str, told: Rates) -> dict[str, Any]:
    return {
        "attribute": attribute,
        "value": value,
        "n": told.target_n,
        "observed": told.target_rate,
        "expected": told.target_expected,
    }


def histogram(scores: FloatArray, observed: float, bins: int = 40) -> list[dict[str, Any]]:
    """The null distribution as bars; the rare draws far above all else share the last bar."""
    top = max(float(np.quantile(scores, 0.995)), 1.1 * observed, 1e-6)
    counts, edges = np.histogram(np.minimum(scores, top), bins=bins, range=(0.0, top))
    highest = np.append(edges[1:-1], max(top, float(scores.max())))
    return [
        {
            "low": float(edges[i]),
            "high": float(edges[i + 1]),
            "draws": int(counts[i]),
            "highest": float(highest[i]),
        }
        for i in range(bins)
    ]

"""What a scan tells about each subgroup: words, sizes, rates, comparison, fit and sensitivity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial.methods.scan.question import ScanQuestion
from fairtrial.methods.scan.scan_data import ScanData
from fairtrial.methods.scan.solver import statistic
from fairtrial.methods.scan.solver.arrays import BoolArray, FloatArray
from fairtrial.results.column import State, undefined

MOST_LISTED = 5
MOST_CHART_VALUES = 30
CHART_NUMBERS = ("n", "rate", "expected", "target_n", "target_rate")
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
        self,
        question: ScanQuestion,
        data: ScanData,
        setup: statistic.ScanSetup,
        seen: statistic.Observed,
        level: float,
    ) -> None:
        self.question, self.data, self.setup, self.seen, self.level = question, data, setup, seen, level
        self.supported = statistic.supported_cells(setup.table, seen.sums)[0]
        self.subgroups = statistic.subgroup_count(setup.table.arity)

    def members(self, values: NDArray[np.bool_]) -> BoolArray:
        """The scanned cells whose values are all admitted."""
        codes = self.setup.table.cell_codes
        inside = self.setup.table.cell_scanned.copy()
        if self.setup.drop_unsupported:
            inside &= self.supported
        for attribute in range(codes.shape[1]):
            inside &= values[attribute, codes[:, attribute]]
        return inside

    def restricted(self, found: statistic.Found) -> dict[str, list[str]]:
        """Attribute → admitted values, for the attributes that do not admit all of theirs."""
        chosen = {}
        for j, name in enumerate(self.question.features):
            labels = self.data.labels[name]
            admitted = found.values[j, : len(labels)]
            if not admitted.all():
                chosen[name] = [label for label, inside in zip(labels, admitted, strict=True) if inside]
        return chosen

    def words(self, found: statistic.Found) -> str:
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

    def estimate(self, rank: int, found: statistic.Found, p_value: Any, state: State) -> dict[str, Any]:
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
            **asdict(told),
            "rate_low": low,
            "rate_high": high,
            "difference": None if told.rate is None or told.expected is None else told.rate - told.expected,
            "target": self.question.target,
            "target_rate": nobody if told.target_rate is None else told.target_rate,
            "target_rate_low": other_low,
            "target_rate_high": other_high,
            "target_expected": nobody if told.target_expected is None else told.target_expected,
            "score": found.score,
            "log_odds": self._log_odds(found),
            "p_value": p_value,
            **state.cells(),
        }

    def _interval(self, rate: float | None, people: int) -> tuple[float | None, float | None]:
        if rate is None:
            return None, None
        return selected_rate_interval(rate, people, self.subgroups, self.level)

    def _log_odds(self, found: statistic.Found) -> Any:
        """θ: the shift of the log-odds against the expectation."""
        if not math.isfinite(found.theta):
            return undefined("everybody in the subgroup is on one side")
        return found.theta * self.seen.sigma if self.seen.sigma is not None else found.theta

    def value_rows(self, found: statistic.Found) -> list[dict[str, Any]]:
        """Every value of every attribute, the others held at the subgroup: is it in, and what are its rates?"""
        rows = []
        for j, name in enumerate(self.question.features):
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

    def fit_rows(self) -> list[dict[str, Any]]:
        """Observed against expected in the comparison class, overall and per value: does the model describe it?"""
        scanned, codes = self.setup.table.cell_scanned, self.setup.table.cell_codes
        parts = [("everyone", "everyone", self.rates(scanned))]
        for j, name in enumerate(self.question.features):
            for v, label in enumerate(self.data.labels[name][:MOST_CHART_VALUES]):
                parts.append((name, label, self.rates(scanned & (codes[:, j] == v))))
        return [
            {
                "attribute": name,
                "value": value,
                "n": told.target_n,
                "observed": told.target_rate,
                "expected": told.target_expected,
            }
            for name, value, told in parts
            if told.target_n
        ]

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
            best = statistic.scan_observed(other).found[0]
            rows.append({"ridge": ridge, "score": best.score, "subgroup": self.words(best)})
        return rows


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

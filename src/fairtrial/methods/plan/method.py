"""How many people are needed to certify a tolerance, or to detect a disparity?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any, ClassVar

import numpy as np
from scipy import optimize

from fairtrial.errors import InputError, Note, check_between
from fairtrial.inference.power import certify_power, interval_critical
from fairtrial.inference.rates.proportions import constrained_rates
from fairtrial.methods.gaps.tolerance import find_band
from fairtrial.metrics.metric import Metric
from fairtrial.metrics.table import find_metric
from fairtrial.results.column import Column, Verdict
from fairtrial.results.result import Result

WHO = "plan"
MOST = 1e12
POINTS = 60


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanResult(Result):
    """Members per group for each goal, and the power curve."""

    kind: ClassVar[str] = "plan"
    columns: ClassVar[tuple[Column, ...]] = (
        Column("goal", "to", "text"),
        Column("power", "power", "rate"),
        Column("members", "members of the group", "count"),
        Column("target_members", "members of the target", "count"),
        Column("rows", "rows that meet the condition", "count"),
    )
    method: ClassVar[str] = (
        "Normal approximation with the null variance at the constrained maximum (Farrington & Manning 1990): certify "
        "is two one-sided tests, detect the interval-null test that certify and flag use."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "People are independent.",
        "The rate (or standard deviation) assumed is about right: too low a spread plans too few people.",
    )
    citation: ClassVar[str] = "Farrington & Manning (1990), Statistics in Medicine 9; Schuirmann (1987)."

    def reading(self) -> list[str]:
        """The sentence, and what the numbers count."""
        return [
            self.verdict.text,
            f"Members are people who meet the condition of {self.details['label']}; a metric given an outcome or a "
            "decision needs more rows than that.",
        ]


@dataclass(frozen=True, slots=True)
class Design:
    """What is assumed: the group's and target's spread, and the sizes' relation."""

    rate: float | None
    deviation: float | None
    target_ratio: float | None

    def continuity(self, members: float) -> float:
        """Against a known rate the binomial's own tails count, whose steps cost up to one person of distance."""
        return 1.0 / members if self.rate is not None and self.target_ratio is None else 0.0

    def errors(self, members: float, gap: float, null: float) -> tuple[float, float]:
        """Standard errors at the truth `gap` and at the null `null`, for this many members."""
        if self.rate is None:
            assert self.deviation is not None
            other = 0.0 if self.target_ratio is None else 1.0 / self.target_ratio
            error = self.deviation * sqrt((1.0 + other) / members)
            return error, error
        group = self.rate + gap
        if self.target_ratio is None:
            at_null = min(max(self.rate + null, 1e-9), 1 - 1e-9)
            return sqrt(group * (1 - group) / members), sqrt(at_null * (1 - at_null) / members)
        others = members * self.target_ratio
        truth = sqrt(group * (1 - group) / members + self.rate * (1 - self.rate) / others)
        p1, p2 = (
            float(p) for p in constrained_rates(group * members, members, self.rate * others, others, null)
        )
        return truth, sqrt(max(p1 * (1 - p1) / members + p2 * (1 - p2) / others, 1e-300))


def plan(
    metric: str | Metric,
    *,
    rate: float | None = None,
    deviation: float | None = None,
    tolerance: float | Sequence[float] | None = None,
    disparity: float | None = None,
    target_known: bool = False,
    target_ratio: float = 1.0,
    groups: int = 1,
    power: float = 0.8,
    confidence_level: float = 0.95,
) -> PlanResult:
    """Members per group to certify a `tolerance` if the disparity is zero, and to detect a `disparity`.

    `rate` is the target's assumed rate (binary metrics), `deviation` the standard deviation of a real-valued one.
    `target_ratio` is how many members the target has per member of the group (1: equally many); `target_known` says
    that the target is a known number. With both `tolerance` and `disparity`, detecting means finding it outside the
    tolerance. `groups` is the number of groups tested: detection is then planned at the level Holm gives its first
    group; a certificate for all groups needs none.

    >>> import fairtrial
    >>> result = fairtrial.plan("fpr", rate=0.2, tolerance=0.05, disparity=0.1)
    >>> [(row["goal"], row["members"]) for row in result.estimates]
    [('certify within 5.0 points', 1100), ('detect 10.0 points, 5.0 points tolerated', 919)]
    """
    asked = find_metric(WHO, metric)
    band = find_band(WHO, tolerance, asked)
    _check(asked, rate, deviation, band, disparity, target_ratio, groups)
    check_between(WHO, "power", power, 0.05, 1)
    check_between(WHO, "confidence_level", confidence_level, 0.5, 1)
    design = Design(rate, deviation, None if target_known else float(target_ratio))
    binary = rate is not None
    goals: list[tuple[str, str, Callable[[float], float]]] = []
    if band is not None:
        words = f"certify within {_band_words(band, binary)}"
        goals.append(("certify", words, lambda n: _certify_power(design, n, band, confidence_level)))
    if disparity is not None:
        null = band or (0.0, 0.0)
        level = 1.0 - (1.0 - confidence_level) / groups
        beyond = f", {_band_words(band, binary)} tolerated" if band is not None else ""
        words = f"detect {_words(disparity, binary)}{beyond}"
        goals.append(("detect", words, lambda n: detection_power(design, n, disparity, null, level)))
    lines, curves = [], []
    for name, words, function in goals:
        members = _members(function, power)
        others = None if target_known else ceil(members * target_ratio)
        sizes = {"members": members, "target_members": others, "rows": members + (others or 0)}
        lines.append({"goal": words, "power": power, **sizes})
        curves += _curve(name, words, function, members)
    return PlanResult(
        question=f"How many people does an audit of {asked.label} need?",
        null="A plan, not a test.",
        verdict=_verdict(lines, asked.label, power),
        estimates=tuple(lines),
        details={
            "label": asked.label,
            "power": power,
            "curves": curves,
            "confidence_level": confidence_level,
            "scale": "percent" if binary else "number",
        },
        notes=tuple(_notes(target_known, groups)),
        provenance={
            "arguments": {
                "metric": asked.to_dict(), "rate": rate, "deviation": deviation,
                "tolerance": None if band is None else list(band), "disparity": disparity,
                "target_known": target_known, "target_ratio": target_ratio, "groups": groups, "power": power,
                "confidence_level": confidence_level,
            }
        },
    )  # fmt: skip


def _check(
    metric: Metric,
    rate: float | None,
    deviation: float | None,
    band: tuple[float, float] | None,
    disparity: float | None,
    target_ratio: float,
    groups: int,
) -> None:
    if metric.binary and rate is None:
        raise InputError(WHO, f"'rate' is needed for {metric.name!r}: the target's assumed rate, such as 0.2")
    if metric.binary is False and deviation is None:
        raise InputError(WHO, f"'deviation' is needed for {metric.name!r}: the assumed standard deviation")
    if (rate is None) == (deviation is None):
        raise InputError(WHO, "give either 'rate' (a binary metric) or 'deviation' (a real-valued one)")
    if band is None and disparity is None:
        raise InputError(WHO, "give 'tolerance' (to certify), 'disparity' (to detect), or both")
    if rate is not None:
        check_between(WHO, "rate", rate, 0, 1)
    if deviation is not None and not deviation > 0:
        raise InputError(WHO, f"'deviation' must be above zero, got {deviation!r}")
    if not target_ratio > 0:
        raise InputError(WHO, f"'target_ratio' must be above zero, got {target_ratio!r}")
    if isinstance(groups, bool) or not isinstance(groups, int) or groups < 1:
        raise InputError(WHO, f"'groups' must be a whole number of at least 1, got {groups!r}")
    if band is not None and not band[0] < 0 < band[1]:
        raise InputError(WHO, f"'tolerance' must contain zero to plan a certificate, got {list(band)}")
    if disparity is None:
        return
    low, high = band or (0.0, 0.0)
    if low <= disparity <= high:
        raise InputError(
            WHO, f"'disparity' {disparity:g} lies inside the tolerance: there is nothing to detect"
        )
    if rate is not None and not 0 < rate + disparity < 1:
        raise InputError(WHO, f"'rate' {rate:g} plus 'disparity' {disparity:g} must lie between 0 and 1")


def _certify_power(design: Design, members: float, band: tuple[float, float], level: float) -> float:
    """Both one-sided tests at zero disparity, each at the null variance of its own edge."""
    truth, at_low = design.errors(members, 0.0, band[0])
    _, at_high = design.errors(members, 0.0, band[1])
    critical = interval_critical(np.inf, 1.0 - level)
    # Moving each edge inwards by the excess of its critical distance turns both tests into one error.
    low = band[0] + critical * (at_low - truth) + design.continuity(members)
    high = band[1] - critical * (at_high - truth) - design.continuity(members)
    return certify_power(truth, low, high, level) if low < high else 0.0


def detection_power(
    design: Design, members: float, gap: float, band: tuple[float, float], level: float
) -> float:
    """Chance to find the gap outside the band, the critical distance at the null variance of the near edge."""
    from scipy import special

    edge = band[1] if gap > band[1] else band[0]
    truth, at_null = design.errors(members, gap, edge)
    critical = interval_critical((band[1] - band[0]) / truth, 1.0 - level)
    distance = abs(gap - edge) - design.continuity(members)
    return float(special.ndtr((distance - critical * at_null) / truth))


def _members(function: Callable[[float], float], power: float) -> int:
    """The smallest number of members with the power asked for."""
    high = 4.0
    while function(high) < power:
        high *= 2.0
        if high > MOST:
            raise InputError(
                WHO, "more than 10¹² members would be needed: the tolerance or disparity is too small"
            )
    low = high / 2.0
    if function(low) >= power:
        return max(2, ceil(low))
    return ceil(optimize.brentq(lambda n: function(n) - power, low, high, xtol=1e-6) - 1e-9)


def _curve(name: str, words: str, function: Callable[[float], float], members: int) -> list[dict[str, Any]]:
    sizes = np.unique(np.round(np.geomspace(max(4.0, members / 16), members * 3.0, POINTS)))
    return [
        {
            "goal": name,
            "words": words,
            "members": int(size),
            "power": min(max(float(function(size)), 0.0), 1.0),
        }
        for size in sizes
    ]


def _words(value: float, binary: bool) -> str:
    return f"{100 * value:.1f} points" if binary else f"{value:.3g}"


def _band_words(band: tuple[float, float], binary: bool) -> str:
    low, high = (_words(value, binary) for value in band)
    return high if band[0] == -band[1] else f"[{low}, {high}]"


def _verdict(lines: list[dict[str, Any]], label: str, power: float) -> Verdict:
    parts = [f"{row['members']:,} members per group to {row['goal']}" for row in lines]
    each = "each " if len(lines) > 1 else ""
    return Verdict("planned", f"{label}: {' and '.join(parts)}, {each}with {100 * power:g}% power")


def _notes(target_known: bool, groups: int) -> list[Note]:
    notes = [
        Note(
            "approximate",
            "A normal approximation: below about 50 expected events plan generously.",
        )
    ]
    if not target_known:
        notes.append(
            Note(
                "target-estimated",
                "The target is estimated too: its people are counted beside the group's.",
            )
        )
    if groups > 1:
        notes.append(
            Note("several-groups", f"Detection is planned at Holm's level for the first of {groups}.")
        )
    return notes

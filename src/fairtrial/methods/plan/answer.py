"""From assumptions to the members each goal needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import numpy as np
from scipy import optimize

from fairtrial.errors import Fault, Faults, InputError, Named, Note, Words, notes_where
from fairtrial.inference.power import certify_power, interval_critical
from fairtrial.inference.rates.proportions import constrained_rates
from fairtrial.methods.gaps.words import band_words, disparity_words
from fairtrial.methods.plan.result import PlanResult
from fairtrial.metrics.metric import Metric
from fairtrial.results.column import Verdict

WHO = "plan"
MOST = 1e12
POINTS = 60
Power = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Assumed:
    """What is assumed of the audit to come."""

    metric: Metric
    rate: float | None
    deviation: float | None
    target_known: bool
    target_ratio: float
    groups: int
    power: float
    confidence_level: float

    @property
    def design(self) -> Design:
        return Design(self.rate, self.deviation, None if self.target_known else float(self.target_ratio))

    @property
    def binary(self) -> bool:
        return self.rate is not None


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


def answer(asked: Assumed, band: tuple[float, float] | None, disparity: float | None) -> PlanResult:
    """Members for each goal, with the curve of its power."""
    _check(asked, band, disparity)
    lines, curves = [], []
    for name, words, function in _goals(asked, band, disparity):
        members = _members(function, asked.power)
        others = None if asked.target_known else ceil(members * asked.target_ratio)
        sizes = {"members": members, "target_members": others, "rows": members + (others or 0)}
        lines.append({"goal": words, "power": asked.power, **sizes})
        curves += _curve(name, words, function, members)
    label = asked.metric.label
    return PlanResult(
        question=f"How many people does an audit of {label} need?",
        null="A plan, not a test.",
        verdict=_verdict(lines, label, asked.power),
        estimates=tuple(lines),
        details={
            "label": label,
            "power": asked.power,
            "curves": curves,
            "confidence_level": asked.confidence_level,
            "value_kind": "percent" if asked.binary else "number",
        },
        notes=tuple(_notes(asked.target_known, asked.groups)),
        provenance={
            "arguments": {
                "metric": asked.metric.to_dict(),
                "tolerance": None if band is None else list(band),
            }
        },
    )


def _goals(
    asked: Assumed, band: tuple[float, float] | None, disparity: float | None
) -> list[tuple[str, str, Power]]:
    """Each goal's name, its words, and its power by members."""
    design, binary, level = asked.design, asked.binary, asked.confidence_level
    goals: list[tuple[str, str, Power]] = []
    if band is not None:
        words = f"certify within {band_words(band, binary)}"
        goals.append(("certify", words, lambda n: _certify_power(design, n, band, level)))
    if disparity is not None:
        null = band or (0.0, 0.0)
        each = 1.0 - (1.0 - level) / asked.groups
        beyond = f", {band_words(band, binary)} tolerated" if band is not None else ""
        words = f"detect {disparity_words(disparity, binary)}{beyond}"
        goals.append(("detect", words, lambda n: detection_power(design, n, disparity, null, each)))
    return goals


def _check(asked: Assumed, band: tuple[float, float] | None, disparity: float | None) -> None:
    """What the bounds of single arguments cannot say, all faults at once."""
    faults = Faults(WHO)
    spread = _spread_fault(asked)
    if spread is not None:
        faults.add(spread)
    if band is None and disparity is None:
        required = Words(
            "give {} (to certify), {} (to detect), or both", Named("tolerance"), Named("disparity")
        )
        faults.add(Fault("", required))
    if band is not None and not band[0] < 0 < band[1]:
        faults.add(Fault("tolerance", "must contain zero to plan a certificate", got=list(band)))
    faults.raise_any()
    if disparity is not None:
        _check_disparity(asked.rate, band or (0.0, 0.0), disparity)


def _spread_fault(asked: Assumed) -> Fault | None:
    """Rate or deviation, whichever the metric has."""
    metric, rate, deviation = asked.metric, asked.rate, asked.deviation
    if metric.binary and rate is None:
        return Fault("rate", f"is needed for {metric.name!r}: the target's assumed rate, such as 0.2")
    if metric.binary is False and deviation is None:
        return Fault("deviation", f"is needed for {metric.name!r}: the assumed standard deviation")
    if (rate is None) == (deviation is None):
        either = "give either {} (a binary metric) or {} (a real-valued one)"
        return Fault("", Words(either, Named("rate"), Named("deviation")))
    return None


def _check_disparity(rate: float | None, band: tuple[float, float], disparity: float) -> None:
    low, high = band
    if low <= disparity <= high:
        why = f"{disparity:g} lies inside the tolerance: there is nothing to detect"
        raise InputError(WHO, Fault("disparity", why))
    if rate is not None and not 0 < rate + disparity < 1:
        both = Words(f"{rate:g} plus {{}} {disparity:g} must lie between 0 and 1", Named("disparity"))
        raise InputError(WHO, Fault("rate", both))


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
            required = "more than 10¹² members would be needed: the tolerance or disparity is too small"
            raise InputError(WHO, Fault("", required))
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


def _verdict(lines: list[dict[str, Any]], label: str, power: float) -> Verdict:
    parts = [f"{row['members']:,} members per group to {row['goal']}" for row in lines]
    each = "each " if len(lines) > 1 else ""
    return Verdict("planned", f"{label}: {' and '.join(parts)}, {each}with {100 * power:g}% power")


def _notes(target_known: bool, groups: int) -> list[Note]:
    return notes_where(
        {
            "approximate": (True, "A normal approximation: below about 50 expected events plan generously."),
            "target-estimated": (
                not target_known,
                "The target is estimated too: its people are counted beside the group's.",
            ),
            "several-groups": (
                groups > 1,
                f"Detection is planned at Holm's level for the first of {groups}.",
            ),
        }
    )

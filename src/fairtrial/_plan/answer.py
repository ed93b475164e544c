"""From assumptions to the members each goal needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, exp, pi, sqrt
from typing import Any

import numpy as np
from scipy import special

from fairtrial._audit.groups import MINIMUM_SIZE
from fairtrial._compare.words import band_words, disparity_words
from fairtrial._errors import Fault, Faults, InputError, Named, Note, Words, notes_where
from fairtrial._inference.laws.gaps import no_gap
from fairtrial._inference.means.resampled_means import DRAWS, DRAWS_IF_THIN, THIN
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.power import STEPPED_EVENTS, MeanAudits, RateAudits, smallest_size
from fairtrial._inference.sequential.claims import advance
from fairtrial._inference.sequential.streams import StreamRule, new_streams
from fairtrial._inference.ways import Scale
from fairtrial._metrics.values import Metric
from fairtrial._plan.designs import RowDesign, design_words
from fairtrial._plan.result import PlanResult
from fairtrial._results.column import Verdict
from fairtrial._results.text import counted
from fairtrial._work import generator

WHO = "plan"
POINTS = 24
Power = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class PlanAssumptions:
    """What is assumed of the audit to come."""

    metric: Metric
    rate: float | None
    deviation: float | None
    target_known: bool
    target_ratio: float
    groups: int
    power: float
    confidence_level: float
    scale: Scale = "difference"
    design: RowDesign | None = None

    def certified(self, members: Floats, band: tuple[float, float]) -> Floats:
        """Chance that all groups of so many members are certified, if no gap is there."""
        alpha = 1.0 - self.confidence_level
        if self.design is not None and self.design.own:
            return self.design.certified(members, band, alpha, self.groups, self.deviation)
        return self._stretched(members, alpha, lambda n: self._certified(n, band, alpha))

    def _stretched(self, members: Floats, tail: float, chance: Power) -> Floats:
        """The chance at the people whom rows of repeated or weighted people are worth."""
        if self.design is None:
            return chance(members)
        ratio = math.inf if self.target_known else self.target_ratio
        return self.design.stretched(chance, members, ratio, tail, self.power)

    def _certified(self, members: Floats, band: tuple[float, float], alpha: float) -> Floats:
        if self.rate is None:
            return np.array([self._means(n, 0.0, alpha).certified(band, alpha, self.groups) for n in members])
        return self._rates(members).certified(band, alpha, np.full(members.shape, self.rate), self.groups)

    def found(self, members: Floats, gap: float, band: tuple[float, float]) -> Floats:
        """Chance that a group of so many members with this gap is found outside the band at Holm's first level."""
        alpha = (1.0 - self.confidence_level) / self.groups
        if self.design is not None and self.design.own:
            return self.design.found(members, gap, band, alpha, self.deviation)
        return self._stretched(members, alpha / 2.0, lambda n: self._found(n, gap, band, alpha))

    def _found(self, members: Floats, gap: float, band: tuple[float, float], alpha: float) -> Floats:
        if self.rate is None:
            return np.array([self._means(n, gap, alpha / 2.0).found(band, alpha) for n in members])
        rate = self.rate + gap if self.scale == "difference" else self.rate * gap
        return self._rates(members).found(band, alpha, np.full(members.shape, rate))

    def others(self, members: float) -> float:
        """People of the target; infinitely many for a known one."""
        if self.design is not None and self.design.own:
            return self.design.others(members)
        return np.inf if self.target_known else float(ceil(members * self.target_ratio))

    def _rates(self, members: Floats) -> RateAudits:
        others = np.array([self.others(n) for n in members])
        return RateAudits(members, others, np.full(members.shape, self.rate), scale=self.scale)

    def _means(self, members: float, gap: float, tail: float) -> MeanAudits:
        assert self.deviation is not None
        errors = self.deviation / sqrt(members), self.deviation / sqrt(self.others(members))
        stretch = 1.0 if self.target_known else drawn_stretch(tail)
        return MeanAudits(*errors, gap, (stretch, stretch))

    @property
    def stepped(self) -> float:
        """The size up to which the steps between counts show in the power."""
        return 0.0 if self.rate is None else STEPPED_EVENTS / min(self.rate, 1.0 - self.rate)

    @property
    def binary(self) -> bool:
        return self.rate is not None

    @property
    def fewest(self) -> int:
        """Members below which no audit tests."""
        return max(MINIMUM_SIZE, 0 if self.design is None else self.design.fewest)


def drawn_stretch(tail: float) -> float:
    """How much further than the exact quantile of this tail a drawn one may reach: two of its standard errors.

    The draws of a test depend on its sizes alone, so that a size can be unlucky: planned without this, 175 people and
    175 others had a power of 75% in place of 80%, 196 and 196 all that they should have.
    """
    draws = DRAWS if tail >= THIN else DRAWS_IF_THIN
    critical = -float(special.ndtri(tail))
    density = exp(-(critical**2) / 2.0) / sqrt(2.0 * pi)
    return 1.0 + 2.0 * sqrt(tail * (1.0 - tail) / draws) / density / critical


def answer(asked: PlanAssumptions, band: tuple[float, float] | None, disparity: float | None) -> PlanResult:
    """Members for each goal, with the curve of its power."""
    _check(asked, band, disparity)
    lines, curves = [], []
    for name, words, function in _goals(asked, band, disparity):
        members = _members(function, asked)
        others = None if asked.target_known else int(asked.others(members))
        sizes = {
            "members": members,
            "target_members": others,
            "rows": members + (others or 0),
            "periods": None,
        }
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
        notes=tuple(_notes(asked, any(map(_fewest, lines)))),
        provenance={
            "arguments": {
                "metric": asked.metric.to_dict(),
                "tolerance": None if band is None else list(band),
            }
        },
    )


def _goals(
    asked: PlanAssumptions, band: tuple[float, float] | None, disparity: float | None
) -> list[tuple[str, str, Power]]:
    """Each goal's name, its words, and its power by members."""
    binary = asked.binary
    goals: list[tuple[str, str, Power]] = []
    if band is not None:
        every = f"all {asked.groups} groups " if asked.groups > 1 else ""
        words = f"certify {every}within {band_words(band, binary, asked.scale)}"
        goals.append(("certify", words, lambda n: asked.certified(n, band)))
    if disparity is not None:
        null = band or (no_gap(asked.scale), no_gap(asked.scale))
        beyond = f", {band_words(band, binary, asked.scale)} tolerated" if band is not None else ""
        gap = (
            disparity_words(disparity, binary)
            if asked.scale == "difference"
            else f"a ratio of {disparity:.3g}"
        )
        words = f"detect {gap}{beyond}"
        goals.append(("detect", words, lambda n: asked.found(n, disparity, null)))
    return goals


def _check(asked: PlanAssumptions, band: tuple[float, float] | None, disparity: float | None) -> None:
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
    none = no_gap(asked.scale)
    if band is not None and not band[0] < none < band[1]:
        what = "zero" if asked.scale == "difference" else "one"
        faults.add(Fault("tolerance", f"must contain {what} to plan a certificate", got=list(band)))
    if asked.scale == "ratio" and asked.metric.binary is False:
        faults.add(Fault("scale", "'ratio' is planned for rates", cure="Leave it out"))
    faults.raise_any()
    if disparity is not None:
        _check_disparity(asked, band or (none, none), disparity)


def _spread_fault(asked: PlanAssumptions) -> Fault | None:
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


def _check_disparity(asked: PlanAssumptions, band: tuple[float, float], disparity: float) -> None:
    (low, high), rate = band, asked.rate
    if low <= disparity <= high:
        why = f"{disparity:g} lies inside the tolerance: there is nothing to detect"
        raise InputError(
            WHO,
            Fault("disparity", why, cure=Words("State a larger one, or a narrower {}", Named("tolerance"))),
        )
    ratio = asked.scale == "ratio"
    if rate is not None and not 0 < (rate * disparity if ratio else rate + disparity) < 1:
        joined = "times" if ratio else "plus"
        both = Words(f"{rate:g} {joined} {{}} {disparity:g} must lie between 0 and 1", Named("disparity"))
        raise InputError(WHO, Fault("rate", both))


def _members(function: Power, asked: PlanAssumptions) -> int:
    """The smallest number of members with the power asked for; never so few that the audit does not test them."""
    found = smallest_size(function, asked.power, asked.stepped)
    if found is None:
        required = "more than 10¹² members would be needed: the tolerance or disparity is too small"
        raise InputError(WHO, Fault("", required, cure="State a larger one"))
    return max(asked.fewest, found)


def _curve(name: str, words: str, function: Power, members: int) -> list[dict[str, Any]]:
    sizes = np.unique(np.round(np.geomspace(max(4.0, members / 16), members * 3.0, POINTS)))
    return [
        {"goal": name, "words": words, "members": int(size), "power": min(max(float(power), 0.0), 1.0)}
        for size, power in zip(sizes, function(sizes), strict=True)
    ]


def _verdict(lines: list[dict[str, Any]], label: str, power: float) -> Verdict:
    parts = [f"{counted(row['members'], 'member')} per group{_fewest(row)} to {row['goal']}" for row in lines]
    each = "each " if len(lines) > 1 else ""
    return Verdict("planned", f"{label}: {' and '.join(parts)}, {each}with {100 * power:g}% power")


def _fewest(line: dict[str, Any]) -> str:
    return ", the fewest that are tested," if line["members"] == MINIMUM_SIZE else ""


def _notes(asked: PlanAssumptions, fewest: bool) -> list[Note]:
    design, own = asked.design, asked.design is not None and asked.design.own
    return notes_where(
        {
            "fewest": (
                fewest,
                f"Groups of fewer than {MINIMUM_SIZE} members are not tested unless the audit's minimum is lower: no "
                "plan goes below it, and its power is then at least the one asked for.",
            ),
            "design": (design is not None, "" if design is None else design_words(design)),
            "by-the-test": (
                asked.binary and not own,
                "Counts that are likely with these sizes go through certify's own test.",
            ),
            "approximate": (
                not asked.binary,
                "A normal approximation, with room for the luck of the test's draws where the target is estimated: "
                "with few people or skewed values plan generously.",
            ),
            "target-estimated": (
                not asked.target_known,
                "The target is estimated too: its people are counted beside the group's.",
            ),
            "several-groups": (
                asked.groups > 1,
                f"A certificate is planned for all {asked.groups} groups at once, which share the target; detection of "
                "one of them at Holm's first level.",
            ),
        }
    )


# -- How long a watch takes to show a violation, by simulating the very process.
RUNS = 1000
MOST_PERIODS = 5000


def _check_watch(asked: PlanAssumptions, disparity: float | None) -> float:
    """What a watch's plan needs besides; gives the gap that it looks for."""
    faults = Faults(WHO)
    if asked.scale == "ratio":
        cure = Words("leave {} out", Named("scale"))
        faults.add(Fault("each_period", "is for differences: a watch of ratios is not planned", cure=cure))
    if not asked.binary:
        cure = Words("leave {} out, or ask for a binary metric", Named("each_period"))
        faults.add(Fault("each_period", "is for binary metrics only", cure=cure))
    if disparity is None:
        required = Words("needs {}: how large a violation the watch is to find", Named("disparity"))
        faults.add(Fault("each_period", required))
    faults.raise_any()
    assert disparity is not None
    return disparity


def answer_watched(
    asked: PlanAssumptions, band: tuple[float, float] | None, disparity: float | None, each_period: int
) -> PlanResult:
    """The plan with one more line: periods until the violation is shown in as many runs as the power says."""
    disparity = _check_watch(asked, disparity)
    result = answer(asked, band, disparity)
    crossed = simulate(asked, band or (0.0, 0.0), disparity, each_period)
    reached = np.sort(crossed[crossed >= 0]) + 1
    needed = math.ceil(asked.power * RUNS)
    beyond = f", {band_words(band, True)} tolerated" if band is not None else ""
    watched = counted(each_period, "member")
    words = f"notice {disparity_words(disparity, True)}{beyond} by watching {watched} a period"
    if len(reached) < needed:
        text = f"{result.verdict.text}; watching would not show it within {MOST_PERIODS:,} periods"
        return replace(result, verdict=Verdict(result.verdict.code, text), notes=(*result.notes, _note()))
    periods = int(reached[needed - 1])
    members = periods * each_period
    others = None if asked.target_known else math.ceil(members * asked.target_ratio)
    line = {
        "goal": words, "power": asked.power, "members": members, "target_members": others,
        "rows": members + (others or 0), "periods": periods,
    }  # fmt: skip
    curve = [
        {
            "goal": "watch",
            "words": words,
            "members": int(period) * each_period,
            "power": float((reached <= period).sum() / RUNS),
        }
        for period in np.unique(np.quantile(reached, np.linspace(0, 1, 24), method="lower"))
    ]
    verdict = f"{result.verdict.text}; {counted(periods, 'period')} to {words}, in {100 * asked.power:g}% of watches"
    details: dict[str, Any] = {**result.details, "curves": [*result.details["curves"], *curve]}
    return replace(
        result, estimates=(*result.estimates, line), verdict=Verdict(result.verdict.code, verdict), details=details,
        notes=(*result.notes, _note()),
    )  # fmt: skip


def _note() -> Note:
    text = (
        f"Watching: {RUNS:,} simulated watches from the first period on, each looked at after every period; the gap is "
        "there from the beginning. One that begins later is found later."
    )
    return Note("watch", text)


def simulate(asked: PlanAssumptions, band: tuple[float, float], disparity: float, each_period: int) -> Any:
    """The period in which each of many watches shows the violation; -1 for never."""
    assert asked.rate is not None
    alpha = (1.0 - asked.confidence_level) / asked.groups
    known = asked.rate if asked.target_known else math.nan
    rule = StreamRule(float(band[0]), float(band[1]), False, known, False, True, 1, 2, -math.log(alpha))
    others = 0 if asked.target_known else max(1, round(each_period * asked.target_ratio))
    sizes = np.array([each_period, others])
    random = generator(0, "plan monitoring")
    streams = new_streams(RUNS)
    needed = math.ceil(asked.power * RUNS)
    for period in range(MOST_PERIODS):
        ones = random.binomial(sizes, [asked.rate + disparity, asked.rate], (RUNS, 2)).astype(np.float64)
        cells = np.stack([np.broadcast_to(sizes, ones.shape), ones, ones], axis=2)
        advance(streams, cells, period, rule, np.zeros((0, 2)), 2.0)
        if int((streams.crossed >= 0).sum()) >= needed:
            break
    return streams.crossed

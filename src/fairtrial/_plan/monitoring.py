"""How long a watch takes to show a violation, by simulating the very process."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from fairtrial._compare.words import band_words, disparity_words
from fairtrial._errors import Fault, Faults, Named, Note, Words
from fairtrial._inference.sequential.claims import advance
from fairtrial._inference.sequential.streams import StreamRule, new_streams
from fairtrial._plan.answer import WHO, Assumed
from fairtrial._plan.result import PlanResult
from fairtrial._results.column import Verdict
from fairtrial._results.text import counted
from fairtrial._work import generator

RUNS = 1000
MOST_PERIODS = 5000


def check_monitoring(asked: Assumed, disparity: float | None, each_period: int | None) -> None:
    """What a watch's plan needs besides."""
    faults = Faults(WHO)
    if asked.scale == "ratio":
        faults.add(Fault("monitoring", "is planned for differences", cure="Leave the scale out"))
    if not asked.binary:
        faults.add(
            Fault(
                "monitoring",
                "is planned for binary metrics only",
                cure=Words("leave {} out, or ask for a binary metric", Named("monitoring")),
            )
        )
    if disparity is None:
        faults.add(
            Fault("monitoring", Words("needs {}: how large a violation is to be found", Named("disparity")))
        )
    if each_period is None:
        faults.add(
            Fault("monitoring", Words("needs {}: how many members come in each", Named("each_period")))
        )
    faults.raise_any()


def with_monitoring(
    result: PlanResult, asked: Assumed, band: tuple[float, float] | None, disparity: float, each_period: int
) -> PlanResult:
    """The plan with one more line: periods until the violation is shown in as many runs as the power says."""
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
    return Note("monitoring", text)


def simulate(asked: Assumed, band: tuple[float, float], disparity: float, each_period: int) -> Any:
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

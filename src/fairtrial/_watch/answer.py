"""From a watch to its answer: one row per group, the verdict, and what charts need."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairtrial._errors import Note
from fairtrial._inference.laws.gaps import SMALLEST_P
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.sequential.claims import (
    adjusted,
    estimates,
    interval,
    log_certificate,
    log_evidence,
)
from fairtrial._inference.sequential.streams import GROUP, OTHER
from fairtrial._metrics.values import Metric
from fairtrial._results.column import State, undefined
from fairtrial._watch import sentences
from fairtrial._watch.monitor import Monitor
from fairtrial._watch.request import WatchRequest
from fairtrial._watch.result import WatchResult

MOST_POINTS = 240  # of a chart's line
NOT_YET = "nobody to compare yet"


def answer(
    metric: Metric, asked: WatchRequest, monitor: Monitor, notes: tuple[Note, ...], provenance: dict[str, Any]
) -> WatchResult:
    """What the periods so far show."""
    rows = group_rows(metric, asked, monitor)
    details = _details(asked, monitor, rows)
    said = sentences.reading(asked, monitor, rows, details)
    verdict = sentences.verdict(asked, monitor, rows, said)
    return WatchResult(
        question=sentences.question(asked),
        null=sentences.null(asked),
        verdict=verdict,
        estimates=tuple(rows),
        details={
            **details,
            "sentences": [verdict.text, *said.rest],
            "average": sentences.average_told(asked, rows, said),
        },
        notes=(*notes, *sentences.notes(asked, monitor)),
        provenance=provenance,
    )


def group_rows(metric: Metric, asked: WatchRequest, monitor: Monitor) -> list[dict[str, Any]]:
    """One row per group: its two claims."""
    streams, rule = monitor.streams, monitor.rule
    evidence = log_evidence(streams, rule)
    limits = interval(streams, rule, math.log(2.0 / asked.alpha))
    gaps = estimates(streams, rule)
    certificates = log_certificate(streams, rule)
    p_adjusted = adjusted(evidence, monitor.weights)
    rows = []
    for s, group in enumerate(monitor.groups):
        n = round(float(streams.counted[s, GROUP, 0]))
        compared = streams.weight[s] > 0
        violated = compared and p_adjusted[s] <= asked.alpha
        rows.append(
            {
                "metric": metric.name,
                "value_kind": "percent" if asked.binary else "number",
                "group": group.label,
                "n": n,
                **_rates(asked, monitor, s, float(gaps[s])),
                **_gap_cells(asked, float(gaps[s]), limits[s]),
                "average_state": _average_state(asked, limits[s], certificates[s]) if compared else None,
                "log_e": float(evidence[s]),
                "p_value": max(math.exp(-max(float(streams.top[s]), 0.0)), SMALLEST_P)
                if compared
                else undefined(NOT_YET),
                "p_adjusted": float(p_adjusted[s]) if compared else undefined(NOT_YET),
                **_state(asked, bool(compared), bool(violated)).cells(),
                "since": _period(monitor, int(streams.crossed[s])) if violated else None,
                "changed": _period(monitor, int(streams.alarm[s, 1])) if streams.alarm[s, 0] >= 0 else None,
                "blocks": int(streams.blocks[s]),
            }
        )
    return rows


def _state(asked: WatchRequest, compared: bool, violated: bool) -> State:
    if not compared:
        return State("waiting", NOT_YET)
    if violated:
        return State("violated", "" if asked.binary else "said of the average: values are not 0 and 1")
    return State("no violation shown")


def _period(monitor: Monitor, number: int) -> str | None:
    return monitor.periods[number] if 0 <= number < len(monitor.periods) else None


def _average_state(asked: WatchRequest, limits: Floats, certificate: float) -> str:
    """What the average gap so far allows to say; without a tolerance nothing can be certified."""
    neutral = 1.0 if asked.scale == "ratio" else 0.0
    low, high = asked.band or (neutral, neutral)
    low, high = (low, high) if asked.scale == "ratio" else (low / asked.width, high / asked.width)
    above = limits[0] > high and asked.direction != "below"
    below = limits[1] < low and asked.direction != "above"
    if above or below:
        return "outside"
    certified = asked.band is not None and certificate >= -math.log(asked.alpha)
    return "certified" if certified else "undetermined"


def _rates(asked: WatchRequest, monitor: Monitor, s: int, gap: float) -> dict[str, Any]:
    """Means of both sides, weighted as the average gap is, so that the gap is their difference or ratio."""
    streams, target = monitor.streams, asked.target
    weight = float(streams.weight[s])
    low, width = (asked.bounds or (0.0, 1.0))[0], asked.width
    common: dict[str, Any] = {"target": target.label, "target_n": None}
    if weight <= 0:
        return {**common, "rate": undefined(NOT_YET), "target_rate": undefined(NOT_YET)}
    rate = low + width * float(streams.means[s, GROUP]) / weight
    if target.value is not None:
        return {**common, "rate": rate, "target_rate": float(target.value)}
    other = low + width * float(streams.means[s, OTHER]) / weight
    if target.kind == "overall":
        n, total = streams.counted[s, GROUP]
        rate = low + width * float(total / n)
        other = rate - width * gap
    common["target_n"] = round(float(streams.counted[s, OTHER, 0]))
    return {**common, "rate": rate, "target_rate": other}


def _gap_cells(asked: WatchRequest, gap: float, limits: Floats) -> dict[str, Any]:
    width = asked.width if asked.scale == "difference" else 1.0
    names = ("difference", "ratio") if asked.scale == "difference" else ("ratio", "difference")
    shown = {
        names[0]: gap * width if math.isfinite(gap) else undefined(NOT_YET),
        f"{names[0]}_low": sentences.limit_cell(float(limits[0]) * width),
        f"{names[0]}_high": sentences.limit_cell(float(limits[1]) * width),
    }
    return {**shown, **{f"{names[1]}{end}": None for end in ("", "_low", "_high")}}


def _details(asked: WatchRequest, monitor: Monitor, rows: list[dict[str, Any]]) -> dict[str, Any]:
    periods = monitor.periods
    return {
        "label": asked.label,
        "value_kind": "percent" if asked.binary else "number",
        "target": asked.target.label,
        "scale": asked.scale,
        "tolerance": None if asked.band is None else list(asked.band),
        "direction": asked.direction,
        "confidence_level": asked.confidence_level,
        "periods": len(periods),
        "first_period": periods[0] if periods else None,
        "last_period": periods[-1] if periods else None,
        "open_periods": sorted(monitor.waiting),
        "batches": len(monitor.batches),
        "joint": {
            "log_e": float(monitor.joint_evidence()) if monitor.groups else 0.0,
            "since": _period(monitor, monitor.crossed),
        },
        "left_out_late": monitor.left_out,
        "late_log_e": monitor.late_evidence(),
        "longest_wait": int(monitor.streams.longest.max(initial=0)),
        "periods_alone": int(monitor.streams.alone.max(initial=0)),
        "reference": None if asked.reference is None else list(asked.reference),
        "run_length": asked.run_length,
        "changes": _changes(monitor, rows),
        "windows": _windows(asked, monitor),
        "history": _history(asked, monitor, rows),
        "places": [group.place for group in monitor.groups],
    }


def _changes(monitor: Monitor, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Alarms of the detector: when it was raised, and since when the gap is taken to be another."""
    return [
        {
            "group": rows[s]["group"],
            "n": rows[s]["n"],
            "alarm": _period(monitor, int(alarm)),
            "since": rows[s]["changed"],
        }
        for s, alarm in enumerate(monitor.streams.alarm[:, 0])
        if alarm >= 0
    ]


def _windows(asked: WatchRequest, monitor: Monitor) -> list[dict[str, Any]]:
    """Finished windows, each with its own claim for each group."""
    found = []
    for first, last, said in monitor.windows:
        for s, (*look, certificate, n, crossed) in enumerate(said.tolist()):
            if math.isfinite(look[0]):
                limits = np.array(look[1:3])
                found.append(
                    {
                        "first": first,
                        "last": last,
                        "group": monitor.groups[s].label,
                        "n": round(n),
                        **_look(asked, look),
                        "violated": crossed >= 0,
                        "average_state": _average_state(asked, limits, certificate),
                    }
                )
    return found


def _look(asked: WatchRequest, look: list[float]) -> dict[str, float | None]:
    """One look in the values' own unit; None where there was nothing to see."""
    width = asked.width if asked.scale == "difference" else 1.0
    values = [value * width if math.isfinite(value) else None for value in look[:3]]
    return {**dict(zip(("estimate", "low", "high"), values, strict=True)), "log_e": look[3]}


def _history(asked: WatchRequest, monitor: Monitor, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every look, thinned evenly where there were very many."""
    looks = monitor.history
    numbers = sorted({round(place) for place in np.linspace(0, len(looks) - 1, MOST_POINTS)}) if looks else []
    nothing = [math.nan, math.nan, math.nan, 0.0]
    return [
        {
            "group": row["group"],
            "n": row["n"],
            "points": [
                {
                    "period": monitor.periods[t],
                    **_look(asked, looks[t][s].tolist() if s < len(looks[t]) else nothing),
                }
                for t in numbers
            ],
        }
        for s, row in enumerate(rows[: len(looks[-1])] if looks else [])
    ]

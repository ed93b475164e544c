"""From lines over all thresholds to the answer of measure: adjusted p-values, rows, verdict, notes and curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._compare.measure_answer import notes_of, verdict_of
from fairtrial._compare.rates import attributes_of
from fairtrial._compare.request import Request
from fairtrial._compare.results import MeasureResult
from fairtrial._compare.rows import Line, adjust
from fairtrial._compare.thresholds import (
    AREA,
    WHO,
    ScoredPeople,
    area_lines,
    at_thresholds,
    check_thresholds,
    condition_of,
    scored_people,
    share_lines,
)
from fairtrial._errors import Note
from fairtrial._inference.rates.all_thresholds import band, exact_limits
from fairtrial._inference.rates.sorted_scores import SortedScores
from fairtrial._labels import in_a_sentence
from fairtrial._method.selective_labels import refuse_selective
from fairtrial._metrics.values import Metric, role


def answer_thresholds(request: Request, metrics: Sequence[Metric], interval: str | None) -> MeasureResult:
    """Every group's largest gap over all thresholds of the score, its area under the curve, and the curves."""
    check_thresholds(request, metrics, interval)
    audit = request.audit
    refuse_selective(WHO, audit, metrics, "metric")
    people, request, rows = scored_people(request)
    lines: list[Line] = []
    for metric in metrics:
        lines += share_lines(request, metric, people, people.part(condition_of(metric)))
    lines += area_lines(request, people)
    adjust(lines)
    attributes = attributes_of(request)
    return MeasureResult(
        question=f"What are the rates by {in_a_sentence(attributes)}, at every threshold of {audit.score}?",
        null=f"At every threshold each group's rate equals that of {request.target.label}.",
        verdict=verdict_of(lines, request, metrics),
        estimates=tuple(line.cells(1 - request.level) for line in lines),
        details={
            "labels": {metric.name: metric.label for metric in (*map(at_thresholds, metrics), AREA)},
            "described": [],
            "confidence_level": request.level,
            "scale": request.scale,
            "tolerance": None,
            "left_out": [],
            "places": [line.group.place for line in lines],
            "thresholds": "all",
            "score": audit.score,
            "curve_labels": {metric.name: metric.label for metric in metrics},
            "curves": all_curves(request, metrics, people),
        },
        notes=(
            *audit.notes(complete=False),
            *_notes(request.level),
            *(note for note in notes_of(lines, request.minimum) if note.code != "pointwise"),
        ),
        provenance=audit.provenance(
            rows,
            arguments={
                "metric": [metric.to_dict() for metric in metrics],
                "target": request.target.to_dict(),
                "by": list(attributes),
            },
        ),
    )


def _notes(level: float) -> list[Note]:
    line = (
        "A line's rate and gap are those at the threshold where its gap is largest; its limits hold at every threshold "
        "at once, and so does its p-value. Findings use p-values adjusted by Holm over the table."
    )
    curve = (
        f"Curves have {100 * level:g}% bands that hold at all thresholds of a group at once; they are drawn at points "
        f"at least {STEP} people apart."
    )
    return [Note("all-thresholds", line), Note("curves", curve)]


# -- Curves over all thresholds as results keep them: points at least ten people apart, with bands that hold at
# once.
Floats = NDArray[np.float64]
MOST_POINTS = 60  # of a curve
STEP = 10  # people between two points: what is published tells of no fewer
COUNTS = ("people", "events", "others")
BINS = 10  # of a calibration curve, where the audit does not cut the score


def share_curves(
    request: Request, metric: Metric, people: ScoredPeople, table: SortedScores
) -> list[dict[str, Any]]:
    """The rate at thresholds from low to high, with a band that holds at all of them, for every group."""
    thresholds = table.grid(MOST_POINTS)
    flipped = metric.value == role.not_decision
    points = []
    for group, inside in zip(people.groups, people.inside, strict=True):
        own = table.places(inside)
        if own.size < request.minimum:
            continue
        k = table.at_or_above(own, thresholds)
        kept, steps = apart(k[None], np.array([float(own.size)]))
        low, high = band(k[kept], own.size, request.level)
        rate = k[kept] / own.size
        if flipped:
            rate, low, high = 1 - rate, 1 - high, 1 - low
        columns = {"people": steps, "threshold": thresholds[kept], "rate": rate, "low": low, "high": high}
        points += _points({"metric": metric.name, "group": group.label}, columns)
    return points


def apart(counts: Floats, sizes: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Which points to keep so that between two of them, and beyond the last, there are none or at least ten people.

    `counts` has a line of people at or above each threshold for every kind of people, `sizes` how many there are of it.
    """
    kept: list[int] = []
    steps: list[float] = []
    last = sizes.tolist()
    for place, now in enumerate(counts.T.tolist()):
        step = [before - count for before, count in zip(last, now, strict=True)]
        few = any(0 < people < STEP for people in (*step, *now))
        if not few and (any(step) or not kept):
            kept.append(place)
            steps.append(min((people for people in step if people > 0), default=min(last)))
            last = now
    return np.array(kept, dtype=np.intp), np.array(steps)


def _points(about: dict[str, Any], columns: dict[str, Floats]) -> list[dict[str, Any]]:
    rounded = {name: np.round(values, 6).tolist() for name, values in columns.items()}
    count = len(rounded["people"])
    return [
        {
            **about,
            **{name: int(values[i]) if name in COUNTS else values[i] for name, values in rounded.items()},
        }
        for i in range(count)
    ]


def roc_curves(request: Request, people: ScoredPeople) -> list[dict[str, Any]]:
    """True against false positive rates; both bands hold at every threshold together, each at half the error."""
    tables = [people.part(given) for given in (1, 0)]
    thresholds = tables[1].grid(MOST_POINTS)
    level = (1.0 + request.level) / 2.0
    points = []
    for group, inside in zip(people.groups, people.inside, strict=True):
        own = [table.places(inside) for table in tables]
        if sum(places.size for places in own) < request.minimum or min(places.size for places in own) < STEP:
            continue
        k = np.array(
            [table.at_or_above(places, thresholds) for table, places in zip(tables, own, strict=True)]
        )
        kept, steps = apart(k, np.array([float(places.size) for places in own]))
        columns: dict[str, Floats] = {"people": steps, "threshold": thresholds[kept]}
        for name, count, places in zip(("tpr", "fpr"), k, own, strict=True):
            low, high = band(count[kept], places.size, level)
            columns |= {name: count[kept] / places.size, f"{name}_low": low, f"{name}_high": high}
        points += _points({"metric": "roc", "group": group.label}, columns)
    return points


def calibration_curves(request: Request, people: ScoredPeople) -> list[dict[str, Any]]:
    """How often people of a score bin have the outcome: exact limits that hold in all of a group's bins at once."""
    assert people.outcome is not None
    audit = request.audit
    edges = audit.bin_edges(str(audit.score), default=BINS)
    known = ~np.isnan(people.outcome)
    score, outcome, codes = people.scores[known], people.outcome[known], people.codes[known]
    place = np.digitize(score, edges)
    width, size = len(edges) + 1, people.inside.shape[1]
    cell = place * size + codes
    n, k, total = (
        np.bincount(cell, weights, minlength=width * size).reshape(width, size)
        for weights in (None, outcome, score)
    )
    points = []
    for group, inside in zip(people.groups, people.inside, strict=True):
        people_in, events, sums = (part[:, inside].sum(axis=1) for part in (n, k, total))
        if people_in.sum() < request.minimum:
            continue
        filled = people_in > 0
        error = 1.0 - request.level ** (1.0 / max(int(filled.sum()), 1))
        low, high = exact_limits(events[filled], people_in[filled].astype(float), np.asarray(error))
        count = people_in[filled]
        columns = {
            "people": count.astype(float), "events": events[filled], "others": count - events[filled],
            "score": sums[filled] / count, "rate": events[filled] / count, "low": low, "high": high,
        }  # fmt: skip
        points += _points({"metric": "calibration", "group": group.label}, columns)
    return points


def all_curves(request: Request, metrics: Sequence[Metric], people: ScoredPeople) -> list[dict[str, Any]]:
    """Of every metric asked for; with an outcome also the ROC curve and calibration."""
    points = []
    for metric in metrics:
        points += share_curves(request, metric, people, people.part(condition_of(metric)))
    if people.outcome is not None:
        points += roc_curves(request, people) + calibration_curves(request, people)
    return points

"""The sentences of a transport result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._compare.words import measured, number_words, sentence
from fairtrial._errors import Note
from fairtrial._results.column import Verdict, reason, scalar
from fairtrial._results.text import counted
from fairtrial._transport.compared_rates import ComparedRates
from fairtrial._transport.movers import SmallestChange
from fairtrial._transport.solver.gap_test import GapTest

ABOUT_THE_GAP = Note(
    "about-the-gap", "The p-value is about the gap in the rates, not about the size of the change."
)


def question_words(rates: ComparedRates) -> str:
    """What was asked."""
    if not rates.by:
        between = ""
    elif isinstance(rates.by[0], str):
        between = f" by {', '.join(rates.by)}"
    else:
        between = f" between {' and '.join(', '.join(map(str, group.values())) for group in rates.by)}"
    return f"How little would have to change for {rates.name.replace('_', ' ')}{between}?"


def null_words(rates: ComparedRates, allowed: NDArray[np.float64], direction: str) -> str:
    """The null hypothesis."""
    tolerance = float(allowed[0])
    words = " and ".join(dict.fromkeys(cell.metric for cell in rates.cells))
    if len(words) > 200:
        words = rates.name.replace("_", " ")
    if (allowed != tolerance).any():
        side = "" if direction == "differs" else f" {direction}"
        gaps = f"no gap of a group to its reference group in {words}"
        return f"There is {gaps} that is{side} more than its own tolerance."
    if direction == "differs":
        within = f" up to {_points(tolerance)}" if tolerance else ""
        return f"All compared groups have the same {words}{within}."
    beyond = f"more than {_points(tolerance)} {direction}" if tolerance else direction
    return f"No group's {words} is {beyond} its reference group's."


def _points(tolerance: float) -> str:
    return f"{100 * tolerance:g} {'point' if round(100 * tolerance, 6) == 1 else 'points'}"


def verdict(
    rows: list[dict[str, Any]],
    details: dict[str, Any],
    test: GapTest | str,
    level: float,
    at_once: Mapping[int, tuple[float, float]],
) -> Verdict:
    """Whether the gap is more than chance, and how large the change is; `at_once` are limits of all rows' gaps."""
    change, moved = _change_words(details), math.ceil(scalar(details["moved"]) or 0)
    if isinstance(test, str):
        return Verdict("not-tested", f"not tested: {test}; {change}", people=moved)
    gap, told = _gap_words(rows, level, at_once)
    p = "p < 0.001" if test.p_value < 0.001 else f"p = {test.p_value:.3f}"
    if test.p_value <= 1 - level:
        return Verdict(
            "violated", f"violated: {gap or 'the contrasts are not zero'}, {p}; {change}", told, moved
        )
    calm = f"no violation shown: {gap or 'the contrasts may be zero'}, {p} (this is not a certificate of fairness)"
    return Verdict("none-shown", f"{calm}; {change}", told, moved)


def _gap_words(
    rows: list[dict[str, Any]], level: float, at_once: Mapping[int, tuple[float, float]]
) -> tuple[str, tuple[dict[str, Any], ...]]:
    """The widest gap with the interval that holds for all, and what names its row; empty where no group has a
    reference."""
    gaps = {place: row for place, row in enumerate(rows) if isinstance(row["difference"], float)}
    if not gaps:
        return "", ()
    place, widest = max(gaps.items(), key=lambda item: abs(item[1]["difference"]))
    gap = sentence(
        widest["metric"], widest["group"], widest["target"], widest["difference"], *at_once[place], level, "points"
    )  # fmt: skip
    told = {name: widest[name] for name in ("metric", "group", "target")}
    several = "both" if len(gaps) == 2 else f"all {len(gaps)}"
    return gap + (f" (the widest, over {several} gaps at once)" if len(gaps) > 1 else ""), (told,)


def _change_words(details: dict[str, Any]) -> str:
    count = scalar(details["moved"])
    if count is None:
        return str(details["moved"]["reason"])
    if count == 0:
        return "nothing has to change for the criterion to hold in these data"
    moved = f"{count:,.1f}" if count >= 0.05 else "less than 0.1"
    people = counted(details["compared"], "person", "people")
    by = measured(details["mean_shift"], details["distance"]["unit"])
    return f"the smallest change moves {moved} of {people} across the boundary, on average by {by}"


def notes(rates: ComparedRates, change: SmallestChange, minimum: int) -> list[Note]:
    """What a reader must know of the test, the change and the groups."""
    found = [*change.distances.notes, ABOUT_THE_GAP, *_about_the_change(rates, change)]
    if rates.left_out:
        groups, alone = "groups were", "their"
        if len(rates.left_out) == 1:
            groups, alone = "group was", "its"
        few = f"under {counted(minimum, 'row')}, or alone in {alone} stratum"
        found.append(Note("left-out", f"{len(rates.left_out):,} {groups} not compared: {few}."))
    found += _about_references(rates)
    if len(rates.contrasts.families) > 1 and not rates.contrasts.disjoint:
        text = "People belong to several compared groups at once; all equalities are met by one plan."
        found.append(Note("overlapping", text))
    return found


def size_notes(details: dict[str, Any]) -> list[Note]:
    """How sure the size of the change is, or why that is not known."""
    found = details["intervals"]
    if reason(details["moved"]):
        return []
    if why := reason(found["moved_low"]):
        return [Note("no-size-interval", f"The size of the change has no interval: {why}.")]
    level = f"{100 * details['confidence_level']:g}%"
    text = (
        f"{level} intervals of the size of the change: {found['moved_low']:,.1f} to {found['moved_high']:,.1f} people "
        f"moved, N·P {_span(found, 'statistic')}, mean shift {_span(found, 'mean_shift')}."
    )
    return [Note("size-interval", text, math.ceil(scalar(details["moved"]) or 0))]


def _span(found: dict[str, Any], size: str) -> str:
    return " to ".join(number_words(found[f"{size}_{end}"], "number") for end in ("low", "high"))


def person_notes(rates: ComparedRates) -> list[Note]:
    """What repeated rows mean for the numbers."""
    if rates.person is None:
        return []
    text = (
        "A person may have several rows: n counts people, and the test and the intervals of gaps go by each person's "
        "sum. What is moved are decisions, one per row."
    )
    return [Note("repeated-people", text)]


def counted_notes(rates: ComparedRates, why: str) -> list[Note]:
    """That rows were counted and not read, where they were."""
    if rates.contrasts.count is None:
        return []
    text = (
        f"{why}: people alike in groups, decision, outcome and score were counted together. The numbers are those "
        "of their rows; a plan row by row is not kept."
    )
    return [Note("score-cells", text)]


def _about_references(rates: ComparedRates) -> list[Note]:
    """Where the group that others are compared with is too small, another takes its place: say so."""
    chosen: dict[str, set[str]] = {}
    for cell in rates.cells:
        if cell.reference >= 0:
            chosen.setdefault(cell.attribute, set()).add(rates.cells[cell.reference].group)
    several = [sorted(groups) for groups in chosen.values() if len(groups) > 1]
    if not several:
        return []
    named = "; ".join(" or ".join(groups) for groups in several)
    text = f"Groups are not compared with the same one everywhere ({named}): it has too few rows in some comparisons."
    return [Note("several-references", text)]


def _about_the_change(rates: ComparedRates, change: SmallestChange) -> list[Note]:
    """Why there is none, who shares its last places, and who cannot move."""
    distance = change.distances.values
    if distance is None:
        return [Note("no-distance", f"No smallest change: {change.why_none}.")]
    found = []
    tied = 0 if change.after is None else change.after.shared
    if tied > 1:
        edge = "the edge of a moved band and share its last places: the moved set is not unique"
        found.append(Note("ties", f"{tied:,} people are tied at {edge}.", tied))
    stuck = int(rates.counts[np.isinf(distance) & rates.compared_rows].sum())
    if stuck:
        people = counted(stuck, "compared person", "compared people")
        found.append(Note("cannot-move", f"{people} cannot cross the boundary at any cost.", stuck))
    return found

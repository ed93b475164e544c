"""The sentences of a transport result."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairtrial.errors import Note
from fairtrial.methods.transport.compared_rates import Posed
from fairtrial.methods.transport.distance import Distances
from fairtrial.methods.transport.movers import Moved, compared_rows
from fairtrial.methods.transport.solver.gap_test import GapTest
from fairtrial.results.column import Verdict, scalar


def between(posed: Posed) -> str:
    if not posed.by:
        return ""
    if isinstance(posed.by[0], str):
        return f" by {', '.join(posed.by)}"
    return f" between {' and '.join(', '.join(map(str, group.values())) for group in posed.by)}"


def null_words(posed: Posed, tolerance: float, side: str) -> str:
    rates = " and ".join(dict.fromkeys(line.comparison for line in posed.lines))
    if len(rates) > 200:
        rates = posed.name.replace("_", " ")
    if side == "differs":
        within = f" up to {100 * tolerance:g} points" if tolerance else ""
        return f"All compared groups have the same {rates}{within}."
    words = "above" if side == "above" else "below"
    return f"No group's {rates} is more than {100 * tolerance:g} points {words} its reference group's."


def verdict(
    lines: list[dict[str, Any]], details: dict[str, Any], test: GapTest | str, level: float
) -> Verdict:
    change = _change_words(details)
    if isinstance(test, str):
        return Verdict("not-tested", f"not tested: {test}; {change}")
    gaps = [line for line in lines if isinstance(line["difference"], float)]
    gap = ""
    if gaps:
        widest = max(gaps, key=lambda line: abs(line["difference"]))
        words = "above" if widest["difference"] >= 0 else "below"
        ends = sorted([100 * widest["difference_low"], 100 * widest["difference_high"]], key=abs)
        if widest["difference"] < 0:
            ends = [-end for end in ends]
        gap = (
            f"{widest['comparison']} of {widest['group']} is {100 * abs(widest['difference']):.1f} points {words} "
            f"{widest['reference']}, {100 * level:g}% interval {ends[0]:.1f} to {ends[1]:.1f}"
        )
        gap += f" (widest of {len(gaps)})" if len(gaps) > 1 else ""
    p = "p < 0.001" if test.p_value < 0.001 else f"p = {test.p_value:.3f}"
    if test.p_value <= 1 - level:
        return Verdict("violated", f"violated: {gap or 'the contrasts are not zero'}, {p}; {change}")
    calm = f"no violation shown: {gap or 'the contrasts may be zero'}, {p} (this is not a certificate of fairness)"
    return Verdict("none-shown", f"{calm}; {change}")


def _change_words(details: dict[str, Any]) -> str:
    count = scalar(details["moved"])
    if count is None:
        return str(details["moved"]["reason"])
    if count == 0:
        return "nothing has to change for the criterion to hold in these data"
    return (
        f"the smallest change moves {count:.1f} of {details['compared']:,} people across the boundary, on average by "
        f"{details['mean_shift']:.3g} {details['distance']['unit']}"
    )


def notes(
    posed: Posed, distances: Distances, after: Moved | None, calibration: str, minimum: int
) -> list[Note]:
    found = [*distances.notes]
    if calibration == "paper":
        found.append(
            Note(
                "paper-calibration",
                "The article's p-value: it does not hold its level for discrete scores and depends on the units of the "
                "distance.",
            )
        )
    else:
        found.append(
            Note(
                "about-the-gap",
                "The p-value is about the gap in the rates, not about the size of the change.",
            )
        )
    if distances.why_none:
        found.append(Note("no-distance", f"No smallest change: {distances.why_none}."))
    tied = 0 if after is None else int(((after.plan > 0) & (after.plan < 1)).sum())
    if tied > 1:
        found.append(
            Note(
                "ties",
                f"{tied} people are tied at the edge of a moved band and share its last places: the moved set is not "
                "unique.",
            )
        )
    stuck = 0 if distances.values is None else int((np.isinf(distances.values) & compared_rows(posed)).sum())
    if stuck:
        found.append(Note("cannot-move", f"{stuck:,} compared people cannot cross the boundary at any cost."))
    if posed.left_out:
        found.append(
            Note(
                "left-out",
                f"{len(posed.left_out)} groups were not compared: under {minimum} rows, or alone in their stratum.",
            )
        )
    if len(posed.problem.families) > 1 and not posed.problem.disjoint:
        found.append(
            Note(
                "overlapping",
                "People belong to several compared groups at once; all equalities are met by one plan.",
            )
        )
    return found

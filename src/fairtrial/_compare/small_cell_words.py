"""Small groups in words, as a table of their own, and the number beyond the tolerance for any of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairtrial._compare.words import TOO_FEW, disparity_words, number_words
from fairtrial._errors import Fault, InputError, NotApplicable, Set, Words
from fairtrial._inference.numeric.roots import Bools
from fairtrial._inference.small_cells.beyond import BeyondWhat, at_least, beyond_p_values
from fairtrial._labels import in_a_sentence
from fairtrial._results.column import Column, is_masked, scalar, with_limits
from fairtrial._results.result import FurtherTable, Result
from fairtrial._results.text import counted

TABLE = (
    Column("metric", "metric", "text", shown=False),
    Column("value_kind", "values are", "text", shown=False),
    Column("group", "group", "text"),
    Column("metric_label", "metric", "text"),
    Column("cut", "decision", "text"),
    Column("n", "n", "people"),
    *with_limits("rate", "rate", "rate", share_of="n"),
    Column("borrowed", "estimate (borrows)", "rate", made_of="rate"),
    *with_limits("difference", "difference", "points"),
    Column("borrowed_difference", "difference of the estimate", "points"),
    *with_limits("ratio", "ratio", "ratio"),
    Column("furthest_low", "low, as one of the furthest", "rate", made_of="rate"),
    Column("furthest_high", "high, as one of the furthest", "rate", made_of="rate"),
    Column("rank_best", "best rank", "count", made_of="rate"),
    Column("rank_worst", "worst rank", "count", made_of="rate"),
)


def small_table(result: Result, rows: Sequence[Mapping[str, Any]]) -> FurtherTable:
    """The small groups, and the furthest of those beside them, with the estimates that borrow."""
    told = [row for row in rows if row["state"] == TOO_FEW.code or row.get("furthest_low") is not None]
    names = [column.name for column in TABLE]
    level = 100 * result.details["confidence_level"]
    title = f"Small groups, described: each rate's and each gap's {level:g}% interval is exact; ranks hold all at once"
    cells = tuple({name: row[name] for name in names if name in row} for row in told)
    return FurtherTable("small_groups", title, TABLE, cells, confidence_level=result.confidence_level)


def beyond_words(side: str, tolerance: Sequence[float | None], ratio: bool) -> str:
    """'more than 5.0 points above everyone', 'outside ±5.0 points of everyone'."""
    low, high = tolerance
    if ratio:
        if side == "outside":
            ends = [f"below {low:.3g}" if low else "", f"above {high:.3g}" if high is not None else ""]
            return f"{' or '.join(filter(None, ends))} times everyone's"
        edge = high if side == "above" else low
        return f"{'above' if side == 'above' else 'below'} {edge:.3g} times everyone's"
    if side == "outside":
        if low == high == 0:
            return "different from everyone"
        if low is not None and high is not None and low == -high:
            return f"more than {disparity_words(high, True)} from everyone"
        ends = [_end(low, "below"), _end(high, "above")]
        return f"{' or '.join(filter(None, ends))} everyone"
    return f"{_end(high if side == 'above' else low, side)} everyone"


def _end(edge: float | None, side: str) -> str:
    if edge is None:
        return ""
    size = edge if side == "above" else -edge
    if size == 0:
        return side
    other = "below" if side == "above" else "above"
    return (
        f"more than {disparity_words(size, True)} {side}"
        if size > 0
        else (f"less than {disparity_words(-size, True)} {other}")
    )


def told_table(details: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The table that is told first: of the first metric the one with most groups."""
    tables = [one for one in details.get("small", {}).get("tables", ()) if one.get("small")]
    first = [one for one in tables if one["metric"] == tables[0]["metric"]]
    return max(first, key=lambda one: int(one["cells"]), default=None)


def whole_sentence(details: Mapping[str, Any]) -> str:
    """One sentence for the small groups as a whole; empty where nothing is shown of them."""
    table = told_table(details)
    if table is None:
        return ""
    small, asked = table["small"], _asked(details, table["metric"])
    who = f"{counted(small['cells'], 'group')} of fewer than {details['small']['minimum']} people"
    number, spread = small["beyond"], _spread_words(small["spread"], approximate="")
    if number and asked is not None:
        beyond = beyond_words(asked["side"], asked["tolerance"], asked["ratio"])
        return f"Of the {who}, at least {number:,} {'is' if number == 1 else 'are'} {beyond}."
    return f"The {who} spread by about {spread}." if spread else ""


def _spread_words(spread: Mapping[str, Any] | None, approximate: str = ", approximate") -> str:
    if spread is None or spread["low"] is None:
        return ""
    value, low, high = (number_words(float(spread[name]), "points") for name in ("value", "low", "high"))
    return f"{value} points ({low} to {high}{approximate})"


def _asked(details: Mapping[str, Any], metric: str) -> Mapping[str, Any] | None:
    return next((one for one in details["small"]["everyone"] if one["metric"] == metric), None)


def sentences_of(details: Mapping[str, Any]) -> list[str]:
    """What holds of the table that is told: the number beyond, and the spread of the small groups."""
    table = told_table(details)
    if table is None:
        return []
    asked = _asked(details, table["metric"])
    label, by = details.get("labels", {}).get(table["metric"], details["label"]), in_a_sentence(table["by"])
    level, found = f"{100 * details['confidence_level']:g}%", []
    if asked is not None and asked["side"] is not None:
        are = "is" if table["beyond"] == 1 else "are"
        beyond = beyond_words(asked["side"], asked["tolerance"], asked["ratio"])
        found.append(
            f"At least {table['beyond']:,} of {counted(table['cells'], 'group')} by {by} {are} {beyond} in {label} "
            f"({level}, also for any selection); a low number does not show that few are."
        )
    spread = _spread_sentence(table["small"], details, by)
    return [*found, spread] if spread else found


def _spread_sentence(small: Mapping[str, Any], details: Mapping[str, Any], by: str) -> str:
    spread = small["spread"]
    most = details["small"]["minimum"] - 1
    if spread is None:
        return ""
    who = f"the {counted(spread['cells'], 'group')} of 2–{most} people by {by}"
    words = _spread_words(spread)
    if not words:
        return f"How far the true rates of {who} spread is not known."
    tolerated, p = spread["tolerated"], spread["p_tolerated"]
    alpha, more = 1 - details["confidence_level"], ""
    if tolerated is not None:
        shown = "is" if p <= alpha else "is not"
        more = f" More than {number_words(tolerated, 'points')} points {shown} shown."
    return f"True rates of {who} spread by about {words}.{more}"


# -- At least how many of any groups are beyond the tolerance.


def beyond_of(result: Result, groups: Sequence[str] | None, metric: str | None) -> int:
    """The bound for these groups, from the result's own table."""
    asked = _asked_metric(result, metric)
    rows = [row for row in result.estimates if row["metric"] == asked["metric"] and scalar(row["n"]) != 0]
    places = [
        place
        for row, place in zip(result.estimates, result.details["places"], strict=True)
        if row["metric"] == asked["metric"] and scalar(row["n"]) != 0
    ]
    sets = [tuple(str(name) for name, _ in place) for place in places]
    unknown = set(_names(groups)) - {str(row["group"]) for row in result.estimates}
    if unknown:
        required = "must be groups as the table names them"
        raise InputError("at_least", Fault("groups", required, got=min(unknown)))
    chosen = _chosen(rows, sets, groups)
    named = {sets[index] for index in np.flatnonzero(chosen)}
    family = np.array([one in named for one in sets], dtype=bool)
    apart = len(named) == 1 and list(*named) in asked["apart"]
    if not apart and asked["side"] == "outside":
        required = "share people: for such groups the number is proven for one side only"
        cure = Words("Name groups of the same attributes, or flag with {}", Set("direction", "above"))
        raise NotApplicable("at_least", Fault("groups", required, cure=cure))
    if any(is_masked(row) for row, inside in zip(rows, family, strict=True) if inside):
        raise NotApplicable(
            "at_least", Fault("", "needs a result that is not masked", cure="Ask the result itself")
        )
    sizes = np.array([float(row["n"]) for row in rows])[family]
    events = np.rint(np.array([float(scalar(row["rate"])) for row in rows])[family] * sizes)
    low, high = asked["tolerance"]
    what = BeyondWhat(
        asked["side"], -np.inf if low is None else low, np.inf if high is None else high, asked["ratio"]
    )
    error = 1.0 - result.details["confidence_level"]
    p = beyond_p_values(sizes, events, (float(asked["events"]), float(asked["n"])), what, error)
    return at_least(p, chosen[family], error)


def _asked_metric(result: Result, metric: str | None) -> Mapping[str, Any]:
    small = result.details.get("small", {})
    why = small.get("why_not") or "needs rates of rows that count once each, described"
    known = {str(one["metric"]): one for one in small.get("everyone", ())}
    if not known:
        raise NotApplicable(
            "at_least", Fault("", why, cure=Words("use {}", Set("small", "describe", of="flag")))
        )
    if metric is None and len(known) > 1:
        raise InputError("at_least", Fault("metric", f"must be one of {sorted(known)}"))
    if metric is not None and metric not in known:
        raise InputError("at_least", Fault("metric", f"must be one of {sorted(known)}", got=metric))
    asked: Mapping[str, Any] = known[metric or next(iter(known))]
    if asked["side"] is None:
        required = "as one exact gap has nothing beyond it"
        raise NotApplicable("at_least", Fault("direction", required, cure="Ask above, below or outside"))
    return asked


def _names(groups: Sequence[str] | None) -> list[str]:
    return [groups] if isinstance(groups, str) else list(groups or ())


def _chosen(
    rows: Sequence[Mapping[str, Any]], sets: Sequence[tuple[str, ...]], groups: Sequence[str] | None
) -> Bools:
    """Which rows are meant; without names those of the attributes with most groups."""
    labels = [str(row["group"]) for row in rows]
    if groups is None:
        most = max(sets, key=sets.count)
        return np.array([one == most for one in sets], dtype=bool)
    return np.isin(np.array(labels), _names(groups))

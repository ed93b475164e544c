"""The chart of small groups: every group of the same attributes, raw and as it is estimated with the others' help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from fairtrial._compare.charts import gap_band
from fairtrial._compare.small_cell_words import beyond_words, told_table
from fairtrial._compare.words import TOO_FEW
from fairtrial._labels import in_a_sentence
from fairtrial._results.charts import Picture
from fairtrial._results.charts.forest import HIGH, LONG, LOW, WIDTH, behind, side_of
from fairtrial._results.charts.theme import COLOURS, Unit, axis, ends, finish, inline, layered, padded, titled
from fairtrial._results.column import scalar
from fairtrial._results.result import Result
from fairtrial._results.text import counted, format_value

MOST = 40  # groups; the small and the furthest are drawn first, the table has the others
WORDS = {True: "described, not judged", False: "judged by itself"}
RAW, BORROWED = "as counted", "estimate (borrows)"
SMALLEST_AREA, LARGEST_AREA = 40, 420


def small_cell_pictures(result: Result) -> list[Picture]:
    """One picture, of the table that is told; none where no group is small."""
    table = told_table(result.details)
    if table is None:
        return []
    rows = _drawn(result, table)
    if not rows:
        return []
    by, details = in_a_sentence(table["by"]), result.details
    level = f"{100 * details['confidence_level']:g}%"
    shaded = "; shaded: the tolerance" if _band(result) is not None else ""
    left = f"; {len(rows)} of {table['cells']} drawn" if len(rows) < table["cells"] else ""
    title = (
        f"Groups of {by} (circles: as counted, by area the people; diamonds: estimates that borrow) with {level} "
        f"intervals of each{shaded}{left}"
    )
    asked = next((one for one in details["small"]["everyone"] if one["metric"] == table["metric"]), None)
    told = ""
    if asked is not None and asked["side"] is not None:
        what = beyond_words(asked["side"], asked["tolerance"], asked["ratio"])
        are = "is" if table["beyond"] == 1 else "are"
        told = f"At least {table['beyond']:,} of {counted(table['cells'], 'group')} {are} {what}"
    chart = _chart(result, rows, told)
    text = f"Gap of each group as counted and as estimated from all of them. {told}{'.' if told else ''}"
    return [Picture("small-groups", title, text.strip(), finish(chart))]


def _band(result: Result) -> tuple[float, float] | None:
    return None if result.details.get("scale") == "ratio" else gap_band(result.details)


def _drawn(result: Result, table: Any) -> list[dict[str, Any]]:
    """The rows of the table with a gap and an interval, the highest estimate first."""
    found = []
    for row, place in zip(result.estimates, result.details["places"], strict=True):
        names = [name for name, _ in place]
        known = [scalar(row.get(name)) for name in ("difference", "borrowed_difference", "difference_low")]
        if row["metric"] != table["metric"] or names != table["by"] or None in known:
            continue
        low, high, small = (
            scalar(row["difference_low"]),
            scalar(row["difference_high"]),
            row["state"] == TOO_FEW.code,
        )
        gap, estimate, *limits = (format_value(value, "points") for value in (*known[:2], low, high))
        told, interval = WORDS[small], " to ".join(limits)
        found.append(
            {
                "label": ", ".join(str(value) for _, value in place), "n": int(row["n"]), "raw": known[0],
                "borrowed": known[1], "low": low, "high": high, "interval": interval, "gap": gap, "estimate": estimate,
                "told": told, "text": f"{gap} ({interval}), estimate {estimate}, n {int(row['n']):,}, {told}",
                "first": small or row.get("furthest_low") is not None,
            }
        )  # fmt: skip
    chosen = sorted(found, key=lambda one: (not one["first"], -abs(one["borrowed"])))[:MOST]
    return sorted(chosen, key=lambda one: -float(one["borrowed"]))


def _chart(result: Result, rows: Sequence[dict[str, Any]], told: str) -> Any:
    details, band = result.details, _band(result)
    points: Unit = "points"
    order = [row["label"] for row in rows]
    inside = [end for end in band or () if abs(end) != float("inf")]
    domain = padded(*ends([row[name] for row in rows for name in ("raw", "low", "high")], [*inside, 0.0]))
    scale = alt.Scale(domain=list(domain), nice=False, zero=False)
    x_axis = axis(domain[1] - domain[0], points, **side_of(order))
    label = f"{details['label']}: difference to {details['target']}"
    y = alt.Y("label:N", sort=order, title=None)
    tooltip = [
        alt.Tooltip("label:N", title="group"),
        alt.Tooltip("n:Q", title="n", format=","),
        alt.Tooltip("gap:N", title=RAW),
        alt.Tooltip("estimate:N", title=BORROWED),
        alt.Tooltip("interval:N", title="interval"),
        alt.Tooltip("told:N", title="the group is"),
    ]
    base = alt.Chart(inline(rows)).encode(y=y, tooltip=tooltip)
    colours = alt.Color(
        "told:N", title=None,
        scale=alt.Scale(
            domain=[WORDS[True], WORDS[False]], range=[COLOURS["second"], COLOURS["neutral"]]
        ),
    )  # fmt: skip
    x = alt.X("raw:Q", title=titled(label, points), axis=x_axis, scale=scale)
    size = alt.Size(
        "n:Q", legend=None, scale=alt.Scale(type="linear", domain=[0, max(row["n"] for row in rows)],
                                            range=[SMALLEST_AREA, LARGEST_AREA]),
    )  # fmt: skip
    intervals = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), color=colours)
    raw = base.mark_circle(opacity=0.55).encode(x=x, size=size, color=colours)
    shrunk = base.mark_point(
        shape="diamond", filled=True, size=46, opacity=1, color=COLOURS["reference"]
    ).encode(x=alt.X("borrowed:Q"))
    lines = len(order)
    chart = layered(*behind(domain, points, band), intervals, raw, shrunk)
    sentence = {"title": told} if told else {}
    return chart.properties(width=WIDTH, height=alt.Step(HIGH if lines <= LONG else LOW), **sentence)

"""Charts of `certify`: disparities against the tolerance, with intervals that hold alone and all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import altair as alt

from fairtrial._compare.words import TOO_FEW
from fairtrial._results.charts import Picture
from fairtrial._results.charts.forest import MOST_LINES, ForestRow, both_ends, forest, sized
from fairtrial._results.charts.theme import COLOURS, Unit, finish, inline, layered
from fairtrial._results.column import reason, scalar
from fairtrial._results.result import Result
from fairtrial._results.text import format_value, interval_text, state_text, true_minus


# -- A gap as a line of the forest chart, for certify and flag.
def line_label(row: dict[str, Any], details: Mapping[str, Any]) -> str:
    """What a chart calls a line: its group, and the cut or the metric where there are several."""
    cut = row.get("metric_label") or details.get("cuts", {}).get(row.get("metric"))
    return f"{row['group']}: {cut}" if cut else str(row["group"])


def gap_unit(details: Mapping[str, Any]) -> Unit:
    """What the gaps of a result are in."""
    if details.get("scale") == "ratio":
        return "ratio"
    return "points" if details.get("value_kind", "percent") == "percent" else "number"


def gap_title(details: Mapping[str, Any], unit: Unit) -> str:
    """What the axis of a result's gaps says."""
    word = "ratio" if unit == "ratio" else "difference"
    return f"{details['label']}: {word} to {details['target']}"


def legend_words(rows: Sequence[ForestRow], unit: Unit, band: tuple[float, float] | None) -> str:
    """What the title says of marks that no legend explains: '; shaded: the tolerance; hollow: unadjusted'."""
    words = ["shaded: the tolerance"] if band is not None else []
    words += ["dotted: four fifths"] if unit == "ratio" else []
    words += ["hollow: unadjusted"] if any(row.get("beside") is not None for row in rows) else []
    return "; ".join(words)


def gap_band(details: Mapping[str, Any]) -> tuple[float, float] | None:
    """The tolerance of a result's gaps, an open end as infinity; None where there is none."""
    band = details.get("tolerance")
    if band is None or band[0] == band[1]:
        return None
    low, high = (
        open_end if end is None else float(end) for end, open_end in zip(band, (-inf, inf), strict=True)
    )
    return low, high


def gap_rows(row: dict[str, Any], unit: Unit, state: str, label: str) -> list[ForestRow]:
    """One group of certify or flag, as the forest chart takes it: two marks where only its gap's ends are known."""
    name = "ratio" if unit == "ratio" else "difference"
    estimate, low, high = (scalar(row.get(column)) for column in (name, f"{name}_low", f"{name}_high"))
    kind: Any = unit
    why = reason(row.get(f"{name}_low"))
    ends = scalar(row.get(f"{name}_least")), scalar(row.get(f"{name}_most"))
    known_ends = None not in ends and why is None
    if known_ends:
        text = ends_text(*ends, low, high, kind)
    elif estimate is None or why is not None:
        text = why or "not tested"
    else:
        text = f"{format_value(estimate, kind)} ({format_value(low, kind)} to {format_value(high, kind)})"
    beside = scalar(row.get("unadjusted_ratio" if unit == "ratio" else "unadjusted"))
    if beside is not None:
        text += f"; unadjusted {format_value(beside, kind)}"
    found = ForestRow(
        label=label, panel="", estimate=None if why is not None else estimate, low=low, high=high,
        n=int(scalar(row["n"]) or 0), state=state, text=text, beside=beside,
    )  # fmt: skip
    return both_ends(found, *ends) if known_ends else [found]


def without_mirrors(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without those that show another one's gap from the other side; the harmed one stays."""
    kept: dict[tuple[Any, ...], dict[str, Any]] = {}
    for place, row in enumerate(rows):
        rates = scalar(row.get("rate")), scalar(row.get("target_rate"))
        key: tuple[Any, ...] = (row.get("metric"), *sorted(map(str, rates)))
        if None in rates or row.get("target") not in (None, "everyone else"):
            key = (place,)
        first = kept.get(key)
        mirrored = first is not None and scalar(first.get("rate")) == rates[1]
        if first is not None and not mirrored:
            key = (place,)
        if first is None or not mirrored or row.get("effect") == "harmed":
            kept[key] = row
    chosen = {id(row) for row in kept.values()}
    return [row for row in rows if id(row) in chosen]


def fitting(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that fit a page, in their order: those with the smallest p-values where there are too many."""
    ranked = sorted(rows, key=_p)[:MOST_LINES]
    chosen = {id(row) for row in ranked}
    return [row for row in rows if id(row) in chosen]


def cut_words(groups: int) -> str:
    """What a title says of rows that are left to the table."""
    return f" (the {MOST_LINES} smallest p-values of {groups:,} groups)" if groups > MOST_LINES else ""


def _p(row: Mapping[str, Any]) -> float:
    value = scalar(row.get("p_value"))
    return 2.0 if value is None else float(value)


def ends_text(least: float, most: float, low: float | None, high: float | None, kind: Any) -> str:
    """'between +1.0 and +5.0 (-0.5 to +6.2)'."""
    least_text, most_text, low_text, high_text = (format_value(end, kind) for end in (least, most, low, high))
    return f"between {least_text} and {most_text} ({low_text} to {high_text})"


def certify_pictures(result: Result) -> list[Picture]:
    """The forest of disparities; the shaded band is the tolerance."""
    details = result.details
    unit, band = gap_unit(details), gap_band(details)
    told_once = without_mirrors(result.estimates)
    rows = [
        line
        for row in fitting(told_once)
        for line in gap_rows(row, unit, result.state_of(row, _judged(row)).text, line_label(row, details))
    ]
    rows += [
        ForestRow(
            label=line_label(item, details), panel="", estimate=None, low=None, high=None, n=int(item["n"]),
            state="not tested", text=state_text(result, item),
        )
        for item in details["untested"][: max(0, MOST_LINES - len(rows))]
    ]  # fmt: skip
    drawn = forest(rows, title=gap_title(details, unit), unit=unit, band=band)
    chart = sized(layered(drawn, _together(result, rows, unit)), rows)
    level = f"{100 * details['confidence_level']:g}%"
    told = "; ".join(filter(None, ("thick: each alone, thin: all at once", legend_words(rows, unit, band))))
    title = f"Disparities with {level} intervals ({told}){cut_words(len(told_once))}"
    return [Picture("disparities", title, f"Disparity per group. {result.verdict.text}", finish(chart))]


def _judged(row: Mapping[str, Any]) -> str:
    """The column whose state is drawn: that of all groups at once, as in the verdict, where there is one."""
    return "state" if row.get("family_state") is None else "family_state"


def _together(result: Result, rows: list[ForestRow], unit: Unit) -> Any:
    """The wider intervals that hold for all groups at once, drawn faintly."""
    low, high = (f"{'ratio_' if unit == 'ratio' else ''}together_{end}" for end in ("low", "high"))
    order = list(dict.fromkeys(row["label"] for row in rows))
    values = [
        {
            "label": line_label(row, result.details),
            "low": scalar(row[low]),
            "high": scalar(row[high]),
            "text": f"all at once {interval_text(scalar(row[low]), scalar(row[high]), unit)}",
        }
        for row in result.estimates
        if scalar(row.get(low)) is not None and scalar(row.get(high)) is not None
    ]
    values = [value for value in values if value["label"] in order]
    return (
        alt.Chart(inline(values))
        .mark_rule(strokeWidth=1, color=COLOURS["neutral"], opacity=0.7)
        .encode(y=alt.Y("label:N", sort=order, title=None), x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    )


# -- Charts of `flag`: the forest of tested groups, and the tree of intersections with flagged ones marked.
MOST_TILES, MOST_COLUMNS = 400, 12  # the forest and the table have the others
DARK_INK, LIGHT_INK = "rgb(2, 3, 5)", "rgb(255, 255, 255)"


def flag_pictures(result: Result) -> list[Picture]:
    """Forest first; then one grid per set of attributes, small groups greyed."""
    return [_forest(result), *_grids(result)]


def _forest(result: Result) -> Picture:
    details = result.details
    unit, band = gap_unit(details), gap_band(details)
    tested = without_mirrors([row for row in result.estimates if scalar(row["p_value"]) is not None])
    shown = sorted(fitting(tested), key=lambda row: -_gap_size(row))
    rows = [
        line
        for row in shown
        for line in gap_rows(row, unit, result.state_of(row).text, line_label(row, details))
    ]
    chart = sized(forest(rows, title=gap_title(details, unit), unit=unit, band=band), rows)
    title = f"Disparities with {100 * details['confidence_level']:g}% intervals, {details['flagged']} flagged"
    told = legend_words(rows, unit, band)
    title += (f" ({told})" if told else "") + cut_words(len(tested))
    return Picture("disparities", title, f"Disparity per group. {result.verdict.text}", finish(chart))


def _gap_size(row: dict[str, Any]) -> float:
    """The gap, or the largest that is possible."""
    known = scalar(row["difference"])
    largest = scalar(row.get("difference_most")) if known is None else known
    return 0.0 if largest is None else float(largest)


def _grids(result: Result) -> list[Picture]:
    """One tile per group: single attributes as rows of tiles, pairs as grids, deeper ones faceted."""
    every: dict[str, list[dict[str, Any]]] = {}
    for row, place in zip(result.estimates, result.details["places"], strict=True):
        tile = _tile(result, row, place)
        every.setdefault(str(tile["panel"]), []).append(tile)
    panels = _fitting_panels(every)
    if not panels:
        return []
    sizes = [
        abs(tile["disparity"]) for rows in panels.values() for tile in rows if tile["disparity"] is not None
    ]
    largest = max(sizes, default=0.0) or 1.0
    charts = [_panel(name, rows, largest) for name, rows in panels.items()]
    chart = alt.vconcat(*charts, _key(result.details, largest), spacing=18)
    title = "Groups and intersections: flagged ones outlined, untested ones grey"
    if len(panels) < len(every):
        title += f" ({len(panels):,} of {len(every):,} tables: the others do not fit a page)"
    text = f"Tiles per group, coloured by disparity. {result.verdict.text}"
    return [Picture("intersections", title, text, finish(chart))]


def _fitting_panels(panels: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Whole tables of tiles, as long as there is room for them."""
    kept, tiles = {}, 0
    for name, rows in panels.items():
        columns = len({row["column"] for row in rows})
        if columns <= MOST_COLUMNS and tiles + len(rows) <= MOST_TILES:
            kept[name], tiles = rows, tiles + len(rows)
    return kept


def _tile(result: Result, row: dict[str, Any], place: list[list[str]]) -> dict[str, Any]:
    names, values = [pair[0] for pair in place], [pair[1] for pair in place]
    percent = result.details["value_kind"] == "percent"
    cut = result.details.get("cuts", {}).get(row["metric"])
    disparity = None if row["state"] == TOO_FEW.code else scalar(row["difference"])
    state = result.state_of(row).text
    kind: Any = "points" if percent else "number"
    return {
        "panel": " × ".join(names)
        + (f", {row.get('metric_label') or cut}" if row.get("metric_label") or cut else ""),
        "column": values[-1],
        "line": ", ".join(values[:-1]) if len(values) > 1 else names[0],
        "group": str(row["group"]),
        "n": int(row["n"]),
        "people": f"n {int(row['n']):,}",
        "disparity": disparity,
        "text": true_minus(format_value(disparity, kind)),
        "interval": _interval(row, kind),
        "state": state,
        "p": format_value(scalar(row["p_adjusted"]), "p"),
    }


def _interval(row: dict[str, Any], kind: Any) -> str:
    low, high = scalar(row["difference_low"]), scalar(row["difference_high"])
    return "–" if low is None or high is None else f"{format_value(low, kind)} to {format_value(high, kind)}"


def tile_colours(disparity: float | None, largest: float) -> dict[str, str]:
    """The fill of a tile and ink that can be read on it, alike on a light and on a dark page."""
    share = 0.0 if disparity is None else max(-1.0, min(1.0, disparity / largest))
    full = (47, 93, 155) if share < 0 else (196, 106, 18)
    pale = (236, 238, 240) if disparity is None else (247, 247, 245)
    mixed = [round(low + abs(share) * (high - low)) for low, high in zip(pale, full, strict=True)]
    return {
        "fill": f"rgb({', '.join(map(str, mixed))})",
        "ink": DARK_INK if contrast(mixed) >= 4.5 else LIGHT_INK,
    }


def contrast(colour: Sequence[int]) -> float:
    """Of the dark ink on a colour, as WCAG counts it."""
    linear = [part / 255 / 12.92 if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in colour]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return (light + 0.05) / 0.0503


def _key(details: dict[str, Any], largest: float) -> Any:
    """What the colours and the outline say."""
    percent = details["value_kind"] == "percent"
    kind: Any = "points" if percent else "number"
    unit = " points" if percent else ""
    steps = [
        (share * largest, true_minus(format_value(share * largest, kind)) + unit)
        for share in (-1, -0.5, 0, 0.5, 1)
    ]
    tiles = [{"words": words, "outlined": False, **tile_colours(gap, largest)} for gap, words in steps]
    tiles += [
        {"words": "flagged", "outlined": True, **tile_colours(0.0, largest)},
        {"words": "not tested", "outlined": False, **tile_colours(None, largest)},
    ]
    order = [str(tile["words"]) for tile in tiles]
    base = alt.Chart(inline(tiles)).encode(
        x=alt.X(
            "words:N", sort=order, title=None, scale=alt.Scale(paddingInner=0.06, paddingOuter=0.03),
            axis=alt.Axis(orient="bottom", labelAngle=0, domain=False, ticks=False),
        )
    )  # fmt: skip
    filled = base.mark_rect(cornerRadius=3).encode(fill=alt.Fill("fill:N", scale=None))
    marked = base.transform_filter("datum.outlined").mark_rect(
        fill=None, stroke=COLOURS["flagged"], strokeWidth=3, cornerRadius=3
    )
    title = f"colours: the gap to {details['target']}"
    return alt.layer(filled, marked).properties(title=title, width=alt.Step(88), height=16)


def _panel(name: str, rows: list[dict[str, Any]], largest: float) -> Any:
    # as the groups come: ordered categories keep their order
    columns = list(dict.fromkeys(row["column"] for row in rows))
    lines = list(dict.fromkeys(row["line"] for row in rows))
    gap = alt.Scale(paddingInner=0.06, paddingOuter=0.03)
    top = alt.Axis(orient="top", labelAngle=0, labelLimit=110, domain=False, ticks=False)
    # A single attribute needs no name beside its only line: the panel's title says it.
    side = alt.Axis(domain=False, ticks=False, labels=len(lines) > 1 or "×" in name)
    base = alt.Chart(inline({**row, **tile_colours(row["disparity"], largest)} for row in rows)).encode(
        x=alt.X("column:N", sort=columns, title=None, axis=top, scale=gap),
        y=alt.Y("line:N", sort=lines, title=None, axis=side, scale=gap),
        tooltip=[
            alt.Tooltip("group:N", title="group"),
            alt.Tooltip("n:Q", title="n", format=","),
            alt.Tooltip("text:N", title="disparity"),
            alt.Tooltip("interval:N", title="interval"),
            alt.Tooltip("p:N", title="adjusted p"),
            alt.Tooltip("state:N", title="finding"),
        ],
    )
    filled = base.mark_rect(cornerRadius=3).encode(fill=alt.Fill("fill:N", scale=None))
    marked = base.transform_filter("datum.state == 'flagged'").mark_rect(
        fill=None, stroke=COLOURS["flagged"], strokeWidth=3, cornerRadius=3
    )
    colour = alt.Color("ink:N", scale=None)
    number = base.mark_text(dy=-6, fontSize=13, fontWeight=600).encode(text=alt.Text("text:N"), color=colour)
    people = base.mark_text(dy=9, fontSize=11).encode(text=alt.Text("people:N"), color=colour)
    tiles = layered(filled, marked, number, people)
    return tiles.properties(title=f"by {name}", width=alt.Step(108), height=alt.Step(46))

"""The findings of a trial and all its tests, as the page, the summary and the workbook show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairtrial._method.declaration import find_method
from fairtrial._report.one_gap import row_of, with_attributes
from fairtrial._report.tables import SHORT, Cell, TableColumn, kept, number_class, off_paper, shown, width
from fairtrial._results.column import scalar
from fairtrial._results.text import interval_text, kind_in, true_minus
from fairtrial._trial.family import CORRECTIONS, shows

SHOWN = 5


def findings(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The five significant entries with the smallest adjusted p-values, one per metric and subject, mirrors once."""
    chosen: list[dict[str, Any]] = []
    seen: set[tuple[str, ...]] = set()
    for entry in content["family"]:
        if not entry["significant"]:
            continue
        row = row_of(content, entry)
        about = (entry["metric"], entry["subject"], *_adjusted(content, entry))
        rates = _rates(entry, row)
        if about in seen or (entry["metric"], *rates[::-1]) in seen:
            continue
        seen |= {about, (entry["metric"], *rates)}
        chosen.append(_finding(entry, row))
        if len(chosen) == SHOWN:
            break
    return chosen


def _adjusted(content: Mapping[str, Any], entry: Mapping[str, Any]) -> tuple[str, ...]:
    """What a finding is adjusted for: with and without, it is not the same finding."""
    section = next(one for one in content["sections"] if one["id"] == entry["section"])
    within = section["result"]["details"].get("within") if section["result"] else None
    return ("adjusted",) if within else ()


def _rates(entry: Mapping[str, Any], row: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Its own and the others' rate: the other way round they are the same gap of two groups that are each other's
    target, which is told once."""
    if row is None or entry["against"] != "everyone else":
        return (entry["section"], entry["subject"])
    return tuple(str(scalar(row.get(name))) for name in ("rate", "target_rate"))


def _finding(entry: Mapping[str, Any], row: Mapping[str, Any] | None) -> dict[str, Any]:
    kind = entry["kind"]
    effect, unit = effect_text(entry)
    interval = "masked" if is_hidden(entry) else ""
    if entry["low"] is not None and entry["high"] is not None:
        interval = f"{shown(entry['low'], kind)} to {shown(entry['high'], kind)}"
    return {
        "section": entry["section"],
        "what": what(entry, row),
        "effect": effect,
        "unit": unit,
        "interval": interval,
        "level": "" if entry["level"] is None else f"{100 * entry['level']:g}%",
        "adjusted": shown(entry["adjusted"], "p"),
        "n": "" if entry["n"] is None else f"{entry['n']:,}",
        "question": find_method(entry["method"]).short,
        "harm": {"harmed": "harmed", "favoured": "favoured"}.get(str((row or {}).get("effect")), ""),
    }


def is_hidden(entry: Mapping[str, Any]) -> bool:
    """Whether the numbers of an entry were masked, rather than there being none."""
    return bool(entry.get("masked"))


def what(entry: Mapping[str, Any], row: Mapping[str, Any] | None = None) -> str:
    """Whose number it is: 'False positive rate: race: African-American, compared with race: Caucasian'.

    The `row` that it is about names groups with their attributes.
    """
    named = row or {}
    subject, against = named.get("group") or entry["subject"], named.get("target") or entry["against"]
    compared = f", compared with {against}" if against else ""
    metric = entry["metric"][:1].upper() + entry["metric"][1:]
    return f"{metric}: {subject}{compared}" if subject else f"{metric}{compared}"


def effect_text(entry: Mapping[str, Any]) -> tuple[str, str]:
    """The effect and its unit."""
    if entry["effect"] is None:
        return ("masked" if is_hidden(entry) else ""), ""
    unit = {"points": "points", "ratio": "times"}.get(entry["kind"], "")
    return shown(entry["effect"], entry["kind"]), unit


def correction_text(content: Mapping[str, Any]) -> str:
    """How the p-values were corrected, in one sentence."""
    correction = content["correction"]
    if not correction["tests"]:
        return "This trial holds no p-value that would have to be corrected."
    tests, how = correction["tests"], CORRECTIONS[correction["method"]]
    significant = sum(entry["significant"] for entry in content["family"])
    if tests == 1:
        found = "significant" if significant else "not significant"
        return f"This trial holds one test, which needs no correction: it is {found} at {correction['alpha']:.0%}."
    disparity = sum(shows(entry["method"]) == "disparity" for entry in content["family"])
    others = "" if disparity == tests else f", {disparity:,} of them of a disparity,"
    return (
        f"All {tests:,} tests of this trial{others} were corrected together ({how}, {correction['alpha']:.0%}); "
        f"{significant:,} {'is' if significant == 1 else 'are'} significant. Intervals are not corrected, and "
        "certifications are outside the correction."
    )


def family_text(content: Mapping[str, Any]) -> str:
    """Why all p-values are corrected together, and which are not."""
    how = CORRECTIONS[content["correction"]["method"]]
    if how != "Holm":
        known = content["correction"]["known"]
        how += f", from how {known:,} of them that share people depend on each other; Holm for the others"
    return (
        "Each question asked of each metric and group gives one primary p-value. Many tests find "
        f"something by luck, so all of them are corrected together ({how}), which keeps the chance of even "
        f"one false finding in the whole trial at or below {content['correction']['alpha']:.0%}. "
        "Certifications are not part of it: that all of them hold needs no correction."
    )


_COLUMNS = (
    ("Who", "text"),
    ("Metric", "text"),
    ("Compared with", "text"),
    ("Question", "text"),
    ("Effect", "number"),
    ("p", "p"),
    ("Adjusted p", "p"),
    ("After correction", "state"),
)
_WANTED = ("Effect", "Adjusted p", "Metric", "Compared with", "Question")  # the corrected p is what judges


def family_table(content: Mapping[str, Any]) -> dict[str, Any]:
    """Every entry of the family, strongest first."""
    lines = []
    for entry in content["family"]:
        effect, unit = effect_text(entry)
        lines.append(
            [
                _cell(entry["subject"], "text"),
                _cell(entry["metric"], "text"),
                _cell(entry["against"], "text"),
                _cell(find_method(entry["method"]).short, "text"),
                Cell(
                    f"{effect} {unit}".strip() or "–",
                    entry["effect"] if entry["effect"] is not None else "",
                    "num",
                ),
                _cell(entry["p_value"], "p"),
                _cell(entry["adjusted"], "p"),
                _cell("significant" if entry["significant"] else "not significant", "state"),
            ]
        )
    titles = [title for title, _ in _COLUMNS]
    below = zip(*lines, strict=True)
    widths = {
        title: width(title, [(cell.text, cell.css) for cell in cells])
        for title, cells in zip(titles, below, strict=True)
    }
    stay = kept(_WANTED, [titles[0], titles[-1]], widths)
    columns = [TableColumn(title, number_class(kind), title not in stay) for title, kind in _COLUMNS]
    printed = off_paper([entry["significant"] for entry in content["family"]])
    return {"columns": columns, "lines": lines, "off_paper": printed}


def _cell(value: Any, kind: Any) -> Cell:
    text = shown(value, kind) if value != "" else "–"
    return Cell(text, value, number_class(kind) + (" short" if len(text) <= SHORT else ""))


# -- A gap in words of the first screen: its size, both rates, its interval, and the largest that was seen.
def gap_text(row: Mapping[str, Any]) -> str:
    """'21.4 points', '0.67 times'."""
    if _by_ratio(row):
        return f"{shown(scalar(row['ratio']), 'ratio')} times"
    points = kind_in(row, _POINTS) == "points"
    size = shown(abs(scalar(row["difference"])), "points" if points else "number").lstrip("+")
    return f"{size} points" if points else size


def _by_ratio(row: Mapping[str, Any]) -> bool:
    return row.get("scale") == "ratio" and scalar(row.get("ratio")) is not None


def rates_text(row: Mapping[str, Any]) -> str:
    """'44.8% in race: Black against 23.5% of race: White'."""
    kind = kind_in(row, _RATE)
    return (
        f"{shown(scalar(row['rate']), kind)} in {row['group']} against {shown(scalar(row['target_rate']), kind)} "
        f"of {row.get('target') or 'those it is compared with'}"
    )


def interval_of(row: Mapping[str, Any], alone: bool = False) -> str:
    """'The data fit a gap of 18.2 to 24.5 points (95% interval).'; empty where there is none.

    `alone` says that it was picked from several, which the interval knows nothing of.
    """
    name = "ratio" if _by_ratio(row) else "difference"
    low, high, level = scalar(row.get(f"{name}_low")), scalar(row.get(f"{name}_high")), row["level"]
    if low is None or high is None or level is None:
        return ""
    if name == "difference" and scalar(row["difference"]) < 0:
        low, high = -high, -low
    kind = "ratio" if name == "ratio" else kind_in(row, _POINTS)
    unit = {"points": " points", "ratio": " times"}.get(kind, "")
    told = true_minus(interval_text(low, high, kind))
    which = f"{100 * level:g}% interval{' of this gap alone' if alone else ''}"
    return f"The data fit a gap of {told.replace('+', '')}{unit} ({which})."


class _Kind:
    """A column as far as `kind_in` looks at it."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind


_POINTS: Any = _Kind("points")
_RATE: Any = _Kind("rate")


def largest_row(content: Mapping[str, Any]) -> dict[str, Any] | None:
    """The row with the largest gap among those that were compared; of a certified trial among the certified."""
    asked = ("certificate",) if content["verdict"]["code"] == "certified" else ("disparity", "certificate")
    rows = [
        with_attributes(section, place)
        for section in content["sections"]
        if section["result"] is not None and shows(section["method"]) in asked
        for place, row in enumerate(section["result"]["estimates"])
        if section["result"]["details"].get("places")
        and isinstance(scalar(row.get("difference")), float)
        and scalar(row.get("difference_low")) is not None
    ]
    return max(rows, key=lambda row: abs(scalar(row["difference"])), default=None)

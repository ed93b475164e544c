"""The strongest findings in words and numbers, and the whole corrected family as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairtrial.methods.declaration import find_method
from fairtrial.trial.family import shows
from fairtrial.trial.report.tables import Cell, TableColumn, number_class, shown

SHOWN = 5


def findings(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The five significant entries with the smallest adjusted p-values, one per metric and subject."""
    chosen: list[dict[str, Any]] = []
    seen: set[tuple[str, str]] = set()
    for entry in content["family"]:
        about = (entry["metric"], entry["subject"])
        if not entry["significant"] or about in seen:
            continue
        seen.add(about)
        chosen.append(_finding(entry))
        if len(chosen) == SHOWN:
            break
    return chosen


def _finding(entry: Mapping[str, Any]) -> dict[str, Any]:
    kind = entry["kind"]
    effect, unit = effect_text(entry)
    interval = ""
    if entry["low"] is not None and entry["high"] is not None:
        interval = f"{shown(entry['low'], kind)} to {shown(entry['high'], kind)}"
    return {
        "section": entry["section"],
        "what": what(entry),
        "effect": effect,
        "unit": unit,
        "interval": interval,
        "level": "" if entry["level"] is None else f"{100 * entry['level']:g}%",
        "adjusted": shown(entry["adjusted"], "p"),
        "n": "" if entry["n"] is None else f"{entry['n']:,}",
        "question": find_method(entry["method"]).short,
    }


def what(entry: Mapping[str, Any]) -> str:
    """Whose number it is: 'False positive rate: African-American, compared with Caucasian'."""
    against = f", compared with {entry['against']}" if entry["against"] else ""
    metric = entry["metric"][:1].upper() + entry["metric"][1:]
    return f"{metric}: {entry['subject']}{against}" if entry["subject"] else f"{metric}{against}"


def effect_text(entry: Mapping[str, Any]) -> tuple[str, str]:
    """The effect and its unit."""
    if entry["effect"] is None:
        return "", ""
    unit = {"points": "points", "ratio": "times"}.get(entry["kind"], "")
    return shown(entry["effect"], entry["kind"]), unit


def correction_text(content: Mapping[str, Any]) -> str:
    """How the p-values were corrected, in one sentence."""
    correction = content["correction"]
    if not correction["tests"]:
        return "This trial holds no p-value that would have to be corrected."
    tests = correction["tests"]
    significant = sum(entry["significant"] for entry in content["family"])
    disparity = sum(shows(entry["method"]) == "disparity" for entry in content["family"])
    others = "" if disparity == tests else f", {disparity} of them of a disparity,"
    return (
        f"All {tests} tests of this trial{others} were corrected together (Holm, {correction['alpha']:.0%}); "
        f"{significant} {'is' if significant == 1 else 'are'} significant. Intervals are not corrected, and "
        "certifications are outside the correction."
    )


def family_text(content: Mapping[str, Any]) -> str:
    """Why all p-values are corrected together, and which are not."""
    return (
        "Each question asked of each metric and group gives one primary p-value. Many tests find "
        "something by luck, so all of them are corrected together (Holm), which keeps the chance of even "
        f"one false finding in the whole trial at or below {content['correction']['alpha']:.0%}. "
        "Certifications are not part of it: that all of them hold needs no correction."
    )


_COLUMNS = (
    ("Question", "text"),
    ("Metric", "text"),
    ("Who", "text"),
    ("Compared with", "text"),
    ("Effect", "number"),
    ("p", "p"),
    ("Adjusted p", "p"),
    ("Significant", "flag"),
)


def family_table(content: Mapping[str, Any]) -> dict[str, Any]:
    """Every entry of the family, strongest first."""
    lines = []
    for entry in content["family"]:
        effect, unit = effect_text(entry)
        lines.append(
            [
                _cell(find_method(entry["method"]).short, "text"),
                _cell(entry["metric"], "text"),
                _cell(entry["subject"], "text"),
                _cell(entry["against"], "text"),
                Cell(
                    f"{effect} {unit}".strip() or "–",
                    entry["effect"] if entry["effect"] is not None else "",
                    "num",
                ),
                _cell(entry["p_value"], "p"),
                _cell(entry["adjusted"], "p"),
                Cell("yes" if entry["significant"] else "no", int(entry["significant"]), "flag"),
            ]
        )
    return {"columns": [TableColumn(title, number_class(kind)) for title, kind in _COLUMNS], "lines": lines}


def _cell(value: Any, kind: Any) -> Cell:
    return Cell(shown(value, kind) if value != "" else "–", value, number_class(kind))

"""Figure 1 of "Shapley meets Rawls" as a drawing: the metric, its groups' values, and the features' shares of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape

WIDTH, BOX, GAP = 1040, 40, 14
INK, LINE, FIRST, SECOND = "#1f2933", "#9aa5b1", "#d6e4f0", "#f6e3cf"


def scheme(result: Any, features: list[str], said: Mapping[str, str] | None = None) -> str:
    """One box for v, one per group, one per feature and group; each with its number. `said`: features by words."""
    groups = result.details["groups"]
    values = {row["group"]: row["value"] for row in result.estimates if row["part"] == "value"}
    shares = {
        (row["group"], row["feature"]): row["value"]
        for row in result.estimates
        if row["part"] == "contribution to the value"
    }
    names = [entry["group"] for entry in groups]
    height = 60 + len(names) * (len(features) * (BOX + GAP) + GAP)
    parts = [
        _text(130, 24, "metric"),
        _text(470, 24, "first stage: groups"),
        _text(840, 24, "second stage: features"),
    ]
    block = len(features) * (BOX + GAP)
    middle = 40 + block / 2 + (len(names) - 1) * (block + GAP) / 2
    for place, name in enumerate(names):
        top = 40 + place * (block + GAP)
        centre = top + block / 2
        parts += [_link(230, middle, 360, centre), _box(360, centre, 220, f"φ({name})", values[name], FIRST)]
        for k, feature in enumerate(features):
            height_here = top + k * (BOX + GAP) + BOX / 2
            share = shares[name, feature]
            parts += [
                _link(580, centre, 690, height_here),
                _box(690, height_here, 320, f"C({(said or {}).get(feature, feature)})", share, SECOND),
            ]
    parts.append(_box(30, middle, 200, "v(TPR)", sum(values.values()), "#e4e7eb"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" font-family="sans-serif" '
        f'font-size="17"><rect width="100%" height="100%" fill="#ffffff"/>{"".join(parts)}</svg>\n'
    )


def _text(x: float, y: float, words: str) -> str:
    return (
        f'<text x="{x}" y="{y}" text-anchor="middle" fill="{INK}" font-weight="bold">{escape(words)}</text>'
    )


def _link(x: float, y: float, to_x: float, to_y: float) -> str:
    bend = (x + to_x) / 2
    path = f"M{x} {y:.1f} C{bend} {y:.1f} {bend} {to_y:.1f} {to_x} {to_y:.1f}"
    return f'<path d="{path}" fill="none" stroke="{LINE}" stroke-width="1.5"/>'


def _box(x: float, centre: float, width: float, words: str, value: float, fill: str) -> str:
    top = centre - BOX / 2
    return (
        f'<rect x="{x}" y="{top:.1f}" width="{width}" height="{BOX}" rx="6" fill="{fill}" stroke="{LINE}"/>'
        f'<text x="{x + 12}" y="{centre + 6:.1f}" fill="{INK}">{escape(words)}</text>'
        f'<text x="{x + width - 12}" y="{centre + 6:.1f}" text-anchor="end" fill="{INK}" '
        f'font-weight="bold">{value:+.3f}</text>'
    )

"""Charts as small SVG files: what looks alike is written once, in tenths of a pixel, without words nobody can see."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import vl_convert

# Labels for screen readers: a picture that a page shows as <img> never reads them out.
_UNSEEN = re.compile(
    r' (?:aria-[a-z]+|role|class|pointer-events)="[^"]*"| opacity="1"|<path [^>]*display="none"/>'
)
_PLACES = re.compile(r'( (?:d|transform|[xy][12]?|[cr][xy]?|width|height)=")([^"]*)"')
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_MARK = re.compile(r'<path transform="translate\(([^,)]+),([^,)]+)\)" ([^>]*)/>')
_FONT = re.compile(r' font-family="[^"]*"')
FEWEST = 4  # marks alike that are worth a definition
UNSEEN = 0.5  # pixels: a mark as near as this to the one before it, and alike, cannot be told from it


def drawn(chart: Any) -> str:
    """An Altair chart as SVG."""
    return small(vl_convert.vegalite_to_svg(chart.to_dict()))


def small(svg: str) -> str:
    """The same picture in fewer characters."""
    svg = _PLACES.sub(lambda found: f'{found[1]}{_NUMBER.sub(_rounded, found[2])}"', _UNSEEN.sub("", svg))
    looks = Counter(look for _, _, look in _MARK.findall(svg))
    names = {look: f"m{place}" for place, (look, times) in enumerate(looks.items()) if times >= FEWEST}

    last = ("", 0.0, 0.0)

    def used(found: re.Match[str]) -> str:
        nonlocal last
        name = names.get(found[3])
        if name is None:
            return found[0]
        here = (name, float(found[1]), float(found[2]))
        if name == last[0] and max(abs(here[1] - last[1]), abs(here[2] - last[2])) < UNSEEN:
            return ""
        last = here
        return f'<use href="#{name}" x="{found[1]}" y="{found[2]}"/>'

    head, rest = _MARK.sub(used, svg).split(">", 1)
    marks = "".join(f'<path id="{name}" {look}/>' for look, name in names.items())
    fonts = set(_FONT.findall(rest))
    if len(fonts) == 1:
        head, rest = head + fonts.pop(), _FONT.sub("", rest)
    return f"{head}><defs>{marks}</defs>{rest}"


def _rounded(number: re.Match[str]) -> str:
    return f"{round(float(number[0]), 1) + 0.0:g}"

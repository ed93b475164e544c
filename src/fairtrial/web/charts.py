"""A chart of a report as the page shows it and as it is saved: dark where the page is, and marked as exploratory."""

from __future__ import annotations

import re

from fairtrial.results.charts.page import DARK
from fairtrial.results.charts.theme import FONT
from fairtrial.web.specs import EXPLORATORY

TAG = re.compile(r"<[^<>]*>")  # never the text between tags, which is the data's
PAINT = re.compile(r'(?<= )(fill|stroke)="(#[0-9a-f]+)"')
SIZE = re.compile(r' width="([\d.]+)" height="([\d.]+)" viewBox="0 0 [\d.]+ [\d.]+"')
LINE, ROOM = 24, 480  # what the mark takes, in pixels
# texts whose colour a chart leaves open are black in a file
ON_DARK = {**DARK, "#000": DARK["#3c434c"]}


def on_dark(svg: str) -> str:
    """Every colour of the theme in its place's other one, as the report does on a dark page."""

    def painted(tag: re.Match[str]) -> str:
        return PAINT.sub(lambda part: f'{part[1]}="{ON_DARK.get(part[2], part[2])}"', tag[0])

    return TAG.sub(painted, svg)


def marked_exploratory(svg: str) -> str:
    """The chart with a line below it that goes wherever the picture goes."""
    found = SIZE.search(svg)
    if found is None:
        return svg
    width, height = max(float(found[1]), ROOM), float(found[2]) + LINE
    size = f' width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    font = FONT.replace("'", "&apos;")
    text = f'<text x="14" y="{height - 10:g}" font-family="{font}" font-size="12" fill="#5b6470">{EXPLORATORY}</text>'
    body = svg[: found.start()] + size + svg[found.end() :]
    return body.rstrip().removesuffix("</svg>") + text + "</svg>\n"

"""Levels of .01 and .001 where not every table can be enumerated: gaps to everyone and within strata.

As many repeats as show an error half as large again as asked.
"""

from __future__ import annotations

from typing import Any

from validity.board import Cell
from validity.gap_evidence import SCALES, TO_EVERYONE, everyone, people_of, strata

LEVELS = (0.01, 0.001)
STRATA = ((30, 1, 3), (10, 6, 12), (4, 40, 80), (4, 20, 400))


def _cell(name: str, design: str, level: float, run: Any) -> Cell:
    return Cell("certify", f"{name}, level {level:g}", design, "size", run, nominal=level, worst=1.5 * level,
                short=0, long=round(200 / level))  # fmt: skip


CELLS = [
    _cell(f"{scale} to everyone, {words}", people_of(design), level, everyone(*design, scale, level))
    for scale, _ in SCALES
    for words, design in TO_EVERYONE
    for level in LEVELS
] + [
    _cell(f"{scale} within strata, {n1} against {n2}", f"{count} strata, rates 10% to 50%, {scale} {gap:g}", level,
          strata(count, n1, n2, scale, gap, level=level))
    for scale, gap in SCALES
    for count, n1, n2 in STRATA
    for level in LEVELS
]  # fmt: skip

"""`python -m validity.shape_table`: what holds for means, by shape and size, and where the answer is "undetermined".

Written into docs/means.md between its marks, with the shapes of the board's lines.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import typer

from inside.inference import Gaps, make_gaps
from validity.skewed_means import SHAPES, Random, family_of, gaps_from_sums, gaps_of, target_of

Make = Callable[[str, Random], Gaps]

PAGE = Path(__file__).parents[1] / "docs" / "means.md"
MARKS = "<!-- shapes and sizes: python -m validity.shape_table -->\n", "<!-- end of shapes and sizes -->"
REPEATS = 200


def _rows(n: int, target: str) -> Make:
    return lambda shape, random: gaps_of(SHAPES[shape](random, n), target_of(random, shape, target, n))


def _sums(n: int) -> Make:
    return lambda shape, random: gaps_from_sums(SHAPES[shape](random, n), SHAPES[shape](random, 9 * n))


def _known(n: int) -> Make:
    return lambda shape, random: make_gaps(*family_of(shape, 1, n, random, known=True))


DESIGNS: dict[str, Make] = {
    **{f"{n} against {9 * n:,}": _rows(n, "9n") for n in (20, 40, 100, 200)},
    "40 against 40": _rows(40, "n"),
    "40 against 400 normal": _rows(40, "10n normal"),
    "220 against 1,980, by sums": _sums(220),
    "40, known mean": _known(40),
}


def shares(make: Make, shape: str, repeats: int, random: Random) -> tuple[float, float]:
    """How often the 95% interval of a gap that is zero misses it, and how often it lacks a limit on a side."""
    found = np.zeros((repeats, 2))
    for i in range(repeats):
        low, high = make(shape, random).limits(0.95)
        found[i] = low[0] > 0.0 or high[0] < 0.0, not np.isfinite([low[0], high[0]]).all()
    missed, without = (float(share) for share in found.mean(axis=0))
    return missed, without


def table(repeats: int) -> str:
    """The table in Markdown; the seed of each entry derives from its shape and design."""
    lines = [f"| values | {' | '.join(DESIGNS)} |", "|---|" + "---|" * len(DESIGNS)]
    for shape in SHAPES:
        entries = []
        for design, make in DESIGNS.items():
            digest = hashlib.sha256(f"{shape} {design}".encode()).digest()
            random = np.random.default_rng(int.from_bytes(digest[:8], "big"))
            missed, without = shares(make, shape, repeats, random)
            entries.append(f"{missed:.1%}, {without:.0%}")
        lines.append(f"| {shape} | {' | '.join(entries)} |")
    return "\n".join(lines)


def main(repeats: int = REPEATS) -> None:
    """Write the table into the page."""
    text = PAGE.read_text(encoding="utf-8")
    start, end = text.index(MARKS[0]) + len(MARKS[0]), text.index(MARKS[1])
    PAGE.write_text(f"{text[:start]}\n{table(repeats)}\n\n{text[end:]}", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)

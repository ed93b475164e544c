"""`python -m validity.shape_table`: what holds for means, by shape and size, and where the answer is "undetermined".

Written into docs/means.md between its marks, with the shapes of the board's lines.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import typer

from validity.skewed_means import SHAPES, Random, gaps_of

PAGE = Path(__file__).parents[1] / "docs" / "means.md"
MARKS = "<!-- shapes and sizes: python -m validity.shape_table -->\n", "<!-- end of shapes and sizes -->"
SIZES = (20, 40, 100, 200)


def shares(shape: str, n: int, repeats: int, random: Random) -> tuple[float, float]:
    """How often the 95% interval of a gap that is zero misses it, and how often it lacks a limit on a side."""
    found = np.zeros((repeats, 2))
    for i in range(repeats):
        low, high = gaps_of(SHAPES[shape](random, n), SHAPES[shape](random, 9 * n)).limits(0.95)
        found[i] = low[0] > 0.0 or high[0] < 0.0, np.isinf(low[0]) or np.isinf(high[0])
    missed, without = (float(share) for share in found.mean(axis=0))
    return missed, without


def table(repeats: int) -> str:
    """The table in Markdown; the seed of each entry derives from its shape and size."""
    head = " | ".join(f"{n} against {9 * n:,}" for n in SIZES)
    lines = [f"| values | {head} |", "|---|" + "---|" * len(SIZES)]
    for shape in SHAPES:
        entries = []
        for n in SIZES:
            digest = hashlib.sha256(f"{shape} {n}".encode()).digest()
            random = np.random.default_rng(int.from_bytes(digest[:8], "big"))
            missed, without = shares(shape, n, repeats, random)
            entries.append(f"{missed:.1%}, {without:.0%}")
        lines.append(f"| {shape} | {' | '.join(entries)} |")
    return "\n".join(lines)


def main(repeats: int = 150) -> None:
    """Write the table into the page."""
    text = PAGE.read_text(encoding="utf-8")
    start, end = text.index(MARKS[0]) + len(MARKS[0]), text.index(MARKS[1])
    PAGE.write_text(f"{text[:start]}\n{table(repeats)}\n\n{text[end:]}", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)

"""The board's measured lines as text, one JSON object each: results.jsonl keeps those of the last long run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from validity.board import METHODS, SECTIONS, Cell, Judged, cells

FILE = Path(__file__).with_name("results.jsonl")


@dataclass(frozen=True, slots=True)
class Board:
    """All judged cells of one run; `minutes` of the processor, and the version of fairtrial, as they were then."""

    judged: tuple[Judged, ...]
    form: str
    seed: int
    version: str = ""
    minutes: float = 0.0

    @property
    def seconds(self) -> float:
        """Computing time of all lines together, each as it was measured when the line was computed."""
        return sum(line.seconds for line in self.judged)

    @property
    def as_expected(self) -> bool:
        return all(line.as_expected for line in self.judged)

    def lines(self, section: str | None = None, variant: str = "") -> list[Judged]:
        """Those of a section, or of all public functions; of fairtrial, of published variants, or of both."""
        wanted = METHODS if section is None else (section,)
        return [
            line
            for line in self.judged
            if line.cell.method in wanted and line.cell.variant in (variant or line.cell.variant)
        ]


def record(line: Judged, code: str = "") -> dict[str, Any]:
    """What is kept of a line: its cell is found again by its key."""
    kept = {
        "line": line.cell.key,
        "repeats": line.repeats,
        "error": line.error,
        "bound": line.bound,
        "holds": line.holds,
        "rival": line.rival,
        "seconds": line.seconds,
        "code": code,
    }
    return {name: value for name, value in kept.items() if value not in (None, "")}


def judged(cell: Cell, kept: dict[str, Any]) -> Judged:
    """The line again."""
    numbers = (kept["repeats"], kept["error"], kept["holds"], kept["bound"])
    return Judged(cell, *numbers, kept.get("seconds", 0.0), kept.get("rival"))


def read(path: Path = FILE) -> Board:
    """The kept board, in the order of its cells; lines that are no longer listed are left out."""
    head, *lines = (json.loads(text) for text in path.read_text(encoding="utf-8").splitlines())
    kept = {line["line"]: line for line in lines}
    listed = (cell for section in SECTIONS for cell in cells(section))
    return Board(tuple(judged(cell, kept[cell.key]) for cell in listed if cell.key in kept), **head)


def write(board: Board, codes: Iterable[str], path: Path = FILE) -> None:
    """Keep the lines of this run; those that did not run stay as they are, with the minutes they took."""
    records = (record(*pair) for pair in zip(board.judged, codes, strict=True))
    texts = {one["line"]: json.dumps({name: _short(value) for name, value in one.items()}) for one in records}
    new = replace(board, minutes=round(board.seconds / 60, 1))
    head = json.dumps({name: getattr(new, name) for name in ("form", "seed", "version", "minutes")})
    listed = [cell.key for section in SECTIONS for cell in cells(section)]
    if path.exists() and not set(listed) <= texts.keys():
        head, *before = path.read_text(encoding="utf-8").splitlines()
        texts = {json.loads(text)["line"]: text for text in before} | texts
    path.write_text(
        "\n".join([head, *(texts[key] for key in listed if key in texts)]) + "\n", encoding="utf-8"
    )


def _short(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value

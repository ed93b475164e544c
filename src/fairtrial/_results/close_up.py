"""One row of a result from near: its rates beside those it is compared with, and how it was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Mark:
    """A rate on the close-up's scale; `role` says whose it is."""

    label: str
    role: Literal["own", "expected", "others"]
    rate: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class CloseUp:
    """What a reader sees on opening a row: marks to draw, numbers in words, and how it was found."""

    title: str
    marks: tuple[Mark, ...]
    numbers: tuple[tuple[str, str], ...]
    found: tuple[str, ...]

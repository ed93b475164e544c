"""Sizes and rates of a subgroup in both classes, as every score tells them."""

from __future__ import annotations

from dataclasses import dataclass

from fairtrial._scan.solver.arrays import BoolArray, FloatArray
from fairtrial._scan.solver.scan_table import Moments


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rates:
    """Sizes and rates of a set of cells in both classes.

    `expected` is what comparable people outside the class get, and `difference` how far the class is from it, both
    over the people who have a counterpart; `unsupported` have none.
    """

    n: int
    rate: float | None
    expected: float | None
    difference: float | None
    target_n: int
    target_rate: float | None
    target_expected: float | None
    unsupported: int


def share(total: FloatArray, people: FloatArray, inside: BoolArray) -> float | None:
    """A mean over the cells inside; None where there is nobody."""
    n = float(people[inside].sum())
    return float(total[inside].sum()) / n if n > 0 else None


def people_of(sums: Moments, inside: BoolArray) -> tuple[int, int]:
    """How many are in the class, and how many outside it."""
    return round(float(sums.protected[0][inside].sum())), round(float(sums.comparison[0][inside].sum()))


def gap(rate: float | None, expected: float | None) -> float | None:
    return None if rate is None or expected is None else rate - expected

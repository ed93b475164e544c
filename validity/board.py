"""Cells of the validity board: a design, a claim, repeats, and a verdict by a binomial band.

A method's module in this folder lists its cells as `CELLS`. A cell's seed derives from its name and is
never chosen. A cell fails when its error rate is above its limit at one-sided 99.9% given the repeats;
conservatism is shown, not failed. Cells with `variant="paper"` run a published variant that does not hold
its level in this design, and are expected to fail; each names the cell of ours that stands in its place
(`counterpart`: the same design, claim and nominal level), which holds.
"""

from __future__ import annotations

import hashlib
import importlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

Claim = Literal["size", "coverage", "false flagging rate", "wrong certification", "power"]
# every public function that returns a p-value, an interval, or a number of people to be sure with
METHODS = (
    "measure", "certify", "flag", "plan", "scan", "scan_all", "transport", "explain", "compare", "improve", "run",
)  # fmt: skip
MODULES = {"run": "trial"}  # the others are listed in the module of their name


@dataclass(frozen=True, slots=True)
class Cell:
    """One line of the board. `run(repeats, generator)` returns one error indicator (or share) per repeat."""

    method: str
    name: str
    design: str
    claim: Claim
    run: Callable[[int, np.random.Generator], np.ndarray]
    nominal: float = 0.05
    variant: Literal["ours", "paper"] = "ours"
    counterpart: str = ""
    short: int = 400
    long: int = 2000

    @property
    def key(self) -> str:
        """The line's name on the board."""
        return f"{self.method}/{self.name}" + ("" if self.variant == "ours" else " (published variant)")

    @property
    def limit(self) -> float:
        """The error rate above which a method is a bug: 6% for a 5% test, 6.5% for a 95% interval."""
        return self.nominal * (1.3 if self.claim == "coverage" else 1.2)

    def seed(self, extra: int = 0) -> np.random.Generator:
        digest = hashlib.sha256(self.key.encode()).digest()
        return np.random.default_rng([int.from_bytes(digest[:8], "big"), extra])


@dataclass(frozen=True, slots=True)
class Judged:
    """A cell after its repeats."""

    cell: Cell
    repeats: int
    error: float
    tail: float
    seconds: float = 0.0
    spread: float | None = None  # standard error of the error rate, where repeats give shares

    @property
    def holds(self) -> bool:
        """False when the error rate is above the limit beyond chance (one-sided 99.9%)."""
        return self.tail >= 0.001

    @property
    def bound(self) -> float:
        """The error rate above which (for power: below which) this many repeats fail."""
        from scipy.stats import binom, norm

        if self.cell.claim == "power":
            return float(binom.ppf(0.001, self.repeats, self.cell.nominal)) / self.repeats
        if self.spread is not None:
            return self.cell.limit + float(norm.isf(0.001)) * self.spread
        return float(binom.isf(0.001, self.repeats, self.cell.limit)) / self.repeats

    @property
    def as_expected(self) -> bool:
        """Ours holds; a paper's variant listed here does not."""
        return self.holds if self.cell.variant == "ours" else not self.holds


def judge(cell: Cell, repeats: int, extra_seed: int = 0) -> Judged:
    """Run a cell and compare its errors with the limit.

    A claim of power (nominal = the promised power) fails when the power is below the promise by the same rule.
    """
    from scipy.stats import binom, norm

    started = time.process_time()  # of the processor, so that other work on the machine does not count
    errors = np.asarray(cell.run(repeats, cell.seed(extra_seed)), dtype=float)
    seconds = time.process_time() - started
    if errors.shape != (repeats,):
        raise ValueError(f"{cell.name}: one error per repeat is needed, got shape {errors.shape}")
    rate, spread = float(errors.mean()), None
    if cell.claim == "power":
        tail = float(binom.cdf(errors.sum(), repeats, cell.nominal))
    elif np.isin(errors, (0.0, 1.0)).all():
        tail = float(binom.sf(errors.sum() - 1, repeats, cell.limit))
    else:  # shares, as in the false flagging rate
        spread = max(float(errors.std(ddof=1) / np.sqrt(repeats)), 1e-12)
        tail = float(norm.sf((rate - cell.limit) / spread))
    return Judged(cell, repeats, rate, tail, seconds, spread)


def cells(method: str | None = None) -> Iterator[Cell]:
    """All cells of the board, or one method's."""
    for name in METHODS if method is None else (method,):
        yield from importlib.import_module(f"validity.{MODULES.get(name, name)}").CELLS

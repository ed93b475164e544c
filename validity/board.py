"""Cells of the validity board: a design, a claim, repeats, and a verdict by a binomial band.

A method's module in this folder lists its cells as `CELLS`. A cell's seed derives from its name and is
never chosen. A cell fails when its error rate is above its limit at one-sided 99.9% given the repeats;
conservatism is shown, not failed. Cells with `variant="paper"` run a published variant that does not hold
its level in this design, and are expected to fail; each names the cell of ours that stands in its place
(`counterpart`: the same design, claim and nominal level), which holds.

An exact cell enumerates every table instead of drawing some: its error is the largest probability of its designs, and
no chance is allowed for. A cell of power may name a rival, the usual valid method, run on the same draws: it fails
when ours finds less often by more than ten points beyond chance, unless `loses` says why (the page prints it).
"""

from __future__ import annotations

import hashlib
import importlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

Claim = Literal["size", "coverage", "false flagging rate", "wrong certification", "false claims", "power"]
# every public function that returns a p-value, an interval, or a number of people to be sure with; scan_all is scan of
# every class, by the name that seeds its lines
METHODS = (
    "measure", "tabulate", "certify", "flag", "plan", "scan", "scan_all", "transport", "explain", "compare", "improve",
    "watch", "run",
)  # fmt: skip
AUDITS = "audits"  # the scenarios of truth/, whole audits
SECTIONS = (*METHODS, AUDITS)
MODULES = {
    "run": "validity.trial",
    AUDITS: "truth.cells",
}  # the others are listed in the module of their name
POWER_TO_LOSE = 0.1  # against the usual valid method
CHANCE = 0.001  # what is less likely than this fails


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
    short: int = 400  # 0: in the long form only
    long: int = 2000
    exact: bool = False  # `run` returns the exact error probabilities of all designs of the line
    worst: float | None = None  # the limit, where it is not the usual multiple of the nominal level
    rival: Callable[[int, np.random.Generator], np.ndarray] | None = (
        None  # findings of the usual valid method
    )
    rival_name: str = ""
    loses: str = ""  # why more power than ten points is given away here
    whole_analysis: bool = (
        False  # a repeat takes seconds: fewer of them, and a bound as wide as that makes it
    )
    covers: tuple[str, ...] = ()  # which printed numbers the line checks, as "method.column"

    @property
    def key(self) -> str:
        """The line's name on the board."""
        return f"{self.method}/{self.name}" + ("" if self.variant == "ours" else " (published variant)")

    @property
    def limit(self) -> float:
        """The error rate above which a method is a bug: 6% for a 5% test, 6.5% for a 95% interval."""
        if self.worst is not None:
            return self.worst
        return self.nominal * (1.3 if self.claim == "coverage" else 1.2)

    def seed(self, extra: int = 0) -> np.random.Generator:
        digest = hashlib.sha256(self.key.encode()).digest()
        return np.random.default_rng([int.from_bytes(digest[:8], "big"), extra])


@dataclass(frozen=True, slots=True)
class Judged:
    """A cell after its repeats: its error rate, and the one above which (for power: below which) so many fail."""

    cell: Cell
    repeats: int
    error: float
    holds: bool
    bound: float = float("nan")
    seconds: float = 0.0
    rival: float | None = None  # the rival's power

    @property
    def as_expected(self) -> bool:
        """Ours holds; a paper's variant listed here does not."""
        return self.holds if self.cell.variant == "ours" else not self.holds


def judge(cell: Cell, repeats: int, extra_seed: int = 0) -> Judged:
    """Run a cell and compare its errors with the limit.

    A claim of power (nominal = the promised power) fails when the power is below the promise by the same rule.
    """
    started = time.process_time()  # of the processor, so that other work on the machine does not count
    errors = np.asarray(cell.run(repeats, cell.seed(extra_seed)), dtype=float)
    if cell.exact:
        worst, seconds = float(errors.max()), time.process_time() - started
        return Judged(cell, errors.size, worst, worst <= cell.limit, cell.limit, seconds)
    rival = (
        None if cell.rival is None else np.asarray(cell.rival(repeats, cell.seed(extra_seed)), dtype=float)
    )
    seconds = time.process_time() - started
    for found in (errors, errors if rival is None else rival):
        if found.shape != (repeats,):
            raise ValueError(f"{cell.name}: one error per repeat is needed, got shape {found.shape}")
    tail, bound = _tail(cell, errors) if rival is None else _tail_beside(cell, errors, rival)
    beside = None if rival is None else float(rival.mean())
    return Judged(cell, repeats, float(errors.mean()), tail >= CHANCE, bound, seconds, beside)


def _tail(cell: Cell, errors: np.ndarray) -> tuple[float, float]:
    """How likely errors as many are at the limit, and the error rate from which on they are too unlikely."""
    from scipy.stats import binom, norm

    repeats = errors.size
    if cell.claim == "power":
        fewest = float(binom.ppf(CHANCE, repeats, cell.nominal)) / repeats
        return float(binom.cdf(errors.sum(), repeats, cell.nominal)), fewest
    if np.isin(errors, (0.0, 1.0)).all():
        most = float(binom.isf(CHANCE, repeats, cell.limit)) / repeats
        return float(binom.sf(errors.sum() - 1, repeats, cell.limit)), most
    # shares, as in the false flagging rate
    spread = max(float(errors.std(ddof=1) / np.sqrt(repeats)), 1e-12)
    return float(norm.sf((errors.mean() - cell.limit) / spread)), cell.limit + float(
        norm.isf(CHANCE)
    ) * spread


def _tail_beside(cell: Cell, errors: np.ndarray, rival: np.ndarray) -> tuple[float, float]:
    """How likely so large a loss of power is when ten points are lost; certain where a larger loss is explained."""
    from scipy.stats import norm

    gained, bound = errors - rival, float(rival.mean()) - POWER_TO_LOSE
    if cell.loses:
        return 1.0, bound
    spread = max(float(gained.std(ddof=1) / np.sqrt(gained.size)), 1e-12)
    return float(norm.cdf((gained.mean() + POWER_TO_LOSE) / spread)), bound


def cells(method: str | None = None) -> Iterator[Cell]:
    """All cells of the public functions, or one section's."""
    for name in METHODS if method is None else (method,):
        yield from importlib.import_module(module_of(name)).CELLS


def module_of(section: str) -> str:
    """The module that lists a section's cells."""
    return MODULES.get(section, f"validity.{section}")

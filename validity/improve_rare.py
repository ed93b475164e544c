"""Accuracy where few losses carry it: payoffs with rare large losses, predictive values near one, margins.

The number of people says little here: a sample without the rare loss has a small variance and a mean that looks safe.
The reflected bootstrap, the state before the adverse row, is listed beside ours as a published variant that fails.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from inside.improve import accuracy_components
from inside.inference import LevelCells, Utility, adverse_levels, bootstrap_levels, level_cells
from validity.board import Cell

Floats = NDArray[np.float64]
Random = np.random.Generator

DRAWS = 499
CHANGED = 0.125  # share of people whose decision the candidate changes
SIZES = (300, 600, 1000, 2000, 20_000)
RATES = (0.005, 0.02, 0.05, 0.1, 0.3)


def accuracy_p(
    cells: LevelCells, adverse: Floats, rng: Random, *, delta: float = 0.0, law: str = "ours"
) -> float:
    """The p-value of one group's accuracy, ours or by the reflected bootstrap."""
    if law == "reflected":
        (component,) = accuracy_components(bootstrap_levels(cells, DRAWS, rng), 0, ("a",), kind="absolute")
        return component.p_value(delta)
    drawn = adverse_levels(cells, 0, np.tile(adverse, (2, 1, 1)), DRAWS, rng)
    levels = bootstrap_levels(cells, 1, rng)
    (component,) = accuracy_components(levels, 0, ("a",), kind="absolute", adverse=drawn)
    return component.p_value(delta)


def cells_of(u0: Floats, w0: Floats, u1: Floats, w1: Floats) -> LevelCells:
    utility = Utility(name="utility", u0=u0, w0=w0, u1=u1, w1=w1)
    return level_cells(np.zeros(u0.size, dtype=np.int64), 1, [utility])


def payoff_changes(rng: Random, rows: int, rate: float, share: float = 1.0) -> tuple[Floats, float]:
    """Changes in payoff: 1, or a loss as large as makes their mean zero at `rate`; it occurs at `share` of it."""
    loss = (1 - rate) / rate
    changed = rng.random(rows) < CHANGED
    lost = rng.random(rows) < share * rate
    return np.where(changed, np.where(lost, -loss, 1.0), 0.0), loss


def payoff_rejections(
    repeats: int, rng: Random, *, rows: int, rate: float, share: float = 1.0, law: str = "ours"
) -> Floats:
    """Extra approvals worth exactly nothing (share 1) or something (below 1), on average."""
    found = np.zeros(repeats)
    for i in range(repeats):
        changes, loss = payoff_changes(rng, rows, rate, share)
        ones = np.ones(rows)
        cells = cells_of(np.zeros(rows), ones, changes, ones)
        found[i] = accuracy_p(cells, np.array([[0.0, 1.0], [-loss, 1.0]]), rng, law=law) <= 0.05
    return found


def varying_loss_errors(repeats: int, rng: Random, *, rows: int, rate: float) -> Floats:
    """Losses of lognormal size; the adverse row is the largest loss of a file of twice the rows tested."""
    found = np.zeros(repeats)
    for i in range(repeats):
        sizes = rng.lognormal(0.0, 1.0, 2 * rows) / math.exp(0.5) * (1 - rate) / rate
        lost = rng.random(2 * rows) < rate
        changed = rng.random(rows) < CHANGED
        changes = np.where(changed, np.where(lost[:rows], -sizes[:rows], 1.0), 0.0)
        worst = float(sizes[lost].max()) if lost.any() else 1.0
        cells = cells_of(np.zeros(rows), np.ones(rows), changes, np.ones(rows))
        found[i] = accuracy_p(cells, np.array([[0.0, 1.0], [-worst, 1.0]]), rng) <= 0.05
    return found


def split_payoff_power(
    repeats: int, rng: Random, *, rows: int, rate: float, share: float, splits: int = 7
) -> Floats:
    """The same challenger with half of the rows in each of seven splits, the state before: twice the median."""
    found = np.zeros(repeats)
    for i in range(repeats):
        changes, loss = payoff_changes(rng, rows, rate, share)
        p_values = []
        for _ in range(splits):
            half = changes[rng.permutation(rows)[: rows // 2]]
            ones = np.ones(half.size)
            cells = cells_of(np.zeros(half.size), ones, half, ones)
            p_values.append(accuracy_p(cells, np.array([[0.0, 1.0], [-loss, 1.0]]), rng))
        found[i] = 2 * np.sort(p_values)[(splits - 1) // 2] <= 0.05
    return found


def t_test_power(repeats: int, rng: Random, *, rows: int, rate: float, share: float) -> Floats:
    """The one-sample t-test, whose size is 6 to 12% in such designs."""
    found = np.zeros(repeats)
    for i in range(repeats):
        changes, _ = payoff_changes(rng, rows, rate, share)
        error = changes.std(ddof=1) / math.sqrt(rows)
        found[i] = error > 0 and student.sf(changes.mean() / error, rows - 1) <= 0.05
    return found


def predictive_errors(
    repeats: int, rng: Random, *, rows: int, overlap: bool, law: str = "ours", level: float = 0.97
) -> Floats:
    """Predictive value .97 under both rules; the candidate only adds people, or also drops as many."""
    found = np.zeros(repeats)
    for i in range(repeats):
        outcome = (rng.random(rows) < level).astype(np.float64)
        luck = rng.random(rows)
        d0 = (luck < 0.5).astype(np.float64)
        d1 = (
            ((luck < 0.75) & (luck >= 0.25)).astype(np.float64)
            if overlap
            else (luck < 0.75).astype(np.float64)
        )
        cells = cells_of(outcome * d0, d0, outcome * d1, d1)
        adverse = np.array([[0.0, 0.0], [0.0, 1.0]])  # a newly selected failure
        found[i] = accuracy_p(cells, adverse, rng, law=law) <= 0.05
    return found


def margin_rejections(
    repeats: int, rng: Random, *, rows: int, discordant: float, margin: float, loss: float
) -> Floats:
    """Accuracies that differ by `loss` with a margin conceded: a size where they are the same, else a power."""
    found = np.zeros(repeats)
    better = (discordant - loss) / 2
    for i in range(repeats):
        luck = rng.random(rows)
        u0 = np.where(luck < better, 0.0, np.where(luck < discordant, 1.0, rng.random(rows) < 0.8))
        u1 = np.where(luck < better, 1.0, np.where(luck < discordant, 0.0, u0))
        cells = cells_of(u0, np.ones(rows), u1, np.ones(rows))
        adverse = np.array([[1.0, 1.0], [0.0, 1.0]])
        found[i] = accuracy_p(cells, adverse, rng, delta=-margin) <= 0.05
    return found


def margin_t_test(
    repeats: int, rng: Random, *, rows: int, discordant: float, margin: float, loss: float
) -> Floats:
    """The paired t-test of non-inferiority."""
    found = np.zeros(repeats)
    better = (discordant - loss) / 2
    for i in range(repeats):
        luck = rng.random(rows)
        rng.random(rows)
        change = np.where(luck < better, 1.0, np.where(luck < discordant, -1.0, 0.0)) + margin
        found[i] = student.sf(change.mean() / (change.std(ddof=1) / math.sqrt(rows)), rows - 1) <= 0.05
    return found


def _cell(name: str, design: str, run: Any, **settings: Any) -> Cell:
    return Cell("improve", name, design, settings.pop("claim", "size"), run, **settings)


_PAYOFF = "{:,} people, 1 in 8 decisions changed, {:.1%} of them lose what makes their worth exactly zero"
_WORTH = "{:,} people, losses at .4 of the rate at which they are worth nothing"
_SHORT = {(300, 0.02), (600, 0.02), (1000, 0.05), (2000, 0.1)}

CELLS = [
    *(
        _cell(
            f"payoff, {rows:,} people, losses {rate:g}",
            _PAYOFF.format(rows, rate),
            partial(payoff_rejections, rows=rows, rate=rate),
            short=400 if (rows, rate) in _SHORT else 0,
            long=10_000,
        )
        for rows in SIZES
        for rate in RATES
    ),
    *(
        _cell(
            f"payoff by the reflected bootstrap, {rows:,} people, losses {rate:g}",
            _PAYOFF.format(rows, rate),
            partial(payoff_rejections, rows=rows, rate=rate, law="reflected"),
            variant="paper",
            counterpart=f"payoff, {rows:,} people, losses {rate:g}",
            short=2000,
        )
        for rows, rate in ((300, 0.02), (600, 0.02), (1000, 0.05))
    ),
    *(
        _cell(
            f"payoff, lognormal losses {rate:g}, {rows:,} people",
            f"{rows:,} of twice as many people, 1 in 8 decisions changed, {rate:.0%} lose amounts of lognormal size",
            partial(varying_loss_errors, rows=rows, rate=rate),
            short=0,
        )
        for rows, rate in ((600, 0.05), (2000, 0.05), (2000, 0.1))
    ),
    *(
        _cell(
            f"predictive value .97, {'overlapping' if overlap else 'added'} people, {rows:,}",
            f"{rows:,} people, half selected, the candidate {'replaces half of them' if overlap else 'adds a quarter'}",
            partial(predictive_errors, rows=rows, overlap=overlap),
            short=0 if overlap or rows > 400 else 400,
        )
        for rows in (400, 2000)
        for overlap in (False, True)
    ),
    _cell(
        "predictive value .97 by the reflected bootstrap",
        "400 people, half selected, the candidate adds a quarter",
        partial(predictive_errors, rows=400, overlap=False, law="reflected"),
        variant="paper",
        counterpart="predictive value .97, added people, 400",
        short=2000,  # 8.6%: fewer repeats could not tell it from 6%
    ),
    *(
        _cell(
            f"margin {margin:g}, {rows:,} people",
            f"accuracies that differ by exactly the margin, {discordant:.0%} of decisions discordant",
            partial(margin_rejections, rows=rows, discordant=discordant, margin=margin, loss=margin),
            short=400 if rows == 1000 else 0,
            covers=("improve.margins.p_value",),
        )
        for rows, discordant, margin in (
            (300, 0.2, 0.02),
            (1000, 0.2, 0.02),
            (1000, 0.05, 0.01),
            (5000, 0.1, 0.05),
        )
    ),
    *(
        _cell(
            f"power of payoffs on all rows, {rows:,} people, losses {rate:g}",
            _WORTH.format(rows),
            partial(payoff_rejections, rows=rows, rate=rate, share=0.4),
            claim="power",
            nominal=promised,
            rival=partial(split_payoff_power, rows=rows, rate=rate, share=0.4),
            rival_name="the same in seven half splits",
            short=0,
            long=2000,
        )
        for rows, rate, promised in ((300, 0.3, 0.7), (1000, 0.1, 0.7), (2000, 0.1, 0.95))
    ),
    _cell(
        "power of payoffs beside the t-test, 2,000 people, losses 0.1",
        _WORTH.format(2000),
        partial(payoff_rejections, rows=2000, rate=0.1, share=0.4),
        claim="power",
        nominal=0.95,
        rival=partial(t_test_power, rows=2000, rate=0.1, share=0.4),
        rival_name="t-test (its size there is above 6%)",
        short=0,
        long=2000,
    ),
    _cell(
        "power with a margin, 1,000 people",
        "equal accuracies, margin .02, 20% of decisions discordant",
        partial(margin_rejections, rows=1000, discordant=0.2, margin=0.02, loss=0.0),
        claim="power",
        nominal=0.33,
        rival=partial(margin_t_test, rows=1000, discordant=0.2, margin=0.02, loss=0.0),
        rival_name="paired t-test",
        short=0,
    ),
]

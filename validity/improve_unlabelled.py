"""Outcomes that are known for some: bounds and stated odds, where the claim is false at the worst end by nothing.

The candidate is clearly better for group a and shrinks the gap; for group b its accuracy is exactly the status quo's at
the end of what the unknown outcomes may be.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from validity.board import Cell
from validity.challenges import Challenge

Floats = NDArray[np.float64]
Random = np.random.Generator

ROLES = {"outcome": "outcome", "decision": "decision", "groups": "group", "missing": "drop"}
ASKED: dict[str, Any] = {
    "keep": "accuracy",
    "metric": "selection_rate",
    "sign": {"group": "a"},
    "bootstrap": 499,
}
# kinds of people (decision now, decision of the candidate, outcome or −1 where nobody knows it)
KINDS = np.array([(1, 0, 0), (1, 0, 1), (0, 1, -1), (1, 1, 1), (1, 1, 0), (0, 0, -1)])
# group a: 20% are rejected rightly; of those who stay selected 80% are positive
BETTER = (0.2, 0.0, 0.0, 0.44, 0.11, 0.25)


def shares_at(odds: float | None) -> tuple[float, ...]:
    """Group b's kinds so that its accuracy is the status quo's at the worst end: 15% are selected anew.

    Bounds: as many are rejected rightly as are selected anew. Odds: at the lower limit of the unknown rate the newly
    selected gain `gain` on average, and as many are rejected wrongly. Of the labelled 70% are positive.
    """
    new = 0.15
    if odds is None:
        return (new, 0.0, new, 0.2, 0.05, 1.0 - 2 * new - 0.25)
    lowest = 0.7 / (0.7 + odds * 0.3)
    lost = new * (2 * lowest - 1)
    right, wrong = max(-lost, 0.0), max(lost, 0.0)
    return (right, wrong, new, 0.28 - wrong, 0.12 - right, 1.0 - new - 0.4)


# nobody of group b is rejected, 15% are selected anew, and 70% of the labelled are positive
GAINS = (0.0, 0.0, 0.15, 0.28, 0.12, 0.45)


def people(rng: Random, size: int, shares: tuple[float, ...]) -> dict[str, NDArray[Any]]:
    """`size` people of each group; `shares` are group b's kinds."""
    kinds = np.concatenate([rng.choice(6, size, p=BETTER), rng.choice(6, size, p=shares)])
    old, new, outcome = KINDS[kinds].T
    known = np.where(outcome < 0, np.nan, outcome).astype(np.float64)
    return {"group": np.repeat(["a", "b"], size), "outcome": known, "decision": old, "other": new}


def end_errors(repeats: int, rng: Random, *, size: int, odds: float | None) -> Floats:
    """How often the claim is shown though it is false at the end that is worst for it."""
    stated: Any = "bounds" if odds is None else {"odds": odds}
    shares = shares_at(odds)
    challenge = Challenge(people(rng, size, shares), ROLES, reject_inference=stated, **ASKED)
    return np.array([_at_most(challenge.p_value(people(rng, size, shares), rng)) for _ in range(repeats)])


def shown(repeats: int, rng: Random, *, size: int, odds: float) -> Floats:
    """Power: at the lower limit the newly selected gain, and nobody loses."""
    challenge = Challenge(people(rng, size, GAINS), ROLES, reject_inference={"odds": odds}, **ASKED)
    return np.array([_at_most(challenge.p_value(people(rng, size, GAINS), rng)) for _ in range(repeats)])


# the gap in true positive rates: (decision now, of the candidate, outcome or −1), and group a's shares
GAP_KINDS = np.array([(1, 0, 1), (1, 1, 1), (0, 0, 1), (0, 0, 0), (0, 0, -1)])
ABOVE = (0.1, 0.55, 0.1, 0.2, 0.05)


def gap_shares(odds: float | None, at_edge: bool = True) -> tuple[float, ...]:
    """Group b's kinds so that at the worst outcomes its true positive rate falls by as much as group a's.

    Group a loses .1 of its positives' rate, least where all unknown outcomes are positive; group b loses most where
    none are. With odds the unknown rates are at the ends that the known rates of the groups allow.
    """
    if not at_edge:
        return (0.01, 0.2, 0.35, 0.39, 0.05)

    def unknown(known: float, factor: float) -> float:
        return known * factor / (1 - known + known * factor)

    def falls_more(lost: float) -> float:
        high, low = 1.0, 0.0
        if odds is not None:
            high, low = unknown(0.75 / 0.95, odds), unknown((lost + 0.55) / 0.95, 1 / odds)
        return 0.1 / (0.75 + 0.05 * high) - lost / (lost + 0.55 + 0.05 * low)

    lost = float(brentq(falls_more, 0.0, 0.2))
    return (lost, 0.2, 0.35, 0.4 - lost, 0.05)


def gap_people(rng: Random, size: int, shares: tuple[float, ...]) -> dict[str, NDArray[Any]]:
    """As `people`, with a profit that nobody need wait for: those who are rejected anew nearly all lose it."""
    kinds = np.concatenate([rng.choice(5, size, p=ABOVE), rng.choice(5, size, p=shares)])
    old, new, outcome = GAP_KINDS[kinds].T
    known = np.where(outcome < 0, np.nan, outcome).astype(np.float64)
    profit = np.where((kinds == 0) & (rng.random(kinds.size) < 0.95), -1.0, 1.0)
    group = np.repeat(["a", "b"], size)
    return {"group": group, "outcome": known, "decision": old, "other": new, "profit": profit}


def gap_rejections(repeats: int, rng: Random, *, size: int, odds: float | None, at_edge: bool) -> Floats:
    """How often a smaller gap in true positive rates is shown, at the edge of the worst outcomes or well inside."""
    from fairtrial import Payoff

    shares = gap_shares(odds, at_edge)
    asked: dict[str, Any] = {
        **ASKED, "keep": Payoff("profit", "profit"), "metric": "tpr", "absolute": True,
        "margin": 0.01, "everyone": True, "reject_inference": "bounds" if odds is None else {"odds": odds},
    }  # fmt: skip
    challenge = Challenge(gap_people(rng, size, shares), ROLES, **asked)
    return np.array([_at_most(challenge.p_value(gap_people(rng, size, shares), rng)) for _ in range(repeats)])


def _at_most(p: float | None) -> bool:
    return p is not None and p <= 0.05


CELLS = [
    *(
        Cell("improve", f"unknown outcomes, {'bounds' if odds is None else f'odds of {odds:g}'}, {size} a group",
             "one group's accuracy is the status quo's at the worst end, the gap shrinks", "size",
             partial(end_errors, size=size, odds=odds), short=400 if size == 300 and odds in (None, 2.0) else 0)
        for size in (300, 1000)
        for odds in (None, 1.0, 2.0, 4.0)
    ),
    *(
        Cell("improve", f"power, unknown outcomes within odds of 1.5, {size} a group",
             "15% are selected anew, who gain on average at the lower limit of the odds too", "power",
             partial(shown, size=size, odds=1.5), nominal=promised, short=0, long=1000, whole_analysis=True)
        for size, promised in ((300, 0.2), (1000, 0.6))
    ),
    *(
        Cell("improve",
             f"unknown outcomes, gap in tpr, {'bounds' if odds is None else f'odds of {odds:g}'}, {size:,} a group",
             "the gap is as large as before at the worst outcomes, 5% unknown", "size",
             partial(gap_rejections, size=size, odds=odds, at_edge=True), short=0, long=2000)
        for size in (500, 2000)
        for odds in (None, 1.0, 2.0)
    ),
    *(
        Cell("improve",
             f"power, unknown outcomes, gap in tpr, {'bounds' if odds is None else f'odds of {odds:g}'}",
             "2,000 a group, 5% unknown, the gap falls by 11 points at the worst outcomes", "power",
             partial(gap_rejections, size=2000, odds=odds, at_edge=False), nominal=0.9, short=0, long=2000)
        for odds in (None, 2.0)
    ),
]  # fmt: skip

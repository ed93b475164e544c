"""Adjusted gaps that an unmeasured factor makes, of exactly the strength that is told: it must not be told too small.

There is no gap among people alike in the strata and in the factor. A factor of strength s makes one; a line counts how
often the number beside the answer says that more than s would be needed. Power: how often a gap that is there, without
any such factor, is told to need more than a little one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairtrial import Audit, Metric, certify
from inside.gaps import expected_chance, expected_mean
from inside.inference import FOLDS, ModelGaps, TwoRates, robust_parts
from inside.results import scalar
from inside.sensitivity import odds_to_explain, odds_to_move
from validity.board import Cell

Random = np.random.Generator
Run = Callable[[int, Random], NDArray[np.float64]]
LEVEL = 0.95


# -- Odds of being in the group, within strata: the factor goes with the event itself.
def odds_in_strata(sizes: tuple[int, ...], rate: float, odds: float, *, told: float | None = None) -> Run:
    """More than the true odds are said to be needed (or than `told`, where there is a gap and no factor)."""

    def run(repeats: int, random: Random) -> NDArray[np.float64]:
        people, place = np.array(sizes), np.arange(len(sizes))
        share = 0.3  # of the group, among people without the factor
        base = np.clip(rate * np.linspace(0.6, 1.4, len(sizes)), 0.002, 0.95)
        found = np.zeros(repeats)
        for i in range(repeats):
            events = random.binomial(people, base)
            inside = share * odds / (1.0 - share + share * odds)
            k1, others = random.binomial(events, inside), random.binomial(people - events, share)
            n1 = k1 + others
            table = TwoRates(*(of.astype(float) for of in (k1, n1, events - k1, people - n1)))
            both = place[(n1 > 0) & (n1 < people)]
            table = TwoRates(*(column[both] for column in table))
            found[i] = odds_to_explain(table, (1.0 - LEVEL) / 2.0) > (odds if told is None else told)
        return found

    return run


# -- Shares of what is left unexplained: the factor explains the same share of the values and of who is in the group.
def share_in_strata(
    n: int, share: float, *, real: bool, gap: float = 0.0, tolerance: float | None = None,
    told: float | None = None, weight: str | None = None,
) -> Run:  # fmt: skip
    """More than the true share is said to be needed; with a tolerance, of a gap that the factor hides."""
    turned = np.sqrt(share) / 2.0  # how far the factor moves the chance of being in the group
    pull = np.sqrt(share / (1.0 - share) / (1.0 - share))  # of the values, in their standard deviations

    def run(repeats: int, random: Random) -> NDArray[np.float64]:
        found = np.zeros(repeats)
        for i in range(repeats):
            factor, job = random.choice([-1.0, 1.0], n), random.integers(0, 4, n)
            inside = random.random(n) < 0.5 + turned * factor
            sign = 1.0 if tolerance is None else -1.0
            level = 0.3 * job + sign * pull * factor + gap * inside
            if real:
                values = {"value": level + random.gamma(4.0, 0.5, n), "d": 0}
            else:  # about the same share of a rate near one half
                moved = sign * 0.5 * np.sqrt(share / (1.0 - share + share**2)) * factor
                chance = 0.45 + 0.02 * job + moved + gap * inside
                values = {"d": (random.random(n) < chance).astype(int)}
            frame = pd.DataFrame({"g": np.where(inside, "a", "b"), "job": job.astype(str), **values})
            frame = frame.assign(w=random.uniform(0.5, 2.0, n), u=np.arange(n) // 2)
            asked: Any = Metric("value", "value") if real else "selection_rate"
            band = tolerance or (0.0 if real else 1e-9)
            result = certify(Audit(frame, decision="d", groups="g", weight=weight), asked, by=[{"g": "a"}],
                             target={"g": "b"}, within="job", tolerance=[-band, band])  # fmt: skip
            value = scalar(result.estimates[0]["overturned_by"])
            found[i] = value is not None and value > (share if told is None else told)
        return found

    return run


# -- Odds of being in the group, by a model: the factor is the event itself, or goes with the largest values.
def odds_by_model(n: int, odds: float, *, real: bool, gap: float = 0.0, told: float | None = None) -> Run:
    """More than the true odds are said to be needed to explain the gap."""

    def run(repeats: int, random: Random) -> NDArray[np.float64]:
        found = np.zeros(repeats)
        for i in range(repeats):
            x = random.normal(size=n)
            usual = 1.0 / (1.0 + np.exp(-0.5 * x))
            # high values are those above the quantile that makes the odds exactly so far off on both sides
            high = random.random(n) < _share_of_high(usual, odds)
            up = usual * odds / (1.0 - usual + usual * odds)
            down = usual / (usual + odds * (1.0 - usual))
            inside = random.random(n) < np.where(high, up, down)
            y = 0.3 * x + np.where(high, 1.0, 0.0) + 0.5 * random.random(n) if real else high.astype(float)
            y = y + gap * inside if real else np.where(random.random(n) < gap * inside, 1.0, y)
            design = np.column_stack([x, x**2])
            mean = expected_mean if real else expected_chance
            parts = robust_parts(inside, y, design, expected_chance, mean, np.arange(n) % FOLDS)
            gaps = ModelGaps([parts], n)
            low, high_limit = (float(limit[0]) for limit in gaps.limits(LEVEL))
            estimate = float(gaps.estimate[0])
            if low > 0:
                reach = estimate - low, high_limit - estimate
                factor = odds_to_move(parts.expected, estimate, (reach[0], 0.0), (0.0, np.inf))
                found[i] = factor > (odds if told is None else told)
        return found

    return run


def _share_of_high(usual: NDArray[np.float64], odds: float) -> NDArray[np.float64]:
    """Which share of people has the factor, so that the odds given the columns alone are the usual ones."""
    up = usual * odds / (1.0 - usual + usual * odds)
    down = usual / (usual + odds * (1.0 - usual))
    return (usual - down) / (up - down)


_STRATA = {
    "4 strata of 300, 30%": ((300,) * 4, 0.3),
    "4 strata of 2,000, 1%": ((2000,) * 4, 0.01),
    "60 strata of 4, 40%": ((4,) * 60, 0.4),
    "12 strata of 20, 10%": ((20,) * 12, 0.1),
    "2 strata of 50 and 1,000, 90%": ((50, 1000), 0.9),
}


def _line(name: str, design: str, run: Run, claim: Any = "false claims", **more: Any) -> Cell:
    covers = tuple(f"{method}.overturned_by" for method in ("measure", "certify", "flag"))
    asked: dict[str, Any] = {"short": 0, "long": 2000, "covers": covers} | more
    return Cell("certify", f"unmeasured factor, {name}", design, claim, run, **asked)


CELLS: list[Cell] = [
    *(
        _line(f"odds of {odds:g}, {words}", f"{words}; it goes exactly with the event, no gap without it",
              odds_in_strata(*design, odds), short=400 if odds == 2.0 and len(design[0]) == 4 else 0)
        for words, design in _STRATA.items() for odds in (1.3, 3.0)
    ),
    *(
        _line(f"share of {share:g}, {words}", f"{n} rows in 4 strata; it explains the same share of both",
              share_in_strata(n, share, real=real, weight=weight), long=150, whole_analysis=True)
        for share, n in ((0.05, 400), (0.2, 400))
        for words, real, weight in (("rates", False, None), ("means", True, None), ("weighted rates", False, "w"))
    ),
    _line("share of 0.1, a certificate", "400 rows in 4 strata, a gap of 25 points that it hides in part",
          share_in_strata(400, 0.1, real=False, gap=0.25, tolerance=0.25), long=200, whole_analysis=True),
    *(
        _line(f"odds of {odds:g} by a model, {words}", f"{n} rows, it goes with the {event}",
              odds_by_model(n, odds, real=real), long=200, whole_analysis=True)
        for odds, n in ((1.3, 500), (1.3, 2000), (2.0, 500))
        for words, event, real in ((f"rates, {n}", "event", False), (f"means, {n}", "high values", True))
    ),
    _line("power of the odds, strata", "4 strata of 300, odds of 3 that no factor makes, told to need more than 2",
          odds_in_strata((300,) * 4, 0.3, 3.0, told=2.0), "power", nominal=0.8),
    _line("power of the share, means", "1,000 rows in 4 strata, gap of half a deviation, told to need more than 5%",
          share_in_strata(1000, 0.0, real=True, gap=0.5, told=0.05), "power", nominal=0.8, long=200,
          whole_analysis=True),
    _line("power of the odds, a model", "1,000 rows, rates far apart, told to need more than 1.2",
          odds_by_model(1000, 1.0 + 1e-9, real=False, gap=0.5, told=1.2), "power", nominal=0.5, long=100,
          whole_analysis=True),
]  # fmt: skip

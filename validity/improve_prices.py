"""Prices fixed beforehand: the revenue of one group is exactly what it was, and the gap in prices closes.

What somebody would pay is uniform from 0 to 1, and prices p and 1 − p bring the same; or exponential, where a high
price that few pay brings what a low one does: the sample may miss the rare sales that the candidate gives up.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import lambertw

from validity.board import Cell
from validity.challenges import Challenge

Floats = NDArray[np.float64]
Random = np.random.Generator
Law = Literal["uniform", "exponential"]

ROLES = {"outcome": "would_pay", "score": "price", "groups": "group"}
HIGH = 4.0  # a price that one in 55 pays


def prices_of(law: Law, share: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Prices of groups a and b now, and the candidate's; `share` is b's revenue then in terms of now."""
    if law == "uniform":
        level = min(share * 0.3 * 0.7, 0.25)
        return (0.3, 0.7), (0.45, 0.5 - float(np.sqrt(0.25 - level)))
    same = float(-lambertw(-share * HIGH * np.exp(-HIGH), 0).real)
    return (0.05, HIGH), (0.3, same)


def offers(rng: Random, people: int, law: Law, share: float) -> dict[str, NDArray[Any]]:
    """`people` of each group, what they would pay, and both prices."""
    group = np.repeat([0, 1], people)
    would_pay = rng.random(group.size) if law == "uniform" else rng.exponential(size=group.size)
    old, new = (np.array(prices)[group] for prices in prices_of(law, share))
    return {"group": np.array(["a", "b"])[group], "would_pay": would_pay, "price": old, "other": new}


def price_rejections(repeats: int, rng: Random, *, people: int, law: Law, share: float = 1.0) -> Floats:
    """How often the candidate's prices are shown to bring more in each group, and to be more alike."""
    asked: dict[str, Any] = {
        "keep": "revenue", "metric": "mean_score", "sign": {"group": "b"}, "bootstrap": 199,
    }  # fmt: skip
    challenge = Challenge(offers(rng, people, law, share), ROLES, **asked)
    found = np.zeros(repeats)
    for i in range(repeats):
        p = challenge.p_value(offers(rng, people, law, share), rng)
        found[i] = p is not None and p <= 0.05
    return found


CELLS = [
    *(
        Cell("improve", f"prices, {law} willingness to pay, {people:,} a group",
             "one group's revenue exactly as now, the gap in prices closes", "size",
             partial(price_rejections, people=people, law=law), short=0, long=2000)
        for law in ("uniform", "exponential")
        for people in (300, 1000, 4000)
    ),
    Cell("improve", "power, prices, 1,000 a group", "one group's revenue a fifth higher, the gap in prices closes",
         "power", partial(price_rejections, people=1000, law="uniform", share=1.2), nominal=0.6, short=0, long=2000),
]  # fmt: skip

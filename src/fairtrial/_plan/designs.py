"""Plans for rows that are not different people, count unequally, are asked twice, or are compared among people alike.

Clusters (Donner & Klar 2000): rows of one unit that are alike by the correlation ρ, m of them, tell as much as
1/(1 + (m - 1)ρ) of so many people, against Student's t with the degrees of freedom of the units. Weights: 1/(1 + cv²),
cv their coefficient of variation (Kish 1965). Pairs: the people whose two answers differ. Strata (Lachin 2011, section
4.4): the error of the gap with Mantel and Haenszel's weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import Any

import numpy as np
from scipy import special

from fairtrial._errors import Fault, InputError
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.power import interval_critical

WHO = "plan"
FEWEST_UNITS = 8  # of a side: with fewer no law was measured
# The bounds of weighted rows (skewness, pooled weights) take a little of the power that their size alone promises.
CAREFUL = 1.05
# Of strata: who is in which is drawn, and counts go in steps.
CAREFUL_OF_STRATA = 1.03
Chance = Callable[[Floats], Floats]
WAYS = {
    "unit": ("rows of one unit, and how alike they are", "[20, 0.05]"),
    "weight": ("the coefficient of variation of the weights", "0.6"),
    "pair": ("the share of people whose two answers differ", "0.2"),
    "within": (
        "of each stratum its share of all people, the group's share in it, and the rate",
        "[0.6, 0.3, 0.2, 0.4, 0.5, 0.4]",
    ),
}


@dataclass(frozen=True, slots=True)
class RowDesign:
    """How rows come: `unit` and `weight` stretch the plan of different people, `pair` and `within` take its place."""

    rows: float = 1.0
    alike: float = 0.0
    spread: float = 0.0
    differing: float | None = None
    strata: tuple[tuple[float, float, float], ...] = ()

    @property
    def effect(self) -> float:
        """How many times as many rows are needed as of different people who count the same."""
        return (1.0 + (self.rows - 1.0) * self.alike) * (1.0 + self.spread**2)

    @property
    def fewest(self) -> int:
        """Rows of the fewest units from which anything is inferred."""
        return ceil(FEWEST_UNITS * self.rows) if self.rows > 1.0 else 0

    @property
    def own(self) -> bool:
        """Whether the plan is not that of two samples of different people."""
        return self.differing is not None or bool(self.strata)

    def stretched(self, chance: Chance, members: Floats, ratio: float, tail: float, power: float) -> Floats:
        """The chance of a plan of different people, at the people whom so many rows are worth."""
        units = members / self.rows * (1.0 + (0.0 if np.isinf(ratio) else ratio)) / (1.0 + self.spread**2)
        df = np.maximum(units - (1.0 if np.isinf(ratio) else 2.0), 1.0)
        student = -special.stdtrit(df, tail) - special.stdtrit(df, 1.0 - power)
        normal = -special.ndtri(tail) - special.ndtri(1.0 - power)
        worth = members / (self.effect * CAREFUL * (student / normal) ** 2)
        return np.where(worth >= 4.0, chance(np.maximum(np.floor(worth), 4.0)), 0.0)

    def others(self, members: float) -> float:
        """People of the target, where the design tells how many."""
        if self.differing is not None:
            return members
        own = sum(share * group for share, group, _ in self.strata)
        return float(ceil(members * (1.0 - own) / own))

    def errors(
        self, members: Floats, gap: float, edge: float, deviation: float | None
    ) -> tuple[Floats, Floats]:
        """Standard errors of the gap: as it is, and as the test takes it where the gap is at the edge."""
        if self.differing is not None:
            if deviation is not None:
                return deviation / np.sqrt(members), deviation / np.sqrt(members)
            share = self.differing
            return np.sqrt(max(share - gap**2, 1e-9) / members), np.sqrt(max(share - edge**2, 1e-9) / members)
        return _strata_error(self.strata, members, gap, gap, deviation), _strata_error(
            self.strata, members, gap, edge, deviation
        )

    def certified(
        self, members: Floats, band: tuple[float, float], alpha: float, groups: int, deviation: float | None
    ) -> Floats:
        """Chance that all groups are certified where there is no gap; for several at least so much."""
        critical, chance = -float(special.ndtri(alpha)), np.ones(members.shape)
        for edge in band:
            actual, tested = self.errors(members, 0.0, edge, deviation)
            chance -= special.ndtr(-(abs(edge) - self._step(members, deviation) - critical * tested) / actual)
        return np.maximum(1.0 - groups * (1.0 - np.maximum(chance, 0.0)), 0.0)

    def found(
        self, members: Floats, gap: float, band: tuple[float, float], alpha: float, deviation: float | None
    ) -> Floats:
        """Chance that the gap is found outside the band."""
        edge = band[1] if gap > band[1] else band[0]
        actual, tested = self.errors(members, gap, edge, deviation)
        critical = np.array([interval_critical((band[1] - band[0]) / error, alpha) for error in tested])
        away = abs(gap - edge) - self._step(members, deviation)
        return np.asarray(special.ndtr((away - critical * tested) / actual))

    def _step(self, members: Floats, deviation: float | None) -> Floats:
        """Half of a step between two counts of answers that differ."""
        return 1.0 / members if self.differing is not None and deviation is None else 0.0 * members


def _strata_error(
    strata: Sequence[tuple[float, float, float]],
    members: Floats,
    gap: float,
    edge: float,
    deviation: float | None,
) -> Floats:
    """Of the mean gap with weights n1 n2/N, at rates whose difference is `edge` and whose mean is as it is planned."""
    own = sum(share * group for share, group, _ in strata)
    total, weights = np.zeros(members.shape), np.zeros(members.shape)
    for share, group, rate in strata:
        n1 = members / CAREFUL_OF_STRATA * share * group / own
        n2 = n1 * (1.0 - group) / group
        weight = n1 * n2 / (n1 + n2)
        middle = rate + gap * group  # of everybody of the stratum
        first, second = (
            np.clip(middle + (1.0 - group) * edge, 0.0, 1.0),
            np.clip(middle - group * edge, 0.0, 1.0),
        )
        spread = (
            (first * (1.0 - first), second * (1.0 - second)) if deviation is None else (deviation**2,) * 2
        )
        total += weight**2 * (spread[0] / n1 + spread[1] / n2)
        weights += weight
    return np.asarray(np.sqrt(total) / weights)


def find_design(
    given: Mapping[str, Any] | None, *, target_known: bool, ratio_scale: bool, target_ratio: float
) -> RowDesign | None:
    """The design asked for, with what is wrong with it."""
    if not given:
        return None
    known = f"knows {', '.join(WAYS)}"
    faults = [Fault("design", known, got=name, cure="name one of them") for name in given if name not in WAYS]
    values: dict[str, list[float]] = {}
    for name in WAYS.keys() & given.keys():
        listed = given[name] if isinstance(given[name], list | tuple) else [given[name]]
        if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in listed) or not _fits(
            name, listed
        ):
            what, example = WAYS[name]
            faults.append(
                Fault("design", f"must have {name!r} as {what}, such as {example}", got=given[name])
            )
        values[name] = list(listed)
    alone = {"pair", "within"} & given.keys()
    if alone and len(given) > 1:
        faults.append(
            Fault("design", f"plans {sorted(alone)[0]!r} by itself", cure="plan the other with its own call")
        )
    if alone and (target_known or ratio_scale):
        what = "a known target" if target_known else "ratios"
        faults.append(
            Fault("design", f"does not plan {sorted(alone)[0]!r} for {what}", cure="leave one of the two out")
        )
    if alone and target_ratio != 1.0:
        faults.append(
            Fault("target_ratio", f"is told by {sorted(alone)[0]!r} of the design", cure="leave it out")
        )
    if faults:
        raise InputError(WHO, faults)
    rows, alike = (*values["unit"], 0.0)[:2] if "unit" in values else (1.0, 0.0)
    triples = values.get("within", [])
    total = sum(triples[::3]) or 1.0
    strata = tuple((triples[i] / total, triples[i + 1], triples[i + 2]) for i in range(0, len(triples), 3))
    pair = values.get("pair")
    return RowDesign(
        float(rows), float(alike), values.get("weight", [0.0])[0], pair[0] if pair else None, strata
    )


def _fits(name: str, listed: Sequence[float]) -> bool:
    """Whether the numbers can be what they are said to be."""
    if name == "unit":
        return len(listed) == 2 and 1.0 <= listed[0] < inf and 0.0 <= listed[1] <= 1.0
    if name == "weight":
        return len(listed) == 1 and 0.0 <= listed[0] < 100.0
    if name == "pair":
        return len(listed) == 1 and 0.0 < listed[0] <= 1.0
    thirds = [listed[place::3] for place in range(3)]
    return (
        len(listed) > 0 and len(listed) % 3 == 0 and all(one > 0.0 for one in thirds[0])
        and all(0.0 < one < 1.0 for one in (*thirds[1], *thirds[2]))
    )  # fmt: skip


def design_words(design: RowDesign) -> str:
    """What the plan rests on besides."""
    told = []
    if design.rows > 1.0:
        told.append(
            f"Units of {design.rows:g} rows that are alike by {design.alike:g}, each of one group; the group's and the "
            f"target's are planned, at least {FEWEST_UNITS} of each"
        )
    if design.spread > 0:
        told.append(
            f"Weights that vary by {100 * design.spread:g}% of their mean and do not go with the value"
        )
    if told:
        return f"{'; '.join(told)}: {design.effect:.2f} times as many rows as of different people who count the same."
    if design.differing is not None:
        return (
            f"Two answers of each person, of which {100 * design.differing:g}% differ; a deviation is that of the "
            "differences. Normal approximation of Tango's and McNemar's tests."
        )
    return (
        f"{len(design.strata)} strata with these shares and rates, compared with Mantel and Haenszel's weights: "
        "Lachin's normal approximation."
    )

"""People whose outcome is unknown: what is assumed of them, and both ends of what may have happened.

A claim that needs an outcome is tested where the unknown outcomes are worst for it: any of 0 and 1 (`"bounds"`), or as
far from those of people alike as the odds that were stated allow (`{"odds": 2, "alike": [...]}`). The audit's
`unlabelled` means people with the same decision; where nobody of that decision has an outcome, as where loans were
refused, it leaves all open, and `reject_inference` states a comparison with people of either decision.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Coded
from fairtrial._errors import Fault, Faults, InputError, NotApplicable, Set, Words
from fairtrial._improve.arguments import Payoff
from fairtrial._improve.rules import Floats
from fairtrial._improve.worth import Area, Revenue, SeenRows, Worth
from fairtrial._inference.numeric.cell_bootstrap import LevelCells, distinct_rows, group_sums
from fairtrial._method.selective_labels import selective_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Bools = NDArray[np.bool_]

WHO = "improve"


@dataclass(frozen=True, slots=True)
class AssumedOdds:
    """What is assumed of unknown outcomes: odds at most so far from those of people alike; infinite for bounds."""

    odds: float = math.inf
    alike: tuple[str, ...] = ()
    by_decision: bool = False  # alike are only people with the same decision, as the audit says it


@dataclass(frozen=True, slots=True, eq=False)
class UnlabelledRows:
    """Whose outcome is unknown, and what would have been seen at the upper end; the contest holds the lower one."""

    known: NDArray[np.bool_]
    high: SeenRows
    stratum: NDArray[np.int64]
    assumed: AssumedOdds
    unknown_columns: frozenset[str]
    unknown: int

    def matters(self, worth: Worth) -> bool:
        """Whether a level depends on what is unknown."""
        if any(name in self.unknown_columns for name in worth.value_columns):
            return True
        return not self.known.all() and worth.needs("outcome")


def find_assumed(audit: Audit, asked: object) -> AssumedOdds | None:
    """What `reject_inference` says, else the audit; None where neither says anything."""
    stated = audit.unlabelled
    if asked is None:
        return None if stated is None else AssumedOdds(stated.odds, stated.alike, by_decision=True)
    if asked == "bounds":
        return AssumedOdds()
    named = asked if isinstance(asked, Mapping) and not set(asked) - {"odds", "alike"} else {}
    odds, alike = named.get("odds"), named.get("alike", ())
    if isinstance(odds, bool) or not isinstance(odds, int | float) or not 1 <= odds < math.inf:
        required = "must be 'bounds' or odds of at least 1, with the columns in which people are alike"
        raise InputError(WHO, Fault("reject_inference", required, got=asked))
    columns = (alike,) if isinstance(alike, str) else tuple(alike)
    for name in columns:
        audit.check_column(WHO, "reject_inference", name)
    return AssumedOdds(float(odds), columns)


def check_unlabelled(worths: Sequence[Worth], audit: Audit, *, scale: str, shares: bool, valid: bool) -> None:
    """What bounds cannot answer, before any row is read: margins in `shares`, and tests other than the valid one."""
    faults = Faults(WHO)
    for worth in worths:
        if isinstance(worth.what, Area | Revenue):
            faults.add(
                Fault(
                    "keep",
                    "cannot be bounded",
                    subject=f"the {worth.label}",
                    cure="ask for a metric of decisions or for a payoff",
                )
            )
    if any(worth.needs("outcome") for worth in worths):
        if audit.outcome_is_real:
            faults.add(Fault("keep", "needs a binary outcome", subject=BOUNDED))
        if scale == "ratio" and worths[-1].needs("outcome"):
            cure = Words("take {}", Set("scale", "difference"))
            faults.add(Fault("scale", "has gaps that are differences", subject=BOUNDED, cure=cure))
    if any(worth.needs("outcome") or worth.value_columns for worth in worths):
        _check_units(shares, valid, faults)
    faults.raise_any()


BOUNDED = "a claim about unknown outcomes"


def _check_units(shares: bool, valid: bool, faults: Faults) -> None:
    """The worst outcomes must be the same for every margin, and the gap's direction be stated or learned."""
    if shares:
        cure = Words("say {}", Set("margin", {"absolute": 0.02}))
        faults.add(Fault("margin", "has margins in units, not in shares", subject=BOUNDED, cure=cure))
    if not valid:
        required = "is tested by the smooth component alone"
        faults.add(
            Fault("component", required, subject=BOUNDED, cure=Words("use {}", Set("component", "smooth")))
        )


def refuse_unstated(audit: Audit) -> None:
    """Outcomes known for one decision more often: what of the others is assumed must be said."""
    found = selective_labels(audit)
    if found is None:
        return
    required = f"of other rules rests on outcomes that nobody knows: {found.words}, and other rules select other people"
    cure = Words(
        "Say {} for what holds whatever they are, or {} for what holds if their odds are at most twice those of people "
        "alike. A claim that needs no outcome, such as a payoff that is known for everybody and a gap in selection "
        "rate, is tested on all rows as it is",
        Set("unlabelled", "bounds", of="Audit"),
        Set("reject_inference", {"odds": 2}),
    )
    raise NotApplicable(WHO, Fault("keep", required, subject="the accuracy", cure=cure))


def find_unlabelled(
    seen: SeenRows,
    worths: Sequence[Worth],
    group: NDArray[np.int64],
    assumed: AssumedOdds | None,
    alike: Sequence[Coded],
) -> tuple[SeenRows, UnlabelledRows | None]:
    """What was seen at the lower end, and the rest where anything is unknown."""
    known = np.ones(group.size, dtype=bool) if seen.outcome is None else ~np.isnan(seen.outcome)
    payoffs = _payoff_ends(seen, worths)
    if known.all() and not payoffs:
        return seen, None
    if payoffs and assumed is not None and not math.isinf(assumed.odds):
        required = "are odds of the outcome, but a payoff is unknown as well"
        cure = Words("take {}, or a payoff that follows from the outcome", Set("reject_inference", "bounds"))
        raise InputError(WHO, Fault("reject_inference", required, cure=cure))
    low, high = (_at_end(seen, known, payoffs, end) for end in (0, 1))
    stratum = distinct_rows([group, *(coded.codes for coded in alike)])[0]
    unknown = np.any([~known, *(ends[0] != ends[1] for ends in payoffs.values())], axis=0)
    count = int(np.count_nonzero(unknown))
    return low, UnlabelledRows(known, high, stratum, assumed or AssumedOdds(), frozenset(payoffs), count)


def _at_end(
    seen: SeenRows, known: NDArray[np.bool_], payoffs: Mapping[str, tuple[Floats, Floats]], end: int
) -> SeenRows:
    outcome = None if seen.outcome is None else np.where(known, seen.outcome, float(end))
    values = {**seen.values, **{name: ends[end] for name, ends in payoffs.items()}}
    return replace(seen, outcome=outcome, values=values)


def _payoff_ends(seen: SeenRows, worths: Sequence[Worth]) -> dict[str, tuple[Floats, Floats]]:
    """Both ends of every payoff column with unknown values: the least and the largest it is known or stated to be."""
    found = {}
    for worth in worths:
        for name in worth.value_columns:
            values = seen.values[name]
            lacking = np.isnan(values)
            if not lacking.any():
                continue
            if not isinstance(worth.what, Payoff) or lacking.all():
                required = f"is missing in {int(lacking.sum()):,} rows, and only a payoff is bounded"
                raise InputError(
                    WHO,
                    Fault(
                        "keep",
                        required,
                        subject=f"column {name!r}",
                        cure="fill it in, or leave these rows out",
                    ),
                )
            least, most = float(np.nanmin(values)), float(np.nanmax(values))
            if name == worth.what.selected and worth.what.at_least is not None:
                least = min(least, worth.what.at_least)
            found[name] = (np.where(lacking, least, values), np.where(lacking, most, values))
    return found


# -- Levels of people whose outcome is partly unknown: the end that is worst for one claim, with bounded
# odds or none. Each cell has two ends, its (u, w) had the outcome been 0 and had it been 1; they differ
# where the outcome is unknown and matters. A completion takes one end for each cell. Without an
# assumption the end itself is taken. With odds Γ the share of positive outcomes among the unknown is
# between q/(q + Γ(1−q)) and Γq/(1−q + Γq), q being the share among the known of the same stratum,
# (s+½)/(s+f+1): it is found anew in every draw, so that its own error counts.

# the end of a linear fractional function is reached in a few steps; more would be a circle of rounding errors
MOST_STEPS = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnknownEnds:
    """Cells with both their ends: `low` has the values at 0, `high` those at 1.

    `outcome` is 0, 1, or NaN where it is unknown; `stratum` numbers the people who are alike; `odds` is infinite where
    nothing is assumed.
    """

    low: LevelCells
    high: Floats
    outcome: Floats
    stratum: Integers
    odds: float

    def completed(self, upper: Bools) -> LevelCells:
        """Cells with the upper end where `upper` says so, else the lower one."""
        if math.isinf(self.odds):
            ends = np.where(upper[:, None, None, None], self.high, self.low.values)
            return replace(self.low, values=ends)
        found = OddsCells(
            counts=self.low.counts, group=self.low.group, groups=self.low.groups, values=self.low.values,
            low=self.low.values, high=self.high, upper=upper, outcome=self.outcome, stratum=self.stratum,
            odds=self.odds,
        )  # fmt: skip
        share = found.shares(found.counts[None, :].astype(np.float64))[0]
        mixed = self.low.values + share[:, None, None, None] * (self.high - self.low.values)
        return replace(found, values=mixed)

    def least(self, utility: int, coefficients: Floats) -> Bools:
        """The completion that makes Σ coefficient·level least; coefficients have shape (2 rules, G+1).

        Each person's part in it is linear once the levels are known, and the levels follow from who takes which end
        (Dinkelbach's steps). Exact where both rules share a denominator, or none depends on the outcome.
        """
        upper = np.zeros(self.low.counts.size, dtype=bool)
        best, lowest = upper, math.inf
        for _ in range(MOST_STEPS):
            cells = self.completed(upper).only(utility)
            sums = cells.sums(cells.counts[None, :].astype(np.float64))[0, 0]
            with np.errstate(divide="ignore", invalid="ignore"):
                level = np.where(sums[..., 1] > 0, sums[..., 0] / sums[..., 1], 0.0)
                factor = np.where(sums[..., 1] > 0, coefficients / sums[..., 1], 0.0)
            value = float((coefficients * level).sum())
            if value >= lowest - 1e-15 * (1.0 + abs(lowest)):
                break
            best, lowest = upper, value
            change = (self.high - self.low.values)[:, utility]
            effect = (change[..., 0, None] - level * change[..., 1, None]) * factor
            upper = (effect * self.low.members[:, None, :]).sum(axis=(1, 2)) < 0
        return best


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OddsCells(LevelCells):
    """Cells whose unknown outcomes have bounded odds; see the module."""

    low: Floats
    high: Floats
    upper: Bools
    outcome: Floats
    stratum: Integers
    odds: float

    def only(self, utility: int) -> OddsCells:
        """The same cells with one of the utilities."""
        one = [utility]
        return replace(self, values=self.values[:, one], low=self.low[:, one], high=self.high[:, one])

    def sums(self, weights: Floats) -> Floats:
        """Σ u and Σ w, with the shares that the weights themselves give."""
        change = self.high - self.low
        return group_sums(self, self.low, weights) + group_sums(self, change, weights * self.shares(weights))

    def shares(self, weights: Floats) -> Floats:
        """The share of positive outcomes in each cell under each row of weights: (draws, cells)."""
        q, known = self._labelled(weights)
        low, high = (self._bound(q, upper=upper) for upper in (False, True))
        found = np.where(self.upper, high[:, self.stratum], low[:, self.stratum])
        found = np.where(known[self.stratum], found, self.upper.astype(np.float64))
        return np.where(np.isnan(self.outcome), found, self.outcome)

    def influence(self, sums: Floats, estimate: Floats) -> Floats:
        """That of the cells' values, and for people whose outcome is known what it tells of the others'."""
        psi = LevelCells.influence(self, sums, estimate)
        weights = self.counts.astype(np.float64)
        (q,), known = self._labelled(weights[None, :])
        slope = np.where(
            self.upper, self._slope(q, upper=True)[self.stratum], self._slope(q, upper=False)[self.stratum]
        )
        slope = np.where(np.isnan(self.outcome) & known[self.stratum], slope, 0.0)
        change = self.high - self.low
        with np.errstate(divide="ignore", invalid="ignore"):
            effect = (change[..., 0, None] - estimate * change[..., 1, None]) / sums[..., 1]
        effect = np.where(np.isfinite(effect), effect, 0.0) * self.members[:, None, None, :]
        size = len(q)
        by_stratum = np.zeros((size, *effect.shape[1:]))
        np.add.at(by_stratum, self.stratum, (weights * slope)[:, None, None, None] * effect)
        labelled = np.bincount(self.stratum, weights * ~np.isnan(self.outcome), size) + 1.0
        residual = np.where(np.isnan(self.outcome), 0.0, np.nan_to_num(self.outcome) - q[self.stratum])
        scale = residual * self.rows / labelled[self.stratum]
        return np.asarray(psi + scale[:, None, None, None] * by_stratum[self.stratum])

    def _labelled(self, weights: Floats) -> tuple[Floats, Bools]:
        """q of each stratum under each row of weights, and which strata hold anybody whose outcome is known."""
        size, cells = int(self.stratum.max()) + 1, np.arange(self.counts.size)
        label = ~np.isnan(self.outcome)
        positive, negative = (
            csr_matrix((of.astype(np.float64), (cells, self.stratum)), shape=(cells.size, size))
            for of in (label & (self.outcome == 1), label & (self.outcome == 0))
        )
        s, f = weights @ positive, weights @ negative
        return (s + 0.5) / (s + f + 1.0), np.bincount(self.stratum, label, size) > 0

    def _bound(self, q: Floats, *, upper: bool) -> Floats:
        if upper:
            return self.odds * q / (1.0 - q + self.odds * q)
        return q / (q + self.odds * (1.0 - q))

    def _slope(self, q: Floats, *, upper: bool) -> Floats:
        """The derivative of the bound in q."""
        return self.odds / ((1.0 - q + self.odds * q) if upper else (q + self.odds * (1.0 - q))) ** 2

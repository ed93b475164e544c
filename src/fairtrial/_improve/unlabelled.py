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

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Coded
from fairtrial._errors import Fault, Faults, InputError, NotApplicable, Set, Words
from fairtrial._improve.arguments import Payoff
from fairtrial._improve.rules import Floats
from fairtrial._improve.worth import Area, Revenue, SeenRows, Worth
from fairtrial._inference.numeric.cell_bootstrap import distinct_rows
from fairtrial._method.known_outcomes import selective_labels

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

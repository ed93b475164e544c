"""Groups too small to judge alone, described: estimates that borrow, exact intervals, and what holds of all together.

Groups of the same attributes share no people and are the cells of one table; each table is described by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from fairtrial._compare.disparities import Disparities
from fairtrial._compare.sorted_groups import OwnEstimate, Untested, members_of, opposite
from fairtrial._compare.words import TOO_FEW
from fairtrial._errors import Note
from fairtrial._inference.evidence.atoms import Comparison
from fairtrial._inference.laws.gaps import Gaps
from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._inference.small_cells.beyond import BeyondWhat, Side, at_least, beyond_p_values, rank_limits
from fairtrial._inference.small_cells.borrowed import (
    BorrowedPrior,
    opposite_limits,
    own_error,
    shrunken_means,
)
from fairtrial._inference.small_cells.spread import find_spread
from fairtrial._metrics.groups import Group
from fairtrial._results.column import undefined

FURTHEST = 5  # groups in the list that has its own level
Cells = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True, eq=False)
class CellTable:
    """The groups of the same attributes that have people, in one metric."""

    groups: tuple[Group, ...]
    sizes: Floats
    positives: Floats
    small: Bools
    tested: Bools

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.groups[0].attributes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Described:
    """What is told of small groups: cells of their rows, of each table as a whole, of everyone; or why not."""

    cells: Cells = field(default_factory=dict)
    tables: list[dict[str, Any]] = field(default_factory=list)
    everyone: dict[str, Any] | None = None
    notes: list[Note] = field(default_factory=list)
    why_not: str = ""


def describe(part: Disparities) -> Described:
    """Every small group of one metric, beside the others of its attributes."""
    why = why_not_described(part)
    small = any(item.state.code == TOO_FEW.code for item in part.untested)
    if why:
        text = f"Groups of fewer than {part.request.minimum} members are listed and not described: {why}."
        return Described(notes=[Note("small-not-described", text)] if small else [], why_not=why)
    if not part.binary:
        means = _described_means(part) if small else {}
        notes = [Note("small-described", MEANS)] if means else []
        return Described(cells=means, notes=notes, why_not="is for rates, not for means")
    tables = tables_of(part)
    cells: Cells = {}
    told: list[dict[str, Any]] = []
    for table in tables:
        if table.small.any():
            most = table.sizes.size == max(one.sizes.size for one in tables)
            own, whole = _describe_table(part, table, spread=most)
            cells |= own
            told.append(whole)
    notes = [Note("small-described", RATES.format(part.request.minimum))] if told else []
    return Described(cells=cells, tables=told, everyone=_everyone(part, tables), notes=notes)


RATES = (
    "Groups of fewer than {} members are described, not judged. Their estimates borrow from the other groups of the "
    "same attributes and have no interval of their own; the intervals are exact and hold for each group. The number of "
    "groups beyond the tolerance is against everyone, whatever the gaps are against."
)
MEANS = (
    "Small groups are described, not judged. Their estimates borrow from the other groups of the same attributes and "
    "have no interval of their own; the intervals are those of all means, without a limit where too few values "
    "carry one."
)


def why_not_described(part: Disparities) -> str:
    """What has not been measured for small groups; empty where it has."""
    people = part.people
    reasons = {
        "this has not been measured for weights and repeated people": people.weighted is not None,
        "this does not hold for groups known with a probability": people.probable is not None,
        "this has not been measured for unknown outcomes": people.unknown is not None,
        "this has not been measured for two answers of one person": people.paired is not None,
        "this has not been measured for gaps among people alike": part.within is not None,
    }
    return next((why for why, so in reasons.items() if so), "")


def tables_of(part: Disparities) -> list[CellTable]:
    """One for each set of attributes; groups that share people make none."""
    known = [
        (group, float(n), float(rate), True, False)
        for group, n, rate in zip(part.groups, part.count, part.rate, strict=True)
    ]
    known += [
        (item.group, float(item.n), item.rate, False, _is_small(item)) for item in part.untested if item.n > 0
    ]
    sets: dict[tuple[str, ...], list[Any]] = {}
    for one in known:
        sets.setdefault(one[0].attributes, []).append(one)
    found = []
    for members in sets.values():
        groups, sizes, rates, tested, small = zip(*members, strict=True)
        if members_of(part.cells, groups).how_often().max(initial=0) > 1:
            continue
        n = np.array(sizes)
        found.append(CellTable(groups, n, np.rint(n * np.array(rates)), np.array(small), np.array(tested)))
    return found


def _is_small(item: Untested) -> bool:
    return item.state.code == TOO_FEW.code


def _everyone(part: Disparities, tables: Sequence[CellTable]) -> dict[str, Any]:
    """What a bound on the number beyond needs, besides the table."""
    beyond = beyond_what(part)
    band = None if beyond is None else [_plain(beyond.least), _plain(beyond.most)]
    return {
        "metric": part.metric.name,
        "n": int(part.atoms.count.sum()),
        "events": int(part.atoms.successes.sum()),
        "side": None if beyond is None else beyond.side,
        "tolerance": band,
        "ratio": part.scale == "ratio",
        "apart": [list(table.attributes) for table in tables],
    }


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def beyond_what(part: Disparities) -> BeyondWhat | None:
    """What counts as beyond, from the direction and the tolerance; nothing where one gap is tested exactly."""
    assert part.band is not None
    low, high = part.band
    nothing = 1.0 if part.scale == "ratio" else 0.0
    if part.direction == "differs" and low != nothing:
        return None
    side: Side = "outside" if part.direction == "differs" else part.direction  # type: ignore[assignment]
    return BeyondWhat(side, low, high, part.scale == "ratio")


def _describe_table(part: Disparities, table: CellTable, *, spread: bool) -> tuple[Cells, dict[str, Any]]:
    error = 1.0 - part.request.level
    prior = BorrowedPrior(table.sizes, table.positives)
    borrowed = prior.estimates()
    limits = prior.limits(error, table.small)
    opposite_rate, gap = _gaps(part, table, prior, error)
    best, worst = rank_limits(table.sizes, table.positives, part.request.level)
    furthest = _furthest(part, borrowed - opposite_rate)
    share = 1.0 - furthest.size * error / borrowed.size
    chosen = np.isin(np.arange(borrowed.size), furthest)
    far = prior.limits(1.0 - share, chosen)
    found: Cells = {}
    for place, group in enumerate(table.groups):
        if not (table.small[place] or table.tested[place]):
            continue
        row: dict[str, Any] = {
            "borrowed": float(borrowed[place]),
            "borrowed_difference": _defined(borrowed[place] - opposite_rate[place]),
            "rank_best": int(best[place]),
            "rank_worst": int(worst[place]),
        }
        if chosen[place]:
            row |= {"furthest_low": float(far[0][place]), "furthest_high": float(far[1][place])}
        if table.small[place]:
            row |= {"rate_low": float(limits[0][place]), "rate_high": float(limits[1][place])}
            row |= _gap_cells(part, table, gap, opposite_rate, place) | {"rule": "exact, small group"}
            row |= _reasons(part)
        found[group.label] = row
    return found, _whole(part, table, [table.groups[place].label for place in furthest], spread=spread)


def _furthest(part: Disparities, gaps: Floats) -> np.ndarray:
    """The few estimates that lie furthest in the direction that is flagged."""
    size = {"above": gaps, "below": -gaps}.get(part.direction, np.abs(gaps))
    return np.argsort(-np.nan_to_num(size, nan=-np.inf), kind="stable")[:FURTHEST]


def _defined(value: float) -> Any:
    return float(value) if np.isfinite(value) else undefined("its target is made of its own people")


def _gaps(
    part: Disparities, table: CellTable, prior: BorrowedPrior, error: float
) -> tuple[Floats, dict[str, tuple[Floats, Floats]]]:
    """What each group is compared with, and exact limits of difference and ratio."""
    small, n, s = table.small, table.sizes, table.positives
    known = part.comparison.known
    if known is not None or isinstance(part.target, OwnEstimate):
        value = float(part.target_rate[0])
        low, high = prior.limits(error, small)
        other = np.full(n.size, value)
        if isinstance(part.target, OwnEstimate):
            return other, {}
        return other, {"difference": (low - value, high - value), "ratio": (low / value, high / value)}
    low, high = prior.limits(own_error(error), small)
    people, events = _opposite_counts(part, table)
    kind = part.target.kind
    apart = people if kind != "overall" else people - n
    positive = events if kind != "overall" else events - s
    rest_low, rest_high = opposite_limits(apart, positive, error)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = events / people
        if kind != "overall":
            return rate, {
                "difference": (low - rest_high, high - rest_low),
                "ratio": (low / rest_high, high / rest_low),
            }
        own = n / people  # the group is part of everyone
        rest = 1.0 - own
        return rate, {
            "difference": (rest * (low - rest_high), rest * (high - rest_low)),
            "ratio": (low / (own * low + rest * rest_high), high / (own * high + rest * rest_low)),
        }


def _opposite_counts(part: Disparities, table: CellTable) -> tuple[Floats, Floats]:
    """People and positives that each group is compared with; nobody where they share people."""
    atoms, target = part.atoms, part.target
    everyone, positive = float(atoms.count.sum()), float(atoms.successes.sum())
    assert not isinstance(target, OwnEstimate)
    if target.kind == "rest":
        return everyone - table.sizes, positive - table.positives
    if target.kind == "overall":
        return np.full(table.sizes.shape, everyone), np.full(table.sizes.shape, positive)
    assert target.group is not None
    reference = part.cells.mask(target.group)
    n, events = float(atoms.count[reference].sum()), float(atoms.successes[reference].sum())
    apart = np.array(
        [not (part.cells.mask(group) & reference & (atoms.count > 0)).any() for group in table.groups]
    )
    return np.where(apart, n, np.nan), np.where(apart, events, np.nan)


def _gap_cells(
    part: Disparities, table: CellTable, gap: Mapping[str, tuple[Floats, Floats]], other: Floats, place: int
) -> dict[str, Any]:
    """The gap of a small group with its exact interval, in place of why it was not tested."""
    rate = float(table.positives[place] / table.sizes[place])
    against = float(other[place])
    if not gap:
        return {}
    if not np.isfinite(against):
        return {name: undefined("it shares people with its reference") for name in GAP}
    low, high = (float(side[place]) for side in gap["difference"])
    found: dict[str, Any] = {
        "target_rate": against, "difference": rate - against, "difference_low": low, "difference_high": high,
    }  # fmt: skip
    if part.scale == "ratio":
        none = undefined("no limit: nobody in the target")
        ends = (float(side[place]) for side in gap["ratio"])
        low_ratio, high_ratio = (end if np.isfinite(end) else none for end in ends)
        ratio = rate / against if against > 0 else none
        found |= {"scale": "ratio", "ratio": ratio, "ratio_low": low_ratio, "ratio_high": high_ratio}
    return found


def _reasons(part: Disparities) -> dict[str, Any]:
    """Why the group has no test, and that it is told of all the same."""
    why = f"fewer than {part.request.minimum} members; described"
    return {"p_value": undefined(why), "p_adjusted": undefined(why), "state_reason": why}


GAP = ("difference", "difference_low", "difference_high")


def _whole(part: Disparities, table: CellTable, furthest: Sequence[str], *, spread: bool) -> dict[str, Any]:
    """How many are beyond at least, and how far the true rates spread: of all cells and of the small ones."""
    return {
        "metric": part.metric.name,
        "by": list(table.attributes),
        "furthest": list(furthest),
        **_together(part, table, np.ones(table.sizes.size, dtype=bool), with_spread=spread),
        "small": _together(part, table, table.small, with_spread=spread),
    }


def _together(part: Disparities, table: CellTable, among: Bools, *, with_spread: bool) -> dict[str, Any]:
    level = part.request.level
    error, beyond = 1.0 - level, beyond_what(part)
    tolerated = _tolerated(beyond)
    spread = (
        find_spread(table.sizes[among], table.positives[among], error, tolerated) if with_spread else None
    )
    number = None
    if beyond is not None:
        everyone = float(part.atoms.successes.sum()), float(part.atoms.count.sum())
        p = beyond_p_values(table.sizes, table.positives, everyone, beyond, error)
        number = at_least(p, among, error)
    told = None
    if spread is not None:
        told = {**asdict(spread), "value": spread.value, "tolerated": tolerated}
        told["n"] = told.pop("people")
    return {"cells": int(among.sum()), "n": int(table.sizes[among].sum()), "beyond": number, "spread": told}


def _tolerated(beyond: BeyondWhat | None) -> float | None:
    """The spread that would be tolerated: the tolerance of a difference, where there is one."""
    if beyond is None or beyond.ratio:
        return None
    ends = {"above": [beyond.most], "below": [-beyond.least]}.get(beyond.side, [beyond.most, -beyond.least])
    most = max(ends)
    return most if np.isfinite(most) and most > 0 else None


def _described_means(part: Disparities) -> Cells:
    """Small groups of real values: the ordinary intervals of means, and estimates that are shrunken."""
    if isinstance(part.target, OwnEstimate):
        return {}
    small = [item.group for item in part.untested if _is_small(item)]
    member = members_of(part.cells, small)
    comparison = Comparison(member, opposite(member, part.cells, part.target))
    if part.comparison.known is not None:
        comparison = Comparison(member, member.nobody(), np.full(len(small), part.comparison.known[0]))
    gaps = part.request.procedure.gaps(part.request, part.atoms, comparison)
    borrowed = _borrowed_means(part)
    low, high = gaps.limits(part.request.level)
    _, rates, _ = part.atoms.pooled(comparison.reference)
    found: Cells = {}
    for place, group in enumerate(small):
        other = rates[place] if comparison.known is None else comparison.known[place]
        row = {
            "target_rate": float(other),
            "difference": float(gaps.estimate[place]),
            "difference_low": _limit(gaps, low, place),
            "difference_high": _limit(gaps, high, place),
            "rule": str(gaps.rule[place]),
            **_reasons(part),
        }
        if group.label in borrowed:
            value = borrowed[group.label]
            row |= {"borrowed": value, "borrowed_difference": value - float(other)}
        found[group.label] = row
    return found


def _limit(gaps: Gaps, side: Floats, place: int) -> Any:
    if (why := gaps.reason[place]) is not None:
        return undefined(why)
    return (
        float(side[place]) if np.isfinite(side[place]) else undefined(f"no limit: {gaps.why_no_limit(place)}")
    )


def _borrowed_means(part: Disparities) -> dict[str, float]:
    """Every group's mean, drawn towards those of the same attributes."""
    found: dict[str, float] = {}
    for table in tables_of(part):
        member = members_of(part.cells, table.groups)
        count, mean, m2 = part.atoms.pooled(member)
        shrunk = shrunken_means(count, mean, m2)
        found |= {group.label: float(one) for group, one in zip(table.groups, shrunk, strict=True)}
    return found

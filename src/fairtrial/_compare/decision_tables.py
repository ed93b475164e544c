"""Two-by-two tables of practice: each group's favourable decisions against those of its target, pooled over strata."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, special

from fairtrial._compare.comparing import find_disparities
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.request import Request
from fairtrial._compare.rows import gap_cell
from fairtrial._compare.strata import strata_of, within_notes
from fairtrial._compare.table_parts import (
    REFUSED,
    WHO,
    WHY_REFUSED,
    BuiltTable,
    adjusted,
    as_dicts,
    favourable_metric,
    known_groups,
    need,
)
from fairtrial._compare.words import LISTED
from fairtrial._errors import Fault, NotApplicable
from fairtrial._inference.laws.strata_gaps import strata_table
from fairtrial._inference.multiplicity import holm
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.rates.proportions import rate_interval
from fairtrial._inference.rates.two_rates import TwoRates
from fairtrial._metrics.groups import Group
from fairtrial._results.column import State, undefined
from fairtrial._results.text import counted

COUNTS = ("n", "events", "rate", "rate_low", "rate_high", "target", "target_n", "target_rate")
RATIO = ("ratio", "ratio_low", "ratio_high")
EMPLOYMENT = (
    *COUNTS, *RATIO, "standard_deviations", "fisher_p", "fisher_p_adjusted", "shortfall", "exchanged_ratio", "reverses",
)  # fmt: skip
CREDIT = (
    *COUNTS, *RATIO, "difference", "difference_low", "difference_high", "odds_ratio", "odds_ratio_low",
    "odds_ratio_high", "fisher_p", "fisher_p_adjusted",
)  # fmt: skip


def build_employment(request: Request) -> BuiltTable:
    """What US practice asks of selections: how far from chance, how many people, and whether one person reverses it."""
    return _build(request, EMPLOYMENT)


def build_credit(request: Request) -> BuiltTable:
    """What lenders and insurers ask of decisions: adverse impact ratio, denial odds ratio, adjusted gap."""
    return _build(request, CREDIT)


def _build(request: Request, columns: Sequence[str]) -> BuiltTable:
    request.audit.refuse(WHO, *REFUSED, why=WHY_REFUSED)
    need(request.audit, "decision")
    metric = favourable_metric(request.audit)
    groups = as_dicts(known_groups(request))
    found = find_disparities(
        Request(who=WHO, audit=request.audit, by=groups, target=request.target, minimum=1, scale="ratio",
                within=request.within),
        metric,
    )  # fmt: skip
    tables = _strata(found)
    lines = _lines(found, tables, request.level)
    rows = [
        {
            "metric": metric.name, "value_kind": "percent", "group": group.label,
            **{name: line[name] for name in columns}, **adjusted(found, request.level, index),
            **State(LISTED.code).cells(),
        }
        for index, (group, line) in enumerate(zip(found.groups, lines, strict=True))
    ]  # fmt: skip
    others = [(item.group, item.n, item.state) for item in found.untested]
    rows += [_other(found, metric.name, *item, request.level) for item in others]
    places = [group.place for group in [*found.groups, *(group for group, _, _ in others)]]
    notes = (
        [] if found.within is None else within_notes(found.within, [group.label for group in found.groups])
    )
    return BuiltTable(
        rows, places, _sentence(rows, request.level), notes=[(note.code, note.text) for note in notes]
    )


def _strata(found: Disparities) -> TwoRates:
    """Per group and stratum: favourable decisions and people of the group and of its target."""
    comparison, atoms = found.comparison, found.atoms
    if comparison.known is not None or comparison.shared(atoms).any():
        required = "must be people that no compared group shares: the others, or a reference group"
        raise NotApplicable(WHO, Fault("target", required))
    stratum = np.zeros(atoms.count.size, dtype=np.int64)
    if found.within is not None:
        stratum, _ = strata_of(found.cells, found.within.columns)
    return strata_table(atoms, comparison, stratum)


def _lines(found: Disparities, tables: TwoRates, level: float) -> list[dict[str, Any]]:
    low, high = found.gaps.limits(level)
    beside = found.differences
    difference_low, difference_high = beside.limits(level)
    lines = []
    for i in range(len(found.groups)):
        own = TwoRates(*(column[i] for column in tables))
        k1, n1, k2, n2 = (float(column.sum()) for column in own)
        rate_low, rate_high = rate_interval(k1, n1, level)
        lines.append(
            {
                "n": int(n1), "events": int(k1), "rate": k1 / n1,
                "rate_low": float(rate_low), "rate_high": float(rate_high),
                "target": found.target_label, "target_n": int(n2), "target_rate": k2 / n2,
                "ratio": gap_cell(found.gaps, found.gaps.estimate[i], i),
                "ratio_low": gap_cell(found.gaps, low[i], i), "ratio_high": gap_cell(found.gaps, high[i], i),
                "difference": gap_cell(beside, beside.estimate[i], i),
                "difference_low": gap_cell(beside, difference_low[i], i),
                "difference_high": gap_cell(beside, difference_high[i], i),
                **_practice(own), **_odds(own, level),
            }
        )  # fmt: skip
    exact = [line["fisher_p"] for line in lines]
    for line, p in zip(lines, holm(exact), strict=True):
        line["fisher_p_adjusted"] = float(p)
    return lines


def _practice(own: TwoRates) -> dict[str, Any]:
    """Standard deviations, exact p and shortfall, and what the exchange of one person would do."""
    found = pooled(own)
    same = undefined("all decisions are the same")
    return {
        "standard_deviations": found.deviations if np.isfinite(found.deviations) else same,
        "fisher_p": exact_p(own),
        "shortfall": found.shortfall,
        **_exchanged(own),
    }


def _exchanged(own: TwoRates) -> dict[str, Any]:
    """The ratio had one of the group been selected in place of one of the target, in one pool of people."""
    if own.n1.size > 1:
        return {"exchanged_ratio": undefined("there are several strata"), "reverses": None}
    k1, n1, k2, n2 = (float(column[0]) for column in own)
    if k1 + 1 > n1 or k2 < 1:
        return {"exchanged_ratio": undefined("nobody can be exchanged"), "reverses": None}
    one, other = (k1 + 1) / n1, (k2 - 1) / n2
    ratio = one / other if other > 0 else undefined("nobody of the target would be left selected")
    return {"exchanged_ratio": ratio, "reverses": bool(k1 / n1 < k2 / n2 and one > other)}


def _odds(own: TwoRates, level: float) -> dict[str, Any]:
    """The odds of the unfavourable decision over those of the target."""
    k1, n1, k2, n2 = own
    denied = TwoRates(n1 - k1, n1, n2 - k2, n2)
    ratio = odds_ratio(denied)
    ends = odds_limits(denied, level)
    no_end = "no upper limit: nobody on one side has the other decision"
    return {
        "odds_ratio": ratio
        if np.isfinite(ratio)
        else undefined("a side has no favourable decision or no other"),
        "odds_ratio_low": ends[0],
        "odds_ratio_high": ends[1] if np.isfinite(ends[1]) else undefined(no_end),
    }


def _other(
    found: Disparities, metric: str, group: Group, n: int, state: State, level: float
) -> dict[str, Any]:
    """A group that is listed and not compared, such as the reference."""
    inside = found.cells.mask(group)
    events = float(found.atoms.successes[inside].sum())
    low, high = rate_interval(events, float(n), level)
    return {
        "metric": metric, "value_kind": "percent", "group": group.label, "n": n, "events": int(events),
        "rate": events / n if n else None, "rate_low": float(low), "rate_high": float(high), **state.cells(),
    }  # fmt: skip


def _sentence(rows: Sequence[Mapping[str, Any]], level: float) -> str:
    """How many groups the exact test tells apart from their target, corrected over the table."""
    told = [row for row in rows if row["state"] == LISTED.code]
    found = sum(row["fisher_p_adjusted"] <= 1.0 - level for row in told)
    if not told:
        return "no group could be compared"
    return (
        f"{found} of {counted(len(told), 'group')} shown to differ from {told[0]['target']} (exact test at "
        f"{100 * (1.0 - level):g}%, corrected over the table)"
    )


# -- Two-by-two tables given their margins: Fisher's exact test, the odds ratio with its exact limits, and how
# many fewer.
# Several strata (requisitions, credit bands) are pooled, never added up: given its margins each has its own
# hypergeometric law, and that of their sum is the convolution of these. With one stratum it is Fisher's
# test.
NEGLIGIBLE = 1e-40  # of the largest probability; what is trimmed is added to the tails again
TIE = 1e-7  # as likely as what was seen, to the last digits
FARTHEST = 25.0  # a logarithm of odds beyond which there is no limit


class Pooled(NamedTuple):
    """How many of one group have the event, against what the margins would make one expect."""

    expected: float
    shortfall: float
    deviations: float


class MarginLaw(NamedTuple):
    """The group's events given all margins: the smallest count, and the probability of it and of those above."""

    first: int
    probability: Floats

    def tails(self, count: int) -> tuple[float, float]:
        """At most so many, at least so many."""
        place = count - self.first
        trimmed = self.probability.size * NEGLIGIBLE
        below, above = self.probability[: max(place + 1, 0)].sum(), self.probability[max(place, 0) :].sum()
        return float(min(below + trimmed, 1.0)), float(min(above + trimmed, 1.0))


def pooled(strata: TwoRates) -> Pooled:
    """Mantel and Haenszel's expectation and standard deviation over the strata; of one stratum the usual ones."""
    k1, n1, k2, n2 = strata
    people, events = n1 + n2, k1 + k2
    there = people > 1
    expected = float((n1 * events / np.maximum(people, 1.0)).sum())
    variance = (
        n1 * n2 * events * (people - events) / (np.maximum(people, 1.0) ** 2 * np.maximum(people - 1, 1))
    )
    spread = float(np.sqrt(variance[there].sum()))
    seen = float(k1.sum())
    return Pooled(expected, expected - seen, (seen - expected) / spread if spread > 0 else np.nan)


def given_margins(strata: TwoRates, log_odds: float = 0.0) -> MarginLaw:
    """The law of the group's events when the odds ratio is the same in every stratum."""
    law = MarginLaw(0, np.ones(1))
    for k1, n1, k2, n2 in zip(*(column.tolist() for column in strata), strict=True):
        law = _sum(law, _one(int(n1), int(n2), int(k1 + k2), log_odds))
    return law


def _one(n1: int, n2: int, events: int, log_odds: float) -> MarginLaw:
    low, high = max(0, events - n2), min(n1, events)
    count = np.arange(low, high + 1.0)
    logarithm = -sum(
        special.gammaln(part + 1.0) for part in (count, n1 - count, events - count, n2 - events + count)
    )
    logarithm = logarithm + count * log_odds
    return _trimmed(low, np.exp(logarithm - logarithm.max()))


def _sum(one: MarginLaw, other: MarginLaw) -> MarginLaw:
    return _trimmed(one.first + other.first, np.convolve(one.probability, other.probability))


def _trimmed(first: int, weight: Floats) -> MarginLaw:
    kept = np.flatnonzero(weight > NEGLIGIBLE * weight.max())
    inside = weight[kept[0] : kept[-1] + 1]
    return MarginLaw(first + int(kept[0]), inside / inside.sum())


def exact_p(strata: TwoRates) -> float:
    """Fisher's two-sided p-value: all counts that are no more likely than the one seen."""
    law = given_margins(strata)
    place = int(strata.k1.sum()) - law.first
    trimmed = law.probability.size * NEGLIGIBLE
    if not 0 <= place < law.probability.size:
        return trimmed
    seen = law.probability[place] * (1.0 + TIE)
    return float(min(law.probability[law.probability <= seen].sum() + trimmed, 1.0))


def odds_ratio(strata: TwoRates) -> float:
    """Mantel and Haenszel's; of one stratum the odds of the group over those of its target. NaN where undefined."""
    k1, n1, k2, n2 = strata
    people = np.maximum(n1 + n2, 1.0)
    above, below = (k1 * (n2 - k2) / people).sum(), (k2 * (n1 - k1) / people).sum()
    if below == 0:
        return np.inf if above > 0 else np.nan
    return float(above / below)


def odds_limits(strata: TwoRates, level: float) -> tuple[float, float]:
    """Exact conditional limits: each end is where the tail beyond what was seen has half of the error."""
    seen, tail = int(strata.k1.sum()), (1.0 - level) / 2.0
    lowest, highest = _range(strata)
    middle = odds_ratio(strata)
    start = float(np.log(middle)) if np.isfinite(middle) and middle > 0 else 0.0
    low, high = 0.0, np.inf
    if seen > lowest:
        low = _end(lambda log_odds: given_margins(strata, log_odds).tails(seen)[1] - tail, start)
    if seen < highest:
        high = _end(lambda log_odds: tail - given_margins(strata, log_odds).tails(seen)[0], start)
    return low, high


def _range(strata: TwoRates) -> tuple[int, int]:
    events = strata.k1 + strata.k2
    return (
        int(np.maximum(0.0, events - strata.n2).sum()),
        int(np.minimum(strata.n1, events).sum()),
    )


def _end(rising: Callable[[float], float], start: float) -> float:
    """Where a function that rises with the log odds is zero."""
    step, low, high = 0.5, start, start
    while rising(low) > 0 and low > -FARTHEST:
        low, step = low - step, 2 * step
    step = 0.5
    while rising(high) < 0 and high < FARTHEST:
        high, step = high + step, 2 * step
    if low >= high:
        return float(np.exp(low))
    return float(np.exp(optimize.brentq(rising, low, high, xtol=1e-10)))

"""Outcomes known for some: limits, findings and certificates where the truth lies at either end of what is possible,
odds bounds where the unlabelled are exactly that far off, and labels that are said to settle a gap."""

from __future__ import annotations

from functools import partial
from itertools import cycle, islice
from typing import Any, NamedTuple

import numpy as np

from inside.data import Cells, UnknownOutcomes
from inside.direct_calls import difference_interval
from inside.gaps import certified, labels_needed, outcome_bounds
from inside.inference import Comparison, EndGaps, Floats, PartlyLabelled, label_gaps
from validity.board import Cell
from validity.measure_designs import Errors, Random

# what one person adds to events and people with outcome 1 and with outcome 0, by decision 0 and 1
METRICS = {
    "fpr": ((0, 0), (0, 0), (0, 1), (1, 1)),
    "tpr": ((0, 1), (1, 1), (0, 0), (0, 0)),
    "accuracy": ((0, 1), (1, 1), (1, 0), (1, 1)),
    "base_rate": ((1, 1), (1, 1), (0, 0), (1, 1)),
}
AT_ONCE = 100  # comparisons worked on together


class Side(NamedTuple):
    """A group or its target: people, the share decided 1, and by decision the share labelled and the share of outcome
    1 among the labelled."""

    n: int
    selected: float
    labelled: tuple[float, float]
    ones: tuple[float, float]


class Design(NamedTuple):
    """A metric, a group and its target."""

    metric: str
    group: Side
    target: Side


LENDING = [
    Design(metric, Side(n1, 0.5, (0.0, 1.0), (0.5, 0.8)), Side(n2, 0.7, (0.0, 1.0), (0.5, 0.85)))
    for metric in ("fpr", "tpr", "accuracy", "base_rate")
    for n1, n2 in ((60, 60), (100, 400), (1000, 1000))
]
FEW_UNKNOWN = [
    Design(metric, Side(n1, 0.4, (0.9, 1.0), (0.3, 0.7)), Side(n2, 0.5, (0.95, 0.98), (0.2, 0.6)))
    for metric in ("fpr", "tpr", "accuracy", "base_rate")
    for n1, n2 in ((60, 60), (100, 400), (1000, 1000))
]
HALF_LABELLED = [
    Design(metric, Side(n1, 0.4, (0.3, 0.9), (0.3, 0.7)), Side(n2, 0.5, (0.4, 0.8), (0.2, 0.6)))
    for metric in ("fpr", "tpr", "accuracy", "base_rate")
    for n1, n2 in ((80, 80), (150, 400), (1000, 1000))
]
# twelve labelled people of each decision and less: what an `alike` of many columns leaves
SPARSE = [
    Design(metric, Side(40, 0.5, (0.3, 0.6), (0.3, 0.7)), Side(60, 0.5, (0.3, 0.6), (0.2, 0.6)))
    for metric in ("fpr", "tpr", "accuracy", "base_rate")
]


def unknown_share(design: Design, side: Side, odds: float, *, most: bool) -> Floats:
    """The true share of outcome 1 among the unlabelled, where the side's rate is as large, or small, as can be."""
    value1, given1, value0, given0 = (np.array(part, dtype=np.float64) for part in METRICS[design.metric])
    up = (2 * value1 - given1 > 2 * value0 - given0) == most
    rate, factor = np.array(side.ones), np.where(up, odds, 1.0 / odds)
    with np.errstate(invalid="ignore"):
        within = factor * rate / (1.0 - rate + factor * rate)
    free = np.isinf(odds) | (np.array(side.labelled) == 0)
    return np.asarray(np.where(free, up.astype(np.float64), within), dtype=np.float64)


def true_rate(design: Design, side: Side, share: Floats) -> float:
    """The rate, the unlabelled included."""
    value1, given1, value0, given0 = (np.array(part, dtype=np.float64) for part in METRICS[design.metric])
    labelled = np.array(side.labelled)
    ones = labelled * np.array(side.ones) + (1.0 - labelled) * share
    weight = np.array([1.0 - side.selected, side.selected])
    events, people = (
        weight * (ones * one + (1.0 - ones) * zero) for one, zero in ((value1, value0), (given1, given0))
    )
    return float(events.sum() / people.sum())


def true_gap(design: Design, odds: float, *, most: bool) -> float:
    """The largest, or the smallest, gap there can be."""
    own = unknown_share(design, design.group, odds, most=most)
    other = unknown_share(design, design.target, odds, most=not most)
    return true_rate(design, design.group, own) - true_rate(design, design.target, other)


def draw(design: Design, side: Side, repeats: int, random: Random) -> tuple[Floats, Floats, Floats]:
    """Labelled people with outcome 1 and 0, and unlabelled ones, per repeat and decision."""
    one = random.binomial(side.n, side.selected, repeats)
    decided = np.stack([side.n - one, one], axis=1)
    known = random.binomial(decided, side.labelled)
    ones = random.binomial(known, side.ones)
    kinds = [np.asarray(kind, dtype=np.float64) for kind in (ones, known - ones, decided - known)]
    return kinds[0], kinds[1], kinds[2]


def evidence(design: Design, sides: list[Any], odds: float) -> tuple[PartlyLabelled, Comparison]:
    """Every repeat as one comparison: its group and its target are two finest groups of two decisions each."""
    repeats = len(sides[0][0])
    ones, zeros, unknown = (np.stack([sides[0][i], sides[1][i]], axis=1).ravel() for i in range(3))
    parts = [np.tile(np.array(part, dtype=np.float64), 2 * repeats) for part in METRICS[design.metric]]
    atom = np.repeat(np.arange(2 * repeats), 2)
    member = np.zeros((repeats, 2 * repeats), dtype=bool)
    member[np.arange(repeats), 2 * np.arange(repeats)] = True
    value1, given1, value0, given0 = parts
    labels = PartlyLabelled(atom, ones, zeros, unknown, value1, given1, value0, given0, odds)
    return labels, Comparison(member, np.roll(member, 1, axis=1))


def all_gaps(designs: list[Design], repeats: int, random: Random, odds: float) -> Any:
    """Repeats of all designs in turn: each design with its gaps."""
    share = -(-repeats // len(designs))
    for design in designs:
        left = share
        while left > 0:
            size = min(left, AT_ONCE)
            sides = [draw(design, side, size, random) for side in (design.group, design.target)]
            yield design, label_gaps(*evidence(design, sides, odds))
            left -= size


def at_ends(repeats: int, random: Random, *, designs: list[Design], odds: float, told: str) -> Errors:
    """Errors where the truth is at an end: a limit beyond it, or a finding or a certificate at the tolerance's edge."""
    errors: list[Floats] = []
    for (design, gaps), most in zip(all_gaps(designs, repeats, random, odds), cycle((False, True))):
        truth = true_gap(design, odds, most=most)
        errors.append(_error(gaps, truth, most, told))
    return np.concatenate(errors)[:repeats] if len(designs) == 1 else _spread(errors, repeats)


def _spread(errors: list[Floats], repeats: int) -> Errors:
    everything = np.concatenate(errors)
    chosen = np.linspace(0, everything.size - 1, repeats).astype(int)
    return np.asarray(everything[chosen], dtype=np.float64)


def _error(gaps: EndGaps, truth: float, most: bool, told: str) -> Floats:
    if told == "limits":
        low, high = gaps.limits(0.95)
        return np.asarray((low > truth) | (high < truth), dtype=np.float64)
    if told == "violated":  # the truth is just tolerated
        band = (truth - 0.1, truth) if not most else (truth, truth + 0.1)
        return np.asarray(gaps.p_inside(*band) <= 0.05, dtype=np.float64)
    band = (truth, np.inf) if not most else (-np.inf, truth)
    return np.asarray(certified(gaps, band, 0.9), dtype=np.float64)


def labelled_only(repeats: int, random: Random, *, designs: list[Design]) -> Errors:
    """Misses of the interval of the labelled alone, where the truth is at an end."""
    errors = []
    for design, most in islice(zip(cycle(designs), cycle((False, True))), len(designs)):
        size = -(-repeats // len(designs))
        counts = []
        for side in (design.group, design.target):
            ones, zeros, _ = draw(design, side, size, random)
            value1, given1, value0, given0 = (
                np.array(part, dtype=np.float64) for part in METRICS[design.metric]
            )
            counts += [ones @ value1 + zeros @ value0, ones @ given1 + zeros @ given0]
        k1, n1, k2, n2 = counts
        low, high = difference_interval(k1, n1, k2, n2)
        truth = true_gap(design, np.inf, most=most)
        errors.append(np.asarray((low > truth) | (high < truth), dtype=np.float64))
    return _spread(errors, repeats)


# -- labels that settle -------------------------------------------------------------------------------------------
SETTLED = [
    (Design("tpr", Side(3000, 0.79, (0.0, 1.0), (0.5, 0.8)), Side(3000, 0.79, (0.0, 1.0), (0.5, 0.8))), 0.05),
    (
        Design("tpr", Side(2000, 0.3, (0.0, 1.0), (0.222, 0.8)), Side(4000, 0.6, (0.0, 1.0), (0.778, 0.8))),
        0.1,
    ),
    (
        Design("accuracy", Side(500, 0.7, (0.0, 1.0), (0.6, 0.9)), Side(3000, 0.5, (0.0, 1.0), (0.4, 0.9))),
        0.1,
    ),
]


def settled(repeats: int, random: Random) -> Errors:
    """Whether a gap of none is certified once as many are labelled, at random, as was said to be enough."""
    found: list[Floats] = []
    size = -(-repeats // len(SETTLED))
    for design, tolerance in SETTLED:
        band = (-tolerance, tolerance)
        needed = _needed(design, band)
        for start in range(0, size, AT_ONCE):
            sides = _followed_up(design, min(AT_ONCE, size - start), needed, random)
            gaps = label_gaps(*evidence(design, sides, 1.0))
            found.append(np.asarray(certified(gaps, band, 0.9), dtype=np.float64))
    return _spread(found, repeats)


def _needed(design: Design, band: tuple[float, float]) -> int:
    """What is said of an audit with exactly the expected counts."""
    sides = []
    for side in (design.group, design.target):
        one = round(side.n * side.selected)
        decided = np.array([[side.n - one, one]], dtype=np.float64)
        known = decided * np.array(side.labelled)
        ones = np.rint(known * np.array(side.ones))
        sides.append((ones, known - ones, decided - known))
    labels, comparison = evidence(design, sides, np.inf)
    gaps = label_gaps(labels, comparison)
    nobody = Cells((), {}, np.zeros((0, 0), dtype=np.int32), np.zeros(0, dtype=np.int64))
    decision = np.array([0.0, 1.0, 0.0, 1.0])
    bounds = outcome_bounds(labels, comparison, UnknownOutcomes(), decision, nobody)
    needed = labels_needed(bounds, gaps, 0, band, 0.05, 0.8)
    assert needed is not None
    return needed.labels


def _followed_up(design: Design, repeats: int, labels: int, random: Random) -> list[Any]:
    """Audits in which so many of the unlabelled of both sides, drawn at random, were labelled."""
    drawn = [draw(design, side, repeats, random) for side in (design.group, design.target)]
    refused = [unknown[:, 0].astype(int) for _, _, unknown in drawn]
    total = np.minimum(labels, refused[0] + refused[1])
    first = random.hypergeometric(refused[0], refused[1], total)
    sides = []
    pairs = zip(drawn, (design.group, design.target), (first, total - first), strict=True)
    for (ones, zeros, unknown), side, taken in pairs:
        new = random.binomial(taken, side.ones[0])
        more = np.stack([new, np.zeros(repeats)], axis=1)
        fewer = np.stack([taken - new, np.zeros(repeats)], axis=1)
        sides.append((ones + more, zeros + fewer, unknown - more - fewer))
    return sides


def _cell(name: str, design: str, claim: Any, run: Any, **more: Any) -> Cell:
    settings = {"short": 600, "long": 12_000, **more}
    return Cell("certify", f"unknown outcomes, {name}", design, claim, run, **settings)


_LENDING = "fpr, tpr, accuracy and base rate of 60 to 1,000 people, labels for the approved only"
_FEW = "the same rates, 0 to 10% of the labels missing"
_HALF = "the same rates of 80 to 1,000 people, 30% to 90% labelled by decision"
CELLS = [
    _cell("limits at both ends, labels for the approved", _LENDING, "coverage",
          partial(at_ends, designs=LENDING, odds=np.inf, told="limits")),
    _cell("limits at both ends, few unknown", _FEW, "coverage",
          partial(at_ends, designs=FEW_UNKNOWN, odds=np.inf, told="limits")),
    _cell("limits of the labelled alone", _LENDING, "coverage", partial(labelled_only, designs=LENDING),
          variant="paper", counterpart="unknown outcomes, limits at both ends, labels for the approved"),
    _cell("violated at the tolerance's edge", _FEW, "size",
          partial(at_ends, designs=FEW_UNKNOWN + LENDING, odds=np.inf, told="violated")),
    _cell("certified at the tolerance's edge", _FEW, "wrong certification",
          partial(at_ends, designs=FEW_UNKNOWN + LENDING, odds=np.inf, told="certified")),
    _cell("odds of 2, the truth at both ends", _HALF, "coverage",
          partial(at_ends, designs=HALF_LABELLED, odds=2.0, told="limits")),
    _cell("odds of 1, labels at random", _HALF, "coverage",
          partial(at_ends, designs=HALF_LABELLED, odds=1.0, told="limits")),
    _cell("odds of 2, a dozen labelled", "the same rates of 40 and 60 people, 6 to 18 labelled per decision",
          "coverage", partial(at_ends, designs=SPARSE, odds=2.0, told="limits")),
    _cell("odds of 2, certified at the tolerance's edge", _HALF, "wrong certification",
          partial(at_ends, designs=HALF_LABELLED, odds=2.0, told="certified")),
    _cell("as many labels as are said to settle it", "tpr and accuracy of 500 to 4,000 people, no gap, labels drawn at "
          "random among the refused", "power", settled, nominal=0.8, short=600, long=6000),
]  # fmt: skip

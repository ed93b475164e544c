"""Does watch err at most as often as it says over a thousand looks, and does it still find what is there?

Every line looks after each of 1,000 periods and counts a repeat as wrong when it was wrong at any of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from inside.inference import (
    advance,
    average_logs,
    interval,
    listed,
    log_certificate,
    log_evidence,
    new_streams,
    opening_weights,
    rate_interval,
)
from validity.board import Cell
from validity.watch_designs import (
    LOOKS,
    NOWHERE,
    Design,
    Generator,
    absent,
    adaptive,
    apart,
    arriving,
    drifting,
    equal,
    fixed,
    growing,
    jump,
    late,
    late_gap,
    moving_gap,
    moving_mix,
    one_row,
    rule,
    season,
    season_gap,
    seasonal,
    there,
    with_visits,
)

Run = Callable[[int, Generator], np.ndarray]
LEVEL = -math.log(0.05)


# -- some period was outside: ever rejecting --------------------------------------------------------------------
def ever_rejecting(design: Design) -> Run:
    def run(repeats: int, generator: Generator) -> np.ndarray:
        *_, (_, streams, _) = design.run(repeats, generator)
        return (streams.crossed >= 0).astype(float)

    return run


def weekly_z(design: Design, looks: int = LOOKS) -> Run:
    """What is usually done: every week the two-proportion test on all rows so far, at .05."""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        wrong = np.zeros(repeats, dtype=bool)
        for _, streams, _ in design.run(repeats, generator, looks):
            n, k = streams.counted[:, :, 0], streams.counted[:, :, 1]
            size = np.maximum(n, 1.0)
            pooled = k.sum(axis=1) / np.maximum(n.sum(axis=1), 1.0)
            spread = np.sqrt(np.maximum(pooled * (1 - pooled) * (1 / size).sum(axis=1), 1e-12))
            enough = (k.min(axis=1) >= 5) & ((n - k).min(axis=1) >= 5)
            wrong |= enough & (np.abs(k[:, 0] / size[:, 0] - k[:, 1] / size[:, 1]) > 1.96 * spread)
        return wrong.astype(float)

    return run


NO_GAP = {
    "100 and 100 a week, rate .3": Design("100 and 100 a week, rate .3", fixed(100, 100), equal(0.3)),
    "rare events": Design("100 and 100 a week, rate .01", fixed(100, 100), equal(0.01)),
    "nearly everyone": Design("50 and 50 a week, rate .97", fixed(50, 50), equal(0.97)),
    "unequal sizes": Design("5 and 300 a week, rate .2", fixed(5, 300), equal(0.2)),
    "growing sizes": Design("5 and 5 a week, growing to 105 and 505", growing, equal(0.3)),
    "drift without a gap": Design("both rates go from .1 to .7", fixed(60, 60), drifting),
    "mix and base move together": Design("rates and shares of the groups grow together", moving_mix, drifting),
    "seasons": Design("rates and sizes by season", seasonal, season),
    "a jump of both rates": Design("both rates jump from .15 to .55", fixed(40, 80), jump),
    "one row at a time": Design("one row a period, closed at 5 each", one_row, equal(0.3), rule(block=5)),
    "a group often absent": Design("one group absent four weeks of five", absent, equal(0.3)),
    **{f"there in {share} of the weeks, rates with it": Design(
        f"one group there in {share} of the weeks; both rates .8 in those, else .2", there(share), with_visits(share))
       for share in (0.1, 0.2, 0.5)},
    **{f"there in {share} of the weeks, a jump of both rates": Design(
        f"one group there in {share} of the weeks; both rates jump from .15 to .55", there(share), jump)
       for share in (0.1, 0.2, 0.5)},
    "a group that comes with a jump of both rates": Design(
        "one group first there when both rates jump from .15 to .55", arriving, jump),
    "there in 0.2 of the weeks, ratio .8 tolerated": Design(
        "one group there in 0.2 of the weeks; both rates .8 in those, else .2; tolerance .8 as a ratio", there(0.2),
        with_visits(0.2), rule(0.8, 1.25, ratio=True)),
    "there in 0.2 of the weeks, against everyone": Design(
        "one group there in 0.2 of the weeks; both rates .8 in those, else .2; against everyone", there(0.2),
        with_visits(0.2), rule(overall=True)),
    "one row at a time, a jump of both rates": Design(
        "one row a period, closed at 5 each; both rates jump from .15 to .55", one_row, jump, rule(block=5)),
    "sizes that follow outcomes": Design("next week's sizes depend on this week's decisions", adaptive, equal(0.15)),
    "late labels, fixed waiting time": Design("known in time: 60% and 90%, whatever they are", late, equal(0.3)),
    "gap at the tolerance": Design("gap .05, tolerance .05", fixed(100, 100), apart(0.35, 0.3), rule(-0.05, 0.05)),
    "ratio at the tolerance": Design(
        "ratio .8, tolerance .8", fixed(100, 100), apart(0.24, 0.3), rule(0.8, 1.25, ratio=True)),
    "known target": Design("rate .3 against .3", fixed(100, 0), apart(0.3, 0.3), rule(known=0.3)),
    "overall at the tolerance": Design(
        "gap to everyone .03, tolerance .03", fixed(70, 30), apart(0.4, 0.3), rule(-0.03, 0.03, overall=True)),
    "one side": Design(
        "gap .05, tolerance .05 above only", fixed(100, 100), apart(0.35, 0.3), rule(-0.05, 0.05, sides=1)),
}  # fmt: skip
VISITED = "there in 0.2 of the weeks, rates with it"
SHORT = {
    "100 and 100 a week, rate .3",
    "rare events",
    "mix and base move together",
    "one row at a time",
    VISITED,
    "a group that comes with a jump of both rates",
    "gap at the tolerance",
}
Z_FAILS = ("100 and 100 a week, rate .3", "mix and base move together", "seasons", "a group often absent")


def _size_cells() -> list[Cell]:
    found = [
        Cell("watch", f"ever rejecting: {name}", design.text, "size", ever_rejecting(design),
             short=400 if name in (*SHORT, *Z_FAILS) else 0, covers=("watch.p_value", "watch.state"))
        for name, design in NO_GAP.items()
    ]  # fmt: skip
    return found + [
        Cell("watch", f"weekly z-test: {name}", NO_GAP[name].text, "size", weekly_z(NO_GAP[name]), variant="paper",
             counterpart=f"ever rejecting: {name}", short=400 if name in (*SHORT, *Z_FAILS) else 0)
        for name in Z_FAILS
    ]  # fmt: skip


# -- the average gap: ever missing, ever certifying wrongly -----------------------------------------------------
_LIMITS = tuple(f"watch.{name}_{end}" for name in ("difference", "ratio") for end in ("low", "high"))


def ever_missing(design: Design, looks: int = LOOKS, every: int = 1) -> Run:
    def run(repeats: int, generator: Generator) -> np.ndarray:
        wrong = np.zeros(repeats, dtype=bool)
        level = math.log(40.0)
        for period, streams, truth in design.run(repeats, generator, looks):
            if period % every == 0:
                wrong |= average_logs(streams, design.asked, truth, True) >= level
                wrong |= average_logs(streams, design.asked, truth, False) >= level
        return wrong.astype(float)

    return run


MOVING = {
    "constant gap": Design("gap .1, rate .3", fixed(100, 100), apart(0.4, 0.3)),
    "gap from +.2 to -.2": Design("the gap changes its sign while rates grow", fixed(50, 80), moving_gap),
    "gap that begins late": Design("gap .15 from week 300 on", fixed(40, 40), late_gap),
    "gap by season": Design("gaps of ±.3 by season, sizes too", seasonal, season_gap),
    "rare events": Design("rates .01 and .02", fixed(100, 100), apart(0.02, 0.01)),
    "unequal sizes": Design("5 and 300 a week, gap .1", fixed(5, 300), apart(0.3, 0.2)),
    "one row at a time": Design("one row a period, gap .1", one_row, apart(0.4, 0.3), rule(block=5)),
    "mix and base move together": Design("no gap; rates and shares move together", moving_mix, drifting),
    **{
        f"there in {share} of the weeks, rates with it": Design(
            f"gap .1, one group there in {share} of the weeks; rates high in those",
            there(share),
            with_visits(share, 0.1),
        )
        for share in (0.1, 0.2, 0.5)
    },
    "a group that comes with a jump of both rates": Design(
        "no gap; one group first there when both rates jump from .15 to .55", arriving, jump
    ),
    "against everyone": Design(
        "gap to everyone, sizes growing", growing, apart(0.4, 0.3), rule(overall=True)
    ),
    "known target": Design("rate .4 against .3", fixed(60, 0), apart(0.4, 0.4), rule(known=0.3)),
    "ratio": Design("rates .3 and .2, as a ratio", fixed(50, 80), apart(0.3, 0.2), rule(1, 1, ratio=True)),
}
MISSING_SHORT = {"constant gap", "gap from +.2 to -.2", "there in 0.2 of the weeks, rates with it"}


def ever_certified(design: Design, every: int = 1) -> Run:
    """The average gap lies at the edge or beyond it at all times: a certificate is wrong whenever it is given."""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        wrong = np.zeros(repeats, dtype=bool)
        for period, streams, _ in design.run(repeats, generator):
            if period % every == 0:
                wrong |= log_certificate(streams, design.asked) >= LEVEL
        return wrong.astype(float)

    return run


EDGE = {
    "gap at the upper end": Design("gap .05, tolerance .05", fixed(100, 100), apart(0.35, 0.3), rule(-0.05, 0.05)),
    "gap at the lower end": Design("gap -.05, tolerance .05", fixed(100, 60), apart(0.25, 0.3), rule(-0.05, 0.05)),
    "rare events": Design("rates .03 and .01, tolerance .02", fixed(100, 100), apart(0.03, 0.01), rule(-0.02, 0.02)),
    "ratio at the tolerance": Design(
        "rates .24 and .3, tolerance .8", fixed(60, 60), apart(0.24, 0.3), rule(0.8, 1.25, ratio=True)),
    "everyone at the tolerance": Design(
        "gap to everyone .03, tolerance .03", fixed(70, 30), apart(0.4, 0.3), rule(-0.03, 0.03, overall=True)),
}  # fmt: skip


def _average_cells() -> list[Cell]:
    found = [
        Cell("watch", f"interval ever missing: {name}", design.text, "coverage",
             ever_missing(design, every=25 if design.asked.ratio else 1), short=400 if name in MISSING_SHORT else 0,
             covers=_LIMITS)
        for name, design in MOVING.items()
    ]  # fmt: skip
    return found + [
        Cell("watch", f"ever certified wrongly: {name}", design.text, "wrong certification",
             ever_certified(design, every=25 if design.asked.ratio else 1),
             short=400 if name == "gap at the upper end" else 0, covers=("watch.average_state",))
        for name, design in EDGE.items()
    ]  # fmt: skip


# -- repeated people, labels used on arrival --------------------------------------------------------------------
def repeated_people(*, once: bool, looks: int = 200) -> Run:
    """The same 100 and 100 people every week, whose decisions mostly stay what they were; or each of them once."""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        people = generator.random((repeats, 2, 100)) < 0.3
        streams, asked = new_streams(repeats), rule()
        for period in range(looks):
            if once:
                people = generator.random((repeats, 2, 100)) < 0.3
            else:
                anew = generator.random(people.shape) < 0.1
                people = np.where(anew, generator.random(people.shape) < 0.3, people)
            ones = people.sum(axis=2).astype(float)
            advance(
                streams,
                np.stack([np.full_like(ones, 100.0), ones, ones], axis=2),
                period,
                asked,
                NOWHERE,
                2.0,
            )
        return (streams.crossed >= 0).astype(float)

    return run


def labels_on_arrival(*, waiting: bool) -> Run:
    """Outcomes of 1 become known two weeks later in one group; used on arrival, they pile up in other weeks.

    With a waiting time of three weeks every label has come before its period is closed.
    """

    def run(repeats: int, generator: Generator) -> np.ndarray:
        streams, asked = new_streams(repeats), rule()
        held = [np.zeros(repeats), np.zeros(repeats)]
        for period in range(LOOKS):
            base = 0.1 + 0.3 * (period % 20 < 10)
            ones = generator.binomial(100, base, (repeats, 2)).astype(float)
            n = np.full((repeats, 2), 100.0)
            if not waiting:
                held.append(ones[:, 0].copy())
                n[:, 0] += held[0] - ones[:, 0]
                ones[:, 0] = held.pop(0)
            advance(streams, np.stack([n, ones, ones], axis=2), period, asked, NOWHERE, 2.0)
        return (streams.crossed >= 0).astype(float)

    return run


# -- many groups ------------------------------------------------------------------------------------------------
STREAMS, OPENING, EVERY = 25, 1, 20


def false_lists(*, fixed_weights: bool, looks: int = 500) -> Run:
    """A family that grows, without a difference: wrong when the first list there is, at which one stops, has a name.

    The e-values are likelihood ratios of a shift of 1 on normal values, which reach 1/α nearly as often as they
    may, so that it is the list that is tried and not the caution of what goes into it.
    """

    def run(repeats: int, generator: Generator) -> np.ndarray:
        logs = np.zeros((repeats, STREAMS))
        wrong = np.zeros(repeats, dtype=bool)
        for period in range(looks):
            known = min(STREAMS, OPENING + period // EVERY)
            logs[:, :known] += generator.standard_normal((repeats, known)) - 0.5
            weights = (
                opening_weights(OPENING, known - OPENING) if fixed_weights else np.full(known, 1.0 / known)
            )
            top = (logs[:, :known] + np.log(weights)).max(axis=1)
            for row in np.flatnonzero(~wrong & (top >= -math.log(0.05 * known))):
                wrong[row] = listed(logs[row, :known], weights, 0.05).any()
        return wrong.astype(float)

    return run


def groups_together(looks: int = LOOKS) -> Run:
    """Five groups at the same rate, each against the others: the mean of their e-values ever reaches the level."""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        streams, asked = new_streams(repeats * 5), rule()
        sizes = np.array([100.0, 60.0, 40.0, 20.0, 5.0])
        wrong = np.zeros(repeats, dtype=bool)
        for period in range(looks):
            ones = generator.binomial(sizes.astype(np.int64), 0.25, (repeats, 5)).astype(float)
            n = np.broadcast_to(sizes, ones.shape)
            sides = [(n, ones), (n.sum(axis=1, keepdims=True) - n, ones.sum(axis=1, keepdims=True) - ones)]
            cells = np.stack([np.stack([size, k, k], axis=2) for size, k in sides], axis=2).reshape(-1, 2, 3)
            advance(streams, cells, period, asked, NOWHERE, 2.0)
            logs = log_evidence(streams, asked).reshape(repeats, 5)
            wrong |= np.exp(np.minimum(logs, 50.0)).mean(axis=1) >= 20.0
        return wrong.astype(float)

    return run


def missing_together(groups: int, *, share: float, together: bool, looks: int = 200) -> Run:
    """Groups at the same moving rate, each against the others and there in a share of the weeks: does any interval,
    hence that of the widest gap whichever it is, ever leave out 0?"""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        streams, asked = new_streams(repeats * groups), rule()
        sizes = np.linspace(10, 60, groups).astype(np.int64)
        weight = float(opening_weights(groups, 0)[0]) if together else 1.0
        level, nothing = math.log(40.0 / weight), np.zeros(repeats * groups)
        wrong = np.zeros(repeats, dtype=bool)
        for period in range(looks):
            n = np.where(generator.random((repeats, groups)) < share, sizes, 0)
            ones = generator.binomial(n, 0.3 + 0.2 * math.sin(period / 8)).astype(float)
            rest = [values.sum(axis=1, keepdims=True) - values for values in (n, ones)]
            sides = [(n, ones), (rest[0], rest[1])]
            cells = np.stack([np.stack([size, k, k], axis=2) for size, k in sides], axis=2).reshape(-1, 2, 3)
            advance(streams, cells, period, asked, NOWHERE, 2.0)
            for upwards in (True, False):
                missed = average_logs(streams, asked, nothing, upwards) >= level
                wrong |= missed.reshape(repeats, groups).any(axis=1)
        return wrong.astype(float)

    return run


# -- change -----------------------------------------------------------------------------------------------------
def early_alarm(within: int, rates: tuple[float, float], reference: tuple[float, float]) -> Run:
    """The gap stays what it was: an alarm within so many periods, of which at most so many in 500 may come."""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        streams = new_streams(repeats)
        ends = np.broadcast_to(np.array(reference), (repeats, 2)).copy()
        for period in range(within):
            ones = generator.binomial(100, rates, (repeats, 2)).astype(float)
            cells = np.stack([np.full_like(ones, 100.0), ones, ones], axis=2)
            advance(streams, cells, period, rule(), ends, 500.0)
        return (streams.alarm[:, 0] >= 0).astype(float)

    return run


# -- power ------------------------------------------------------------------------------------------------------
def fixed_size(a: float, b: float, ratio: float = 1.0) -> float:
    """Rows of the first group with which the two-proportion test at .05 that knew the gap has 80% power."""
    spread = math.sqrt(a * (1 - a) + b * (1 - b) / ratio)
    pooled = (a + ratio * b) / (1 + ratio)
    null = math.sqrt(pooled * (1 - pooled) * (1 + 1 / ratio))
    return ((1.959964 * null + 0.841621 * spread) / (a - b)) ** 2


def found_in_time(a: float, b: float, weekly: tuple[int, int], times: float, *, average: bool = False) -> Run:
    """Whether the violation is shown with so many times the rows of the fixed test."""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        rows = times * fixed_size(a, b, weekly[1] / weekly[0])
        looks = max(1, math.floor(rows / weekly[0]))
        design = Design("", fixed(*weekly), apart(a, b))
        found = np.zeros(repeats, dtype=bool)
        for _, streams, _ in design.run(repeats, generator, looks):
            if average:
                limits = average_logs(streams, design.asked, np.zeros(repeats), True)
                found |= limits >= math.log(40.0)
        return (found if average else streams.crossed >= 0).astype(float)

    return run


def newcombe_width(n: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Of the 95% interval of a difference of two rates, from Wilson's of each (Newcombe, 1998)."""
    rate = k / n
    low, high = rate_interval(k.ravel(), n.ravel(), 0.95, "wilson")
    below, above = rate - np.reshape(low, rate.shape), np.reshape(high, rate.shape) - rate
    return np.asarray(np.hypot(below[:, 0], above[:, 1]) + np.hypot(above[:, 0], below[:, 1]))


def width_beside_newcombe(rate: float, looks: int = 10, rows: int = 10_000, most: float = 2.0) -> Run:
    """Whether the interval is at most so many times as wide as Newcombe's after so many rows in so many looks."""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        each = rows // (2 * looks)
        design = Design("", fixed(each, each), equal(rate))
        *_, (_, streams, _) = design.run(repeats, generator, looks)
        limits = interval(streams, design.asked, math.log(40.0))
        n, k = streams.counted[:, :, 0], streams.counted[:, :, 1]
        return ((limits[:, 1] - limits[:, 0]) <= most * newcombe_width(n, k)).astype(float)

    return run


POWER = {
    "gap .1": (0.4, 0.3, (25, 25), 1.6),
    "gap .05": (0.35, 0.3, (200, 200), 1.6),
    "rare events": (0.04, 0.02, (200, 200), 1.6),
    "unequal sizes": (0.4, 0.3, (20, 200), 1.6),
    "small weeks": (0.5, 0.3, (10, 10), 1.6),
}


def _power_cells() -> list[Cell]:
    found = [
        Cell("watch", f"violation found: {name}",
             f"rates {a} and {b}, {n} and {m} a week: shown by 1.6 times the rows of the fixed test in half the runs",
             "power", found_in_time(a, b, (n, m), times), nominal=0.5, short=400 if name == "gap .1" else 0)
        for name, (a, b, (n, m), times) in POWER.items()
    ]  # fmt: skip
    found += [
        Cell("watch", f"average gap shown: {name}",
             f"rates {a} and {b}, {n} and {m} a week: the interval leaves 0 by 2.6 times the rows of the fixed test "
             "in half the runs",
             "power", found_in_time(a, b, (n, m), 2.6, average=True), nominal=0.5, short=0)
        for name, (a, b, (n, m), _) in POWER.items()
    ]  # fmt: skip
    widths = {"rate .3": (0.3, 2.0), "rate .1": (0.1, 2.0), "rate .02": (0.02, 2.2)}
    return found + [
        Cell("watch", f"width: {name}",
             f"10,000 rows in 10 looks: at most {most} times as wide as Newcombe's interval of one look", "power",
             width_beside_newcombe(rate, most=most), nominal=0.9, short=400)
        for name, (rate, most) in widths.items()
    ]  # fmt: skip


PEOPLE = "100 and 100 people a week, 200 weeks; who comes again mostly gets the same decision"
POOLED = Design(
    "one group there in 0.2 of the weeks; both rates .8 in those, else .2",
    there(0.2),
    with_visits(0.2),
    rule(block=5),
)
MORE = [
    Cell("watch", "pooled until both have 5 rows, though rates go with who is there", POOLED.text, "size",
         ever_rejecting(POOLED), variant="paper", counterpart=f"ever rejecting: {VISITED}"),
    Cell("watch", "each person once", PEOPLE, "size", repeated_people(once=True)),
    Cell("watch", "the same people every week", PEOPLE, "size",
         repeated_people(once=False), variant="paper", counterpart="each person once"),
    Cell("watch", "fixed waiting time", "outcomes of 1 come two weeks late in one group", "size",
         labels_on_arrival(waiting=True)),
    Cell("watch", "labels used on arrival", "outcomes of 1 come two weeks late in one group", "size",
         labels_on_arrival(waiting=False), variant="paper", counterpart="fixed waiting time"),
    Cell("watch", "list of a growing family, fixed weights", "one group, one more every twenty weeks up to 25", "size",
         false_lists(fixed_weights=True), covers=("watch.p_adjusted",)),
    Cell("watch", "list of a growing family, weights by current number",
         "one group, one more every twenty weeks up to 25", "size", false_lists(fixed_weights=False), variant="paper",
         counterpart="list of a growing family, fixed weights"),
    Cell("watch", "five groups together", "five groups of 5 to 100 a week, rate .25, each against the others", "size",
         groups_together(), short=0),
    Cell("watch", "false alarm of change within 50 periods", "no change, run length 500, rate .3", "size",
         early_alarm(50, (0.3, 0.3), (0.0, 0.0)), nominal=0.1),
    Cell("watch", "false alarm of change within 100 periods", "gap .1 at the reference's upper end, run length 500",
         "size", early_alarm(100, (0.4, 0.3), (0.05, 0.1)), nominal=0.2),
]  # fmt: skip
TOGETHER = [
    Cell("watch", f"widest of {groups} groups, there in {share} of the weeks",
         f"{groups} groups of 10 to 60, each there in {share} of the weeks, rates up and down, no gap; 200 looks",
         "coverage", missing_together(groups, share=share, together=True), short=400 if groups * share >= 4 else 0)
    for groups in (2, 8, 30) for share in (0.5, 1.0)
]  # fmt: skip
OWN = [
    Cell("watch", "30 groups' own intervals taken together",
         "30 groups of 10 to 60, each there in 1.0 of the weeks, rates up and down, no gap; 200 looks",
         "coverage", missing_together(30, share=1.0, together=False), variant="paper",
         counterpart="widest of 30 groups, there in 1.0 of the weeks")
]  # fmt: skip
CELLS = [*_size_cells(), *_average_cells(), *MORE, *TOGETHER, *OWN, *_power_cells()]

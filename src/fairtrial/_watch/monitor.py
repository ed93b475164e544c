"""What a state's lines add up to: periods that wait or are closed, a stream per group, and what was said when."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import product
from statistics import NormalDist
from typing import Any

import numpy as np

from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.sequential.claims import (
    advance,
    estimates,
    interval,
    log_certificate,
    log_evidence,
    opening_weights,
)
from fairtrial._inference.sequential.streams import (
    StreamRule,
    Streams,
    begin_window,
    joined,
    new_streams,
    select,
)
from fairtrial._metrics.groups import Group
from fairtrial._watch.request import WatchRequest, inside, period_order

HISTORY = 48  # streams of which every look is kept for the charts
REMEMBERED = 26  # closed periods whose first rows are kept, to compare late ones with
PARTS = ("streams", "windowed", "lateness")
Cells = dict[tuple[str, ...], Floats]  # rows, sum and sum of squares of each cell


class Monitor:
    """A watch as it stands after some lines of its state.

    Parameters
    ----------
    asked : WatchRequest
        The question.
    """

    def __init__(self, asked: WatchRequest) -> None:
        self.asked, self.rule = asked, asked.rule
        self.groups: list[Group] = []
        self.opening = 0  # groups of the first batch
        self.batches: list[str] = []  # their digests
        self.periods: list[str] = []  # closed ones, in order
        self.waiting: dict[str, list[Cells]] = {}  # open ones: their parts
        self.prompt: dict[
            str, Floats
        ] = {}  # each group's rows in a period's first batch, until late ones are seen
        self.later: dict[str, Floats] = {}  # those that came after it
        self.left_out = 0  # rows that came after their period was closed
        self.windows: list[
            tuple[str, str, Floats]
        ] = []  # first and last period, and what was said of each group
        self.crossed = -1  # the period in which the groups together first reached the level
        self.people: set[str] = set()
        self.streams, self.windowed, self.lateness = (new_streams(0) for _ in PARTS)
        self.sums: Floats = np.zeros((0, 4))  # of the reference period
        self.reference: Floats = np.zeros((0, 2))
        self.history: list[Floats] = []  # every look: estimate, limits and log e of the first groups
        self._places: dict[tuple[str, ...], dict[tuple[str, ...], list[int]]] = {}

    # -- one more batch -------------------------------------------------------------------------------------
    def apply(self, batch: Mapping[str, Any]) -> None:
        """Take in one line: rows wait for their period to be over, then count."""
        self._welcome(batch["periods"])
        self.batches.append(batch["digest"])
        self.people.update(batch.get("people", ()))
        for period in batch["periods"]:
            self._take(period["label"], [cells_of(part) for part in period["parts"]])
        for label in self._due():
            self._close(label, self.waiting.pop(label))
        self._look_at_late_rows()

    def _welcome(self, periods: Iterable[Mapping[str, Any]]) -> None:
        """Streams for groups that were never seen before; their weights depend on their order alone."""
        labels = [cell[0] for period in periods for part in period["parts"] for cell in part]
        known = set(self.groups)
        new = [group for group in self.asked.groups_among(labels) if group not in known]
        if not self.batches:
            self.opening = len(new)
        self.add_groups(new)
        self.streams, self.windowed, self.lateness = (
            joined(getattr(self, name), new_streams(len(new))) for name in PARTS
        )
        self.sums = np.concatenate([self.sums, np.zeros((len(new), 4))])
        self.reference = np.concatenate([self.reference, np.full((len(new), 2), math.nan)])

    def add_groups(self, new: Iterable[Group]) -> None:
        """Groups, each found again by the labels of the cells that belong to it."""
        for group in new:
            placed = self._places.setdefault(group.attributes, {})
            for labels in product(*(values for _, values in group.where)):
                placed.setdefault(labels, []).append(len(self.groups))
            self.groups.append(group)

    def _take(self, label: str, parts: list[Cells]) -> None:
        whole = _sum(parts)
        own = self._group_cells(whole)
        if label in self.prompt:
            self.later[label] = _longer(self.later.get(label), len(own)) + own
        elif not self.is_closed(label):
            self.prompt[label] = own
        if self.is_closed(label):
            self.left_out += round(sum(float(cell[0]) for cell in whole.values()))
            return
        before = self.waiting.get(label, [])
        longest = max(len(before), len(parts))
        padded = [[*listed, *([{}] * (longest - len(listed)))] for listed in (before, parts)]
        self.waiting[label] = [_sum(pair) for pair in zip(*padded, strict=True)]

    def is_closed(self, label: str) -> bool:
        """Whether a period's rows have been counted, or come after a period whose rows have."""
        return bool(self.periods) and period_order(label) <= period_order(self.periods[-1])

    def _due(self) -> list[str]:
        """Periods over which so many newer ones have been seen that their waiting time is past."""
        known = sorted(self.waiting, key=period_order)
        return known[: len(known) - self.asked.waiting] if self.asked.waiting else known

    def _close(self, label: str, parts: list[Cells]) -> None:
        """A period's rows count now, once and for all."""
        number = len(self.periods)
        self.periods.append(label)
        watching = self._reference_at(label)
        for cells in self._comparable([self._stream_cells(part) for part in parts]):
            if watching is None:
                add_reference(self.sums, cells, self.rule.binary)
            run = float(self.asked.run_length)
            still = np.full_like(self.reference, math.nan)
            advance(self.streams, cells, number, self.rule, still if watching is None else watching, run)
            advance(self.windowed, cells, number, self.rule, still, run)
        self._note_crossing(number)
        self._end_window(number)
        self._remember()

    def _reference_at(self, label: str) -> Floats | None:
        """The interval that change is measured against; None while the reference period itself goes on."""
        if self.asked.reference is None:
            return np.full_like(self.reference, math.nan)
        first, last = (period_order(end) for end in self.asked.reference)
        if first <= period_order(label) <= last:
            return None
        if period_order(label) > last and np.isnan(self.reference).all():
            self.reference = reference_interval(self.sums)
        return self.reference

    def _comparable(self, parts: list[Floats]) -> list[Floats]:
        """A period's parts; where one of them lacks a side of a stream, that stream's are one."""
        if len(parts) < 2:
            return parts
        stacked = np.stack(parts)
        sides = 1 if self.asked.target.value is not None else 2
        lone = (stacked[:, :, :sides, 0] == 0).any(axis=(0, 2))
        stacked[0, lone] = stacked[:, lone].sum(axis=0)
        stacked[1:, lone] = 0.0
        return list(stacked)

    def _group_cells(self, cells: Cells) -> Floats:
        """Rows, sum and squares of each group."""
        found = np.zeros((len(self.groups), 3))
        names = self.asked.cell_attributes
        for attributes, placed in self._places.items():
            chosen = [names.index(name) for name in attributes]
            for key, values in cells.items():
                for place in placed.get(tuple(key[i] for i in chosen), ()):
                    found[place] += values
        return found

    def _stream_cells(self, cells: Cells) -> Floats:
        """Rows, sum and squares of each group and of what it is compared with."""
        own, target = self._group_cells(cells), self.asked.target
        other = np.zeros_like(own)
        if target.group is not None:
            names = self.asked.cell_attributes
            for key, values in cells.items():
                if inside(target.group, names, key):
                    other += values
        elif target.value is None:
            other = sum(cells.values(), np.zeros(3)) - own
        return np.stack([own, other], axis=1)

    # -- what is said -------------------------------------------------------------------------------------
    @property
    def weights(self) -> Floats:
        """Of the groups, fixed by the order in which they came up."""
        return opening_weights(self.opening, len(self.groups) - self.opening, self.asked.closed)

    def limits_together(self, place: int) -> Floats:
        """Limits of one group's average gap that hold together with those of all others, seen or yet to come."""
        level = math.log(2.0 / (self.asked.alpha * float(self.weights[place])))
        limits: Floats = interval(select(self.streams, slice(place, place + 1)), self.rule, level)[0]
        return limits

    def joint_evidence(self) -> float:
        """Logarithm of the e-value of all groups together: the weighted mean, groups yet to come counting 1."""
        weights = self.weights
        logs = np.append(log_evidence(self.streams, self.rule) + np.log(weights), -math.inf)
        kept = 1.0 - float(weights.sum())
        if kept > 1e-12:
            logs[-1] = math.log(kept)
        peak = float(logs.max())
        return peak + math.log(float(np.exp(logs - peak).sum()))

    def _note_crossing(self, number: int) -> None:
        if self.crossed < 0 and self.joint_evidence() >= self.rule.level:
            self.crossed = number

    def _end_window(self, number: int) -> None:
        window = self.asked.window
        if window is None or (number + 1) % window:
            return
        looks = self.looks(self.windowed, slice(None))
        more = [
            log_certificate(self.windowed, self.rule),
            self.windowed.counted[:, 0, 0],
            self.windowed.crossed.astype(np.float64),
        ]
        said = np.hstack([looks, np.stack(more, axis=1)])
        self.windows.append((self.periods[number + 1 - window], self.periods[number], said))
        begin_window(self.windowed)

    def _remember(self) -> None:
        self.history.append(self.looks(self.streams, slice(0, HISTORY)))

    def looks(self, streams: Streams, part: slice) -> Floats:
        """Estimate, limits and log e of each stream now; NaN where there are none."""
        chosen = select(streams, part)
        level = math.log(2.0 / self.asked.alpha)
        columns = [estimates(chosen, self.rule)[:, None], interval(chosen, self.rule, level)]
        return np.hstack([*columns, log_evidence(chosen, self.rule)[:, None]])

    # -- late rows ------------------------------------------------------------------------------------------
    def _look_at_late_rows(self) -> None:
        """Each period once: do rows that came later differ, within their group, from those that came at once?"""
        count = len(self.groups)
        for label in [label for label in self.later if self.is_closed(label)]:
            sides = [_longer(self.later.pop(label), count), _longer(self.prompt.pop(label), count)]
            rule = self.late_rule
            advance(self.lateness, np.stack(sides, axis=1), len(self.periods), rule, np.zeros((0, 2)), 2.0)
        closed = [label for label in self.prompt if self.is_closed(label)]
        for label in sorted(closed, key=period_order)[:-REMEMBERED]:
            del self.prompt[label]

    @property
    def late_rule(self) -> StreamRule:
        equal = self.rule._replace(low=0.0, high=0.0, ratio=False, known=math.nan, overall=False, sides=2)
        return equal._replace(block=1)

    def late_evidence(self) -> float:
        """Logarithm of the e-value that rows coming late differ from the others of their group and period."""
        logs = log_evidence(self.lateness, self.late_rule)
        if not logs.size:
            return 0.0
        peak = float(logs.max())
        return peak + math.log(float(np.exp(logs - peak).mean()))


def cells_of(listed: Iterable[Any]) -> Cells:
    """Cells as a line records them: [[labels], rows, sum, sum of squares]."""
    return {tuple(labels): np.array(values, dtype=np.float64) for labels, *values in listed}


def _longer(table: Floats | None, count: int) -> Floats:
    """The rows of a table of groups, and empty ones for groups that came after it."""
    there = np.zeros((0, 3)) if table is None else table
    return np.concatenate([there, np.zeros((count - len(there), 3))])


def _sum(tables: Iterable[Cells]) -> Cells:
    """Cells of several tables added, in the order of their coming."""
    found: Cells = {}
    for table in tables:
        for key, values in table.items():
            found[key] = found[key] + values if key in found else values
    return found


# -- The interval of the gap in a reference period, which change is measured against.
# Its size is fixed in advance, so an ordinary interval will do: that of the Mantel–Haenszel difference,
# which is the average gap of `streams`, with Sato's variance (1989). It misses with chance .01; against a
# point estimate the average number of periods to a false alarm would be 298 instead of 500.
LEVEL = 0.99
CURVE, SPREAD = 2, 3  # columns of the sums after weight and weighted gap


def add_reference(sums: Floats, cells: Floats, binary: bool) -> None:
    """One more period of the reference: weight, weighted gap and the parts of its variance, in place."""
    n_a, n_b = cells[:, 0, 0], cells[:, 1, 0]
    alone = not cells[:, 1, 0].any()  # a known target: the other side is nobody
    both = (n_a > 0) & ((n_b > 0) | alone)
    a, b = cells[both, 0], cells[both, 1]
    if alone:
        weight, gap = a[:, 0], a[:, 1] / a[:, 0]
        spread = _variance(a, binary) * a[:, 0]
        sums[both] += np.stack([weight, weight * gap, np.zeros_like(weight), spread], axis=1)
        return
    size = a[:, 0] + b[:, 0]
    weight = a[:, 0] * b[:, 0] / size
    gap = a[:, 1] / a[:, 0] - b[:, 1] / b[:, 0]
    if binary:
        lean = a[:, 0] * b[:, 0] * (b[:, 0] - a[:, 0]) / 2
        curve = (a[:, 0] ** 2 * b[:, 1] - b[:, 0] ** 2 * a[:, 1] + lean) / size**2
        spread = (a[:, 1] * (b[:, 0] - b[:, 1]) + b[:, 1] * (a[:, 0] - a[:, 1])) / (2 * size)
    else:
        curve = np.zeros_like(weight)
        spread = weight**2 * (_variance(a, binary) / a[:, 0] + _variance(b, binary) / b[:, 0])
    sums[both] += np.stack([weight, weight * gap, curve, spread], axis=1)


def _variance(side: Floats, binary: bool) -> Floats:
    """Of one row; where a cell of real values cannot tell, the largest that values in [0, 1] can have."""
    n, mean = side[:, 0], side[:, 1] / side[:, 0]
    if binary:
        mean = (side[:, 1] + 0.5) / (n + 1)
        return np.asarray(mean * (1 - mean))
    deviations = np.maximum(side[:, 2] - n * mean**2, 0.0)
    return np.where(n > 1, deviations / np.maximum(n - 1, 1), 0.25)


def reference_interval(sums: Floats) -> Floats:
    """The 99% interval of each stream's average gap in the reference period; NaN where it had no rows."""
    z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
    found = np.full((sums.shape[0], 2), np.nan)
    there = sums[:, 0] > 0
    weight = sums[there, 0]
    gap = sums[there, 1] / weight
    variance = np.maximum(gap * sums[there, CURVE] + sums[there, SPREAD], 0.0) / weight**2
    reach = z * np.sqrt(variance)
    found[there] = np.clip(np.stack([gap - reach, gap + reach], axis=1), -1.0, 1.0)
    return found

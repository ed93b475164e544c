"""Rates at every threshold of the score: curves with bands that hold at once, largest gaps, areas under the curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Rows
from fairtrial._audit.direction import harmed_side_over_thresholds
from fairtrial._audit.groups import check_target, compared_groups
from fairtrial._compare.rates import attributes_of
from fairtrial._compare.request import Request
from fairtrial._compare.rows import Line
from fairtrial._compare.words import EVERYONE, FEW_IN_TARGET, NO_TARGET, NOBODY, REFERENCE, TOO_FEW
from fairtrial._errors import Fault, Named, NotApplicable, Set, Words
from fairtrial._inference.rates.all_thresholds import band, largest_gap
from fairtrial._inference.rates.sorted_scores import Areas, SortedScores, areas_of, gap_limits, gap_p
from fairtrial._metrics.groups import Group
from fairtrial._metrics.values import Metric, role
from fairtrial._results.column import State

WHO = "measure"
EVIDENCE = ("weight", "unit", "pair", "order", "unlabelled")  # what a law over all thresholds does not honour
FEWEST = 5  # people with and without the outcome that an area needs
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
AREA = Metric("auc", role.score, label="area under the ROC curve", hurts="below",
              equal="the score ranks people with and without the outcome equally well in every group")  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPeople:
    """Scores in ascending order with their smallest groups, and which of those each compared group is made of."""

    scores: Floats
    codes: Ints
    outcome: Floats | None  # NaN where it is not known
    groups: list[Group]
    inside: Bools  # group by code
    reference: Bools | None  # the codes of a reference group; None: everyone else
    parts: dict[int | None, SortedScores] = field(default_factory=dict)  # made once

    def part(self, given: int | None) -> SortedScores:
        """All people, or those with one outcome."""
        if given not in self.parts:
            chosen: Any = slice(None) if given is None else self.outcome == given
            codes = self.inside.shape[1]
            self.parts[given] = SortedScores.of(self.scores[chosen], self.codes[chosen], codes)
        return self.parts[given]


def check_thresholds(request: Request, metrics: Sequence[Metric], interval: str | None) -> None:
    """Refuse what has no law over all thresholds, by name."""
    audit = request.audit
    faults = [fault for metric in metrics if (fault := _metric_fault(metric, audit)) is not None]
    if not audit.has("score"):
        cure = Words("name its column with {}", Set("score", of="Audit"))
        faults.append(Fault("thresholds", "needs a score", cure=cure))
    if request.target.kind in ("number", "overall"):
        faults.append(Fault("target", "must be everyone else or a reference group over all thresholds"))
    asked = {"interval": interval, "tolerance": request.tolerance}
    required = {
        "interval": "cannot be chosen over all thresholds: bands are exact ones",
        "tolerance": "is not for all thresholds: their gaps are tested against none",
    }
    faults += [
        Fault(name, required[name], cure=Words("Leave {} out", Named(name)))
        for name, value in asked.items()
        if value is not None
    ]
    if request.scale != "difference":
        faults.append(Fault("scale", "must be 'difference' over all thresholds", got=request.scale))
    if request.within:
        faults.append(Fault("within", "is not for all thresholds", cure="Leave it out"))
    for name in EVIDENCE:
        if getattr(audit, name) is not None:
            refused = Words("is not honoured with {}", Set("thresholds", "all"))
            faults.append(Fault(name, refused, cure="Make an Audit without it"))
    if faults:
        raise NotApplicable(WHO, faults)


def _metric_fault(metric: Metric, audit: Audit) -> Fault | None:
    if condition_of(metric) == NOT_A_SHARE:
        cure = "Metrics that are: selection_rate, tpr, fnr, fpr, tnr"
        required = "is no share of people at or above a threshold"
        return Fault("metric", required, subject=repr(metric.name), cure=cure)
    if condition_of(metric) is not None and not has_outcome(audit):
        return Fault("metric", "needs an outcome of 0 and 1", subject=repr(metric.name))
    return None


def has_outcome(audit: Audit) -> bool:
    """Whether there is an outcome of 0 and 1."""
    return audit.outcome is not None and not audit.outcome_is_real


NOT_A_SHARE = -1


def condition_of(metric: Metric) -> int | None:
    """Among whom the decision's rate is: everybody (None), or those of one outcome."""
    if metric.value not in (role.decision, role.not_decision) or metric.expression is not None:
        return NOT_A_SHARE
    conditions = metric.conditions
    if not conditions:
        return None
    admitted = conditions.get(role.outcome, ())
    return int(admitted[0]) if len(conditions) == 1 and len(admitted) == 1 else NOT_A_SHARE


def scored_people(request: Request) -> tuple[ScoredPeople, Request, Rows]:
    """The rows, sorted by score once."""
    audit, attributes = request.audit, attributes_of(request)
    check_target(WHO, audit, request.target)
    known = has_outcome(audit)
    source = (
        audit.lacking(audit.roles.role_columns("outcome")) if known and audit.missing == "drop" else audit
    )
    roles = ("score", "outcome") if known else ("score",)
    rows = source.rows(attributes=attributes, roles=roles, complete=False, who=WHO)
    groups, target = compared_groups(WHO, audit, request.by, request.depth, request.target)
    request = replace(request, target=target or request.target)
    codes, first = _smallest_groups(rows, attributes)
    order = np.argsort(rows.roles["score"], kind="stable")
    members = [_among(rows, group, first) for group in groups]
    reference = None if request.target.group is None else _among(rows, request.target.group, first)
    found = ScoredPeople(
        rows.roles["score"][order], codes[order], rows.roles["outcome"][order] if known else None, groups,
        np.array(members, dtype=bool).reshape(len(groups), first.size), reference,
    )  # fmt: skip
    return found, request, rows


def _smallest_groups(rows: Rows, attributes: Sequence[str]) -> tuple[Ints, Ints]:
    """A code per row for its labels of all attributes, and the first row of each code."""
    codes = np.zeros(rows.n, dtype=np.int64)
    for name in attributes:
        coded = rows.attributes[name]
        codes = codes * len(coded.labels) + coded.codes
    count = int(np.prod([len(rows.attributes[name].labels) for name in attributes], dtype=np.int64))
    if count <= rows.n:
        first = np.full(count, -1, dtype=np.int64)
        first[codes[::-1]] = np.arange(rows.n - 1, -1, -1)
        used = np.flatnonzero(first >= 0)
        place = np.zeros(count, dtype=np.int64)
        place[used] = np.arange(used.size)
        return place[codes], first[used]
    _, start, small = np.unique(codes, return_index=True, return_inverse=True)
    return small.astype(np.int64), start.astype(np.int64)


def _among(rows: Rows, group: Group, first: Ints) -> Bools:
    """Which codes belong to a group."""
    inside = np.ones(first.size, dtype=bool)
    for attribute, values in group.where:
        coded = rows.attributes[attribute]
        told = np.array([label in values for label in coded.labels], dtype=bool)
        inside &= told[coded.codes[first]]
    return inside


def share_lines(request: Request, metric: Metric, people: ScoredPeople, table: SortedScores) -> list[Line]:
    """Each group's largest gap over all thresholds, its rate there with the band's limits."""
    lines = []
    flipped = metric.value == role.not_decision
    for group, inside in zip(people.groups, people.inside, strict=True):
        own = table.places(inside)
        others = None if people.reference is None else table.places(people.reference)
        m = table.scores.size - own.size if others is None else others.size
        untested = _untested(request, inside, people.reference, own.size, m, table)
        found = None if untested is not None else largest_gap(own, others, table.ends, request.level)
        threshold = None if found is None else float(table.scores[found.place])
        line = _line(request, at_thresholds(metric, threshold), group, own.size, m, untested, binary=True)
        lines.append(line)
        if found is None:
            continue
        low, high = (float(side[0]) for side in band(np.array([float(found.count)]), own.size, request.level))
        rate, target = found.count / own.size, found.target_count / m
        sides = (rate, low, high, target, found.gap, found.low, found.high)
        if flipped:
            sides = (1 - rate, 1 - high, 1 - low, 1 - target, -found.gap, -found.high, -found.low)
        names = (
            "rate",
            "rate_low",
            "rate_high",
            "target_rate",
            "difference",
            "difference_low",
            "difference_high",
        )
        line.row.update(zip(names, sides, strict=True))
        line.row.update({
            "ratio": sides[0] / sides[3] if sides[3] else None,
            "events": int(own.size - found.count if flipped else found.count),
            "threshold": threshold, "p_value": found.p,
        })  # fmt: skip
    return lines


def _line(
    request: Request, metric: Metric, group: Group, n: int, m: int, untested: State | None, *, binary: bool
) -> Line:
    harmed = harmed_side_over_thresholds(request.audit, metric)
    target = request.target.label
    return Line.of(
        metric, group, harmed, binary=binary, n=int(n), target=target, target_n=int(m), untested=untested
    )


def at_thresholds(metric: Metric, threshold: float | None = None) -> Metric:
    """The metric over all thresholds, as its line is called: at the threshold of the largest gap."""
    where = "at any threshold" if threshold is None else f"at threshold {threshold:.6g}"
    return replace(metric, name=f"{metric.name} [any threshold]", label=f"{metric.label} {where}")


def _untested(
    request: Request, inside: Bools, reference: Bools | None, n: int, m: int, table: SortedScores
) -> State | None:
    """Why a group is not compared; size alone decides."""
    if reference is not None and np.array_equal(inside, reference):
        return State(REFERENCE.code, "it is the reference")
    if n == 0:
        return State(NOBODY.code, "nobody meets the metric's condition")
    if n < request.minimum:
        return State(TOO_FEW.code, f"fewer than {request.minimum} members")
    if reference is None and m == 0:
        return State(EVERYONE.code, "it is everyone: there is nobody to compare with")
    if reference is not None and (inside & reference).any():
        return State(NO_TARGET.code, "it shares people with the reference")
    if m == 0:
        return State(NO_TARGET.code, "nobody in the target meets the metric's condition")
    return (
        State(FEW_IN_TARGET.code, f"fewer than {request.minimum} to compare with")
        if m < request.minimum
        else None
    )


def area_lines(request: Request, people: ScoredPeople) -> list[Line]:
    """Each group's area under the curve, and its gap to that of the target; none without an outcome."""
    if people.outcome is None:
        return []
    known = ~np.isnan(people.outcome)
    table = people.part(None)
    if not known.all():
        table = SortedScores.of(people.scores[known], people.codes[known], people.inside.shape[1])
    own, others = _areas(people, table, people.outcome[known].astype(np.int64))
    lines = []
    for i, (group, inside) in enumerate(zip(people.groups, people.inside, strict=True)):
        n, m = (int(side.positives[i] + side.negatives[i]) for side in (own, others))
        untested = _untested(request, inside, people.reference, n, m, table) or _few(own, others, i)
        lines.append(_line(request, AREA, group, n, m, untested, binary=False))
    shown = [
        i for i, line in enumerate(lines) if line.row["n"] >= request.minimum and _few(own, own, i) is None
    ]
    _fill_areas([lines[i] for i in shown], _some(own, shown), request.level)
    tested = [i for i in shown if lines[i].untested is None]
    _fill_gaps([lines[i] for i in tested], _some(own, tested), _some(others, tested), request.level)
    return lines


def _areas(people: ScoredPeople, table: SortedScores, outcome: Ints) -> tuple[Areas, Areas]:
    """Of every group and of its target."""
    own = areas_of(table, outcome, people.inside)
    if people.reference is None:
        return own, areas_of(table, outcome, ~people.inside)
    target = areas_of(table, outcome, people.reference[None])
    repeated = (np.repeat(getattr(target, name), len(people.groups)) for name in Areas.__slots__)
    return own, Areas(*repeated)


def _few(own: Areas, others: Areas, index: int) -> State | None:
    sides = [side[index] for area in (own, others) for side in (area.positives, area.negatives)]
    if min(sides) >= FEWEST:
        return None
    return State(TOO_FEW.code, f"fewer than {FEWEST} people with or without the outcome")


def _some(areas: Areas, places: list[int]) -> Areas:
    return Areas(*(getattr(areas, name)[places] for name in Areas.__slots__))


def _fill_areas(lines: list[Line], own: Areas, level: float) -> None:
    low, high = own.limits(level)
    for i, line in enumerate(lines):
        line.row.update({"rate": float(own.area[i]), "rate_low": float(low[i]), "rate_high": float(high[i])})


def _fill_gaps(lines: list[Line], own: Areas, others: Areas, level: float) -> None:
    low, high = gap_limits(own, others, level)
    p = gap_p(own, others)
    for i, line in enumerate(lines):
        line.row.update({
            "target_rate": float(others.area[i]), "difference": float(own.area[i] - others.area[i]),
            "difference_low": float(low[i]), "difference_high": float(high[i]), "p_value": float(p[i]),
        })  # fmt: skip

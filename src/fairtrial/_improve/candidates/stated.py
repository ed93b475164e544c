"""What was fixed before the rows were looked at: the direction of the status quo's gap, and an earlier sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._errors import Fault, InputError
from fairtrial._improve.arguments import Wanted
from fairtrial._improve.candidates.contest import WHO, Contest, Decided
from fairtrial._improve.candidates.rules import capacity_threshold
from fairtrial._improve.solver.improvement import Pair
from fairtrial._metrics.groups import Group


@dataclass(frozen=True, slots=True, eq=False)
class Stated:
    """What was fixed before the rows were looked at.

    `pairs` has the group above and the group below of each fairness metric under the status quo, None where it was not
    stated; `earlier` is the earlier sample that thresholds come from, None where they come from the rows themselves.
    """

    pairs: Sequence[Pair | None]
    earlier: Contest | None = None

    def status_quo(self, contest: Contest) -> Decided:
        """Decisions and scores of the status quo for all rows."""
        if self.earlier is None or contest.decision is not None or contest.score is None:
            return contest.status_quo(np.arange(contest.rows))
        assert self.earlier.score is not None
        assert contest.constraints.capacity is not None
        threshold = capacity_threshold(self.earlier.score, contest.constraints.capacity)
        return (contest.score >= threshold).astype(np.float64), contest.score


def stated_pairs(wanted: Wanted, contest: Contest, groups: Sequence[Group]) -> list[Pair] | None:
    """Higher and lower group under the status quo of each fairness metric, as `sign` states them; None without it."""
    if wanted.sign is None:
        return None
    each, metrics = (1 if len(groups) == 2 else 2), len(contest.claim.fairness)
    codes = [_code(item, groups) for item in _named(wanted.sign, each, metrics)]
    pairs = (
        [(code, 1 - code) for code in codes] if each == 1 else list(zip(codes[::2], codes[1::2], strict=True))
    )
    for a, b in pairs:
        if (a, b) not in contest.claim.pairs:
            required = "must be a gap that counts: two groups, in the direction asked for"
            raise InputError(WHO, Fault("sign", required, got=[groups[a].label, groups[b].label]))
    return pairs * metrics if len(pairs) == 1 else pairs


def _named(sign: object, each: int, metrics: int) -> list[object]:
    """The groups named: one or two for all fairness metrics together, or for each of them."""
    named = list(sign) if isinstance(sign, list | tuple) else [sign]
    if len(named) not in (each, each * metrics):
        words = "the group with the higher level" + ("" if each == 1 else " and the lower one")
        more = "" if metrics == 1 else f", once or for each of the {metrics} fairness metrics"
        raise InputError(WHO, Fault("sign", f"must name {words} under the status quo{more}", got=sign))
    return named


def _code(item: object, groups: Sequence[Group]) -> int:
    labels = [group.label for group in groups]
    if isinstance(item, str) and item in labels:
        return labels.index(item)
    group = Group.of(item) if isinstance(item, Mapping) else None
    if group is None or group not in groups:
        got = item if group is None else group.label
        raise InputError(WHO, Fault("sign", f"must name groups among {labels}", got=got))
    return list(groups).index(group)


def like(audit: Audit, data: Any) -> Audit:
    """Other data with the same roles; an Audit is taken as it is."""
    if isinstance(data, Audit):
        return data
    names = (
        "outcome",
        "decision",
        "score",
        "threshold",
        "groups",
        "define",
        "features",
        "positive",
        "bins",
        "missing",
    )
    return Audit(data, **{name: getattr(audit, name) for name in names})

"""What the arguments of improve name in the audit: groups, utilities, candidates and permitted features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._audit.groups import find_groups
from fairtrial._errors import Fault, Faults, InputError, did_you_mean
from fairtrial._improve.arguments import Wanted
from fairtrial._improve.candidates import FixedColumn, FixedRule
from fairtrial._improve.components import Pair
from fairtrial._improve.contest import WHO, Contest, Decided
from fairtrial._improve.listing import listed_candidates
from fairtrial._improve.rules import capacity_threshold
from fairtrial._improve.unlabelled import Assumed, find_assumed
from fairtrial._improve.worth import Worth, find_worth
from fairtrial._metrics.groups import Group
from fairtrial._metrics.table import joined_metrics


@dataclass(frozen=True, slots=True)
class Named:
    """What the arguments name in the audit, before any row is read."""

    groups: list[Group]
    accuracies: tuple[Worth, ...]
    fairness: tuple[Worth, ...]
    listed: list[Any]
    assumed: Assumed | None = None
    independent: tuple[str, ...] | None = None
    features: tuple[str, ...] = ()

    @property
    def worths(self) -> tuple[Worth, ...]:
        return (*self.accuracies, *self.fairness)

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for group in self.groups for name in group.attributes))

    @property
    def fixed(self) -> list[str]:
        """Columns that are candidates."""
        return [item.column for item in self.listed if isinstance(item, FixedColumn)]

    @property
    def rules(self) -> list[FixedRule]:
        """Rules and models that were fixed beforehand."""
        return [item for item in self.listed if isinstance(item, FixedRule)]

    @property
    def brought(self) -> list[str]:
        """The names of all that was fixed beforehand."""
        return [*self.fixed, *(rule.name for rule in self.rules)]

    @property
    def fitted(self) -> bool:
        """Whether any candidate has yet to be fitted."""
        return len(self.brought) < len(self.listed)

    def need(self, role: str) -> bool:
        """Whether a level of the claim depends on the outcome or the score."""
        return any(worth.needs(role) for worth in self.worths)


def find_named(audit: Audit, wanted: Wanted) -> Named:
    if not isinstance(wanted.monotone, Mapping) or "" in wanted.monotone:
        raise InputError(WHO, Fault("monotone", "must pair features with 1 or -1", got=wanted.monotone))
    groups = find_groups(WHO, audit, wanted.by)
    accuracies, fairness = (
        tuple(
            find_worth(WHO, argument, one, accuracy=argument == "accuracy")
            for one in _utilities(argument, asked)
        )
        for argument, asked in (("accuracy", wanted.accuracy), ("fairness", wanted.fairness))
    )
    listed = listed_candidates(audit, wanted.candidates, fitted_elsewhere=wanted.fitted_elsewhere)
    if wanted.threshold is not None:
        listed = [
            replace(c, threshold=wanted.threshold) if isinstance(c, FixedColumn | FixedRule) else c
            for c in listed
        ]
    assumed = find_assumed(audit, wanted.reject_inference)
    named = Named(
        groups, accuracies, fairness, listed, assumed, _independent(audit, wanted.independent_given)
    )
    return replace(named, features=_permitted(audit, wanted, named.attributes))


def _independent(audit: Audit, asked: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if asked is None:
        return None
    columns = (asked,) if isinstance(asked, str) else tuple(asked)
    for name in columns:
        audit.check_column(WHO, "independent_given", name)
    return columns


def _utilities(argument: str, asked: object) -> list[object]:
    """Metrics one by one: a criterion stands for several."""
    items = list(asked) if isinstance(asked, list | tuple) else [asked]
    if not items:
        raise InputError(WHO, Fault(argument, "is empty", cure="name at least one metric"))
    return [part for item in items for part in joined_metrics(item)]


def _permitted(audit: Audit, wanted: Wanted, attributes: tuple[str, ...]) -> tuple[str, ...]:
    """The features that rules may use; every fault in what was said of single ones."""
    faults, columns = Faults(WHO), audit.source.columns
    for argument, names in (("banned", wanted.banned), ("monotone", wanted.monotone)):
        for name in names:
            if name not in columns:
                hint = did_you_mean(name, columns)
                faults.add(Fault(argument, f"names the unknown column {name!r}", hint=hint))
    forbidden = {*wanted.banned, *(attributes if wanted.blind else ())}
    features = tuple(name for name in audit.features if name not in forbidden)
    for name, sign in wanted.monotone.items():
        required = _monotone_required(audit, name, features)
        if sign not in (1, -1):
            required = f"must give 1 (never falls) or -1 (never rises) for {name!r}"
            faults.add(Fault("monotone", required, got=sign))
        elif required:
            faults.add(Fault("monotone", required, cure="name a numeric feature that rules may use"))
    faults.raise_any()
    return features


def _monotone_required(audit: Audit, name: str, features: tuple[str, ...]) -> str:
    """Why no rule can be monotone in a column of the audit."""
    if name not in features:
        known = name in audit.source.columns
        return f"names {name!r}, which is not a permitted feature" if known else ""
    numeric = audit.kind(name) in ("bool", "int", "float")
    return "" if numeric else f"names {name!r}, which is not numeric"


# -- What was fixed before the rows were looked at: the direction of the status quo's gap, and an earlier
# sample.
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

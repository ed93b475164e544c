"""What the arguments of improve name in the audit: groups, utilities, candidates and permitted features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairtrial._audit.audit import Audit
from fairtrial._audit.groups import find_groups
from fairtrial._errors import Fault, Faults, InputError, did_you_mean
from fairtrial._improve.arguments import Wanted
from fairtrial._improve.candidates.adapters import (
    FixedColumn,
    FixedRule,
)
from fairtrial._improve.candidates.contest import (
    WHO,
)
from fairtrial._improve.candidates.listing import listed_candidates
from fairtrial._improve.candidates.unlabelled import Assumed, find_assumed
from fairtrial._improve.candidates.utilities import Worth, find_worth
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

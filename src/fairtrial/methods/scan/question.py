"""What a scan looks at: which event, under which condition, of whom, compared with whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from fairtrial.data.audit import Audit
from fairtrial.data.groups import find_groups
from fairtrial.errors import Fault, InputError, NotApplicable, Use, Words
from fairtrial.methods.scan.arguments import ScanSettings
from fairtrial.metrics.groups import Group
from fairtrial.metrics.metric import Metric
from fairtrial.metrics.values import Role, role


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanQuestion:
    """The event of `metric` in the class `protected`, compared with `reference` or with everybody else.

    `free_condition` is the role whose both values take part (condition "any"); `on_score` says that the condition is
    the score itself.
    """

    who: str
    metric: Metric
    protected: Group
    reference: Group | None
    features: tuple[str, ...]
    free_condition: Role | None = None
    on_score: bool = False
    scores: Literal["exact", "bins"] = "exact"
    probability: Literal["score", "outcome-rate"] = "score"
    strata_bins: int = 10

    @property
    def real_valued(self) -> bool:
        return self.metric.value is role.score

    @property
    def score_role(self) -> str | None:
        """The role that brings the scores, where they are the event or the condition."""
        if not self.real_valued and not self.on_score:
            return None
        return "score_bin" if self.scores == "bins" else "score"

    @property
    def target(self) -> str:
        """Who the class is compared with, in words."""
        return self.reference.label if self.reference else f"not {self.protected.label}"

    def to_dict(self) -> dict[str, Any]:
        """As results record it."""
        return {
            "metric": self.metric.to_dict(),
            "protected": self.protected.to_dict(),
            "reference": self.reference.to_dict() if self.reference else None,
            "features": list(self.features),
        }


def ask(
    who: str,
    audit: Audit,
    metric: Metric,
    classes: tuple[Group, Group | None],
    features: Sequence[str] | str | None,
    settings: ScanSettings,
) -> ScanQuestion:
    """The question about a protected class and its reference, checked against the audit."""
    protected, reference = classes
    resolved, free = resolve_metric(who, metric, settings.condition)
    return ScanQuestion(
        who=who,
        metric=resolved,
        protected=protected,
        reference=reference,
        features=find_features(who, audit, features, protected.attributes),
        free_condition=free,
        on_score=metric.each is role.score_bin,
        scores=settings.scores,
        probability=settings.probability,
        strata_bins=settings.strata_bins,
    )


def resolve_metric(
    who: str, metric: Metric, condition: Literal[0, 1, "any"] | None
) -> tuple[Metric, Role | None]:
    """The metric with its condition as asked, and the role that condition "any" leaves free."""
    if metric.each is role.score_bin:
        metric = replace(metric, label="outcome rate given the score")
    means = (role.outcome, role.score)
    if isinstance(metric.value, Role) and not metric.value.binary and metric.value not in means:
        raise NotApplicable(who, real_valued_fault(metric, "is real-valued"))
    if condition is None:
        return metric, None
    part = next(iter(metric.conditions), None)
    if len(metric.conditions) != 1 or part not in (role.outcome, role.decision):
        why = f"changes a metric's condition on outcome or decision, and {metric.name!r} has no such one"
        raise InputError(who, Fault("condition", why))
    assert isinstance(part, Role)
    if condition != "any":
        return replace(metric, given={part: condition}), None
    label = f"{_value_words(metric)} given the {part.name}"
    return replace(metric, given={}, name=f"{metric.name} (any {part.name})", label=label), part


def real_valued_fault(metric: Metric, found: str) -> Fault:
    """The metric has more values than 0 and 1: who can take it."""
    cure = Words("Use {} or {} for it", Use("flag"), Use("certify"))
    why = f"{found}; a scan takes 0/1 metrics and mean scores"
    return Fault("metric", why, subject=repr(metric.name), cure=cure)


def _value_words(metric: Metric) -> str:
    words = {
        "decision": "selection rate",
        "not_decision": "rate of negative decisions",
        "outcome": "outcome rate",
        "not_outcome": "rate of negative outcomes",
        "score": "mean score",
    }
    return words.get(metric.value.name, metric.label) if isinstance(metric.value, Role) else metric.label


def find_protected(who: str, audit: Audit, protected: object, argument: str = "protected") -> Group:
    """The group a dict such as {"race": "African-American"} names; it must exist in the data."""
    if isinstance(protected, Group):
        return protected
    if not isinstance(protected, Mapping) or not protected:
        raise InputError(who, Fault(argument, "must be a group like race = African-American", got=protected))
    (group,) = find_groups(who, audit, [dict(protected)], argument=argument)
    return group


def find_features(
    who: str, audit: Audit, features: Sequence[str] | str | None, taken: Sequence[str]
) -> tuple[str, ...]:
    """The attributes subgroups are built from: those named, else the audit's features, else its other groups."""
    if features is None:
        named = tuple(name for name in audit.features or audit.groups if name not in taken)
        if audit.features and not named:
            listed = ", ".join(map(repr, audit.features))
            others = "which defines the protected class; subgroups are built from others"
            raise InputError(who, Fault("features", f"of the Audit names {listed} alone, {others}"))
    else:
        named = tuple(dict.fromkeys((features,) if isinstance(features, str) else features))
    for name in named:
        audit.check_column(who, "features", name)
        if name in taken:
            why = f"names {name!r}, which defines the protected class; subgroups are built from the others"
            raise InputError(who, Fault("features", why))
    return named

"""What a scan looks at: which event, under which condition, of whom, compared with whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from fairtrial._audit.audit import Audit
from fairtrial._audit.groups import find_groups
from fairtrial._errors import Fault, InputError, Named, NotApplicable, Set, Use, Words
from fairtrial._metrics.groups import Group
from fairtrial._metrics.harm import harmed_side
from fairtrial._metrics.metric import Metric
from fairtrial._metrics.values import Role, role
from fairtrial._results.claims import place_words
from fairtrial._scan.arguments import ScanSettings


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
    within: tuple[str, ...] = ()
    ranges: bool = True
    free_condition: Role | None = None
    on_score: bool = False
    scores: Literal["exact", "bins"] = "exact"
    probability: Literal["score", "outcome-rate"] = "score"
    neighbours: int = 20
    article: bool = False
    direction: Literal["above", "below", "differs"] = "differs"
    harmed: Literal["above", "below"] | None = None

    @property
    def real_valued(self) -> bool:
        return self.metric.value is role.score

    @property
    def score_role(self) -> str | None:
        """The role that brings the scores, where they are the event or the condition."""
        if not self.real_valued and not self.on_score:
            return None
        # a condition of strata alone needs the scores' order, which bins would lose
        binned = self.scores == "bins" and (self.article or not self.on_score)
        return "score_bin" if binned else "score"

    @property
    def needs_probability(self) -> bool:
        """Whether the score must be a probability: as an event, or in the article's models."""
        return self.real_valued or (self.on_score and self.article)

    @property
    def who_is(self) -> str:
        """The protected class with its attribute: 'race: African-American'."""
        return named(self.protected)

    @property
    def target(self) -> str:
        """Who the class is compared with, in words."""
        if self.reference:
            return named(self.reference)
        if len(self.protected.where) > 1:
            return f"not ({self.who_is})"
        ((attribute, values),) = self.protected.where
        return f"{attribute}: not {' or '.join(values)}"

    def to_dict(self) -> dict[str, Any]:
        """As results record it."""
        return {
            "metric": self.metric.to_dict(),
            "protected": self.protected.to_dict(),
            "reference": self.reference.to_dict() if self.reference else None,
            "features": list(self.features),
            "within": list(self.within),
        }


def named(group: Group) -> str:
    """A group with its attributes: a bare "No" says nothing.

    >>> named(Group.of({"race": "A", "sex": ["f", "m"]}))
    'race: A, sex: f or m'
    """
    return place_words(group.place)


def ask(
    who: str,
    audit: Audit,
    metric: Metric,
    classes: tuple[Group, Group | None],
    attributes: tuple[Sequence[str] | str | None, Sequence[str] | str | None],
    settings: ScanSettings,
) -> ScanQuestion:
    """The question about a protected class, its reference, features and what is controlled for, checked."""
    protected, reference = classes
    resolved, free = resolve_metric(who, metric, settings.condition)
    features = find_features(who, audit, attributes[0], protected.attributes, _names(attributes[1]))
    within = find_within(who, audit, attributes[1], protected.attributes, features)
    if settings.expectation == "score" and metric.each is not role.score_bin:
        why = "takes the score for the expected outcome rate, which only calibration asks about"
        raise InputError(
            who,
            Fault(
                "expectation",
                why,
                got="score",
                cure=Words("leave {} out, or scan the calibration", Named("expectation")),
            ),
        )
    return ScanQuestion(
        who=who,
        metric=resolved,
        protected=protected,
        reference=reference,
        features=features,
        within=within,
        ranges=settings.ranges,
        free_condition=free,
        on_score=metric.each is role.score_bin,
        scores=settings.scores,
        probability=settings.probability,
        neighbours=settings.neighbours,
        article=settings.score == "article",
        direction=find_direction(who, metric, settings.direction, audit.favourable),
        harmed=harmed_side(metric, audit.favourable),
    )


def find_direction(
    who: str, metric: Metric, direction: str | None, favourable: int | None
) -> Literal["above", "below", "differs"]:
    """The side that is searched; the harmed one must be known from the audit or from the metric."""
    side = harmed_side(metric, favourable)
    if direction is None:
        return side or metric.hurts or "differs"
    if direction == "harmed" and side is None:
        cure = Words("say which decision is good for a person with {}", Set("favourable", of="Audit"))
        required = f"cannot be harmed: nobody said on which side of the {metric.label} people are"
        raise InputError(who, Fault("direction", required, cure=cure))
    found = side if direction == "harmed" else direction
    assert found in ("above", "below", "differs")
    return found  # type: ignore[return-value]


def resolve_metric(
    who: str, metric: Metric, condition: Literal[0, 1, "any"] | None
) -> tuple[Metric, Role | None]:
    """The metric with its condition as asked, and the role that condition "any" leaves free."""
    if metric.each is role.score_bin:
        metric = replace(metric, label=f"{_value_words(metric)} given the score")
    means = (role.outcome, role.score)
    if isinstance(metric.value, Role) and not metric.value.binary and metric.value not in means:
        raise NotApplicable(who, real_valued_fault(metric, "is real-valued"))
    if condition is None:
        return metric, None
    part = next(iter(metric.conditions), None)
    if len(metric.conditions) != 1 or part not in (role.outcome, role.decision):
        why = f"changes a metric's condition on outcome or decision, and {metric.name!r} has no such one"
        raise InputError(who, Fault("condition", why, cure=Words("leave {} out", Named("condition"))))
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
    who: str,
    audit: Audit,
    features: Sequence[str] | str | None,
    taken: Sequence[str],
    controlled: Sequence[str] = (),
) -> tuple[str, ...]:
    """The attributes subgroups are built from: those named, else the audit's features, else its other groups."""
    if features is None:
        chosen = tuple(name for name in audit.features or audit.groups if name not in (*taken, *controlled))
        if audit.features and not chosen and not controlled:
            listed = ", ".join(map(repr, audit.features))
            others = "which defines the protected class; subgroups are built from others"
            raise InputError(
                who,
                Fault(
                    "features",
                    f"of the Audit names {listed} alone, {others}",
                    cure=Words("name others with {}", Set("features")),
                ),
            )
    else:
        chosen = _names(features)
    for name in chosen:
        audit.check_column(who, "features", name)
        if name in taken:
            why = f"names {name!r}, which defines the protected class; subgroups are built from the others"
            raise InputError(who, Fault("features", why, cure="leave it out"))
    return chosen


def find_within(
    who: str,
    audit: Audit,
    within: Sequence[str] | str | None,
    taken: Sequence[str],
    features: tuple[str, ...],
) -> tuple[str, ...]:
    """What is controlled for without being searched."""
    chosen = _names(within)
    for name in chosen:
        audit.check_column(who, "within", name)
        if name in taken:
            raise InputError(
                who,
                Fault("within", f"names {name!r}, which defines the protected class", cure="leave it out"),
            )
        if name in features:
            why = f"names {name!r}, which is a feature: features are controlled for already"
            raise InputError(who, Fault("within", why, cure="Leave it out"))
    return chosen


def _names(attributes: Sequence[str] | str | None) -> tuple[str, ...]:
    if attributes is None:
        return ()
    return tuple(dict.fromkeys((attributes,) if isinstance(attributes, str) else attributes))

"""What a scan is asked: which event, under which condition, of whom, compared with whom, and how it is searched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, TypeVar

from fairtrial._audit.audit import Audit
from fairtrial._audit.direction import harmed_side
from fairtrial._audit.groups import find_groups
from fairtrial._errors import Fault, InputError, Named, NotApplicable, Set, Use, Words
from fairtrial._metrics.groups import Group, say_what_is_good
from fairtrial._metrics.values import Metric, Role, role
from fairtrial._results.claims import place_words
from fairtrial._scan.solver.value_sets import Direction
from fairtrial._work import Progress

Names = Sequence[str] | str | None
Asked = TypeVar("Asked", bound="ScanRequest")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRequest:
    """The event of `metric` in the class `protected`, compared with `target` or, without one, with everybody else.

    `free_condition` is the role whose both values take part (condition "any"). `sequential` draws stop early, as those
    of every class do.
    """

    models_condition: ClassVar[bool] = False  # whether a score that is the condition enters models

    who: str
    metric: Metric
    protected: Group
    target: Group | None = None
    features: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    free_condition: Role | None = None
    direction: Literal["above", "below", "differs"] = "differs"
    harmed: Literal["above", "below"] | None = None
    probability: Literal["score", "outcome-rate"] = "score"
    penalty: float | None = None
    null: str | None = "ladder"
    permutations: int = 999
    sequential: bool = False
    top: int = 5
    confidence_level: float = 0.95
    seed: int = 0
    jobs: int | None = None
    progress: Callable[[Progress], None] | None = None
    # not asked of a user of the question
    ranges: bool = True
    search: str = "auto"
    scores: Literal["exact", "bins"] = "exact"
    neighbours: int = 20

    @property
    def on_score(self) -> bool:
        """Whether the condition is the score itself."""
        return self.metric.each is role.score_bin

    @property
    def real_valued(self) -> bool:
        return self.metric.value is role.score

    @property
    def score_role(self) -> str | None:
        """The role that brings the scores, where they are the event or the condition."""
        if not self.real_valued and not self.on_score:
            return None
        # a condition of strata alone needs the scores' order, which bins would lose
        binned = self.scores == "bins" and (self.models_condition or not self.on_score)
        return "score_bin" if binned else "score"

    @property
    def needs_probability(self) -> bool:
        """Whether the score must be a probability: as an event, or in models."""
        return self.real_valued or (self.on_score and self.models_condition)

    @property
    def who_is(self) -> str:
        """The protected class with its attribute: 'race: African-American'."""
        return named(self.protected)

    @property
    def draws_name(self) -> str:
        """What the draws are called and seeded by; those of every class keep an old name, and so their p-values."""
        return f"{'scan_all' if self.sequential else self.who} of {self.who_is}"

    @property
    def against(self) -> str:
        """Who the class is compared with, in words."""
        if self.target:
            return named(self.target)
        if len(self.protected.where) > 1:
            return f"not ({self.who_is})"
        ((attribute, values),) = self.protected.where
        return f"{attribute}: not {' or '.join(values)}"

    @property
    def directions(self) -> tuple[Direction, ...]:
        """One side, or both when none is said to hurt."""
        return ("above", "below") if self.direction == "differs" else (self.direction,)

    def recorded(self) -> dict[str, Any]:
        """As results record it."""
        return {
            "metric": self.metric.to_dict(),
            "protected": self.protected.to_dict(),
            "target": self.target.to_dict() if self.target else "rest",
            "features": list(self.features),
            "within": list(self.within),
        }

    def identity(self) -> dict[str, Any]:
        """Everything that the numbers depend on, as text."""
        apart = ("who", "sequential", "jobs", "progress")
        told = {
            field.name: str(getattr(self, field.name)) for field in fields(self) if field.name not in apart
        }
        free = self.free_condition and self.free_condition.name
        return told | self.recorded() | {"free_condition": free}


def named(group: Group) -> str:
    """A group with its attributes: a bare "No" says nothing.

    >>> named(Group.of({"race": "A", "sex": ["f", "m"]}))
    'race: A, sex: f or m'
    """
    return place_words(group.place)


def ask(
    kind: type[Asked],
    who: str,
    audit: Audit,
    metric: Metric,
    *,
    protected: object,
    target: object = "rest",
    features: Names = None,
    within: Names = None,
    condition: Literal[0, 1, "any"] | None = None,
    direction: str | None = None,
    **how: Any,
) -> Asked:
    """The request about a protected class, its target, features and what is controlled for, checked."""
    group = find_protected(who, audit, protected)
    against = None if target == "rest" else find_protected(who, audit, target, "target")
    resolved, free = resolve_metric(who, metric, condition)
    searched = find_features(who, audit, features, group.attributes, names_of(within))
    side = harmed_side(audit, metric)
    return kind(
        who=who,
        metric=resolved,
        protected=group,
        target=against,
        features=searched,
        within=find_within(who, audit, within, group.attributes, searched),
        free_condition=free,
        direction=find_direction(who, metric, direction, side),
        harmed=side,
        **how,
    )


def find_direction(
    who: str, metric: Metric, direction: str | None, side: Direction | None
) -> Literal["above", "below", "differs"]:
    """The side that is searched; the harmed one must be known from the audit or from the metric."""
    if direction is None:
        return side or metric.hurts or "differs"
    if direction == "harmed" and side is None:
        required = f"cannot be harmed: nobody said on which side of the {metric.label} people are"
        raise InputError(who, Fault("direction", required, cure=say_what_is_good(metric)))
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
    features: Names,
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
        chosen = names_of(features)
    for name in chosen:
        audit.check_column(who, "features", name)
        if name in taken:
            why = f"names {name!r}, which defines the protected class; subgroups are built from the others"
            raise InputError(who, Fault("features", why, cure="leave it out"))
    return chosen


def find_within(
    who: str,
    audit: Audit,
    within: Names,
    taken: Sequence[str],
    features: tuple[str, ...],
) -> tuple[str, ...]:
    """What is controlled for without being searched."""
    chosen = names_of(within)
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


def names_of(attributes: Names) -> tuple[str, ...]:
    """One name or several as a tuple, each once."""
    if attributes is None:
        return ()
    return tuple(dict.fromkeys((attributes,) if isinstance(attributes, str) else attributes))

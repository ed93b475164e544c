"""What a rule is worth: any metric, or a payoff, evaluated under the decisions of any rule.

A utility is a pair of row values (u, w) whose group level is Σu/Σw. For a metric E[value | given] it is
(value·given, given); for a payoff it is (what the decision yields, 1).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.cells import Coded
from fairtrial._errors import Fault, InputError, NotApplicable, Set, Words
from fairtrial._improve.arguments import Payoff
from fairtrial._improve.components import placement_values
from fairtrial._labels import canonical
from fairtrial._metrics.table import find_metric
from fairtrial._metrics.values import Metric, Role

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Area:
    """The area under the curve: how often a positive person's score is above a negative one's, in everyone together."""

    name: str = "auc"
    label: str = "area under the curve"


@dataclass(frozen=True, slots=True)
class Revenue:
    """What is paid where the score is a price and the outcome what somebody would pay at most (Example 4)."""

    name: str = "revenue"
    label: str = "revenue"


@dataclass(frozen=True, slots=True)
class Worth:
    """A metric, payoff, area or revenue as improve uses it; `sign` −1 turns one that is better when lower."""

    what: Metric | Payoff | Area | Revenue
    sign: float = 1.0
    words: str = ""

    @property
    def name(self) -> str:
        return self.what.name

    @property
    def label(self) -> str:
        return self.words or self.what.label

    def of_real_outcome(self) -> Worth:
        """The predictive values of a real-valued outcome are means, not rates: say so."""
        means = {"ppv": "mean outcome of the selected", "for": "mean outcome of the rejected"}
        return replace(self, words=means.get(self.name, ""))

    def needs(self, role: str) -> bool:
        """Whether its level depends on the outcome, the score or the decision."""
        if isinstance(self.what, Area | Revenue):
            return role in ("outcome", "score")
        return role in self.what.needs if isinstance(self.what, Metric) else role == "decision"

    @property
    def by_score(self) -> bool:
        """Whether its level depends on scores and not on decisions."""
        return self.needs("score") and not self.needs("decision")

    @property
    def value_columns(self) -> tuple[str, ...]:
        """Columns read as numbers."""
        if isinstance(self.what, Payoff):
            return self.what.columns
        return (
            (self.what.value,) if isinstance(self.what, Metric) and isinstance(self.what.value, str) else ()
        )

    @property
    def condition_columns(self) -> tuple[str, ...]:
        """Columns read as labels."""
        if not isinstance(self.what, Metric):
            return ()
        return tuple(key for key in self.what.conditions if isinstance(key, str))


@dataclass(frozen=True, slots=True, eq=False)
class SeenRows:
    """What is known of the rows, whatever the rule."""

    outcome: Floats | None
    values: Mapping[str, Floats]
    labels: Mapping[str, Coded]

    def part(self, index: NDArray[np.intp]) -> SeenRows:
        return SeenRows(
            outcome=None if self.outcome is None else self.outcome[index],
            values={name: column[index] for name, column in self.values.items()},
            labels={name: Coded(coded.codes[index], coded.labels) for name, coded in self.labels.items()},
        )


def find_worth(who: str, argument: str, asked: object, *, accuracy: bool) -> Worth:
    """A Worth from a metric's name, a Metric, a Payoff, or the dict form of either."""
    if isinstance(asked, Mapping) and "selected" in asked:
        asked = _payoff(who, argument, asked)
    if isinstance(asked, Payoff):
        return Worth(asked)
    if accuracy and asked == "auc":
        return Worth(Area())
    if asked == "revenue":
        return Worth(Revenue())
    metric = find_metric(who, asked, argument)
    fault = _metric_fault(argument, metric)
    if fault:
        raise NotApplicable(who, fault)
    return Worth(metric, -1.0 if accuracy and metric.hurts == "above" else 1.0)


def _payoff(who: str, argument: str, content: Mapping[str, object]) -> Payoff:
    selected, rejected = content["selected"], content.get("rejected", 0.0)
    at_least = content.get("at_least")
    complete = "name" in content and not set(content) - {"name", "selected", "rejected", "at_least"}
    if (
        not complete
        or not isinstance(selected, str | float | int)
        or not isinstance(rejected, str | float | int)
        or not isinstance(at_least, float | int | None)
    ):
        required = "as a payoff needs 'name' and 'selected' and may have 'rejected' and 'at_least'"
        raise InputError(who, Fault(argument, required))
    return Payoff(str(content["name"]), selected, rejected, at_least)


def _metric_fault(argument: str, metric: Metric) -> Fault | None:
    """Why a metric has no level that a rule could improve; None when it has one."""
    subject = f"the metric {metric.name!r}"
    if metric.expression is not None:
        cure = Words("condition it with {}", Set("given", {"column": "value"}, of="Metric"))
        required = "is given an expression, which only fits the status quo"
        return Fault(argument, required, subject=subject, cure=cure)
    if metric.each is not None:
        required = "is a mean per score bin, not one level"
        return Fault(argument, required, subject=subject, cure="take 'ppv' or 'brier'")
    if not _depends_on_rule(metric):
        return Fault(
            argument,
            "is the same under every rule, so no rule can improve it",
            subject=subject,
            cure="ask for a metric that depends on the decision",
        )
    return None


def _depends_on_rule(metric: Metric) -> bool:
    parts = [metric.value, *metric.conditions]
    return any(isinstance(part, Role) and {"decision", "score"} & set(part.needs) for part in parts)


def evaluate(worth: Worth, seen: SeenRows, decision: Floats, score: Floats | None) -> tuple[Floats, Floats]:
    """(u, w) of every row under one rule's decisions and scores."""
    if isinstance(worth.what, Payoff):
        selected, rejected = (
            seen.values[part] if isinstance(part, str) else np.full(decision.size, float(part))
            for part in (worth.what.selected, worth.what.rejected)
        )
        return np.where(decision == 1, selected, rejected), np.ones(decision.size)
    if isinstance(worth.what, Area):
        return _placed(seen, score)
    if isinstance(worth.what, Revenue):
        return _paid(seen, score), np.ones(decision.size)
    metric = worth.what
    roles = {"decision": decision, "outcome": seen.outcome, "score": score}
    given = np.ones(decision.size, dtype=bool)
    for key, admitted in metric.conditions.items():
        given &= _meets(key, admitted, seen, roles)
    if not isinstance(metric.value, Role):
        value = seen.values[metric.value]
    else:
        value = np.asarray(metric.value.of(roles), dtype=np.float64)
        if metric.value.wants and not np.isfinite(value[given]).all():
            required = f"needs {metric.value.wants}, but the scores of a rule are others"
            raise NotApplicable("improve", Fault("", f"{metric.name!r} {required}"))
    return worth.sign * np.where(given, value, 0.0), given.astype(np.float64)


def _paid(seen: SeenRows, price: Floats | None) -> Floats:
    """The price from everybody who would pay that much."""
    assert seen.outcome is not None
    assert price is not None
    return np.where(seen.outcome >= price, price, 0.0)


def _placed(seen: SeenRows, score: Floats | None) -> tuple[Floats, Floats]:
    """Each positive person's share of negatives below them: the mean of all is the area under the curve."""
    assert seen.outcome is not None
    positive = seen.outcome == 1
    value = np.zeros(seen.outcome.size)
    if score is not None and positive.any() and not positive.all():
        value[positive] = placement_values(seen.outcome, score)[0]
    return value, positive.astype(np.float64)


def _meets(
    key: Role | str, admitted: Collection[Any], seen: SeenRows, roles: Mapping[str, Any]
) -> NDArray[np.bool_]:
    """Whose role, or label in a column, is among those admitted."""
    if isinstance(key, Role):
        return np.isin(np.asarray(key.of(roles), dtype=np.float64), [float(value) for value in admitted])
    return seen.labels[key].among({canonical(value) for value in admitted})

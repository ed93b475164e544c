"""What a rule is worth: any metric, or a payoff, evaluated under the decisions of any rule.

A utility is a pair of row values (u, w) whose group level is Σu/Σw. For a metric E[value | given] it is
(value·given, given); for a payoff it is (what the decision yields, 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairtrial.data.cells import Coded
from fairtrial.errors import Fault, InputError, NotApplicable, Set, Words
from fairtrial.labels import canonical
from fairtrial.methods.improve.payoff import Payoff
from fairtrial.metrics.metric import Metric
from fairtrial.metrics.table import find_metric
from fairtrial.metrics.values import Role

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Worth:
    """A metric or payoff as improve uses it; `sign` −1 turns one that is better when lower."""

    what: Metric | Payoff
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

    @property
    def needs_score(self) -> bool:
        return isinstance(self.what, Metric) and "score" in self.what.needs

    @property
    def needs_outcome(self) -> bool:
        return isinstance(self.what, Metric) and "outcome" in self.what.needs

    @property
    def value_columns(self) -> tuple[str, ...]:
        """Columns read as numbers."""
        if isinstance(self.what, Payoff):
            return self.what.columns
        return (self.what.value,) if isinstance(self.what.value, str) else ()

    @property
    def condition_columns(self) -> tuple[str, ...]:
        """Columns read as labels."""
        if isinstance(self.what, Payoff):
            return ()
        return tuple(key for key in self.what.conditions if isinstance(key, str))


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """What is known of the rows, whatever the rule."""

    outcome: Floats | None
    values: Mapping[str, Floats]
    labels: Mapping[str, Coded]

    def part(self, index: NDArray[np.intp]) -> Observed:
        return Observed(
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
    metric = find_metric(who, asked, argument)
    fault = _metric_fault(argument, metric)
    if fault:
        raise NotApplicable(who, fault)
    return Worth(metric, -1.0 if accuracy and metric.hurts == "above" else 1.0)


def _payoff(who: str, argument: str, content: Mapping[str, object]) -> Payoff:
    selected, rejected = content["selected"], content.get("rejected", 0.0)
    complete = "name" in content and not set(content) - {"name", "selected", "rejected"}
    if (
        not complete
        or not isinstance(selected, str | float | int)
        or not isinstance(rejected, str | float | int)
    ):
        required = "as a payoff needs 'name' and 'selected' and may have 'rejected'"
        raise InputError(who, Fault(argument, required))
    return Payoff(str(content["name"]), selected, rejected)


def _metric_fault(argument: str, metric: Metric) -> Fault | None:
    """Why a metric has no level that a rule could improve; None when it has one."""
    subject = f"the {argument} {metric.name!r}"
    if metric.expression is not None:
        cure = Words("condition it with {}", Set("given", {"column": "value"}, of="Metric"))
        required = "is given an expression, which only fits the status quo"
        return Fault(argument, required, subject=subject, cure=cure)
    if metric.each is not None:
        required = "is a mean per score bin, not one level"
        return Fault(argument, required, subject=subject, cure="take 'ppv' or 'brier'")
    if not _depends_on_rule(metric):
        return Fault(argument, "is the same under every rule, so no rule can improve it", subject=subject)
    return None


def _depends_on_rule(metric: Metric) -> bool:
    parts = [metric.value, *metric.conditions]
    return any(isinstance(part, Role) and {"decision", "score"} & set(part.needs) for part in parts)


def evaluate(worth: Worth, seen: Observed, decision: Floats, score: Floats | None) -> tuple[Floats, Floats]:
    """(u, w) of every row under one rule's decisions and scores."""
    if isinstance(worth.what, Payoff):
        selected, rejected = (
            seen.values[part] if isinstance(part, str) else np.full(decision.size, float(part))
            for part in (worth.what.selected, worth.what.rejected)
        )
        return np.where(decision == 1, selected, rejected), np.ones(decision.size)
    metric = worth.what
    given = np.ones(decision.size, dtype=bool)
    for key, admitted in metric.conditions.items():
        if isinstance(key, Role):
            given &= np.isin(_role_value(key, seen, decision, score), [float(value) for value in admitted])
        else:
            coded = seen.labels[key]
            wanted = {canonical(value) for value in admitted}
            given &= np.isin(coded.codes, [i for i, label in enumerate(coded.labels) if label in wanted])
    value = (
        _role_value(metric.value, seen, decision, score)
        if isinstance(metric.value, Role)
        else seen.values[metric.value]
    )
    if isinstance(metric.value, Role) and metric.value.wants and not np.isfinite(value[given]).all():
        required = f"needs {metric.value.wants}, but the scores of a rule are others"
        raise NotApplicable("improve", Fault("", f"{metric.name!r} {required}"))
    weight = given.astype(np.float64)
    return worth.sign * np.where(given, value, 0.0), weight


def _role_value(part: Role, seen: Observed, decision: Floats, score: Floats | None) -> Floats:
    inputs = {"decision": decision, "outcome": seen.outcome, "score": score}
    return np.asarray(part.of(inputs), dtype=np.float64)

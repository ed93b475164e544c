"""A metric: every fairness criterion is a conditional mean per group, E[value | given].

A string is always a data column; roles are `role.decision`, `role.outcome`, `role.score` and what is derived from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from fairtrial._errors import Fault, InputError, Set, Words
from fairtrial._metrics.values import CONDITION_ROLES, ROLES, Role, role

Direction = Literal["above", "below"]


@dataclass(frozen=True, slots=True)
class Metric:
    """E[value | given], with what equality means and which direction hurts whom.

    Parameters
    ----------
    name : str
        What it is called in calls and files.
    value : Role or str
        What is averaged: a role, or a column of numbers.
    given : mapping or narwhals expression, optional
        Among whom: admitted values of roles or columns, or a condition; everyone by default.
    label : str, optional
        What readers call it; the name by default.
    equal : str, optional
        What equality between groups means, as a sentence.
    hurts : {'above', 'below'}, optional
        On which side of the target a group is harmed; None where that depends on the decision.
    harm : str, optional
        Who is harmed and how, as a sentence.
    each : Role, optional
        The role within whose every value groups are compared.

    Examples
    --------
    >>> from fairtrial import Metric, role
    >>> Metric("late_fee_rate", value="late_fee", given={role.decision: 1}).label
    'late fee rate'
    """

    name: str
    value: Role | str
    given: Any = field(default_factory=dict)
    label: str = ""
    equal: str = ""
    hurts: Direction | None = None
    harm: str = ""
    each: Role | None = None

    def __post_init__(self) -> None:
        fault = _part_fault(self) or _given_fault(self.given)
        if fault is not None:
            raise InputError("Metric", fault)
        if not self.label:
            object.__setattr__(self, "label", self.name.replace("_", " "))
        if not self.equal:
            object.__setattr__(self, "equal", f"every group has the same {self.label}")

    @property
    def conditions(self) -> dict[Role | str, tuple[Any, ...]]:
        """`given` as a dict of admitted values; empty when `given` is an expression."""
        if not isinstance(self.given, Mapping):
            return {}
        return {key: _values(value) for key, value in self.given.items()}

    @property
    def expression(self) -> Any:
        """`given` as a narwhals expression, or None when it is a dict."""
        return None if isinstance(self.given, Mapping) else self.given

    @property
    def needs(self) -> frozenset[str]:
        """The roles ('decision', 'outcome', 'score') the audit must have."""
        parts = [self.value, *self.conditions, *([self.each] if self.each else [])]
        return frozenset(need for part in parts if isinstance(part, Role) for need in part.needs)

    @property
    def columns(self) -> tuple[str, ...]:
        """The data columns it reads besides the roles."""
        return tuple(part for part in [self.value, *self.conditions] if isinstance(part, str))

    @property
    def conditions_on_outcome(self) -> bool:
        """Whether a real-valued outcome must be refused."""
        binary_only = isinstance(self.value, Role) and self.value.binary_outcome
        return ROLES["outcome"] in self.conditions or binary_only

    @property
    def binary(self) -> bool | None:
        """True for 0/1 values, False for real ones, None where only the data can tell."""
        if isinstance(self.value, str) or self.value.name == "outcome":
            return None
        return self.value.binary

    def to_dict(self) -> dict[str, Any]:
        """The form used in files.

        Returns
        -------
        dict
            Plain values, from which `find_metric` makes the metric again.
        """
        given = {_part_name(key): list(values) for key, values in self.conditions.items()}
        return {"name": self.name, "value": _part_name(self.value), "given": given, "label": self.label}


def _part_name(part: Role | str) -> str:
    return f"role.{part.name}" if isinstance(part, Role) else part


def _values(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple | set | frozenset) else (value,)


def _part_fault(metric: Metric) -> Fault | None:
    if not isinstance(metric.name, str) or not metric.name:
        return Fault("name", "must be a non-empty text", got=metric.name)
    if not isinstance(metric.value, Role | str):
        return Fault("value", "must be a role or a column name", got=metric.value)
    if metric.value == ROLES["score_bin"]:
        required = Words("must be a role with a number; role.score_bin is for {}", Set("given"))
        return Fault("value", required)
    if metric.hurts not in (None, "above", "below"):
        return Fault("hurts", "must be 'above', 'below' or None", got=metric.hurts)
    return None


def _given_fault(given: object) -> Fault | None:
    if not isinstance(given, Mapping):
        if type(given).__module__.split(".")[0] == "narwhals":
            return None
        kind = type(given).__name__
        return Fault("given", f"must be a dict {{name: value(s)}} or a narwhals expression, got {kind}")
    for key in given:
        if not isinstance(key, Role | str):
            return Fault("given", "must have roles or column names as keys", got=key)
        if isinstance(key, Role) and key.name not in CONDITION_ROLES:
            listed = ", ".join(f"role.{name}" for name in CONDITION_ROLES[:-1])
            return Fault(
                "given", f"takes {listed} or role.{CONDITION_ROLES[-1]}", got=key, cure="use one of these"
            )
    return None


# -- What a column says, as the file writes it: "survived = yes", "the mean of affairs".
def label_text(positive: Any, name: str, value: int) -> str:
    """How the file writes a 1 or a 0 of a role: the labels that count as 1, or what is none of them.

    >>> label_text({"outcome": ["yes"]}, "outcome", 1), label_text(None, "outcome", 0)
    ('yes', '0')
    """
    label = positive.get(name) if isinstance(positive, Mapping) else positive
    if label is None:
        return str(value)
    several = [str(one) for one in label] if isinstance(label, list | tuple) else [str(label)]
    if len(several) == 1:
        return several[0] if value == 1 else f"not {several[0]}"
    return " or ".join(several) if value == 1 else f"neither {' nor '.join(several)}"


def told_label(metric: Metric, outcome: str | None, positive: Any, *, real: bool) -> str:
    """A metric's label; a base rate with the outcome that it is the rate or the mean of."""
    if outcome is None or metric.value != role.outcome or metric.conditions or metric.expression is not None:
        return metric.label
    told = f"mean of {outcome}" if real else f"{outcome} = {label_text(positive, 'outcome', 1)}"
    return f"{told} ({metric.label})"

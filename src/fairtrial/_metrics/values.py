"""Roles, the values derived from them, each written once, and the metric: a mean of a value per group.

A value is one function of arrays and of query expressions alike: it adds, multiplies and compares what it is given, and
takes the rest (`where`, `log`) from the operations of their kind. Every method evaluates a metric through it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from fairtrial._errors import Fault, InputError, Set, Words

LEAST_PROBABILITY = 1e-15  # the log of a smaller one is taken as the log of this one
ROUNDING = 1e-9  # a mean of probabilities may be a hair above 1


class Operations(Protocol):
    """What a value may use besides arithmetic and comparisons, for one kind of operand."""

    def where(self, condition: Any, then: Any, otherwise: Any) -> Any: ...
    def log(self, operand: Any) -> Any: ...


class ArrayOperations:
    """The operations on NumPy arrays; NumPy is imported when they are used, so that declarations stay light."""

    def where(self, condition: Any, then: Any, otherwise: Any) -> Any:
        import numpy as np

        return np.where(condition, then, otherwise)

    def log(self, operand: Any) -> Any:
        import numpy as np

        return np.log(operand)


ARRAYS = ArrayOperations()


def itself(ops: Operations, part: Any) -> Any:
    """The part as it is."""
    return part


def complement(ops: Operations, part: Any) -> Any:
    """1 where the part is 0."""
    return 1.0 - part


def same(ops: Operations, decision: Any, outcome: Any) -> Any:
    """1 where the decision equals the outcome."""
    return ops.where(decision == outcome, 1.0, 0.0)


def differs(ops: Operations, decision: Any, outcome: Any) -> Any:
    """1 where the decision is not the outcome."""
    return ops.where(decision == outcome, 0.0, 1.0)


def squared_error(ops: Operations, score: Any, outcome: Any) -> Any:
    return (score - outcome) * (score - outcome)


def brier(ops: Operations, score: Any, outcome: Any) -> Any:
    """The squared error; infinite where the score is no probability, which whoever evaluates it refuses."""
    return ops.where(_is_outside(score), float("inf"), squared_error(ops, score, outcome))


def absolute_error(ops: Operations, score: Any, outcome: Any) -> Any:
    return ops.where(score >= outcome, score - outcome, outcome - score)


def log_loss(ops: Operations, score: Any, outcome: Any) -> Any:
    """Infinite where the score is no probability, which whoever evaluates it refuses."""
    most = 1 - LEAST_PROBABILITY
    inside = ops.where(score < LEAST_PROBABILITY, LEAST_PROBABILITY, ops.where(score > most, most, score))
    loss = -(outcome * ops.log(inside) + (1 - outcome) * ops.log(1 - inside))
    return ops.where(_is_outside(score), float("inf"), loss)


def _is_outside(score: Any) -> Any:
    """Where a score is no probability."""
    return (score < -ROUNDING) | (score > 1 + ROUNDING)


@dataclass(frozen=True, slots=True)
class Role:
    """A part a column plays in the decision system, or a value derived from such parts.

    Parameters
    ----------
    name : str
        What it is called; `role.name` in files.
    needs : tuple of str
        The parts it is made of, among 'decision', 'outcome' and 'score'.
    words : str
        What it is, for a sentence.
    formula : callable, optional
        The value from `(operations, *parts)`, the parts in the order of `needs`; the part itself by default.
    binary : bool
        Whether it is 0 or 1.
    binary_outcome : bool
        Whether it has a meaning only for an outcome of 0 and 1.
    wants : str
        What the parts must be where the formula is infinite otherwise: "scores from 0 to 1".
    """

    name: str
    needs: tuple[str, ...]
    words: str
    formula: Callable[..., Any] = field(default=itself, repr=False, compare=False)
    binary: bool = False
    binary_outcome: bool = False
    wants: str = ""

    def of(self, parts: Mapping[str, Any], ops: Operations = ARRAYS) -> Any:
        """The value, from the parts it needs.

        Parameters
        ----------
        parts : mapping
            Decision, outcome and score, as far as needed, as arrays or expressions.
        ops : Operations
            The operations on such parts; those on arrays by default.

        Returns
        -------
        array or expression
            Of the kind of the parts.

        Examples
        --------
        >>> import numpy as np
        >>> role.correct.of({"decision": np.array([1.0, 0.0]), "outcome": np.array([1.0, 1.0])}).tolist()
        [1.0, 0.0]
        """
        return self.formula(ops, *(parts[need] for need in self.needs))

    def __repr__(self) -> str:
        return f"role.{self.name}"


_BOTH = ("decision", "outcome")
_SCORED = ("score", "outcome")
ROLES: dict[str, Role] = {
    part.name: part
    for part in (
        Role("decision", ("decision",), "the decision", binary=True),
        Role("amount", ("decision",), "what was decided, as a number"),
        Role("outcome", ("outcome",), "the outcome"),
        Role("score", ("score",), "the score"),
        Role("score_bin", ("score",), "the score bin"),
        Role("not_decision", ("decision",), "a negative decision", complement, binary=True),
        Role("not_outcome", ("outcome",), "a negative outcome", complement, binary=True, binary_outcome=True),
        Role("correct", _BOTH, "a correct decision", same, binary=True, binary_outcome=True),
        Role("error", _BOTH, "a wrong decision", differs, binary=True, binary_outcome=True),
        Role("squared_error", _SCORED, "the squared error of the score", squared_error),
        Role("brier", _SCORED, "the squared error of the probability", brier, wants="scores from 0 to 1"),
        Role("absolute_error", _SCORED, "the absolute error of the score", absolute_error),
        Role("log_loss", _SCORED, "the log loss of the score", log_loss, binary_outcome=True,
             wants="scores from 0 to 1"),
    )
}  # fmt: skip
CONDITION_ROLES = ("decision", "outcome", "score", "score_bin")  # what `given` may hold fixed


class RoleNames:
    """`role.decision`, `role.outcome`, …: the roles by name.

    Examples
    --------
    >>> role.tpr
    Traceback (most recent call last):
    AttributeError: role has no 'tpr'; roles are decision, amount, outcome, score, score_bin, not_decision, \
not_outcome, correct, error, squared_error, brier, absolute_error, log_loss
    >>> role.error.words
    'a wrong decision'
    """

    def __getattr__(self, name: str) -> Role:
        if name in ROLES:
            return ROLES[name]
        raise AttributeError(f"role has no {name!r}; roles are {', '.join(ROLES)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *ROLES]


role = RoleNames()


# -- A metric: every fairness criterion is a conditional mean per group, E[value | given]. A string is
# always a data column; roles are `role.decision`, `role.outcome`, `role.score` and what is derived from
# them.

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

"""The parts columns play in a decision system, and the values derived from them, each written once.

A value is one function of arrays and of query expressions alike: it adds, multiplies and compares what it is given, and
takes the rest (`where`, `log`) from the operations of their kind. Every method evaluates a metric through it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

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

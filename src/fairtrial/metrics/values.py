"""The parts columns play in a decision system, and the values derived from them."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace


@dataclass(frozen=True, slots=True)
class Role:
    """A part a column plays in the decision system, or a value derived from such parts."""

    name: str
    needs: tuple[str, ...]
    words: str
    binary: bool = False

    def __repr__(self) -> str:
        return f"role.{self.name}"


ROLES = {
    part.name: part
    for part in (
        Role("decision", ("decision",), "the decision", True),
        Role("outcome", ("outcome",), "the outcome"),
        Role("score", ("score",), "the score"),
        Role("score_bin", ("score",), "the score bin"),
        Role("not_decision", ("decision",), "a negative decision", True),
        Role("not_outcome", ("outcome",), "a negative outcome", True),
        Role("correct", ("decision", "outcome"), "a correct decision", True),
        Role("error", ("decision", "outcome"), "a wrong decision", True),
        Role("squared_error", ("score", "outcome"), "the squared error of the score"),
        Role("absolute_error", ("score", "outcome"), "the absolute error of the score"),
        Role("log_loss", ("score", "outcome"), "the log loss of the score"),
    )
}
role = SimpleNamespace(**ROLES)
CONDITION_ROLES = ("decision", "outcome", "score", "score_bin")  # what `given` may hold fixed

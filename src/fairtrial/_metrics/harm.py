"""What is good for a person: on which side of a metric a group is harmed, once it is known what decisions do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fairtrial._errors import Example, Fault, InputError, Set, Words
from fairtrial._metrics.metric import Direction, Metric
from fairtrial._metrics.table import METRICS
from fairtrial._metrics.values import Role, role

Effect = Literal["harmed", "favoured", ""]
High = Literal["high", "low"]

# On which side a group is harmed where a decision, a score or an outcome of 1 speaks for a person; where it speaks
# against one, on the other. More people whom the outcome speaks for, at the same decision or score, had a higher bar.
_WHERE_GOOD: dict[str, Direction] = {
    "decision": "below",
    "amount": "below",
    "not_decision": "above",
    "score": "below",
    "outcome": "above",
    "not_outcome": "below",
}
Part = Literal["decision", "score", "outcome", ""]
_TURNS_ON: dict[str, Part] = {
    "decision": "decision",
    "not_decision": "decision",
    "amount": "decision",
    "score": "score",
    "outcome": "outcome",
    "not_outcome": "outcome",
}
_OTHER: dict[Direction, Direction] = {"above": "below", "below": "above"}


@dataclass(frozen=True, slots=True)
class Favours:
    """What is good for a person, as far as it is known.

    Parameters
    ----------
    decision : {0, 1} or None
        The decision that is good for a person.
    score : {'high', 'low'} or None
        The scores that are.
    outcome : {0, 1} or None
        The outcome that speaks for a good decision.
    """

    decision: int | None = None
    score: High | None = None
    outcome: int | None = None

    def speaks(self, part: Part) -> bool | None:
        """Whether more of a part is good for a person; None where nobody knows.

        Parameters
        ----------
        part : {'decision', 'score', 'outcome', ''}
            What a metric turns on.

        Returns
        -------
        bool or None
            Of the score, whether high ones are good.
        """
        if part == "score":
            return None if self.score is None else self.score == "high"
        known = self.outcome if part == "outcome" else self.decision
        return None if known is None else known == 1


def describes_people(metric: Metric) -> bool:
    """Whether it is about who people are and not about what was decided: the outcome, whatever the decision."""
    return metric.needs == {"outcome"}


def turns_on(metric: Metric) -> Part:
    """The part whose good side decides who is harmed by the metric; empty where none does.

    Examples
    --------
    >>> [turns_on(METRICS[name]) for name in ("fpr", "mean_score", "ppv", "accuracy")]
    ['decision', 'score', 'outcome', '']
    """
    if _hurts_by_itself(metric) or describes_people(metric) or not isinstance(metric.value, Role):
        return ""
    return _TURNS_ON.get(metric.value.name, "")


def _hurts_by_itself(metric: Metric) -> bool:
    """Whether it is one of somebody's own that says which side hurts; those of the table keep their sentence."""
    return metric.hurts is not None and not any(row.harm == metric.harm for row in METRICS.values())


def harmed_side(metric: Metric, favours: Favours) -> Direction | None:
    """On which side of its target a group is harmed; None where nobody said what is good for a person.

    Parameters
    ----------
    metric : Metric
        One of one's own may say itself which side hurts.
    favours : Favours
        What is good for a person.

    Returns
    -------
    {'above', 'below'} or None
        The harmed side.

    Examples
    --------
    >>> good, bad = Favours(decision=1), Favours(decision=0, score="low")
    >>> harmed_side(METRICS["selection_rate"], good), harmed_side(METRICS["fpr"], bad)
    ('below', 'above')
    >>> harmed_side(METRICS["mean_score"], bad), harmed_side(METRICS["mean_score"], good)
    ('above', None)
    """
    if describes_people(metric):
        return metric.hurts if _hurts_by_itself(metric) else None
    part = turns_on(metric)
    if not part or not isinstance(metric.value, Role):
        return metric.hurts if _hurts_by_itself(metric) or favours != Favours() else None
    good, side = favours.speaks(part), _WHERE_GOOD[metric.value.name]
    return None if good is None else side if good else _OTHER[side]


def find_side(who: str, direction: str | None, metric: Metric, side: Direction | None) -> str | None:
    """The direction with 'harmed' as the side it is, which must be known from the audit or from the metric."""
    if direction != "harmed":
        return direction
    if side is None:
        required = Words("of {} does not say who is harmed", Example("harmed"))
        raise InputError(who, Fault("direction", required, cure=say_what_is_good(metric)))
    return side


def say_what_is_good(metric: Metric) -> Words:
    """What the audit must say before a group can be called harmed by the metric."""
    if describes_people(metric):
        return Words("it describes the people, not the decisions; leave the direction out")
    if turns_on(metric) == "score":
        return Words("say which scores are good for a person with {}", Set("score_favours", of="Audit"))
    return Words("say which decision is good for a person with {}", Set("favourable", of="Audit"))


def effect_of(gap: float, side: Direction | None, none: float = 0.0) -> Effect:
    """Whether a gap harms or favours the group; empty where that is not known."""
    if side is None or gap == none:
        return ""
    return "harmed" if (gap > none) == (side == "above") else "favoured"


def is_selection(metric: Metric) -> bool:
    """Whether it is the rate of the decision among everybody."""
    return metric.value is role.decision and not metric.conditions and metric.expression is None

"""What is good for a person: on which side of a metric a group is harmed, once it is known what the decision does."""

from __future__ import annotations

from typing import Literal

from fairtrial._errors import Example, Fault, InputError, Set, Words
from fairtrial._metrics.metric import Direction, Metric
from fairtrial._metrics.table import METRICS
from fairtrial._metrics.values import Role, role

Effect = Literal["harmed", "favoured", ""]

# On which side a group is harmed where decision 1 is good for a person; where it is bad, on the other one. Outcome 1
# is what makes decision 1 right, so that more of it at the same decision or score means a higher bar for the group.
_WHERE_GOOD: dict[str, Direction] = {
    "decision": "below",
    "amount": "below",
    "not_decision": "above",
    "score": "below",
    "outcome": "above",
    "not_outcome": "below",
}
_OTHER: dict[Direction, Direction] = {"above": "below", "below": "above"}


def describes_people(metric: Metric) -> bool:
    """Whether it is about who people are and not about what was decided: the outcome, whatever the decision."""
    return metric.needs == {"outcome"}


def harmed_side(metric: Metric, favourable: int | None) -> Direction | None:
    """On which side of its target a group is harmed; None where nobody said what is good for a person.

    Parameters
    ----------
    metric : Metric
        One of one's own may say itself which side hurts.
    favourable : {0, 1} or None
        The decision that is good for a person.

    Returns
    -------
    {'above', 'below'} or None
        The harmed side.

    Examples
    --------
    >>> harmed_side(METRICS["selection_rate"], 1), harmed_side(METRICS["fpr"], 0), harmed_side(METRICS["fpr"], None)
    ('below', 'above', None)
    """
    if metric.hurts is not None and METRICS.get(metric.name) is not metric:
        return metric.hurts
    if favourable is None or describes_people(metric):
        return None
    side = _WHERE_GOOD.get(metric.value.name) if isinstance(metric.value, Role) else None
    if side is None:
        return metric.hurts  # wrong decisions and worse predictions hurt whatever is decided
    return side if favourable == 1 else _OTHER[side]


def find_side(who: str, direction: str | None, metric: Metric, favourable: int | None) -> str | None:
    """The direction with 'harmed' as the side it is; that must be known from the audit or from the metric."""
    if direction != "harmed":
        return direction
    side = harmed_side(metric, favourable)
    if side is None:
        required = Words("of {} does not say who is harmed", Example("harmed"))
        cure = Words("say which decision is good for a person with {}", Set("favourable", of="Audit"))
        if describes_people(metric):
            cure = Words("it describes the people, not the decisions; leave the direction out")
        raise InputError(who, Fault("direction", required, cure=cure))
    return side


def effect_of(gap: float, side: Direction | None, none: float = 0.0) -> Effect:
    """Whether a gap harms or favours the group; empty where that is not known."""
    if side is None or gap == none:
        return ""
    return "harmed" if (gap > none) == (side == "above") else "favoured"


def is_selection(metric: Metric) -> bool:
    """Whether it is the rate of the decision among everybody."""
    return metric.value is role.decision and not metric.conditions and metric.expression is None

"""What a decision yields per person, where that is not a metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Payoff:
    """What a decision yields per person: `selected` where it is positive, `rejected` where it is not.

    Higher is better.

    Parameters
    ----------
    name : str
        What it is called.
    selected, rejected : str or float
        A numeric column or a number.
    at_least : float, optional
        The least that a selected person can yield, where the data may not hold a loss as large as can happen.

    Examples
    --------
    >>> Payoff("saved_money", selected="margin", rejected=0).label
    'saved money'
    """

    name: str
    selected: str | float
    rejected: str | float = 0.0
    at_least: float | None = None

    @property
    def label(self) -> str:
        """The name as people read it."""
        return self.name.replace("_", " ")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it needs."""
        return tuple(part for part in (self.selected, self.rejected) if isinstance(part, str))

    def to_dict(self) -> dict[str, Any]:
        """The form used in files."""
        stated = {} if self.at_least is None else {"at_least": self.at_least}
        return {"name": self.name, "selected": self.selected, "rejected": self.rejected, **stated}

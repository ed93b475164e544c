"""The parts of a card: what is proposed, why, and what else it could be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

UNKNOWN = "I don't know"
NO_COLUMN = "no column"


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer to an item: in words, about how many of the rows looked at, and what it writes into the audit file."""

    value: Any  # None: there is none, or nobody knows
    words: str
    people: int | None = None
    writes: dict[str, Any] = field(default_factory=dict)  # a part of the audit file's content
    then: tuple[Item, ...] = ()  # what is to be asked once this is chosen


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to confirm or to ask.

    `value` is what is proposed, one of the choices' values or a list of them. It is `sure` where the file itself says
    so; what is not sure is asked for, and never written unasked.
    """

    key: str
    question: str  # with what the file shows
    value: Any
    reason: str
    sure: bool
    choices: tuple[Choice, ...]
    several: bool = False  # whether more than one choice can be taken


@dataclass(frozen=True, slots=True)
class Card:
    """Items that a reader thinks of together."""

    key: str
    title: str
    items: tuple[Item, ...]

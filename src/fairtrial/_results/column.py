"""What a result's table holds, as facts: columns that say what they are, states with their reasons, undefined cells."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["text", "people", "count", "rate", "points", "ratio", "number", "p", "flag", "state"]
Tone = Literal["good", "bad", "open"]
LABELS = ("text", "flag", "state")  # kinds that say who and what, not how much


@dataclass(frozen=True, slots=True)
class Column:
    """One fixed column of a result's table.

    Parameters
    ----------
    name : str
        Its key in the rows; the same quantity has the same name in every result.
    title : str
        Its heading.
    kind : str
        What it is: "people" counts people and is masked where they are few, "count" counts anything else; "rate" is
        a share, "points" a difference of shares, "ratio", "number", "p" a p-value, "flag" yes or no, "state" the code
        of a `State`, "text" a label.
    shown : bool
        Whether printed tables have it; saved ones always do.
    shown_with : str
        The column beside which printed tables have it even so.
    part_of : str
        Of a count: the column of people whom it counts a part of, such as the events among n.
    share_of : str
        Of a rate: the column of people whose share it is; the two give a count away.
    made_of : str
        The column from which it could be worked out, and with which it is masked.
    """

    name: str
    title: str
    kind: Kind
    shown: bool = True
    part_of: str = ""
    share_of: str = ""
    shown_with: str = ""
    made_of: str = ""

    @property
    def is_low(self) -> bool:
        """Whether it holds lower limits; its partner of upper limits is shown in the same cell."""
        return self.name == "low" or self.name.endswith("_low")

    @property
    def is_high(self) -> bool:
        return self.name == "high" or self.name.endswith("_high")

    @property
    def estimate(self) -> str:
        """The column that it gives limits of, or is made of; itself where there is none."""
        return self.made_of or self.name.removesuffix("_low").removesuffix("_high")

    @property
    def counts_people(self) -> bool:
        """Whether it says how many people a row is about."""
        return self.kind == "people" and not self.part_of

    @property
    def partner(self) -> str:
        """The column of upper limits that belongs to one of lower limits."""
        return self.name.removesuffix("low") + "high"


def with_limits(
    name: str, title: str, kind: Kind, *, shown: bool = True, share_of: str = ""
) -> tuple[Column, Column, Column]:
    """An estimate and the limits of its interval, named alike in every result."""
    low, high = (Column(f"{name}_{end}", end, kind, shown) for end in ("low", "high"))
    return Column(name, title, kind, shown, share_of=share_of), low, high


def state_columns(title: str) -> tuple[Column, Column]:
    """A row's state and its reason."""
    return Column("state", title, "state"), Column("state_reason", "reason", "text", shown=False)


@dataclass(frozen=True, slots=True)
class StateKind:
    """One state that a row of a result can be in.

    `words` is what people read (the code itself unless said), `tone` its colour, `compared` whether the row's group
    took part in a comparison, and `found` whether the row claims a finding, as one with a bad tone always does.
    """

    code: str
    tone: Tone = "open"
    words: str = ""
    compared: bool = True
    found: bool = False

    @property
    def text(self) -> str:
        return self.words or self.code


@dataclass(frozen=True, slots=True)
class State:
    """The state of one row, with the reason where there is one."""

    code: str
    reason: str = ""

    def cells(self) -> dict[str, Any]:
        """As it stands in a row."""
        return {"state": self.code, "state_reason": self.reason or None}


MASKED = StateKind("masked", compared=False)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A code for machines and a sentence a person can quote.

    A verdict is neither true nor false: `assert result.verdict` would pass whatever was found. `about` names the rows
    whose numbers the sentence tells, each by some of its cells (none of them: every row), and `people` a count of
    people that it tells besides, so that masking need not read it.
    """

    code: str
    text: str
    about: tuple[Mapping[str, Any], ...] = field(default=(), compare=False, repr=False)
    people: int | None = field(default=None, compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "code": self.code,
            "text": self.text,
            **({"about": [dict(row) for row in self.about]} if self.about else {}),
            **({} if self.people is None else {"people": self.people}),
        }

    def tells_of(self, row: Mapping[str, Any]) -> bool:
        """Whether the sentence tells numbers of the row."""
        return any(all(row.get(name) == value for name, value in cells.items()) for cells in self.about)

    def __bool__(self) -> bool:
        raise TypeError(
            f"a verdict is neither true nor false; compare its code, here {self.code!r}: "
            "result.verdict.code == 'certified', or let trial.check(fail_on=…) decide"
        )


@dataclass(frozen=True, slots=True)
class Primary:
    """One primary p-value of a result, as it enters the trial-wide correction.

    What the p-value is about goes with it where it exists: the effect with its interval (`kind` says how
    views format it), what it is compared with, and how many people it rests on. `of_many` says that the p-value is
    about several equalities at once and the effect only the widest of their gaps.
    """

    metric: str
    subject: str
    p_value: float
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    kind: Kind = "points"
    against: str = ""
    n: int | None = None
    of_many: bool = False

    @classmethod
    def of_gap(cls, row: Mapping[str, Any], metric: str, against: str) -> Primary:
        """That of a row about one group's gap to its target."""
        name = "ratio" if row.get("scale") == "ratio" else "difference"
        effect, low, high = (scalar(row[column]) for column in (name, f"{name}_low", f"{name}_high"))
        kind: Kind = "points" if row["value_kind"] == "percent" else "number"
        kind = "ratio" if name == "ratio" else kind
        p_value = float(scalar(row["p_value"]))
        return cls(metric, str(row["group"]), p_value, effect, low, high, kind, against, int(row["n"]))


def undefined(reason: str, *, masked: bool = False) -> dict[str, Any]:
    """A value that does not exist or may not be shown, with the reason; never a bare NaN."""
    return {"value": None, "reason": reason, **({"masked": True} if masked else {})}


def scalar(cell: Any) -> Any:
    """The plain value of a cell; None where it is undefined."""
    return cell["value"] if isinstance(cell, Mapping) and "reason" in cell else cell


def reason(cell: Any) -> str | None:
    """Why a cell is undefined; None where it is defined."""
    return str(cell["reason"]) if isinstance(cell, Mapping) and "reason" in cell else None


def is_masked(row: Mapping[str, Any]) -> bool:
    """Whether a row was masked for publishing."""
    return any(isinstance(cell, Mapping) and cell.get("masked") is True for cell in row.values())


def defined_or(value: float, why: str) -> Any:
    """`value` as a float, or undefined with the reason when it is not finite."""
    return float(value) if math.isfinite(value) else undefined(why)


def escape(text: object) -> str:
    """Text from data, safe inside HTML."""
    return html.escape(str(text), quote=True)


# -- One row of a result from near: its rates beside those it is compared with, and how it was found.
@dataclass(frozen=True, slots=True)
class Mark:
    """A rate on the close-up's scale; `role` says whose it is."""

    label: str
    role: Literal["own", "expected", "others"]
    rate: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class CloseUp:
    """What a reader sees on opening a row: marks to draw, numbers in words, and how it was found."""

    title: str
    marks: tuple[Mark, ...]
    numbers: tuple[tuple[str, str], ...]
    found: tuple[str, ...]

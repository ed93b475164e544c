"""How far a loop is, and how long the rest will take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a named loop is; of a total of 0, what is being done before one begins."""

    name: str
    done: int
    total: int
    seconds: float

    @property
    def left(self) -> str:
        """About how long the rest will take, in words; nothing before the first part is done."""
        return time_left(self.done, self.total, self.seconds)


def time_left(done: int, total: int, seconds: float) -> str:
    """About how long the rest of a loop will take, at the pace so far.

    >>> time_left(250, 1000, 10.0), time_left(1, 100, 60.0), time_left(0, 10, 3.0), time_left(10, 10, 3.0)
    ('about 30 s left', 'about 99 min left', '', '')
    """
    if not 0 < done < total or seconds <= 0:
        return ""
    rest = seconds / done * (total - done)
    return f"about {rest:.0f} s left" if rest < 120 else f"about {rest / 60:.0f} min left"

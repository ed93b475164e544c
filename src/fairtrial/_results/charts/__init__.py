"""What the methods' charts share: theme, forest panels, pages and files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from altair import TopLevelMixin


# -- A chart with what belongs to it.


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart with its title and a sentence for those who cannot see it."""

    name: str
    title: str
    alt: str
    chart: TopLevelMixin

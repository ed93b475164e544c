"""Bounded lazy cache of what gaps need of their rows: of very many groups not all of it is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Kind = TypeVar("Kind")
MOST_KEPT = 40_000_000  # numbers, of all gaps together


class LazyCache(Generic[Kind]):
    """One thing per gap, made when first asked for and kept while there is room for its `numbers`; else made anew.

    Whatever is drawn in making it is drawn from a seed of its own, so that it is the same one every time.
    """

    def __init__(self, make: Callable[[int], Kind], count: int, numbers: int) -> None:
        self.make, self.count = make, count
        self.room = MOST_KEPT // max(numbers, 1)
        self.kept: dict[int, Kind] = {}

    def __iter__(self) -> Iterator[Kind]:
        for index in range(self.count):
            one = self.kept[index] if index in self.kept else self.make(index)
            if len(self.kept) < self.room:
                self.kept[index] = one
            yield one

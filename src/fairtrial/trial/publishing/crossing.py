"""Intersections of published groups: each is published only where no small count could be solved for with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

import numpy as np

from fairtrial.data.audit import Audit
from fairtrial.data.cells import Bools
from fairtrial.metrics.groups import Group
from fairtrial.trial.publishing.solvable import MOST_CELLS, Known
from fairtrial.trial.publishing.tables import by_case


class Crossings:
    """The table of all attributes at once, in the data's own labels, and what is published of it.

    Parameters
    ----------
    original, published : Audit
        With the data's own labels, and with joined ones.
    names : tuple of str
        The attributes that anything is published by.
    stands_for : mapping
        Per attribute the label that each of the data's own is published under.
    roles : tuple of str
        What tells cases apart.
    limit : int
        Counts of fewer people must not be found out.
    """

    def __init__(
        self,
        original: Audit,
        published: Audit,
        names: tuple[str, ...],
        stands_for: Mapping[str, Mapping[str, str]],
        roles: tuple[str, ...],
        limit: int,
    ) -> None:
        self.names = names
        self.stands_for = stands_for
        self.labels = {name: original.levels(name) for name in self.names}
        self.held: dict[Group, bool] = {}
        self.known: Known | None = None
        if published.unit is None and prod(map(len, self.labels.values())) <= MOST_CELLS:
            self.known = self._one_by_one(original, published, roles, limit)

    def _one_by_one(
        self, original: Audit, published: Audit, roles: tuple[str, ...], limit: int
    ) -> Known | None:
        """Every group of one attribute, published."""
        cells = original.cells(self.names, roles=roles, unknown=original.keeps_unlabelled)
        shape = [len(self.labels[name]) for name in self.names]
        place = np.ravel_multi_index(tuple(cells.codes.T.astype(np.int64)), shape)
        known = Known(by_case(cells, place, prod(shape)), limit)
        single = [Group(((name, (label,)),)) for name in self.names for label in published.levels(name)]
        return known if known.admit([self.members(group) for group in single]) else None

    def members(self, group: Group) -> Bools:
        """The cells of the table that belong to a published group."""
        inside = np.ones([len(self.labels[name]) for name in self.names], dtype=bool)
        for name, values in group.where:
            names = self.stands_for.get(name, {})
            chosen = np.array([names.get(label, label) in values for label in self.labels[name]])
            axes = [-1 if other == name else 1 for other in self.names]
            inside &= chosen.reshape(axes)
        return inside.reshape(-1)

    def decide(self, groups: Iterable[Group]) -> None:
        """Publish as many of them as may be, the largest first."""
        asked = [group for group in dict.fromkeys(groups) if group not in self.held]
        if self.known is None:
            self.held |= dict.fromkeys(asked, False)
            return
        counts = self.known.counts
        for group in sorted(asked, key=lambda group: -int(counts[self.members(group)].sum())):
            self.held[group] = self.known.admit([self.members(group)])

"""Attributes that overlap, such as race and race in two classes: published beside each other they can tell of few.

Of one attribute every published group has many people of each case. But where levels of two attributes exclude each
other, the difference of two groups may be a few people: "x or z" of one minus "x" of the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fairtrial.data.audit import Audit
from fairtrial.trial.publishing.joining import Parts
from fairtrial.trial.publishing.solvable import MOST_CELLS, Known
from fairtrial.trial.publishing.tables import people_by

MOST_TOGETHER = 4000  # cells of two attributes; beyond, the second one is left out


def apart(audit: Audit, parts: Mapping[str, Parts], roles: Sequence[str], limit: int) -> tuple[str, ...]:
    """The attributes that must not be published beside those before them."""
    kept: list[str] = []
    gone: list[str] = []
    for name in parts:
        tables = [[*kept, name]] if kept else []
        if tables and len(people_by(audit, tables[0], roles)[0]) > MOST_CELLS:
            tables = [[other, name] for other in kept]
        fits = all(_fits(audit, names, parts, roles, limit) for names in tables)
        (kept if fits else gone).append(name)
    return tuple(gone)


def _fits(
    audit: Audit, names: Sequence[str], parts: Mapping[str, Parts], roles: Sequence[str], limit: int
) -> bool:
    """Whether every group of these attributes may be published."""
    places, counts = people_by(audit, names, roles)
    if len(places) > MOST_TOGETHER:
        return False
    groups = [np.isin(places[:, i], part) for i, name in enumerate(names) for part in parts[name]]
    return Known(counts, limit).admit([group for group in groups if group.any()])

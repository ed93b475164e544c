"""An audit whose groups are coarser: labels joined into one, bins with fewer edges."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairtrial.data.audit import Audit


def joined_audit(
    audit: Audit,
    groups: Sequence[str],
    labels: Mapping[str, Mapping[str, str]],
    edges: Mapping[str, Sequence[float]],
) -> Audit:
    """A copy of the audit with these groups, `labels` that stand for others and other `edges` of bins."""
    other = copy.copy(audit)
    other.forget()
    other.groups = tuple(groups)
    other.joined = {name: dict(stands_for) for name, stands_for in labels.items()}
    other.bins = {**audit.bins, **{name: list(cut) for name, cut in edges.items()}}
    return other


def joined_label(members: Sequence[str]) -> str:
    """What joined labels are called together.

    >>> joined_label(["Asian", "Other"]), joined_label(["a", "b", "c", "d", "e", "f"])
    ('Asian or Other', 'a or b or c or d or 2 others')
    """
    listed = list(members) if len(members) <= 5 else [*members[:4], f"{len(members) - 4} others"]
    return " or ".join(listed)

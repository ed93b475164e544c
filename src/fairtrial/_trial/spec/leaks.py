"""Columns that say again what a decision, an outcome or a score says: no model would have had them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from fairtrial._trial.spec.attributes import one_to_one
from fairtrial._trial.spec.profile import Profile

ENOUGH = 20  # rows; of fewer, two columns may agree by chance


def leaking(parts: Sequence[Profile], profiles: Sequence[Profile]) -> Iterator[tuple[str, str]]:
    """Each column beside these parts that tells one of them, and which."""
    inside = {part.name for part in parts}
    for profile in profiles:
        told = next((part.name for part in parts if _tells(profile, part)), None)
        if profile.name not in inside and told is not None:
            yield profile.name, told


def _tells(profile: Profile, part: Profile) -> bool:
    if profile.name == part.name or profile.rows < ENOUGH or len(profile.labels) < 2:
        return False
    if part.binary:
        return profile.binary and one_to_one(profile, part)
    return part.numeric and profile.category and _cuts(profile, part)


def _cuts(profile: Profile, number: Profile) -> bool:
    """Whether each label stands for a range of the numbers, as Low, Medium and High do of a score."""
    known = (profile.codes >= 0) & (number.codes >= 0)
    values = np.array([*map(float, number.labels), 0.0])[number.codes][known]
    codes = profile.codes[known]
    if len(number.labels) <= len(profile.labels) or not codes.size:
        return False
    ends = sorted((values[codes == code].min(), values[codes == code].max()) for code in np.unique(codes))
    return len(ends) > 1 and all(high < low for (_, high), (low, _) in pairwise(ends))

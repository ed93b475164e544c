"""What readers must know of gaps between means of real values."""

from __future__ import annotations

from collections.abc import Sequence

from fairtrial.errors import Note, notes_where
from fairtrial.inference.bounds import ROWS_RULE, SKEWNESS_RULE, SUMS_RULE, BoundedGaps
from fairtrial.inference.compare.gaps import Gaps

NAMED = 8
WAYS = {
    ROWS_RULE: "skewness, a permutation test and the bootstrap allow, all by the rows",
    SUMS_RULE: "skewness allows, by the sums of each group (n, mean, second and third central sums, smallest and "
    "largest value)",
    SKEWNESS_RULE: "skewness allows",
}


def notes_of_means(several: Sequence[tuple[Gaps, Sequence[str]]]) -> list[Note]:
    """How means were compared, and where that may not hold; nothing for rates. Gaps come with their groups' labels."""
    means = [(gaps, labels) for gaps, labels in several if isinstance(gaps, BoundedGaps)]
    if not any(gaps.defined.any() for gaps, _ in means):
        return []
    ways = sorted({WAYS[gaps.bounded_by] for gaps, _ in means})
    bounds = (
        f"Means are never compared more sharply than {'; or '.join(ways)}. A side of an interval without a limit "
        "means that too few values carry the mean. What no row shows, such as a rare large loss that is absent from "
        "the file, nothing can protect against."
    )
    uneven = [
        label
        for gaps, labels in means
        for label, odd in zip(labels, gaps.uneven & gaps.defined, strict=True)
        if odd
    ]
    uneven = list(dict.fromkeys(uneven))
    named = "; ".join(uneven[:NAMED]) + (f" and {len(uneven) - NAMED} more" if len(uneven) > NAMED else "")
    spread = (
        f"Skewed values that spread more than twice as far in one of the two samples as in the other ({named}): with "
        "heavy tails and equal sizes a 5% test was then wrong in 6 to 11% of repeats."
    )
    return notes_where({"means": (True, bounds), "unequal-spread": (bool(uneven), spread)})

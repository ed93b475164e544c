"""Files by counting: published tables of who was chosen of how many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

Counts = Mapping[tuple[str, ...], tuple[int, int]]


def rows(counts: Counts, columns: tuple[str, ...], labels: tuple[Any, Any] = (1, 0)) -> pd.DataFrame:
    """Of each group `yes` of `n`, by counting."""
    told = [
        (*group, labels[0] if place < yes else labels[1])
        for group, (yes, n) in counts.items()
        for place in range(n)
    ]
    return pd.DataFrame(told, columns=list(columns))


# Bickel, Hammel and O'Connell (1975): the six largest departments of Berkeley, admitted of applied.
BERKELEY = {
    ("Male", "A"): (512, 825), ("Female", "A"): (89, 108), ("Male", "B"): (353, 560), ("Female", "B"): (17, 25),
    ("Male", "C"): (120, 325), ("Female", "C"): (202, 593), ("Male", "D"): (138, 417), ("Female", "D"): (131, 375),
    ("Male", "E"): (53, 191), ("Female", "E"): (94, 393), ("Male", "F"): (22, 373), ("Female", "F"): (24, 341),
}  # fmt: skip
# Bertrand and Mullainathan (2004): callbacks of 4,870 résumés.
RESUMES = {("Black",): (157, 2435), ("White",): (235, 2435)}
# The Titanic's people by sex (Dawson, 1995).
TITANIC = {("female",): (344, 470), ("male",): (367, 1731)}

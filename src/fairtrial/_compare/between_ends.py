"""What is behind gaps of which only the two ends are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairtrial._audit.cells import Cells, Rows
from fairtrial._inference.evidence.atoms import Comparison
from fairtrial._inference.numeric.roots import Floats


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Bounds:
    """Whose gaps they are, the rates of group and target at both ends, and the words for what is not known."""

    comparison: Comparison
    least: tuple[Floats, Floats]
    most: tuple[Floats, Floats]
    source: Cells | Rows  # what the numbers were made from, for the fingerprint
    depends: str  # "depends on …"
    assumption: str  # "whatever …", or what is assumed

    def more_cells(self, index: int, level: float) -> dict[str, Any]:
        """What else stands in a row."""
        return {}

    def more_words(self, index: int, level: float) -> str:
        """What else is said of a group."""
        return ""

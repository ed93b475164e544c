"""How certify, flag and plan infer a gap, as options."""

from __future__ import annotations

from typing import Annotated, Literal

from fairtrial._inference import ways
from fairtrial._options import Option

Scale = Annotated[
    ways.Scale,
    Option(
        "How a rate is compared: its difference to the target's, or its ratio to it (four fifths is 0.8)."
    ),
]
Adjustment = Annotated[
    Literal["strata", "model"],
    Option(
        "How people are made alike in `within`: counted in strata, or by models (doubly robust, cross-fitted)."
    ),
]

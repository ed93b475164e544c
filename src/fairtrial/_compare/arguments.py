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
Likelihood = Annotated[
    ways.Likelihood,
    Option("The likelihood of real values: of the rows, or of means and variances."),
]
TargetMethod = Annotated[
    ways.TargetMethod,
    Option("How an estimated target enters; 'plug-in' is the ELFA paper's and does not hold its level."),
]
RateInterval = Annotated[
    ways.RateMethod,
    Option("The interval of a rate against a known target; bounded: Wilson's, never inside the exact one."),
]
Refinement = Annotated[
    ways.Refinement | None,
    Option("The refinement of a real-valued metric against a known target."),
]

"""What is asked of the groups' gaps, and how they are to be inferred."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairtrial._errors import Fault
from fairtrial._inference.ways import Likelihood, RateMethod, Refinement, Scale, TargetMethod


@dataclass(frozen=True, slots=True)
class Inference:
    """How gaps are inferred, as the caller asked."""

    likelihood: Likelihood = "empirical"
    target_method: TargetMethod = "profile"
    rate_interval: RateMethod = "bounded"
    refinement: Refinement | None = None
    scale: Scale = "difference"
    within: Any = None  # the columns people must be alike in
    adjustment: str = "strata"  # how they are made alike

    @property
    def by_model(self) -> bool:
        return self.adjustment == "model"

    @property
    def strata(self) -> tuple[str, ...]:
        """The columns whose combinations are counted one by one."""
        return () if self.by_model else tuple(self.within or ())


def refuse_ways(inference: Inference, evidence: str) -> list[Fault]:
    """Other ways of inference than the evidence's own, by name."""
    return [
        Fault(name, f"is not for {evidence}", cure="Leave it out")
        for name, asked, usual in (
            ("likelihood", inference.likelihood, "empirical"),
            ("target_method", inference.target_method, "profile"),
            ("rate_interval", inference.rate_interval, "bounded"),
            ("refinement", inference.refinement, None),
        )
        if asked != usual
    ]

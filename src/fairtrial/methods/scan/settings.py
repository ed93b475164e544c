"""How a scan is done: what scan and scan_all share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from fairtrial.errors import Fault, Faults, choice_fault
from fairtrial.methods.scan import arguments as s
from fairtrial.work import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanSettings:
    """The options of one scan, as they are declared."""

    direction: s.Direction
    condition: s.Condition
    penalty: s.Penalty
    search: s.Search
    restarts: s.Restarts
    null: s.Null
    null_model: s.NullModel
    top: s.Top
    sigma: s.Sigma
    expectation: s.Expectation
    propensity: s.Propensity
    ridge: s.Ridge
    unsupported: s.Unsupported
    scores: s.Scores
    probability: s.Probability
    strata_bins: s.StrataBins
    confidence_level: float

    def recorded_models(self) -> dict[str, str]:
        """The models in words; a classifier with its own settings."""
        models = {"expectation": self.expectation, "propensity": self.propensity}
        return {name: model if isinstance(model, str) else repr(model) for name, model in models.items()}

    def to_dict(self) -> dict[str, Any]:
        """Everything that the numbers depend on."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | self.recorded_models()


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawSettings:
    """How luck is drawn; 0 permutations are as many as the correction over scans needs."""

    permutations: int
    seed: int
    sequential: bool = False
    jobs: int | None = None
    progress: Callable[[Progress], None] | None = None


def check_models(who: str, settings: ScanSettings) -> None:
    """A model is one of those named, or a classifier; a declaration cannot tell the second."""
    faults = Faults(who)
    for fault in (
        _model_fault("expectation", settings.expectation, ("logistic", "doubly-robust")),
        _model_fault("propensity", settings.propensity, ("logistic",)),
    ):
        if fault:
            faults.add(fault)
    faults.raise_any()


def _model_fault(argument: str, model: object, named: tuple[str, ...]) -> Fault | None:
    if isinstance(model, str):
        return choice_fault(argument, model, named)
    if hasattr(model, "fit") and hasattr(model, "predict_proba"):
        return None
    return Fault(argument, f"must be one of {list(named)} or a classifier with predict_proba", got=model)

"""The options of a scan, and the faults they can have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from fairtrial import work
from fairtrial.errors import Faults, check_between, choice_fault
from fairtrial.methods.scan.draws import NULLS


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a scan is done; the same for `scan` and `scan_all`."""

    direction: str | None = None
    condition: object = None
    penalty: float = 1.0
    search: Literal["auto", "exact", "restarts"] = "auto"
    restarts: int = 50
    null: Any = "stratified"
    null_model: Any = "pairwise"
    top: int = 5
    sigma: Any = "estimated"
    expectation: Any = "logistic"
    propensity: Any = "logistic"
    ridge: float = 0.01
    unsupported: Literal["flag", "drop"] = "flag"
    scores: Literal["exact", "bins"] = "exact"
    probability: Literal["score", "outcome-rate"] = "score"
    strata_bins: int = 10
    confidence_level: float = 0.95


def recorded(options: Options) -> dict[str, Any]:
    """The options as they are recorded."""
    content = {name: getattr(options, name) for name in Options.__slots__}
    for name in ("expectation", "propensity"):
        if not isinstance(content[name], str):
            content[name] = repr(content[name])
    return content


def check_options(who: str, options: Options, permutations: object, seed: int) -> None:
    faults = Faults(who)
    choices = {
        "search": ("auto", "exact", "restarts"),
        "null_model": ("pairwise", "saturated", "main"),
        "unsupported": ("flag", "drop"),
        "scores": ("exact", "bins"),
        "probability": ("score", "outcome-rate"),
    }
    for argument, allowed in choices.items():
        fault = choice_fault(argument, getattr(options, argument), allowed)
        if fault:
            faults.add(fault)
    for argument, optional in (("direction", ("above", "below", "both")), ("null", NULLS)):
        value = getattr(options, argument)
        fault = None if value is None else choice_fault(argument, value, optional)
        if fault:
            faults.add(fault)
    for argument, named in (("expectation", ("logistic", "doubly-robust")), ("propensity", ("logistic",))):
        value = getattr(options, argument)
        if isinstance(value, str):
            fault = choice_fault(argument, value, named)
            if fault:
                faults.add(fault)
        elif not (hasattr(value, "fit") and hasattr(value, "predict_proba")):
            faults.add(
                f"{argument!r} must be one of {list(named)} or a classifier with predict_proba, got {value!r}"
            )
    if options.sigma != "estimated" and not _positive(options.sigma):
        faults.add(f"'sigma' must be 'estimated' or a positive number, got {options.sigma!r}")
    if not _positive(options.ridge):
        faults.add(f"'ridge' must be a positive number, got {options.ridge!r}")
    if not _positive(options.penalty) and options.penalty != 0:
        faults.add(f"'penalty' must be a number of at least 0, got {options.penalty!r}")
    for argument, least, whole in (
        ("permutations", 19, permutations), ("top", 1, options.top), ("restarts", 1, options.restarts),
        ("strata_bins", 1, options.strata_bins),
    ):  # fmt: skip
        if isinstance(whole, bool) or not isinstance(whole, int) or whole < least:
            faults.add(f"{argument!r} must be a whole number of at least {least}, got {whole!r}")
    faults.raise_any()
    check_between(who, "confidence_level", options.confidence_level, 0, 1)
    work.check_seed(seed)


def _positive(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and 0 < value < float("inf")

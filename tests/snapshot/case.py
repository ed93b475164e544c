"""What a case is, and the short ways to write many of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import narwhals as nw

import fairtrial
from snapshot.inputs import audit, call, metric

BETA = {"g": "Beta"}
role = fairtrial.role


@dataclass(frozen=True)
class Case:
    """One call. `every`: the fast subset takes one of so many of its kind; `spark`: it needs a Spark session."""

    name: str
    run: Callable[[], Any]
    every: int = 4
    spark: bool = False

    @property
    def fast(self) -> bool:
        return not self.spark and self.every > 0 and crc32(self.name.encode()) % self.every == 0


def ask(function: str, of: str, *given: Any, **named: Any) -> Callable[[], Any]:
    return lambda: call(function, audit(of), *given, **named)


def in_words(options: dict[str, Any]) -> str:
    return ", ".join(f"{name}={in_word(value)}" for name, value in options.items())


def in_word(value: Any) -> str:
    if isinstance(value, str | int | float | bool | None):
        return str(value)
    if isinstance(value, list | tuple):
        return f"[{' '.join(in_word(item) for item in value)}]"
    if isinstance(value, dict):
        return "{" + " ".join(f"{in_word(key)}:{in_word(item)}" for key, item in value.items()) + "}"
    return getattr(value, "__name__", None) or getattr(value, "name", None) or type(value).__name__


def varied(
    function: str, of: str, *given: Any, every: int = 4, options: list[dict[str, Any]]
) -> Iterator[Case]:
    """One case per set of options."""
    for chosen in options:
        what = " ".join([*map(in_word, given), in_words(chosen)]).strip()
        yield Case(f"{function}/{of}/{what}", ask(function, of, *given, **chosen), every)


METRICS = [
    "selection_rate", "base_rate", "tpr", "fpr", "tnr", "fnr", "ppv", "npv", "fdr", "for", "accuracy",
    "error_rate",
    "mean_score", "balance_positive", "balance_negative", "brier", "log_loss", "squared_error",
    "absolute_error",
]  # fmt: skip
CRITERIA = [
    "statistical_parity", "equal_opportunity", "predictive_equality", "equalized_odds", "separation",
    "predictive_parity", "sufficiency", "accuracy_equality",
]  # fmt: skip
REAL = [
    "mean_score",
    "balance_positive",
    "balance_negative",
    "brier",
    "log_loss",
    "squared_error",
    "absolute_error",
]
BINARY = [name for name in METRICS if name not in REAL]
TARGETS: list[Any] = ["rest", "overall", BETA, 0.4]


def cost() -> Any:
    return metric("cost", "cost", label="cost of care", hurts="above")


def own_metrics() -> dict[str, Any]:
    """Metrics of one's own: columns, roles, lists of values, bins and expressions as conditions."""
    return {
        "column": metric("late", "flag"),
        "given column": metric("left", role.decision, {"side": "left"}),
        "given list": metric("levels", role.decision, {"level": ["level 0", "level 2"], role.outcome: 1}),
        "given score": metric("at", role.outcome, {role.score_bin: "0.3 to under 0.5"}),
        "expression": metric("old", role.decision, nw.col("age") > 45),
        "dict": {"name": "cost of the selected", "value": "cost", "given": {"role.decision": 1}},
        "cost": cost(),
        "hurts": metric("granted", role.decision, hurts="below", harm="less is worse", label="share granted"),
    }

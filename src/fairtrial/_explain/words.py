"""The parts, columns and states of an explanation and of its change, and numbers as their sentences say them."""

from __future__ import annotations

import math
from typing import Any

from fairtrial._compare.words import Unit, number_words
from fairtrial._results.column import Column, Kind, Primary, State, StateKind, scalar
from fairtrial._results.result import Result
from fairtrial._results.text import format_value

ALL_FEATURES = "(all features)"
ALLOCATION_NAMES = {
    "shapley": "Shapley",
    "equal_surplus": "Equal Surplus",
    "solidarity": "Solidarity",
    "consensus": "Consensus",
    "lsp": "Least Squares Prenucleolus",
    "given": "the given sequence",
}
DIFFERS = StateKind("differs", "bad")  # a gap, after correction over the gaps
CARRIES = StateKind("carries")  # a feature's contribution to a gap, after correction over features and gaps
CHANGED = StateKind("changed")
NOT_SHOWN = StateKind("not shown")
UNDETERMINED = StateKind("undetermined")
MEASURED = StateKind("measured")  # about one group: estimated, with an interval, and not part of the tests

GAP, EXPLAINED_GAP, TO_GAP = "gap", "gap of the explained system", "contribution to the gap"
RATE, TO_RATE = "rate", "contribution to the rate"
VALUE, TO_VALUE = "value", "contribution to the value"

ABOUT = (
    Column("metric", "metric", "text", shown=False),
    Column("value_kind", "values are", "text", shown=False),
    Column("part", "part", "text"),
    Column("feature", "feature", "text"),
    Column("group", "group", "text"),
    Column("target", "minus", "text"),
)
PEOPLE = (
    Column("n", "n", "people", shown=False),
    Column("target_n", "n of the other", "people", shown=False),
)
TESTED = (
    Column("difference_low", "low", "points"),
    Column("difference_high", "high", "points"),
    Column("p_value", "p", "p"),
    Column("p_adjusted", "adjusted p", "p"),
    Column("state", "finding", "state", shown=False),
    Column("state_reason", "reason", "text", shown=False),
)
CITATION = (
    "Amri-Jouidel, Kemel & Mussard (2026), Shapley meets Rawls, arXiv:2603.26476; Radzik & Driessen (2013), "
    "Mathematical Social Sciences 65; Lundberg & Lee (2017), NeurIPS 30; Covert & Lee (2021), AISTATS; Tango (1998), "
    "Statistics in Medicine 17; Holm (1979), Scandinavian Journal of Statistics 6."
)


def tested(p_adjusted: Any, alpha: float, shown: StateKind) -> State:
    """The state of a row by its corrected p-value; why there is none stands in the cell itself."""
    if not isinstance(p_adjusted, float):
        return State(UNDETERMINED.code)
    return State(shown.code if p_adjusted <= alpha else NOT_SHOWN.code)


def primary_of(result: Result, row: dict[str, Any], p: float, **about: Any) -> Primary:
    kind: Kind = "points" if result.details["value_kind"] == "percent" else "number"
    limits = {"low": scalar(row["difference_low"]), "high": scalar(row["difference_high"])}
    label = result.details["label"]
    return Primary(label, p_value=p, effect=row["difference"], kind=kind, **limits, **about)


def p_text(value: float) -> str:
    """'p <0.001' or 'p = 0.023'."""
    return f"p {format_value(value, 'p')}" if value < 0.001 else f"p = {format_value(value, 'p')}"


def unit_of_kind(value_kind: str) -> Unit:
    """In points where values are shares."""
    return "points" if value_kind == "percent" else "number"


def signed(value: float, value_kind: str) -> str:
    """A number with its sign; nothing is minus zero."""
    if not math.isfinite(value):
        return "no limit"
    text = number_words(round(value, 12), unit_of_kind(value_kind))
    return text if text.startswith("-") else f"+{text}"

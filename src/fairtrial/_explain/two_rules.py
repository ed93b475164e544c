"""How an explanation changed between two decision rules, paired on the same people."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairtrial._errors import Fault, InputError, Note, Set, Use, Words
from fairtrial._explain.game import add_error
from fairtrial._explain.request import (
    ALL_FEATURES,
    CHANGED,
    MEASURED,
    p_text,
    signed,
    tested,
)
from fairtrial._explain.solver.esl import Floats
from fairtrial._explain.solver.group_values import BackgroundChanges
from fairtrial._explain.solver.influence import Spread, interval, spread_of_changes, two_sided_p
from fairtrial._inference.multiplicity import holm
from fairtrial._results.column import (
    State,
    Verdict,
    defined_or,
    reason,
    undefined,
)
from fairtrial._results.result import Result

R = TypeVar("R", bound=Result)
WHO = "compare"
SAME = "the same for everybody under both rules"
INFERRED = ("difference_low", "difference_high", "p_value", "p_adjusted", "error")


def compare_rules(explanation: Result, other: Result, level: float, result: type[R]) -> R:
    """The change from one explanation to the other, paired row by row."""
    _check(explanation, other)
    if isinstance(level, bool) or not isinstance(level, Real) or not 0 < level < 1:
        raise InputError(WHO, Fault("confidence_level", "must be a number between 0 and 1", got=level))
    details = explanation.details
    rows = _rows(explanation, _changes(explanation, other, level), 1 - level)
    provenance = {
        **explanation.provenance,
        "arguments": {"explanation": explanation.provenance["arguments"], "confidence_level": level},
    }
    return result(
        question=f"How did the disparity in {details['label']} and its drivers change?",
        null="The gap and every feature's contribution to it are the same under both rules.",
        verdict=_verdict(rows[0], details, level),
        estimates=tuple(rows),
        details={
            **{key: details[key] for key in ("metric", "label", "value_kind", "features")},
            "confidence_level": level,
            "allocation_label": details["allocation_label"],
            "drivers_text": _drivers_text(rows, details["value_kind"]),
        },
        notes=(
            Note(
                "paired",
                "Both explanations are of the same people: intervals use the differences row by row.",
            ),
            Note("conditional", "Intervals hold both rules' fitted classifiers fixed."),
        ),
        provenance={**provenance, "other": other.provenance},
    )


def _changes(explanation: Result, other: Result, level: float) -> dict[str, Floats]:
    """Everything that is compared: gaps then groups' rates (rows), the total then the features (columns)."""
    before, influence = _numbers(explanation)
    after, influence_after = _numbers(other)
    pairs, groups = explanation.objects["pairs"], explanation.objects["groups"]
    error = spread_of_changes(
        influence_after - influence, explanation.objects["stratum"], _takes_part(pairs, groups)
    )
    if (drawn := _background(explanation, other)) is not None:
        error = add_error(error, drawn)
    low, high = interval(after - before, error, level)
    p = two_sided_p(after - before, error)
    adjusted = np.ones_like(p)  # of the gaps; the rates are not part of the tests
    family = np.nan_to_num(p[: len(pairs), 1:], nan=1.0)
    adjusted[: len(pairs), 1:] = holm(family.ravel()).reshape(family.shape)
    adjusted[: len(pairs), 0] = holm(np.nan_to_num(p[: len(pairs), 0], nan=1.0))
    return {
        "before": before, "after": after, "difference": after - before, "difference_low": low,
        "difference_high": high, "p_value": p, "p_adjusted": adjusted, "error": error.error,
    }  # fmt: skip


def _rows(explanation: Result, changes: dict[str, Floats], alpha: float) -> list[dict[str, Any]]:
    """The gaps first, each with all features together before its own."""
    details = explanation.details
    about = {"metric": details["metric"], "value_kind": details["value_kind"]}
    places = [("gap", *pair) for pair in explanation.objects["pairs"]]
    places += [("rate", group, None) for group in explanation.objects["groups"]]
    rows = []
    for j, (part, group, target) in enumerate(places):
        for k, name in enumerate([ALL_FEATURES, *details["features"]]):
            named = {"part": part, "feature": name, "group": group, "target": target}
            numbers = _row_numbers({key: float(array[j, k]) for key, array in changes.items()})
            state = tested(numbers["p_adjusted"], alpha, CHANGED) if part == "gap" else State(MEASURED.code)
            if part != "gap" and isinstance(numbers["p_adjusted"], float):
                numbers["p_adjusted"] = None
            rows.append({**about, **named, **numbers, **state.cells()})
    return sorted(rows, key=lambda row: (row["part"] != "gap", row["feature"] != ALL_FEATURES))


def _row_numbers(found: dict[str, float]) -> dict[str, Any]:
    """As cells; without variation there is no interval and no test."""
    why = "undefined in one of the two explanations"
    if found["error"] > 0 and not math.isnan(found["difference_low"]):
        return {name: value if name in INFERRED else defined_or(value, why) for name, value in found.items()}
    known = {name: defined_or(found[name], why) for name in ("before", "after", "difference")}
    return known | dict.fromkeys(INFERRED, undefined(SAME))


def _takes_part(pairs: list[tuple[str, str]], groups: list[str]) -> NDArray[np.bool_]:
    """Which groups each target rests on: both of a pair for their gap, then every group for its own rate."""
    both = [[group in pair for group in groups] for pair in pairs]
    return np.array([*both, *np.eye(len(groups), dtype=bool)], dtype=bool)


def _check(explanation: Result, other: Result) -> None:
    _check_one("explanation", explanation)
    _check_one("other", other)
    for key in ("metric", "features", "allocation"):
        first, second = explanation.details[key], other.details[key]
        if first != second:
            raise _differ(f"must have the same {key}, got {first!r} and {second!r}")
    if explanation.objects["pairs"] != other.objects["pairs"]:
        raise _differ("must compare the same groups in the same order")
    people = [(result.objects["rows"], result.objects["stratum"]) for result in (explanation, other)]
    if not all(np.array_equal(*arrays) for arrays in zip(*people, strict=True)):
        cure = Words("same data, same {}, same {}", Set("test"), Set("seed"))
        raise _differ("must be of the same people", cure)


def _check_one(name: str, given: Result) -> None:
    """An explanation of one metric that was made in this session."""
    if "criterion" in given.details:
        each = "explain and compare them one by one"
        raise InputError(WHO, Fault(name, "is about several metrics", cure=each))
    if "found" not in given.objects:
        required = "was read from a file, which does not keep influence values"
        raise InputError(WHO, Fault(name, required, cure=Words("run {} again", Use("explain"))))


def _differ(required: str, cure: Words | str = "") -> InputError:
    return InputError(WHO, Fault("other", required, cure=cure, subject="both explanations"))


def _numbers(result: Result) -> tuple[Floats, Floats]:
    """Gaps then groups' rates (rows), the total then the features (columns), and the rows' influence on them."""
    found, order = result.objects["found"], _order(result)
    estimate = np.where(found.undefined[order, 0][:, None], np.nan, found.estimate[order, 0])
    estimate = np.where(np.abs(estimate) < 1e-13, 0.0, estimate)
    influence = found.influence(0)[:, order]
    return (
        np.concatenate([estimate.sum(axis=1, keepdims=True), estimate], axis=1),
        np.concatenate([influence.sum(axis=2, keepdims=True), influence], axis=2),
    )


def _order(result: Result) -> list[int]:
    """Where the pairs' gaps and the groups' rates are among the targets."""
    groups, pairs = len(result.objects["groups"]), len(result.objects["pairs"])
    # what comes after the pairs' gaps is the interaction of two attributes, which is not compared
    return [*range(2 * groups, 2 * groups + pairs), *range(groups, 2 * groups)]


def _background(explanation: Result, other: Result) -> Spread | None:
    """The error from drawing background rows; the same rows under both rules are paired, as the people are."""
    sides = [_background_of(result) for result in (explanation, other)]
    known = [side for side in sides if side is not None]
    if len(known) == 2:
        (first, before), (second, after) = known
        if np.array_equal(first.rows, second.rows) and np.array_equal(first.block, second.block):
            return first.spread(after - before)
    spreads = [changes.spread(moved) for changes, moved in known]
    return add_error(*spreads) if len(spreads) == 2 else spreads[0] if spreads else None


def _background_of(result: Result) -> tuple[BackgroundChanges, Floats] | None:
    """What each background row changes in the numbers that are compared."""
    if result.objects["background"] is None:
        return None
    changes, moved = result.objects["background"]
    own = moved[:, _order(result), 0]
    return changes, np.concatenate([own.sum(axis=2, keepdims=True), own], axis=2)


def _verdict(row: dict[str, Any], details: dict[str, Any], level: float) -> Verdict:
    for cell in (row["difference_low"], row["difference"]):
        if why := reason(cell):
            return Verdict("undetermined", f"undetermined: {why}")
    kind, unit = details["value_kind"], " points" if details["value_kind"] == "percent" else ""
    names = ("before", "after", "difference", "difference_low", "difference_high")
    before, after, change, low, high = (signed(row[name], kind) for name in names)
    code = "larger" if abs(row["after"]) >= abs(row["before"]) else "smaller"
    if row["p_value"] > 1 - level:
        code = "no change shown"
    text = (
        f"{code}: the gap in {details['label']} of {row['group']} minus {row['target']} went from "
        f"{before} to {after}{unit}, change {change}, {100 * level:g}% interval {low} to {high}, "
        f"{p_text(row['p_value'])}"
    )
    return Verdict(code, text, ({},))


def _drivers_text(rows: list[dict[str, Any]], value_kind: str) -> str:
    changed = [row for row in rows if row["state"] == CHANGED.code and row["feature"] != ALL_FEATURES]
    if not changed:
        return "No feature's contribution to the gap is shown to have changed."
    changed.sort(key=lambda row: -abs(row["difference"]))
    listed = "; ".join(f"{row['feature']} by {signed(row['difference'], value_kind)}" for row in changed)
    return f"Contributions that changed: {listed}."

"""How an explanation changed between two decision rules, paired on the same people."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial.errors import InputError, Note, check_between
from fairtrial.inference.multiplicity import holm
from fairtrial.methods.explain.result import ALL, CompareResult, ExplainResult
from fairtrial.methods.explain.solver.esl import Floats
from fairtrial.methods.explain.solver.influence import interval, spread_of_changes, two_sided_p
from fairtrial.results.column import Verdict, defined_or, undefined
from fairtrial.results.text import format_value

WHO = "compare"
SAME = "the same for everybody under both rules"


def compare(
    explanation: ExplainResult, other: ExplainResult, *, confidence_level: float = 0.95
) -> CompareResult:
    """The change from `explanation` to `other` (e.g. before and after a mitigation), with paired intervals.

    Both must explain the same metric, groups and features on the same rows, and come from this session: the rows'
    influence values are not saved with a result.
    """
    check_between(WHO, "confidence_level", confidence_level, 0, 1)
    _check(explanation, other)
    before, after = _numbers(explanation), _numbers(other)
    change = after["estimate"] - before["estimate"]  # (gaps then groups, total then features)
    pairs, groups = explanation.objects["pairs"], explanation.objects["groups"]
    error = spread_of_changes(
        after["influence"] - before["influence"],
        explanation.objects["stratum"],
        _takes_part(pairs, groups),
    )
    low, high = interval(change, error, confidence_level)
    p = two_sided_p(change, error)
    places = [("gap", *pair) for pair in pairs] + [("rate", group, None) for group in groups]
    names = [ALL, *explanation.details["features"]]
    adjusted = np.ones_like(p)
    family = np.nan_to_num(p[: len(pairs), 1:], nan=1.0)
    adjusted[: len(pairs), 1:] = holm(family.ravel()).reshape(family.shape)
    adjusted[: len(pairs), 0] = holm(np.nan_to_num(p[: len(pairs), 0], nan=1.0))
    rows = []
    for j, (part, group, versus) in enumerate(places):
        for k, name in enumerate(names):
            row = _row(
                part, name, group, versus, before["estimate"][j, k], after["estimate"][j, k], change[j, k]
            )
            known = error.error[j, k] > 0
            row |= _limits(
                low[j, k],
                high[j, k],
                p[j, k],
                adjusted[j, k] if part == "gap" else None,
                error.error[j, k],
                known,
            )
            rows.append(row | {"scale": "percent" if explanation.details["binary"] else "number"})
    rows.sort(key=lambda row: (row["part"] != "gap", row["feature"] != ALL))
    level = confidence_level
    return CompareResult(
        question=f"How did the disparity in {explanation.details['metric_label']} and its drivers change?",
        null="The gap and every feature's contribution to it are the same under both rules.",
        verdict=_verdict(rows[0], explanation.details, level),
        estimates=tuple(rows),
        details={
            "metric": explanation.details["metric"],
            "metric_label": explanation.details["metric_label"],
            "binary": explanation.details["binary"],
            "features": explanation.details["features"],
            "confidence_level": level,
            "allocation_label": explanation.details["allocation_label"],
            "drivers_text": _drivers_text(rows, explanation.details["binary"], 1 - level),
        },
        notes=(
            Note(
                "paired",
                "Both explanations are of the same people: intervals use the differences row by row.",
            ),
            Note("conditional", "Intervals hold both rules' fitted classifiers fixed."),
        ),
        provenance={**explanation.provenance, "other": other.provenance},
    )


def _takes_part(pairs: list[tuple[str, str]], groups: list[str]) -> NDArray[np.bool_]:
    """Which groups each target rests on: both of a pair for their gap, then every group for its own rate."""
    both = [[group in pair for group in groups] for pair in pairs]
    return np.array([*both, *np.eye(len(groups), dtype=bool)], dtype=bool)


def _check(explanation: object, other: object) -> None:
    for name, given in (("explanation", explanation), ("other", other)):
        if not isinstance(given, ExplainResult):
            raise InputError(WHO, f"{name!r} must be a result of explain, got {type(given).__name__}")
        if "found" not in given.objects:
            raise InputError(
                WHO,
                f"{name!r} was read from a file, which does not keep influence values: run explain again",
            )
    assert isinstance(explanation, ExplainResult)
    assert isinstance(other, ExplainResult)
    for key, words in (("metric", "metric"), ("features", "features"), ("allocation", "allocation")):
        a, b = explanation.details[key], other.details[key]
        if a != b:
            raise InputError(WHO, f"both explanations must have the same {words}, got {a!r} and {b!r}")
    same = explanation.objects["pairs"] == other.objects["pairs"]
    if not same:
        raise InputError(WHO, "both explanations must compare the same groups in the same order")
    if not np.array_equal(explanation.objects["rows"], other.objects["rows"]) or not np.array_equal(
        explanation.objects["stratum"], other.objects["stratum"]
    ):
        raise InputError(
            WHO, "both explanations must be of the same people: same data, same test=, same seed="
        )


def _numbers(result: ExplainResult) -> dict[str, Floats]:
    """Gaps then groups' rates (rows), the total then the features (columns), with the rows' influence."""
    found = result.objects["found"]
    groups, pairs = len(result.objects["groups"]), len(result.objects["pairs"])
    influence = found.influence(0)
    # what comes after the pairs' gaps is the interaction of two attributes, which is not compared
    order = [*range(2 * groups, 2 * groups + pairs), *range(groups, 2 * groups)]
    estimate = np.where(found.undefined[order, 0][:, None], np.nan, found.estimate[order, 0])
    estimate = np.where(np.abs(estimate) < 1e-13, 0.0, estimate)
    part = influence[:, order]
    return {
        "estimate": np.concatenate([estimate.sum(axis=1, keepdims=True), estimate], axis=1),
        "influence": np.concatenate([part.sum(axis=2, keepdims=True), part], axis=2),
    }


def _row(
    part: str, name: str, group: str, versus: str | None, before: float, after: float, change: float
) -> dict[str, Any]:
    why = "undefined in one of the two explanations"
    return {
        "part": part, "feature": name, "group": group, "versus": versus, "before": defined_or(before, why),
        "after": defined_or(after, why), "change": defined_or(change, why),
    }  # fmt: skip


def _limits(
    low: float, high: float, p: float, adjusted: float | None, error: float, known: bool
) -> dict[str, Any]:
    if not known or math.isnan(low):
        return dict.fromkeys(("low", "high", "p_value", "p_adjusted", "error"), undefined(SAME))
    limits = {"low": float(low), "high": float(high), "p_value": float(p), "error": float(error)}
    return limits | {"p_adjusted": None if adjusted is None else float(adjusted)}


def _verdict(row: dict[str, Any], details: dict[str, Any], level: float) -> Verdict:
    scale, unit = (100, " points") if details["binary"] else (1, "")
    if isinstance(row["change"], dict) or isinstance(row["low"], dict):
        return Verdict(
            "undetermined",
            f"undetermined: {SAME if isinstance(row['low'], dict) else row['change']['reason']}",
        )
    before, after, change = (scale * row[name] for name in ("before", "after", "change"))
    low, high = scale * row["low"], scale * row["high"]
    moved = row["p_value"] <= 1 - level
    smaller = abs(after) < abs(before)
    code = "no change shown" if not moved else "smaller" if smaller else "larger"
    text = (
        f"{code}: the gap in {details['metric_label']} of {row['group']} minus {row['versus']} went from "
        f"{before:+.1f} to {after:+.1f}{unit}, change {change:+.1f}, {level:.0%} interval {low:+.1f} to {high:+.1f}, "
        f"p {_p(row['p_value'])}"
    )
    return Verdict(code, text)


def _p(value: float) -> str:
    text = format_value(value, "p")
    return text if text.startswith("<") else f"= {text}"


def _drivers_text(rows: list[dict[str, Any]], binary: bool, alpha: float) -> str:
    scale = 100 if binary else 1
    features = [row for row in rows if row["part"] == "gap" and row["feature"] != ALL]
    known = [row for row in features if not isinstance(row["low"], dict) and row["p_adjusted"] <= alpha]
    if not known:
        return "No feature's contribution to the gap is shown to have changed."
    known.sort(key=lambda row: -abs(row["change"]))
    listed = "; ".join(f"{row['feature']} by {scale * row['change']:+.1f}" for row in known)
    return f"Contributions that changed: {listed}."

"""Verdict, notes and sentences of an explanation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairtrial.data.groups import MINIMUM_SIZE
from fairtrial.errors import Note
from fairtrial.methods.explain.models import Asked
from fairtrial.methods.explain.result import WORDS
from fairtrial.methods.explain.rows import Told, empty_group
from fairtrial.results.column import Verdict, scalar
from fairtrial.results.text import format_value

_MEANING = {
    "retrain": "A coalition's classifier is refitted on its features alone: contributions answer what the features are "
    "worth to a system built with them.",
    "marginal": "A coalition's decisions are those of the one fitted model with the absent features imputed from a "
    "background sample: contributions answer how this model uses its features.",
    "callable": "Coalition decisions come from the caller's function, which says what leaving a feature out means.",
    "given": "Coalition decisions were given: what leaving a feature out means is the caller's.",
}
_SENSITIVE = {
    "player": "{by} is an input of the models and a player of its own.",
    "always": "{by} is an input of every coalition's classifier: the features' contributions are within models that "
    "already know it, and what it carries by itself is spread over them.",
    "absent": "{by} is not an input of the models.",
}


def meaning(asked: Asked) -> str:
    """What leaving a feature out means here."""
    return _MEANING[coalition_kind(asked)]


def coalition_kind(asked: Asked) -> str:
    if isinstance(asked.coalitions, str):
        return asked.coalitions
    return "callable" if callable(asked.coalitions) else "given"


def verdict(told: Told) -> Verdict:
    """The first stage's test is the verdict; features only say who carries it."""
    test = told.first.omnibus
    label, level = told.metric.label, told.problem.level
    if test is None or any(gap is None for gap in told.first.gaps):
        text = (
            empty_group(told)
            if any(math.isnan(rate) for rate in told.first.rate)
            else f"no variation in {label}"
        )
        return Verdict("undetermined", f"undetermined: {text}")
    gaps = [
        (pair, gap) for pair, gap in zip(told.pair_labels, told.first.gaps, strict=False) if gap is not None
    ]
    (group, versus), gap = max(gaps, key=lambda entry: abs(entry[1].gap))
    side = "above" if gap.gap >= 0 else "below"
    low, high = sorted((abs(gap.low), abs(gap.high))) if gap.low * gap.high > 0 else (gap.low, gap.high)
    span = f"{_amount(told, low)} to {_amount(told, high)}"
    size = f"{label} of {group} is {_amount(told, abs(gap.gap))}{_unit(told)} {side} {versus}"
    size = f"{size}, {level:.0%} interval {span}"
    p = format_value(test.p_value, "p")
    p_text = f"p {p}" if p.startswith("<") else f"p = {p}"
    most = " (the largest gap)" if len(gaps) > 1 else ""
    if test.p_value <= 1.0 - level:
        return Verdict("violated", f"violated: {size}{most}; equality is rejected, {p_text}")
    return Verdict(
        "no violation shown", f"no violation shown: {size}{most}; equality is not rejected, {p_text}"
    )


def drivers_text(told: Told, rows: list[dict[str, Any]]) -> str:
    """Which features carry the first gap, largest first, with the tests adjusted."""
    group, versus = told.pair_labels[0]
    mine = [
        r
        for r in rows
        if r["part"] == "contribution to the gap" and (r["group"], r["versus"]) == (group, versus)
    ]
    known = [row for row in mine if scalar(row["points"]) is not None]
    if not known:
        return "The contributions of the features are undefined; the table says why."
    known.sort(key=lambda row: -abs(row["points"]))
    alpha = 1.0 - told.problem.level
    shown = [row for row in known if (p := scalar(row["p_adjusted"])) is not None and p <= alpha]
    rest = [row for row in known if row not in shown]
    parts = [f"{row['feature']} {_signed(told, row['points'])}" for row in shown]
    if len(rest) > 3:
        parts.append(
            f"the other {len(rest)} features {_signed(told, sum(r['points'] for r in rest))} together"
        )
    else:
        parts += [
            f"{row['feature']} {_signed(told, row['points'])} (not distinguishable from 0)" for row in rest
        ]
    if len(rest) > 3:
        parts[-1] += " (none on its own distinguishable from 0)"
    total = sum(row["points"] for row in known)
    words = WORDS[told.problem.allocations[0].name]
    whole = f"{group} minus {versus} = {_signed(told, total)}{_unit(told)}"
    return f"By {words}, {whole} is carried by: {'; '.join(parts)}."


def notes(
    told: Told,
    asked: Asked,
    agreement: float | None,
    by_text: str,
    votes: list[dict[str, Any]],
    pareto: list[dict[str, Any]],
) -> list[Note]:
    """Everything a reader must know to quote the numbers."""
    material, problem = told.material, told.problem
    found = {
        "coalitions": meaning(asked),
        "sensitive": _SENSITIVE[material.sensitive].format(by=by_text),
        "conditional": _conditional(asked),
        "drivers": "Feature tests are about drivers; only the gap's test is a test of the criterion.",
        "baseline": _baseline(told),
    }
    if material.train.size:
        found["split"] = (
            f"Fitted on {material.train.size:,} rows, evaluated on {material.test.size:,} others."
        )
    if problem.orders is not None:
        orders = f"{2 * problem.orders.pairs} sampled orders ({problem.masks.size} coalitions)"
        found["sampled"] = (
            f"Shapley values are estimated from {orders}; their Monte-Carlo error is in the intervals."
        )
    if len(problem.allocations) > 1:
        found["panel"] = (
            "The panel's values are one linear family: agreement among them is not independent evidence, and the vote "
            "'3 of 5 reject' is not a test at the level."
        )
    first = [vote for vote in votes if (vote["group"], vote["versus"]) == told.pair_labels[0]]
    if first:
        tally = ", ".join(f"{vote['feature']} {vote['rejecting']} of {vote['of']}" for vote in first)
        found["vote"] = f"The paper's vote, unadjusted: {tally}."
    found["mitigation"] = " ".join(entry["text"] for entry in pareto)
    if (
        told.second.undefined.any()
        and not np.isnan(told.first.rate).any()
        and coalition_kind(asked) == "retrain"
    ):
        found["undefined-rates"] = (
            "A classifier of few features may select nobody, which leaves some rates undefined. With "
            "coalitions='marginal' decisions are shares and such rates exist; it asks another question."
        )
    counts = zip(told.labels, told.first.count, strict=True)
    small = [label for label, n in counts if n < MINIMUM_SIZE]  # no counts: notes are published
    if small:
        found["small-groups"] = (
            f"Fewer than {MINIMUM_SIZE} people count in {', '.join(small)}: intervals are rough."
        )
    if told.metric.name == "npv":
        found["npv"] = (
            "The paper's 'NPV' is P(outcome = 1 | decision = 0): that is 'for', the false omission rate."
        )
    if agreement is not None:
        found["agreement"] = (
            f"The full coalition decides {agreement:.1%} of the rows as the audited decisions do."
        )
    return [Note(code, text) for code, text in [*found.items(), *material.notes]]


def _conditional(asked: Asked) -> str:
    if coalition_kind(asked) == "marginal":
        what = "probabilities" if asked.averaged == "probabilities" or asked.scores else "decisions"
        return (
            f"Intervals hold the fitted model and the {asked.background} background rows fixed; {what} were averaged "
            "over the background."
        )
    what = "probabilities" if asked.scores else "decisions"
    return f"Intervals hold the fitted classifiers fixed; their {what} on the rows evaluated are compared."


def _baseline(told: Told) -> str:
    base = told.problem.baseline
    how = {"random": "a coin", "prior": "a coin that shows 1 as often as the outcome", "number": "given"}[
        base.kind
    ]
    estimated = (
        "" if base.influence is None else "; it is estimated, and its error is in the values' intervals"
    )
    return (
        f"Values are rates over the baseline {base.value:.4g} ({how}{estimated}); points do not depend on it."
    )


def _unit(told: Told) -> str:
    return " points" if told.first.binary else ""


def _amount(told: Told, value: float) -> str:
    return f"{100 * value:.1f}" if told.first.binary else f"{value:.3g}"


def _signed(told: Told, value: float) -> str:
    return f"{100 * value:+.1f}" if told.first.binary else f"{value:+.3g}"

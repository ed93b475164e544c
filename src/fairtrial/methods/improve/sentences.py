"""What improve found, in words, from its details alone. Nothing is computed here that was not tested."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fairtrial.methods.improve.solver.all_splits import split_level
from fairtrial.results.column import Verdict
from fairtrial.results.text import format_value


def question_of(details: Mapping[str, Any]) -> str:
    """What was asked, in words."""
    claim = details["claim"]
    whom = "for everyone together" if claim["pooled"] else "for every group"
    return (
        f"Was there a rule as good in {claim['accuracy_label']} {whom}, with a smaller gap in "
        f"{' and '.join(claim['fairness_labels'])} between {', '.join(claim['groups'])}?"
    )


def null_of(details: Mapping[str, Any]) -> str:
    """The null hypothesis, in words."""
    claim = details["claim"]
    if not any([*claim["accuracy_delta"], claim["fairness_delta"]]):
        return "No permissible rule that the candidates can find is both more accurate and less unfair."
    accuracy = ", ".join(f"{value:g}" for value in dict.fromkeys(claim["accuracy_delta"]))
    return (
        f"No permissible rule that the candidates can find improves accuracy by more than {accuracy} and reduces "
        f"the gap by more than {claim['fairness_delta']:g} ({claim['scale']})."
    )


def verdict_of(details: Mapping[str, Any]) -> Verdict:
    """In the words of the case."""
    p_value = details["p_value"]
    p_text = format_value(p_value, "p")
    shown = f"p {p_text}" if p_text.startswith("<") else f"p = {p_text}"
    if p_value < details["alpha"]:
        return Verdict(
            "alternative-exists",
            f"a less discriminatory alternative exists: {_changes(details)} ({shown}, {_rule_words(details)})",
        )
    return Verdict(
        "none-shown",
        f"no less discriminatory alternative was shown ({shown}, {_rule_words(details)}): "
        "not evidence that none exists",
    )


def _rule_words(details: Mapping[str, Any]) -> str:
    count = len(details["splits"])
    how = {"median": "median of", "running-median": "running median of", "single": ""}[details["aggregate"]]
    return f"{how} {count} splits".strip() if count > 1 else "one split"


def _changes(details: Mapping[str, Any]) -> str:
    """Means over the test halves: gap from … to …, accuracy of each group from … to …."""
    claim = details["claim"]
    parts = []
    for gap in details["gaps"]:
        old, new = gap["mean_status_quo"], gap["mean_alternative"]
        parts.append(f"the gap in {gap['metric']} falls from {old:.3g} to {new:.3g}")
    levels = {
        (row["group"], row["rule"]): row["mean"] for row in details["levels"] if row["use"] == "accuracy"
    }
    moves = [
        f"{levels[group, 'status quo']:.3g} to {levels[group, 'alternative']:.3g} for {group}"
        for group in claim["groups"]
    ]
    parts.append(f"{claim['accuracy_label']} goes from {', '.join(moves)}")
    return "; ".join(parts)


def sentences_of(details: Mapping[str, Any]) -> list[str]:
    """What the result shows and what it does not."""
    level = split_level(details["alpha"], details["aggregate"])
    rejecting = sum(split["p_value"] < level for split in details["splits"])
    proved = sorted({split["proved"] for split in details["splits"] if split["proved"]})
    return [
        f"{rejecting} of {len(details['splits'])} splits reject at their own level of {level:g}.",
        *_without_loss(details),
        *_after_refit(details),
        *[f"The program {text}." for text in proved],
    ]


def _without_loss(details: Mapping[str, Any]) -> list[str]:
    steps = next(s for s in details["surface"] if math.isclose(s["level"], details["alpha"]))
    largest = max((c["fairness"] for c in steps["corners"] if c["accuracy"] > 0), default=0.0)
    if largest <= 0:
        return []
    gain = f"{largest:.0%}" if details["claim"]["scale"] == "ratio" else f"{largest:.3g}"
    return [f"Without any loss of accuracy, reductions of the gap of up to {gain} are shown."]


def _after_refit(details: Mapping[str, Any]) -> list[str]:
    """Whose decision would change; groups that are masked because few would are not in the details."""
    if not details["refit"]:
        return [
            "Other candidates, more data or other constraints may still show one: the test only speaks of what its "
            "candidates can find."
        ]
    moves = [
        f"{row['group']}: {row['gain_decision']:,} gain and {row['lose_decision']:,} lose it, of {row['n']:,}"
        for row in details["refit"]["changes"]
    ]
    told = f"Fitted on all data, {details['refit']['candidate']} changes the decision."
    return [f"{told} {'; '.join(moves)}." if moves else told]

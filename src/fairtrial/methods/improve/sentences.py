"""What improve found, in rows and in words. Nothing is computed here that was not tested."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from fairtrial.errors import Note
from fairtrial.methods.improve.candidates.problem import Problem
from fairtrial.methods.improve.solver.improvement_splits import ASSUMES, splits_against_manipulation
from fairtrial.methods.improve.splits import TestedSplits, gaps
from fairtrial.results.column import Verdict, defined_or, undefined
from fairtrial.results.text import format_value


def estimates_of(tested: TestedSplits, problem: Problem) -> tuple[dict[str, Any], ...]:
    """One row per split for each accuracy level and each fairness gap."""
    rows = []
    for k in range(tested.settings.splits):
        estimate = tested.arrays["estimate"][k]
        common = {"split": k + 1, "candidate": tested.chosen(k), "p_split": tested.p_values[k]}
        accuracy = [i for i, b in enumerate(tested.block) if b == 0]
        for position, i in enumerate(accuracy):
            g = -1 if problem.claim.pooled else position
            worth = problem.claim.accuracy
            row = {
                **common,
                "part": "accuracy",
                "metric": worth.name,
                "group": tested.names[i],
                "n": int(tested.arrays["support"][k, 0, :, g].min()),
                "status_quo": defined_or(worth.sign * float(estimate[0, 0, g]), "nobody to average"),
                "alternative": defined_or(worth.sign * float(estimate[0, 1, g]), "nobody to average"),
            }
            rows.append({**row, **_test(tested, k, [i])})
        for m, worth in enumerate(problem.claim.fairness, start=1):
            old, new = gaps(problem, estimate, m)
            row = {
                **common,
                "part": "fairness",
                "metric": worth.name,
                "group": "gap",
                "n": int(tested.arrays["support"][k, m, :, :-1].min()),
                "status_quo": defined_or(old, "nobody to average"),
                "alternative": defined_or(new, "nobody to average"),
            }
            rows.append({**row, **_test(tested, k, [i for i, b in enumerate(tested.block) if b == m])})
    return tuple(rows)


def _test(tested: TestedSplits, k: int, which: list[int]) -> dict[str, Any]:
    """The component with the largest p-value stands for all of its metric."""
    weakest = max(which, key=lambda i: float(tested.arrays["p"][k, i]))
    enough = bool(tested.arrays["enough"][k])
    p_value = float(tested.arrays["p"][k, weakest])
    delta = float(tested.arrays["delta"][k, weakest])
    return {
        "statistic": defined_or(float(tested.arrays["statistic"][k, weakest]), "nobody to average"),
        "standard_error": defined_or(float(tested.arrays["error"][k, weakest]), "nobody to average"),
        "p_value": p_value if enough else undefined("fewer than 10 people behind a level"),
        "p_delta_method": undefined("no spread") if math.isnan(delta) else delta,
    }


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
    claim = details["claim"]
    rejecting = sum(split["p_value"] < _split_level(details) for split in details["splits"])
    sentences = [
        f"{rejecting} of {len(details['splits'])} splits reject at their own level of {_split_level(details):g}."
    ]
    steps = next(s for s in details["surface"] if math.isclose(s["level"], details["alpha"]))
    at_zero = [c["fairness"] for c in steps["corners"] if c["accuracy"] > 0]
    if at_zero and max(at_zero) > 0:
        gain = f"{max(at_zero):.0%}" if claim["scale"] == "ratio" else f"{max(at_zero):.3g}"
        sentences.append(f"Without any loss of accuracy, reductions of the gap of up to {gain} are shown.")
    if details["refit"]:
        moves = [
            f"{row['group']}: {row['gain_decision']:,} gain and {row['lose_decision']:,} lose it, of {row['n']:,}"
            for row in details["refit"]["changes"]
        ]
        sentences.append(
            f"Fitted on all data, {details['refit']['candidate']} changes the decision. {'; '.join(moves)}."
        )
    else:
        sentences.append(
            "Other candidates, more data or other constraints may still show one: the test only speaks of what its "
            "candidates can find."
        )
    proved = sorted({split["proved"] for split in details["splits"] if split["proved"]})
    return sentences + [f"The program {text}." for text in proved]


def _split_level(details: Mapping[str, Any]) -> float:
    return float(details["alpha"] if details["aggregate"] == "single" else details["alpha"] / 2)


def notes_of(tested: TestedSplits, problem: Problem) -> list[Note]:
    """How the p-value was made, and every weakening."""
    settings = tested.settings
    needed = splits_against_manipulation(settings.alpha)
    notes = [Note("aggregation", f"The p-value is {ASSUMES[settings.aggregate]}.")]
    if settings.aggregate != "single":
        verb = "at least" if settings.splits >= needed else "fewer than"
        notes.append(
            Note(
                "splits",
                f"{settings.splits} splits, {verb} the {needed} from which re-running cannot pay at this level "
                "(Proposition 1, independent p-values).",
            )
        )
    if problem.claim.method == "paper":
        notes.append(
            Note(
                "paper-fairness",
                "The article's fairness component rejects up to four times too often when gaps are one or two standard "
                "errors from zero; method='smooth' does not.",
            )
        )
    few = int(np.count_nonzero(tested.arrays["enough"] == 0))
    if few:
        notes.append(
            Note("few-people", f"In {few} splits a level rests on fewer than 10 people: they cannot reject.")
        )
    for worth in problem.claim.worths[:1]:
        if getattr(worth.what, "hurts", "below") is None:
            notes.append(Note("higher-is-better", f"A higher {worth.label} is taken as better."))
    notes.append(
        Note(
            "surface",
            "The largest fairness gain at an accuracy loss fixed in advance is valid at the level asked for; a point "
            "picked freely off the surface only at twice that level.",
        )
    )
    return notes

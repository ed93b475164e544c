"""Verdict, notes and sentences of an explanation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairtrial._audit.groups import MINIMUM_SIZE
from fairtrial._compare.words import sentence
from fairtrial._errors import Note
from fairtrial._explain.estimate_rows import Explanation
from fairtrial._explain.request import ALLOCATION_NAMES, p_text, signed, unit_of_kind
from fairtrial._explain.stages import ComparedGroups
from fairtrial._results.column import scalar
from fairtrial._results.text import counted

_SENSITIVE = {
    "player": "{by} is an input of the models and a player of its own.",
    "always": "{by} is an input of every coalition's classifier: the features' contributions are within models that "
    "already know it, and what it carries by itself is spread over them.",
    "absent": "{by} is not an input of the models.",
}
_COINS = {"random": "a coin", "prior": "a coin that shows 1 as often as the outcome", "number": "given"}


# Where the explained system decides fewer rows than this as the audited one did, the reader is warned.
ENOUGH_AGREEMENT = 0.95


def verdict(explanation: Explanation) -> tuple[str, str]:
    """Its code, and the finding: the audited decisions' gap; the explained system stands beside it."""
    judged = explanation.first.judged
    test = judged.omnibus
    if test is None or None in judged.gaps:
        return "undetermined", f"{_why_undetermined(explanation)}{_beside(explanation)}"
    size = f"{_largest_gap(explanation, judged)}{_of_what(explanation)}"
    rejected = test.p_value <= explanation.alpha
    text = f"{size}; equality is {'rejected' if rejected else 'not rejected'}, {p_text(test.p_value)}"
    return "violated" if rejected else "no violation shown", f"{text}{_beside(explanation)}"


def _why_undetermined(explanation: Explanation) -> str:
    judged = explanation.first.judged
    if any(math.isnan(rate) for rate in judged.rate):
        return explanation.empty_group(judged)
    reasons = [gap.reason for gap in judged.gaps if gap is not None and gap.reason]
    return reasons[0] if reasons else f"no variation in {explanation.metric.label}"


def _largest_gap(explanation: Explanation, compared: ComparedGroups) -> str:
    """The largest gap with its interval, where every gap is known."""
    gaps = [gap for gap in compared.gaps if gap is not None]
    # what comes after the pairs is the interaction of two attributes, which has no gap
    named = zip(explanation.pair_labels, gaps, strict=False)
    (group, target), gap = max(named, key=lambda entry: abs(entry[1].gap))
    largest = " (the largest gap)" if len(gaps) > 1 else ""
    numbers = (gap.gap, gap.low, gap.high, explanation.game.level)
    told = sentence(explanation.metric.label, group, target, *numbers, unit_of_kind(explanation.value_kind))
    return f"{told}{largest}"


def _of_what(explanation: Explanation) -> str:
    """Whose numbers they are, where no decisions were audited."""
    if explanation.first.audited is not None:
        return ""
    return f", by the {_outputs(explanation)} of the explained system (none were audited)"


def _beside(explanation: Explanation) -> str:
    """The explained system's gap and how often it agrees, where it is not the audited one."""
    if not explanation.another_system:
        return ""
    gaps = zip(explanation.pair_labels, explanation.first.explained.gaps, strict=False)
    known = [(pair, gap) for pair, gap in gaps if gap is not None]
    told = "has no gap to speak of (a rate is undefined)"
    if known:
        (group, target), gap = max(known, key=lambda entry: abs(entry[1].gap))
        told = f"has {group} minus {target} = {_signed(explanation, gap.gap)}{_unit(explanation)}"
    return f"; the system that is explained {told} and {_agrees(explanation)}"


def _agrees(explanation: Explanation) -> str:
    """How often the explained system decides as the audited one did."""
    share = f"{math.floor(1000 * (explanation.agreement or 0.0)) / 10:.1f}%"
    if explanation.request.scores:
        return f"has the audited score (to 0.01) in {share} of the rows evaluated"
    return f"decides {share} of the rows evaluated as the audited system did"


def _outputs(explanation: Explanation) -> str:
    return "scores" if explanation.request.scores else "decisions"


def drivers_text(explanation: Explanation, rows: list[dict[str, Any]]) -> str:
    """Which features carry the first gap, largest first, with the tests adjusted."""
    group, target = explanation.pair_labels[0]
    about = ("contribution to the gap", group, target)
    mine = [row for row in rows if (row["part"], row["group"], row["target"]) == about]
    known = [row for row in mine if scalar(row["difference"]) is not None]
    if not known:
        return "The contributions of the features are undefined; the table says why."
    known.sort(key=lambda row: -abs(row["difference"]))
    total = sum(row["difference"] for row in known)
    words = ALLOCATION_NAMES[explanation.allocation]
    whole = f"{group} minus {target} = {_signed(explanation, total)}{_unit(explanation)}"
    return f"By {words}, {whole} is carried by: {'; '.join(_driver_parts(explanation, known))}."


def _driver_parts(explanation: Explanation, known: list[dict[str, Any]]) -> list[str]:
    """Each feature that is shown to carry, then the others, together when they are many."""
    alpha = explanation.alpha
    shown = [row for row in known if (p := scalar(row["p_adjusted"])) is not None and p <= alpha]
    rest = [row for row in known if row not in shown]
    parts = [f"{row['feature']} {_signed(explanation, row['difference'])}" for row in shown]
    if len(rest) > 3:
        together = _signed(explanation, sum(row["difference"] for row in rest))
        none = "(none on its own distinguishable from 0)"
        return [*parts, f"the other {len(rest)} features {together} together {none}"]
    return parts + [
        f"{row['feature']} {_signed(explanation, row['difference'])} (not distinguishable from 0)"
        for row in rest
    ]


def another_system(explanation: Explanation) -> str | None:
    """What a reader is warned of where the explained system is hardly the audited one."""
    if not explanation.another_system or (explanation.agreement or 0.0) >= ENOUGH_AGREEMENT:
        return None
    return (
        f"The features' contributions are about another system than the audited one: it {_agrees(explanation)}. "
        "They say what carries that system's gap, not the audited one's."
    )


def notes(explanation: Explanation, details: dict[str, Any]) -> list[Note]:
    """Everything a reader must know to quote the numbers."""
    explained = explanation.explained
    found = {
        "coalitions": explanation.request.meaning,
        "sensitive": _SENSITIVE[explained.sensitive].format(by=explanation.by_text),
        "conditional": _conditional(explanation),
        "drivers": "Feature tests are about drivers; only the gap's test is a test of the criterion.",
        "baseline": _baseline(explanation),
        **_of_the_game(explanation),
        **_of_the_panel(explanation, details["votes"]),
        "mitigation": " ".join(
            [*(entry["text"] for entry in details["pareto"]), _of_mitigation(explanation)]
        ),
        **_of_the_groups(explanation),
    }
    if explanation.game.groups > 2 and explanation.request.gaps is not None:  # Remark 3.1 of the paper
        found["pairs"] = (
            "With more than two groups each gap is shared out by the game of its two groups alone. It is not the "
            "difference of the contributions to their values, which depend on every group."
        )
    if explanation.metric.name == "npv":
        found["npv"] = (
            "The paper's 'NPV' is P(outcome = 1 | decision = 0): that is 'for', the false omission rate."
        )
    if explanation.agreement is not None:
        found["agreement"] = f"The system that is explained {_agrees(explanation)}."
    if other := another_system(explanation):
        found["another-system"] = other
    return [Note(code, text) for code, text in [*found.items(), *explained.notes]]


def _of_the_game(explanation: Explanation) -> dict[str, str]:
    """On which rows and coalitions the numbers rest."""
    explained, game = explanation.explained, explanation.game
    found = {}
    if explained.train.size:
        train, test = counted(explained.train.size, "row"), explained.test.size
        found["split"] = f"Fitted on {train}, evaluated on {test:,} other{'' if test == 1 else 's'}."
    if game.sampled is not None:
        coalitions = counted(game.masks.size - 1, "coalition")
        drawn = f"{coalitions}, {game.sampled.pairs:,} of them drawn with their complements"
        found["sampled"] = (
            f"Shapley values are estimated from {drawn}; their Monte-Carlo error is in the intervals."
        )
    return found


def _of_mitigation(explanation: Explanation) -> str:
    """Which system the sentences about what would help speak of, and that they are corrected."""
    about = {
        "retrain": "They speak of the models fitted here once: fitted to other rows or with another seed, a model "
        "without the feature may help others.",
        "marginal": "They speak of this one model: a model trained without the feature may do otherwise.",
    }.get(explanation.request.kind, "They speak of the decisions given.")
    return f"Gains and losses are corrected over features and groups (Holm). {about}"


def _of_the_panel(explanation: Explanation, votes: list[dict[str, Any]]) -> dict[str, str]:
    """What agreement among the allocations means and does not."""
    found = {}
    if len(explanation.game.allocations) > 1:
        found["panel"] = (
            "The panel's values are one linear family: agreement among them is not independent evidence, and the vote "
            "'3 of 5 reject' is not a test at the level."
        )
    first = [vote for vote in votes if (vote["group"], vote["target"]) == explanation.pair_labels[0]]
    if first:
        tally = ", ".join(f"{vote['feature']} {vote['rejecting']} of {vote['of']}" for vote in first)
        found["vote"] = f"The paper's vote, unadjusted: {tally}."
    return found


def _of_the_groups(explanation: Explanation) -> dict[str, str]:
    """Rates that do not exist, and groups of few."""
    found = {}
    undefined = explanation.second.undefined.any() and not np.isnan(explanation.first.explained.rate).any()
    if undefined and explanation.request.kind == "retrain":
        found["undefined-rates"] = (
            "A classifier of few features may select nobody, which leaves some rates undefined. With marginal "
            "coalitions decisions are shares and such rates exist; that asks another question."
        )
    counts = zip(explanation.labels, explanation.first.explained.count, strict=True)
    small = [label for label, n in counts if n < MINIMUM_SIZE]  # no counts: notes are published
    if small:
        found["small-groups"] = (
            f"Fewer than {MINIMUM_SIZE} people count in {', '.join(small)}: intervals are wide."
        )
    return found


def _conditional(explanation: Explanation) -> str:
    request = explanation.request
    if request.kind == "marginal":
        what = "probabilities" if request.averaged == "probabilities" or request.scores else "decisions"
        assert explanation.game.background is not None
        block = explanation.game.background.block
        drawn, each = counted(block.size, "background row"), int((block == 0).sum())
        shared = "" if each == block.size else f", of which {each:,} stood in for each person"
        return (
            f"Intervals hold the fitted model fixed; {what} were averaged over {drawn}{shared}, and the chance of "
            "drawing them is in the intervals."
        )
    what = "probabilities" if request.scores else "decisions"
    return f"Intervals hold the fitted classifiers fixed; their {what} on the rows evaluated are compared."


def _baseline(explanation: Explanation) -> str:
    base = explanation.game.baseline
    estimated = (
        "" if base.influence is None else "; it is estimated, and its error is in the values' intervals"
    )
    how = f"{_COINS[base.kind]}{estimated}"
    what = "rates" if explanation.value_kind == "percent" else "means"
    return f"Values are {what} over the baseline {base.value:.4g} ({how}); differences do not depend on it."


def _unit(explanation: Explanation) -> str:
    return " points" if explanation.value_kind == "percent" else ""


def _signed(explanation: Explanation, value: float) -> str:
    return signed(value, explanation.value_kind)

"""What improve found, in words, from its details alone. Nothing is computed here that was not tested."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fairtrial._improve.combining import split_level
from fairtrial._results.column import Verdict
from fairtrial._results.text import format_value

BLIND = "blind to the group"  # a check that every candidate of a search was held to


def question_of(details: Mapping[str, Any]) -> str:
    """What was asked, in words."""
    claim = details["claim"]
    return f"Was there a rule with {accuracy_words(claim)}, and {_fairness_words(claim)}{_assumed(details)}?"


def null_of(details: Mapping[str, Any]) -> str:
    """The null hypothesis, in words."""
    claim = details["claim"]
    who = "No permissible rule that the candidates can find has"
    if details["all_rows"]:
        who = "The fixed rule does not have" if len(details["splits"]) == 1 else "None of the fixed rules has"
    conceded = any(margin > 0 for margins in claim["margins"] for margin in margins)
    accuracy = f"{accuracy_words(claim)} ({'non-inferiority' if conceded else 'superiority'})"
    return f"{who} both {accuracy} and {_fairness_words(claim)} (superiority){_assumed(details)}."


def _assumed(details: Mapping[str, Any]) -> str:
    """What of the unknown outcomes a claim holds for; nothing where it needs none."""
    unlabelled = details.get("unlabelled")
    if unlabelled is None or not unlabelled["needed_by"]:
        return ""
    if unlabelled["odds"] is None:
        return ", whatever the unknown outcomes are"
    alike = " and ".join(unlabelled["alike"])
    if unlabelled["odds"] == 1:
        return (
            f", if the odds of unknown outcomes are those of people alike in {alike} whose outcome is known"
        )
    most = number(unlabelled["odds"])
    return (
        f", if the odds of unknown outcomes are at most {most} times and at least 1/{most} of those of people alike in "
        f"{alike} whose outcome is known"
    )


def accuracy_words(claim: Mapping[str, Any]) -> str:
    """'accuracy at most 2% lower for each group': what was conceded of each accuracy."""
    return " and ".join(
        f"{label} {_conceded(claim, label, margins)}"
        for label, margins in zip(claim["accuracy_labels"], claim["margins"], strict=True)
    )


def _conceded(claim: Mapping[str, Any], label: str, margins: list[float]) -> str:
    if claim["weighted"]:
        whom = (
            "for the weighted groups together" if claim["weighted"] == "groups" else "for everyone together"
        )
        return f"{_bound(claim, label, margins[0])} {whom}"
    if len(set(margins)) == 1:
        return f"{_bound(claim, label, margins[0])} for each group"
    each = zip(claim["groups"], margins, strict=True)
    return " and ".join(f"{_bound(claim, label, margin)} for {group}" for group, margin in each)


def _bound(claim: Mapping[str, Any], label: str, margin: float) -> str:
    """Which side is better depends on the metric."""
    worse, better = ("higher", "lower") if label in claim["better_lower"] else ("lower", "higher")
    if not margin:
        return f"{better} than now"
    size = amount(abs(margin), claim, label)
    return f"at most {size} {worse}" if margin > 0 else f"more than {size} {better}"


def amount(size: float, claim: Mapping[str, Any], label: str) -> str:
    """A margin as people say it: 2%, 2 points, 40 units of the utility."""
    if claim["margin_kind"] == "relative":
        return f"{number(100 * size)}%"
    return _points(size) if label in claim["rates"] else number(size, 4)


def _points(size: float) -> str:
    return f"{number(100 * size)} {'point' if round(100 * size, 6) == 1 else 'points'}"


def number(value: float, digits: int = 3) -> str:
    """Digits enough to tell two of them apart; nothing is minus zero and nothing a power of ten."""
    return f"{value + 0.0:.{digits}g}" if abs(value) < 1000 else f"{value:,.0f}"


def _fairness_words(claim: Mapping[str, Any]) -> str:
    metrics = " and ".join(claim["fairness_labels"])
    between = f"between {', '.join(claim['groups'])}"
    if claim["scale"] == "ratio":
        return f"an impact ratio in {metrics} {between} nearer to 1 than now"
    if not claim["reduction"]:
        return f"a smaller gap in {metrics} {between}"
    if claim["margin_kind"] == "relative":
        return f"a gap in {metrics} {between} smaller by more than {number(100 * claim['reduction'])}%"
    size = _points(claim["reduction"]) if claim["fairness_is_rate"] else number(claim["reduction"], 4)
    return f"a gap in {metrics} {between} smaller by more than {size}"


def verdict_of(details: Mapping[str, Any]) -> Verdict:
    """In the words of the case."""
    p_value = details["p_value"]
    p_text = format_value(p_value, "p")
    shown = f"p {p_text}" if p_text.startswith("<") else f"p = {p_text}"
    how = f"{shown}, {_rule_words(details)}"
    claimed = f"{accuracy_words(details['claim'])}{_assumed(details)}"
    if p_value < details["alpha"]:
        mixture = _mixture(details)
        text = (
            f"a less discriminatory alternative exists{mixture}, with {claimed}: {_changes(details)} ({how})"
        )
        return Verdict("alternative-exists", text, ({},))  # the levels of every group
    why = _undetermined(details)
    if why:
        return Verdict("undetermined", f"undetermined: {why} ({how})", people=details["few_losses"])
    text = (
        f"no less discriminatory alternative with {claimed} was shown ({how}): not evidence that none exists"
    )
    return Verdict("none-shown", text)


def _undetermined(details: Mapping[str, Any]) -> str:
    """Why the data cannot tell: few losses, or unknown outcomes; empty where neither is why."""
    few, unlabelled = details["few_losses"], details.get("unlabelled")
    if unlabelled is not None and unlabelled["p_value_at_best"] < details["alpha"]:
        allowed = "" if unlabelled["odds"] is None else f" within odds of {number(unlabelled['odds'])}"
        best = format_value(unlabelled["p_value_at_best"], "p")
        return (
            f"it depends on the {unlabelled['unknown']:,} people whose outcome is unknown; were their outcomes"
            f"{allowed} best for the claim, p would be {best}"
        )
    if few is None:
        return ""
    seen = f"{few:,} {'person who fares' if few == 1 else 'people who fare'} worse"
    return f"whether {_weakest_accuracy(details)} falls rests on {seen} in the rows tested"


def _weakest_accuracy(details: Mapping[str, Any]) -> str:
    """The accuracy that most often has the largest p-value of all."""
    claim = details["claim"]
    labels, each = claim["accuracy_labels"], 1 if claim["weighted"] else len(claim["groups"])
    if len(labels) == 1:
        return str(labels[0])
    weakest = []
    for split in details["splits"]:
        p_values = [component["p_value"] for component in split["components"][: each * len(labels)]]
        weakest.append(labels[p_values.index(max(p_values)) // each])
    return str(max(labels, key=weakest.count))


def _mixture(details: Mapping[str, Any]) -> str:
    """Which rule the claim is about, where several were learned."""
    forward = details.get("learned_forward")
    if forward is None:
        return ""
    return f", deciding by one of the {forward['count']} rules learned here, drawn at random"


def _rule_words(details: Mapping[str, Any]) -> str:
    count = len(details["splits"])
    if details["all_rows"]:
        tried = "" if count == 1 else f", {count} fixed rules"
        rows = "the only row" if details["rows"] == 1 else f"all {details['rows']:,} rows"
        return f"{rows}{tried}"
    if details["aggregate"] == "forward":
        return f"mean of {count} orders"
    how = {"median": "median of", "running-median": "running median of"}.get(details["aggregate"], "")
    return f"{how} {count} splits".strip() if count > 1 else "one split"


def _changes(details: Mapping[str, Any]) -> str:
    """Means over the tests: gap from … to …, accuracy of each group from … to …."""
    claim = details["claim"]
    parts = []
    for gap in details["gaps"]:
        old, new = gap["mean_status_quo"], gap["mean_alternative"]
        what = "the impact ratio" if claim["scale"] == "ratio" else "the gap"
        verb = "rises" if claim["scale"] == "ratio" else "falls"
        parts.append(f"{what} in {gap['metric']} {verb} from {number(old)} to {number(new)}")
    for label in claim["accuracy_labels"]:
        levels = {
            (row["group"], row["rule"]): row["mean"]
            for row in details["levels"]
            if row["use"] == "accuracy" and row["metric"] == label
        }
        whom = ["everyone"] if claim["weighted"] == "everyone" else claim["groups"]
        moves = [
            f"{number(levels[group, 'status quo'])} to {number(levels[group, 'alternative'])} for {group}"
            for group in whom
        ]
        parts.append(f"{label} goes from {', '.join(moves)}")
    return "; ".join(parts)


def sentences_of(details: Mapping[str, Any]) -> list[str]:
    """What the result shows and what it does not."""
    proved = sorted({split["proved"] for split in details["splits"] if split["proved"]})
    return [
        *_unknown(details),
        *_splits(details),
        *_margins(details),
        *_without_loss(details),
        *_search(details),
        *_after_refit(details),
        *[f"The program {text}." for text in proved],
    ]


def _unknown(details: Mapping[str, Any]) -> list[str]:
    """Which parts of the claim rest on unknown outcomes."""
    unlabelled = details.get("unlabelled")
    if unlabelled is None:
        return []
    people = f"{unlabelled['unknown']:,} of {details['rows']:,} people"
    if not unlabelled["needed_by"]:
        return [
            f"The outcome is unknown for {people}; no part of the claim needs it, so all of them are in the test."
        ]
    parts = " and ".join(unlabelled["needed_by"])
    return [
        f"The outcome is unknown for {people}. Levels of {parts} are those at which the claim holds least; nobody was "
        "left out."
    ]


def _forward(details: Mapping[str, Any]) -> list[str]:
    """What one order says alone, the gaps of the rules that were mixed, and what was not tested."""
    forward = details["learned_forward"]
    alone = format_value(forward["p_first"], "p")
    found = [
        f"The first order alone, valid for any learner, gives p {alone if alone[0] == '<' else f'= {alone}'}."
    ]
    gaps = [rule["gap_alternative"] for rule in forward["rules"] if rule["gap_alternative"] is not None]
    if gaps:
        what = "impact ratios" if details["claim"]["scale"] == "ratio" else "gaps"
        found.append(
            f"The {forward['count']} rules that were learned have {what} from {number(min(gaps))} to "
            f"{number(max(gaps))}, each in the rows it was tested on."
        )
    return found


def _splits(details: Mapping[str, Any]) -> list[str]:
    if details.get("learned_forward"):
        return _forward(details)
    if len(details["splits"]) == 1:
        return []
    level = split_level(details["alpha"], details["aggregate"], len(details["splits"]))
    rejecting = sum(split["p_value"] < level for split in details["splits"])
    what = "fixed rules" if details["all_rows"] else "splits"
    reject = "rejects at its" if rejecting == 1 else "reject at their"
    return [f"{rejecting} of {len(details['splits'])} {what} {reject} own level of {level:g}."]


def _margins(details: Mapping[str, Any]) -> list[str]:
    """What other margins would have given; reading off the smallest one that is enough is valid."""
    claim = details["claim"]
    label = claim["accuracy_labels"][0]
    told = [
        f"{amount(row['margin'], claim, label) if row['margin'] else 'no loss'}: {format_value(row['p_value'], 'p')}"
        for row in details["margins"]
    ]
    return [f"The p-value by the loss of {label} that is conceded: {'; '.join(told)}."]


def _without_loss(details: Mapping[str, Any]) -> list[str]:
    if details["claim"]["scale"] == "ratio":
        return []
    steps = next(s for s in details["surface"] if math.isclose(s["level"], details["alpha"]))
    largest = max((c["fairness"] for c in steps["corners"] if c["accuracy"] > 0), default=0.0)
    if largest <= 0:
        return []
    gain = f"{largest:.0%}" if details["claim"]["margin_kind"] == "relative" else number(largest)
    return [f"Without any loss of accuracy, reductions of the gap of up to {gain} are shown."]


def _search(details: Mapping[str, Any]) -> list[str]:
    """How much was tried, the least discriminatory rule that was found, and how small any gap could be."""
    if not details["search"]:
        return []
    tried = len(details["search"])
    were = "1 candidate was" if tried == 1 else f"{tried:,} candidates were"
    found = [f"{were} tried; the log lists each with why it was or was not chosen."]
    if details.get("search_checks"):
        found.append(f"Every one of them was held to this: {'; '.join(details['search_checks'])}.")
    least = details["least_discriminatory"]
    if least is not None and least["gap"] is not None:
        what = "impact ratio" if details["claim"]["scale"] == "ratio" else "gap"
        found.append(
            f"Not shown: the least discriminatory candidate whose accuracy is within the margin out of fold is "
            f"{least['candidate']}, with a {what} of {number(least['gap'])} and "
            f"{details['claim']['accuracy_labels'][0]} {number(least['accuracy'])}."
        )
    bound = details["smallest_possible_gap"]
    if bound is None:
        found.append(
            "How small a gap any rule could have is not bounded: that needs few combinations of features, many rows, "
            "and a claim about accuracy and the selection rates of two groups."
        )
    else:
        sure = f"confidence {1 - details['alpha']:.0%}"
        by_group = "" if BLIND in details.get("search_checks", (BLIND,)) else " and the group"
        found.append(
            f"No rule on these features{by_group} whose accuracy is within the margin has a gap below {number(bound)} "
            f"({sure})."
        )
    return found


def _after_refit(details: Mapping[str, Any]) -> list[str]:
    """Whose decision would change; groups that are masked because few would are not in the details."""
    moves = [_moves(row) for row in details["refit"]["changes"]]
    how = "" if details["all_rows"] else "Fitted on all data, "
    label = "" if details["refit"]["shown"] else " (the best found, not shown to be better)"
    what = "the decision" if details["refit"].get("decides", True) else "the score"
    told = f"{how}{details['refit']['candidate']}{label} changes {what}."
    found = [f"{told} {'; '.join(moves)}." if moves else told]
    if details["refit"]["shown"] and details.get("learned_forward"):
        found.append("The rule refitted on all rows is expected to do as well; that was not tested.")
    if not details["refit"]["shown"]:
        found.append(
            "Other candidates, more data or other constraints may still show one: the test only speaks of what its "
            "candidates can find."
        )
    return found


def _moves(row: Mapping[str, Any]) -> str:
    gain, lose = row["gain_decision"], row["lose_decision"]
    gains, loses = "gains" if gain == 1 else "gain", "loses" if lose == 1 else "lose"
    return f"{row['group']}: {gain:,} {gains} and {lose:,} {loses} it, of {row['n']:,}"

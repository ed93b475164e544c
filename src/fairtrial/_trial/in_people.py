"""A rate told in people: "Of people who did not reoffend, 45 of 100 Black defendants were rated high risk, …"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fairtrial._metrics.table import METRICS
from fairtrial._metrics.values import Metric, Role, label_text, role
from fairtrial._results.text import format_value
from fairtrial._trial.ledger import LedgerLine
from fairtrial._trial.spec.words import FileWords
from fairtrial._trial.two_facts import capital, clearest_words

BASES = (100, 1_000, 10_000, 100_000)
ROLES = ("decision", "outcome", "score", "threshold")
NAMED_TARGETS = {"everyone else": "others", "overall": "people overall"}


def words_of(content: Mapping[str, Any]) -> FileWords:
    """The file's words, with the columns that the audit read."""
    said = FileWords.of(content["spec"]["content"])
    roles = content["data"]["roles"]
    return replace(said, columns={name: roles[name] for name in ROLES if name in roles})


def in_people(
    metric: Metric, words: FileWords, rates: tuple[tuple[str, float], tuple[str, float]]
) -> str | None:
    """One sentence on a group and whom it is compared with; None where the metric's value is not a yes or no."""
    done = _value(metric.value, words)
    people = _people(metric, words)
    if done is None or people is None:
        return None
    among = f"Of {words.people} {people}, " if people else ""
    base = _base([rate for _, rate in rates])
    told = [f"{round(rate * base):,} of {base:,} {NAMED_TARGETS.get(who, who)}" for who, rate in rates]
    return f"{among}{told[0]} {done}, against {told[1]}."


def line_sentence(line: LedgerLine, words: FileWords) -> str:
    """A comparison in people, or as its rates, or as its gap alone."""
    if line.rate is None or line.target_rate is None:
        return f"{capital(clearest_words(line))}."
    metric, people = METRICS.get(line.metric), not _is_number(line.against)
    who, others = line.people or line.who, line.others or line.against
    if metric is not None and people and line.kind == "percent":
        told = in_people(metric, words, ((who, line.rate), (others, line.target_rate)))
        if told is not None:
            return told
    rates = [
        format_value(rate, "rate" if line.kind == "percent" else "number")
        for rate in (line.rate, line.target_rate)
    ]
    label = line.label
    if metric is not None and line.kind == "number":
        label = mean_words(metric, words) or label
    label = label if label.startswith("the ") else f"the {label}"
    whose = f"for {others}{_share(line)}" if people else f"({line.against})"
    return f"{capital(label)} for {who} is {rates[0]}, against {rates[1]} {whose}."


def _share(line: LedgerLine) -> str:
    """What one mean is of the other, as the pay of two groups is told."""
    if (
        line.metric != "mean_decision"
        or line.ratio is None
        or not (line.rate or 0) > 0 < (line.target_rate or 0)
    ):
        return ""
    return f": {line.ratio:.2f} {'of' if line.ratio < 1 else 'times'} theirs"


def _is_number(text: str) -> bool:
    return text.endswith("(estimated)") or text.replace(".", "", 1).replace("-", "", 1).isdigit()


def mean_words(metric: Metric, words: FileWords) -> str:
    """What a mean is of, in words of the file: 'the mean salary'; empty where it is not of one column."""
    means = {"outcome": (role.outcome,), "decision": (role.decision, role.amount), "score": (role.score,)}
    name = next((one for one, values in means.items() if metric.value in values), "")
    column = words.score if name == "score" else words.columns.get(name)
    people = _people(metric, words)
    if not column or people is None:
        return ""
    return f"the mean {column} of the {words.people} {people}" if people else f"the mean {column}"


def _base(rates: list[float]) -> int:
    """The smallest round number of people at which both rates are at least one person and do not look alike."""
    for base in BASES:
        counts = [round(rate * base) for rate in rates]
        told = all(count >= 1 or rate == 0 for count, rate in zip(counts, rates, strict=True))
        if told and (counts[0] != counts[1] or rates[0] == rates[1]):
            return base
    return BASES[-1]


def _value(value: Role | str, words: FileWords) -> str | None:
    for name, (one, other) in {
        "decision": (role.decision, role.not_decision), "outcome": (role.outcome, role.not_outcome),
    }.items():  # fmt: skip
        if value in (one, other):
            return words.done(name, int(value == one))
    if value == role.error:
        return "were decided wrongly"
    return "were decided rightly" if value == role.correct else None


def _people(metric: Metric, words: FileWords) -> str | None:
    """'who …', nothing for everyone, None where the condition is not one of the roles."""
    parts = []
    for key, admitted in metric.conditions.items():
        if key not in (role.decision, role.outcome) or len(admitted) != 1:
            return None
        name, label = ("outcome" if key == role.outcome else "decision"), int(admitted[0] == 1)
        done = words.done(name, label)
        if name == "outcome" and not words.told("outcome", label):
            column = words.columns.get("outcome", "outcome")
            parts.append(f"whose {column} is {label_text(words.positive, 'outcome', label)}")
        else:
            parts.append(f"who {done}")
    return None if metric.expression is not None else " and ".join(parts)

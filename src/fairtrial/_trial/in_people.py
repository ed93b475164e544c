"""A rate told in people: "Of people whose reoffended is 0, 45 of 100 in race: Black and 23 of 100 in race: White …"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairtrial._metrics.table import METRICS
from fairtrial._metrics.values import Metric, Role, label_text, role
from fairtrial._results.text import format_value
from fairtrial._trial.ledger import LedgerLine
from fairtrial._trial.two_facts import capital, clearest_words

BASES = (100, 1_000, 10_000, 100_000)


def in_people(
    metric: Metric, roles: Mapping[str, Any], rates: tuple[tuple[str, float], tuple[str, float]]
) -> str | None:
    """One sentence on a group and whom it is compared with; None where the metric's value is not a yes or no."""
    done = _value(metric.value, roles)
    people = _people(metric, roles)
    if done is None or people is None:
        return None
    among = f"Of people {people}, " if people else ""
    base = _base([rate for _, rate in rates])
    told = [f"{round(rate * base):,} of {base:,} {_in(who)}" for who, rate in rates]
    return f"{among}{told[0]} {done}, against {told[1]}."


def line_sentence(line: LedgerLine, roles: Mapping[str, Any]) -> str:
    """A comparison in people, or as its rates, or as its gap alone."""
    if line.rate is None or line.target_rate is None:
        return f"{capital(clearest_words(line))}."
    metric, people = METRICS.get(line.metric), not _is_number(line.against)
    if metric is not None and people and line.kind == "percent":
        told = in_people(metric, roles, ((line.who, line.rate), (line.against, line.target_rate)))
        if told is not None:
            return told
    rates = [
        format_value(rate, "rate" if line.kind == "percent" else "number")
        for rate in (line.rate, line.target_rate)
    ]
    label = line.label
    if metric is not None and line.kind == "number":
        label = plain_metric(metric, roles, real=True) or label
    label = label if label.startswith("the ") else f"the {label}"
    whose = f"of {line.against}" if people else f"({line.against})"
    return f"{capital(label)} of {line.who} is {rates[0]}, against {rates[1]} {whose}."


def _is_number(text: str) -> bool:
    return text.endswith("(estimated)") or text.replace(".", "", 1).replace("-", "", 1).isdigit()


def described_roles(content: Mapping[str, Any]) -> dict[str, Any]:
    """The columns' roles with the labels that count as 1."""
    data = content["spec"]["content"].get("data", {})
    positive = data.get("positive") if isinstance(data, Mapping) else None
    return {**content["data"]["roles"], "positive": positive}


def plain_metric(metric: Metric, roles: Mapping[str, Any], *, real: bool = False) -> str:
    """What a metric counts, in words of the file: 'how many of the people whose repaid is yes have approved = no'.

    Of a column of numbers (`real`) it is a mean: 'the mean of affairs'.
    """
    people = _people(metric, roles)
    done = _mean(metric.value, roles) if real else _value(metric.value, roles)
    if done is None or people is None:
        return ""
    if real:
        return f"{done} of the people {people}" if people else done
    return f"how many of the people {people} {done}" if people else f"how many people {done}"


def _mean(value: Role | str, roles: Mapping[str, Any]) -> str | None:
    """Of a column; None where a value is made of several or of a threshold."""
    name = next((one for one in ("outcome", "decision") if value == getattr(role, one)), "")
    return f"the mean of {roles[name]}" if name in roles else None


def _base(rates: list[float]) -> int:
    """The smallest round number of people at which both rates are at least one person and do not look alike."""
    for base in BASES:
        counts = [round(rate * base) for rate in rates]
        told = all(count >= 1 or rate == 0 for count, rate in zip(counts, rates, strict=True))
        if told and (counts[0] != counts[1] or rates[0] == rates[1]):
            return base
    return BASES[-1]


def _in(who: str) -> str:
    return {"everyone else": "of everyone else", "overall": "overall"}.get(who, f"in {who}")


def _value(value: Role | str, roles: Mapping[str, Any]) -> str | None:
    if value == role.decision:
        return _decided(roles, yes=True)
    if value == role.not_decision:
        return _decided(roles, yes=False)
    if value == role.outcome:
        return f"have {roles['outcome']} = {label_text(roles.get('positive'), 'outcome', 1)}"
    if value == role.not_outcome:
        return f"have {roles['outcome']} = {label_text(roles.get('positive'), 'outcome', 0)}"
    if value == role.error:
        return "were decided wrongly"
    return "were decided rightly" if value == role.correct else None


def _decided(roles: Mapping[str, Any], *, yes: bool) -> str:
    if roles.get("threshold") is not None:
        limit = roles["threshold"]
        return (
            f"have a {roles['score']} of {limit} or more" if yes else f"have a {roles['score']} below {limit}"
        )
    return f"have {roles['decision']} = {label_text(roles.get('positive'), 'decision', int(yes))}"


def _people(metric: Metric, roles: Mapping[str, Any]) -> str | None:
    """'whose …', nothing for everyone, None where the condition is not one of the roles."""
    parts = []
    for key, admitted in metric.conditions.items():
        if key not in (role.decision, role.outcome) or len(admitted) != 1:
            return None
        yes = admitted[0] == 1
        if key == role.outcome:
            parts.append(
                f"whose {roles['outcome']} is {label_text(roles.get('positive'), 'outcome', int(yes))}"
            )
        else:
            parts.append("who " + _decided(roles, yes=yes))
    return None if metric.expression is not None else " and ".join(parts)

"""A rate told in people: "Of people whose reoffended is 0, 45 of 100 in race: Black and 23 of 100 in race: White …"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairtrial.metrics.metric import Metric
from fairtrial.metrics.values import Role, role

BASES = (100, 1_000, 10_000, 100_000)


def in_people(
    metric: Metric, roles: Mapping[str, Any], rates: tuple[tuple[str, float], tuple[str, float]]
) -> str | None:
    """One sentence on a group and whom it is compared with; None where the metric's value is not a yes or no."""
    done = _value(metric.value, roles)
    among = _among(metric, roles)
    if done is None or among is None:
        return None
    base = _base([rate for _, rate in rates])
    told = [f"{round(rate * base):,} of {base:,} {_in(who)}" for who, rate in rates]
    return f"{among}{told[0]} and {told[1]} {done}."


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
        return f"have {roles['outcome']} = {_label(roles, 'outcome', 1)}"
    if value == role.not_outcome:
        return f"have {roles['outcome']} = {_label(roles, 'outcome', 0)}"
    if value == role.error:
        return "were decided wrongly"
    return "were decided rightly" if value == role.correct else None


def _decided(roles: Mapping[str, Any], *, yes: bool) -> str:
    if roles.get("threshold") is not None:
        limit = roles["threshold"]
        return (
            f"have a {roles['score']} of {limit} or more" if yes else f"have a {roles['score']} below {limit}"
        )
    return f"have {roles['decision']} = {_label(roles, 'decision', int(yes))}"


def _among(metric: Metric, roles: Mapping[str, Any]) -> str | None:
    """'Of people whose …, ', nothing for everyone, None where the condition is not one of the roles."""
    parts = []
    for key, admitted in metric.conditions.items():
        if key not in (role.decision, role.outcome) or len(admitted) != 1:
            return None
        yes = admitted[0] == 1
        if key == role.outcome:
            parts.append(f"whose {roles['outcome']} is {_label(roles, 'outcome', int(yes))}")
        else:
            parts.append("who " + _decided(roles, yes=yes))
    if metric.expression is not None:
        return None
    return f"Of people {' and '.join(parts)}, " if parts else ""


def _label(roles: Mapping[str, Any], name: str, value: int) -> str:
    """How the file writes it: the labels that count as 1, or what is none of them."""
    positive = roles.get("positive") or {}
    label = positive.get(name) if isinstance(positive, Mapping) else positive
    if label is None:
        return str(value)
    several = [str(one) for one in label] if isinstance(label, list | tuple) else [str(label)]
    if len(several) == 1:
        return several[0] if value == 1 else f"not {several[0]}"
    return " or ".join(several) if value == 1 else f"neither {' nor '.join(several)}"

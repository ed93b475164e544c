"""One gap, one number: the strongest finding told in people, and why two sections show different numbers for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairtrial.metrics.table import METRICS
from fairtrial.results.claims import target_words
from fairtrial.results.column import scalar
from fairtrial.trial.in_people import in_people


def strongest_in_people(content: Mapping[str, Any]) -> str:
    """The strongest finding that remains, in natural frequencies, from the harmed side; empty where there is none."""
    roles = {**content["data"]["roles"], "positive": _spec_data(content).get("positive")}
    told = [
        (row, sentence)
        for entry in content["family"]
        if entry["significant"] and not entry["of_many"]
        for row in _rows_of(content, entry)
        if (sentence := _sentence(row, roles)) is not None
    ]
    harmed = [sentence for row, sentence in told if row.get("effect") == "harmed"]
    return (harmed or [sentence for _, sentence in told] or [""])[0]


def _spec_data(content: Mapping[str, Any]) -> Mapping[str, Any]:
    data = content["spec"]["content"].get("data", {})
    return data if isinstance(data, Mapping) else {}


def _rows_of(content: Mapping[str, Any], entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The row that an entry of the family is about; nothing where its section has no such table."""
    section = next(one for one in content["sections"] if one["id"] == entry["section"])
    rows = section["result"]["estimates"] if section["result"] is not None else []
    return [row for row in rows if row.get("group") == entry["subject"] and _label(row) == entry["metric"]]


def _label(row: Mapping[str, Any]) -> str:
    metric = METRICS.get(str(row.get("metric")))
    return "" if metric is None else metric.label


def _sentence(row: Mapping[str, Any], roles: Mapping[str, Any]) -> str | None:
    rate, target = scalar(row.get("rate")), scalar(row.get("target_rate"))
    if not isinstance(rate, float) or not isinstance(target, float) or not row.get("target"):
        return None
    if row.get("target_n") == 0:  # a rate that was stated is nobody's
        return None
    sides = ((str(row["group"]), rate), (str(row["target"]), target))
    # what is told first is whom it harms
    ordered = sides[::-1] if row.get("effect") == "favoured" else sides
    return in_people(METRICS[str(row["metric"])], roles, ordered)


def why_numbers_differ(sections: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """For each section, in one line, which other one compares the same metric with somebody else."""
    found: dict[str, str] = {}
    for section in sections:
        others = [other for other in sections if other is not section and _metrics(other) & _metrics(section)]
        apart = [other for other in others if _compared(other) != _compared(section)]
        if apart and _compared(section):
            named = "; ".join(
                f"{_short(other)} with {_compared(other)}" for other in apart if _compared(other)
            )
            if named:
                found[section["id"]] = (
                    f"Here groups are compared with {_compared(section)}, in {named}: "
                    "the same group's difference is another number there."
                )
    return found


def _metrics(section: Mapping[str, Any]) -> set[str]:
    result = section["result"]
    return (
        set() if result is None else {str(row["metric"]) for row in result["estimates"] if row.get("metric")}
    )


def _compared(section: Mapping[str, Any]) -> str:
    """Whom a section compares with, in words; empty where it has no such choice."""
    arguments = section["result"]["provenance"].get("arguments", {}) if section["result"] is not None else {}
    return target_words(arguments["target"]) if arguments.get("target") is not None else ""


def _short(section: Mapping[str, Any]) -> str:
    return str(section["title"] or section["id"])

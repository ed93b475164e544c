"""The first screen of an audit that names no decision: how the people themselves differ, and that it is no verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairtrial._metrics.metric import Metric, label_text
from fairtrial._metrics.table import METRICS
from fairtrial._metrics.values import role
from fairtrial._report.gap_words import gap_text, interval_of, largest_row, rates_text
from fairtrial._report.one_gap import described_roles, with_attributes
from fairtrial._results.column import scalar
from fairtrial._results.text import counted
from fairtrial._trial.family import NAME_THE_DECISION

PEOPLE = "describes the people, not a decision about them"


def described_headline(content: Mapping[str, Any]) -> str:
    """The clearest difference in one sentence, or that none is shown."""
    row = clearest_row(content)
    if row is None:
        return f"The groups are not shown to differ. What was compared {PEOPLE}."
    if scalar(row.get("difference")) is None:
        return f"The groups differ by more than luck explains, which {PEOPLE}."
    gap = gap_text({**row, "scale": "difference"})  # nobody differs by so many times
    return f"{_pair(row)} by {gap} in {_quantity(row, content)}; that is more than luck, and {PEOPLE}."


def described_problem(found: int, total: int) -> str:
    """How many comparisons differ; whether that is a problem, nobody asked."""
    asked = "No decision was put to the test."
    compared = counted(total, "comparison")
    if not found:
        return f"{asked} No difference is shown in {compared}, which is not evidence that there is none."
    return f"{asked} A difference is shown in {found:,} of {compared}; it {PEOPLE}."


def described_groups(content: Mapping[str, Any]) -> list[str]:
    """Every group that differs, by name."""
    return list(dict.fromkeys(str(row["group"]) for row in _differing(content)))


def described_size(content: Mapping[str, Any]) -> str:
    """The clearest difference, or the largest that was seen and may be luck."""
    row = clearest_row(content)
    if row is not None and scalar(row.get("difference")) is None:
        return "The numbers are about so few people that they are masked here."
    if row is not None:
        return f"{gap_text(row)}: {rates_text(row)}."
    seen = largest_row(content)
    if seen is None:
        return ""
    beyond = (
        "cannot tell from luck" if _no_tolerance(content) else "do not show to go beyond what is tolerated"
    )
    return f"The largest gap seen is {gap_text(seen)} ({seen['group']}), which these numbers {beyond}."


def described_sure(content: Mapping[str, Any]) -> str:
    """The interval of that difference, and how often luck alone would show one."""
    row = clearest_row(content)
    if row is None:
        seen = largest_row(content)
        return f"{'' if seen is None else interval_of(seen)} The data do not settle it either way.".strip()
    interval = "" if scalar(row.get("difference")) is None else interval_of(row)
    err = f"{100 - 100 * float(row['level']):g} of 100 such tables"
    return f"{interval} If there were no difference, luck would show one or more in at most {err}.".strip()


def described_next() -> str:
    """As the summary says it."""
    return NAME_THE_DECISION


def clearest_row(content: Mapping[str, Any]) -> dict[str, Any] | None:
    """The row that the section's own verdict tells: the smallest p-value, then the largest gap."""
    return min(
        _differing(content),
        key=lambda row: (scalar(row.get("p_adjusted")) or 0.0, -abs(scalar(row.get("difference")) or 0.0)),
        default=None,
    )


def _differing(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        with_attributes(section, place)
        for section in _answered(content)
        for place, row in enumerate(section["result"]["estimates"])
        if row.get("state") == "described"
    ]


def _answered(content: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return [one for one in content["sections"] if one["result"] and one["result"]["details"].get("described")]


def _no_tolerance(content: Mapping[str, Any]) -> bool:
    return all(section["result"]["details"].get("tolerance") is None for section in _answered(content))


def _pair(row: Mapping[str, Any]) -> str:
    return f"{row['group']} differs from {row.get('target') or 'those it is compared with'}"


def _quantity(row: Mapping[str, Any], content: Mapping[str, Any]) -> str:
    """'how often survived = yes holds', 'the mean of affairs', or what the metric is called."""
    metric: Metric | None = METRICS.get(str(row["metric"]))
    if metric is None or metric.value != role.outcome or metric.conditions:
        labels = {
            name: label
            for one in _answered(content)
            for name, label in one["result"]["details"]["labels"].items()
        }
        return f"the {labels.get(row['metric'], row['metric'])}"
    roles = described_roles(content)
    if row.get("value_kind") == "number":
        return f"the mean of {roles['outcome']}"
    return f"how often {roles['outcome']} = {label_text(roles.get('positive'), 'outcome', 1)} holds"

"""Ordered decisions: every cut between two labels is a decision of its own, and all of them are judged at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairtrial._audit.audit import Audit
from fairtrial._compare.disparities import Disparities
from fairtrial._errors import Fault, NotApplicable, Note
from fairtrial._metrics.harm import harmed_side
from fairtrial._metrics.metric import Metric


def at_cut(metric: Metric, cut: str, audit: Audit) -> Metric:
    """The metric of the decision "this label or above"."""
    return replace(
        metric,
        name=f"{metric.name} [{cut}]",
        label=f"{metric.label} ({cut})",
        hurts=harmed_side(metric, audit.favourable),
    )


def cuts_of(metric: Metric, audit: Audit) -> list[tuple[str, Audit, Metric]]:
    """The cuts at which a metric is looked at, each with its audit; one without a name where there is no order."""
    if audit.order is None or "decision" not in metric.needs:
        return [("", audit, metric)]
    return [(name, cut, at_cut(metric, name, cut)) for name, cut in audit.cuts()]


def refuse_cuts(who: str, audit: Audit, metrics: Sequence[Metric]) -> None:
    """A criterion that joins metrics is judged of one decision."""
    if audit.order is not None and len(metrics) > 1:
        required = "joins several metrics, which is not judged of a decision with an order"
        raise NotApplicable(who, Fault("metric", required, cure="Ask for each metric"))


def cut_notes(audit: Audit) -> list[Note]:
    """How an ordered decision was looked at."""
    if audit.order is None:
        return []
    text = (
        f"The decision has the order {' < '.join(audit.order)}: every cut is a decision of its own. Adjusted p-values "
        "and findings hold over all cuts and groups at once; a certificate needs every cut."
    )
    return [Note("ordered-decision", text)]


def across_cuts(cuts: Mapping[str, Disparities], where: str = "") -> Disparities:
    """The first cut's gaps, called by what is asked of all of them: 'selection rate at any cut'."""
    name, first = next(iter(cuts.items()))
    if not name:
        return first
    label = first.metric.label.removesuffix(f" ({name})") + where
    return replace(first, metric=replace(first.metric, label=label))


def cut_details(cuts: Mapping[str, Disparities]) -> dict[str, Any]:
    """Which metric of the table is which cut, and what it is called; nothing without an order."""
    if list(cuts) == [""]:
        return {}
    return {
        "cuts": {cut.metric.name: name for name, cut in cuts.items()},
        "labels": {cut.metric.name: cut.metric.label for cut in cuts.values()},
    }

"""Which rates a criterion compares, and whether moving people across the boundary can make them equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Rows
from fairtrial._errors import Fault, InputError, NotApplicable, Set, Use, Words, did_you_mean
from fairtrial._metrics.metric import Metric
from fairtrial._metrics.table import CRITERIA, METRICS, find_metric
from fairtrial._metrics.values import ROLES, Role

WHO = "transport"
# a move across the decision boundary flips these; anything else is not a rate of decisions
EVENTS = ("decision", "not_decision", "correct", "error")


@dataclass(frozen=True, slots=True)
class Criterion:
    """The metrics that are to be equal, all of them rates of one event."""

    name: str
    metrics: list[Metric]
    event: str

    @property
    def roles(self) -> list[str]:
        """The roles that the event is made of."""
        return ["decision", *(["outcome"] if self.event in ("correct", "error") else [])]

    def happened(self, rows: Rows, decision: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """T of each row."""
        return np.asarray(ROLES[self.event].of({**rows.roles, "decision": decision}), dtype=np.uint8)


def find_criterion(criterion: object) -> Criterion:
    """The name, the metrics and the event of a criterion, refused with a pointer where the method cannot take it."""
    name, metrics = _name_and_metrics(criterion)
    if not metrics:
        raise InputError(WHO, Fault("criterion", "is empty", cure="name a criterion or at least one metric"))
    for metric in metrics:
        _check_movable(name, metric)
    events = {metric.value.name for metric in metrics if isinstance(metric.value, Role)}
    if len(events) > 1:
        required = f"joins rates of different events ({', '.join(sorted(events))}); ask for each alone"
        raise NotApplicable(WHO, Fault("criterion", required))
    return Criterion(name, metrics, events.pop())


def _name_and_metrics(criterion: object) -> tuple[str, list[Metric]]:
    if isinstance(criterion, str) and criterion in CRITERIA:
        return criterion, [METRICS[part] for part in CRITERIA[criterion]]
    if isinstance(criterion, str) and criterion not in METRICS:
        required = f"must be one of {sorted(CRITERIA)} or a metric among {_fitting()}"
        hint = did_you_mean(criterion, sorted([*CRITERIA, *METRICS]))
        raise InputError(WHO, Fault("criterion", required, got=criterion, hint=hint))
    listed = criterion if isinstance(criterion, list | tuple) else [criterion]
    metrics = [find_metric(WHO, part, "criterion") for part in listed]
    return " and ".join(metric.name for metric in metrics), metrics


def _fitting() -> list[str]:
    """The metrics that are rates of decisions."""
    return sorted(
        name
        for name, metric in METRICS.items()
        if isinstance(metric.value, Role) and metric.value.name in EVENTS
    )


def _check_movable(criterion: str, metric: Metric) -> None:
    """Refuse what moving people does not change, or changes in who is counted."""
    conditions = {part.name for part in metric.conditions if isinstance(part, Role)}
    if conditions & {"decision", "score", "score_bin"}:
        required = (
            f"{criterion!r} conditions on the decision ({metric.label}): moving people across the boundary changes "
            "who is counted, so the smallest change is not defined"
        )
        raise NotApplicable(WHO, Fault("criterion", required, cure=_certify_instead(metric)))
    if not isinstance(metric.value, Role) or metric.value.name not in EVENTS:
        required = (
            f"{criterion!r} is not a rate of decisions ({metric.label}): no move across the decision boundary "
            "changes it"
        )
        cure = _certify_instead(metric, f", or one of {_fitting()}")
        raise NotApplicable(WHO, Fault("criterion", required, cure=cure))


def _certify_instead(metric: Metric, more: str = "") -> Words:
    """Certify can judge what no move changes, measure what is compared in every bin of the score.

    A metric of one's own has no name that others know.
    """
    if metric.each is not None:
        return Words(f"Use {{}} with {{}}{more}", Use("measure"), Set("metrics", metric.name))
    if metric.name in METRICS:
        return Words(f"Use {{}} with {{}}{more}", Use("certify"), Set("metric", metric.name))
    return Words(f"Use {{}}{more}", Use("certify"))


def check_roles(audit: Audit, metrics: Sequence[Metric]) -> None:
    """The audit must have the decision and all that the metrics need; all that is missing at once."""
    needed = {"decision", *(need for metric in metrics for need in metric.needs)}
    faults = [
        Fault(
            "criterion",
            f"needs the {need}",
            subject="the criterion",
            cure=Words("name its column with {}", Set(need, of="Audit")),
        )
        for need in sorted(needed)
        if not audit.has(need)
    ]
    if faults:
        raise InputError(WHO, faults)


def own_criterion(content: Mapping[str, Any]) -> Criterion:
    """The criterion {"cells": [conditions, …], "contrasts": [[1, -1], …], "event": role.decision}."""
    unknown = sorted(set(content) - {"cells", "contrasts", "event", "names", "name"})
    if unknown or "contrasts" not in content:
        required = "needs 'cells' and 'contrasts' and may have 'event', 'names', 'name'"
        required += f"; unknown: {unknown}" if unknown else ""
        raise InputError(WHO, Fault("criterion", required, subject="a criterion of one's own"))
    event = content.get("event", "role.decision")
    name = event.name if isinstance(event, Role) else str(event).removeprefix("role.")
    if name not in EVENTS:
        required = f"must be one of {[f'role.{name}' for name in EVENTS]}"
        raise InputError(WHO, Fault("criterion", required, got=event, subject="'event'"))
    return Criterion(str(content.get("name", "own criterion")), _own_metrics(content), name)


def _own_metrics(content: Mapping[str, Any]) -> list[Metric]:
    """The conditions of each of its cells as those of a metric."""
    cells = list(content["cells"])
    names = [str(name) for name in content.get("names", [f"cell {i + 1}" for i in range(len(cells))])]
    metrics = []
    for index, conditions in enumerate(cells):
        given = {_part(key): value for key, value in dict(conditions).items()}
        metric = Metric(f"cell {index + 1}", ROLES["decision"], given, label=names[index])
        _check_movable(names[index], metric)
        metrics.append(metric)
    return metrics


def _part(key: object) -> Role | str:
    if isinstance(key, Role):
        return key
    text = str(key)
    if not text.startswith("role."):
        return text
    name = text.removeprefix("role.")
    if name not in ROLES:
        cure = f"roles are {sorted(ROLES)}"
        hint = did_you_mean(name, ROLES)
        raise InputError(WHO, Fault("criterion", f"names the unknown role {text!r}", cure=cure, hint=hint))
    return ROLES[name]

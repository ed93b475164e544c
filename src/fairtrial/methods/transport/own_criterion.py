"""A criterion of one's own: cells, contrasts between their rates, and the event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairtrial.data.audit import Audit
from fairtrial.errors import Fault, InputError, did_you_mean
from fairtrial.methods.transport.compared_rates import ComparedCell, ComparedRates
from fairtrial.methods.transport.criterion import (
    EVENTS,
    WHO,
    check_movable,
    check_roles,
    event_values,
    roles_of,
)
from fairtrial.methods.transport.solver.rate_contrasts import from_matrices
from fairtrial.metrics.metric import Metric
from fairtrial.metrics.values import ROLES, Role


def own_rates(audit: Audit, content: Mapping[str, Any]) -> ComparedRates:
    """The rates of {"cells": [conditions, …], "contrasts": [[1, -1], …], "event": role.decision}."""
    event = _checked_event(content)
    metrics = _metrics(content)
    check_roles(audit, metrics)
    rows = audit.rows(metrics=metrics, roles=roles_of(event), who=WHO)
    decision = rows.roles["decision"].astype(np.uint8)
    cells = np.column_stack([rows.given[metric.name] for metric in metrics]).astype(float)
    names = [metric.label for metric in metrics]
    try:
        contrasts = from_matrices(cells, content["contrasts"], event_values(event, rows, decision), names)
    except ValueError as error:
        fault = Fault("criterion", f"do not fit: {error}", subject="the criterion's cells and contrasts")
        raise InputError(WHO, fault) from None
    name = str(content.get("name", "own criterion"))
    # a contrast of one's own has no single reference cell: each line stands for itself
    lines = [ComparedCell(name, "", label, -1) for label in contrasts.names]
    return ComparedRates(contrasts, decision, lines, rows, name, [])


def _checked_event(content: Mapping[str, Any]) -> str:
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
    return name


def _metrics(content: Mapping[str, Any]) -> list[Metric]:
    """Each cell's conditions as those of a metric."""
    cells = list(content["cells"])
    names = [str(name) for name in content.get("names", [f"cell {i + 1}" for i in range(len(cells))])]
    metrics = []
    for index, conditions in enumerate(cells):
        given = {_part(key): value for key, value in dict(conditions).items()}
        metric = Metric(f"cell {index + 1}", ROLES["decision"], given, label=names[index])
        check_movable(names[index], metric)
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

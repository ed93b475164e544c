"""From the article's question to its answer: a criterion of one's own, the projection, and the article's p-value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._errors import (
    Fault,
    InputError,
    NotApplicable,
    Note,
    Set,
    Words,
    did_you_mean,
)
from fairtrial._metrics.values import ROLES, Metric, Role
from fairtrial._transport.answer import answer
from fairtrial._transport.compared_rates import ComparedCell, ComparedRates, TransportRequest
from fairtrial._transport.criterion import EVENTS, WHO, Criterion, check_movable, check_roles
from fairtrial._transport.movers import SmallestChange
from fairtrial._transport.result import ABOUT_THE_GAP, TransportResult
from fairtrial._transport.solver.gap_test import GapTest
from fairtrial._transport.solver.rate_contrasts import Floats, from_matrices
from fairtrial.papers.transport._article_test import article_test

R = TypeVar("R", bound=TransportResult)
BY_THE_ARTICLE = Note(
    "paper-calibration",
    "The article's p-value: it does not hold its level for discrete scores and depends on the units of the distance.",
)


def project_audit(
    audit: Audit, request: TransportRequest, calibration: str, bandwidth: float | None, result: type[R]
) -> R:
    """The projection and its p-value, by the article's law or by the pooled one."""
    _check_calibration(request, calibration, bandwidth, audit.has("unit"))
    own = isinstance(request.metric, Mapping) and "cells" in request.metric

    def by_the_article(
        rates: ComparedRates, change: SmallestChange, request: TransportRequest, _: Floats
    ) -> GapTest | str:
        return _article_test(rates, change, request, bandwidth)

    paper = calibration == "paper"
    found = answer(
        audit,
        request,
        own_rates(audit, request.metric) if own else None,  # type: ignore[arg-type]
        by_the_article if paper else None,
        result,
    )
    assert isinstance(found, result)
    notes = tuple(BY_THE_ARTICLE if paper and note == ABOUT_THE_GAP else note for note in found.notes)
    return replace(found, notes=notes, details={**found.details, "calibration": calibration})


def _check_calibration(
    request: TransportRequest, calibration: str, bandwidth: float | None, repeated: bool
) -> None:
    """Refuse what the calibration has no use for, or no law."""
    if calibration == "pooled":
        if bandwidth is not None:
            why = Words("belongs to {}: the pooled p-value needs none", Set("calibration", "paper"))
            raise InputError(WHO, Fault("bandwidth", why))
        return
    pooled = Set("calibration", "pooled")
    if repeated:
        required = "'paper' takes every row for a person of its own, which the unit says it is not"
        raise NotApplicable(WHO, Fault("calibration", required, cure=Words("use {}", pooled)))
    if request.direction == "differs" and request.tolerates:
        required = "'paper' with a tolerance is one-sided in the article"
        cure = Words("use {} or {}, or {}", Set("direction", "above"), Set("direction", "below"), pooled)
        raise NotApplicable(WHO, Fault("calibration", required, cure=cure))


def _article_test(
    rates: ComparedRates, change: SmallestChange, request: TransportRequest, bandwidth: float | None
) -> GapTest | str:
    distance, projection = change.cost, change.projection
    if projection is None or distance is None:
        return change.why_none or "there is no distance"
    if projection.infeasible is not None:
        return f"the article's statistic is infinite: {projection.infeasible}"
    width = bandwidth if bandwidth is not None else rates.contrasts.rows**-0.2
    problem, statistic = rates.contrasts, projection.statistic
    # "below" is the article's one-sided test with the contrasts turned round, which changes neither S nor Σ
    try:
        return article_test(problem, distance, statistic, width, request.direction, request.seed)
    except ArithmeticError as error:
        return str(error)


# -- a criterion of one's own: its cells are U, its contrasts W, its event T
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
        check_movable(names[index], metric, "criterion")
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


def own_rates(audit: Audit, content: Mapping[str, Any]) -> ComparedRates:
    """The rates of a criterion of one's own: each of its cells, and the contrasts between them."""
    found = own_criterion(content)
    check_roles(audit, found.metrics, "criterion")
    rows = audit.rows(metrics=found.metrics, roles=found.roles, units=audit.has("unit"), who=WHO)
    decision = rows.roles["decision"].astype(np.uint8)
    cells = np.column_stack([rows.given[metric.name] for metric in found.metrics]).astype(float)
    names = [metric.label for metric in found.metrics]
    try:
        contrasts = from_matrices(cells, content["contrasts"], found.happened(rows, decision), names)
    except ValueError as error:
        fault = Fault(
            "criterion",
            f"do not fit: {error}",
            subject="the criterion's cells and contrasts",
            cure="Make them as many as the groups, in their order",
        )
        raise InputError(WHO, fault) from None
    # a contrast of one's own has no single reference cell: each line stands for itself
    lines = [ComparedCell(found.name, "", label, -1) for label in contrasts.names]
    return ComparedRates(contrasts, decision, lines, rows, found.name, [])

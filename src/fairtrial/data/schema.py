"""Faults in how an audit is declared."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from fairtrial.errors import Faults, InputError, choice_fault

if TYPE_CHECKING:
    from fairtrial.data.roles import Roles


def column_list(argument: str, columns: object) -> tuple[str, ...]:
    """One column or several, as a tuple."""
    if isinstance(columns, str):
        return (columns,)
    if not isinstance(columns, list | tuple):
        raise InputError("Audit", f"{argument!r} must be a column or a list of columns, got {columns!r}")
    return tuple(columns)


def check_schema(audit: Roles) -> None:
    """All faults of the declaration in one message, before any data is read."""
    faults = Faults("Audit")
    named: list[tuple[str, Any]] = [
        (name, getattr(audit, name)) for name in ("outcome", "decision", "score", "weight", "unit")
    ]
    named += [("groups", name) for name in audit.groups] + [("features", name) for name in audit.features]
    named += [("bins", name) for name in audit.bins if name != "score"]
    for argument, name in named:
        if name is not None:
            try:
                audit.check_column("Audit", argument, name)
            except InputError as error:
                faults.extend(error)
    for argument in ("groups", "features"):
        listed = getattr(audit, argument)
        for name in sorted({name for name in listed if listed.count(name) > 1}, key=str):
            faults.add(f"{argument!r} names {name!r} twice")
    if audit.threshold is not None and audit.score is None:
        faults.add("'threshold' needs a score: name its column with score=")
    if audit.threshold is not None and audit.decision is not None:
        faults.add("'decision' and 'threshold' both define the decision: give one of them")
    if audit.threshold is not None and (isinstance(audit.threshold, str) or not is_number(audit.threshold)):
        faults.add(f"'threshold' must be a finite number, got {audit.threshold!r}")
    fault = choice_fault("missing", audit.missing, ["error", "drop", "category"])
    if fault:
        faults.add(fault)
    for name in audit.positive:
        if name not in ("decision", "outcome"):
            faults.add(
                f"'positive' must be a label or a dict with 'decision' and 'outcome', got the key {name!r}"
            )
    for name, cut in audit.bins.items():
        _check_bins(name, cut, faults)
    faults.raise_any()


def is_number(value: object) -> bool:
    try:
        return not isinstance(value, bool) and bool(np.isfinite(float(value)))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False


def _check_bins(name: str, cut: Any, faults: Faults) -> None:
    if isinstance(cut, int | np.integer) and not isinstance(cut, bool):
        if not 2 <= cut <= 100:
            faults.add(f"'bins' of {name!r} must be 2 to 100 quantile bins, got {cut}")
        return
    if (
        not isinstance(cut, list | tuple | np.ndarray)
        or not len(cut)
        or not all(is_number(edge) for edge in cut)
    ):
        faults.add(f"'bins' of {name!r} must be a list of edges or a number of quantile bins, got {cut!r}")
    elif any(high <= low for low, high in pairwise(cut)):
        faults.add(f"'bins' of {name!r} must be increasing, got {list(cut)}")

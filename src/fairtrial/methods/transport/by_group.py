"""What is said group by group: how far each rate may differ (ε of Section 4), and what moving each group costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fairtrial.errors import Fault, InputError, did_you_mean
from fairtrial.methods.transport.compared_rates import ComparedCell, ComparedRates

WHO = "transport"
Floats = NDArray[np.float64]
Tolerance = float | Mapping[str, float] | Sequence[float]


def allowed_gaps(rates: ComparedRates, tolerance: Tolerance) -> Floats:
    """ε of each equality, in the order of the table."""
    size = rates.contrasts.size
    if isinstance(tolerance, Mapping):
        return _by_name(rates, tolerance)
    if isinstance(tolerance, int | float):
        return np.full(size, float(tolerance))
    if len(tolerance) != size:
        required = f"must hold one number for each of the {size} equalities, in the order of the table"
        raise InputError(WHO, Fault("tolerance", required, got=list(tolerance)))
    return np.array([_checked_gap(value) for value in tolerance])


def _by_name(rates: ComparedRates, tolerance: Mapping[str, float]) -> Floats:
    """Of metrics and groups by their names; the smaller where both are named, nothing where neither is."""
    compared = [cell for place, cell in enumerate(rates.cells) if cell.reference not in (-1, place)]
    if not compared:
        required = (
            "by name needs groups to name; a criterion of one's own takes a list, one number per contrast"
        )
        raise InputError(WHO, Fault("tolerance", required, got=dict(tolerance)))
    _check_names("tolerance", tolerance, [name for cell in compared for name in _names(cell)])
    limits = {name: _checked_gap(value) for name, value in tolerance.items()}
    return np.array([min([limits[n] for n in _names(cell) if n in limits], default=0.0) for cell in compared])


def _names(cell: ComparedCell) -> tuple[str, ...]:
    return cell.group, cell.metric, cell.name


def _checked_gap(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise InputError(WHO, Fault("tolerance", "must be numbers of at least 0 and below 1", got=value))
    return float(value)


def cost_factors(rates: ComparedRates, group_cost: Mapping[str, float] | None) -> Floats | None:
    """What a unit of distance costs in each row's groups, multiplied; None where it costs the same everywhere."""
    if not group_cost:
        return None
    _check_names("group_cost", group_cost, [cell.group for cell in rates.cells])
    factors = np.ones(len(rates.contrasts.cells))
    for index, cell in enumerate(rates.cells):
        value = group_cost.get(cell.group, 1.0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < np.inf:
            raise InputError(WHO, Fault("group_cost", "must be numbers above 0", got=value))
        factors *= np.where(rates.contrasts.cells[:, index] > 0, float(value), 1.0)
    return np.asarray(factors[rates.contrasts.pattern])


def _check_names(argument: str, given: Mapping[str, float], known: Sequence[str]) -> None:
    unknown = [name for name in given if name not in known]
    if unknown:
        listed = ", ".join(dict.fromkeys(known))
        hint = did_you_mean(unknown[0], known)
        raise InputError(WHO, Fault(argument, f"must name some of: {listed}", got=unknown[0], hint=hint))

"""From the question to the answer of transport: the change, the test of the gap, the table and the details."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.audit import Audit
from fairtrial._errors import Fault, InputError, did_you_mean
from fairtrial._results.column import State, defined_or, undefined
from fairtrial._transport.compared_rates import (
    ComparedCell,
    ComparedRates,
    LeftOutGroup,
    Tolerance,
    TransportRequest,
    find_rates,
)
from fairtrial._transport.distance import find_distance
from fairtrial._transport.movers import Moved, SmallestChange, bands, histogram, moved_rows, smallest_change
from fairtrial._transport.moves import DecidedRows, Distances
from fairtrial._transport.result import (
    ALONE,
    TOO_FEW,
    TransportResult,
    counted_notes,
    notes,
    null_words,
    person_notes,
    question_words,
    size_notes,
    verdict,
)
from fairtrial._transport.solver.change_bootstrap import change_intervals
from fairtrial._transport.solver.gap_test import (
    GapTest,
    limits_at_once,
    person_gaps,
    person_test,
    pooled_test,
)
from fairtrial._transport.solver.rate_contrasts import band
from fairtrial._work import generator

Floats = NDArray[np.float64]
WHO = "transport"
LIMITS = tuple(f"{size}_{end}" for size in ("moved", "statistic", "mean_shift") for end in ("low", "high"))
# The p-value of the gap from the rates, the change and what gaps are allowed; or why there is none.
Tested = Callable[[ComparedRates, SmallestChange, TransportRequest, Floats], GapTest | str]


def answer(
    audit: Audit,
    request: TransportRequest,
    rates: ComparedRates | None = None,
    tested: Tested | None = None,
    result: type[TransportResult] = TransportResult,
) -> TransportResult:
    """The smallest change, and the test of the gap; other rates and another test than the request's where given."""
    rates = find_rates(audit, request) if rates is None else rates
    score = None if rates.contrasts.count is None else rates.rows.roles.get("score")
    decided = DecidedRows(audit, rates.decision, rates.compared_rows, score)
    distances = find_distance(decided, request.distance, request.moves)
    allowed = allowed_gaps(rates, request.tolerance)
    price = cost_factors(rates, request.group_cost)
    change = smallest_change(rates, distances, allowed, request.direction, price)
    test = (tested or gap_test)(rates, change, request, allowed)
    gaps = _compared_gaps(rates, request.confidence_level)
    rows = _group_rows(rates, change, request, gaps.rows)
    details = _details(rates, change, test, request, allowed)
    return result(
        question=question_words(rates),
        null=null_words(rates, allowed, request.direction),
        verdict=verdict(rows, details, test, request.confidence_level, gaps.at_once),
        estimates=tuple(rows),
        details=details,
        notes=(
            *audit.notes(),
            *notes(rates, change, request.minimum),
            *size_notes(details),
            *person_notes(rates),
            *counted_notes(rates, audit.why_sums),
        ),
        provenance=audit.provenance(
            rates.rows,
            seed=request.seed,
            arguments={request.argument: rates.name, "by": rates.by, "distance": distances.kind},
        ),
        objects=_objects(rates, change),
    )


def _objects(rates: ComparedRates, change: SmallestChange) -> dict[str, Any]:
    """The plan and the rows behind it, for this session only; none where rows were only counted."""
    if change.after is None or rates.contrasts.count is not None:
        return {}
    return {"plan": change.after.plan, "moved": moved_rows(rates, change.distances, change.after)}


def gap_test(
    rates: ComparedRates, change: SmallestChange, request: TransportRequest, allowed: Floats
) -> GapTest | str:
    """The test of the gap, or the reason why it cannot be made."""
    try:
        if rates.person is not None:
            found = person_test(rates.contrasts, rates.person, allowed, request.direction)
            if found is not None:
                return found
        distance = change.distances.values
        return pooled_test(rates.contrasts, distance, allowed, request.direction, request.seed)
    except ArithmeticError as error:
        return str(error)


def _group_rows(
    rates: ComparedRates,
    change: SmallestChange,
    request: TransportRequest,
    differences: Mapping[int, dict[str, Any]],
) -> list[dict[str, Any]]:
    """All rows, their cells in the order of the columns."""
    distance = change.distances.values
    stuck = None if distance is None else rates.contrasts.sum_per_cell(np.isinf(distance))
    rows = [
        {
            "metric": cell.metric,
            "attribute": cell.attribute,
            "group": cell.group,
            "n": rates.people(index),
            "rate": float(rates.contrasts.rates[index]),
            "cannot_move": None if stuck is None else int(stuck[index]),
            **_after(rates, change, index),
            **differences.get(index, {}),
            **_state(rates, change.after, index).cells(),
        }
        for index, cell in enumerate(rates.cells)
    ]
    rows += [_left_out_row(item, request.minimum) for item in rates.left_out]
    return [{column.name: row.get(column.name) for column in TransportResult.columns} for row in rows]


class _Differences(NamedTuple):
    """What each cell's row tells of its difference, and by the same places the limits that hold for all at once."""

    rows: dict[int, dict[str, Any]]
    at_once: dict[int, tuple[float, float]]


def _compared_gaps(rates: ComparedRates, level: float) -> _Differences:
    """Each cell's difference to its reference with its interval; cells without a reference have none."""
    pairs = [
        (index, cell.reference) for index, cell in enumerate(rates.cells) if cell.reference not in (-1, index)
    ]
    if not pairs:
        return _Differences({}, {})
    gaps = person_gaps(rates.contrasts, pairs, rates.person)
    low, high = gaps.limits(level)
    least, most = limits_at_once(rates.contrasts, pairs, gaps, level)
    rows = {
        index: {
            "target": rates.cells[other].group,
            "target_n": rates.people(other),
            "difference": float(gaps.estimate[place]),
            "difference_low": defined_or(float(low[place]), gaps.reason[place] or "no limit"),
            "difference_high": defined_or(float(high[place]), gaps.reason[place] or "no limit"),
        }
        for place, (index, other) in enumerate(pairs)
    }
    at_once = {index: (float(least[place]), float(most[place])) for place, (index, _) in enumerate(pairs)}
    return _Differences(rows, at_once)


def _left_out_row(item: LeftOutGroup, minimum: int) -> dict[str, Any]:
    """A group that was not compared, with the reason in place of its numbers."""
    if item.n < minimum:
        state = State(TOO_FEW.code, f"fewer than {minimum} rows")
    else:
        state = State(ALONE.code, "nobody to compare with")
    empty = {name: undefined(state.reason) for name in ("rate", "rate_after", "difference")}
    return {"metric": item.metric, "group": item.group, "n": item.n, **empty, **state.cells()}


def _after(rates: ComparedRates, change: SmallestChange, index: int) -> dict[str, Any]:
    """What the change does to one cell."""
    after = change.after
    if after is None:
        # the long reason stands below the table
        why = "no distance" if change.distances.values is None else change.why_none
        names = ("rate_after", "gained", "lost", "share_moved", "mean_shift", "largest_shift")
        return {name: undefined(why) for name in names}
    mass = float(after.gained[index] + after.lost[index])
    return {
        "rate_after": float(after.rates_after[index]),
        "gained": float(after.gained[index]),
        "lost": float(after.lost[index]),
        "share_moved": float(mass / rates.contrasts.cell_rows[index]),
        "mean_shift": float(after.cost[index] / mass) if mass > 0 else None,
        "largest_shift": float(after.largest[index]) or None,
        "tied": int(after.tied[index]),
    }


def _state(rates: ComparedRates, after: Moved | None, index: int) -> State:
    is_reference = rates.cells[index].reference == index
    if after is None:
        return State("reference" if is_reference else "compared")
    change = float(after.rates_after[index]) - rates.contrasts.rates[index]
    code = "stays" if abs(change) < 1e-9 else "rises" if change > 0 else "falls"
    return State(f"reference, {code}" if is_reference else code)


def _details(
    rates: ComparedRates,
    change: SmallestChange,
    test: GapTest | str,
    request: TransportRequest,
    allowed: Floats,
) -> dict[str, Any]:
    """What charts and sentences need besides the table."""
    distance = change.distances.values
    return {
        "criterion": rates.name,
        "by": [part if isinstance(part, str) else ", ".join(map(str, part.values())) for part in rates.by],
        "compared": rates.compared,
        "equalities": rates.contrasts.size,
        "p_value": undefined(test) if isinstance(test, str) else test.p_value,
        "test": test if isinstance(test, str) else test.how,
        **_size_of_change(change),
        "intervals": _intervals(rates, change, test, request, allowed),
        "routes": [] if change.projection is None else list(change.projection.routes),
        "distance": _distance_details(change),
        "bands": [] if change.after is None or distance is None else bands(rates, distance, change.after),
        "histogram": [] if distance is None else histogram(rates, distance, change.after),
        "tolerance": float(allowed.max()),
        **({} if (allowed == allowed[0]).all() else {"tolerances": allowed.tolist()}),
        **({} if not request.group_cost else {"group_cost": dict(request.group_cost)}),
        "direction": request.direction,
        "confidence_level": request.confidence_level,
    }


def _size_of_change(change: SmallestChange) -> dict[str, Any]:
    """How many people move how far; undefined with the reason where there is no change."""
    after, projection = change.after, change.projection
    if after is None or projection is None:
        missing = undefined(change.why_none)
        return {**dict.fromkeys(("statistic", "moved", "mean_shift", "largest_shift"), missing), "tied": 0}
    mean, largest = after.shifts
    return {
        "statistic": projection.statistic,
        "moved": after.total,
        "mean_shift": mean,
        "largest_shift": largest,
        "tied": after.shared,
    }


def _intervals(
    rates: ComparedRates,
    change: SmallestChange,
    test: GapTest | str,
    request: TransportRequest,
    allowed: Floats,
) -> dict[str, Any]:
    """Limits of the number moved, of N·P and of the mean shift; undefined with the reason where there are none."""
    if change.after is None or change.cost is None or rates.person is not None:
        return dict.fromkeys(LIMITS, undefined(change.why_none or "a person may have several rows"))
    shown = not isinstance(test, str) and test.p_value <= 1 - request.confidence_level
    limits = band(rates.contrasts.size, allowed, request.direction)
    price = cost_factors(rates, request.group_cost)
    asked = (request.confidence_level, shown, generator(request.seed, "transport size of change"))
    found = change_intervals(rates.contrasts, change.cost, price, limits, asked)
    if isinstance(found, str):
        return dict.fromkeys(LIMITS, undefined(found))
    return dict(zip(LIMITS, (*found.moved, *found.cost, *found.shift), strict=True))


def _distance_details(change: SmallestChange) -> dict[str, Any]:
    """What a move was measured by, and what it means for each feature in its own units."""
    distances: Distances = change.distances
    mean, largest = (0.0, 0.0) if change.after is None else change.after.shifts
    return {
        "kind": distances.kind,
        "unit": distances.unit,
        "movable": list(distances.movable),
        "immutable": list(distances.immutable),
        "shifts": [
            {
                "feature": part["feature"],
                "mean": abs(part["change"]) * mean,
                "largest": abs(part["change"]) * largest,
            }
            for part in distances.per_feature
        ],
    }


# -- What is said group by group: how far each rate may differ (ε of Section 4), and what moving each group costs.
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

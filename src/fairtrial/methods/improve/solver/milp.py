"""Exact search for a linear rule that improves on the status quo, as a mixed integer linear program.

Source: Auerbach, Liang, Okumura and Tabord-Meehan, "Testing the Fairness-Accuracy Improvability of Algorithms",
Appendix F: (F.5) the fairest linear classifier that is at least as accurate for both groups, (F.6) the one most
accurate for one group that is no less accurate for the other and less unfair, and (P′) the counterpart of (F.5)
for the mean outcome of the selected under a capacity.

The programs are exact on the rows they are given and their size grows with the rows: HiGHS proves optimality up to
about fifty rows and improves incumbents up to about a hundred. They are selection rules for a subsample; what was
proved holds on that subsample only.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Program = Literal["F.5", "F.6", "P'"]
Proof = Literal["optimal", "bounded", "infeasible", "nothing"]

# D_j = 0 needs X_j'β < 0 strictly (F.4); a solver needs a margin, relative to C_j, above its tolerance of 1e-6.
MARGIN = 1e-4
# The start's own value must stay feasible under its cutoff.
CUTOFF_SLACK = 1e-7
# Levels are ratios of counts: equal ones may differ by rounding.
ROUNDING = 1e-9
# Status codes of scipy.optimize.milp.
OPTIMAL, INFEASIBLE = 0, 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearRule:
    """What one program found and what it proved about its rows.

    `proof` is "optimal" (no linear rule does better on these rows), "bounded" (a rule, and no linear rule gets
    past `bound`), "infeasible" (no linear rule meets the constraints on these rows, to the solver's margin) or
    "nothing" (the time ran out first; `coefficients` is then the start, if one was given).
    """

    program: Program
    proof: Proof
    coefficients: Floats | None
    objective: float | None
    bound: float | None
    rows: int
    seconds: float
    from_start: bool

    def statement(self) -> str:
        """What was proved, in one sentence."""
        what = {
            "F.5": "smallest accuracy gap of a linear rule that is as accurate for both groups",
            "F.6": "largest accuracy for the first group of a linear rule that is less unfair",
            "P'": "smallest gap in the selected people's mean outcome of a linear rule as accurate for both groups",
        }[self.program]
        if self.proof == "infeasible":
            return f"proved on {self.rows} rows: no linear rule meets the constraints"
        if self.proof == "optimal":
            return f"proved on {self.rows} rows: {self.objective:.4g} is the {what}"
        if self.proof == "bounded":
            return (
                f"found on {self.rows} rows: {self.objective:.4g} as the {what}; "
                f"proved: none gets past {self.bound:.4g}"
            )
        return f"nothing proved on {self.rows} rows within {self.seconds:.1f} seconds"


@dataclass(slots=True)
class _Model:
    """Columns (variables) and rows (constraints) of a program, collected one after another."""

    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    integer: list[int] = field(default_factory=list)
    entries: list[tuple[int, int, float]] = field(default_factory=list)
    row_lower: list[float] = field(default_factory=list)
    row_upper: list[float] = field(default_factory=list)

    def variables(
        self, count: int, lower: float, upper: float, *, integer: bool = False
    ) -> NDArray[np.int64]:
        start = len(self.lower)
        self.lower += [lower] * count
        self.upper += [upper] * count
        self.integer += [int(integer)] * count
        return np.arange(start, start + count)

    def row(self, terms: list[tuple[int, float]], lower: float, upper: float) -> None:
        index = len(self.row_lower)
        self.entries += [(index, column, value) for column, value in terms if value != 0.0]
        self.row_lower.append(lower)
        self.row_upper.append(upper)

    def matrix(self) -> csr_array:
        rows, columns, values = zip(*self.entries, strict=True)
        return csr_array((values, (rows, columns)), shape=(len(self.row_lower), len(self.lower)))


def fairest_classifier(
    x: Floats,
    y: Floats,
    group: NDArray[np.integer],
    status_quo: tuple[float, float],
    *,
    iota: float = 0.0,
    time_limit: float = 10.0,
    start: Floats | None = None,
) -> LinearRule:
    """(F.5): min |U^0 − U^1| over linear classifiers with U^g ≥ Û_0^g + ι; U^g the classification rate."""
    model, beta, decision = _linear_classifier(x)
    rates = _classification_rates(model, y, group, decision)
    gap = int(model.variables(1, 0.0, 1.0)[0])
    for sign in (1.0, -1.0):
        model.row([(gap, 1.0), (rates[0], -sign), (rates[1], sign)], 0.0, np.inf)
    for rate, level in zip(rates, status_quo, strict=True):
        model.row([(rate, 1.0)], level + iota, np.inf)

    def score(coefficients: Floats) -> float | None:
        found = _rates_of(x, y, group, coefficients)
        feasible = all(u >= level + iota - ROUNDING for u, level in zip(found, status_quo, strict=True))
        return abs(found[0] - found[1]) if feasible else None

    return _solve("F.5", model, beta, gap, 1.0, len(y), time_limit, start, score)


def most_accurate_classifier(
    x: Floats,
    y: Floats,
    group: NDArray[np.integer],
    status_quo: tuple[float, float],
    *,
    iota: float = 0.0,
    time_limit: float = 10.0,
    start: Floats | None = None,
) -> LinearRule:
    """(F.6): max U^0 over linear classifiers with U^1 ≥ Û_0^1 + ι and |U^0 − U^1| ≤ |Û_0^0 − Û_0^1| − ι."""
    model, beta, decision = _linear_classifier(x)
    rates = _classification_rates(model, y, group, decision)
    gap = abs(status_quo[0] - status_quo[1]) - iota
    model.row([(rates[1], 1.0)], status_quo[1] + iota, np.inf)
    model.row([(rates[0], 1.0), (rates[1], -1.0)], -gap, gap)

    def score(coefficients: Floats) -> float | None:
        rate = _rates_of(x, y, group, coefficients)
        feasible = rate[1] >= status_quo[1] + iota - ROUNDING and abs(rate[0] - rate[1]) <= gap + ROUNDING
        return rate[0] if feasible else None

    return _solve("F.6", model, beta, rates[0], -1.0, len(y), time_limit, start, score)


def fairest_selection(
    x: Floats,
    y: Floats,
    group: NDArray[np.integer],
    status_quo: tuple[float, float],
    capacity: int,
    *,
    iota: float = 0.0,
    time_limit: float = 10.0,
    start: Floats | None = None,
) -> LinearRule:
    """(P′): min |U^0 − U^1|, U^g = E[Y | selected, g], selecting `capacity` rows by a linear rule.

    The ratios become linear by t_g = 1/Σ_g D and s_g = t_g·D (F.8), which the constraints pin down because D is
    binary (Proposition F.1).
    """
    model, beta, decision = _linear_classifier(x)
    rows = len(y)
    largest = float(np.max(y))
    levels = model.variables(2, 0.0, largest)
    model.row([(int(d), 1.0) for d in decision], capacity, capacity)
    for code in (0, 1):
        member = group == code
        inverse = int(model.variables(1, 1.0 / rows, 1.0)[0])
        share = model.variables(rows, 0.0, 1.0)
        model.row(
            [(int(levels[code]), 1.0)]
            + [(int(s), -float(v)) for s, v, m in zip(share, y, member, strict=True) if m],
            0.0,
            0.0,
        )
        model.row([(int(s), 1.0) for s, m in zip(share, member, strict=True) if m], 1.0, 1.0)
        for s, d in zip(share, decision, strict=True):
            model.row([(int(s), 1.0), (inverse, -1.0)], -np.inf, 0.0)
            model.row([(int(s), 1.0), (int(d), -1.0)], -np.inf, 0.0)
            model.row([(int(s), 1.0), (inverse, -1.0), (int(d), -1.0)], -1.0, np.inf)
        model.row([(int(levels[code]), 1.0)], status_quo[code] + iota, np.inf)
    gap = int(model.variables(1, 0.0, largest)[0])
    for sign in (1.0, -1.0):
        model.row([(gap, 1.0), (int(levels[0]), -sign), (int(levels[1]), sign)], 0.0, np.inf)

    def score(coefficients: Floats) -> float | None:
        chosen = x @ coefficients >= 0
        means = [
            float(y[chosen & (group == g)].mean()) if (chosen & (group == g)).any() else -1.0 for g in (0, 1)
        ]
        feasible = chosen.sum() == capacity and all(
            m >= u + iota for m, u in zip(means, status_quo, strict=True)
        )
        return abs(means[0] - means[1]) if feasible else None

    return _solve("P'", model, beta, gap, 1.0, rows, time_limit, start, score)


def _linear_classifier(x: Floats) -> tuple[_Model, NDArray[np.int64], NDArray[np.int64]]:
    """X_j'β/C_j < D_j ≤ 1 + X_j'β/C_j with β in [−1, 1]^d and C_j > sup |X_j'β| (F.4)."""
    model = _Model()
    beta = model.variables(x.shape[1], -1.0, 1.0)
    decision = model.variables(x.shape[0], 0.0, 1.0, integer=True)
    scale = 1.01 * np.abs(x).sum(axis=1) + 1e-9
    for j, row in enumerate(x / scale[:, None]):
        terms = [(int(b), -float(v)) for b, v in zip(beta, row, strict=True)]
        # Both sides keep the margin, so that the returned β reproduces the program's decisions exactly.
        model.row([*terms, (int(decision[j]), 1.0 + MARGIN)], MARGIN, 1.0)
    return model, beta, decision


def _classification_rates(
    model: _Model, y: Floats, group: NDArray[np.integer], decision: NDArray[np.int64]
) -> tuple[int, int]:
    """U^g = (1/n_g) Σ_g (1 − Y) + (2Y − 1)·D (F.4)."""
    rates = model.variables(2, 0.0, 1.0)
    for code in (0, 1):
        member = np.flatnonzero(group == code)
        terms = [(int(decision[j]), -(2.0 * float(y[j]) - 1.0) / member.size) for j in member]
        constant = float(np.mean(1.0 - y[member]))
        model.row([(int(rates[code]), 1.0), *terms], constant, constant)
    return int(rates[0]), int(rates[1])


def _rates_of(x: Floats, y: Floats, group: NDArray[np.integer], coefficients: Floats) -> tuple[float, float]:
    right = (x @ coefficients >= 0) == (y == 1)
    return float(right[group == 0].mean()), float(right[group == 1].mean())


def _solve(
    program: Program,
    model: _Model,
    beta: NDArray[np.int64],
    target: int,
    sense: float,
    rows: int,
    time_limit: float,
    start: Floats | None,
    score: Callable[[Floats], float | None],
) -> LinearRule:
    """Minimise sense·target. HiGHS takes no starting point from SciPy, so the start enters as a cutoff."""
    started = time.monotonic()
    value = None if start is None else score(start)
    if value is not None:
        model.row([(target, sense)], -np.inf, sense * value + CUTOFF_SLACK)
    cost = np.zeros(len(model.lower))
    cost[target] = sense
    answer = milp(
        cost,
        integrality=np.asarray(model.integer),
        bounds=Bounds(np.asarray(model.lower), np.asarray(model.upper)),
        constraints=LinearConstraint(
            model.matrix(), np.asarray(model.row_lower), np.asarray(model.row_upper)
        ),
        options={"time_limit": time_limit, "mip_rel_gap": 0.0},
    )
    coefficients = None if answer.x is None else np.asarray(answer.x)[beta]
    found = None if coefficients is None else score(coefficients)
    from_start = found is None and value is not None
    if from_start:
        coefficients, found = start, value
    proof, bound = _what_was_proved(answer, sense, found, from_start)
    return LinearRule(
        program=program,
        proof=proof,
        coefficients=coefficients if found is not None else None,
        objective=found,
        bound=bound,
        rows=rows,
        seconds=time.monotonic() - started,
        from_start=from_start,
    )


def _what_was_proved(
    answer: Any, sense: float, found: float | None, from_start: bool
) -> tuple[Proof, float | None]:
    """Read the solver's status; an infeasible program under the start's cutoff proves the start optimal."""
    if answer.status == INFEASIBLE:
        return ("optimal", found) if from_start else ("infeasible", None)
    dual = getattr(answer, "mip_dual_bound", None)
    bound = None if dual is None or not np.isfinite(dual) else sense * float(dual)
    if answer.status == OPTIMAL and found is not None:
        return "optimal", found
    if found is not None and bound is not None:
        return "bounded", bound
    return "nothing", bound

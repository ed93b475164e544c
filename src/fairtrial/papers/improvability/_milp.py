"""Exact search for a linear rule that improves on the status quo, as a mixed integer linear program.

Source: Auerbach, Liang, Okumura and Tabord-Meehan, "Testing the Fairness-Accuracy Improvability of Algorithms",
Appendix F: (F.5) the fairest linear classifier that is at least as accurate for both groups, (F.6) the one most
accurate for one group that is no less accurate for the other and less unfair, (P′) the counterpart of (F.5) for the
mean outcome of the selected under a capacity, and (P′)(F.6) that of (F.6), which the article leaves to the reader.

The programs are exact on the rows they are given and their size grows with the rows: HiGHS proves optimality up to
about fifty rows and improves incumbents up to about a hundred. They are selection rules for a subsample; what was
proved holds on that subsample only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

Floats = NDArray[np.float64]

Program = Literal["F.5", "F.6", "P'", "P'(F.6)"]
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

    def statement(self) -> str:
        """What was proved, in one sentence."""
        what = {
            "F.5": "smallest accuracy gap of a linear rule that is as accurate for both groups",
            "F.6": "largest accuracy for the first group of a linear rule that is less unfair",
            "P'": "smallest gap in the selected people's mean outcome of a linear rule as accurate for both groups",
            "P'(F.6)": "largest mean outcome of the first group's selected of a linear rule that is less unfair",
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


@dataclass(frozen=True, slots=True)
class _Search:
    """A program with its objective (minimise sense·target), and the true value of a rule, None if it breaks a
    constraint."""

    model: _Model
    beta: NDArray[np.int64]
    target: int
    sense: float
    score: Callable[[Floats], float | None]


@dataclass(frozen=True, slots=True, eq=False)
class ProgramRows:
    """The rows that a program is solved on, the least level of each group there, and how many rows (P′) selects."""

    x: Floats
    y: Floats
    group: NDArray[np.integer]
    least: tuple[float, float]
    capacity: int = 0


def best_linear_rule(
    program: Program, sample: ProgramRows, *, time_limit: float = 10.0, start: Floats | None = None
) -> LinearRule:
    """Solve a program, from `start` where one is given: HiGHS takes none from SciPy, so it enters as a cutoff."""
    search = SEARCHES[program](sample)
    started = time.monotonic()
    value = None if start is None else search.score(start)
    if value is not None:
        cutoff = search.sense * value + CUTOFF_SLACK
        search.model.row([(search.target, search.sense)], -np.inf, cutoff)
    answer = _answer(search, time_limit)
    coefficients = None if answer.x is None else np.asarray(answer.x)[search.beta]
    found = None if coefficients is None else search.score(coefficients)
    from_start = found is None and value is not None
    if from_start:
        coefficients, found = start, value
    proof, bound = _what_was_proved(answer, search.sense, found, from_start)
    return LinearRule(
        program=program,
        proof=proof,
        coefficients=coefficients if found is not None else None,
        objective=found,
        bound=bound,
        rows=len(sample.y),
        seconds=time.monotonic() - started,
    )


def _fairest_classifier(sample: ProgramRows) -> _Search:
    """(F.5): min |U^0 − U^1| over linear classifiers with U^g of at least the given levels; U^g the classification
    rate."""
    model, beta, decision = _linear_classifier(sample.x)
    rates = _classification_rates(model, sample, decision)
    gap = _gap(model, rates, 1.0)
    for rate, level in zip(rates, sample.least, strict=True):
        model.row([(rate, 1.0)], level, np.inf)

    def score(coefficients: Floats) -> float | None:
        found = _rates_of(sample, coefficients)
        feasible = all(u >= level - ROUNDING for u, level in zip(found, sample.least, strict=True))
        return abs(found[0] - found[1]) if feasible else None

    return _Search(model, beta, gap, 1.0, score)


def _most_accurate_classifier(sample: ProgramRows) -> _Search:
    """(F.6): max U^0 over linear classifiers with U^1 ≥ Û_0^1 and |U^0 − U^1| ≤ |Û_0^0 − Û_0^1|."""
    model, beta, decision = _linear_classifier(sample.x)
    rates = _classification_rates(model, sample, decision)
    first, second = sample.least
    gap = abs(first - second)
    model.row([(rates[1], 1.0)], second, np.inf)
    model.row([(rates[0], 1.0), (rates[1], -1.0)], -gap, gap)

    def score(coefficients: Floats) -> float | None:
        rate = _rates_of(sample, coefficients)
        feasible = rate[1] >= second - ROUNDING and abs(rate[0] - rate[1]) <= gap + ROUNDING
        return rate[0] if feasible else None

    return _Search(model, beta, rates[0], -1.0, score)


def _fairest_selection(sample: ProgramRows) -> _Search:
    """(P′): min |U^0 − U^1|, U^g = E[Y | selected, g], selecting `capacity` rows by a linear rule.

    The ratios become linear by t_g = 1/Σ_g D and s_g = t_g·D (F.8), which the constraints pin down because D is
    binary (Proposition F.1).
    """
    model, beta, levels = _linear_selection(sample)
    for level, least in zip(levels, sample.least, strict=True):
        model.row([(level, 1.0)], least, np.inf)
    gap = _gap(model, levels, float(np.max(sample.y)))

    def score(coefficients: Floats) -> float | None:
        means = _means_of(sample, coefficients)
        if means is None:
            return None
        reached = all(mean >= least for mean, least in zip(means, sample.least, strict=True))
        return abs(means[0] - means[1]) if reached else None

    return _Search(model, beta, gap, 1.0, score)


def _best_selection(sample: ProgramRows) -> _Search:
    """(P′)(F.6): max U^0, U^g as in (P′), with U^1 ≥ Û_0^1 and |U^0 − U^1| ≤ |Û_0^0 − Û_0^1|."""
    model, beta, levels = _linear_selection(sample)
    first, second = sample.least
    gap = abs(first - second)
    model.row([(levels[1], 1.0)], second, np.inf)
    model.row([(levels[0], 1.0), (levels[1], -1.0)], -gap, gap)

    def score(coefficients: Floats) -> float | None:
        means = _means_of(sample, coefficients)
        if means is None:
            return None
        feasible = means[1] >= second - ROUNDING and abs(means[0] - means[1]) <= gap + ROUNDING
        return means[0] if feasible else None

    return _Search(model, beta, levels[0], -1.0, score)


def _linear_selection(sample: ProgramRows) -> tuple[_Model, NDArray[np.int64], list[int]]:
    """Linear rules that select `capacity` rows, with each group's mean outcome of the selected (F.7)."""
    model, beta, decision = _linear_classifier(sample.x)
    levels = [int(level) for level in model.variables(2, 0.0, float(np.max(sample.y)))]
    model.row([(int(d), 1.0) for d in decision], sample.capacity, sample.capacity)
    for code, level in enumerate(levels):
        _mean_of_selected(model, level, sample.y, sample.group == code, decision)
    return model, beta, levels


def _means_of(sample: ProgramRows, coefficients: Floats) -> tuple[float, float] | None:
    """Each group's mean outcome of the selected; None where a group has none or their number is another."""
    chosen = sample.x @ coefficients >= 0
    parts = [chosen & (sample.group == code) for code in (0, 1)]
    if chosen.sum() != sample.capacity or not all(part.any() for part in parts):
        return None
    return float(sample.y[parts[0]].mean()), float(sample.y[parts[1]].mean())


SEARCHES: dict[Program, Callable[[ProgramRows], _Search]] = {
    "F.5": _fairest_classifier,
    "F.6": _most_accurate_classifier,
    "P'": _fairest_selection,
    "P'(F.6)": _best_selection,
}


def _gap(model: _Model, levels: Sequence[int], largest: float) -> int:
    """A variable that is no less than the difference of two levels, in either direction."""
    gap = int(model.variables(1, 0.0, largest)[0])
    for sign in (1.0, -1.0):
        model.row([(gap, 1.0), (levels[0], -sign), (levels[1], sign)], 0.0, np.inf)
    return gap


def _mean_of_selected(
    model: _Model, level: int, y: Floats, member: NDArray[np.bool_], decision: NDArray[np.int64]
) -> None:
    """Pin a level down to the mean of y over the members that are selected (F.8)."""
    inverse = int(model.variables(1, 1.0 / len(y), 1.0)[0])
    share = model.variables(len(y), 0.0, 1.0)
    of_members = [(int(s), -float(v)) for s, v, m in zip(share, y, member, strict=True) if m]
    model.row([(level, 1.0), *of_members], 0.0, 0.0)
    model.row([(int(s), 1.0) for s, m in zip(share, member, strict=True) if m], 1.0, 1.0)
    for s, d in zip(share, decision, strict=True):
        model.row([(int(s), 1.0), (inverse, -1.0)], -np.inf, 0.0)
        model.row([(int(s), 1.0), (int(d), -1.0)], -np.inf, 0.0)
        model.row([(int(s), 1.0), (inverse, -1.0), (int(d), -1.0)], -1.0, np.inf)


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


def _classification_rates(model: _Model, sample: ProgramRows, decision: NDArray[np.int64]) -> tuple[int, int]:
    """U^g = (1/n_g) Σ_g (1 − Y) + (2Y − 1)·D (F.4)."""
    rates = model.variables(2, 0.0, 1.0)
    for code in (0, 1):
        member = np.flatnonzero(sample.group == code)
        terms = [(int(decision[j]), -(2.0 * float(sample.y[j]) - 1.0) / member.size) for j in member]
        constant = float(np.mean(1.0 - sample.y[member]))
        model.row([(int(rates[code]), 1.0), *terms], constant, constant)
    return int(rates[0]), int(rates[1])


def _rates_of(sample: ProgramRows, coefficients: Floats) -> tuple[float, float]:
    right = (sample.x @ coefficients >= 0) == (sample.y == 1)
    return float(right[sample.group == 0].mean()), float(right[sample.group == 1].mean())


def _answer(search: _Search, time_limit: float) -> Any:
    model = search.model
    cost = np.zeros(len(model.lower))
    cost[search.target] = search.sense
    rows = LinearConstraint(model.matrix(), np.asarray(model.row_lower), np.asarray(model.row_upper))
    return milp(
        cost,
        integrality=np.asarray(model.integer),
        bounds=Bounds(np.asarray(model.lower), np.asarray(model.upper)),
        constraints=rows,
        options={"time_limit": time_limit, "mip_rel_gap": 0.0},
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

"""Expectations Î of the event under "independent of the class, given condition and covariates" (Section 3.2, A.1).

1. P(A=1 | X) on all rows → odds weights for the comparison class.
2. Weighted logistic model of I on (C, X) in the comparison class; a real-valued event enters as
   fractional successes, which is the article's two-record construction.
3. Its predictions for the protected class are Î.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from fairtrial._inference.numeric import logistic
from fairtrial._scan.solver.scan_table import CellMoments, FloatArray, ScanTable, log_odds, totals

NullModelName: TypeAlias = Literal["blocks", "pairwise", "saturated", "main"]
Counts = tuple[FloatArray, FloatArray]  # trials and successes per cell

# Expectations are kept this far from 0 and 1, so that one unexpected event costs a finite score.
BORDER = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Expectations:
    """How to estimate Î; `event_model` and `class_model` are scikit-learn classifiers or None (logistic)."""

    ridge: float = 0.01
    doubly_robust: bool = False
    of_score: bool = False  # the score itself is the expectation: a plain bias scan (MDSS)
    event_model: Any = None
    class_model: Any = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Designs:
    """Column layouts built once from the full data, never from a filtered part."""

    of_x: logistic.Design
    of_cells: logistic.Design

    @classmethod
    def of(cls, table: ScanTable) -> Designs:
        covariate = table.cell_condition if table.has_condition else None
        return cls(
            of_x=logistic.build_design(table.x_codes.astype(np.int64), table.arity),
            of_cells=logistic.build_design(table.cell_codes, table.arity, covariate),
        )


def odds_weights(table: ScanTable, designs: Designs, how: Expectations, sums: CellMoments) -> FloatArray:
    """p/(1−p) per cell from the propensity model P(A=1|X) on all rows, one row per distinct draw.

    When no draw changes the number of class members per X cell, one row serves all draws.
    """
    protected = _per_x(table, sums.protected)
    everyone = protected + _per_x(table, sums.comparison)
    if len(protected) > 1 and (protected == protected[0]).all():
        protected, everyone = protected[:1], everyone[:1]
    if how.class_model is None:
        p = _fit_each(designs.of_x, everyone, protected, how.ridge)
    else:
        p = _fit_estimator(how.class_model, designs.of_x, everyone, protected)
    p = np.clip(p, BORDER, 1.0 - BORDER)
    return (p / (1.0 - p))[:, table.cell_x]


def expected_events(table: ScanTable, designs: Designs, how: Expectations, sums: CellMoments) -> FloatArray:
    """Î of every cell, one row per draw."""
    if how.of_score:
        predicted = 1.0 / (1.0 + np.exp(-table.cell_condition))
        return np.repeat(np.clip(predicted, BORDER, 1.0 - BORDER)[None], len(sums.protected), axis=0)
    weights = odds_weights(table, designs, how, sums)
    scanned = table.cell_scanned
    trials = np.ascontiguousarray(weights * sums.comparison * scanned)
    successes = np.ascontiguousarray(weights * sums.comparison_events * scanned)
    design = designs.of_cells
    if how.event_model is None:
        start = logistic.fit_logistic(design, trials.mean(axis=0), successes.mean(axis=0), how.ridge)
        expected = logistic.fit_predict_many(design, trials, successes, how.ridge, start)
    else:
        expected = _fit_estimator(how.event_model, design, trials, successes)
    if how.doubly_robust:
        expected = _doubly_robust(table, designs, how, sums, expected)
    return np.clip(expected, BORDER, 1.0 - BORDER)


def _doubly_robust(
    table: ScanTable, designs: Designs, how: Expectations, sums: CellMoments, expected: FloatArray
) -> FloatArray:
    """Î + odds(X, C)·Σ(I − Î)/n₁ over the comparison people of the cell.

    Summed over any subgroup this is the doubly robust estimate of its expected events: right when
    either the event model or the class model (here on X and C) is.
    """
    scanned = table.cell_scanned
    everyone = (sums.protected + sums.comparison) * scanned
    p = _fit_each(designs.of_cells, everyone, sums.protected * scanned, how.ridge)
    odds = p / np.maximum(1.0 - p, BORDER)
    residual = sums.comparison_events - sums.comparison * expected
    people = np.maximum(sums.protected, 1.0)
    corrected = expected + np.where(sums.protected > 0, odds * residual / people, 0.0)
    # a correction beyond the possible range says no more than the comparison people's own rate
    own_rate = sums.comparison_events / np.maximum(sums.comparison, 1.0)
    beyond = (corrected < 0.0) | (corrected > 1.0)
    shrunk = (own_rate * sums.comparison + expected) / (sums.comparison + 1.0)
    return np.where(beyond, shrunk, corrected)


def _fit_each(design: logistic.Design, trials: FloatArray, successes: FloatArray, ridge: float) -> FloatArray:
    """Probabilities from a logistic model, once per draw, starting from the first draw's."""
    start = logistic.fit_logistic(design, trials[0], successes[0], ridge)
    return logistic.fit_predict_many(design, trials, successes, ridge, start)


def _fit_estimator(
    model: Any, design: logistic.Design, trials: FloatArray, successes: FloatArray
) -> FloatArray:
    """Probabilities from a scikit-learn classifier fitted on two weighted records per cell, once per draw."""
    from sklearn.base import clone

    matrix = design.dense()[:, 1:]  # scikit-learn models bring their own intercept
    records = np.concatenate([matrix, matrix])
    labels = np.repeat([1, 0], len(matrix))
    answer = np.empty(trials.shape)
    for draw in range(len(trials)):
        weight = np.concatenate([successes[draw], trials[draw] - successes[draw]])
        used = weight > 0
        if len(np.unique(labels[used])) < 2:
            answer[draw] = float(labels[used][0]) if used.any() else 0.5
            continue
        fitted = clone(model).fit(records[used], labels[used], sample_weight=weight[used])
        answer[draw] = fitted.predict_proba(matrix)[:, list(fitted.classes_).index(1)]
    return answer


def _per_x(table: ScanTable, per_cell: FloatArray) -> FloatArray:
    return np.stack([totals(table.cell_x, one, len(table.x_codes)) for one in per_cell])


def spread(table: ScanTable, sums: CellMoments, expected: FloatArray) -> FloatArray:
    """σ of Δ = log-odds(I) − log-odds(Î): within each class around its own mean, pooled over both.

    Both classes are used so that a class of a few people still has a σ, and each around its own mean so
    that the bias being looked for does not inflate it. One number per draw.
    """
    scanned = table.cell_scanned
    expected_logs = log_odds(expected)
    within = np.zeros(len(expected))
    people = np.zeros(len(expected))
    for n, logs, squares in (
        (sums.comparison, sums.comparison_log_odds, sums.comparison_squares),
        (sums.protected, sums.protected_log_odds, sums.protected_squares),
    ):
        if logs is None or squares is None:
            raise TypeError("the spread of log-odds exists for real-valued events only")
        total = ((logs - n * expected_logs) * scanned).sum(axis=1)
        square = ((squares - 2.0 * expected_logs * logs + n * expected_logs**2) * scanned).sum(axis=1)
        size = (n * scanned).sum(axis=1)
        within += square - np.divide(total**2, size, out=np.zeros_like(total), where=size > 0)
        people += size
    return np.sqrt(np.maximum(within, 0.0) / np.maximum(people - 2.0, 1.0))


def pooled_rates(table: ScanTable, ridge: float, model: NullModelName) -> FloatArray:
    """m̂ = E[I | C, X] of both classes together, blind to A: where a bootstrap draws events from."""
    everyone = table.per_cell(table.atom_total) * table.cell_scanned
    events = table.per_cell(table.atom_total * table.atom_event) * table.cell_scanned
    return _pooled(table, (everyone, events), ridge, model)


def pooled_propensity(table: ScanTable, ridge: float, model: NullModelName) -> FloatArray:
    """ê = P(A=1 | X, C) of the scanned people: where the propensity null draws classes from."""
    everyone, inside = table.per_cell(table.atom_total), table.per_cell(table.atom_protected)
    return _pooled(table, (everyone * table.cell_scanned, inside * table.cell_scanned), ridge, model)


def _pooled(table: ScanTable, counts: Counts, ridge: float, model: NullModelName) -> FloatArray:
    """The fitted share of successes in trials of every cell."""
    trials, successes = counts
    if model == "saturated":
        rates: FloatArray = np.divide(successes, trials, out=np.full(len(trials), 0.5), where=trials > 0)
        return rates
    covariate = table.cell_condition if table.has_condition else None
    design = logistic.build_design(table.cell_codes, table.arity, covariate, pairwise=model == "pairwise")
    return logistic.predict_logistic(design, logistic.fit_logistic(design, trials, successes, ridge))

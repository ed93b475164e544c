"""The article's score when the class does not matter: data drawn under four null hypotheses.

stratified  permute A within strata of (X, C): exact whatever the models, because Î is refitted in each draw
bootstrap   draw events from a fit that is blind to A: right only if that fit is
propensity  draw A from a fitted P(A=1 | X, C): right only if that fit is
global      permute A over everybody, as the article does: wrong as soon as A depends on X
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairtrial._scan.solver.matched import permute_within
from fairtrial._scan.solver.scan_table import (
    CellMoments,
    FloatArray,
    IntArray,
    ScanTable,
    log_odds,
    moments,
    totals,
)

Draw = Callable[[int, np.random.Generator], CellMoments]


def stratified(table: ScanTable) -> Draw:
    """Permute A within strata of (X, C)."""
    scanned = table.atom_scanned
    stratum = table.cell_stratum[table.atom_cell]

    def draw(draws: int, generator: np.random.Generator) -> CellMoments:
        protected = np.repeat(table.atom_protected[None, :], draws, axis=0)
        protected[:, scanned] = permute_within(
            stratum[scanned], table.atom_total[scanned], table.atom_protected[scanned], draws, generator
        )
        return moments(table, protected)

    return draw


def whole_sample(table: ScanTable) -> Draw:
    """Permute A over all rows ("global")."""
    everybody = np.zeros(len(table.atom_cell), dtype=np.int64)

    def draw(draws: int, generator: np.random.Generator) -> CellMoments:
        return moments(
            table, permute_within(everybody, table.atom_total, table.atom_protected, draws, generator)
        )

    return draw


def drawn_class(table: ScanTable, chance: FloatArray) -> Draw:
    """Draw the scanned people's A from ê = P(A=1 | X, C) of every cell ("propensity")."""
    scanned = table.atom_scanned
    probability = chance[table.atom_cell[scanned]]
    total = table.atom_total[scanned].astype(np.int64)

    def draw(draws: int, generator: np.random.Generator) -> CellMoments:
        protected = np.repeat(table.atom_protected[None, :], draws, axis=0)
        protected[:, scanned] = generator.binomial(total, probability, size=(draws, len(total)))
        return moments(table, protected)

    return draw


def drawn_events(table: ScanTable, rates: FloatArray) -> Draw:
    """Draw I from a pooled fit m̂ that is blind to A ("bootstrap")."""
    sizes = table.per_cell(table.atom_comparison), table.per_cell(table.atom_protected)
    if table.real_valued:
        return _resampled_scores(table, rates, sizes)

    def draw(draws: int, generator: np.random.Generator) -> CellMoments:
        drawn = [generator.binomial(n.astype(np.int64), rates, size=(draws, len(n))) for n in sizes]
        return _of_draws(np.stack(drawn, axis=1)[:, :, None].astype(np.float64), sizes)

    return draw


def _resampled_scores(table: ScanTable, rates: FloatArray, sizes: tuple[FloatArray, FloatArray]) -> Draw:
    """Real-valued events: pooled fit of the log-odds plus residuals drawn from all scanned people."""
    scanned = table.atom_scanned
    fitted_logs = log_odds(np.clip(rates, 1e-9, 1.0 - 1e-9))
    atoms = np.flatnonzero(scanned)
    residuals = table.atom_log_odds[atoms] - fitted_logs[table.atom_cell[atoms]]
    shares = table.atom_total[atoms] / table.atom_total[atoms].sum()
    # centred, so that the drawn scores keep the fitted log-odds on average
    residuals = residuals - float(residuals @ shares)
    cumulated = np.cumsum(shares)
    cells = len(table.cell_x)
    people = [np.repeat(np.arange(cells), (n * table.cell_scanned).astype(np.int64)) for n in sizes]

    def sums(cell_of: IntArray, generator: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
        picked = np.searchsorted(cumulated, generator.random(len(cell_of)), side="right")
        logs = fitted_logs[cell_of] + residuals[np.minimum(picked, len(residuals) - 1)]
        return (
            totals(cell_of, 1.0 / (1.0 + np.exp(-logs)), cells),
            totals(cell_of, logs, cells),
            totals(cell_of, logs**2, cells),
        )

    def draw(draws: int, generator: np.random.Generator) -> CellMoments:
        return _of_draws(np.array([[sums(one, generator) for one in people] for _ in range(draws)]), sizes)

    return draw


def _of_draws(drawn: FloatArray, sizes: tuple[FloatArray, FloatArray]) -> CellMoments:
    """Moments from an array of (draws, class, sum, cells): events, and of scores also log-odds and their squares."""
    found = {}
    for place, (name, people) in enumerate(zip(("comparison", "protected"), sizes, strict=True)):
        found[name] = np.repeat(people[None, :], len(drawn), axis=0)
        for index, what in enumerate(("events", "log_odds", "squares")[: drawn.shape[2]]):
            found[f"{name}_{what}"] = np.ascontiguousarray(drawn[:, place, index])
    return CellMoments(**found)

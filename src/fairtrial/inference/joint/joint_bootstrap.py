"""The joint test's own law in small groups of real values, by resampling.

With ten groups of thirty exponential values the likelihood ratio and Welch's F pass their 5% point 8 to 19% of the
time. Rows shifted so that every gap is zero, drawn again with replacement, give the statistic's law with the skewness
and the unequal spreads of these very groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairtrial.inference.evidence.enough import pooled_shape
from fairtrial.inference.numeric.roots import Floats

# With every group at least this large the limit law holds.
ENOUGH_MEMBERS = 200
DRAWS = 1_999
SEED = 0
# Overlapping groups need a matrix per draw: with a hundred of them and more, fewer draws have to do.
FEWEST_DRAWS = 199
MOST_WORK = 3_000_000_000
# So many draws at least as far out settle that a p-value is not small (Besag and Clifford 1991).
ENOUGH_EXCEEDED = 100
# Sums over more rows than this are drawn as normal: nothing of the rows' shape is left in them.
MANY_ROWS = 2_000
CHUNK = 4_000_000
MOST_AT_ONCE = 250
THETA_STEPS = 2


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Counts, sums and sums of squares of every pattern, one row per draw."""

    count: Floats
    first: Floats
    second: Floats

    def at(self, theta: Floats) -> tuple[Floats, Floats]:
        """Sums and sums of squares of the distances to theta."""
        shift = theta[:, None]
        return self.first - shift * self.count, self.second - 2.0 * shift * self.first + shift**2 * self.count


def euclidean_statistics(basis: Floats, moments: Moments, *, free: bool) -> Floats:
    """g' S^-1 g of every draw, theta at its best where it is free; g and S as in the Euclidean likelihood."""
    theta = np.zeros(moments.count.shape[0])
    sizes = moments.count @ basis.T
    for _ in range(THETA_STEPS if free else 0):
        score, by_score, by_size = _solved(basis, moments, theta, sizes)
        theta = theta + (sizes * by_score).sum(axis=1) / (sizes * by_size).sum(axis=1)
    score, by_score, _ = _solved(basis, moments, theta, sizes)
    return np.asarray((score * by_score).sum(axis=1))


def _solved(basis: Floats, moments: Moments, theta: Floats, sizes: Floats) -> tuple[Floats, Floats, Floats]:
    first, second = moments.at(theta)
    score = first @ basis.T
    if basis.shape[0] == basis.shape[1]:
        # As many constraints as patterns: whatever the constraints are, each pattern stands alone.
        inverse = np.linalg.inv(basis)
        spread = np.maximum(second, 1e-12 * np.maximum(second.max(axis=1, keepdims=True), 1e-300))
        by_score, by_size = first / spread, moments.count / spread
        return score, by_score @ inverse, by_size @ inverse
    matrix = (basis * second[:, None, :]) @ basis.T
    ridge = 1e-10 * np.trace(matrix, axis1=1, axis2=2) / basis.shape[0] + 1e-300
    matrix += ridge[:, None, None] * np.eye(basis.shape[0])
    both: Floats = np.asarray(np.linalg.solve(matrix, np.stack([score, sizes], axis=-1)), dtype=np.float64)
    return score, both[..., 0], both[..., 1]


def bootstrap_p(basis: Floats, values: tuple[Floats, ...], known: float | None) -> float:
    """p-value of 'every gap is zero' from rows resampled where it is true.

    `values` holds the rows of every pattern, `basis` the independent constraints over patterns. Disjoint groups keep
    their sizes; overlapping ones are drawn with them, since nothing fixes the means inside an overlap. Once every
    pattern is drawn from its own rows, once from all rows alike; the larger p-value counts.
    """
    count = np.array([float(rows.size) for rows in values])
    centre = float(np.concatenate(values).mean()) if known is None else known
    # Sorted, so that the order of the rows does not matter.
    rows = [np.sort(piece) - centre for piece in values]
    seen = Moments(count[None], _sums(rows, 1)[None], _sums(rows, 2)[None])
    free = known is None
    statistic = float(euclidean_statistics(basis, seen, free=free)[0])
    own = _at_the_null(basis, seen, rows, free=free)
    p = _exceedance(statistic, basis, own, count, free=free)
    # A small group that lacks the large values does not know its own shape; all rows together do.
    everyone = np.sort(pooled_shape(rows))
    alike = [everyone - everyone.mean()] * count.size
    return max(p, _exceedance(statistic, basis, alike, count, free=free))


def _exceedance(statistic: float, basis: Floats, rows: list[Floats], count: Floats, *, free: bool) -> float:
    """How often draws from these rows are at least as far out."""
    generator = np.random.default_rng(SEED)
    values_drawn = max(int(np.minimum(count, MANY_ROWS).sum()), basis.shape[0] ** 2)
    size = max(1, min(MOST_AT_ONCE, CHUNK // values_drawn))
    draws, large = _draws(basis), _means_of_large(rows, count)
    exceeded = drawn = 0
    while drawn < draws:
        batch = min(size, draws - drawn)
        law = euclidean_statistics(basis, _draw(basis, rows, large, count, batch, generator), free=free)
        drawn += batch
        exceeded += int(np.count_nonzero(law >= statistic * (1.0 - 1e-9)))
        if exceeded >= ENOUGH_EXCEEDED:
            break
    return (1 + exceeded) / (1 + drawn)


def _draws(basis: Floats) -> int:
    constraints, patterns = basis.shape
    if constraints == patterns:
        return DRAWS
    return int(np.clip(MOST_WORK // (constraints**2 * patterns * (THETA_STEPS + 1)), FEWEST_DRAWS, DRAWS))


def _sums(rows: list[Floats], power: int) -> Floats:
    return np.array([float(np.sum(piece**power)) for piece in rows])


def _at_the_null(basis: Floats, seen: Moments, rows: list[Floats], *, free: bool) -> list[Floats]:
    """Rows moved, each pattern by one shift, so that every constraint holds exactly: the least such move."""
    count, first = seen.count[0], seen.first[0]
    theta = 0.0
    if free:
        # The common mean that the statistic itself settles on.
        second = np.maximum(seen.second[0], 1e-300)
        inverse = np.linalg.pinv((basis * second) @ basis.T, hermitian=True)
        size, score = basis @ count, basis @ first
        theta = float(size @ inverse @ score / (size @ inverse @ size))
    score = basis @ (first - theta * count)
    shift = basis.T @ np.linalg.pinv((basis * count) @ basis.T, hermitian=True) @ score
    return [piece - theta - move for piece, move in zip(rows, shift, strict=True)]


def _means_of_large(rows: list[Floats], count: Floats) -> dict[int, tuple[float, float]]:
    """Mean and variance of the patterns whose sums are drawn as normal; the same rows are read once."""
    seen: dict[int, tuple[float, float]] = {}
    for index in np.flatnonzero(count > MANY_ROWS):
        piece = rows[index]
        if id(piece) not in seen:
            seen[id(piece)] = float(piece.mean()), float(piece.var())
    return {int(index): seen[id(rows[index])] for index in np.flatnonzero(count > MANY_ROWS)}


def _draw(
    basis: Floats,
    rows: list[Floats],
    large: dict[int, tuple[float, float]],
    count: Floats,
    draws: int,
    generator: np.random.Generator,
) -> Moments:
    total = int(count.sum())
    if basis.shape[0] == basis.shape[1]:
        sizes = np.tile(count.astype(np.int64), (draws, 1))
    else:
        sizes = generator.multinomial(total, count / total, size=draws)
    first, second = np.zeros(sizes.shape), np.zeros(sizes.shape)
    for index, piece in enumerate(rows):
        many = sizes[:, index]
        if index in large:
            mean, variance = large[index]
            first[:, index] = many * mean + np.sqrt(many * variance) * generator.standard_normal(draws)
            second[:, index] = many * (variance + mean**2)
            continue
        chosen = piece[generator.integers(piece.size, size=int(many.sum()))]
        draw = np.repeat(np.arange(draws), many)
        first[:, index] = np.bincount(draw, chosen, minlength=draws)
        second[:, index] = np.bincount(draw, chosen**2, minlength=draws)
    return Moments(sizes.astype(np.float64), first, second)

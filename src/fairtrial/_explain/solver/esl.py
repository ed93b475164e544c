"""Efficient, symmetric and linear (ESL) values of cooperative games.

Amri-Jouidel, Kemel and Mussard, "Shapley meets Rawls", Proposition 4.1: an ESL value is given by one sequence
b_0 = 0, b_1, …, b_{n−1}, b_n = 1, and equals φ_k = Σ_S c_k(S)·v(S) with

    c_k(S) = P(s−1)·b_s if k ∈ S, else −P(s)·b_s,   P(s) = (n−s−1)!·s!/n!,   s = |S|.

A coalition is a bit mask: player k is in S when bit k is set. Because b_0 = 0, the empty coalition never counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from fairtrial._explain.solver.influence import Spread

Floats = NDArray[np.float64]
Masks = NDArray[np.int64]

# b_s of the named members (Section 4.1), from s and n
_INNER: dict[str, Callable[[int, int], float]] = {
    "shapley": lambda s, n: 1.0,
    "equal_surplus": lambda s, n: n - 1.0 if s == 1 else 0.0,
    "solidarity": lambda s, n: 1.0 / (s + 1),
    "consensus": lambda s, n: n / 2.0 if s == 1 else 0.5,
    "lsp": lambda s, n: comb(n - 1, s) * s / 2.0 ** (n - 2),
}
MEMBERS = tuple(_INNER)
# Masks are 64-bit integers; all coalitions at once only up to this many players (2^20 columns).
LARGEST_EXACT = 20
LARGEST_PLAYERS = 62


def b_sequence(member: str, players: int) -> Floats:
    """b_0 … b_n of one of the five named members (Section 4.1).

    >>> b_sequence("solidarity", 3)
    array([0.        , 0.5       , 0.33333333, 1.        ])
    """
    if member not in _INNER:
        raise ValueError(f"member must be one of {MEMBERS}, got {member!r}")
    return given_sequence(_INNER[member], players)


def given_sequence(inner: Sequence[float] | Callable[[int, int], float], players: int) -> Floats:
    """b_0 … b_n from the caller's b_1 … b_{n−1}, or from a function b(s, n).

    >>> given_sequence([1.0, 0.5], 3)
    array([0. , 1. , 0.5, 1. ])
    """
    if callable(inner):
        values = [float(inner(s, players)) for s in range(1, players)]
    else:
        values = [float(b) for b in inner]
    if len(values) != players - 1:
        raise ValueError(
            f"{players} players need {players - 1} numbers b_1 … b_{players - 1}, got {len(values)}"
        )
    if not np.isfinite(values).all():
        raise ValueError(f"every b must be a finite number, got {values}")
    return np.array([0.0, *values, 1.0])


def all_coalitions(players: int) -> Masks:
    """The masks 0 … 2^n − 1."""
    if players > LARGEST_EXACT:
        raise ValueError(f"all coalitions of {players} players are too many (at most {LARGEST_EXACT})")
    return np.arange(1 << players, dtype=np.int64)


def needed_coalitions(b: Floats) -> Masks:
    """The coalitions whose size has b_s ≠ 0: n + 1 of them for Equal Surplus, 2^n − 1 for Shapley."""
    players = b.size - 1
    sizes = np.flatnonzero(b)
    if set(sizes.tolist()) <= {1, players}:
        singles = [1 << k for k in range(players)] if 1 in sizes else []
        return np.unique(np.array([*singles, (1 << players) - 1], dtype=np.int64))
    masks = all_coalitions(players)
    return np.asarray(masks[b[coalition_sizes(masks, players)] != 0])


def coalition_sizes(masks: Masks, players: int) -> Masks:
    """The number of players in each coalition."""
    return np.asarray(((masks[None, :] >> np.arange(players)[:, None]) & 1).sum(axis=0))


def coefficients(b: Floats, masks: Masks | None = None) -> Floats:
    """c_k(S) for every player k (rows) and coalition S (columns), Proposition 4.1.

    >>> coefficients(b_sequence("shapley", 2))
    array([[ 0. ,  0.5, -0.5,  0.5],
           [ 0. , -0.5,  0.5,  0.5]])
    """
    players = b.size - 1
    sizes, inside = _all_memberships(players) if masks is None else _memberships(masks, players)
    share = np.array([1.0 / (players * comb(players - 1, s)) for s in range(players)])
    if_inside = np.zeros(players + 1)
    if_inside[1:] = share * b[1:]
    if_outside = np.zeros(players + 1)
    if_outside[:players] = 0.0 - share * b[:players]
    return np.where(inside, if_inside[sizes], if_outside[sizes])


def _memberships(masks: Masks, players: int) -> tuple[Masks, NDArray[np.bool_]]:
    """Sizes of the coalitions, and which players (rows) are in them."""
    inside = ((masks[None, :] >> np.arange(players)[:, None]) & 1).astype(bool)
    return np.asarray(inside.sum(axis=0)), inside


@lru_cache(maxsize=2)
def _all_memberships(players: int) -> tuple[Masks, NDArray[np.bool_]]:
    """The same for all 2^n coalitions: every value of a panel asks for them again."""
    sizes, inside = _memberships(all_coalitions(players), players)
    sizes.flags.writeable = inside.flags.writeable = False
    return sizes, inside


def pooling_matrix(b: Floats, weights: Floats) -> Floats:
    """A with φ = A·p when v(S) is the pooled rate Σ_{h∈S} w_h·p_h / Σ_{h∈S} w_h of the groups in S."""
    groups = b.size - 1
    masks = all_coalitions(groups)[1:]
    inside = ((masks[:, None] >> np.arange(groups)[None, :]) & 1) * weights[None, :]
    return np.asarray(coefficients(b, masks) @ (inside / inside.sum(axis=1, keepdims=True)))


def tells_groups_apart(b: Floats, weights: Floats) -> bool:
    """Whether equal φ means equal rates: the contrasts of φ must have rank n − 1 in the rates.

    Two groups: φ_1 − φ_2 = b_1·(p_1 − p_2)/baseline, so b_1 = 0 would make φ equal whatever the rates
    (Theorem 4.1 needs b_1 > 0). More groups: the rank is checked at the observed weights.
    """
    pooling = pooling_matrix(b, weights)
    contrasts = pooling[1:] - pooling[:1]
    return int(np.linalg.matrix_rank(contrasts, tol=1e-9)) == b.size - 2


def tensor_coefficients(sequences: Sequence[Floats]) -> tuple[list[tuple[int, ...]], Floats]:
    """Multi-stage ESL over several attributes (Theorem A.1): the tensor product of their coefficients.

    Returns the tuples of non-empty level masks, one mask per attribute, and for every cell of levels (rows, the
    last attribute fastest) its coefficient on the worth of each tuple. The order of the attributes only
    permutes cells and tuples.
    """
    product: Floats = np.ones((1, 1))
    tuples: list[tuple[int, ...]] = [()]
    for b in sequences:
        masks = all_coalitions(b.size - 1)[1:]
        product = np.asarray(np.kron(product, coefficients(b, masks)), dtype=np.float64)
        tuples = [(*head, int(mask)) for head in tuples for mask in masks]
    return tuples, product


def cells_in(levels: Sequence[int], tuple_of_masks: Sequence[int]) -> list[int]:
    """The cells (last attribute fastest) whose level lies in every attribute's mask.

    >>> cells_in([2, 2], [0b01, 0b11])
    [0, 1]
    """
    cells = [0]
    for count, mask in zip(levels, tuple_of_masks, strict=True):
        cells = [cell * count + level for cell in cells for level in range(count) if mask >> level & 1]
    return cells


# -- Shapley values of many players from few coalitions: what is exact is evaluated, the rest drawn in pairs.
# Fewer pairs do not tell the Monte-Carlo error: with 8 of 11 features' the intervals missed .13, with 24 .055.
#
# The empty coalition, every player alone, all but one, and all are evaluated. They give
# a_k = ½[(v(k) − v(∅)) + (v(N) − v(N∖k))], which is the Shapley value of any game without interactions of three or more
# players. What is left, r(S) = v(S) − v(∅) − Σ_{k∈S} a_k, is a game of its own whose coalitions of 2 … n−2 players are
# drawn with chances proportional to 1/(s(n−s)) within sizes (Lundberg and Lee 2017), each with its complement
# (Covert and Lee 2021). Each pair gives an unbiased estimate, so their spread is the Monte-Carlo error, and every
# estimate adds up to v(N). All of it is linear in the worths.
FEWEST_PAIRS = 24
# Drawn where no budget is given.
USUAL_PAIRS = 64


@dataclass(frozen=True, slots=True, eq=False)
class SampledCoalitions:
    """One coalition of every drawn pair, and all distinct coalitions evaluated, sorted, the empty one first."""

    players: int
    drawn: Masks
    masks: Masks

    @property
    def pairs(self) -> int:
        return int(self.drawn.size)

    @property
    def whole(self) -> int:
        return (1 << self.players) - 1


def budget_for(players: int, pairs: int) -> int:
    """Coalitions to evaluate for so many pairs, the empty one not counted."""
    return 2 * players + 1 + 2 * pairs


def sample_coalitions(players: int, budget: int, random: np.random.Generator) -> SampledCoalitions:
    """As many pairs as `budget` evaluations allow."""
    if not 4 <= players <= LARGEST_PLAYERS:
        raise ValueError(f"from 4 to {LARGEST_PLAYERS} players can be sampled, got {players}")
    pairs = (budget - budget_for(players, 0)) // 2
    if pairs < FEWEST_PAIRS:
        raise ValueError(f"the budget must be at least {budget_for(players, FEWEST_PAIRS)}, got {budget}")
    chance = _size_weights(players)
    sizes = random.choice(np.arange(2, players - 1), pairs, p=chance / chance.sum())
    order = random.permuted(np.tile(np.arange(players), (pairs, 1)), axis=1)
    first = np.arange(players)[None, :] < sizes[:, None]
    drawn = np.where(first, np.left_shift(np.int64(1), order), 0).sum(axis=1)
    whole, alone = (1 << players) - 1, np.left_shift(np.int64(1), np.arange(players, dtype=np.int64))
    fixed = np.concatenate([np.array([0, whole], dtype=np.int64), alone, whole - alone])
    return SampledCoalitions(players, drawn, np.unique(np.concatenate([fixed, drawn, whole - drawn])))


def sampled_coefficients(sampled: SampledCoalitions, share_empty: bool = True) -> Floats:
    """ĉ_k(S) of every player (rows) on the worths of the coalitions evaluated (columns).

    The empty coalition's worth is shared out equally, as in the exact values where it counts as nothing; without
    `share_empty` it is taken to be worth nothing.
    """
    base, members = _without_interactions(sampled, share_empty), _members(sampled)
    chosen = _exact_part(sampled)
    signs, places, others = _pairs(sampled)
    half = 0.5 * signs / sampled.pairs
    np.add.at(chosen.T, places, half)
    np.add.at(chosen.T, others, -half)
    result = base + chosen - (chosen @ members) @ base
    if share_empty:
        result[:, 0] += 1.0 / sampled.players - chosen[:, 1:].sum(axis=1)
    else:
        result[:, 0] = 0.0
    return np.asarray(result)


def monte_carlo_error(sampled: SampledCoalitions, worth: Floats, share_empty: bool = True) -> Spread:
    """Standard error of the mean over the drawn pairs, for each game (rows of `worth`) and player.

    A few pairs carry most of what is left, so the error's degrees of freedom are those that the estimates' fourth
    moments leave to their variance, not the number of pairs.
    """
    game = worth - worth[:, :1] if share_empty else np.where(np.arange(worth.shape[1]) == 0, 0.0, worth)
    additive = game @ _without_interactions(sampled, share_empty).T
    left = game - additive @ _members(sampled).T
    signs, places, others = _pairs(sampled)
    estimates = 0.5 * (left[:, places] - left[:, others])[:, :, None] * signs[None]  # games, pairs, players
    pairs = sampled.pairs
    deviation = estimates - estimates.mean(axis=1, keepdims=True)
    second, fourth = (deviation**2).mean(axis=1), (deviation**4).mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shared = fourth.sum(axis=1, keepdims=True) / (second**2).sum(axis=1, keepdims=True)
        excess = np.fmax(np.nan_to_num(np.fmax(shared, fourth / second**2)) - 3.0, 0.0)
    df = 2.0 / (2.0 / (pairs - 1.0) + excess / pairs)
    return Spread(np.sqrt(second / (pairs - 1.0)), df)


def _size_weights(players: int) -> Floats:
    sizes = np.arange(2, players - 1)
    return np.asarray(1.0 / (sizes * (players - sizes)))


def _members(sampled: SampledCoalitions) -> Floats:
    """1 where a player (column) is in a coalition (row)."""
    return ((sampled.masks[:, None] >> np.arange(sampled.players)[None, :]) & 1).astype(np.float64)


def _exact_part(sampled: SampledCoalitions) -> Floats:
    """Shapley's own coefficients on the sizes 1, n − 1 and n, which are evaluated in full."""
    sizes = coalition_sizes(sampled.masks, sampled.players)
    inside = np.isin(sizes, (1, sampled.players - 1, sampled.players))
    return np.where(inside, coefficients(b_sequence("shapley", sampled.players), sampled.masks), 0.0)


def _without_interactions(sampled: SampledCoalitions, share_empty: bool) -> Floats:
    """a_k as coefficients on the worths."""
    players, masks = sampled.players, sampled.masks
    result = np.zeros((players, masks.size))
    rows, alone = np.arange(players), np.left_shift(np.int64(1), np.arange(players, dtype=np.int64))
    result[rows, np.searchsorted(masks, alone)] += 0.5
    result[rows, np.searchsorted(masks, sampled.whole - alone)] -= 0.5
    result[:, -1] += 0.5
    result[:, 0] -= 0.5 if share_empty else 0.0
    return result


def _pairs(sampled: SampledCoalitions) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
    """c_k(S) over the chance of drawing S, (pairs, players), and the columns of the coalitions and complements.

    For k in S it is Z(n − s), for the others −Zs; the complement has the same with the sign turned.
    """
    players = sampled.players
    inside = ((sampled.drawn[:, None] >> np.arange(players)[None, :]) & 1).astype(np.float64)
    signs = _size_weights(players).sum() * (players * inside - inside.sum(axis=1, keepdims=True))
    places, others = (
        np.searchsorted(sampled.masks, part) for part in (sampled.drawn, sampled.whole - sampled.drawn)
    )
    return signs, places, others

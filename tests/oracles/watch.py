"""The processes of watch, row by row and table by table, from the method's page alone: slow, plain, independent."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import optimize, stats

Block = tuple[float, float, float, float]  # n_a, k_a, n_b, k_b
GRID = [0.95 * 2 ** (-j / 3) for j in range(33)]


def pooled_blocks(periods: Sequence[Block], least: int = 1) -> list[Block]:
    """Periods in which both groups have rows; from two rows on, periods pooled until both groups have so many."""
    if least == 1:
        return [period for period in periods if period[0] >= 1 and period[2] >= 1]
    blocks, waiting = [], np.zeros(4)
    for period in periods:
        waiting = waiting + np.array(period, dtype=float)
        if waiting[0] >= least and waiting[2] >= least:
            blocks.append(tuple(float(part) for part in waiting))
            waiting = np.zeros(4)
    return blocks  # type: ignore[return-value]


def row_term(e: float, n: float, k: float, y: float) -> float:
    values = [1.0] * int(k) + [0.0] * int(n - k)
    return sum(math.log(1 + e * (x - y)) for x in values) + e * n * y


def first_term(e: float, n: float, k: float) -> float:
    m = min(64, math.ceil(math.sqrt(n)))
    if m >= n:
        return row_term(e, n, k, 0.5)
    law = stats.hypergeom(int(n), int(k), m)
    total = 0.0
    for j in range(m + 1):
        chance = float(law.pmf(j))
        if chance > 0:
            value = row_term(e, m, j, 0.5) + row_term(e, n - m, k - j, (j + 0.5) / (m + 1))
            total += chance * math.exp(value)
    return math.log(total)


def side_sum(blocks: Sequence[Block], side: int, bet: float) -> float:
    """A of one side at one bet, exactly, from all blocks."""
    total, known, ones = 0.0, 0.0, 0.0
    for number, (n_a, k_a, n_b, k_b) in enumerate(blocks):
        n, k = ((n_a, k_a), (n_b, k_b))[side]
        e = bet * (n_a * n_b / (n_a + n_b)) / n
        total += first_term(e, n, k) if number == 0 else row_term(e, n, k, (ones + 0.5) / (known + 1))
        known, ones = known + n, ones + k
    return total


def log_mean(values: Sequence[float]) -> float:
    peak = max(values)
    return peak + math.log(sum(math.exp(value - peak) for value in values) / len(values))


def average_at_most(periods: Sequence[Block], gap: float, sign: int = 1) -> float:
    """log e('the average gap is at most `gap`'), at least where sign is -1."""
    blocks = pooled_blocks(periods)
    weight = sum(a * b / (a + b) for a, _, b, _ in blocks)
    return log_mean(
        [
            side_sum(blocks, 0, sign * bet) + side_sum(blocks, 1, -sign * bet) - sign * bet * weight * gap
            for bet in GRID
        ]
    )


def average_interval(periods: Sequence[Block], alpha: float) -> tuple[float, float]:
    level = math.log(2 / alpha)
    low = optimize.brentq(lambda g: average_at_most(periods, g) - level, -3, 3, xtol=1e-13)
    high = optimize.brentq(lambda g: average_at_most(periods, g, -1) - level, -3, 3, xtol=1e-13)
    return float(low), float(high)


def ratio_at_most(periods: Sequence[Block], ratio: float, sign: int = 1) -> float:
    blocks = pooled_blocks(periods)
    first, second = (1.0, ratio) if ratio <= 1 else (1 / ratio, 1.0)
    return log_mean(
        [side_sum(blocks, 0, sign * first * bet) + side_sum(blocks, 1, -sign * second * bet) for bet in GRID]
    )


def ratio_interval(periods: Sequence[Block], alpha: float, estimate: float) -> tuple[float, float]:
    level = math.log(2 / alpha)
    low = optimize.brentq(lambda r: ratio_at_most(periods, r) - level, estimate / 10, estimate)
    high = optimize.brentq(lambda r: ratio_at_most(periods, r, -1) - level, estimate, estimate * 10)
    return float(low), float(high)


def divergence(theta: float, q: float) -> float:
    return theta * math.log(theta / q) + (1 - theta) * math.log((1 - theta) / (1 - q))


def projection(theta: tuple[float, float], n: tuple[float, float], r: float, d: float) -> tuple[float, float]:
    def loss(q: float) -> float:
        return n[0] * divergence(theta[0], d + r * q) + n[1] * divergence(theta[1], q)

    ends = max(0.0, -d / r) + 1e-12, min(1.0, (1 - d) / r) - 1e-12
    q = float(optimize.minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-13}).x)
    return d + r * q, q


def every_period(periods: Sequence[Block], r: float, d: float) -> list[float]:
    """log E against 'p_a - r p_b ≤ d in every period', after each block."""
    logs, found = [0.0, 0.0], []
    seen = [np.zeros(4), np.zeros(4)]
    for number, block in enumerate(pooled_blocks(periods)):
        n_a, k_a, n_b, k_b = block
        for learner in range(2):
            count = seen[learner]
            theta = (count[1] + 0.5) / (count[0] + 1), (count[3] + 0.5) / (count[2] + 1)
            if number and theta[0] - r * theta[1] > d:
                q = projection(theta, (n_a, n_b), r, d)
                for n, k, t, p in ((n_a, k_a, theta[0], q[0]), (n_b, k_b, theta[1], q[1])):
                    logs[learner] += k * math.log(t / p) + (n - k) * math.log((1 - t) / (1 - p))
            seen[learner] = count * (1.0 if learner == 0 else 0.9) + np.array(block)
        found.append(log_mean(logs))
    return found


def detector(periods: Sequence[Block], edge: float) -> tuple[list[float], int]:
    """log of the mean of M after each period, and the period (from 1) in which the change began."""
    signs = [(sign, bet) for bet in GRID[:18] for sign in (1, -1)]
    grown, sums = dict.fromkeys(signs, 0.0), dict.fromkeys(signs, (0.0, 1))
    size, ones, found = 0.0, 0.0, []
    for number, (n_a, k_a, n_b, k_b) in enumerate(periods, start=1):
        mean = (ones + 1) / (size + 2)
        q_b = mean - edge * n_a / (n_a + n_b)
        weight = n_a * n_b / (n_a + n_b)
        for sign, bet in signs:
            x = sum(
                math.log(1 + side * sign * bet * weight / n * (value - q))
                for side, n, k, q in ((1, n_a, k_a, q_b + edge), (-1, n_b, k_b, q_b))
                for value in [1.0] * int(k) + [0.0] * int(n - k)
            )
            grown[sign, bet] = (1 + grown[sign, bet]) * math.exp(x)
            total, start = sums[sign, bet]
            sums[sign, bet] = (total + x, start) if total > 0 else (x, number)
        size, ones = 0.8 * size + n_a + n_b, 0.8 * ones + k_a + k_b
        found.append(math.log(sum(grown.values()) / len(signs)))
    return found, max(sums.values())[1]

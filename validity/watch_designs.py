"""Streams that watch is tried on: sizes, rates and gaps of every period, for many repeats at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from inside.inference import StreamRule, Streams, advance, new_streams

Generator = np.random.Generator
LOOKS = 1000
NOWHERE = np.zeros((0, 2))
Sizes = Callable[[int, int, Generator, np.ndarray], np.ndarray]
Rates = Callable[[int], tuple[float, float]]


def rule(
    low: float = 0.0, high: float = 0.0, *, ratio: bool = False, known: float = math.nan, overall: bool = False,
    binary: bool = True, block: int = 1, sides: int = 2, alpha: float = 0.05,
) -> StreamRule:  # fmt: skip
    return StreamRule(float(low), float(high), ratio, known, overall, binary, block, sides, -math.log(alpha))


EQUALITY = rule()


@dataclass(frozen=True, slots=True)
class Design:
    """Rows of both sides and their rates in each period; `text` says it on the board."""

    text: str
    sizes: Sizes
    rates: Rates
    asked: StreamRule = EQUALITY

    def run(
        self, repeats: int, generator: Generator, looks: int = LOOKS
    ) -> Iterator[tuple[int, Streams, np.ndarray]]:
        """The streams after each period, and the average gap (or both averages) that is true by then."""
        streams = new_streams(repeats)
        ones = np.zeros((repeats, 2))
        waiting = np.zeros((repeats, 2))
        truth = Truth(repeats)
        for period in range(looks):
            n = self.sizes(period, repeats, generator, ones)
            rates = self.rates(period)
            ones = generator.binomial(n.astype(np.int64), np.broadcast_to(rates, n.shape)).astype(np.float64)
            waiting = truth.add(n, rates, self.asked, waiting)
            advance(streams, np.stack([n, ones, ones], axis=2), period, self.asked, NOWHERE, 500.0)
            yield period, streams, truth.gap(self.asked, streams)


class Truth:
    """The averages that the processes speak of, added up as the blocks are."""

    def __init__(self, repeats: int) -> None:
        self.pending = np.zeros((repeats, 2, 2))
        self.means = np.zeros((repeats, 2))
        self.weight = np.zeros(repeats)

    def add(
        self, n: np.ndarray, rates: tuple[float, float], asked: StreamRule, waiting: np.ndarray
    ) -> np.ndarray:
        if asked.block == 1:
            self.pending[...] = 0.0  # a period is compared within itself or not at all
        self.pending += np.stack([n, n * np.array(rates)], axis=2)
        size = self.pending[:, :, 0]
        alone = not math.isnan(asked.known)
        closes = (size[:, 0] >= asked.block) & (alone | (size[:, 1] >= asked.block))
        a, b = size[closes, 0], size[closes, 1]
        weight = a if alone else a * b / (a + b)
        self.weight[closes] += weight
        self.means[closes, 0] += weight * self.pending[closes, 0, 1] / a
        if not alone:
            self.means[closes, 1] += weight * self.pending[closes, 1, 1] / b
        self.pending[closes] = 0.0
        return waiting

    def gap(self, asked: StreamRule, streams: Streams) -> np.ndarray:
        some = np.maximum(self.weight, 1e-300)
        if not math.isnan(asked.known):
            return np.asarray(self.means[:, 0] / some - asked.known)
        if asked.ratio:
            return np.asarray(self.means[:, 0] / np.maximum(self.means[:, 1], 1e-300))
        scale = np.maximum(streams.counted[:, 0, 0], 1e-300) if asked.overall else some
        return np.asarray((self.means[:, 0] - self.means[:, 1]) / scale)


# -- sizes ------------------------------------------------------------------------------------------------------
def fixed(a: int, b: int) -> Sizes:
    return lambda period, repeats, generator, last: np.broadcast_to([float(a), float(b)], (repeats, 2)).copy()


def growing(period: int, repeats: int, generator: Generator, last: np.ndarray) -> np.ndarray:
    return np.broadcast_to([5.0 + period // 10, 5.0 + period // 2], (repeats, 2)).copy()


def absent(period: int, repeats: int, generator: Generator, last: np.ndarray) -> np.ndarray:
    """One group is there in a fifth of the weeks only."""
    n = np.broadcast_to([30.0, 60.0], (repeats, 2)).copy()
    n[generator.random(repeats) < 0.8, 0] = 0.0
    return n


def there(share: float) -> Sizes:
    """One group is there in that share of the weeks only, which come as evenly as they can."""
    return lambda period, repeats, generator, last: np.broadcast_to(
        [30.0 if comes(share, period) else 0.0, 60.0], (repeats, 2)
    ).copy()


def comes(share: float, period: int) -> bool:
    return math.floor((period + 1) * share) > math.floor(period * share)


def arriving(period: int, repeats: int, generator: Generator, last: np.ndarray) -> np.ndarray:
    """One group is first there when both rates have jumped."""
    return np.broadcast_to([30.0 if period >= 200 else 0.0, 60.0], (repeats, 2)).copy()


def one_row(period: int, repeats: int, generator: Generator, last: np.ndarray) -> np.ndarray:
    first = (generator.random(repeats) < 0.4).astype(float)
    return np.stack([first, 1.0 - first], axis=1)


def seasonal(period: int, repeats: int, generator: Generator, last: np.ndarray) -> np.ndarray:
    wave = math.sin(2 * math.pi * period / 52)
    return np.broadcast_to([round(60 + 50 * wave), round(60 - 50 * wave)], (repeats, 2)).astype(float)


def adaptive(period: int, repeats: int, generator: Generator, last: np.ndarray) -> np.ndarray:
    """How many come depends on what was decided last week, not on what will be."""
    return np.where(last[:, ::-1] > 8, 20.0, 60.0)


def moving_mix(period: int, repeats: int, generator: Generator, last: np.ndarray) -> np.ndarray:
    share = 0.1 + 0.8 * period / LOOKS
    return np.broadcast_to([round(100 * share), round(100 * (1 - share))], (repeats, 2)).astype(float)


def late(period: int, repeats: int, generator: Generator, last: np.ndarray) -> np.ndarray:
    """Of 80 and 120 rows those whose outcome is known after the waiting time; the rest is left out."""
    return generator.binomial([80, 120], [0.6, 0.9], (repeats, 2)).astype(float)


# -- rates ------------------------------------------------------------------------------------------------------
def equal(rate: float) -> Rates:
    return lambda period: (rate, rate)


def apart(a: float, b: float) -> Rates:
    return lambda period: (a, b)


def drifting(period: int) -> tuple[float, float]:
    rate = 0.1 + 0.6 * period / LOOKS
    return rate, rate


def season(period: int) -> tuple[float, float]:
    rate = 0.3 + 0.2 * math.sin(2 * math.pi * period / 52)
    return rate, rate


def jump(period: int) -> tuple[float, float]:
    rate = 0.15 if period < 200 else 0.55
    return rate, rate


def with_visits(share: float, gap: float = 0.0) -> Rates:
    """Both rates are high in the weeks in which one group is there, low in the others; `gap` is on top of its own."""
    return lambda period: (0.8 + gap, 0.8) if comes(share, period) else (0.2 + gap, 0.2)


def moving_gap(period: int) -> tuple[float, float]:
    """The gap goes from +.2 to -.2 while the base rate grows."""
    base = 0.3 + 0.3 * period / LOOKS
    return base + 0.2 - 0.4 * period / LOOKS, base


def late_gap(period: int) -> tuple[float, float]:
    return (0.3, 0.3) if period < 300 else (0.45, 0.3)


def season_gap(period: int) -> tuple[float, float]:
    wave = 0.15 * math.sin(2 * math.pi * period / 52)
    return 0.4 + wave, 0.4 - wave

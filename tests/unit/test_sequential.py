"""Numbers of watch: the page's golden ones, an oracle, and expected values of at most 1 by enumeration."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pytest
from tests.oracles import watch as oracle

from inside.inference import (
    BETS,
    StreamRule,
    Streams,
    advance,
    average_logs,
    began,
    begin_window,
    edge_centres,
    estimates,
    gain,
    interval,
    joined,
    listed,
    log_certificate,
    log_detector,
    log_evidence,
    nearest,
    new_streams,
    one_sample_factor,
    opening_weights,
    select,
    split_term,
    term,
    two_sample_factor,
)

FOUR = [(50, 15, 60, 12), (40, 18, 55, 10), (60, 27, 45, 11), (30, 12, 70, 16)]
TOGETHER = [(10, 4, 12, 3), (8, 5, 10, 2), (12, 6, 20, 7), (1, 1, 1, 0)]
LONE = [(0, 0, 9, 3), *TOGETHER[:2], (0, 0, 9, 9), TOGETHER[2], (7, 7, 0, 0), TOGETHER[3], (0, 0, 3, 3)]
DRIFT = [(100, 30, 100, 31), (100, 28, 100, 30), (100, 41, 100, 29), (100, 44, 100, 28), (100, 43, 100, 30)]
NOWHERE = np.full((1, 2), math.nan)
CLOSE = {"abs": 6e-7, "rel": 0}  # the page prints six decimals


def rule(low: float = 0.0, high: float = 0.0, *, ratio: bool = False, known: float = math.nan, overall: bool = False,
         binary: bool = True, block: int = 1, sides: int = 2) -> StreamRule:  # fmt: skip
    return StreamRule(float(low), float(high), ratio, known, overall, binary, block, sides, math.log(20))


def average_evidence(streams: Streams, s: int, asked: StreamRule, edge: float, upwards: bool) -> float:
    return float(average_logs(select(streams, slice(s, s + 1)), asked, np.array([edge]), upwards)[0])


def cells_of(*sides: Sequence[float]) -> np.ndarray:
    """One stream's cells from n, sum (and squares) of both sides."""
    return np.array([[[*side, side[1]] if len(side) == 2 else side for side in sides]], dtype=float)


def fed(
    periods: Sequence[tuple[float, ...]], asked: StreamRule, reference: np.ndarray = NOWHERE
) -> Iterator[Streams]:
    streams = new_streams(1)
    for number, (n_a, k_a, n_b, k_b) in enumerate(periods):
        advance(streams, cells_of((n_a, k_a), (n_b, k_b)), number, asked, reference, 500.0)
        yield streams


def last(periods: Sequence[tuple[float, ...]], asked: StreamRule) -> Streams:
    return list(fed(periods, asked))[-1]


def test_average_golden() -> None:
    asked = rule()
    streams = last(FOUR, asked)
    assert streams.weight[0] == pytest.approx(97.144908, **CLOSE)
    assert estimates(streams, asked)[0] == pytest.approx(0.183473, **CLOSE)
    assert average_evidence(streams, 0, asked, 0.0, True) == pytest.approx(4.884429, **CLOSE)
    assert average_evidence(streams, 0, asked, 0.0, False) == pytest.approx(-0.624962, **CLOSE)
    assert interval(streams, asked, math.log(40))[0] == pytest.approx([0.018491, 0.350227], **CLOSE)
    assert interval(streams, asked, math.log(20))[0] == pytest.approx([0.030499, 0.338029], **CLOSE)


@pytest.mark.parametrize("periods", [TOGETHER, LONE])
def test_periods_of_a_lone_group_say_nothing(periods: list[tuple[float, ...]]) -> None:
    asked = rule()
    streams = last(periods, asked)
    assert streams.blocks[0] == 4
    assert streams.alone[0] == len(periods) - 4
    assert not streams.pending.any()
    assert streams.weight[0] == pytest.approx(17.898990, **CLOSE)
    assert average_evidence(streams, 0, asked, 0.0, True) == pytest.approx(0.684677, **CLOSE)
    assert interval(streams, asked, math.log(40))[0] == pytest.approx([-0.272810, 0.755153], **CLOSE)


@pytest.mark.parametrize(
    "asked", [rule(), rule(-0.1, 0.1, overall=True), rule(0.8, 1.25, ratio=True), rule(binary=False)]
)
def test_both_claims_are_those_without_the_lone_periods(asked: StreamRule) -> None:
    found, expected = last(LONE, asked), last(TOGETHER, asked)
    for name in found._fields:
        if name not in ("alone", "crossed"):
            assert np.array_equal(getattr(found, name), getattr(expected, name)), name


def test_rows_one_by_one_are_pooled_where_asked() -> None:
    rows = [(1, 1, 0, 0), (0, 0, 1, 0), (0, 0, 1, 1), (1, 0, 0, 0), (0, 0, 1, 0), (1, 1, 0, 0)]
    apart, pooled = last(rows, rule()), last(rows, rule(block=2))
    assert (apart.blocks[0], apart.alone[0], apart.longest[0]) == (0, 6, 0)
    assert (pooled.blocks[0], pooled.alone[0], pooled.longest[0]) == (1, 0, 3)
    assert pooled.counted[0].tolist() == [[2, 1], [2, 1]]


def test_ratio_is_the_golden_interval_widened_by_chords() -> None:
    exact = oracle.ratio_interval(FOUR, 0.05, 1.9)
    assert exact == pytest.approx((1.063599, 3.792144), **CLOSE)
    asked = rule(1.0, 1.0, ratio=True)
    low, high = interval(last(FOUR, asked), asked, math.log(40))[0]
    assert 0.997 * exact[0] <= low <= exact[0], "chords lose less than .3% and never gain"
    assert exact[1] <= high <= 1.003 * exact[1]


def test_ratio_without_chords_is_exact() -> None:
    """At a ratio of a grid step the scaled bets are grid bets themselves."""
    for ratio in (2.0 ** (-1 / 3), 1.0, 2.0):
        asked = rule(ratio, ratio, ratio=True)
        streams = last(FOUR[:1] + FOUR, asked)
        for sign, upwards in ((1, True), (-1, False)):
            # beyond the smallest bet the chord runs to zero, where the term is nearly straight
            expected = oracle.ratio_at_most(FOUR[:1] + FOUR, ratio, sign)
            assert average_evidence(streams, 0, asked, ratio, upwards) == pytest.approx(expected, abs=2e-6)


def test_every_period_golden() -> None:
    def path(asked: StreamRule) -> list[float]:
        return [float(log_evidence(streams, asked)[0]) for streams in fed(FOUR, asked)]

    assert path(rule(sides=1)) == pytest.approx([0.0, 2.592625, 4.953363, 6.390279], **CLOSE)
    assert path(rule(high=0.05, sides=1))[-1] == pytest.approx(3.197009, **CLOSE)
    assert path(rule(1.0, 1.25, ratio=True, sides=1))[-1] == pytest.approx(2.363063, **CLOSE)
    assert path(rule())[-1] == pytest.approx(5.698808, **CLOSE)


def test_small_pieces_golden() -> None:
    assert split_term(0.5, 10.0, 4.0) == pytest.approx(1.636632, **CLOSE)
    assert split_term(-0.5, 10.0, 4.0) == pytest.approx(-2.377192, **CLOSE)
    assert nearest(0.6, 0.3, 8.0, 10.0, 1.0, 0.05) == pytest.approx((0.459463, 0.409463), **CLOSE)
    factor = two_sample_factor(0.6, 0.3, 8.0, 5.0, 10.0, 2.0, 1.0, 0.05)
    assert factor == pytest.approx(1.169316, **CLOSE)


def test_known_target_and_bounded_values_golden() -> None:
    asked = rule(known=0.3)
    streams = last([(100, 30, 0, 0), (100, 25, 0, 0)], asked)
    assert interval(streams, asked, math.log(40))[0] + 0.3 == pytest.approx([0.168287, 0.394684], **CLOSE)
    asked = rule(binary=False)
    streams = new_streams(1)
    periods = [
        ((4, 1.6, 0.74), (5, 1.5, 0.55)),
        ((16, 7.2, 3.9), (15, 4.8, 1.9)),
        ((20, 9.5, 5.0), (20, 6.2, 2.4)),
    ]
    for number, sides in enumerate(periods):
        advance(streams, cells_of(*sides), number, asked, NOWHERE, 500.0)
    assert average_evidence(streams, 0, asked, 0.0, True) == pytest.approx(0.645995, **CLOSE)
    assert interval(streams, asked, math.log(40))[0] == pytest.approx([-0.232098, 0.520101], **CLOSE)


def test_detector_golden() -> None:
    found = [
        (log_detector(streams.change[0]), began(streams.change[0]) + 1)
        for streams in fed(DRIFT, rule(), np.zeros((1, 2)))
    ]
    expected = [-0.361199, 0.309967, 1.040272, 2.726211, 4.196374]
    assert [value for value, _ in found] == pytest.approx(expected, **CLOSE)
    assert found[-1][1] == 3


def test_families_golden() -> None:
    evidence = np.log([300, 90, 35, 60, 2, 0.1, 45, 1])
    equal = listed(evidence, opening_weights(8, 0, closed=True), 0.05)
    assert np.flatnonzero(equal).tolist() == [0, 1, 2, 3, 6]
    fixed = listed(evidence, opening_weights(4, 4), 0.05)
    assert np.flatnonzero(fixed).tolist() == [0, 1, 3]
    assert opening_weights(3, 10_000).sum() == pytest.approx(1.0, abs=1e-4)
    assert not listed(np.zeros(0), opening_weights(0, 0), 0.05).size


@pytest.mark.parametrize("seed", range(6))
def test_against_the_oracle(seed: int) -> None:
    random = np.random.default_rng(seed)
    sizes = random.integers(0, 14, (6, 2))
    periods = [(int(a), int(random.binomial(a, 0.4)), int(b), int(random.binomial(b, 0.2))) for a, b in sizes]
    periods.append((9, 4, 8, 1))
    asked = rule()
    streams = last(periods, asked)
    for gap in (-0.1, 0.0, 0.2):
        expected = oracle.average_at_most(periods, gap)
        assert average_evidence(streams, 0, asked, gap, True) == pytest.approx(expected, abs=1e-10)
    limits = oracle.average_interval(periods, 0.05)
    assert interval(streams, asked, math.log(40))[0] == pytest.approx(np.clip(limits, -1, 1), abs=1e-10)
    for edge, ratio in ((0.0, 1.0), (0.08, 1.0), (0.0, 1.2)):
        asked = rule(1.0, ratio, ratio=True, sides=1) if ratio != 1.0 else rule(high=edge, sides=1)
        expected = oracle.every_period(periods, ratio, edge)[-1]
        # the oracle minimises by golden sections, whose minimum is flat to the square root of the spacing of doubles
        assert log_evidence(last(periods, asked), asked)[0] == pytest.approx(expected, abs=1e-6)
    whole = [(a + 1, k, b + 1, j) for a, k, b, j in periods]
    path, start = oracle.detector(whole, 0.05)
    found = list(fed(whole, rule(), np.full((1, 2), 0.05)))[-1]
    assert log_detector(found.change[0]) == pytest.approx(path[-1], abs=1e-10)
    assert began(found.change[0]) + 1 == start


# -- expected values of at most 1, by enumeration -------------------------------------------------------------
def chances(n: int, p: float) -> np.ndarray:
    return np.array([math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])


def test_expected_factor_golden() -> None:
    def expected(p: float) -> float:
        return sum(
            chances(3, p)[a]
            * chances(2, p)[b]
            * math.exp(two_sample_factor(0.7, 0.2, 3.0, a, 2.0, b, 1.0, 0.0))
            for a, b in product(range(4), range(3))
        )

    assert expected(0.5) == pytest.approx(1.0, abs=1e-12)
    assert expected(0.3) == pytest.approx(0.911341670400, abs=1e-12)


@pytest.mark.parametrize(("ratio", "edge"), [(1.0, 0.0), (1.0, 0.1), (1.0, -0.1), (1.25, 0.0), (0.8, 0.0)])
@pytest.mark.parametrize("theta", [(0.7, 0.2), (0.95, 0.9), (0.3, 0.02), (0.55, 0.5)])
def test_expected_factor_is_at_most_one(ratio: float, edge: float, theta: tuple[float, float]) -> None:
    for n_a, n_b in ((1, 1), (3, 2), (1, 4)):
        factors = np.array(
            [
                [math.exp(two_sample_factor(*theta, n_a, a, n_b, b, ratio, edge)) for b in range(n_b + 1)]
                for a in range(n_a + 1)
            ]
        )
        worst = 0.0
        for p_b in np.linspace(0.0, 1.0, 41):
            for inside in (0.0, 0.02, 0.3):
                p_a = edge + ratio * p_b - inside
                if 0.0 <= p_a <= 1.0:
                    worst = max(worst, float(chances(n_a, p_a) @ factors @ chances(n_b, p_b)))
        assert worst <= 1.0 + 1e-12


def test_expected_one_sample_factor_is_at_most_one() -> None:
    for limit, theta in product((0.1, 0.5, 0.85), (0.05, 0.3, 0.9)):
        factors = [math.exp(one_sample_factor(theta, 4.0, k, limit)) for k in range(5)]
        assert max(float(chances(4, p) @ factors) for p in np.linspace(0, limit, 30)) <= 1.0 + 1e-12


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_expected_bet_is_at_most_one(n: int) -> None:
    for bet in (*BETS[::6], *(-BETS[::6])):
        first = [math.exp(split_term(bet, n, k)) for k in range(n + 1)]
        later = [math.exp(term(bet, n, k, k, 0.3, True)) for k in range(n + 1)]
        for p in np.linspace(0, 1, 11):
            for values in (first, later):
                assert float(chances(n, p) @ values) * math.exp(-bet * n * p) <= 1.0 + 1e-12


def test_expected_bet_on_real_values_is_at_most_one() -> None:
    values, shares = np.array([0.0, 0.25, 0.6, 1.0]), np.array([0.4, 0.3, 0.2, 0.1])
    mean = float(values @ shares)
    for bet, centre in product((*BETS[::8], *(-BETS[::8])), (0.05, 0.5, 0.9)):
        expected = 0.0
        for chosen in product(range(4), repeat=3):
            x = values[list(chosen)]
            total = term(bet, 3.0, float(x.sum()), float((x * x).sum()), centre, False)
            expected += float(np.prod(shares[list(chosen)])) * math.exp(total)
        assert expected * math.exp(-bet * 3 * mean) <= 1.0 + 1e-12


def test_real_values_bet_never_more_than_seeing_each_row() -> None:
    x = np.random.default_rng(5).beta(2, 5, 40)
    for bet, centre in product((*BETS, *(-BETS)), (0.1, 0.5, 0.8)):
        exact = float(np.log1p(bet * (x - centre)).sum())
        assert gain(bet, 40.0, float(x.sum()), float((x * x).sum()), centre, False) <= exact + 1e-12


def every_table(n_a: int, n_b: int, periods: int) -> np.ndarray:
    """Every outcome of the periods, one per stream: (tables, periods, 2) numbers of ones."""
    once = list(product(range(n_a + 1), range(n_b + 1)))
    return np.array(list(product(once, repeat=periods)), dtype=float)


def whole_process(
    n_a: int, n_b: int, tables: np.ndarray, asked: StreamRule, reference: np.ndarray
) -> Streams:
    streams = new_streams(len(tables))
    for number in range(tables.shape[1]):
        ones = tables[:, number]
        sizes = np.broadcast_to([float(n_a), float(n_b)], ones.shape)
        advance(streams, np.stack([sizes, ones, ones], axis=2), number, asked, reference, 500.0)
    return streams


def table_chances(
    tables: np.ndarray, sizes: tuple[int, int], rates: Sequence[tuple[float, float]]
) -> np.ndarray:
    found = np.ones(len(tables))
    for number, (p_a, p_b) in enumerate(rates):
        found *= chances(sizes[0], p_a)[tables[:, number, 0].astype(int)]
        found *= chances(sizes[1], p_b)[tables[:, number, 1].astype(int)]
    return found


def test_expected_value_of_the_whole_processes() -> None:
    """Two groups of 3 and 2 over three periods, every outcome: both processes, rates drifting as they like."""
    tables = every_table(3, 2, 3)
    for asked in (rule(), rule(-0.1, 0.1), rule(0.8, 1.25, ratio=True), rule(-0.1, 0.1, overall=True)):
        streams = whole_process(3, 2, tables, asked, np.full((len(tables), 2), math.nan))
        evidence = np.exp(log_evidence(streams, asked))
        for rates in (
            [(0.3, 0.3)] * 3,
            [(0.2, 0.2), (0.5, 0.5), (0.9, 0.9)],
            [(0.95, 0.95), (0.5, 0.5), (0.1, 0.1)],
        ):
            assert float(table_chances(tables, (3, 2), rates) @ evidence) <= 1.0 + 1e-12


def test_expected_value_of_the_average() -> None:
    """The gap moves between periods; the average of it is what the e-value speaks of."""
    tables = every_table(3, 2, 3)
    for rates in ([(0.6, 0.2), (0.1, 0.5), (0.4, 0.4)], [(0.9, 0.1), (0.3, 0.6), (0.2, 0.5)]):
        chance = table_chances(tables, (3, 2), rates)
        asked = rule()
        streams = whole_process(3, 2, tables, asked, np.full((len(tables), 2), math.nan))
        true = float(np.mean([a - b for a, b in rates]))
        for upwards in (True, False):
            values = average_logs(streams, asked, np.full(len(tables), true), upwards)
            assert float(chance @ np.exp(values)) <= 1.0 + 1e-12
        asked = rule(1.0, 1.0, ratio=True)
        ratio = sum(a for a, _ in rates) / sum(b for _, b in rates)
        for upwards in (True, False):
            values = average_logs(streams, asked, np.full(len(tables), ratio), upwards)
            assert float(chance @ np.exp(values)) <= 1.0 + 1e-12


def test_expected_detector_step_is_at_most_one() -> None:
    for edge, pooled in product((-0.2, 0.0, 0.1), (0.02, 0.4, 0.97)):
        q_a, q_b = edge_centres(3.0, 2.0, pooled, edge)
        assert 0.0 <= q_a <= 1.0
        assert 0.0 <= q_b <= 1.0
        for bet in BETS[:18:3]:
            steps = [
                [
                    math.exp(gain(bet * 0.4, 3.0, a, a, q_a, True) + gain(-bet * 0.6, 2.0, b, b, q_b, True))
                    for b in range(3)
                ]
                for a in range(4)
            ]
            for p_b in np.linspace(0, 1, 21):
                if 0 <= p_b + edge <= 1:
                    assert float(chances(3, p_b + edge) @ steps @ chances(2, p_b)) <= 1.0 + 1e-12


# -- how streams behave ---------------------------------------------------------------------------------------
def test_overall_is_the_gap_to_everyone() -> None:
    asked, beside = rule(-0.05, 0.05, overall=True), rule()
    streams, plain = last(FOUR, asked), last(FOUR, beside)
    share = plain.weight[0] / plain.counted[0, 0, 0]
    assert estimates(streams, asked)[0] == pytest.approx(estimates(plain, beside)[0] * share)
    assert interval(streams, asked, math.log(40))[0] == pytest.approx(
        interval(plain, beside, math.log(40))[0] * share
    )


def test_the_interval_and_the_certificate_agree() -> None:
    periods = [(400, 120, 500, 151)] * 8
    for band in (0.03, 0.05, 0.08, 0.2):
        asked = rule(-band, band)
        streams = last(periods, asked)
        low, high = interval(streams, asked, math.log(20))[0]
        assert (log_certificate(streams, asked)[0] >= math.log(20)) == (low >= -band and high <= band)


def test_windows_learn_on_and_claim_anew() -> None:
    asked = rule()
    streams = last(FOUR, asked)
    begin_window(streams)
    assert log_evidence(streams, asked)[0] == 0.0
    assert math.isnan(interval(streams, asked, math.log(40))[0, 0])
    advance(streams, cells_of((200, 120), (200, 40)), 4, asked, NOWHERE, 500.0)
    assert estimates(streams, asked)[0] == pytest.approx(0.4)
    assert streams.crossed[0] == 4, "rates learned before the window let its first block count"
    asked = rule(1.0, 1.0, ratio=True)
    low, high = interval(streams, asked, math.log(40))[0]
    assert 1.0 < low < 3.0 < high


def test_joined_streams_are_as_if_alone() -> None:
    alone, late = last(FOUR, rule()), new_streams(1)
    both = joined(alone, late)
    advance(both, np.repeat(cells_of((20, 5), (30, 9)), 2, axis=0), 4, rule(), NOWHERE, 500.0)
    advance(alone, cells_of((20, 5), (30, 9)), 4, rule(), NOWHERE, 500.0)
    for part, own in zip(both, alone, strict=True):
        assert np.array_equal(part[:1], own)


def test_empty_periods_and_extreme_rates() -> None:
    asked = rule(-0.05, 0.05)
    streams = last([(0, 0, 0, 0), (5, 5, 5, 0), (5, 5, 5, 0), (0, 0, 3, 0)], asked)
    assert np.isfinite(log_evidence(streams, asked)).all()
    low, high = interval(streams, asked, math.log(40))[0]
    assert -1 <= low < high <= 1
    streams = last([(5, 0, 5, 0)] * 3, rule(0.8, 1.25, ratio=True))
    assert interval(streams, rule(0.8, 1.25, ratio=True), math.log(40))[0].tolist() == [0.0, math.inf]

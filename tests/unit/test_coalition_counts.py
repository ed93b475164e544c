"""Counting by size and member against the product it stands for."""

from __future__ import annotations

import numpy as np
import pytest

from inside.explain import (
    MEMBERS,
    RowForm,
    all_coalitions,
    b_sequence,
    coefficients,
    contributions,
    counted_forms,
    group_targets,
    row_products,
    size_rule,
)


def stacked(players, masks=None):
    return np.stack([coefficients(b_sequence(member, players), masks) for member in MEMBERS])


def leave_one_out(players):
    """+1 without the player, −1 with everybody."""
    found = np.zeros((players, 1 << players))
    found[:, -1] = -1.0
    found[np.arange(players), (1 << players) - 1 - (1 << np.arange(players))] = 1.0
    return found


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("players", [6, 7, 9, 12])
def test_counts_equal_the_product(players, first):
    random = np.random.default_rng(players)
    decisions = random.integers(0, 2, (300, 1 << players), dtype=np.uint8)[:, first:].copy()
    lines = np.concatenate([stacked(players), leave_one_out(players)[None]])[:, :, first:]
    rule = size_rule(lines)
    assert rule is not None
    rows = np.sort(random.choice(300, 280, replace=False))
    weight = random.choice([-1.0, 0.0, 1.0, 2.5], rows.size)
    result = np.empty((rows.size, lines.shape[0] * players))
    sums = counted_forms(decisions, rule, rows, weight, result)
    wide = decisions[rows].astype(np.float64)
    np.testing.assert_allclose(
        result, wide @ lines.reshape(-1, lines.shape[-1]).T, rtol=0, atol=1e-12 * np.abs(lines).sum()
    )
    np.testing.assert_allclose(sums, weight @ wide, rtol=0, atol=1e-10)


def test_column_sums_stay_whole_beyond_a_byte():
    """1,000 rows that all decide 1, of the same weight: more than the 255 a byte holds."""
    decisions = np.ones((1_000, 64), dtype=np.uint8)
    rule = size_rule(stacked(6))
    assert rule is not None
    sums = counted_forms(decisions, rule, np.arange(1_000), np.ones(1_000), np.empty((1_000, 30)))
    assert (sums == 1_000).all()


def test_twenty_players_fit_the_counters():
    """Everybody decides 1: the largest counts there can be; every value then adds up to v(N) = 1."""
    players = 20
    lines = coefficients(b_sequence("shapley", players))[None]
    rule = size_rule(lines)
    assert rule is not None
    result = np.empty((1, players))
    counted_forms(np.ones((1, 1 << players), dtype=np.uint8), rule, np.arange(1), np.ones(1), result)
    np.testing.assert_allclose(result, 1 / players, rtol=1e-9)


def test_only_coefficients_by_size_and_member_are_counted():
    players = 10
    lines = stacked(players)
    assert size_rule(lines) is not None
    changed = lines.copy()
    changed[2, 3, 517] += 1e-9
    assert size_rule(changed) is None
    assert size_rule(stacked(players, all_coalitions(players)[2:])) is None
    assert size_rule(stacked(5)) is None  # less than a word of coalitions
    decisions = np.random.default_rng(1).integers(0, 2, (50, 1 << players), dtype=np.uint8)
    everyone, weight = np.arange(50), np.ones(50)
    forms, sums = row_products(decisions, changed)(everyone, weight)
    expected = decisions.astype(np.float64) @ changed.reshape(-1, 1 << players).T
    np.testing.assert_allclose(forms, expected, rtol=0, atol=2e-5)
    np.testing.assert_array_equal(sums, decisions.sum(axis=0))


@pytest.mark.parametrize("metric", ["selection rate", "tpr", "accuracy"])
def test_ten_players_have_the_errors_of_double_precision(metric):
    random = np.random.default_rng(10)
    people, players = 400, 10
    group = random.integers(0, 2, people)
    y = random.integers(0, 2, people).astype(float)
    zero, one = np.zeros(people), np.ones(people)
    form = {
        "selection rate": RowForm(zero, one, one, one),
        "tpr": RowForm(zero, y, y, y),
        "accuracy": RowForm(1 - y, y, one, one),
    }[metric]
    decisions = random.integers(0, 2, (people, 1 << players), dtype=np.uint8)
    targets = group_targets([b_sequence(member, 2) for member in MEMBERS], 0.5)
    counted = contributions(decisions, form, group, 2, stacked(players), targets)
    product = contributions(decisions.astype(np.float64), form, group, 2, stacked(players), targets)
    np.testing.assert_allclose(counted.estimate, product.estimate, rtol=0, atol=1e-12)
    np.testing.assert_allclose(counted.spread().error, product.spread().error, rtol=0, atol=1e-12)
    for value in range(len(MEMBERS)):
        np.testing.assert_allclose(counted.influence(value), product.influence(value), rtol=0, atol=1e-12)

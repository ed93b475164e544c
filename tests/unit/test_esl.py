"""The ESL values against their own definitions, and the first stage's identities."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from inside.direct_calls import difference_interval
from inside.explain import (
    MEMBERS,
    all_coalitions,
    b_sequence,
    cells_in,
    coefficients,
    given_sequence,
    interaction_contrasts,
    linear_wald,
    multi_attribute_targets,
    needed_coalitions,
    paper_interval,
    pooled_z,
    pooling_matrix,
    tells_groups_apart,
    tensor_coefficients,
)
from oracles.esl import DEFINITIONS, esl_by_sum


def esl_value(b, worth):
    """φ of the game whose 2^n worths are `worth`, in mask order."""
    return coefficients(b) @ worth


def random_game(players, seed):
    worth = np.random.default_rng(seed).normal(size=1 << players)
    worth[0] = 0.0
    return worth


@pytest.mark.parametrize("players", range(2, 7))
@pytest.mark.parametrize("member", MEMBERS)
def test_member_equals_its_own_definition(member, players):
    worth = random_game(players, players)
    np.testing.assert_allclose(
        esl_value(b_sequence(member, players), worth), DEFINITIONS[member](worth, players), rtol=0, atol=1e-10
    )


@pytest.mark.parametrize("players", range(1, 9))
@pytest.mark.parametrize("member", MEMBERS)
def test_values_are_efficient_to_1e12(member, players):
    worth = random_game(players, 10 + players)
    assert abs(esl_value(b_sequence(member, players), worth).sum() - worth[-1]) < 1e-12


def test_given_sequence_is_the_printed_sum():
    b = given_sequence([0.3, -1.2, 2.5], 4)
    worth = random_game(4, 1)
    np.testing.assert_allclose(esl_value(b, worth), esl_by_sum(b, worth, 4), rtol=0, atol=1e-12)
    by_function = given_sequence(lambda s, n: 1.0 / (s + 1), 4)
    np.testing.assert_allclose(by_function, b_sequence("solidarity", 4), rtol=0, atol=0)


@pytest.mark.parametrize(("inner", "match"), [([1.0], "need 3 numbers"), ([1.0, 2.0, np.nan], "finite")])
def test_given_sequence_refuses(inner, match):
    with pytest.raises(ValueError, match=match):
        given_sequence(inner, 4)


def test_equal_surplus_needs_players_plus_one_coalitions():
    for players in (3, 8, 40):
        assert needed_coalitions(b_sequence("equal_surplus", players)).size == players + 1
    assert needed_coalitions(b_sequence("shapley", 6)).size == 63


def test_needed_coalitions_give_the_same_value():
    worth = random_game(5, 5)
    b = b_sequence("equal_surplus", 5)
    masks = needed_coalitions(b)
    np.testing.assert_allclose(coefficients(b, masks) @ worth[masks], esl_value(b, worth), rtol=0, atol=1e-12)


def test_two_groups_differ_by_b1_times_the_gap():
    for member in MEMBERS:
        b = b_sequence(member, 2)
        pooling = pooling_matrix(b, np.array([2862.0, 501.0]))
        rates = np.array([0.841, 0.600])
        phi = pooling @ rates / 0.5
        assert phi[0] - phi[1] == pytest.approx(b[1] * (rates[0] - rates[1]) / 0.5, abs=1e-12)


def test_all_values_equal_exactly_when_all_rates_are_equal():
    random = np.random.default_rng(3)
    weights = random.uniform(10, 1000, size=4)
    for member in MEMBERS:
        b = b_sequence(member, 4)
        assert tells_groups_apart(b, weights)
        phi = pooling_matrix(b, weights) @ np.full(4, 0.37)
        np.testing.assert_allclose(phi, phi[0], rtol=0, atol=1e-12)


def test_a_sequence_that_cannot_tell_groups_apart_is_seen():
    assert not tells_groups_apart(given_sequence([0.0], 2), np.array([10.0, 20.0]))
    assert not tells_groups_apart(given_sequence([0.0, 0.0], 3), np.array([10.0, 20.0, 30.0]))
    assert tells_groups_apart(given_sequence([0.0, 1.0], 3), np.array([10.0, 20.0, 30.0]))


def tensor_values(cells, sizes, levels, sequences):
    """φ of every cell of the pooled-rate game, by the tensor product."""
    tuples, product = tensor_coefficients(sequences)
    worth = []
    for masks in tuples:
        inside = cells_in(levels, masks)
        worth.append((cells[inside] * sizes[inside]).sum() / sizes[inside].sum())
    return product @ np.array(worth), worth[-1]


@pytest.mark.parametrize("member", MEMBERS)
def test_tensor_product_sums_to_the_whole_and_is_applied_stage_by_stage(member):
    random = np.random.default_rng(7)
    levels = [2, 3]
    cells, sizes = random.uniform(0.2, 0.9, 6), random.integers(20, 200, 6).astype(float)
    sequences = [b_sequence(member, count) for count in levels]
    phi, whole = tensor_values(cells, sizes, levels, sequences)
    assert abs(phi.sum() - whole) < 1e-12

    # Stage by stage as in Appendix A.2: first the attribute with two levels, inside it the one with three.
    def pooled(first, second):
        if not first or not second:
            return 0.0
        inside = [g * 3 + r for g in first for r in second]
        return (cells[inside] * sizes[inside]).sum() / sizes[inside].sum()

    def members(mask, count):
        return [level for level in range(count) if mask >> level & 1]

    staged = np.zeros((2, 3))
    for g in range(2):
        worth = [
            esl_by_sum(sequences[0], [pooled(members(m, 2), members(t, 3)) for m in range(4)], 2)[g]
            for t in range(8)
        ]
        staged[g] = esl_by_sum(sequences[1], worth, 3)
    np.testing.assert_allclose(phi.reshape(2, 3), staged, rtol=0, atol=1e-12)


def test_tensor_product_does_not_depend_on_the_order_of_attributes():
    random = np.random.default_rng(8)
    cells, sizes = random.uniform(0.2, 0.9, (2, 3)), random.integers(20, 200, (2, 3)).astype(float)
    two, three = b_sequence("solidarity", 2), b_sequence("solidarity", 3)
    phi, _ = tensor_values(cells.ravel(), sizes.ravel(), [2, 3], [two, three])
    swapped, _ = tensor_values(cells.T.ravel(), sizes.T.ravel(), [3, 2], [three, two])
    np.testing.assert_allclose(phi.reshape(2, 3), swapped.reshape(3, 2).T, rtol=0, atol=1e-12)


def test_interaction_shows_gerrymandering_where_margins_look_fair():
    cells = np.array([0.8, 0.4, 0.4, 0.8])
    sizes = np.full(4, 100.0)
    targets = multi_attribute_targets([b_sequence("shapley", 2)] * 2, baseline=1.0)
    union_rates = []
    for union in targets.unions:
        inside = [cell for cell in range(4) if union >> cell & 1]
        union_rates.append((cells[inside] * sizes[inside]).sum() / sizes[inside].sum())
    phi = (targets.weights[:, 0] @ np.array(union_rates)).reshape(2, 2)
    np.testing.assert_allclose(phi.sum(axis=1), 0.3, atol=1e-12)  # both margins are shared equally
    assert phi[0, 0] - phi[0, 1] - phi[1, 0] + phi[1, 1] == pytest.approx(0.8, abs=1e-12)
    np.testing.assert_allclose(interaction_contrasts([2, 2]) @ cells, [0.8], atol=1e-12)


def test_interaction_contrasts_vanish_for_additive_rates():
    rates = (np.array([0.1, 0.3])[:, None] + np.array([0.2, 0.25, 0.5])[None, :]).ravel()
    matrix = interaction_contrasts([2, 3])
    assert matrix.shape == (2, 6)
    np.testing.assert_allclose(matrix @ rates, 0.0, atol=1e-12)


def test_first_stage_numbers_of_the_paper():
    """Section 5.1: gap .482 with 95% interval [.407, .557], from 2,862 and 501 positives at .841 and .600.

    The printed interval pools the variance; the unpooled Wald interval of the same counts is [.392, .572].
    """
    k1, n1, k2, n2 = 0.841 * 2862, 2862.0, 0.600 * 501, 501.0
    low, high = paper_interval(k1, n1, k2, n2, 0.95)
    assert (2 * low, 2 * high) == pytest.approx((0.407, 0.557), abs=0.0011)
    ours = difference_interval(k1, n1, k2, n2, 0.95)
    assert (2 * float(ours.low), 2 * float(ours.high)) == pytest.approx((0.392, 0.572), abs=0.003)
    z, p = pooled_z(k1, n1, k2, n2)
    assert z > 10
    assert 0 < p < 1e-20


def test_degenerate_rates_have_p_one_and_no_wald():
    assert pooled_z(0, 10, 0, 20) == (0.0, 1.0)
    assert linear_wald(np.array([[1.0, -1.0]]), np.array([1.0, 1.0]), np.zeros(2)) is None


def test_coefficients_do_not_prefer_a_player():
    """Renaming the players renames the values: symmetry."""
    worth = random_game(4, 9)
    order = [2, 0, 3, 1]
    moved = np.array(
        [worth[sum(1 << order[k] for k in range(4) if mask >> k & 1)] for mask in all_coalitions(4)]
    )
    for member, k in itertools.product(MEMBERS, range(4)):
        b = b_sequence(member, 4)
        assert esl_value(b, moved)[k] == pytest.approx(esl_value(b, worth)[order[k]], abs=1e-12)

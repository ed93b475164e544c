"""The second stage on arrays: estimates by plain loops, variances by the bootstrap and by the paper's double sum."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from inside.explain import (
    MEMBERS,
    RowForm,
    b_sequence,
    baseline_of,
    budget_for,
    coalition_rates,
    coefficients,
    contributions,
    group_targets,
    merge_targets,
    monte_carlo_error,
    pair_targets,
    sample_coalitions,
    sampled_coefficients,
)
from oracles.esl import DEFINITIONS

FORMS = ("selection rate", "tpr", "fnr", "accuracy", "ppv", "false omission rate")


def form_of(name, y):
    one, zero = np.ones_like(y), np.zeros_like(y)
    match name:
        case "selection rate":
            return RowForm(zero, one, one, one)
        case "tpr":
            return RowForm(zero, y, y, y)
        case "fnr":
            return RowForm(y, zero, y, y)
        case "accuracy":
            return RowForm(1 - y, y, one, one)
        case "ppv":
            return RowForm(zero, y, zero, one)
        case "false omission rate":
            return RowForm(y, zero, one, zero)
    raise ValueError(name)


def rate_by_loop(name, decision, y, rows):
    """The metric written out with its condition."""
    d, t = decision[rows], y[rows]
    match name:
        case "selection rate":
            return d.mean()
        case "tpr":
            return d[t == 1].mean()
        case "fnr":
            return 1 - d[t == 1].mean()
        case "accuracy":
            return (d == t).mean()
        case "ppv":
            return t[d == 1].mean()
        case "false omission rate":
            return t[d == 0].mean()
    raise ValueError(name)


@pytest.fixture(scope="module")
def people():
    """600 people, 3 features, 2 groups; coalition decisions depend on the features and on the group."""
    random = np.random.default_rng(20)
    n, players = 600, 3
    group = (random.random(n) < 0.35).astype(np.int64)
    x = random.normal(size=(n, players)) + group[:, None] * np.array([0.5, -0.4, 0.0])
    y = (x.sum(axis=1) + random.normal(size=n) > 0).astype(float)
    masks = np.arange(1 << players)
    inside = (masks[None, :] >> np.arange(players)[:, None]) & 1
    decisions = (x @ inside + 0.3 > 0).astype(np.uint8)
    return decisions, group, y, players


def both_targets(sequences, baseline, groups=2):
    values = np.array([b_sequence(member, 2)[1] for member in MEMBERS])
    pairs = list(combinations(range(groups), 2))
    gaps = pair_targets(groups, pairs, values, baseline)
    return pairs, merge_targets([group_targets(sequences, baseline), gaps])


def decompose(people, name, baseline=0.5):
    decisions, group, y, players = people
    form = form_of(name, y)
    stacked = np.stack([coefficients(b_sequence(member, players)) for member in MEMBERS])
    _, targets = both_targets([b_sequence(member, 2) for member in MEMBERS], baseline)
    return contributions(decisions, form, group, 2, stacked, targets), form


@pytest.mark.parametrize("name", FORMS)
def test_contributions_equal_the_definitions_applied_twice(people, name):
    """C^k_g = φ_k ∘ φ_g with both values by permutations and direct formulas, and the gap as their difference."""
    decisions, group, y, players = people
    found, _ = decompose(people, name)
    for v, member in enumerate(MEMBERS):
        phi = np.zeros((2, 1 << players))
        for s in range(1, 1 << players):
            worth = [0.0] + [
                rate_by_loop(name, decisions[:, s], y, np.isin(group, members)) / 0.5
                for members in ([0], [1], [0, 1])
            ]
            phi[:, s] = DEFINITIONS[member](np.array(worth), 2)
        expected = np.array([DEFINITIONS[member](phi[g], players) for g in range(2)])
        np.testing.assert_allclose(found.estimate[:2, v], expected, rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.estimate[2, v], expected[0] - expected[1], rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", FORMS)
def test_contributions_add_up_to_the_group_value_to_1e12(people, name):
    decisions, group, _, players = people
    found, form = decompose(people, name)
    _, targets = both_targets([b_sequence(member, 2) for member in MEMBERS], 0.5)
    whole = contributions(decisions[:, -1:], form, group, 2, np.ones((len(MEMBERS), 1, 1)), targets)
    np.testing.assert_allclose(found.estimate.sum(axis=2), whole.estimate[:, :, 0], rtol=0, atol=1e-12)
    assert players == 3


@pytest.mark.parametrize("name", FORMS)
def test_influence_variance_equals_the_bootstrap(people, name):
    """Bootstrap strata: group and outcome for rates given the outcome, the group alone for the rest."""
    decisions, group, y, players = people
    found, form = decompose(people, name)
    random = np.random.default_rng(5)
    conditional = name in ("tpr", "fnr")
    stratum = group * 2 + y.astype(int) if conditional else group
    stacked = np.stack([coefficients(b_sequence(member, players)) for member in MEMBERS])
    _, targets = both_targets([b_sequence(member, 2) for member in MEMBERS], 0.5)
    draws = []
    for _ in range(1500):
        members = [np.flatnonzero(stratum == s) for s in np.unique(stratum)]
        rows = np.concatenate([random.choice(part, part.size) for part in members])
        rates = coalition_rates(decisions[rows], form.take(rows), group[rows], 2, targets.unions)
        by_union = np.einsum("vkm,jm->vkj", stacked, rates.rate)
        draws.append(np.einsum("tvj,vkj->tvk", targets.weights, by_union))
    bootstrap = np.std(draws, axis=0, ddof=1)
    # 1,500 draws know a standard deviation to about 1/√3000 = 1.8%; 10% is far beyond that and the 600 rows' own error.
    np.testing.assert_allclose(found.spread().error, bootstrap, rtol=0.10)


def test_influence_variance_equals_the_double_sum_over_coalitions(people):
    """Appendix B.2 by brute force: Σ_S Σ_T c(S)c(T)·Cov(TPR(S), TPR(T)) per group, Shapley, for the gap."""
    decisions, group, y, players = people
    found, _ = decompose(people, "tpr")
    c = coefficients(b_sequence("shapley", players))
    variance = np.zeros(players)
    for g in range(2):
        rows = (group == g) & (y == 1)
        covariance = np.cov(decisions[rows].T.astype(float)) / rows.sum()
        for k in range(players):
            for s in range(8):
                for t in range(8):
                    variance[k] += (1 / 0.5) ** 2 * c[k, s] * c[k, t] * covariance[s, t]
    np.testing.assert_allclose(found.spread().error[2, 0], np.sqrt(variance), rtol=1e-5)


@pytest.mark.parametrize("name", FORMS)
def test_influence_values_give_the_same_standard_error(people, name):
    _, group, y, _ = people
    found, _ = decompose(people, name)
    for v in range(len(MEMBERS)):
        influence = found.influence(v)
        variance = np.zeros(influence.shape[1:])
        for g in range(2):
            rows = (group == g) & ((y == 1) if name in ("tpr", "fnr") else True)
            variance += influence[rows].var(axis=0, ddof=1) * rows.sum()
        np.testing.assert_allclose(found.spread().error[:, v], np.sqrt(variance), rtol=1e-4, atol=1e-9)


def test_fractional_decisions_agree_with_whole_ones(people):
    decisions, group, y, players = people
    whole, _ = decompose(people, "tpr")
    part, _ = decompose((decisions.astype(np.float64), group, y, players), "tpr")
    np.testing.assert_allclose(part.estimate, whole.estimate, rtol=0, atol=1e-12)
    np.testing.assert_allclose(part.spread().error, whole.spread().error, rtol=1e-5)


def test_three_groups_add_up_and_pairs_match_two_group_games(people):
    decisions, _, y, players = people
    random = np.random.default_rng(2)
    group = random.integers(0, 3, y.size)
    form = form_of("ppv", y)
    stacked = coefficients(b_sequence("shapley", players))[None]
    pairs = list(combinations(range(3), 2))
    gaps = pair_targets(3, pairs, np.array([1.0]), 0.5)
    targets = merge_targets([group_targets([b_sequence("shapley", 3)], 0.5), gaps])
    found = contributions(decisions, form, group, 3, stacked, targets)
    rates = coalition_rates(decisions, form, group, 3, np.array([7]))
    assert found.estimate[:3, 0].sum() == pytest.approx(rates.rate[0, -1] / 0.5, abs=1e-12)
    for t, (g, h) in enumerate(pairs):
        rows = np.isin(group, (g, h))
        relabelled = (group[rows] == h).astype(np.int64)
        alone = pair_targets(2, [(0, 1)], np.array([1.0]), 0.5)
        pair = contributions(decisions[rows], form.take(np.flatnonzero(rows)), relabelled, 2, stacked, alone)
        np.testing.assert_allclose(found.estimate[3 + t], pair.estimate[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.spread().error[3 + t], pair.spread().error[0], rtol=1e-5)


def test_a_rate_without_denominator_is_marked_for_exactly_the_values_that_use_it(people):
    decisions, group, y, players = people
    silent = decisions.copy()
    silent[:, 0b011] = 0  # nobody selected by the coalition of the first two players
    found, form = decompose((silent, group, y, players), "ppv")
    by_member = dict(zip(MEMBERS, found.undefined[2], strict=True))
    assert by_member == {
        "shapley": True,
        "equal_surplus": False,
        "solidarity": True,
        "consensus": True,
        "lsp": True,
    }
    rates = coalition_rates(silent, form, group, 2, np.array([1, 2]))
    assert np.argwhere(~rates.defined).tolist() == [[0, 3], [1, 3]]


def test_baselines_are_the_metric_of_a_blind_classifier(people):
    _, _, y, _ = people
    for name, expected in [("tpr", 0.5), ("selection rate", 0.5), ("ppv", y.mean()), ("accuracy", 0.5)]:
        rate, _ = baseline_of(form_of(name, y), 0.5)
        assert rate == pytest.approx(expected, abs=1e-12)
    share = y.mean()
    rate, influence = baseline_of(form_of("tpr", y), share, (y - share) / y.size)
    assert rate == pytest.approx(share, abs=1e-12)
    # The prior is the mean of the outcomes: its influence is (y − mean)/n.
    np.testing.assert_allclose(influence, (y - share) / y.size, rtol=0, atol=1e-12)


def test_drawn_coalitions_are_unbiased_efficient_and_know_their_error():
    random = np.random.default_rng(4)
    players = 7
    worth = random.normal(size=1 << players)
    exact = DEFINITIONS["shapley"](np.where(np.arange(1 << players) == 0, 0.0, worth), players)
    estimates, errors = [], []
    for seed in range(400):
        sampled = sample_coalitions(players, 70, np.random.default_rng(seed))
        game = worth[sampled.masks][None]
        value = sampled_coefficients(sampled) @ game[0]
        estimates.append(value)
        errors.append(monte_carlo_error(sampled, game).error[0] ** 2)
        assert value.sum() == pytest.approx(worth[-1], abs=1e-12)
        assert sampled.masks.size - 1 <= 70
    estimates = np.array(estimates)
    # w(∅) is shared equally, so the exact value of the game with worth w(∅) of the empty coalition is compared.
    spread = estimates.std(axis=0, ddof=1)
    assert (np.abs(estimates.mean(axis=0) - exact) < 4.5 * spread / 20).all()
    np.testing.assert_allclose(np.sqrt(np.mean(errors, axis=0)), spread, rtol=0.15)


def test_games_without_interactions_of_three_are_known_from_the_fewest_coalitions():
    """Single players and pairs of them alone: whatever is drawn, the answer is Shapley's, without error."""
    random = np.random.default_rng(5)
    players, pairs = 9, np.triu(random.normal(size=(9, 9)), 1)
    inside = ((np.arange(1 << players)[:, None] >> np.arange(players)) & 1).astype(float)
    worth = 3.0 + inside @ random.normal(size=players) + np.einsum("si,ij,sj->s", inside, pairs, inside)
    exact = coefficients(b_sequence("shapley", players)) @ np.where(np.arange(1 << players) == 0, 0.0, worth)
    sampled = sample_coalitions(players, budget_for(players, 24), random)
    game = worth[sampled.masks]
    np.testing.assert_allclose(sampled_coefficients(sampled) @ game, exact, rtol=0, atol=1e-10)
    assert monte_carlo_error(sampled, game[None]).error.max() < 1e-10


def test_a_budget_too_small_for_an_error_is_refused():
    assert budget_for(10, 24) == 69
    with pytest.raises(ValueError, match="at least 69"):
        sample_coalitions(10, 68, np.random.default_rng(0))
    with pytest.raises(ValueError, match="from 4 to 62 players"):
        sample_coalitions(3, 100, np.random.default_rng(0))

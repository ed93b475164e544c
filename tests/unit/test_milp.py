"""The programs of Appendix F find what enumeration finds, and say what they proved."""

import numpy as np
import pytest

from inside.papers import ProgramRows, best_linear_rule


def example(rows, seed):
    rng = np.random.default_rng(seed)
    group = np.arange(rows) % 2
    x = np.column_stack([np.ones(rows), rng.normal(size=(rows, 2))])
    y = (x[:, 1] + 0.5 * group * x[:, 2] + rng.normal(size=rows) > 0).astype(float)
    return x, y, group


def all_linear_decisions(x, tries=60_000, seed=0):
    """Nearly every decision vector a linear rule can give on a dozen points of the plane."""
    beta = np.random.default_rng(seed).uniform(-1, 1, size=(tries, x.shape[1]))
    return np.unique(x @ beta.T >= 0, axis=1).T


def rates(decisions, y, group):
    right = decisions == (y == 1)
    return right[:, group == 0].mean(1), right[:, group == 1].mean(1)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_f5_is_the_fairest_as_accurate_linear_rule(seed):
    x, y, group = example(14, seed)
    decisions = all_linear_decisions(x)
    first, second = rates(decisions, y, group)
    status_quo = (0.5, 0.55)
    allowed = (first >= status_quo[0]) & (second >= status_quo[1])
    rule = best_linear_rule("F.5", ProgramRows(x, y, group, status_quo))
    assert rule.proof == "optimal"
    assert rule.objective == pytest.approx(np.abs(first - second)[allowed].min(), abs=1e-9)
    assert "proved on 14 rows" in rule.statement()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_f6_is_the_most_accurate_less_unfair_linear_rule(seed):
    x, y, group = example(14, seed)
    first, second = rates(all_linear_decisions(x), y, group)
    status_quo = (0.4, 0.6)
    allowed = (second >= 0.6) & (np.abs(first - second) <= 0.2 + 1e-12)
    rule = best_linear_rule("F.6", ProgramRows(x, y, group, status_quo))
    assert rule.proof == "optimal"
    assert rule.objective == pytest.approx(first[allowed].max(), abs=1e-9)


def test_p_prime_is_the_fairest_selection_of_given_size():
    x, _, group = example(14, 4)
    y = np.random.default_rng(5).poisson(4, 14).astype(float)
    decisions = all_linear_decisions(x)
    decisions = decisions[
        (decisions.sum(1) == 5) & decisions[:, group == 0].any(1) & decisions[:, group == 1].any(1)
    ]
    means = [
        (decisions[:, group == g] * y[group == g]).sum(1) / decisions[:, group == g].sum(1) for g in (0, 1)
    ]
    status_quo = (3.0, 3.0)
    allowed = (means[0] >= 3) & (means[1] >= 3)
    rule = best_linear_rule("P'", ProgramRows(x, y, group, status_quo, 5))
    assert rule.proof == "optimal"
    assert rule.objective == pytest.approx(np.abs(means[0] - means[1])[allowed].min(), abs=1e-7)
    assert (x @ rule.coefficients >= 0).sum() == 5


@pytest.mark.parametrize("seed", [4, 6])
def test_the_counterpart_of_f6_is_the_best_less_unfair_selection(seed):
    x, _, group = example(14, seed)
    y = np.random.default_rng(seed + 1).poisson(4, 14).astype(float)
    decisions = all_linear_decisions(x)
    both = decisions[:, group == 0].any(1) & decisions[:, group == 1].any(1)
    decisions = decisions[(decisions.sum(1) == 5) & both]
    first, second = (
        (decisions[:, group == g] * y[group == g]).sum(1) / decisions[:, group == g].sum(1) for g in (0, 1)
    )
    least = (2.5, 4.0)
    allowed = (second >= 4.0 - 1e-12) & (np.abs(first - second) <= 1.5 + 1e-12)
    rule = best_linear_rule("P'(F.6)", ProgramRows(x, y, group, least, 5), time_limit=30)
    assert rule.proof == "optimal"
    assert rule.objective == pytest.approx(first[allowed].max(), abs=1e-6)
    assert "largest mean outcome" in rule.statement()


def test_infeasible_is_proved():
    x, y, group = example(14, 6)
    rule = best_linear_rule("F.5", ProgramRows(x, y, group, (1.01, 1.01)))
    assert rule.proof == "infeasible"
    assert rule.coefficients is None
    assert "no linear rule meets the constraints" in rule.statement()


def test_a_start_is_kept_when_the_time_is_up():
    x, y, group = example(120, 7)
    start = np.array([0.0, 1.0, 0.1])
    right = (x @ start >= 0) == (y == 1)
    status_quo = (right[group == 0].mean() - 0.05, right[group == 1].mean() - 0.05)
    rule = best_linear_rule("F.5", ProgramRows(x, y, group, status_quo), time_limit=0.01, start=start)
    assert rule.coefficients is not None
    assert rule.objective <= abs(right[group == 0].mean() - right[group == 1].mean()) + 1e-6
    assert rule.proof in ("bounded", "nothing", "optimal")

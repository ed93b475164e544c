"""Ten numbers of the five papers, each computed anew from the paper's own formula with nothing of ours, to 1e-6."""

from __future__ import annotations

import re
from itertools import permutations
from math import comb, exp, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import optimize, special, stats

import fairtrial
from fairtrial.papers import conditional_bias_scan as cbs
from fairtrial.papers import elfa, improvability, shapley_rawls, transport

CLOSE = 1e-6
PAIR = [{"race": "African-American"}, {"race": "Caucasian"}]


@pytest.fixture(scope="module")
def people() -> Any:
    return fairtrial.load("compas", backend="pandas")


@pytest.fixture(scope="module")
def audit(people: Any) -> fairtrial.Audit:
    return fairtrial.Audit(people, outcome="two_year_recid", score="decile_score", threshold=5, groups="race")


def el_statistic(values: np.ndarray, mean: float) -> float:
    """−2 log R of (3.3): the multiplier λ solves Σ g/(1 + λg) = 0."""
    g = values - mean
    low, high = -1 / g.max() * (1 - 1e-12), -1 / g.min() * (1 - 1e-12)
    multiplier = optimize.brentq(lambda t: float((g / (1 + t * g)).sum()), low, high, xtol=1e-15)
    return float(2 * np.log1p(multiplier * g).sum())


def flagged_outcomes(people: Any, race: str) -> np.ndarray:
    return np.asarray(people.two_year_recid[(people.race == race) & (people.decile_score >= 5)], dtype=float)


def test_elfa_headline_interval(people: Any, audit: fairtrial.Audit) -> None:
    """1. ELFA: The 95% interval of the PPV gap, where EL with a plugged-in target is χ²'s quantile (Theorem 2)."""
    values, target = (
        flagged_outcomes(people, "African-American"),
        flagged_outcomes(people, "Caucasian").mean(),
    )
    critical, gap = stats.chi2.isf(0.05, 1), values.mean() - target
    ends = [
        optimize.brentq(
            lambda e: el_statistic(values, target + e) - critical, *sorted((gap, gap + far)), xtol=1e-12
        )
        for far in (-0.1, 0.1)
    ]
    [row] = elfa.certify(audit, "ppv", by=PAIR[:1], target=PAIR[1]).estimates
    assert [row["difference_low"], row["difference_high"]] == pytest.approx(ends, abs=CLOSE)


def test_elfa_p_value(people: Any, audit: fairtrial.Audit) -> None:
    """2. ELFA: Its p-value, the χ²₁ tail of (3.3)."""
    values, target = (
        flagged_outcomes(people, "African-American"),
        flagged_outcomes(people, "Caucasian").mean(),
    )
    [row] = elfa.certify(audit, "ppv", by=PAIR[:1], target=PAIR[1]).estimates
    assert row["p_value"] == pytest.approx(stats.chi2.sf(el_statistic(values, target), 1), abs=CLOSE)


def test_elfa_euclidean(people: Any, audit: fairtrial.Audit) -> None:
    """3. ELFA: EEL (3.8): n·ḡ²/S in closed form, g of all 3,317 selected people and S its variance."""
    selected = people[people.decile_score >= 5]
    outcome = selected.two_year_recid.to_numpy().astype(float)
    target = flagged_outcomes(people, "Caucasian").mean()
    g = np.where(selected.race == "African-American", outcome - target, 0.0)
    statistic = g.size * g.mean() ** 2 / g.var()
    found = elfa.certify(audit, "ppv", by=PAIR[:1], target=PAIR[1], likelihood="euclidean")
    assert found.details["joint"]["p_value"] == pytest.approx(stats.chi2.sf(statistic, 1), abs=CLOSE)


@pytest.fixture(scope="module")
def opportunity(people: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U of equal opportunity (Example 1), the decisions and the distances |score − 5| to the other decision."""
    pair = people[people.race.isin(["African-American", "Caucasian"])]
    black, outcome = (pair.race == "African-American").to_numpy(), pair.two_year_recid.to_numpy() == 1
    score = pair.decile_score.to_numpy().astype(float)
    return np.column_stack([~black & outcome, black & outcome]).astype(float), score >= 5, np.abs(score - 5)


def test_transport_projection(opportunity: Any) -> None:
    """4. Transport: N·P by (7) as a linear program."""
    u, decided, distance = opportunity
    phi = u[:, 0] / u[:, 0].mean() - u[:, 1] / u[:, 1].mean()
    gain = np.where(decided, -phi, phi)
    program = optimize.linprog(distance, A_eq=gain[None], b_eq=[-(decided * phi).sum()], bounds=(0, 1))
    group = np.where(u[:, 0] == 1, 0, np.where(u[:, 1] == 1, 1, -1))
    problem = transport.disjoint_families(group, [((0, 1), 0)], decided.astype(np.uint8))
    found = transport.project(problem, distance, *transport.band(1, 0.0, "differs"))
    assert found.statistic == pytest.approx(program.fun, abs=CLOSE)


def test_transport_p_value(opportunity: Any) -> None:
    """5. Transport: Corollary 1 with the Gaussian kernel of Section 5.2 and h = N^(−1/5)."""
    u, decided, distance = opportunity
    rows = len(u)
    group = np.where(u[:, 0] == 1, 0, np.where(u[:, 1] == 1, 1, -1))
    problem = transport.disjoint_families(group, [((0, 1), 0)], decided.astype(np.uint8))
    projected = transport.project(problem, distance, *transport.band(1, 0.0, "differs")).statistic
    one, two, mean = u[:, 0], u[:, 1], u.mean(axis=0)
    influence = (
        decided * (mean[1] * one - mean[0] * two)
        + two * (one * decided).mean()
        - one * (two * decided).mean()
    )
    width = rows**-0.2
    near = np.exp(-((distance / width) ** 2) / 2) / np.sqrt(2 * np.pi) / width
    form = mean[1] ** 2 * (one * near).mean() + mean[0] ** 2 * (two * near).mean()
    p = stats.chi2.sf(projected * 2 * form / influence.var(), 1)
    found = transport.article_test(problem, distance, projected, width, "differs")
    assert found.p_value == pytest.approx(p, abs=CLOSE)


def test_scan_scores() -> None:
    """6. Scan: F of Table 2, its maximum over q found numerically; the Gaussian one in closed form."""
    size, observed = np.array([12.0, 30.0, 7.0]), np.array([8.0, 17.0, 6.0])
    expected = np.array([0.4, 0.35, 0.6])

    def loss(theta: float) -> float:
        return -float(observed.sum() * theta - (size * np.log(exp(theta) * expected - expected + 1)).sum())

    best = optimize.minimize_scalar(loss, bounds=(0, 10), method="bounded", options={"xatol": 1e-12})
    part = cbs.CellList(np.arange(3), 0, 3)
    ours, _ = cbs.set_peak(cbs.CellNumbers(cbs.BERNOULLI, size, observed, expected), part, 0.0, np.inf)
    assert ours == pytest.approx(-best.fun, abs=CLOSE)
    ours, _ = cbs.set_peak(cbs.CellNumbers(cbs.GAUSSIAN, size, observed, expected), part, 0.0, np.inf)
    assert ours == pytest.approx(observed.sum() ** 2 / (2 * size.sum()), abs=CLOSE)


def test_shapley_first_stage() -> None:
    """7. Shapley: φ of three groups as the mean over all orders of their arrival, v a pooled rate over ½."""
    successes, sizes = np.array([30.0, 12.0, 9.0]), np.array([50.0, 40.0, 10.0])

    def worth(inside: tuple[int, ...]) -> float:
        return float(successes[list(inside)].sum() / sizes[list(inside)].sum() / 0.5) if inside else 0.0

    shares = np.zeros(3)
    for order in permutations(range(3)):
        for place, group in enumerate(order):
            shares[group] += (worth(order[: place + 1]) - worth(order[:place])) / 6
    targets = shapley_rawls.group_targets([shapley_rawls.b_sequence("shapley", 3)], 0.5)
    unions = [[g for g in range(3) if int(mask) >> g & 1] for mask in targets.unions]
    rates = np.array([successes[inside].sum() / sizes[inside].sum() for inside in unions])
    assert (targets.weights[:, 0] @ rates).tolist() == pytest.approx(shares.tolist(), abs=CLOSE)


def test_shapley_test_and_interval() -> None:
    """8. Shapley: Z and interval of Proposition B.1 at the paper's rates, and its printed [.407, .557]."""
    n1, n2, p1, p2 = 2862, 501, 0.841, 0.600
    pooled = (n1 * p1 + n2 * p2) / (n1 + n2)
    error = sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n2))
    z, p = shapley_rawls.pooled_z(n1 * p1, n1, n2 * p2, n2)
    assert z == pytest.approx((p1 - p2) / error, abs=CLOSE)
    assert p == pytest.approx(2 * special.ndtr(-(p1 - p2) / error), abs=CLOSE)
    low, high = shapley_rawls.paper_interval(n1 * p1, n1, n2 * p2, n2, 0.95)
    ends = [p1 - p2 + side * special.ndtri(0.975) * error for side in (-1, 1)]
    assert [low, high] == pytest.approx(ends, abs=CLOSE)
    assert [2 * low, 2 * high] == pytest.approx([0.407, 0.557], abs=0.0005)


def test_least_square_prenucleolus() -> None:
    """9. Shapley: The LSP of four players by its definition, v(N)/n + (Σ_{S∋i} v(S) − mean)/2^(n−2)."""
    worth = np.random.default_rng(0).random(16)
    worth[0] = 0.0
    sums = np.array([sum(worth[m] for m in range(16) if m >> k & 1) for k in range(4)])
    shares = worth[15] / 4 + (4 * sums - sums.sum()) / (4 * 2**2)
    ours = shapley_rawls.coefficients(shapley_rawls.b_sequence("lsp", 4)) @ worth
    assert ours.tolist() == pytest.approx(shares.tolist(), abs=CLOSE)


def test_improvability_splits() -> None:
    """10. Improvability: Proposition 1's K, and the chance that the median of K splits rejects (Lemma D.3)."""
    for level in (0.05, 0.1, 0.01):
        bound = -2 * log(level) / (1 - level) ** 2
        assert improvability.splits_against_manipulation(level) == int(bound) + 1
    p_values = np.array([0.004, 0.01, 0.02, 0.03, 0.2, 0.4, 0.9])
    assert improvability.combine_p_values(p_values, "median") == pytest.approx(
        2 * np.median(p_values), abs=CLOSE
    )
    tail = sum(comb(7, k) * 0.025**k * 0.975 ** (7 - k) for k in range(4, 8))
    assert stats.binom.sf(3, 7, 0.025) == pytest.approx(tail, abs=CLOSE)


def test_the_gallery_says_which() -> None:
    """The overview of the gallery lists what each test above recomputes."""
    page = (Path(__file__).parents[2] / "docs" / "papers" / "index.md").read_text(encoding="utf-8")
    tests = [value for name, value in globals().items() if name.startswith("test_") and callable(value)]
    told = [str(test.__doc__) for test in tests if re.match(r"\d+\. ", str(test.__doc__))]
    assert len(told) == 10
    assert [line for line in page.splitlines() if re.match(r"\d+\. ", line)] == told

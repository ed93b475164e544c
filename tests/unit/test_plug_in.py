"""The ELFA paper's joint test with estimated targets taken as known: Theorem 2, Algorithms 1 and G.1 with θ̂."""

import numpy as np
import pytest
from scipy import optimize, stats

import fairtrial
from inside.inference import Atoms, Comparison, joint_test
from inside.papers import paper_gaps, plug_in_test, vector_log_ratio

OVERLAPPING = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]], dtype=bool)


def real_atoms(seed: int) -> Atoms:
    generator = np.random.default_rng(seed)
    return Atoms.of_values([generator.exponential(size=n) for n in (60, 80, 40, 90)])


def binary_atoms() -> Atoms:
    count, ones = np.array([60.0, 80.0, 40.0, 90.0]), np.array([20.0, 31.0, 11.0, 45.0])
    return Atoms(count, ones / count, ones * (1 - ones / count), True)


def rows_of(atoms: Atoms) -> tuple[np.ndarray, np.ndarray]:
    """Every row's value and atom."""
    if atoms.values is not None:
        return np.concatenate(atoms.values), np.repeat(np.arange(4), [v.size for v in atoms.values])
    pieces = [
        np.r_[np.ones(int(k)), np.zeros(int(n - k))]
        for n, k in zip(atoms.count, atoms.successes, strict=True)
    ]
    return np.concatenate(pieces), np.repeat(np.arange(4), atoms.count.astype(int))


def slow_el(score: np.ndarray) -> float:
    """The dual of (3.3) by another optimiser: the largest sum of log(1 + λ'g)."""

    def minus(multiplier: np.ndarray) -> float:
        inside = 1.0 + score @ multiplier
        return np.inf if inside.min() <= 0 else -float(np.log(inside).sum())

    found = optimize.minimize(
        minus,
        np.zeros(score.shape[1]),
        method="Nelder-Mead",
        options={"xatol": 1e-13, "fatol": 1e-13, "maxiter": 20000},
    )
    return -2.0 * float(found.fun)


@pytest.mark.parametrize(
    "atoms", [real_atoms(0), real_atoms(1), binary_atoms()], ids=["real", "other", "binary"]
)
@pytest.mark.parametrize("shared", [True, False])
def test_statistics_against_slow_oracles(atoms, shared):
    """Row by row: the multiplier by another optimiser, and n·ḡ'S⁻¹ḡ from the rows' own mean and spread."""
    target = np.full(3, 0.45 if atoms.binary else 1.1) + (0.0 if shared else np.array([-0.05, 0.0, 0.04]))
    value, atom = rows_of(atoms)
    score = OVERLAPPING[:, atom].T * (value[:, None] - target)
    found = plug_in_test(atoms, OVERLAPPING, target, "empirical")
    assert found.statistic == pytest.approx(slow_el(score), abs=1e-9)
    assert found.df == 3
    assert found.p_value == pytest.approx(stats.chi2.sf(found.statistic, 3), rel=1e-12)
    mean, spread = score.mean(axis=0), np.cov(score.T, bias=True)
    euclidean = plug_in_test(atoms, OVERLAPPING, target, "euclidean")
    assert euclidean.statistic == pytest.approx(len(score) * mean @ np.linalg.solve(spread, mean), rel=1e-9)
    assert "not valid" in found.rule
    assert "not valid" in euclidean.rule


@pytest.mark.parametrize("likelihood", ["empirical", "euclidean"])
def test_a_shared_target_is_the_known_one(likelihood):
    """With one target for all groups it is Theorem 1's statistic at that number."""
    atoms = real_atoms(2)
    known = joint_test(atoms, OVERLAPPING, None, 1.05, likelihood, by_limit_law=True)
    plugged = plug_in_test(atoms, OVERLAPPING, np.full(3, 1.05), likelihood)
    assert plugged.statistic == pytest.approx(known.statistic, rel=1e-9)
    assert plugged.df == known.df


def test_dependent_groups_count_once():
    """A group and the same group again are one constraint."""
    score = np.random.default_rng(3).standard_normal((50, 1)) + 0.2
    one, twice = (vector_log_ratio(np.repeat(score, k, axis=1), np.ones(50)) for k in (1, 2))
    assert one[1] == twice[1] == 1
    assert one[0] == pytest.approx(twice[0], rel=1e-9)


def test_outside_the_hull_is_infinite():
    test = plug_in_test(real_atoms(4), OVERLAPPING, np.full(3, -1.0), "empirical")
    assert test.statistic == np.inf
    assert 0 < test.p_value < 1e-100
    assert test.reason is not None


@pytest.mark.parametrize("likelihood", ["empirical", "euclidean"])
def test_the_papers_rule_rejects_where_the_paper_does(likelihood):
    """COMPAS, PPV of African-American against Caucasian: the paper's headline rejects at p = .00025."""
    audit = fairtrial.Audit(
        fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5, groups="race"
    )
    options = {"by": [{"race": "African-American"}], "target": {"race": "Caucasian"}}
    plugged = fairtrial.papers.elfa.certify(audit, "ppv", likelihood=likelihood, **options)
    assert plugged.verdict.code == "paper-rejected"
    assert plugged.details["joint"]["p_value"] == pytest.approx(plugged.estimates[0]["p_value"], rel=0.02)
    assert plugged.details["joint"]["p_value"] == pytest.approx(0.00025, abs=5e-5)
    profile = {"target_method": "profile", "likelihood": likelihood}
    valid = fairtrial.papers.elfa.certify(audit, "ppv", **profile, **options)
    assert valid.verdict.code == "paper-certified"
    assert valid.details["joint"]["p_value"] == pytest.approx(0.051, abs=2e-3)


@pytest.mark.parametrize("method", ["plug-in", "scaled"])
def test_euclidean_gaps_follow_the_target_method(method):
    """Plug-in: the group's own standard error alone; scaled: back to the honest one."""
    atoms = real_atoms(5)
    member, reference = OVERLAPPING[:1], np.array([[0, 0, 1, 1]], dtype=bool)
    honest, asked = (
        paper_gaps(atoms, Comparison(member, reference), likelihood="euclidean", target_method=name)
        for name in ("profile", method)
    )
    count, _, m2 = atoms.pooled(member)
    alone = np.sqrt(m2 / (count - 1) / count)
    expected = alone if method == "plug-in" else honest.error
    assert asked.error == pytest.approx(expected, rel=1e-9)
    assert asked.estimate == pytest.approx(honest.estimate)

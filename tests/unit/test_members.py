"""Groups rolled up from the lattice of cells are those of the matrix of groups by cells."""

from __future__ import annotations

import resource
import subprocess
import sys
from contextlib import ExitStack
from itertools import combinations, product
from math import prod
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairtrial import Audit, certify, flag, measure
from inside.data import distinct
from inside.inference import (
    Atoms,
    Comparison,
    Lattice,
    Members,
    as_matrix,
    gap_covariance,
    make_gaps,
    two_sides,
    unions,
)
from inside.inference import joint_joint_test as joint

LEVELS = (3, 2, 4)
SIDES = ("number", "overall", "rest", "reference")


def _groups(depth):
    found = []
    for size in range(1, depth + 1):
        for chosen in combinations(range(len(LEVELS)), size):
            found += [
                [(a, (v,)) for a, v in zip(chosen, values, strict=True)]
                for values in product(*(range(LEVELS[a]) for a in chosen))
            ]
    # groups of several values, as people list them, one of them of nobody
    return [*found, [(0, (0, 2)), (2, (1, 3))], [(1, ())]]


def _mask(codes, where):
    return np.all([np.isin(codes[:, a], list(v)) for a, v in where], axis=0)


def _atoms(random, cells, kind):
    count = random.integers(0, 40, cells).astype(float)
    if kind == "binary":
        mean = np.divide(random.binomial(count.astype(int), 0.3), count, out=np.zeros(cells), where=count > 0)
        return Atoms(count, mean, count * mean * (1 - mean), True)
    offset = {"real": 0.0, "far": 1e6}[kind]
    pieces = [offset * (i % 2) + random.lognormal(size=int(n)) for i, n in enumerate(count)]
    found = Atoms.of_values(pieces)
    return Atoms(found.count, found.mean, found.m2, False, None, found.m3, found.low, found.high)


def _comparisons(kind, codes, member, matrix):
    reference = codes[:, 0] == 1
    known = np.full(len(matrix), 0.4)
    if kind == "number":
        return Comparison(member, member.nobody(), known), Comparison(matrix, np.zeros_like(matrix), known)
    if kind == "overall":
        return Comparison(member, member.alike()), Comparison(matrix, np.ones_like(matrix))
    if kind == "rest":
        return Comparison(member, ~member), Comparison(matrix, ~matrix)
    return Comparison(member, member.alike(reference)), Comparison(
        matrix, np.tile(reference, (len(matrix), 1))
    )


@given(
    st.integers(0, 10**6), st.sampled_from(SIDES), st.sampled_from(["binary", "real", "far"]), st.booleans()
)
@settings(max_examples=60, deadline=None)
def test_rolled_up_equals_the_matrix(seed, kind, values, in_two_steps):
    """From the finest groups at once, and by larger tables in between."""
    with ExitStack() as changed:
        if in_two_steps:
            changed.enter_context(patch.object(unions, "FEWEST_FINEST", 0))
            changed.enter_context(patch.object(unions, "SHRINKS_BY", 1))
        _check_rolled_up(seed, kind, values, in_two_steps)


def _check_rolled_up(seed, kind, values, in_two_steps):
    random = np.random.default_rng(seed)
    codes = np.array(list(product(*(range(size) for size in LEVELS))))
    codes = codes[random.random(len(codes)) < 0.9]
    atoms = _atoms(random, len(codes), values)
    groups = _groups(3)
    member = Members(Lattice.of(codes, LEVELS, groups))
    matrix = np.array([_mask(codes, where) for where in groups])
    assert (len(member.lattice.unions) < len(member.lattice.blocks)) == in_two_steps
    assert np.array_equal(as_matrix(member), matrix)
    assert np.array_equal(np.array(list(member)), matrix)
    assert np.array_equal(member.any(), matrix.any(axis=1))
    assert np.array_equal(member.how_often(), matrix.sum(axis=0))
    rolled, plain = _comparisons(kind, codes, member, matrix)
    for one, other in zip(rolled.parts, plain.parts, strict=True):
        assert np.array_equal(as_matrix(one), other)
        assert np.array_equal(one @ atoms.count, other @ atoms.count)
        _same_sums(atoms, one, other)
    some = random.permutation(len(groups))[:9]
    _same_sums(atoms, rolled.reference[some], plain.reference[some])


def _same_sums(atoms, one, other):
    found, wanted = atoms.pooled(one), atoms.pooled(other)
    # both round at the scale of the values, which may be far from one group's mean
    scale = float(np.abs(atoms.mean).max())
    spread = scale**2 * wanted[0] + wanted[2]
    assert np.array_equal(found[0], wanted[0])
    assert found[1] == pytest.approx(wanted[1], rel=1e-12, abs=1e-12 * scale, nan_ok=True)
    assert np.all(np.abs(found[2] - wanted[2]) <= 1e-12 * spread)
    if not atoms.binary:
        found, wanted = atoms.sums(one), atoms.sums(other)
        assert np.array_equal(found.low, wanted.low)
        assert np.array_equal(found.high, wanted.high)
        cube = np.maximum(spread, 1.0) ** 1.5
        assert np.all(np.abs(found.m3 - wanted.m3) <= 1e-12 * cube)


def test_few_larger_tables_hold_all_small_ones():
    """Each table is rolled up from one that has its attributes and is small, and there are few of those."""
    levels, finest = (8,) * 8, 950_000
    wanted = [chosen for size in (1, 2, 3) for chosen in combinations(range(8), size)]
    plan = unions.plan_unions(wanted, levels, finest)
    assert set(plan) == set(wanted)
    assert all(set(small) <= set(large) for small, large in plan.items())
    assert all(prod(levels[a] for a in large) <= finest / 8 for large in plan.values())
    assert len(set(plan.values())) <= 16
    # a table that is no smaller than the finest groups serves nobody else
    large = unions.plan_unions([(0,), (1,), (0, 1)], (1_000, 1_000), 100_000)
    assert large[0, 1] == (0, 1)
    assert large[(0,)] == (0,)


@pytest.mark.parametrize("kind", SIDES)
@pytest.mark.parametrize("values", ["binary", "real"])
def test_gaps_are_those_of_the_matrix(kind, values):
    random = np.random.default_rng(5)
    codes = np.array(list(product(*(range(size) for size in LEVELS))))
    atoms = _atoms(random, len(codes), values)
    groups = _groups(2)[:-1]
    member = Members(Lattice.of(codes, LEVELS, groups))
    rolled, plain = _comparisons(kind, codes, member, np.array([_mask(codes, where) for where in groups]))
    one, other = (make_gaps(atoms, which) for which in (rolled, plain))
    assert one.reason == other.reason
    assert one.estimate == pytest.approx(other.estimate, abs=1e-12)
    assert one.error == pytest.approx(other.error, rel=1e-12)
    for found, wanted in zip(one.limits(0.95), other.limits(0.95), strict=True):
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12, nan_ok=True)
    assert one.p_equal() == pytest.approx(other.p_equal(), rel=1e-9)
    covariance = [gap_covariance(atoms, which.member, which.reference) for which in (rolled, plain)]
    assert covariance[0] == pytest.approx(covariance[1], rel=1e-9, abs=1e-14)
    if kind != "number":
        sides = [two_sides(atoms, which) for which in (rolled, plain)]
        assert np.array_equal(sides[0].partly, sides[1].partly)
        for index in range(len(groups)):
            for found, wanted in zip(sides[0].rows(index), sides[1].rows(index), strict=True):
                assert np.array_equal(found, wanted)


def _people(n, attributes, levels, seed=0):
    random = np.random.default_rng(seed)
    columns = {f"a{i}": random.integers(0, levels, n).astype(str) for i in range(attributes)}
    worse = (columns["a0"] == "1") & (columns["a1"] == "2")
    return {**columns, "decision": (random.random(n) < np.where(worse, 0.2, 0.5)).astype(int)}


def test_too_many_gaps_are_bounded_and_it_is_said(monkeypatch):
    audit = Audit(_people(20_000, 3, 4), decision="decision", groups=["a0", "a1", "a2"])
    exact = certify(audit, "selection_rate", depth=2, target="rest", tolerance=0.1)
    monkeypatch.setattr(joint, "MOST_WORK", 10.0)
    bound = certify(audit, "selection_rate", depth=2, target="rest", tolerance=0.1)
    groups = len(bound.estimates)
    assert bound.details["together_level"] == pytest.approx(1 - 0.05 / groups)
    assert bound.details["together_level"] >= exact.details["together_level"]
    assert bound.details["joint"]["rule"] == "Bonferroni over the groups' own tests"
    assert "too large" in bound.details["joint"]["reason"]
    assert bound.details["joint"]["statistic"] is None
    # pointwise numbers are the same
    for one, other in zip(exact.estimates, bound.estimates, strict=True):
        assert {k: one[k] for k in ("difference_low", "p_adjusted", "state")} == {
            k: other[k] for k in ("difference_low", "p_adjusted", "state")
        }
    assert any(note.code == "joint-bound" for note in bound.notes)
    assert not any(note.code == "joint-bound" for note in exact.notes)


WIDE = """
from tests.unit.test_members import _people
from fairtrial import Audit, flag
audit = Audit(_people(100_000, 8, 5), decision="decision", groups=[f"a{i}" for i in range(8)])
result = flag(audit, "selection_rate", depth=3, target="rest", tolerance=0.02)
flagged = {row["group"] for row in result.estimates if row["flagged"]}
assert len(result.estimates) == 7740
assert "a0: 1, a1: 2" in flagged
# not ru_maxrss, which begins at what the process that started this one had
[peak] = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(peak.split()[1])
"""


@pytest.mark.slow
def test_thousands_of_intersections_stay_small():
    """7,740 groups of some 88,000 cells: a matrix of both would be 5 GB as numbers."""
    limit = (4 << 30, 4 << 30)
    done = subprocess.run(
        [sys.executable, "-c", WIDE], capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 1_000_000  # kilobytes


def test_measure_and_flag_agree_on_every_intersection():
    audit = Audit(_people(3_000, 4, 3), decision="decision", groups=["a0", "a1", "a2", "a3"])
    flagged = {row["group"]: row for row in flag(audit, "selection_rate", depth=3).estimates}
    for row in measure(audit, ["selection_rate"], depth=3).estimates:
        assert flagged[row["group"]]["n"] == row["n"]
        assert flagged[row["group"]]["rate"] == pytest.approx(row["rate"], abs=1e-12)


@pytest.mark.parametrize("levels", [3, 1_000])
def test_distinct_keys_are_found_in_order_however_many_there_could_be(levels):
    """A thousand values in each of ten columns are 10^30 keys, more than a whole number of 64 bits tells apart."""
    random = np.random.default_rng(3)
    keys = [random.integers(0, levels, 400) for _ in range(10)]
    keys = [np.concatenate([key, key[:50]]) for key in keys]
    roles = [np.where(random.random(450) < 0.1, np.nan, np.round(random.random(450)))]
    first, inverse = distinct(keys, roles, 450)
    rows = list(zip(*keys, np.nan_to_num(roles[0], nan=9.0), strict=True))
    wanted = sorted(set(rows))
    assert [rows[place] for place in first] == wanted
    assert [wanted[place] for place in inverse] == rows
    assert all(rows.index(rows[place]) == place for place in first)

"""How many members tell of a mean, and why some groups have no inference."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairtrial
from fairtrial.inference.compare.choose_gaps import make_gaps
from fairtrial.inference.evidence.atoms import Comparison
from fairtrial.inference.evidence.enough import find_evidence, pooled_shape, telling_members
from fairtrial.inference.joint.joint_test import joint_test
from fairtrial.metrics.metric import Metric
from validity.certify_designs import atoms_of


@given(st.lists(st.sampled_from([0.0, 1.0, 2.5, -3.0]), max_size=25))
def test_telling_members_are_those_off_a_value_that_more_than_half_share(values):
    commonest = Counter(values).most_common(1)[0][1] if values else 0
    expected = len(values) - commonest if 2 * commonest > len(values) else len(values)
    assert telling_members(np.array(values)) == expected


def sparse(size, events, seed=0):
    return np.concatenate([np.zeros(size - events), np.random.default_rng(seed).exponential(size=events)])


def gaps_of(*values, **options):
    member = np.eye(len(values), dtype=bool)
    return make_gaps(atoms_of(list(values)), Comparison(member, ~member), **options)


@pytest.mark.parametrize("options", [{}, {"likelihood": "euclidean"}, {"target_method": "orthogonal"}])
def test_fewer_than_ten_others_give_a_reason_instead_of_a_p_value(options):
    gaps = gaps_of(sparse(60, 9), sparse(60, 10, 1), sparse(400, 200, 2), **options)
    assert gaps.p_equal(0.0)[0] == 1.0
    assert "fewer than 10 others" in gaps.reason[0]
    assert gaps.reason[1:] == [None, None]
    assert np.isnan(gaps.limits(0.95)[0][0])


def test_a_target_of_mostly_one_value_is_the_reason():
    member = np.array([[True, False]])
    evidence = find_evidence(atoms_of([sparse(60, 30), sparse(500, 9)]), Comparison(member, ~member))
    assert "the target" in evidence.reason[0]


def test_the_others_bound_the_degrees_of_freedom():
    few, many = gaps_of(sparse(90, 12), sparse(400, 300)), gaps_of(sparse(90, 60), sparse(400, 300))
    assert few.df[0] == 11.0
    assert many.df[0] > 80.0


def test_small_samples_of_distinct_values_keep_their_inference():
    generator = np.random.default_rng(3)
    gaps = gaps_of(generator.normal(size=6), generator.normal(size=200))
    assert gaps.reason == [None, None]


def test_a_group_without_inference_bounds_the_joint_test_by_the_others_own_tests():
    values = [sparse(60, 4), sparse(300, 150, 1), 0.5 + sparse(300, 150, 2)]
    member = np.eye(3, dtype=bool)
    atoms = atoms_of(values)
    gaps = make_gaps(atoms, Comparison(member, ~member))
    everyone = np.ones(3, dtype=bool)
    found = joint_test(atoms, member, everyone, None, gaps=gaps)
    alone = joint_test(atoms, member[1:], everyone, None)
    own = 3 * gaps.p_equal(0.0).min()
    assert found.p_value == pytest.approx(max(alone.p_value, min(1.0, own)))
    assert "Bonferroni" in found.rule


def test_nobody_with_inference_is_a_reason():
    values = [sparse(60, 4), sparse(60, 5)]
    member = np.eye(2, dtype=bool)
    atoms = atoms_of(values)
    gaps = make_gaps(atoms, Comparison(member, ~member))
    found = joint_test(atoms, member, np.ones(2, dtype=bool), None, gaps=gaps)
    assert (found.p_value, found.df) == (1.0, 0)
    assert "enough variation" in found.reason


def test_certify_and_flag_say_why_a_group_of_mostly_one_value_is_undetermined():
    values = {"a": sparse(300, 150, 1), "b": sparse(40, 3, 2), "c": sparse(300, 140, 3)}
    frame = pd.DataFrame(
        {
            "g": np.repeat(list(values), [piece.size for piece in values.values()]),
            "cost": np.concatenate(list(values.values())),
        }
    )
    audit = fairtrial.Audit(frame, groups="g")
    cost = Metric("cost", "cost")
    row = next(row for row in fairtrial.certify(audit, cost, tolerance=0.3).estimates if row["group"] == "b")
    assert (row["state"], row["p_value"]) == ("undetermined", 1.0)
    flagged = fairtrial.flag(audit, cost)
    assert any("fewer than 10 others" in note.text for note in flagged.notes)


def test_rates_keep_their_inference_whatever_the_method():
    counts = {"a": (34, 40), "b": (100, 500), "c": (90, 500)}
    rows = [(name, 1) for name, (k, _) in counts.items() for _ in range(k)]
    rows += [(name, 0) for name, (k, n) in counts.items() for _ in range(n - k)]
    audit = fairtrial.Audit(pd.DataFrame(rows, columns=["g", "d"]), decision="d", groups="g")
    for options in ({}, {"likelihood": "euclidean"}, {"target_method": "orthogonal"}):
        result = fairtrial.certify(audit, "selection_rate", **options)
        assert next(row for row in result.estimates if row["group"] == "a")["p_value"] < 1e-8
        assert result.p_value < 1e-8


def test_the_shape_leaves_out_differences_between_pieces():
    generator = np.random.default_rng(2)
    pieces = [generator.normal(size=50), 100.0 + generator.normal(size=70), np.array([1e6, 2e6])]
    shape = pooled_shape(pieces)
    assert shape.size == 120
    assert np.abs(shape).max() < 6.0
    tiny = [generator.normal(size=3) for _ in range(20)]
    assert pooled_shape(tiny) == pytest.approx(np.concatenate(tiny) - np.concatenate(tiny).mean())

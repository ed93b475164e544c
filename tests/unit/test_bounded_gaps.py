"""Gaps of real values with their bounds: never sharper, limits where p-values pass, no cliff."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fairtrial
from fairtrial import Metric
from inside.inference import Atoms, BoundedGaps, Comparison, RowGaps, joint_test, make_gaps, row_gaps
from inside.papers import paper_gaps
from validity.certify_designs import atoms_of


def groups(seed=0, sizes=(40, 60, 300)):
    generator = np.random.default_rng(seed)
    member = np.eye(len(sizes), dtype=bool)
    return atoms_of([generator.lognormal(size=size) for size in sizes]), Comparison(member, ~member)


def known_of(comparison, value=1.6):
    nobody = np.zeros_like(comparison.member)
    return replace(comparison, reference=nobody, known=np.full(nobody.shape[0], value))


def without_rows(atoms):
    return replace(atoms, values=None)


def pair(first, second):
    member = np.array([[True, False]])
    return make_gaps(Atoms.of_values([first, second]), Comparison(member, ~member))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("known", [False, True])
def test_never_a_smaller_p_value_nor_a_shorter_interval(seed, known):
    atoms, comparison = groups(seed)
    comparison = known_of(comparison) if known else comparison
    wide, plain = make_gaps(atoms, comparison), RowGaps(atoms, comparison)
    assert isinstance(wide, BoundedGaps)
    for gap in (-1.0, 0.0, 0.5):
        for one, other in zip(wide.tails(np.full(3, gap)), plain.tails(np.full(3, gap)), strict=True):
            assert (one >= other).all()
    for level in (0.8, 0.95, 0.999):
        (low, high), (inner_low, inner_high) = wide.limits(level), plain.limits(level)
        assert (low <= inner_low).all()
        assert (high >= inner_high).all()


@pytest.mark.parametrize("known", [False, True])
def test_gaps_made_anew_each_time_have_the_same_numbers(known, monkeypatch):
    """Of very many groups not every gap's rows and draws are kept."""
    atoms, comparison = groups(2, (40, 60, 1_500))
    comparison = known_of(comparison) if known else comparison

    def numbers(room):
        monkeypatch.setattr(row_gaps, "MOST_KEPT", room)
        gaps = make_gaps(atoms, comparison)
        asked = [gaps.tails(np.zeros(3)), gaps.limits(0.95), gaps.tails(np.full(3, 0.7)), gaps.limits(0.999)]
        kept = [len(one.each.kept) for one in [gaps.inner, *gaps.bounds] if hasattr(one, "each")]
        return np.array(asked), kept

    every, all_kept = numbers(10**9)
    again, none_kept = numbers(0)
    np.testing.assert_array_equal(every, again)
    assert set(all_kept) == {3}
    assert set(none_kept) == {0}


@pytest.mark.parametrize("rows", [True, False])
@pytest.mark.parametrize("target", ["rest", "overall", "known"])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99, 0.9995])
def test_a_limit_is_where_the_p_value_passes_the_level(rows, target, level):
    atoms, comparison = groups(1, (60, 90, 400))
    if target == "known":
        comparison = known_of(comparison)
    elif target == "overall":
        comparison = Comparison(comparison.member, np.ones_like(comparison.member))
    gaps = make_gaps(atoms if rows else without_rows(atoms), comparison)
    low, high = gaps.limits(level)
    tail = (1.0 - level) / 2.0
    # Draws give steps of one in two (ten) thousand.
    step = (
        {"rel": 1e-6, "abs": 6e-4 if tail >= 0.01 else 2e-4} if rows and target != "known" else {"rel": 1e-6}
    )
    for limit, side in ((low, 0), (high, 1)):
        some = np.isfinite(limit)
        p = gaps.tails(np.where(some, limit, 0.0))[side]
        assert p[some] == pytest.approx(np.full(some.sum(), tail), **step)
        # Where there is no limit, no gap however far has a smaller p-value.
        far = gaps.tails(np.full(3, 1e7 if side else -1e7))[side]
        assert (far[~some] > tail).all()


def test_rest_and_overall_agree_at_zero():
    atoms, comparison = groups(2)
    overall = Comparison(comparison.member, np.ones_like(comparison.member))
    for held in (atoms, without_rows(atoms)):
        one, two = make_gaps(held, comparison), make_gaps(held, overall)
        assert one.p_equal(0.0) == pytest.approx(two.p_equal(0.0), rel=1e-6)


def test_a_group_inside_its_target_and_a_target_inside_its_group():
    generator = np.random.default_rng(6)
    atoms = atoms_of([generator.exponential(size=50), generator.exponential(size=80)])
    inside, whole = np.array([[True, False]]), np.array([[True, True]])
    one = make_gaps(atoms, Comparison(inside, whole)).limits(0.95)
    other = make_gaps(atoms, Comparison(whole, inside)).limits(0.95)
    assert one[0] == pytest.approx(-other[1], rel=0.1)
    assert one[1] == pytest.approx(-other[0], rel=0.1)


def test_a_group_and_a_target_that_overlap_in_part():
    generator = np.random.default_rng(6)
    atoms = atoms_of([generator.exponential(size=size) for size in (40, 30, 50)])
    comparison = Comparison(np.array([[True, True, False]]), np.array([[False, True, True]]))
    gaps = make_gaps(atoms, comparison)
    low, high = gaps.limits(0.95)
    assert low[0] < gaps.estimate[0] < high[0]
    assert (high - low)[0] < 8 * gaps.error[0]


def test_order_of_rows_and_groups_does_not_matter():
    atoms, _ = groups(4)
    rows = list(atoms.values)
    shuffled = [np.random.default_rng(9).permutation(rows[index]) for index in (2, 0, 1)]
    member = np.eye(3, dtype=bool)
    first = make_gaps(atoms_of(rows), Comparison(member, ~member)).limits(0.95)
    second = make_gaps(atoms_of(shuffled), Comparison(member, ~member)).limits(0.95)
    for one, other in zip(first, second, strict=True):
        assert one[[2, 0, 1]] == pytest.approx(other, rel=1e-6)


def test_refinements_and_the_papers_plug_in_stay_as_published():
    atoms, comparison = groups()
    assert not isinstance(paper_gaps(atoms, known_of(comparison), refinement="bartlett"), BoundedGaps)
    plugged = paper_gaps(atoms, comparison)
    target = np.array([atoms.gather(row).mean() for row in comparison.reference])
    as_known = RowGaps(atoms, Comparison(comparison.member, np.zeros_like(comparison.member), target))
    assert plugged.limits(0.95)[0] == pytest.approx(as_known.limits(0.95)[0], rel=1e-9)


def test_a_far_group_still_gets_a_small_p_value():
    generator = np.random.default_rng(3)
    member = np.array([[True, False]])
    atoms = atoms_of([4.0 + generator.lognormal(size=60), generator.lognormal(size=2_000)])
    assert make_gaps(atoms, Comparison(member, ~member)).p_equal(0.0)[0] < 1e-5
    flat = atoms_of([1.0 + generator.normal(size=200), generator.normal(size=2_000)])
    assert make_gaps(flat, Comparison(member, ~member)).p_equal(0.0)[0] < 1e-6


def test_one_wild_row_takes_the_upper_limits_of_all_groups_and_leaves_the_lower():
    """Values that can be so large may be missing elsewhere: nobody's mean has an upper limit then."""
    generator = np.random.default_rng(0)
    rows = [generator.normal(size=150) for _ in range(10)]
    rows[3][0], rows[5] = 1e6, rows[5] + 1.0
    member = np.eye(10, dtype=bool)
    with np.errstate(all="raise", under="ignore"):
        gaps = make_gaps(atoms_of(rows), Comparison(member, np.zeros_like(member), np.zeros(10)))
        low, high = gaps.limits(0.9999)
    assert np.isfinite(low).all()
    assert np.isinf(high).all()
    assert gaps.p_equal(0.0)[5] < 1e-6
    assert gaps.why_no_limit(3) == "the mean rests on about 1 value"


GROW = np.random.default_rng(12).permutation(np.random.default_rng(11).lognormal(size=1_400))


@pytest.mark.parametrize("rows", [False, True])
def test_no_cliff_where_a_size_passes_a_constant(rows):
    """A row in the middle of the data hardly moves anything, whatever the size is before and after."""
    rest = np.random.default_rng(5).lognormal(size=700)
    ordinary = float(np.mean(GROW[:1_300]))
    for size in (9, 10, 99, 100, 101, 199, 200, 201, 499, 500, 501, 1_000):
        if rows and size > 600:
            continue
        held = [np.append(GROW[:size], [ordinary] * extra) for extra in (0, 1)]
        atoms = [Atoms.of_values([piece, rest]) for piece in held]
        member = np.array([[True, False]])
        gaps = [make_gaps(one if rows else without_rows(one), Comparison(member, ~member)) for one in atoms]
        near = 2.5 / size
        # Draws are new for every size: their own error, of 4,000 with p about a half at most .008.
        noise = 0.045 if rows else 0.0
        for one, other in zip(gaps[0].tails(np.zeros(1)), gaps[1].tails(np.zeros(1)), strict=True):
            assert one == pytest.approx(other, abs=near + noise)
        for one, other in zip(gaps[0].limits(0.95), gaps[1].limits(0.95), strict=True):
            if np.isfinite(one[0]) and np.isfinite(other[0]):
                error = float(gaps[0].error[0])
                assert one == pytest.approx(other, abs=(4 * near + 5 * noise) * error)


def test_known_targets_move_smoothly_with_every_row():
    member, nobody = np.array([[True]]), np.array([[False]])
    for size in range(6, 620, 1):
        found = []
        for extra in (0, 1):
            piece = np.append(GROW[:size], [GROW[:size].mean()] * extra)
            gaps = make_gaps(
                without_rows(Atoms.of_values([piece])), Comparison(member, nobody, np.array([1.6]))
            )
            found.append((*(float(side[0]) for side in gaps.tails(np.zeros(1))),))
        assert found[0] == pytest.approx(found[1], abs=1.2 / size)


def test_sums_alone_give_inference_never_sharper_than_welch():
    atoms, comparison = groups(7, (120, 150, 400))
    gaps = make_gaps(without_rows(atoms), comparison)
    low, high = gaps.limits(0.95)
    from scipy import stats

    first, second = atoms.values[0], np.concatenate(atoms.values[1:])
    welch = stats.ttest_ind(first, second, equal_var=False)
    assert gaps.p_equal(0.0)[0] >= welch.pvalue * (1 - 1e-9)
    interval = welch.confidence_interval(0.95)
    assert low[0] <= interval.low + 1e-12
    assert high[0] >= interval.high - 1e-12


def sparse(size, events, seed=0):
    return np.concatenate([np.zeros(size - events), np.random.default_rng(seed).exponential(size=events)])


def test_a_group_without_variation_bounds_the_joint_test_by_the_others_own_tests():
    values = [np.zeros(60), sparse(300, 150, 1), 0.5 + sparse(300, 150, 2)]
    member = np.eye(3, dtype=bool)
    atoms = atoms_of(values)
    gaps = make_gaps(atoms, Comparison(member, ~member))
    assert gaps.p_equal(0.0)[0] == 1.0
    everyone = np.ones(3, dtype=bool)
    found = joint_test(atoms, member, everyone, None, gaps=gaps)
    alone = joint_test(atoms, member[1:], everyone, None)
    own = 3 * gaps.p_equal(0.0).min()
    assert found.p_value == pytest.approx(max(alone.p_value, min(1.0, own)))
    assert "Bonferroni" in found.rule


def test_nobody_with_inference_is_a_reason():
    member = np.eye(2, dtype=bool)
    atoms = atoms_of([np.zeros(60), np.ones(60)])
    gaps = make_gaps(atoms, Comparison(member, ~member))
    found = joint_test(atoms, member, np.ones(2, dtype=bool), None, gaps=gaps)
    assert (found.p_value, found.df) == (1.0, 0)
    assert "enough variation" in found.reason


def test_certify_and_flag_say_on_how_few_values_a_mean_rests():
    values = {"a": sparse(300, 150, 1), "b": sparse(40, 3, 2), "c": sparse(300, 140, 3)}
    frame = pd.DataFrame(
        {
            "g": np.repeat(list(values), [piece.size for piece in values.values()]),
            "cost": np.concatenate(list(values.values())),
        }
    )
    audit = fairtrial.Audit(frame, groups="g")
    cost = Metric("cost", "cost")
    result = fairtrial.certify(audit, cost, tolerance=0.3)
    row = next(row for row in result.estimates if row["group"] == "g: b" or row["group"] == "b")
    assert row["state"] == "undetermined"
    assert row["state_reason"].startswith("the mean rests on about ")
    assert 0.0 < row["p_value"] <= 1.0
    assert any("absent from the file" in note.text for note in result.notes)
    flagged = fairtrial.flag(audit, cost)
    line = next(row for row in flagged.estimates if row["group"] in ("g: b", "b"))
    assert line["state"] == "undetermined"
    assert "rests on about" in line["state_reason"]


def test_skewed_values_of_very_unequal_spread_are_noted():
    generator = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "g": ["a"] * 40 + ["b"] * 40,
            "cost": np.concatenate([3 * generator.lognormal(size=40), generator.lognormal(size=40)]),
        }
    )
    result = fairtrial.certify(fairtrial.Audit(frame, groups="g"), Metric("cost", "cost"))
    assert any(note.code == "unequal-spread" for note in result.notes)


def test_small_samples_of_distinct_values_keep_their_inference():
    generator = np.random.default_rng(3)
    gaps = pair(generator.normal(size=6), generator.normal(size=200))
    assert gaps.reason == [None]


def test_rates_keep_their_inference_whatever_the_method():
    counts = {"a": (34, 40), "b": (100, 500), "c": (90, 500)}
    rows = [(name, 1) for name, (k, _) in counts.items() for _ in range(k)]
    rows += [(name, 0) for name, (k, n) in counts.items() for _ in range(n - k)]
    audit = fairtrial.Audit(pd.DataFrame(rows, columns=["g", "d"]), decision="d", groups="g")
    by_paper = [
        fairtrial.papers.elfa.certify(audit, "selection_rate", **{"target_method": "profile", **options})
        for options in ({}, {"likelihood": "euclidean"}, {"target_method": "orthogonal"})
    ]
    for result in (fairtrial.certify(audit, "selection_rate"), *by_paper):
        assert next(row for row in result.estimates if row["n"] == 40)["p_value"] < 1e-8
        assert result.p_value < 1e-8


def test_equal_values_do_not_vary_whatever_rounding_leaves():
    member = np.eye(3, dtype=bool)
    atoms = Atoms.of_values([np.full(40, 0.1), np.full(43, 0.1), np.full(77, 0.1)])
    for held in (atoms, without_rows(atoms)):
        gaps = make_gaps(held, Comparison(member, ~member))
        assert all("no variation" in why for why in gaps.reason)
        assert gaps.p_equal(0.0) == pytest.approx(np.ones(3))


@pytest.mark.filterwarnings("ignore:explain. The features:fairtrial.FairtrialWarning")
def test_a_gap_without_limits_is_said_by_every_method_and_saved():
    """One loss of one person carries the mean: measure, certify, flag and explain say so, in numbers and in JSON."""
    generator = np.random.default_rng(1)
    score = generator.beta(0.3, 0.7, 300)
    outcome = (generator.random(300) < score).astype(int)
    score[:40], outcome[:40] = 0.02, 0
    score[0], outcome[0] = 1e-9, 1
    score[1:12] = np.linspace(0.02, 0.3, 11)
    frame = pd.DataFrame(
        {"g": ["a"] * 40 + ["b"] * 260, "x": generator.normal(size=300), "s": score, "y": outcome}
    )
    audit = fairtrial.Audit(frame, outcome="y", score="s", groups="g", features=["x"])
    results = [
        fairtrial.measure(audit, "log_loss"),
        fairtrial.certify(audit, "log_loss"),
        fairtrial.flag(audit, "log_loss", direction="differs"),
        fairtrial.explain(audit, "log_loss", by="g", model="logistic"),
    ]
    p = set()
    for result in results:
        row = next(row for row in result.estimates if "a" in str(row["group"]))
        assert "rests on about 1 value" in row["difference_high"]["reason"]
        p.add(round(float(row["p_value"]), 12))
        again = type(result).from_dict(result.to_dict())
        assert again.estimates == result.estimates
        assert "inf" not in str(result.verdict.text).replace("inference", "")
    assert len(p) == 1

"""Gaps within strata of weighted rows and repeated units: the regression written out, and sums in place of rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from fairtrial import Audit, InputError, Metric, certify, flag, measure
from inside.data import Query
from inside.inference import Comparison, LinearGaps, LinearStrataGaps, UnitSums

STRATA = 4
NAMES = ("difference", "difference_low", "difference_high", "unadjusted", "compared", "p_value")


def drawn(n, units=None, real=False, seed=3):
    random = np.random.default_rng(seed)
    unit = np.arange(n) if units is None else np.unique(random.integers(0, units, n), return_inverse=True)[1]
    stratum, group = random.integers(0, STRATA, n), random.integers(0, 2, n).astype(bool)
    value = random.gamma(2.0, 1.0, n) if real else (random.random(n) < 0.2 + 0.1 * stratum).astype(float)
    return unit, stratum, group, random.uniform(0.4, 3.0, n), value


def gaps_of(rows, scale="difference", pooled=False):
    return plain_and_within(rows, scale, pooled)[1]


def plain_and_within(rows, scale="difference", pooled=False):
    unit, stratum, group, weight, value = rows
    strata = int(stratum.max()) + 1
    sums = UnitSums.of_rows(unit, 2 * stratum + ~group, weight, value, 2 * strata)
    sums = sums.pooled() if pooled else sums
    member = (np.arange(2 * strata) % 2 == 0)[None]
    comparison = Comparison(member, ~member)
    plain = LinearGaps(sums, comparison, scale)
    return plain, LinearStrataGaps(sums, comparison, np.arange(2 * strata) // 2, plain, scale)


def regression(rows):
    """The weighted regression on the group and the strata with every matrix written out: gap, variance, df."""
    unit, stratum, group, weight, value = rows
    design = np.column_stack([stratum[:, None] == np.arange(stratum.max() + 1), group]).astype(float)
    fit = np.linalg.pinv((design * weight[:, None]).T @ design) @ (design * weight[:, None]).T
    left = np.eye(value.size) - design @ fit
    share = np.bincount(stratum, weight * group) / np.bincount(stratum, weight)
    pull = weight * (group - share[stratum])
    parts = np.array([np.where(unit == u, pull, 0.0) for u in range(unit.max() + 1)])
    seen = parts @ left
    stretch = np.sqrt((parts**2).sum(axis=1) / (seen**2).sum(axis=1))
    spread = (seen * stretch[:, None]) @ (seen * stretch[:, None]).T
    scores = stretch * (parts @ (left @ value)) / (pull * (group - share[stratum])).sum()
    return (fit @ value)[-1], (scores**2).sum(), np.trace(spread) ** 2 / np.trace(spread @ spread)


@pytest.mark.parametrize(("units", "real"), [(None, False), (20, False), (60, True), (None, True)])
def test_the_gap_is_the_regression_coefficient_with_its_stretched_variance(units, real):
    rows = drawn(160, units, real)
    gap, variance, df = regression(rows)
    plain, found = plain_and_within(rows)
    assert found.estimate[0] == pytest.approx(gap, rel=1e-9)
    own, other, both = found.variances[:, 0]
    assert own + other - 2 * both == pytest.approx(variance, rel=1e-9)
    assert found.covariance[0, 0] == pytest.approx(variance, rel=1e-9)
    asked = max(df * plain.uneven[0], min(df, 1.0))  # fewer where units are of uneven size
    assert found.df[0] == pytest.approx(asked, rel=1e-9)


def test_strata_that_are_the_units():
    rows = drawn(160)
    rows = (rows[1], *rows[1:])
    assert gaps_of(rows).df[0] == pytest.approx(regression(rows)[2], rel=1e-9)
    assert gaps_of(rows).df[0] < STRATA


@pytest.mark.parametrize("scale", ["difference", "ratio"])
@pytest.mark.parametrize("real", [False, True])
def test_sums_of_powers_are_the_rows(scale, real):
    """Many light rows by series, the same rows as units by matrices; rates also by few weights for many."""
    rows = drawn(4_000, real=real)
    found = [gaps_of(rows, scale)]
    assert found[0].short.all()
    # a last row of hardly any weight and another value shares its unit: not alone any more
    unit = np.append(rows[0], rows[0].size)
    more = [np.append(column, column[:1]) for column in rows[1:]]
    more[2][-1], more[3][-1] = 1e-12, 1.0 - more[3][0]
    unit[-1] = 0
    slow = gaps_of((unit, *more), scale)
    assert not slow.sums.alone
    if not real:
        many = drawn(40_000)
        found.append(gaps_of(many, scale))
        few = gaps_of(many, scale, pooled=True)
        assert few.sums.units < 200
        compare_gaps(few, found[-1])
    compare_gaps(found[0], slow, 1e-7)


def compare_gaps(one, other, rel=1e-9):
    for name in ("estimate", "error", "df", "covariance", "compared"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=rel), name
    assert np.ravel(one.limits(0.95)) == pytest.approx(np.ravel(other.limits(0.95)), rel=rel)
    assert one.p_equal() == pytest.approx(other.p_equal(), rel=max(rel, 1e-8))


def test_no_difference_is_a_ratio_of_one():
    rows = drawn(400, 40)
    assert gaps_of(rows, "ratio").p_equal()[0] == pytest.approx(gaps_of(rows).p_equal()[0], rel=1e-9)


@pytest.fixture(scope="module")
def staff():
    random = np.random.default_rng(7)
    n = 600
    group, job = random.choice(["a", "b", "c"], n), random.choice(["x", "y", "z"], n)
    return pd.DataFrame({
        "g": group, "job": job, "d": (random.random(n) < 0.3 + 0.1 * (group == "a")).astype(int),
        "pay": random.gamma(3.0, 1.0, n), "w": random.uniform(0.5, 2.0, n), "person": random.integers(0, 150, n),
    })  # fmt: skip


@pytest.mark.parametrize(
    "roles", [{"weight": "w"}, {"unit": "person"}, {"weight": "w", "unit": "person"}], ids=str
)
@pytest.mark.parametrize("metric", ["selection_rate", Metric("pay", "pay")], ids=str)
def test_measure_certify_and_flag_give_one_answer(staff, roles, metric):
    audit = Audit(staff, decision="d", groups="g", **roles)
    answers = [ask(audit, metric, by="g", within="job") for ask in (measure, certify, flag)]
    for lines in zip(*(answer.estimates for answer in answers), strict=True):
        for name in NAMES:
            assert lines[1][name] == lines[0][name] == lines[2][name], name
    assert all("alike in job" in answer.verdict.text + str(answer.null) for answer in answers)
    value = "d" if metric == "selection_rate" else "pay"
    weight = staff["w"] if "weight" in roles else pd.Series(1.0, staff.index)
    assert answers[0].estimates[0]["difference"] == pytest.approx(by_hand(staff, value, weight), rel=1e-9)


def by_hand(staff, value, weight):
    """The weighted mean of the strata's gaps between group a and the rest, by pandas."""
    total = gap = 0.0
    for _, rows in staff.assign(weight=weight).groupby("job"):
        sides = [rows[rows["g"] == "a"], rows[rows["g"] != "a"]]
        means = [np.average(side[value], weights=side["weight"]) for side in sides]
        w1, w2 = (side["weight"].sum() for side in sides)
        total, gap = total + w1 * w2 / (w1 + w2), gap + w1 * w2 / (w1 + w2) * (means[0] - means[1])
    return gap / total


# Sums of weights in the grouping query


def many(seed=1, n=40_000, **columns):
    random = np.random.default_rng(seed)
    table = {
        "g": random.choice(["a", "b", "c"], n), "job": random.choice(["x", "y"], n),
        "d": (random.random(n) < 0.3).astype(int), "w": 1000.0 + random.gamma(2.0, 200.0, n), "row": np.arange(n),
    }  # fmt: skip
    return pa.table(table | columns)


@pytest.mark.parametrize(
    "asked",
    [{}, {"scale": "ratio"}, {"within": "job"}, {"target": "overall"}, {"target": {"g": "b"}}],
    ids=str,
)
def test_sums_in_the_grouping_query_are_the_rows(asked):
    """Every person a unit of its own makes the same audit, which is read row by row."""
    table = many()
    summed, read = (
        certify(Audit(table, decision="d", groups="g", weight="w", **more), "selection_rate", by="g", **asked)
        for more in ({}, {"unit": "row"})
    )
    for one, other in zip(summed.estimates, read.estimates, strict=True):
        for name in ("n", "rate", *NAMES, "ratio_low", "ratio_high"):
            if isinstance(other.get(name), float | int):
                assert one[name] == pytest.approx(other[name], rel=1e-8, abs=1e-12), name


def test_no_row_is_read_for_weighted_rates(monkeypatch):
    monkeypatch.setattr(Query, "plain", lambda *_, **__: pytest.fail("rows were read"))
    audit = Audit(many(), decision="d", groups="g", weight="w")
    for ask in (measure, certify, flag):
        assert ask(audit, "selection_rate", by="g").estimates


def test_the_fingerprint_knows_the_weights():
    weights = np.asarray(many()["w"])
    changed = weights.copy()
    changed[17] *= 1.001
    digests = {
        name: measure(Audit(many(w=column), decision="d", groups="g", weight="w")).provenance["data"]
        for name, column in {"one": weights, "same": weights.copy(), "other": changed}.items()
    }
    assert digests["one"] == digests["same"] != digests["other"]


@pytest.mark.parametrize("n", [400, 40_000])
def test_rows_of_no_weight_are_not_counted(n):
    """Weights of 0 and 1 choose rows: what remains is what counts."""
    table = many(n=n)
    kept = np.random.default_rng(5).random(n) < 0.5 + 0.4 * np.asarray(table["d"])
    weighted = measure(
        Audit(table.append_column("k", pa.array(kept.astype(float))), decision="d", groups="g", weight="k")
    )
    chosen = measure(Audit(table.filter(pa.array(kept)), decision="d", groups="g"))
    for one, other in zip(weighted.estimates, chosen.estimates, strict=True):
        assert (one["n"], one["rate"]) == (other["n"], pytest.approx(other["rate"], rel=1e-9))


def test_a_person_in_several_strata_is_one_of_the_fewest_that_are_compared(staff):
    """Twenty persons with rows in every job are twenty, fewer than the thirty that a comparison needs."""
    few = staff.assign(person=np.arange(len(staff)) % 40 + 100 * (staff["g"] == "a"))
    for within in (None, "job"):
        result = measure(
            Audit(few, decision="d", groups="g", unit="person"), by="g", within=within, minimum=41
        )
        assert result.estimates[0]["state_reason"] == "fewer than 41 members"


def test_missing_weights_leave_their_rows_out_or_are_a_fault():
    weights = np.asarray(many()["w"]).copy()
    weights[::7] = np.nan
    table = many(w=weights)
    with pytest.raises(InputError, match="'w' is missing in 5,715 rows"):
        measure(Audit(table, decision="d", groups="g", weight="w", missing="error"))
    dropped = measure(Audit(table, decision="d", groups="g", weight="w", missing="drop"))
    kept = measure(Audit(table.filter(pa.array(~np.isnan(weights))), decision="d", groups="g", weight="w"))
    for one, other in zip(dropped.estimates, kept.estimates, strict=True):
        assert (one["n"], one["rate"]) == (other["n"], pytest.approx(other["rate"], rel=1e-9))

"""Gaps standardised by models: the formula by hand, overlap that is too thin, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from fairtrial import Audit, InputError, Metric, certify, flag, read_result
from inside.gaps import expected_chance, expected_mean
from inside.inference import Fitted, robust_parts


@pytest.fixture(scope="module")
def people():
    random = np.random.default_rng(2)
    x = random.normal(size=3000)
    group = random.random(3000) < 1 / (1 + np.exp(-0.8 * x))
    site = random.choice(["n", "s", "w"], 3000)
    y = random.random(3000) < 1 / (1 + np.exp(-1.2 * x - 0.5 * (site == "n")))
    return pd.DataFrame({
        "g": np.where(group, "a", "b"), "x": x, "site": site, "y": y.astype(int),
        "pay": 10 + 2 * x + random.normal(size=3000), "far": x + 6 * group, "u": np.arange(3000) // 2,
    })  # fmt: skip


def row(result, group="a"):
    return next(row for row in result.estimates if row["group"] == group)


def test_the_parts_are_the_formula():
    """With known expectations nothing is fitted: each row's part, one by one."""
    random = np.random.default_rng(1)
    x, group, y = random.normal(size=(60, 1)), random.random(60) < 0.4, random.random(60)
    still = lambda multiple: np.zeros(1)  # noqa: E731, nothing was learned, so nobody pulls
    chance = lambda *fit: Fitted(0.2 + 0.5 / (1 + np.exp(-fit[2][:, 0])), still)  # noqa: E731
    mean = lambda *fit: Fitted(fit[2][:, 0] * fit[1].size / 100, still)  # noqa: E731
    fold = np.arange(60) % 5
    found = robust_parts(group, y, x, chance, mean, fold)
    for i in range(60):
        others = fold != fold[i]
        m1, m0 = (x[i, 0] * (others & side).sum() / 100 for side in (group, ~group))
        e = 0.2 + 0.5 / (1 + np.exp(-x[i, 0]))
        expected = m1 - m0 + (y[i] - m1) / e if group[i] else m1 - m0 - (y[i] - m0) / (1 - e)
        assert found.part[i] == pytest.approx(expected, rel=1e-12)
    assert np.array_equal(found.inferred, found.part)


@pytest.mark.parametrize("fit", [expected_chance, expected_mean])
def test_the_pull_of_a_row_is_what_leaving_it_out_moves(fit):
    """By refitting without each row: to first order the expectations move by its pull."""
    random = np.random.default_rng(3)
    design, asked = random.normal(size=(400, 2)), random.normal(size=(30, 2))
    value = (random.random(400) < 1 / (1 + np.exp(-design[:, 0]))).astype(float)
    multiple = random.normal(size=30)
    whole = fit(design, value, asked)
    pull = whole.pull(multiple)
    for i in range(0, 400, 20):
        others = np.arange(400) != i
        moved = (multiple * (whole.expected - fit(design[others], value[others], asked).expected)).sum()
        assert moved == pytest.approx(pull[i], rel=0.06, abs=2e-3)


def test_a_wrong_model_of_the_group_widens_the_gap_and_leaves_the_estimate():
    """The outcome's coefficients do not cancel where the group's chance is taken for the same everywhere."""
    random = np.random.default_rng(4)
    x = random.normal(size=(800, 1))
    group = random.random(800) < 1 / (1 + np.exp(-x[:, 0]))
    y = 2 * x[:, 0] + random.normal(size=800)
    alike = lambda design, value, asked: expected_chance(design[:, :0], value, asked[:, :0])  # noqa: E731
    found = robust_parts(group, y, x, alike, expected_mean, np.arange(800) % 5)
    assert found.inferred.mean() == pytest.approx(found.part.mean(), rel=1e-12)
    assert found.inferred.std() > 1.05 * found.part.std()


def test_a_gap_that_the_columns_explain_goes_away_and_stands_beside(people):
    audit = Audit(people, decision="y", groups="g")
    found = row(certify(audit, "selection_rate", target={"g": "b"}, within=["x", "site"], adjustment="model"))
    plain = row(certify(audit, "selection_rate", target={"g": "b"}))
    assert found["unadjusted"] == pytest.approx(plain["difference"], rel=1e-12)
    assert plain["p_value"] < 0.001
    assert abs(found["difference"]) < 0.05
    assert found["compared"] > 0.97


def test_labels_alone_are_standardised_to_everyone(people):
    """One column of labels: close to the strata's gaps weighted by their people."""
    audit = Audit(people, decision="y", groups="g")
    found = row(certify(audit, "selection_rate", target={"g": "b"}, within="site", adjustment="model"))
    rates = people.groupby(["site", "g"])["y"].mean().unstack()
    share = people["site"].value_counts(normalize=True).sort_index()
    assert found["difference"] == pytest.approx(float((share * (rates["a"] - rates["b"])).sum()), abs=0.005)


def test_means_and_flag(people):
    audit = Audit(people, groups="g")
    pay = Metric("pay", "pay")
    found = row(flag(audit, pay, target={"g": "b"}, within="x", adjustment="model"))
    assert found["unadjusted"] > 1
    assert abs(found["difference"]) < 0.3
    assert not found["flagged"]


def test_thin_overlap_is_undetermined(people):
    result = certify(
        Audit(people, decision="y", groups="g"), "selection_rate", target={"g": "b"}, within="far",
        adjustment="model", tolerance=0.3,
    )  # fmt: skip
    found = row(result)
    assert found["state"] == "undetermined"
    assert "overlap is too thin" in found["state_reason"]
    assert found["p_value"] == 1.0
    assert read_result(json.loads(json.dumps(result.to_dict()))).to_dict() == result.to_dict()


@pytest.mark.parametrize(
    ("roles", "more", "words"),
    [
        ({}, {}, "needs the columns in which people must be alike"),
        ({}, {"within": "x", "scale": "ratio"}, "'ratio' is not inferred by a model"),
        ({}, {"within": "x", "target": "overall"}, "not with a number or everyone"),
        ({"unit": "u"}, {"within": "x"}, "is not for weighted rows"),
        ({}, {"within": "g"}, "whose groups are compared"),
    ],
)
def test_what_models_do_not_adjust(people, roles, more, words):
    asked = {"target": {"g": "b"}, "adjustment": "model", **more}
    with pytest.raises(InputError, match=words):
        certify(Audit(people, decision="y", groups="g", **roles), "selection_rate", **asked)

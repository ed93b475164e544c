"""MetricFrame has fairlearn's numbers in fairlearn's shapes, with limits beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from fairlearn.metrics import MetricFrame as Fairlearn
from fairlearn.metrics import count, false_positive_rate, selection_rate
from sklearn.metrics import accuracy_score, f1_score, mean_absolute_error

import fairtrial
from fairtrial.compat import MetricFrame

# Groups in which every rate exists: fairlearn gives 0 for 0 of 0, and we give nothing.
PEOPLE = fairtrial.load("compas", backend="pandas")
PEOPLE = PEOPLE[PEOPLE["race"].isin(["African-American", "Caucasian", "Hispanic"])].iloc[::-1]
GIVEN: dict[str, Any] = {
    "y_true": PEOPLE["two_year_recid"],
    "y_pred": (PEOPLE["decile_score"] >= 5).astype(int),
}


@pytest.mark.parametrize(
    "metrics", [false_positive_rate, {"a": accuracy_score, "s": selection_rate, "n": count}]
)
@pytest.mark.parametrize("control", [None, PEOPLE["age_cat"], PEOPLE[["age_cat", "c_charge_degree"]]])
@pytest.mark.parametrize("sensitive", [PEOPLE["race"], PEOPLE[["race", "sex"]], PEOPLE["sex"].tolist()])
def test_numbers_and_shapes_are_fairlearns(metrics: Any, control: Any, sensitive: Any) -> None:
    asked = {"metrics": metrics, **GIVEN, "sensitive_features": sensitive, "control_features": control}
    ours, theirs = MetricFrame(**asked), Fairlearn(**asked)
    assert (ours.sensitive_levels, ours.control_levels) == (theirs.sensitive_levels, theirs.control_levels)
    alike(ours.by_group, theirs.by_group)
    alike(ours.overall, theirs.overall)
    alike(ours.group_min(), theirs.group_min())
    alike(ours.group_max(), theirs.group_max())
    for method in ("between_groups", "to_overall"):
        alike(ours.difference(method=method), theirs.difference(method=method))
        alike(ours.ratio(method=method), theirs.ratio(method=method))


def alike(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, pd.DataFrame):
        pd.testing.assert_frame_equal(ours, theirs.astype(float), rtol=1e-12)
    elif isinstance(theirs, pd.Series):
        pd.testing.assert_series_equal(ours, theirs.astype(float), rtol=1e-12)
    else:
        assert ours == pytest.approx(theirs, rel=1e-12)


def test_weights_and_real_values() -> None:
    weight = np.linspace(0.5, 2.0, len(PEOPLE))
    asked: dict[str, Any] = {
        "metrics": mean_absolute_error, "y_true": PEOPLE["age"], "y_pred": PEOPLE["decile_score"],
        "sensitive_features": PEOPLE["race"], "sample_params": {"sample_weight": weight},
    }  # fmt: skip
    alike(MetricFrame(**asked).by_group, Fairlearn(**asked).by_group)


def test_limits_are_those_of_measure() -> None:
    frame = MetricFrame(metrics="fpr", **GIVEN, sensitive_features=PEOPLE["race"])
    audit = fairtrial.Audit(
        PEOPLE.assign(high=GIVEN["y_pred"]), outcome="two_year_recid", decision="high", groups="race"
    )
    rows = fairtrial.measure(audit, "fpr").estimates
    for row in rows:
        assert tuple(frame.by_group_interval.loc[row["group"]]) == (row["rate_low"], row["rate_high"])
    low, high = frame.difference_interval()
    assert low < frame.difference() < high
    low, high = frame.ratio_interval()
    assert low < frame.ratio() < high <= 1.0
    assert frame.overall_interval[0] < frame.overall < frame.overall_interval[1]


def test_limits_of_the_largest_difference_of_two_groups_are_those_of_the_pair() -> None:
    frame = MetricFrame(metrics="selection_rate", **GIVEN, sensitive_features=PEOPLE["sex"])
    audit = fairtrial.Audit(PEOPLE.assign(high=GIVEN["y_pred"]), decision="high", groups="sex")
    [row] = [
        row for row in fairtrial.measure(audit, target={"sex": "Female"}).estimates if row["group"] == "Male"
    ]
    assert frame.difference_interval()[1] == row["difference_high"]
    # each of the two ordered pairs has half of the error that is allowed below
    assert frame.difference_interval()[0] <= row["difference_low"]


def test_groups_without_anybody_are_empty() -> None:
    frame = MetricFrame(
        metrics="selection_rate", y_true=[1, 0, 1], y_pred=[1, 0, 1],
        sensitive_features={"race": ["a", "a", "b"], "sex": ["f", "m", "f"]},
    )  # fmt: skip
    assert np.isnan(frame.by_group["b", "m"])
    assert frame.difference() == 1.0
    assert frame.difference_interval()[1] <= 1.0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"metrics": f1_score}, "'f1_score', which is no mean of people"),
        ({"metrics": lambda y_true, y_pred: 0.0}, "which is no mean of people"),
        ({"metrics": "fprr"}, "fpr"),
        ({"sample_params": {"beta": 1}}, "'sample_weight' alone"),
        ({"sensitive_features": [1, 2]}, "one value per row, got lengths"),
        ({"control_features": PEOPLE["race"]}, "both have"),
    ],
)
def test_what_does_not_fit_is_one_message(changed: dict[str, Any], said: str) -> None:
    asked = {"metrics": "fpr", **GIVEN, "sensitive_features": PEOPLE["race"], **changed}
    with pytest.raises(fairtrial.InputError, match=said):
        MetricFrame(**asked)


LETTERS = list("aabb") * 20
ASKED: dict[str, Any] = {
    "metrics": "selection_rate",
    "y_true": [1, 0, 1, 0] * 20,
    "y_pred": [1, 0, 0, 1, 1, 1, 0, 1] * 10,
}
RATES = {"a": 0.75, "b": 0.5}


@pytest.mark.parametrize(
    "features",
    [
        pl.Series("g", LETTERS), pl.DataFrame({"g": LETTERS}), pl.LazyFrame({"g": LETTERS}),
        pl.Series("g", LETTERS, dtype=pl.Categorical), pa.table({"g": LETTERS}), pa.array(LETTERS),
        pa.chunked_array([LETTERS[:30], LETTERS[30:]]), {"g": pl.Series(LETTERS)},
    ],
    ids=lambda features: f"{type(features).__module__.split('.')[0]} {type(features).__name__}",
)  # fmt: skip
def test_features_of_polars_and_arrow(features: Any) -> None:
    named = "g" if not isinstance(features, pa.Array | pa.ChunkedArray) else "sensitive_feature_0"
    frame = MetricFrame(**ASKED, sensitive_features=features)
    assert frame.by_group.to_dict() == RATES
    assert frame.sensitive_levels == [named]
    beside = MetricFrame(**ASKED, sensitive_features=["x"] * 80, control_features=features)
    assert beside.by_group.to_dict() == {(letter, "x"): rate for letter, rate in RATES.items()}


def test_two_features_of_a_frame_of_polars() -> None:
    features = pl.DataFrame({"g": LETTERS, "h": ["x", "y"] * 40})
    frame = MetricFrame(**ASKED, sensitive_features=features)
    pd.testing.assert_series_equal(
        frame.by_group, MetricFrame(**ASKED, sensitive_features=features.to_pandas()).by_group
    )


@pytest.mark.parametrize("argument", ["sensitive_features", "control_features"])
@pytest.mark.parametrize("as_given", [list, pd.Series, pl.Series, pa.array, lambda values: {"g": values}])
def test_a_row_without_a_group_is_one_fault(argument: str, as_given: Any) -> None:
    features = {"sensitive_features": LETTERS, argument: as_given(["a", None, "b", "b"] * 20)}
    wanted = f"'{argument}' must name every row's group, but .* is missing in 20 rows: give them a group"
    with pytest.raises(fairtrial.InputError, match=wanted):
        MetricFrame(**ASKED, **features)


def test_a_number_that_is_missing_is_no_group() -> None:
    with pytest.raises(fairtrial.InputError, match="'sensitive_feature_0' is missing in 20 rows"):
        MetricFrame(**ASKED, sensitive_features=[1.0, np.nan, 2.0, 2.0] * 20)


def test_numbers_and_texts_in_one_column() -> None:
    frame = MetricFrame(**ASKED, sensitive_features=pd.Series(["a", 1, "b", "b"] * 20))
    assert frame.by_group.to_dict() == {1: 0.5, "a": 1.0, "b": 0.5}

"""MetricFrame has fairlearn's numbers in fairlearn's shapes, with limits beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
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

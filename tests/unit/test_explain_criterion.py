"""Separation and sufficiency in explain: each metric's own result, and both judged at once."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from fairtrial import Audit, InputError, explain, read_result
from inside.inference import holm

SETTINGS = {"sensitive": "absent", "target": {"sex": "F"}}


@pytest.fixture(scope="module")
def case():
    random = np.random.default_rng(3)
    n = 700
    sex = np.where(random.random(n) < 0.4, "F", "M")
    a, b = random.normal(size=(2, n)) + 0.6 * (sex == "M")
    frame = pd.DataFrame({"sex": sex, "a": a, "b": b, "y": (a + b + random.normal(size=n) > 0.5).astype(int)})
    frame["d"] = ((a + b) > 0.4).astype(int)

    def decide(names):
        return np.asarray(sum((frame[name] for name in names), start=np.zeros(n)) > 0.4)

    return Audit(frame, outcome="y", decision="d", groups="sex", features=["a", "b"]), decide


@pytest.mark.parametrize(
    ("criterion", "metrics"), [("separation", ("tpr", "fpr")), ("sufficiency", ("ppv", "for"))]
)
def test_a_criterion_is_its_metrics_corrected_over_both(case, criterion, metrics):
    audit, decide = case
    result = explain(audit, criterion, coalitions=decide, **SETTINGS)
    alone = [explain(audit, metric, coalitions=decide, **SETTINGS) for metric in metrics]
    assert [row["metric"] for row in result.estimates] == [
        row["metric"] for part in alone for row in part.estimates
    ]
    assert [row["p_value"] for row in result.estimates] == [
        row["p_value"] for part in alone for row in part.estimates
    ]
    for part in ("gap", "contribution to the gap"):
        rows = [row for row in result.estimates if row["part"] == part]
        assert [row["p_adjusted"] for row in rows] == pytest.approx(
            holm([row["p_value"] for row in rows]).tolist()
        )
    smallest = min(part.p_value for part in alone)
    assert result.p_value == pytest.approx(min(1.0, 2 * smallest))
    assert (result.verdict.code == "violated") == (2 * smallest <= 0.05)
    assert criterion in result.verdict.text
    for part in alone:
        assert part.details["finding"] in result.verdict.text
    assert [entry.p_value for entry in result.primary()] == [part.p_value for part in alone]


def test_a_criterion_has_every_view(case):
    audit, decide = case
    result = explain(audit, "separation", coalitions=decide, **SETTINGS)
    again = read_result(json.loads(json.dumps(result.to_dict())))
    assert again.summary() == result.summary()
    names = [picture.name for picture in again.pictures()]
    assert names[:2] == ["waterfall-tpr", "groups-tpr"]
    assert len(names) == len(set(names)) == 8
    assert all(picture.chart.to_dict() for picture in again.pictures())
    assert len(result.reading()) >= 3
    assert [(claim.metric, claim.who, claim.against) for claim in result.claims()] == [
        ("tpr", "sex: M", "sex: F"), ("fpr", "sex: M", "sex: F"),
    ]  # fmt: skip
    with pytest.raises(InputError, match="is about several metrics"):
        result.compare(result)


def test_a_criterion_of_one_metric_is_that_metric(case):
    audit, decide = case
    one = explain(audit, "equal_opportunity", coalitions=decide, **SETTINGS)
    assert one.estimates == explain(audit, "tpr", coalitions=decide, **SETTINGS).estimates

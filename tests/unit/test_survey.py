"""Weights and repeated rows: point estimates, variances and intervals against other ways to them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from fairtrial import Audit, InputError, Metric, certify, flag, measure
from inside.ground import NotApplicable
from inside.papers import elfa

RANDOM = np.random.default_rng(11)
PERSONS = 120
REPEATED = np.repeat(np.arange(PERSONS, dtype=np.int32), RANDOM.integers(1, 5, PERSONS))
GROUP = REPEATED % 3 == 0
VALUE = (RANDOM.random(len(REPEATED)) < np.where(GROUP, 0.4, 0.25)).astype(float)
WEIGHT = RANDOM.uniform(0.5, 3.0, len(REPEATED))
LOSS = RANDOM.gamma(2.0, 1.0, len(REPEATED))


def frame(**columns):
    content = {
        "g": np.where(GROUP, "a", "b"),
        "d": VALUE.astype(int),
        "person": REPEATED,
        "w": WEIGHT,
        "loss": LOSS,
    }
    return pd.DataFrame({**content, **columns})


LIMITS = ["n", "rate", "rate_low", "rate_high", "difference", "difference_low", "difference_high", "ratio",
          "ratio_low", "ratio_high", "p_value"]  # fmt: skip


def numbers(data, metric="selection_rate", names=LIMITS, **arguments):
    roles = {name: arguments.pop(name) for name in ("weight", "unit", "groups") if name in arguments}
    result = measure(Audit(data, decision="d", **roles), metric, by="g", **arguments)
    return np.array([[row[name] for name in names] for row in result.estimates], dtype=float)


@pytest.mark.parametrize("target", ["rest", "overall", 0.3])
@pytest.mark.parametrize("metric", ["selection_rate", Metric("loss", "loss")])
def test_duplicated_rows_of_one_person_add_nothing(target, metric):
    data = frame()
    twice = pd.concat([data, data])
    names = [name for name in LIMITS if not name.startswith("ratio")]
    once = numbers(data, metric, names, unit="person", target=target)
    assert numbers(twice, metric, names, unit="person", target=target) == pytest.approx(once, rel=1e-9)
    if metric == "selection_rate":
        plain = numbers(twice, metric, names, target=target)
        assert plain[0, 3] - plain[0, 2] < 0.8 * (once[0, 3] - once[0, 2]), (
            "without unit= twice the certainty"
        )


@pytest.mark.parametrize("target", ["rest", "overall", 0.3, {"g": "b"}])
@pytest.mark.parametrize("metric", ["selection_rate", Metric("loss", "loss")])
def test_equal_weights_and_every_person_once_are_the_plain_numbers(target, metric):
    """In measure, certify and flag alike."""
    data = frame(person=np.arange(len(VALUE)), w=2.5)
    audits = [Audit(data, decision="d", **roles) for roles in ({}, {"unit": "person"}, {"weight": "w"})]
    for method in (measure, certify, flag):
        plain, *others = (method(audit, metric, by="g", target=target).estimates for audit in audits)
        for rows in others:
            assert [dict(row) for row in rows] == [dict(row) for row in plain]


@pytest.mark.parametrize("target", ["rest", "overall", 0.3])
@pytest.mark.parametrize("metric", ["selection_rate", Metric("loss", "loss")])
def test_one_gap_one_answer_with_weights_and_units(target, metric):
    audit = Audit(frame(), decision="d", weight="w", unit="person")
    answers = [
        {row["group"]: row for row in method(audit, metric, by="g", target=target).estimates}
        for method in (measure, certify, flag)
    ]
    for group, row in answers[0].items():
        for name in ("n", "rate", "target_rate", "difference", "difference_low", "difference_high"):
            values = [answer[group][name] for answer in answers]
            assert values == pytest.approx([row[name]] * 3, rel=1e-9), name
        assert answers[1][group]["p_value"] == pytest.approx(row["p_value"], rel=1e-9)


def test_verdicts_under_weights():
    audit = Audit(frame(), decision="d", weight="w", unit="person")
    result = certify(audit, "selection_rate", by="g", tolerance=0.9, target="rest")
    assert result.verdict.code == "certified"
    assert result.details["joint"]["rule"].startswith("Hotelling")
    assert "effective-counts" in [note.code for note in result.notes]
    with pytest.raises(NotApplicable, match="'weight'"):
        elfa.certify(audit, "selection_rate", by="g", likelihood="euclidean")


def test_weights_have_no_unit():
    data = frame()
    once = numbers(data, weight="w", unit="person")
    data["w"] = 1000 * data["w"]
    assert numbers(data, weight="w", unit="person") == pytest.approx(once, rel=1e-9)


def test_weight_zero_is_nobody():
    data = frame()
    kept = data[data.index % 4 > 0]
    data.loc[data.index % 4 == 0, "w"] = 0.0
    assert numbers(data, weight="w") == pytest.approx(numbers(kept, weight="w"), rel=1e-9)


def test_whole_weights_average_like_repeated_rows():
    data = frame(w=RANDOM.integers(1, 4, len(VALUE)))
    repeated = data.loc[data.index.repeat(data["w"])]
    weighted, expanded = numbers(data, weight="w"), numbers(repeated)
    assert weighted[:, 1] == pytest.approx(expanded[:, 1]), "the same rates"
    assert weighted[0, 3] - weighted[0, 2] > expanded[0, 3] - expanded[0, 2], "but not the same certainty"


def test_wilson_at_the_effective_size():
    """Kish: uninformative weights cost n / (1 + cv²)."""
    data = frame(w=np.where(np.arange(len(VALUE)) % 2, 1.0, 3.0), d=np.arange(len(VALUE)) // 2 % 2)
    row = numbers(data, weight="w")[1]
    inside = data["g"] == "b"
    size = data["w"][inside].sum() ** 2 / (data["w"][inside] ** 2).sum()
    expected = proportion_confint(row[1] * size, size, method="wilson")
    assert row[2:4] == pytest.approx(expected, rel=0.02)


@pytest.mark.filterwarnings("ignore:Every decision is:fairtrial.FairtrialWarning")
def test_no_events_is_no_certainty():
    """Linearisation alone would give [0, 0]."""
    data = frame(d=0)
    rows = numbers(data, names=LIMITS[:7], weight="w", unit="person")
    assert (rows[:, 3] > 0.01).all()
    assert (rows[:, 5] < -0.01).all()
    assert (rows[:, 6] > 0.01).all()


def test_constant_real_values_are_a_reason():
    audit = Audit(frame(loss=2.5), weight="w")
    rows = measure(audit, Metric("loss", "loss"), by="g").estimates
    assert all("no variation to infer from" in row["state_reason"] for row in rows)


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        (-1.0, "must not be negative"),
        (0.0, "must not sum to zero"),
        (np.nan, "is missing in"),
        (np.inf, "infinite"),
    ],
)
def test_faults_of_weights(weights, text):
    values = np.where(np.arange(len(VALUE)) == 0, weights, 0.0 if weights == 0 else 1.0)
    with pytest.raises(InputError, match=text):
        measure(Audit(frame(w=values), decision="d", weight="w"), by="g")


def test_intervals_cannot_be_chosen():
    with pytest.raises(NotApplicable, match="'interval' cannot be chosen together with weight or unit"):
        measure(Audit(frame(), decision="d", weight="w"), by="g", interval="exact")


def test_other_methods_refuse_by_name():
    audit = Audit(frame(), decision="d", weight="w")
    with pytest.raises(
        NotApplicable, match="transport: 'weight' is not honoured by transport yet; measure does"
    ):
        audit.refuse("transport", "weight")
    with pytest.raises(NotApplicable, match="'unit' is not honoured"):
        Audit(frame(), decision="d", unit="person").refuse("explain", "weight", "unit")
    Audit(frame(), decision="d").refuse("explain", "weight", "unit", "pair")


def test_notes_say_how():
    result = measure(Audit(frame(), decision="d", weight="w", unit="person"), by="g")
    codes = [note.code for note in result.notes]
    assert "effective-counts" in codes
    assert "independent-rows" not in codes
    assert result.estimates[0]["n"] == len(np.unique(REPEATED[GROUP])), "n counts persons"

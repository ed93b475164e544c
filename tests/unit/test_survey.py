"""Weights and repeated rows: point estimates, variances and intervals against other ways to them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from statsmodels.stats.proportion import proportion_confint

from fairtrial import Audit, InputError, Metric, measure
from fairtrial.errors import NotApplicable
from fairtrial.inference.evidence.survey import (
    compare_apart,
    compare_overlapping,
    counts_apart,
    linear_interval,
    weighted_mean,
)

RANDOM = np.random.default_rng(11)
PERSONS = 120
REPEATED = np.repeat(np.arange(PERSONS, dtype=np.int32), RANDOM.integers(1, 5, PERSONS))
GROUP = REPEATED % 3 == 0
VALUE = (RANDOM.random(len(REPEATED)) < np.where(GROUP, 0.4, 0.25)).astype(float)
WEIGHT = RANDOM.uniform(0.5, 3.0, len(REPEATED))
LOSS = RANDOM.gamma(2.0, 1.0, len(REPEATED))


def means(values=VALUE):
    return [weighted_mean(values, inside, WEIGHT, REPEATED) for inside in (GROUP, ~GROUP)]


def test_difference_equals_a_weighted_regression_with_clusters():
    """Influences are those of weighted least squares on the group's dummy, clustered by person."""
    first, second = means(LOSS)
    fitted = sm.WLS(LOSS, sm.add_constant(GROUP.astype(float)), weights=WEIGHT).fit(
        cov_type="cluster", cov_kwds={"groups": REPEATED, "use_correction": False}
    )
    assert first.mean - second.mean == pytest.approx(fitted.params[1], rel=1e-12)
    gap = linear_interval(first.mean - second.mean, first.influence - second.influence, 41.0, 0.95)
    error = fitted.bse[1] * np.sqrt(PERSONS / (PERSONS - 1))
    from scipy import stats

    half = stats.t.isf(0.025, 40) * error
    assert (gap.low, gap.high) == pytest.approx((fitted.params[1] - half, fitted.params[1] + half), rel=1e-10)
    assert gap.p_value == pytest.approx(2 * stats.t.sf(abs(fitted.params[1]) / error, 40), rel=1e-10)


def test_effective_numbers():
    one = weighted_mean(
        VALUE, np.ones(len(VALUE), dtype=bool), np.ones(len(VALUE)), np.arange(len(VALUE), dtype=np.int32)
    )
    assert one.persons == pytest.approx(len(VALUE))
    assert one.design_effect == pytest.approx(len(VALUE) / (len(VALUE) - 1))
    repeated = weighted_mean(VALUE, np.ones(len(VALUE), dtype=bool), np.ones(len(VALUE)), REPEATED)
    assert repeated.persons < PERSONS < repeated.rows == len(VALUE)


def test_gap_and_p_value_say_the_same():
    first, second = means()
    for level in (0.5, 0.8, 0.9, 0.99):
        gap, low, high = compare_apart(counts_apart(first, second, level), level)
        assert (gap.p_value <= 1 - level) == (not gap.low <= 0 <= gap.high)
        assert (low <= 1 <= high) == (gap.low <= 0 <= gap.high)


def test_overlap_is_the_scaled_gap_to_the_rest():
    everyone = np.ones(len(VALUE), dtype=bool)
    first, second = means()
    share = WEIGHT[GROUP].sum() / WEIGHT.sum()
    overall = compare_overlapping(VALUE, GROUP, everyone, WEIGHT, REPEATED, 0.95)
    design = weighted_mean(VALUE, everyone, WEIGHT, REPEATED).design_effect
    rest, _, _ = compare_apart(counts_apart(first, second, 0.95, design), 0.95)
    assert overall.difference == pytest.approx((1 - share) * (first.mean - second.mean))
    assert overall.p_value == pytest.approx(rest.p_value, rel=0.2), "two roads to one hypothesis"
    assert overall.low < overall.difference < overall.high


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


def numbers(data, metrics="selection_rate", names=LIMITS, **arguments):
    roles = {name: arguments.pop(name) for name in ("weight", "unit", "groups") if name in arguments}
    result = measure(Audit(data, decision="d", **roles), metrics, by="g", **arguments)
    return np.array([[row[name] for name in names] for row in result.estimates], dtype=float)


@pytest.mark.parametrize("target", ["rest", "overall", 0.3])
@pytest.mark.parametrize("metric", ["selection_rate", Metric("loss", "loss")])
def test_duplicated_rows_of_one_person_add_nothing(target, metric):
    data = frame(person=np.arange(len(VALUE)))
    twice = pd.concat([data, data])
    names = [name for name in LIMITS if not name.startswith("ratio")]
    once = numbers(data, metric, names, unit="person", target=target)
    assert numbers(twice, metric, names, unit="person", target=target) == pytest.approx(once, rel=1e-9)
    if metric == "selection_rate":
        plain = numbers(twice, metric, names, target=target)
        assert plain[0, 3] - plain[0, 2] < 0.8 * (once[0, 3] - once[0, 2]), (
            "without unit= twice the certainty"
        )


def test_without_repeats_and_weights_it_is_near_the_plain_interval():
    data = frame(person=np.arange(len(VALUE)), w=1.0)
    plain = numbers(data)
    for roles in ({"unit": "person"}, {"weight": "w"}):
        assert numbers(data, **roles)[:, :10] == pytest.approx(plain[:, :10], rel=0.03)


def test_weights_have_no_unit():
    data = frame()
    once = numbers(data, weight="w", unit="person")
    data["w"] = 1000 * data["w"]
    assert numbers(data, weight="w", unit="person") == pytest.approx(once, rel=1e-9)


def test_weight_zero_is_nobody():
    data = frame()
    kept = data[data.index % 4 > 0]
    data.loc[data.index % 4 == 0, "w"] = 0.0
    names = [name for name in LIMITS if name != "p_value"]
    # persons without weight still count in m/(m − 1), which hardly matters
    assert numbers(data, names=names, weight="w") == pytest.approx(
        numbers(kept, names=names, weight="w"), rel=2e-3
    )


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


@pytest.mark.filterwarnings("ignore:Every decision is:fairtrial.errors.FairtrialWarning")
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
    assert {row["state_reason"] for row in rows} == {"a constant value has no interval"}


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
    with pytest.raises(NotApplicable, match="certify: 'weight' is not honoured by certify yet; measure does"):
        audit.refuse("certify")
    with pytest.raises(NotApplicable, match="'unit' is not honoured"):
        Audit(frame(), decision="d", unit="person").refuse("flag")
    Audit(frame(), decision="d").refuse("flag")


def test_notes_say_how():
    result = measure(Audit(frame(), decision="d", weight="w", unit="person"), by="g")
    codes = [note.code for note in result.notes]
    assert "effective-counts" in codes
    assert "independent-rows" not in codes
    assert result.estimates[0]["n"] == len(np.unique(REPEATED[GROUP])), "n counts persons"

"""Factors that nobody measured: the three numbers against other ways to them, and where they stand in the answers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fairtrial import Audit, Metric, certify, flag, measure, run
from inside.inference import TwoRates
from inside.results import reason, scalar
from inside.sensitivity import Expected, bounds_at, odds_to_explain, odds_to_move, share_to_move

PAY = Metric("pay", "pay")


def table(*columns):
    return TwoRates(*(np.array(column, dtype=float) for column in columns))


# -- Rosenbaum: odds within strata.
def test_one_small_table_has_the_exact_conditional_limit():
    """Fisher's noncentral law of one stratum: the limit of its conditional odds ratio, by scipy."""
    k1, n1, k2, n2 = 12, 20, 6, 25
    exact = stats.contingency.odds_ratio([[k1, n1 - k1], [k2, n2 - k2]], kind="conditional")
    low = exact.confidence_interval(0.975, alternative="greater").low
    found = odds_to_explain(table([k1], [n1], [k2], [n2]), 0.025)
    assert found <= low * (1 + 1e-6)
    law = stats.nchypergeom_fisher(n1 + n2, k1 + k2, n1, found)
    assert law.sf(k1 - 1) <= 0.025 * (1 + 1e-6)
    assert found > 0.85 * low


def test_pairs_have_the_binomial_bound():
    """Rosenbaum (2002, table 4.1): of discordant pairs a binomial with chance odds/(1 + odds)."""
    first = np.repeat([1.0, 0.0], [30, 10])
    pairs = table(first, np.ones(40), 1.0 - first, np.ones(40))
    found = odds_to_explain(pairs, 0.025)
    assert stats.binom.sf(29, 40, found / (1.0 + found)) == pytest.approx(0.025, rel=1e-3)


def test_large_strata_have_the_law_of_large_tables():
    k1, n1, k2, n2 = 3000.0, 10_000.0, 20_000.0, 100_000.0
    error = math.sqrt(sum(1.0 / cell for cell in (k1, n1 - k1, k2, n2 - k2)))
    wald = math.exp(math.log(k1 / (n1 - k1) / (k2 / (n2 - k2))) - 1.959964 * error)
    assert odds_to_explain(table([k1], [n1], [k2], [n2]), 0.025) == pytest.approx(wald, rel=1e-3)


def test_a_gap_below_is_turned_over():
    above = odds_to_explain(table([12, 30], [20, 60], [6, 20], [25, 70]), 0.05)
    events_absent = odds_to_explain(table([8, 30], [20, 60], [19, 50], [25, 70]), 0.05)
    swapped = odds_to_explain(table([6, 20], [25, 70], [12, 30], [20, 60]), 0.05)
    assert events_absent == pytest.approx(above, rel=1e-6)
    assert swapped == pytest.approx(above, rel=1e-6)


# -- Cinelli and Hazlett: shares within strata.
def test_their_example_has_their_numbers():
    """Violence in Darfur: estimate .0973, error .0232, 783 degrees of freedom; 13.9%, and 7.6% at the 5% level."""
    slope = 0.0232 * math.sqrt(783)
    assert share_to_move(0.0973, slope) == pytest.approx(0.139, abs=5e-4)
    assert share_to_move(0.0973 - stats.t.isf(0.025, 782) * 0.0232, slope) == pytest.approx(0.076, abs=2e-3)


def test_a_factor_of_that_share_moves_the_estimate_just_so_far():
    """Algebra: a column built to explain the told share of both, put into the regression, leaves no gap."""
    random = np.random.default_rng(3)
    n = 400
    job, inside = random.integers(0, 3, n), random.random(n) < 0.4
    y = 0.5 * inside + 0.2 * job + random.normal(size=n)
    strata = (job[:, None] == np.arange(3)).astype(float)

    def left(of, *columns):
        design = np.column_stack([strata, *columns])
        return of - design @ np.linalg.lstsq(design, of, rcond=None)[0]

    d = left(inside.astype(float))
    gap = float(d @ y / (d @ d))
    residual = left(y, inside.astype(float))
    share = share_to_move(gap, math.sqrt(float(residual @ residual) / float(d @ d)))
    # partial correlations of the factor: the square root of the share with both
    noise = left(random.normal(size=n), inside.astype(float), residual)
    unit = [column / np.linalg.norm(column) for column in (d, residual, noise)]
    of_values = math.sqrt(share * (1.0 - share))
    factor = math.sqrt(share) * unit[0] + of_values * unit[1] + math.sqrt(1 - share - of_values**2) * unit[2]
    design = np.column_stack([strata, inside, factor])
    assert np.linalg.lstsq(design, y, rcond=None)[0][3] == pytest.approx(0.0, abs=1e-9)


# -- Dorn and Guo: odds by a model.
def test_without_columns_the_bounds_of_rates_are_in_closed_form():
    n1, k1, n2, k2, odds = 400, 120, 600, 240, 1.5
    group = np.repeat([True, False], [n1, n2])
    value = np.concatenate([np.repeat([1.0, 0.0], [k1, n1 - k1]), np.repeat([1.0, 0.0], [k2, n2 - k2])])
    e, p, q = n1 / 1000, k1 / n1, k2 / n2
    rows = Expected(group, value, np.full(1000, e), np.full(1000, p), np.full(1000, q))

    def most(rate):
        return min(odds * rate, 1.0 - (1.0 - rate) / odds)

    def least(rate):
        return 1.0 - most(1.0 - rate)

    found = bounds_at(rows, odds)
    assert found.most == pytest.approx(e * p + (1 - e) * most(p) - (1 - e) * q - e * least(q), rel=1e-9)
    assert found.least == pytest.approx(e * p + (1 - e) * least(p) - (1 - e) * q - e * most(q), rel=1e-9)
    none = bounds_at(rows, 1.0)
    assert (none.least, none.most) == pytest.approx((p - q, p - q))
    moved = odds_to_move(rows, p - q, (0.0, 0.06), (-np.inf, 0.0))
    assert bounds_at(rows, moved * 0.999).most < 0.0 < bounds_at(rows, moved).most + 0.07


def test_a_wider_factor_widens_the_bounds_of_means():
    random = np.random.default_rng(1)
    n = 2000
    group, value = random.random(n) < 0.4, random.lognormal(0, 0.5, n)
    rows = Expected(group, value, np.full(n, 0.4), np.full(n, 1.1), np.full(n, 1.1))
    ends = [bounds_at(rows, odds) for odds in (1.0, 1.2, 2.0, 5.0)]
    assert all(a.most < b.most and a.least > b.least for a, b in itertools.pairwise(ends))


# -- Where the number and its sentence stand.
@pytest.fixture(scope="module")
def staff():
    random = np.random.default_rng(0)
    n = 2400
    job = random.choice(list("xyz"), n)
    sex = np.where(random.random(n) < 0.3 + 0.2 * (job == "x"), "F", "M")
    chance = 0.5 - 0.15 * (sex == "F") + 0.1 * (job == "y")
    return pd.DataFrame({
        "sex": sex, "job": job, "d": (random.random(n) < chance).astype(int), "age": random.normal(40, 9, n),
        "pay": random.lognormal(0, 0.5, n) * (1 - 0.15 * (sex == "F")), "u": np.arange(n) // 3,
        "w": random.uniform(0.5, 2.0, n),
    })  # fmt: skip


ASKED = {"by": [{"sex": "F"}], "target": {"sex": "M"}, "within": "job"}
SENTENCE = "This holds for F unless something not in the data"


@pytest.mark.parametrize("adjustment", ["strata", "model"])
def test_every_method_has_the_same_number_and_its_sentence(staff, adjustment):
    audit = Audit(staff, decision="d", groups="sex")
    asked = {**ASKED, "adjustment": adjustment}
    results = [measure(audit, "selection_rate", **asked), certify(audit, "selection_rate", **asked),
               flag(audit, "selection_rate", direction="differs", **asked)]  # fmt: skip
    numbers = {round(float(result.estimates[0]["overturned_by"]), 12) for result in results}
    assert len(numbers) == 1
    number = numbers.pop()
    assert 1.05 < number < 3.0
    for result in results:
        said = f"{SENTENCE} multiplies the odds of being in the group by more than {number:.1f}."
        assert said in result.reading()
        assert any(note.code == "unmeasured" for note in result.notes)
        assert "overturned by a factor of" in result.summary()


def test_stricter_tolerances_take_a_smaller_factor(staff):
    audit = Audit(staff, decision="d", groups="sex")
    shares = [certify(audit, "selection_rate", tolerance=band, **ASKED).estimates[0]["overturned_by"]
              for band in (0.02, 0.04, 0.06)]  # fmt: skip
    assert shares == sorted(shares, reverse=True)
    certified = certify(audit, "selection_rate", tolerance=0.3, **ASKED)
    assert certified.estimates[0]["state"] == "certified"
    assert scalar(certified.estimates[0]["overturned_by"]) > 0
    assert any("of what is left unexplained" in sentence for sentence in certified.reading())


@pytest.mark.parametrize("roles", [{}, {"weight": "w"}, {"unit": "u"}], ids=str)
@pytest.mark.parametrize("metric", ["selection_rate", PAY], ids=["rate", "mean"])
def test_every_evidence_has_a_number_or_a_reason(staff, metric, roles):
    row = certify(
        Audit(staff, decision="d", groups="sex", **roles), metric, tolerance=0.02, **ASKED
    ).estimates[0]
    if metric is PAY and "unit" in roles:
        assert reason(row["overturned_by"]) == "not told of means of repeated people"
    else:
        assert 0.0 < row["overturned_by"] < 1.0


def test_where_nothing_is_shown_there_is_nothing_to_overturn(staff):
    audit = Audit(staff.head(120), decision="d", groups="sex")
    row = certify(audit, "selection_rate", tolerance=0.05, **ASKED).estimates[0]
    assert row["state"] == "undetermined"
    assert "could overturn" in str(reason(row["overturned_by"]))


@pytest.mark.filterwarnings("ignore")
def test_the_report_says_it(staff, tmp_path):
    spec = {"data": {"decision": "d", "groups": ["sex"]}, "certify": {"metric": "selection_rate", **ASKED}}
    trial = run(spec, data=staff)
    path = tmp_path / "report.html"
    trial.report(path)
    assert "unless something not in the data" in path.read_text(encoding="utf-8")

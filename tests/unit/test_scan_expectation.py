"""Expectations, tables and null draws, against slow row-by-row computations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairtrial.papers.conditional_bias_scan import (
    Designs,
    Expectations,
    drawn_class,
    drawn_events,
    expected_events,
    pooled_propensity,
    pooled_rates,
    prepare,
    scan_draws,
    scan_observed,
    spread,
    stratified,
    whole_sample,
)
from inside.scan import (
    CountedRows,
    MatchedTable,
    ScanTable,
    build_table,
    inside_unit_interval,
    log_odds,
    observed_moments,
)

ARITY = np.array([2, 3])


def people(random: np.random.Generator, n: int = 400) -> dict[str, Any]:
    codes = np.stack([random.integers(0, k, size=n) for k in ARITY], axis=1).astype(np.int64)
    protected = random.random(n) < 0.2 + 0.2 * codes[:, 1]
    score = np.round(random.uniform(0.05, 0.95, size=n), 1)
    outcome = random.random(n) < score
    event = (random.random(n) < 0.3 + 0.2 * codes[:, 0]).astype(float)
    return {"codes": codes, "protected": protected, "score": score, "outcome": outcome, "event": event}


def table_of(data: dict[str, Any], kind: str, bins: bool = False) -> ScanTable:
    n = len(data["event"])
    scanned = ~data["outcome"] if kind in ("filtered", "scores") else np.ones(n, dtype=bool)
    condition = {"condition": data["outcome"].astype(float), "on score": log_odds(data["score"])}.get(kind)
    event = {"scores": data["score"], "on score": data["outcome"].astype(float)}.get(kind, data["event"])
    rows = CountedRows(
        codes=data["codes"], protected=data["protected"], event=event, scanned=scanned, condition=condition,
        count=np.ones(n),
    )  # fmt: skip
    return build_table(rows, arity=ARITY, on_score=bins, real_valued=kind == "scores")


@pytest.mark.parametrize("kind", ["filtered", "condition", "on score", "scores"])
def test_expectations_equal_a_row_by_row_fit(kind: str) -> None:
    """Appendix A.1 done on rows with scikit-learn: propensity odds, weights, two records for a score."""
    from sklearn.linear_model import LogisticRegression

    data = people(np.random.default_rng(4))
    table = table_of(data, kind)
    ours = expected_events(table, Designs.of(table), Expectations(ridge=0.5), observed_moments(table))[0]

    codes, protected = data["codes"], data["protected"]
    x = np.concatenate(
        [np.ones((len(codes), 1)), *(np.eye(k)[codes[:, j]] for j, k in enumerate(ARITY))], axis=1
    )
    settings: dict[str, Any] = {"C": 1 / 0.5, "fit_intercept": False, "tol": 1e-12, "max_iter": 10_000}
    p = LogisticRegression(**settings).fit(x, protected).predict_proba(x)[:, 1]
    c = {"condition": data["outcome"].astype(float), "on score": log_odds(data["score"])}.get(kind)
    z = x if c is None else np.concatenate([x, c[:, None]], axis=1)
    event = {"scores": data["score"], "on score": data["outcome"].astype(float)}.get(kind, data["event"])
    used = ~protected & (~data["outcome"] if kind in ("filtered", "scores") else True)
    weight = (p / (1 - p))[used]
    model = LogisticRegression(**settings).fit(
        np.concatenate([z[used], z[used]]), np.repeat([1, 0], used.sum()),
        sample_weight=np.concatenate([weight * event[used], weight * (1 - event[used])]),
    )  # fmt: skip
    wanted = model.predict_proba(z)[:, 1]
    for cell in np.flatnonzero(table.cell_scanned):
        rows = (codes == table.cell_codes[cell]).all(axis=1)
        rows &= True if c is None else c == table.cell_condition[cell]
        assert ours[cell] == pytest.approx(wanted[rows][0], abs=2e-5)


def test_cells_hold_every_row_once() -> None:
    data = people(np.random.default_rng(5))
    for kind in ("filtered", "condition", "on score", "scores"):
        table = table_of(data, kind)
        sums = observed_moments(table)
        assert sums.protected.sum() == data["protected"].sum()
        assert sums.comparison.sum() == (~data["protected"]).sum()
        scanned = ~data["outcome"] if kind in ("filtered", "scores") else np.ones(400, dtype=bool)
        event = {"scores": data["score"], "on score": data["outcome"].astype(float)}.get(kind, data["event"])
        wanted = event[scanned & data["protected"]].sum()
        assert (sums.protected_events[0] * table.cell_scanned).sum() == pytest.approx(wanted)


def test_spread_is_the_pooled_deviation_of_the_log_odds() -> None:
    data = people(np.random.default_rng(6))
    table = table_of(data, "scores")
    sums = observed_moments(table)
    expected = expected_events(table, Designs.of(table), Expectations(), sums)
    cell_of = {tuple(codes): e for codes, e in zip(table.cell_codes, expected[0], strict=True)}
    scanned = ~data["outcome"]
    delta = log_odds(data["score"]) - log_odds(np.array([cell_of[tuple(codes)] for codes in data["codes"]]))
    # cell_of holds scanned and unscanned cells alike: their expectation depends on X only
    groups = [delta[scanned & data["protected"]], delta[scanned & ~data["protected"]]]
    squares = sum(((one - one.mean()) ** 2).sum() for one in groups)
    wanted = np.sqrt(squares / (scanned.sum() - 2))
    assert spread(table, sums, expected)[0] == pytest.approx(wanted)


@pytest.mark.parametrize("kind", ["filtered", "condition", "on score", "scores"])
def test_stratified_draws_keep_what_they_must(kind: str) -> None:
    """Class sizes per stratum and totals per atom stay; people outside the condition do not move."""
    table = table_of(people(np.random.default_rng(7)), kind, bins=kind == "on score")
    sums = stratified(table)(50, np.random.default_rng(0))
    seen = observed_moments(table)
    for stratum in np.unique(table.cell_stratum):
        cells = table.cell_stratum == stratum
        assert (sums.protected[:, cells].sum(axis=1) == seen.protected[0, cells].sum()).all()
    before = seen.protected_events + seen.comparison_events
    np.testing.assert_allclose(sums.protected_events + sums.comparison_events, np.repeat(before, 50, axis=0))
    outside = ~table.cell_scanned
    assert (sums.protected[:, outside] == seen.protected[:, outside]).all()


def test_stratified_draws_are_hypergeometric() -> None:
    """Counted atoms and single people give the same distribution: the exact mean and variance."""
    n, events, members = 40, 15, 12
    codes = np.zeros((n, 1), dtype=np.int64)
    event = (np.arange(n) < events).astype(float)
    protected = np.arange(n) % n < members
    rows = CountedRows(
        codes=codes, protected=protected, event=event, scanned=np.ones(n, dtype=bool), condition=None,
        count=np.ones(n),
    )  # fmt: skip
    counted = build_table(rows, arity=np.array([1]))
    distinct = replace(rows, event=0.3 + 0.4 * event + np.arange(n) * 1e-9)
    single = build_table(distinct, arity=np.array([1]), real_valued=True)
    mean = members * events / n
    variance = mean * (1 - events / n) * (n - members) / (n - 1)
    draws = stratified(counted)(20_000, np.random.default_rng(1)).protected_events.sum(axis=1)
    scores = stratified(single)(20_000, np.random.default_rng(2)).protected_events.sum(axis=1)
    for got in (draws, (scores - 0.3 * members) / 0.4):
        assert got.mean() == pytest.approx(mean, abs=4 * np.sqrt(variance / 20_000))
        assert got.var() == pytest.approx(variance, rel=0.06)


def test_other_nulls_keep_the_totals() -> None:
    data = people(np.random.default_rng(8))
    table = table_of(data, "filtered")
    seen = observed_moments(table)
    shuffled = whole_sample(table)(30, np.random.default_rng(0))
    assert (shuffled.protected.sum(axis=1) == data["protected"].sum()).all()
    drawn = drawn_class(table, pooled_propensity(table, 0.01, "pairwise"))(200, np.random.default_rng(0))
    assert drawn.protected.sum(axis=1).mean() == pytest.approx(data["protected"].sum(), rel=0.02)
    events = drawn_events(table, pooled_rates(table, 0.01, "pairwise"))(200, np.random.default_rng(0))
    assert (events.protected == seen.protected).all()
    total = ((seen.protected_events + seen.comparison_events)[0] * table.cell_scanned).sum()
    simulated = ((events.protected_events + events.comparison_events) * table.cell_scanned).sum(axis=1)
    assert simulated.mean() == pytest.approx(total, rel=0.03)


def test_rows_that_cannot_move_are_counted() -> None:
    codes = np.array([[0], [0], [0], [1], [1]])
    rows = CountedRows(
        codes=codes, protected=np.array([True, False, False, True, True]), event=np.array([1.0, 0.0, 1.0, 1.0, 0.0]),
        scanned=np.ones(5, dtype=bool), condition=None, count=np.ones(5),
    )  # fmt: skip
    table = build_table(rows, arity=np.array([2]))
    told = MatchedTable.of(table)
    assert (int(told.moves().sum()), told.strata) == (1, 2)
    assert told.share_that_moves() == pytest.approx(1 / 3)  # one of the three in the class


def test_observed_data_and_draws_are_scored_by_the_same_function() -> None:
    """The data passed through as a draw must get the observed score, or the permutation test is not one."""
    for kind in ("filtered", "condition", "on score", "scores"):
        table = table_of(people(np.random.default_rng(9)), kind)
        for search in ("exact", "restarts"):
            setup = prepare(table, directions=("above", "below"), search=search, restarts=20)
            best = scan_observed(setup).found[0].score
            again = scan_draws(setup, observed_moments(table), np.random.default_rng(0))[0]
            assert again == pytest.approx(best, abs=1e-9)


def test_scores_at_the_border_move_inwards() -> None:
    moved, distance = inside_unit_interval(np.array([0.0, 0.004, 0.5, 1.0]))
    assert distance == 0.002
    np.testing.assert_allclose(moved, [0.002, 0.004, 0.5, 0.998])
    untouched, distance = inside_unit_interval(np.array([0.2, 0.7]))
    assert distance == 0.0
    assert untouched.tolist() == [0.2, 0.7]

"""The matched score, ranges, strata of neighbours, depth 2 and the ladder, against numbers and slow oracles."""

from __future__ import annotations

from functools import reduce
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import hypergeom
from tests.oracles.scan_brute_force import bernoulli_score

from fairtrial.papers.conditional_bias_scan import (
    BERNOULLI,
    CellList,
    CellNumbers,
    SearchedCells,
    find_subgroups,
    plan_search,
    set_peak,
)
from inside.scan import (
    Attribute,
    CountedRows,
    MatchedSearch,
    MatchedTable,
    PersonTable,
    ScanTable,
    attributes_of,
    build_table,
    fit_class,
    fit_event,
    matched,
    plan_matched,
    subgroup_count,
)

# methods/scan.md, second part, "Numbers to test against": table M, 4 ordered values × 3
CODES = np.array(np.unravel_index(np.arange(12), (4, 3))).T.astype(np.int64)
IN_CLASS = np.array([20, 15, 25, 30, 20, 10, 25, 25, 20, 15, 30, 20])
EVENTS_IN_CLASS = np.array([5, 6, 7, 17, 12, 2, 14, 13, 5, 4, 9, 7])
EVERYONE = np.array([60, 50, 70, 80, 60, 30, 70, 75, 55, 45, 80, 60])
EVENTS = np.array([16, 18, 17, 30, 24, 7, 28, 29, 15, 13, 28, 17])
EXPECTED = np.array([0.30, 0.35, 0.25, 0.32, 0.37, 0.27, 0.34, 0.39, 0.29, 0.30, 0.35, 0.25])


def table_m(searched: int = 2) -> ScanTable:
    counts = {
        (True, 1.0): EVENTS_IN_CLASS,
        (True, 0.0): IN_CLASS - EVENTS_IN_CLASS,
        (False, 1.0): EVENTS - EVENTS_IN_CLASS,
        (False, 0.0): EVERYONE - IN_CLASS - EVENTS + EVENTS_IN_CLASS,
    }
    rows = CountedRows(
        codes=np.tile(CODES, (4, 1)),
        protected=np.repeat([key[0] for key in counts], 12),
        event=np.repeat([key[1] for key in counts], 12),
        scanned=np.ones(48, dtype=bool),
        condition=None,
        count=np.concatenate(list(counts.values())).astype(float),
    )
    return build_table(rows, arity=np.array([4, 3]), searched=searched)


def test_range_of_one_attribute_by_the_articles_score() -> None:
    """Numbers R of the page."""
    size = np.array([40.0, 30, 50, 20, 60, 40])
    observed = np.array([10.0, 15, 28, 7, 12, 13])
    expected = np.array([0.30, 0.30, 0.35, 0.35, 0.25, 0.25])
    numbers = CellNumbers(BERNOULLI, size, observed, expected)
    peaks = [set_peak(numbers, CellList(np.array([c]), 0, 1), 0.0, np.inf)[0] for c in range(6)]
    assert peaks == pytest.approx([0, 2.615301, 4.575754, 0, 0, 0.566002], abs=5e-7)
    problem = SearchedCells(
        gaussian=False, codes=np.arange(6)[:, None], arity=np.array([6]), size=size, observed=observed,
        expected=expected, penalty=1.0, ordered=np.array([True]),
    )  # fmt: skip
    (found,) = find_subgroups(problem, ("above",), plan_search(problem.arity, 6))
    assert np.flatnonzero(found.values[0]).tolist() == [1, 2]
    assert found.score + 1 == pytest.approx(7.190666, abs=5e-7)
    assert found.theta == pytest.approx(0.855319, abs=5e-7)


def test_range_and_set_by_the_articles_score() -> None:
    """Numbers M: the range 2–3 of the first attribute times the set {1, 2} of the second."""
    problem = SearchedCells(
        gaussian=False, codes=CODES, arity=np.array([4, 3]), size=IN_CLASS.astype(float),
        observed=EVENTS_IN_CLASS.astype(float), expected=EXPECTED, penalty=1.0, ordered=np.array([True, False]),
    )  # fmt: skip
    for order in ([0, 1], [1, 0]):  # the range enumerated, and the range solved
        plan = plan_search(problem.arity, 12)
        plan.order[:] = order
        (found,) = find_subgroups(problem, ("above",), plan)
        assert np.flatnonzero(found.values[0, :4]).tolist() == [1, 2]
        assert np.flatnonzero(found.values[1, :3]).tolist() == [0, 1]
        assert found.score == pytest.approx(5.954297, abs=5e-7)
        assert found.listed == 3


def test_matched_score_of_table_m() -> None:
    table = MatchedTable.of(table_m())
    gain, variance = (numbers[0] for numbers in table.observed())
    assert gain.sum() == pytest.approx(16.990693, abs=5e-7)
    assert variance.sum() == pytest.approx(36.720429, abs=5e-7)
    assert gain.sum() ** 2 / (2 * variance.sum()) == pytest.approx(3.930831, abs=5e-7)
    search = plan_matched(attributes_of(np.array([4, 3]), np.array([True, False])), table.codes, 1.0)
    best = search.ranked(gain, variance, IN_CLASS.astype(float), 1)[0]
    assert np.flatnonzero(best.values[0, :4]).tolist() == [1, 2]
    assert np.flatnonzero(best.values[1, :3]).tolist() == [0, 1]
    assert best.score + 3 == pytest.approx(9.339818, abs=5e-7)


def test_second_attribute_controlled_for_without_being_searched() -> None:
    table = MatchedTable.of(table_m(searched=1))
    gain, variance = (numbers[0] for numbers in table.observed())
    search = plan_matched(attributes_of(np.array([4]), np.array([True])), table.codes, 1.0)
    best = search.ranked(gain, variance, np.ones(4), 1)[0]
    assert np.flatnonzero(best.values[0]).tolist() == [1, 2]
    assert best.score + 1 == pytest.approx(6.833883, abs=5e-7)


def test_exact_p_of_the_whole_class() -> None:
    """One-sided p = .00337590 by convolving hypergeometric laws; the draws agree with them."""
    laws = [
        hypergeom(n, e, m).pmf(np.arange(m + 1)) for n, e, m in zip(EVERYONE, EVENTS, IN_CLASS, strict=True)
    ]
    law = reduce(np.convolve, laws)
    exact = law[EVENTS_IN_CLASS.sum() :].sum()
    assert exact == pytest.approx(0.00337590, abs=5e-9)
    table = MatchedTable.of(table_m(searched=0))
    draws = matched.stratified(table)(40_000, np.random.default_rng(4)).gain[:, 0]
    reached = (draws >= table.observed().gain.sum() - 1e-9).mean()
    assert reached == pytest.approx(exact, abs=4 * np.sqrt(exact / 40_000))


def test_twice_the_score_of_the_class_is_mantel_and_haenszels_statistic() -> None:
    """statsmodels' test of several 2 × 2 tables, without its correction."""
    from statsmodels.stats.contingency_tables import StratifiedTable

    tables = [
        np.array([[o, m - o], [e - o, n - m - e + o]])
        for o, m, e, n in zip(EVENTS_IN_CLASS, IN_CLASS, EVENTS, EVERYONE, strict=True)
    ]
    wanted = StratifiedTable(tables).test_null_odds(correction=False).statistic
    gain, variance = MatchedTable.of(table_m()).observed()
    assert gain.sum() ** 2 / variance.sum() == pytest.approx(wanted)


# -- search ------------------------------------------------------------------------------------------------------


def slowly(
    attributes: tuple[Attribute, ...], codes: Any, numbers: tuple[Any, Any], penalty: float, depth: int
) -> float:
    """Every subgroup, one by one."""
    best = -np.inf
    for chosen in product(*([*zip(one.sets(), one.listed(one.sets()), strict=True)] for one in attributes)):
        if sum(not values.all() for values, _ in chosen) > depth:
            continue
        inside = np.ones(len(codes), dtype=bool)
        for j, (values, _) in enumerate(chosen):
            inside &= values[codes[:, j]]
        gain, variance = (part[inside].sum() for part in numbers)
        score = max(gain, 0.0) ** 2 / (2 * variance) if variance > 1e-12 else 0.0
        best = max(best, score - penalty * sum(listed for _, listed in chosen))
    return best


def random_attributes(random: np.random.Generator) -> tuple[Attribute, ...]:
    made = []
    for _ in range(random.integers(1, 4)):
        values, ordered = int(random.integers(1, 6)), bool(random.random() < 0.5)
        values = 8 if not ordered and random.random() < 0.15 else values  # long enough to be solved
        made.append(
            Attribute(
                values=values, ordered=ordered, apart=int(ordered and values > 2 and random.random() < 0.3)
            )
        )
    return tuple(made)


@pytest.mark.slow
def test_matched_search_equals_trying_every_subgroup() -> None:
    """Sets and ranges, free and penalised, all subgroups and those of two attributes, data and draws."""
    random = np.random.default_rng(11)
    tried = 0
    while tried < 120:
        attributes = random_attributes(random)
        if subgroup_count(attributes) > 5_000:
            continue
        tried += 1
        shape = [one.values for one in attributes]
        codes = np.array(np.unravel_index(np.arange(np.prod(shape)), shape)).T
        codes = codes[np.sort(random.permutation(len(codes))[: random.integers(1, len(codes) + 1)])]
        gain, variance = 3 * random.normal(size=len(codes)), random.uniform(0.5, 6, size=len(codes))
        empty = random.random(len(codes)) < 0.2
        gain[empty] = variance[empty] = 0.0
        penalty = float(random.choice([0.0, 0.5, 1.0]))
        for depth in (None, 2):
            search = MatchedSearch(
                attributes=attributes, codes=codes, penalty=penalty, depth=depth if len(shape) > 2 else None
            )
            wanted = [
                slowly(attributes, codes, (side, variance), penalty, depth or 9) for side in (gain, -gain)
            ]
            assert search.maxima(np.stack([gain, -gain]), variance[None]) == pytest.approx(wanted, abs=1e-9)
            best = search.ranked(gain, variance, np.ones(len(codes)), 3)[0]
            assert best.score == pytest.approx(wanted[0], abs=1e-7)


def test_ranges_of_the_articles_score_equal_trying_every_one() -> None:
    random = np.random.default_rng(12)
    for _ in range(30):
        arity = random.integers(2, 5, size=2)
        codes = np.array(np.unravel_index(np.arange(arity.prod()), arity)).T.astype(np.int64)
        size = random.integers(1, 40, size=len(codes)).astype(float)
        expected = random.uniform(0.1, 0.9, size=len(codes))
        observed = random.binomial(size.astype(int), np.clip(expected + random.normal(0, 0.2), 0, 1)).astype(
            float
        )
        ordered = np.array([True, bool(random.integers(2))])
        attributes = attributes_of(arity, ordered)
        best = -np.inf
        for first, second in product(attributes[0].sets(), attributes[1].sets()):
            inside = first[codes[:, 0]] & second[codes[:, 1]]
            price = int(attributes[0].listed(first) + attributes[1].listed(second))
            best = max(best, bernoulli_score(observed[inside], size[inside], expected[inside]) - price)
        problem = SearchedCells(
            gaussian=False, codes=codes, arity=arity, size=size, observed=observed, expected=expected, penalty=1.0,
            ordered=ordered,
        )  # fmt: skip
        (found,) = find_subgroups(problem, ("above",), plan_search(arity, len(size), "exact"))
        assert found.score == pytest.approx(best, abs=1e-8 * (1 + abs(best)))


def test_ranges_are_few() -> None:
    eight = Attribute(values=8, ordered=True)
    assert eight.count == len(eight.sets()) == 36
    assert Attribute(values=8).count == 255
    with_missing = Attribute(values=4, ordered=True, apart=1)
    assert {tuple(one) for one in with_missing.sets().astype(int)} == {
        (1, 1, 1, 1), (1, 1, 1, 0), (1, 1, 0, 0), (0, 1, 1, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1),
    }  # fmt: skip
    assert with_missing.count == 8


def test_many_attributes_are_searched_two_at_a_time_in_data_and_draws() -> None:
    attributes = attributes_of(np.full(10, 3))
    codes = np.random.default_rng(1).integers(0, 3, size=(50, 10))
    plan = plan_matched(attributes, codes, 1.0)
    assert plan.depth == 2
    assert plan.subgroups == 1 + 10 * 6 + 45 * 36
    assert plan.all_subgroups == 7.0**10
    assert plan_matched(attributes[:4], codes[:, :4], 1.0).depth is None
    assert plan_matched(attributes[:4], codes[:, :4], 1.0, "depth-2").depth == 2


# -- strata and models -------------------------------------------------------------------------------------------


def people(n: int = 400, seed: int = 0, attributes: int = 1) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    codes = random.integers(0, 3, size=(n, attributes))
    return {
        "codes": codes, "protected": random.random(n) < 0.4, "event": (random.random(n) < 0.5).astype(float),
        "scanned": np.ones(n, dtype=bool), "count": np.ones(n), "score": random.random(n),
    }  # fmt: skip


def built(data: dict[str, Any], condition: Any = None, **options: Any) -> ScanTable:
    rows = CountedRows(**{key: data[key] for key in data if key != "score"}, condition=condition)
    return build_table(rows, arity=np.full(data["codes"].shape[1], 3), **options)


def test_strata_are_runs_of_twenty_neighbouring_scores() -> None:
    data = people()
    table = built(data, data["score"], on_score=True)
    for x in range(len(table.x_codes)):
        cells = np.flatnonzero(table.cell_x == x)
        cells = cells[np.argsort(table.cell_condition[cells])]
        runs = table.cell_stratum[cells]
        assert (np.diff(runs) >= 0).all()  # neighbours, in order
        sizes = np.bincount(runs)[np.unique(runs)]
        assert (sizes[:-1] == 20).all()
        assert sizes[-1] <= 20


def test_one_score_is_never_parted_and_many_of_it_stand_alone() -> None:
    data = people()
    score = np.round(data["score"] * 4) / 4
    table = built(data, score, on_score=True)
    assert len(np.unique(table.cell_stratum)) == len(
        table.cell_stratum
    )  # every score of a cell has 20 people


@pytest.mark.parametrize("kind", ["0/1 events", "scores"])
def test_stratified_draws_have_mean_zero_and_the_variance_v(kind: str) -> None:
    data = people(120, seed=3)
    if kind == "scores":
        data["event"] = np.round(data["score"], 1)
    table = MatchedTable.of(built(data, real_valued=kind == "scores"))
    drawn = matched.stratified(table)(20_000, np.random.default_rng(0))
    spread = drawn.variance[0]
    assert drawn.gain.mean(axis=0) == pytest.approx(np.zeros(3), abs=4 * np.sqrt(spread.max() / 20_000))
    assert drawn.gain.var(axis=0) == pytest.approx(spread, rel=0.05)


def test_person_score_of_a_saturated_model_is_nearly_the_matched_one() -> None:
    """ê and m̂ of each stratum's own: T is the same, V differs by N/(N−1)."""
    table = built(people())
    own = MatchedTable.of(table)
    chance = table.per_cell(table.atom_protected) / table.per_cell(table.atom_total)
    rates = table.per_cell(table.atom_total * table.atom_event) / table.per_cell(table.atom_total)
    persons = PersonTable.of(table, chance, rates)
    assert persons.observed().gain == pytest.approx(own.observed().gain)
    n = table.per_cell(table.atom_total)
    assert persons.observed().variance[0] == pytest.approx(own.observed().variance[0] * (n - 1) / n)


def test_models_find_the_tables_they_need_and_see_only_their_own_side() -> None:
    random = np.random.default_rng(5)
    codes = random.integers(0, 3, size=(2000, 6))
    crossed = np.where(codes[:, 2] == codes[:, 3], 1.0, -0.5)
    data = people(2000, attributes=6) | {"codes": codes}
    data["protected"] = random.random(2000) < 1 / (1 + np.exp(-crossed))
    table = built(data)
    assert fit_class(table).blocks[0] == (2, 3)
    assert (2, 3) not in fit_event(table).blocks
    other = built(data | {"event": (random.random(2000) < 0.3).astype(float)})
    by_cell = {
        tuple(codes): rate for codes, rate in zip(other.cell_codes, fit_class(other).rates, strict=True)
    }
    for codes_of, rate in zip(table.cell_codes, fit_class(table).rates, strict=True):
        assert by_cell[tuple(codes_of)] == pytest.approx(rate, abs=1e-9)


def test_of_tables_that_are_all_beyond_doubt_the_clearest_is_taken() -> None:
    """With 60,000 people p is 0 for the table that is needed and for every table of three that holds it."""
    random = np.random.default_rng(5)
    codes = random.integers(0, 3, size=(60_000, 6))
    crossed = np.where(codes[:, 2] == codes[:, 3], 1.0, -0.5) + np.where(
        codes[:, 4] == codes[:, 5], 0.6, -0.3
    )
    data = people(60_000, attributes=6) | {"codes": codes}
    data["protected"] = random.random(60_000) < 1 / (1 + np.exp(-crossed))
    assert fit_class(built(data)).blocks[:2] == ((2, 3), (4, 5))


def test_main_effects_equal_statsmodels_fit() -> None:
    """With next to no ridge the fit is the maximum of the likelihood."""
    import statsmodels.api as sm

    from inside.scan import blocks

    data = people(600, seed=8, attributes=2)
    table = built(data)
    usual = blocks.RIDGE
    try:
        blocks.RIDGE = 1e-7
        ours = blocks._selected(
            blocks.ScannedCells.of(table),
            table.per_cell(table.atom_total),
            table.per_cell(table.atom_protected),
            real=False,
        )[0]
    finally:
        blocks.RIDGE = usual
    dummies = np.concatenate([np.eye(3)[table.cell_codes[:, j]][:, 1:] for j in range(2)], axis=1)
    n, inside = table.per_cell(table.atom_total), table.per_cell(table.atom_protected)
    model = sm.GLM(
        np.column_stack([inside, n - inside]), sm.add_constant(dummies), family=sm.families.Binomial()
    )
    assert ours == pytest.approx(model.fit().fittedvalues, abs=1e-4)


def test_strata_of_several_numbers_are_halved_as_long_as_both_halves_have_people_enough() -> None:
    random = np.random.default_rng(6)
    data = people(2000, seed=6)
    numbers = (np.floor(64 * random.random(2000)), np.floor(8 * random.random(2000)))
    rows = CountedRows(**{key: data[key] for key in data if key != "score"}, condition=None, near=numbers)
    table = build_table(rows, arity=np.array([3]))
    sizes = np.bincount(table.cell_stratum[table.atom_cell], table.atom_total)
    assert sizes.min() >= 20
    assert sizes.max() < 120  # a home of 700 would be one stratum without them
    assert MatchedTable.of(table).codes.tolist() == [[0], [1], [2]]
    # whatever class and event are: the same strata when both are dealt out anew
    other = data | {
        "protected": random.permutation(data["protected"]),
        "event": random.permutation(data["event"]),
    }
    again = build_table(
        CountedRows(**{key: other[key] for key in other if key != "score"}, condition=None, near=numbers),
        arity=np.array([3]),
    )
    assert np.bincount(again.cell_stratum[again.atom_cell], again.atom_total).tolist() == sizes.tolist()


def test_two_long_attributes_are_solved_in_turn_and_never_beat_the_best_set_of_either() -> None:
    random = np.random.default_rng(13)
    codes = np.array(np.unravel_index(np.arange(14 * 15), (14, 15))).T
    attributes = (*attributes_of(np.array([14, 15])), Attribute(values=2))
    codes = np.concatenate([np.column_stack([codes, np.full(len(codes), v)]) for v in range(2)])
    gain, variance = random.normal(size=len(codes)), np.ones(len(codes))
    gain[(codes[:, 0] < 3) & (codes[:, 1] < 4)] += 3.0
    search = plan_matched(attributes, codes, 1.0)
    assert search.alternating
    best = search.ranked(gain, variance, np.ones(len(codes)), 1)[0]
    assert best.score == pytest.approx(search.maxima(gain[None], variance[None])[0])
    assert np.flatnonzero(best.values[0, :14]).tolist() == [0, 1, 2]
    assert np.flatnonzero(best.values[1, :15]).tolist() == [0, 1, 2, 3]

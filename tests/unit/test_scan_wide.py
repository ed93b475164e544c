"""Scans of many attributes with many values: compiled tables and search against trying everything, and what is told."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from tests.oracles.scan_two_way import best_two_way

from fairtrial import Audit, scan
from inside.scan import (
    MatchedSearch,
    WideSearch,
    as_codes,
    attributes_of,
    best_in_tables,
    blocks,
    joint_sets,
    matched_search,
    pairs_of,
    tables_of,
    two_way_tables,
    usual_price,
)

pytestmark = pytest.mark.filterwarnings("ignore::fairtrial.FairtrialWarning")


def problem(number: int, most: int) -> tuple[Any, ...]:
    """Codes, T and V of a few cells: ties, cells of nobody, a constant attribute, ranges, missing values apart."""
    random = np.random.default_rng(number)
    arity = random.integers(1, most, 3)
    arity[number % 3] = 1 if number % 4 == 0 else arity[number % 3]
    ordered = random.random(3) < 0.4
    apart = np.where(ordered & (arity > 1) & (random.random(3) < 0.5), 1, 0)
    cells = int(random.integers(2, 25))
    codes = np.column_stack([random.integers(0, size, cells) for size in arity])
    gain, variance = random.normal(size=cells), random.exponential(size=cells)
    if number % 2:  # whole numbers tie
        variance = np.round(variance)
        gain = np.where(variance > 0, np.round(gain), 0.0)
    return codes, gain, variance, attributes_of(arity, ordered, apart), float(random.choice([0.0, 0.5, 1.0]))


def compiled(codes: Any, gain: Any, variance: Any, attributes: Any, penalty: float) -> Any:
    pairs, small = pairs_of(attributes), as_codes(codes)
    return best_in_tables(
        pairs, two_way_tables(pairs, small, gain), two_way_tables(pairs, small, variance), penalty
    )


@pytest.mark.parametrize("number", range(24))
def test_the_compiled_search_equals_trying_every_subgroup(number: int) -> None:
    codes, gain, variance, attributes, penalty = problem(number, 5)
    kinds = [(one.values, one.ordered, one.apart) for one in attributes]
    expected = best_two_way(codes.tolist(), gain.tolist(), variance.tolist(), kinds, penalty)
    found = compiled(codes, gain[None], variance[None], attributes, penalty)
    assert found[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("long", [False, True])
def test_the_compiled_search_equals_the_plain_one(long: bool) -> None:
    for number in range(12):
        codes, gain, variance, attributes, penalty = problem(100 + number, 9)
        if long:  # two unordered attributes of more than 12 values: solved in turn by both
            random = np.random.default_rng(number)
            cells = 200
            arity = np.array([14, 3, 17])
            attributes = attributes_of(arity)
            codes = np.column_stack([random.integers(0, size, cells) for size in arity])
            gain, variance = random.normal(size=(3, cells)), random.exponential(size=(3, cells))
        else:
            other = np.where(variance > 0, gain[::-1], 0.0)  # nobody who varies, nothing gained
            gain, variance = np.stack([gain, -gain, other]), variance[None]
        plain = MatchedSearch(attributes=attributes, codes=codes, penalty=penalty, depth=2)
        assert plain.wide is None
        np.testing.assert_allclose(
            compiled(codes, gain, variance, attributes, penalty), plain.maxima(gain, variance), atol=1e-9
        )


def test_both_sides_of_the_same_draws_are_those_of_each_alone() -> None:
    codes, gain, variance, attributes, penalty = problem(7, 9)
    wide, draws = WideSearch(attributes, codes, penalty), np.stack([gain, gain[::-1]])
    above, below = (wide.maxima(side, variance[None]) for side in (draws, -draws))
    np.testing.assert_array_equal(wide.maxima(draws, variance[None], (-1,)), below)
    np.testing.assert_array_equal(wide.maxima(draws, variance[None], (1, -1)), np.maximum(above, below))


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("draws", [1, 2, 3, 4])
def test_tables_of_few_attributes_are_those_of_each_alone(order: int, draws: int) -> None:
    random = np.random.default_rng(draws)
    arity, cells = (2, 1, 300, 3, 12, 5, 400), 5_000
    codes = np.column_stack([random.integers(0, size, cells) for size in arity])
    numbers = random.normal(size=(draws, cells))
    sets = joint_sets(arity, order, 64, 20_000)
    found = dict(tables_of(as_codes(codes), arity, sets, numbers))
    wanted = {own for own in combinations(range(7), order) if np.prod([arity[j] for j in own]) <= 20_000}
    assert found.keys() == wanted
    assert len(sets) < len(wanted)
    for own, table in found.items():
        expected = np.zeros((*(arity[j] for j in own), draws))
        np.add.at(expected, tuple(codes[:, j] for j in own), numbers.T)
        np.testing.assert_allclose(table, expected, atol=1e-12)


def test_values_beyond_two_bytes_keep_their_numbers() -> None:
    codes = np.array([[0, 2], [65_535, 1], [65_536, 0]])
    assert as_codes(codes).dtype == np.uint32
    assert as_codes(codes[:2]).dtype == np.uint16
    np.testing.assert_array_equal(as_codes(codes), codes)
    found = dict(tables_of(as_codes(codes), (70_000, 3), joint_sets((70_000, 3), 2, 8), np.ones((1, 3))))
    assert found[0, 1][65_536, 0] == 1.0
    assert found[0, 1].sum() == 3.0


def counted(number: int, smooth: bool = False) -> tuple[blocks.ScannedCells, Any, Any]:
    random = np.random.default_rng(number)
    arity = np.array([2, 3, 8, 12, 1, 9])
    codes = np.column_stack([random.integers(0, size, 4_000) for size in arity])
    people = random.integers(1, 4, 4_000).astype(float)
    eta = (
        -1
        + 0.3 * codes[:, 0]
        - 0.9 * (codes[:, 1] == 1) * (codes[:, 2] == 2)
        + 0.8 * (codes[:, 3] % 2) * (codes[:, 5] % 2)
    )
    yes = random.binomial(people.astype(int), 1 / (1 + np.exp(-eta))).astype(float)
    return blocks.ScannedCells(codes=codes, arity=arity, smooth=None, people=people.sum()), people, yes


def test_compiled_models_are_those_of_the_plain_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    cells, people, yes = counted(3)
    fitted, chosen = blocks._selected(cells, people, yes, real=False)
    monkeypatch.setattr(blocks, "_COMPILED_FROM", 0)
    other, same = blocks._selected(cells, people, yes, real=False)
    assert chosen == same
    assert (3, 5) in chosen  # the planted table
    np.testing.assert_allclose(fitted, other, atol=1e-9)


def test_large_tables_of_few_people_are_not_looked_at() -> None:
    cells, _, _ = counted(3)
    assert cells.thin((2, 3, 5))  # 864 cells, 8,000 people
    assert not cells.thin((1, 3, 5))  # 324 cells


ARITIES = (2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 8, 12, 13, 30, 50)


def wide_audit(planted: float) -> Audit:
    random = np.random.default_rng(8)
    people = 4_000
    values = {f"x{place}": random.integers(0, size, people) for place, size in enumerate(ARITIES)}
    inside = random.random(people) < 0.4
    harmed = inside & (values["x3"] == 1) & np.isin(values["x11"], [2, 3, 4, 5])
    decided = random.random(people) < 0.3 + planted * harmed
    data: dict[str, Any] = {name: [f"v{value:02d}" for value in codes] for name, codes in values.items()}
    data |= {
        "class": np.where(inside, "a", "b"),
        "decision": decided.astype(int),
        "nothing": ["same"] * people,
    }
    return Audit(data, decision="decision", groups="class", features=[*values, "nothing"])


def asked(audit: Audit) -> Any:
    return scan(audit, "selection_rate", protected={"class": "a"}, direction="above", permutations=19)


def test_a_wide_scan_tells_what_was_proved_and_finds_what_was_planted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = asked(wide_audit(0.5))
    assert found.search == "depth 2"
    assert found.p_value == 0.05  # the least that 19 draws can give
    first = found.estimates[0]["subgroup"]
    assert "x3: v01" in first
    assert "x11: v02 or v03 or v04 or v05" in first
    assert found.details["pairs_in_turn"] == 3  # of 13, 30 and 50 values
    said = next(note.text for note in found.notes if note.code == "search")
    assert "proved for 117 of the 120 pairs of features; 3 pairs with more than 12 values each" in said
    assert said.endswith(
        "A listed value costs 1.96 of the score, since a feature has many values."
    )  # ½ ln 50
    assert any("were not looked at" in note.text for note in found.notes)
    assert any("nothing has one value only" in note.text for note in found.notes)
    for module in (matched_search, blocks):
        monkeypatch.setattr(module, "_COMPILED_FROM", np.inf)
    plain = asked(wide_audit(0.5))
    np.testing.assert_allclose(found.objects["null_scores"], plain.objects["null_scores"], rtol=1e-9)
    assert [row["subgroup"] for row in found.estimates] == [row["subgroup"] for row in plain.estimates]


def test_a_listed_value_costs_more_where_there_are_many() -> None:
    """As told: max(1, ½ ln k) of the most values of an unordered attribute; without a step, and ranges do not count."""
    most = np.arange(1, 200)
    prices = [usual_price(attributes_of(np.array([3, k]))) for k in most]
    np.testing.assert_allclose(prices, np.maximum(1.0, np.log(np.maximum(most, 3)) / 2.0), rtol=1e-12)
    assert usual_price(attributes_of(np.array([3, 50]), np.array([False, True]))) == 1.0
    assert usual_price(attributes_of(np.array([50, 8]), np.array([True, True]))) == 1.0


def test_the_default_price_is_the_one_that_is_told() -> None:
    audit = wide_audit(0.5)
    by_default = asked(audit)
    given = scan(
        audit, "selection_rate", protected={"class": "a"}, direction="above", permutations=19,
        penalty=float(np.log(50) / 2.0),
    )  # fmt: skip
    assert given.estimates == by_default.estimates
    said = next(note.text for note in given.notes if note.code == "search")
    assert "costs" not in said  # who gives a price knows it

"""Sequences b of one's own: over the groups of one attribute, and over the levels of several (Theorem A.1)."""

from __future__ import annotations

from itertools import chain, combinations, product
from math import factorial
from typing import Any

import numpy as np
import pytest

import fairtrial

ROWS = np.random.default_rng(5)
SEX, RACE = ROWS.choice(["f", "m"], 400), ROWS.choice(["a", "b"], 400)
DECIDED = (ROWS.random(400) < 0.3 + 0.2 * (SEX == "m") + 0.2 * (RACE == "b")).astype(int)
SKILL = DECIDED + ROWS.normal(size=400)
AUDIT = fairtrial.Audit(
    {"sex": SEX, "race": RACE, "decided": DECIDED, "skill": SKILL},
    decision="decided",
    groups=["sex", "race"],
    features=["skill"],
)


def subsets(levels: tuple[str, ...]) -> list[frozenset[str]]:
    sizes = range(1, len(levels) + 1)
    return [frozenset(found) for found in chain.from_iterable(combinations(levels, size) for size in sizes)]


def weight(b: list[float], level: str, union: frozenset[str]) -> float:
    """c_a(J) = P(s−1)·b_s inside J, −P(s)·b_s outside, written from the definition alone."""
    n, s = len(b) - 1, len(union)

    def share(size: int) -> float:
        return factorial(n - size - 1) * factorial(size) / factorial(n)

    return share(s - 1) * b[s] if level in union else (-share(s) * b[s] if s < n else 0.0)


def theorem_a1(b: list[float], decided: np.ndarray) -> dict[tuple[str, str], float]:
    """φ of every cell, from rates pooled over products of level sets, over the baseline ½ of a coin."""
    found = {}
    for sex, race in product("fm", "ab"):
        total = 0.0
        for first, second in product(subsets(("f", "m")), subsets(("a", "b"))):
            inside = np.isin(SEX, list(first)) & np.isin(RACE, list(second))
            total += weight(b, sex, first) * weight(b, race, second) * decided[inside].mean() / 0.5
        found[sex, race] = total
    return found


def values(result: Any) -> dict[str, float]:
    return {row["group"]: row["value"] for row in result.estimates if row["part"] == "value"}


def ask(**options: Any) -> Any:
    rule = {(): np.zeros(400), ("skill",): DECIDED}
    settings = {"coalitions": rule, "features": ["skill"], "sensitive": "absent"}
    return fairtrial.explain(AUDIT, "selection_rate", **settings, **options)


@pytest.mark.parametrize("first", [0.25, 1.0, 3.0])
def test_binary_attributes_take_one_number(first: float) -> None:
    """The theorem's case; every value was Shapley's once, whatever was given."""
    given = {"groups": [first]}
    found = values(ask(by=["sex", "race"], allocation=given))
    expected = theorem_a1([0.0, first, 1.0], DECIDED)
    assert len(found) == 4
    for (sex, race), value in expected.items():
        assert found[f"{sex}, {race}"] == pytest.approx(value, abs=1e-12)


def test_a_function_is_asked_for_each_attribute() -> None:
    by_function = values(ask(by=["sex", "race"], allocation={"groups": lambda s, n: s / (s + 1)}))
    assert by_function == pytest.approx(values(ask(by=["sex", "race"], allocation={"groups": [0.5]})))
    assert by_function == pytest.approx(values(ask(by=["sex", "race"], allocation="solidarity")))


def test_numbers_for_another_number_of_levels_are_refused() -> None:
    with pytest.raises(fairtrial.InputError, match="2 players need 1 numbers"):
        ask(by=["sex", "race"], allocation={"groups": [1.0, 1.0, 1.0]})
    with pytest.raises(fairtrial.InputError, match="cannot tell them apart"):
        ask(by=["sex", "race"], allocation={"groups": [0.0]})


def test_more_than_two_groups_say_what_the_gaps_contributions_are() -> None:
    """Remark 3.1 is of two groups: with more, C_a − C_c is not what a gap's own game gives."""
    rule: dict[Any, Any] = {(): np.zeros(400), ("skill",): DECIDED}
    for by, said in ((["sex", "race"], True), ("sex", False)):
        found = fairtrial.papers.shapley_rawls.explain(
            AUDIT, "selection_rate", by=by, coalitions=rule, features=["skill"], sensitive="absent"
        )
        assert any(note.code == "pairs" for note in found.notes) == said

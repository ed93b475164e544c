"""People with several rows: what each method makes of `unit=`, and that a unit of one row each changes nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairtrial as ft
from fairtrial import InputError
from inside.ground import NotApplicable
from inside.improve import ImproveRequest
from inside.scan import CountedRows, MatchedTable, PersonRows, PersonStrata, build_table


def decisions(people: int = 60, each: int = 5, seed: int = 4) -> pd.DataFrame:
    """Several decisions of each person, who is in one group for good; the first two groups differ."""
    random = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), each)
    group = np.array(["a", "b", "c"])[person % 3]
    own = np.clip(0.35 + 0.2 * random.normal(size=people), 0.05, 0.9)[person] + 0.25 * (group == "b")
    score = np.clip(own + 0.3 * random.normal(size=person.size), 0, 1)
    outcome = (random.random(person.size) < 0.5).astype(int)
    return pd.DataFrame(
        {
            "g": group,
            "person": person,
            "row": range(person.size),
            "s": score,
            "d": (score > 0.5).astype(int),
            "y": outcome,
        }
    )


def numbers(result: Any) -> list[dict[str, Any]]:
    return [dict(row) for row in result.estimates]


# -- transport ----------------------------------------------------------------------------------------------------
def transport(unit: str | None, groups: str = "ab", **options: Any) -> ft.TransportResult:
    frame = decisions()
    audit = ft.Audit(frame[frame["g"].isin(list(groups))], score="s", threshold=0.5, groups="g", unit=unit)
    return ft.transport(audit, "statistical_parity", **options)


def test_transport_tests_the_gap_that_measure_states() -> None:
    frame = decisions()
    audit = ft.Audit(frame[frame["g"] != "c"], score="s", threshold=0.5, groups="g", unit="person")
    result = ft.transport(audit, "statistical_parity", target={"g": "a"})
    measured = next(
        row
        for row in ft.measure(audit, "selection_rate", target={"g": "a"}, minimum=2).estimates
        if row["group"] == "b"
    )
    row = next(row for row in result.estimates if row["group"] == "b")
    assert result.details["p_value"] == pytest.approx(measured["p_value"], rel=1e-9)
    for name in ("n", "target_n", "rate", "difference", "difference_low", "difference_high"):
        assert row[name] == pytest.approx(measured[name]), name
    assert row["n"] == 20, "people, not rows"
    assert any(note.code == "repeated-people" for note in result.notes)


def test_transport_with_a_unit_of_one_row_each_is_plain() -> None:
    plain, alone = transport(None, "abc"), transport("row", "abc")
    assert numbers(plain) == numbers(alone)
    assert plain.details["p_value"] == alone.details["p_value"]


def test_transport_moves_the_same_rows_whoever_they_belong_to() -> None:
    plain, together = transport(None, "abc"), transport("person", "abc")
    assert plain.details["moved"] == together.details["moved"]
    assert together.details["p_value"] > plain.details["p_value"]
    for options in ({"tolerance": 0.05}, {"tolerance": 0.05, "direction": "above"}):
        assert 0 < transport("person", "abc", **options).details["p_value"] <= 1


def test_transport_says_what_it_cannot_honour() -> None:
    with pytest.raises(NotApplicable, match="'paper' takes every row for a person of its own"):
        ft.papers.transport.fairness_test(
            ft.Audit(decisions(), score="s", threshold=0.5, groups="g", unit="person"), "statistical_parity"
        )
    frame = decisions().assign(w=1.5)
    with pytest.raises(NotApplicable, match="'weight' is not honoured by"):
        ft.transport(ft.Audit(frame, score="s", threshold=0.5, groups="g", weight="w"), "statistical_parity")


# -- scan ---------------------------------------------------------------------------------------------------------
def visits(people: int = 240) -> pd.DataFrame:
    """Visits of persons, some of whom are treated worse; the class and the features are the person's own."""
    random = np.random.default_rng(2)
    person = np.repeat(np.arange(people), random.integers(1, 5, people))
    group = np.array(["a", "b"])[person % 2]
    x, z = (random.integers(0, size, people)[person] for size in (3, 2))
    own = np.clip(0.4 + 0.25 * random.normal(size=people), 0.05, 0.9)[person] + 0.4 * (
        (group == "b") & (x == 1)
    )
    decision = (random.random(person.size) < own).astype(int)
    columns = {
        "g": group,
        "person": person,
        "row": range(person.size),
        "x": x.astype(str),
        "z": z.astype(str),
    }
    return pd.DataFrame({**columns, "d": decision, "w": 1.5})


def scan(unit: str | None, frame: pd.DataFrame | None = None, **options: Any) -> ft.ScanResult:
    audit = ft.Audit(
        visits() if frame is None else frame, decision="d", groups="g", features=["x", "z"], unit=unit
    )
    return ft.scan(audit, "selection_rate", protected={"g": "b"}, permutations=199, **options)


def test_scan_with_a_unit_of_one_row_each_is_plain() -> None:
    assert numbers(scan(None)) == numbers(scan("row"))


def test_scan_counts_persons_and_is_less_sure_of_them() -> None:
    frame = visits()
    together = scan("person").estimates[0]
    plain = next(row for row in scan(None).estimates if row["subgroup"] == "x: 1")
    inside = frame[(frame["g"] == "b") & (frame["x"] == "1")]
    assert together["subgroup"] == "x: 1"
    assert together["n"] == inside["person"].nunique()
    assert plain["n"] == len(inside)
    assert together["rate"] == plain["rate"] == pytest.approx(inside["d"].mean())
    assert together["score"] < plain["score"]
    assert together["rate_low"] < plain["rate_low"]
    assert together["rate_high"] > plain["rate_high"]
    assert together["p_value"] <= 0.05


def test_the_contrast_of_persons_by_hand() -> None:
    """Persons alike of two rows each: T and V of their sums, as Mantel and Haenszel's of a stratum."""
    random = np.random.default_rng(0)
    person = np.repeat(np.arange(40), 2)
    inside = person % 2 == 1
    event = (random.random(80) < 0.3 + 0.4 * inside).astype(float)
    counted = CountedRows(
        codes=np.zeros((80, 1), dtype=np.int64), protected=inside, event=event, scanned=np.ones(80, dtype=bool),
        condition=None, count=np.ones(80),
    )  # fmt: skip
    table = build_table(counted, arity=np.array([1]))
    assert table.row_atom is not None
    rows = PersonRows(atom=table.row_atom, person=person, count=np.ones(80), protected=inside)
    found = PersonStrata.of(table, MatchedTable.of(table), rows)
    sums = np.bincount(person, event)
    own = np.arange(40) % 2 == 1
    contrast = found.observed()
    assert contrast.gain[0, 0] == pytest.approx(sums[own].sum() - 20 * sums.mean())
    spread = 20 * 20 / (40 * 39) * ((sums - sums.mean()) ** 2).sum()
    assert contrast.variance[0, 0] == pytest.approx(spread)
    drawn = found.drawn()(4000, np.random.default_rng(1)).gain[:, 0]
    assert abs(drawn.mean()) < 4 * np.sqrt(spread / 4000)
    assert drawn.var() == pytest.approx(spread, rel=0.1), "four standard errors of a variance of 4,000 draws"


def test_scan_says_what_it_cannot_honour() -> None:
    with pytest.raises(NotApplicable, match="'propensity' draws row by row"):
        scan("person", null="propensity")
    repeated = ft.Audit(visits(), decision="d", groups="g", features="x", unit="person")
    with pytest.raises(
        NotApplicable, match="'unit' is not honoured by scan, because its rows are people, each once"
    ):
        ft.papers.conditional_bias_scan.scan(repeated, "selection_rate", protected={"g": "b"})
    mixed = visits()
    first = mixed.index[mixed["person"].duplicated()][0]
    mixed.loc[first, "g"] = "b" if mixed.loc[first, "g"] == "a" else "a"
    with pytest.raises(NotApplicable, match="has rows inside and outside of g: b for 1 of its values"):
        scan("person", mixed)
    weighted = ft.Audit(visits(), decision="d", groups="g", features="x", weight="w")
    with pytest.raises(NotApplicable, match="'weight' is not honoured by"):
        ft.scan(weighted, "selection_rate", protected={"g": "b"})


def test_a_scan_of_every_class_honours_persons_too() -> None:
    audit = ft.Audit(visits(), decision="d", groups="g", features=["x", "z"], unit="person")
    result = ft.scan(audit, "selection_rate", protected="g", permutations=799)
    best = next(row for row in result.estimates if row["protected"] == "g: b")
    assert best["n"] == scan("person").estimates[0]["n"]


# -- improve ------------------------------------------------------------------------------------------------------
def rules(people: int = 120) -> pd.DataFrame:
    """Two rules of which the second is fairer; several decisions of each person."""
    random = np.random.default_rng(6)
    person = np.repeat(np.arange(people), 4)
    group = np.array(["a", "b"])[person % 2]
    outcome = (random.random(person.size) < 0.5).astype(int)
    score = 0.3 * outcome + 0.5 * random.random(person.size) + 0.15 * (group == "a")
    columns = {"g": group, "person": person, "row": range(person.size), "y": outcome, "x": score.round(2)}
    return pd.DataFrame(
        {**columns, "d": (score > 0.5).astype(int), "d2": (score + 0.12 * (group == "b") > 0.55).astype(int)}
    )


def improve(unit: str | None, frame: pd.DataFrame | None = None, **options: Any) -> ft.ImproveResult:
    audit = ft.Audit(
        rules() if frame is None else frame, decision="d", outcome="y", groups="g", features=["x"], unit=unit
    )
    asked: dict[str, Any] = {
        "candidates": ft.Fixed("d2"),
        "bootstrap": 300,
        "margin": 0.05,
        **options,
    }
    return ft.improve(audit, "selection_rate", asked.pop("accuracy", "accuracy"), **asked)


def test_improve_with_a_unit_of_one_row_each_is_plain() -> None:
    assert numbers(improve(None)) == numbers(improve("row"))


def test_improve_draws_persons() -> None:
    plain, together = improve(None), improve("person")
    for own, other in zip(plain.estimates, together.estimates, strict=True):
        assert (own["n"], other["n"]) == (240, 60), "persons, not rows"
        for name in ("status_quo", "alternative"):
            assert other[name] == pytest.approx(own[name]), "the levels are those of the rows"
    assert any(note.code == "repeated-people" for note in together.notes)


def test_nobody_is_in_both_halves() -> None:
    person = np.repeat(np.arange(50), 3)
    contest: Any = SimpleNamespace(person=person, rows=150)
    settings = ImproveRequest(
        splits=3, train_share=0.5, bootstrap=10, aggregate="median", alpha=0.05, seed=1, jobs=1, progress=None
    )
    for k in range(3):
        train, test = settings.split(contest, k)
        assert set(person[train]) & set(person[test]) == set()
        assert sorted([*train, *test]) == list(range(150))
        assert len(set(person[train])) == 25


def test_improve_says_what_it_cannot_honour() -> None:
    mixed = rules()
    mixed.loc[0, "g"] = "b"
    with pytest.raises(InputError, match="has rows in more than one group for 1 of its values"):
        improve("person", mixed)
    frame = rules().assign(s=lambda frame: frame["x"] / 2)
    audit = ft.Audit(frame, decision="d", outcome="y", score="s", groups="g", unit="person")
    with pytest.raises(InputError, match="is not for the area under the curve"):
        ft.improve(audit, "selection_rate", "auc", candidates=ft.Fixed("d2"))


# -- who does not -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("role", ["weight", "unit"])
def test_explain_says_why_it_honours_neither(role: str) -> None:
    frame = rules().assign(w=1.5)
    audit = ft.Audit(
        frame, decision="d", groups="g", features=["x"], **{role: "w" if role == "weight" else "person"}
    )
    with pytest.raises(
        NotApplicable, match=f"'{role}' is not honoured by explain, because what features contribute"
    ):
        ft.explain(audit, "selection_rate")


# -- a single unit, or a single row with a weight -----------------------------------------------------------------
ONE_UNIT = "all its rows belong to one unit"


def schools() -> pd.DataFrame:
    """All of a's pupils go to one school, b's and c's to twenty each; three of four of a's are taken."""
    return pd.DataFrame({
        "g": ["a"] * 60 + ["b"] * 200 + ["c"] * 200,
        "school": ["s"] * 60 + [f"t{row // 10}" for row in range(400)],
        "d": [1] * 45 + [0] * 15 + [1, 0] * 100 + [1, 0, 0, 0] * 50,
        "y": [2.0, 4.0] * 30 + [1.0, 3.0, 3.0, 1.0] * 100,
    })  # fmt: skip


@pytest.mark.parametrize("ask", [ft.measure, ft.flag, ft.certify])
@pytest.mark.parametrize("target", ["rest", "overall", {"g": "b"}, 0.5], ids=str)
@pytest.mark.parametrize(
    ("metric", "rate"), [("selection_rate", 0.75), (ft.Metric("mean", "y"), 3.0)], ids=str
)
def test_one_unit_has_its_rate_and_no_interval(ask: Any, target: Any, metric: Any, rate: float) -> None:
    audit = ft.Audit(schools(), decision="d", groups="g", unit="school")
    row = next(row for row in ask(audit, metric, minimum=1, target=target).estimates if row["group"] == "a")
    assert row["rate"] == pytest.approx(rate)
    assert row["target_rate"] > 0
    assert row["difference"] == pytest.approx(rate - row["target_rate"])
    assert ONE_UNIT in row["difference_low"]["reason"]
    assert ONE_UNIT in row["difference_high"]["reason"]
    assert row["p_value"] == 1.0
    assert row["state"] == "undetermined"
    if ask is ft.measure:
        assert ONE_UNIT in row["rate_low"]["reason"]
        assert ONE_UNIT in row["rate_high"]["reason"]


def test_one_weighted_row_has_its_rate_on_both_sides() -> None:
    frame = pd.DataFrame({"g": ["a", "b", "b", "b"], "d": [1, 0, 1, 1], "w": [0.6, 0.5, 1.0, 0.7]})
    audit = ft.Audit(frame, decision="d", groups="g", weight="w")
    one, other = ft.measure(audit, minimum=1).estimates
    assert (one["rate"], one["target_rate"]) == pytest.approx((1.0, 1.7 / 2.2))
    assert (other["rate"], other["target_rate"]) == pytest.approx((1.7 / 2.2, 1.0))
    assert one["difference"] == pytest.approx(-other["difference"])
    assert one["ratio"] == pytest.approx(2.2 / 1.7)

"""Presets ask what their field asks, and the numbers are those one would count by hand."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairtrial
from fairtrial import InputError
from inside.trial import complete, load_spec, open_audit


def applicants(n: int = 2000) -> pd.DataFrame:
    """Applicants with two attributes, some unknown, and one category of about one percent."""
    random = np.random.default_rng(8)
    race = random.choice(
        ["Asian", "Black", "Hispanic", "White", "Pacific Islander"], n, p=[0.2, 0.2, 0.19, 0.4, 0.01]
    )
    sex = random.choice(["Female", "Male"], n)
    score = random.normal(50 + 4 * (race == "White"), 10).round(1)
    frame = pd.DataFrame({"race": race, "sex": sex, "score": score, "hired": (score > 55).astype(int)})
    frame.loc[random.choice(n, 37, replace=False), "race"] = None
    return frame


def employment(frame: pd.DataFrame, **data: Any) -> Any:
    return fairtrial.run(
        {"preset": "employment", "data": {"source": "x.csv", "groups": ["race", "sex"], **data}}, data=frame
    )


def impact_ratios(frame: pd.DataFrame, selected: np.ndarray[Any, Any], smallest: int) -> dict[str, float]:
    """By hand: rate over the highest rate of the same attributes, categories of at least `smallest` known people."""
    cells: dict[tuple[str, ...], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for race, sex, chosen in zip(frame["race"], frame["sex"], selected, strict=True):
        known = isinstance(race, str)
        cells["sex",][f"sex: {sex}"].append(chosen)
        if known:
            cells["race",][f"race: {race}"].append(chosen)
            cells["race", "sex"][f"race: {race}, sex: {sex}"].append(chosen)
    ratios = {}
    for groups in cells.values():
        rates = {name: float(np.mean(values)) for name, values in groups.items() if len(values) >= smallest}
        ratios |= {name: rate / max(rates.values()) for name, rate in rates.items()}
    return ratios


def test_local_law_144_impact_ratios() -> None:
    frame = applicants()
    trial = employment(frame, decision="hired")
    expected = impact_ratios(frame, frame["hired"].to_numpy(), smallest=40)
    rows = {row["group"]: row for row in trial.results["measure"].estimates}
    found = {
        name: row["impact_ratio"] for name, row in rows.items() if isinstance(row["impact_ratio"], float)
    }
    assert found == pytest.approx(expected, abs=1e-12)
    marked = {name for name, row in rows.items() if row["four_fifths"]}
    assert all(expected[name] < 0.8 for name in marked), "a mark is a test's, and stands on no higher ratio"
    for name, ratio in expected.items():
        assert rows[name]["impact_ratio_low"] <= ratio <= rows[name]["impact_ratio_high"] + 1e-12
    assert "(missing)" not in "".join(rows)
    table = trial.results["tabulate-1"]
    listed = {row["group"]: row for row in table.estimates}
    assert listed["(unknown)"]["n"] == 37
    left = {name for name, row in listed.items() if row["state"] == "left out"}
    sexes = ("Female", "Male")
    assert left == {"race: Pacific Islander", *(f"race: Pacific Islander, sex: {sex}" for sex in sexes)}
    named = next(note.text for note in table.notes if note.code == "small-categories")
    assert all(name in named for name in left)
    assert {
        name: row["impact_ratio"] for name, row in listed.items() if row.get("impact_ratio") is not None
    } == (pytest.approx(expected, abs=1e-12))
    assert rows["race: Pacific Islander"]["impact_ratio"] is None
    assert rows["race: Pacific Islander"]["rate"] is not None, "left out of the ratios, not out of the table"


def test_scores_are_cut_at_the_sample_median() -> None:
    frame = applicants()
    trial = employment(frame, score="score")
    above = (frame["score"] > frame["score"].median()).astype(int).to_numpy()
    expected = impact_ratios(frame, above, smallest=40)
    rows = {row["group"]: row["impact_ratio"] for row in trial.results["measure"].estimates}
    assert {name: rows[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    table = trial.results["tabulate-1"]
    assert {row["metric"] for row in table.estimates} == {"scoring_rate", "unknown category"}
    median = f"above the sample's median score, {frame['score'].median():g}."
    assert any(median in note.text for note in table.notes)


def test_small_categories_can_be_kept() -> None:
    trial = fairtrial.run(
        {
            "preset": "employment",
            "employment": {"smallest_category": 0},
            "data": {"source": "x.csv", "groups": ["race"], "decision": "hired"},
        },
        data=applicants(),
    )
    rows = {row["group"]: row["impact_ratio"] for row in trial.results["measure"].estimates}
    assert isinstance(rows["Pacific Islander"], float)


def test_lending_compares_with_the_reference_that_is_named() -> None:
    frame = fairtrial.load("adult", backend="pandas")
    data = {"source": "x", "decision": "income", "positive": {"decision": ">50K"}, "groups": ["race", "sex"]}
    spec = {"preset": "lending", "data": {**data, "score": "education_num"}}
    trial = fairtrial.run({**spec, "lending": {"references": {"race": "White"}}}, data=frame)
    rates = frame.assign(y=frame["income"] == ">50K").groupby("race")["y"].mean()
    rows = {
        row["group"]: row for row in trial.results["measure-1"].estimates if row["metric"] == "selection_rate"
    }
    assert rows["race: Black"]["target"] == "race: White"
    assert rows["race: Black"]["ratio"] == pytest.approx(rates["Black"] / rates["White"], abs=1e-12)
    means = {
        row["group"]: row for row in trial.results["measure-1"].estimates if row["metric"] == "mean_score"
    }
    black, white = (frame.loc[frame["race"] == name, "education_num"] for name in ("Black", "White"))
    spread = np.sqrt((black.var() + white.var()) / 2)
    standardized = means["race: Black"]["standardized"]
    assert standardized == pytest.approx((black.mean() - white.mean()) / spread, rel=1e-9)
    # nobody named a reference for sex: whoever is most numerous is none
    assert {row["target"] for row in trial.results["measure-2"].estimates} == {"everyone else"}
    notes = " ".join(trial.notes)
    assert "No reference group is named for sex: each group is compared with everyone else." in notes
    assert "in units of the root mean of the two groups' variances" in notes
    shown = [column.title for column in trial.results["measure-1"].columns if column.shown]
    assert "impact ratio" in shown
    assert "the impact ratio is" in notes
    with pytest.raises(fairtrial.InputError, match=r"names race = 'Blue', which is not in the data"):
        fairtrial.run({**spec, "lending": {"references": {"race": "Blue"}}}, data=frame)
    with pytest.raises(fairtrial.InputError, match="names 'age', which is not one of the groups"):
        fairtrial.run({**spec, "lending": {"references": {"age": 3}}}, data=frame)


def test_healthcare_measures_need_among_the_selected() -> None:
    random = np.random.default_rng(2)
    frame = pd.DataFrame({"g": random.choice(["a", "b"], 800), "need": random.poisson(2.0, 800)})
    frame["in"] = (random.uniform(size=800) < 0.5).astype(int)
    data = {"source": "x", "decision": "in", "outcome": "need", "groups": ["g"]}
    trial = fairtrial.run({"preset": "healthcare", "data": data}, data=frame)
    row = next(row for row in trial.results["measure"].estimates if row["group"] == "a")
    chosen = frame[(frame["g"] == "a") & (frame["in"] == 1)]
    levels = [value for value in row.values() if isinstance(value, float)]
    assert any(value == pytest.approx(chosen["need"].mean(), abs=1e-12) for value in levels)


@pytest.mark.parametrize(
    ("preset", "methods"),
    [
        ("general", ["measure", "flag"]),
        ("employment", ["measure", "tabulate", "tabulate", "flag"]),
        ("lending", ["measure", "measure", *["tabulate"] * 6, "flag"]),
        ("insurance", ["measure", "measure", *["tabulate"] * 7, "flag"]),
        ("risk-score", ["measure", "measure", "flag", "transport"]),
        ("healthcare", ["measure", "tabulate", "flag"]),
        ("public-sector", ["measure", "tabulate", "flag"]),
    ],
)
def test_a_section_of_ones_own_takes_the_place_of_the_presets(preset: str, methods: list[str]) -> None:
    data = {"dataset": "compas", "outcome": "two_year_recid", "score": "decile_score", "threshold": 5}
    content: dict[str, Any] = {"preset": preset, "data": {**data, "groups": ["race", "sex"]}}
    spec = load_spec(content)
    assert [section.method for section in complete(spec, open_audit(spec))[0]] == methods
    own = load_spec({**content, "measure": {"metric": "base_rate"}})
    sections = complete(own, open_audit(own))[0]
    assert [section.arguments for section in sections if section.method == "measure"] == [
        {"metric": "base_rate"}
    ]
    assert len({section.id for section in sections}) == len(sections)


def test_a_preset_says_which_role_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "audit.toml"
    path.write_text(
        'preset = "healthcare"\n[data]\ndataset = "ricci"\ndecision = "passed"\ngroups = ["race"]\n'
    )
    with pytest.raises(
        InputError, match=r"line 1, preset: 'healthcare' needs the outcome.*\[data\] outcome ="
    ):
        fairtrial.run(path)


@pytest.mark.parametrize("role", ["weight", "unit"])
def test_tables_of_people_are_not_asked_of_weighted_rows(role: str) -> None:
    frame = applicants().assign(w=np.linspace(0.5, 1.5, 2000), u=np.arange(2000) // 2)
    trial = employment(frame, decision="hired", **{role: "w" if role == "weight" else "u"})
    assert trial.complete, [answer.error for answer in trial.answers]
    assert [answer.section.method for answer in trial.answers] == ["measure", "flag"]
    assert any(f"not asked with {role}" in note for note in trial.notes)
    record = {"preset": "public-sector", "data": {"source": "x.csv", "groups": ["sex"], "decision": "hired"}}
    record["data"] |= {role: "w" if role == "weight" else "u"}  # type: ignore[operator]
    assert "tabulate" in fairtrial.run(record, data=frame).results

"""What people read of a scan: ranges, automatic bins, controls, the ladder and the cold start."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fairtrial
from inside.direct_calls import scan_with
from inside.ground import NotApplicable


def loans(n: int = 4000, seed: int = 2) -> pd.DataFrame:
    """Rejections of the class are too many between 18 and 24, and for nobody else."""
    random = np.random.default_rng(seed)
    age = random.integers(18, 80, size=n)
    group, income = random.choice(["a", "b"], size=n), np.exp(random.normal(10, 0.5, size=n))
    chance = 0.3 + 0.4 * ((group == "b") & (age < 25))
    return pd.DataFrame(
        {
            "group": group, "age": age, "income": income, "sex": random.choice(["f", "m"], size=n),
            "rejected": (random.random(n) < chance).astype(int),
        }
    )  # fmt: skip


def scanned(data: Any, features: list[str], scan: Any = fairtrial.scan, **options: Any) -> Any:
    audit = fairtrial.Audit(data, decision="rejected", groups="group", features=features)
    settings = {"direction": "above", "permutations": 99, **options}
    return scan(audit, "selection_rate", protected={"group": "b"}, **settings)


def test_raw_numbers_are_cut_and_found_as_a_range() -> None:
    result = scanned(loans(), ["age", "income", "sex"])
    assert result.verdict.code == "found"
    assert result.estimates[0]["subgroup"] == "age: under 25"
    assert "group: b (age: under 25" in result.verdict.text
    assert " or " not in result.estimates[0]["subgroup"]
    assert {note.text.split(" ")[0] for note in result.notes if note.code == "cut-numbers"} == {
        "age",
        "income",
    }
    assert len(result.details["values"]) == 8 + 8 + 2


@pytest.mark.parametrize(
    ("low", "high", "words"), [(18, 24, "under 26"), (40, 59, "41 to 58"), (60, 79, "65 and over")]
)
def test_words_of_a_range(low: int, high: int, words: str) -> None:
    data = loans()
    inside = (data["group"] == "b") & data["age"].between(low, high)
    data["rejected"] = np.where(inside, np.arange(len(data)) % 10 > 0, np.arange(len(data)) % 10 > 7).astype(
        int
    )
    found = scanned(data, ["age"]).estimates[0]["subgroup"]
    kept = found.removeprefix("age: ")
    assert (" to " in kept, kept.startswith("under"), kept.endswith("and over")) == (
        " to " in words, words.startswith("under"), words.endswith("and over"),
    )  # fmt: skip


def test_few_numbers_stay_as_they_are_and_keep_their_order() -> None:
    data = loans()
    data["dependants"] = np.random.default_rng(0).integers(0, 6, size=len(data)) * 2  # 0, 2, …, 10
    data["rejected"] = ((data["group"] == "b") & data["dependants"].between(2, 8)).astype(int)
    data.loc[::7, "rejected"] = 1
    result = scanned(data, ["dependants"])
    assert result.estimates[0]["subgroup"] == "dependants: 2 to 8"
    assert [row["value"] for row in result.details["values"]] == ["0", "2", "4", "6", "8", "10"]
    assert not [note for note in result.notes if note.code == "cut-numbers"]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_ordered_categories_are_ranges(kind: str) -> None:
    data = loans()
    grades = ["low", "middle", "high", "top"]
    data["grade"] = np.random.default_rng(0).choice(grades, size=len(data))
    data["rejected"] = ((data["group"] == "b") & data["grade"].isin(["middle", "high"])).astype(int)
    data.loc[::5, "rejected"] = 1
    frame: Any = data.assign(grade=pd.Categorical(data["grade"], categories=grades, ordered=True))
    if kind == "polars":
        frame = pl.from_pandas(data).with_columns(pl.col("grade").cast(pl.Enum(grades)))
    assert scanned(frame, ["grade"]).estimates[0]["subgroup"] == "grade: middle to high"
    loose = scanned(frame, ["grade"], scan_with, ranges=False).estimates[0]["subgroup"]
    assert set(loose.removeprefix("grade: ").split(" or ")) == {"middle", "high"}


def test_missing_numbers_stand_apart_from_the_order() -> None:
    data = loans()
    data["age"] = data["age"].astype(float).where(data.index % 5 > 0)
    data["rejected"] = ((data["group"] == "b") & data["age"].isna()).astype(int)
    data.loc[::11, "rejected"] = 1
    audit = fairtrial.Audit(data, decision="rejected", groups="group", features=["age"], missing="category")
    result = fairtrial.scan(
        audit, "selection_rate", protected={"group": "b"}, direction="above", permutations=19
    )
    assert result.estimates[0]["subgroup"] == "age: (missing)"


def test_controlled_for_without_being_searched() -> None:
    """The class lives where rejections are many: within places nothing is found, and places are not searched."""
    random = np.random.default_rng(3)
    data = loans()
    data["place"] = np.where(random.random(len(data)) < np.where(data["group"] == "b", 0.8, 0.2), "x", "y")
    data["rejected"] = (random.random(len(data)) < np.where(data["place"] == "x", 0.6, 0.2)).astype(int)
    plain = scanned(data, ["sex"])
    assert plain.verdict.code == "found"
    result = scanned(data, ["sex"], within="place")
    assert result.verdict.code != "found"
    assert "Given the features, place" in result.null
    assert {row["attribute"] for row in result.details["values"]} == {"sex"}
    assert result.provenance["arguments"]["within"] == ["place"]
    article = fairtrial.papers.conditional_bias_scan.scan
    also = scanned(
        data, ["sex"], article, within=["place"], null="stratified", search="exact", direction="positive"
    )
    assert also.score < plain.score


def test_the_ladder_goes_by_sizes_and_says_where_it_stands() -> None:
    random = np.random.default_rng(4)
    data = loans(1500)
    names = [f"x{number}" for number in range(9)]
    for name in names:
        data[name] = random.integers(0, 3, size=len(data)).astype(str)
    few = scanned(data, names[:2])
    assert few.details["null"] == "stratified"
    many = scanned(data, names)
    assert (many.details["null"], many.search) == ("propensity", "depth 2")
    (note,) = [note.text for note in many.notes if note.code == "null-propensity"]
    assert "second rung of the ladder" in note
    assert "looked for up to three-way tables" in note
    assert "draws, propensity null)" in many.verdict.text
    obeyed = scanned(data, names, null="stratified")
    assert obeyed.details["null"] == "stratified"
    assert "weak findings may be missed" in " ".join(note.text for note in obeyed.notes)
    assert all(row["state"] == "listed" for row in many.estimates[1:])


def test_deeper_climbs_are_listed_and_not_tested() -> None:
    random = np.random.default_rng(5)
    data = loans(4000)
    names = [f"x{number}" for number in range(9)]
    for name in names:
        data[name] = random.integers(0, 2, size=len(data)).astype(str)
    deep = (data["group"] == "b") & (data["x0"] == "1") & (data["x1"] == "1") & (data["x2"] == "1")
    data["rejected"] = (random.random(len(data)) < np.where(deep, 0.9, 0.3)).astype(int)
    result = scanned(data, names, scan_with, search="depth-2")
    assert result.search == "depth 2"
    last = result.estimates[-1]
    assert last["state_reason"] == "not tested: restricts more than two features"
    assert last["score"] > result.estimates[0]["score"]
    assert last["subgroup"] == "x0: 1; x1: 1; x2: 1"


def test_people_are_whole_numbers() -> None:
    result = scanned(loans(), ["age", "income", "sex"])
    for row in result.estimates:
        assert all(isinstance(row[name], int) for name in ("n", "target_n", "unsupported"))


@pytest.mark.slow
def test_a_first_scan_compiles_nothing() -> None:
    program = """
import sys
import fairtrial
from fairtrial._errors import NotApplicable
data = fairtrial.load("compas")
roles = dict(outcome="two_year_recid", score="decile_score", threshold=5)
audit = fairtrial.Audit(data, groups=["race", "sex", "age"], **roles)
fairtrial.scan(audit, "fpr", protected={"race": "African-American"}, permutations=99)
fairtrial.scan(audit, "calibration", protected={"sex": "Female"}, null="propensity", permutations=19)
print("numba" in sys.modules, "sklearn" in sys.modules, "scipy.stats" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["False"] * 3, done.stderr


def test_people_without_an_outcome_stay_in_what_does_not_need_it() -> None:
    """The outcome is known for those not rejected: rejections of everybody can be scanned, false positives not."""
    data = loans()
    repaid = pd.Series(np.arange(len(data)) % 2, dtype="float64").where(data["rejected"] == 0)
    audit = fairtrial.Audit(
        data.assign(repaid=repaid), decision="rejected", outcome="repaid", groups="group", features=["age"],
        missing="drop",
    )  # fmt: skip
    result = fairtrial.scan(
        audit, "selection_rate", protected={"group": "b"}, direction="above", permutations=99
    )
    assert result.estimates[0]["subgroup"] == "age: under 25"
    assert result.estimates[0]["rate"] < 1
    with pytest.raises(NotApplicable, match="needs the outcome of people with either decision"):
        fairtrial.scan(audit, "fpr", protected={"group": "b"}, permutations=99)


def test_a_plain_bias_scan_takes_the_score_for_the_expectation() -> None:
    """Zhang and Neill's scan: outcomes of the class against its own scores, by the Bernoulli score."""
    from tests.oracles.scan_brute_force import bernoulli_score

    random = np.random.default_rng(7)
    n = 800
    data = pd.DataFrame(
        {"group": random.choice(["a", "b"], size=n), "sex": random.choice(["f", "m"], size=n)}
    )
    data["score"] = np.round(random.uniform(0.1, 0.9, size=n), 2)
    low = (data["group"] == "b") & (data["sex"] == "f")
    data["outcome"] = (random.random(n) < data["score"] * np.where(low, 0.5, 1.0)).astype(int)
    audit = fairtrial.Audit(data, outcome="outcome", score="score", groups="group", features="sex")
    result = fairtrial.papers.conditional_bias_scan.scan(
        audit, "calibration", protected={"group": "b"}, direction="negative", expectation="score", null="stratified",
        search="exact", permutations=99,
    )  # fmt: skip
    assert result.subgroup == {"sex": ["f"]}
    wanted = bernoulli_score(
        1.0 - data["outcome"][low].to_numpy(), np.ones(low.sum()), 1.0 - data["score"][low].to_numpy()
    )
    assert result.score == pytest.approx(wanted - 1, rel=1e-6)
    assert result.p_value == 0.01


def test_numbers_inside_a_bin_are_controlled_for_where_there_are_people_enough() -> None:
    """Class and event both jump at 68, inside a bin: strata of the bins alone would call that a bias."""
    random = np.random.default_rng(8)
    n = 6000
    age = random.integers(18, 80, size=n)
    chance = np.where(age >= 68, 0.75, 0.35)
    data = pd.DataFrame(
        {
            "group": np.where(random.random(n) < chance, "b", "a"), "age": age,
            "rejected": (random.random(n) < chance).astype(int),
        }
    )  # fmt: skip
    fine, coarse = (
        fairtrial.scan(
            fairtrial.Audit(data, decision="rejected", groups="group", features=["age"], bins=bins),
            "selection_rate", protected={"group": "b"}, direction="above", permutations=199,
        )
        for bins in (None, {"age": [26, 34, 41, 49, 56, 64, 72]})
    )  # fmt: skip
    assert coarse.verdict.code == "found"
    assert fine.verdict.code != "found"
    assert len(fine.details["values"]) == 8


def test_what_is_good_for_a_person_says_which_side_is_searched() -> None:
    data = loans()
    roles: Any = {"decision": "rejected", "groups": "group", "features": ["age"]}
    ask: Any = {"protected": {"group": "b"}, "permutations": 99}
    harmed = fairtrial.scan(fairtrial.Audit(data, favourable=0, **roles), "selection_rate", **ask)
    assert harmed.estimates[0]["direction"] == "above"
    (claim,) = harmed.claims()
    assert (claim.who, claim.against, claim.direction, claim.effect, claim.verdict) == (
        "group: b; age: under 25", "group: not b", "above", "harmed", "found",
    )  # fmt: skip
    assert claim.size == pytest.approx(harmed.estimates[0]["difference"])
    unknown = fairtrial.Audit(data, **roles)
    with pytest.raises(fairtrial.InputError, match="say which decision is good for a person"):
        fairtrial.scan(unknown, "selection_rate", direction="harmed", **ask)
    assert fairtrial.scan(unknown, "selection_rate", **ask).claims()[0].effect == ""
    lower = fairtrial.scan(fairtrial.Audit(data, favourable=1, **roles), "selection_rate", **ask)
    assert lower.estimates[0]["direction"] == "below"

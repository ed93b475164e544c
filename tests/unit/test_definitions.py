"""Several positive labels; groups defined by conditions, masks, functions and expressions, on every kind of data."""

from __future__ import annotations

import json
import pickle

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

from fairtrial import Audit, InputError, Result, certify, flag, measure, transport
from frames.makers import KINDS, make
from inside.cli import program
from inside.trial import run

RNG = np.random.default_rng(20261)
N = 600
PEOPLE = {
    "sex": RNG.choice(["F", "M"], N).tolist(),
    "age": RNG.integers(18, 70, N).tolist(),
    "income": RNG.uniform(0, 9, N).round(2).tolist(),
    "grade": RNG.choice(list("ABCD"), N).tolist(),
    "band": RNG.choice([1, 2, 3], N).tolist(),
    "level": RNG.choice([0.5, 1.5, 2.5], N).tolist(),
}
FRAME = pd.DataFrame(PEOPLE)
YOUNG_WOMEN = ((FRAME.sex == "F") & (FRAME.age < 30)).to_numpy()
DEFINED = {
    "young women": {"sex": "F", "age": {"below": 30}},
    "middle": {"income": {"least": 3, "below": 6}},
    "A or D": {"grade": ["A", "D"]},
}
MASKS = {
    "young women": YOUNG_WOMEN,
    "middle": ((FRAME.income >= 3) & (FRAME.income < 6)).to_numpy(),
    "A or D": FRAME.grade.isin(["A", "D"]).to_numpy(),
}


def rates(result: Result) -> dict[str, tuple[int, int]]:
    """People and events of each group."""
    return {row["group"]: (row["n"], row["events"]) for row in result.estimates}


def expected(decision: np.ndarray) -> dict[str, tuple[int, int]]:
    return {name: (int(mask.sum()), int(decision[mask].sum())) for name, mask in MASKS.items()}


def message(call) -> str:
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_conditions_and_labels_mean_the_same_on_every_engine(kind, tmp_path, request):
    data = make(kind, PEOPLE, tmp_path, request)
    for column, labels in (("grade", ["A", "B"]), ("band", [1, 3]), ("level", [0.5, 2.5])):
        audit = Audit(data, decision=column, positive=labels, define=DEFINED)
        decided = FRAME[column].isin(labels).to_numpy()
        assert rates(measure(audit)) == expected(decided)


def test_masks_functions_and_expressions_are_the_conditions():
    decided = FRAME.band.isin([2, 3]).to_numpy()
    others = {
        "masks": MASKS,
        "lists": {name: mask.tolist() for name, mask in MASKS.items()},
        "functions": {name: lambda rows, name=name: MASKS[name] for name in MASKS},
        "expressions": {
            "young women": (nw.col("sex") == "F") & (nw.col("age") < 30),
            "middle": (nw.col("income") >= 3) & (nw.col("income") < 6),
            "A or D": nw.col("grade").is_in(["A", "D"]),
        },
    }
    for define in others.values():
        for data in (FRAME, pl.DataFrame(PEOPLE), PEOPLE, FRAME.set_index(np.arange(N)[::-1])):
            audit = Audit(data, decision="band", positive=[2, 3], define=define)
            assert rates(measure(audit)) == expected(decided)
    audit = Audit(FRAME, decision="band", positive=[2, 3], define={"rich": lambda rows: rows["income"] > 6})
    assert rates(measure(audit))["rich"][0] == int((FRAME.income > 6).sum())


def test_a_defined_group_is_compared_as_its_dict_is():
    """The same people, the same numbers: by name, as a group of attributes, and with the others of a column."""
    audit = Audit(FRAME, decision="band", positive=2, bins={"age": [30]}, define=DEFINED)
    named = measure(audit, by="young women").estimates[0]
    listed = measure(audit, by={"sex": "F", "age": "under 30"}).estimates[0]
    skipped = ("group",)
    assert {k: v for k, v in named.items() if k not in skipped} == {
        k: v for k, v in listed.items() if k not in skipped
    }
    assert listed["group"] != named["group"] == "young women"
    by_bin = Audit(
        FRAME, decision="band", positive=2, bins={"age": [30]}, define={"x": {"sex": "F", "age": "under 30"}}
    )
    assert rates(measure(by_bin))["x"] == (int(YOUNG_WOMEN.sum()), named["events"])
    for method in (certify, flag):
        kept = method(audit, "selection_rate", by=["sex", "young women"], tolerance=0.5)
        assert "young women" in {row["group"] for row in kept.estimates}
    reference = measure(audit, by="sex", target={"young women": "not young women"}).estimates
    assert {row["target"] for row in reference} == {"not young women"}
    assert len(transport(audit, "statistical_parity", by="young women").estimates)


def test_overlap_and_intersections():
    audit = Audit(FRAME, decision="band", positive=2, define=DEFINED, groups=["sex", "young women", "middle"])
    found = rates(measure(audit, depth=2))
    both = MASKS["young women"] & MASKS["middle"]
    assert found["young women, middle"][0] == int(both.sum())
    assert found["sex: F, middle"][0] == int(((FRAME.sex == "F").to_numpy() & MASKS["middle"]).sum())
    assert set(found) == {"sex: F", "sex: M", "young women", "middle", "sex: F, young women", "sex: F, middle",
                          "sex: M, middle", "young women, middle"}  # fmt: skip


def test_who_cannot_be_told_is_missing():
    """A woman without an age may be young; a man without one is not a young woman."""
    people = FRAME.assign(age=FRAME.age.astype(float))
    people.loc[[0, 1, 2, 3], "age"] = np.nan
    people.loc[[0, 1], "sex"], people.loc[[2, 3], "sex"] = "F", "M"
    audit = Audit(people, decision="band", positive=2, define=DEFINED, groups=["young women"], missing="drop")
    cells = audit.cells(("young women",))
    assert cells.rows.sum() == N - 2
    mask: list[bool | None] = YOUNG_WOMEN.tolist()
    mask[0] = None
    told = Audit(FRAME, decision="band", positive=2, define={"x": mask}, missing="category")
    assert told.levels("x") == ("(missing)", "x", "not x")


def test_saved_results_say_how_groups_were_defined():
    audit = Audit(FRAME, decision="band", positive=[1, 2], define={**DEFINED, "mine": YOUNG_WOMEN})
    result = measure(audit)
    assert type(result).from_dict(result.to_dict()).to_dict() == result.to_dict()
    (note,) = [note.text for note in result.notes if note.code == "defined-groups"]
    assert "young women: sex is F and age is below 30; middle: income is at least 3 and below 6" in note
    assert result.provenance["define"]["A or D"] == {"grade": ["A", "D"]}
    again = pickle.loads(pickle.dumps(audit))  # noqa: S301  our own
    assert rates(measure(again)) == rates(result)


def test_faults():
    def made(**given):
        return lambda: measure(Audit(FRAME, **{"decision": "band", "positive": 2, "groups": "sex", **given}))

    assert "'sex' is also a column: choose another name" in message(
        made(define={"sex": {"age": {"least": 3}}})
    )
    assert "names the unknown column 'agee'" in message(made(define={"x": {"agee": 3}}))
    absent = message(made(define={"x": {"sex": "f"}}, groups="x"))
    assert "'x' names sex = 'f', which is not in the data. Levels: 'F', 'M'." in absent
    assert "takes numbers for least, most, above, below of 'age'" in message(
        made(define={"x": {"age": {"under": 3}}})
    )
    assert "'sex' (define) must hold numbers" in message(
        made(define={"x": {"sex": {"below": 3}}}, groups="x")
    )
    assert "one true or false for each of 600 rows" in message(made(define={"x": [True]}))
    assert "must hold true or false" in message(made(define={"x": list(range(N))}))
    assert "index is not that of the data" in message(
        made(define={"x": pd.Series(YOUNG_WOMEN, index=range(1, N + 1))})
    )
    assert "'x' is met by nobody" in message(made(define={"x": {"age": {"above": 99}}}, groups="x"))
    assert "must be a table of group names" in message(made(define=["x"]))
    lazy = lambda: Audit(pl.DataFrame(PEOPLE).lazy(), decision="band", positive=2, define={"x": YOUNG_WOMEN})  # noqa: E731
    assert "these data are not rows in memory" in message(lazy)
    assert "labels '7' and '9' do not occur in decision 'band'" in message(made(positive=[2, 7, 9]))
    assert "label 'Z' does not occur in decision 'grade'" in message(
        made(decision="grade", positive=["A", "Z"])
    )
    assert "names no label of the decision" in message(made(positive={"decision": []}))


def test_favourable_labels_among_several():
    for label, side in (("A", 1), ("B", 1), ("D", 0)):
        assert Audit(FRAME, decision="grade", positive=["A", "B"], favourable=label).favourable == side


def test_on_the_command_line(tmp_path):
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    words = ["measure", str(tmp_path / "people.csv"), "--decision", "grade", "--positive", "decision=A",
             "--positive", "decision=B", "--define", "young women: sex=F, age<30", "--json", "-"]  # fmt: skip
    done = CliRunner().invoke(program, words)
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.output)["estimates"]
    decided = FRAME.grade.isin(["A", "B"]).to_numpy()
    assert (row["group"], row["n"]) == ("young women", int(YOUNG_WOMEN.sum()))
    assert row["events"] == int(decided[YOUNG_WOMEN].sum())


def test_in_the_audit_file(tmp_path):
    FRAME.assign(grade=FRAME.grade).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "audit.toml").write_text(
        '[data]\nsource = "people.csv"\ndecision = "grade"\npositive = ["A", "B"]\ngroups = ["sex", "young women"]\n'
        '[groups."young women"]\nsex = "F"\nage = { below = 30 }\n'
        '[[measure]]\n[[measure]]\nby = ["young women"]\n[[measure]]\nby = "sex"\ntarget = "young women"\n'
    )
    trial = run(tmp_path / "audit.toml", out=tmp_path / "out")
    first, second, third = (trial.results[f"measure-{i}"] for i in (1, 2, 3))
    decided = FRAME.grade.isin(["A", "B"]).to_numpy()
    assert rates(second) == {"young women": expected(decided)["young women"]}
    assert rates(first)["young women"] == rates(second)["young women"]
    assert {row["target"] for row in third.estimates} == {"young women"}
    bad = (tmp_path / "audit.toml").read_text().replace('sex = "F"', 'sex = "W"')
    (tmp_path / "bad.toml").write_text(bad)
    assert "line 6, [groups] young women" in message(
        lambda: run(tmp_path / "bad.toml", out=tmp_path / "out2")
    )

"""Publishing: what is joined, what is left out, and what of the owner's is nowhere in it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairtrial
from fairtrial import InputError, run
from inside.cli import report
from inside.trial import FOLDER, Known, check_schema, contradictions, join_levels, render, scrub, three_digits

DATA = {"source": "x.csv", "decision": "d", "outcome": "y", "groups": ["g"]}


def people(**cells: list[list[int]]) -> pd.DataFrame:
    """Per group its counts by decision and outcome."""
    rows = [
        (name, d, y)
        for name, table in cells.items()
        for d, line in enumerate(table)
        for y, count in enumerate(line)
        for _ in range(count)
    ]
    return pd.DataFrame(rows, columns=["g", "d", "y"])


LARGE = [[120, 40], [60, 90]]
FRAME = people(a=LARGE, b=LARGE, c=[[30, 4], [20, 15]], e=[[2, 1], [1, 0]], f=[[30, 20], [20, 15]])


def content(frame: pd.DataFrame = FRAME, **sections: Any) -> dict[str, Any]:
    asked = sections or {"measure": {"metric": ["selection_rate", "fpr"]}}
    return run({"data": DATA, **asked}, data=frame, publish=True).to_dict()


def labels(found: dict[str, Any], attribute: str = "g") -> list[str]:
    return [level["label"] for level in found["data"]["groups"][attribute]]


@pytest.mark.parametrize(
    ("counts", "in_order", "parts"),
    [
        ([[50, 50], [40, 60]], False, [[0], [1]]),
        ([[50, 50], [4, 60], [40, 60], [6, 3]], False, [[0], [1, 3], [2]]),  # 10 and 63 together
        ([[50, 51], [4, 60], [40, 60], [5, 3]], False, [[0], [1, 2, 3]]),  # one more is needed, the smallest
        ([[50, 50], [0, 60]], False, [[0], [1]]),  # nobody is not few
        ([[50, 5], [40, 0]], False, [[0, 1]]),
        ([[50, 50], [4, 60], [40, 60], [6, 3]], True, [[0], [1, 2, 3]]),  # only neighbours
        ([[3, 3], [50, 50], [3, 3], [50, 50]], True, [[0, 1], [2, 3]]),
    ],
)
def test_levels_are_joined(counts: Any, in_order: bool, parts: Any) -> None:
    assert join_levels(np.array(counts), 10, in_order=in_order) == parts


def test_an_intersection_that_gives_a_third_one_away_is_not_admitted() -> None:
    """All three pairs of 2 × 2 × 2 leave one degree of freedom; the empty cell opposite takes it away."""
    table = np.array([3, 20, 20, 20, 20, 20, 20, 0]).reshape(2, 2, 2)

    def where(**fixed: int) -> Any:
        inside = np.zeros((2, 2, 2), dtype=bool)
        inside[tuple(fixed.get(name, slice(None)) for name in "abc")] = True
        return inside.reshape(-1)

    known = Known(table.reshape(-1, 1), 10)
    singles = [where(**{name: level}) for name in "abc" for level in (0, 1)]
    assert known.admit(singles)
    assert known.admit([where(a=i, b=j) for i in (0, 1) for j in (0, 1)])
    assert known.admit([where(a=i, c=j) for i in (0, 1) for j in (0, 1)])
    assert not known.admit([where(b=i, c=j) for i in (0, 1) for j in (0, 1)])
    assert len(known.groups) == 14


def test_small_groups_are_joined_and_everything_is_made_of_joined_ones() -> None:
    found = content(measure={"metric": ["selection_rate", "fpr"]}, flag={"metric": "tpr"})
    assert labels(found) == ["a", "b", "c or e or f"]
    text = json.dumps(found)
    assert '"group": "c"' not in text
    assert "Joined groups of g: c or e or f." in found["notes"]
    check_schema(found)
    assert contradictions(found) == []
    assert "Joined groups of g" in render(found)


def test_a_group_that_has_the_name_of_joined_ones_stays_apart() -> None:
    few, many = [[8, 0], [8, 0]], [[300, 0], [0, 0]]
    frame = people(a=few, b=few, **{"a or b": many}, z=LARGE)
    (section,) = content(frame, measure={"metric": ["selection_rate"], "minimum": 2})["sections"]
    rates = {row["group"]: (row["n"], row["rate"]) for row in section["result"]["estimates"]}
    assert rates == {"a or b": (300, 0.0), "a or b (joined)": (32, 0.5), "z": (310, 0.484)}


def test_what_names_a_joined_group_is_not_published() -> None:
    found = content(
        measure={"metric": ["fpr"], "target": {"g": "a"}},
        certify={"metric": "fpr", "tolerance": 0.1, "target": {"g": "c"}},
        flag={"metric": "fpr", "by": [{"g": "a"}, {"g": ["c", "e", "f"]}, {"g": "e"}]},
    )
    assert [section["id"] for section in found["sections"]] == ["measure", "flag"]
    groups = [row["group"] for row in found["sections"][1]["result"]["estimates"]]
    assert groups == ["a", "c or e or f"]
    assert any("(certify)" in note and "joined with others" in note for note in found["notes"])


def test_only_what_is_asked_for_makes_groups_small() -> None:
    """Without the outcome nothing about c is small; e still needs somebody."""
    assert labels(content(measure={"metric": ["selection_rate"]})) == ["a", "b", "c or e", "f"]


def test_a_column_that_only_a_question_names_is_joined_as_well() -> None:
    frame = FRAME.assign(h=np.where(np.arange(len(FRAME)) < 6, "x", np.where(FRAME.index % 2, "y", "z")))
    found = content(frame, measure={"metric": ["fpr"], "by": "h"})
    groups = [row["group"] for row in found["sections"][0]["result"]["estimates"]]
    assert len(groups) == 2
    assert any("x or " in group for group in groups)


def test_an_intersection_of_few_people_is_no_target() -> None:
    frame = FRAME.assign(h=np.where((FRAME["g"] == "a") & (FRAME.index % 50 == 0), "x", "y"))
    frame["h"] = frame["h"].where(frame["g"] == "a", np.where(frame.index % 2, "x", "y"))
    data = {**DATA, "groups": ["g", "h"]}
    asked = {"metric": ["selection_rate"], "by": "g"}
    for target, kept in (({"g": "a", "h": "x"}, []), ({"g": "b", "h": "x"}, ["measure"])):
        spec = {"data": data, "measure": {**asked, "target": target}}
        found = run(spec, data=frame, publish=True).to_dict()
        assert [section["id"] for section in found["sections"]] == kept, target


def test_a_coarser_form_of_an_attribute_is_not_published_beside_it() -> None:
    """“a or e” of the one minus “a” of the other would be the few of e."""
    frame = people(a=LARGE, b=LARGE, e=[[2, 1], [1, 1]])
    frame["is_a"] = np.where(frame["g"] == "a", "a", "not a")
    frame["h"] = np.where(frame.index % 2, "x", "y")  # overlaps no more than chance has it
    spec = {"data": {**DATA, "groups": ["g", "is_a", "h"]}, "measure": {"metric": ["selection_rate"]}}
    found = run(spec, data=frame, publish=True).to_dict()
    assert list(found["data"]["groups"]) == ["g", "h"]
    assert any(note.startswith("Not published beside the others: is_a.") for note in found["notes"])
    only = {
        **spec,
        "measure": {"metric": ["selection_rate"], "by": "is_a"},
        "flag": {"metric": "selection_rate"},
    }
    found = run(only, data=frame, publish=True).to_dict()
    assert [section["id"] for section in found["sections"]] == ["flag"]
    assert any("no group of what it is about is published" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ({"flag": {"metric": "selection_rate", "within": "job"}}, "some stratum has few people"),
        (
            {"certify": {"metric": "selection_rate", "tolerance": 0.1, "within": "job"}},
            "some stratum has few",
        ),
        (
            {"transport": {"metric": "conditional_parity", "by": "g", "within": "job"}},
            "some stratum has few",
        ),
        ({"measure": {"metric": ["selection_rate"], "thresholds": "all"}}, "count people by their score"),
        ({"tabulate": {"table": "adverse-impact"}}, "its owner's choice"),
    ],
)
def test_what_counts_people_by_more_is_not_published(section: Any, why: str) -> None:
    frame = people(a=LARGE, b=LARGE)
    frame["job"] = np.where(frame.index % 100 == 0, "dean", "clerk")
    frame["s"] = (frame.index % 10) / 10
    spec = {"data": {**DATA, "score": "s"}, "measure": {"metric": ["selection_rate"]}, **section}
    found = run(spec, data=frame, publish=True)
    assert next(iter(section)) not in [one["id"] for one in found.to_dict()["sections"]]
    assert any(why in note for note in found.unpublished)


def test_bins_are_joined_with_their_neighbours() -> None:
    frame = FRAME.assign(age=np.where(FRAME["g"] == "e", 70, np.where(FRAME["g"] == "a", 30, 50)))
    data = {**DATA, "groups": ["age"], "bins": {"age": [40, 60]}}
    trial = run({"data": data, "measure": {"metric": ["fpr"]}}, data=frame, publish=True)
    assert labels(trial.to_dict(), "age") == ["under 40", "40 and over"]


def test_other_people_than_the_groups_are_not_published() -> None:
    frame = FRAME.assign(x=np.arange(len(FRAME)) % 3)
    data = {**DATA, "features": ["x"]}
    scan = {"metric": "fpr", "protected": {"g": "a"}, "permutations": 19}
    found = run({"data": data, "measure": {}, "scan": scan}, data=frame, publish=True).to_dict()
    assert [section["id"] for section in found["sections"]] == ["measure"]
    assert any("(scan)" in note for note in found["notes"])


def test_a_condition_of_few_people_is_not_published() -> None:
    frame = FRAME.assign(kind=np.where(np.arange(len(FRAME)) < 7, "rare", "usual"))
    rare = {"name": "rare_rate", "value": "role.decision", "given": {"kind": "rare"}}
    found = content(frame, measure={"metric": ["fpr", rare]})
    assert {row["metric"] for row in found["sections"][0]["result"]["estimates"]} == {"fpr"}
    assert any("rare" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (people(a=LARGE, b=[[5, 9], [9, 9]]).query("g == 'b' or d == 0"), "of all"),
        (people(a=LARGE, b=[[3, 3], [3, 3]]), "leaves nothing"),
    ],
)
def test_nothing_is_published_where_nothing_can_be(frame: pd.DataFrame, text: str) -> None:
    with pytest.raises(InputError, match=text):
        content(frame, measure={"metric": ["fpr"]})


def test_few_without_a_group_are_refused_with_the_cure() -> None:
    frame = FRAME.assign(g=FRAME["g"].mask(FRAME.index < 4))
    spec = {"data": {**DATA, "missing": "drop"}, "measure": {"metric": ["fpr"]}}
    with pytest.raises(InputError, match="category"):
        run(spec, data=frame, publish=True)
    spec["data"]["missing"] = "category"  # then they are a group, and joined
    found = run(spec, data=frame, publish=True).to_dict()
    assert [label for label in labels(found) if "(missing)" in label] == ["(missing) or c or e or f"]
    assert next(item for item in found["data"]["missing"] if item["column"] == "g")["missing"] is None


def test_publishing_needs_a_limit() -> None:
    with pytest.raises(InputError, match="number of people below"):
        run(
            {"data": DATA, "measure": {}, "report": {"suppress_below": 0}, "run": {"publish": True}},
            data=FRAME,
        )


def test_no_path_no_host_no_fingerprint(tmp_path: Path) -> None:
    folder = tmp_path / "secret-folder"
    folder.mkdir()
    FRAME.to_csv(folder / "people.csv", index=False)
    (folder / "audit.toml").write_text(
        f'[data]\nsource = "{folder}/people.csv"\ndecision = "d"\noutcome = "y"\ngroups = ["g"]\n'
        '[measure]\nmetric = ["fpr"]\n# mail: somebody\n[run]\npublish = true\n'
    )
    run(folder / "audit.toml", out=tmp_path / "out")
    texts = {path.name: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert {"results.json", "report.html", "measure.csv", "measure.parquet"} <= set(texts)
    owner = run(folder / "audit.toml", publish=False)
    for name, text in texts.items():
        for secret in ("secret-folder", "somebody", owner.data["digest"], owner.data["sha256"]):
            assert secret.encode() not in text, (name, secret)
    assert not (tmp_path / "out" / ".unfinished").exists()


def test_no_folder_no_address_and_no_query_of_the_spec(tmp_path: Path) -> None:
    owner = run({"data": DATA, "measure": {"metric": ["fpr"]}}, data=FRAME, publish=False).to_dict()
    asked = {
        "data": {"engine": "spark", "sql": "select * from secret where age < 20", "decision": "d"},
        "run": {"parallel": "tcp://secret:8786", "seed": 3},
        "watch": [{"by": "g", "state": str(tmp_path / "secret" / "before.csv")}],
    }
    section = {**owner["sections"][0], "method": "watch", "result": None, "arguments": asked["watch"][0]}
    owner["data"]["source"] = asked["data"]["sql"]
    found = scrub(
        {**owner, "sections": [section], "spec": {"name": "a.toml", "text": "# secret", "content": asked}}
    )
    assert "secret" not in json.dumps(found)
    assert found["sections"][0]["arguments"] == {"by": "g", "state": "before.csv"}
    assert found["spec"]["content"]["run"] == {"seed": 3}


def test_an_owners_results_are_not_rendered_for_strangers(tmp_path: Path) -> None:
    run({"data": DATA, "measure": {}}, data=FRAME, out=tmp_path)
    with pytest.raises(InputError, match="made for strangers"):
        report(str(tmp_path), publish=True)


def test_what_an_owners_run_kept_is_not_published(tmp_path: Path) -> None:
    """Both runs ask the same of the same data; only the groups differ."""
    spec = {"data": DATA, "measure": {"metric": ["fpr"]}, "flag": {"metric": "fpr"}}
    answered: list[str] = []

    def stop() -> bool:
        return len(answered) > 0

    def listen(event: Any) -> None:
        if event.status == "done" and event.section == "measure":
            answered.append(event.section)

    owner, public = tmp_path / "owner", tmp_path / "public"
    run(spec, data=FRAME, out=owner, progress=listen, cancel=stop)
    assert answered
    with pytest.raises(InputError, match="holds a report that was not made for strangers"):
        run(spec, data=FRAME, out=owner, resume=True, publish=True)
    shutil.copytree(owner / FOLDER, public / FOLDER)
    found = run(spec, data=FRAME, out=public, resume=True, publish=True).to_dict()
    assert [row["group"] for row in found["sections"][0]["result"]["estimates"]] == ["a", "b", "c or e or f"]


def test_persons_are_counted_and_not_their_rows() -> None:
    frame = people(a=LARGE, b=LARGE, c=[[40, 40], [40, 40]])
    frame["who"] = np.where(frame["g"] == "c", frame.index % 7, frame.index)
    spec = {"data": {**DATA, "unit": "who"}, "measure": {"metric": ["selection_rate"]}}
    found = run(spec, data=frame, publish=True).to_dict()
    assert "c" not in labels(found)


def test_numbers_have_three_digits() -> None:
    found = content()
    for row in found["sections"][0]["result"]["estimates"]:
        for value in row.values():
            if isinstance(value, float):
                assert float(f"{value:.3g}") == value
    assert three_digits(0.04999, 1) == 0.05
    assert three_digits(123456.0) == 123000.0


def test_a_real_audit_stays_useful() -> None:
    data = {"dataset": "compas", "outcome": "two_year_recid", "score": "decile_score", "threshold": 5,
            "groups": ["sex", "race", "age"], "bins": {"age": [25, 45]}}  # fmt: skip
    found = fairtrial.run({"data": data, "flag": {"metric": "fpr"}}, publish=True).to_dict()
    assert labels(found, "race") == [
        "African-American",
        "Asian or Native American or Other",
        "Caucasian",
        "Hispanic",
    ]
    (section,) = found["sections"]
    crossed = [row for row in section["result"]["estimates"] if ", " in row["group"]]
    assert len(crossed) >= 15  # of 26

"""Files from anybody: specs and results that are too large, too deep, malformed or edited give one clear message."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

import fairtrial
from fairtrial import InputError
from inside.transport import linear_rule
from inside.trial import contradictions, load_results, load_spec, write_report
from inside.watch import _hash, _line, open_state

HEAD = '[data]\ndataset = "compas"\noutcome = "two_year_recid"\n'
SPECS = {
    "a long dotted key": (".".join(["a"] * 60_000) + " = 1\n", "a line of"),
    "many tables": ("".join(f"[a{i}]\n" for i in range(5000)), "5,000 tables"),
    "deep lists": (f"x = {'[' * 60}{']' * 60}\n", "nested deeper"),
    "very deep lists": (f"x = {'[' * 4000}{']' * 4000}\n", "nested deeper"),
    "deep tables": (f"[{'.'.join('abcdefghijkl')}]\nx = 1\n", "nested deeper"),
    "a NaN tolerance": (
        HEAD + 'groups = ["race"]\n[certify]\nmetric = "base_rate"\ntolerance = nan\n',
        "tolerance",
    ),
    "a number of 5,000 digits": (HEAD + "[certify]\ntolerance = " + "9" * 5000 + "\n", "not valid TOML"),
    "many unknown keys": (HEAD + "".join(f"k{i} = 1\n" for i in range(300)), "(?s)301 faults.*and 251 more$"),
    "a whole data file": ("a = 1 # " + "x" * 90 + "\n", None),
}


@pytest.mark.parametrize("name", [name for name in SPECS if SPECS[name][1]])
def test_a_hostile_spec_gives_one_message(name: str, tmp_path: Path) -> None:
    text, message = SPECS[name]
    path = tmp_path / "audit.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_spec(path)


@pytest.mark.parametrize("bins", ["x", [["age"]], {"age": "x"}])
def test_odd_bins_give_one_message(bins: object) -> None:
    data = {"dataset": "compas", "outcome": "two_year_recid", "groups": ["race"], "bins": bins}
    with pytest.raises(InputError, match="bins"):
        fairtrial.run({"data": data, "measure": {"metric": "base_rate"}})


def test_a_large_file_is_no_spec(tmp_path: Path) -> None:
    path = tmp_path / "audit.toml"
    path.write_text(SPECS["a whole data file"][0] * 3000, encoding="utf-8")
    with pytest.raises(InputError, match="larger than 200 KB"):
        load_spec(path)


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    trial = fairtrial.run(
        {
            "data": {"dataset": "ricci", "decision": "passed", "groups": ["race"]},
            "measure": {"metric": "selection_rate"},
            "certify": {"metric": "selection_rate", "tolerance": 0.05},
        }
    )
    return trial.to_dict()


def saved(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "results.json"
    path.write_text(text, encoding="utf-8")
    return path


BAD = {
    "nothing": ("", "cannot be read as JSON"),
    "a list": ("[1, 2]", "not a result"),
    "deep": ("[" * 100_000 + "]" * 100_000, "nested too deep"),
    "NaN": ('{"schema": NaN}', "cannot be read as JSON"),
    "an infinite number": ('{"schema": 1e999}', "1e999 is no number that a trial writes"),
    "a number of 400 digits": ('{"schema": ' + "9" * 400 + "}", "is no number that a trial writes"),
    "another schema": ('{"schema": "x/1"}', "not a result"),
    "parts missing": ('{"schema": "fairtrial/_trial/2"}', "does not keep to its schema"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_malformed_result_gives_one_message(name: str, tmp_path: Path) -> None:
    text, message = BAD[name]
    with pytest.raises(InputError, match=message):
        load_results(saved(tmp_path, text))


def test_a_result_of_our_own_is_read(content: dict[str, Any], tmp_path: Path) -> None:
    read = load_results(saved(tmp_path, json.dumps(content)))
    assert contradictions(read) == []
    page = write_report(read, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "contradict each other" not in page


def test_a_section_that_is_there_twice_is_refused(content: dict[str, Any], tmp_path: Path) -> None:
    twice = {**content, "sections": [*content["sections"], content["sections"][0]]}
    with pytest.raises(InputError, match="has the section 'measure' more than once"):
        load_results(saved(tmp_path, json.dumps(twice)))


def first_measured(content: dict[str, Any]) -> dict[str, Any]:
    measured = next(section for section in content["sections"] if section["method"] == "measure")
    row: dict[str, Any] = next(
        row for row in measured["result"]["estimates"] if isinstance(row["difference"], float)
    )
    return row


def edit_rate(content: dict[str, Any]) -> None:
    row = first_measured(content)
    row["rate"] += 0.1


def edit_interval(content: dict[str, Any]) -> None:
    row = first_measured(content)
    row["difference_low"] = row["difference"] + 0.01


def edit_correction(content: dict[str, Any]) -> None:
    content["family"][0]["adjusted"] = 0.9


def edit_significance(content: dict[str, Any]) -> None:
    entry = content["family"][0]
    entry["significant"] = not entry["significant"]


def edit_verdict(content: dict[str, Any]) -> None:
    content["verdict"]["code"] = "certified"


def drop_a_test(content: dict[str, Any]) -> None:
    del content["family"][-1]


@pytest.mark.parametrize(
    "edit", [edit_rate, edit_interval, edit_correction, edit_significance, edit_verdict, drop_a_test]
)
def test_an_edited_result_is_said_to_be_one(edit, content: dict[str, Any], tmp_path: Path) -> None:
    edited = copy.deepcopy(content)
    edit(edited)
    assert contradictions(edited)
    page = write_report(edited, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "contradict each other" in page


@pytest.mark.parametrize("part", ["details", "estimates"])
def test_a_result_without_what_its_page_shows_gives_one_message(part, content, tmp_path: Path) -> None:
    """The schema leaves the details to the methods; what they lack is told by the page's writer."""
    path = tmp_path / "results.json"
    section = next(section for section in content["sections"] if section["result"] is not None)
    section["result"][part] = {} if part == "details" else [{} for _ in section["result"][part]]
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match=r"results.json: (lacks or mixes up|does not keep)"):
        write_report(load_results(path), tmp_path / "page.html")


def test_a_deep_rule_of_transport_gives_one_message(tmp_path: Path) -> None:
    path = tmp_path / "rule.json"
    path.write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(InputError, match="could not be read"):
        linear_rule(str(path))


@pytest.mark.parametrize("body", [b"[" * 100_000, b"{", b"\xff"])
def test_an_odd_line_of_a_watch_behind_a_right_hash_is_damage(body: bytes, tmp_path: Path) -> None:
    path = tmp_path / "state.jsonl"
    path.write_bytes(_line(_hash("", body), body) + b"\n")
    with open_state(path) as state, pytest.raises(InputError, match="is damaged: line 1 is no JSON"):
        list(state.lines())

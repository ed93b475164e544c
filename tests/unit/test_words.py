"""[words] of an audit file: what people, decisions and codes are called, from the file to the report."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import fairtrial
from fairtrial import InputError
from inside.trial import FileWords, contradictions, first_screen, load_spec, open_audit

MORTGAGES: dict[str, Any] = {
    "preset": "general",
    "data": {
        "source": "in memory",
        "decision": "deny",
        "positive": "yes",
        "favourable": 0,
        "groups": ["afam", "sex"],
    },
    "flag": {"metric": "selection_rate", "target": {"sex": 1}, "by": ["sex"]},
}
WORDS = {
    "people": "applicants",
    "decision": "were denied",
    "rate": "denial rate",
    "groups": {"afam": "Black", "sex": {1: "men", 2: "women"}},
}


def mortgages() -> dict[str, list[Any]]:
    """28 of 100 Black applicants are denied and 9 of 100 others; a third of each are coded 1."""
    denied = ["yes"] * 84 + ["no"] * 216 + ["yes"] * 90 + ["no"] * 910
    return {"deny": denied, "afam": ["yes"] * 300 + ["no"] * 1000, "sex": [1, 2, 2, 1] * 325}


def run(words: dict[str, Any] | None = None, **more: Any) -> Any:
    spec = {**MORTGAGES, **({} if words is None else {"words": words}), **more}
    return fairtrial.run(spec, data=mortgages())


def test_denials_never_stand_as_selections() -> None:
    trial = run(WORDS)
    told = json.dumps([trial.to_dict()["verdict"], trial.to_dict()["family"]]) + trial.summary()
    assert "denial rate of Black is 19 points above not Black" in trial.verdict.text
    said = first_screen(trial.to_dict())["headline"]
    assert "".join(part["text"] for part in said) == (
        "28 of 100 Black applicants were denied, against 9 of 100 applicants who are not Black."
    )
    assert contradictions(trial.to_dict()) == []
    assert "election rate" not in told
    assert "yes" not in told
    assert "sex: " not in told
    flagged = trial.results["flag"]
    assert [row["group"] for row in flagged.estimates] == ["women", "men"]
    assert flagged.details["places"] == [[["sex", "2"]], [["sex", "1"]]]  # results keep the file's own labels


def test_without_words_a_bad_decision_is_called_as_it_is_written() -> None:
    assert "share who were denied of afam is 19 points above not afam" in run().verdict.text
    coded = FileWords.of({"data": {"decision": "a1", "positive": "yes", "favourable": 0}})
    assert coded.rate_name("selection_rate") == "rate of a1 = yes"
    good = {**MORTGAGES["data"], "favourable": 1}
    trial = fairtrial.run({**MORTGAGES, "data": good}, data=mortgages())
    assert "the selection rate of" in trial.verdict.text


def test_words_reach_the_page_escaped(tmp_path: Path) -> None:
    hostile = {
        **WORDS,
        "people": "<script>a",
        "groups": {"afam": "<b>Black</b>", "sex": {1: "men&", 2: "women"}},
    }
    page = run(hostile).report(tmp_path / "page.html").read_text(encoding="utf-8")
    told = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)
    assert "<b>Black</b>" not in told
    assert "&lt;b&gt;Black&lt;/b&gt;" in told
    assert "<script>a" not in page
    assert "denial rate of <b>Black</b>" in unescape(told)


def test_words_of_published_groups_alone_are_published() -> None:
    rare = mortgages()
    rare["race"] = ["tiny"] * 3 + ["small"] * 4 + ["a"] * 593 + ["b"] * 700
    said = {**WORDS, "groups": {**WORDS["groups"], "race": {"tiny": "Tinies", "a": "As"}}}
    data = {**MORTGAGES["data"], "groups": ["race", "sex"]}
    spec = {
        "data": data,
        "words": {**said, "groups": {k: v for k, v in said["groups"].items() if k != "afam"}},
    }
    published = fairtrial.run(
        {**spec, "measure": {"metric": "selection_rate"}}, data=rare, publish=True
    ).to_dict()
    assert "Tinies" not in json.dumps(published)
    kept = published["spec"]["content"]["words"]
    assert kept["decision"] == "were denied"
    assert kept["groups"]["sex"] == {"1": "men", "2": "women"}


@pytest.mark.parametrize(
    ("attribute", "label", "told"),
    [
        ("white", "0", "not white"),
        ("white", "1", "white"),
        ("is_female", "yes", "female"),
        ("married", "no", "not married"),
        ("sens", "1", "people with sens = 1"),
        ("sex", "2", "people with sex = 2"),
        ("sex", "F", "people with sex = F"),
        ("race", "Other", "people with race = Other"),
        ("race", "Black", "Black"),
        ("age", "25–44", "age 25–44"),
        ("age", "under 25", "age under 25"),
        ("race", "(missing)", "people whose race is not known"),
        ("young women", "young women", "young women"),
        ("young women", "not young women", "not young women"),
        ("race", "Black or Asian", "Black or Asian"),
    ],
)
def test_groups_without_words(attribute: str, label: str, told: str) -> None:
    assert FileWords.of({}).group(attribute, label) == told


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ([("afam", "yes")], "Black applicants"),
        ([("afam", "no")], "applicants who are not Black"),
        ([("sex", "2")], "women"),
        ([("afam", "yes"), ("sex", "2")], "Black women"),
        ([("sex", "2"), ("age", "under 25")], "women aged under 25"),
        ([("sens", "0")], "applicants with sens = 0"),
        ([("white", "0")], "applicants who are not white"),
        ([("race", "African-American"), ("gender", "Male")], "African-American men"),
        ([("race", "Other")], "applicants with race = Other"),
        ([("gender", "F")], "women"),
        ([("sexo", "M")], "applicants with sexo = M"),
        ([("position", "Lieutenant")], "applicants with position = Lieutenant"),
        ([("income", "20–30")], "applicants with income 20–30"),
        ([("race", "(missing)")], "applicants whose race is not known"),
        ([("young women", "young women")], "young women"),
    ],
)
def test_people_in_a_sentence(place: list[tuple[str, str]], told: str) -> None:
    assert FileWords.of({"words": WORDS}).crowd(place) == told


def test_groups_with_words() -> None:
    words = FileWords.of({"words": WORDS})
    assert [words.group("sex", label) for label in ("1", "2", "women", "1 or 2")] == [
        "men", "women", "women", "men or women",
    ]  # fmt: skip
    assert words.group("afam", "no") == "not Black"
    assert words.who([["afam", "yes"], ["sex", "2"]]) == "Black, women"


@pytest.mark.parametrize(
    ("said", "one", "nought"),
    [
        ({"decision": "were searched"}, "were searched", "were not searched"),
        (
            {"decision": "had the car searched", "not_decision": "drove on"},
            "had the car searched",
            "drove on",
        ),
        ({"decision": "got a callback"}, "got a callback", "were not denied"),
        ({"not_decision": "were not hired"}, "were hired", "were not hired"),
        ({}, "were denied", "were not denied"),
    ],
)
def test_what_was_done(said: dict[str, str], one: str, nought: str) -> None:
    words = FileWords.of({"data": {"decision": "Status", "positive": "denied"}, "words": said})
    assert (words.done("decision", 1), words.done("decision", 0)) == (one, nought)


def test_what_was_done_by_numbers() -> None:
    plain = FileWords.of(
        {"data": {"decision": "chosen_2", "outcome": "default"}, "words": {"outcome": "defaulted"}}
    )
    assert [plain.done("decision", 1), plain.done("decision", 0)] == [
        "have chosen_2 = 1",
        "have chosen_2 = 0",
    ]
    assert [plain.done("outcome", 1), plain.done("outcome", 0)] == ["defaulted", "did not default"]
    cut = FileWords.of({"data": {"score": "pd", "threshold": 0.5}, "words": {"score": "risk of default"}})
    assert cut.done("decision", 1) == "have a risk of default of 0.5 or more"


def test_rates_are_called_by_the_decision() -> None:
    assert FileWords.of({"words": {"rate": "denial rate"}}).rate_name("selection_rate") == "denial rate"
    assert FileWords.of({"words": WORDS}).rate_name("fpr") == "false positive rate"
    assert FileWords.of({"words": {"decision": "were searched"}}).rate_name("selection_rate") == (
        "share who were searched"
    )
    assert FileWords.of({}).rate_name("selection_rate") == "selection rate"


HEAD = """\
[data]
dataset = "compas"
outcome = "two_year_recid"
score = "decile_score"
threshold = 5
groups = ["race", "sex"]

[measure]
metric = "fpr"

"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[words]\nperson = 'x'\n", ["line 12, [words] person", "unknown key"]),
        ("[words]\npeople = 3\n", ["line 12, [words] people", "must be a text"]),
        ("[words]\npeople = ''\n", ["line 12, [words] people", "must not be empty"]),
        ("[words.groups]\nsex = 3\n", ["line 12, [words] groups.sex", "must be a text, or a table"]),
        ("[words.groups]\nsex = {Male = 'x', Female = 'x'}\n", ["line 12", "calls two groups 'x'"]),
        (
            "[words.groups]\nsex = {Mal = 'men'}\n",
            ["line 12", "'Mal' is not in the data", "Did you mean 'Male'?"],
        ),
        (
            "[words.groups]\nsax = {Male = 'men'}\n",
            ["line 12", "unknown column 'sax'", "Did you mean 'sex'?"],
        ),
        ("[words.groups]\nsex = 'women'\n", ["line 12", "needs a column of yes and no"]),
        ("[words.groups]\nsex = {Male = 'Female'}\n", ["line 12", "another label"]),
    ],
)
def test_faults_name_the_line(tmp_path: Path, text: str, said: list[str]) -> None:
    path = tmp_path / "audit.toml"
    path.write_text(HEAD + text, encoding="utf-8")
    with pytest.raises(InputError) as fault:
        open_audit(load_spec(path))
    for part in said:
        assert part in str(fault.value)

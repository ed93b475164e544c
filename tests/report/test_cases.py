"""From a file to everything that a reader sees: summary, page, terminal and results.json say one thing, and it is so.

Each case is a file in which an earlier release was right in its numbers and wrong in what it said of them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import fairtrial as ft
from inside.cli import program
from inside.trial import contradictions, first_screen, ledger_of, load_results, trial_tone
from known_counts import BERKELEY, RESUMES, rows
from truth.first_sentence import faults


@dataclass(frozen=True)
class Told:
    """All that is told of one audit."""

    content: dict[str, Any]
    summary: str
    page: str
    terminal: str

    @property
    def first(self) -> str:
        return "".join(piece["text"] for piece in first_screen(self.content)["headline"])

    @property
    def screen(self) -> str:
        shown = first_screen(self.content)["answers"]
        return " ".join(
            [self.first, *(f"{asked} {''.join(piece['text'] for piece in text)}" for asked, text in shown)]
        )


def audited(folder: Path, data: pd.DataFrame, *options: str, words: str = "", more: str = "") -> Told:
    """`fairtrial init data.csv --yes …`, what the user adds to the file, and `fairtrial run`."""
    people, spec, out = folder / "people.csv", folder / "audit.toml", folder / "out"
    data.to_csv(people, index=False)
    done = CliRunner().invoke(program, ["init", str(people), "--yes", "--out", str(spec), *options])
    assert done.exit_code == 0, (done.output, done.exception)
    text = spec.read_text(encoding="utf-8").replace("[words]", f"[words]\n{words}#", 1)
    spec.write_text(text + more, encoding="utf-8")
    done = CliRunner().invoke(program, ["run", str(spec), "--out", str(out)])
    assert done.exit_code == 0, (done.output, done.exception)
    page = (out / "report.html").read_text(encoding="utf-8")
    page = re.sub(r"(?s)<(script|style|svg)\b.*?</\1>", " ", page)
    page = " ".join(unescape(re.sub(r"<[^>]+>", "", page)).split())
    summary = (out / "summary.md").read_text(encoding="utf-8").replace("\\", "")
    return Told(load_results(out), summary, page, done.output)


def agree(told: Told, data: pd.DataFrame) -> None:
    """What all places share: the first sentence and the verdict, which follow from the file."""
    assert contradictions(told.content) == []
    assert faults(told.content, {name: data[name].to_numpy() for name in data}) == []
    verdict = told.content["verdict"]["text"]
    for place in (unescape(told.summary), told.page, " ".join(told.terminal.split())):
        assert told.first in place
        assert verdict in place
    assert json.loads(json.dumps(told.content))["ledger"] == [
        line.to_dict() for line in ledger_of(told.content)
    ]
    assert not re.search(r"\b\w+: [01]\b(?!\.)", told.screen), "no code without a word"


@dataclass(frozen=True)
class Case:
    """A file, what the user says of it, and what must and must not be said."""

    data: pd.DataFrame
    options: tuple[str, ...] = ()
    words: str = ""
    more: str = ""
    first: str = ""
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    verdict: str = ""
    harmed: tuple[str, ...] = field(default=())


def certify(by: str, more: str = "") -> str:
    return f'\n[certify]\nmetric = "selection_rate"\nby = ["{by}"]\ntolerance = "5 in 100"\n{more}'


def scores() -> pd.DataFrame:
    """A probability of default that falls with approval and is higher for Black applicants."""
    random = np.random.default_rng(0)
    race = random.choice(["Black", "White"], 3000)
    risk = np.clip(random.normal(np.where(race == "Black", 0.45, 0.3), 0.12), 0.01, 0.99).round(3)
    approved = (random.random(3000) < 1 / (1 + np.exp(8 * (risk - 0.35)))).astype(int)
    return pd.DataFrame({"race": race, "risk_score": risk, "approved": approved})


def staff() -> pd.DataFrame:
    """Pay with a gap of its own in each job."""
    random = np.random.default_rng(1)
    sex, job = random.choice(["F", "M"], 900), random.choice(["clerk", "manager"], 900)
    pay = np.exp(10.3 + 0.5 * (job == "manager") + 0.12 * (sex == "M") + 0.2 * random.normal(size=900))
    return pd.DataFrame({"gender": sex, "job": job, "salary": pay.round()})


def berkeley() -> pd.DataFrame:
    """Berkeley as it is published: a table of counts."""
    told = [
        (admitted, gender, department, yes if admitted == "Admitted" else n - yes)
        for (gender, department), (yes, n) in BERKELEY.items()
        for admitted in ("Admitted", "Rejected")
    ]
    return pd.DataFrame(told, columns=["Admit", "Gender", "Dept", "Freq"])


HIRED = ("--favourable", "1", "--preset", "general")

CASES = {
    "résumés within a tolerance of 5 points": Case(
        rows(RESUMES, ("race", "callback")), more=certify("race"), verdict="violated",
        first="6 of 100 Black people got a callback, against 10 of 100 White people.",
        says=("only 0.67 of the others': four fifths is not met", "3.2 points (1.7 to 4.7)"),
        never=("✅", "No group is shown", "Certified:", "not treated differently"), harmed=("race: Black",),
    ),
    "a score that falls with approval": Case(
        scores(), ("--decision", "approved", "--score", "risk_score"), first="Black people were approved, against",
        says=("Harmed",), never=("White (favoured)", "Harmed: White people"), harmed=("race: Black",),
        verdict="violated",
    ),
    "denials": Case(
        rows({("yes",): (95, 339), ("no",): (190, 2041)}, ("afam", "deny"), ("yes", "no")),
        words='people = "applicants"\ngroups = { afam = "Black" }\n', harmed=("Black",),
        first="28 of 100 Black applicants were denied, against 9 of 100 applicants who are not Black.",
        says=("share who were denied",), never=("election rate", "afam: "), verdict="violated",
    ),
    "codes": Case(
        rows({("1",): (240, 1000), ("2",): (340, 1000)}, ("sens", "refused")), ("--group", "sens", "--favourable", "0"),
        first="34 of 100 people with sens = 2 were refused, against 24 of 100 people with sens = 1.",
        harmed=("sens: 2",), verdict="violated",
    ),
    "a column of yes and no": Case(
        rows({("0",): (240, 800), ("1",): (500, 1000)}, ("white", "hired")), ("--group", "white", *HIRED),
        first="30 of 100 people who are not white were hired, against 50 of 100 white people.",
        never=("white: 0", "white: 1"), harmed=("not white",), verdict="violated",
    ),
    "Berkeley": Case(
        rows(BERKELEY, ("Gender", "Dept", "Admit"), ("Admitted", "Rejected")), verdict="violated",
        first="30 of 100 women were admitted, against 45 of 100 men. Among people alike in Dept, no difference is",
        says=("Not shown among people alike in Dept.",), harmed=("Gender: Female",),
    ),
    "Berkeley as a table of counts": Case(
        berkeley(), verdict="violated", harmed=("Gender: Female",),
        first="30 of 100 women were admitted, against 45 of 100 men. Among people alike in Dept, no difference is",
        says=("Not shown among people alike in Dept.", "What are the rates among people alike in Dept?"),
    ),
    "48 people of whom one test tells enough": Case(
        rows({("female",): (14, 24), ("male",): (21, 24)}, ("gender", "decision"), ("promoted", "not promoted")),
        verdict="violated", first="58 of 100 women were promoted, against 88 of 100 men.",
        says=("This audit makes one test",), never=("may be chance", "3 tests"), harmed=("gender: female",),
    ),
    "pay": Case(
        staff(), ("--decision", "salary"), first="The mean salary for women is", verdict="violated",
        says=("of theirs. Among people alike in job, the gap is", "The median salary of", "mean salary of",
              "top tenth"),
        never=("describes the people",), harmed=("gender: F",),
    ),
    "48 people": Case(
        rows({("f",): (11, 24), ("m",): (13, 24)}, ("sex", "promoted")), ("--preset", "general"),
        more=certify("sex", "minimum = 10\n"), verdict="undetermined",
        first="46 of 100 women were promoted, against 54 of 100 men. That may be chance.",
        says=("80% probability",), never=("flagged", "✅", "Harmed"),
    ),
    "a tiny group": Case(
        rows({("a",): (500, 1000), ("b",): (498, 1000), ("prefer not to say",): (3, 9)}, ("ethnicity", "hired")),
        more=certify("ethnicity"), verdict="certified", first="That may be chance.",
        says=("Too few people to judge on their own: ethnicity: prefer not to say",), never=("Gather", "members"),
    ),
    "everything fair": Case(
        rows({("women",): (4_010, 8_000), ("men",): (4_034, 8_000)}, ("sex", "invited")), more=certify("sex"),
        verdict="certified", first="of 1,000 women were invited, against", says=("80% probability", "✅"),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_case(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    told = audited(tmp_path, case.data, *case.options, words=case.words, more=case.more)
    agree(told, case.data)
    assert case.first in told.first
    everything = f"{told.summary} {told.page} {told.terminal}"
    for text in case.says:
        assert text in everything, (text, told.screen)
    for text in case.never:
        assert text not in f"{told.summary} {told.screen} {told.terminal}", text
    assert told.content["verdict"]["code"] == case.verdict
    shown = [
        line for line in ledger_of(told.content) if line.shown and line.effect == "harmed" and not line.within
    ]
    assert {line.who for line in shown} == set(case.harmed)
    assert (trial_tone(told.content) == "good") == (case.verdict == "certified")
    assert len(told.screen.split()) <= 150
    assert told.content["correction"]["tests"] <= len(
        [line for line in ledger_of(told.content) if line.tested]
    )


COMPAS = {
    "dataset": "compas",
    "outcome": "two_year_recid",
    "score": "decile_score",
    "groups": ["race"],
    "favourable": 0,
}


@pytest.mark.filterwarnings("ignore")
def test_one_group_is_harmed_at_one_threshold_and_over_all_of_them() -> None:
    audit = ft.Audit(
        ft.load("compas"),
        outcome="two_year_recid",
        score="decile_score",
        threshold=5,
        groups=["race"],
        favourable=0,
    )
    effects = set()
    for asked in ("fpr", "mean_score"):
        for row in ft.measure(audit, asked, by="race").estimates:
            effects |= {row["effect"]} if row["group"] == "African-American" else set()
    curve = ft.measure(audit, "roc_gap", by="race") if "roc_gap" in ft.METRICS else None
    assert curve is None or all(
        row["effect"] != "favoured" for row in curve.estimates if "African" in str(row["group"])
    )
    assert effects == {"harmed"}


def test_one_comparison_from_both_sides_is_one_test() -> None:
    data = rows({("f",): (300, 600), ("m",): (420, 600)}, ("sex", "hired"))
    roles = {"decision": "hired", "groups": ["sex"], "favourable": 1}
    asked = {"metric": "selection_rate"}
    content = ft.run(
        {
            "data": roles,
            "measure": asked,
            "flag": {**asked, "direction": "differs"},
            "certify": {**asked, "tolerance": 0.05},
        },
        data=data,
    ).to_dict()
    assert len(ledger_of(content)) == 1
    assert content["correction"]["tests"] == 1
    assert first_screen(content)["counts"][0]["number"] == "1"


def test_a_group_that_was_tested_is_in_no_list_of_those_that_were_not() -> None:
    """377 people in one question are enough for it, and found: no other place calls them too few."""
    counts = {("a",): (500, 1_000), ("b",): (480, 1_000), ("Other",): (100, 377)}
    roles = {"decision": "hired", "groups": ["race"], "favourable": 1}
    content = ft.run(
        {
            "data": roles,
            "measure": {"metric": "selection_rate", "minimum": 400},
            "flag": {"metric": "selection_rate"},
        },
        data=rows(counts, ("race", "hired")),
    ).to_dict()
    screen = " ".join(
        "".join(piece["text"] for piece in text) for _, text in first_screen(content)["answers"]
    )
    assert content["verdict"]["code"] == "violated"
    assert "Undetermined" not in content["verdict"]["text"]
    assert "Too few" not in screen

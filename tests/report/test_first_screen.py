"""A person who knows no statistics finds six answers on the first screen; here they are, per audit."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd
import pytest

import fairtrial as ft
from inside.trial import (
    WORDS,
    contradictions,
    entries,
    findings,
    first_screen,
    summary_markdown,
    term_of,
    why_numbers_differ,
)
from inside.trial import writing_render as render
from six_audits import run_audit

CHECKED, PROBLEM, WHOM, SIZE, SURE, LEFT, NEXT = (
    "What was checked?", "Is there a problem?", "For whom?", "How big is it?", "How sure is it?",
    "Who was left out?", "What next?",
)  # fmt: skip

# The numbers are those of the methods' own golden tests: COMPAS 805 of 1,795 and 477 of 2,168
# by counting (44.8% is ProPublica's; the score interval of statsmodels ends at 25.66 points, too), Ricci 6 of 23
# and 41 of 68 by counting, Adult 10.9% and 30.4% by counting.
SIX: dict[str, dict[str, tuple[str, ...]]] = {
    "compas": {
        "headline": ("45 of 100 in race: African-American", "22 of 100 of everyone else", "score of 5 or more"),
        CHECKED: ("how many of the people whose two_year_recid is 0", "false positive rate", "by race and sex",
                  "7,214 rows", "compared with race: Caucasian or with everyone else", "Tolerated: 5.0 points"),
        PROBLEM: ("Yes.", "of 22 comparisons", "after correction"),
        WHOM: ("Harmed: race: African-American",),
        SIZE: ("22.8 points", "44.8%", "22.0%"),
        SURE: ("95% interval", "to 25.7 points", "at most 5 of 100 such audits"),
        LEFT: ("too few people are in them, 6 groups: ", "race: Asian (32 rows)", "race: Native American (18 rows)",
               "and 2 more"),
        NEXT: ("which features carry it", "fairer rule", "for people to judge"),
    },
    "ricci": {
        "headline": ("26 of 100 in race: H", "60 of 100 in race: W", "passed = 1"),
        CHECKED: ("how many people have passed = 1", "selection rate", "by race", "118 rows", "race: W",
                  "Tolerated: a ratio of 0.8 to 1.25"),
        PROBLEM: ("Yes.",),
        WHOM: ("Harmed: race: H",),
        SIZE: ("34.2 points", "26.1%", "60.3%"),
        SURE: ("95% interval", "at most 5 of 100"),
        LEFT: ("Nobody",),
        NEXT: ("for people to judge",),
    },
    "adult": {
        "headline": ("11 of 100 in sex: Female", "30 of 100 of everyone else", "income = >50K"),
        CHECKED: ("how many people have income = >50K", "by sex and race", "48,842 rows", "Tolerated: 5.0 points",
                  "everyone else or with sex: Male alike in occupation"),
        PROBLEM: ("Yes.",),
        WHOM: ("Harmed: sex: Female",),
        SIZE: ("19.5 points", "10.9%", "30.4%"),
        SURE: ("18.8 to 20.1 points",),
        LEFT: ("2,809 of 48,842 rows", "2,809 without 'occupation' (in “Certification” alone)"),
        NEXT: ("which features carry it",),
    },
    "loans": {
        "headline": ("24 of 100 in ethnicity: minority", "65 of 100 in ethnicity: majority", "approved = yes"),
        CHECKED: ("how many people have approved = yes", "who have approved = yes have repaid = yes",
                  "by ethnicity", "6,000 rows"),
        PROBLEM: ("Yes.",),
        WHOM: ("Harmed: ethnicity: minority",),
        SIZE: ("41.4 points", "24.0%", "65.4%"),
        SURE: ("38.9 to 43.8 points",),
        LEFT: ("Nobody",),
        NEXT: ("for people to judge",),
    },
    "thousand": {
        "headline": ("20 of 100 in branch: b015", "59 of 100 of everyone else"),
        CHECKED: ("by branch", "60,000 rows", "No tolerance was stated"),
        PROBLEM: ("Yes.", "of 1,000 comparisons"),
        WHOM: ("Harmed: branch: b015", "more"),
        SIZE: ("39.0 points", "20.0%", "59.0%"),
        SURE: ("27.2 to 47.7 points",),
        LEFT: ("Nobody",),
        NEXT: ("for people to judge",),
    },
    "nothing": {
        "headline": ("It is not settled whether groups are treated equally.",),
        CHECKED: ("how many people have invited = 1", "by sex and region", "400 rows", "Tolerated: 5.0 points"),
        PROBLEM: ("Not settled.", "not evidence of fairness", "Nor could it be certified"),
        WHOM: ("No group is shown to be treated differently",),
        SIZE: ("largest gap seen is 10.0 points", "cannot tell from luck"),
        SURE: ("−2.5 to 22.7 points", "do not settle it either way"),
        LEFT: ("Nobody",),
        NEXT: ("Gather more people", "3,288 rows"),
    },
}  # fmt: skip


def said(pieces: list[dict[str, Any]]) -> str:
    return "".join(piece["text"] for piece in pieces)


@pytest.mark.parametrize("name", SIX)
def test_the_six_answers(name: str) -> None:
    content = run_audit(name).to_dict()
    shown = first_screen(content)
    answers = {
        "headline": said(shown["headline"]),
        **{question: said(text) for question, text in shown["answers"]},
    }
    for question, texts in SIX[name].items():
        for text in texts:
            assert text.lower() in answers[question].lower(), (question, answers[question])
    counts = {one["word"]: one for one in shown["counts"]}
    assert list(counts) == ["found", "certified", "undetermined"], "three numbers, no more"
    sections = {section["id"] for section in content["sections"]}
    assert all(one["link"] in sections | {"findings", "verdict"} for one in counts.values())
    if answers[PROBLEM].startswith("Yes"):
        assert f"in {counts['found']['number']} of " in answers[PROBLEM], "one number, not two"
    assert contradictions(content) == [], "no page warns of itself"
    told = findings(content)
    found = int(counts["found"]["number"].replace(",", ""))
    assert bool(found) <= len({one["what"] for one in told}) == len(told) <= min(5, found)
    if name == "thousand":  # b015 and b028 have the same counts and are no mirror image of each other
        assert {"b015", "b028"} <= {one["what"].split(": ")[2].split(",")[0] for one in told}
    if name == "loans":  # of two groups everyone else is the other one: one number, and nothing to explain
        assert set(why_numbers_differ(content["sections"])) == {"flag"}
        assert (
            "everyone else alike in income and debt_ratio" in why_numbers_differ(content["sections"])["flag"]
        )


def people(counts: dict[tuple[str, ...], tuple[int, int]], columns: tuple[str, ...]) -> pd.DataFrame:
    """Rows by counting: of each group `yes` of `n`."""
    rows = [
        (*group, "yes" if place < yes else "no") for group, (yes, n) in counts.items() for place in range(n)
    ]
    return pd.DataFrame(rows, columns=list(columns))


def screen(data: pd.DataFrame, roles: dict[str, Any]) -> tuple[dict[str, str], str]:
    """The first screen's texts, and the summary."""
    content = ft.run({"preset": "general", "data": roles}, data=data).to_dict()
    shown = first_screen(content)
    texts = {
        "headline": said(shown["headline"]),
        **{question: said(text) for question, text in shown["answers"]},
    }
    return texts, summary_markdown(content)


SURVIVED = {"outcome": "survived", "positive": {"outcome": "yes"}, "groups": ["sex"]}


def test_without_a_decision_people_are_described() -> None:
    """The Titanic by counting (Dawson, 1995): 344 of 470 women and 367 of 1,731 men lived, which is 52.0 points."""
    data = people({("female",): (344, 470), ("male",): (367, 1_731)}, ("sex", "survived"))
    texts, summary = screen(data, SURVIVED)
    assert texts["headline"] == (
        "sex: female differs from everyone else by 52.0 points in how often survived = yes holds; that is more than "
        "luck, and describes the people, not a decision about them."
    )
    assert texts[PROBLEM].startswith(
        "No decision was put to the test. A difference is shown in 1 of 1 comparison;"
    )
    assert texts[WHOM] == "Different from others: sex: female; sex: male."
    assert texts[SIZE] == "52.0 points: 73.2% in sex: female against 21.2% of everyone else."
    assert "do not settle" not in texts[SURE]
    assert texts[NEXT] == "Name the decision to have it tested."
    assert texts[NEXT] in summary
    assert "survived = yes (base rate) of female is 52.0 points above everyone else" in summary


def test_described_people_who_may_differ_by_luck() -> None:
    data = people({("female",): (50, 100), ("male",): (48, 100)}, ("sex", "survived"))
    texts, summary = screen(data, SURVIVED)
    assert texts["headline"].startswith("The groups are not shown to differ.")
    assert "No difference is shown in 1 comparison" in texts[PROBLEM]
    assert texts[WHOM] == "No group is shown to differ."
    assert "cannot tell from luck" in texts[SIZE]
    assert "do not settle it" in texts[SURE]
    assert texts[NEXT] == "Name the decision to have it tested."
    assert texts[NEXT] in summary
    assert "the groups are not shown to differ" in summary


def test_an_outcome_of_numbers_is_a_mean() -> None:
    data = pd.DataFrame({"sex": ["f", "m"] * 60, "affairs": [0.0, 3.0, 1.0, 5.0, 2.0, 7.0] * 20})
    texts, summary = screen(data, {"outcome": "affairs", "groups": ["sex"]})
    assert "differs from everyone else by 4 in the mean of affairs" in texts["headline"]
    assert texts[CHECKED].startswith("The mean of affairs (base rate), by sex.")
    assert "mean of affairs (base rate) of " in summary
    assert "affairs = 1" not in " ".join([*texts.values(), summary])


HIRED = {"decision": "hired", "positive": {"decision": "yes"}, "groups": ["sex", "age"]}


def test_a_certificate_speaks_of_what_it_covers_and_of_nothing_else() -> None:
    """By counting 4,010 of 8,000 women and 4,034 of 8,000 men were invited, 0.3 points; the sexes are certified."""
    counts = {("f", "north"): (2_000, 4_000), ("f", "south"): (2_010, 4_000), ("m", "north"): (2_044, 4_000),
              ("m", "south"): (1_990, 4_000)}  # fmt: skip
    data = people(counts, ("sex", "part", "invited"))
    roles = {
        "decision": "invited",
        "positive": {"decision": "yes"},
        "groups": ["sex", "part"],
        "favourable": 1,
    }
    asked = {"metric": "selection_rate", "by": ["sex"], "tolerance": 0.05}
    flag = {"metric": "selection_rate", "direction": "differs"}
    content = ft.run(
        {"data": roles | {"source": "x.csv"}, "certify": asked, "flag": flag}, data=data
    ).to_dict()
    shown = first_screen(content)
    texts = {question: said(text) for question, text in shown["answers"]}
    assert said(shown["headline"]) == (
        "Selection rate of sex: f and sex: m is within 5.0 points of everyone else at level 95%."
    )
    assert texts[PROBLEM].startswith("Not in what was certified. Certified: ")
    assert texts[SIZE].startswith("The largest gap seen is 0.3 points (sex: ")
    assert "inside what is tolerated" in texts[SIZE]
    assert "larger than tolerated, it would be certified in at most 5 of 100" in texts[SURE]


def test_headline_and_people_are_about_the_same_finding() -> None:
    """20 of 100 grown men and 135 of 220 others were hired, by counting."""
    counts = {("man", "adult"): (20, 100), ("man", "child"): (30, 60), ("woman", "adult"): (70, 100),
              ("woman", "child"): (35, 60)}  # fmt: skip
    texts, summary = screen(people(counts, ("sex", "age", "hired")), HIRED)
    told = "20 of 100 in sex: man, age: adult and 61 of 100 of everyone else have hired = yes."
    assert (
        "The clearest: the selection rate of sex: man, age: adult is 41.4 points below everyone else."
        in summary
    )
    assert told in summary
    assert texts["headline"] == told
    assert "A disparity is shown in 3 of 7 comparisons (6 of 12 tests)" in texts[PROBLEM]
    assert "6 of 12 tests show a disparity" in summary, "one count, and what it is of"
    assert texts[SIZE].startswith("41.4 points: 20.0% in sex: man, age: adult against 61.4% of everyone else")


@pytest.mark.parametrize(("favourable", "asked"), [({}, "differ"), ({"favourable": 1}, "are harmed")])
def test_harm_is_asked_of_where_it_was_said_what_is_good(favourable: dict[str, int], asked: str) -> None:
    data = people({("man",): (20, 100), ("woman",): (70, 100)}, ("sex", "hired"))
    trial = ft.run({"preset": "general", "data": {**HIRED, "groups": ["sex"], **favourable}}, data=data)
    for text in (summary_markdown(trial.to_dict()), trial.summary(), trial._repr_html_()):
        assert re.findall(r"Which known groups ([a-z ]+)\?", text) == [asked]


def test_masked_numbers_are_said_to_be_masked() -> None:
    """Six of 23 are few: what is found of them is said, the numbers are not."""
    content = run_audit("ricci", suppress_below=10).to_dict()
    answers = {question: said(text) for question, text in first_screen(content)["answers"]}
    assert answers[PROBLEM].startswith("Yes.")
    assert answers[WHOM] == "Harmed: race: H."
    assert "masked" in answers[SIZE]
    assert "luck" not in answers[SIZE]
    assert "interval" not in answers[SURE]


def test_mirror_images_are_shown_once() -> None:
    """Women against men and men against women are one gap."""
    content = run_audit("adult").to_dict()
    told = [finding["what"] for finding in findings(content)]
    assert any("sex: Female," in text for text in told)
    assert not any(re.search(r"sex: Male, compared with everyone else", text) for text in told)


def test_what_is_assumed_is_said_once_per_question() -> None:
    content = run_audit("nothing").to_dict()
    page = render(content)
    for text in ("taken as independent people", "taken as not fitted on these rows"):
        assert page.count(text) == len(content["sections"]), text
    assert page.count("Intervals are pointwise; findings use") == 1, "measure's"


def test_every_term_leads_to_an_entry_of_the_page() -> None:
    page = render(run_audit("nothing").to_dict())
    links = set(re.findall(r'class="term" href="#([^"]+)"', page))
    assert links, "terms are linked"
    assert all(f'id="{name}"' in page for name in links)
    assert {term_of(word) for word in WORDS} == set(entries()), (
        "no entry without a word, no word without an entry"
    )
    assert all(len(text) > 20 for _, text in entries().values())
    assert not any(mark in text for _, text in entries().values() for mark in ("](", "**", "`"))

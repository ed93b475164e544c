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

DIFFERENCE, TOLERANCE, WHOM, LEFT, CHECKED, NEXT = (
    "Is there a difference?", "Is it within the tolerance?", "For whom?", "Who was left out?", "What was checked?",
    "What next?",
)  # fmt: skip

# The numbers are those of the methods' own golden tests: COMPAS 805 of 1,795 and 477 of 2,168
# by counting (44.8% is ProPublica's; the score interval of statsmodels ends at 25.66 points, too), Ricci 6 of 23
# and 41 of 68 by counting, Adult 10.9% and 30.4% by counting.
SIX: dict[str, dict[str, tuple[str, ...]]] = {
    "compas": {
        "headline": ("45 of 100 African-American people", "22 of 100 others", "score of 5 or more"),
        DIFFERENCE: ("Yes, in 7 of 22 comparisons", "22.8 points (19.9 to 25.7)"),
        TOLERANCE: ("No: race: African-American is beyond 5 points.",),
        WHOM: ("Harmed: African-American people",),
        LEFT: ("Too few people to judge on their own: race: Asian (n = 32)", "race: Native American (n = 18)"),
        CHECKED: ("False positive rate", "by race and sex", "7,214 rows", "against race: Caucasian or everyone else"),
        NEXT: ("for people to judge",),
    },
    "ricci": {
        "headline": ("26 of 100 people with race = H passed", "60 of 100 people with race = W"),
        DIFFERENCE: ("34.2 points (10.6 to 53.4)",),
        TOLERANCE: ("beyond the tolerance of a ratio of 0.8 to 1.25",),
        WHOM: ("Harmed: people with race = H",),
        CHECKED: ("Selection rate", "by race", "118 rows", "race: W"),
        NEXT: ("for people to judge",),
    },
    "adult": {
        "headline": ("11 of 100 women", "30 of 100 men", "income >50K",
                     "Among people alike in occupation, the gap is 21.2 points (20.3 to 22.0)"),
        DIFFERENCE: ("19.5 points (18.8 to 20.1)",),
        TOLERANCE: ("No: sex: Female is beyond 5 points among people alike in occupation.",),
        WHOM: ("Harmed: women",),
        LEFT: ("2,809 of 48,842 rows", "2,809 without 'occupation' (in “Certification” alone)"),
        CHECKED: ("by sex and race", "48,842 rows", "sex: Male alike in occupation"),
        NEXT: ("fairtrial explain",),
    },
    "loans": {
        "headline": ("24 of 100 minority people", "65 of 100 majority people", "were approved",
                     "Among people alike in income and debt_ratio, the gap is 38 points"),
        DIFFERENCE: ("41.4 points (38.9 to 43.8)",),
        TOLERANCE: ("beyond your tolerance of 5 points",),
        WHOM: ("Harmed: minority people",),
        CHECKED: ("by ethnicity", "6,000 rows"),
        NEXT: ("fairtrial explain", "for people to judge"),
    },
    "thousand": {
        "headline": ("20 of 100 people with branch = b015", "59 of 100 others"),
        DIFFERENCE: ("of 1,000 comparisons", "39 points (27.2 to 47.7)"),
        TOLERANCE: ("You set no tolerance",),
        WHOM: ("Harmed: people with branch = b015", "more"),
        CHECKED: ("by branch", "60,000 rows"),
        NEXT: ("for people to judge",),
    },
    "nothing": {
        "headline": ("of 100 ", "That may be chance."),
        DIFFERENCE: ("None is shown in 10 comparisons", "with 80% probability", "−2.5 to 22.7 points"),
        TOLERANCE: ("Not settled",),
        CHECKED: ("by sex and region", "400 rows"),
        NEXT: ("More people would settle it",),
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
    assert list(counts) == ["with a difference", "within tolerance", "not settled"], "three numbers, no more"
    sections = {section["id"] for section in content["sections"]}
    assert all(one["link"] in sections | {"findings", "verdict"} for one in counts.values())
    if answers[DIFFERENCE].startswith("Yes, in"):
        assert f"in {counts['with a difference']['number']} of " in answers[DIFFERENCE], "one number, not two"
    assert contradictions(content) == [], "no page warns of itself"
    told = findings(content)
    found = int(counts["with a difference"]["number"].replace(",", ""))
    assert bool(found) <= len({one["what"] for one in told}) == len(told) <= min(5, found)
    if name == "thousand":  # b015 and b028 have the same counts and are no mirror image of each other
        assert {"b015", "b028"} <= {one["what"].split(": ")[2].split(",")[0] for one in told}
    if name == "loans":
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
    assert texts["headline"] == ("73 of 100 women survived, against 21 of 100 men.")
    assert texts[DIFFERENCE].startswith(
        "Yes, in 1 of 1 comparison, more than chance explains. The clearest is 52 points"
    )
    assert texts[DIFFERENCE].endswith("It describes the people, not a decision about them.")
    assert TOLERANCE not in texts
    assert texts[WHOM] == "Different from others: women."
    assert texts[NEXT] == "Name the decision to have it tested."
    assert texts[NEXT] in summary


def test_described_people_who_may_differ_by_luck() -> None:
    data = people({("female",): (50, 100), ("male",): (48, 100)}, ("sex", "survived"))
    texts, summary = screen(data, SURVIVED)
    assert texts["headline"].endswith("48 of 100 men. That may be chance.")
    assert texts[DIFFERENCE].startswith("None is shown in 1 comparison.")
    assert "with 80% probability" in texts[DIFFERENCE], "how large a gap would have been found"
    assert WHOM not in texts
    assert texts[NEXT] in summary
    assert "the groups are not shown to differ" in summary


def test_an_outcome_of_numbers_is_a_mean() -> None:
    data = pd.DataFrame({"sex": ["f", "m"] * 60, "affairs": [0.0, 3.0, 1.0, 5.0, 2.0, 7.0] * 20})
    texts, summary = screen(data, {"outcome": "affairs", "groups": ["sex"]})
    assert texts["headline"] == "The mean affairs for women is 1, against 5 for men."
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
    assert said(shown["headline"]).endswith("That may be chance.")
    assert content["verdict"]["text"].startswith(
        "Certified: selection rate of sex: f and sex: m is within 5.0 points of everyone else at level 95%; "
        "ratios of 0.99 to 1.01, shown to be within 0.8 to 1.25."
    )
    assert texts[TOLERANCE] == "Yes: the one comparison is within 5 points.", "the headline is of another one"
    assert "None is shown in 6 comparisons" in texts[DIFFERENCE], (
        "two attributes with two groups, four crossings"
    )
    assert "with 80% probability" in texts[DIFFERENCE]
    assert texts[NEXT] == "Hand on the certificate: fairtrial report --certificate."


def test_headline_and_people_are_about_the_same_finding() -> None:
    """20 of 100 grown men and 135 of 220 others were hired, by counting."""
    counts = {("man", "adult"): (20, 100), ("man", "child"): (30, 60), ("woman", "adult"): (70, 100),
              ("woman", "child"): (35, 60)}  # fmt: skip
    texts, summary = screen(people(counts, ("sex", "age", "hired")), HIRED)
    told = "20 of 100 men with age = adult were hired, against 61 of 100 others."
    clearest = "The clearest: the selection rate of sex: man, age: adult is 41.4 points below everyone else ("
    assert clearest in summary
    assert told in summary
    assert texts["headline"] == told
    assert "Yes, in 3 of 6 comparisons" in texts[DIFFERENCE]
    assert "in 3 of 6 comparisons" in summary, "one count"
    assert "The clearest is 41.4 points" in texts[DIFFERENCE]


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
    assert answers[DIFFERENCE].startswith("Yes, in")
    assert "Its size is not told here" in answers[DIFFERENCE]
    assert answers[WHOM] == "Harmed: people with race = H."


def test_mirror_images_are_shown_once() -> None:
    """Women against men and men against women are one gap."""
    content = run_audit("adult").to_dict()
    told = [finding["what"] for finding in findings(content)]
    assert any("sex: Female," in text for text in told)
    assert not any(re.search(r": sex: Male, compared with", text) for text in told)


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

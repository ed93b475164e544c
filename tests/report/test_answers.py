"""From file to report: what a person reads first is true, whole, short, and the same in every place."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import fairtrial as ft
from english import whole
from inside.cli import program
from inside.trial import (
    contradictions,
    findings,
    first_screen,
    ledger_of,
    load_results,
    report_certificate_page,
    summary_markdown,
    trial_tone,
)
from inside.trial import (
    writing_render as render,
)

DIFFERENCE, TOLERANCE, WHOM, LEFT, NEXT = (
    "Is there a difference?", "Is it within the tolerance?", "For whom?", "Who was left out?", "What next?",
)  # fmt: skip
GREEN = "✅"
LONGEST_SCREEN, LONGEST_PAGE = 150, 3_000  # words


def rows(counts: dict[tuple[str, ...], tuple[int, int]], columns: tuple[str, ...]) -> pd.DataFrame:
    """Rows by counting: of each group `yes` of `n`."""
    made = [(*group, int(place < yes)) for group, (yes, n) in counts.items() for place in range(n)]
    return pd.DataFrame(made, columns=list(columns))


def told(content: dict[str, Any]) -> dict[str, str]:
    """The first screen: headline, answers and chips."""
    shown = first_screen(content)
    texts = {question: "".join(piece["text"] for piece in text) for question, text in shown["answers"]}
    texts["headline"] = "".join(piece["text"] for piece in shown["headline"])
    return texts | {one["word"]: one["number"] for one in shown["counts"]}


def audit(data: pd.DataFrame, **sections: Any) -> dict[str, Any]:
    groups = [name for name in data.columns if name != "called"]
    roles = {"source": "people.csv", "decision": "called", "groups": groups, "favourable": 1}
    content: dict[str, Any] = ft.run({"data": roles, **sections}, data=data).to_dict()
    return content


# -- The résumés of Bertrand and Mullainathan (2004), table 1: 157 of 2,435 and 235 of 2,435 were called back.
RESUMES = {("Black",): (157, 2_435), ("White",): (235, 2_435)}
CERTIFY = {"metric": "selection_rate", "tolerance": 0.05}
TWO_FACTS = "It is within your tolerance of 5 points, but the rate is only 0.67 of the others': four fifths is not met."


@pytest.mark.parametrize(
    "sections", [{}, {"preset": "general"}, {"flag": {"metric": "selection_rate", "direction": "differs"}}]
)
def test_the_resumes_are_never_called_certified(sections: dict[str, Any]) -> None:
    content = audit(rows(RESUMES, ("name", "called")), certify=CERTIFY, **sections)
    texts, summary = told(content), summary_markdown(content)
    assert texts["headline"] == (
        "6 of 100 people with name = Black were called, against 10 of 100 people with name = White."
    )
    assert texts[DIFFERENCE] == "Yes: 3.2 points (1.7 to 4.7), more than chance explains."
    assert texts[TOLERANCE] == TWO_FACTS
    assert texts[WHOM] == "Harmed: people with name = Black."
    assert content["verdict"]["code"] != "certified"
    assert GREEN not in summary
    assert not re.search(r"\bNo\b|\bfair\b|not treated differently", " ".join(texts.values()))
    assert (texts["with a difference"], texts["not settled"]) == ("1", "0"), "one comparison, told once"
    assert len(ledger_of(content)) == 1
    assert trial_tone(content) != "good"
    assert contradictions(content) == []
    with pytest.raises(ft.InputError, match="refused"):
        report_certificate_page(content)


def test_who_asks_for_the_difference_alone_is_told_what_that_does_not_cover() -> None:
    content = audit(rows(RESUMES, ("name", "called")), certify={**CERTIFY, "scale": "difference"})
    texts = told(content)
    assert content["verdict"]["code"] == "certified"
    assert texts[TOLERANCE] == f"{TWO_FACTS} You asked for the difference alone: the ratio is not covered."
    assert texts[DIFFERENCE].startswith("Yes: 3.2 points")
    assert (
        "A difference is shown (1.7 to 4.7 points). It covers the difference alone"
        in content["verdict"]["text"]
    )
    assert trial_tone(content) == "open", "no green beside a difference"
    assert GREEN not in summary_markdown(content)
    assert "not shown to be within 0.8 to 1.25" in report_certificate_page(content)


def test_forty_eight_people_are_told_their_rates_and_the_power() -> None:
    content = audit(
        rows({("f",): (8, 24), ("m",): (13, 24)}, ("sex", "called")),
        measure={"metric": "selection_rate", "minimum": 10},
        flag={"metric": "selection_rate", "minimum": 10},
        certify={"metric": "selection_rate", "tolerance": 0.05, "minimum": 10},
    )
    texts = told(content)
    assert texts["headline"] == "33 of 100 women were called, against 54 of 100 men. That may be chance."
    assert texts[DIFFERENCE].startswith("None is shown in 1 comparison.")
    assert re.search(r"would have found a gap of about \d\d points with 80% probability", texts[DIFFERENCE])
    assert (texts["with a difference"], texts["within tolerance"], texts["not settled"]) == ("0", "0", "1")
    assert content["verdict"]["code"] == "undetermined"
    assert content["verdict"]["text"].startswith("Not settled: no difference is shown in 1 comparison.")


def test_a_tiny_group_is_not_sent_to_gather_thousands() -> None:
    counts = {("a",): (500, 1_000), ("b",): (498, 1_000), ("prefer not to say",): (3, 9)}
    content = audit(
        rows(counts, ("ethnicity", "called")), measure={"metric": "selection_rate"}, certify=CERTIFY,
        flag={"metric": "selection_rate"}, report={"suppress_below": 0},
    )  # fmt: skip
    texts = told(content)
    assert texts[LEFT] == "Too few people to judge on their own: ethnicity: prefer not to say (n = 9)."
    assert "Gather" not in " ".join(texts.values())
    assert "members" not in " ".join(texts.values())


def test_a_group_that_one_question_tested_is_not_said_to_be_left_out() -> None:
    counts = {("a",): (500, 1_000), ("b",): (480, 1_000), ("other",): (100, 377)}
    content = audit(
        rows(counts, ("race", "called")), measure={"metric": "selection_rate", "minimum": 400},
        flag={"metric": "selection_rate"},
    )  # fmt: skip
    assert "with race = other" in told(content)["headline"]
    assert LEFT not in told(content)


def test_everything_fair() -> None:
    counts = {("a", "x"): (5_000, 10_000), ("a", "y"): (5_003, 10_000), ("b", "x"): (5_002, 10_000),
              ("b", "y"): (4_999, 10_000)}  # fmt: skip
    content = audit(
        rows(counts, ("race", "sex", "called")), certify=CERTIFY, measure={"metric": "selection_rate"}
    )
    texts = told(content)
    assert content["verdict"]["code"] == "certified"
    assert texts[DIFFERENCE].startswith("None is shown in 2 comparisons.")
    assert "with 80% probability" in texts[DIFFERENCE], "green stands beside the power"
    assert texts[TOLERANCE] == "Yes: all 2 comparisons are within 5 points."
    assert trial_tone(content) == "good"
    assert "judgement good" in render(content)


def test_everything_unfair() -> None:
    counts = {
        ("a", "x"): (100, 1_000),
        ("a", "y"): (300, 1_000),
        ("b", "x"): (500, 1_000),
        ("b", "y"): (700, 1_000),
    }
    content = audit(
        rows(counts, ("race", "sex", "called")), certify=CERTIFY, measure={"metric": "selection_rate"},
        flag={"metric": "selection_rate", "depth": 2, "direction": "differs"},
    )  # fmt: skip
    texts = told(content)
    assert content["verdict"]["code"] == "violated"
    assert texts["within tolerance"] == "0"
    assert texts["with a difference"] == f"{len([line for line in ledger_of(content) if line.tested])}"
    assert texts[WHOM].startswith("Harmed: people with race = a")


def test_a_gap_that_vanishes_among_people_alike_is_said_in_the_first_words() -> None:
    """Berkeley's admissions in small: women apply where few are admitted."""
    counts = {
        ("f", "a"): (80, 100),
        ("m", "a"): (800, 1_000),
        ("f", "b"): (200, 1_000),
        ("m", "b"): (20, 100),
    }
    data = rows(counts, ("sex", "department", "called"))
    roles = {"source": "people.csv", "decision": "called", "groups": ["sex"], "favourable": 1}
    content = ft.run(
        {
            "data": roles,
            "measure": [
                {"metric": "selection_rate"},
                {"metric": "selection_rate", "within": ["department"]},
            ],
        },
        data=data,
    ).to_dict()
    assert told(content)["headline"].startswith(
        "25 of 100 women were called, against 75 of 100 men. Among people alike in department, no "
        "difference is shown ("
    )


# -- Contradictions, over audits that are drawn.
def drawn(seed: int) -> dict[str, Any]:
    """An audit of people, rates and questions drawn by the seed."""
    random = np.random.default_rng(seed)
    n = int(random.choice([48, 200, 1_000, 6_000]))
    kinds = int(random.integers(2, 5))
    weights = random.dirichlet(np.ones(kinds) * random.choice([0.6, 5.0]))
    race = random.choice([f"r{place}" for place in range(kinds)], n, p=weights)
    sex = random.choice(["f", "m"], n)
    base, gap = random.choice([0.02, 0.1, 0.5, 0.95]), random.choice([0.0, 0.03, 0.3])
    chance = np.clip(base + gap * ((race == "r0") - 0.5) * random.choice([-1, 1]), 0.001, 0.999)
    data = pd.DataFrame({"race": race, "sex": sex, "called": (random.uniform(size=n) < chance).astype(int)})
    spec: dict[str, Any] = {
        "data": {"source": "people.csv", "decision": "called", "groups": ["race", "sex"]},
        "report": {"suppress_below": int(random.choice([0, 10]))},
    }
    if random.uniform() < 0.7:
        spec["data"]["favourable"] = int(random.integers(2))
    asked = [name for name in ("measure", "certify", "flag") if random.uniform() < 0.6] or ["certify"]
    for name in asked:
        spec[name] = {"metric": "selection_rate"}
        if random.uniform() < 0.3:
            spec[name]["by"] = ["sex"]
    if "certify" in spec:
        scale, tolerance = [("difference", 0.05), ("difference", 0.2), ("ratio", 0.8), ("", None)][
            int(random.integers(4))
        ]
        spec["certify"] |= {"tolerance": tolerance} if tolerance else {}
        spec["certify"] |= {"scale": scale} if scale == "ratio" or (scale and random.uniform() < 0.3) else {}
    if "flag" in spec:
        spec["flag"] |= {"direction": "differs", "depth": int(random.integers(1, 3))}
    try:
        content: dict[str, Any] = ft.run(spec, data=data).to_dict()
    except ft.InputError:
        return {}
    return content if content["status"] == "complete" else {}


def left_out(texts: dict[str, str]) -> set[str]:
    """The groups that the first screen says are too small."""
    listed = texts.get(LEFT, "").partition("Too few people to judge on their own: ")[2]
    return {one.partition(" (n =")[0] for one in listed.rstrip(".").split("; ") if one}


def opposed(content: dict[str, Any]) -> list[str]:
    """What two places say that cannot both be true."""
    texts, lines = told(content), [line for line in ledger_of(content) if line.tested]
    shown = [line for line in lines if line.shown]
    summary, code, tone = summary_markdown(content), content["verdict"]["code"], trial_tone(content)
    says_yes = texts[DIFFERENCE].startswith("Yes")
    tests = {
        "chips and ledger": texts["with a difference"] != str(len(shown)),
        "answer and chips": says_yes != bool(shown) and "jointly" not in texts[DIFFERENCE],
        "findings and chips": bool(findings(content)) != bool(shown),
        "for whom and chips": (WHOM in texts) != bool(shown),
        "none shown without its power": "None is shown" in texts[DIFFERENCE]
        and any(line.detectable is not None for line in lines)
        and "80% probability" not in texts[DIFFERENCE],
        "green beside a difference": bool(shown) and (tone == "good" or GREEN in summary),
        "green without a certificate": code != "certified" and (tone == "good" or GREEN in summary),
        "certified below four fifths": code == "certified"
        and any(line.ratio_high is not None and line.ratio_high < 0.8 for line in lines)
        and not any(one["arguments"].get("scale") == "difference" for one in content["sections"]),
        "one comparison told twice": len({(line.metric, frozenset((line.who, line.against)), line.within)
                                          for line in lines}) != len(lines),
        "verdict and answer": code == "violated" and not says_yes,
        "summary says none": bool(shown) and "Not settled: no difference is shown" in summary,
        "a section says none of a comparison that is shown": any(
            "| No difference is shown" in row and name in row
            for line in shown for name in line.sections for row in summary.splitlines()
        ),
        "left out though tested": bool(left_out(texts) & {side for line in lines for side in (line.who, line.against)}),
        "the file contradicts itself": bool(contradictions(content)),
        "JSON does not hold the lines": json.loads(json.dumps(content))["ledger"] != content["ledger"],
    }  # fmt: skip
    return [name for name, wrong in tests.items() if wrong]


@pytest.mark.parametrize("start", range(0, 200, 50))
@pytest.mark.filterwarnings("ignore")
def test_no_two_places_contradict_each_other(start: int) -> None:
    found = {seed: opposed(content) for seed in range(start, start + 50) if (content := drawn(seed))}
    assert len(found) > 10
    assert {seed: names for seed, names in found.items() if names} == {}


# -- Short, and in English: the audits that `init --yes` writes for the bundled data.
NOT_READ = r"(?s)<(script|style|noscript|svg|option|head)\b.*?</\1>"
HIDDEN = r"(?s)<(p|span|caption)[^>]*visually-hidden[^>]*>.*?</\1>"
FOLDED = r"(?s)<details[^>]*>(?:(?!<details|</details>).)*</details>"
STATISTICS = re.compile(
    r"p-value|\bp [<=]|χ|α|Holm|max-T|adjusted p|likelihood|Bonferroni|Mantel|interval-null", re.I
)


def unfolded(page: str) -> list[str]:
    """The words that a reader of a page sees without opening anything."""
    text = re.sub(HIDDEN, " ", re.sub(NOT_READ, " ", page))
    while re.search(FOLDED, text):
        text = re.sub(FOLDED, " ", text)
    return re.sub(r"<[^>]+>", " ", text).split()


def proposed(name: str, folder: Path) -> Path:
    """The results of the audit that `fairtrial init --yes` proposes for a bundled dataset."""
    people, spec = folder / f"{name}.csv", folder / "audit.toml"
    pd.DataFrame(ft.load(name)).to_csv(people, index=False)
    done = CliRunner().invoke(program, ["init", str(people), "--yes", "--out", str(spec)])
    assert done.exit_code == 0, done.output
    ft.run(spec, out=folder / "out")
    return folder / "out"


@pytest.mark.parametrize("name", ["ricci", "german", "loans", "care", "compas"])
@pytest.mark.filterwarnings("ignore")
def test_the_audit_of_a_bundled_file_is_short_and_plain(name: str, tmp_path: Path) -> None:
    content = load_results(proposed(name, tmp_path))
    texts = told(content)
    said = [f"{question} {text}" for question, text in texts.items()]
    assert sum(len(text.split()) for text in said) <= LONGEST_SCREEN, said
    assert not STATISTICS.search(" ".join(said))
    assert len(unfolded((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))) <= LONGEST_PAGE
    for finding in findings(content):
        assert len(re.findall(r"[.?](?= |$)", f"{finding['sentence']} {finding['tolerance']}")) <= 2
    for question in (DIFFERENCE, TOLERANCE, WHOM, NEXT, "headline"):
        for sentence in re.split(r"(?<=[.?]) (?=[A-Z])", texts.get(question, "")):
            whole(sentence or "Nothing.")

"""Numbers that a page quotes from a page of the papers are the numbers there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
NUMBER = re.compile(r"[-−+]?(?:\d[\d,]*)?\.?\d+")
CBS, SHAPLEY, IMPROVE = "conditional_bias_scan", "shapley_meets_rawls", "improvability"
SEP, SUF = "raised by μ_sep (Figure 1", "lowered by μ_suf (Figure 1"
# page, the sentence with its numbers as groups; for each: the paper's page, a line above, the row, the number's place
QUOTES = [
    (
        "papers/disputes.md", r"the stratified p-value is (\S+)\.",
        [(CBS, "", "| sufficiency, predictions | Male |", -2)],
    ),
    (
        "papers/disputes.md",
        r"similarities are (\S+) \(separation[^)]*\) and (\S+) \(sufficiency.*?plain bias scan reaches (\S+) "
        r"and (\S+)\.",
        [(CBS, SEP, "| separation, predictions |", 4), (CBS, SUF, "| sufficiency, predictions |", 4),
         (CBS, SEP, "| plain bias scan |", 4), (CBS, SUF, "| plain bias scan |", 4)],
    ),
    (
        "papers/disputes.md", r"with the random forest too, (\S+), (\S+) and (\S+)\.",
        [(SHAPLEY, "", "| ES, Shapley, Consensus, LSP | ours |", place) for place in (0, 1, 2)],
    ),
    ("improve.md", r"all rows, sign stated \| 16,099 \| \*\*(\S+)\*\*", [(IMPROVE, "", "| hold-out, valid |", -1)]),
    (
        "improve.md", r"article's components on all rows \| 16,099 \| (\S+) \|",
        [(IMPROVE, "", "| hold-out, by their formula |", -1)],
    ),
    (
        "improve.md",
        r"from (\S+) to (\S+) \(White\) and (\S+) to (\S+) \(Black\); the gap falls from (\S+) to (\S+)\. ",
        [(IMPROVE, "", "| hold-out, valid |", place) for place in (4, 3, 1, 0, 7, 6)],
    ),
    *(
        (
            "explain.md", rf"\| {here} \| (\S+) \| (\S+) \| (\S+) \| (\S+) \|",
            [(SHAPLEY, "gender is |", f"| {there} |", place) for place in range(4)],
        )
        for here, there in (
            (r"always in \(the paper\)", "in every classifier (the paper)"), ("absent", "in none"),
            ("a player", "a player"),
        )
    ),
]  # fmt: skip


def number(page: str, above: str, row: str, place: int) -> float:
    lines = (DOCS / "papers" / f"{page}.md").read_text(encoding="utf-8").splitlines()
    start = next(k for k, line in enumerate(lines) if above in line)
    line = next(line for line in lines[start:] if line.startswith(row))
    return as_float(NUMBER.findall(line[len(row) :])[place])


def as_float(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


@pytest.mark.parametrize("page, sentence, sources", QUOTES, ids=[quote[1][:40] for quote in QUOTES])
def test_a_quoted_number_is_the_one_there(
    page: str, sentence: str, sources: list[tuple[str, str, str, int]]
) -> None:
    text = " ".join((DOCS / page).read_text(encoding="utf-8").split())
    found = re.search(sentence, text)
    assert found, sentence
    for quoted, source in zip(found.groups(), sources, strict=True):
        digits = len(quoted.partition(".")[2])
        assert abs(as_float(quoted) - number(*source)) <= 0.5001 * 10.0**-digits, (quoted, source)

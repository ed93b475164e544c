"""Numbers that a page quotes from a page of the papers, or from the validity board, are the numbers there."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
NUMBER = re.compile(r"[-−+]?(?:\d[\d,]*)?\.?\d+")
CBS, SHAPLEY, IMPROVE = "conditional_bias_scan", "shapley_meets_rawls", "improvability"
SEP, SUF = "raised by μ_sep (Figure 1", "lowered by μ_suf (Figure 1"
ELFA, ANY = "elfa", "ES, Shapley, Consensus, LSP"
VARIANT = "(published variant)"


def board(line: str, scale: float = 1.0, plus: float = 0.0) -> tuple[str, str, float, float]:
    """A line of the board, in place of a page's row: plus + scale times its measured error."""
    return ("board", line, scale, plus)


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
        [(SHAPLEY, "", f"| {ANY} | here, valid |", place) for place in (0, 1, 2)],
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
    (
        "papers/disputes.md", r"plug-in, the paper's method \| (\S+) to (\S+) \| (\S+) to (\S+) \| (\S+) \|",
        [(ELFA, "", "| plug-in, as the paper |", place) for place in range(5)],
    ),
    (
        "papers/disputes.md", r"profile likelihood, valid \| (\S+) to (\S+) \| (\S+) to (\S+) \| (\S+) \|",
        [(ELFA, "", "| profile likelihood, valid |", place) for place in range(5)],
    ),
    (
        "papers/disputes.md", r"false flagging rate then reached (\S+) in",
        [board(f"flag/plug-in, reference {VARIANT}")],
    ),
    (
        "papers/disputes.md", r"it rejected (\d+)% of 2,000 data sets without",
        [board(f"scan/global permutation of the class (article) {VARIANT}", 100)],
    ),
    (
        "papers/disputes.md", r"its 5% test rejects (\S+)% of the time.*?The pooled test rejects (\S+)% and knows",
        [board(f"transport/paper-compas-discrete {VARIANT}", 100), board("transport/compas-discrete", 100)],
    ),
    (
        "papers/disputes.md", r"With 30 rows in its own design the article's test rejects (\d+)%",
        [board(f"transport/paper-b1-30 {VARIANT}", 100)],
    ),
    (
        "papers/disputes.md", r"is \[\.407, \.557\] and covers (\S+); the interval here is .*? and covers (\S+)\. ",
        [
            board(f"explain/the paper's pooled interval of the first-stage gap, 2862/501 {VARIANT}", -1, 1),
            board("explain/interval of the first-stage gap, 2862/501", -1, 1),
        ],
    ),
    (
        "papers/disputes.md", r"a true null in (\d+)% of samples of 300 people .*? value of \.97 in (\d+)%\.",
        [
            board(f"improve/payoff by the reflected bootstrap, 300 people, losses 0.02 {VARIANT}", 100),
            board(f"improve/predictive value .97 by the reflected bootstrap {VARIANT}", 100),
        ],
    ),
    (
        "papers/disputes.md", r"at most (\S+)% over a grid of 25 designs",
        [board("improve/payoff, 2,000 people, losses 0.3", 100)],
    ),
    (
        "papers/disputes.md", r"in (\d+)% of samples \(gaps of one standard error .*? data, in (\d+)%\. Assumption",
        [
            board(f"improve/fairness of the article, gaps 1 s.e., opposite side {VARIANT}", 100),
            board(f"improve/fairness of the article, mean of the selected {VARIANT}", 100),
        ],
    ),
    (
        "papers/disputes.md", r"perfectly fair candidate\) is (\d+)% for .*? component and (\d+)% for",
        [("percent", IMPROVE, "| 100 | 0.000 |", 0), ("percent", IMPROVE, "| 100 | 0.000 |", 1)],
    ),
    (
        "papers/disputes.md", r"Printed: \$v\$ = (\S+), (\S+) and (\S+), Solidarity (\S+) and (\S+)\. With",
        [(SHAPLEY, "## Table 1", f"| {ANY} | printed |", place) for place in range(3)]
        + [(SHAPLEY, "## Table 1", "| Solidarity | printed |", place) for place in (1, 2)],
    ),
    (
        "papers/disputes.md", r"Table 5's \$v\$ = (\S+) depends .*? operating point \((\S+); ",
        [
            (SHAPLEY, "## Table 5", f"| {ANY} | printed |", 0),
            (SHAPLEY, "## Table 5", f"| {ANY} | fairlearn, fitted on the training rows |", 0),
        ],
    ),
    (
        "papers/shapley_meets_rawls.md", r"pooled variance and covers (\S+) instead of \.95",
        [board(f"explain/the paper's pooled interval of the first-stage gap, 2862/501 {VARIANT}", -1, 1)],
    ),
    (
        "papers/elfa.md", r"that explains the printed power of (\S+)\. Judged",
        [(ELFA, "", "| 0.1 | 0.05, 0.15 |", 3)],
    ),
    (
        "papers/transport.md", r"for equal opportunity \(printed: (\S+)%\)",
        [("transport", "", "| COMPAS, 1,000 splits | Donini et al. | printed |", 0)],
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


@cache
def measured() -> dict[str, float]:
    """The board's lines with what was measured."""
    text = (DOCS.parent / "validity" / "results.jsonl").read_text(encoding="utf-8")
    found = [json.loads(line) for line in text.splitlines()]
    return {line["line"]: float(line["error"]) for line in found if "line" in line}


def number(source: tuple[str, str, str, int] | tuple[str, str, float, float]) -> float:
    kind, first, second, third = source
    if kind == "board":
        return float(third) + float(second) * measured()[first]
    if kind == "percent":
        return 100 * in_row(first, "", str(second), int(third))
    return in_row(kind, first, str(second), int(third))


def in_row(page: str, above: str, row: str, place: int) -> float:
    """A number of a table's row, below the line that holds `above`."""
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
        assert abs(as_float(quoted) - number(source)) <= 0.5001 * 10.0**-digits, (quoted, source)

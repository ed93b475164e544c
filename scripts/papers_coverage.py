"""What the product has of each paper, line by line: pages of the docs' site, from docs/papers/coverage/<paper>.toml.

A file holds `paper`, `question`, `page` (the gallery page), `setup` (code that every line's call may use), and one
[[definition]], [[theorem]], [[algorithm]], [[option]], [[table]], [[figure]] or [[claim]] per line of the paper:

    item     as the paper names it
    says     what it says, in a few words
    where    where it is here
    state    one of STATES
    printed  what the paper prints, and
    ours     what comes out here; where the call ends with a text, the test asks that it is this one
    compared [[printed, ours, tolerance], …]: the call ends with as many numbers, which must be ours to the digits
             written; "reproduces" asks that all are within the tolerance of what is printed, "differs" and "refuted"
             that one is not, "limit" that the last of a curve is and its first is not
    asserts  what the call asserts, in words, by `assert` or `near(number, other, by)`
    not_compared   why there is no number to compare; a line without a comparison must say so
    reason   why it differs, is refuted or is missing, with what was measured
    call     code that runs it; tests/unit/test_paper_coverage.py runs every one. `example("elfa")` is
             the study of that paper, `np` is numpy, `row(…)` a row of the paper's page, `board(line)` the measured
             error of a line of the validity board, `said(…)` numbers as text
"""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "papers" / "coverage"
PAPERS = ("elfa", "transport", "conditional_bias_scan", "shapley_meets_rawls", "improvability")
KINDS = {
    "definition": "Definitions and formulas",
    "theorem": "Theorems",
    "algorithm": "Algorithms",
    "option": "Options",
    "table": "Tables",
    "figure": "Figures",
    "claim": "Claims about data",
}
STATES = {
    "here": "in the product as the paper has it",
    "reproduces": "the printed numbers come out",
    "differs": "computed here; other numbers come out, and the reason is given",
    "limit": "true in the limit, fails at the sizes told; the measured curve is given",
    "refuted": "does not hold; here under a name that says so, with a valid version beside it",
    "missing": "not here, with the reason",
}
CHECKS = {
    "numbers": "compare printed and ours within a tolerance",
    "assertion": "assert what is told in words",
    "text": "ask for ours, digit by digit",
    "not compared": "say why there is nothing to compare",
    "missing": "are not here, with the reason",
}
KEYS = {
    "item", "says", "where", "state", "printed", "ours", "compared", "asserts", "not_compared", "reason", "call",
}  # fmt: skip

FOLDED = 8  # a longer table is opened by a click

Paper = dict[str, Any]


def read(name: str) -> Paper:
    """One paper's file."""
    text = (FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text, parse_float=Decimal)  # as many digits as are written


def written() -> list[str]:
    """The papers that have a file."""
    return [name for name in PAPERS if (FOLDER / f"{name}.toml").exists()]


def lines(paper: Paper) -> list[tuple[str, dict[str, Any]]]:
    """Every line with its kind, in the order of KINDS."""
    return [(kind, line) for kind in KINDS for line in paper.get(kind, [])]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def how_checked(line: dict[str, Any]) -> str:
    """By what a test compares the line: one of CHECKS."""
    if line["state"] == "missing":
        return "missing"
    if line.get("compared"):
        return "numbers"
    if line.get("asserts"):
        return "assertion"
    return "text" if line.get("ours") and not line.get("not_compared") else "not compared"


def compared(line: dict[str, Any]) -> str:
    """What a test asks of the line."""
    how = how_checked(line)
    if how == "numbers":
        told = "; ".join(f"{printed} and {ours}, ±{within}" for printed, ours, within in line["compared"])
    else:
        told = {"assertion": line.get("asserts", ""), "text": "ours, as text", "missing": ""}.get(how, "")
    return f"not compared: {line['not_compared']}" if how == "not compared" else told


def _row(line: dict[str, Any]) -> str:
    state = line["state"] + (f": {line['reason']}" if line.get("reason") else "")
    told = [line["item"], line["says"], line["where"], state, line.get("printed", ""), line.get("ours", "")]
    cells = [*told, compared(line)]
    return "| " + " | ".join(map(_cell, cells)) + " |"


def page(name: str, paper: Paper) -> str:
    """The page of one paper."""
    text = [
        f"# {paper['paper']}: line by line",
        "",
        f"{paper['question']} The tables and figures are on [its page](../{paper['page']}); every line below has a",
        f"call that a test runs (`docs/papers/coverage/{name}.toml`). The last column says which numbers it compares:",
        "printed and ours, and how far apart they may be.",
        "",
    ]
    for kind, title in KINDS.items():
        if paper.get(kind):
            count = len(paper[kind])
            text += [f"## {title}", ""]
            if count > FOLDED:
                text += [f'<details markdown="1"><summary>{count} lines</summary>', ""]
            text += ["| in the paper | what it says | here | state | printed | ours | compared |"]
            text += ["|---|---|---|---|---|---|---|", *map(_row, paper[kind]), ""]
            text += ["</details>", ""] if count > FOLDED else []
    return "\n".join(text)


def _checks(papers: dict[str, Paper]) -> str:
    """How many lines are compared by what."""
    how = [how_checked(line) for paper in papers.values() for _, line in lines(paper)]
    listed = [f"{how.count(name)} {words}" for name, words in CHECKS.items()]
    return f"Of {len(how)} lines {', '.join(listed[:-1])}, and {listed[-1]}."


def index(papers: dict[str, Paper]) -> str:
    """How many lines of each paper are in which state."""
    text = [
        "# What is here of each paper",
        "",
        "One line per definition, theorem, algorithm, option, table and figure of each paper: where it is, whether it",
        "reproduces, printed and ours. A test runs every line's call and compares its numbers; what has none says so.",
        "",
        _checks(papers),
        "",
        "| paper | lines | " + " | ".join(STATES) + " |",
        "|---|---:|" + "---:|" * len(STATES),
    ]
    for name, paper in papers.items():
        states = [line["state"] for _, line in lines(paper)]
        counts = " | ".join(str(states.count(state)) for state in STATES)
        text.append(f"| [{paper['paper']}]({name}.md) | {len(states)} | {counts} |")
    text += ["", *(f"- **{state}**: {words}" for state, words in STATES.items()), ""]
    return "\n".join(text)


def pages() -> dict[str, str]:
    """Every page's text by its name."""
    papers = {name: read(name) for name in written()}
    return {f"{name}.md": page(name, paper) for name, paper in papers.items()} | {"index.md": index(papers)}

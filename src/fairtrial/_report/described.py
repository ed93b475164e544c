"""Parts of the first screen: people who are only described, who is left out, and the words it explains."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from fairtrial._labels import in_a_sentence
from fairtrial._method.declaration import find_method
from fairtrial._metrics.table import METRICS
from fairtrial._results.result import Result
from fairtrial._results.text import counted
from fairtrial._trial.ledger import LedgerLine, clearest_first
from fairtrial._trial.two_facts import gap_words, interval_words, power_words


def described_difference(told: Sequence[LedgerLine]) -> str:
    """In how many comparisons people differ; whether that is a problem, nobody asked."""
    shown = next(clearest_first(told), None)
    compared = counted(len(told), "comparison")
    if shown is None:
        return f"None is shown in {compared}. {power_words(told)} No decision was put to the test."
    interval = interval_words(shown, bare=True)
    count = f"in {sum(line.shown for line in told):,} of {compared}"
    size = f" The clearest is {gap_words(shown)} ({interval})." if interval else ""
    return (
        f"Yes, {count}, more than chance explains.{size} It describes the people, not a decision about them."
    )


# -- Who an audit leaves out: rows that lack something, and groups with too few people to be tested.
Results = Sequence[tuple[str, Result]]
MOST_NAMED = 2  # groups named in one answer


def rows_left_out(results: Results) -> list[str]:
    """Rows that lack something, each once; where another question of the same metric has them, which one has not."""
    told: dict[tuple[str, str], list[str]] = {}
    for _, result in results:
        for entry in result.details.get("left_out", ()):
            text = str(entry["text"])
            about = str(entry["metric"]), text[:1].upper() + text[1:]
            told.setdefault(about, []).append(find_method(result.kind).short)
    texts = []
    for (metric, text), questions in told.items():
        everywhere = sum(metric in result_metrics(result) for _, result in results) <= len(questions)
        texts.append(
            f"{text}."
            if everywhere
            else f"{text} (in {in_a_sentence([f'“{name}”' for name in questions])} alone)."
        )
    return texts


def small_groups_sentence(results: Results) -> str:
    """What holds of the groups too small to judge, as a whole: of the first question that describes them."""
    described = [result for _, result in results if result.details.get("small", {}).get("tables")]
    if not described:
        return ""
    from fairtrial._compare.small_cell_words import (
        whole_sentence,  # a page without such groups needs no SciPy
    )

    return next((text for result in described if (text := whole_sentence(result.details))), "")


def result_metrics(result: Result) -> list[str]:
    """The metric of every row that has one."""
    return [str(row["metric"]) for row in result.estimates if row.get("metric") in METRICS]


def named_groups(labels: Sequence[str]) -> str:
    """Groups by name, each once; a name may hold commas of its own."""
    named = list(dict.fromkeys(labels))
    more = f"; and {len(named) - MOST_NAMED:,} more" if len(named) > MOST_NAMED else ""
    return "; ".join(named[:MOST_NAMED]) + more


# -- The words that the page explains. Their text is that of docs/glossary.md, which travels inside the
# package.
# what stands on a page -> the entry that explains it, by how its heading begins
WORDS = {
    "adjusted p": "Adjusted p-value",
    "calibration": "Calibration",
    "certification": "Certified",
    "certified": "Certified",
    "correction": "Adjusted p-value",
    "disparity": "Disparity",
    "equalized odds": "Equalized odds",
    "false negative rate": "False negative rate",
    "false positive rate": "True positive rate",
    "flagged": "Flagged",
    "gap": "Disparity",
    "holm": "Holm",
    "impact ratio": "Four-fifths rule",
    "interval": "Confidence interval",
    "masked": "Masked",
    "not tested": "Not tested",
    "points": "Points",
    "positive predictive value": "Positive predictive value",
    "selection rate": "Selection rate",
    "significant": "Significant",
    "tolerated": "Tolerance",
    "tolerance": "Tolerance",
    "true positive rate": "True positive rate",
    "undetermined": "Undetermined",
    "violated": "Violated",
}
_WORD = re.compile(rf"\b({'|'.join(sorted(map(re.escape, WORDS), key=len, reverse=True))})\b", re.IGNORECASE)
_LINK, _MARKS = re.compile(r"\[([^\]]*)\]\([^)]*\)"), re.compile(r"\*+([^*]+)\*+|`([^`]+)`")


@cache
def entries() -> dict[str, tuple[str, str]]:
    """Every entry that a word of the page leads to: its heading and its text, by its name in a link."""
    found = {}
    for paragraph in _text().split("\n\n"):
        start = re.match(r"\*\*([^*]+)\.\*\*\s+", paragraph)
        if start and any(start[1].startswith(wanted) for wanted in WORDS.values()):
            found[_name(start[1])] = (start[1], _plain(paragraph[start.end() :]))
    return found


def _text() -> str:
    """From the package; in a checkout from the docs, of which the package's is a copy made when it is built."""
    kept = files("fairtrial._report").joinpath("assets", "glossary.md")
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    return (Path(__file__).parents[3] / "docs" / "glossary.md").read_text(encoding="utf-8")


def _plain(text: str) -> str:
    without_marks = _MARKS.sub(lambda found: found[1] or found[2], _LINK.sub(r"\1", text))
    return " ".join(without_marks.split())


def _name(heading: str) -> str:
    return "term-" + re.sub(r"[^a-z]+", "-", heading.lower()).strip("-")


def term_of(word: str) -> str:
    """The name of the entry that explains a word."""
    wanted = WORDS[word.lower()]
    return next(name for name, (heading, _) in entries().items() if heading.startswith(wanted))


def linked(text: str, used: set[str]) -> list[dict[str, Any]]:
    """The text in pieces, the first mention of each term with its entry; `used` holds what was linked before."""
    pieces: list[dict[str, Any]] = []
    for number, part in enumerate(_WORD.split(text)):
        term = term_of(part) if number % 2 else ""
        pieces.append({"text": part, "term": "" if term in used else term})
        used.add(term)
    return [piece for piece in pieces if piece["text"]]

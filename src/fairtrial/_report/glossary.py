"""The words that the page explains. Their text is that of docs/glossary.md, which travels inside the package."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

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

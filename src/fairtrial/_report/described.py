"""The first screen of an audit that names no decision: how the people themselves differ, and that it is no verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from fairtrial._method.declaration import find_method
from fairtrial._metrics.metric import Metric
from fairtrial._metrics.table import METRICS
from fairtrial._metrics.told import label_text
from fairtrial._metrics.values import role
from fairtrial._report.findings import gap_text, interval_of, largest_row, rates_text
from fairtrial._report.one_gap import described_roles, with_attributes
from fairtrial._results.claims import place_words
from fairtrial._results.column import scalar
from fairtrial._results.result import Result
from fairtrial._results.text import counted, in_a_sentence
from fairtrial._trial.family import NAME_THE_DECISION

PEOPLE = "describes the people, not a decision about them"


def described_headline(content: Mapping[str, Any]) -> str:
    """The clearest difference in one sentence, or that none is shown."""
    row = clearest_row(content)
    if row is None:
        return f"The groups are not shown to differ. What was compared {PEOPLE}."
    if scalar(row.get("difference")) is None:
        return f"The groups differ by more than luck explains, which {PEOPLE}."
    gap = gap_text({**row, "scale": "difference"})  # nobody differs by so many times
    return f"{_pair(row)} by {gap} in {_quantity(row, content)}; that is more than luck, and {PEOPLE}."


def described_problem(found: int, total: int) -> str:
    """How many comparisons differ; whether that is a problem, nobody asked."""
    asked = "No decision was put to the test."
    compared = counted(total, "comparison")
    if not found:
        return f"{asked} No difference is shown in {compared}, which is not evidence that there is none."
    return f"{asked} A difference is shown in {found:,} of {compared}; it {PEOPLE}."


def described_groups(content: Mapping[str, Any]) -> list[str]:
    """Every group that differs, by name."""
    return list(dict.fromkeys(str(row["group"]) for row in _differing(content)))


def described_size(content: Mapping[str, Any]) -> str:
    """The clearest difference, or the largest that was seen and may be luck."""
    row = clearest_row(content)
    if row is not None and scalar(row.get("difference")) is None:
        return "The numbers are about so few people that they are masked here."
    if row is not None:
        return f"{gap_text(row)}: {rates_text(row)}."
    seen = largest_row(content)
    if seen is None:
        return ""
    beyond = (
        "cannot tell from luck" if _no_tolerance(content) else "do not show to go beyond what is tolerated"
    )
    return f"The largest gap seen is {gap_text(seen)} ({seen['group']}), which these numbers {beyond}."


def described_sure(content: Mapping[str, Any]) -> str:
    """The interval of that difference, and how often luck alone would show one."""
    row = clearest_row(content)
    if row is None:
        seen = largest_row(content)
        return f"{'' if seen is None else interval_of(seen)} The data do not settle it either way.".strip()
    interval = "" if scalar(row.get("difference")) is None else interval_of(row)
    err = f"{100 - 100 * float(row['level']):g} of 100 such tables"
    return f"{interval} If there were no difference, luck would show one or more in at most {err}.".strip()


def described_next() -> str:
    """As the summary says it."""
    return NAME_THE_DECISION


def clearest_row(content: Mapping[str, Any]) -> dict[str, Any] | None:
    """The row that the section's own verdict tells: the smallest p-value, then the largest gap."""
    return min(
        _differing(content),
        key=lambda row: (scalar(row.get("p_adjusted")) or 0.0, -abs(scalar(row.get("difference")) or 0.0)),
        default=None,
    )


def _differing(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        with_attributes(section, place)
        for section in _answered(content)
        for place, row in enumerate(section["result"]["estimates"])
        if row.get("state") == "described"
    ]


def _answered(content: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return [one for one in content["sections"] if one["result"] and one["result"]["details"].get("described")]


def _no_tolerance(content: Mapping[str, Any]) -> bool:
    return all(section["result"]["details"].get("tolerance") is None for section in _answered(content))


def _pair(row: Mapping[str, Any]) -> str:
    return f"{row['group']} differs from {row.get('target') or 'those it is compared with'}"


def _quantity(row: Mapping[str, Any], content: Mapping[str, Any]) -> str:
    """'how often survived = yes holds', 'the mean of affairs', or what the metric is called."""
    metric: Metric | None = METRICS.get(str(row["metric"]))
    if metric is None or metric.value != role.outcome or metric.conditions:
        labels = {
            name: label
            for one in _answered(content)
            for name, label in one["result"]["details"]["labels"].items()
        }
        return f"the {labels.get(row['metric'], row['metric'])}"
    roles = described_roles(content)
    if row.get("value_kind") == "number":
        return f"the mean of {roles['outcome']}"
    return f"how often {roles['outcome']} = {label_text(roles.get('positive'), 'outcome', 1)} holds"


# -- Who an audit leaves out: rows that lack something, and groups with too few people to be tested.
Results = Sequence[tuple[str, Result]]
MOST_NAMED = 4  # groups named in one answer


def left_out(content: Mapping[str, Any], results: Results) -> str:
    """Rows that lack something, groups too small to be tested; that nobody was is said too."""
    texts = _rows_left_out(results)
    small = list(dict.fromkeys(_small_groups(content, results)))
    if small:
        who = "it" if len(small) == 1 else "them"
        told = f"{counted(len(small), 'group')}: {named_groups(small)}"
        texts.append(f"Not tested, because too few people are in {who}, {told}.")
    return " ".join(texts) or ("Nobody: every row and every group counts." if results else "")


def _small_groups(content: Mapping[str, Any], results: Results) -> Iterator[str]:
    """Each group that was not tested, with how many rows it has where the page tells that."""
    sizes = {
        f"{attribute}: {level['label']}": scalar(level["n"])
        for attribute, levels in content["data"]["groups"].items()
        for level in levels
    }
    for _, result in results:
        places = result.details.get("places", [])
        known = places if len(places) == len(result.estimates) else [[]] * len(result.estimates)
        rows = [(row, place) for row, place in zip(result.estimates, known, strict=True)]
        rows += [(row, row.get("place", [])) for row in result.details.get("untested", ())]
        for row, place in rows:
            if row.get("group") and _too_small(result, row):
                name = place_words(place) if place else str(row["group"])
                size = sizes.get(name)
                yield f"{name} ({counted(size, 'row')})" if isinstance(size, int) else name


def _too_small(result: Result, row: Mapping[str, Any]) -> bool:
    kind = result.state_of(row)
    return kind.code in ("too few", "few in target") or row.get("state") == "masked"


def _rows_left_out(results: Results) -> list[str]:
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

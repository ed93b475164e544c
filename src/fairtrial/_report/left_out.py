"""Who an audit leaves out: rows that lack something, and groups with too few people to be tested."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairtrial._method.declaration import find_method
from fairtrial._metrics.table import METRICS
from fairtrial._results.claims import place_words
from fairtrial._results.column import scalar
from fairtrial._results.result import Result
from fairtrial._results.text import counted, in_a_sentence

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

"""Whether the numbers of a results.json agree with each other: a file may come from anybody.

Only what the file itself must make true is checked: gaps against rates, estimates against their limits, the
correction against the p-values, the verdict against both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isclose, isfinite, nan
from typing import Any

from fairtrial.inference.multiplicity import holm
from fairtrial.methods.declaration import read_result
from fairtrial.results.result import Result
from fairtrial.trial.family import Entry, conclude

EXACT, ROUNDED = 1e-6, 0.005  # how far a number may be off: as computed, and with three digits
LIMITED = ("rate", "difference", "ratio")  # with columns _low and _high


def contradictions(content: Mapping[str, Any]) -> list[str]:
    """What does not follow from the file's own numbers, in words; nothing where all does."""
    answered = [section for section in content["sections"] if section["result"] is not None]
    results = [(section["id"], read_result(section["result"])) for section in answered]
    off = ROUNDED if content["report"].get("publish") else EXACT
    found = [text for name, result in results for text in _in_rows(name, result, off)]
    found += _in_family(content, off)
    entries = [Entry(**entry) for entry in content["family"]]
    unanswered = len(content["sections"]) - len(answered)
    correction = content["correction"]
    verdict = conclude(entries, results, correction["alpha"], unanswered, correction["method"])
    if verdict.code != content["verdict"]["code"]:
        found.append(f"the verdict says {content['verdict']['code']}, its numbers say {verdict.code}")
    return found


def _in_rows(name: str, result: Result, off: float) -> Iterator[str]:
    for row in result.estimates:
        who = f"{name}: {row.get('group', 'a row')}"
        for column in LIMITED:
            value, low, high = (_number(row, key) for key in (column, f"{column}_low", f"{column}_high"))
            if value < low - _slack(off, value):
                yield f"{who}: the {column} lies below its own interval"
            if value > high + _slack(off, value):
                yield f"{who}: the {column} lies above its own interval"
        # where a difference has limits it is that of the two rates; a scan's is against an expectation
        inferred = isfinite(_number(row, "difference_low"))
        rates = _number(row, "rate"), _number(row, "target_rate")
        between = rates[0] - rates[1]
        if inferred and abs(between - _number(row, "difference")) > _slack(off, between, *rates):
            yield f"{who}: the difference is not that of the two rates"


def _in_family(content: Mapping[str, Any], off: float) -> Iterator[str]:
    family, alpha = content["family"], content["correction"]["alpha"]
    if content["correction"]["tests"] != len(family):
        yield f"{content['correction']['tests']} tests are said to be corrected together, {len(family)} are listed"
    for entry, value in zip(family, holm([entry["p_value"] for entry in family]), strict=True):
        who = f"{entry['section']}: {entry['subject']}"
        if not _follows(entry, float(value), content["correction"]["method"], 4 * off):
            yield f"{who}: the corrected p-value does not follow from the p-values"
        if entry["significant"] != (entry["adjusted"] <= alpha):
            yield f"{who}: whether it remains after correction does not follow from its corrected p-value"


def _follows(entry: Mapping[str, Any], holms: float, method: str, off: float) -> bool:
    """Holm's value follows from the p-values; that of max-T, which the rows made, lies between the p-value and it."""
    if method == "max-t":
        return bool(entry["p_value"] * (1 - off) <= entry["adjusted"] <= holms * (1 + off))
    return isclose(entry["adjusted"], holms, rel_tol=off, abs_tol=1e-12)


def _number(row: Mapping[str, Any], key: str) -> float:
    """What stands there; NaN, which no comparison holds for, where it is no number."""
    value = row.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else nan


def _slack(off: float, *values: float) -> float:
    return EXACT + off * sum(map(abs, values))

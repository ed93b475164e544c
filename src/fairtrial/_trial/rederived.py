"""Whether the numbers of a results.json agree with each other: a file may come from anybody.

Only what the file itself must make true is checked: gaps against rates, estimates against their limits, certificates
against the tolerance, the corrected p-values against those of the answers, the verdict against all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isclose, isfinite, nan
from typing import Any

from fairtrial._inference.multiplicity import holm
from fairtrial._method.declaration import read_result
from fairtrial._results.result import Result
from fairtrial._trial.family import (
    FamilyEntry,
    conclude,
    count_tests,
    difference_alone,
    primaries,
    shows,
)
from fairtrial._trial.ledger import LedgerLine, rebuilt

EXACT, ROUNDED = 1e-6, 0.005  # how far a number may be off: as computed, and with three digits
LIMITED = ("rate", "difference", "ratio")  # with columns _low and _high


def contradictions(content: Mapping[str, Any]) -> list[str]:
    """What does not follow from the file's own numbers, in words; nothing where all does."""
    answered = [section for section in content["sections"] if section["result"] is not None]
    results = [(section["id"], read_result(section["result"])) for section in answered]
    off = ROUNDED if content["report"].get("publish") else EXACT
    found = [text for name, result in results for text in _in_rows(name, result, off)]
    found += [text for name, result in results for text in _in_certificates(name, result, off)]
    found += _in_family(content, off)
    found += _left_out(content, results, off)
    entries = [FamilyEntry(**entry) for entry in content["family"]]
    unanswered = len(content["sections"]) - len(answered)
    lines = rebuilt(content)
    found += _in_ledger(content, lines)
    verdict = conclude(lines, entries, results, unanswered, difference_alone(content["sections"]))
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
        # where a difference has limits it is that of the two rates, unless it is adjusted for something; a scan's is
        # against an expectation
        inferred = isfinite(_number(row, "difference_low")) and not result.details.get("within")
        rates = _number(row, "rate"), _number(row, "target_rate")
        between = rates[0] - rates[1]
        if inferred and abs(between - _number(row, "difference")) > _slack(off, between, *rates):
            yield f"{who}: the difference is not that of the two rates"


def _in_certificates(name: str, result: Result, off: float) -> Iterator[str]:
    """What is called certified lies inside the tolerance, and a verdict of that kind has no row of another."""
    if shows(result.kind) != "certificate":
        return
    ratio = "ratio_" if result.details.get("scale") == "ratio" else ""
    band: Any = result.details.get("tolerance")
    for row in result.estimates:
        who = f"{name}: {row.get('group', 'a row')}"
        if row.get("state") == "certified":
            ends = zip(("low", "high"), band, (-1.0, 1.0), strict=True) if _is_band(band) else ()
            beyond = [_beyond(row, f"{ratio}certificate_{side}", end, sign, off) for side, end, sign in ends]
            if not beyond or any(beyond):
                yield f"{who}: is called certified, and its interval is not inside the tolerance"
        elif result.verdict.code == "certified" and row.get("state") in ("violated", "undetermined"):
            yield f"{who}: is {row['state']}, where all are called certified"


def _is_band(band: Any) -> bool:
    """Whether there is a tolerance; an end that is nothing is open."""
    ends = list(band) if isinstance(band, list | tuple) else []
    numbers = [end for end in ends if isinstance(end, int | float)]
    return len(ends) == 2 and len(numbers) > 0 and len(numbers) + ends.count(None) == 2


def _beyond(row: Mapping[str, Any], key: str, end: float | None, sign: float, off: float) -> bool:
    """Whether a limit is outside of the tolerance's end, or not there; one that is masked may be anywhere."""
    cell, limit = row.get(key), _number(row, key)
    if end is None or (isinstance(cell, Mapping) and cell.get("masked")):
        return False
    return not sign * limit <= sign * end + _slack(off, limit)


def _left_out(content: Mapping[str, Any], results: Sequence[tuple[str, Result]], off: float) -> Iterator[str]:
    """Every p-value that the answers tell is among those that were corrected together."""
    family: dict[tuple[str, str, str], list[float]] = {}
    for entry in content["family"]:
        who = str(entry["section"]), str(entry["metric"]), str(entry["subject"])
        family.setdefault(who, []).append(float(entry["p_value"]))
    for section, _, told in primaries(results):
        listed = family.get((section, told.metric, told.subject), [])
        if not any(isclose(told.p_value, p, rel_tol=4 * off, abs_tol=1e-12) for p in listed):
            yield f"{section}: {told.subject}: its p-value is not among those corrected together"


def _in_family(content: Mapping[str, Any], off: float) -> Iterator[str]:
    family, alpha = content["family"], content["correction"]["alpha"]
    once = content["correction"]["method"] == "holm"
    told, tests = content["correction"]["tests"], count_tests(family) if once else len(family)
    if told != tests:
        yield f"{told} tests are said to be corrected together, {tests} are listed"
    for entry in family:
        alike = [other for other in family if other["comparison"] == entry["comparison"] is not None]
        if not _is_tested_by(float(entry["test_p"]), entry, alike or [entry], 4 * off):
            yield f"{_named(entry)}: the p-value of its test does not follow from the p-values"
    own = [entry for entry in family if not (once and entry["twin"])]
    adjusted = holm([float(entry["test_p" if once else "p_value"]) for entry in own])
    for entry, value in zip(own, adjusted, strict=True):
        if not _follows(entry, float(value), content["correction"]["method"], 4 * off):
            yield f"{_named(entry)}: the corrected p-value does not follow from the p-values"
    for entry in family:
        if once and entry["twin"] and not any(_repeats(entry, other, 4 * off) for other in own):
            yield f"{_named(entry)}: it is said to repeat a test, and repeats none"
        if entry["significant"] != (entry["adjusted"] <= alpha):
            yield f"{_named(entry)}: whether it remains after correction does not follow from its corrected p-value"


def _named(entry: Mapping[str, Any]) -> str:
    return f"{entry['section']}: {entry['subject']}"


def _is_tested_by(
    value: float, entry: Mapping[str, Any], alike: Sequence[Mapping[str, Any]], off: float
) -> bool:
    """Whether a test's p-value is one of its comparison's, or twice a one-sided one, and at most twice the entry's."""
    listed = [float(other["p_value"]) for other in alike]
    follows = [min(1.0, times * p) for p in listed for times in (1.0, 2.0)]
    near = any(isclose(value, p, rel_tol=off, abs_tol=1e-12) for p in follows)
    return near and value <= 2.0 * float(entry["p_value"]) * (1.0 + off) + 1e-12


def _repeats(entry: Mapping[str, Any], other: Mapping[str, Any], off: float) -> bool:
    """Whether another entry is of the same test, and is corrected with it: never below its own p-value."""
    after = max(float(entry["p_value"]), float(other["adjusted"]))
    same = entry["comparison"] == other["comparison"] and entry["test_p"] == other["test_p"]
    return same and isclose(entry["adjusted"], after, rel_tol=off, abs_tol=1e-12)


def _in_ledger(content: Mapping[str, Any], lines: Sequence[LedgerLine]) -> Iterator[str]:
    """The ledger follows from the answers, and every test from the comparison that it names."""
    if [line.to_dict() for line in lines] != list(content["ledger"]):
        yield "the ledger of comparisons does not follow from the answers"
    for entry in content["family"]:
        number = entry["comparison"]
        if number is None:
            if shows(entry["method"]) == "disparity":
                yield f"{entry['section']}: {entry['subject']}: its test names no comparison"
        elif not 0 <= number < len(lines) or not _is_about(entry, lines[number]):
            yield f"{entry['section']}: {entry['subject']}: its test names another comparison"


def _is_about(entry: Mapping[str, Any], line: LedgerLine) -> bool:
    """Whether the test's group is on a side of the line, in its metric and section."""
    sides = f"{line.who}\n{line.against}"
    return (
        entry["section"] in line.sections and entry["metric"] == line.label and str(entry["subject"]) in sides
    )


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

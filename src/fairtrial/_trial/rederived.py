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
from fairtrial._metrics.metric import Metric, label_text
from fairtrial._metrics.values import Role, role
from fairtrial._results.result import Result
from fairtrial._trial.family import FamilyEntry, conclude, primaries, shows

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


# -- A rate told in people: "Of people whose reoffended is 0, 45 of 100 in race: Black and 23 of 100 in race:
# White …".
BASES = (100, 1_000, 10_000, 100_000)


def in_people(
    metric: Metric, roles: Mapping[str, Any], rates: tuple[tuple[str, float], tuple[str, float]]
) -> str | None:
    """One sentence on a group and whom it is compared with; None where the metric's value is not a yes or no."""
    done = _value(metric.value, roles)
    people = _people(metric, roles)
    if done is None or people is None:
        return None
    among = f"Of people {people}, " if people else ""
    base = _base([rate for _, rate in rates])
    told = [f"{round(rate * base):,} of {base:,} {_in(who)}" for who, rate in rates]
    return f"{among}{told[0]} and {told[1]} {done}."


def plain_metric(metric: Metric, roles: Mapping[str, Any], *, real: bool = False) -> str:
    """What a metric counts, in words of the file: 'how many of the people whose repaid is yes have approved = no'.

    Of a column of numbers (`real`) it is a mean: 'the mean of affairs'.
    """
    people = _people(metric, roles)
    done = _mean(metric.value, roles) if real else _value(metric.value, roles)
    if done is None or people is None:
        return ""
    if real:
        return f"{done} of the people {people}" if people else done
    return f"how many of the people {people} {done}" if people else f"how many people {done}"


def _mean(value: Role | str, roles: Mapping[str, Any]) -> str | None:
    """Of a column; None where a value is made of several or of a threshold."""
    name = next((one for one in ("outcome", "decision") if value == getattr(role, one)), "")
    return f"the mean of {roles[name]}" if name in roles else None


def _base(rates: list[float]) -> int:
    """The smallest round number of people at which both rates are at least one person and do not look alike."""
    for base in BASES:
        counts = [round(rate * base) for rate in rates]
        told = all(count >= 1 or rate == 0 for count, rate in zip(counts, rates, strict=True))
        if told and (counts[0] != counts[1] or rates[0] == rates[1]):
            return base
    return BASES[-1]


def _in(who: str) -> str:
    return {"everyone else": "of everyone else", "overall": "overall"}.get(who, f"in {who}")


def _value(value: Role | str, roles: Mapping[str, Any]) -> str | None:
    if value == role.decision:
        return _decided(roles, yes=True)
    if value == role.not_decision:
        return _decided(roles, yes=False)
    if value == role.outcome:
        return f"have {roles['outcome']} = {label_text(roles.get('positive'), 'outcome', 1)}"
    if value == role.not_outcome:
        return f"have {roles['outcome']} = {label_text(roles.get('positive'), 'outcome', 0)}"
    if value == role.error:
        return "were decided wrongly"
    return "were decided rightly" if value == role.correct else None


def _decided(roles: Mapping[str, Any], *, yes: bool) -> str:
    if roles.get("threshold") is not None:
        limit = roles["threshold"]
        return (
            f"have a {roles['score']} of {limit} or more" if yes else f"have a {roles['score']} below {limit}"
        )
    return f"have {roles['decision']} = {label_text(roles.get('positive'), 'decision', int(yes))}"


def _people(metric: Metric, roles: Mapping[str, Any]) -> str | None:
    """'whose …', nothing for everyone, None where the condition is not one of the roles."""
    parts = []
    for key, admitted in metric.conditions.items():
        if key not in (role.decision, role.outcome) or len(admitted) != 1:
            return None
        yes = admitted[0] == 1
        if key == role.outcome:
            parts.append(
                f"whose {roles['outcome']} is {label_text(roles.get('positive'), 'outcome', int(yes))}"
            )
        else:
            parts.append("who " + _decided(roles, yes=yes))
    return None if metric.expression is not None else " and ".join(parts)

"""The bias record: who could be harmed how, what measures it, what is tolerated, and what the numbers say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairtrial.errors import Fault, InputError, did_you_mean
from fairtrial.inference.multiplicity import holm
from fairtrial.methods.gaps.disparities import Disparities, find_disparities
from fairtrial.methods.gaps.inference_asked import Inference
from fairtrial.methods.gaps.judgement import certified
from fairtrial.methods.gaps.scales import find_ratio_band
from fairtrial.methods.gaps.states import FAVOURED
from fairtrial.methods.gaps.tolerance import find_band
from fairtrial.methods.gaps.words import band_words
from fairtrial.methods.tabulate.asked import NOT_STATED, WHO, Asked, Table, as_dicts, known_groups
from fairtrial.methods.tabulate.decisions import gap_cell
from fairtrial.methods.tabulate.result import BEYOND, NO_THRESHOLD, UNDETERMINED, WITHIN
from fairtrial.metrics.groups import find_target
from fairtrial.metrics.table import find_metric
from fairtrial.results.column import State
from fairtrial.results.text import counted

KEYS = ("group", "hazard", "measure", "threshold", "scale", "target", "mitigation", "review")
TEXTS = ("hazard", "mitigation", "review")


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One line of the record with its gap."""

    record: Mapping[str, Any]
    found: Disparities
    band: tuple[float, float] | None

    @property
    def p_value(self) -> float | None:
        """Of 'the gap is within the threshold'."""
        if self.band is None or self.found.gaps.reason[0] is not None:
            return None
        return float(self.found.gaps.p_inside(*self.band)[0])


def build(asked: Asked) -> Table:
    """Every entry of the record; where nobody wrote one, one per group, with what is not stated said to be so."""
    records = asked.own["records"] or _one_per_group(asked)
    _check(records)
    entries = [_entry(asked, record) for record in records]
    p_values = [entry.p_value for entry in entries]
    adjusted = iter(holm([p for p in p_values if p is not None]).tolist())
    rows = [
        _row(entry, asked.level, None if p is None else next(adjusted))
        for entry, p in zip(entries, p_values, strict=True)
    ]
    places = [entry.found.groups[0].place for entry in entries]
    return Table(rows, places, _sentence(rows), verdict=_verdict(rows))


def _one_per_group(asked: Asked) -> list[dict[str, Any]]:
    reference = find_target(WHO, asked.target).group
    groups = [group for group in known_groups(asked) if group.where != getattr(reference, "where", None)]
    return [{"group": group} for group in as_dicts(groups)]


def _check(records: Any) -> None:
    if not isinstance(records, Sequence) or isinstance(records, str):
        raise InputError(WHO, Fault("records", "must be a list of records", got=records))
    faults = [
        fault for number, record in enumerate(records, 1) for fault in _faults(f"entry {number}", record)
    ]
    if faults:
        raise InputError(WHO, faults)


def _faults(entry: str, record: Any) -> Iterator[Fault]:
    if not isinstance(record, Mapping) or not isinstance(record.get("group"), Mapping):
        yield Fault("records", "must be a record with a group, such as race=Black", got=record, subject=entry)
        return
    for key in record:
        if key not in KEYS:
            hint = f"{did_you_mean(key, KEYS)} It takes: {', '.join(KEYS)}."
            yield Fault("records", f"takes no {key!r}", subject=entry, hint=hint)
    for key in TEXTS:
        if not isinstance(record.get(key, ""), str):
            yield Fault("records", f"{key} must be a text", got=record[key], subject=entry)


def _entry(asked: Asked, record: Mapping[str, Any]) -> Entry:
    metric = find_metric(WHO, record.get("measure", "selection_rate"), "records")
    scale = record.get("scale", "difference")
    if scale not in ("difference", "ratio"):
        raise InputError(WHO, Fault("records", "scale must be difference or ratio", got=scale))
    threshold = record.get("threshold")
    try:
        band = find_ratio_band(WHO, threshold) if scale == "ratio" else find_band(WHO, threshold, metric)
    except InputError as error:  # certify's tolerance is called a threshold here
        raise InputError(
            WHO, [replace(fault, argument="records", subject="threshold") for fault in error.faults]
        ) from None
    found = find_disparities(
        WHO, asked.audit, metric, by=[dict(record["group"])], depth=1, target=record.get("target", asked.target),
        minimum=1, inference=Inference(scale=scale),
    )  # fmt: skip
    return Entry(record, found, band)


def _row(entry: Entry, level: float, adjusted: float | None) -> dict[str, Any]:
    found, gaps, record = entry.found, entry.found.gaps, entry.record
    low, high = gaps.limits(level)
    name = found.scale
    others = found.comparison.reference @ found.atoms.count
    told = NOT_STATED if entry.band is None else band_words(entry.band, found.binary, found.scale)
    return {
        "metric": found.metric.name, "value_kind": found.value_kind, "group": found.groups[0].label,
        "hazard": record.get("hazard") or NOT_STATED, "n": int(found.count[0]), "rate": float(found.rate[0]),
        "target": found.target_label, "target_n": int(others[0]), "target_rate": float(found.target_rate[0]),
        name: gap_cell(gaps, gaps.estimate[0], 0), f"{name}_low": gap_cell(gaps, low[0], 0),
        f"{name}_high": gap_cell(gaps, high[0], 0), "threshold": told, "scale": name,
        "p_value": entry.p_value, "p_adjusted": adjusted, "effect": found.effect(0) or None,
        "mitigation": record.get("mitigation") or NOT_STATED, "review": record.get("review") or NOT_STATED,
        **_state(entry, level, adjusted).cells(),
    }  # fmt: skip


def _state(entry: Entry, level: float, adjusted: float | None) -> State:
    """Within the threshold is certified as certify does it; beyond it is a test, corrected over the record."""
    gaps = entry.found.gaps
    if entry.band is None:
        return State(NO_THRESHOLD.code)
    if adjusted is None:
        return State(UNDETERMINED.code, gaps.reason[0] or "")
    if adjusted <= 1.0 - level:
        return State(FAVOURED.code if entry.found.effect(0) == FAVOURED.code else BEYOND.code)
    if certified(gaps, entry.band, round(1.0 - 2.0 * (1.0 - level), 12))[0]:
        return State(WITHIN.code)
    return State(UNDETERMINED.code)


def _verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    """Beyond where one entry is; within where all are."""
    states = {row["state"] for row in rows}
    if BEYOND.code in states:
        return BEYOND.code
    return WITHIN.code if states == {WITHIN.code} else UNDETERMINED.code


def _sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    def many(*codes: str) -> int:
        return sum(row["state"] in codes for row in rows)

    return (
        f"{counted(len(rows), 'entry', 'entries')}: beyond the threshold {many(BEYOND.code, FAVOURED.code)}, within it "
        f"{many(WITHIN.code)}, undetermined {many(UNDETERMINED.code)}, without a threshold {many(NO_THRESHOLD.code)}"
    )

"""From a table's lines to the answer of tabulate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairtrial._audit.groups import check_target
from fairtrial._compare import amount_tables as amounts
from fairtrial._compare import decision_tables as decisions
from fairtrial._compare import local_law_144 as impact
from fairtrial._compare.comparing import find_disparities
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.judgement import certified
from fairtrial._compare.request import Request
from fairtrial._compare.results import TabulateResult
from fairtrial._compare.rows import gap_cell
from fairtrial._compare.table_parts import NOT_STATED, WHO, BuiltTable, as_dicts, known_groups
from fairtrial._compare.tolerance import find_scaled_band
from fairtrial._compare.words import BEYOND, FAVOURED, NO_THRESHOLD, UNDETERMINED, WITHIN, band_words
from fairtrial._errors import Fault, InputError, Note, did_you_mean
from fairtrial._inference.multiplicity import holm
from fairtrial._method.declaration import find_method
from fairtrial._metrics.groups import find_target
from fairtrial._metrics.table import find_metric
from fairtrial._results.column import State, Verdict
from fairtrial._results.text import counted

# -- The bias record: who could be harmed how, what measures it, what is tolerated, and what the numbers say.
KEYS = ("group", "hazard", "measure", "threshold", "scale", "target", "mitigation", "review")
TEXTS = ("hazard", "mitigation", "review")


@dataclass(frozen=True, slots=True, eq=False)
class BiasEntry:
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


def build(request: Request) -> BuiltTable:
    """Every entry of the record; where nobody wrote one, one per group, with what is not stated said to be so."""
    records = request.options["records"] or _one_per_group(request)
    _check(records)
    entries = [_entry(request, record) for record in records]
    p_values = [entry.p_value for entry in entries]
    adjusted = iter(holm([p for p in p_values if p is not None]).tolist())
    rows = [
        _row(entry, request.level, None if p is None else next(adjusted))
        for entry, p in zip(entries, p_values, strict=True)
    ]
    places = [entry.found.groups[0].place for entry in entries]
    return BuiltTable(rows, places, _sentence(rows), verdict=_verdict(rows))


def _one_per_group(request: Request) -> list[dict[str, Any]]:
    reference = find_target(WHO, request.target).group
    groups = [group for group in known_groups(request) if group.where != getattr(reference, "where", None)]
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


def _entry(request: Request, record: Mapping[str, Any]) -> BiasEntry:
    metric = request.audit.roles.in_words(
        find_metric(WHO, record.get("measure", "selection_rate"), "records")
    )
    scale = record.get("scale", "difference")
    if scale not in ("difference", "ratio"):
        raise InputError(WHO, Fault("records", "scale must be difference or ratio", got=scale))
    threshold = record.get("threshold")
    try:
        band = find_scaled_band(WHO, threshold, metric, scale)
    except InputError as error:  # certify's tolerance is called a threshold here
        raise InputError(
            WHO, [replace(fault, argument="records", subject="threshold") for fault in error.faults]
        ) from None
    found = find_disparities(
        Request(who=WHO, audit=request.audit, by=[dict(record["group"])], target=record.get("target", request.target),
                minimum=1, scale=scale),
        metric,
    )  # fmt: skip
    return BiasEntry(record, found, band)


def _row(entry: BiasEntry, level: float, adjusted: float | None) -> dict[str, Any]:
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


def _state(entry: BiasEntry, level: float, adjusted: float | None) -> State:
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


def refuse_others(table: str, given: Mapping[str, Any]) -> None:
    """Options that another table takes and this one would ignore."""
    usual = {argument.name: argument.default for argument in find_method(WHO).arguments}
    faults = [
        Fault(name, f"is not for the table {table!r}", cure=f"Leave it out; it is for {_who_takes(name)}")
        for name, value in given.items()
        if name not in TABLES[table].takes and value != usual[name]
    ]
    if faults:
        raise InputError(WHO, faults)


def _who_takes(option: str) -> str:
    return ", ".join(repr(name) for name, table in TABLES.items() if option in table.takes)


def answer(table: str, request: Request) -> TabulateResult:
    """The table, with its field's texts."""
    declared = TABLES[table]
    check_target(WHO, request.audit, find_target(WHO, request.target))
    built = declared.build(request)
    names = dict.fromkeys(name for row in built.rows for name in row)  # every line has every number, or none
    texts = [*[("law", text) for text in declared.law], *built.notes]
    return TabulateResult(
        question=declared.question,
        null="No hypothesis: the table describes; where a p-value stands, it is that the decision does not depend on "
        "the group.",
        verdict=Verdict(built.verdict, built.sentence),
        estimates=tuple({**dict.fromkeys(names), **row} for row in built.rows),
        details={
            "table": table,
            "stated": built.stated,
            "places": built.places,
            "confidence_level": request.level,
        },
        notes=(*request.audit.notes(complete=False), *(Note(code, text) for code, text in texts)),
        provenance=request.audit.provenance(),
    )


# -- The tables that can be asked for: what each shows, which options it takes, whose practice it is, who
# builds it.
@dataclass(frozen=True, slots=True)
class FieldTable:
    """One table of one field."""

    question: str
    build: Callable[[Request], BuiltTable]
    takes: frozenset[str]  # options besides those that every table takes
    law: tuple[str, ...] = ()  # texts with their dates


US_EMPLOYMENT = (
    "Uniform Guidelines on Employee Selection Procedures, 29 CFR Part 1607 (43 FR 38290, 25 August 1978), § 1607.4(D), "
    "and the agencies' Questions and Answers (44 FR 11996, 2 March 1979), no. 21: where the selection of one different "
    "person would give the group the higher rate, the numbers are too small. The EEOC's agenda lists the rescission of "
    "its part of the guidelines (RIN 3046-AB43, seen in July 2026). Courts speak of two or three standard deviations "
    "(Castaneda v. Partida, 430 U.S. 482, 1977; Hazelwood School District v. United States, 433 U.S. 299, 1977).",
    "Exact p-values are Fisher's; the adjusted ones are corrected (Holm) over the groups of this table. Comparing with "
    "the group that happens to have the highest rate would make any p-value too small: the target is everyone else, or "
    "a group that was named.",
    "The shortfall is how many more of the group would have been selected had selection not depended on it, given how "
    "many were selected in each stratum. These numbers describe; they do not say that a law was or was not broken.",
)
CREDIT = (
    "Adverse impact ratio and odds ratio of the unfavourable decision, measures of fair-lending practice that New "
    "York's Insurance Circular Letter No. 7 (11 July 2024) names too, without a threshold. Under the Equal Credit "
    "Opportunity Act (15 U.S.C. § 1691, 1974) Regulation B (12 CFR Part 1002) no longer knows a test of effects: the "
    "rule published on 22 April 2026 took it out from 21 July 2026; laws of states may. Nothing here says that a law "
    "was or was not broken.",
)
AMOUNTS = (
    "Standardized mean differences are in the denominator that is stated; a basis point is a hundredth of a percentage "
    "point. Differences are in the unit of the column.",
)
PAY = (
    "Mean and median gaps and the shares in the quarters of pay are what the United Kingdom's Equality Act 2010 "
    "(Gender Pay Gap Information) Regulations 2017 (SI 2017/172) ask employers of 250 people or more to publish of "
    "hourly pay. They compare everybody's pay, whatever the work; an adjusted gap is among people alike in "
    "job or grade.",
)
RECORD = (
    "The record follows what Article 10(2)(f) and (g) of Regulation (EU) 2024/1689 (AI Act, 13 June 2024) asks of high-"
    "risk systems (those of Annex III from 2 December 2027, by the amendment adopted on 29 June 2026): examine "
    "possible biases, and take measures to detect, prevent and mitigate them. It states what was found; it is no "
    "conformity assessment and does not say that a law is complied with.",
    "Within a threshold is certified as certify does it; beyond it is a test, corrected (Holm) over the record.",
)

TABLES: dict[str, FieldTable] = {
    "local-law-144": FieldTable(
        "What are the selection rates and impact ratios (New York City Local Law 144)?",
        impact.build,
        frozenset({"smallest", "about"}),
    ),
    "adverse-impact": FieldTable(
        "How far are selections from chance, and how many people is that (US employment practice)?",
        decisions.build_employment,
        frozenset({"target", "within"}),
        US_EMPLOYMENT,
    ),
    "credit-decisions": FieldTable(
        "How do approvals and denials compare (lending and insurance practice)?",
        decisions.build_credit,
        frozenset({"target", "within"}),
        CREDIT,
    ),
    "score-and-price": FieldTable(
        "How do mean scores and prices compare (lending and insurance practice)?",
        amounts.build_means,
        frozenset({"target", "within", "price", "price_unit", "denominator"}),
        AMOUNTS,
    ),
    "score-quantiles": FieldTable(
        "How do shares among the best scores compare, cut-off by cut-off?",
        amounts.build_quantiles,
        frozenset({"target", "quantiles"}),
    ),
    "pay": FieldTable(
        "How do means, medians and the best paid compare (pay, premiums, limits, sentences)?",
        amounts.build_pay,
        frozenset({"target", "within"}),
        PAY,
    ),
    "bias-record": FieldTable(
        "Who could be harmed, and what do the numbers say?",
        build,
        frozenset({"target", "records"}),
        RECORD,
    ),
}

"""The summary of results of New York City's Local Law 144: numbers, rates and impact ratios per category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Rows
from fairtrial._audit.direction import score_favours
from fairtrial._compare.request import Request
from fairtrial._compare.table_parts import (
    REFUSED,
    WHO,
    WHY_REFUSED,
    BuiltTable,
    attributes_of,
    favourable_metric,
    known_groups,
    need,
    stated,
)
from fairtrial._compare.words import LEFT_OUT, LISTED, UNKNOWN
from fairtrial._errors import Fault, Faults, did_you_mean
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.rates.proportions import rate_interval
from fairtrial._inference.rates.two_rates import pairs_of_groups, ratio_to_highest
from fairtrial._labels import MISSING
from fairtrial._metrics.groups import FOUR_FIFTHS, Group
from fairtrial._results.column import State, scalar, undefined
from fairtrial._results.text import counted

Bools = NDArray[np.bool_]
STATED = {
    "tool": "Tool",
    "audit_date": "Date of the audit",
    "distribution_date": "Distribution date of the tool",
    "data_source": "Source and explanation of the data",
}
RATIO = ("impact_ratio", "impact_ratio_low", "impact_ratio_high")
JUSTIFIED = {"justification": "Justification for leaving categories out"}


def build(request: Request) -> BuiltTable:
    """Selection rates, scoring rates where there is a score, and the unknown counted once."""
    request.audit.refuse(WHO, *REFUSED, why=WHY_REFUSED)
    _check_about(request.options["about"])
    if not request.audit.has("score"):
        need(request.audit, "decision")
    groups = known_groups(request)
    attributes = attributes_of(groups)
    rows, kinds, notes = _kinds(request.audit, attributes)
    present = [group for group in groups if rows.mask(group).any()]
    lines = list(chain.from_iterable(_lines(request, rows, present, kind) for kind in kinds))
    lines.append(_unknown_line(*_unknown(request.audit, attributes)))
    places = [group.place for group in present] * len(kinds)
    places.append([[attributes[0], MISSING]] if len(attributes) == 1 else [])
    left = [line for line in lines if line["state"] == LEFT_OUT.code]
    said = stated(request.options["about"] or {}, {**STATED, **(JUSTIFIED if left else {})})
    return BuiltTable(lines, places, _sentence(lines), said, notes + _notes(request, left))


def _check_about(about: Mapping[str, Any] | None) -> None:
    """Only what stands beside the table may be stated, each as a text."""
    known = [*STATED, *JUSTIFIED]
    faults = Faults(WHO)
    for name, said in (about or {}).items():
        if name not in known:
            hint = did_you_mean(str(name), known)
            faults.add(Fault("about", f"may name {', '.join(known)}", got=name, hint=hint))
        elif not isinstance(said, str):
            faults.add(Fault("about", "must be a text", subject=repr(name), got=said))
    faults.raise_any()


class Kind(NamedTuple):
    """A rate of the table: its name, who has it, and who is counted."""

    name: str
    chosen: Bools
    counted: Bools


def _kinds(audit: Audit, attributes: Sequence[str]) -> tuple[Rows, list[Kind], list[tuple[str, str]]]:
    """The rates that there are, of decisions and of scores; one where both are the same."""
    metrics = [favourable_metric(audit)] if audit.has("decision") else []
    roles = ("score",) if audit.has("score") else ()
    rows = audit.rows(attributes=attributes, metrics=metrics, roles=roles, complete=False, who=WHO)
    kinds = [
        Kind("selection_rate", rows.values[metric.name] == 1, rows.given[metric.name]) for metric in metrics
    ]
    if not roles:
        return rows, kinds, []
    counted = np.isfinite(rows.roles["score"])
    median = float(np.median(rows.roles["score"][counted]))
    scoring = Kind("scoring_rate", rows.roles["score"] > median, counted)
    others = [kind for kind in kinds if not _same(kind, scoring)]
    text = f"A scoring rate is the share above the sample's median score, {median:g}."
    if score_favours(audit) == "low":
        text += " Low scores are good for a person here: a high scoring rate is a disadvantage."
    return rows, [*others, scoring], [("median", text)]


def _same(one: Kind, other: Kind) -> bool:
    """The same people counted, and the same of them chosen."""
    alike = np.array_equal(one.counted, other.counted)
    return alike and np.array_equal(one.chosen & one.counted, other.chosen & other.counted)


def _lines(request: Request, rows: Rows, groups: Sequence[Group], kind: Kind) -> list[dict[str, Any]]:
    name, chosen, counted = kind
    people = np.array([float((rows.mask(group) & counted).sum()) for group in groups])
    events = np.array([float((rows.mask(group) & counted & chosen).sum()) for group in groups])
    smallest = float(request.options["smallest"])
    share = people / max(int(counted.sum()), 1)
    large = share >= smallest
    low, high = rate_interval(events, people, request.level)
    ratios = _ratios(groups, events, people, large, request.level)
    lines = []
    for i, group in enumerate(groups):
        few = State(LEFT_OUT.code, f"under {100 * smallest:g}% of the people")
        lines.append(
            {
                "metric": name, "value_kind": "percent", "group": group.label, "n": int(people[i]),
                "share": float(share[i]), "events": int(events[i]),
                "rate": float(events[i] / people[i]) if people[i] else None,
                "rate_low": float(low[i]), "rate_high": float(high[i]),
                **ratios[i], **(State(LISTED.code) if large[i] else few).cells(),
            }
        )  # fmt: skip
    return lines


def _ratios(
    groups: Sequence[Group], events: Floats, people: Floats, large: Bools, level: float
) -> list[dict[str, Any]]:
    """Each category's rate over the highest of the same attributes, categories large enough only."""
    cells: list[dict[str, Any]] = [dict.fromkeys((*RATIO, "four_fifths")) for _ in groups]
    for attributes in dict.fromkeys(group.attributes for group in groups):
        own = np.array([group.attributes == attributes for group in groups]) & large & (people > 0)
        places = np.flatnonzero(own)
        why = "there is no other category of sufficient size" if places.size < 2 else ""
        why = why or ("the highest rate is zero" if events[own].max() == 0 else "")
        if why:
            for place in places:
                cells[place] |= dict.fromkeys(RATIO, undefined(why))
            continue
        found = ratio_to_highest(events[own], people[own], level)
        pairs = pairs_of_groups(events[own], people[own], FOUR_FIFTHS, level)
        lower = np.where(found.ratio[pairs.first] < found.ratio[pairs.second], pairs.first, pairs.second)
        marked = set(lower[pairs.p_adjusted <= 1.0 - level].tolist())
        for j, place in enumerate(places):
            cells[place] = {
                "impact_ratio": float(found.ratio[j]), "impact_ratio_low": float(found.low[j]),
                "impact_ratio_high": float(found.high[j]), "four_fifths": j in marked,
            }  # fmt: skip
    return cells


def _unknown(audit: Audit, attributes: Sequence[str]) -> tuple[int, int]:
    """How many lack any of the attributes, each person once, of how many."""
    everyone = int(audit.cells(()).rows.sum())
    rows = audit.rows(attributes=attributes, complete=False, who=WHO)
    known = np.ones(rows.n, dtype=bool)
    for name in attributes:
        known &= ~rows.attributes[name].among([MISSING])
    return everyone - int(known.sum()), everyone


def _unknown_line(people: int, everyone: int) -> dict[str, Any]:
    state = State(UNKNOWN.code, "each person once; in no line that needs what is unknown")
    return {
        "metric": "unknown category", "value_kind": "percent", "group": "(unknown)", "n": people,
        "share": people / max(everyone, 1), **state.cells(),
    }  # fmt: skip


def _sentence(lines: Sequence[dict[str, Any]]) -> str:
    known = [line for line in lines if scalar(line.get("impact_ratio")) is not None]
    if not known:
        return "no impact ratio: see the reasons in the table"
    shown = sum(bool(line["four_fifths"]) for line in known)
    return f"{shown} of {counted(len(known), 'impact ratio')} shown to be under four fifths of another category's rate"


def _notes(request: Request, left: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    notes = [
        (
            "law",
            "New York City Local Law 144 of 2021 and its rule, 6 RCNY § 5-300 to 5-304 (final rule published 6 April "
            "2023, enforced from 5 July 2023): number, selection or scoring rate and impact ratio per sex, "
            "race/ethnicity and their intersections, and the number of people of an unknown category. This is that "
            "table, not a statement that the law is complied with; the law's audit is by an independent auditor.",
        ),
        (
            "four-fifths",
            "Four fifths (0.8) is a rule of thumb of US practice (29 CFR § 1607.4(D)) that this law does not contain. "
            "It is marked only where a test over all pairs of categories of the same attributes shows it.",
        ),
    ]
    if left:
        named = ", ".join(dict.fromkeys(str(line["group"]) for line in left))
        share = f"{100 * float(request.options['smallest']):g}%"
        text = f"Under {share} of the people and left out of the impact ratios: {named}. Their rates are in the table."
        notes.append(("small-categories", text))
    return notes

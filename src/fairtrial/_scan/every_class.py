"""Many scans as one table, with one correction over all of them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._audit.direction import harmed_side
from fairtrial._audit.groups import by_attributes, check_not_continuous
from fairtrial._errors import FairtrialWarning, Fault, Faults, NotApplicable, Note
from fairtrial._inference.multiplicity import holm
from fairtrial._metrics.groups import Group
from fairtrial._metrics.values import Metric
from fairtrial._results.column import State, Verdict, undefined
from fairtrial._results.text import counted
from fairtrial._scan.answer import answer
from fairtrial._scan.request import Names, ScanRequest, ask, named, names_of
from fairtrial._scan.result import ScanEachResult, ScanResult

WHO = "scan"


def find_attributes(audit: Audit, protected: object, target: object, null: str | None) -> tuple[str, ...]:
    """The attributes of which every value is scanned, refused together with what only a scan of one class takes."""
    faults = Faults(WHO)
    if target != "rest":
        faults.add(
            Fault("target", "is for a scan of one protected class", cure="name the class, or leave it out")
        )
    if null is None:
        required = "cannot be none where several classes are scanned: their p-values are corrected together"
        faults.add(Fault("null", required, cure="leave it out, or name one class"))
    faults.raise_any()
    named = None if protected == "each" else protected or None
    attributes = by_attributes(WHO, audit, named, "protected")
    for name in attributes:
        audit.check_column(WHO, "protected", name)
        check_not_continuous(WHO, audit, name, "protected")
    return attributes


def scan_every_class(
    audit: Audit,
    metric: Metric,
    attributes: Sequence[str],
    *,
    features: Names,
    within: Names,
    permutations: int | None,
    **how: Any,
) -> ScanEachResult:
    """Scan every value of the attributes, with subgroups of the others and of `features`; `how` as in a scan of one."""
    groups = [Group(((name, (label,)),)) for name in attributes for label in audit.levels(name)]
    needed = int(np.ceil(20 * len(groups) / (1.0 - how["confidence_level"]))) - 1
    how |= {"permutations": permutations or needed, "sequential": True}
    others = dict.fromkeys([*attributes, *(audit.features if features is None else names_of(features))])
    controlled = names_of(within)
    scans: dict[Group, ScanResult | str] = {}
    for group in groups:
        own = [name for name in others if name not in (*group.attributes, *controlled)]
        kept = [name for name in controlled if name not in group.attributes]
        try:
            asked = ask(ScanRequest, WHO, audit, metric, protected=group, features=own, within=kept, **how)
            scans[group] = answer(audit, asked)
        except NotApplicable as error:  # of one class among many, it is a reason and no refusal
            scans[group] = str(replace(error.faults[0], cure=""))
    return _joined(audit, metric, attributes, how, scans, needed)


def _joined(
    audit: Audit,
    metric: Metric,
    attributes: Sequence[str],
    how: Mapping[str, Any],
    scans: dict[Group, ScanResult | str],
    needed: int,
) -> ScanEachResult:
    """One table over all scans, best first, with Holm's adjustment."""
    label = metric.label
    arguments = {
        "metric": metric.to_dict(),
        "protected": list(attributes),
        "permutations": how["permutations"],
    }
    tested = {group: scan for group, scan in scans.items() if not isinstance(scan, str)}
    rows = _tested_rows(tested, 1.0 - how["confidence_level"])
    rows += [_untested_row(group, scan) for group, scan in scans.items() if isinstance(scan, str)]
    notes = [
        *audit.notes(complete=False),
        Note("holm", f"P-values are adjusted by Holm over {counted(len(tested), 'scan')}."),
    ]
    if how["permutations"] < needed:
        notes.append(_few_draws(how["permutations"], needed, len(scans)))
    return ScanEachResult(
        question=f"Which subgroups have a deviating {label}, over every value of {', '.join(attributes)}?",
        null=(
            f"Given the other features and the metric's condition, the {label} does not depend on "
            "the protected class."
        ),
        verdict=_verdict(metric, rows),
        estimates=tuple(rows),
        details={
            "metric": metric.name,
            "label": label,
            "harmed": harmed_side(audit, metric),
            "confidence_level": how["confidence_level"],
            "draws": how["permutations"],
            "subgroups": {
                f"{group.attributes[0]}={group.label}": result.subgroup for group, result in tested.items()
            },
        },
        notes=tuple(notes),
        provenance=audit.provenance(seed=how["seed"], arguments=arguments),
        objects={"scans": {named(group): result for group, result in tested.items()}},
    )


def _tested_rows(tested: dict[Group, ScanResult], alpha: float) -> list[dict[str, Any]]:
    """The best subgroup of every class, strongest first."""
    p_values = [float(result.estimates[0]["p_value"]) for result in tested.values()]
    adjusted = holm(p_values) if p_values else np.empty(0)
    names = [column.name for column in ScanEachResult.columns]
    rows = []
    for (group, result), p in zip(tested.items(), adjusted, strict=True):
        best = result.estimates[0]
        state = "nothing found" if best["score"] <= 0 else "found" if p <= alpha else "not shown"
        rows.append(
            {name: best[name] for name in names if name in best}
            | {
                "attribute": group.attributes[0],
                "search": result.search,
                "draws": result.details["null_draws"],
                "p_adjusted": float(p),
                **State(state).cells(),
            }
        )
    return sorted(rows, key=lambda row: (row["p_adjusted"], -row["score"]))


def _untested_row(group: Group, why: str) -> dict[str, Any]:
    return {
        **{column.name: undefined(why) for column in ScanEachResult.columns},
        **dict.fromkeys(("subgroup", "direction", "search")),
        "protected": named(group),
        "attribute": group.attributes[0],
        **State("not tested", why).cells(),
    }


def _few_draws(draws: int, needed: int, scans: int) -> Note:
    text = (
        f"{counted(draws, 'draw')} {'is' if draws == 1 else 'are'} fewer than the {needed:,} that an adjustment over "
        f"{counted(scans, 'scan')} needs: "
        "clear findings may be missed."
    )
    warnings.warn(f"scan: {text}", FairtrialWarning, stacklevel=6)  # the line that called scan
    return Note("few-draws", text)


def _verdict(metric: Metric, rows: list[dict[str, Any]]) -> Verdict:
    shown = [row for row in rows if row["state"] == "found"]
    if shown:
        best = shown[0]
        return Verdict(
            "found",
            f"found: {len(shown)} of {counted(len(rows), 'protected class', 'protected classes')} "
            f"{'has' if len(shown) == 1 else 'have'} a subgroup with a deviating {metric.label}; "
            f"strongest: {best['protected']} ({best['subgroup']}, n {best['n']:,}), "
            f"adjusted p = {best['p_adjusted']:.3g}",
            ({"protected": best["protected"]},),
        )
    none = "no bias shown: no scan remains after adjustment (this is not a certificate of fairness)"
    return Verdict("not-shown", none)

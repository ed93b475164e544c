"""Many scans as one table, with one correction over all of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from fairtrial.data.audit import Audit
from fairtrial.errors import FairtrialWarning, Note
from fairtrial.inference.multiplicity import holm
from fairtrial.methods.scan.draws import Luck
from fairtrial.methods.scan.options import Options, recorded
from fairtrial.methods.scan.result import ScanAllResult, ScanResult
from fairtrial.metrics.groups import Group
from fairtrial.metrics.metric import Metric
from fairtrial.results.column import Verdict, undefined


def joined(
    audit: Audit,
    metric: Metric,
    options: Options,
    attributes: list[str],
    found: list[tuple[Group, ScanResult | str, Luck | None]],
    draws: int,
    needed: int,
    seed: int,
) -> ScanAllResult:
    """One table over all scans, best first, with Holm's adjustment."""
    tested = [(group, result, luck) for group, result, luck in found if luck is not None]
    adjusted = holm([luck.p_value for _, _, luck in tested]) if tested else np.empty(0)
    alpha = 1.0 - options.confidence_level
    rows: list[dict[str, Any]] = []
    for (group, result, luck), p in zip(tested, adjusted, strict=True):
        assert isinstance(result, ScanResult)
        best = result.estimates[0]
        row = {
            name: best.get(name) for name in (column.name for column in ScanAllResult.columns) if name in best
        }
        state = "nothing found" if best["score"] <= 0 else "found" if p <= alpha else "not shown"
        row.update(
            attribute=group.attributes[0], search=result.search, draws=luck.draws, p_value=luck.p_value,
            p_adjusted=float(p), finding=state,
        )  # fmt: skip
        rows.append(row)
    rows.sort(key=lambda row: (row["p_adjusted"], -row["score"]))
    for group, why, drawn in found:
        if drawn is None:
            names = [column.name for column in ScanAllResult.columns]
            empty = {name: undefined(str(why)) for name in names}
            rows.append({**empty, "protected": group.label, "attribute": group.attributes[0], "subgroup": None,
                         "direction": None, "search": None, "finding": "not tested"})  # fmt: skip
    shown = [row for row in rows if row["finding"] == "found"]
    notes = [*audit.notes(), Note("holm", f"p-values are adjusted by Holm over {len(tested)} scans.")]
    if draws < needed:
        text = (
            f"{draws:,} draws are fewer than the {needed:,} that an adjustment over {len(found)} scans needs: "
            "clear findings may be missed."
        )
        notes.append(Note("few-draws", text))
        warnings.warn(f"scan_all: {text}", FairtrialWarning, stacklevel=3)
    return ScanAllResult(
        question=f"Which subgroups have a deviating {metric.label}, over every value of {', '.join(attributes)}?",
        null=(
            f"Given the other features and the metric's condition, the {metric.label} does not depend on "
            "the protected class."
        ),
        verdict=_joint_verdict(metric, rows, shown),
        estimates=tuple(rows),
        details={
            "metric": metric.name,
            "label": metric.label,
            "confidence_level": options.confidence_level,
            "draws": draws,
            "subgroups": {
                f"{group.attributes[0]}={group.label}": result.subgroup
                for group, result, _ in tested
                if isinstance(result, ScanResult)
            },
        },
        notes=tuple(notes),
        provenance=audit.provenance(
            arguments={
                "metric": metric.to_dict(),
                "by": attributes,
                **recorded(options),
                "permutations": draws,
                "seed": seed,
            }
        ),
        objects={"scans": {group.label: result for group, result, _ in tested}},
    )


def _joint_verdict(metric: Metric, rows: list[dict[str, Any]], shown: list[dict[str, Any]]) -> Verdict:
    if shown:
        best = shown[0]
        return Verdict(
            "found",
            f"found: {len(shown)} of {len(rows)} protected classes have a subgroup with a deviating {metric.label}; "
            f"strongest: {best['protected']} ({best['subgroup']}, n {best['n']:,}), "
            f"adjusted p = {best['p_adjusted']:.3g}",
        )
    return Verdict(
        "not-shown", "no bias shown: no scan remains after adjustment (this is not a certificate of fairness)"
    )

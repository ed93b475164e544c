"""From lines to the answer of measure: adjusted p-values, rows, verdict and notes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairtrial._audit.audit import Audit
from fairtrial._compare.columns import DESCRIBED, FAVOURED
from fairtrial._compare.cuts import at_cut, cut_notes
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.lines import Line, Plan
from fairtrial._compare.rates import cell_lines
from fairtrial._compare.results import MeasureResult
from fairtrial._compare.tolerance import adjusted_notes, inference_notes, plain_band
from fairtrial._compare.words import band_words
from fairtrial._errors import Fault, Named, NotApplicable, Note, Set, Words, notes_where
from fairtrial._inference.multiplicity import holm
from fairtrial._inference.rates.binary_gaps import SMALLEST_P
from fairtrial._method.known_outcomes import left_out_details, left_out_notes, refuse_selective
from fairtrial._metrics.harm import describes_people, harmed_side
from fairtrial._metrics.metric import Metric
from fairtrial._metrics.told import told_label
from fairtrial._metrics.values import role
from fairtrial._results.column import Verdict, defined_or, undefined
from fairtrial._results.text import in_a_sentence

WHO = "measure"
# what a reference has none of
COMPARED = (
    "difference", "difference_low", "difference_high", "ratio", "ratio_low", "ratio_high", "p_value", "p_adjusted",
)  # fmt: skip


# states of lines, the most important first, and the verdict that they give
FINDINGS = (
    (("harmed", "violated"), "violated"),
    ((FAVOURED.code,), FAVOURED.code),
    ((DESCRIBED.code,), DESCRIBED.code),
)


def answer(plan: Plan) -> MeasureResult:
    """Every group's rate, compared with the target."""
    audit, level = plan.audit, plan.level
    weighted = audit.has("weight") or audit.has("unit")
    if weighted and plan.interval is not None:
        required = "cannot be chosen together with weight or unit: intervals at effective counts are used"
        raise NotApplicable(WHO, Fault("interval", required, cure=Words("Leave {} out", Named("interval"))))
    lines: list[Line] = []
    compared: list[Disparities] = []
    left_out: list[dict[str, Any]] = []
    parts = _by_cut(plan)
    for part in parts:
        refuse_selective(WHO, part.audit, part.metrics, "metrics")
        told, own, gaps, cells = cell_lines(part)
        lines, compared = lines + own, compared + gaps
        left_out += left_out_details(part.metrics, cells.left_out) if audit.missing == "drop" else []
        plan = replace(plan, target=told.target)
    metrics = [metric for part in parts for metric in part.metrics]
    for line in lines:
        line.harmed = harmed_side(line.metric, audit.favourable)
    adjust(lines)
    alpha = 1 - level
    return MeasureResult(
        question=f"What are the rates by {in_a_sentence(plan.attributes)}?",
        null=_null(plan),
        verdict=verdict_of(lines, alpha, plan),
        estimates=tuple(row_of(line, alpha) for line in lines),
        details={
            "labels": {metric.name: metric.label for metric in metrics},
            "described": [metric.name for metric in metrics if describes_people(metric)],
            "confidence_level": level,
            "scale": plan.scale,
            "within": list(plan.inference.within or ()),
            "tolerance": plain_band(plan.band),
            "left_out": left_out,
            "places": [line.group.place for line in lines],
        },
        notes=(
            *audit.notes(complete=False),
            *cut_notes(audit),
            *left_out_notes(left_out),
            *notes_of(lines, plan.minimum),
            *inference_notes(compared),
            *dict.fromkeys(note for disparities in compared for note in adjusted_notes(disparities)),
        ),
        provenance=audit.provenance(
            compared[0].source if compared else cells,
            arguments={
                "metrics": [metric.to_dict() for metric in plan.metrics],
                "target": plan.target.to_dict(),
                "by": list(plan.attributes),
            },
        ),
    )


def _by_cut(plan: Plan) -> list[Plan]:
    """The plan at every cut of an ordered decision; metrics without the decision once."""
    if plan.audit.order is None:
        return [plan]
    decided = [metric for metric in plan.metrics if "decision" in metric.needs]
    others = [metric for metric in plan.metrics if metric not in decided]
    cuts = plan.audit.cuts() if decided else []
    plans = [
        replace(plan, audit=audit, metrics=[at_cut(metric, name, audit) for metric in decided])
        for name, audit in cuts
    ]
    return [*plans, replace(plan, metrics=others)] if others else plans


def each_bin(audit: Audit, metric: Metric) -> list[Metric]:
    """`calibration` becomes one metric per score bin."""
    if metric.each is None:
        return [metric]
    if not audit.has("score"):
        cure = Words("name its column with {}", Set("score", of="Audit"))
        raise NotApplicable(WHO, Fault("metrics", "needs the score", subject=repr(metric.name), cure=cure))
    told = metric.label.removesuffix(" in a score bin")
    return [
        Metric(f"{metric.name} [{label}]", metric.value, {role.score_bin: label}, f"{told} at score {label}",
               metric.equal)
        for label in audit.score_bins()
    ]  # fmt: skip


def adjust(lines: list[Line]) -> None:
    tested = [(line, max(line.p_value, SMALLEST_P)) for line in lines if line.p_value is not None]
    for line, p in tested:
        line.p_value = p  # beyond the smallest float it would be zero, which no p-value is
    for (line, _), adjusted in zip(tested, holm([p for _, p in tested]), strict=True):
        line.p_adjusted = float(adjusted)


def row_of(line: Line, alpha: float) -> dict[str, Any]:
    why = None if line.untested is None else line.untested.reason
    open_end = line.undetermined or f"no limit: {line.open_because or 'the sample is too small'}"

    def known(value: float | None, explanation: str) -> Any:
        if value is None:
            return None if why is None else undefined(why)
        return defined_or(value, explanation)

    def limit(value: float | None) -> Any:
        return (
            None
            if value is None
            else defined_or(value, line.unlimited or "no limit: the sample is too small")
        )

    row = {
        "metric": line.metric.name,
        "value_kind": "percent" if line.binary else "number",
        "group": line.group.label,
        "n": line.n,
        "events": line.events,
        "rate": undefined(why or "nobody") if line.level is None else line.level,
        "rate_low": limit(line.low),
        "rate_high": limit(line.high),
        "target": line.target,
        "target_rate": line.target_level,
        "target_n": line.target_n,
        "difference": known(line.difference, "no difference"),
        "difference_low": known(line.difference_low, open_end),
        "difference_high": known(line.difference_high, open_end),
        "scale": line.scale if line.scale == "ratio" else None,
        "ratio": known(line.ratio, "the target's rate is zero"),
        "ratio_low": known(line.ratio_low, "the target's rate is zero"),
        "ratio_high": known(line.ratio_high, "no upper limit: too few events in the target"),
        "impact_ratio": line.impact_ratio,
        "impact_ratio_low": line.impact_ratio_low,
        "impact_ratio_high": line.impact_ratio_high,
        "four_fifths": line.four_fifths,
        "standardized": line.standardized,
        "unpaired": line.unpaired,
        "p_value": known(line.p_value, "no p-value"),
        "p_adjusted": known(line.p_adjusted, "no p-value"),
        "effect": line.effect if line.state(alpha).code in ("harmed", FAVOURED.code) else None,
        **line.state(alpha).cells(),
    }
    row.update(line.more_cells)
    if line.rate_ends is not None:
        row.update(_bound_cells(line))
    if line.threshold is not None:
        row["threshold"] = line.threshold
    if line.is_reference:
        row.update(dict.fromkeys(COMPARED), target=None, target_n=0)
    return row


def _null(plan: Plan) -> str:
    alike = f" alike in {' and '.join(plan.inference.within)}" if plan.inference.within else ""
    if plan.band is None:
        return f"Every group's rate equals that of {plan.target.label}{alike}."
    return f"Every group's rate lies within {_band(plan)} of {plan.target.label}{alike}."


def _band(plan: Plan) -> str:
    assert plan.band is not None
    return band_words(plan.band, all(metric.binary is not False for metric in plan.metrics), plan.scale)


def _bound_cells(line: Line) -> dict[str, Any]:
    """What stands in a row where outcomes are unknown: no estimate, but what it lies between."""
    assert line.rate_ends is not None
    unknown = undefined(line.undetermined or line.depends)
    cells: dict[str, Any] = {
        "events": None, "rate": unknown, "rate_least": line.rate_ends[0],
        "rate_most": line.rate_ends[1],
    }  # fmt: skip
    if line.gap_ends is not None:
        cells |= {
            "difference": unknown,
            "difference_least": line.gap_ends[0],
            "difference_most": line.gap_ends[1],
        }
        cells |= {"target_rate": unknown} if line.target_n else {}
    return cells


def verdict_of(lines: list[Line], alpha: float, plan: Plan) -> Verdict:
    """The strongest finding: a group that is harmed or differs before one that is favoured, people's traits last."""
    for codes, verdict in FINDINGS:
        found = [line for line in lines if line.state(alpha).code in codes]
        if found:
            strongest = min(found, key=lambda line: (line.p_adjusted or 0, -abs(line.difference or 0)))
            more = f" (strongest of {len(found)} findings)" if len(found) > 1 else ""
            word = strongest.effect or "differs"
            about = "; it describes the people, not the decisions" if verdict == DESCRIBED.code else ""
            beyond = "" if plan.band is None else f"; tolerance {_band(plan)}"
            audit = plan.audit
            label = told_label(strongest.metric, audit.outcome, audit.positive, real=not strongest.binary)
            told = {"metric": strongest.metric.name, "group": strongest.group.label}
            text = f"{word}: {strongest.sentence(plan.level, label)}{more}{about}{beyond}"
            return Verdict(verdict, text, (told,))
    if not any(line.p_value is not None and line.undetermined is None for line in lines):
        return Verdict("not-tested", "no comparison could be made: see the reasons in the table")
    waiting = [line for line in lines if line.depends and line.state(alpha).reason == line.depends]
    if waiting:
        return Verdict("none-shown", f"no difference shown, and none excluded: it {waiting[0].depends}")
    return Verdict("none-shown", _none_shown(lines, plan))


def _none_shown(lines: list[Line], plan: Plan) -> str:
    """Among people alike, who they were: "adjusted" would be said of the gap and of the p-values at once."""
    certificate = "(this is not a certificate of fairness)"
    if not plan.inference.within:
        return f"no difference shown: none remains after adjustment {certificate}"
    compared = list(dict.fromkeys(line.target for line in lines if line.p_value is not None))
    several = (
        f"{plan.target.label} alike in {' and '.join(plan.inference.within)} (shares compared: see the table)"
    )
    words = compared[0] if len(compared) == 1 else several
    return f"no difference shown from {words}: none remains after correction {certificate}"


def notes_of(lines: list[Line], minimum: int) -> list[Note]:
    small = sum(line.too_few for line in lines)
    have, were = ("1 line has", "was") if small == 1 else (f"{small} lines have", "were")
    pointwise = "Intervals are pointwise; findings use p-values adjusted by Holm over the table."
    return notes_where(
        {
            "pointwise": (True, pointwise),
            "small-groups": (small > 0, f"{have} fewer than {minimum} people and {were} not compared."),
        }
    )

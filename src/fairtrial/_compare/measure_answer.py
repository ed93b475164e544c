"""From lines to the answer of measure: adjusted p-values, rows, verdict and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fairtrial._audit.audit import Audit
from fairtrial._compare.comparing import at_cut, cut_notes
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.rates import attributes_of, cell_lines
from fairtrial._compare.request import Request
from fairtrial._compare.results import MeasureResult
from fairtrial._compare.rows import Line, adjust
from fairtrial._compare.tolerance import Band, adjusted_notes, find_scaled_band, inference_notes, plain_band
from fairtrial._compare.words import DESCRIBED, FAVOURED, band_words
from fairtrial._errors import Fault, Named, NotApplicable, Note, Set, Words, notes_where
from fairtrial._labels import in_a_sentence
from fairtrial._method.selective_labels import left_out_details, left_out_notes, refuse_selective
from fairtrial._metrics.groups import describes_people
from fairtrial._metrics.values import Metric, role, told_label
from fairtrial._results.column import Verdict

WHO = "measure"
# states of lines, the most important first, and the verdict that they give
FINDINGS = (
    (("harmed", "violated"), "violated"),
    ((FAVOURED.code,), FAVOURED.code),
    ((DESCRIBED.code,), DESCRIBED.code),
)


def answer(request: Request, metrics: Sequence[Metric]) -> MeasureResult:
    """Every group's rate, compared with the target."""
    audit = request.audit
    bands = [find_scaled_band(WHO, request.tolerance, metric, request.scale) for metric in metrics]
    band = bands[0]
    lines: list[Line] = []
    compared: list[Disparities] = []
    left_out: list[dict[str, Any]] = []
    asked: list[Metric] = []
    for part, own_metrics in _by_cut(request, metrics):
        refuse_selective(WHO, part.audit, own_metrics, "metric")
        told, own, gaps, cells = cell_lines(part, own_metrics, band)
        lines, compared, asked = lines + own, compared + gaps, [*asked, *own_metrics]
        left_out += left_out_details(own_metrics, cells.left_out) if audit.missing == "drop" else []
        request = replace(request, target=told.target)
    adjust(lines)
    alpha, attributes = 1 - request.level, attributes_of(request)
    return MeasureResult(
        question=f"What are the rates by {in_a_sentence(attributes)}?",
        null=_null(request, metrics, band),
        verdict=verdict_of(lines, request, metrics, band),
        estimates=tuple(line.cells(alpha) for line in lines),
        details={
            "labels": {metric.name: metric.label for metric in asked},
            "described": [metric.name for metric in asked if describes_people(metric)],
            "confidence_level": request.level,
            "scale": request.scale,
            "within": list(request.within or ()),
            "tolerance": plain_band(band),
            "left_out": left_out,
            "places": [line.group.place for line in lines],
        },
        notes=(
            *audit.notes(complete=False),
            *cut_notes(audit),
            *left_out_notes(left_out),
            *notes_of(lines, request.minimum),
            *inference_notes(compared),
            *dict.fromkeys(note for disparities in compared for note in adjusted_notes(disparities)),
        ),
        provenance=audit.provenance(
            compared[0].source if compared else cells,
            arguments={
                "metric": [metric.to_dict() for metric in metrics],
                "target": request.target.to_dict(),
                "by": list(attributes),
            },
        ),
    )


def refuse_weighted(audit: Audit, interval: str | None) -> None:
    """Weighted rates have one law."""
    if interval is not None and (audit.has("weight") or audit.has("unit")):
        required = "cannot be chosen together with weight or unit: intervals at effective counts are used"
        raise NotApplicable(WHO, Fault("interval", required, cure=Words("Leave {} out", Named("interval"))))


def _by_cut(request: Request, metrics: Sequence[Metric]) -> list[tuple[Request, list[Metric]]]:
    """What is asked at every cut of an ordered decision; metrics without the decision once."""
    audit = request.audit
    if audit.order is None:
        return [(request, list(metrics))]
    decided = [metric for metric in metrics if "decision" in metric.needs]
    others = [metric for metric in metrics if metric not in decided]
    parts = [
        (replace(request, audit=cut), [at_cut(metric, name) for metric in decided])
        for name, cut in (audit.cuts() if decided else [])
    ]
    return [*parts, (request, others)] if others else parts


def each_bin(audit: Audit, metric: Metric) -> list[Metric]:
    """`calibration` becomes one metric per score bin."""
    if metric.each is None:
        return [metric]
    if not audit.has("score"):
        cure = Words("name its column with {}", Set("score", of="Audit"))
        raise NotApplicable(WHO, Fault("metric", "needs the score", subject=repr(metric.name), cure=cure))
    told = metric.label.removesuffix(" in a score bin")
    return [
        Metric(f"{metric.name} [{label}]", metric.value, {role.score_bin: label}, f"{told} at score {label}",
               metric.equal)
        for label in audit.score_bins()
    ]  # fmt: skip


def _null(request: Request, metrics: Sequence[Metric], band: Band | None) -> str:
    alike = f" alike in {' and '.join(request.within)}" if request.within else ""
    if band is None:
        return f"Every group's rate equals that of {request.target.label}{alike}."
    return f"Every group's rate lies within {_band(request, metrics, band)} of {request.target.label}{alike}."


def _band(request: Request, metrics: Sequence[Metric], band: Band) -> str:
    return band_words(band, all(metric.binary is not False for metric in metrics), request.scale)


def verdict_of(
    lines: Sequence[Line], request: Request, metrics: Sequence[Metric], band: Band | None = None
) -> Verdict:
    """The strongest finding: a group that is harmed or differs before one that is favoured, people's traits last."""
    alpha = 1 - request.level
    states = {id(line): line.state(alpha) for line in lines}
    for codes, verdict in FINDINGS:
        found = [line for line in lines if states[id(line)].code in codes]
        if found:
            strongest = min(found, key=_rank)
            more = f" (strongest of {len(found)} findings)" if len(found) > 1 else ""
            about = "; it describes the people, not the decisions" if verdict == DESCRIBED.code else ""
            beyond = "" if band is None else f"; tolerance {_band(request, metrics, band)}"
            audit, real = request.audit, strongest.row["value_kind"] != "percent"
            label = told_label(strongest.metric, audit.outcome, audit.positive, real=real)
            text = f"{strongest.effect or 'differs'}: {strongest.sentence(request.level, label)}{more}{about}{beyond}"
            told = {"metric": strongest.metric.name, "group": strongest.group.label}
            return Verdict(verdict, text, (told,))
    if not any(line.tested and line.unknown is None for line in lines):
        return Verdict("not-tested", "no comparison could be made: see the reasons in the table")
    for line in lines:
        bounds = None if line.found is None else line.found.bounds
        if bounds is not None and states[id(line)].reason == bounds.depends:
            return Verdict("none-shown", f"no difference shown, and none excluded: it {bounds.depends}")
    return Verdict("none-shown", _none_shown(lines, request))


def _rank(line: Line) -> tuple[float, float]:
    """The smallest p-value first, then the largest gap."""
    return line.row["p_adjusted"] or 0, -abs(line.gap)


def _none_shown(lines: Sequence[Line], request: Request) -> str:
    """Among people alike, who they were: "adjusted" would be said of the gap and of the p-values at once."""
    certificate = "(this is not a certificate of fairness)"
    if not request.within:
        return f"no difference shown: none remains after adjustment {certificate}"
    compared = list(dict.fromkeys(str(line.row["target"]) for line in lines if line.tested))
    several = (
        f"{request.target.label} alike in {' and '.join(request.within)} (shares compared: see the table)"
    )
    words = compared[0] if len(compared) == 1 else several
    return f"no difference shown from {words}: none remains after correction {certificate}"


def notes_of(lines: Sequence[Line], minimum: int) -> list[Note]:
    small = sum(line.too_few for line in lines)
    have, were = ("1 line has", "was") if small == 1 else (f"{small} lines have", "were")
    pointwise = "Intervals are pointwise; findings use p-values adjusted by Holm over the table."
    return notes_where(
        {
            "pointwise": (True, pointwise),
            "small-groups": (small > 0, f"{have} fewer than {minimum} people and {were} not compared."),
        }
    )

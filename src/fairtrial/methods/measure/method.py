"""What are the rates? Per group: rate, difference and ratio to the target, each with an interval that holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from fairtrial.data.audit import Audit
from fairtrial.data.groups import MINIMUM_SIZE, by_attributes
from fairtrial.errors import InputError, NotApplicable, Note, check_between, check_choice
from fairtrial.inference.means.from_moments import SMALL_SAMPLE
from fairtrial.inference.multiplicity import holm
from fairtrial.inference.rates.binary_gaps import SMALLEST_P
from fairtrial.methods.measure.rates import cell_lines
from fairtrial.methods.measure.tests import Line, Plan
from fairtrial.methods.measure.weighted import weighted_lines
from fairtrial.metrics.groups import find_target
from fairtrial.metrics.metric import Metric
from fairtrial.metrics.table import find_metrics
from fairtrial.metrics.values import role
from fairtrial.results.column import Column, Kind, Primary, Verdict, defined_or, scalar, undefined
from fairtrial.results.result import Result
from fairtrial.results.text import format_value

WHO = "measure"
INTERVALS = ("wilson", "likelihood", "half-count", "exact", "t", "empirical-likelihood")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasureResult(Result):
    """Rates per group with intervals."""

    kind: ClassVar[str] = "measure"
    columns: ClassVar[tuple[Column, ...]] = (
        Column("metric", "metric", "text"),
        Column("scale", "scale", "text", shown=False),
        Column("group", "group", "text"),
        Column("n", "n", "count"),
        Column("events", "events", "count", shown=False),
        Column("rate", "rate", "rate"),
        Column("rate_low", "low", "rate"),
        Column("rate_high", "high", "rate"),
        Column("target", "compared with", "text"),
        Column("target_rate", "target's rate", "rate", shown=False),
        Column("difference", "difference", "points"),
        Column("difference_low", "low", "points"),
        Column("difference_high", "high", "points"),
        Column("ratio", "ratio", "ratio", shown=False),
        Column("ratio_low", "low", "ratio", shown=False),
        Column("ratio_high", "high", "ratio", shown=False),
        Column("impact_ratio", "impact ratio", "ratio"),
        Column("four_fifths", "under four fifths", "flag"),
        Column("standardized", "standardized difference", "number"),
        Column("p_value", "p", "p", shown=False),
        Column("p_adjusted", "adjusted p", "p"),
        Column("state", "finding", "state"),
    )
    method: ClassVar[str] = (
        "Rates of binary values have Wilson intervals (or the one asked for), means of real values t or empirical "
        "likelihood intervals. Differences of two estimated rates have likelihood-ratio intervals, Miettinen–Nurminen "
        "score intervals when a count is below 10; ratios Koopman's score interval. p-values are of the differences, "
        "adjusted by Holm over all groups and metrics measured."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "Rows are independent people, or repeated rows are named by unit=.",
        "The model was not fitted on these rows.",
        "Intervals are pointwise; the findings use p-values adjusted over the whole table.",
    )
    citation: ClassVar[str] = (
        "Wilson (1927); Miettinen & Nurminen (1985), Statistics in Medicine 4; Koopman (1984), Biometrics 40; "
        "Holm (1979), Scandinavian Journal of Statistics 6."
    )

    def reading(self) -> list[str]:
        """One sentence per metric: who is lowest, who is highest, and what the comparison shows."""
        sentences = []
        for name in dict.fromkeys(row["metric"] for row in self.estimates):
            rows = [
                row for row in self.estimates if row["metric"] == name and scalar(row["rate"]) is not None
            ]
            if rows:
                sentences.append(_span_sentence(rows, self.details["labels"][name]))
        untested = [row for row in self.estimates if str(row["finding"]).startswith("not tested")]
        if untested:
            sentences.append(
                f"{len(untested)} of {len(self.estimates)} lines were too small to compare and are not judged."
            )
        return [self.verdict.text, *sentences]

    def primary(self) -> list[Primary]:
        return [
            Primary(
                metric=str(self.details["labels"][row["metric"]]),
                subject=str(row["group"]),
                p_value=float(row["p_value"]),
                effect=scalar(row["difference"]),
                low=scalar(row["difference_low"]),
                high=scalar(row["difference_high"]),
                kind="points" if row["scale"] == "percent" else "number",
                against=str(row["target"]),
                n=int(row["n"]),
            )
            for row in self.estimates
            if scalar(row["p_value"]) is not None
        ]


def measure(
    audit: Audit,
    metrics: str | Metric | Sequence[str | Metric] = ("selection_rate",),
    *,
    by: Any = None,
    depth: int = 1,
    target: Any = "rest",
    interval: str | None = None,
    minimum: int = MINIMUM_SIZE,
    confidence_level: float = 0.95,
) -> MeasureResult:
    """Rates per group, with differences and ratios to the target.

    `by` names attributes (default: the audit's groups), with intersections up to `depth`, or lists groups as dicts.
    `interval` is for single rates: "wilson" (default), "likelihood", "half-count", "exact"; for means "t" (default)
    or "empirical-likelihood". Groups under `minimum` people are listed as not tested.

    >>> import fairtrial
    >>> audit = fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5)
    >>> result = fairtrial.measure(audit, "fpr", by="race", target={"race": "Caucasian"})
    >>> print(result.verdict.text)
    violated: false positive rate of African-American is 21.4 points above Caucasian, 95% interval 18.2 to 24.5 \
(strongest of 2 findings)
    """
    asked = [concrete for metric in find_metrics(WHO, metrics) for concrete in _each_bin(audit, metric)]
    compared = find_target(WHO, target)
    check_between(WHO, "confidence_level", confidence_level, 0, 1)
    if isinstance(minimum, bool) or not isinstance(minimum, int) or minimum < 1:
        raise InputError(WHO, f"'minimum' must be a whole number of at least 1, got {minimum!r}")
    if interval is not None:
        check_choice(WHO, "interval", interval, INTERVALS)
    attributes = tuple(
        dict.fromkeys(
            [*by_attributes(WHO, audit, by), *(compared.group.attributes if compared.group else ())]
        )
    )
    plan = Plan(audit, asked, attributes, by, depth, compared, interval, minimum, confidence_level)
    weighted = audit.has("weight") or audit.has("unit")
    if weighted and interval is not None:
        raise NotApplicable(
            WHO,
            "'interval' cannot be chosen together with weight or unit: intervals at effective counts are used",
        )
    lines, data = weighted_lines(plan) if weighted else cell_lines(plan)
    _adjust(lines)
    alpha = 1 - confidence_level
    estimates = tuple(_row(line, alpha) for line in lines)
    facts = {
        "metrics": [metric.to_dict() for metric in asked],
        "target": compared.to_dict(),
        "minimum": minimum,
    }
    return MeasureResult(
        question=f"What are the rates by {', '.join(attributes)}?",
        null=f"Every group's rate equals that of {compared.label}.",
        verdict=_verdict(lines, alpha, confidence_level),
        estimates=estimates,
        details={
            "labels": {metric.name: metric.label for metric in asked},
            "confidence_level": confidence_level,
            "places": [line.group.place for line in lines],
        },
        notes=(*audit.notes(), *_notes(lines, weighted, interval != "empirical-likelihood", minimum)),
        provenance=audit.provenance(data, arguments={**facts, "by": list(attributes), "depth": depth}),
    )


def _each_bin(audit: Audit, metric: Metric) -> list[Metric]:
    """`calibration` becomes one metric per score bin."""
    if metric.each is None:
        return [metric]
    if not audit.has("score"):
        raise NotApplicable(WHO, f"{metric.name!r} needs the score: name its column with score= in the Audit")
    return [
        Metric(f"{metric.name} [{label}]", metric.value, {role.score_bin: label}, f"outcome rate at score {label}",
               metric.equal, metric.hurts, metric.harm)
        for label in audit.score_bins()
    ]  # fmt: skip


def _adjust(lines: list[Line]) -> None:
    tested = [(line, max(line.p_value, SMALLEST_P)) for line in lines if line.p_value is not None]
    for line, p in tested:
        line.p_value = p  # beyond the smallest float it would be zero, which no p-value is
    for (line, _), adjusted in zip(tested, holm([p for _, p in tested]), strict=True):
        line.p_adjusted = float(adjusted)


def _row(line: Line, alpha: float) -> dict[str, Any]:
    why = line.reason

    def known(value: float | None, explanation: str) -> Any:
        if value is None:
            return None if why is None else undefined(why)
        return defined_or(value, explanation)

    row = {
        "metric": line.metric.name,
        "scale": "percent" if line.binary else "number",
        "group": line.group.label,
        "n": line.n,
        "events": line.events,
        "rate": undefined(why or "nobody") if line.level is None else line.level,
        "rate_low": line.low,
        "rate_high": line.high,
        "target": line.target,
        "target_rate": line.target_level,
        "difference": known(line.difference, "no difference"),
        "difference_low": known(line.difference_low, "no lower limit"),
        "difference_high": known(line.difference_high, "no upper limit"),
        "ratio": known(line.ratio, "the target's rate is zero"),
        "ratio_low": known(line.ratio_low, "the target's rate is zero"),
        "ratio_high": known(line.ratio_high, "no upper limit: too few events in the target"),
        "impact_ratio": line.impact_ratio,
        "four_fifths": None if line.impact_ratio is None else line.impact_ratio < 0.8,
        "standardized": line.standardized,
        "p_value": known(line.p_value, "no p-value"),
        "p_adjusted": known(line.p_adjusted, "no p-value"),
        "finding": line.finding(alpha),
    }
    if line.is_reference:
        row.update(
            {name: None for name in row if name.startswith(("difference", "ratio", "p_"))}, target=None
        )
    return row


def _verdict(lines: list[Line], alpha: float, level: float) -> Verdict:
    found = [line for line in lines if line.finding(alpha) == "violated"]
    if found:
        strongest = min(found, key=lambda line: (line.p_adjusted or 0, -abs(line.difference or 0)))
        more = f" (strongest of {len(found)} findings)" if len(found) > 1 else ""
        return Verdict("violated", f"violated: {strongest.sentence(level)}{more}")
    if not any(line.p_value is not None for line in lines):
        return Verdict("not-tested", "no comparison could be made: see the reasons in the table")
    return Verdict(
        "none-shown",
        "no violation shown: no difference remains after adjustment (this is not a certificate of fairness)",
    )


def _notes(lines: list[Line], weighted: bool, by_moments: bool, minimum: int) -> list[Note]:
    notes = [
        Note("pointwise", "Intervals are pointwise; findings use p-values adjusted by Holm over the table.")
    ]
    small = sum(1 for line in lines if line.reason and "fewer than" in line.reason)
    if small:
        lines_have, were = ("1 line has", "was") if small == 1 else (f"{small} lines have", "were")
        notes.append(
            Note("small-groups", f"{lines_have} fewer than {minimum} people and {were} not compared.")
        )
    if weighted:
        notes.append(
            Note(
                "effective-counts",
                "Weights and repeated rows: intervals at the effective number of people, from variances over persons.",
            )
        )
    small_means = [
        line for line in lines if not line.binary and line.n < SMALL_SAMPLE and line.p_value is not None
    ]
    if by_moments and not weighted and small_means:
        notes.append(
            Note(
                "small-means",
                f"Means of fewer than {SMALL_SAMPLE} people by Student's t, from counts, means and variances alone: "
                "where values are very skewed or mostly alike (most costs zero) these intervals are too short; certify "
                "and flag read the rows and guard against that.",
            )
        )
    if any(line.method == "score" for line in lines):
        notes.append(
            Note("score-intervals", "A count below 10: Miettinen–Nurminen score interval for the difference.")
        )
    return notes


def _span_sentence(rows: list[dict[str, Any]], label: str) -> str:
    low, high = min(rows, key=lambda row: row["rate"]), max(rows, key=lambda row: row["rate"])
    kind: Kind = "rate" if rows[0]["scale"] == "percent" else "number"
    ends = [f"{format_value(row['rate'], kind)} ({row['group']}, n {row['n']:,})" for row in (low, high)]
    return f"The {label} runs from {ends[0]} to {ends[1]}."

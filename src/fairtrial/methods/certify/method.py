"""Is it fair? One joint test, every group's disparity with intervals, and a verdict against a tolerance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairtrial.data.audit import Audit
from fairtrial.data.groups import MINIMUM_SIZE
from fairtrial.errors import check_between, check_choice
from fairtrial.methods.certify.region import region_details
from fairtrial.methods.gaps.disparities import Disparities, Options, find_disparities
from fairtrial.methods.gaps.judgement import Judgement, disparity_words, group_rows, judge, overall_verdict
from fairtrial.methods.gaps.tolerance import check_band, common_notes, find_band, plain_by, plain_target
from fairtrial.metrics.table import Metric, find_metric
from fairtrial.results.result import Column, Note, Primary, Result, scalar

WHO = "certify"
RULES = ("equivalence", "paper")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CertifyResult(Result):
    """Every group's disparity, a joint test, and certified / violated / undetermined."""

    kind: ClassVar[str] = "certify"
    columns: ClassVar[tuple[Column, ...]] = (
        Column("metric", "metric", "text", shown=False),
        Column("scale", "scale", "text", shown=False),
        Column("group", "group", "text"),
        Column("n", "n", "count"),
        Column("rate", "rate", "rate"),
        Column("target", "compared with", "text", shown=False),
        Column("target_rate", "target", "rate"),
        Column("disparity", "disparity", "points"),
        Column("disparity_low", "low", "points"),
        Column("disparity_high", "high", "points"),
        Column("together_low", "low, all at once", "points", shown=False),
        Column("together_high", "high, all at once", "points", shown=False),
        Column("certificate_low", "low of the certificate", "points", shown=False),
        Column("certificate_high", "high of the certificate", "points", shown=False),
        Column("p_value", "p", "p"),
        Column("p_adjusted", "adjusted p", "p"),
        Column("verdict", "verdict", "verdict"),
        Column("family_verdict", "verdict, all at once", "verdict", shown=False),
        Column("members_needed", "members needed", "count"),
        Column("rows_needed", "rows needed", "count", shown=False),
        Column("detectable", "detectable", "points"),
        Column("rule", "inference", "text", shown=False),
    )
    method: ClassVar[str] = (
        "Each group's mean is compared with its target by profile likelihood: the target's own uncertainty is part of "
        "it. Binary metrics: likelihood ratio from counts, Miettinen–Nurminen score where a count is below 10. "
        "Real-valued metrics: empirical likelihood of the rows, t-calibrated below 100 members and below 500 never "
        "sharper than the shape of all rows allows. A group is certified "
        "when its (1−2α) interval lies inside the tolerance and, where a count is below 10 or the target is a known "
        "rate, binomial tails agree; violated when the interval-null p-value is at most α. Overall: certified when "
        "every group is; violated by Holm's p-value or an interval that holds for all groups at once; without a "
        "tolerance by the joint test alone; "
        "intervals that hold for all groups at once use the largest |t| of the joint Gaussian limit."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "Rows are independent people.",
        "The model was not fitted on these rows.",
        "The tolerance was chosen before looking at these results.",
    )
    citation: ClassVar[str] = (
        "Empirical Likelihood-based Fairness Auditing (ELFA), sections 3 and 4, with a corrected treatment of "
        "estimated targets; Owen (2001), Empirical Likelihood; Miettinen & Nurminen (1985), Statistics in Medicine 4; "
        "Schuirmann (1987), two one-sided tests."
    )

    @property
    def p_value(self) -> float:
        """The joint test that every disparity is zero."""
        return float(self.details["joint"]["p_value"])

    def reading(self) -> list[str]:
        """What the joint test, the tolerance and the sample say."""
        joint = self.details["joint"]
        sentences = [self.verdict.text]
        if joint.get("reason"):
            sentences.append(f"There is no joint test: {joint['reason']}.")
        else:
            outcome = (
                "rejects" if joint["p_value"] <= 1 - self.details["confidence_level"] else "does not reject"
            )
            sentences.append(
                f"The joint test {outcome} that every disparity is zero (χ² {joint['statistic']:.2f} on "
                f"{joint['df']} degrees of freedom, p {_p_text(joint['p_value'])})."
            )
        if self.details["tolerance"] is None:
            sentences.append(
                "Without a tolerance nothing can be certified: not finding a disparity is not its absence."
            )
        open_ones = [row for row in self.estimates if row["verdict"] == "undetermined"]
        needed = [scalar(row["members_needed"]) for row in open_ones]
        if any(needed):
            most = max((n, str(row["group"])) for n, row in zip(needed, open_ones, strict=True) if n)
            sentences.append(
                f"{len(open_ones)} of {len(self.estimates)} groups stay undetermined: the sample is too small for this "
                f"tolerance. {most[1]} would need about {most[0]:,} members to be certified with 80% power if its "
                "disparity were zero."
            )
        return sentences

    def primary(self) -> list[Primary]:
        """One p-value: the joint test, or per group when violations of a tolerance were tested."""
        metric = str(self.details["label"])
        if self.details["tolerance"] is None:
            return [Primary(metric, "all groups", self.p_value, against=str(self.details["target"]))]
        kind: Any = "points" if self.details["scale"] == "percent" else "number"
        return [
            Primary(
                metric, str(row["group"]), float(row["p_value"]), scalar(row["disparity"]),
                scalar(row["disparity_low"]), scalar(row["disparity_high"]), kind, str(self.details["target"]),
                int(row["n"]),
            )
            for row in self.estimates
            if scalar(row["p_value"]) is not None
        ]  # fmt: skip


def certify(
    audit: Audit,
    metric: str | Metric,
    *,
    by: Any = None,
    depth: int = 1,
    target: Any = "rest",
    tolerance: float | Sequence[float] | None = None,
    likelihood: str = "empirical",
    target_method: str = "profile",
    rule: str = "equivalence",
    vector: Mapping[str, float] | Sequence[float] | None = None,
    rate_interval: str = "wilson",
    refinement: str | None = None,
    minimum: int = MINIMUM_SIZE,
    confidence_level: float = 0.95,
    power: float = 0.8,
    seed: int = 0,
) -> CertifyResult:
    """Certify that every group's disparity lies within a tolerance, or show that one does not.

    `target` is what each group is compared with: "rest", "overall", a number, a reference group such as
    {"race": "Caucasian"} (itself not tested), or your own {"estimate": value, "influence": column}. `tolerance` is a
    number or [low, high]; without it only "violated" or "no violation shown" can be said. `vector` asks whether
    these disparities (by group) lie in the joint confidence region. `likelihood` is "empirical" or "euclidean";
    `target_method` "profile", "orthogonal", "scaled", or "plug-in" (the ELFA paper's, not valid); `rule="paper"`
    certifies whatever is not rejected, as the paper does, and says so. For a known target: `rate_interval` "wilson",
    "likelihood", "half-count" or "exact" (binary), `refinement` "bartlett", "balanced" or "adjusted" (real-valued).

    >>> import fairtrial
    >>> audit = fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5)
    >>> result = fairtrial.certify(audit, "ppv", by="race", target={"race": "Caucasian"}, tolerance=0.05)
    >>> print(result.verdict.text)
    undetermined: positive predictive value is certified within 5.0 points of Caucasian for 0 of 3 groups and \
violated for none; African-American would need about 2,909 members to be certified
    """
    asked = find_metric(WHO, metric)
    check_choice(WHO, "rule", rule, RULES)
    check_between(WHO, "confidence_level", confidence_level, 0.5, 1)
    check_between(WHO, "power", power, 0.5, 1)
    band = find_band(WHO, tolerance, asked)
    options = Options(likelihood, target_method, rate_interval, refinement)
    disparities = find_disparities(
        WHO, audit, asked, by=by, depth=depth, target=target, minimum=minimum, options=options
    )
    check_band(WHO, band, disparities)
    judgement = judge(disparities, band, confidence_level, power, seed)
    joint = disparities.joint(likelihood)
    verdict = overall_verdict(disparities, judgement, joint, rule)
    details: dict[str, Any] = {
        "label": asked.label,
        "scale": "percent" if disparities.binary else "number",
        "target": disparities.target_label,
        "tolerance": None if band is None else list(band),
        "confidence_level": confidence_level,
        "certificate_level": judgement.certificate_level,
        "together_level": judgement.together_level,
        "rule": rule,
        "joint": {
            "statistic": joint.statistic, "df": joint.df, "p_value": joint.p_value, "rule": joint.rule,
            "reason": joint.reason,
        },
        "untested": [
            {"group": item.group.label, "n": item.n, "reason": item.reason, "place": item.group.place}
            for item in disparities.untested
        ],
        "places": [group.place for group in disparities.groups],
    }  # fmt: skip
    if vector is not None:
        details["region"] = region_details(WHO, disparities, vector, confidence_level)
    return CertifyResult(
        question=_question(disparities, band),
        null=_null(disparities, band),
        verdict=verdict,
        estimates=tuple(group_rows(disparities, judgement)),
        details=details,
        notes=(*audit.notes(), *common_notes(disparities, minimum, options), *_notes(judgement, rule, disparities)),
        provenance=audit.provenance(
            disparities.cells,
            seed=seed,
            arguments={
                "metric": asked.to_dict(), "by": plain_by(by, audit), "depth": depth,
                "target": plain_target(disparities), "tolerance": details["tolerance"], "likelihood": likelihood,
                "target_method": target_method, "rule": rule, "rate_interval": rate_interval,
                "refinement": refinement, "minimum": minimum,
                "confidence_level": confidence_level, "power": power,
            },
        ),
    )  # fmt: skip


def _question(disparities: Disparities, band: tuple[float, float] | None) -> str:
    label, target = disparities.metric.label, disparities.target_label
    if band is None:
        return f"Is the {label} of every group that of {target}?"
    return f"Is the {label} of every group within {_band_text(disparities, band)} of {target}?"


def _null(disparities: Disparities, band: tuple[float, float] | None) -> str:
    label, target = disparities.metric.label, disparities.target_label
    if band is None:
        return f"Every group's {label} equals that of {target}."
    text = _band_text(disparities, band)
    return (
        f"To be violated: every group's {label} lies within {text} of {target}. "
        f"To be certified: some group's lies outside."
    )


def _band_text(disparities: Disparities, band: tuple[float, float]) -> str:
    low, high = (disparity_words(value, disparities.binary) for value in band)
    if band[0] == -band[1]:
        return high
    return f"[{low}, {high}]"


def _notes(judgement: Judgement, rule: str, disparities: Disparities) -> list[Note]:
    notes = []
    if judgement.band is not None:
        level = f"{100 * judgement.certificate_level:g}%"
        notes.append(
            Note(
                "certificate",
                f"A group is certified when its {level} interval (two one-sided tests) lies inside the tolerance; the "
                f"{100 * judgement.level:g}% intervals shown are wider. A list of certified groups holds for all of "
                "them at once only by 'verdict, all at once' (family_verdict in the saved tables).",
            )
        )
        target = disparities.target
        if getattr(target, "kind", "") == "overall":
            notes.append(
                Note(
                    "overall-shrinks",
                    "'overall' contains the group itself and shrinks the gaps of large groups: for tolerances prefer "
                    "target='rest' or a reference group.",
                )
            )
    if rule == "paper":
        notes.append(
            Note(
                "paper-rule",
                "rule='paper' certifies whatever is not rejected, so a small enough sample certifies anything: it is "
                "the ELFA paper's wording, not evidence of fairness.",
            )
        )
    if np.any(~disparities.gaps.defined):
        notes.append(
            Note("constant-group", "A group without inference is undetermined and cannot be certified.")
        )
    return notes


def _p_text(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"

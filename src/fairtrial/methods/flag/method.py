"""Which known groups are harmed? One test per group and intersection, one correction over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairtrial.data.audit import Audit
from fairtrial.data.groups import MINIMUM_SIZE
from fairtrial.errors import InputError, Note, check_between, check_choice
from fairtrial.inference.compare.gaps import Gaps
from fairtrial.inference.multiplicity import CORRECTIONS
from fairtrial.inference.numeric.roots import Floats
from fairtrial.methods.gaps.disparities import Disparities, Inference, Untested, find_disparities
from fairtrial.methods.gaps.judgement import disparity_words, finite_or_reason, sentence
from fairtrial.methods.gaps.tolerance import check_band, common_notes, find_band, plain_target
from fairtrial.metrics.groups import Group
from fairtrial.metrics.metric import Metric
from fairtrial.metrics.table import find_metric
from fairtrial.results.column import Column, Primary, Verdict, scalar, undefined
from fairtrial.results.result import Result

WHO = "flag"
DIRECTIONS = ("above", "below", "outside", "differs")
CORRECTION_WORDS = {"bh": "Benjamini–Hochberg", "by": "Benjamini–Yekutieli", "holm": "Holm"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlagResult(Result):
    """Every group with its disparity, p-value, adjusted p-value, and whether it is flagged."""

    kind: ClassVar[str] = "flag"
    columns: ClassVar[tuple[Column, ...]] = (
        Column("metric", "metric", "text", shown=False),
        Column("scale", "scale", "text", shown=False),
        Column("group", "group", "text"),
        Column("depth", "depth", "count", shown=False),
        Column("n", "n", "count"),
        Column("rate", "rate", "rate"),
        Column("target_rate", "target", "rate", shown=False),
        Column("disparity", "disparity", "points"),
        Column("disparity_low", "low", "points"),
        Column("disparity_high", "high", "points"),
        Column("p_value", "p", "p"),
        Column("p_adjusted", "adjusted p", "p"),
        Column("flagged", "flagged", "flag"),
        Column("state", "finding", "state"),
        Column("rule", "inference", "text", shown=False),
    )
    method: ClassVar[str] = (
        "Each group's mean is tested against its target by profile likelihood (score and binomial tails where a count "
        "is below 10, t calibration below 100 members), one-sided, two-sided or against a tolerance band. All groups "
        "of sufficient size form one family, corrected at once; a group's size alone decides whether it belongs."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "Rows are independent people.",
        "The model was not fitted on these rows.",
        "Groups, depth, direction and tolerance were chosen before looking at these results.",
    )
    citation: ClassVar[str] = (
        "Empirical Likelihood-based Fairness Auditing (ELFA), section 4 and supplement A, with a corrected treatment "
        "of estimated targets and of narrow tolerance bands; Benjamini & Hochberg (1995), JRSS B 57."
    )

    def reading(self) -> list[str]:
        """How many groups were tested and flagged, and what a flag means."""
        tested = [row for row in self.estimates if not str(row["finding"]).startswith("not tested")]
        flagged = [row for row in tested if row["flagged"]]
        rate = f"{100 * self.details['fdr']:g}%"
        promise = (
            f"the chance of any wrong flag is at most {rate}"
            if self.details["correction"] == "holm"
            else f"of the flagged groups, at most {rate} are expected to be flagged wrongly"
        )
        sentences = [
            self.verdict.text,
            f"{len(tested)} groups were tested and {len(flagged)} flagged; {promise}.",
        ]
        left_out = len(self.estimates) - len(tested)
        if left_out:
            sentences.append(f"{left_out} groups were not tested; nothing is said about them.")
        return sentences

    def primary(self) -> list[Primary]:
        """Every tested group's p-value, before the correction within this result."""
        kind: Any = "points" if self.details["scale"] == "percent" else "number"
        return [
            Primary(
                str(self.details["label"]), str(row["group"]), float(scalar(row["p_value"])), scalar(row["disparity"]),
                scalar(row["disparity_low"]), scalar(row["disparity_high"]), kind, str(self.details["target"]),
                int(row["n"]),
            )
            for row in self.estimates
            if scalar(row["p_value"]) is not None
        ]  # fmt: skip


def flag(
    audit: Audit,
    metric: str | Metric,
    *,
    by: Any = None,
    depth: int = 2,
    target: Any = "rest",
    tolerance: float | Sequence[float] | None = None,
    direction: str | None = None,
    fdr: float = 0.05,
    correction: str = "bh",
    likelihood: str = "empirical",
    target_method: str = "profile",
    minimum: int = MINIMUM_SIZE,
    confidence_level: float = 0.95,
) -> FlagResult:
    """Flag the groups and intersections whose disparity goes beyond the tolerance.

    `direction`: "above" flags disparities above the tolerance, "below" those under minus the tolerance, "outside"
    both, "differs" any that is not exactly the tolerance (0). The default is the side that harms the group (`hurts` of
    the metric), or "outside". `correction` is "bh", "by" or "holm" over all groups of up to `depth` attributes at
    once. Groups with fewer than `minimum` members are listed, not tested.

    >>> import fairtrial
    >>> audit = fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5)
    >>> result = fairtrial.flag(audit, "fpr", by=["race", "sex"], tolerance=0.05, direction="above")
    >>> [row["group"] for row in result.estimates if row["flagged"]]
    ['African-American', 'African-American, Male']
    """
    asked = find_metric(WHO, metric)
    chosen = direction if direction is not None else asked.hurts or "outside"
    check_choice(WHO, "direction", chosen, DIRECTIONS)
    check_choice(WHO, "correction", correction, tuple(CORRECTIONS))
    check_between(WHO, "fdr", fdr, 0, 1)
    check_between(WHO, "confidence_level", confidence_level, 0, 1)
    band = _band(tolerance, chosen, asked)
    disparities = find_disparities(
        WHO,
        audit,
        asked,
        by=by,
        depth=depth,
        target=target,
        minimum=minimum,
        inference=Inference(likelihood, target_method),
    )
    check_band(WHO, band, disparities)
    p = group_p_values(disparities.gaps, chosen, band)
    adjusted = CORRECTIONS[correction](p)
    limits = disparities.gaps.limits(confidence_level)
    estimates = _rows(disparities, p, adjusted, limits, fdr)
    return FlagResult(
        question=_question(disparities, chosen, band),
        null=_null(disparities, chosen, band),
        verdict=_verdict(disparities, adjusted, limits, fdr, chosen, confidence_level),
        estimates=tuple(estimates),
        details={
            "label": asked.label,
            "scale": "percent" if disparities.binary else "number",
            "target": disparities.target_label,
            "direction": chosen,
            "tolerance": list(band),
            "fdr": fdr,
            "correction": correction,
            "confidence_level": confidence_level,
            "tested": len(disparities.groups),
            "flagged": int((adjusted <= fdr).sum()),
            "places": [
                group.place for group in [*disparities.groups, *(item.group for item in disparities.untested)]
            ],
        },
        notes=(*audit.notes(), *common_notes(disparities), *_notes(disparities, correction)),
        provenance=audit.provenance(
            disparities.cells,
            arguments={
                "metric": asked.to_dict(), "by": disparities.by, "depth": depth,
                "target": plain_target(disparities), "tolerance": list(band), "direction": chosen, "fdr": fdr,
                "correction": correction, "likelihood": likelihood, "target_method": target_method,
                "minimum": minimum, "confidence_level": confidence_level,
            },
        ),
    )  # fmt: skip


def group_p_values(gaps: Gaps, direction: str, band: tuple[float, float]) -> Floats:
    """p-values of the four nulls: at most, at least, inside the band, exactly."""
    if direction == "above":
        return gaps.p_at_most(band[1])
    if direction == "below":
        return gaps.p_at_least(band[0])
    if direction == "outside":
        return gaps.p_inside(*band)
    return gaps.p_equal(band[1])


def _band(tolerance: Any, direction: str, metric: Metric) -> tuple[float, float]:
    if direction == "differs" and tolerance is not None:
        if (
            isinstance(tolerance, bool)
            or not isinstance(tolerance, int | float)
            or not np.isfinite(tolerance)
        ):
            raise InputError(
                WHO, f"'tolerance' with direction='differs' is the one value tested, got {tolerance!r}"
            )
        return float(tolerance), float(tolerance)
    return find_band(WHO, tolerance, metric) or (0.0, 0.0)


def _rows(
    disparities: Disparities, p: Floats, adjusted: Floats, limits: tuple[Floats, Floats], fdr: float
) -> list[dict[str, Any]]:
    gaps, count, rate = disparities.gaps, disparities.count, disparities.rate
    lines = []
    for index, group in enumerate(disparities.groups):
        why = gaps.reason[index]
        flagged = bool(adjusted[index] <= fdr)
        low, high = (
            undefined(why) if why is not None else finite_or_reason(float(side[index])) for side in limits
        )  # fmt: skip
        lines.append(
            {
                **_base(disparities, group, int(count[index])),
                "rate": float(rate[index]),
                "target_rate": float(rate[index] - gaps.estimate[index]),
                "disparity": float(gaps.estimate[index]),
                "disparity_low": low,
                "disparity_high": high,
                "p_value": float(p[index]),
                "p_adjusted": float(adjusted[index]),
                "flagged": flagged,
                "finding": "flagged" if flagged else ("undetermined" if why is not None else "not flagged"),
                "rule": str(gaps.rule[index]),
            }
        )
    return lines + [_untested_row(disparities, item) for item in disparities.untested]


def _base(disparities: Disparities, group: Group, n: int) -> dict[str, Any]:
    return {
        "metric": disparities.metric.name,
        "scale": "percent" if disparities.binary else "number",
        "group": group.label,
        "depth": len(group.where),
        "n": n,
    }


def _untested_row(disparities: Disparities, item: Untested) -> dict[str, Any]:
    why = f"not tested: {item.state.reason}"
    mask = disparities.cells.mask(item.group)
    rate = float(disparities.atoms.pooled(mask[None])[1][0]) if item.n else undefined(why)
    missing = ("target_rate", "disparity", "disparity_low", "disparity_high", "p_value", "p_adjusted")
    return {
        **_base(disparities, item.group, item.n),
        "rate": rate,
        **{name: undefined(why) for name in missing},
        "flagged": False,
        "finding": why,
        "rule": "none",
    }


def _beyond(direction: str, band: tuple[float, float], binary: bool) -> str:
    if direction == "above":
        return f"more than {disparity_words(band[1], binary)} above"
    if direction == "below":
        return f"more than {disparity_words(-band[0], binary)} below"
    if direction == "differs":
        return "different from" if band[1] == 0 else f"not {disparity_words(band[1], binary)} above"
    if band[0] == -band[1]:
        return f"more than {disparity_words(band[1], binary)} from"
    return f"outside [{disparity_words(band[0], binary)}, {disparity_words(band[1], binary)}] of"


def _question(disparities: Disparities, direction: str, band: tuple[float, float]) -> str:
    text = _beyond(direction, band, disparities.binary)
    return f"Which groups have a {disparities.metric.label} {text} {disparities.target_label}?"


def _null(disparities: Disparities, direction: str, band: tuple[float, float]) -> str:
    text = _beyond(direction, band, disparities.binary)
    return f"The group's {disparities.metric.label} is not {text} {disparities.target_label}."


def _verdict(
    disparities: Disparities,
    adjusted: Floats,
    limits: tuple[Floats, Floats],
    fdr: float,
    direction: str,
    level: float,
) -> Verdict:
    flagged = np.flatnonzero(adjusted <= fdr)
    tested = len(disparities.groups)
    if not flagged.size:
        return Verdict(
            "none-flagged",
            f"none of {tested} groups flagged: this does not show that they are treated equally",
        )
    gaps = disparities.gaps
    size = (
        gaps.estimate
        if direction == "above"
        else -gaps.estimate
        if direction == "below"
        else np.abs(gaps.estimate)
    )
    worst = int(flagged[np.argmax(size[flagged])])
    text = sentence(
        disparities.metric.label, disparities.groups[worst].label, disparities.target_label,
        float(gaps.estimate[worst]), float(limits[0][worst]), float(limits[1][worst]), level, disparities.binary,
    )  # fmt: skip
    return Verdict("flagged", f"{flagged.size} of {tested} groups flagged; furthest: {text}")


def _notes(disparities: Disparities, correction: str) -> list[Note]:
    words = CORRECTION_WORDS[correction]
    notes = [
        Note(
            "one-family",
            f"{words} over all {len(disparities.groups)} groups at once. Intervals are pointwise: a flagged group's "
            "was selected, so read it with its adjusted p-value.",
        )
    ]
    if correction == "bh" and disparities.overlapping:
        notes.append(
            Note(
                "bh-dependence",
                "Groups share people, so their tests depend on each other; Benjamini–Hochberg has no general guarantee "
                "then (in simulations of such families its rate held). correction='by' is proven for any dependence.",
            )
        )
    return notes

"""Verdicts of certify: per group, for all groups at once, and overall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._compare.between_ends import is_open, range_cells, range_sentence
from fairtrial._compare.columns import DESCRIBED, FAVOURED, TOO_FEW
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.needed import Needed, find_needed, hint_words
from fairtrial._compare.scales import band_p_values, ratio_cells
from fairtrial._compare.strata import adjusted_cells
from fairtrial._compare.unknown_outcomes import (
    LabelsNeeded,
    OutcomeBounds,
    labels_needed,
    needed_cell,
    needed_words,
)
from fairtrial._compare.words import band_words, groups_words, number_words, sentence, unit_of
from fairtrial._inference.compare.end_gaps import EndGaps
from fairtrial._inference.compare.gaps import Gaps
from fairtrial._inference.joint.joint_test import JointTest
from fairtrial._inference.multiplicity import holm
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.rates.binary_gaps import no_gap
from fairtrial._inference.simultaneous import bonferroni_level, shared_level
from fairtrial._metrics.harm import Effect, describes_people
from fairtrial._results.column import State, Verdict, undefined
from fairtrial._results.text import counted

CONSTANT = "rows were left out, and the decision is the same for all the others"

# what a table of ratios has under other names
DIFFERENCES_ONLY = ("together_low", "together_high", "certificate_low", "certificate_high", "detectable")


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """Intervals, p-values and verdicts of all groups."""

    band: tuple[float, float] | None
    level: float
    certificate_level: float
    together_level: float
    pointwise: tuple[Floats, Floats]
    together: tuple[Floats, Floats]
    certificate: tuple[Floats, Floats]
    p: Floats
    adjusted: Floats
    verdict: NDArray[np.str_]
    family: NDArray[np.str_]
    needed: Needed
    labels: list[LabelsNeeded | None]
    power: float


def judge(
    disparities: Disparities,
    band: tuple[float, float] | None,
    level: float,
    power: float,
    seed: int,
    others: Sequence[Floats] = (),
) -> Judgement:
    """Certified: the (1-2a) interval inside the band. Violated: interval-null p at most a. Else undetermined.

    For all groups at once: Holm's p-value at most a, or the interval that holds for all at once outside the band.
    `others` are the p-values of other rates that are judged together with these, as one criterion.
    """
    gaps, alpha, rates = disparities.gaps, 1.0 - level, 1 + len(others)
    certificate_level = round(1.0 - 2.0 * alpha, 12)
    together_level = disparities.together(shared_level(level, rates), seed)
    each = bonferroni_level(int(gaps.defined.sum()), shared_level(level, rates))
    pointwise, together = gaps.limits(level), gaps.limits_together(together_level, each)
    certificate = gaps.certificate_limits(certificate_level)
    p = band_p_values(gaps, band)
    adjusted = holm(np.concatenate([p, *others]))[: p.size]
    nothing = no_gap(gaps.scale)
    low, high = band or (nothing, nothing)
    with np.errstate(invalid="ignore"):
        violated_at_once = (adjusted <= alpha) | (together[0] > high) | (together[1] < low)
    if band is None:
        verdict = np.where(p <= alpha, "violated", "no violation shown")
        # A side without a limit is a refusal: too few values carry the mean.
        unlimited = np.isinf(pointwise[0]) | np.isinf(pointwise[1])
        verdict = np.where(unlimited & (p > alpha), "undetermined", verdict)
        if disparities.bounds is not None:  # some gaps between the ends are none
            verdict = np.where(_open(gaps, (low, high)), "undetermined", verdict)
        family = np.where(violated_at_once, "violated", "no violation shown")
    else:
        verdict = _verdicts(certified(gaps, band, certificate_level, certificate), p <= alpha)
        family_level = disparities.together(shared_level(certificate_level, rates), seed)
        family = _verdicts(certified(gaps, band, family_level), violated_at_once)
    known = gaps.defined & (not disparities.constant_after_dropping)
    verdict = np.where(known, verdict, "undetermined")
    family = np.where(known, family, "undetermined")
    undetermined = verdict == "undetermined"
    return Judgement(
        band, level, certificate_level, together_level, pointwise, together, certificate, p, adjusted, verdict, family,
        find_needed(disparities, band, undetermined, level, power),
        _labels(disparities, band, undetermined, 1.0 - level, power), power,
    )  # fmt: skip


def _open(gaps: Gaps, band: tuple[float, float]) -> NDArray[np.bool_]:
    """Whether unknown outcomes decide on which side of the tolerance a gap lies."""
    assert isinstance(gaps, EndGaps)
    ends = zip(gaps.least.estimate, gaps.most.estimate, strict=True)
    return np.array([is_open(float(least), float(most), band) for least, most in ends])


def _labels(
    disparities: Disparities, band: tuple[float, float] | None, undetermined: Any, alpha: float, power: float
) -> list[LabelsNeeded | None]:
    """How many labels would settle each group that is undetermined; None where it is settled or none would."""
    nothing: list[LabelsNeeded | None] = [None] * len(disparities.groups)
    gaps, bounds = disparities.gaps, disparities.bounds
    if band is None or not isinstance(bounds, OutcomeBounds) or not isinstance(gaps, EndGaps):
        return nothing
    return [
        labels_needed(bounds, gaps, index, band, alpha, power) if open_ and gaps.defined[index] else None
        for index, open_ in enumerate(undetermined)
    ]


def certified(
    gaps: Gaps, band: tuple[float, float], level: float, limits: tuple[Floats, Floats] | None = None
) -> NDArray[np.bool_]:
    """Two one-sided tests: the interval at this level inside the band, and both tests' own p-values agree.

    With small counts the p-values come from binomial tails. The interval alone would certify a group at the band's
    edge too often: .090 instead of .05 for 100 people at a rate of .5% against a known 5% ± 4.5 points.
    """
    low, high = gaps.certificate_limits(level) if limits is None else limits
    nothing = np.zeros(gaps.estimate.shape)
    closed = np.isfinite(band[0]) and not (gaps.scale == "ratio" and band[0] <= 0), np.isfinite(band[1])
    above = gaps.tails(np.full(gaps.estimate.shape, band[0]))[0] if closed[0] else nothing
    below = gaps.tails(np.full(gaps.estimate.shape, band[1]))[1] if closed[1] else nothing
    # Root finding leaves the last digits of a limit open, which must not tell against a certificate.
    tail = (1.0 - level) / 2.0 * (1.0 + 1e-6)
    with np.errstate(invalid="ignore"):
        inside = (low >= band[0]) & (high <= band[1])
    return np.asarray(inside & (np.maximum(above, below) <= tail))


def _verdicts(certificates: NDArray[np.bool_], violated: NDArray[np.bool_]) -> NDArray[np.str_]:
    return np.where(violated, "violated", np.where(certificates, "certified", "undetermined"))


def group_rows(disparities: Disparities, judgement: Judgement) -> list[dict[str, Any]]:
    """The estimates table."""
    gaps = disparities.gaps
    needed = judgement.needed
    count, rate, target_rate = disparities.count, disparities.rate, disparities.target_rate

    lines = []
    for index, group in enumerate(disparities.groups):
        why = gaps.reason[index]
        open_because = why or (CONSTANT if disparities.constant_after_dropping else "")

        def cell(value: float, why: str | None = why, index: int = index) -> Any:
            return undefined(why) if why is not None else finite_or_reason(float(value), gaps, index)

        lines.append(
            {
                "metric": disparities.metric.name,
                "value_kind": disparities.value_kind,
                "group": group.label,
                "n": int(count[index]),
                "rate": float(rate[index]) if count[index] else undefined(str(why)),
                "target": disparities.target_label,
                "target_rate": float(target_rate[index]),
                "difference": float(gaps.estimate[index]) if count[index] else undefined(str(why)),
                "difference_low": cell(judgement.pointwise[0][index]),
                "difference_high": cell(judgement.pointwise[1][index]),
                "together_low": cell(judgement.together[0][index]),
                "together_high": cell(judgement.together[1][index]),
                "certificate_low": cell(judgement.certificate[0][index]),
                "certificate_high": cell(judgement.certificate[1][index]),
                "p_value": float(judgement.p[index]),
                "p_adjusted": float(judgement.adjusted[index]),
                "effect": _effect(disparities, judgement.verdict[index], index) or None,
                **State(
                    _code(disparities, judgement.verdict[index], index),
                    open_because or _why_undetermined(judgement, gaps, index),
                ).cells(),
                "family_state": _code(disparities, judgement.family[index], index),
                "members_needed": needed.members[index],
                "rows_needed": needed.rows[index],
                "detectable": undefined(why) if why is not None else needed.detectable[index],
                "rule": str(gaps.rule[index]),
            }
        )
        if disparities.scale == "ratio":
            limits = {
                "ratio": judgement.pointwise,
                "ratio_together": judgement.together,
                "ratio_certificate": judgement.certificate,
            }
            lines[-1].update(dict.fromkeys(DIFFERENCES_ONLY))
            lines[-1].update(ratio_cells(gaps, disparities.differences, judgement.level, index, limits))
        lines[-1].update(disparities.unpaired(index))
        if disparities.within is not None:
            lines[-1].update(adjusted_cells(disparities.within, judgement.level, index))
        if disparities.bounds is not None:
            lines[-1].update(_bound_cells(disparities, judgement, index))
    return lines


def _bound_cells(disparities: Disparities, judgement: Judgement, index: int) -> dict[str, Any]:
    """What stands in a row where outcomes are unknown."""
    gaps, differences = disparities.gaps, disparities.differences
    assert disparities.bounds is not None
    assert isinstance(gaps, EndGaps)
    assert isinstance(differences, EndGaps)
    cells = range_cells(disparities.bounds, gaps, differences, index, judgement.level)
    if judgement.verdict[index] == "undetermined" and gaps.reason[index] is None:
        band = judgement.band or (no_gap(gaps.scale), no_gap(gaps.scale))
        ends = float(gaps.least.estimate[index]), float(gaps.most.estimate[index])
        cells["state_reason"] = disparities.bounds.depends if is_open(*ends, band) else None
        if judgement.band is not None and isinstance(disparities.bounds, OutcomeBounds):
            cells["labels_needed"] = needed_cell(judgement.labels[index])
    return cells


def _effect(disparities: Disparities, judged: str, index: int) -> Effect:
    """Whether a group outside the tolerance is harmed or favoured; nothing is said of the others."""
    return disparities.effect(index) if judged == "violated" else ""


def _code(disparities: Disparities, judged: str, index: int) -> str:
    """A group outside the tolerance is violated, unless it is favoured, or the metric is about people alone."""
    if judged != "violated":
        return str(judged)
    if describes_people(disparities.metric):
        return DESCRIBED.code
    return FAVOURED.code if _effect(disparities, judged, index) == "favoured" else "violated"


def finite_or_reason(value: float, gaps: Gaps, index: int) -> Any:
    """A limit, or why there is none."""
    return value if np.isfinite(value) else undefined(f"no limit: {gaps.why_no_limit(index)}")


def _why_undetermined(judgement: Judgement, gaps: Gaps, index: int) -> str:
    """Too few values carry the mean: a side of the interval that decides has no limit."""
    unlimited = any(np.isinf(side[index]) for side in judgement.pointwise)
    return gaps.why_no_limit(index) if judgement.verdict[index] == "undetermined" and unlimited else ""


def overall_verdict(disparities: Disparities, judgement: Judgement, joint: JointTest, rule: str) -> Verdict:
    """Certified when every group is (intersection-union); violated when one is at once with all; else undetermined."""
    if rule == "paper":
        return _paper_verdict(disparities, judgement, joint)
    if judgement.band is None:
        return _without_tolerance(disparities, judgement, joint)
    band = band_words(judgement.band, disparities.binary, disparities.scale)
    if (judgement.family == "violated").any():
        return _violated(disparities, f"{strongest(disparities, judgement)}; tolerance {band}", judgement)
    if (judgement.verdict == "certified").all():
        warned: tuple[dict[str, str], ...] = ({},) if wide_tolerance(disparities, judgement.band) else ()
        return Verdict("certified", f"certified: {statement(disparities, judgement)}", warned)
    certified = int((judgement.verdict == "certified").sum())
    if disparities.bounds is not None and _open(disparities.gaps, judgement.band).any():
        return _depends(disparities, judgement, band)
    hint = hint_words(disparities, judgement.needed) + _labels_hint(disparities, judgement)
    return Verdict(
        "undetermined",
        f"undetermined: {disparities.metric.label} is certified within {band} of {disparities.target_label} for "
        f"{certified:,} of {counted(len(disparities.groups), 'group')} and violated for none{hint}",
    )


def _depends(disparities: Disparities, judgement: Judgement, band: str) -> Verdict:
    """What is undetermined because of unknown outcomes: how far they may move the gap, and what would settle it."""
    assert judgement.band is not None
    gaps = disparities.gaps
    assert disparities.bounds is not None
    assert isinstance(gaps, EndGaps)
    waiting = np.flatnonzero(_open(gaps, judgement.band))
    width = gaps.most.estimate - gaps.least.estimate
    widest = int(waiting[np.argmax(width[waiting])])
    told = gap_sentence(disparities, judgement, widest)
    others = f" (widest of {waiting.size} groups)" if waiting.size > 1 else ""
    hint = _labels_hint(disparities, judgement)
    text = f"undetermined: {disparities.bounds.depends}: {told}{others}; tolerance {band}{hint}"
    return Verdict("undetermined", text, (row_told(disparities, widest),))


def _labels_hint(disparities: Disparities, judgement: Judgement) -> str:
    """The group that needs most labels to be settled, and how many."""
    known = [(found.labels, index) for index, found in enumerate(judgement.labels) if found is not None]
    if not known:
        return ""
    _, index = max(known)
    found = judgement.labels[index]
    assert found is not None
    unit = unit_of(disparities.binary, disparities.scale)
    size = number_words(abs(found.gap), unit)
    gap = f"a gap of {size} points" if unit == "points" else f"a ratio of {size}"
    gap = "no gap" if found.gap == no_gap(disparities.scale) else gap
    several = f" ({disparities.groups[index].label})" if len(disparities.groups) > 1 else ""
    return f"; {needed_words(found, gap, judgement.power)}{several}"


def statement(disparities: Disparities, judgement: Judgement) -> str:
    """What a certificate says: metric, groups, scale, tolerance and level, and what speaks against the tolerance."""
    assert judgement.band is not None
    labels = groups_words([group.label for group in disparities.groups])
    untested = sum(item.state.code == TOO_FEW.code for item in disparities.untested)
    left_out = "; 1 smaller group was not tested" if untested == 1 else ""
    if untested > 1:
        left_out = f"; {untested} smaller groups were not tested"
    band = band_words(judgement.band, disparities.binary, disparities.scale)
    return (
        f"{disparities.metric.label} of {labels} is within {band} of {disparities.target_label} at level "
        f"{100 * judgement.level:g}%{left_out}{wide_tolerance(disparities, judgement.band)}"
    )


def wide_tolerance(disparities: Disparities, band: tuple[float, float]) -> str:
    """A warning where the tolerance is not smaller than the smallest compared rate: it would let any such rate pass."""
    if not disparities.binary or disparities.scale == "ratio":
        return ""
    smallest = float(min(disparities.rate.min(), disparities.target_rate.min()))
    ends = [abs(end) for end in band if end != 0.0] or [0.0]
    if min(ends) < smallest:
        return ""
    least = number_words(smallest, "points")
    return (
        f"; warning: a tolerance of {band_words(band, True)} is no smaller than the smallest rate compared "
        f"({least}%), so that even a rate of zero could pass: ask for a ratio"
    )


def _violated(disparities: Disparities, text: str, judgement: Judgement | None) -> Verdict:
    """Of what people are and not of what was decided, a gap is described and not called violated."""
    told = () if judgement is None else (row_told(disparities, strongest_place(disparities, judgement)),)
    if describes_people(disparities.metric):
        return Verdict(DESCRIBED.code, f"differs: {text}; it describes the people, not the decisions", told)
    return Verdict("violated", f"violated: {text}", told)


def row_told(disparities: Disparities, index: int) -> dict[str, str]:
    """What names a group's row in the table, for a verdict that tells its numbers."""
    return {"metric": disparities.metric.name, "group": disparities.groups[index].label}


def strongest(disparities: Disparities, judgement: Judgement) -> str:
    """The strongest gap in words, and how many there are."""
    violated = int((judgement.family == "violated").sum())
    others = f" (strongest of {violated} groups)" if violated > 1 else ""
    return gap_sentence(disparities, judgement, strongest_place(disparities, judgement)) + others


def strongest_place(disparities: Disparities, judgement: Judgement) -> int:
    """The violated group with the smallest p-value, a harmed one where there is one."""
    violated = np.flatnonzero(judgement.family == "violated")
    effects = [disparities.effect(int(i)) for i in violated]
    told = violated[np.array([effect != "favoured" for effect in effects])]
    chosen = told if told.size else violated
    return int(chosen[np.argmin(judgement.p[chosen])])


def _without_tolerance(disparities: Disparities, judgement: Judgement, joint: JointTest) -> Verdict:
    """The joint test alone decides: adding the groups' own tests to it would err 8% of the time with ten groups."""
    some = bool((judgement.family == "violated").any())
    label = disparities.metric.label
    if joint.p_value <= 1.0 - judgement.level:
        if some:
            return _violated(disparities, strongest(disparities, judgement), judgement)
        text = (
            f"the groups differ jointly (p {joint.p_value:.3f}), though no single group stands out"
            f"{disparities.alike_words}"
        )
        return _violated(disparities, f"{label}: {text}", None)
    alone = "; a single group stands out by itself, see the table" if some else ""
    if disparities.bounds is not None and (judgement.verdict == "undetermined").any():
        alone += f"; whether there is one {disparities.bounds.depends}"
    return Verdict(
        "none-shown",
        f"no violation shown: no disparity in {label} was found{disparities.alike_words} (joint p "
        f"{joint.p_value:.3f}{alone}); without a tolerance nothing can be certified",
    )


def _paper_verdict(disparities: Disparities, judgement: Judgement, joint: JointTest) -> Verdict:
    label = disparities.metric.label
    if joint.p_value <= 1.0 - judgement.level:
        return Verdict(
            "paper-rejected", f"by the paper's rule not certified: equality of {label} is rejected"
        )
    return Verdict(
        "paper-certified",
        f"by the paper's rule certified: equality of {label} is not rejected (absence of evidence, not evidence of "
        "fairness)",
    )


def gap_sentence(disparities: Disparities, judgement: Judgement, index: int) -> str:
    """'false positive rate of A is 21.4 points above B, 95% interval 18.2 to 24.5'."""
    low, high = (float(side[index]) for side in judgement.pointwise)
    if disparities.bounds is not None:
        return bounded_sentence(disparities, index, (low, high), judgement.level)
    gap = float(disparities.gaps.estimate[index])
    return sentence(
        disparities.metric.label, disparities.groups[index].label, disparities.target_label, gap, low, high,
        judgement.level, unit_of(disparities.binary, disparities.scale), disparities.effect(index),
    )  # fmt: skip


def bounded_sentence(disparities: Disparities, index: int, limits: tuple[float, float], level: float) -> str:
    """'true positive rate of F is 3.1 to 12.0 points below M, whatever the unknown outcomes are; 95% limits …'."""
    gaps, bounds = disparities.gaps, disparities.bounds
    assert bounds is not None
    assert isinstance(gaps, EndGaps)
    ends = float(gaps.least.estimate[index]), float(gaps.most.estimate[index])
    told = range_sentence(
        disparities.metric.label, disparities.groups[index].label, disparities.target_label, ends, limits, level,
        unit_of(disparities.binary, disparities.scale), disparities.effect(index), bounds.assumption,
    )  # fmt: skip
    return told + bounds.more_words(index, level)

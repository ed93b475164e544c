"""What certify concludes of every group, on both scales: differences first, the ratio beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._compare.comparing import compare_sorted
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.needed import Needed, find_needed
from fairtrial._compare.rates import adjusted_ratio, ratio_cells, ratio_limits
from fairtrial._compare.rows import Limits
from fairtrial._compare.tolerance import band_p_values
from fairtrial._compare.unknown_outcomes import LabelsNeeded, OutcomeBounds, labels_needed
from fairtrial._compare.words import number_words
from fairtrial._inference.laws.end_gaps import EndGaps
from fairtrial._inference.laws.gaps import SMALLEST_P, Gaps, JointTest, no_gap
from fairtrial._inference.multiplicity import bonferroni_level, holm, shared_level
from fairtrial._inference.numeric.roots import Floats
from fairtrial._metrics.groups import Target, within_four_fifths
from fairtrial._metrics.values import Metric
from fairtrial._results.column import scalar

RatioCells = Sequence[
    Mapping[str, Any]
]  # of each group: ratio, ratio_low and ratio_high where they are known


def find_ratios(part: Disparities) -> RatioCells:
    """Each group's ratio with its limits; of means, ratios and gaps without a law of their ratio nothing."""
    groups = range(len(part.groups))
    without_law = part.bounds is not None or part.people.paired is not None or part.request.by_model
    if not part.binary or part.scale == "ratio" or without_law or not isinstance(part.target, Target):
        return [{} for _ in groups]
    if part.within is not None:
        scaled = compare_sorted(replace(part.request, scale="ratio"), part.metric, part.people, part.target)
        return [adjusted_ratio(scaled, index) for index in groups]
    limits = ratio_limits(part, *part.gaps.kept_limits(part.request.level))
    rates = [
        {
            "rate": float(part.rate[index]),
            "target_rate": float(part.target_rate[index]),
            "value_kind": "percent",
        }
        for index in groups
    ]
    ends = [
        None if limits is None else (float(limits[0][index]), float(limits[1][index])) for index in groups
    ]
    return [ratio_cells(row, end) for row, end in zip(rates, ends, strict=True)]


def both_scales_words(part: Disparities, ratios: RatioCells) -> str:
    """What a certificate of differences says of the ratios; empty of means and of certified ratios."""
    if not part.binary or part.scale == "ratio":
        return ""
    known = sorted(value for row in ratios if (value := scalar(row.get("ratio"))) is not None)
    if len(known) < len(ratios):
        return "; not every ratio is known"
    ends = list(dict.fromkeys(number_words(value, "ratio") for value in (known[0], known[-1])))
    told = f"{'ratio' if len(ends) == 1 else 'ratios of'} {' to '.join(ends)}"
    shown = "" if all(map(ratio_is_close, ratios)) else "not "
    return f"; {told}, {shown}shown to be within 0.8 to 1.25"


def ratio_is_close(row: Mapping[str, Any]) -> bool:
    """Whether a row's ratio is shown to lie between four fifths and its inverse."""
    return within_four_fifths(scalar(row.get("ratio_low")), scalar(row.get("ratio_high")))


# -- What certify concludes of every group, alone and at once with all other groups, metrics and cuts.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judgement:
    """Intervals, p-values and verdicts of all groups of one metric, at one cut."""

    of: Disparities
    certificate_level: float
    together_level: float
    pointwise: Limits
    together: Limits
    certificate: Limits
    p: Floats
    adjusted: Floats
    verdict: NDArray[np.str_]
    family: NDArray[np.str_]
    needed: Needed
    labels: list[LabelsNeeded | None]
    ratios: RatioCells  # beside differences of rates

    @property
    def limits(self) -> dict[str, Limits]:
        """By the beginning of their columns."""
        return {"": self.pointwise, "together": self.together, "certificate": self.certificate}


def judge(parts: Sequence[Disparities]) -> list[Judgement]:
    """Every group by itself, and all groups of all metrics and cuts at once: adjusted by Holm over all of them."""
    p = [band_p_values(part.gaps, part.band) for part in parts]
    adjusted = np.split(holm(np.concatenate(p)), np.cumsum([one.size for one in p])[:-1])
    return [_judge_one(*one, len(parts)) for one in zip(parts, p, adjusted, strict=True)]


def _judge_one(part: Disparities, p: Floats, adjusted: Floats, parts: int) -> Judgement:
    """Certified: the (1-2a) interval inside the band. Violated: interval-null p at most a. Else undetermined.

    For all groups at once: Holm's p-value at most a, or the interval that holds for all at once outside the band.
    """
    gaps, band, request = part.gaps, part.band, part.request
    level, seed = request.level, request.seed
    alpha = 1.0 - level
    certificate_level = round(1.0 - 2.0 * alpha, 12)
    together_level = part.together(shared_level(level, parts), seed)
    each = bonferroni_level(int(gaps.defined.sum()), shared_level(level, parts))
    pointwise, together = gaps.limits(level), gaps.limits_together(together_level, each)
    certificate = gaps.certificate_limits(certificate_level)
    low, high = band or (no_gap(gaps.scale),) * 2
    with np.errstate(invalid="ignore"):
        violated_at_once = (adjusted <= alpha) | (together[0] > high) | (together[1] < low)
    if band is None:
        verdict = np.where(p <= alpha, "violated", "no violation shown")
        # A side without a limit is a refusal: too few values carry the mean.
        unlimited = np.isinf(pointwise[0]) | np.isinf(pointwise[1])
        verdict = np.where(unlimited & (p > alpha), "undetermined", verdict)
        verdict = np.where(open_gaps(part), "undetermined", verdict)  # some gaps between the ends are none
        family = np.where(violated_at_once, "violated", "no violation shown")
    else:
        verdict = _verdicts(certified(gaps, band, certificate_level, certificate), p <= alpha)
        family_level = part.together(shared_level(certificate_level, parts), seed)
        family = _verdicts(certified(gaps, band, family_level), violated_at_once)
    known = gaps.defined & (not part.constant_after_dropping)
    verdict, family = (np.where(known, judged, "undetermined") for judged in (verdict, family))
    undetermined = verdict == "undetermined"
    return Judgement(
        of=part, certificate_level=certificate_level, together_level=together_level, pointwise=pointwise,
        together=together, certificate=certificate, p=p, adjusted=adjusted, verdict=verdict, family=family,
        needed=find_needed(part, band, undetermined, level, request.power), labels=_labels(part, undetermined),
        ratios=find_ratios(part),
    )  # fmt: skip


def open_gaps(part: Disparities) -> NDArray[np.bool_]:
    """Where unknown outcomes or groups decide on which side of the tolerance a gap lies."""
    return np.array([part.is_open(index) for index in range(len(part.groups))], dtype=bool)


def _labels(part: Disparities, undetermined: NDArray[np.bool_]) -> list[LabelsNeeded | None]:
    """How many labels would settle each group that is undetermined; None where it is settled or none would."""
    gaps, bounds, band, request = part.gaps, part.bounds, part.band, part.request
    if band is None or not isinstance(bounds, OutcomeBounds) or not isinstance(gaps, EndGaps):
        return [None] * len(part.groups)
    return [
        labels_needed(bounds, gaps, index, band, 1.0 - request.level, request.power)
        if open_ and gaps.defined[index]
        else None
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


def joint_of(tests: Sequence[JointTest], apart: bool) -> JointTest:
    """No gap in any rate: of other people's rows the chi-squares add up, else the smallest p-value times their number.

    Each test's own p-value, which small samples may have enlarged, is turned into its chi-square again.
    """
    if not apart or any(test.reason is not None or test.df == 0 for test in tests):
        p = min(1.0, len(tests) * min(test.p_value for test in tests))
        reasons = [test.reason for test in tests]
        why = None if None in reasons else reasons[0]
        return JointTest(np.nan, sum(test.df for test in tests), p, "Bonferroni over the rates", why)
    df = sum(test.df for test in tests)
    from scipy import special

    statistic = float(sum(special.chdtri(test.df, test.p_value) for test in tests))
    return JointTest(
        statistic, df, max(float(special.chdtrc(df, statistic)), SMALLEST_P), "sum over the rates"
    )


def rows_apart(several: Sequence[Disparities]) -> bool:
    """Whether the metrics' rows are other people's: conditions that exclude each other, and each row a person."""
    plain = all(one.people.weighted is None and one.people.paired is None for one in several)
    return plain and all(
        _exclude(one.metric, other.metric) for i, one in enumerate(several) for other in several[:i]
    )


def _exclude(one: Metric, other: Metric) -> bool:
    shared = set(one.conditions) & set(other.conditions)
    return any(not set(one.conditions[part]) & set(other.conditions[part]) for part in shared)

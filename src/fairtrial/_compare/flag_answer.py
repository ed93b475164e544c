"""From gaps to the answer of flag: p-values, one correction, rows and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._compare.between_ends import is_open, range_cells
from fairtrial._compare.columns import DESCRIBED, FAVOURED
from fairtrial._compare.cuts import across_cuts, cut_details, cut_notes
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.judgement import bounded_sentence, finite_or_reason, row_told
from fairtrial._compare.results import FlagResult
from fairtrial._compare.scales import find_ratio_band, ratio_cells
from fairtrial._compare.sorted_groups import Untested
from fairtrial._compare.strata import adjusted_cells
from fairtrial._compare.tolerance import common_notes, find_band, plain_target
from fairtrial._compare.words import disparity_words, sentence, unit_of
from fairtrial._errors import Fault, InputError, Note, Set, Words
from fairtrial._inference.compare.end_gaps import EndGaps
from fairtrial._inference.compare.gaps import Gaps
from fairtrial._inference.multiplicity import CORRECTIONS
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.ways import Scale
from fairtrial._metrics.groups import Group
from fairtrial._metrics.harm import describes_people, effect_of, find_side, harmed_side
from fairtrial._metrics.metric import Metric
from fairtrial._results.column import State, Verdict, undefined

WHO = "flag"
CORRECTION_WORDS = {"bh": "Benjamini–Hochberg", "by": "Benjamini–Yekutieli", "holm": "Holm"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of the gaps."""

    band: tuple[float, float]
    direction: str
    fdr: float
    correction: str
    confidence_level: float


@dataclass(frozen=True, slots=True, eq=False)
class Tested:
    """The gaps at one cut of the decision, with their p-values, adjusted over all cuts, and limits."""

    disparities: Disparities
    p: Floats
    adjusted: Floats
    limits: tuple[Floats, Floats]


def answer(
    audit: Audit, cuts: dict[str, Disparities], wanted: Wanted, others: Sequence[Floats] = ()
) -> FlagResult:
    """Test every group at every cut of the decision, correct over all of them, and list the flagged.

    `others` are the p-values of other rates that are corrected together with these, as one criterion.
    """
    direction, band = wanted.direction, wanted.band
    parts = _tested(list(cuts.values()), wanted, others)
    first = across_cuts(cuts, " at any cut of the decision")
    return FlagResult(
        question=_question(first, direction, band),
        null=_null(first, direction, band),
        verdict=_verdict(parts, wanted),
        estimates=tuple(
            {**row, "cut": name or None}
            for name, part in zip(cuts, parts, strict=True)
            for row in _rows(part, wanted)
        ),
        details=_details(cuts, parts, wanted),
        notes=(
            *audit.notes(complete=False),
            *cut_notes(audit),
            *common_notes(first),
            *_notes(list(cuts.values()), wanted.correction),
        ),
        provenance=audit.provenance(
            first.source,
            arguments={
                "metric": first.metric.to_dict(),
                "by": first.by,
                "target": plain_target(first),
                "tolerance": list(band),
                "direction": direction,
            },
        ),
    )


def _tested(cuts: list[Disparities], wanted: Wanted, others: Sequence[Floats]) -> list[Tested]:
    """One correction over all groups of all cuts."""
    p = [group_p_values(cut.gaps, wanted.direction, wanted.band) for cut in cuts]
    ends = np.cumsum([part.size for part in p])
    adjusted = np.split(CORRECTIONS[wanted.correction](np.concatenate([*p, *others])), ends)[: len(p)]
    limits = [cut.gaps.limits(wanted.confidence_level) for cut in cuts]
    return [Tested(*part) for part in zip(cuts, p, adjusted, limits, strict=True)]


def _details(cuts: dict[str, Disparities], parts: list[Tested], wanted: Wanted) -> dict[str, Any]:
    """What charts and sentences need besides the table."""
    first = across_cuts(cuts)
    listed = [
        group for cut in cuts.values() for group in (*cut.groups, *(item.group for item in cut.untested))
    ]
    details = {
        "label": first.metric.label,
        "value_kind": first.value_kind,
        "target": first.target_label,
        "direction": wanted.direction,
        "tolerance": list(wanted.band),
        "scale": first.scale,
        "within": list(first.inference.within or ()),
        "fdr": wanted.fdr,
        "correction": wanted.correction,
        "confidence_level": wanted.confidence_level,
        "tested": sum(len(cut.groups) for cut in cuts.values()),
        "flagged": sum(int((part.adjusted <= wanted.fdr).sum()) for part in parts),
        "left_out": [item for cut in cuts.values() for item in cut.left_out],
        "places": [group.place for group in listed],
    }
    return {**details, **cut_details(cuts)}


def group_p_values(gaps: Gaps, direction: str, band: tuple[float, float]) -> Floats:
    """p-values of the four nulls: at most, at least, inside the band, exactly."""
    if direction == "above":
        return gaps.p_at_most(band[1])
    if direction == "below":
        return gaps.p_at_least(band[0])
    if direction == "outside":
        return gaps.p_inside(*band)
    return gaps.p_equal(band[1])


def find_direction(direction: str | None, metric: Metric, favourable: int | None) -> str:
    """The side that is flagged; by default the harmed one where it is known."""
    if direction is None:
        return harmed_side(metric, favourable) or "outside"
    return find_side(WHO, direction, metric, favourable) or direction


def find_flag_band(
    tolerance: Any, direction: str, metric: Metric, scale: Scale = "difference"
) -> tuple[float, float]:
    if direction == "differs" and tolerance is not None:
        if (
            isinstance(tolerance, bool)
            or not isinstance(tolerance, int | float)
            or not np.isfinite(tolerance)
        ):
            required = Words("with {} is the one value tested", Set("direction", "differs"))
            raise InputError(WHO, Fault("tolerance", required, got=tolerance, cure="write one number"))
        return float(tolerance), float(tolerance)
    if scale == "ratio":
        return find_ratio_band(WHO, tolerance) or (1.0, 1.0)
    return find_band(WHO, tolerance, metric) or (0.0, 0.0)


def _rows(part: Tested, wanted: Wanted) -> list[dict[str, Any]]:
    disparities, p, adjusted, limits = part.disparities, part.p, part.adjusted, part.limits
    gaps, count, rate = disparities.gaps, disparities.count, disparities.rate
    target_rate = disparities.target_rate
    lines = []
    for index, group in enumerate(disparities.groups):
        why = gaps.reason[index]
        flagged = bool(adjusted[index] <= wanted.fdr)
        low, high = (
            undefined(why) if why is not None else finite_or_reason(float(side[index]), gaps, index)
            for side in limits
        )  # fmt: skip
        lines.append(
            {
                **_base(disparities, group, int(count[index])),
                "rate": float(rate[index]),
                "target_rate": float(target_rate[index]),
                "difference": float(gaps.estimate[index]),
                "difference_low": low,
                "difference_high": high,
                "p_value": float(p[index]),
                "p_adjusted": float(adjusted[index]),
                "flagged": flagged,
                "effect": (effect_of(float(gaps.estimate[index]), disparities.harmed) if flagged else "")
                or None,
                **_state(
                    disparities,
                    flagged,
                    why or _why_undetermined(gaps, limits, index),
                    float(gaps.estimate[index]),
                ).cells(),
                "rule": str(gaps.rule[index]),
            }
        )
        if disparities.scale == "ratio":
            level = wanted.confidence_level
            lines[-1].update(ratio_cells(gaps, disparities.differences, level, index, {"ratio": limits}))
        lines[-1].update(disparities.unpaired(index))
        if disparities.within is not None:
            lines[-1].update(adjusted_cells(disparities.within, wanted.confidence_level, index))
        if disparities.bounds is not None:
            lines[-1].update(_bound_cells(disparities, flagged, wanted, index))
    return lines + [_untested_row(disparities, item) for item in disparities.untested]


def _bound_cells(disparities: Disparities, flagged: bool, wanted: Wanted, index: int) -> dict[str, Any]:
    """What stands in a row where outcomes are unknown; they may decide whether the gap goes beyond the tolerance."""
    gaps, differences = disparities.gaps, disparities.differences
    assert disparities.bounds is not None
    assert isinstance(gaps, EndGaps)
    assert isinstance(differences, EndGaps)
    cells = range_cells(disparities.bounds, gaps, differences, index, wanted.confidence_level)
    least = -np.inf if gaps.scale == "difference" else 0.0
    low, high = wanted.band
    band = {"above": (least, high), "below": (low, np.inf)}.get(wanted.direction, (low, high))
    ends = float(gaps.least.estimate[index]), float(gaps.most.estimate[index])
    if not flagged and gaps.reason[index] is None and is_open(*ends, band):
        cells.update(State("undetermined", disparities.bounds.depends).cells())
    return cells


def _why_undetermined(gaps: Gaps, limits: tuple[Floats, Floats], index: int) -> str | None:
    """Too few values carry the mean: a side of its interval has no limit."""
    return gaps.why_no_limit(index) if any(np.isinf(side[index]) for side in limits) else None


def _state(disparities: Disparities, flagged: bool, why: str | None, gap: float) -> State:
    if flagged and describes_people(disparities.metric):
        return State(DESCRIBED.code)
    if flagged:
        return State(FAVOURED.code if effect_of(gap, disparities.harmed) == "favoured" else "flagged")
    return State("undetermined", why) if why is not None else State("not flagged")


def _base(disparities: Disparities, group: Group, n: int) -> dict[str, Any]:
    return {
        "metric": disparities.metric.name,
        "value_kind": disparities.value_kind,
        "group": group.label,
        "depth": len(group.where),
        "n": n,
    }


def _untested_row(disparities: Disparities, item: Untested) -> dict[str, Any]:
    why = item.state.reason
    rate = item.rate if item.n else undefined(why)
    if disparities.bounds is not None:
        rate = undefined(disparities.bounds.depends)
    missing = ("target_rate", "difference", "difference_low", "difference_high", "p_value", "p_adjusted")
    return {
        **_base(disparities, item.group, item.n),
        "rate": rate,
        **{name: undefined(why) for name in missing},
        "flagged": False,
        **item.state.cells(),
        "rule": "none",
    }


def _beyond_ratio(direction: str, band: tuple[float, float]) -> str:
    if direction in ("above", "below"):
        edge = band[1] if direction == "above" else band[0]
        return f"{'more' if direction == 'above' else 'less'} than {edge:.3g} times that of"
    if band[0] == band[1]:
        return "different from that of" if band[1] == 1 else f"other than {band[1]:.3g} times that of"
    return f"outside {band[0]:.3g} to {band[1]:.3g} times that of"


def _beyond(direction: str, band: tuple[float, float], binary: bool, scale: Scale = "difference") -> str:
    if scale == "ratio":
        return _beyond_ratio(direction, band)
    if direction in ("above", "below"):
        return _one_side(band[1] if direction == "above" else -band[0], direction, binary)
    if band[0] == band[1] == 0:
        return "different from that of"
    if direction == "differs":
        return f"other than {_exactly(band[1], binary)}"
    if band[0] == -band[1]:
        return f"more than {disparity_words(band[1], binary)} from"
    return f"outside [{disparity_words(band[0], binary)}, {disparity_words(band[1], binary)}] of"


def _one_side(edge: float, direction: str, binary: bool) -> str:
    """How far beyond the target on one side; a negative edge lies on the other one."""
    if edge == 0:
        return f"{direction} that of"
    if edge < 0:
        other = "below" if direction == "above" else "above"
        return f"less than {disparity_words(-edge, binary)} {other}"
    return f"more than {disparity_words(abs(edge), binary)} {direction}"


def _exactly(gap: float, binary: bool) -> str:
    return f"{disparity_words(abs(gap), binary)} {'above' if gap > 0 else 'below'}"


def _question(disparities: Disparities, direction: str, band: tuple[float, float]) -> str:
    text = _beyond(direction, band, disparities.binary, disparities.scale)
    return f"Which groups have a {disparities.metric.label} {text} {disparities.target_label}?"


def _null(disparities: Disparities, direction: str, band: tuple[float, float]) -> str:
    label, target, binary = disparities.metric.label, disparities.target_label, disparities.binary
    if disparities.scale == "difference" and direction == "differs" and band[1] != 0:
        return f"The group's {label} is {_exactly(band[1], binary)} {target}."
    return f"The group's {label} is not {_beyond(direction, band, binary, disparities.scale)} {target}."


def _verdict(parts: list[Tested], wanted: Wanted) -> Verdict:
    tested = sum(len(part.disparities.groups) for part in parts)
    what = "groups" if len(parts) == 1 else "comparisons (groups at cuts)"
    flagged = [(part, int(i)) for part in parts for i in np.flatnonzero(part.adjusted <= wanted.fdr)]
    if not flagged:
        first = parts[0].disparities
        unknown = "" if first.bounds is None else f", which {first.bounds.depends}"
        return Verdict(
            "none-flagged",
            f"none of {tested:,} {what} flagged{first.alike_words}{unknown}: this does not show that they are treated "
            "equally",
        )
    harmed = [(part, i) for part, i in flagged if part.disparities.effect(i) != "favoured"]
    worst, i = max(harmed or flagged, key=lambda item: _size(item[0], item[1], wanted.direction))
    disparities, limits = worst.disparities, worst.limits
    ends = float(limits[0][i]), float(limits[1][i])
    text = bounded_sentence(disparities, i, ends, wanted.confidence_level) if disparities.bounds else sentence(
        disparities.metric.label, disparities.groups[i].label, disparities.target_label,
        float(disparities.gaps.estimate[i]), *ends,
        wanted.confidence_level, unit_of(disparities.binary, disparities.scale), disparities.effect(i),
    )  # fmt: skip
    return Verdict(
        "flagged",
        f"{len(flagged):,} of {tested:,} {what} flagged; furthest: {text}",
        (row_told(disparities, i),),
    )


def _size(part: Tested, index: int, direction: str) -> float:
    """How far a gap goes in the direction that is flagged."""
    gap = float(part.disparities.gaps.estimate[index])
    return gap if direction == "above" else -gap if direction == "below" else abs(gap)


def _notes(cuts: list[Disparities], correction: str) -> list[Note]:
    words = CORRECTION_WORDS[correction]
    tested = sum(len(cut.groups) for cut in cuts)
    family = f"all {tested} groups" if len(cuts) == 1 else f"all {tested} groups and cuts"
    notes = [
        Note(
            "one-family",
            f"{words} over {family} at once. Intervals are pointwise: a flagged group's "
            "was selected, so read it with its adjusted p-value.",
        )
    ]
    if correction == "bh" and (len(cuts) > 1 or cuts[0].overlapping):
        notes.append(
            Note(
                "bh-dependence",
                "Groups share people, so their tests depend on each other; Benjamini–Hochberg has no general guarantee "
                "then (in simulations of such families its rate held). The correction 'by' is proven for any "
                "dependence.",
            )
        )
    return notes

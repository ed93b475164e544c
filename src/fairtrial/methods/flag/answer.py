"""From gaps to the answer of flag: p-values, one correction, rows and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from fairtrial.data.audit import Audit
from fairtrial.errors import Fault, InputError, Note, Set, Words
from fairtrial.inference.compare.gaps import Gaps
from fairtrial.inference.multiplicity import CORRECTIONS
from fairtrial.inference.numeric.roots import Floats
from fairtrial.inference.rates.two_rates import Scale
from fairtrial.methods.flag.result import FlagResult
from fairtrial.methods.gaps.disparities import Disparities
from fairtrial.methods.gaps.judgement import finite_or_reason
from fairtrial.methods.gaps.scales import find_ratio_band, ratio_cells
from fairtrial.methods.gaps.sorted_groups import Untested
from fairtrial.methods.gaps.states import DESCRIBED, FAVOURED
from fairtrial.methods.gaps.tolerance import common_notes, find_band, plain_target
from fairtrial.methods.gaps.within import adjusted_cells
from fairtrial.methods.gaps.words import disparity_words, sentence, unit_of
from fairtrial.metrics.groups import Group
from fairtrial.metrics.harm import describes_people, effect_of, find_side, harmed_side
from fairtrial.metrics.metric import Metric
from fairtrial.results.column import State, Verdict, undefined

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
    """The gaps of one metric with their p-values, corrected over all that was asked."""

    disparities: Disparities
    wanted: Wanted
    p: Floats
    adjusted: Floats
    limits: tuple[Floats, Floats]

    @property
    def flagged(self) -> Any:
        return self.adjusted <= self.wanted.fdr


def correct_over_all(asked: Sequence[tuple[Disparities, Wanted]]) -> list[Tested]:
    """Test every group of every metric, and correct over all of them at once."""
    p = [group_p_values(disparities.gaps, wanted.direction, wanted.band) for disparities, wanted in asked]
    adjusted = CORRECTIONS[asked[0][1].correction](np.concatenate(p))
    places = np.cumsum([values.size for values in p])[:-1]
    return [
        Tested(disparities, wanted, values, corrected, disparities.gaps.limits(wanted.confidence_level))
        for (disparities, wanted), values, corrected in zip(asked, p, np.split(adjusted, places), strict=True)
    ]


def answer(audit: Audit, tested: Sequence[Tested], criterion: str = "") -> FlagResult:
    """List the flagged groups, of one metric or of all metrics of a criterion."""
    first, questions = tested[0], []
    for part in tested:
        asked = part.disparities, part.wanted.direction, part.wanted.band
        questions.append((_question(*asked), _null(*asked)))
    return FlagResult(
        question=" ".join(question for question, _ in questions),
        null=" ".join(null for _, null in questions),
        verdict=_verdict(tested, criterion),
        estimates=tuple(_rows(tested, named=bool(criterion))),
        details=_details(tested, criterion),
        notes=tuple(
            dict.fromkeys(
                note
                for part in tested
                for note in (
                    *audit.notes(complete=False),
                    *common_notes(part.disparities),
                    *_notes(tested, part),
                )
            )
        ),
        provenance=_provenance(audit, first, tested, criterion),
    )


def _provenance(audit: Audit, first: Tested, tested: Sequence[Tested], criterion: str) -> dict[str, Any]:
    disparities, wanted = first.disparities, first.wanted
    found = audit.provenance(
        disparities.source,
        arguments={
            "metric": criterion or disparities.metric.to_dict(),
            "by": disparities.by,
            "target": plain_target(disparities),
            "tolerance": list(wanted.band),
            "direction": wanted.direction,
        },
    )
    if len(tested) > 1:
        digests = [audit.provenance(part.disparities.source)["data"] for part in tested]
        found["data"] = sha256("".join(digests).encode()).hexdigest()[:16]
    return found


def _details(tested: Sequence[Tested], criterion: str) -> dict[str, Any]:
    """What charts and sentences need besides the table."""
    disparities, wanted = tested[0].disparities, tested[0].wanted
    listed = [
        group
        for part in tested
        for group in (*part.disparities.groups, *(item.group for item in part.disparities.untested))
    ]
    same = all(part.wanted.direction == wanted.direction for part in tested)
    return {
        "label": criterion.replace("_", " ") or disparities.metric.label,
        "value_kind": disparities.value_kind,
        "target": disparities.target_label,
        "direction": wanted.direction if same else "harmed",
        "tolerance": list(wanted.band),
        "scale": disparities.scale,
        "within": list(disparities.inference.within or ()),
        "fdr": wanted.fdr,
        "correction": wanted.correction,
        "confidence_level": wanted.confidence_level,
        "tested": sum(len(part.disparities.groups) for part in tested),
        "flagged": sum(int(part.flagged.sum()) for part in tested),
        "left_out": [item for part in tested for item in part.disparities.left_out],
        "places": [group.place for group in listed],
        **({"criterion": criterion} if criterion else {}),
    }


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
            raise InputError(WHO, Fault("tolerance", required, got=tolerance))
        return float(tolerance), float(tolerance)
    if scale == "ratio":
        return find_ratio_band(WHO, tolerance) or (1.0, 1.0)
    return find_band(WHO, tolerance, metric) or (0.0, 0.0)


def _rows(tested: Sequence[Tested], named: bool) -> list[dict[str, Any]]:
    """The table; metrics are named where a criterion joins several."""
    lines = []
    for part in tested:
        label = {"metric_label": part.disparities.metric.label} if named and len(tested) > 1 else {}
        lines += [{**row, **label} for row in _metric_rows(part)]
    return lines


def _metric_rows(part: Tested) -> list[dict[str, Any]]:
    disparities, wanted = part.disparities, part.wanted
    p, adjusted, limits = part.p, part.adjusted, part.limits
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
    return lines + [_untested_row(disparities, item) for item in disparities.untested]


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
    mask = disparities.cells.mask(item.group)
    rate = float(disparities.atoms.pooled(mask[None])[1][0]) if item.n else undefined(why)
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


def _verdict(tested: Sequence[Tested], criterion: str) -> Verdict:
    total = sum(len(part.disparities.groups) for part in tested)
    what = "groups" if len(tested) == 1 else f"rates of groups ({criterion.replace('_', ' ')})"
    flagged = [(part, int(index)) for part in tested for index in np.flatnonzero(part.flagged)]
    if not flagged:
        text = f"none of {total} {what} flagged: this does not show that they are treated equally"
        return Verdict("none-flagged", text)
    harmed = [(part, i) for part, i in flagged if part.disparities.effect(i) != "favoured"]
    worst, i = max(harmed or flagged, key=lambda found: _distance(*found))
    disparities = worst.disparities
    text = sentence(
        disparities.metric.label, disparities.groups[i].label, disparities.target_label,
        float(disparities.gaps.estimate[i]), float(worst.limits[0][i]), float(worst.limits[1][i]),
        worst.wanted.confidence_level, unit_of(disparities.binary, disparities.scale), disparities.effect(i),
    )  # fmt: skip
    return Verdict("flagged", f"{len(flagged)} of {total} {what} flagged; furthest: {text}")


def _distance(part: Tested, index: int) -> float:
    """How far the gap lies on the side that is looked at."""
    gap = float(part.disparities.gaps.estimate[index])
    return {"above": gap, "below": -gap}.get(part.wanted.direction, abs(gap))


def _notes(tested: Sequence[Tested], part: Tested) -> list[Note]:
    disparities, correction = part.disparities, part.wanted.correction
    words, total = CORRECTION_WORDS[correction], sum(len(one.disparities.groups) for one in tested)
    what = "groups" if len(tested) == 1 else "rates of groups"
    notes = [
        Note(
            "one-family",
            f"{words} over all {total} {what} at once. Intervals are pointwise: a flagged group's "
            "was selected, so read it with its adjusted p-value.",
        )
    ]
    if correction == "bh" and disparities.overlapping:
        notes.append(
            Note(
                "bh-dependence",
                "Groups share people, so their tests depend on each other; Benjamini–Hochberg has no general guarantee "
                "then (in simulations of such families its rate held). The correction 'by' is proven for any "
                "dependence.",
            )
        )
    return notes

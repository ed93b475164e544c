"""From gaps to the answer of flag: p-values, one correction over all of them, rows and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._audit.direction import harmed_side
from fairtrial._compare.comparing import across_cuts, cut_notes, named_parts, part_cells, provenance_of
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.flag_result import FlagResult
from fairtrial._compare.request import Request
from fairtrial._compare.rows import (
    Limits,
    base_cells,
    finding_code,
    gap_rows,
    gap_sentence,
    row_told,
    why_no_side,
)
from fairtrial._compare.sorted_groups import Untested
from fairtrial._compare.tolerance import Band, common_notes, find_scaled_band, plain_target
from fairtrial._compare.words import disparity_words
from fairtrial._errors import Fault, InputError, Note, Set, Words
from fairtrial._inference.laws.gaps import Gaps, no_gap
from fairtrial._inference.multiplicity import CORRECTIONS
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.ways import Scale
from fairtrial._metrics.groups import find_side
from fairtrial._metrics.values import Metric
from fairtrial._results.column import State, Verdict, undefined

if TYPE_CHECKING:
    from fairtrial._compare.small_cells import Described

CORRECTION_WORDS = {"bh": "Benjamini–Hochberg", "by": "Benjamini–Yekutieli", "holm": "Holm"}
MISSING = ("target_rate", "difference", "difference_low", "difference_high", "p_value", "p_adjusted")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Flags:
    """The p-values of all groups of one metric at one cut, adjusted over all metrics and cuts, and their limits."""

    of: Disparities
    p: Floats
    adjusted: Floats
    limits: Limits

    @property
    def places(self) -> list[int]:
        """The flagged groups."""
        return [int(i) for i in np.flatnonzero(self.adjusted <= self.of.request.fdr)]


def answer(audit: Audit, criterion: str, parts: Sequence[Disparities]) -> FlagResult:
    """Test every group in every metric, at every cut of the decision, and correct over all of them."""
    flags = _flags(parts)
    first = across_cuts(parts, " at any cut of the decision")
    told = parts if criterion else [first]
    small = _described(parts)
    families = [[one] for one in flags] if criterion else [flags]
    return FlagResult(
        question=" ".join(_question(part) for part in told),
        null=" ".join(_null(part) for part in told),
        verdict=_joined(criterion, flags) if criterion else _verdict(flags),
        estimates=tuple(
            {**row, "cut": one.of.cut or None, **part_cells(one.of, criterion)}
            for one, cells in zip(flags, small, strict=True)
            for row in _rows(one, cells)
        ),
        details=_details(criterion, flags) | _small_details(parts, small),
        notes=tuple(
            dict.fromkeys(
                note
                for part, family in zip(told, families, strict=True)
                for note in (
                    *audit.notes(complete=False), *cut_notes(audit), *common_notes(part), *_notes(family),
                    *(note for one in small if one is not None for note in one.notes),
                )
            )
        ),
        provenance=provenance_of(audit, told, criterion, None, _arguments),
    )  # fmt: skip


def _arguments(part: Disparities) -> dict[str, Any]:
    assert part.band is not None
    return {
        "metric": part.metric.to_dict(), "by": part.by, "target": plain_target(part), "tolerance": list(part.band),
        "direction": part.direction,
    }  # fmt: skip


def _flags(parts: Sequence[Disparities]) -> list[Flags]:
    """One correction over all groups of all metrics and cuts."""
    p = [group_p_values(part.gaps, part.direction, part.band) for part in parts]
    correct = CORRECTIONS[parts[0].request.correction]
    adjusted = np.split(correct(np.concatenate(p)), np.cumsum([one.size for one in p])[:-1])
    return [
        Flags(of=part, p=own, adjusted=corrected, limits=part.gaps.limits(part.request.level))
        for part, own, corrected in zip(parts, p, adjusted, strict=True)
    ]


def _details(criterion: str, flags: Sequence[Flags]) -> dict[str, Any]:
    """What charts and sentences need besides the table."""
    parts = [one.of for one in flags]
    first = across_cuts(parts)
    assert first.band is not None
    directions = {part.direction for part in parts}
    listed = [group for part in parts for group in (*part.groups, *(item.group for item in part.untested))]
    return {
        "label": criterion.replace("_", " ") or first.metric.label,
        "value_kind": first.value_kind,
        "target": first.target_label,
        "direction": first.direction if len(directions) == 1 else "harmed",
        "tolerance": list(first.band),
        "scale": first.scale,
        "within": list(first.request.within or ()),
        "fdr": first.request.fdr,
        "correction": first.request.correction,
        "confidence_level": first.request.level,
        "tested": sum(len(part.groups) for part in parts),
        "flagged": sum(len(one.places) for one in flags),
        "left_out": [item for part in parts for item in part.left_out],
        "places": [group.place for group in listed],
        **named_parts(parts, criterion),
    }


def group_p_values(gaps: Gaps, direction: str, band: Band | None) -> Floats:
    """p-values of the four nulls: at most, at least, inside the band, exactly."""
    assert band is not None
    if direction == "above":
        return gaps.p_at_most(band[1])
    if direction == "below":
        return gaps.p_at_least(band[0])
    if direction == "outside":
        return gaps.p_inside(*band)
    return gaps.p_equal(band[1])


def find_tolerance(request: Request, metric: Metric) -> tuple[Band, str]:
    """The tolerated gaps, and the side that is flagged: by default the harmed one where it is known."""
    side, direction, tolerance = harmed_side(request.audit, metric), request.direction, request.tolerance
    if direction is None:
        direction = side or "outside"
    direction = find_side(request.who, direction, metric, side) or direction
    if direction == "differs" and tolerance is not None:
        number = isinstance(tolerance, int | float) and not isinstance(tolerance, bool)
        if not number or not np.isfinite(tolerance):
            required = Words("with {} is the one value tested", Set("direction", "differs"))
            raise InputError(
                request.who, Fault("tolerance", required, got=tolerance, cure="write one number")
            )
        return (float(tolerance), float(tolerance)), direction
    nothing = no_gap(request.scale)
    band = find_scaled_band(request.who, tolerance, metric, request.scale)
    return band or (nothing, nothing), direction


def _described(parts: Sequence[Disparities]) -> list[Described | None]:
    """What is told of small groups in each metric; nothing where they are only listed."""
    if parts[0].request.small != "describe":
        return [None] * len(parts)
    from fairtrial._compare.small_cells import describe

    return [describe(part) for part in parts]


def _small_details(parts: Sequence[Disparities], small: Sequence[Described | None]) -> dict[str, Any]:
    """What holds of small groups together, and what the number of any groups beyond the tolerance needs."""
    told = [one for one in small if one is not None]
    if not told:
        return {}
    found = {
        "minimum": parts[0].request.minimum,
        "everyone": [one.everyone for one in told if one.everyone is not None],
        "tables": [table for one in told for table in one.tables],
    }
    why = next((one.why_not for one in told if one.why_not), "")
    return {"small": found | ({"why_not": why} if why else {})}


def _rows(flags: Flags, small: Described | None) -> list[dict[str, Any]]:
    part, gaps = flags.of, flags.of.gaps
    rows = gap_rows(part, part.request.level, {"": flags.limits})
    for index, (row, group) in enumerate(zip(rows, part.groups, strict=True)):
        flagged = bool(flags.adjusted[index] <= part.request.fdr)
        row |= {
            "depth": len(group.where),
            "p_value": float(flags.p[index]),
            "p_adjusted": float(flags.adjusted[index]),
            "flagged": flagged,
            "effect": (part.effect(index) if flagged else "") or None,
            **_state(flags, index, flagged, gaps.reason[index]).cells(),
        }
    rows += [_untested_row(part, item) for item in part.untested]
    cells = {} if small is None else small.cells
    return [row | cells.get(row["group"], {}) for row in rows]


def _state(flags: Flags, index: int, flagged: bool, why: str | None) -> State:
    part = flags.of
    if flagged:
        return State(finding_code(part, index, "flagged"))
    if part.bounds is not None and part.is_open(index):
        return State("undetermined", part.bounds.depends)
    why = why or why_no_side(part.gaps, flags.limits, index)
    return State("not flagged") if why is None else State("undetermined", why)


def _untested_row(part: Disparities, item: Untested) -> dict[str, Any]:
    why = item.state.reason
    rate = item.rate if item.n else undefined(why)
    return {
        **base_cells(part, item.group, item.n),
        "depth": len(item.group.where),
        "rate": rate if part.bounds is None else undefined(part.bounds.depends),
        **{name: undefined(why) for name in MISSING},
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


def _question(part: Disparities) -> str:
    assert part.band is not None
    text = _beyond(part.direction, part.band, part.binary, part.scale)
    return f"Which groups have a {part.metric.label} {text} {part.target_label}?"


def _null(part: Disparities) -> str:
    band, label, target = part.band, part.metric.label, part.target_label
    assert band is not None
    if part.scale == "difference" and part.direction == "differs" and band[1] != 0:
        return f"The group's {label} is {_exactly(band[1], part.binary)} {target}."
    return f"The group's {label} is not {_beyond(part.direction, band, part.binary, part.scale)} {target}."


def _joined(criterion: str, flags: Sequence[Flags]) -> Verdict:
    """The rates of a criterion, each with its own sentence."""
    own = [_verdict([one]) for one in flags]
    text = "; ".join(
        f"{one.of.metric.label}: {verdict.text}" for one, verdict in zip(flags, own, strict=True)
    )
    code = "flagged" if any(one.places for one in flags) else "none-flagged"
    told = tuple(row for verdict in own for row in verdict.about)
    return Verdict(code, f"{criterion.replace('_', ' ')}: {text}", told)


def _verdict(flags: Sequence[Flags]) -> Verdict:
    tested = sum(len(one.of.groups) for one in flags)
    what = "groups" if len(flags) == 1 else "comparisons (groups at cuts)"
    flagged = [(one, i) for one in flags for i in one.places]
    if not flagged:
        first = flags[0].of
        unknown = "" if first.bounds is None else f", which {first.bounds.depends}"
        return Verdict(
            "none-flagged",
            f"none of {tested:,} {what} flagged{first.alike_words}{unknown}: this does not show that they are treated "
            "equally",
        )
    harmed = [(one, i) for one, i in flagged if one.of.effect(i) != "favoured"]
    worst, i = max(harmed or flagged, key=lambda item: _size(*item))
    text = gap_sentence(worst.of, i, worst.limits, worst.of.request.level)
    return Verdict(
        "flagged",
        f"{len(flagged):,} of {tested:,} {what} flagged; furthest: {text}",
        (row_told(worst.of, i),),
    )


def _size(flags: Flags, index: int) -> float:
    """How far a gap goes in the direction that is flagged."""
    gap = float(flags.of.gaps.estimate[index])
    return {"above": gap, "below": -gap}.get(flags.of.direction, abs(gap))


def _notes(flags: Sequence[Flags]) -> list[Note]:
    correction = flags[0].of.request.correction
    tested = sum(len(one.of.groups) for one in flags)
    family = f"all {tested} groups" if len(flags) == 1 else f"all {tested} groups and cuts"
    notes = [
        Note(
            "one-family",
            f"{CORRECTION_WORDS[correction]} over {family} at once. Intervals are pointwise: a flagged group's "
            "was selected, so read it with its adjusted p-value.",
        )
    ]
    if correction == "bh" and (len(flags) > 1 or flags[0].of.overlapping):
        notes.append(
            Note(
                "bh-dependence",
                "Groups share people, so their tests depend on each other; Benjamini–Hochberg has no general guarantee "
                "then (in simulations of such families its rate held). The correction 'by' is proven for any "
                "dependence.",
            )
        )
    return notes

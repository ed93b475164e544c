"""From the gaps to the answer of certify: rows, one joint test, one verdict, notes.

A criterion that joins metrics, and a decision with an order, are several comparisons judged as one: certified when
every group is in each of them (intersection and union: no correction), violated by p-values corrected over all of them
or by an interval that holds for all of them at once; without a tolerance the joint test decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._compare.certify_verdict import find_verdict, least_compared, statement_of
from fairtrial._compare.comparing import across_cuts, cut_notes, named_parts, part_cells, provenance_of
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.judgement import Judgement, joint_of, judge, ratio_is_close, rows_apart
from fairtrial._compare.results import CertifyResult
from fairtrial._compare.rows import finding_code, gap_rows, why_no_side
from fairtrial._compare.tolerance import common_notes, plain_band, plain_target
from fairtrial._compare.unknown_outcomes import NOT_ENOUGH, OutcomeBounds
from fairtrial._compare.words import band_words
from fairtrial._errors import Note, notes_where
from fairtrial._inference.laws.gaps import JointTest
from fairtrial._results.column import State, undefined

CONSTANT = "rows were left out, and the decision is the same for all the others"
# what a table of ratios has under other names
DIFFERENCES_ONLY = ("together_low", "together_high", "certificate_low", "certificate_high", "detectable")


def answer(audit: Audit, criterion: str, parts: Sequence[Disparities]) -> CertifyResult:
    """Judge every group against the tolerance, and all together, in one metric, at all cuts or in a criterion."""
    judged = judge(parts)
    joint = _joint(parts, criterion)
    first = across_cuts(parts, " at every cut of the decision")
    told = parts if criterion else [first]
    return CertifyResult(
        question=_question(criterion, parts) if criterion else _question_of(first),
        null=" ".join(dict.fromkeys(_null(part) for part in told)),
        verdict=find_verdict(criterion, judged, joint),
        estimates=tuple({**row, **part_cells(one.of, criterion)} for one in judged for row in _rows(one)),
        details=_details(criterion, judged, joint),
        notes=(
            *dict.fromkeys(
                note
                for part, one in zip(told, judged, strict=False)
                for note in (
                    *audit.notes(complete=False),
                    *cut_notes(audit),
                    *common_notes(part),
                    *_notes(one),
                )
            ),
            *_criterion_note(criterion, joint),
        ),
        provenance=provenance_of(audit, told, criterion, first.request.seed, _arguments),
    )


def _arguments(part: Disparities) -> dict[str, Any]:
    return {
        "metric": part.metric.to_dict(),
        "by": part.by,
        "target": plain_target(part),
        "tolerance": plain_band(part.band),
    }


def _joint(parts: Sequence[Disparities], criterion: str) -> JointTest:
    """No gap at all; of an ordered decision the test of the cut with the smallest p-value, corrected over the cuts."""
    tests = [part.joint() for part in parts]
    if criterion:
        return joint_of(tests, rows_apart(parts))
    best = min(tests, key=lambda test: test.p_value)
    return replace(best, p_value=min(1.0, len(tests) * best.p_value))


def _rows(judged: Judgement) -> list[dict[str, Any]]:
    """The estimates table."""
    part, gaps, needed = judged.of, judged.of.gaps, judged.needed
    rows = gap_rows(part, part.request.level, judged.limits)
    for index, row in enumerate(rows):
        why, verdict = gaps.reason[index], str(judged.verdict[index])
        no_side = why_no_side(gaps, judged.pointwise, index) if verdict == "undetermined" else None
        reason = why or (CONSTANT if part.constant_after_dropping else "") or no_side or ""
        if part.bounds is not None and verdict == "undetermined" and why is None:
            reason = part.bounds.depends if part.is_open(index) else ""
            if part.band is not None and isinstance(part.bounds, OutcomeBounds):
                found = judged.labels[index]
                row["labels_needed"] = undefined(NOT_ENOUGH) if found is None else found.labels
        row |= {
            "target": part.target_label,
            "p_value": float(judged.p[index]),
            "p_adjusted": float(judged.adjusted[index]),
            "effect": (part.effect(index) if verdict == "violated" else "") or None,
            **State(_code(part, index, verdict), reason).cells(),
            "family_state": _code(part, index, str(judged.family[index])),
            "members_needed": needed.members[index],
            "rows_needed": needed.rows[index],
            "detectable": undefined(why) if why is not None else needed.detectable[index],
            **(dict.fromkeys(DIFFERENCES_ONLY) if part.scale == "ratio" else judged.ratios[index]),
        }
    return rows


def _code(part: Disparities, index: int, verdict: str) -> str:
    return finding_code(part, index, verdict) if verdict == "violated" else verdict


def _details(criterion: str, judged: Sequence[Judgement], joint: JointTest) -> dict[str, Any]:
    """What charts and sentences need besides the table."""
    parts = [one.of for one in judged]
    first, one = across_cuts(parts), judged[0]
    bands = [plain_band(part.band) for part in parts]
    # where only the harmed side counts, each rate has an end of its own of the band that was asked for
    asked = [
        [end for end in ends if end is not None] for ends in zip(*(band or () for band in bands), strict=True)
    ]
    return {
        "label": criterion.replace("_", " ") or first.metric.label,
        "value_kind": first.value_kind,
        "target": least_compared(parts).target_label,
        "tolerance": [ends[0] if ends else None for ends in asked] or None,
        "scale": first.scale,
        "within": list(first.request.within or ()),
        "confidence_level": first.request.level,
        "certificate_level": one.certificate_level,
        "together_level": one.together_level if criterion else min(each.together_level for each in judged),
        "ratios_within": _ratios_within(judged),
        "statement": None if bands[0] is None else statement_of(criterion, judged),
        "joint": {
            "statistic": joint.statistic if np.isfinite(joint.statistic) else None, "df": joint.df,
            "p_value": joint.p_value, "rule": joint.rule, "reason": joint.reason,
            **({"cuts": len(parts)} if first.cut else {}),
        },
        "untested": [_untested(part, item.to_dict(), criterion) for part in parts for item in part.untested],
        "left_out": [item for part in parts for item in part.left_out],
        "places": [group.place for part in parts for group in part.groups],
        **named_parts(parts, criterion),
    }  # fmt: skip


def _ratios_within(judged: Sequence[Judgement]) -> bool | None:
    """Whether every ratio is shown to be within four fifths and its inverse; None of means and of certified ratios."""
    if judged[0].of.scale == "ratio" or not any(one.of.binary for one in judged):
        return None
    return all(ratio_is_close(row) for one in judged if one.of.binary for row in one.ratios)


def _untested(part: Disparities, item: dict[str, Any], criterion: str) -> dict[str, Any]:
    if criterion:
        return {**item, "metric_label": part.metric.label}
    return {**item, "metric": part.metric.name} if part.cut else item


def _question(criterion: str, parts: Sequence[Disparities]) -> str:
    words, labels = criterion.replace("_", " "), " and ".join(part.metric.label for part in parts)
    return (
        f"Does {words} hold: are the {labels} of every group those of {least_compared(parts).target_label}?"
    )


def _question_of(part: Disparities) -> str:
    label, target = part.metric.label, part.target_label
    if part.band is None:
        return f"Is the {label} of every group that of {target}?"
    return (
        f"Is the {label} of every group within {band_words(part.band, part.binary, part.scale)} of {target}?"
    )


def _null(part: Disparities) -> str:
    label, target = part.metric.label, part.target_label
    if part.band is None:
        return f"Every group's {label} equals that of {target}."
    text = band_words(part.band, part.binary, part.scale)
    return (
        f"To be violated: every group's {label} lies within {text} of {target}. "
        f"To be certified: some group's lies outside."
    )


def _notes(judged: Judgement) -> list[Note]:
    part = judged.of
    banded, level = part.band is not None, part.request.level
    certificate = (
        f"A group is certified when its {100 * judged.certificate_level:g}% interval (two one-sided tests) lies "
        f"inside the tolerance; the {100 * level:g}% intervals shown are wider. A list of certified groups "
        "holds for all of them at once only by 'verdict, all at once' (family_state in the saved tables)."
    )
    overall = (
        "'overall' contains the group itself and shrinks the gaps of large groups: for tolerances prefer "
        "everyone else or a reference group as the target."
    )
    constant = "A group without inference is undetermined and cannot be certified."
    too_many = (
        f"The joint law of {len(part.groups):,} groups is too large to work out: the joint test and the "
        "intervals that hold for all groups at once are Bonferroni's bounds, which are valid and wider."
    )
    return notes_where(
        {
            "certificate": (banded, certificate),
            "overall-shrinks": (banded and getattr(part.target, "kind", "") == "overall", overall),
            "joint-bound": (part.too_many and part.bounds is None, too_many),
            "constant-group": (bool(np.any(~part.gaps.defined)), constant),
        }
    )


def _criterion_note(criterion: str, joint: JointTest) -> list[Note]:
    text = (
        "A criterion is certified when every group is for each of its rates, and violated by p-values corrected over "
        f"all groups and rates; the joint test is that of all rates ({joint.rule})."
    )
    return [Note("criterion", text)] if criterion else []

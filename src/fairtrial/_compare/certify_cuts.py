"""Certify of an ordered decision: every cut judged by itself, corrected over all of them, and one verdict.

A certificate needs every group at every cut (intersection-union, no correction). "Violated" is Holm's over all groups
and cuts, or an interval that holds for all of them at once: within a cut by the largest |t|, over m cuts at level
1 - alpha/m.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._compare.certify_answer import WHO, Wanted, notes_of, null_words, question_words
from fairtrial._compare.cuts import across_cuts, cut_details, cut_notes
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.judgement import Judgement, gap_sentence, group_rows, judge, row_told, wide_tolerance
from fairtrial._compare.results import CertifyResult
from fairtrial._compare.tolerance import common_notes, plain_band, plain_target
from fairtrial._compare.words import band_words
from fairtrial._errors import Fault, NotApplicable
from fairtrial._inference.multiplicity import holm
from fairtrial._results.column import Verdict
from fairtrial._results.text import counted


def answer_cuts(audit: Audit, cuts: Mapping[str, Disparities], wanted: Wanted) -> CertifyResult:
    """Judge every group at every cut against the band, and all of them together."""
    asked = {"vector": wanted.vector is not None, "rule": wanted.rule != "equivalence"}
    refused = [name for name, given in asked.items() if given]
    if refused:
        required = "is not for a decision with an order: ask it of one cut"
        raise NotApplicable(WHO, [Fault(name, required) for name in refused])
    first = across_cuts(cuts, " at every cut of the decision")
    judgements = judge_cuts(list(cuts.values()), wanted)
    joint = _joint(cuts)
    return CertifyResult(
        question=question_words(first, wanted.band),
        null=null_words(first, wanted.band),
        verdict=_verdict(cuts, judgements, float(joint["p_value"])),
        estimates=tuple(
            {**row, "cut": name}
            for (name, cut), one in zip(cuts.items(), judgements, strict=True)
            for row in group_rows(cut, one)
        ),
        details=_details(cuts, judgements, joint, wanted),
        notes=(
            *audit.notes(complete=False),
            *cut_notes(audit),
            *common_notes(first),
            *notes_of(judgements[0], wanted.rule, first),
        ),
        provenance=audit.provenance(
            first.source,
            seed=wanted.seed,
            arguments={
                "metric": first.metric.to_dict(),
                "by": first.by,
                "target": plain_target(first),
                "tolerance": plain_band(wanted.band),
            },
        ),
    )


def judge_cuts(cuts: list[Disparities], wanted: Wanted) -> list[Judgement]:
    """Each cut alone for intervals and certificates; what holds at once holds over all groups of all cuts."""
    level, alpha = wanted.confidence_level, 1.0 - wanted.confidence_level
    alone = [judge(cut, wanted.band, level, wanted.power, wanted.seed) for cut in cuts]
    at_once = [judge(cut, wanted.band, 1.0 - alpha / len(cuts), wanted.power, wanted.seed) for cut in cuts]
    ends = np.cumsum([one.p.size for one in alone])[:-1]
    adjusted = np.split(holm(np.concatenate([one.p for one in alone])), ends)
    found = []
    for one, together, corrected in zip(alone, at_once, adjusted, strict=True):
        family = np.where(corrected <= alpha, "violated", together.family)
        wider, each = together.together, together.together_level
        found.append(replace(one, adjusted=corrected, family=family, together=wider, together_level=each))
    return found


def _joint(cuts: Mapping[str, Disparities]) -> dict[str, Any]:
    """The joint test of the cut with the smallest p-value, corrected over the cuts."""
    tests = [cut.joint() for cut in cuts.values()]
    best = min(tests, key=lambda test: test.p_value)
    return {
        "statistic": best.statistic, "df": best.df, "p_value": min(1.0, len(tests) * best.p_value), "rule": best.rule,
        "reason": best.reason, "cuts": len(tests),
    }  # fmt: skip


def _verdict(cuts: Mapping[str, Disparities], judgements: list[Judgement], joint: float) -> Verdict:
    first, judged = across_cuts(cuts), judgements[0]
    places = [
        (cut, one, int(i))
        for cut, one in zip(cuts.values(), judgements, strict=True)
        for i in range(one.p.size)
    ]
    violated = [place for place in places if place[1].family[place[2]] == "violated"]
    strongest, told = "", tuple[dict[str, str], ...]()
    if violated:
        harmed = [place for place in violated if place[0].effect(place[2]) != "favoured"]
        cut, one, index = min(harmed or violated, key=lambda place: float(place[1].p[place[2]]))
        more = f" (strongest of {len(violated)} groups and cuts)" if len(violated) > 1 else ""
        strongest, told = gap_sentence(cut, one, index) + more, (row_told(cut, index),)
    if judged.band is None:
        return replace(_without_tolerance(first, judged, joint, strongest), about=told)
    band = band_words(judged.band, first.binary, first.scale)
    if strongest:
        return Verdict("violated", f"violated: {strongest}; tolerance {band}", told)
    certified = sum(int((one.verdict == "certified").sum()) for one in judgements)
    words = f"within {band} of {first.target_label}"
    if certified == len(places):
        warned = any(wide_tolerance(cut, judged.band) for cut in cuts.values())
        return Verdict("certified", f"certified: {_statement(cuts, judged)}", ({},) if warned else ())
    return Verdict(
        "undetermined",
        f"undetermined: {first.metric.label} is certified {words} for "
        f"{certified} of {counted(len(places), 'comparison')} (groups at cuts) and violated for none",
    )


def _statement(cuts: Mapping[str, Disparities], judged: Judgement) -> str:
    first = across_cuts(cuts)
    assert judged.band is not None
    band = band_words(judged.band, first.binary, first.scale)
    groups = ", ".join(dict.fromkeys(group.label for cut in cuts.values() for group in cut.groups))
    wide = next((text for cut in cuts.values() if (text := wide_tolerance(cut, judged.band))), "")
    untested = sum(len(cut.untested) for cut in cuts.values())
    left_out = f"; {counted(untested, 'comparison')} not tested" if untested else ""
    return (
        f"{first.metric.label} at every cut ({', '.join(cuts)}) of {groups} is within {band} of {first.target_label} "
        f"at level {100 * judged.level:g}%{left_out}{wide}"
    )


def _without_tolerance(first: Disparities, judged: Judgement, joint: float, strongest: str) -> Verdict:
    if joint <= 1.0 - judged.level:
        text = (
            strongest
            or f"{first.metric.label}: the groups differ jointly at some cut (p {joint:.3f}), none stands out"
        )
        return Verdict("violated", f"violated: {text}")
    return Verdict(
        "none-shown",
        f"no violation shown: no disparity in {first.metric.label} was found{first.alike_words} (joint p {joint:.3f} "
        "over all cuts); without a tolerance nothing can be certified",
    )


def _details(
    cuts: Mapping[str, Disparities], judgements: list[Judgement], joint: dict[str, Any], wanted: Wanted
) -> dict[str, Any]:
    first, judged = across_cuts(cuts), judgements[0]
    return {
        "label": first.metric.label,
        "value_kind": first.value_kind,
        "target": first.target_label,
        "tolerance": plain_band(wanted.band),
        "scale": first.scale,
        "within": list(first.inference.within or ()),
        "confidence_level": wanted.confidence_level,
        "certificate_level": judged.certificate_level,
        "together_level": min(one.together_level for one in judgements),
        "rule": wanted.rule,
        "statement": None if wanted.band is None else _statement(cuts, judged),
        "joint": joint,
        "untested": [
            {**item.to_dict(), "metric": cut.metric.name} for cut in cuts.values() for item in cut.untested
        ],
        "left_out": [item for cut in cuts.values() for item in cut.left_out],
        "places": [group.place for cut in cuts.values() for group in cut.groups],
        **cut_details(cuts),
    }

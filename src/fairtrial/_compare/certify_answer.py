"""From gaps to the answer of certify: judgement, joint test, sentences and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.judgement import Judgement, group_rows, judge, overall_verdict, statement
from fairtrial._compare.results import CertifyResult
from fairtrial._compare.sorted_groups import Estimate
from fairtrial._compare.tolerance import common_notes, plain_band, plain_target
from fairtrial._compare.words import band_words
from fairtrial._errors import Fault, InputError, NotApplicable, Note, Set, Words, did_you_mean, notes_where
from fairtrial._inference.evidence.atoms import as_matrix
from fairtrial._inference.joint.joint_test import JointTest
from fairtrial._inference.joint.region import region_test
from fairtrial._inference.numeric.roots import Floats

WHO = "certify"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of the gaps."""

    band: tuple[float, float] | None
    rule: str
    vector: Mapping[str, float] | Sequence[float] | None
    confidence_level: float
    power: float
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """The gaps of one metric with their verdicts and their joint test."""

    disparities: Disparities
    wanted: Wanted
    judgement: Judgement
    joint: JointTest


def judge_one(disparities: Disparities, wanted: Wanted, others: Sequence[Floats] = ()) -> Judged:
    """Judge every group against the band, and all of them together; `others` are p-values judged with these."""
    judgement = judge(disparities, wanted.band, wanted.confidence_level, wanted.power, wanted.seed, others)
    return Judged(disparities, wanted, judgement, disparities.joint())


def answer(audit: Audit, judged: Judged) -> CertifyResult:
    """What was found of one metric."""
    disparities, wanted, judgement, joint = judged.disparities, judged.wanted, judged.judgement, judged.joint
    band = wanted.band
    return CertifyResult(
        question=question_words(disparities, band),
        null=null_words(disparities, band),
        verdict=overall_verdict(disparities, judgement, joint, wanted.rule),
        estimates=tuple(group_rows(disparities, judgement)),
        details=_details(disparities, judgement, joint, wanted),
        notes=(
            *audit.notes(complete=False),
            *common_notes(disparities),
            *notes_of(judgement, wanted.rule, disparities),
        ),
        provenance=audit.provenance(
            disparities.source,
            seed=wanted.seed,
            arguments={
                "metric": disparities.metric.to_dict(),
                "by": disparities.by,
                "target": plain_target(disparities),
                "tolerance": plain_band(band),
            },
        ),
    )


def _details(
    disparities: Disparities, judgement: Judgement, joint: JointTest, wanted: Wanted
) -> dict[str, Any]:
    """What charts and sentences need besides the table."""
    details: dict[str, Any] = {
        "label": disparities.metric.label,
        "value_kind": disparities.value_kind,
        "target": disparities.target_label,
        "tolerance": plain_band(wanted.band),
        "scale": disparities.scale,
        "within": list(disparities.inference.within or ()),
        "confidence_level": wanted.confidence_level,
        "certificate_level": judgement.certificate_level,
        "together_level": judgement.together_level,
        "rule": wanted.rule,
        "statement": None if wanted.band is None else statement(disparities, judgement),
        "joint": {
            "statistic": _finite(joint.statistic), "df": joint.df, "p_value": joint.p_value, "rule": joint.rule,
            "reason": joint.reason,
        },
        "untested": [item.to_dict() for item in disparities.untested],
        "left_out": disparities.left_out,
        "places": [group.place for group in disparities.groups],
    }  # fmt: skip
    if wanted.vector is not None:
        details["region"] = region_details(disparities, wanted.vector, wanted.confidence_level)
    return details


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def question_words(disparities: Disparities, band: tuple[float, float] | None) -> str:
    label, target = disparities.metric.label, disparities.target_label
    if band is None:
        return f"Is the {label} of every group that of {target}?"
    text = band_words(band, disparities.binary, disparities.scale)
    return f"Is the {label} of every group within {text} of {target}?"


def null_words(disparities: Disparities, band: tuple[float, float] | None) -> str:
    label, target = disparities.metric.label, disparities.target_label
    if band is None:
        return f"Every group's {label} equals that of {target}."
    text = band_words(band, disparities.binary, disparities.scale)
    return (
        f"To be violated: every group's {label} lies within {text} of {target}. "
        f"To be certified: some group's lies outside."
    )


def notes_of(judgement: Judgement, rule: str, disparities: Disparities) -> list[Note]:
    banded = judgement.band is not None
    certificate = (
        f"A group is certified when its {100 * judgement.certificate_level:g}% interval (two one-sided tests) lies "
        f"inside the tolerance; the {100 * judgement.level:g}% intervals shown are wider. A list of certified groups "
        "holds for all of them at once only by 'verdict, all at once' (family_state in the saved tables)."
    )
    overall = (
        "'overall' contains the group itself and shrinks the gaps of large groups: for tolerances prefer "
        "everyone else or a reference group as the target."
    )
    paper = (
        "The rule 'paper' certifies whatever is not rejected, so a small enough sample certifies anything: it is the "
        "ELFA paper's wording, not evidence of fairness."
    )
    constant = "A group without inference is undetermined and cannot be certified."
    too_many = (
        f"The joint law of {len(disparities.groups):,} groups is too large to work out: the joint test and the "
        "intervals that hold for all groups at once are Bonferroni's bounds, which are valid and wider."
    )
    return notes_where(
        {
            "certificate": (banded, certificate),
            "overall-shrinks": (banded and getattr(disparities.target, "kind", "") == "overall", overall),
            "paper-rule": (rule == "paper", paper),
            "joint-bound": (disparities.too_many and disparities.bounds is None, too_many),
            "constant-group": (bool(np.any(~disparities.gaps.defined)), constant),
        }
    )


def region_details(
    disparities: Disparities, vector: Mapping[str, float] | Sequence[float], level: float
) -> dict[str, Any]:
    """The test of 'the disparities are exactly these', in JSON form."""
    values = _vector(disparities, vector)
    _refuse_irregular(disparities)
    known = disparities.comparison.known
    target = disparities.target
    shared = disparities.shared_reference if getattr(target, "kind", "") == "reference" else None
    test = region_test(
        disparities.atoms,
        as_matrix(disparities.member),
        shared,
        None if known is None else float(known[0]),
        values,
    )
    return {
        "vector": {group.label: float(v) for group, v in zip(disparities.groups, values, strict=True)},
        "statistic": test.statistic if np.isfinite(test.statistic) else None,
        "df": test.df,
        "p_value": test.p_value,
        "inside": bool(test.p_value >= 1.0 - level),
        "rule": test.rule,
    }


def _vector(disparities: Disparities, vector: Mapping[str, float] | Sequence[float]) -> Floats:
    labels = [group.label for group in disparities.groups]
    if isinstance(vector, Mapping):
        for name in vector:
            if name not in labels:
                hint = did_you_mean(name, labels)
                raise InputError(WHO, Fault("vector", f"names {name!r}, not a tested group", hint=hint))
        missing = [label for label in labels if label not in vector]
        if missing:
            required = f"needs a disparity for every tested group; missing: {missing}"
            raise InputError(WHO, Fault("vector", required))
        listed = [vector[label] for label in labels]
    else:
        listed = list(vector) if isinstance(vector, list | tuple) else []
    if len(listed) != len(labels) or not all(isinstance(value, int | float) for value in listed):
        raise InputError(WHO, Fault("vector", f"needs one finite disparity for each of {labels}", got=vector))
    return np.array(listed, dtype=np.float64)


def _refuse_irregular(disparities: Disparities) -> None:
    """With overall (or rest, three groups and more) on a partition the limit changes with the vector itself."""
    target = disparities.target
    if isinstance(target, Estimate):
        required = "is not for a target you estimated yourself; ask for intervals instead"
        raise NotApplicable(WHO, Fault("vector", required))
    other = (disparities.weighted, disparities.within, disparities.paired, disparities.bounds)
    if any(evidence is not None for evidence in other) or disparities.scale == "ratio":
        required = (
            "is for plain differences: without weights, units, pairs, within, unknown outcomes and ratios"
        )
        raise NotApplicable(WHO, Fault("vector", required, cure="Leave it out"))
    if not disparities.gaps.defined.all():
        required = "needs every group to have variation; see the reasons in the table"
        raise NotApplicable(WHO, Fault("vector", required))
    member = as_matrix(disparities.member)[:, disparities.atoms.count > 0].astype(np.float64)
    everyone = np.ones((1, member.shape[1]))
    rank = np.linalg.matrix_rank(member)
    make_up_everyone = bool(np.linalg.matrix_rank(np.vstack([member, everyone])) == rank)
    if target.kind == "overall":
        cure = Words("use {}, a reference group or a number", Set("target", "rest"))
        raise NotApplicable(WHO, Fault("vector", "has no regular limit against 'overall'", cure=cure))
    if target.kind == "rest" and make_up_everyone and len(disparities.groups) > 2:
        required = (
            "has no regular limit against 'rest' when three or more groups, or some of them, make up everyone: the "
            "shares tie the disparities together"
        )
        raise NotApplicable(WHO, Fault("vector", required, cure="Use a reference group or a number"))

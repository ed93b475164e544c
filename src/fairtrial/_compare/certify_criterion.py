"""A criterion that joins metrics (separation, sufficiency) as one verdict with the rows of each of its rates.

It is certified when every group is certified for every rate (intersection and union: no correction), violated when one
of them is by Holm's p-value over all rates or by an interval that holds for all of them at once; without a tolerance
the joint test of all rates decides.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from fairtrial._audit.audit import Audit
from fairtrial._compare.certify_answer import WHO, Judged, Wanted, answer, judge_one
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.judgement import row_told, statement, strongest, strongest_place, wide_tolerance
from fairtrial._compare.results import CertifyResult
from fairtrial._compare.scales import band_p_values
from fairtrial._compare.tolerance import plain_band
from fairtrial._compare.words import band_words
from fairtrial._errors import Fault, Named, NotApplicable, Note, Words
from fairtrial._inference.joint.joint_test import JointTest
from fairtrial._inference.rates.binary_gaps import SMALLEST_P
from fairtrial._metrics.metric import Metric
from fairtrial._results.column import Verdict
from fairtrial._results.text import counted


def judge_criterion(audit: Audit, name: str, asked: Sequence[tuple[Disparities, Wanted]]) -> CertifyResult:
    """One result about all rates of the criterion."""
    if asked[0][1].vector is not None:
        required = "is about the gaps of one metric, not of a criterion that joins several"
        raise NotApplicable(
            WHO, Fault("vector", required, cure=Words("leave {} out, or ask for one metric", Named("vector")))
        )
    p = [band_p_values(disparities.gaps, wanted.band) for disparities, wanted in asked]
    parts = [
        judge_one(disparities, wanted, [*p[:place], *p[place + 1 :]])
        for place, (disparities, wanted) in enumerate(asked)
    ]
    results = [answer(audit, part) for part in parts]
    joint = joint_of([part.joint for part in parts], rows_apart([part.disparities for part in parts]))
    words = name.replace("_", " ")
    labels = " and ".join(part.disparities.metric.label for part in parts)
    return CertifyResult(
        question=f"Does {words} hold: are the {labels} of every group those of {_least_compared(parts).target_label}?",
        null=" ".join(dict.fromkeys(result.null for result in results)),
        verdict=_verdict(words, labels, parts, joint),
        estimates=tuple(_rows(parts, results)),
        details=_details(name, parts, results, joint),
        notes=_notes(results, joint),
        provenance=_provenance(name, results),
    )


def _least_compared(parts: Sequence[Judged]) -> Disparities:
    """The rate of which the smallest share of a group is compared: what is said of it holds for the others."""
    return min(
        (part.disparities for part in parts),
        key=lambda one: 1.0 if one.within is None else float(one.within.gaps.compared.min()),
    )


def rows_apart(several: Sequence[Disparities]) -> bool:
    """Whether the metrics' rows are other people's: conditions that exclude each other, and each row a person."""
    plain = all(one.weighted is None and one.paired is None for one in several)
    return plain and all(
        _exclude(one.metric, other.metric) for i, one in enumerate(several) for other in several[:i]
    )


def _exclude(one: Metric, other: Metric) -> bool:
    shared = set(one.conditions) & set(other.conditions)
    return any(not set(one.conditions[part]) & set(other.conditions[part]) for part in shared)


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
    statistic = float(sum(special.chdtri(test.df, test.p_value) for test in tests))
    return JointTest(
        statistic, df, max(float(special.chdtrc(df, statistic)), SMALLEST_P), "sum over the rates"
    )


def _verdict(name: str, labels: str, parts: Sequence[Judged], joint: JointTest) -> Verdict:
    alpha = 1.0 - parts[0].wanted.confidence_level
    if parts[0].wanted.rule == "paper":
        found = (
            "is rejected" if joint.p_value <= alpha else "is not rejected (absence of evidence, not of a gap)"
        )
        code = "paper-rejected" if joint.p_value <= alpha else "paper-certified"
        judged = "not certified" if joint.p_value <= alpha else "certified"
        return Verdict(code, f"by the paper's rule {judged}: {name}, the equality of {labels}, {found}")
    violated = [part for part in parts if (part.judgement.family == "violated").any()]
    found = "; ".join(strongest(part.disparities, part.judgement) for part in violated)
    told = tuple(
        row_told(part.disparities, strongest_place(part.disparities, part.judgement)) for part in violated
    )
    if parts[0].wanted.band is None:
        labels += _least_compared(parts).alike_words
        return _without_tolerance(name, labels, (found, told), joint, alpha)
    band = _band(parts)
    if violated:
        return Verdict("violated", f"violated: {name}: {found}; tolerance {band}", told)
    if all((part.judgement.verdict == "certified").all() for part in parts):
        return Verdict(
            "certified", f"certified: {name}: {_statement(parts)}", ({},) if _warned(parts) else ()
        )
    total = sum(part.judgement.verdict.size for part in parts)
    certified = sum(int((part.judgement.verdict == "certified").sum()) for part in parts)
    return Verdict(
        "undetermined",
        f"undetermined: {name} ({labels}) is certified within {band} of {_least_compared(parts).target_label} for "
        f"{certified} of {counted(total, 'rate')} and violated for none",
    )


def _band(parts: Sequence[Judged]) -> str:
    """The tolerance in words; that of each rate where they differ."""
    words: dict[str, str] = {}
    for part in parts:
        assert part.wanted.band is not None
        told = band_words(part.wanted.band, part.disparities.binary, part.disparities.scale)
        words.setdefault(told, part.disparities.metric.label)
    if len(words) == 1:
        return next(iter(words))
    return " and ".join(f"{told} ({label})" for told, label in words.items())


def _statement(parts: Sequence[Judged]) -> str:
    return "; ".join(statement(part.disparities, part.judgement) for part in parts)


def _warned(parts: Sequence[Judged]) -> bool:
    """Whether the statement tells the smallest rate of all."""
    return any(
        part.wanted.band is not None and wide_tolerance(part.disparities, part.wanted.band) for part in parts
    )


def _without_tolerance(
    name: str, labels: str, found: tuple[str, tuple[dict[str, str], ...]], joint: JointTest, alpha: float
) -> Verdict:
    """The joint test of all rates decides."""
    p = f"joint p {joint.p_value:.3f}" if joint.p_value >= 0.001 else "joint p < 0.001"
    if joint.p_value <= alpha:
        alone = found[0] or "no single group stands out"
        return Verdict("violated", f"violated: {name} (equal {labels}) is rejected, {p}: {alone}", found[1])
    return Verdict(
        "none-shown",
        f"no violation shown: {name} (equal {labels}) is not rejected, {p}; without a tolerance nothing can be "
        "certified",
    )


def _rows(parts: Sequence[Judged], results: Sequence[CertifyResult]) -> list[dict[str, Any]]:
    return [
        {**row, "metric_label": part.disparities.metric.label}
        for part, result in zip(parts, results, strict=True)
        for row in result.estimates
    ]


def _details(
    name: str, parts: Sequence[Judged], results: Sequence[CertifyResult], joint: JointTest
) -> dict[str, Any]:
    """What charts and sentences need besides the table, of all rates."""
    first, labels = results[0].details, [part.disparities.metric.label for part in parts]
    bands = [plain_band(part.wanted.band) for part in parts]
    # where only the harmed side counts, each rate has an end of its own of the band that was asked for
    asked = [
        [end for end in ends if end is not None] for ends in zip(*(band or () for band in bands), strict=True)
    ]
    tolerance = [ends[0] if ends else None for ends in asked] or None
    untested = [
        {**item, "metric_label": label}
        for label, result in zip(labels, results, strict=True)
        for item in result.details["untested"]
    ]
    return {
        **first,
        "label": name.replace("_", " "),
        "criterion": name,
        "target": _least_compared(parts).target_label,
        "labels": {part.disparities.metric.name: part.disparities.metric.label for part in parts},
        "tolerance": tolerance,
        "statement": None if bands[0] is None else _statement(parts),
        "joint": {
            "statistic": None if np.isnan(joint.statistic) else joint.statistic, "df": joint.df,
            "p_value": joint.p_value, "rule": joint.rule, "reason": joint.reason,
        },
        "untested": untested,
        "left_out": [item for result in results for item in result.details["left_out"]],
        "places": [place for result in results for place in result.details["places"]],
    }  # fmt: skip


def _notes(results: Sequence[CertifyResult], joint: JointTest) -> tuple[Note, ...]:
    """Each note once."""
    text = (
        "A criterion is certified when every group is for each of its rates, and violated by p-values corrected over "
        f"all groups and rates; the joint test is that of all rates ({joint.rule})."
    )
    return (*dict.fromkeys(note for result in results for note in result.notes), Note("criterion", text))


def _provenance(name: str, results: Sequence[CertifyResult]) -> dict[str, Any]:
    first = results[0].provenance
    digests = "".join(str(result.provenance["data"]) for result in results)
    digest = hashlib.sha256(digests.encode()).hexdigest()[:16]
    return {**first, "data": digest, "arguments": {**first["arguments"], "metric": name}}

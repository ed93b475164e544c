"""From the gaps to the paper's answers: what is not rejected is certified; is a vector of gaps in the joint region?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from fairtrial._compare import certify_answer, flag_answer
from fairtrial._compare.comparing import compare
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.request import Request
from fairtrial._compare.sorted_groups import OwnEstimate
from fairtrial._compare.tolerance import find_tolerance
from fairtrial._errors import Fault, InputError, Named, NotApplicable, Note, Set, Words, did_you_mean
from fairtrial._inference.evidence.atoms import as_matrix
from fairtrial._inference.laws.gaps import JointTest
from fairtrial._inference.numeric.roots import Floats
from fairtrial._metrics.table import find_criterion
from fairtrial._results.column import Verdict
from fairtrial._results.result import Result
from fairtrial.papers.elfa._procedure import PaperProcedure
from fairtrial.papers.elfa._region import region_test
from fairtrial.papers.elfa._results import PaperCertificate, PaperFlags

R = TypeVar("R", bound=Result)
Vector = Mapping[str, float] | Sequence[float] | None
PAPER_RULE = (
    "The rule 'paper' certifies whatever is not rejected, so a small enough sample certifies anything: it is the "
    "ELFA paper's wording, not evidence of fairness."
)


def certify_by_paper(request: Request, metric: object, rule: str, vector: Vector) -> PaperCertificate:
    """Every group's gap, the joint test, and by the paper's rule what follows from it."""
    criterion, metrics = find_criterion(request.who, metric, None)
    if vector is not None and len(metrics) > 1:
        cure = Words("leave {} out, or ask for one metric", Named("vector"))
        required = "is about the gaps of one metric, not of a criterion that joins several"
        raise NotApplicable(request.who, Fault("vector", required, cure=cure))
    parts = compare(request, metrics, lambda one: (find_tolerance(request, one), ""))
    criterion = criterion if len(metrics) > 1 else ""
    found = _as(PaperCertificate, certify_answer.answer(request.audit, criterion, parts))
    details: dict[str, Any] = {**found.details, "rule": rule}
    if vector is not None:
        details["region"] = _region(parts[0], vector)
    if rule == "paper":
        verdict = _verdict(criterion, [part.metric.label for part in parts], found)
        found = replace(found, verdict=verdict, notes=(*found.notes, Note("paper-rule", PAPER_RULE)))
    return replace(found, details=details)


def flag_by_paper(request: Request, metric: object) -> PaperFlags:
    """Every group with its p-value, corrected over all of them."""
    criterion, metrics = find_criterion(request.who, metric, None)
    parts = compare(request, metrics, lambda one: flag_answer.find_tolerance(request, one))
    return _as(PaperFlags, flag_answer.answer(request.audit, criterion if len(metrics) > 1 else "", parts))


def _as(kind: type[R], result: Result) -> R:
    """The same result, as the paper's own kind."""
    return kind(**{one.name: getattr(result, one.name) for one in fields(result) if one.init})


def _verdict(criterion: str, labels: Sequence[str], found: PaperCertificate) -> Verdict:
    """Certified is what is not rejected."""
    rejected = found.p_value <= 1.0 - found.details["confidence_level"]
    code = "paper-rejected" if rejected else "paper-certified"
    judged = "not certified" if rejected else "certified"
    if criterion:
        said = "is rejected" if rejected else "is not rejected (absence of evidence, not of a gap)"
        equal = f"{criterion.replace('_', ' ')}, the equality of {' and '.join(labels)}, {said}"
        return Verdict(code, f"by the paper's rule {judged}: {equal}")
    said = "is rejected" if rejected else "is not rejected (absence of evidence, not evidence of fairness)"
    return Verdict(code, f"by the paper's rule {judged}: equality of {labels[0]} {said}")


def _region(disparities: Disparities, vector: Mapping[str, float] | Sequence[float]) -> dict[str, Any]:
    """The test of 'the disparities are exactly these', in JSON form."""
    values = _vector(disparities, vector)
    _refuse_own_estimate(disparities)
    procedure = disparities.request.procedure
    plugged = None
    if isinstance(procedure, PaperProcedure):
        plugged = procedure.region(disparities.atoms, disparities.comparison, values)
    test = plugged or _valid_region(disparities, values)
    return {
        "vector": {group.label: float(v) for group, v in zip(disparities.groups, values, strict=True)},
        "statistic": test.statistic if np.isfinite(test.statistic) else None,
        "df": test.df,
        "p_value": test.p_value,
        "inside": bool(test.p_value >= 1.0 - disparities.request.level),
        "rule": test.rule,
    }


def _valid_region(disparities: Disparities, values: Floats) -> JointTest:
    """With the target's own uncertainty, where the region has a regular limit."""
    _refuse_irregular(disparities)
    known = disparities.comparison.known
    shared = disparities.shared_reference if getattr(disparities.target, "kind", "") == "reference" else None
    member = as_matrix(disparities.member)
    return region_test(disparities.atoms, member, shared, None if known is None else float(known[0]), values)


def _vector(disparities: Disparities, vector: Mapping[str, float] | Sequence[float]) -> Floats:
    who, labels = disparities.request.who, [group.label for group in disparities.groups]
    if isinstance(vector, Mapping):
        for name in vector:
            if name not in labels:
                hint = did_you_mean(name, labels)
                raise InputError(who, Fault("vector", f"names {name!r}, not a tested group", hint=hint))
        missing = [label for label in labels if label not in vector]
        if missing:
            required = f"needs a disparity for every tested group; missing: {missing}"
            raise InputError(who, Fault("vector", required))
        listed = [vector[label] for label in labels]
    else:
        listed = list(vector) if isinstance(vector, list | tuple) else []
    if len(listed) != len(labels) or not all(isinstance(value, int | float) for value in listed):
        raise InputError(who, Fault("vector", f"needs one finite disparity for each of {labels}", got=vector))
    return np.array(listed, dtype=np.float64)


def _refuse_own_estimate(disparities: Disparities) -> None:
    """And groups without variation."""
    who = disparities.request.who
    if isinstance(disparities.target, OwnEstimate):
        required = "is not for a target you estimated yourself; ask for intervals instead"
        raise NotApplicable(who, Fault("vector", required))
    if not disparities.gaps.defined.all():
        required = "needs every group to have variation; see the reasons in the table"
        raise NotApplicable(who, Fault("vector", required))


def _refuse_irregular(disparities: Disparities) -> None:
    """With overall (or rest, three groups and more) on a partition the limit changes with the vector itself."""
    who, target = disparities.request.who, disparities.target
    if isinstance(target, OwnEstimate):
        return
    member = as_matrix(disparities.member)[:, disparities.atoms.count > 0].astype(np.float64)
    everyone = np.ones((1, member.shape[1]))
    rank = np.linalg.matrix_rank(member)
    make_up_everyone = bool(np.linalg.matrix_rank(np.vstack([member, everyone])) == rank)
    if target.kind == "overall":
        cure = Words("use {}, a reference group or a number", Set("target", "rest"))
        raise NotApplicable(who, Fault("vector", "has no regular limit against 'overall'", cure=cure))
    if target.kind == "rest" and make_up_everyone and len(disparities.groups) > 2:
        required = (
            "has no regular limit against 'rest' when three or more groups, or some of them, make up everyone: the "
            "shares tie the disparities together"
        )
        raise NotApplicable(who, Fault("vector", required, cure="Use a reference group or a number"))

"""Membership of a vector of disparities in the joint confidence region, where that is regular."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairtrial.errors import Fault, InputError, NotApplicable, Set, Words, did_you_mean
from fairtrial.inference.joint.region import region_test
from fairtrial.inference.numeric.roots import Floats
from fairtrial.methods.gaps.disparities import Disparities, Estimate

WHO = "certify"


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
        disparities.comparison.member,
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
        listed = list(vector)
    values = np.array(listed, dtype=np.float64)
    if values.shape != (len(labels),) or not np.isfinite(values).all():
        raise InputError(WHO, Fault("vector", f"needs one finite disparity for each of {labels}", got=listed))
    return values


def _refuse_irregular(disparities: Disparities) -> None:
    """With overall (or rest, three groups and more) on a partition the limit changes with the vector itself."""
    target = disparities.target
    if isinstance(target, Estimate):
        required = "is not for a target you estimated yourself; ask for intervals instead"
        raise NotApplicable(WHO, Fault("vector", required))
    if not disparities.gaps.defined.all():
        required = "needs every group to have variation; see the reasons in the table"
        raise NotApplicable(WHO, Fault("vector", required))
    member = disparities.comparison.member[:, disparities.atoms.count > 0].astype(np.float64)
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

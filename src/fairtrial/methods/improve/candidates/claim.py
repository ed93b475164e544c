"""What counts as an improvement: which levels are compared, how, and by how much."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairtrial.errors import Fault, InputError, Set, Words
from fairtrial.labels import canonical
from fairtrial.methods.improve.candidates.utilities import Worth
from fairtrial.methods.improve.solver.improvement import Pair, Scale, directed_pairs
from fairtrial.methods.improve.wanted import WantedClaim
from fairtrial.metrics.groups import Group
from fairtrial.options import plain

WHO = "improve"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What an improvement is: which levels are compared, how, and by how much."""

    accuracy: Worth
    fairness: tuple[Worth, ...]
    pairs: tuple[Pair, ...]
    one_sided: bool
    pooled: bool
    scale: Scale
    method: str
    accuracy_delta: tuple[float, ...]
    fairness_delta: float

    @property
    def worths(self) -> tuple[Worth, ...]:
        return (self.accuracy, *self.fairness)


def find_claim(wanted: WantedClaim, worths: Sequence[Worth], groups: Sequence[Group]) -> Claim:
    """The claim that was asked for, about these groups; the first worth is the accuracy."""
    one_sided = wanted.direction != "differs"
    reference = _reference(wanted, groups) if one_sided else None
    accuracy_delta, fairness_delta = _deltas(wanted, [group.label for group in groups])
    return Claim(
        accuracy=worths[0],
        fairness=tuple(worths[1:]),
        pairs=tuple(directed_pairs(len(groups), reference, wanted.direction)),
        one_sided=one_sided,
        pooled=wanted.pooled,
        scale="ratio" if wanted.scale == "ratio" else "difference",
        method=wanted.method,
        accuracy_delta=accuracy_delta,
        fairness_delta=fairness_delta,
    )


def _reference(wanted: WantedClaim, groups: Sequence[Group]) -> int:
    """The position of the group that one-sided gaps are counted from."""
    if not isinstance(wanted.target, Mapping):
        cure = Words("name it with {}", Set("target", groups[0].to_dict()))
        raise InputError(
            WHO, Fault("direction", f"of {wanted.direction!r} needs a reference group", cure=cure)
        )
    group = Group.of(wanted.target)
    if group not in groups:
        labels = [other.label for other in groups]
        raise InputError(WHO, Fault("target", f"must be one of the groups {labels}", got=group.label))
    return list(groups).index(group)


def _deltas(wanted: WantedClaim, labels: list[str]) -> tuple[tuple[float, ...], float]:
    """(accuracy per group, fairness) from numbers that end with the fairness Δ, or from a dict by group."""
    count = 1 if wanted.pooled else len(labels)
    if isinstance(wanted.delta, Mapping):
        accuracy, fairness = _named_deltas(wanted.delta, labels, count)
    else:
        accuracy, fairness = _listed_deltas(wanted.delta, count)
    if wanted.scale == "ratio" and fairness >= 1:
        required = "must be below 1 (a gap cannot shrink by all of itself)"
        raise InputError(WHO, Fault("delta", required, got=fairness, subject="the fairness Δ"))
    return accuracy, fairness


def _named_deltas(
    delta: Mapping[str, object], labels: list[str], count: int
) -> tuple[tuple[float, ...], float]:
    unknown = [name for name in delta if canonical(name) not in (*labels, "accuracy", "fairness")]
    if unknown:
        cure = f"it may name 'accuracy', 'fairness' and the groups {labels}"
        raise InputError(WHO, Fault("delta", f"names {unknown}", cure=cure))
    numbers = _numbers(list(delta.values()), delta)
    by_name = dict(zip(map(canonical, delta), numbers, strict=True))
    common = by_name.get("accuracy", 0.0)
    return tuple(by_name.get(label, common) for label in labels[:count]), by_name.get("fairness", 0.0)


def _listed_deltas(delta: object, count: int) -> tuple[tuple[float, ...], float]:
    numbers = _numbers(list(delta) if isinstance(delta, list | tuple) else [delta], delta, least=2)
    same = len(set(numbers[:-1])) == 1
    if not same and len(numbers) != count + 1:
        required = f"must have {count} accuracy numbers and one for fairness"
        raise InputError(WHO, Fault("delta", required, got=delta))
    return (numbers[0],) * count if same else tuple(numbers[:-1]), numbers[-1]


def _numbers(values: list[object], delta: object, least: int = 0) -> list[float]:
    values = [plain(value) for value in values]
    numbers = [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) != len(values) or len(numbers) < least or not all(map(math.isfinite, numbers)):
        raise InputError(WHO, Fault("delta", "must be numbers (accuracy Δ …, fairness Δ)", got=delta))
    return numbers

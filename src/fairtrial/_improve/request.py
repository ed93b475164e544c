"""What is asked of improve: which gaps must shrink, what must be kept, which rules are tried, and how it is tested."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from fairtrial._errors import Fault, Faults, InputError, Set, Words, did_you_mean
from fairtrial._improve.combining import Aggregation, split_level
from fairtrial._improve.components import MarginKind, directed_pairs
from fairtrial._improve.contest import WHO, Constraints, Contest, GapVariant, ImprovementClaim
from fairtrial._improve.rules import Index
from fairtrial._improve.search import sure_enough
from fairtrial._improve.worth import Worth
from fairtrial._labels import canonical
from fairtrial._metrics.groups import Group
from fairtrial._options import plain
from fairtrial._work import Progress, generator

# Levels at which the Δ-surface is kept, besides α
SURFACE_LEVELS = (0.001, 0.01, 0.05, 0.1, 0.2)
# Forward cross-fitting: orders that are averaged, and chunks of which all but the first are tested. A first part of 30%
# or 50% had less power than one of 20%.
ORDERS, CHUNKS = 3, 5
CONSTRAINTS = ("capacity", "blind", "banned", "rising", "falling")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImproveRequest:
    """The question as it was asked; the options of the article's own test stand last."""

    metric: object = "selection_rate"
    keep: object = "accuracy"
    by: object = None
    candidates: object = "portfolio"
    margin: object = 0.0
    scale: Literal["difference", "ratio"] = "difference"
    direction: str = "differs"
    target: object = None
    constraints: Mapping[str, Any] | None = None
    splits: int | None = None
    bootstrap: int = 10_000
    reject_inference: object = None
    alpha: float = 0.05
    seed: int = 0
    jobs: int | None = None
    progress: Callable[[Progress], None] | None = None
    # all that the numbers depend on, so that kept batches are never taken for others
    key: str = ""
    train_share: float = 0.5
    folds: int = 3
    aggregate: Aggregation = "median"
    weights: Mapping[str, float] | None = None
    independent_given: str | Sequence[str] | None = None
    permissible: Callable[[Any, Any], bool] | None = None
    gap_variant: GapVariant | None = None

    @property
    def tests(self) -> int:
        """How many tests there are: three orders, or seven splits unless another number was asked for."""
        if self.aggregate == "forward":
            return ORDERS
        return 7 if self.splits is None else self.splits

    @property
    def levels(self) -> list[float]:
        """The levels at which the Δ-surface is kept."""
        return sorted({*SURFACE_LEVELS, round(self.alpha, 12)})

    @property
    def sure(self) -> float:
        """The z out of fold that a candidate needs to be tested for its gap."""
        return sure_enough(split_level(self.alpha, self.aggregate, self.tests), self.train_share)

    def sure_in(self, train: int, rows: int) -> float:
        """The same where `train` of the rows are learned from: a forward test is always on four fifths of them."""
        if self.aggregate != "forward":
            return self.sure
        tested = (CHUNKS - 1) / CHUNKS
        return sure_enough(self.alpha, 0.5) * math.sqrt(min(train / rows, tested) / tested)

    def split(self, contest: Contest, k: int) -> tuple[Index, Index]:
        """Split k is the same for every candidate."""
        rng = generator(self.seed, "improve/split", k)
        if contest.person is None:
            return split_rows(contest.rows, self.train_share, rng)
        trained, _ = split_rows(int(contest.person.max()) + 1, self.train_share, rng)
        inside = np.isin(contest.person, trained)  # nobody is in both halves
        return np.flatnonzero(inside), np.flatnonzero(~inside)


def split_rows(rows: int, share: float, rng: np.random.Generator) -> tuple[Index, Index]:
    """⌊β·n⌋ training rows uniformly at random, and the rest (Section 3.1, step 1)."""
    order = rng.permutation(rows)
    train = math.floor(share * rows)
    if not 0 < train < rows:
        required = f"must leave somebody of {rows:,} to fit on and somebody to test on"
        raise InputError(WHO, Fault("train_share", required, got=share))
    return np.sort(order[:train]), np.sort(order[train:])


# -- What every rule must respect.
def read_constraints(asked: Mapping[str, Any] | None) -> Constraints:
    """The constraints, each of the kind that it must be."""
    given, faults = dict(asked or {}), Faults(WHO)
    for name in given:
        if name not in CONSTRAINTS:
            required = f"may name {', '.join(CONSTRAINTS)}"
            faults.add(Fault("constraints", required, got=name, hint=did_you_mean(str(name), CONSTRAINTS)))
    capacity, blind = plain(given.get("capacity")), plain(given.get("blind", True))
    number = isinstance(capacity, int | float) and not isinstance(capacity, bool) and 0 < capacity < 1
    if not (capacity is None or capacity == "status quo" or number):
        required = "must be a number between 0 and 1 or 'status quo'"
        faults.add(Fault("constraints", required, subject="the capacity", got=capacity))
    if not isinstance(blind, bool):
        faults.add(Fault("constraints", "must be true or false", subject="'blind'", got=blind))
    columns = {name: _columns(name, given.get(name), faults) for name in ("banned", "rising", "falling")}
    both = sorted({*columns["rising"]} & {*columns["falling"]})
    if both:
        faults.add(Fault("constraints", f"names {both} as rising and as falling", cure="name each once"))
    faults.raise_any()
    monotone = {**dict.fromkeys(columns["rising"], 1), **dict.fromkeys(columns["falling"], -1)}
    return Constraints(capacity=capacity, blind=blind, banned=columns["banned"], monotone=monotone)


def _columns(name: str, asked: Any, faults: Faults) -> tuple[str, ...]:
    """One column or several."""
    columns = (asked,) if isinstance(asked, str) else asked if isinstance(asked, list | tuple) else ()
    if (asked is not None and asked is not columns and not isinstance(asked, str | list | tuple)) or not all(
        isinstance(column, str) for column in columns
    ):
        faults.add(
            Fault("constraints", "must be a column or a list of columns", subject=f"{name!r}", got=asked)
        )
        return ()
    return tuple(columns)


# -- How much may be lost.
@dataclass(frozen=True, slots=True, kw_only=True)
class Margins:
    """What is conceded: of all that is kept, or by group and metric; `reduction` is what the gap must shrink by."""

    common: float = 0.0
    named: Mapping[str, float] = field(default_factory=dict)
    reduction: float = 0.0
    pooled: bool = False
    kind: MarginKind = "relative"

    @property
    def any(self) -> bool:
        """Whether anything but nothing is conceded or asked for."""
        return bool(self.common or self.reduction or any(self.named.values()))


def read_margins(asked: object) -> Margins:
    """A number, numbers by name, or either in the metrics' own units: {"absolute": …}."""
    asked, kind = plain(asked), "relative"
    if isinstance(asked, Mapping) and "absolute" in asked:
        if len(asked) > 1:
            required = 'must stand alone: {"absolute": {"tpr": 0.05, "gap": -0.01}}'
            raise InputError(WHO, Fault("margin", required, subject="'absolute'", got=list(asked)))
        asked, kind = asked["absolute"], "absolute"
    if not isinstance(asked, Mapping):
        return Margins(common=_number(asked), kind=kind)  # type: ignore[arg-type]
    named = {canonical(name): _number(value) for name, value in asked.items()}
    reduction = 0.0 - named.pop("gap", 0.0)
    if reduction < 0:
        required = "must be 0 or less: by how much the gap must change beyond shrinking at all"
        raise InputError(WHO, Fault("margin", required, subject="the margin of the gap", got=-reduction))
    pooled = "everyone" in named
    if pooled and "each" in named:
        cure = "name one of the two"
        raise InputError(WHO, Fault("margin", "is that of 'each' group or of 'everyone' together", cure=cure))
    common = named.pop("everyone", 0.0) + named.pop("each", 0.0)
    return Margins(common=common, named=named, reduction=reduction, pooled=pooled, kind=kind)  # type: ignore[arg-type]


def _number(value: object) -> float:
    value = plain(value)
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise InputError(WHO, Fault("margin", "must be a number, or numbers by group or metric", got=value))
    return float(value)


# -- The claim that follows.
def find_claim(
    request: ImproveRequest,
    margins: Margins,
    worths: tuple[Sequence[Worth], Sequence[Worth]],
    groups: Sequence[Group],
    *,
    bounded: bool = False,
) -> ImprovementClaim:
    """The claim that was asked for, about these groups: what is kept, and the metrics whose gaps must shrink.

    A `bounded` one concedes nothing or units: with nothing conceded shares and units are the same claim.
    """
    one_sided = request.direction != "differs"
    reference = _reference(request, groups) if one_sided else None
    labels = [group.label for group in groups]
    weights = _weights(request, margins, labels)
    return ImprovementClaim(
        accuracies=tuple(worths[0]),
        fairness=tuple(worths[1]),
        pairs=tuple(directed_pairs(len(groups), reference, request.direction)),
        one_sided=one_sided,
        weights=weights,
        kind="absolute" if bounded else margins.kind,
        scale=request.scale,
        gap_variant=request.gap_variant,
        accuracy_delta=_deltas(margins, [worth.name for worth in worths[0]], labels, weights is None),
        fairness_delta=_reduction(request, margins),
    )


def _weights(request: ImproveRequest, margins: Margins, labels: list[str]) -> tuple[float, ...] | None:
    """The weights of the groups' accuracies and of everybody's; None where each group counts by itself."""
    if not request.weights:
        return (*([0.0] * len(labels)), 1.0) if margins.pooled else None
    given = {canonical(name): weight for name, weight in request.weights.items()}
    faults = Faults(WHO)
    if margins.pooled:
        cure = "leave 'everyone' out of the margin"
        faults.add(Fault("weights", "weigh the groups apart from their sizes", cure=cure))
    if set(given) != set(labels):
        faults.add(Fault("weights", f"must name each of the groups {labels}", got=list(given)))
    if any(not isinstance(w, int | float) or not 0 < w < math.inf for w in given.values()):
        faults.add(Fault("weights", "must be numbers above 0", got=list(given.values())))
    faults.raise_any()
    total = sum(given.values())
    return (*(given[label] / total for label in labels), 0.0)


def _reference(request: ImproveRequest, groups: Sequence[Group]) -> int:
    """The position of the group that one-sided gaps are counted from."""
    if not isinstance(request.target, Mapping):
        cure = Words("name it with {}", Set("target", groups[0].to_dict()))
        raise InputError(
            WHO, Fault("direction", f"of {request.direction!r} needs a reference group", cure=cure)
        )
    group = Group.of(request.target)
    if group not in groups:
        labels = [other.label for other in groups]
        raise InputError(WHO, Fault("target", f"must be one of the groups {labels}", got=group.label))
    return list(groups).index(group)


def _reduction(request: ImproveRequest, margins: Margins) -> float:
    """The fairness Δ."""
    if request.scale == "ratio" and margins.reduction:
        required = "is for gaps that are differences; a ratio can only be asked to come nearer to 1"
        cure = Words("leave it out, or take {}", Set("scale", "difference"))
        raise InputError(WHO, Fault("margin", required, subject="the margin of the gap", cure=cure))
    if margins.kind == "relative" and margins.reduction >= 1:
        required = "must be above -1 (a gap cannot shrink by all of itself)"
        fault = Fault("margin", required, subject="the margin of the gap", got=-margins.reduction)
        raise InputError(WHO, fault)
    return float(margins.reduction)


def _deltas(
    margins: Margins, metrics: list[str], labels: list[str], by_group: bool
) -> tuple[tuple[float, ...], ...]:
    """−margin of each accuracy's components: of the group, else of the metric, else of all."""
    unknown = [name for name in margins.named if name not in (*metrics, *labels)]
    if unknown:
        cure = f"it may name the metrics {metrics}, the groups {labels}, 'each', 'everyone' and 'gap'"
        raise InputError(WHO, Fault("margin", f"names {unknown}", cure=cure))
    given, common = margins.named, margins.common
    parts = labels if by_group else [""]
    return tuple(tuple(-given.get(part, given.get(name, common)) for part in parts) for name in metrics)

"""What certify and flag compute from: the finest groups, and which of them each compared group contains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fairtrial._inference.evidence.members import Members
from fairtrial._inference.means.skewed_means import FEWEST_FOR_SHAPE, Sums
from fairtrial._inference.multiplicity import MANY_GROUPS
from fairtrial._inference.numeric.roots import Bools, Floats

# Which atoms each group contains: a matrix, or the lattice that it would be made from.
Membership = Bools | Members
# Cells of groups by atoms that are worked on at once.
AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """Disjoint finest groups of the rows that meet the metric's condition.

    `values` holds every row's value, atom by atom, when a real-valued metric is audited by its rows; without them its
    third central sum `m3` and its extreme values tell of the shape.
    """

    count: Floats
    mean: Floats
    m2: Floats
    binary: bool
    values: tuple[Floats, ...] | None = None
    m3: Floats | None = None
    low: Floats | None = None
    high: Floats | None = None

    @staticmethod
    def of_values(pieces: Sequence[Floats]) -> Atoms:
        """Real values by their rows, one piece per atom."""
        sums = Sums.of_values(pieces)
        return Atoms(sums.n, sums.mean, sums.m2, False, tuple(pieces), sums.m3, sums.low, sums.high)

    @property
    def finest(self) -> Sums:
        """The sums of every atom; the shape of rates is told by their counts."""
        if self.binary:
            nothing = np.zeros(self.count.shape)
            return Sums(self.count, self.mean, self.m2, nothing, nothing, nothing)
        if self.m3 is not None and self.low is not None and self.high is not None:
            return Sums(self.count, self.mean, self.m2, self.m3, self.low, self.high)
        if self.values is None:
            raise ValueError("atoms of real values need their rows, or m3, low and high.")
        return Sums.of_values(self.values)

    def sums(self, member: Membership) -> Sums:
        """The sums of each union of atoms: central sums merge exactly."""
        if isinstance(member, Members):
            return member.sums(self)
        finest = self.finest
        count, mean, m2 = self.pooled(member)
        third, low, high = np.zeros(count.shape), np.zeros(count.shape), np.zeros(count.shape)
        centre = np.nan_to_num(mean)
        step = max(1, AT_ONCE // max(self.count.size, 1))
        for start in range(0, count.size, step):
            part = slice(start, start + step)
            inside = member[part] & (self.count > 0)
            offset = np.where(inside, self.mean - centre[part, None], 0.0)
            own = np.where(inside, finest.m3, 0.0)
            third[part] = (own + offset * (3.0 * self.m2 + self.count * offset**2)).sum(axis=1)
            low[part] = np.where(inside, finest.low, np.inf).min(axis=1, initial=np.inf)
            high[part] = np.where(inside, finest.high, -np.inf).max(axis=1, initial=-np.inf)
        some = count > 0
        return Sums(count, centre, m2, third, np.where(some, low, 0.0), np.where(some, high, 0.0))

    @property
    def successes(self) -> Floats:
        """Counts of value one in each atom (binary metrics)."""
        return np.rint(self.count * self.mean)

    def pooled(self, member: Membership) -> tuple[Floats, Floats, Floats]:
        """Count, mean and M2 of each union of atoms (the last axis of `member`); the mean of nobody is NaN."""
        if isinstance(member, Members):
            found = member.sums(self)
            return found.n, np.where(found.n > 0, found.mean, np.nan), found.m2
        inside = member.astype(np.float64)
        total = self.count.sum()
        centre = float(self.count @ self.mean / total) if total else 0.0
        offset = self.mean - centre
        sums = inside @ np.stack([self.count, self.count * offset, self.count * offset**2, self.m2], axis=1)
        count, first, second, within = np.moveaxis(sums, -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = centre + first / count
            between = np.where(count > 0, second - first**2 / count, 0.0)
        # Where nothing varies, rounding must not pass for variation: sum those from their own mean.
        doubtful = np.flatnonzero((between + within).ravel() <= 1e-9 * second.ravel())
        if doubtful.size:
            rows, means = inside.reshape(-1, offset.size)[doubtful], np.nan_to_num(mean.ravel()[doubtful])
            own = np.where(rows > 0, self.mean - means[:, None], 0.0)
            own = np.where(np.abs(own) > 1e-14 * np.abs(self.mean), own, 0.0)
            flat = between.ravel()
            flat[doubtful] = np.sum(self.count * own**2, axis=1)
            between = flat.reshape(between.shape)
        return count, mean, within + np.maximum(between, 0.0)

    def moved(self, offset: Floats) -> Atoms:
        """Real values less an offset for each atom."""
        values = (
            None if self.values is None else tuple(v - o for v, o in zip(self.values, offset, strict=True))
        )
        low, high = (None if side is None else side - offset for side in (self.low, self.high))
        return replace(self, mean=self.mean - offset, values=values, low=low, high=high)

    def gather(self, member: Bools) -> Floats:
        """All rows' values of one union of atoms."""
        if self.values is None:
            raise ValueError("gather: the atoms hold no rows.")
        chosen = [self.values[index] for index in np.flatnonzero(member)]
        return np.concatenate(chosen) if chosen else np.zeros(0)


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Which atoms each group contains, and what it is compared with.

    `reference` holds the atoms of the estimated target, per group; a known target has none, and one `known`
    value per group.
    """

    member: Membership
    reference: Membership
    known: Floats | None = None

    @property
    def parts(self) -> tuple[Membership, Membership, Membership]:
        """Whom group and reference share, who is in the group alone, and who in the reference alone."""
        member, reference = self.member, self.reference
        return member & reference, member & ~reference, reference & ~member

    def shared(self, atoms: Atoms) -> Bools:
        """Whether a group shares somebody with its reference."""
        return np.asarray((self.member & self.reference) @ atoms.count > 0)


def gap_covariance(atoms: Atoms, member: Membership, reference: Membership) -> Floats:
    """Covariance of all groups' estimated gaps, from their influence values.

    A row's influence on 'mean of the group minus mean of the reference' is slope * value + constant; a known target is
    a reference without atoms. Where a binary group has nobody or everybody, half a count is added: its variance is
    not zero.
    """
    groups, every = member.shape
    sides = [(side, sign, atoms.pooled(side)) for side, sign in ((member, 1.0), (reference, -1.0))]
    covariance = np.zeros((groups, groups))
    step = max(1, AT_ONCE // max(groups, 1))
    for start in range(0, every, step):
        part = slice(start, start + step)
        slope, constant = np.zeros((2, groups, len(atoms.count[part])))
        for side, sign, (count, mean, _) in sides:
            weight = sign * columns_of(side, part) / np.where(count > 0, count, np.inf)[:, None]
            slope += weight
            constant -= weight * np.where(count > 0, mean, 0.0)[:, None]
        offset = slope * np.where(atoms.count[part] > 0, atoms.mean[part], 0.0) + constant
        left = np.hstack([slope * np.sqrt(atoms.m2[part]), offset * np.sqrt(atoms.count[part])])
        if groups > MANY_GROUPS:
            # Only correlations of many groups are used, and single precision halves the work.
            left = left.astype(np.float32)
        covariance += left @ left.T
    if atoms.binary:
        covariance[np.diag_indices_from(covariance)] += _half_count_variance(atoms, member)
    return covariance


def columns_of(member: Membership, part: slice) -> Bools:
    """The matrix of some atoms."""
    return member.columns(part) if isinstance(member, Members) else member[:, part]


def as_matrix(member: Membership) -> Bools:
    """The whole matrix, for what is worked out of few groups only."""
    return columns_of(member, slice(None))


def _half_count_variance(atoms: Atoms, member: Membership) -> Floats:
    count, successes = member @ atoms.count, member @ atoms.successes
    extreme = (count > 0) & ((successes == 0) | (successes == count))
    half = (successes + 0.5) * (count - successes + 0.5) / (count + 1.0) ** 2
    return np.where(extreme, half / np.maximum(count, 1.0), 0.0)


def gap_errors(atoms: Atoms, comparison: Comparison) -> tuple[Floats, Floats]:
    """Standard error of each gap and its Welch-Satterthwaite degrees of freedom.

    The independent pieces are the rows in both, in the group only, and in the reference only; within a piece every
    row's influence is the same linear function of its value.
    """
    pieces = np.zeros((3, comparison.member.shape[0]))
    sizes = np.zeros_like(pieces)
    parts = [atoms.pooled(part) for part in comparison.parts]
    groups = [_union(parts[0], parts[1]), _union(parts[0], parts[2])]
    for index, (count, mean, m2) in enumerate(parts):
        filled = np.where(count > 0, mean, 0.0)
        slope, constant = np.zeros(count.shape), np.zeros(count.shape)
        for (size, centre), sign, inside in zip(groups, (1.0, -1.0), ((0, 1), (0, 2)), strict=True):
            if index in inside:
                weight = sign / np.where(size > 0, size, np.inf)
                slope, constant = slope + weight, constant - weight * centre
        pieces[index] = slope**2 * m2 + count * (slope * filled + constant) ** 2
        sizes[index] = count
    spare = np.maximum(sizes - 1.0, 0.5)
    pieces = pieces * np.where(sizes > 0, sizes / spare, 0.0)
    variance = pieces.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        df = variance**2 / np.sum(pieces**2 / spare, axis=0)
    if atoms.binary:
        variance = variance + _half_count_variance(atoms, comparison.member)
    return np.sqrt(variance), np.where(np.isfinite(df), np.maximum(df, 1.0), 1.0)


def _union(one: tuple[Floats, Floats, Floats], other: tuple[Floats, Floats, Floats]) -> tuple[Floats, Floats]:
    """Count and mean of two disjoint parts together."""
    total = one[0] + other[0]
    sums = sum(np.where(part[0] > 0, part[0] * part[1], 0.0) for part in (one, other))
    return total, np.asarray(sums / np.where(total > 0, total, 1.0))


# -- Who is compared with whom, and why there is no inference: nobody there, or nothing that varies.
# A side of an interval that has no limit because too few values carry the mean is no such reason: its p-value follows
# from the same formula and stays in the family.
@dataclass(frozen=True, slots=True, eq=False)
class TwoSides:
    """Two samples without a common member whose means differ as the gap does, up to a positive factor.

    A group within its target is compared with the others there, and a target within its group is compared with the
    group's others: 'overall' gives (1 - share) times the gap to the rest. `partly` marks a group and a target that
    share some members while each has others, `within` a target that lies in the group.
    """

    comparison: Comparison
    first: Sums
    second: Sums
    factor: Floats
    partly: Bools
    within: Bools

    def rows(self, index: int) -> tuple[Bools, Bools]:
        """The atoms of both samples of one gap."""
        member, reference = self.comparison.member[index], self.comparison.reference[index]
        return (member & ~reference, reference) if self.within[index] else (member, reference & ~member)


def two_sides(atoms: Atoms, comparison: Comparison) -> TwoSides:
    """The two samples of every gap to an estimated target."""
    member, reference = comparison.member, comparison.reference
    shared, alone, others = comparison.parts
    overlap, some_alone, some_others = (part @ atoms.count > 0 for part in (shared, alone, others))
    within = ~some_others  # the target lies in the group
    size, target = member @ atoms.count, reference @ atoms.count
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(within, target / size, np.where(some_alone, 0.0, size / target))
    factor = np.where(overlap & np.isfinite(share), 1.0 - np.nan_to_num(share), 1.0)
    return TwoSides(
        comparison, _either(within, atoms, alone, member), _either(within, atoms, reference, others),
        np.where(factor > 0, factor, 1.0), np.asarray(overlap & some_alone & some_others), within,
    )  # fmt: skip


def _either(which: Bools, atoms: Atoms, one: Membership, other: Membership) -> Sums:
    """The sums of the one where `which` says so, and of the other elsewhere."""
    if not which.any():
        return _sums(atoms, other)
    pairs = zip(*(_columns(_sums(atoms, part)) for part in (one, other)), strict=True)
    return Sums(*(np.where(which, first, second) for first, second in pairs))


def _sums(atoms: Atoms, member: Membership) -> Sums:
    """Of rates no more than their pooled counts is asked."""
    if not atoms.binary:
        return atoms.sums(member)
    count, mean, m2 = atoms.pooled(member)
    nothing = np.zeros(count.shape)
    return Sums(count, np.nan_to_num(mean), m2, nothing, nothing, nothing)


def _columns(sums: Sums) -> tuple[Floats, ...]:
    return sums.n, sums.mean, sums.m2, sums.m3, sums.low, sums.high


def find_reasons(atoms: Atoms, comparison: Comparison) -> list[str | None]:
    """Why a gap has no inference; None where it has."""
    if comparison.known is not None:
        return _reasons(_sums(atoms, comparison.member), "this group", "every member", binary=atoms.binary)
    sides = two_sides(atoms, comparison)
    found = [
        [None if size else f"nobody in {place} meets the metric's condition" for size in side @ atoms.count]
        for side, place in ((comparison.member, "this group"), (comparison.reference, "the target"))
    ]
    found.append(_reasons(sides.first, "this group", "every member", binary=atoms.binary))
    found.append(_reasons(sides.second, "the target", "everyone in the target", binary=atoms.binary))
    return [next((why for why in each if why is not None), None) for each in zip(*found, strict=True)]


def _reasons(sums: Sums, place: str, everyone: str, *, binary: bool) -> list[str | None]:
    # Adding up equal values leaves rounding that is no spread: their extremes tell.
    spread_of = sums.m2 if binary else np.where(sums.low < sums.high, sums.m2, 0.0)
    reason: list[str | None] = []
    for size, spread in zip(sums.n, spread_of, strict=True):
        if size == 0:
            reason.append(f"nobody in {place} meets the metric's condition")
        elif spread <= 0:
            reason.append(f"{everyone} has the same value, so there is no variation to infer from")
        elif size < FEWEST_FOR_SHAPE:
            reason.append(f"{size:.0f} values in {place} do not tell how far such values lie apart")
        else:
            reason.append(None)
    return reason


def by_strata(member: Membership, columns: Floats, stratum: NDArray[np.int64], strata: int) -> Floats:
    """The sums of columns, one line per finest group, over each group's part of each stratum."""
    order = np.argsort(stratum, kind="stable")
    ends = np.searchsorted(stratum[order], np.arange(strata + 1))
    inside, sorted_columns = as_matrix(member)[:, order].astype(np.float64), columns[order]
    found = np.zeros((inside.shape[0], strata, columns.shape[1]))
    for place, (start, end) in enumerate(pairwise(ends)):
        found[:, place] = inside[:, start:end] @ sorted_columns[start:end]
    return found

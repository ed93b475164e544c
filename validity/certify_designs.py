"""Data with known disparities for the cells of certify and flag: counts or rows of random people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from inside.inference import Atoms, BinaryGaps, Bools, Comparison, Floats, PartCounts, floats

Generator = np.random.Generator


@dataclass(frozen=True, slots=True)
class Pair:
    """A group with share `share` and mean `mean`; its reference, when it is not everyone else, has `other_share`."""

    target: str
    share: float
    n: int
    mean: float = 0.5
    other_mean: float = 0.05
    other_share: float | None = None

    @property
    def gap(self) -> float:
        """The true disparity."""
        contrast = self.mean - self.other_mean
        return (1.0 - self.share) * contrast if self.target == "overall" else contrast

    @property
    def shares(self) -> Floats:
        """Shares of the group, of who it is compared with, and of people who play no part."""
        other = 1.0 - self.share if self.other_share is None else self.other_share
        return np.array([self.share, other, max(1.0 - self.share - other, 0.0)])

    @property
    def words(self) -> str:
        against = f"reference of {self.other_share:.0%}" if self.target == "reference" else self.target
        return f"group of {self.share:.0%} against {against}, n {self.n}"

    def counts(self, repeats: int, generator: Generator) -> PartCounts:
        """Binary values: the counts of each repeat."""
        sizes = generator.multinomial(self.n, self.shares, size=repeats).astype(float)
        ones = [generator.binomial(sizes[:, i].astype(int), rate).astype(float)
                for i, rate in enumerate((self.mean, self.other_mean))]  # fmt: skip
        nobody = np.zeros(repeats)
        if self.target == "overall":
            return PartCounts(ones[0], sizes[:, 0], nobody, nobody, ones[1], sizes[:, 1])
        return PartCounts(nobody, nobody, ones[0], sizes[:, 0], ones[1], sizes[:, 1])

    def rows(self, generator: Generator) -> tuple[Atoms, Comparison]:
        """Real values of one repeat: skewed, with the asked means and unequal spreads."""
        sizes = generator.multinomial(self.n, self.shares)
        values = [generator.exponential(mean, size)
                  for mean, size in zip((self.mean, self.other_mean), sizes[:2], strict=True)]  # fmt: skip
        member = np.array([[True, False]])
        reference = np.ones_like(member) if self.target == "overall" else ~member
        return atoms_of(values), Comparison(member, reference)


@dataclass(frozen=True, slots=True)
class Overlap:
    """A group and a reference that share people: shares and rates of both, group only, reference only."""

    shares: tuple[float, float, float]
    rates: tuple[float, float, float]
    n: int

    @property
    def gap(self) -> float:
        """The true disparity."""
        share, rate = np.array(self.shares), np.array(self.rates)
        group, reference = share * (1, 1, 0), share * (1, 0, 1)
        return float(group @ rate / group.sum() - reference @ rate / reference.sum())

    def counts(self, repeats: int, generator: Generator) -> PartCounts:
        sizes = generator.multinomial(self.n, [*self.shares, max(1.0 - sum(self.shares), 0.0)], size=repeats)
        columns = []
        for index, rate in enumerate(self.rates):
            columns += [
                generator.binomial(sizes[:, index], rate).astype(float),
                sizes[:, index].astype(float),
            ]
        return PartCounts(*columns)


def atoms_of(values: list[Floats], *, binary: bool = False) -> Atoms:
    """Atoms from one array of rows per atom."""
    if not binary:
        return Atoms.of_values(values)
    count = np.array([float(x.size) for x in values])
    mean = np.array([x.mean() if x.size else 0.0 for x in values])
    m2 = np.array([float(np.sum((x - m) ** 2)) for x, m in zip(values, mean, strict=True)])
    return Atoms(count, mean, m2, True)


def atoms_of_counts(sizes: ArrayLike, ones: ArrayLike) -> Atoms:
    """Atoms of a binary metric from people and successes."""
    count, successes = floats(sizes, ones)
    mean = successes / np.maximum(count, 1.0)
    return Atoms(count, mean, count * mean * (1.0 - mean), True)


# Three attributes of 2, 2 and 3 levels: 12 atoms, 7 groups of one attribute and 16 of two, all overlapping.
LEVELS = (2, 2, 3)


def overlapping_groups() -> Bools:
    """Membership of the 12 atoms in every group of one or two attributes."""
    codes = np.array(np.meshgrid(*(range(level) for level in LEVELS), indexing="ij")).reshape(3, -1)
    singles = [codes[i] == value for i, level in enumerate(LEVELS) for value in range(level)]
    owner = [i for i, level in enumerate(LEVELS) for _ in range(level)]
    pairs = [
        singles[a] & singles[b]
        for a in range(len(singles))
        for b in range(a + 1, len(singles))
        if owner[a] != owner[b]
    ]
    return np.array(singles + pairs)


ATOM_SHARES = np.outer(np.outer([0.6, 0.4], [0.7, 0.3]).ravel(), [0.5, 0.3, 0.2]).ravel()


def overlapping_counts(repeats: int, n: int, rates: Floats, generator: Generator) -> tuple[Floats, Floats]:
    """Sizes and successes of the atoms in every repeat."""
    sizes = generator.multinomial(n, ATOM_SHARES, size=repeats)
    return sizes.astype(float), generator.binomial(sizes, rates).astype(float)


def stacked_parts(member: Bools, reference: Bools, sizes: Floats, ones: Floats) -> PartCounts:
    """All groups of all repeats as one long list of tables."""
    columns = []
    for part in (member & reference, member & ~reference, reference & ~member):
        columns += [(ones @ part.T).ravel(), (sizes @ part.T).ravel()]
    return PartCounts(*columns)


class TwoRates(BinaryGaps):
    """Many comparisons side by side, each of two disjoint groups with counts of its own."""

    def __init__(self, parts: PartCounts) -> None:
        self.parts = parts
        group, target = parts.rates
        self.estimate = group - target
        n1, n2 = parts.n_group, parts.n_reference
        self.error = np.sqrt(group * (1 - group) / n1 + target * (1 - target) / n2)
        self.df = np.full(group.shape, np.inf)
        self.reason = [None] * group.size

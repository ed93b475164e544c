"""The correction of a trial by max-T: sizes where it is used, where it gives way to Holm, and its power beside Holm.

Every repeat is a table of people with two decisions, each asked of every group against everyone else; p-values and
influence values are the package's own. The product draws 20,000 times for a correction, a repeat here fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inside.direct_calls import gap_p
from inside.inference import Comparison, Dependence, PartCounts, holm, make_gaps, max_t
from inside.trial import correlation_of, influence_of
from validity.board import Cell
from validity.certify_designs import atoms_of

Random = np.random.Generator
Floats = NDArray[np.float64]
Run = Callable[[int, Random], Floats]
DRAWS = 2000
PERMUTATIONS = 999


@dataclass(frozen=True, slots=True)
class People:
    """Groups of these sizes; the second decision agrees with the first for `shared` of the people."""

    sizes: tuple[int, ...]
    rate: float
    shared: float = 0.6
    gap: float = 0.0  # how much higher the first group's rates are
    real: bool = False  # exponential scores instead of decisions

    def draw(self, random: Random) -> tuple[NDArray[np.intp], Floats]:
        """The groups, and both values of everyone."""
        group = np.repeat(np.arange(len(self.sizes)), self.sizes)
        luck = random.random((2, group.size))
        luck[1] = np.where(random.random(group.size) < self.shared, luck[0], luck[1])
        if self.real:
            return group, -np.log(luck)
        return group, (luck < self.rate + self.gap * (group == 0)).astype(np.float64)


def family(people: People, random: Random) -> tuple[Floats, Dependence]:
    """The p-values of every group in both metrics, and how far their dependence is known."""
    group, values = people.draw(random)
    p, known, influences = [], [], []
    everyone = np.ones(group.size, dtype=bool)
    for metric in values:
        p.append(_p_values(people, group, metric))
        for i in range(len(people.sizes)):
            inside = group == i
            found = influence_of(metric, everyone, inside, ~inside, binary=not people.real)
            if found is not None:
                known.append(len(p[0]) * (len(p) - 1) + i)
                influences.append(found)
    tests = np.array(known, dtype=np.intp)
    return np.concatenate(p), Dependence(tests, np.zeros_like(tests), correlation_of(influences), DRAWS)


def _p_values(people: People, group: NDArray[np.intp], values: Floats) -> Floats:
    if people.real:
        member = np.eye(len(people.sizes), dtype=bool)
        atoms = atoms_of([values[group == i] for i in range(len(people.sizes))])
        return make_gaps(atoms, Comparison(member, ~member)).p_equal(0.0)
    n1 = np.array(people.sizes, dtype=np.float64)
    k1 = np.asarray(np.bincount(group, values), dtype=np.float64)
    nobody = np.zeros(n1.size)
    return gap_p(PartCounts(nobody, nobody, k1, n1, k1.sum() - k1, n1.sum() - n1), nobody)


def any_remains(people: People, *, by_holm: bool = False, first: bool = False) -> Run:
    """Whether any test remains after the correction, or the first group's first one."""

    def run(repeats: int, random: Random) -> Floats:
        found = np.zeros(repeats)
        for i in range(repeats):
            p, dependence = family(people, random)
            adjusted = holm(p) if by_holm else max_t(p, dependence, seed=i)
            found[i] = (adjusted[0] if first else adjusted.min()) <= 0.05
        return found

    return run


def first_by_permutation(people: People) -> Run:
    """Whether the first group's first test remains by max-T over people dealt out anew to the groups."""
    starts = np.cumsum((0, *people.sizes[:-1]))
    n = np.array(people.sizes, dtype=np.float64)
    rest = n.sum() - n

    def roots(values: Floats) -> Floats:
        events = np.add.reduceat(values, starts, axis=-1)
        total = events.sum(axis=-1, keepdims=True)
        error = np.sqrt(total * (n.sum() - total) / n.sum() ** 2 * (1.0 / n + 1.0 / rest))
        return np.asarray(np.abs(events / n - (total - events) / rest) / error)

    def run(repeats: int, random: Random) -> Floats:
        found = np.zeros(repeats)
        for i in range(repeats):
            _, values = people.draw(random)
            order = random.permuted(np.tile(np.arange(values.shape[1]), (PERMUTATIONS, 1)), axis=1)
            largest = np.max([roots(metric[order]) for metric in values], axis=(0, 2))
            reached = np.count_nonzero(largest >= roots(values[0])[0] - 1e-9)
            found[i] = (1 + reached) / (1 + PERMUTATIONS) <= 0.05
        return found

    return run


def _size(name: str, people: People, long: int = 4000, short: int = 0) -> Cell:
    words = f"groups of {', '.join(map(str, people.sizes))} people, two metrics, rate {people.rate:g}"
    words = words if not people.real else words.replace(f"rate {people.rate:g}", "exponential scores")
    return Cell("run", f"max-T, {name}", words, "size", any_remains(people), short=short, long=long,
                whole_analysis=long < 2000)  # fmt: skip


_ONE_GAP = "a gap of 17 points in one of four groups of 150, two metrics"
_ONE_OF_FOUR = People((150,) * 4, 0.3, gap=0.17)
CELLS = [
    _size("four groups", People((100,) * 4, 0.3), long=20_000, short=400),
    _size("four groups of 40", People((40,) * 4, 0.3), long=20_000),
    _size("ten groups of 40", People((40,) * 10, 0.3)),
    _size("ten groups of 30, rare events", People((30,) * 10, 0.1)),
    _size("small beside large", People((35, 40, 60, 2000), 0.3)),
    _size("small beside large, rare events", People((100, 120, 150, 3000), 0.1)),
    _size("one metric twice", People((60,) * 4, 0.5, shared=1.0)),
    _size("exponential scores", People((60, 60, 120, 200), 0.0, real=True), long=500),
    *(
        Cell("run", f"power, max-T{beside}, {words}", _ONE_GAP, "power", any_remains(people, first=True), nominal=0.85,
             rival=rival, rival_name=name, short=0, long=long)
        for words, people in (
            ("metrics that share much", _ONE_OF_FOUR), ("one metric asked twice", replace(_ONE_OF_FOUR, shared=1.0)),
        )
        for beside, name, rival, long in (
            ("", "Holm", any_remains(people, by_holm=True, first=True), 4000),
            (" beside permutation", "max-T permutation", first_by_permutation(people), 2000),
        )
    ),
]  # fmt: skip

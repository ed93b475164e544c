"""The best subgroup by the matched score F = (ΣT)²/(2ΣV): T and V add up over cells, so sets of values are sums.

"exact" looks at every subgroup; "depth 2" at every one that restricts at most two attributes, from two-way tables.
The data and every draw are searched by the same function.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from fairtrial._scan.solver.scan_table import BoolArray, Codes, FloatArray, IntArray, totals
from fairtrial._scan.solver.value_sets import MOST_ENUMERATED, Attribute, best_sets, scored, subgroup_count

if TYPE_CHECKING:
    from fairtrial._scan.solver.two_way import WideSearch

# Work of one draw above which not every subgroup is looked at unasked; far above it, not even when asked.
EXACT_WORK = 400_000.0
EXACT_LIMIT = 20_000_000.0
# Two attributes at a time pass over nearly all sets, so that far more of them are affordable.
DEPTH_2_LIMIT = 1_000_000_000.0
MOST_DISTINCT = 20_000  # subgroups looked through for the list of distinct ones
_SOLVED_FROM = 7  # values from which solving an unordered attribute is cheaper than enumerating it
_AT_ONCE = 2_000_000
_ROUNDS = 20  # steps of two long attributes in turn
# Sums and steps of one draw above which the loops over two attributes are compiled, which takes ten seconds once.
_COMPILED_FROM = 3_000_000.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subgroup:
    """A subgroup: `values[j, v]` says whether value v of attribute j is admitted."""

    score: float
    theta: float
    listed: int
    values: BoolArray

    @property
    def depth(self) -> int:
        """How many attributes it restricts."""
        return int((~self.values.all(axis=1)).sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class Enumeration:
    """Every subgroup of a few attributes: all sets of each, and one long unordered attribute solved instead."""

    attributes: tuple[Attribute, ...]
    penalty: float

    @cached_property
    def solved(self) -> int | None:
        """The unordered attribute with most values, where solving it is cheaper than going through its sets."""
        sizes = [0 if one.ordered else one.values for one in self.attributes]
        longest = int(np.argmax(sizes)) if sizes else 0
        return longest if sizes and sizes[longest] >= _SOLVED_FROM else None

    @cached_property
    def order(self) -> list[int]:
        """Attributes by the number of their sets, the solved one last."""
        return sorted(range(len(self.attributes)), key=lambda j: (j == self.solved, self.attributes[j].count))

    @property
    def steps(self) -> float:
        """How many combinations of value sets are looked at."""
        return float(
            np.prod([1.0, *(one.count for j, one in enumerate(self.attributes) if j != self.solved)])
        )

    @property
    def work(self) -> float:
        if not self.proves:
            return float(_ROUNDS * np.prod([one.values for one in self.attributes], dtype=np.float64))
        return self.steps * (1.0 if self.solved is None else 6.0 * self.attributes[self.solved].values)

    @property
    def proves(self) -> bool:
        """Whether going through all sets is possible at all: at most one long unordered attribute."""
        long = [one for one in self.attributes if not one.ordered and one.values > MOST_ENUMERATED]
        return len(long) <= 1

    @cached_property
    def sets(self) -> dict[int, FloatArray]:
        return {j: one.sets().astype(np.float64) for j, one in enumerate(self.attributes) if j != self.solved}

    @cached_property
    def listed(self) -> FloatArray:
        """Listed values of every combination, in the order of `sums`."""
        total = np.zeros(1)
        for j in self.order:
            if j != self.solved:
                own = self.attributes[j].listed(self.sets[j] > 0.5).astype(np.float64)
                total = (total[:, None] + own).reshape(-1)
        return total

    def sums(self, dense: FloatArray) -> FloatArray:
        """Sums over every combination of sets; the solved attribute's values on the last axis."""
        shape = [one.values for one in self.attributes]
        array = dense.reshape(len(dense), *shape).transpose(0, *(1 + j for j in self.order))
        for j in self.order:
            if j == self.solved:
                array = np.moveaxis(array, 1, -1)
            else:
                array = np.tensordot(array, self.sets[j], axes=([1], [1]))
        return array.reshape(len(dense), len(self.listed), -1)

    def scores(self, gain: FloatArray, variance: FloatArray) -> tuple[FloatArray, BoolArray | None]:
        """Penalised scores of every combination, one row per draw, and the solved attribute's values."""
        total, spread = self.sums(gain), self.sums(variance)
        price = self.penalty * self.listed
        if self.solved is None:
            return scored(total, spread)[..., 0] - price, None
        best, chosen = best_sets(total, spread, self.penalty)
        return best - price, chosen

    def maxima(self, gain: FloatArray, variance: FloatArray) -> FloatArray:
        """The best score of every draw."""
        size = self.steps * (1.0 if self.solved is None else 8.0 * self.attributes[self.solved].values)
        portion = max(1, int(_AT_ONCE // size))
        answer = np.empty(len(gain))
        for first in range(0, len(gain), portion):
            part = slice(first, first + portion)
            spread = variance if len(variance) == 1 else variance[part]
            answer[part] = self.scores(gain[part], spread)[0].max(axis=1)
        return answer

    def best(self, gain: FloatArray, variance: FloatArray) -> Iterator[tuple[float, list[BoolArray]]]:
        """Every combination of one problem, best first and the simpler one on ties."""
        scores, chosen = self.scores(gain, variance)
        counts = self.listed
        if self.solved is not None and chosen is not None:
            counts = counts + self.attributes[self.solved].listed(chosen[0])
        for place in np.lexsort((counts, -np.round(scores[0], 8))):
            found = self._combination(int(place))
            if self.solved is not None and chosen is not None:
                found[self.solved] = chosen[0, place]
            yield float(scores[0, place]), found

    def _combination(self, place: int) -> list[BoolArray]:
        """The sets of the combination at a place; the solved attribute's are left open."""
        enumerated = [j for j in self.order if j != self.solved]
        shape = [len(self.sets[j]) for j in enumerated]
        found = [np.ones(one.values, dtype=np.bool_) for one in self.attributes]
        for j, number in zip(enumerated, np.unravel_index(place, shape) if shape else (), strict=True):
            found[j] = self.sets[j][number] > 0.5
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class MatchedSearch:
    """What is searched: cells of the attributes' values, exactly or (`depth` 2) two attributes at a time."""

    attributes: tuple[Attribute, ...]
    codes: IntArray | Codes
    penalty: float
    depth: int | None = None

    @cached_property
    def parts(self) -> list[tuple[tuple[int, ...], Enumeration]]:
        """The sets of attributes that are enumerated together."""
        everything = tuple(range(len(self.attributes)))
        chosen = [everything] if self.depth is None else list(combinations(everything, 2))
        return [
            (
                some,
                Enumeration(attributes=tuple(self.attributes[j] for j in some), penalty=self.penalty),
            )
            for some in chosen
        ]

    @property
    def alternating(self) -> bool:
        """Whether some pair is too long to be enumerated, so that its attributes are solved in turn."""
        return self.in_turn > 0

    @property
    def in_turn(self) -> int:
        """How many parts are solved in turn, without a proof."""
        return sum(not part.proves for _, part in self.parts)

    @property
    def work(self) -> float:
        return float(sum(part.work for _, part in self.parts))

    @property
    def limit(self) -> float:
        """The most work of one draw."""
        return EXACT_LIMIT if self.depth is None else DEPTH_2_LIMIT

    @property
    def subgroups(self) -> float:
        """How many subgroups the search is over."""
        return subgroup_count(self.attributes, self.depth)

    @property
    def all_subgroups(self) -> float:
        return subgroup_count(self.attributes)

    def table(self, some: tuple[int, ...], numbers: FloatArray) -> FloatArray:
        """Sums over the cells by the values of some attributes, one row per draw."""
        arity = tuple(self.attributes[j].values for j in some)
        place = np.ravel_multi_index(tuple(self.codes[:, j] for j in some), arity)
        size = int(np.prod(arity))
        if len(numbers) == 1:
            return totals(place, numbers[0], size)[None]
        from scipy.sparse import csr_matrix

        ones = csr_matrix((np.ones(len(place)), (place, np.arange(len(place)))), shape=(size, len(place)))
        return np.ascontiguousarray((ones @ numbers.T).T)

    @cached_property
    def wide(self) -> WideSearch | None:
        """The same search by compiled loops, where attributes and cells are many."""
        if self.depth != 2 or len(self.codes) * len(self.parts) + self.work < _COMPILED_FROM:
            return None
        from fairtrial._scan.solver.two_way import WideSearch

        return WideSearch(self.attributes, self.codes, self.penalty)

    def maxima(self, gain: FloatArray, variance: FloatArray, sides: tuple[int, ...] = (1,)) -> FloatArray:
        """The best penalised score of every draw (one row each), above expectation (1) or below it (-1)."""
        if self.wide is not None:
            return self.wide.maxima(gain, variance, sides)
        return np.asarray(np.max([self._maxima(side * gain, variance) for side in sides], axis=0))

    def _maxima(self, gain: FloatArray, variance: FloatArray) -> FloatArray:
        best = np.full(len(gain), -np.inf)
        for some, part in self.parts:
            total, spread = self.table(some, gain), self.table(some, variance)
            found = (
                part.maxima(total, spread)
                if part.proves
                else _alternate(part, total, spread, self.penalty)[0]
            )
            best = np.maximum(best, found)
        return best

    def ranked(self, gain: FloatArray, variance: FloatArray, people: FloatArray, top: int) -> list[Subgroup]:
        """The best subgroups of one problem, distinct in their people, best first."""
        found: list[Subgroup] = []
        seen: set[tuple[tuple[int, bytes], ...]] = (
            set()
        )  # one attribute's sets come with every other attribute
        for some, part, reach in self._most_promising_first(gain, variance):
            if len(found) >= top and reach < found[-1].score - 1e-8:
                break
            total, spread = self.table(some, gain[None]), self.table(some, variance[None])
            for score, sets in _first_distinct(part, total, spread, self.penalty):
                if len(found) >= top and score < found[-1].score - 1e-8:
                    break
                restricted = {j: own for j, own in zip(some, sets, strict=True) if not own.all()}
                words = tuple((j, own.tobytes()) for j, own in restricted.items())
                if words in seen:
                    continue
                seen.add(words)
                subgroup = self._subgroup(score, restricted, gain, variance)
                found = self._with(found, subgroup, people)[:top]
        return found

    def _most_promising_first(
        self, gain: FloatArray, variance: FloatArray
    ) -> list[tuple[tuple[int, ...], Enumeration, float]]:
        """The parts with the best score that each can have, where that is known beforehand."""
        if self.wide is None:
            return [(some, part, np.inf) for some, part in self.parts]
        reach = self.wide.reach(gain, variance)
        best = [(some, part, reach[some]) for some, part in self.parts]
        return sorted(best, key=lambda one: -one[2])

    def _with(self, found: list[Subgroup], new: Subgroup, people: FloatArray) -> list[Subgroup]:
        """One subgroup more: those of the same people once, by the simplest words."""
        who = self.members(new.values) & (people > 0)
        if not who.any():
            return found
        same = [old for old in found if (self.members(old.values) & (people > 0) == who).all()]
        listed = [old for old in found if old not in same]
        return sorted([*listed, min([*same, new], key=_rank)], key=_rank)

    def members(self, values: BoolArray) -> BoolArray:
        """The cells whose values are all admitted."""
        inside = np.ones(len(self.codes), dtype=np.bool_)
        for j, attribute in enumerate(self.attributes):
            if not values[j, : attribute.values].all():
                inside &= values[j, self.codes[:, j]]
        return inside

    def _subgroup(
        self, score: float, sets: dict[int, BoolArray], gain: FloatArray, variance: FloatArray
    ) -> Subgroup:
        most = max(one.values for one in self.attributes)
        values = np.ones((len(self.attributes), most), dtype=np.bool_)
        listed = 0
        for j, admitted in sets.items():
            values[j, : len(admitted)] = admitted
            listed += int(self.attributes[j].listed(admitted))
        inside = self.members(values)
        spread = float(variance[inside].sum())
        theta = float(gain[inside].sum()) / spread if spread > 0 else 0.0
        return Subgroup(score=score, theta=theta, listed=listed, values=values)

    def climb(self, gain: FloatArray, variance: FloatArray, start: Subgroup) -> Subgroup:
        """One attribute after the other, each solved given the others, until none improves: no proof."""
        best = start
        improved = True
        while improved:
            improved = False
            for j, attribute in enumerate(self.attributes):
                tried = self._solve_one(best, j, attribute, gain, variance)
                if tried.score > best.score + 1e-9 * (1.0 + abs(best.score)):
                    best, improved = tried, True
        return best

    def _solve_one(
        self, held: Subgroup, j: int, attribute: Attribute, gain: FloatArray, variance: FloatArray
    ) -> Subgroup:
        opened = held.values.copy()
        opened[j] = True
        inside = self.members(opened)
        alone = Enumeration(attributes=(attribute,), penalty=self.penalty)
        total, spread = (
            totals(self.codes[inside, j], numbers[inside], attribute.values)[None]
            for numbers in (gain, variance)
        )
        score, (admitted,) = next(alone.best(total, spread))
        others = held.listed - int(attribute.listed(held.values[j, : attribute.values]))
        opened[j, : attribute.values] = admitted
        listed = others + int(attribute.listed(admitted))
        chosen = self.members(opened)
        weight = float(variance[chosen].sum())
        theta = float(gain[chosen].sum()) / weight if weight > 0 else 0.0
        return Subgroup(score=score - self.penalty * others, theta=theta, listed=listed, values=opened)


def _rank(one: Subgroup) -> tuple[float, int]:
    """Best first, and the simpler one on ties."""
    return -round(one.score, 8), one.listed


def plan_matched(
    attributes: tuple[Attribute, ...], codes: IntArray | Codes, penalty: float, search: str = "auto"
) -> MatchedSearch:
    """Every subgroup where each draw affords it, else all that restrict at most two attributes."""
    everything = MatchedSearch(attributes=attributes, codes=codes, penalty=penalty)
    two = len(attributes) > 2 and search != "exact"
    affordable = everything.work <= EXACT_WORK and not everything.alternating
    if search == "depth-2" or (two and not affordable):
        return replace(everything, depth=2) if len(attributes) > 2 else everything
    return everything


def _first_distinct(
    part: Enumeration, gain: FloatArray, variance: FloatArray, penalty: float
) -> Iterator[tuple[float, list[BoolArray]]]:
    if not part.proves:
        score, sets = _alternate(part, gain, variance, penalty)
        yield float(score[0]), [one[0] for one in sets]
        return
    for number, found in enumerate(part.best(gain, variance)):
        if number >= MOST_DISTINCT:
            return
        yield found


def _alternate(
    part: Enumeration, gain: FloatArray, variance: FloatArray, penalty: float
) -> tuple[FloatArray, tuple[BoolArray, BoolArray]]:
    """Two long unordered attributes solved in turn, from all values: the best it comes to, in every draw."""
    shape = [one.values for one in part.attributes]
    total = gain.reshape(len(gain), *shape)
    spread = np.broadcast_to(variance.reshape(len(variance), *shape), total.shape)
    best = np.full(len(gain), -np.inf)
    sets = [np.ones((len(gain), size), dtype=np.bool_) for size in shape]
    for round_number in range(_ROUNDS):
        j = round_number % 2
        other = sets[1 - j][:, None, :] if j == 0 else sets[1 - j][:, :, None]
        held = part.attributes[1 - j].listed(sets[1 - j])
        axis = 2 if j == 0 else 1
        score, chosen = best_sets((total * other).sum(axis=axis), (spread * other).sum(axis=axis), penalty)
        score = score - penalty * held
        better = score > best + 1e-9
        sets[j] = np.where(better[:, None], chosen, sets[j])
        best = np.maximum(best, score)
        if round_number and not better.any():
            break
    return best, (sets[0], sets[1])

"""What an undetermined group would need: members for a certificate, and the gap this audit would have found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np
from scipy import special

from fairtrial._compare.disparities import Disparities
from fairtrial._inference.laws.gaps import no_gap
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.power import Band, MeanAudits, RateAudits
from fairtrial._results.column import undefined

# A size is sought up to this many times the present one, and to two percent: it is said as "about".
FURTHEST = 1000.0
PRECISION = 1.02
# Counts of the target that are looked at: fewer where many groups are.
NODES, MANY_GROUPS, FEW_NODES = 25, 50, 9

TOO_SMALL_TARGET = "the target has too few people for a certificate, whatever the group's size"
NO_ZERO = "the tolerance does not contain the case of no gap"
SAME_SHARES = ", and everyone else as many times more,"
NO_SIZE = "no number of rows would be enough at these shares"
NEVER = "no gap is large enough to be found with these sizes"
MOST_PLANNED = 2_000  # each group's audits to come are enumerated: thousands would take minutes
TOO_MANY = f"not planned: there are more than {MOST_PLANNED:,} groups"

_wanted: ContextVar[bool] = ContextVar("sizes are wanted", default=True)


@contextmanager
def without_sizes() -> Iterator[None]:
    """Nothing in this block plans sizes: for who only looks at gaps, they take longer than all the rest."""
    token = _wanted.set(False)
    try:
        yield
    finally:
        _wanted.reset(token)


@dataclass(frozen=True, slots=True)
class Needed:
    """Per group, as cells of the table: members with the target as it is, rows of the whole audit, detectable gap."""

    members: list[Any]
    rows: list[Any]
    detectable: list[Any]


def find_needed(
    disparities: Disparities, band: Band | None, undetermined: Any, level: float, power: float
) -> Needed:
    """From the test that will be used, at the sizes of this audit and, for a certificate, if no gap were there."""
    groups = len(disparities.groups)
    if not _wanted.get() or not _planned(disparities, band):
        return Needed([None] * groups, [None] * groups, [None] * groups)
    told = disparities.gaps.defined
    if groups > MOST_PLANNED:
        return _not_planned(np.asarray(undetermined) & told & (band is not None), told)
    wanted = np.flatnonzero(np.asarray(undetermined) & told & (band is not None))
    members: list[Any] = [None] * groups
    rows: list[Any] = [None] * groups
    audits = _audits(disparities)
    if band is not None and not band[0] < no_gap(disparities.scale) < band[1]:
        for index in wanted:
            members[index] = rows[index] = undefined(NO_ZERO)
    elif band is not None and wanted.size:
        total, count = float(disparities.cells.rows.sum()), disparities.count
        alone, together = audits.sizes(wanted, band, 1.0 - level, power)
        for place, index in enumerate(wanted):
            enough = np.isfinite(alone[place])
            size = alone[place] * count[index]
            members[index] = ceil(size) if enough else undefined(TOO_SMALL_TARGET)
            rows[index] = _rows(together[place] * total)
    if disparities.scale == "ratio":
        return Needed(members, rows, [None] * groups)
    found = audits.detectable(band or (0.0, 0.0), 1.0 - level, power)
    return Needed(members, rows, [_gap(value) for value in found])


def _not_planned(undetermined: Any, told: Any) -> Needed:
    sizes, gaps = ([undefined(TOO_MANY) if asked else None for asked in of] for of in (undetermined, told))
    return Needed(sizes, sizes, gaps)


def _planned(disparities: Disparities, band: Band | None) -> bool:
    """Whether sizes can be said: of plain gaps; strata, weights, pairs and one-sided bands have none."""
    plain = disparities.plain
    if disparities.scale == "ratio":
        return (
            plain
            and band is not None
            and band[0] > 0.0
            and np.isfinite(band[1])
            and _ratio_planned(disparities)
        )
    return plain and (band is None or bool(np.isfinite(band).all()))


def _ratio_planned(disparities: Disparities) -> bool:
    """Ratios of rates to others than the group itself, or to a known rate."""
    apart = not (disparities.comparison.member & disparities.comparison.reference).any(axis=1).any()
    return apart and disparities.binary and disparities.request.procedure.profile


def _rows(size: float) -> Any:
    return ceil(size) if np.isfinite(size) else undefined(NO_SIZE)


def _gap(value: float) -> Any:
    return float(value) if np.isfinite(value) else undefined(NEVER)


def hint_words(disparities: Disparities, needed: Needed) -> str:
    """Who would need most, said with what stays as it is. The sizes are those of no gap: with one, none would do.

    A group that has as many already stays undetermined for another reason, and nothing is said of it.
    """
    known = [(size, i) for i, size in enumerate(needed.members) if isinstance(size, int)]
    short = [(size, i) for size, i in known if size > disparities.count[i]]
    if short:
        size, i = max(short)
        need = f"about {size:,} members{_audits(disparities).others_words(i)}"
        return f"; {disparities.groups[i].label} would need {need} to be certified if it has no gap"
    rows = disparities.cells.rows.sum()
    whole = [(size, i) for i, size in enumerate(needed.rows) if isinstance(size, int) and size > rows]
    if whole and not known:
        size, i = max(whole)
        need = f"an audit of about {size:,} rows with the same shares"
        return f"; {disparities.groups[i].label} would need {need} to be certified if it has no gap"
    return ""


def _as_they_are(others: int) -> str:
    return f", with the {others:,} it is compared with as they are,"


def _audits(disparities: Disparities) -> _Rates | _Means:
    plain = disparities.binary and disparities.request.procedure.profile
    return _Rates(disparities) if plain and _Rates.fits(disparities) else _Means(disparities)


@dataclass(frozen=True, eq=False)
class _Rates:
    """Groups and targets apart, a group within its target as if against the others there, or a known rate."""

    disparities: Disparities

    @staticmethod
    def fits(disparities: Disparities) -> bool:
        """Whether each group is apart from its target or inside it."""
        comparison = disparities.comparison
        shared, apart, _ = (part @ disparities.atoms.count for part in comparison.parts)
        return bool(((shared == 0) | (apart == 0)).all())

    @cached_property
    def count(self) -> Floats:
        """People of each group."""
        return self.disparities.count

    @cached_property
    def others(self) -> Floats:
        """People opposite each group; infinite for a known rate."""
        comparison = self.disparities.comparison
        if comparison.known is not None:
            return np.full(len(self.disparities.groups), np.inf)
        return np.asarray((comparison.reference & ~comparison.member) @ self.disparities.atoms.count)

    def others_words(self, index: int) -> str:
        others = self.others[index]
        if np.isinf(others):
            return ""
        return _as_they_are(int(others)) if self.share[index] == 1.0 else SAME_SHARES

    @cached_property
    def share(self) -> Floats:
        """What a gap to the others is multiplied by: the part of the target that is not the group."""
        inside = (self.disparities.comparison.member & self.disparities.comparison.reference).any(axis=1)
        count, others = self.disparities.count, self.others
        with np.errstate(invalid="ignore"):
            return np.where(inside, others / (others + count), 1.0)

    @cached_property
    def rate(self) -> Floats:
        """The rate of both sides if there were no gap; half an event is added so that none is never or always."""
        comparison, atoms = self.disparities.comparison, self.disparities.atoms
        if comparison.known is not None:
            return np.asarray(comparison.known, dtype=np.float64)
        both = np.stack([atoms.successes, atoms.count], axis=1)
        events, people = np.sum([part @ both for part in comparison.parts], axis=0).T
        return np.asarray((events + 0.5) / (people + 1.0))

    def _at(self, chosen: Any, own: Floats, theirs: Floats) -> RateAudits:
        """Audits with sizes multiplied by these factors."""
        count = np.maximum(np.ceil(self.count[chosen] * own), 1.0)
        others = self.others[chosen]
        sizes = np.where(np.isinf(others), np.inf, np.ceil(np.where(np.isinf(others), 1.0, others) * theirs))
        nodes = NODES if len(chosen) <= MANY_GROUPS else FEW_NODES
        rate = self.rate[chosen]
        return RateAudits(count, np.maximum(sizes, 1.0), rate, nodes, self.disparities.scale)

    def sizes(self, chosen: Any, band: Band, alpha: float, power: float) -> tuple[Floats, Floats]:
        """Factors of the group's size alone (infinite: none suffices), and of both sizes, that certify."""

        def chance(own: Floats, theirs: Floats) -> Floats:
            result = np.zeros(len(chosen))
            for part in np.unique(self.share[chosen]):
                same = np.flatnonzero(self.share[chosen] == part)
                wide = (band[0] / part, band[1] / part)
                audits = self._at(chosen[same], own[same], theirs[same])
                result[same] = audits.certified(wide, alpha, self.rate[chosen[same]])
            return result

        one = np.ones(len(chosen))
        together = _smallest_factor(lambda factor: chance(factor, factor), power, one)
        if (
            self.share[chosen] < 1.0
        ).any():  # alone it would change its share of everyone, and the gap with it
            return together, together
        return _smallest_factor(lambda factor: chance(factor, one), power, one), together

    def detectable(self, band: Band, alpha: float, power: float) -> Floats:
        everyone = np.arange(len(self.disparities.groups))
        one, share, result = np.ones(everyone.size), self.share, np.zeros(everyone.size)
        for part in np.unique(share):
            same = np.flatnonzero(share == part)
            wide = (band[0] / part, band[1] / part)
            audits = self._at(same, one[same], one[same])
            result[same] = part * audits.detectable(wide, alpha, power)
        return result


def _smallest_factor(chance: Callable[[Floats], Floats], power: float, guess: Floats) -> Floats:
    """The smallest factor of a size with this chance, by halving on a logarithmic scale; infinite where none has it."""
    guess = np.clip(guess, 1.0 / FURTHEST, FURTHEST / 2.0)
    low, high = guess / 2.0, guess * 2.0
    for _ in range(12):
        short = chance(high) < power
        if not (short & (high < FURTHEST)).any():
            break
        low, high = np.where(short, high, low), np.where(short, np.minimum(8.0 * high, FURTHEST), high)
    while (high / low > PRECISION).any():
        middle = np.sqrt(low * high)
        enough = chance(middle) >= power
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(short, np.inf, high)


def _error_needed(band: Band, alpha: float, power: float) -> float:
    """About the error with which both edges of the band are excluded, to start from."""
    return min(-band[0], band[1]) / -float(special.ndtri(alpha) + special.ndtri((1.0 - power) / 2.0))


@dataclass(frozen=True, slots=True, eq=False)
class _Means:
    """Real values, and rates that share people with their target in parts: errors that shrink with sizes."""

    disparities: Disparities

    def others_words(self, index: int) -> str:
        comparison = self.disparities.comparison
        if comparison.known is not None:
            return ""
        if (comparison.member[index] & comparison.reference[index]).any():
            return SAME_SHARES
        return _as_they_are(int(comparison.reference[index] @ self.disparities.atoms.count))

    @property
    def own_error(self) -> Floats:
        """The part of each error that the group's own people make; all of it where they are in the target as well."""
        comparison, gaps = self.disparities.comparison, self.disparities.gaps
        count, _, m2 = self.disparities.atoms.pooled(comparison.member)
        own = np.sqrt(m2 / np.maximum(count - 1.0, 1.0) / np.maximum(count, 1.0))
        shared = (comparison.member & comparison.reference).any(axis=1)
        return np.where(shared | (comparison.known is not None), gaps.error, np.minimum(own, gaps.error))

    def _stretch(self, level: float) -> list[tuple[float, float]]:
        """How much further than a normal quantile the limits at this level reach."""
        gaps = self.disparities.gaps
        low, high = gaps.limits(level)
        quantile = -float(special.ndtri((1.0 - level) / 2.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            sides = (
                (gaps.estimate - low) / gaps.error / quantile,
                (high - gaps.estimate) / gaps.error / quantile,
            )
        return [(float(a), float(b)) for a, b in zip(*np.nan_to_num(sides, nan=np.inf), strict=True)]

    def sizes(self, chosen: Any, band: Band, alpha: float, power: float) -> tuple[Floats, Floats]:
        own, error = self.own_error, self.disparities.gaps.error
        stretch = self._stretch(1.0 - 2.0 * alpha)
        guess = (error / _error_needed(band, alpha, power)) ** 2

        def factor(index: int, grows: bool) -> float:
            target = float(np.sqrt(max(error[index] ** 2 - own[index] ** 2, 0.0)))

            def chance(times: Floats) -> Floats:
                root = float(np.sqrt(times[0]))
                audits = MeanAudits(
                    float(own[index]) / root, target / root if grows else target, 0.0, stretch[index]
                )
                return np.array([audits.certified(band, alpha)])

            return float(_smallest_factor(chance, power, np.full(1, guess[index]))[0])

        return (
            np.array([factor(index, grows=False) for index in chosen]),
            np.array([factor(index, grows=True) for index in chosen]),
        )

    def detectable(self, band: Band, alpha: float, power: float) -> Floats:
        """Above the band: the critical distance below an estimate, and what the power adds."""
        gaps, stretch = self.disparities.gaps, self._stretch(1.0 - alpha)
        found = np.full(gaps.estimate.shape, np.nan)
        for index in np.flatnonzero(gaps.defined):
            error = float(gaps.error[index])
            if not 0.0 < error < np.inf or not np.isfinite(stretch[index]).all():
                continue
            near, far = band[1], band[1] + 40.0 * error * max(stretch[index])
            for _ in range(60):
                middle = (near + far) / 2.0
                enough = MeanAudits(error, 0.0, middle, stretch[index]).found(band, alpha) >= power
                near, far = (near, middle) if enough else (middle, far)
            found[index] = far
        return found

"""First stage: the groups' rates, the test that all are equal, and the gap of every pair, as certify gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._compare.sorted_groups import find_atoms
from fairtrial._explain.explained_rows import ExplainedRows
from fairtrial._explain.solver.coalitions import Targets, contributions
from fairtrial._explain.solver.esl import Floats
from fairtrial._explain.solver.esl_groups import (
    WaldTest,
    interaction_contrasts,
    linear_wald,
    paper_interval,
    pooled_z,
)
from fairtrial._explain.solver.group_forms import LEAST_DF, QUARTER
from fairtrial._explain.two_stage_game import Estimates, TwoStageGame, in_units_of_baseline, value_targets
from fairtrial._explain.wanted import WHO, Wanted
from fairtrial._inference.compare.choose_gaps import make_gaps
from fairtrial._inference.evidence.atoms import Atoms, Comparison
from fairtrial._inference.joint.joint_test import joint_test
from fairtrial._inference.numeric.roots import Bools
from fairtrial._inference.rates.proportions import rate_interval

Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True, eq=False)
class GapTest:
    """One pair of groups: the gap of their rates, its interval and its p-value, or why there are none."""

    gap: float
    low: float
    high: float
    p_value: float
    reason: str | None = None
    open_because: str = ""  # why a side of the interval has no limit

    @property
    def why_no_limit(self) -> str:
        return self.reason or f"no limit: {self.open_because}"


@dataclass(frozen=True, slots=True, eq=False)
class ComparedGroups:
    """One system's rates per group and what the tests say. Undefined rates are NaN."""

    count: Floats
    rate: Floats
    low: Floats
    high: Floats
    binary: bool
    omnibus: WaldTest | None
    gaps: tuple[GapTest | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FirstStage:
    """The system that is explained and, where decisions were audited, those: the verdict is theirs."""

    explained: ComparedGroups
    audited: ComparedGroups | None
    value: Estimates  # (groups, allocations, 1): φ_g of the explained system
    interaction: WaldTest | None

    @property
    def judged(self) -> ComparedGroups:
        """What the verdict is about."""
        return self.explained if self.audited is None else self.audited

    @property
    def binary(self) -> bool:
        """Whether rates are compared throughout, of which results speak in points."""
        return self.explained.binary and self.judged.binary


def first_stage(game: TwoStageGame, interval_kind: str, audited: ComparedGroups | None) -> FirstStage:
    """Group values φ_g, the test that all rates are equal, and the gap of every pair."""
    atoms = _explained_atoms(game)
    found = compare_groups(atoms, np.eye(game.groups, dtype=bool), game.pairs, game.level, interval_kind)
    interaction = None
    if game.levels and np.isfinite(found.rate).all():
        interaction = _interaction(atoms, game)
    return FirstStage(found, audited, _decompose_whole(game, value_targets(game, 0)), interaction)


def audited_groups(
    audit: Audit, wanted: Wanted, explained: ExplainedRows, pairs: Pairs
) -> ComparedGroups | None:
    """The groups under the audited decisions (or scores), of all rows; None where the audit has none."""
    if not audit.has("score" if wanted.scores else "decision"):
        return None
    attributes = tuple(dict.fromkeys(name for group in explained.groups for name in group.attributes))
    cells = audit.cells(attributes, [wanted.metric], who=WHO)
    member = np.array([cells.mask(group) for group in explained.groups])
    atoms = find_atoms(WHO, audit, cells, wanted.metric)
    return compare_groups(atoms, member, pairs, wanted.confidence_level, wanted.interval)


def compare_groups(atoms: Atoms, member: Bools, pairs: Pairs, level: float, kind: str) -> ComparedGroups:
    """Rates with intervals, every pair's gap, and the test that all are equal, by the package's one inference."""
    count, rate, _ = atoms.pooled(member)
    if atoms.binary:
        low, high = rate_interval(np.nan_to_num(rate * count), count, level)
    else:
        # A mean's own interval is that of its gap to zero, as measure has it.
        zero = Comparison(member, np.zeros_like(member), np.zeros(len(count)))
        low, high = make_gaps(atoms, zero).limits(level)
    low, high = (np.where(np.isnan(rate), np.nan, limit) for limit in (low, high))
    gaps = gap_tests(atoms, member, pairs, level)
    if kind == "paper" and atoms.binary:
        gaps = tuple(_by_the_paper(rate * count, count, pair, level) for pair in pairs)
    omnibus = _all_equal(atoms, member, gaps) if np.isfinite(rate).all() else None
    return ComparedGroups(count, rate, low, high, atoms.binary, omnibus, gaps)


def gap_tests(atoms: Atoms, member: Bools, pairs: Pairs, level: float) -> tuple[GapTest | None, ...]:
    """Every pair's gap with its interval and the level at which that touches 0."""
    first, second = (member[[pair[side] for pair in pairs]] for side in (0, 1))
    found = make_gaps(atoms, Comparison(first, second))
    low, high = found.limits(level)
    p, there = found.p_equal(0.0), (atoms.pooled(part)[0] > 0 for part in (first, second))
    known = np.logical_and(*there)
    return tuple(
        GapTest(
            float(found.estimate[t]),
            float(low[t]),
            float(high[t]),
            float(p[t]),
            found.reason[t],
            found.why_no_limit(t),
        )
        if known[t]
        else None
        for t in range(len(pairs))
    )


def _by_the_paper(successes: Floats, count: Floats, pair: tuple[int, int], level: float) -> GapTest | None:
    """The pooled variance for the interval as for the test: the paper's, which does not hold its level."""
    g, h = pair
    table = (float(successes[g]), float(count[g]), float(successes[h]), float(count[h]))
    if not (count[g] and count[h]):
        return None
    gap = table[0] / table[1] - table[2] / table[3]
    return GapTest(gap, *paper_interval(*table, level), pooled_z(*table)[1])


def _all_equal(atoms: Atoms, member: Bools, gaps: tuple[GapTest | None, ...]) -> WaldTest | None:
    """Two groups: their gap's own test. More: certify's joint test."""
    if member.shape[0] == 2:
        (gap,) = gaps
        return None if gap is None or gap.reason else WaldTest(float("nan"), 1, gap.p_value)
    found = joint_test(atoms, member, np.asarray(member.any(axis=0)), None)
    return None if found.reason else WaldTest(found.statistic, found.df, found.p_value)


def _explained_atoms(game: TwoStageGame) -> Atoms:
    """The explained system's values, group by group, among the rows that count."""
    value, weight = game.form.at(game.whole[:, 0].astype(np.float64))
    inside = [(game.group == g) & (weight > 0) for g in range(game.groups)]
    pieces = [_values(value[rows], weight[rows]) for rows in inside]
    count = np.array([float(piece.size) for piece in pieces])
    mean = np.array([piece.mean() if piece.size else 0.0 for piece in pieces])
    if all(bool(np.isin(piece, (0.0, 1.0)).all()) for piece in pieces):
        return Atoms(count, mean, count * mean * (1.0 - mean), True)
    squares = np.array([float(((piece - m) ** 2).sum()) for piece, m in zip(pieces, mean, strict=True)])
    return Atoms(count, mean, squares, False, tuple(pieces))


def _values(value: Floats, weight: Floats) -> Floats:
    """Values whose mean is the rate; where rows count in part, the rate plus each row's influence on it."""
    if value.size == 0 or (weight == 1.0).all():
        return value
    rate = value.sum() / weight.sum()
    return np.asarray(rate + (value - rate * weight) / weight.mean())


def _interaction(atoms: Atoms, game: TwoStageGame) -> WaldTest | None:
    """Whether one attribute's gap depends on the others; a quarter of a person at either end of every cell."""
    low, high = game.form.ends
    size = atoms.count + 2.0 * QUARTER
    rate = (atoms.count * atoms.mean + QUARTER * (low + high)) / size
    squares = atoms.m2 + atoms.count * (atoms.mean - rate) ** 2
    squares = squares + QUARTER * ((low - rate) ** 2 + (high - rate) ** 2)
    variance = squares / np.maximum(size - 1.0, LEAST_DF) / size
    return linear_wald(interaction_contrasts(game.levels), rate, variance)


def _decompose_whole(game: TwoStageGame, targets: Targets) -> Estimates:
    """The targets themselves under the full coalition: a game with one player."""
    alone = np.ones((targets.weights.shape[1], 1, 1))
    found = contributions(game.whole, game.form, game.group, game.groups, alone, targets)
    return in_units_of_baseline(game, found, found.with_quarter_rows(), (slice(None), slice(None)))

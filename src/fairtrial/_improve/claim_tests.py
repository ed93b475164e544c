"""The claim on given rows: every component with its law, what a margin would have given, and a candidate's merit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._improve.arguments import Payoff
from fairtrial._improve.combining import ClaimPart, Compared, Sampled
from fairtrial._improve.components import (
    AreaComponent,
    Component,
    Pair,
    Part,
    accuracy_components,
    area_component,
    gap_of,
    log_levels,
    smooth_fairness_components,
    worst_pair,
)
from fairtrial._improve.contest import Contest, Decided
from fairtrial._improve.worth import Area, Worth, evaluate
from fairtrial._inference.numeric.cell_bootstrap import LevelCells, Levels, adverse_levels, bootstrap_levels


# -- The adverse row of the accuracy test: the worst change that another decision could have brought anybody.
# A sample in which the rare large loss did not occur shows no sign of it, and its mean looks safe. The test
# of accuracy therefore adds one row with the worst change that is known to be possible: from the whole
# file, both halves, or stated by the caller (`Payoff(at_least=…)`).
def adverse_rows(
    contest: Contest, cells: LevelCells, levels: Levels, m: int, everyone: tuple[Decided, Decided]
) -> Floats:
    """(groups + everybody, 2 rules, u and w): the change that lowers each level's improvement most."""
    worth = contest.claim.accuracies[m]
    ends = [contest]
    if contest.unlabelled is not None:
        ends.append(replace(contest, seen=contest.unlabelled.high))
    changes = np.concatenate(
        [scored_changes(worth, end, everyone) if worth.by_score else switched(worth, end) for end in ends]
    )
    totals = np.zeros((len(contest.names) + 1, 2))
    for g in range(len(contest.names)):
        totals[g] = cells.counts[cells.group == g] @ cells.values[cells.group == g, m, :, 1]
    totals[-1] = totals[:-1].sum(axis=0)
    found = np.zeros((len(contest.names) + 1, 2, 2))
    for g, total in enumerate(totals):
        if (total > 0).all():
            effect = (changes[..., 0] - levels.estimate[m, :, g] * changes[..., 1]) / total
            found[g] = changes[int(np.argmin(effect[:, 1] - effect[:, 0]))]
    return (
        found if contest.person is None else found * np.bincount(contest.person).max()
    )  # all of a person's rows


def switched(worth: Worth, contest: Contest) -> Floats:
    """What the other decision would have done to each row's (u, w): (changes, 2 rules, 2)."""
    ones = np.ones(contest.rows)
    (u1, w1), (u0, w0) = (evaluate(worth, contest.seen, d, contest.score) for d in (ones, 1.0 - ones))
    selected, rejected = np.stack([u1, w1], axis=-1), np.stack([u0, w0], axis=-1)
    changes = [np.stack([rejected, selected], axis=1), np.stack([selected, rejected], axis=1)]
    if isinstance(worth.what, Payoff) and worth.what.at_least is not None:
        changes.append(np.array([[[u0.max(), 1.0], [worth.what.at_least, 1.0]]]))
    return np.concatenate(changes)


def scored_changes(worth: Worth, contest: Contest, everyone: tuple[Decided, Decided]) -> Floats:
    """From the best value that any row has under either rule to the worst."""
    found = [evaluate(worth, contest.seen, *decided) for decided in everyone]
    values = np.concatenate([u[w > 0] for u, w in found])
    return np.array([[[values.max(), 1.0], [values.min(), 1.0]]])


Floats = NDArray[np.float64]

# Behind a rate with fewer people than this a gap that was learned forward is tested with an adverse person
FEW_BEHIND = 60
# A z of this size stands for a difference that has no spread at all
CERTAIN = 50.0
# Margins whose p-values stand beside the one that was asked for
MARGINS = (0.0, 0.01, 0.02, 0.05)


@dataclass(frozen=True, slots=True, eq=False)
class AnyDirection:
    """A gap whose direction under the status quo was not stated: the best of all directions, paid for.

    A smaller gap in any one direction is a smaller gap, so the smallest p-value times the number of directions holds
    its level (Bonferroni). Each direction is a list of components of which the weakest counts.
    """

    name: str
    directions: Sequence[Sequence[Component]]
    part: Part = "fairness"

    def _best(self, delta: float) -> Component:
        """The weakest component of the direction that holds best."""
        weakest = [max(found, key=lambda c: c.p_value(delta)) for found in self.directions]
        return min(weakest, key=lambda c: (c.p_value(delta), -c.statistic(delta)))

    @property
    def tie(self) -> float:
        return self._best(0.0).tie

    def statistic(self, delta: float) -> float:
        return self._best(delta).statistic(delta)

    def standard_error(self, delta: float) -> float:
        return self._best(delta).standard_error(delta)

    def p_value(self, delta: float) -> float:
        return min(1.0, len(self.directions) * self._best(delta).p_value(delta))

    def delta_method(self, delta: float) -> float | None:
        found = self._best(delta).delta_method(delta)
        return None if found is None else min(1.0, len(self.directions) * found)

    def largest_delta(self, level: float) -> float:
        each = level / len(self.directions)
        return max(min(c.largest_delta(each) for c in found) for found in self.directions)


@dataclass(frozen=True, slots=True, eq=False)
class ClaimTest:
    """Components in the order accuracies, then fairness metrics, each with the Δ it is tested at.

    `block` says which metric each belongs to; `losses` how many of the people behind an accuracy component fare worse.
    """

    components: list[ClaimPart]
    deltas: list[float]
    block: list[int]
    levels: Levels
    losses: list[int]

    @property
    def pairs(self) -> list[tuple[ClaimPart, float]]:
        return list(zip(self.components, self.deltas, strict=True))

    def margin_p_values(self, units: Sequence[float]) -> list[list[float]]:
        """The p-value of each part had each of `MARGINS` been conceded; `units` are the accuracies' own."""
        fairness = [c.p_value(d) for c, d in self.pairs if c.part == "fairness"]
        parts = list(zip(self.components, self.block, strict=True))
        return [
            [c.p_value(-margin * units[block]) for c, block in parts if c.part == "accuracy"] + fairness
            for margin in MARGINS
        ]


def examine(
    contest: Contest,
    compared: Compared,
    worst: Sequence[Pair | None],
    draws: int,
    rng: np.random.Generator,
    everyone: tuple[Decided, Decided] | None = None,
    *,
    optimistic: bool = False,
) -> ClaimTest:
    """Every component on the given rows, each where unknown outcomes are worst for it, or best where `optimistic`.

    `worst` has each fairness metric's pair of the status quo, from a training half or stated; None where it is not.
    `everyone` has both rules' decisions for all rows of the file, in which the worst change is looked for.
    """
    claim, sampled = contest.claim, Sampled(contest, compared, draws, rng, optimistic=optimistic)
    components: list[ClaimPart] = []
    deltas: list[float] = []
    block: list[int] = []
    losses: list[int] = []
    for m, accuracy_delta in enumerate(claim.accuracy_delta):
        cells, levels = sampled.accuracy(m)
        accuracy: Sequence[ClaimPart] = _area(contest, compared, m)
        if not accuracy:
            accuracy = _accuracy_parts(contest, cells, levels, m, draws, rng, everyone)
        components.extend(accuracy)
        deltas += accuracy_delta
        block += [m] * len(accuracy)
        losses += _losses(contest, cells, levels, m)
    for m, pair in enumerate(worst, start=len(claim.accuracies)):
        fairness = _fairness_parts(contest, sampled, m, pair)
        components += fairness
        deltas += [claim.fairness_delta] * len(fairness)
        block += [m] * len(fairness)
    return ClaimTest(components, deltas, block, sampled.shown(components, deltas, block), losses)


def _area(contest: Contest, compared: Compared, m: int) -> list[AreaComponent]:
    """The area under the curve, where that is the accuracy."""
    if not isinstance(contest.claim.accuracies[m].what, Area):
        return []
    old, new = (decided[0] if decided[1] is None else decided[1] for decided in (compared.old, compared.new))
    return [area_component("everyone", contest.outcome[compared.index], old, new)]


def _accuracy_parts(
    contest: Contest,
    cells: LevelCells,
    levels: Levels,
    m: int,
    draws: int,
    rng: np.random.Generator,
    everyone: tuple[Decided, Decided] | None,
) -> list[Component]:
    claim, adverse = contest.claim, None
    if everyone is not None and claim.gap_variant is None:
        worst = adverse_rows(contest, cells, levels, m, everyone)
        adverse = adverse_levels(cells, m, worst, draws, rng)
    weights = None if claim.weights is None else np.array(claim.weights)
    names = [*contest.names, "everyone"]
    return accuracy_components(levels, m, names, kind=claim.kind, weights=weights, adverse=adverse)


def _fairness_parts(contest: Contest, sampled: Sampled, m: int, worst: Pair | None) -> list[ClaimPart]:
    claim = contest.claim
    if claim.gap_variant is not None:
        return claim.gap_variant.components(contest, sampled, m)
    if worst is not None:
        return [*_smooth_parts(contest, sampled, m, worst)]
    directions = [_smooth_parts(contest, sampled, m, pair) for pair in claim.pairs]
    return [*directions[0]] if len(directions) == 1 else [AnyDirection("gap, either direction", directions)]


def _smooth_parts(contest: Contest, sampled: Sampled, m: int, worst: Pair) -> list[Component]:
    """The inequalities of one direction, each on its own completion of what is unknown."""
    claim, names = contest.claim, [*contest.names, "everyone"]
    ratio = claim.scale == "ratio"
    turned = (
        sampled.turned is not None and not ratio
    )  # logs are those of whole levels: of the first chunk's pair
    how: Any = {
        "kind": "relative" if ratio else claim.kind,
        "worst": worst,
        "law": "normal" if ratio or turned else "reflected",
        "turned": turned,
    }
    found: list[Component] = []
    for pair in claim.pairs:
        levels = sampled.turned[1] if turned and sampled.turned else sampled.gap(m, worst, pair)
        levels = log_levels(levels) if ratio else levels
        found += smooth_fairness_components(levels, m, names, pairs=[pair], one_sided=False, **how)
    if claim.one_sided:
        levels = sampled.turned[1] if turned and sampled.turned else sampled.gap(m, worst, None)
        levels = log_levels(levels) if ratio else levels
        found += smooth_fairness_components(levels, m, names, pairs=[], one_sided=True, **how)
    few = sampled.plain[1].support[m, :, :-1].min() < FEW_BEHIND
    if turned and sampled.turned and few and _are_rates(sampled.turned[0], m):
        return _with_adverse_people(sampled, m, found, [*claim.pairs, *([None] if claim.one_sided else [])])
    return found


def _are_rates(cells: LevelCells, m: int) -> bool:
    return bool(np.isin(np.abs(cells.values[:, m]), (0.0, 1.0)).all())


def _with_adverse_people(
    sampled: Sampled, m: int, parts: Sequence[Component], pairs: Sequence[Pair | None]
) -> list[Component]:
    """The same parts under Dirichlet weights of the rows and of one adverse person in every group.

    Where few people stand behind a rate, T/se rejected in 5.9 to 7.4% of samples at the edge of the claim.
    """
    assert sampled.turned is not None
    cells, groups = sampled.turned[0], len(sampled.contest.names)
    found = []
    for part, pair in zip(parts, pairs, strict=True):
        adverse = np.ones((groups + 1, 2, 2))
        for g in range(groups):
            inside = cells.group == g
            adverse[g, 0, 0] = cells.values[inside, m, 0, 0].min()
            adverse[g, 1, 0] = 1.0 if pair is not None and g == pair[0] else 0.0
        drawn = adverse_levels(cells, m, adverse, sampled.draws, sampled.rng)
        old = replace(part.status_quo, draws=drawn[:, 0, :-1].sum(axis=1))
        gap = np.zeros(sampled.draws) if pair is None else drawn[:, 1, pair[0]] - drawn[:, 1, pair[1]]
        found.append(
            replace(part, status_quo=old, candidate=replace(part.candidate, draws=gap), law="adverse row")
        )
    return found


def _losses(contest: Contest, cells: LevelCells, levels: Levels, m: int) -> list[int]:
    """How many people fare worse under the candidate, behind each accuracy component."""
    u, w = cells.values[:, m, :, 0], cells.values[:, m, :, 1]
    weights = contest.claim.weights
    found = []
    for g in range(len(contest.names)) if weights is None else [len(contest.names)]:
        level = np.nan_to_num(levels.estimate[m, :, g])
        gain = (u[:, 1] - level[1] * w[:, 1]) - (u[:, 0] - level[0] * w[:, 0])
        same = (u[:, 0] == u[:, 1]) & (w[:, 0] == w[:, 1])
        if (w == 1).all():
            gain = u[:, 1] - u[:, 0]
        worse = (gain < 0) & ~same & ((cells.group == g) | (g == len(contest.names)))
        found.append(int(cells.counts[worse].sum()))
    return found


def status_quo_pairs(contest: Contest, old: Decided, index: NDArray[np.intp]) -> list[Pair]:
    """The worst pair of the status quo in some rows, per fairness metric."""
    cells = contest.cells(index, old, old)
    if contest.unlabelled is not None:  # in the middle of both ends: only the direction is taken from it
        ends = contest.ends(index, old, old)
        cells = replace(ends.low, values=(ends.low.values + ends.high) / 2)
    levels = bootstrap_levels(cells, 0, np.random.default_rng(0))
    first = len(contest.claim.accuracies)
    return [worst_pair(estimate[0, :-1], contest.claim.pairs) for estimate in levels.estimate[first:]]


def z_values(tested: ClaimTest) -> list[float]:
    """How sure each part of the claim is: T by its standard error."""
    found = []
    for component, delta in tested.pairs:
        estimate, error = component.statistic(delta), component.standard_error(delta)
        if not math.isfinite(estimate):
            found.append(-math.inf)
        else:
            certain = CERTAIN * float(np.sign(round(estimate, 12)))
            found.append(estimate / error if error > component.tie else certain)
    return found


def levels_of(contest: Contest, compared: Compared, worst: Sequence[Pair | None]) -> Levels:
    """The levels of both rules alone, without a test."""
    if contest.unlabelled is not None:
        return examine(contest, compared, worst, 0, np.random.default_rng(0)).levels
    cells = contest.cells(compared.index, compared.old, compared.new)
    return bootstrap_levels(cells, 0, np.random.default_rng(0))


def gap_levels(contest: Contest, estimate: Floats) -> Floats:
    """(2 rules, fairness metrics): the largest directed gap of each, of logs where gaps are ratios."""
    claim, first = contest.claim, len(contest.claim.accuracies)
    levels = estimate[first:, :, :-1]
    if claim.scale == "ratio":
        with np.errstate(divide="ignore", invalid="ignore"):
            levels = np.where(levels > 0, np.log(levels), np.nan)
    return np.array([[gap_of(metric[rule], claim.pairs) for metric in levels] for rule in (0, 1)])

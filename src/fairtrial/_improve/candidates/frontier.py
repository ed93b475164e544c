"""Two regressions give a whole frontier of rules that are blind to the group.

With e(x) the mean gain in utility of deciding 1 in place of 0, and z(x) the mean of what deciding 1 adds to the gap,
the best trade-off at every price λ is to decide 1 where e(x) > λ·z(x). Both are conditional means given permitted
features, so one fit of each gives the rules of every λ at no further cost; a capacity takes the highest e − λz.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fairtrial._improve.candidates.adapters import LARGEST_SEED
from fairtrial._improve.candidates.contest import Contest
from fairtrial._improve.candidates.rules import Floats, Index, Rule, capacity_threshold
from fairtrial._improve.candidates.scorers import Frontier, MeanOfClasses, SignedLinear, TwoRegressions
from fairtrial._improve.candidates.utilities import Worth, evaluate
from fairtrial._improve.solver.improvement import worst_pair

# prices of the gap, in units of the gain's spread by the gap's
PRICES = tuple(float(price) for price in np.round(np.linspace(0.0, 2.0, 41), 3))
TREES, LEAVES = 60, 8  # of boosted models
# a target with at most this many values is a class, whose mean is taken from class probabilities
FEW_VALUES = 6


@dataclass(frozen=True, slots=True)
class FrontierRules:
    """The frontier of one kind of regression; each price of the gap is one variant."""

    kind: Literal["linear", "boosted"]
    by_group: bool = False  # the regressions see the group: thresholds of each group at one price of the gap

    @property
    def name(self) -> str:
        """What it is called in results."""
        return f"{self.kind} group frontier" if self.by_group else f"{self.kind} frontier"

    @property
    def settings(self) -> str:
        """How its models are made."""
        made = "C=1" if self.kind == "linear" else f"{TREES} trees of {LEAVES} leaves"
        return f"two {self.kind} regressions ({made}), λ in units of the gain's spread by the gap's"

    @property
    def needs_group(self) -> bool:
        """Whether its rules decide by group."""
        return self.by_group

    def variants(self, contest: Contest) -> tuple[str, ...]:
        """The names of the rules it can give."""
        return tuple(f"{self.name}, λ={price:g}" for price in PRICES)

    def fit(self, contest: Contest, index: Index, rng: np.random.Generator) -> dict[str, Rule]:
        """Its rules, fitted on the rows of `index`."""
        seed, groups = int(rng.integers(LARGEST_SEED)), len(contest.names) if self.by_group else 0
        training = contest.inputs.part(index)
        x = TwoRegressions(None, None, groups).matrix(training)
        both = TwoRegressions(
            _mean(self.kind, x, gain_of(contest, index), seed),
            _mean(self.kind, x, gap_of(contest, index), seed),
            groups,
        )
        gain, gap = both.values(training)
        unit = float(gain.std()) / max(float(gap.std()), 1e-12)
        capacity = contest.constraints.capacity
        rules = {}
        for price, name in zip(PRICES, self.variants(contest), strict=True):
            scorer = Frontier(both, price * unit)
            threshold = 0.0 if capacity is None else capacity_threshold(scorer(training), capacity)
            rules[name] = contest.rule(name, scorer, threshold)
        return rules


def applicable(contest: Contest) -> bool:
    """Whether deciding changes the accuracy, and nothing forbids a rule that falls in what it is monotone in."""
    if contest.constraints.monotone or not contest.features or contest.seen.outcome is None:
        return False
    return bool(np.ptp(gain_of(contest, np.arange(contest.rows))) > 0)


def gain_of(contest: Contest, index: Index) -> Floats:
    """What deciding 1 in place of 0 adds to everybody's accuracy, per row: (u − A·w) of the one less of the other."""
    worth = contest.claim.accuracy
    u, w = evaluate(worth, contest.seen.part(index), *contest.status_quo_of(index))
    level = float(u.sum() / w.sum()) if w.sum() > 0 else 0.0
    return _difference(contest, worth, index, np.full(index.size, level))


def gap_of(contest: Contest, index: Index) -> Floats:
    """What deciding 1 in place of 0 adds to the status quo's worst gap, per row; summed over the fairness metrics."""
    group, total = contest.group[index], np.zeros(index.size)
    count = len(contest.names)
    for worth in contest.claim.fairness:
        u, w = evaluate(worth, contest.seen.part(index), *contest.status_quo_of(index))
        weight = np.bincount(group, w, count)
        with np.errstate(divide="ignore", invalid="ignore"):
            levels = np.bincount(group, u, count) / weight
        high, low = worst_pair(levels, contest.claim.pairs)
        sign = np.zeros(count)
        sign[high], sign[low] = index.size / max(weight[high], 1.0), -index.size / max(weight[low], 1.0)
        total += sign[group] * _difference(contest, worth, index, np.nan_to_num(levels)[group])
    return total


def _difference(contest: Contest, worth: Worth, index: Index, level: Floats) -> Floats:
    """(u − level·w) had everyone been selected, less the same had nobody been."""
    seen, score = contest.seen.part(index), None if contest.score is None else contest.score[index]
    ones = np.ones(index.size)
    (u1, w1), (u0, w0) = (evaluate(worth, seen, decision, score) for decision in (ones, 1.0 - ones))
    return np.asarray((u1 - level * w1) - (u0 - level * w0))


def _mean(kind: str, x: Floats, target: Floats, seed: int) -> Any:
    """A model of the target's mean: from class probabilities where it takes few values, else a regression."""
    values, classes = np.unique(np.round(target, 12), return_inverse=True)
    few = 1 < values.size <= FEW_VALUES
    if kind == "linear":
        model: Any = SignedLinear(1.0, few, None)
    else:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        made = HistGradientBoostingClassifier if few else HistGradientBoostingRegressor
        model = made(max_iter=TREES, max_leaf_nodes=LEAVES, random_state=seed)
    model.fit(x, classes if few else target)
    return MeanOfClasses(model, values) if few else model

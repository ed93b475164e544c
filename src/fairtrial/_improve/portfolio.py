"""The built-in selection rules: few, quick, and different from each other.

The frontiers of two regressions (see `frontier`), logistic regression and boosted trees of the outcome with their
thresholds moved and with another seed, reweighing (Kamiran and Calders), one feature dropped. All of them are blind to
the group when they decide; group thresholds are offered by name only, because they are not.

Where fairlearn is installed (the extra `fair`), its reductions are tried as well (Agarwal, Beygelzimer, Dudík,
Langford and Wallach, "A reductions approach to fair classification"): classifiers that trade the error rate against a
parity constraint. The grid search is used: its classifiers are not random, and blind to the group when they decide.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np

from fairtrial._improve.candidates import LARGEST_SEED
from fairtrial._improve.components import worst_pair
from fairtrial._improve.contest import Contest, OneRule
from fairtrial._improve.rules import Floats, Index, Rule, capacity_threshold
from fairtrial._improve.scorers import (
    Frontier,
    GroupMargin,
    MeanOfClasses,
    ModelScore,
    SignedLinear,
    Standardised,
    Tuned,
    TwoRegressions,
    mean_and_factor,
    model_score,
    standard,
)
from fairtrial._improve.worth import Worth, evaluate

# -- Two regressions give a whole frontier of rules that are blind to the group.
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


def frontier_applies(contest: Contest) -> bool:
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


MOVES = (0.9, 1.1)
# fairness metric -> fairlearn's constraint
CONSTRAINTS = {
    "selection_rate": "DemographicParity",
    "tpr": "TruePositiveRateParity",
    "fnr": "TruePositiveRateParity",
    "fpr": "FalsePositiveRateParity",
    "tnr": "FalsePositiveRateParity",
    "accuracy": "ErrorRateParity",
    "error_rate": "ErrorRateParity",
}
GRID = 7  # multipliers tried; each is one logistic regression
LIMIT = 1.0  # of the multipliers: beyond it the constraint swamps the accuracy
WEIGHTS = (0.25, 0.5, 0.75)  # of the constraint's violation against the error, one variant each


@dataclass(frozen=True, slots=True)
class _Variant:
    """One rule made of a score: at ½, or at a multiple of the share selected."""

    name: str
    half: bool = False
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Scored:
    """A model of the outcome with its threshold at ½ and at shares near the status quo's.

    `columns_per_split` below 1 lets each split of a tree see only some of the columns: other seeds are other models.
    """

    name: str
    kind: str
    strength: float = 1.0
    reweighed: bool = False
    drop: bool = False
    columns_per_split: float = 1.0

    @property
    def settings(self) -> str:
        """How its model is made."""
        told = {
            "logistic": f"C={self.strength:g}",
            "boosting": f"{TREES} trees of {LEAVES} leaves, {self.columns_per_split:.0%} of the columns at each split",
            "tuned": "boosted trees, settings by successive halving",
        }[self.kind]
        told += ", group and outcome reweighed to be independent" if self.reweighed else ""
        return told + (", without the feature most tied to the group" if self.drop else "")

    def variants(self, contest: Contest) -> tuple[str, ...]:
        """The names of the rules it can give."""
        return tuple(variant.name for variant in self._variants(contest))

    def _variants(self, contest: Contest) -> list[_Variant]:
        found = [_Variant(self.name)]
        if contest.constraints.capacity is None:
            moved = [_Variant(f"{self.name}, {move:g}× share", share=move) for move in MOVES]
            found = [_Variant(f"{self.name}, same share"), *moved]
            if contest.outcome_is_binary:
                found.insert(0, _Variant(f"{self.name}, at ½", half=True))
        return found

    def fit(self, contest: Contest, index: Index, rng: np.random.Generator) -> dict[str, Rule]:
        """Its rules, fitted on the rows of `index`."""
        model, columns = self._fitted_model(contest, index, rng)

        scorer = ModelScore(model, columns)
        score, share = scorer(contest.inputs.part(index)), contest.share(index)
        rules = {}
        for variant in self._variants(contest):
            selected = min(share * variant.share, 1.0)
            threshold = 0.5 if variant.half else capacity_threshold(score, selected)
            rules[variant.name] = contest.rule(variant.name, scorer, threshold)
        return rules

    def _fitted_model(self, contest: Contest, index: Index, rng: np.random.Generator) -> tuple[Any, Any]:
        """The model of the outcome and the columns it looks at."""
        outcome, binary = contest.outcome, contest.outcome_is_binary
        columns = _without_proxy(contest, index) if self.drop else np.arange(contest.inputs.matrix.shape[1])
        weight = reweighing(outcome[index], contest.group[index], binary) if self.reweighed else None
        signs = _signs(contest, columns)
        model = self._model(binary, signs, int(rng.integers(LARGEST_SEED)))
        model.fit(contest.inputs.matrix[np.ix_(index, columns)], outcome[index], weight)
        return model, columns

    def _model(self, binary: bool, signs: Floats | None, seed: int) -> Any:
        if self.kind == "logistic":
            return SignedLinear(self.strength, binary, signs)
        if self.kind == "tuned":
            return Tuned(binary, signs, seed)
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        made = HistGradientBoostingClassifier if binary else HistGradientBoostingRegressor
        return made(
            max_iter=TREES,
            max_leaf_nodes=LEAVES,
            max_features=self.columns_per_split,
            monotonic_cst=None if signs is None else signs.astype(int),
            random_state=seed,
        )


@dataclass(frozen=True, slots=True)
class GroupThresholds(OneRule):
    """Logistic regression with the same share selected in each group: decides by group, only on request."""

    name: str = "group thresholds"
    needs_group: bool = True
    settings: str = "C=1, the same share of each group"

    def fit(self, contest: Contest, index: Index, rng: np.random.Generator) -> dict[str, Rule]:
        """Its rules, fitted on the rows of `index`."""
        model = SignedLinear(1.0, contest.outcome_is_binary, _signs(contest, slice(None)))
        model.fit(contest.inputs.matrix[index], contest.outcome[index], None)
        score = model_score(model, contest.inputs.matrix[index])
        group, share = contest.group[index], contest.share(index)
        thresholds = np.array(
            [capacity_threshold(score[group == g], share) for g in range(len(contest.names))]
        )

        return {self.name: contest.rule(self.name, GroupMargin(model, thresholds), 0.0)}


def portfolio(contest: Contest) -> list[Any]:
    """The default selection rules."""
    frontiers = [FrontierRules("linear"), FrontierRules("boosted")] if frontier_applies(contest) else []
    return [
        *frontiers,
        Scored("logistic", "logistic"),
        Scored("logistic, ridge", "logistic", strength=0.01),
        Scored("boosted trees", "boosting"),
        Scored("boosted trees, other seed", "boosting", columns_per_split=0.5),
        Scored("reweighed logistic", "logistic", reweighed=True),
        Scored("logistic, proxy dropped", "logistic", drop=True),
    ]


def reweighing(outcome: Floats, group: Any, binary: bool) -> Floats:
    """P(g)·P(y)/P(g, y): group and outcome independent in the weighted sample (real outcome: halves at the median)."""
    high = (outcome > 0.5 if binary else outcome > np.median(outcome)).astype(np.int64)
    weight = np.ones(outcome.size)
    for g in np.unique(group):
        for y in (0, 1):
            both = (group == g) & (high == y)
            if both.any():
                weight[both] = np.mean(group == g) * np.mean(high == y) / np.mean(both)
    return weight


def _without_proxy(contest: Contest, index: Index) -> Any:
    """All columns but those of the feature most correlated with the groups in the training half."""
    mean, factor = mean_and_factor(contest.inputs.matrix[index])
    x = standard(contest.inputs.matrix[index], mean, factor)
    spread = x.std(axis=0)
    tied = np.zeros(len(contest.features))
    for code in range(len(contest.names)):
        member = (contest.group[index] == code).astype(np.float64)
        covariance = np.abs(((x - x.mean(axis=0)) * (member - member.mean())[:, None]).mean(axis=0))
        correlation = np.divide(
            covariance, spread * max(float(member.std()), 1e-12), out=np.zeros_like(spread), where=spread > 0
        )
        np.maximum.at(tied, contest.feature_of, correlation)
    kept = np.flatnonzero(contest.feature_of != int(np.argmax(tied)))
    return kept if kept.size else np.arange(x.shape[1])


def _signs(contest: Contest, columns: Any) -> Floats | None:
    """The required direction of each column of the matrix; 0 where it is free."""
    if not contest.constraints.monotone:
        return None
    signs = np.zeros(contest.inputs.matrix.shape[1])
    for feature, sign in contest.constraints.monotone.items():
        signs[contest.columns_of(feature)] = sign
    return np.asarray(signs[columns])


@dataclass(frozen=True, slots=True)
class Reductions:
    """Grid search over Lagrange multipliers; each variant weighs violation and error differently."""

    name: str = "fairlearn reductions"
    settings: str = (
        f"grid search of {GRID} multipliers up to {LIMIT:g}, logistic regression; the violation's weight"
    )

    def variants(self, contest: Contest) -> tuple[str, ...]:
        """The names of the rules it can give."""
        return tuple(f"{self.name}, {weight:g}" for weight in WEIGHTS)

    def fit(self, contest: Contest, index: Index, rng: np.random.Generator) -> dict[str, Rule]:
        """Its rules, fitted on the rows of `index`."""
        from fairlearn import reductions
        from sklearn.linear_model import LogisticRegression

        x = contest.inputs.matrix[index]
        mean, factor = mean_and_factor(x)
        constraint = getattr(reductions, CONSTRAINTS[contest.claim.fairness[0].name])()
        search = reductions.GridSearch(
            LogisticRegression(max_iter=200), constraint, grid_size=GRID, grid_limit=LIMIT
        )
        with warnings.catch_warnings(), _no_advice_on_the_grid():
            warnings.simplefilter("ignore")  # fairlearn's own use of pandas
            data, group = standard(x, mean, factor), contest.group[index]
            search.fit(data, contest.outcome[index], sensitive_features=group)
        errors = np.asarray(search.objectives_, dtype=np.float64)
        violations = np.asarray([float(gamma.max()) for gamma in search.gammas_.to_numpy().T])
        rules = {}
        for weight, name in zip(WEIGHTS, self.variants(contest), strict=True):
            model = search.predictors_[int(np.argmin((1 - weight) * errors + weight * violations))]

            rules[name] = contest.rule(name, Standardised(model, mean, factor), 0.5)
        return rules


@contextmanager
def _no_advice_on_the_grid() -> Iterator[None]:
    """fairlearn logs at every fit that a finer grid is recommended; the grid is coarse on purpose, see `GRID`."""
    logger = logging.getLogger("fairlearn.reductions._grid_search._grid_generator")
    disabled, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = disabled


def installed() -> bool:
    return find_spec("fairlearn") is not None


def applicable(contest: Contest) -> bool:
    """The reduction needs a binary outcome and a constraint it knows; it cannot keep monotone directions."""
    return (
        contest.outcome_is_binary
        and contest.claim.fairness[0].name in CONSTRAINTS
        and not contest.constraints.monotone
        and contest.constraints.capacity is None
    )

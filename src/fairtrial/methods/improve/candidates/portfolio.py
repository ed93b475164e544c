"""The built-in selection rules: few, quick, and different from each other.

Every extra candidate adds to the winner's curse of choosing on the training half, so the portfolio stays small:
logistic regression and boosted trees of the outcome, with their thresholds moved and with score − λ·P(group | x)
(group-blind when it decides); reweighing (Kamiran and Calders); one feature dropped. Group thresholds are offered
by name only, because they decide by group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairtrial.methods.improve.candidates.adapters import LARGEST_SEED, model_score, status_quo_share
from fairtrial.methods.improve.candidates.problem import Problem
from fairtrial.methods.improve.candidates.rules import Floats, Index, Inputs, Rule, capacity_threshold
from fairtrial.methods.improve.candidates.utilities import evaluate
from fairtrial.methods.improve.solver.improvement import worst_pair

PENALTIES = (-0.5, -0.25, 0.25, 0.5)
MOVES = (0.9, 1.1)


@dataclass(frozen=True, slots=True)
class Scored:
    """A model of the outcome and what can be made of its score.

    `penalised` adds score + λ·P(worse-off group | x), both scaled to unit spread, at the same share selected.
    """

    label: str
    kind: str
    strength: float = 1.0
    reweighed: bool = False
    penalised: bool = False
    drop: bool = False

    @property
    def name(self) -> str:
        return self.label

    def variants(self, problem: Problem) -> tuple[str, ...]:
        names = [self.label]
        if problem.capacity is None:
            names = [f"{self.label}, same share", *(f"{self.label}, {move:g}× share" for move in MOVES)]
            if problem.outcome_is_binary:
                names.insert(0, f"{self.label}, at ½")
        if self.penalised and not problem.monotone:
            names += [f"{self.label}, λ={penalty:g}" for penalty in PENALTIES]
        return tuple(names)

    def fit(self, problem: Problem, index: Index, rng: np.random.Generator) -> dict[str, Rule]:
        outcome = problem.seen.outcome
        assert outcome is not None
        columns = _without_proxy(problem, index) if self.drop else np.arange(problem.inputs.matrix.shape[1])
        x = problem.inputs.matrix[np.ix_(index, columns)]
        weight = (
            reweighing(outcome[index], problem.group[index], problem.outcome_is_binary)
            if self.reweighed
            else None
        )
        signs = _signs(problem, columns)
        model = _model(
            self.kind, self.strength, problem.outcome_is_binary, signs, int(rng.integers(LARGEST_SEED))
        )
        model.fit(x, outcome[index], weight)

        def score_of(inputs: Inputs) -> Floats:
            return model_score(model, inputs.matrix[:, columns])

        score = model_score(model, x)
        share = problem.capacity or status_quo_share(problem, index)
        rules = {}
        names = self.variants(problem)
        penalty = _penalty(problem, index, model, columns, score) if any("λ=" in n for n in names) else None
        for name in names:
            scorer: Callable[[Inputs], Floats] = score_of
            values = score
            if penalty is not None and "λ=" in name:
                scorer = penalty.scorer(float(name.split("λ=")[1]))
                values = scorer(problem.inputs.part(index))
            threshold = (
                0.5 if name.endswith("½") else capacity_threshold(values, min(share * _move(name), 1.0))
            )
            rules[name] = Rule(name, scorer, threshold, problem.features, problem.inputs.names, model)
        return rules


@dataclass(frozen=True, slots=True)
class GroupThresholds:
    """Logistic regression with the same share selected in each group: decides by group, only on request."""

    label: str = "group thresholds"
    needs_group: bool = True

    @property
    def name(self) -> str:
        return self.label

    def variants(self, problem: Problem) -> tuple[str, ...]:
        return (self.label,)

    def fit(self, problem: Problem, index: Index, rng: np.random.Generator) -> dict[str, Rule]:
        outcome = problem.seen.outcome
        assert outcome is not None
        model = _Logistic(1.0, problem.outcome_is_binary, _signs(problem, slice(None)))
        model.fit(problem.inputs.matrix[index], outcome[index], None)
        score = model_score(model, problem.inputs.matrix[index])
        share = problem.capacity or status_quo_share(problem, index)
        group = problem.group[index]
        thresholds = np.array(
            [capacity_threshold(score[group == g], share) for g in range(len(problem.names))]
        )

        def margin(inputs: Inputs) -> Floats:
            assert inputs.group is not None
            return np.asarray(model_score(model, inputs.matrix) - thresholds[inputs.group])

        return {self.label: Rule(self.label, margin, 0.0, problem.features, problem.inputs.names, model)}


def portfolio() -> list[Scored]:
    """The default selection rules."""
    return [
        Scored("logistic", "logistic", penalised=True),
        Scored("logistic, ridge", "logistic", strength=0.01),
        Scored("boosted trees", "boosting", penalised=True),
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


def _move(name: str) -> float:
    return float(name.split(", ")[-1].split("×")[0]) if "× share" in name else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class _Penalty:
    """P(worse-off group | x) from permitted features, scaled to the spread of the score."""

    model: Any
    who: Any
    columns: Any
    unit: float

    def scorer(self, penalty: float) -> Callable[[Inputs], Floats]:
        def score_of(inputs: Inputs) -> Floats:
            x = inputs.matrix[:, self.columns]
            return np.asarray(model_score(self.model, x) + penalty * self.unit * model_score(self.who, x))

        return score_of


def _penalty(problem: Problem, index: Index, model: Any, columns: Any, score: Floats) -> _Penalty:
    who = _Logistic(1.0, True, None)
    x = problem.inputs.matrix[np.ix_(index, columns)]
    who.fit(x, (problem.group[index] == _worse_off(problem, index)).astype(np.float64), None)
    spread = max(float(model_score(who, x).std()), 1e-12)
    return _Penalty(model, who, columns, float(score.std()) / spread)


def _worse_off(problem: Problem, index: Index) -> int:
    """The group at the lower end of the status quo's worst gap in the training half."""
    decision, score = problem.status_quo(index)
    worth = problem.claim.fairness[0]
    u, w = evaluate(worth, problem.seen.part(index), decision[index], None if score is None else score[index])
    group = problem.group[index]
    totals = np.bincount(group, w, len(problem.names))
    with np.errstate(divide="ignore", invalid="ignore"):
        levels = np.bincount(group, u, len(problem.names)) / totals
    return worst_pair(levels, problem.claim.pairs)[1]


def _without_proxy(problem: Problem, index: Index) -> Any:
    """All columns but those of the feature most correlated with the groups in the training half."""
    x = problem.inputs.matrix[index]
    spread = x.std(axis=0)
    tied = np.zeros(len(problem.features))
    for code in range(len(problem.names)):
        member = (problem.group[index] == code).astype(np.float64)
        covariance = np.abs(((x - x.mean(axis=0)) * (member - member.mean())[:, None]).mean(axis=0))
        correlation = np.divide(
            covariance, spread * max(float(member.std()), 1e-12), out=np.zeros_like(spread), where=spread > 0
        )
        np.maximum.at(tied, problem.feature_of, correlation)
    kept = np.flatnonzero(problem.feature_of != int(np.argmax(tied)))
    return kept if kept.size else np.arange(x.shape[1])


def _signs(problem: Problem, columns: Any) -> Floats | None:
    """The required direction of each column of the matrix; 0 where it is free."""
    if not problem.monotone:
        return None
    signs = np.zeros(problem.inputs.matrix.shape[1])
    for feature, sign in problem.monotone.items():
        signs[problem.columns_of(feature)] = sign
    return np.asarray(signs[columns])


def _model(kind: str, strength: float, binary: bool, signs: Floats | None, seed: int) -> Any:
    if kind == "logistic":
        return _Logistic(strength, binary, signs)
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    model = HistGradientBoostingClassifier if binary else HistGradientBoostingRegressor
    constraints = None if signs is None else signs.astype(int)
    return _Weighted(model(max_iter=60, max_leaf_nodes=8, monotonic_cst=constraints, random_state=seed))


class _Weighted:
    """A model whose fit takes the weight as third argument."""

    def __init__(self, model: Any) -> None:
        self.model = model
        if hasattr(model, "predict_proba"):
            self.predict_proba = model.predict_proba
        self.predict = model.predict

    def fit(self, x: Floats, y: Floats, weight: Floats | None) -> None:
        self.model.fit(x, y, sample_weight=weight)


class _Logistic:
    """Logistic (binary outcome) or ridge (real outcome) regression on standardised columns, with signs.

    A column whose coefficient has the wrong sign is set to zero and the rest is fitted again.
    """

    def __init__(self, strength: float, binary: bool, signs: Floats | None) -> None:
        from sklearn.linear_model import LogisticRegression, Ridge

        self.model = LogisticRegression(C=strength, max_iter=200) if binary else Ridge(alpha=1.0 / strength)
        self.signs = signs
        if binary:
            self.predict_proba = self._predict_proba

    def fit(self, x: Floats, y: Floats, weight: Floats | None) -> None:
        self.mean, spread = x.mean(axis=0), x.std(axis=0)
        self.factor = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        while True:
            self.model.fit(self._standard(x), y, sample_weight=weight)
            if self.signs is None:
                return
            wrong = (np.ravel(self.model.coef_) * self.signs < 0) & (self.factor > 0)
            if not wrong.any():
                return
            self.factor = np.where(wrong, 0.0, self.factor)

    def _standard(self, x: Floats) -> Floats:
        return np.asarray((x - self.mean) * self.factor)

    def _predict_proba(self, x: Floats) -> Any:
        return self.model.predict_proba(self._standard(x))

    def predict(self, x: Floats) -> Any:
        return self.model.predict(self._standard(x))

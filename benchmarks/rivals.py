"""fairlearn's and AIF360's ways to less discriminatory rules, as `alternatives` runs them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

MARGIN = 0.01  # of accuracy, in points
FOLDS = 3

Decide = Callable[[pd.DataFrame], np.ndarray]


@dataclass
class Problem:
    """People with two groups, and how many the status quo and the search are fitted on; the rest is held out."""

    name: str
    metric: str
    data: pd.DataFrame  # columns: features, group (a or b), outcome
    features: list[str]
    sizes: tuple[int, int]
    parts: int  # every row is held out once
    truth: Callable[[pd.DataFrame], tuple[np.ndarray, np.ndarray]] | None = None

    def part(self, k: int) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """Rows of the status quo, of the search, and the held-out ones of part k."""
        order = np.random.default_rng(0).permutation(len(self.data))
        held = np.array_split(order, self.parts)[k]
        rest = np.setdiff1d(order, held, assume_unique=True)
        first, second = self.sizes
        rest = np.random.default_rng(k).permutation(rest)
        cuts = [rest[:first], rest[first : first + second], held]
        return tuple(self.data.iloc[np.sort(cut)].reset_index(drop=True) for cut in cuts)  # type: ignore[return-value]


# -- numbers ------------------------------------------------------------------------------------------------------


def accuracy(data: pd.DataFrame, decision: np.ndarray) -> float:
    return float(np.mean(decision == data["outcome"].to_numpy()))


def gap(
    problem: Problem, data: pd.DataFrame, decision: np.ndarray, weight: np.ndarray | None = None
) -> float:
    """|level of a − level of b|; with weights (draws, rows) one for each draw."""
    given = np.ones(len(data)) if problem.metric == "selection_rate" else data["outcome"].to_numpy()
    weight = np.ones((1, len(data))) if weight is None else weight
    levels = []
    for name in "ab":
        inside = given * (data["group"] == name).to_numpy()
        levels.append((weight @ (inside * decision)) / (weight @ inside))
    found = np.abs(levels[0] - levels[1])
    return float(found[0]) if found.size == 1 else found


# -- the methods --------------------------------------------------------------------------------------------------


def prepared(base: Any, features: list[str], data: pd.DataFrame) -> Any:
    """A pipeline from the columns to a base classifier."""
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    labels = [name for name in features if not pd.api.types.is_numeric_dtype(data[name])]
    numbers = [name for name in features if name not in labels]
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(make_column_transformer((StandardScaler(), numbers), (encode, labels)), base)


def bases() -> dict[str, Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    boosted = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, random_state=0)
    return {"logistic": LogisticRegression(max_iter=200), "boosted": boosted}


class Prepared:
    """Numbers of the features, the encoder fitted on training rows: fairlearn's estimators take arrays."""

    def __init__(self, problem: Problem, train: pd.DataFrame) -> None:
        self.features = problem.features
        self.encoder = prepared("passthrough", self.features, train)[:-1].fit(train[self.features])

    def __call__(self, data: pd.DataFrame) -> np.ndarray:
        return np.asarray(self.encoder.transform(data[self.features]))


def reduction(problem: Problem, train: pd.DataFrame, base: Any, setting: float, *, grid: bool) -> Decide:
    """fairlearn's ExponentiatedGradient at one ε, or GridSearch at one weight of the constraint."""
    from fairlearn import reductions

    encode = Prepared(problem, train)
    kind = (
        reductions.DemographicParity
        if problem.metric == "selection_rate"
        else reductions.TruePositiveRateParity
    )
    if grid:
        model = reductions.GridSearch(base, kind(), constraint_weight=setting, grid_size=15)
    else:
        model = reductions.ExponentiatedGradient(base, kind(difference_bound=setting), max_iter=30)
    model.fit(encode(train), train["outcome"].to_numpy(), sensitive_features=train["group"].to_numpy())
    seeded = {} if grid else {"random_state": 0}
    return lambda data: np.asarray(model.predict(encode(data), **seeded), dtype=float)


def thresholds(problem: Problem, train: pd.DataFrame, base: Any, setting: float) -> Decide:
    """fairlearn's ThresholdOptimizer: decides by group."""
    from fairlearn.postprocessing import ThresholdOptimizer

    encode = Prepared(problem, train)
    kind = "demographic_parity" if problem.metric == "selection_rate" else "true_positive_rate_parity"
    model = ThresholdOptimizer(
        estimator=base,
        constraints=kind,
        objective="accuracy_score",
        predict_method="predict_proba",
        tol=setting or None,
    )
    model.fit(encode(train), train["outcome"].to_numpy(), sensitive_features=train["group"].to_numpy())
    return lambda data: np.asarray(
        model.predict(encode(data), sensitive_features=data["group"].to_numpy(), random_state=0), dtype=float
    )


def reweighing(problem: Problem, train: pd.DataFrame, base: Any, setting: float) -> Decide:
    """AIF360's reweighing, then the base classifier; the setting is its threshold."""
    from aif360.algorithms.preprocessing import Reweighing
    from aif360.datasets import BinaryLabelDataset

    encode = Prepared(problem, train)
    frame = pd.DataFrame(
        {"outcome": train["outcome"].astype(float), "group": (train["group"] == "a").astype(float)}
    )
    data = BinaryLabelDataset(df=frame, label_names=["outcome"], protected_attribute_names=["group"])
    weights = Reweighing([{"group": 0.0}], [{"group": 1.0}]).fit_transform(data).instance_weights
    base.fit(encode(train), train["outcome"].to_numpy(), sample_weight=weights)
    return lambda rows: (base.predict_proba(encode(rows))[:, 1] >= setting).astype(float)


# name -> (whether it decides by group, how, settings in the order in which they are tried)
RIVALS: dict[str, tuple[bool, Any, tuple[float, ...]]] = {
    "ExponentiatedGradient": (
        False,
        lambda *a: reduction(*a, grid=False),
        (0.1, 0.05, 0.15, 0.02, 0.2, 0.01),
    ),
    "GridSearch": (False, lambda *a: reduction(*a, grid=True), (0.5, 0.25, 0.75, 0.9)),
    "AIF360 reweighing": (False, reweighing, (0.5, 0.45, 0.55, 0.4, 0.6)),
    "ThresholdOptimizer": (True, thresholds, (0.0, 0.02, 0.05, 0.1)),
}


def rival(
    problem: Problem, train: pd.DataFrame, old: np.ndarray, name: str, seconds: float
) -> dict[str, Any]:
    """The setting that a rival would choose within the time, and how it decides.

    The logistic base comes first with every setting: it is the cheaper one. The setting at which the time is over is
    finished.
    """
    from sklearn.base import clone

    _, made, settings = RIVALS[name]
    fold = np.random.default_rng(2).permutation(len(train)) % FOLDS
    started, tried = time.process_time(), []
    for base_name, setting in ((base, setting) for base in bases() for setting in settings):
        if tried and time.process_time() - started > seconds:
            break
        decision = np.empty(len(train))
        for held in range(FOLDS):
            part = train[fold != held].reset_index(drop=True)
            decide = made(problem, part, clone(bases()[base_name]), setting)
            decision[fold == held] = decide(train[fold == held].reset_index(drop=True))
        tried.append((base_name, setting, accuracy(train, decision), gap(problem, train, decision)))
    within = [one for one in tried if one[2] >= accuracy(train, old) - MARGIN]
    chosen = min(within, key=lambda one: one[3]) if within else max(tried, key=lambda one: one[2])
    base_name, setting, reached, _ = chosen
    decide = made(problem, train, clone(bases()[base_name]), setting)
    return {
        "decide": decide, "setting": f"{base_name}, {setting:g}", "out_of_fold": reached,
        "seconds": time.process_time() - started, "tried": len(tried),
    }  # fmt: skip

"""How fitted rules score people: plain objects that can be copied, saved and loaded, each a function of the inputs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._improve.rules import Inputs, refusal

# -- Boosted trees whose settings are found inside the training rows, by successive halving.
# Many settings are tried on few rows, the best third on three times as many, and so on: scikit-learn's
# HalvingRandomSearchCV, with the log loss (or the squared error) of three folds. It costs about ten fits of
# all rows.
TRIED = 9  # settings; a third of them goes on to three times the rows
FOLDS = 3
SETTINGS: dict[str, list[float | int]] = {
    "learning_rate": [0.03, 0.06, 0.1, 0.2],
    "max_iter": [40, 80, 160],
    "max_leaf_nodes": [4, 8, 16, 31],
    "min_samples_leaf": [10, 20, 50],
    "l2_regularization": [0.0, 1.0, 10.0],
}


class Tuned:
    """Fits like an estimator and predicts like the best one that was found."""

    def __init__(self, binary: bool, signs: Floats | None, seed: int) -> None:
        self.binary, self.signs, self.seed = binary, signs, seed

    def fit(self, x: Floats, y: Floats, weight: Floats | None = None) -> Tuned:
        """Search, then fit the best settings on all rows."""
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
        from sklearn.experimental import enable_halving_search_cv  # noqa: F401
        from sklearn.model_selection import HalvingRandomSearchCV

        made = HistGradientBoostingClassifier if self.binary else HistGradientBoostingRegressor
        signs = None if self.signs is None else self.signs.astype(int)
        base = made(early_stopping=False, monotonic_cst=signs, random_state=self.seed)
        search = HalvingRandomSearchCV(
            base, SETTINGS, n_candidates=TRIED, factor=3, min_resources="exhaust", cv=FOLDS, random_state=self.seed,
            scoring="neg_log_loss" if self.binary else "neg_mean_squared_error", n_jobs=1,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # a fold of few rows may lack a class; its settings are then not chosen
            search.fit(x, y)
        self.model: Any = search.best_estimator_
        return self

    def __getattr__(self, name: str) -> Any:
        """Probabilities where the model has them."""
        model: Any = self.__dict__.get("model")
        if name == "predict_proba" and hasattr(model, "predict_proba"):
            return model.predict_proba
        raise AttributeError(name)

    def predict(self, x: Floats) -> Any:
        """What the model predicts."""
        return self.model.predict(x)


Floats = NDArray[np.float64]
Columns = NDArray[np.intp]


def model_score(model: Any, data: Any) -> Floats:
    """Probability of the outcome, decision function, or prediction: what the model has."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(data)[:, 1], dtype=np.float64)
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(data), dtype=np.float64)
    return np.asarray(model.predict(data), dtype=np.float64)


def mean_and_factor(x: Floats) -> tuple[Floats, Floats]:
    """What standardises each column, from the values that are there; a column without spread becomes 0."""
    there = ~np.isnan(x)
    count = np.maximum(there.sum(axis=0), 1)
    mean = np.where(there, x, 0.0).sum(axis=0) / count
    spread = np.sqrt((np.where(there, x - mean, 0.0) ** 2).sum(axis=0) / count)
    return mean, np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)


def standard(x: Floats, mean: Floats, factor: Floats) -> Floats:
    """Standardised columns; what is missing is at the mean."""
    return np.nan_to_num((x - mean) * factor)


@dataclass
class ModelScore:
    """A model's score of some columns of the matrix, or of the original columns as a dataframe."""

    model: Any
    columns: Columns | None = None
    frame: bool = False

    @property
    def is_probability(self) -> bool:
        return hasattr(self.model, "predict_proba")

    def columns_of(self, inputs: Inputs) -> Floats:
        """The columns of the matrix that the model looks at."""
        return inputs.matrix if self.columns is None else inputs.matrix[:, self.columns]

    def __call__(self, inputs: Inputs) -> Floats:
        return model_score(self.model, inputs.frame if self.frame else self.columns_of(inputs))


@dataclass
class GroupMargin:
    """By how much a score exceeds the threshold of the person's group."""

    model: Any
    thresholds: Floats

    def __call__(self, inputs: Inputs) -> Floats:
        if inputs.group is None:
            raise refusal("group thresholds", "decides by group, and these rows do not say the group")
        return np.asarray(model_score(self.model, inputs.matrix) - self.thresholds[inputs.group])


@dataclass
class Standardised:
    """A model's score of standardised columns."""

    model: Any
    mean: Floats
    factor: Floats

    @property
    def is_probability(self) -> bool:
        return hasattr(self.model, "predict_proba")

    def __call__(self, inputs: Inputs) -> Floats:
        return model_score(self.model, standard(inputs.matrix, self.mean, self.factor))


@dataclass
class Linear:
    """A linear score of some standardised columns, the first coefficient being the constant."""

    columns: Columns
    mean: Floats
    spread: Floats
    coefficients: Floats

    def design(self, matrix: Floats) -> Floats:
        """The constant and the standardised columns."""
        return np.column_stack([np.ones(len(matrix)), (matrix[:, self.columns] - self.mean) / self.spread])

    def __call__(self, inputs: Inputs) -> Floats:
        return np.asarray(self.design(inputs.matrix) @ self.coefficients)


@dataclass
class ColumnScore:
    """What a column of the data holds."""

    column: str

    def __call__(self, inputs: Inputs) -> Floats:
        return inputs.fixed[self.column]


@dataclass
class OwnFunction:
    """A rule that the caller wrote; it can be pickled where the function can, and is never loaded from a file."""

    function: Callable[[Inputs], Any]
    name: str

    def __call__(self, inputs: Inputs) -> Floats:
        try:
            return np.asarray(self.function(inputs), dtype=np.float64)
        except (KeyError, AttributeError) as error:
            raise refusal(self.name, f"asks for {error}, which is not a permitted input") from error


class SignedLinear:
    """Logistic (binary outcome) or ridge (real outcome) regression on standardised columns, with signs.

    A column whose coefficient has the wrong sign is set to zero and the rest is fitted again. What is missing is at the
    mean, and a column of its own says that it is missing.
    """

    lacking: Columns = np.zeros(0, dtype=np.intp)

    def __init__(self, strength: float, binary: bool, signs: Floats | None) -> None:
        from sklearn.linear_model import LogisticRegression, Ridge

        self.model = LogisticRegression(C=strength, max_iter=200) if binary else Ridge(alpha=1.0 / strength)
        self.signs = signs

    def fit(self, x: Floats, y: Floats, weight: Floats | None = None) -> SignedLinear:
        """Fit, dropping columns until every sign is right."""
        self.mean, self.factor = mean_and_factor(x)
        self.lacking = np.flatnonzero(np.isnan(x).any(axis=0))
        while True:
            self.model.fit(self._standard(x), y, sample_weight=weight)
            if self.signs is None:
                return self
            wrong = (np.ravel(self.model.coef_)[: x.shape[1]] * self.signs < 0) & (self.factor > 0)
            if not wrong.any():
                return self
            self.factor = np.where(wrong, 0.0, self.factor)

    def _standard(self, x: Floats) -> Floats:
        found = standard(x, self.mean, self.factor)
        return np.hstack([found, np.isnan(x[:, self.lacking])]) if self.lacking.size else found

    def __getattr__(self, name: str) -> Any:
        """Probabilities where the model has them."""
        if name == "predict_proba" and hasattr(self.__dict__.get("model"), "predict_proba"):
            return self._probabilities
        raise AttributeError(name)

    def _probabilities(self, x: Floats) -> Any:
        return self.model.predict_proba(self._standard(x))

    def predict(self, x: Floats) -> Any:
        """What the model predicts."""
        return self.model.predict(self._standard(x))


@dataclass
class MeanOfClasses:
    """The mean of a target with few values, from the probabilities of its classes."""

    model: Any
    class_values: Floats

    def predict(self, x: Floats) -> Floats:
        """Σ value · P(value | x)."""
        return np.asarray(self.model.predict_proba(x) @ self.class_values)


@dataclass
class TwoRegressions:
    """The mean gain of deciding 1, and the mean of what it adds to the gap, of the same rows."""

    gain: Any
    gap: Any
    groups: int = 0

    def matrix(self, inputs: Inputs) -> Floats:
        """What the regressions look at: the features, and the groups where rules may decide by them."""
        if not self.groups:
            return inputs.matrix
        if inputs.group is None:
            raise refusal("group frontier", "decides by group, and these rows do not say the group")
        return np.hstack([inputs.matrix, inputs.group[:, None] == np.arange(self.groups)])

    def values(self, inputs: Inputs) -> tuple[Floats, Floats]:
        """Both means; the last rows' are kept, because every price of a frontier asks for the same ones."""
        kept = self.__dict__.get("kept")
        if kept is None or kept[0] is not inputs:
            x = self.matrix(inputs)
            found = tuple(np.asarray(model.predict(x), dtype=np.float64) for model in (self.gain, self.gap))
            kept = (inputs, *found)
            self.__dict__["kept"] = kept
        return kept[1], kept[2]

    def __getstate__(self) -> dict[str, Any]:
        return {"gain": self.gain, "gap": self.gap, "groups": self.groups}


@dataclass
class Frontier:
    """e(x) − price·z(x): what deciding 1 gains, less what it adds to the gap at its price."""

    both: TwoRegressions
    price: float

    def __call__(self, inputs: Inputs) -> Floats:
        gain, gap = self.both.values(inputs)
        return np.asarray(gain - self.price * gap)

"""Boosted trees whose settings are found inside the training rows, by successive halving.

Many settings are tried on few rows, the best third on three times as many, and so on: scikit-learn's
HalvingRandomSearchCV, with the log loss (or the squared error) of three folds. It costs about ten fits of all rows.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

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

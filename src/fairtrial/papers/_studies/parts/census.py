"""The census study of "Shapley meets Rawls": the people, the five classifiers, and two mitigations of them."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import fairtrial

FEATURES = ["age", "education_num", "hours_per_week", "marital"]
MEMBERS = ["equal_surplus", "shapley", "solidarity", "consensus", "lsp"]
Decide = Callable[[tuple[str, ...]], np.ndarray]


@dataclass(frozen=True)
class Census:
    """The 45,222 complete rows with a 70/30 split, stratified by gender and income."""

    frame: Any
    in_test: np.ndarray

    @property
    def income(self) -> np.ndarray:
        return np.asarray(self.frame["income"].eq(">50K")).astype(int)

    @property
    def male(self) -> np.ndarray:
        return np.asarray(self.frame["sex"].eq("Male"))

    def seen(self, names: tuple[str, ...]) -> np.ndarray:
        """The columns a coalition sees, categories as 0/1, gender always."""
        columns = []
        for name in names:
            if name == "marital":
                levels = ("married", "never married", "other")
                columns += [self.frame["marital"].eq(level) for level in levels]
            else:
                columns.append(self.frame[name])
        columns += [self.frame["sex"].eq("Female"), self.frame["sex"].eq("Male")]
        return np.column_stack([np.asarray(column, dtype=float) for column in columns])


def census() -> Census:
    """Marital status in the paper's three levels."""
    frame = fairtrial.load("adult", backend="pandas").dropna().reset_index(drop=True)
    together = frame["marital_status"].isin(["Married-civ-spouse", "Married-AF-spouse"])
    never = frame["marital_status"].eq("Never-married")
    frame["marital"] = np.where(together, "married", np.where(never, "never married", "other"))
    random = np.random.default_rng(0)
    in_test = np.zeros(len(frame), dtype=bool)
    for _, rows in frame.groupby(["sex", "income"]).indices.items():
        in_test[random.permutation(rows)[: round(0.3 * rows.size)]] = True
    return Census(frame, in_test)


def ensemble(people: Census, full: bool) -> tuple[Any, str]:
    """Soft voting of class-balanced classifiers, and what they are; the forest, the slowest, only where `full`."""
    svm = CalibratedClassifierCV(LinearSVC(class_weight="balanced", random_state=0), cv=3)
    boosting, words = _boosting(people, 100 if full else 50)
    parts = [
        ("tree", DecisionTreeClassifier(max_depth=6, class_weight="balanced", random_state=0)),
        ("boosting", boosting),
        ("svm", make_pipeline(StandardScaler(), svm)),
        ("logistic", make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced"))),
    ]
    names = f"decision tree (depth 6), {words}, linear SVM, logistic regression"
    if full:
        forest = RandomForestClassifier(n_estimators=100, class_weight="balanced", random_state=0)
        parts.append(("forest", forest))
        names += ", random forest"
    return VotingClassifier(parts, voting="soft"), names


def _boosting(people: Census, rounds: int) -> tuple[Any, str]:
    """XGBoost where it is installed (`make papers` does), scikit-learn's boosting otherwise."""
    try:
        from xgboost import XGBClassifier
    except ImportError:
        standing_in = HistGradientBoostingClassifier(class_weight="balanced", max_iter=rounds, random_state=0)
        return standing_in, "scikit-learn's boosting in the place of XGBoost, which is not installed"
    income = people.income[~people.in_test]
    weight = float((income == 0).sum() / (income == 1).sum())
    model = XGBClassifier(n_estimators=rounds, scale_pos_weight=weight, random_state=0, n_jobs=1)
    return model, "XGBoost"


class Recorded:
    """Coalition decisions made once and asked for many times."""

    def __init__(self, make: Decide) -> None:
        self.make = make
        self.known: dict[tuple[str, ...], np.ndarray] = {}

    def __call__(self, names: tuple[str, ...]) -> np.ndarray:
        if names not in self.known:
            self.known[names] = self.make(names)
        return self.known[names]


class FittedCensus:
    """Every coalition's classifier, fitted once: what it decides, and how likely it holds the outcome to be."""

    def __init__(self, people: Census, model: Any) -> None:
        self.people, self.model = people, model
        self.known: dict[tuple[str, ...], Any] = {}

    def __call__(self, names: tuple[str, ...]) -> Any:
        if names not in self.known:
            train = ~self.people.in_test
            fitted = clone(self.model).fit(self.people.seen(names)[train], self.people.income[train])
            self.known[names] = fitted
        return self.known[names]

    def decided(self) -> Recorded:
        """As the classifiers decide."""
        return Recorded(lambda names: self(names).predict(self.people.seen(names)[self.people.in_test]))

    def by_aif360(self, fit_on_test: bool) -> Recorded:
        """AIF360's post-processing for equalized odds, its mixing rates from the test rows or from the others."""
        make_rule = aif360_rule()
        people = self.people
        male = people.male.astype(float)

        def make(names: tuple[str, ...]) -> np.ndarray:
            decisions = self(names).predict(people.seen(names)).astype(float)
            fitted_on = people.in_test if fit_on_test else ~people.in_test
            rule = make_rule(male[fitted_on], people.income[fitted_on], decisions[fitted_on])
            return rule(male[people.in_test], decisions[people.in_test])

        return Recorded(make)

    def by_fairlearn(self) -> Recorded:
        """fairlearn's thresholds for equalized odds, from the training rows."""
        from fairlearn.postprocessing import ThresholdOptimizer

        people, train = self.people, ~self.people.in_test
        sex = people.frame["sex"].to_numpy()

        def make(names: tuple[str, ...]) -> np.ndarray:
            table = people.seen(names)
            rule = ThresholdOptimizer(
                estimator=self(names), constraints="equalized_odds", objective="balanced_accuracy_score",
                prefit=True, predict_method="predict_proba",
            )  # fmt: skip
            rule.fit(table[train], people.income[train], sensitive_features=sex[train])
            test = people.in_test
            return np.asarray(rule.predict(table[test], sensitive_features=sex[test], random_state=0))

        return Recorded(make)


def aif360_rule() -> Callable[..., Callable[..., np.ndarray]]:
    """Fit EqOddsPostprocessing to (group, outcome, decision) and get its decisions; ImportError without AIF360."""
    logging.getLogger().setLevel(logging.ERROR)  # of the optional parts it does without
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pandas as pd
        from aif360.algorithms.postprocessing import EqOddsPostprocessing
        from aif360.datasets import BinaryLabelDataset

    def data_set(group: np.ndarray, label: np.ndarray) -> Any:
        table = pd.DataFrame({"male": group, "label": np.asarray(label, dtype=float)})
        return BinaryLabelDataset(df=table, label_names=["label"], protected_attribute_names=["male"])

    def fit(group: np.ndarray, outcome: np.ndarray, decision: np.ndarray) -> Callable[..., np.ndarray]:
        rule = EqOddsPostprocessing([{"male": 0.0}], [{"male": 1.0}], seed=0)
        rule.fit(data_set(group, outcome), data_set(group, decision))
        return lambda there, decided: rule.predict(data_set(there, decided)).labels.ravel().astype(int)

    return fit

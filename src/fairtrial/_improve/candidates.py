"""Candidates the caller brings: scikit-learn estimators, callables, and columns that hold a rule's output."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._improve.contest import Contest, OneRule
from fairtrial._improve.rules import Floats, Index, Inputs, Reading, Rule, capacity_threshold, refusal
from fairtrial._improve.scorers import ColumnScore, ModelScore, OwnFunction
from fairtrial._work.kept_files import sameness

LARGEST_SEED = 2**31 - 1
NUMERIC = ("bool", "int", "float")
LONGEST = 300  # characters of an estimator's settings in the log


@dataclass(frozen=True, slots=True, eq=False)
class Estimator(OneRule):
    """A scikit-learn classifier or regressor of the outcome; its score is thresholded on the training half.

    `features` restricts it to some of the audit's features. `frame` gives it the original columns as a
    dataframe (for pipelines that name columns) instead of the numeric matrix.
    """

    model: Any = field(repr=False)
    label: str = ""
    features: tuple[str, ...] | None = None
    frame: bool | None = None
    threshold: float | None = None

    @property
    def name(self) -> str:
        """What it is called in results."""
        return self.label or type(self.model).__name__

    @property
    def settings(self) -> str:
        """The estimator as it prints itself: what differs from its defaults."""
        told = re.sub(r" at 0x[0-9a-f]+", "", " ".join(repr(self.model).split()))
        return told[:LONGEST]

    def fit(self, contest: Contest, index: Index, rng: np.random.Generator) -> dict[str, Rule]:
        """Its rules, fitted on the rows of `index`."""
        model = seeded(self.model, rng)
        columns = None
        if self.features is not None:
            columns = np.concatenate([contest.columns_of(feature) for feature in self.features])
        frame = self.frame if self.frame is not None else _names_columns(model)

        scorer = ModelScore(model, columns, frame)
        training = contest.inputs.part(index)
        model.fit(training.frame if frame else scorer.columns_of(training), contest.outcome[index])
        threshold = self.threshold
        if threshold is None:
            threshold = chosen_threshold(contest, index, scorer(training), model)
        return {self.name: contest.rule(self.name, scorer, threshold)}


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """What a callable candidate gets: the training half, with outcomes and groups, and permitted inputs."""

    inputs: Inputs
    outcome: Floats | None
    group: tuple[str, ...]
    decision: Floats
    score: Floats | None
    capacity: float | None
    seed: int

    @property
    def matrix(self) -> Floats:
        """The permitted features as numbers, one column per name."""
        return self.inputs.matrix

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the matrix's columns."""
        return self.inputs.names

    @property
    def frame(self) -> Any:
        """The permitted features as a dataframe."""
        return self.inputs.frame


@dataclass(frozen=True, slots=True, eq=False)
class Function(OneRule):
    """A callable train → rule, where rule(inputs) gives decisions (0/1), or scores to be thresholded."""

    function: Callable[[Training], Callable[[Inputs], Any]] = field(repr=False)
    label: str = ""

    @property
    def name(self) -> str:
        """What it is called in results."""
        return self.label or getattr(self.function, "__name__", type(self.function).__name__)

    def fit(self, contest: Contest, index: Index, rng: np.random.Generator) -> dict[str, Rule]:
        """Its rules, fitted on the rows of `index`."""
        decision, score = contest.status_quo_of(index)
        training = Training(
            contest.inputs.part(index),
            None if contest.seen.outcome is None else contest.outcome[index],
            tuple(contest.names[code] for code in contest.group[index]),
            decision,
            score,
            contest.constraints.capacity,
            int(rng.integers(LARGEST_SEED)),
        )
        found = self.function(training)
        if not callable(found):
            raise refusal(self.name, "must return a rule (a function of the inputs)")

        scorer = OwnFunction(found, self.name)
        output = scorer(training.inputs)
        threshold = None if _decides(output) else chosen_threshold(contest, index, output)
        return {self.name: contest.rule(self.name, scorer, threshold)}


@dataclass(frozen=True, slots=True, eq=False)
class FixedColumn(OneRule):
    """A column with another rule's decisions (0/1) or scores; it must not have been fitted on these rows."""

    column: str
    threshold: float | None = None

    @property
    def name(self) -> str:
        """What it is called in results."""
        return self.column

    def fit(self, contest: Contest, index: Index, rng: np.random.Generator) -> dict[str, Rule]:
        """Its rules, fitted on the rows of `index`."""
        values, threshold = contest.inputs.fixed[self.column], self.threshold
        if threshold is None and not _decides(values):
            threshold = chosen_threshold(contest, index, values[index])
        return {self.name: Rule(self.name, ColumnScore(self.column), threshold, Reading(fixed=[self.column]))}


@dataclass(frozen=True, slots=True, eq=False)
class FixedRule(OneRule):
    """A rule or a fitted model that was fixed beforehand; its scores of all rows are in the inputs under its name."""

    label: str
    rule: Rule
    threshold: float | None = None

    @property
    def name(self) -> str:
        """What it is called in results."""
        return self.label

    def fit(self, contest: Contest, index: Index, rng: np.random.Generator) -> dict[str, Rule]:
        """The rule at the threshold stated, else at its own; a model's is ½ for probabilities without a capacity."""
        threshold = self.rule.threshold if self.threshold is None else self.threshold
        values = contest.inputs.fixed[self.name]
        if threshold is None and not _decides(values):
            model = getattr(self.rule.scorer, "model", None)
            threshold = chosen_threshold(contest, index, values[index], model)
        return {self.name: Rule(self.name, ColumnScore(self.name), threshold, self.rule.reading)}

    def taken_away(self, threshold: float | None) -> Rule:
        """The rule that decides about new rows as it was tested."""
        return Rule(self.name, self.rule.scorer, threshold, self.rule.reading)


def fixed_rule(item: Any, audit: Audit) -> FixedRule | None:
    """A Rule, or a fitted scikit-learn model, as a rule fixed beforehand; None when it is neither."""
    if isinstance(item, Rule):
        return FixedRule(item.name, item)
    if not (hasattr(item, "predict") and hasattr(item, "get_params")) or not _is_fitted(item):
        return None
    names = [str(name) for name in getattr(item, "feature_names_in_", audit.features)]
    scorer = ModelScore(item, frame=hasattr(item, "feature_names_in_"))
    name = type(item).__name__
    return FixedRule(name, Rule(name, scorer, None, reading_of(audit, names)))


def _is_fitted(model: Any) -> bool:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


def reading_of(audit: Audit, features: list[str], groups: list[dict[str, Any]] | None = None) -> Reading:
    """How a rule on these features of an audit reads new rows."""
    labels: dict[str, list[str]] = {}
    for feature in features:
        if feature in audit.source.columns and (feature in audit.bins or audit.kind(feature) not in NUMERIC):
            labels[feature] = list(audit.levels(feature))
    bins = {name: cut for name, cut in audit.bins.items() if name in features}
    lacking = audit.missing == "category"
    return Reading(features, labels, bins, audit.frame, groups, lacking=lacking)


def chosen_threshold(contest: Contest, index: Index, score: Floats, model: Any = None) -> float:
    """½ for a probability unless there is a capacity; else what selects as many as may be selected.

    Where nothing is decided the score is all that a rule says, and everybody gets it.
    """
    if not contest.decides:
        return -math.inf
    free = contest.constraints.capacity is None and contest.outcome_is_binary
    return (
        0.5 if free and hasattr(model, "predict_proba") else capacity_threshold(score, contest.share(index))
    )


def _decides(output: Floats) -> bool:
    """Whether a rule gives decisions, not scores."""
    return bool(np.isin(output, (0.0, 1.0)).all())


def seeded(model: Any, rng: np.random.Generator) -> Any:
    """A fresh copy whose unset random states come from the split's generator."""
    from sklearn.base import clone

    copy = clone(model)
    unset = {
        name: int(rng.integers(LARGEST_SEED))
        for name, value in sorted(copy.get_params(deep=True).items())
        if name.split("__")[-1] == "random_state" and value is None
    }
    return copy.set_params(**unset) if unset else copy


def identity(candidate: object) -> str:
    """All that a candidate's rules depend on, as text; a function equals no other, nor itself."""
    model: Any = getattr(candidate, "model", None)
    settings = None if model is None else sorted(model.get_params(deep=True).items(), key=str)
    return f"{candidate!r}|{sameness((settings, getattr(candidate, 'function', None)))}"


def _names_columns(model: Any) -> bool:
    """Whether an estimator, or the first step of a pipeline, picks columns or categories by name."""
    first = model.steps[0][1] if hasattr(model, "steps") else model
    named = getattr(first, "categorical_features", None)
    listed = [] if named is None or isinstance(named, str) else list(named)
    return hasattr(first, "transformers") or any(isinstance(name, str) for name in listed)


def takes_missing(candidate: Estimator) -> bool:
    """Whether an estimator says that it takes missing features; one that picks columns by name sees to it itself."""
    from sklearn.utils import get_tags

    if candidate.frame or _names_columns(candidate.model):
        return True
    steps = getattr(candidate.model, "steps", None)  # a pipeline takes what its first step takes
    try:
        return bool(get_tags(steps[0][1] if steps else candidate.model).input_tags.allow_nan)
    except (AttributeError, TypeError):
        return True  # nothing is said: fitting it will tell


def as_candidate(asked: object) -> Estimator | Function | None:
    """An estimator or a callable as a candidate; None when it is neither."""
    if hasattr(asked, "fit") and hasattr(asked, "predict") and hasattr(asked, "get_params"):
        return Estimator(asked)
    if callable(asked) and not inspect.isclass(asked):
        return Function(asked)
    return None

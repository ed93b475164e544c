"""The request of explain, and what it means for where a coalition's decisions come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fairtrial._metrics.metric import Metric
from fairtrial._metrics.values import Role
from fairtrial._work import Progress

WHO = "explain"
# Background rows where none are asked for. One person has fewer of them when the model would be asked about more rows
# than MOST_ASKED; then others have other rows, so that a group has the usual number at least.
USUAL_BACKGROUND = 100
FEWEST_BACKGROUND = 10
MOST_ASKED = 10_000_000
_MEANING = {
    "retrain": "A coalition's classifier is refitted on its features alone: contributions answer what the features are "
    "worth to a system built with them.",
    "marginal": "A coalition's decisions are those of the one fitted model with the absent features imputed from a "
    "background sample: contributions answer how this model uses its features.",
    "imitated": "No model was given: the explained system is a boosted-tree copy of the audited {outputs}, learned "
    "from the features on the rows that are not evaluated, with absent features imputed from a background sample. "
    "Contributions answer how the features carry what could be learned of the audited system.",
    "callable": "Coalition decisions come from the caller's function, which says what leaving a feature out means.",
    "given": "Coalition decisions were given: what leaving a feature out means is the caller's.",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExplainRequest:
    """The arguments of explain, and what they mean for where a coalition's decisions (or scores) come from."""

    metric: Metric
    by: Any
    features: Any
    sensitive: str | None
    test: Any
    target: Mapping[str, Any] | None
    model: Any
    coalitions: Any
    averaged: str
    background: int | None
    allocation: Any
    budget: int | None
    confidence_level: float
    seed: int
    jobs: int | None
    progress: Callable[[Progress], None] | None
    baseline: str | float = "random"  # what rates are divided by
    better: str | None = None  # the side of the metric that is good for people, where the audit does not say
    gaps: Any = None  # how the gaps of pairs are inferred; as certify does unless said

    @property
    def scores(self) -> bool:
        """Whether the metric is one of scores."""
        return isinstance(self.metric.value, Role) and "score" in self.metric.value.needs

    @property
    def from_model(self) -> bool:
        """Whether models are fitted or asked here, rather than decisions brought along."""
        return isinstance(self.coalitions, str)

    @property
    def imitates(self) -> bool:
        """Whether a copy of the audited decisions (or scores) is explained, for want of a model."""
        return self.from_model and self.model is None

    @property
    def learns_the_outcome(self) -> bool:
        """Whether models are fitted to the outcome here."""
        return (
            self.from_model and not self.imitates and not (self.kind == "marginal" and is_ready(self.model))
        )

    @property
    def kind(self) -> str:
        """'retrain', 'marginal', 'callable' or 'given'."""
        if isinstance(self.coalitions, str):
            return self.coalitions
        return "callable" if callable(self.coalitions) else "given"

    @property
    def all_background(self) -> int:
        """How many rows stand in for what is left out, of all people together."""
        return USUAL_BACKGROUND if self.background is None else self.background

    def background_rows(self, people: int, coalitions: int) -> int:
        """How many of them stand in for one person: all, or fewer where that would ask the model too often."""
        if self.background is not None:
            return self.background
        return max(FEWEST_BACKGROUND, min(USUAL_BACKGROUND, MOST_ASKED // max(1, people * coalitions)))

    @property
    def meaning(self) -> str:
        """What leaving a feature out means here."""
        outputs = "scores" if self.scores else "decisions"
        return _MEANING["imitated" if self.imitates else self.kind].format(outputs=outputs)


# -- Whether what the caller brought can be asked as it is, or has to be fitted here.
def is_ready(model: Any) -> bool:
    """Whether the caller brought a system that needs no fitting."""
    if model is None or isinstance(model, str | type):
        return False
    return is_fitted(model) if hasattr(model, "get_params") else callable(getattr(model, "predict", model))


def is_fitted(model: Any) -> bool:
    """Whether the caller brought a fitted model."""
    if model is None or isinstance(model, str):
        return False
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True

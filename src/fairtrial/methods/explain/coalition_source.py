"""Where the decisions of a coalition's classifier come from, and what leaving a feature out means there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fairtrial.data.audit import Audit
from fairtrial.errors import check_choice
from fairtrial.labels import canonical
from fairtrial.methods.explain.metric import WHO
from fairtrial.work import Progress

_MEANING = {
    "retrain": "A coalition's classifier is refitted on its features alone: contributions answer what the features are "
    "worth to a system built with them.",
    "marginal": "A coalition's decisions are those of the one fitted model with the absent features imputed from a "
    "background sample: contributions answer how this model uses its features.",
    "callable": "Coalition decisions come from the caller's function, which says what leaving a feature out means.",
    "given": "Coalition decisions were given: what leaving a feature out means is the caller's.",
}


@dataclass(frozen=True, slots=True, eq=False)
class CoalitionSource:
    """How coalition decisions (or scores) are made."""

    coalitions: Any
    model: Any
    averaged: str
    background: int
    scores: bool  # whether the metric is one of scores
    positive: str | None  # the outcome's label that counts as 1, where the audit names it
    seed: int
    jobs: int | None = None
    progress: Callable[[Progress], None] | None = None

    def __post_init__(self) -> None:
        if self.from_model:
            check_choice(WHO, "coalitions", self.coalitions, ["retrain", "marginal"])

    @property
    def from_model(self) -> bool:
        """Whether models are fitted or asked here, rather than decisions brought along."""
        return isinstance(self.coalitions, str)

    @property
    def kind(self) -> str:
        """'retrain', 'marginal', 'callable' or 'given'."""
        if isinstance(self.coalitions, str):
            return self.coalitions
        return "callable" if callable(self.coalitions) else "given"

    @property
    def meaning(self) -> str:
        """What leaving a feature out means here."""
        return _MEANING[self.kind]

    @property
    def model_name(self) -> str | None:
        """The model as it is recorded."""
        return self.model if self.model is None or isinstance(self.model, str) else type(self.model).__name__


def positive_outcome(audit: Audit) -> str | None:
    """The outcome's label that counts as 1, where the audit names it."""
    return canonical(audit.positive["outcome"]) if "outcome" in audit.positive else None

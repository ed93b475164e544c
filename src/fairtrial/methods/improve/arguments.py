"""The options of improve, and all that was asked together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

from fairtrial import options
from fairtrial.methods.improve.payoff import Payoff
from fairtrial.metrics.metric import Metric
from fairtrial.options import Option


class ScikitEstimator(Protocol):
    """A classifier or regressor with scikit-learn's methods."""

    def fit(self, X: Any, y: Any) -> Any: ...
    def predict(self, X: Any) -> Any: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...


class OwnCandidate(Protocol):
    """A way to find rules; see `Candidate` for what its arguments are."""

    @property
    def name(self) -> str: ...
    def variants(self, contest: Any) -> tuple[str, ...]: ...
    def fit(self, contest: Any, index: Any, rng: Any) -> dict[str, Any]: ...


Utility = str | Metric | Payoff | Mapping[str, Any]
OneCandidate = str | ScikitEstimator | OwnCandidate | Callable[..., Callable[..., Any]]

Accuracy = Annotated[Utility, Option("The metric, or payoff, that must not get worse.")]
Fairness = Annotated[
    Utility | Sequence[Utility],
    Option("The metrics whose gaps between the groups must shrink.", many=True),
]
Candidates = Annotated[
    OneCandidate | Sequence[OneCandidate],
    Option(
        "The rules to try: portfolio, reductions, group-thresholds, the programs F.5, F.6 and P', columns with a "
        "rule's decisions or scores; in Python also scikit-learn estimators and functions from training data to a "
        "rule.",
        many=True,
        flag="candidate",
    ),
]
Delta = Annotated[
    Sequence[float] | Mapping[str, float],
    Option(
        "Accuracy Δ per group and fairness Δ, 0,0,0.1: the alternative must be (1+Δ) times as accurate and have less "
        "than (1−Δ) times the gap.",
        form=options.number_list,
    ),
]
Splits = Annotated[int, Option("Random splits into a half to choose on and a half to test on.", least=1)]
TrainShare = Annotated[float, Option("The share of rows to fit and choose on.", above=0, below=1)]
Capacity = Annotated[
    float | Literal["status quo"] | None,
    Option(
        "The largest share that may be selected; the threshold comes from each training half.",
        above=0,
        below=1,
        form=options.number_or_text,
    ),
]
Blind = Annotated[bool, Option("Whether rules must decide without knowing the group.")]
Banned = Annotated[str | Sequence[str], Option("Features that no rule may use.", many=True)]
Monotone = Annotated[
    Mapping[str, int] | None,
    Option(
        "Features with which a rule may never fall, income=1, or never rise, debt=-1.",
        form=options.named_number,
        many=True,
    ),
]
FairnessTest = Annotated[
    Literal["smooth", "paper"],
    Option(
        "'paper' is the article's fairness component, which rejects too often when gaps are one or two standard errors "
        "from zero."
    ),
]
Aggregate = Annotated[
    Literal["median", "running-median", "single"],
    Option(
        "How the splits' p-values become one: median holds under any dependence, running-median has more power, single "
        "is the first split alone."
    ),
]
Bootstrap = Annotated[int, Option("Bootstrap draws per split.", least=100)]
ComparedBy = Annotated[Literal["ratio", "difference"], Option("How levels are compared.")]
Pooled = Annotated[bool, Option("Whether accuracy is that of everybody together.")]
Direction = Annotated[
    Literal["differs", "below", "above"],
    Option("Which gaps count: all of them, or only those in which a group lies below or above the target."),
]
Reference = Annotated[
    Mapping[str, Any] | None,
    Option("The group that one-sided gaps are counted from, race=Caucasian.", form=options.group),
]
FittedElsewhere = Annotated[bool, Option("States that candidate columns were not fitted on these rows.")]
Folds = Annotated[
    int, Option("Parts of a training half in which candidates are judged out of fold.", least=2)
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The question as it was asked: what would count as an improvement, which rules are tried, what they must keep."""

    accuracy: object
    fairness: object
    by: object
    delta: object
    method: str
    scale: str
    pooled: bool
    direction: str
    target: object
    candidates: object
    fitted_elsewhere: bool
    folds: int
    capacity: float | str | None
    blind: bool
    banned: tuple[str, ...]
    monotone: Mapping[str, int]

"""The options of improve, and all that was asked together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

from fairtrial import _options as options
from fairtrial._audit.arguments import unlabelled
from fairtrial._metrics.groups import A_GROUP, COMPARED
from fairtrial._metrics.metric import Metric
from fairtrial._options import Option


# -- What a decision yields per person, where that is not a metric.
@dataclass(frozen=True, slots=True)
class Payoff:
    """What a decision yields per person: `selected` where it is positive, `rejected` where it is not.

    Higher is better.

    Parameters
    ----------
    name : str
        What it is called.
    selected, rejected : str or float
        A numeric column or a number.
    at_least : float, optional
        The least that a selected person can yield, where the data may not hold a loss as large as can happen.

    Examples
    --------
    >>> Payoff("saved_money", selected="margin", rejected=0).label
    'saved money'
    """

    name: str
    selected: str | float
    rejected: str | float = 0.0
    at_least: float | None = None

    @property
    def label(self) -> str:
        """The name as people read it."""
        return self.name.replace("_", " ")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it needs."""
        return tuple(part for part in (self.selected, self.rejected) if isinstance(part, str))

    def to_dict(self) -> dict[str, Any]:
        """The form used in files."""
        stated = {} if self.at_least is None else {"at_least": self.at_least}
        return {"name": self.name, "selected": self.selected, "rejected": self.rejected, **stated}


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


def number_or_named(text: str) -> Any:
    """'0.02' is a number, 'a=0.02,b=0.01' numbers by name."""
    if "=" not in text:
        return options.number_or_text(text)
    return dict(options.named_number(part.strip()) for part in text.split(","))


Utility = str | Metric | Payoff | Mapping[str, Any]
OneCandidate = str | ScikitEstimator | OwnCandidate | Callable[..., Callable[..., Any]]

Accuracy = Annotated[
    Utility | Sequence[Utility],
    Option(
        "The metric, payoff, auc or revenue (of a score that is a price and an outcome that is the most somebody "
        "would pay) that must not get worse by more than the margin; or several.",
        many=True,
        must="the name of a metric, such as accuracy, one of your own, a payoff, or a list of these",
    ),
]
Fairness = Annotated[
    Utility | Sequence[Utility],
    Option(
        "The metrics, payoff or revenue whose gaps between the groups must shrink.",
        many=True,
        must="the name of a metric, such as selection_rate, one of your own, a payoff, or a list of these",
    ),
]
Candidates = Annotated[
    OneCandidate | Sequence[OneCandidate],
    Option(
        "The rules to try: portfolio, frontier, tuned, reductions, group-thresholds, the programs F.5, F.6 and P', "
        "columns with a rule's decisions or scores; in Python also scikit-learn estimators and functions from training "
        "data to a rule.",
        many=True,
        flag="candidate",
        must="the name of a candidate or of a column, a scikit-learn estimator, a function that fits a rule, or a list "
        "of these",
    ),
]
Margin = Annotated[
    float | Mapping[str, float],
    Option(
        "How much worse the accuracy may be: 0.02, or a=0.02,b=0.01 by group or by metric; 0 asks for more accuracy "
        "than now, a negative one for a gain of that size.",
        least=-1e9,
        most=1e9,
        form=number_or_named,
    ),
]
Kind = Annotated[
    Literal["relative", "absolute"],
    Option(
        "What margin and reduction are counted in: shares of the status quo's level and gap, or their own units."
    ),
]
Reduction = Annotated[float, Option("By how much the gap must shrink, beyond shrinking at all.", least=0)]
Splits = Annotated[
    int | None,
    Option(
        "Random splits into a half to choose on and a half to test on; by default 7, and none for rules that were "
        "fixed beforehand: they are tested on all rows.",
        least=1,
        most=10_000,
    ),
]
Threshold = Annotated[
    float | None,
    Option("The score at or above which a fixed rule selects, stated beforehand."),
]
Sign = Annotated[
    str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]] | None,
    Option(
        "The group whose level is the higher one under the status quo, stated beforehand, race=Black; of more than two "
        "groups the highest and the lowest. Without it a fixed rule's p-value pays for every direction.",
        form=options.group,
        must=COMPARED,
        many=True,
    ),
]
Earlier = Annotated[
    Any,
    Option(
        "An earlier sample, by its path or as data, that gives a fixed rule its threshold and sign.",
        path=True,
    ),
]
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
IndependentGiven = Annotated[
    str | Sequence[str] | None,
    Option(
        "Columns given which decisions may not depend on the group, such as grade: rules that do (Mantel and Haenszel, "
        "1%) are not permissible.",
        many=True,
    ),
]
Permissible = Annotated[
    Callable[[Any, Any], bool] | None,
    Option(
        "A function of a fitted rule and its inputs that says whether the rule may be used.",
        python_only="it is a function",
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
Bootstrap = Annotated[int, Option("Bootstrap draws per split.", least=100, most=1_000_000)]
Scale = Annotated[
    Literal["difference", "ratio"],
    Option(
        "What a gap is: a difference of the groups' levels, or their ratio (the impact ratio nearer to 1)."
    ),
]
Pooled = Annotated[bool, Option("Whether accuracy is that of everybody together.")]
GroupWeights = Annotated[
    Mapping[str, float] | None,
    Option(
        "One accuracy in place of each group's: the sum of theirs with these weights, a=0.7.",
        form=options.named_number,
        many=True,
    ),
]
Direction = Annotated[
    Literal["differs", "below", "above"],
    Option("Which gaps count: all of them, or only those in which a group lies below or above the target."),
]
Reference = Annotated[
    Mapping[str, Any] | None,
    Option(
        "The group that one-sided gaps are counted from, race=Caucasian.", form=options.group, must=A_GROUP
    ),
]
FittedElsewhere = Annotated[
    bool, Option("States that candidate columns and fitted models were not fitted on these rows.")
]
RejectInference = Annotated[
    str | Mapping[str, Any] | None,
    Option(
        "What is assumed of people whose outcome is unknown, in place of the audit's unlabelled: odds=2,alike=band for "
        "odds at most twice, or half, those of the same group, whatever was decided about them, who are alike in these "
        "columns; bounds for nothing.",
        form=unlabelled,
    ),
]
Folds = Annotated[
    int, Option("Parts of a training half in which candidates are judged out of fold.", least=2, most=1000)
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The question as it was asked: what would count as an improvement, which rules are tried, what they must keep."""

    accuracy: object
    fairness: object
    by: object
    margin: object
    margin_kind: Literal["relative", "absolute"]
    reduction: float
    method: str
    scale: Literal["difference", "ratio"]
    pooled: bool
    group_weights: Mapping[str, float] | None
    direction: str
    target: object
    splits: int | None
    threshold: float | None
    sign: object
    earlier: object
    candidates: object
    fitted_elsewhere: bool
    reject_inference: object
    folds: int
    capacity: float | str | None
    blind: bool
    banned: tuple[str, ...]
    monotone: Mapping[str, int]
    independent_given: str | Sequence[str] | None
    permissible: Callable[[Any, Any], bool] | None

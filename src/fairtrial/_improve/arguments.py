"""The options of improve, and the objects that may be given in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Protocol

from fairtrial import _options as options
from fairtrial._audit.arguments import unlabelled
from fairtrial._metrics.groups import A_GROUP
from fairtrial._metrics.values import Metric
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


# -- Rules that were fixed without looking at these rows.
@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """Rules that were fixed without looking at these rows, and what was stated together with them.

    Parameters
    ----------
    rules : str or Rule or fitted model, or a list of these
        Columns of decisions or scores, rules that `improve` gave, or models that were fitted on other people.
    threshold : float, optional
        The score at or above which they select.
    sign : str or dict or list, optional
        The group whose level is the higher one under the status quo, such as {"race": "Black"}; of more than two groups
        the highest and the lowest. Without it the p-value of the gap pays for every direction.
    earlier : path or data or Audit, optional
        An earlier sample, which gives threshold and sign.

    Examples
    --------
    >>> Fixed("vendor_score", threshold=0.7, sign={"race": "Black"}).to_dict()
    {'fixed': 'vendor_score', 'threshold': 0.7, 'sign': {'race': 'Black'}}
    """

    rules: Any
    threshold: float | None = None
    sign: Any = None
    earlier: Any = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The form used in files."""
        stated = {"fixed": self.rules, "threshold": self.threshold, "sign": self.sign}
        return {name: options.recorded(value) for name, value in stated.items() if value is not None}


def one_candidate(text: str) -> Any:
    """A text of the command line: a name, or a fixed rule with its threshold and sign.

    >>> one_candidate("portfolio"), one_candidate("fixed=score,threshold=0.5,race=Black")
    ('portfolio', {'fixed': 'score', 'threshold': 0.5, 'sign': {'race': 'Black'}})
    """
    if not text.startswith("fixed="):
        return text
    stated: dict[str, Any] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name in ("fixed", "threshold"):
            stated[name] = options.number_or_text(value) if name == "threshold" else value
        else:
            stated.setdefault("sign", {})[name] = value
    return stated


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


def margin(text: str) -> Any:
    """A text of the command line.

    >>> margin("0.02"), margin("everyone=0.02,gap=-0.1"), margin("absolute=0.02"), margin("absolute:tpr=0.05")
    (0.02, {'everyone': 0.02, 'gap': -0.1}, {'absolute': 0.02}, {'absolute': {'tpr': 0.05}})
    """
    if text.startswith("absolute:"):
        return {"absolute": margin(text.removeprefix("absolute:"))}
    if "=" not in text:
        return options.number_or_text(text)
    return dict(options.named_number(part.strip()) for part in text.split(","))


def constraint(text: str) -> tuple[str, Any]:
    """A text of the command line.

    >>> constraint("capacity=0.2"), constraint("blind=no"), constraint("banned=age,sex"), constraint("rising=income")
    (('capacity', 0.2), ('blind', False), ('banned', ['age', 'sex']), ('rising', 'income'))
    """
    name, _, value = text.partition("=")
    if not value:
        raise ValueError("capacity=0.2 or banned=age")
    if name == "blind":
        return name, {"no": False, "false": False, "yes": True, "true": True}.get(value, value)
    if name == "capacity":
        return name, options.number_or_text(value)
    return name, value.split(",") if "," in value else value


Utility = str | Metric | Payoff | Mapping[str, Any]
OneCandidate = (
    str | Fixed | Mapping[str, Any] | ScikitEstimator | OwnCandidate | Callable[..., Callable[..., Any]]
)

Improved = Annotated[
    Utility | Sequence[Utility],
    Option(
        "The metrics, payoff or revenue whose gaps between the groups must shrink.",
        many=True,
        must="the name of a metric, such as selection_rate, one of your own, a payoff, or a list of these",
    ),
]
Kept = Annotated[
    Utility | Sequence[Utility],
    Option(
        "The metric, payoff, auc or revenue (of a score that is a price and an outcome that is the most somebody "
        "would pay) that must not get worse by more than the margin; or several.",
        many=True,
        must="the name of a metric, such as accuracy, one of your own, a payoff, or a list of these",
    ),
]
Candidates = Annotated[
    OneCandidate | Sequence[OneCandidate],
    Option(
        "The rules to try: portfolio, frontier, tuned, reductions, group-thresholds, columns with a rule's decisions "
        "or scores, fixed=column,threshold=0.5,race=Black for a fixed rule with what was stated beforehand; in Python "
        "also scikit-learn estimators and functions from training data to a rule.",
        form=one_candidate,
        many=True,
        flag="candidate",
        must="the name of a candidate or of a column, a fixed rule, a scikit-learn estimator, a function that fits a "
        "rule, or a list of these",
    ),
]
Margin = Annotated[
    float | Mapping[str, Any],
    Option(
        "How much worse it may be, in shares of today's level: 0.02 for each group, everyone=0.02 for all together, "
        "a=0.02,b=0.01 by group or metric, each=0.02,gap=-0.1 for a gap that shrinks by a tenth; absolute=0.02 in the "
        "metric's own units. 0 asks for more than now.",
        least=-1e9,
        most=1e9,
        form=margin,
    ),
]
Scale = Annotated[
    Literal["difference", "ratio"],
    Option(
        "What a gap is: a difference of the groups' levels, or their ratio (the impact ratio nearer to 1)."
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
Limits = Annotated[
    Mapping[str, Any] | None,
    Option(
        "What every rule must respect: capacity=0.2 (the largest share selected, or status quo), banned=age (a feature "
        "no rule may use), rising=income and falling=debt (with which a rule may only rise or fall), blind=no to let "
        "rules decide by group.",
        form=constraint,
        many=True,
        flag="constraint",
        must="a table of capacity, blind, banned, rising and falling",
    ),
]
Splits = Annotated[
    int | None,
    Option(
        "Random splits into a half to choose on and a half to test on; by default 7, and none for rules that were "
        "fixed beforehand: they are tested on all rows.",
        least=1,
        most=10_000,
    ),
]
Halves = Annotated[
    int | None,
    Option(
        "So many random splits into a half to choose on and a half to test on. By default rules are learned on earlier "
        "fifths of the rows and tested on later ones, in three random orders; rules that were fixed beforehand are "
        "tested on all rows.",
        least=1,
        most=10_000,
    ),
]
Bootstrap = Annotated[int, Option("Bootstrap draws per split.", least=100, most=1_000_000)]
RejectInference = Annotated[
    str | Mapping[str, Any] | None,
    Option(
        "What is assumed of people whose outcome is unknown, in place of the audit's unlabelled: odds=2,alike=band for "
        "odds at most twice, or half, those of the same group, whatever was decided about them, who are alike in these "
        "columns; bounds for nothing.",
        form=unlabelled,
    ),
]

"""The improvability test with the article's own choices, and every option that the article has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from fairtrial import _options as options
from fairtrial._audit.audit import Audit
from fairtrial._improve import arguments as i
from fairtrial._improve.result import ImproveResult
from fairtrial._method import arguments as a
from fairtrial._method.declaration import Cost
from fairtrial._method.declaration import method as declared
from fairtrial._options import Option

Component = Annotated[
    Literal["paper", "smooth"],
    Option(
        "'paper' is the article's fairness component, which rejects too often when gaps are one or two standard errors "
        "from zero; 'smooth' is that of `improve`."
    ),
]
TrainShare = Annotated[
    float, Option("The share of rows to fit and choose on, the article's β.", above=0, below=1)
]
Aggregate = Annotated[
    Literal["median", "running-median", "single"],
    Option(
        "How the splits' p-values become one: median holds under any dependence, running-median has more power, single "
        "is the first split alone."
    ),
]
Folds = Annotated[
    int, Option("Parts of a training half in which candidates are judged out of fold.", least=2, most=1000)
]
Weights = Annotated[
    Mapping[str, float] | None,
    Option(
        "One accuracy in place of each group's: the sum of theirs with these weights, a=0.7 (footnote 11).",
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


class ImprovabilityResult(ImproveResult):
    """What the article's test found; see ImproveResult."""

    __slots__ = ()
    kind: ClassVar[str] = "papers.improvability.improve"
    method: ClassVar[str] = (
        "The rows are split into two halves, a rule is selected on the first and tested on the second; the median of K "
        "splits is compared with α/2 (Corollary 1). Each component is tested by the reflected bootstrap; the gap with "
        "its kink rejects too often when it is one or two standard errors from zero."
    )


@declared(
    question="Is the status quo improvable?",
    short="Improvability",
    help="Is the status quo improvable? The article's own test, which does not hold its level near a gap of zero.",
    order=970,
    shows=None,
    paper="improvability",
    of_groups=True,
    result=ImprovabilityResult,
    evidence=("unlabelled", "unit"),
    refusal="rules are learned and compared on people who all count alike",
    cost=Cost(10, 650),
    complete_rows=False,  # it refuses selective labels itself, with what can be tested
)
def improve(
    audit: Audit,
    metric: i.Improved = "accuracy",
    keep: i.Kept = "accuracy",
    *,
    by: a.By = None,
    candidates: i.Candidates = "portfolio",
    margin: i.Margin = 0.0,
    scale: i.Scale = "difference",
    direction: i.Direction = "differs",
    target: i.Reference = None,
    constraints: i.Limits = None,
    splits: i.Splits = None,
    bootstrap: i.Bootstrap = 10_000,
    reject_inference: i.RejectInference = None,
    component: Component = "paper",
    train_share: TrainShare = 0.5,
    aggregate: Aggregate = "median",
    folds: Folds = 3,
    weights: Weights = None,
    independent_given: IndependentGiven = None,
    permissible: Permissible = None,
    confidence_level: a.AnyLevel = 0.95,
    seed: a.Seed = 0,
    jobs: a.Jobs = None,
    progress: a.Tell = None,
) -> ImprovabilityResult:
    """Test whether some rule improves on the status quo, as the article does.

    Parameters
    ----------
    audit : Audit
        The data and their roles.
    metric : str or Metric or Payoff or dict or list, default 'accuracy'
        The metrics, payoff or revenue whose gaps between the groups must shrink.
    keep : str or Metric or Payoff or dict or list, default 'accuracy'
        The metric, payoff, auc or revenue (of a score that is a price and an outcome that is the most
        somebody would pay) that must not get worse by more than the margin; or several.
    by : str or dict or list or None, default None
        Attributes whose groups are compared, or groups such as race=Caucasian; default: the audit's
        groups.
    candidates : str or Fixed or dict or ScikitEstimator or OwnCandidate or callable or list, default 'portfolio'
        The rules to try: portfolio, frontier, tuned, reductions, group-thresholds, columns with a rule's
        decisions or scores, fixed=column,threshold=0.5,race=Black for a fixed rule with what was stated
        beforehand; in Python also scikit-learn estimators and functions from training data to a rule.
    margin : float or dict, default 0.0
        How much worse it may be, in shares of today's level: 0.02 for each group, everyone=0.02 for all
        together, a=0.02,b=0.01 by group or metric, each=0.02,gap=-0.1 for a gap that shrinks by a tenth;
        absolute=0.02 in the metric's own units. 0 asks for more than now.
    scale : {'difference', 'ratio'}, default 'difference'
        What a gap is: a difference of the groups' levels, or their ratio (the impact ratio nearer to 1).
    direction : {'differs', 'below', 'above'}, default 'differs'
        Which gaps count: all of them, or only those in which a group lies below or above the target.
    target : dict or None, default None
        The group that one-sided gaps are counted from, race=Caucasian.
    constraints : dict or None, default None
        What every rule must respect: capacity=0.2 (the largest share selected, or status quo), banned=age
        (a feature no rule may use), rising=income and falling=debt (with which a rule may only rise or
        fall), blind=no to let rules decide by group.
    splits : int or None, default None
        Random splits into a half to choose on and a half to test on; by default 7, and none for rules
        that were fixed beforehand: they are tested on all rows.
    bootstrap : int, default 10000
        Bootstrap draws per split.
    reject_inference : str or dict or None, default None
        What is assumed of people whose outcome is unknown, in place of the audit's unlabelled:
        odds=2,alike=band for odds at most twice, or half, those of the same group, whatever was decided
        about them, who are alike in these columns; bounds for nothing.
    component : {'paper', 'smooth'}, default 'paper'
        'paper' is the article's fairness component, which rejects too often when gaps are one or two
        standard errors from zero; 'smooth' is that of `improve`.
    train_share : float, default 0.5
        The share of rows to fit and choose on, the article's β.
    aggregate : {'median', 'running-median', 'single'}, default 'median'
        How the splits' p-values become one: median holds under any dependence, running-median has more
        power, single is the first split alone.
    folds : int, default 3
        Parts of a training half in which candidates are judged out of fold.
    weights : dict or None, default None
        One accuracy in place of each group's: the sum of theirs with these weights, a=0.7 (footnote 11).
    independent_given : str or list or None, default None
        Columns given which decisions may not depend on the group, such as grade: rules that do (Mantel
        and Haenszel, 1%) are not permissible.
    permissible : callable or None, default None
        A function of a fitted rule and its inputs that says whether the rule may be used. Python only: it
        is a function.
    confidence_level : float, default 0.95
        Of the intervals.
    seed : int, default 0
        Same seed, same numbers.
    jobs : int or None, default None
        Parallel workers; numbers do not depend on it.
    progress : callable or None, default None
        Called as long loops go on. Python only: it is a function; the command line shows a progress bar.

    Returns
    -------
    ImprovabilityResult
        Levels, gaps and p-values of the chosen candidate in every split, and one p-value of all.

    Examples
    --------
    >>> import fairtrial
    >>> audit = fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5)
    >>> groups = [{"race": "African-American"}, {"race": "Caucasian"}]
    >>> result = fairtrial.papers.improvability.improve(audit, "fpr", by=groups, candidates={"fixed": "decile_score"},
    ...                                                 constraints={"capacity": 0.3}, bootstrap=200)
    >>> print(result.verdict.text)
    no less discriminatory alternative with accuracy ... was shown (p = ..., all 6,150 rows): not evidence ...
    """
    from fairtrial._improve.answer import answer
    from fairtrial._improve.request import ImproveRequest
    from fairtrial.papers.improvability._test import ARTICLE

    asked = ImproveRequest(
        metric=metric, keep=keep, by=by, candidates=candidates, margin=margin, scale=scale, direction=direction,
        target=target, constraints=constraints, splits=splits, bootstrap=bootstrap, reject_inference=reject_inference,
        train_share=train_share, aggregate=aggregate, folds=folds, weights=weights, permissible=permissible,
        independent_given=independent_given, gap_variant=ARTICLE if component == "paper" else None,
        alpha=1 - confidence_level, seed=seed, jobs=jobs, progress=progress,
    )  # fmt: skip
    return answer(audit, asked, ImprovabilityResult)

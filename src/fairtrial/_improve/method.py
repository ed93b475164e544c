"""Was there a fairer way, just as good? A test for a less discriminatory alternative to the status quo."""

from __future__ import annotations

from fairtrial._audit.audit import Audit
from fairtrial._improve import arguments as i
from fairtrial._improve.result import ImproveResult
from fairtrial._method import arguments as a
from fairtrial._method.declaration import Cost
from fairtrial._method.declaration import method as declared


@declared(
    question="Was there a fairer way, just as good?",
    short="Alternatives",
    help="Was there a fairer way, just as good? A test for a less discriminatory alternative.",
    order=70,
    shows="alternative",
    of_groups=True,
    result=ImproveResult,
    evidence=("unlabelled", "unit"),
    refusal="rules are learned and compared on people who all count alike",
    cost=Cost(10, 650),
    complete_rows=False,  # it refuses selective labels itself, with what can be tested
)
def improve(
    audit: Audit,
    metric: i.Improved = "selection_rate",
    keep: i.Kept = "accuracy",
    *,
    by: a.By = None,
    candidates: i.Candidates = "portfolio",
    margin: i.Margin = 0.0,
    scale: i.Scale = "difference",
    direction: i.Direction = "differs",
    target: i.Reference = None,
    constraints: i.Limits = None,
    splits: i.Halves = None,
    bootstrap: i.Bootstrap = 10_000,
    reject_inference: i.RejectInference = None,
    confidence_level: a.AnyLevel = 0.95,
    seed: a.Seed = 0,
    jobs: a.Jobs = None,
    progress: a.Tell = None,
) -> ImproveResult:
    """Test whether a permissible rule keeps the accuracy of every group and is less unfair than the status quo.

    A candidate that breaks the constraints is an error, never a warning.

    Parameters
    ----------
    audit : Audit
        The data and their roles.
    metric : str or Metric or Payoff or dict or list, default 'selection_rate'
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
        So many random splits into a half to choose on and a half to test on. By default rules are learned
        on earlier fifths of the rows and tested on later ones, in three random orders; rules that were
        fixed beforehand are tested on all rows.
    bootstrap : int, default 10000
        Bootstrap draws per split.
    reject_inference : str or dict or None, default None
        What is assumed of people whose outcome is unknown, in place of the audit's unlabelled:
        odds=2,alike=band for odds at most twice, or half, those of the same group, whatever was decided
        about them, who are alike in these columns; bounds for nothing.
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
    ImproveResult
        Levels, gaps and p-values of the chosen candidates in every test, and one p-value of all.

    Examples
    --------
    >>> import fairtrial
    >>> from sklearn.linear_model import LogisticRegression
    >>> audit = fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5,
    ...                         features=["age", "priors_count"])
    >>> groups = [{"race": "African-American"}, {"race": "Caucasian"}]
    >>> result = fairtrial.improve(audit, "fpr", by=groups, candidates=[LogisticRegression()], splits=3)
    >>> print(result.verdict.text)
    no less discriminatory alternative with accuracy ... was shown (p = ..., median of 3 splits): not evidence ...
    """
    from fairtrial._improve.answer import answer
    from fairtrial._improve.request import ImproveRequest

    asked = ImproveRequest(
        metric=metric, keep=keep, by=by, candidates=candidates, margin=margin, scale=scale, direction=direction,
        target=target, constraints=constraints, splits=splits, bootstrap=bootstrap, reject_inference=reject_inference,
        aggregate="forward" if splits is None else "median", alpha=1 - confidence_level, seed=seed, jobs=jobs,
        progress=progress,
    )  # fmt: skip
    return answer(audit, asked, ImproveResult)

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
    accuracy: i.Accuracy = "accuracy",
    fairness: i.Fairness = "selection_rate",
    *,
    by: a.By = None,
    candidates: i.Candidates = "portfolio",
    margin: i.Margin = 0.0,
    margin_kind: i.Kind = "relative",
    reduction: i.Reduction = 0.0,
    scale: i.Scale = "difference",
    splits: i.Splits = None,
    candidate_threshold: i.Threshold = None,
    sign: i.Sign = None,
    earlier: i.Earlier = None,
    train_share: i.TrainShare = 0.5,
    capacity: i.Capacity = None,
    blind: i.Blind = True,
    banned: i.Banned = (),
    monotone: i.Monotone = None,
    independent_given: i.IndependentGiven = None,
    permissible: i.Permissible = None,
    method: i.FairnessTest = "smooth",
    aggregate: i.Aggregate = "median",
    bootstrap: i.Bootstrap = 10_000,
    pooled: i.Pooled = False,
    group_weights: i.GroupWeights = None,
    direction: i.Direction = "differs",
    target: i.Reference = None,
    fitted_elsewhere: i.FittedElsewhere = False,
    reject_inference: i.RejectInference = None,
    folds: i.Folds = 3,
    confidence_level: a.AnyLevel = 0.95,
    seed: a.Seed = 0,
    jobs: a.Jobs = None,
    progress: a.Tell = None,
) -> ImproveResult:
    """Test whether a permissible rule is as accurate for every group and less unfair than the status quo.

    A candidate that breaks `capacity`, `blind`, `banned` or `monotone` is an error, never a warning.

    Parameters
    ----------
    audit : Audit
        The data and their roles.
    accuracy : str or Metric or Payoff or dict or list, default 'accuracy'
        The metric, payoff, auc or revenue (of a score that is a price and an outcome that is the most
        somebody would pay) that must not get worse by more than the margin; or several.
    fairness : str or Metric or Payoff or dict or list, default 'selection_rate'
        The metrics, payoff or revenue whose gaps between the groups must shrink.
    by : str or dict or list or None, default None
        Attributes whose groups are compared, or groups such as race=Caucasian; default: the audit's
        groups.
    candidates : str or ScikitEstimator or OwnCandidate or callable or list, default 'portfolio'
        The rules to try: portfolio, frontier, tuned, reductions, group-thresholds, the programs F.5, F.6
        and P', columns with a rule's decisions or scores; in Python also scikit-learn estimators and
        functions from training data to a rule.
    margin : float or dict, default 0.0
        How much worse the accuracy may be: 0.02, or a=0.02,b=0.01 by group or by metric; 0 asks for more
        accuracy than now, a negative one for a gain of that size.
    margin_kind : {'relative', 'absolute'}, default 'relative'
        What margin and reduction are counted in: shares of the status quo's level and gap, or their own
        units.
    reduction : float, default 0.0
        By how much the gap must shrink, beyond shrinking at all.
    scale : {'difference', 'ratio'}, default 'difference'
        What a gap is: a difference of the groups' levels, or their ratio (the impact ratio nearer to 1).
    splits : int or None, default None
        Random splits into a half to choose on and a half to test on; by default 7, and none for rules
        that were fixed beforehand: they are tested on all rows.
    candidate_threshold : float or None, default None
        The score at or above which a fixed rule selects, stated beforehand.
    sign : str or dict or list or None, default None
        The group whose level is the higher one under the status quo, stated beforehand, race=Black; of
        more than two groups the highest and the lowest. Without it a fixed rule's p-value pays for every
        direction.
    earlier : object, default None
        An earlier sample, by its path or as data, that gives a fixed rule its threshold and sign.
    train_share : float, default 0.5
        The share of rows to fit and choose on.
    capacity : float or {'status quo'} or None, default None
        The largest share that may be selected; the threshold comes from each training half.
    blind : bool, default True
        Whether rules must decide without knowing the group.
    banned : str or list, default ()
        Features that no rule may use.
    monotone : dict or None, default None
        Features with which a rule may never fall, income=1, or never rise, debt=-1.
    independent_given : str or list or None, default None
        Columns given which decisions may not depend on the group, such as grade: rules that do (Mantel
        and Haenszel, 1%) are not permissible.
    permissible : callable or None, default None
        A function of a fitted rule and its inputs that says whether the rule may be used. Python only: it
        is a function.
    method : {'smooth', 'paper'}, default 'smooth'
        'paper' is the article's fairness component, which rejects too often when gaps are one or two
        standard errors from zero.
    aggregate : {'median', 'running-median', 'single'}, default 'median'
        How the splits' p-values become one: median holds under any dependence, running-median has more
        power, single is the first split alone.
    bootstrap : int, default 10000
        Bootstrap draws per split.
    pooled : bool, default False
        Whether accuracy is that of everybody together.
    group_weights : dict or None, default None
        One accuracy in place of each group's: the sum of theirs with these weights, a=0.7.
    direction : {'differs', 'below', 'above'}, default 'differs'
        Which gaps count: all of them, or only those in which a group lies below or above the target.
    target : dict or None, default None
        The group that one-sided gaps are counted from, race=Caucasian.
    fitted_elsewhere : bool, default False
        States that candidate columns and fitted models were not fitted on these rows.
    reject_inference : str or dict or None, default None
        What is assumed of people whose outcome is unknown, in place of the audit's unlabelled:
        odds=2,alike=band for odds at most twice, or half, those of the same group, whatever was decided
        about them, who are alike in these columns; bounds for nothing.
    folds : int, default 3
        Parts of a training half in which candidates are judged out of fold.
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
        Levels, gaps and p-values of the chosen candidate in every split, and one p-value of all.

    Examples
    --------
    >>> import fairtrial
    >>> from sklearn.linear_model import LogisticRegression
    >>> audit = fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5,
    ...                         features=["age", "priors_count"])
    >>> groups = [{"race": "African-American"}, {"race": "Caucasian"}]
    >>> result = fairtrial.improve(audit, "accuracy", "fpr", by=groups, candidates=[LogisticRegression()], splits=3)
    >>> print(result.verdict.text)
    no less discriminatory alternative with accuracy ... was shown (p = ..., median of 3 splits): not evidence ...
    """
    from fairtrial._improve.answer import answer
    from fairtrial._improve.splits import Settings

    wanted = i.Wanted(
        accuracy=accuracy, fairness=fairness, by=by, margin=margin, margin_kind=margin_kind, reduction=reduction,
        method=method, scale=scale, pooled=pooled, group_weights=group_weights, direction=direction, target=target,
        splits=splits, threshold=candidate_threshold, sign=sign, earlier=earlier, candidates=candidates,
        fitted_elsewhere=fitted_elsewhere, reject_inference=reject_inference, folds=folds, capacity=capacity,
        blind=blind,
        banned=(banned,) if isinstance(banned, str) else tuple(banned), monotone={} if monotone is None else monotone,
        independent_given=independent_given, permissible=permissible,
    )  # fmt: skip
    settings = Settings(
        splits=7 if splits is None else splits, train_share=train_share, bootstrap=bootstrap, aggregate=aggregate,
        alpha=1 - confidence_level, seed=seed, jobs=jobs, progress=progress,
    )  # fmt: skip
    return answer(audit, wanted, settings)

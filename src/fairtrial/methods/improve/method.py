"""Was there a fairer way, just as good? A test for a less discriminatory alternative to the status quo."""

from __future__ import annotations

from fairtrial.data.audit import Audit
from fairtrial.methods import arguments as a
from fairtrial.methods.declaration import method as declared
from fairtrial.methods.improve import arguments as i
from fairtrial.methods.improve.result import ImproveResult


@declared(
    question="Was there a fairer way, just as good?",
    short="Alternatives",
    help="Was there a fairer way, just as good? A test for a less discriminatory alternative.",
    order=70,
    shows="alternative",
    result=ImproveResult,
)
def improve(
    audit: Audit,
    accuracy: i.Accuracy = "accuracy",
    fairness: i.Fairness = "selection_rate",
    *,
    by: a.By = None,
    candidates: i.Candidates = "portfolio",
    delta: i.Delta = (0, 0, 0),
    splits: i.Splits = 7,
    train_share: i.TrainShare = 0.5,
    capacity: i.Capacity = None,
    blind: i.Blind = True,
    banned: i.Banned = (),
    monotone: i.Monotone = None,
    method: i.FairnessTest = "smooth",
    aggregate: i.Aggregate = "median",
    bootstrap: i.Bootstrap = 10_000,
    scale: i.ComparedBy = "ratio",
    pooled: i.Pooled = False,
    direction: i.Direction = "differs",
    target: i.Reference = None,
    fitted_elsewhere: i.FittedElsewhere = False,
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
    accuracy : str or Metric or Payoff or dict, default 'accuracy'
        The metric, or payoff, that must not get worse.
    fairness : str or Metric or Payoff or dict or list, default 'selection_rate'
        The metrics whose gaps between the groups must shrink.
    by : str or dict or list or None, default None
        Attributes whose groups are compared, or groups such as race=Caucasian; default: the audit's
        groups.
    candidates : str or ScikitEstimator or OwnCandidate or callable or list, default 'portfolio'
        The rules to try: portfolio, reductions, group-thresholds, the programs F.5, F.6 and P', columns
        with a rule's decisions or scores; in Python also scikit-learn estimators and functions from
        training data to a rule.
    delta : list or dict, default (0, 0, 0)
        Accuracy Δ per group and fairness Δ, 0,0,0.1: the alternative must be (1+Δ) times as accurate and
        have less than (1−Δ) times the gap.
    splits : int, default 7
        Random splits into a half to choose on and a half to test on.
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
    method : {'smooth', 'paper'}, default 'smooth'
        'paper' is the article's fairness component, which rejects too often when gaps are one or two
        standard errors from zero.
    aggregate : {'median', 'running-median', 'single'}, default 'median'
        How the splits' p-values become one: median holds under any dependence, running-median has more
        power, single is the first split alone.
    bootstrap : int, default 10000
        Bootstrap draws per split.
    scale : {'ratio', 'difference'}, default 'ratio'
        How levels are compared.
    pooled : bool, default False
        Whether accuracy is that of everybody together.
    direction : {'differs', 'below', 'above'}, default 'differs'
        Which gaps count: all of them, or only those in which a group lies below or above the target.
    target : dict or None, default None
        The group that one-sided gaps are counted from, race=Caucasian.
    fitted_elsewhere : bool, default False
        States that candidate columns were not fitted on these rows.
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
    no less discriminatory alternative was shown (p = ..., median of 3 splits): not evidence that none exists
    """
    from fairtrial.methods.improve.answer import answer
    from fairtrial.methods.improve.splits import Settings

    audit.refuse("improve")
    wanted = i.Wanted(
        accuracy=accuracy, fairness=fairness, by=by, delta=delta, method=method, scale=scale, pooled=pooled,
        direction=direction, target=target, candidates=candidates, fitted_elsewhere=fitted_elsewhere, folds=folds,
        capacity=capacity, blind=blind, banned=(banned,) if isinstance(banned, str) else tuple(banned),
        monotone={} if monotone is None else monotone,
    )  # fmt: skip
    settings = Settings(
        splits=1 if aggregate == "single" else splits, train_share=train_share, bootstrap=bootstrap,
        aggregate=aggregate, alpha=1 - confidence_level, seed=seed, jobs=jobs, progress=progress,
    )  # fmt: skip
    return answer(audit, wanted, settings)

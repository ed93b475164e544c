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
    from fairtrial.methods.improve.wanted import Wanted, WantedClaim, WantedRules, find_monotone

    audit.refuse("improve")
    claim = WantedClaim(
        accuracy=accuracy, fairness=fairness, by=by, delta=delta, method=method, scale=scale, pooled=pooled,
        direction=direction, target=target,
    )  # fmt: skip
    rules = WantedRules(
        candidates=candidates, fitted_elsewhere=fitted_elsewhere, folds=folds, capacity=capacity, blind=blind,
        banned=(banned,) if isinstance(banned, str) else tuple(banned), monotone=find_monotone(monotone),
    )  # fmt: skip
    settings = Settings(
        splits=1 if aggregate == "single" else splits, train_share=train_share, bootstrap=bootstrap,
        aggregate=aggregate, alpha=1 - confidence_level, seed=seed, jobs=jobs, progress=progress,
    )  # fmt: skip
    return answer(audit, Wanted(claim, rules), settings)

"""The paper's framework: a measure's gap shared out over groups and features by values that are ESL, as published."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

from fairtrial import _options as options
from fairtrial._audit.audit import Audit
from fairtrial._explain import method as question
from fairtrial._explain.result import ExplainResult
from fairtrial._method import arguments as a
from fairtrial._method.declaration import Cost, method
from fairtrial._options import Option

Baseline = Annotated[
    Literal["random", "prior"] | float,
    Option(
        "What rates are divided by: those of a coin (random), of a coin that shows 1 as often as the outcome (prior), "
        "or a number.",
        above=0,
        form=options.number_or_text,
    ),
]
Better = Annotated[
    Literal["higher", "lower"] | None,
    Option("Which side of the metric is better for people; default: what the audit or the metric says."),
]
GapInterval = Annotated[
    Literal["certify", "paper"],
    Option("Of the whole gap: the paper's, which does not hold its level, or as certify gives it."),
]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShapleyRawlsResult(ExplainResult):
    """The two stages of the paper, with its own test and interval of the gap."""

    kind: ClassVar[str] = "papers.shapley_rawls.explain"


@method(
    question="Which features explain the unfairness?",
    short="Shapley meets Rawls",
    help="Which features explain the unfairness? The paper's two stages, with its own test and interval of the gap.",
    order=901,
    shows=None,
    cost=Cost(2, 20),
    result=ShapleyRawlsResult,
    refusal="what features contribute rests on single rows, each a person of its own who counts like all others",
    of_groups=True,
    paper="shapley_rawls",
)
def explain(
    audit: Audit,
    metric: a.MetricOrCriterion,
    *,
    by: a.By = None,
    target: question.ComparedWith = None,
    model: question.Model = "logistic",
    features: question.Features = None,
    allocation: question.AllocationChoice = "shapley",
    coalitions: question.Coalitions = "retrain",
    sensitive: question.Sensitive = "always",
    baseline: Baseline = "random",
    test: question.TestRows = None,
    budget: question.Budget = None,
    averaged: question.Averaged = "decisions",
    background: question.Background = None,
    better: Better = None,
    interval: GapInterval = "paper",
    confidence_level: a.AnyLevel = 0.95,
    seed: a.Seed = 0,
    jobs: a.Jobs = None,
    progress: a.Tell = None,
) -> ShapleyRawlsResult:
    """Share a measure's gap out as the paper does: first over the groups, then over the features.

    Every coalition's classifier is refitted and sees the sensitive attribute; the gap has the pooled test and interval
    of Proposition B.1. `fairtrial.explain` asks the same question with intervals that hold.

    Parameters
    ----------
    audit : Audit
        The data and their roles.
    metric : str or Metric or dict
        The metric by name, such as fpr, one of your own, or a criterion, such as separation.
    by : str or dict or list or None, default None
        Attributes whose groups are compared, or groups such as race=Caucasian; default: the audit's
        groups.
    target : dict or None, default None
        The reference group that the others are compared with, such as sex=Female; default: each with
        each.
    model : {'logistic', 'tree', 'forest', 'boosting'} or SklearnClassifier or callable or None, default 'logistic'
        The system that is explained: in Python a fitted model or a function of the features, as it is; a
        classifier to be fitted here: logistic, tree, forest, boosting or, in Python, any of
        scikit-learn's; without one, a copy learned from the audited decisions or scores.
    features : str or list or dict or None, default None
        Columns the model sees, or players with their columns; default: the audit's features.
    allocation : {'shapley', 'equal_surplus', 'solidarity', 'consensus', 'lsp'} or dict or callable, default 'shapley'
        How the gap is shared out: one of the five ESL members, or sequences of your own.
    coalitions : {'retrain', 'marginal'} or callable or dict or ndarray or list or None, default 'retrain'
        What leaving a feature out means: impute it (marginal, the default where the system is there
        already) or refit the model without it (retrain, the default for a model fitted here); in Python
        also decisions made elsewhere: a function of the feature names, a matrix of rows × 2^features (bit
        k of the column for feature k), or a dict of tuples of names.
    sensitive : {'player', 'always', 'absent'} or None, default 'always'
        Whether models see the attributes of the groups: as a player (default when it is a feature),
        always, or not at all.
    baseline : {'random', 'prior'} or float, default 'random'
        What rates are divided by: those of a coin (random), of a coin that shows 1 as often as the
        outcome (prior), or a number.
    test : float or str or list or ndarray or None, default None
        Rows that are evaluated: a share, a column of train/test, or booleans; default 0.3 when models are
        fitted.
    budget : int or None, default None
        Coalitions to evaluate when there are too many features for all of them (more than 12): at least 2
        for each feature and 49 more; default 129 more.
    averaged : {'decisions', 'probabilities'}, default 'decisions'
        What is averaged over the background rows when features are imputed.
    background : int or None, default None
        Rows whose values stand in for the features that are left out when imputing; default 100, fewer
        (at least 10) where the model would be asked more than 10 million times.
    better : {'higher', 'lower'} or None, default None
        Which side of the metric is better for people; default: what the audit or the metric says.
    interval : {'certify', 'paper'}, default 'paper'
        Of the whole gap: the paper's, which does not hold its level, or as certify gives it.
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
    ShapleyRawlsResult
        Every gap, each feature's contribution to it and to each group's value, and what mitigation would do.

    Examples
    --------
    >>> import fairtrial
    >>> audit = fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", groups="sex",
    ...                         features=["priors_count", "age"])
    >>> result = fairtrial.papers.shapley_rawls.explain(audit, "fpr", target={"sex": "Female"})
    >>> [(row["feature"], round(100 * row["difference"], 1)) for row in result.drivers]
    [('age', 22.5), ('priors_count', -3.8)]
    """
    from fairtrial._explain.answer import answer_all
    from fairtrial._explain.request import ExplainRequest
    from fairtrial._metrics.table import find_metrics
    from fairtrial.papers.shapley_rawls._first_stage import paper_gaps

    metrics = find_metrics("explain", metric)
    first = ExplainRequest(
        metric=metrics[0], by=by, target=target, features=features, sensitive=sensitive, test=test, model=model,
        coalitions=coalitions, averaged=averaged, background=background, allocation=allocation, baseline=baseline,
        budget=budget, better=better, gaps=paper_gaps if interval == "paper" else None,
        confidence_level=confidence_level, seed=seed, jobs=jobs, progress=progress,
    )  # fmt: skip
    requests = [replace(first, metric=part) for part in metrics]
    found = answer_all(audit, str(metric), requests, ShapleyRawlsResult)
    assert isinstance(found, ShapleyRawlsResult)
    return found

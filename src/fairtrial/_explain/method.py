"""Which features carry a disparity, and how that changed between two decision rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from fairtrial import _options as options
from fairtrial._audit.audit import Audit
from fairtrial._explain.result import CompareResult, ExplainResult
from fairtrial._method import arguments as a
from fairtrial._method.declaration import Cost, method
from fairtrial._metrics.groups import A_GROUP
from fairtrial._options import Option


class SklearnClassifier(Protocol):
    """What a scikit-learn classifier has."""

    def fit(self, features: Any, outcome: Any, /) -> Any: ...
    def predict(self, features: Any, /) -> Any: ...
    def get_params(self, deep: bool = True) -> Any: ...


# b_1, b_2, … over the "groups" and over the "features"
Sequences = Mapping[str, str | Sequence[float] | Callable[[int, int], float]]

Model = Annotated[
    Literal["logistic", "tree", "forest", "boosting"] | SklearnClassifier | Callable[[Any], Any] | None,
    Option(
        "The system that is explained: in Python a fitted model or a function of the features, as it is; a classifier "
        "to be fitted here: logistic, tree, forest, boosting or, in Python, any of scikit-learn's; without one, a "
        "copy learned from the audited decisions or scores."
    ),
]
Features = Annotated[
    str | Sequence[str] | Mapping[str, str | Sequence[str]] | None,
    Option(
        "Columns the model sees, or players with their columns; default: the audit's features.",
        many=True,
        flag="feature",
        must="a column, a list of columns or a table of players and their columns",
    ),
]
AllocationChoice = Annotated[
    Literal["shapley", "equal_surplus", "solidarity", "consensus", "lsp"]
    | Sequences
    | Callable[[int, int], float],
    Option("How the gap is shared out: one of the five ESL members, or sequences of your own."),
]
Coalitions = Annotated[
    Literal["retrain", "marginal"]
    | Callable[[tuple[str, ...]], Any]
    | Mapping[Any, Any]
    | NDArray[Any]
    | Sequence[Sequence[float]]
    | None,
    Option(
        "What leaving a feature out means: impute it (marginal, the default where the system is there already) or "
        "refit the model without it (retrain, the default for a model fitted here); in Python also decisions made "
        "elsewhere: a function of the feature names, a matrix of rows × 2^features (bit k of the column for feature "
        "k), or a dict of tuples of names."
    ),
]
Sensitive = Annotated[
    Literal["player", "always", "absent"] | None,
    Option(
        "Whether models see the attributes of the groups: as a player (default when it is a feature), always, or not "
        "at all."
    ),
]
ComparedWith = Annotated[
    Mapping[str, Any] | None,
    Option(
        "The reference group that the others are compared with, such as sex=Female; default: each with each.",
        form=options.group,
        must=A_GROUP,
    ),
]
TestRows = Annotated[
    float | str | Sequence[bool] | NDArray[np.bool_] | None,
    Option(
        "Rows that are evaluated: a share, a column of train/test, or booleans; default 0.3 when models are fitted.",
        above=0,
        below=1,
        form=options.number_or_text,
        must="a number between 0 and 1, a column of train and test, or one true or false for each row",
    ),
]
Budget = Annotated[
    int | None,
    Option(
        "Coalitions to evaluate when there are too many features for all of them (more than 12): at least 2 for each "
        "feature and 49 more; default 129 more.",
        least=1,
        most=1_000_000,
    ),
]
Averaged = Annotated[
    Literal["decisions", "probabilities"],
    Option("What is averaged over the background rows when features are imputed."),
]
Background = Annotated[
    int | None,
    Option(
        "Rows whose values stand in for the features that are left out when imputing; default 100, fewer (at least 10) "
        "where the model would be asked more than 10 million times.",
        least=1,
    ),
]


@method(
    question="Which features carry it?",
    short="Drivers",
    help="Which features carry the disparity? Contributions with intervals, from refitted or imputed models.",
    order=60,
    shows="carrier",
    cost=Cost(2, 20),
    result=ExplainResult,
    also=(CompareResult,),
    refusal="what features contribute rests on single rows, each a person of its own who counts like all others",
    of_groups=True,
)
def explain(
    audit: Audit,
    metric: a.MetricOrCriterion,
    *,
    by: a.By = None,
    target: ComparedWith = None,
    model: Model = None,
    features: Features = None,
    allocation: AllocationChoice = "shapley",
    coalitions: Coalitions = None,
    sensitive: Sensitive = None,
    test: TestRows = None,
    budget: Budget = None,
    averaged: Averaged = "decisions",
    background: Background = None,
    confidence_level: a.AnyLevel = 0.95,
    seed: a.Seed = 0,
    jobs: a.Jobs = None,
    progress: a.Tell = None,
) -> ExplainResult:
    """Share the gap between groups out over the features of a model.

    Two stages of efficient, symmetric and linear (ESL) values, with intervals that hold.

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
    model : {'logistic', 'tree', 'forest', 'boosting'} or SklearnClassifier or callable or None, default None
        The system that is explained: in Python a fitted model or a function of the features, as it is; a
        classifier to be fitted here: logistic, tree, forest, boosting or, in Python, any of
        scikit-learn's; without one, a copy learned from the audited decisions or scores.
    features : str or list or dict or None, default None
        Columns the model sees, or players with their columns; default: the audit's features.
    allocation : {'shapley', 'equal_surplus', 'solidarity', 'consensus', 'lsp'} or dict or callable, default 'shapley'
        How the gap is shared out: one of the five ESL members, or sequences of your own.
    coalitions : {'retrain', 'marginal'} or callable or dict or ndarray or list or None, default None
        What leaving a feature out means: impute it (marginal, the default where the system is there
        already) or refit the model without it (retrain, the default for a model fitted here); in Python
        also decisions made elsewhere: a function of the feature names, a matrix of rows × 2^features (bit
        k of the column for feature k), or a dict of tuples of names.
    sensitive : {'player', 'always', 'absent'} or None, default None
        Whether models see the attributes of the groups: as a player (default when it is a feature),
        always, or not at all.
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
    ExplainResult
        Every gap, each feature's contribution to it and to each group's rate, and what mitigation would do.

    Examples
    --------
    >>> import fairtrial
    >>> audit = fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", groups="sex",
    ...                         features=["priors_count", "age"])
    >>> result = fairtrial.explain(audit, "fpr", model="logistic", target={"sex": "Female"})
    >>> [(row["feature"], round(100 * row["difference"], 1)) for row in result.drivers]
    [('priors_count', 9.9), ('age', -0.3)]
    """
    from fairtrial._explain.answer import answer_all
    from fairtrial._explain.request import ExplainRequest
    from fairtrial._metrics.table import find_metrics

    requests = [
        ExplainRequest(
            metric=part, by=by, target=target, features=features, sensitive=sensitive, test=test, model=model,
            coalitions=coalitions, averaged=averaged, background=background, allocation=allocation, budget=budget,
            confidence_level=confidence_level, seed=seed, jobs=jobs, progress=progress,
        )
        for part in map(audit.roles.in_words, find_metrics("explain", metric))
    ]  # fmt: skip
    return answer_all(audit, str(metric), requests)

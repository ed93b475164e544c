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
    metric: question.MetricOrCriterion,
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

    Examples
    --------
    >>> import fairtrial
    >>> audit = fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", groups="sex",
    ...                         features=["priors_count", "age"])
    >>> result = fairtrial.papers.shapley_rawls.explain(audit, "fpr", target={"sex": "Female"})
    >>> [(row["feature"], round(100 * row["difference"], 1)) for row in result.drivers]
    []
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

"""The conditional bias scan as its authors describe it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Protocol

from fairtrial._audit.audit import Audit
from fairtrial._errors import Fault, InputError, Named, Words, choice_fault
from fairtrial._method import arguments as a
from fairtrial._method.declaration import Cost, method
from fairtrial._options import Option
from fairtrial._scan import method as s
from fairtrial._scan.result import ScanResult


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConditionalBiasScanResult(ScanResult):
    """The subgroups with the largest log-likelihood ratios, best first, and the p-value of the first."""

    kind: ClassVar[str] = "papers.conditional_bias_scan.scan"
    method: ClassVar[str] = (
        "Expected rates come from a logistic model of the people outside the class, weighted by the odds of a model of "
        "the class, and are fitted again in every draw. The score of a subgroup is the log-likelihood ratio of a shift "
        "of its odds (0/1 events) or of its log-odds (mean scores) against them, minus a penalty per included value. "
        "The p-value compares the best score with the best scores of data in which the class does not matter, each "
        "searched as the data were."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "Global null: the class does not depend on the covariates.",
        "Stratified null: people with the same covariates and condition are exchangeable between the classes.",
        "Propensity null: the fitted model of the class is right.",
        "Bootstrap null: the fitted model of the event is right.",
    )
    citation: ClassVar[str] = (
        "Boxer, McFowland & Neill, Auditing Predictive Models for Intersectional Biases (conditional bias scan); "
        "Zhang & Neill (2016); Speakman et al. (2016), penalized fast subset scanning."
    )


class WeightedClassifier(Protocol):
    """A classifier as scikit-learn makes them: fitted with sample weights, asked for probabilities."""

    def fit(self, *args: Any, **kwargs: Any) -> Any: ...
    def predict_proba(self, *args: Any, **kwargs: Any) -> Any: ...


Covariates = Annotated[
    str | Sequence[str] | None,
    Option(
        "The covariates X that subgroups are built from; default: the audit's features, else its other groups.",
        many=True,
        flag="feature",
    ),
]
AlsoConditioned = Annotated[
    str | Sequence[str] | None,
    Option("Attributes that expected rates are estimated on besides, without being searched.", many=True),
]
Bias = Annotated[
    Literal["positive", "negative", "both"],
    Option("The direction of bias: events above what is expected (positive), below (negative), or either."),
]
Sigma = Annotated[
    float | Literal["estimated"],
    Option("The spread of log-odds in the score of mean scores; the article's is 1.", above=0),
]
Penalty = Annotated[
    float,
    Option(
        "The complexity penalty: what every included value costs, unless all are included.", least=0, most=1e9
    ),
]
Ranges = Annotated[
    bool, Option("Whether numbers and ordered categories are searched as ranges, which cost one penalty.")
]
Search = Annotated[
    Literal["restarts", "exact", "auto"],
    Option(
        "Fast subset scanning from many starts, every subgroup, or every one where each draw affords it (auto)."
    ),
]
Iterations = Annotated[
    int, Option("From how many starts the search climbs where it is not exact.", least=1, most=100_000)
]
Null = Annotated[
    Literal["global", "stratified", "propensity", "bootstrap"] | None,
    Option(
        "How data without bias are drawn: the class is permuted over everybody, as in the article (global), or within "
        "strata of X and C, or class or events are drawn from a fitted model; none skips it."
    ),
]
NullModel = Annotated[
    Literal["blocks", "pairwise", "saturated", "main"],
    Option("The model that a propensity or bootstrap null draws from."),
]
Expectation = Annotated[
    Literal["logistic", "doubly-robust", "score"] | WeightedClassifier,
    Option(
        "How expected rates are fitted, or the score itself, which makes calibration a plain bias scan; in Python also "
        "a scikit-learn classifier."
    ),
]
Propensity = Annotated[
    Literal["logistic"] | WeightedClassifier,
    Option("How class membership is fitted; in Python also a scikit-learn classifier."),
]
Ridge = Annotated[float, Option("The ridge of the logistic models.", above=0)]
Unsupported = Annotated[
    Literal["flag", "drop"], Option("People without a counterpart outside the class: counted, or left out.")
]
Scores = Annotated[Literal["exact", "bins"], Option("Every distinct score, or the audit's score bins.")]
Neighbours = Annotated[
    int,
    Option("How many people with neighbouring scores make one stratum of the stratified null.", least=2),
]
_DIRECTIONS = {"positive": "above", "negative": "below", "both": "differs"}


@method(
    question="Which subgroup of the protected class has the most biased predictions (conditional bias scan)?",
    short="Conditional bias scan",
    help="Conditional bias scan: which subgroup's events differ most from what a model of the others expects?",
    order=930,
    shows=None,
    cost=Cost(5, 60, "permutations", 999),
    result=ConditionalBiasScanResult,
    complete_rows=False,
    paper="conditional_bias_scan",
)
def scan(
    audit: Audit,
    metric: a.OneMetric,
    *,
    protected: s.Protected,
    target: s.Target = "rest",
    features: Covariates = None,
    within: AlsoConditioned = None,
    direction: Bias = "positive",
    condition: s.Condition = None,
    penalty: Penalty = 1.0,
    search: Search = "restarts",
    iterations: Iterations = 500,
    sigma: Sigma = 1.0,
    expectation: Expectation = "logistic",
    propensity: Propensity = "logistic",
    ridge: Ridge = 0.01,
    unsupported: Unsupported = "flag",
    ranges: Ranges = False,
    scores: Scores = "exact",
    probability: s.Probability = "score",
    null: Null = "global",
    null_model: NullModel = "blocks",
    neighbours: Neighbours = 20,
    permutations: s.Permutations = 999,
    top: s.Top = 5,
    confidence_level: a.AnyLevel = 0.95,
    seed: a.Seed = 0,
    jobs: a.Jobs = None,
    progress: a.Tell = None,
) -> ConditionalBiasScanResult:
    """Find the subgroup whose events are least likely under the rates expected from people outside the class.

    The system of Boxer, McFowland and Neill with the article's choices: expected rates from a propensity-weighted
    logistic model of the people outside the class, a log-likelihood ratio score, fast subset scanning from many starts,
    and a permutation test of the class over everybody. That test is wrong as soon as the class depends on the
    covariates; `fairtrial.scan` is the procedure that holds.

    Parameters
    ----------
    audit : Audit
        The data and their roles.
    metric : str or Metric or dict
        The metric by name, such as fpr, or one of your own.
    protected : dict or Group or str or list
        The protected class, such as race=African-American; or an attribute, or several, of which every
        value is scanned in turn, with one correction over all scans; each: all the audit's groups.
    target : dict or Group or {'rest'}, default 'rest'
        Who the class is compared with: rest, which is everybody else, or a group such as race=Caucasian.
    features : str or list or None, default None
        The covariates X that subgroups are built from; default: the audit's features, else its other
        groups.
    within : str or list or None, default None
        Attributes that expected rates are estimated on besides, without being searched.
    direction : {'positive', 'negative', 'both'}, default 'positive'
        The direction of bias: events above what is expected (positive), below (negative), or either.
    condition : {0, 1, 'any'} or None, default None
        0, 1, or any for both values at once, instead of the metric's own condition.
    penalty : float, default 1.0
        The complexity penalty: what every included value costs, unless all are included.
    search : {'restarts', 'exact', 'auto'}, default 'restarts'
        Fast subset scanning from many starts, every subgroup, or every one where each draw affords it
        (auto).
    iterations : int, default 500
        From how many starts the search climbs where it is not exact.
    sigma : float or {'estimated'}, default 1.0
        The spread of log-odds in the score of mean scores; the article's is 1.
    expectation : {'logistic', 'doubly-robust', 'score'} or WeightedClassifier, default 'logistic'
        How expected rates are fitted, or the score itself, which makes calibration a plain bias scan; in
        Python also a scikit-learn classifier.
    propensity : {'logistic'} or WeightedClassifier, default 'logistic'
        How class membership is fitted; in Python also a scikit-learn classifier.
    ridge : float, default 0.01
        The ridge of the logistic models.
    unsupported : {'flag', 'drop'}, default 'flag'
        People without a counterpart outside the class: counted, or left out.
    ranges : bool, default False
        Whether numbers and ordered categories are searched as ranges, which cost one penalty.
    scores : {'exact', 'bins'}, default 'exact'
        Every distinct score, or the audit's score bins.
    probability : {'score', 'outcome-rate'}, default 'score'
        'outcome-rate' reads a score that is no probability as the outcome rate of those who have it.
    null : {'global', 'stratified', 'propensity', 'bootstrap'} or None, default 'global'
        How data without bias are drawn: the class is permuted over everybody, as in the article (global),
        or within strata of X and C, or class or events are drawn from a fitted model; none skips it.
    null_model : {'blocks', 'pairwise', 'saturated', 'main'}, default 'blocks'
        The model that a propensity or bootstrap null draws from.
    neighbours : int, default 20
        How many people with neighbouring scores make one stratum of the stratified null.
    permutations : int or {'enough'}, default 999
        How often luck is drawn in each scan; enough: 999 times for one class, for several as often as a
        clear finding needs to survive the correction.
    top : int, default 5
        How many subgroups are listed.
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
    ConditionalBiasScanResult
        The subgroups with the largest scores, best first, and the p-value of the first.

    Examples
    --------
    >>> import fairtrial
    >>> data = fairtrial.load("compas")
    >>> audit = fairtrial.Audit(data, outcome="two_year_recid", score="decile_score", threshold=5,
    ...                         groups=["race", "sex", "age_cat", "c_charge_degree"])
    >>> result = fairtrial.papers.conditional_bias_scan.scan(
    ...     audit, "fpr", protected={"race": "African-American"}, null=None)
    >>> result.subgroup, round(result.score, 1)
    ({'sex': ['Male'], 'age_cat': ['25 - 45', 'Greater than 45']}, 163.8)
    """
    from fairtrial._method.selective_labels import refuse_selective
    from fairtrial._metrics.table import find_metric
    from fairtrial._metrics.values import role
    from fairtrial._scan.answer import found_by
    from fairtrial._scan.request import ask
    from fairtrial._scan.scan_data import read_data
    from fairtrial.papers.conditional_bias_scan._scan import ArticleRequest, ArticleScan

    _check_models(expectation, propensity)
    asked = find_metric("scan", metric)
    refuse_selective("scan", audit, [asked])
    if isinstance(expectation, str) and expectation == "score" and asked.each is not role.score_bin:
        why = "takes the score for the expected outcome rate, which only calibration asks about"
        cure = Words("leave {} out, or scan the calibration", Named("expectation"))
        raise InputError("scan", Fault("expectation", why, got="score", cure=cure))
    request = ask(
        ArticleRequest, "scan", audit, asked, protected=protected, target=target, features=features, within=within,
        condition=condition, direction=_DIRECTIONS[direction], penalty=penalty, search=search, iterations=iterations,
        sigma=sigma, expectation=expectation, propensity=propensity, ridge=ridge, unsupported=unsupported,
        ranges=ranges, scores=scores, probability=probability, null=null, null_model=null_model, neighbours=neighbours,
        permutations=permutations, top=top, confidence_level=confidence_level, seed=seed, jobs=jobs, progress=progress,
    )  # fmt: skip
    data = read_data(audit, request)
    return found_by(ArticleScan(request, data), audit, data, ConditionalBiasScanResult)


def _check_models(expectation: object, propensity: object) -> None:
    """What a declaration cannot tell: a name that may be given, or a classifier."""
    faults = []
    for argument, model, names in (
        ("expectation", expectation, ("logistic", "doubly-robust", "score")),
        ("propensity", propensity, ("logistic",)),
    ):
        if isinstance(model, str):
            faults.append(choice_fault(argument, model, names))
        elif not (hasattr(model, "fit") and hasattr(model, "predict_proba")):
            required = f"must be one of {list(names)} or a classifier with predict_proba"
            faults.append(Fault(argument, required, got=model))
    found = [fault for fault in faults if fault]
    if found:
        raise InputError("scan", found)

"""Which unknown subgroups are harmed? The biased subgroup nobody thought to look at, and whether it is luck."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from fairtrial import _options as options
from fairtrial._audit.audit import Audit
from fairtrial._errors import Example, Words
from fairtrial._method import arguments as a
from fairtrial._method.declaration import Cost, method
from fairtrial._metrics.groups import A_GROUP, Group
from fairtrial._options import Option
from fairtrial._scan.result import ScanAllResult, ScanResult


def zero_or_one(text: str) -> int | str:
    """'0' and '1' as numbers, anything else as the text it is.

    >>> zero_or_one("1"), zero_or_one("any")
    (1, 'any')
    """
    return int(text) if text in ("0", "1") else text


OneGroup: TypeAlias = Mapping[str, Any] | Group
Protected = Annotated[
    OneGroup,
    Option("The protected class, such as race=African-American.", form=options.group, must=A_GROUP),
]
Target = Annotated[
    OneGroup | Literal["rest"],
    Option(
        "Who the class is compared with: rest, which is everybody else, or a group such as race=Caucasian.",
        form=options.target,
        must=Words("rest, or a group like {}", Example({"race": "A"})),
    ),
]
Attributes = Annotated[
    str | Sequence[str] | None,
    Option(
        "Attributes of which every value is scanned as the protected class; default: the audit's groups.",
        many=True,
    ),
]
Features = Annotated[
    str | Sequence[str] | None,
    Option(
        "Attributes that subgroups are built from; default: the audit's features, else its other groups.",
        many=True,
        flag="feature",
    ),
]
AlsoFeatures = Annotated[
    str | Sequence[str] | None,
    Option(
        "Attributes that subgroups are built from besides those scanned; default: the audit's features.",
        many=True,
        flag="feature",
    ),
]
Within = Annotated[
    str | Sequence[str] | None,
    Option("Attributes that are controlled for without being searched.", many=True),
]
Direction = Annotated[
    Literal["above", "below", "harmed", "differs"] | None,
    Option(
        "Rates above what comparable people get, below, on the side that harms by the audit's favourable decision, or "
        "either (differs); default: harmed where that is known, else the side that hurts by the metric."
    ),
]
Condition = Annotated[
    Literal[0, 1, "any"] | None,
    Option("0, 1, or any for both values at once, instead of the metric's own condition.", form=zero_or_one),
]
Probability = Annotated[
    Literal["score", "outcome-rate"],
    Option("'outcome-rate' reads a score that is no probability as the outcome rate of those who have it."),
]
Penalty = Annotated[
    float | None,
    Option(
        "What every listed value, or every range, of a subgroup costs its score; default: 1, or half the logarithm "
        "of the most values of an unordered feature where that is more.",
        least=0,
        most=1e9,
    ),
]
NullName: TypeAlias = Literal["ladder", "stratified", "propensity"]
Null = Annotated[
    NullName | None,
    Option(
        "How luck is simulated: 'stratified' needs no model to be right; 'ladder' takes it, or 'propensity' where too "
        "few can move; none skips it."
    ),
]
NeededNull = Annotated[
    NullName,
    Option(
        "How luck is simulated: 'stratified' needs no model to be right; 'ladder' takes it, or 'propensity' where too "
        "few can move."
    ),
]
Permutations = Annotated[int, Option("How often luck is drawn.", least=19, most=10_000_000)]
EnoughPermutations = Annotated[
    int | Literal["enough"],
    Option(
        "How often luck is drawn in each scan; 'enough' lets a clear finding survive the correction.",
        least=19,
        most=10_000_000,
    ),
]
Sequential = Annotated[bool, Option("Whether a scan that is clearly not significant stops drawing early.")]
Top = Annotated[int, Option("How many subgroups are listed.", least=1, most=1000)]

# That a subgroup was found says of every other one that it differs less: no table of sums can take that into account.
SEARCHED = "what a search finds tells of every subgroup that it looked at, and most of them have few people"


@method(
    question="Which unknown subgroups are harmed?",
    short="Subgroups",
    help="Which unknown subgroups are harmed? Search all of them, with a p-value for the whole search.",
    order=40,
    shows="disparity",
    cost=Cost(0.5, 5, "permutations", 999),
    result=ScanResult,
    not_published=SEARCHED,
    complete_rows=False,
    evidence=("unit",),
    refusal="it deals people to the class who all count alike",
)
def scan(
    audit: Audit,
    metric: a.OneMetric,
    *,
    protected: Protected,
    target: Target = "rest",
    features: Features = None,
    within: Within = None,
    direction: Direction = None,
    condition: Condition = None,
    penalty: Penalty = None,
    null: Null = "ladder",
    permutations: Permutations = 999,
    top: Top = 5,
    probability: Probability = "score",
    confidence_level: a.AnyLevel = 0.95,
    seed: a.Seed = 0,
    jobs: a.Jobs = None,
    progress: a.Tell = None,
) -> ScanResult:
    """Find the subgroup of a protected class whose rate deviates most from that of comparable people outside it.

    Subgroups are built from values of the features, of numbers and ordered categories from ranges; the p-value is for
    the best of all of them.

    Parameters
    ----------
    audit : Audit
        The data and their roles.
    metric : str or Metric or dict
        The metric by name, such as fpr, or one of your own.
    protected : dict or Group
        The protected class, such as race=African-American.
    target : dict or Group or {'rest'}, default 'rest'
        Who the class is compared with: rest, which is everybody else, or a group such as race=Caucasian.
    features : str or list or None, default None
        Attributes that subgroups are built from; default: the audit's features, else its other groups.
    within : str or list or None, default None
        Attributes that are controlled for without being searched.
    direction : {'above', 'below', 'harmed', 'differs'} or None, default None
        Rates above what comparable people get, below, on the side that harms by the audit's favourable
        decision, or either (differs); default: harmed where that is known, else the side that hurts by
        the metric.
    condition : {0, 1, 'any'} or None, default None
        0, 1, or any for both values at once, instead of the metric's own condition.
    penalty : float or None, default None
        What every listed value, or every range, of a subgroup costs its score; default: 1, or half the
        logarithm of the most values of an unordered feature where that is more.
    null : {'ladder', 'stratified', 'propensity'} or None, default 'ladder'
        How luck is simulated: 'stratified' needs no model to be right; 'ladder' takes it, or 'propensity'
        where too few can move; none skips it.
    permutations : int, default 999
        How often luck is drawn.
    top : int, default 5
        How many subgroups are listed.
    probability : {'score', 'outcome-rate'}, default 'score'
        'outcome-rate' reads a score that is no probability as the outcome rate of those who have it.
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
    ScanResult
        The subgroups with the largest scores, best first, and the p-value of the first.

    Examples
    --------
    >>> import fairtrial
    >>> data = fairtrial.load("compas")
    >>> audit = fairtrial.Audit(data, outcome="two_year_recid", score="decile_score", threshold=5,
    ...                         groups=["race", "sex", "age_cat", "c_charge_degree"])
    >>> result = fairtrial.scan(audit, "fpr", protected={"race": "African-American"}, permutations=99)
    >>> result.search, result.p_value
    ('exact', 0.01)
    """
    from fairtrial._method.known_outcomes import refuse_selective
    from fairtrial._metrics.table import find_metric
    from fairtrial._scan.answer import answer
    from fairtrial._scan.request import ScanRequest, ask

    asked = audit.roles.in_words(find_metric("scan", metric))
    refuse_selective("scan", audit, [asked])
    request = ask(
        ScanRequest, "scan", audit, asked, protected=protected, target=target, features=features, within=within,
        condition=condition, direction=direction, probability=probability, penalty=penalty, null=null,
        permutations=permutations, top=top, confidence_level=confidence_level, seed=seed, jobs=jobs, progress=progress,
    )  # fmt: skip
    return answer(audit, request)


@method(
    question="Which unknown subgroups are harmed, in any group?",
    short="All subgroups",
    help="Which unknown subgroups are harmed, in any group? One scan per group, with one correction over all.",
    order=41,
    shows="disparity",
    cost=Cost(3, 30, "permutations", 999),
    result=ScanAllResult,
    variant_of="scan",
    not_published=SEARCHED,
    complete_rows=False,
    evidence=("unit",),
    refusal="it deals people to the class who all count alike",
)
def scan_all(
    audit: Audit,
    metric: a.OneMetric,
    *,
    by: Attributes = None,
    features: AlsoFeatures = None,
    within: Within = None,
    direction: Direction = None,
    condition: Condition = None,
    penalty: Penalty = None,
    null: NeededNull = "ladder",
    permutations: EnoughPermutations = "enough",
    sequential: Sequential = True,
    top: Top = 5,
    probability: Probability = "score",
    confidence_level: a.AnyLevel = 0.95,
    seed: a.Seed = 0,
    jobs: a.Jobs = None,
    progress: a.Tell = None,
) -> ScanAllResult:
    """Scan every value of every sensitive attribute, with one correction over all scans.

    When one attribute is the protected class, subgroups are built from the others and from `features`. Enough draws
    are 20·scans/α, so that the adjusted p-value of a clear finding can be small.

    Parameters
    ----------
    audit : Audit
        The data and their roles.
    metric : str or Metric or dict
        The metric by name, such as fpr, or one of your own.
    by : str or list or None, default None
        Attributes of which every value is scanned as the protected class; default: the audit's groups.
    features : str or list or None, default None
        Attributes that subgroups are built from besides those scanned; default: the audit's features.
    within : str or list or None, default None
        Attributes that are controlled for without being searched.
    direction : {'above', 'below', 'harmed', 'differs'} or None, default None
        Rates above what comparable people get, below, on the side that harms by the audit's favourable
        decision, or either (differs); default: harmed where that is known, else the side that hurts by
        the metric.
    condition : {0, 1, 'any'} or None, default None
        0, 1, or any for both values at once, instead of the metric's own condition.
    penalty : float or None, default None
        What every listed value, or every range, of a subgroup costs its score; default: 1, or half the
        logarithm of the most values of an unordered feature where that is more.
    null : {'ladder', 'stratified', 'propensity'}, default 'ladder'
        How luck is simulated: 'stratified' needs no model to be right; 'ladder' takes it, or 'propensity'
        where too few can move.
    permutations : int or {'enough'}, default 'enough'
        How often luck is drawn in each scan; 'enough' lets a clear finding survive the correction.
    sequential : bool, default True
        Whether a scan that is clearly not significant stops drawing early.
    top : int, default 5
        How many subgroups are listed.
    probability : {'score', 'outcome-rate'}, default 'score'
        'outcome-rate' reads a score that is no probability as the outcome rate of those who have it.
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
    ScanAllResult
        The best subgroup of every protected class, strongest first, with adjusted p-values.

    Examples
    --------
    >>> import fairtrial
    >>> data = fairtrial.load("compas")
    >>> audit = fairtrial.Audit(data, outcome="two_year_recid", score="decile_score", threshold=5,
    ...                         groups=["race", "sex", "age_cat"])
    >>> result = fairtrial.scan_all(audit, "fpr", by="sex", features="race")
    >>> [(row["protected"], row["state"]) for row in result.estimates]
    [('sex: Female', 'found'), ('sex: Male', 'found')]
    """
    from fairtrial._audit.groups import by_attributes
    from fairtrial._method.known_outcomes import refuse_selective
    from fairtrial._metrics.table import find_metric
    from fairtrial._scan.every_class import scan_every_class

    asked = audit.roles.in_words(find_metric("scan_all", metric))
    refuse_selective("scan_all", audit, [asked])
    return scan_every_class(
        audit, asked, by_attributes("scan_all", audit, by or None), features=features, within=within,
        condition=condition, direction=direction, probability=probability, penalty=penalty, null=null,
        permutations=0 if permutations == "enough" else permutations, sequential=sequential, top=top,
        confidence_level=confidence_level, seed=seed, jobs=jobs, progress=progress,
    )  # fmt: skip

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
from fairtrial._scan.result import ScanResult


def zero_or_one(text: str) -> int | str:
    """'0' and '1' as numbers, anything else as the text it is.

    >>> zero_or_one("1"), zero_or_one("any")
    (1, 'any')
    """
    return int(text) if text in ("0", "1") else text


OneGroup: TypeAlias = Mapping[str, Any] | Group
Protected = Annotated[
    OneGroup | str | Sequence[str],
    Option(
        "The protected class, such as race=African-American; or an attribute, or several, of which every value is "
        "scanned in turn, with one correction over all scans; each: all the audit's groups.",
        form=options.group,
        must=Words("each, an attribute, a list of attributes, or {}", A_GROUP),
    ),
]
Target = Annotated[
    OneGroup | Literal["rest"],
    Option(
        "Who the class is compared with: rest, which is everybody else, or a group such as race=Caucasian.",
        form=options.target,
        must=Words("rest, or a group like {}", Example({"race": "A"})),
    ),
]
Features = Annotated[
    str | Sequence[str] | None,
    Option(
        "Attributes that subgroups are built from, when every class is scanned besides the others scanned; default: "
        "the audit's features, else its other groups.",
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
        "few can move; none skips it, for one class."
    ),
]
Permutations = Annotated[
    int | Literal["enough"],
    Option(
        "How often luck is drawn in each scan; enough: 999 times for one class, for several as often as a clear "
        "finding needs to survive the correction.",
        least=19,
        most=10_000_000,
    ),
]
Top = Annotated[int, Option("How many subgroups are listed.", least=1, most=1000)]

# That a subgroup was found says of every other one that it differs less: no table of sums can take that into account.
SEARCHED = "what a search finds tells of every subgroup that it looked at, and most of them have few people"


@method(
    question="Which unknown subgroups are harmed?",
    short="Subgroups",
    help="Which unknown subgroups are harmed? Search all of them, with a p-value for the whole search.",
    order=40,
    shows="disparity",
    cost=Cost(3, 30, "permutations", 999),
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
    protected: Protected = "each",
    target: Target = "rest",
    features: Features = None,
    within: Within = None,
    direction: Direction = None,
    condition: Condition = None,
    penalty: Penalty = None,
    null: Null = "ladder",
    permutations: Permutations = "enough",
    top: Top = 5,
    probability: Probability = "score",
    confidence_level: a.AnyLevel = 0.95,
    seed: a.Seed = 0,
    jobs: a.Jobs = None,
    progress: a.Tell = None,
) -> ScanResult:
    """Find the subgroup of a protected class whose rate deviates most from that of comparable people outside it.

    Subgroups are built from values of the features, of numbers and ordered categories from ranges; the p-value is for
    the best of all of them. Unless one class is named, every value of every attribute is scanned, with one correction.

    Parameters
    ----------
    audit : Audit
        The data and their roles.
    metric : str or Metric or dict
        The metric by name, such as fpr, or one of your own.
    protected : dict or Group or str or list, default 'each'
        The protected class, such as race=African-American; or an attribute, or several, of which every
        value is scanned in turn, with one correction over all scans; each: all the audit's groups.
    target : dict or Group or {'rest'}, default 'rest'
        Who the class is compared with: rest, which is everybody else, or a group such as race=Caucasian.
    features : str or list or None, default None
        Attributes that subgroups are built from, when every class is scanned besides the others scanned;
        default: the audit's features, else its other groups.
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
        where too few can move; none skips it, for one class.
    permutations : int or {'enough'}, default 'enough'
        How often luck is drawn in each scan; enough: 999 times for one class, for several as often as a
        clear finding needs to survive the correction.
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
        Of one class, the subgroups with the largest scores, best first, and the p-value of the first; of several, the
        best subgroup of each class, strongest first, with adjusted p-values.

    Examples
    --------
    >>> import fairtrial
    >>> data = fairtrial.load("compas")
    >>> audit = fairtrial.Audit(data, outcome="two_year_recid", score="decile_score", threshold=5,
    ...                         groups=["race", "sex", "age_cat", "c_charge_degree"])
    >>> result = fairtrial.scan(audit, "fpr", protected={"race": "African-American"}, permutations=99)
    >>> result.search, result.p_value
    ('exact', 0.01)
    >>> result = fairtrial.scan(audit, "fpr", protected="sex", features="race")
    >>> [(row["protected"], row["state"]) for row in result.estimates]
    [('sex: Female', 'found'), ('sex: Male', 'found')]
    """
    from fairtrial._method.selective_labels import refuse_selective
    from fairtrial._metrics.table import find_metric
    from fairtrial._scan.answer import answer
    from fairtrial._scan.every_class import find_attributes, scan_every_class
    from fairtrial._scan.request import ScanRequest, ask

    asked = audit.roles.in_words(find_metric("scan", metric))
    refuse_selective("scan", audit, [asked])
    how: dict[str, Any] = {
        "features": features, "within": within, "condition": condition, "direction": direction, "penalty": penalty,
        "null": null, "top": top, "probability": probability, "confidence_level": confidence_level, "seed": seed,
        "jobs": jobs, "progress": progress,
    }  # fmt: skip
    draws = None if permutations == "enough" else permutations
    if isinstance(protected, Mapping | Group):
        how |= {"target": target, "permutations": draws or 999}
        return answer(audit, ask(ScanRequest, "scan", audit, asked, protected=protected, **how))
    attributes = find_attributes(audit, protected, target, null)
    return scan_every_class(audit, asked, attributes, permutations=draws, **how)

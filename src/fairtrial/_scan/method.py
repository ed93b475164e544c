"""Which unknown subgroups are harmed? The biased subgroup nobody thought to look at, and whether it is luck."""

from __future__ import annotations

from fairtrial._audit.audit import Audit
from fairtrial._method import arguments as a
from fairtrial._method.declaration import Cost, method
from fairtrial._scan import arguments as s
from fairtrial._scan.result import ScanAllResult, ScanResult

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
    protected: s.Protected,
    reference: s.Reference = None,
    features: s.Features = None,
    within: s.Within = None,
    ranges: s.Ranges = True,
    score: s.Score = "matched",
    direction: s.Direction = None,
    condition: s.Condition = None,
    penalty: s.Penalty = None,
    search: s.Search = "auto",
    restarts: s.Restarts = 50,
    null: s.Null = "ladder",
    null_model: s.NullModel = "blocks",
    permutations: s.Permutations = 999,
    top: s.Top = 5,
    sigma: s.Sigma = "estimated",
    expectation: s.Expectation = "logistic",
    propensity: s.Propensity = "logistic",
    ridge: s.Ridge = 0.01,
    unsupported: s.Unsupported = "flag",
    scores: s.Scores = "exact",
    probability: s.Probability = "score",
    neighbours: s.Neighbours = 20,
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
    reference : dict or Group or None, default None
        Compare with this group only, such as race=Caucasian, not with everybody else.
    features : str or list or None, default None
        Attributes that subgroups are built from; default: the audit's features, else its other groups.
    within : str or list or None, default None
        Attributes that are controlled for without being searched.
    ranges : bool, default True
        Whether numbers and ordered categories are searched as ranges, such as age 18 to 24.
    score : {'matched', 'article'}, default 'matched'
        'matched' compares like with like; 'article' is the article's likelihood ratio.
    direction : {'above', 'below', 'harmed', 'differs'} or None, default None
        Rates above what comparable people get, below, on the side that harms by the audit's favourable
        decision, or either (differs); default: harmed where that is known, else the side that hurts by
        the metric.
    condition : {0, 1, 'any'} or None, default None
        0, 1, or any for both values at once, instead of the metric's own condition.
    penalty : float or None, default None
        What every listed value, or every range, of a subgroup costs its score; default: 1, with the
        matched score half the logarithm of the most values of an unordered feature where that is more.
    search : {'auto', 'exact', 'depth-2', 'restarts'}, default 'auto'
        All subgroups ('exact'), those that restrict at most two features ('depth-2'), or, with the
        article's score, climbs ('restarts'); 'auto' is exact where every draw affords it.
    restarts : int, default 50
        From how many starts the article's score climbs without proof.
    null : {'ladder', 'stratified', 'bootstrap', 'propensity', 'global'} or None, default 'ladder'
        How luck is simulated: 'stratified' needs no model to be right; 'ladder' takes it, or 'propensity'
        where too few can move; none skips it.
    null_model : {'blocks', 'pairwise', 'saturated', 'main'}, default 'blocks'
        The model that a bootstrap or propensity null draws from.
    permutations : int, default 999
        How often luck is drawn.
    top : int, default 5
        How many subgroups are listed.
    sigma : float or {'estimated'}, default 'estimated'
        The spread of log-odds in the article's score of mean scores.
    expectation : {'logistic', 'doubly-robust', 'score'} or Classifier, default 'logistic'
        The article's expected rates: how they are fitted, or the score itself, which makes calibration a
        plain bias scan; in Python also a scikit-learn classifier.
    propensity : {'logistic'} or Classifier, default 'logistic'
        How the article's score fits class membership; in Python also a scikit-learn classifier.
    ridge : float, default 0.01
        The ridge of the article's and of named null models.
    unsupported : {'flag', 'drop'}, default 'flag'
        People without a counterpart outside the class, in the article's score: counted, or left out.
    scores : {'exact', 'bins'}, default 'exact'
        Every distinct score, or the audit's score bins, as events and in the article's models.
    probability : {'score', 'outcome-rate'}, default 'score'
        'outcome-rate' reads a score that is no probability as the outcome rate of those who have it.
    neighbours : int, default 20
        How many people with neighbouring scores make one stratum where the score is the condition.
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
    from fairtrial._scan.question import ask, find_protected

    settings = s.ScanSettings(
        ranges=ranges, score=score,
        direction=direction, condition=condition, penalty=penalty, search=search, restarts=restarts, null=null,
        null_model=null_model, top=top, sigma=sigma, expectation=expectation, propensity=propensity, ridge=ridge,
        unsupported=unsupported, scores=scores, probability=probability, neighbours=neighbours,
        confidence_level=confidence_level,
    )  # fmt: skip
    s.check_settings("scan", settings)
    group = find_protected("scan", audit, protected)
    against = None if reference is None else find_protected("scan", audit, reference, "reference")
    asked = find_metric("scan", metric)
    refuse_selective("scan", audit, [asked])
    question = ask("scan", audit, asked, (group, against), (features, within), settings)
    draws = s.DrawSettings(permutations=permutations, seed=seed, jobs=jobs, progress=progress)
    return answer(audit, question, settings, draws)


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
    by: s.Attributes = None,
    features: s.AlsoFeatures = None,
    within: s.Within = None,
    ranges: s.Ranges = True,
    score: s.Score = "matched",
    direction: s.Direction = None,
    condition: s.Condition = None,
    penalty: s.Penalty = None,
    search: s.Search = "auto",
    restarts: s.Restarts = 50,
    null: s.NeededNull = "ladder",
    null_model: s.NullModel = "blocks",
    permutations: s.EnoughPermutations = "enough",
    sequential: s.Sequential = True,
    top: s.Top = 5,
    sigma: s.Sigma = "estimated",
    expectation: s.Expectation = "logistic",
    propensity: s.Propensity = "logistic",
    ridge: s.Ridge = 0.01,
    unsupported: s.Unsupported = "flag",
    scores: s.Scores = "exact",
    probability: s.Probability = "score",
    neighbours: s.Neighbours = 20,
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
    ranges : bool, default True
        Whether numbers and ordered categories are searched as ranges, such as age 18 to 24.
    score : {'matched', 'article'}, default 'matched'
        'matched' compares like with like; 'article' is the article's likelihood ratio.
    direction : {'above', 'below', 'harmed', 'differs'} or None, default None
        Rates above what comparable people get, below, on the side that harms by the audit's favourable
        decision, or either (differs); default: harmed where that is known, else the side that hurts by
        the metric.
    condition : {0, 1, 'any'} or None, default None
        0, 1, or any for both values at once, instead of the metric's own condition.
    penalty : float or None, default None
        What every listed value, or every range, of a subgroup costs its score; default: 1, with the
        matched score half the logarithm of the most values of an unordered feature where that is more.
    search : {'auto', 'exact', 'depth-2', 'restarts'}, default 'auto'
        All subgroups ('exact'), those that restrict at most two features ('depth-2'), or, with the
        article's score, climbs ('restarts'); 'auto' is exact where every draw affords it.
    restarts : int, default 50
        From how many starts the article's score climbs without proof.
    null : {'ladder', 'stratified', 'bootstrap', 'propensity', 'global'}, default 'ladder'
        How luck is simulated: 'stratified' needs no model to be right; 'ladder' takes it, or 'propensity'
        where too few can move.
    null_model : {'blocks', 'pairwise', 'saturated', 'main'}, default 'blocks'
        The model that a bootstrap or propensity null draws from.
    permutations : int or {'enough'}, default 'enough'
        How often luck is drawn in each scan; 'enough' lets a clear finding survive the correction.
    sequential : bool, default True
        Whether a scan that is clearly not significant stops drawing early.
    top : int, default 5
        How many subgroups are listed.
    sigma : float or {'estimated'}, default 'estimated'
        The spread of log-odds in the article's score of mean scores.
    expectation : {'logistic', 'doubly-robust', 'score'} or Classifier, default 'logistic'
        The article's expected rates: how they are fitted, or the score itself, which makes calibration a
        plain bias scan; in Python also a scikit-learn classifier.
    propensity : {'logistic'} or Classifier, default 'logistic'
        How the article's score fits class membership; in Python also a scikit-learn classifier.
    ridge : float, default 0.01
        The ridge of the article's and of named null models.
    unsupported : {'flag', 'drop'}, default 'flag'
        People without a counterpart outside the class, in the article's score: counted, or left out.
    scores : {'exact', 'bins'}, default 'exact'
        Every distinct score, or the audit's score bins, as events and in the article's models.
    probability : {'score', 'outcome-rate'}, default 'score'
        'outcome-rate' reads a score that is no probability as the outcome rate of those who have it.
    neighbours : int, default 20
        How many people with neighbouring scores make one stratum where the score is the condition.
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
    from fairtrial._scan.every_class import EveryClass, listed, named_features, scan_every_class

    settings = s.ScanSettings(
        ranges=ranges, score=score,
        direction=direction, condition=condition, penalty=penalty, search=search, restarts=restarts, null=null,
        null_model=null_model, top=top, sigma=sigma, expectation=expectation, propensity=propensity, ridge=ridge,
        unsupported=unsupported, scores=scores, probability=probability, neighbours=neighbours,
        confidence_level=confidence_level,
    )  # fmt: skip
    s.check_settings("scan_all", settings)
    asked = find_metric("scan_all", metric)
    refuse_selective("scan_all", audit, [asked])
    attributes = by_attributes("scan_all", audit, by or None)
    every = EveryClass(asked, attributes, named_features(audit, features), listed(within))
    draws = s.DrawSettings(
        permutations=0 if permutations == "enough" else permutations, seed=seed, sequential=sequential, jobs=jobs,
        progress=progress,
    )  # fmt: skip
    return scan_every_class(audit, every, settings, draws)

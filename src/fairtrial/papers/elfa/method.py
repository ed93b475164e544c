"""The ELFA paper's own certification and flagging, with its choices as defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from fairtrial import _options as options
from fairtrial._audit.audit import Audit
from fairtrial._inference import ways
from fairtrial._method import arguments as a
from fairtrial._method.declaration import method
from fairtrial._options import Option
from fairtrial.papers.elfa._results import PaperCertificate as PaperCertificate
from fairtrial.papers.elfa._results import PaperFlags as PaperFlags

Likelihood = Annotated[
    ways.Likelihood,
    Option("The likelihood of real values: of the rows, or of means and variances."),
]
TargetMethod = Annotated[
    Literal["profile", "orthogonal", "scaled", "plug-in"],
    Option(
        "How an estimated target enters; the paper's 'plug-in' takes it as known and does not hold its level."
    ),
]
RateInterval = Annotated[
    ways.RateMethod,
    Option("The interval of a rate against a known target; the paper's is the likelihood's."),
]
Refinement = Annotated[
    ways.Refinement | None,
    Option(
        "The refinement of a real-valued metric against a known target: none is the plain chi-square; "
        "fairtrial.certify has none, but bounds for small samples."
    ),
]
Rule = Annotated[
    Literal["paper", "equivalence"],
    Option(
        "'paper' certifies whatever is not rejected; 'equivalence' by two one-sided tests, as fairtrial.certify."
    ),
]
Vector = Annotated[
    Mapping[str, float] | Sequence[float] | None,
    Option(
        "Gaps by group, such as Hispanic=0.02: do they lie in the joint confidence region?",
        form=options.named_number,
        many=True,
    ),
]
Direction = Annotated[
    Literal["above", "below", "harmed", "outside", "differs"] | None,
    Option(
        "Which gaps are flagged: above or below the tolerance, on the side that harms, outside, or any other."
    ),
]
FalseFlags = Annotated[float, Option("The share of wrong flags that is accepted.", above=0, below=1)]
Correction = Annotated[Literal["bh", "by", "holm"], Option("Over all groups at once; the paper's is bh.")]


@method(
    question="Is equality of the groups not rejected?",
    short="ELFA certification",
    help="The ELFA paper's certification: certified is what is not rejected.",
    order=900,
    shows=None,
    result=PaperCertificate,
    of_groups=True,
    complete_rows=False,
    paper="elfa",
)
def certify(
    audit: Audit,
    metric: a.MetricOrCriterion,
    *,
    by: a.By = None,
    depth: a.Depth = 1,
    target: a.AnyTarget = "rest",
    tolerance: a.Tolerance = None,
    likelihood: Likelihood = "empirical",
    target_method: TargetMethod = "plug-in",
    rule: Rule = "paper",
    vector: Vector = None,
    rate_interval: RateInterval = "likelihood",
    refinement: Refinement = "none",
    minimum: a.Minimum = 1,
    confidence_level: a.Level = 0.95,
    seed: a.Seed = 0,
) -> PaperCertificate:
    """Certify by the paper's Algorithm 1 (empirical likelihood) or G.1 (Euclidean): what is not rejected is certified.

    Parameters
    ----------
    audit : Audit
        The data and their roles.
    metric : str or Metric or dict
        The metric by name, such as fpr, one of your own, or a criterion, such as separation.
    by : str or dict or list or None, default None
        Attributes whose groups are compared, or groups such as race=Caucasian; default: the audit's
        groups.
    depth : int, default 1
        Intersections of up to this many attributes.
    target : str or float or dict, default 'rest'
        What each group is compared with: rest, overall, a number, or a reference group such as
        race=Caucasian.
    tolerance : float or str or list or None, default None
        The largest gap that is tolerated: '5 in 100', 0.05, or two numbers low,high.
    likelihood : {'empirical', 'euclidean'}, default 'empirical'
        The likelihood of real values: of the rows, or of means and variances.
    target_method : {'profile', 'orthogonal', 'scaled', 'plug-in'}, default 'plug-in'
        How an estimated target enters; the paper's 'plug-in' takes it as known and does not hold its
        level.
    rule : {'paper', 'equivalence'}, default 'paper'
        'paper' certifies whatever is not rejected; 'equivalence' by two one-sided tests, as
        fairtrial.certify.
    vector : dict or list or None, default None
        Gaps by group, such as Hispanic=0.02: do they lie in the joint confidence region?
    rate_interval : {'bounded', 'wilson', 'likelihood', 'half-count', 'exact'}, default 'likelihood'
        The interval of a rate against a known target; the paper's is the likelihood's.
    refinement : {'bartlett', 'balanced', 'adjusted', 'none'} or None, default 'none'
        The refinement of a real-valued metric against a known target: none is the plain chi-square;
        fairtrial.certify has none, but bounds for small samples.
    minimum : int, default 1
        Groups with fewer members are listed as not tested.
    confidence_level : float, default 0.95
        Of the intervals.
    seed : int, default 0
        Same seed, same numbers.

    Returns
    -------
    PaperCertificate
        Every group's gap with its intervals, the joint test, and the paper's verdict.

    Examples
    --------
    >>> import fairtrial
    >>> audit = fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5)
    >>> groups = [{"race": "African-American"}]
    >>> result = fairtrial.papers.elfa.certify(audit, "ppv", by=groups, target={"race": "Caucasian"})
    >>> result.verdict.code
    'paper-rejected'
    """
    from fairtrial._compare.request import Request
    from fairtrial.papers.elfa._answers import certify_by_paper
    from fairtrial.papers.elfa._procedure import PaperProcedure

    request = Request(
        who="certify", audit=audit, by=by, depth=depth, target=target, minimum=minimum, tolerance=tolerance,
        level=confidence_level, seed=seed, rate_interval=rate_interval,
        procedure=PaperProcedure(likelihood=likelihood, target_method=target_method, refinement=refinement),
    )  # fmt: skip
    return certify_by_paper(request, metric, rule, vector)


@method(
    question="Which groups does the paper flag?",
    short="ELFA flags",
    help="The ELFA paper's flagging: likelihood p-values, false discovery rate.",
    order=901,
    shows=None,
    result=PaperFlags,
    of_groups=True,
    complete_rows=False,
    paper="elfa",
)
def flag(
    audit: Audit,
    metric: a.MetricOrCriterion,
    *,
    by: a.By = None,
    depth: a.Depth = 2,
    target: a.AnyTarget = "rest",
    tolerance: a.Tolerance = None,
    direction: Direction = None,
    fdr: FalseFlags = 0.05,
    correction: Correction = "bh",
    likelihood: Likelihood = "empirical",
    target_method: TargetMethod = "plug-in",
    minimum: a.Minimum = 1,
    confidence_level: a.AnyLevel = 0.95,
) -> PaperFlags:
    """Flag groups and intersections by the paper's Algorithm 2: likelihood p-values under one false discovery rate.

    Parameters
    ----------
    audit : Audit
        The data and their roles.
    metric : str or Metric or dict
        The metric by name, such as fpr, one of your own, or a criterion, such as separation.
    by : str or dict or list or None, default None
        Attributes whose groups are compared, or groups such as race=Caucasian; default: the audit's
        groups.
    depth : int, default 2
        Intersections of up to this many attributes.
    target : str or float or dict, default 'rest'
        What each group is compared with: rest, overall, a number, or a reference group such as
        race=Caucasian.
    tolerance : float or str or list or None, default None
        The largest gap that is tolerated: '5 in 100', 0.05, or two numbers low,high.
    direction : {'above', 'below', 'harmed', 'outside', 'differs'} or None, default None
        Which gaps are flagged: above or below the tolerance, on the side that harms, outside, or any
        other.
    fdr : float, default 0.05
        The share of wrong flags that is accepted.
    correction : {'bh', 'by', 'holm'}, default 'bh'
        Over all groups at once; the paper's is bh.
    likelihood : {'empirical', 'euclidean'}, default 'empirical'
        The likelihood of real values: of the rows, or of means and variances.
    target_method : {'profile', 'orthogonal', 'scaled', 'plug-in'}, default 'plug-in'
        How an estimated target enters; the paper's 'plug-in' takes it as known and does not hold its
        level.
    minimum : int, default 1
        Groups with fewer members are listed as not tested.
    confidence_level : float, default 0.95
        Of the intervals.

    Returns
    -------
    PaperFlags
        Every group with its gap, p-value, adjusted p-value and whether it is flagged.

    Examples
    --------
    >>> import fairtrial
    >>> audit = fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5)
    >>> result = fairtrial.papers.elfa.flag(audit, "fpr", by="race", tolerance=0.05, direction="above", minimum=30)
    >>> [row["group"] for row in result.estimates if row["flagged"]]
    ['African-American']
    """
    from fairtrial._compare.request import Request
    from fairtrial.papers.elfa._answers import flag_by_paper
    from fairtrial.papers.elfa._procedure import PaperProcedure

    request = Request(
        who="flag", audit=audit, by=by, depth=depth, target=target, minimum=minimum, tolerance=tolerance,
        direction=direction, level=confidence_level, fdr=fdr, correction=correction,
        procedure=PaperProcedure(likelihood=likelihood, target_method=target_method),
    )  # fmt: skip
    return flag_by_paper(request, metric)

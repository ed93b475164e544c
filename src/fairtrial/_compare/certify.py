"""Is it fair? One joint test, every group's gap with intervals, and a verdict against a tolerance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from fairtrial import _options as options
from fairtrial._audit.audit import Audit
from fairtrial._audit.groups import MINIMUM_SIZE
from fairtrial._compare import arguments as g
from fairtrial._compare.results import CertifyResult
from fairtrial._method import arguments as a
from fairtrial._method.declaration import method
from fairtrial._options import Option

Rule = Annotated[
    Literal["equivalence", "paper"],
    Option("'paper' certifies whatever is not rejected, as the ELFA paper does, and says so."),
]
Direction = Annotated[
    Literal["above", "below", "harmed"] | None,
    Option(
        "Only gaps above, only gaps below, or only gaps on the side that harms, count; default: both sides."
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


@method(
    question="Is it fair?",
    short="Certification",
    help="Is it fair? Joint test, gaps, and a verdict per group.",
    order=20,
    shows="certificate",
    result=CertifyResult,
    of_groups=True,
    complete_rows=False,
    evidence=("weight", "unit", "pair", "order", "unlabelled", "probable"),
)
def certify(
    audit: Audit,
    metric: a.MetricOrCriterion,
    *,
    by: a.By = None,
    depth: a.Depth = 1,
    target: a.AnyTarget = "rest",
    tolerance: a.Tolerance = None,
    scale: g.Scale = "difference",
    within: a.Within = None,
    adjustment: g.Adjustment = "strata",
    direction: Direction = None,
    likelihood: g.Likelihood = "empirical",
    target_method: g.TargetMethod = "profile",
    rule: Rule = "equivalence",
    vector: Vector = None,
    rate_interval: g.RateInterval = "bounded",
    refinement: g.Refinement = None,
    minimum: a.Minimum = MINIMUM_SIZE,
    confidence_level: a.Level = 0.95,
    power: a.Power = 0.8,
    seed: a.Seed = 0,
) -> CertifyResult:
    """Certify that every group's gap lies within a tolerance, or show that one does not.

    Without a tolerance only "violated" or "no violation shown" can be said.

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
    tolerance : float or list or None, default None
        The largest gap that is tolerated, 0.05, or two numbers low,high.
    scale : {'difference', 'ratio'}, default 'difference'
        How a rate is compared: its difference to the target's, or its ratio to it (four fifths is 0.8).
    within : str or list or None, default None
        Columns people must be alike in, such as job and grade: gaps are compared within them.
    adjustment : {'strata', 'model'}, default 'strata'
        How people are made alike in `within`: counted in strata, or by models (doubly robust, cross-
        fitted).
    direction : {'above', 'below', 'harmed'} or None, default None
        Only gaps above, only gaps below, or only gaps on the side that harms, count; default: both sides.
    likelihood : {'empirical', 'euclidean'}, default 'empirical'
        The likelihood of real values: of the rows, or of means and variances.
    target_method : {'profile', 'orthogonal', 'scaled', 'plug-in'}, default 'profile'
        How an estimated target enters; 'plug-in' is the ELFA paper's and does not hold its level.
    rule : {'equivalence', 'paper'}, default 'equivalence'
        'paper' certifies whatever is not rejected, as the ELFA paper does, and says so.
    vector : dict or list or None, default None
        Gaps by group, such as Hispanic=0.02: do they lie in the joint confidence region?
    rate_interval : {'bounded', 'wilson', 'likelihood', 'half-count', 'exact'}, default 'bounded'
        The interval of a rate against a known target; bounded: Wilson's, never inside the exact one.
    refinement : {'bartlett', 'balanced', 'adjusted', 'none'} or None, default None
        The refinement of a real-valued metric against a known target.
    minimum : int, default 30
        Groups with fewer members are listed as not tested.
    confidence_level : float, default 0.95
        Of the intervals.
    power : float, default 0.8
        The chance of success that needed sizes are planned for.
    seed : int, default 0
        Same seed, same numbers.

    Returns
    -------
    CertifyResult
        Every group's gap with its intervals and state, the joint test, and the verdict.

    Examples
    --------
    >>> import fairtrial
    >>> audit = fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5)
    >>> result = fairtrial.certify(audit, "ppv", by="race", target={"race": "Caucasian"}, tolerance=0.05)
    >>> print(result.verdict.text)
    undetermined: positive predictive value is certified within 5.0 points of Caucasian for 0 of 3 groups and \
violated for none; Hispanic would need about 31,446 members, with the 854 it \
is compared with as they are, to be certified if it has no gap
    """
    from fairtrial._compare.certify_answer import Wanted, answer, judge_one
    from fairtrial._compare.certify_criterion import judge_criterion
    from fairtrial._compare.certify_cuts import answer_cuts
    from fairtrial._compare.cuts import cuts_of, refuse_cuts
    from fairtrial._compare.disparities import find_disparities
    from fairtrial._compare.request import Inference
    from fairtrial._compare.scales import one_sided
    from fairtrial._compare.tolerance import check_band, find_scaled_band
    from fairtrial._metrics.harm import find_side
    from fairtrial._metrics.table import find_criterion

    criterion, metrics = find_criterion("certify", metric, within)
    refuse_cuts("certify", audit, metrics)
    judged = []
    for asked in metrics:
        band = find_scaled_band("certify", tolerance, asked, scale)
        band = one_sided(band, find_side("certify", direction, asked, audit.favourable), scale)
        cuts = {}
        for name, cut, at_cut in cuts_of(asked, audit):
            cuts[name] = find_disparities(
                "certify", cut, at_cut, by=by, depth=depth, target=target, minimum=minimum,
                inference=Inference(likelihood, target_method, rate_interval, refinement, scale, within, adjustment),
            )  # fmt: skip
            check_band("certify", band, cuts[name])
        judged.append((cuts, Wanted(band, rule, vector, confidence_level, power, seed)))
    if len(judged) > 1:
        return judge_criterion(audit, criterion, [(cuts[""], wanted) for cuts, wanted in judged])
    cuts, wanted = judged[0]
    return answer(audit, judge_one(cuts[""], wanted)) if "" in cuts else answer_cuts(audit, cuts, wanted)

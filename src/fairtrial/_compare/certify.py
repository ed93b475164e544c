"""Is it fair? One joint test, every group's gap with intervals, and a verdict against a tolerance."""

from __future__ import annotations

from typing import Annotated, Literal

from fairtrial._audit.audit import Audit
from fairtrial._audit.groups import MINIMUM_SIZE
from fairtrial._compare.results import CertifyResult
from fairtrial._method import arguments as a
from fairtrial._method.declaration import method
from fairtrial._options import Option

Direction = Annotated[
    Literal["above", "below", "harmed"] | None,
    Option(
        "Only gaps above, only gaps below, or only gaps on the side that harms, count; default: both sides."
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
    scale: a.Scale = "difference",
    within: a.Within = None,
    adjustment: a.Adjustment = "strata",
    direction: Direction = None,
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
    tolerance : float or str or list or None, default None
        The largest gap that is tolerated: '5 in 100', 0.05, or two numbers low,high.
    scale : {'difference', 'ratio'}, default 'difference'
        How a rate is compared: its difference to the target's, or its ratio to it (four fifths is 0.8).
    within : str or list or None, default None
        Columns people must be alike in, such as job and grade: gaps are compared within them.
    adjustment : {'strata', 'model'}, default 'strata'
        How people are made alike in `within`: counted in strata, or by models (doubly robust,
        cross-fitted).
    direction : {'above', 'below', 'harmed'} or None, default None
        Only gaps above, only gaps below, or only gaps on the side that harms, count; default: both sides.
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
    from fairtrial._compare.certify_answer import answer
    from fairtrial._compare.comparing import compare
    from fairtrial._compare.request import Request
    from fairtrial._compare.tolerance import find_tolerance
    from fairtrial._metrics.table import find_criterion

    request = Request(
        who="certify", audit=audit, by=by, depth=depth, target=target, minimum=minimum, scale=scale, within=within,
        adjustment=adjustment, tolerance=tolerance, direction=direction, level=confidence_level, power=power, seed=seed,
    )  # fmt: skip
    criterion, metrics = find_criterion("certify", metric, within)
    parts = compare(request, metrics, lambda one: (find_tolerance(request, one), ""))
    return answer(audit, criterion if len(metrics) > 1 else "", parts)

"""Which known groups are harmed? One test per group and intersection, one correction over all of them."""

from __future__ import annotations

from typing import Annotated, Literal

from fairtrial._audit.audit import Audit
from fairtrial._audit.groups import MINIMUM_SIZE
from fairtrial._compare.results import FlagResult
from fairtrial._method import arguments as a
from fairtrial._method.declaration import method
from fairtrial._options import Option

Direction = Annotated[
    Literal["above", "below", "harmed", "outside", "differs"] | None,
    Option(
        "Which gaps are flagged: above the tolerance, below minus the tolerance, on the side that harms, outside both, "
        "or any that differs from it; default: harmed where the audit says what is favourable, else outside."
    ),
]
FalseFlags = Annotated[float, Option("The share of wrong flags that is accepted.", above=0, below=1)]
Correction = Annotated[
    Literal["bh", "by", "holm"],
    Option("Over all groups at once: bh, by (proven for any dependence) or holm (no wrong flag at all)."),
]


@method(
    question="Which known groups are harmed?",
    neutral="Which known groups differ?",
    short="Flags",
    help="Which known groups are harmed? Tests over all intersections.",
    order=30,
    shows="disparity",
    result=FlagResult,
    of_groups=True,
    complete_rows=False,
    evidence=("weight", "unit", "pair", "order", "unlabelled", "probable"),
)
def flag(
    audit: Audit,
    metric: a.MetricOrCriterion,
    *,
    by: a.By = None,
    depth: a.Depth = 2,
    target: a.AnyTarget = "rest",
    tolerance: a.Tolerance = None,
    scale: a.Scale = "difference",
    within: a.Within = None,
    adjustment: a.Adjustment = "strata",
    direction: Direction = None,
    fdr: FalseFlags = 0.05,
    correction: Correction = "bh",
    minimum: a.Minimum = MINIMUM_SIZE,
    confidence_level: a.AnyLevel = 0.95,
) -> FlagResult:
    """Flag the groups and intersections whose gap goes beyond the tolerance.

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
    scale : {'difference', 'ratio'}, default 'difference'
        How a rate is compared: its difference to the target's, or its ratio to it (four fifths is 0.8).
    within : str or list or None, default None
        Columns people must be alike in, such as job and grade: gaps are compared within them.
    adjustment : {'strata', 'model'}, default 'strata'
        How people are made alike in `within`: counted in strata, or by models (doubly robust,
        cross-fitted).
    direction : {'above', 'below', 'harmed', 'outside', 'differs'} or None, default None
        Which gaps are flagged: above the tolerance, below minus the tolerance, on the side that harms,
        outside both, or any that differs from it; default: harmed where the audit says what is
        favourable, else outside.
    fdr : float, default 0.05
        The share of wrong flags that is accepted.
    correction : {'bh', 'by', 'holm'}, default 'bh'
        Over all groups at once: bh, by (proven for any dependence) or holm (no wrong flag at all).
    minimum : int, default 30
        Groups with fewer members are listed as not tested.
    confidence_level : float, default 0.95
        Of the intervals.

    Returns
    -------
    FlagResult
        Every group with its gap, p-value, adjusted p-value and whether it is flagged.

    Examples
    --------
    >>> import fairtrial
    >>> audit = fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5)
    >>> result = fairtrial.flag(audit, "fpr", by=["race", "sex"], tolerance=0.05, direction="above")
    >>> [row["group"] for row in result.estimates if row["flagged"]]
    ['race: African-American', 'race: African-American, sex: Male']
    """
    from fairtrial._compare.comparing import compare
    from fairtrial._compare.flag_answer import answer, find_tolerance
    from fairtrial._compare.request import Request
    from fairtrial._metrics.table import find_criterion

    request = Request(
        who="flag", audit=audit, by=by, depth=depth, target=target, minimum=minimum, scale=scale, within=within,
        adjustment=adjustment, tolerance=tolerance, direction=direction, level=confidence_level, fdr=fdr,
        correction=correction,
    )  # fmt: skip
    criterion, metrics = find_criterion("flag", metric, within)
    parts = compare(request, metrics, lambda one: find_tolerance(request, one))
    return answer(audit, criterion if len(metrics) > 1 else "", parts)

"""What are the rates? Per group: rate, difference and ratio to the target, each with an interval that holds."""

from __future__ import annotations

from typing import Annotated, Literal

from fairtrial._audit.audit import Audit
from fairtrial._audit.groups import MINIMUM_SIZE
from fairtrial._compare.results import MeasureResult
from fairtrial._inference.ways import RateMethod
from fairtrial._method import arguments as a
from fairtrial._method.declaration import method
from fairtrial._options import Option

Interval = Annotated[
    RateMethod | None,
    Option(
        "Of single rates, and of rates against a known number; default: bounded, Wilson's but never inside the exact "
        "one."
    ),
]
Thresholds = Annotated[
    Literal["all"] | None,
    Option(
        "all: rates at every threshold of the score at once, as curves with bands, and areas under the ROC curve; "
        "default: at the decision's own.",
        counts_by="score",
    ),
]
Minimum = Annotated[
    int, Option("Groups with fewer people, or with fewer to compare with, are listed as not tested.", least=1)
]


@method(
    question="What are the rates?",
    short="Rates",
    help="What are the rates? Rates, differences and ratios with intervals that hold.",
    order=10,
    shows="disparity",
    result=MeasureResult,
    of_groups=True,
    complete_rows=False,
    evidence=("weight", "unit", "pair", "order", "unlabelled", "probable"),
)
def measure(
    audit: Audit,
    metric: a.Metrics = ("selection_rate",),
    *,
    by: a.By = None,
    depth: a.Depth = 1,
    target: a.AnyTarget = "rest",
    tolerance: a.Tolerance = None,
    scale: a.Scale = "difference",
    within: a.Within = None,
    adjustment: a.Adjustment = "strata",
    interval: Interval = None,
    thresholds: Thresholds = None,
    minimum: Minimum = MINIMUM_SIZE,
    confidence_level: a.AnyLevel = 0.95,
) -> MeasureResult:
    """Rates per group, with differences and ratios to the target.

    Parameters
    ----------
    audit : Audit
        The data and their roles.
    metric : str or Metric or dict or list, default ('selection_rate',)
        Metrics by name, such as fpr, or of your own.
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
    interval : {'bounded', 'wilson', 'likelihood', 'half-count', 'exact'} or None, default None
        Of single rates, and of rates against a known number; default: bounded, Wilson's but never inside
        the exact one.
    thresholds : {'all'} or None, default None
        all: rates at every threshold of the score at once, as curves with bands, and areas under the ROC
        curve; default: at the decision's own.
    minimum : int, default 30
        Groups with fewer people, or with fewer to compare with, are listed as not tested.
    confidence_level : float, default 0.95
        Of the intervals.

    Returns
    -------
    MeasureResult
        One row per metric and group: its rate, its difference and ratio to the target, intervals and state.

    Examples
    --------
    >>> import fairtrial
    >>> audit = fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5)
    >>> result = fairtrial.measure(audit, "fpr", by="race", target={"race": "Caucasian"})
    >>> print(result.verdict.text)
    differs: false positive rate of African-American is 21.4 points above Caucasian, 95% interval 18.2 to 24.5 \
(strongest of 2 findings)
    """
    from fairtrial._audit.groups import by_attributes, check_target_columns
    from fairtrial._compare.measure_answer import answer, each_bin, refuse_weighted
    from fairtrial._compare.request import Request
    from fairtrial._compare.sorted_groups import with_target
    from fairtrial._compare.strata import within_columns
    from fairtrial._metrics.groups import find_target
    from fairtrial._metrics.table import find_metrics

    named = map(audit.roles.in_words, find_metrics("measure", metric))
    asked = [concrete for found in named for concrete in each_bin(audit, found)]
    compared = find_target("measure", target)
    check_target_columns("measure", audit, compared)
    attributes = with_target(by_attributes("measure", audit, by), compared)
    request = Request(
        who="measure", audit=audit, by=by, depth=depth, target=compared, minimum=minimum, scale=scale,
        within=within_columns("measure", audit, within, attributes, adjustment == "model"), adjustment=adjustment,
        tolerance=tolerance, level=confidence_level, rate_interval=interval or "bounded",
    )  # fmt: skip
    if thresholds is not None:
        from fairtrial._compare.threshold_curves import answer_thresholds  # its loops are compiled

        return answer_thresholds(request, asked, interval)
    refuse_weighted(audit, interval)
    return answer(request, asked)

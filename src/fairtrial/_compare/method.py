"""Measure, certify and flag: three questions about how groups compare, each with the options it takes."""

from __future__ import annotations

from typing import Annotated, Literal

from fairtrial._audit.audit import Audit
from fairtrial._audit.groups import MINIMUM_SIZE
from fairtrial._compare.flag_result import FlagResult
from fairtrial._compare.results import CertifyResult, MeasureResult
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
    from fairtrial._compare.request import Request, within_columns
    from fairtrial._compare.sorted_groups import with_target
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


# -- Is the gap within the tolerance? A joint test, every group's gap with its interval, and a verdict.

OneDirection = Annotated[
    Literal["above", "below", "harmed"] | None,
    Option(
        "Only gaps above, only gaps below, or only gaps on the side that harms, count; default: both sides."
    ),
]


@method(
    question="Is the gap within the tolerance?",
    short="Certification",
    help="Is the gap within the tolerance? Joint test, gaps, and a verdict per group.",
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
    direction: OneDirection = None,
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


# -- Which known groups are harmed? One test per group and intersection, one correction over all of them.

Direction = Annotated[
    Literal["above", "below", "harmed", "outside", "differs"] | None,
    Option(
        "Which gaps are flagged: above the tolerance, below minus the tolerance, on the side that harms, outside both, "
        "or any that differs from it; default: harmed where the audit says what is favourable, else outside."
    ),
]
Correction = Annotated[
    Literal["bh", "by", "holm"],
    Option("Over all groups at once: bh, by (proven for any dependence) or holm (no wrong flag at all)."),
]
Small = Annotated[
    Literal["describe", "list"],
    Option(
        "Groups of fewer than `minimum` members: described (an estimate that borrows from the others, exact intervals, "
        "and what holds of all together), or only listed."
    ),
]
FlagLevel = Annotated[
    float,
    Option("Of the intervals; 1 minus it is the share of wrong flags that is accepted.", above=0, below=1),
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
    correction: Correction = "bh",
    minimum: a.Minimum = MINIMUM_SIZE,
    small: Small = "describe",
    confidence_level: FlagLevel = 0.95,
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
    correction : {'bh', 'by', 'holm'}, default 'bh'
        Over all groups at once: bh, by (proven for any dependence) or holm (no wrong flag at all).
    minimum : int, default 30
        Groups with fewer members are listed as not tested.
    small : {'describe', 'list'}, default 'describe'
        Groups of fewer than `minimum` members: described (an estimate that borrows from the others, exact
        intervals, and what holds of all together), or only listed.
    confidence_level : float, default 0.95
        Of the intervals; 1 minus it is the share of wrong flags that is accepted.

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
        adjustment=adjustment, tolerance=tolerance, direction=direction, level=confidence_level,
        fdr=round(1.0 - confidence_level, 12), correction=correction, small=small,
    )  # fmt: skip
    criterion, metrics = find_criterion("flag", metric, within)
    parts = compare(request, metrics, lambda one: find_tolerance(request, one))
    return answer(audit, criterion if len(metrics) > 1 else "", parts)

"""How many people are needed to certify a tolerance, or to detect a disparity?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fairtrial._method import arguments as a
from fairtrial._method.declaration import method
from fairtrial._options import Option, cuts
from fairtrial._plan.result import PlanResult

Rate = Annotated[
    float | None, Option("The target's assumed rate, of a binary metric, such as 0.2.", above=0, below=1)
]
Deviation = Annotated[
    float | None, Option("The assumed standard deviation, of a real-valued metric.", above=0)
]
Disparity = Annotated[
    float | None, Option("To detect: this gap; together with a tolerance, that it lies outside of it.")
]
TargetKnown = Annotated[bool, Option("Whether the target is a known number.")]
TargetRatio = Annotated[
    float,
    Option("How many members the target has per member of the group; 1: equally many.", least=1e-6, most=1e6),
]
Groups = Annotated[
    int,
    Option(
        "How many groups will be tested: a certificate is planned for all of them at once, detection at the level "
        "Holm gives its first group.",
        least=1,
        most=1_000_000,
    ),
]
EachPeriod = Annotated[
    int | None,
    Option(
        "Also plan a watch to which so many members of the group come in each period: the periods until it shows the "
        "disparity, by simulating the very process.",
        least=1,
        most=1e9,
    ),
]
Design = Annotated[
    Mapping[str, Any] | None,
    Option(
        "How rows come, if not as different people who count the same: unit=20,0.05 (rows of a unit, how alike), "
        "weight=0.6 (spread), pair=0.2 (answers that differ), or within=0.6,0.3,0.2,0.4,0.5,0.4 (of each stratum its "
        "share, the group's share in it, and the rate).",
        form=cuts,
        many=True,
    ),
]
Power = Annotated[float, Option("The chance of success.", above=0.05, below=1)]


@method(
    question="How many people does an audit need?",
    short="Plan",
    help="How many people are needed to certify or to detect?",
    order=5,
    shows=None,
    result=PlanResult,
)
def plan(
    metric: a.OneMetric,
    *,
    rate: Rate = None,
    deviation: Deviation = None,
    tolerance: a.Tolerance = None,
    scale: a.Scale = "difference",
    disparity: Disparity = None,
    target_known: TargetKnown = False,
    target_ratio: TargetRatio = 1.0,
    groups: Groups = 1,
    design: Design = None,
    power: Power = 0.8,
    each_period: EachPeriod = None,
    confidence_level: a.Level = 0.95,
) -> PlanResult:
    """Members per group to certify a `tolerance` if the gap is zero, and to detect a `disparity`.

    Parameters
    ----------
    metric : str or Metric or dict
        The metric by name, such as fpr, or one of your own.
    rate : float or None, default None
        The target's assumed rate, of a binary metric, such as 0.2.
    deviation : float or None, default None
        The assumed standard deviation, of a real-valued metric.
    tolerance : float or str or list or None, default None
        The largest gap that is tolerated: '5 in 100', 0.05, or two numbers low,high.
    scale : {'difference', 'ratio'}, default 'difference'
        How a rate is compared: its difference to the target's, or its ratio to it (four fifths is 0.8).
    disparity : float or None, default None
        To detect: this gap; together with a tolerance, that it lies outside of it.
    target_known : bool, default False
        Whether the target is a known number.
    target_ratio : float, default 1.0
        How many members the target has per member of the group; 1: equally many.
    groups : int, default 1
        How many groups will be tested: a certificate is planned for all of them at once, detection at the
        level Holm gives its first group.
    design : dict or None, default None
        How rows come, if not as different people who count the same: unit=20,0.05 (rows of a unit, how
        alike), weight=0.6 (spread), pair=0.2 (answers that differ), or within=0.6,0.3,0.2,0.4,0.5,0.4 (of
        each stratum its share, the group's share in it, and the rate).
    power : float, default 0.8
        The chance of success.
    each_period : int or None, default None
        Also plan a watch to which so many members of the group come in each period: the periods until it
        shows the disparity, by simulating the very process.
    confidence_level : float, default 0.95
        Of the intervals.

    Returns
    -------
    PlanResult
        Members per group for each goal, and the curves of power.

    Examples
    --------
    >>> import fairtrial
    >>> result = fairtrial.plan("fpr", rate=0.2, tolerance=0.05, disparity=0.1)
    >>> [(row["goal"], row["members"]) for row in result.estimates]
    [('certify within 5.0 points', 1096), ('detect 10.0 points, 5.0 points tolerated', 916)]
    """
    from fairtrial._compare.tolerance import find_scaled_band
    from fairtrial._metrics.table import find_metric
    from fairtrial._plan.answer import PlanAssumptions, answer, answer_watched
    from fairtrial._plan.designs import find_design

    asked = find_metric("plan", metric)
    band = find_scaled_band("plan", tolerance, asked, scale)
    assumed = PlanAssumptions(
        asked, rate, deviation, target_known, target_ratio, groups, power, confidence_level, scale,
        find_design(design, target_known=target_known, ratio_scale=scale == "ratio", target_ratio=target_ratio),
    )  # fmt: skip
    if each_period is None:
        return answer(assumed, band, disparity)
    return answer_watched(assumed, band, disparity, each_period)

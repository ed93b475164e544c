"""The article's test of group fairness: project the data onto the fair distributions, and judge how far that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from fairtrial import _options as options
from fairtrial._audit.audit import Audit
from fairtrial._audit.groups import MINIMUM_SIZE
from fairtrial._method import arguments as a
from fairtrial._method.declaration import Cost, method
from fairtrial._metrics.values import Metric
from fairtrial._options import Option
from fairtrial._transport import method as question
from fairtrial._transport.result import TransportResult

Criterion = Annotated[
    str | Metric | Mapping[str, Any] | Sequence[str | Metric | Mapping[str, Any]],
    Option(
        "The criterion E[Tφ(U, E[U])] = 0: equal_opportunity, predictive_equality, equalized_odds, statistical_parity, "
        "conditional_parity (with within), a metric such as fpr, or cells U, contrasts and an event T of one's own.",
        must="the name of a criterion, such as equal_opportunity, or of a metric, cells and contrasts of your own, or "
        "a list of these",
    ),
]
Calibration = Annotated[
    Literal["pooled", "paper"],
    Option(
        "'paper' is the article's limit law, which does not hold its level for discrete scores; 'pooled' the law that "
        "fairtrial.transport uses."
    ),
]
Bandwidth = Annotated[
    float | None, Option("Of the kernel that estimates S (Section 5.2); default N^(-1/5).", above=0)
]
Discrete = Annotated[
    str | Sequence[str], Option("Features that jump, together, at step_cost: the cost (4).", many=True)
]
StepCost = Annotated[float | None, Option("δ of (4): what changing the discrete features costs.", above=0)]
GroupCost = Annotated[
    Mapping[str, float] | None,
    Option(
        "What a unit of distance costs in a group, such as Caucasian=2; 1 in the others.",
        many=True,
        form=options.named_number,
        must="a table of groups and numbers above 0",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FairnessTestResult(TransportResult):
    """The projection, who moves, and the article's p-value."""

    kind: ClassVar[str] = "papers.transport.fairness_test"


@method(
    question="How far is the nearest fair distribution?",
    short="Projection test",
    help="How far is the nearest fair distribution? The article's optimal transport projection and its p-value.",
    order=900,
    shows=None,
    cost=Cost(2, 20),
    result=FairnessTestResult,
    of_groups=True,
    evidence=("unit",),
    refusal="the smallest change moves people who all count alike",
    paper="transport",
)
def fairness_test(
    audit: Audit,
    criterion: Criterion,
    *,
    by: a.By = None,
    target: question.ReferenceGroup = None,
    within: a.Within = None,
    distance: question.Distance = None,
    tolerance: question.AllowedGap = 0.0,
    direction: question.Direction = "differs",
    calibration: Calibration = "paper",
    bandwidth: Bandwidth = None,
    norm: question.Norm = "l2",
    units: question.Units = None,
    immutable: question.Immutable = (),
    discrete: Discrete = (),
    step_cost: StepCost = None,
    group_cost: GroupCost = None,
    minimum: question.Minimum = MINIMUM_SIZE,
    confidence_level: a.AnyLevel = 0.95,
    seed: a.Seed = 0,
) -> FairnessTestResult:
    """Project the empirical distribution onto the fair ones, and compare N·P with its limit law (Theorems 1 and 2).

    A criterion of one's own is ``{"cells": […], "contrasts": […], "event": role.decision}``: the U, W and T of the
    article. `fairtrial.transport` asks the same question with a p-value that holds its level.

    Parameters
    ----------
    audit : Audit
        The data and their roles.
    criterion : str or Metric or dict or list
        The criterion E[Tφ(U, E[U])] = 0: equal_opportunity, predictive_equality, equalized_odds,
        statistical_parity, conditional_parity (with within), a metric such as fpr, or cells U, contrasts
        and an event T of one's own.
    by : str or dict or list or None, default None
        Attributes whose groups are compared, or groups such as race=Caucasian; default: the audit's
        groups.
    target : dict or None, default None
        The reference group, such as race=Caucasian; default: the largest.
    within : str or list or None, default None
        Columns people must be alike in, such as job and grade: gaps are compared within them.
    distance : str or Role or dict or FittedModel or callable or None, default None
        How far a person is from the other decision: score (the default), log-odds, a column, a linear
        rule (coefficients and intercept; on the command line a .json file), a fitted classifier or a
        predict function.
    tolerance : float or str or dict or list, default 0.0
        The rates may differ by this much, such as 0.05; by metric or group, such as tpr=0.05,fpr=0.02
        (others not at all); or a list, one for each equality in the order of the table.
    direction : {'differs', 'above', 'below'}, default 'differs'
        Whether gaps to both sides of the reference group have to go, or only those above or below.
    calibration : {'pooled', 'paper'}, default 'paper'
        'paper' is the article's limit law, which does not hold its level for discrete scores; 'pooled'
        the law that fairtrial.transport uses.
    bandwidth : float or None, default None
        Of the kernel that estimates S (Section 5.2); default N^(-1/5).
    norm : {'l1', 'l2', 'linf'}, default 'l2'
        How a move of several features is measured.
    units : {'model', 'standard'} or None, default None
        Whether features are measured as the model sees them or in standard deviations.
    immutable : str or list, default ()
        Features that may not move.
    discrete : str or list, default ()
        Features that jump, together, at step_cost: the cost (4).
    step_cost : float or None, default None
        δ of (4): what changing the discrete features costs.
    group_cost : dict or None, default None
        What a unit of distance costs in a group, such as Caucasian=2; 1 in the others.
    minimum : int, default 30
        Groups with fewer members are listed as not compared.
    confidence_level : float, default 0.95
        Of the intervals.
    seed : int, default 0
        Same seed, same numbers.

    Returns
    -------
    FairnessTestResult
        The projection: every group's rate now and after it, who moves and how far, and the p-value.

    Examples
    --------
    >>> import fairtrial
    >>> audit = fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5)
    >>> groups = [{"race": "African-American"}, {"race": "Caucasian"}]
    >>> result = fairtrial.papers.transport.fairness_test(audit, "fpr", by=groups)
    >>> round(result.statistic, 1), round(result.p_value, 2)  # ten scores have no density at the threshold
    (348.5, 0.99)
    """
    from fairtrial._transport.compared_rates import TransportRequest
    from fairtrial._transport.moves import Moves, feature_list
    from fairtrial.papers.transport._projection_test import project_audit

    moves = Moves(
        norm=norm, units=units, immutable=feature_list("immutable", immutable),
        discrete=feature_list("discrete", discrete), step_cost=step_cost,
    )  # fmt: skip
    request = TransportRequest(
        metric=criterion, by=by, target=target, within=within, distance=distance, moves=moves, tolerance=tolerance,
        direction=direction, minimum=minimum, confidence_level=confidence_level, seed=seed, group_cost=group_cost,
        argument="criterion",
    )  # fmt: skip
    return project_audit(audit, request, calibration, bandwidth, FairnessTestResult)

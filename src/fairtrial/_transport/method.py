"""How little would have to change? The smallest move across the decision boundary that makes the rates equal."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from fairtrial import _options as options
from fairtrial._audit.audit import Audit
from fairtrial._audit.groups import MINIMUM_SIZE
from fairtrial._errors import Fault, InputError
from fairtrial._method import arguments as a
from fairtrial._method.declaration import Cost, method
from fairtrial._metrics.groups import A_GROUP
from fairtrial._metrics.values import Metric, Role
from fairtrial._options import Option
from fairtrial._transport.result import TransportResult


class FittedModel(Protocol):
    """A fitted model that decides."""

    def predict(self, features: Any, /) -> Any: ...


def linear_rule(text: str) -> str | dict[str, Any]:
    """The rule in a JSON file, {"coefficients": …, "intercept": …}; any text that names no such file stays itself.

    Plain data: nothing is executed.
    """
    if not text.lower().endswith(".json"):
        return text
    try:
        content = json.loads(Path(text).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            "transport",
            Fault(
                "distance",
                f"{text!r} could not be read: {error}",
                cure="Check that it is there and holds JSON",
            ),
        ) from None
    if not isinstance(content, dict):
        required = f"{text!r} must hold a JSON object with 'coefficients'"
        raise InputError("transport", Fault("distance", required))
    return content


RatesOrCriterion = Annotated[
    str | Metric | Mapping[str, Any] | Sequence[str | Metric | Mapping[str, Any]],
    Option(
        "Which rates are to be equal: a metric, such as fpr, or several; or a criterion, such as equal_opportunity, "
        "equalized_odds, statistical_parity, or conditional_parity (with within).",
        must="the name of a metric, such as fpr, or of a criterion, such as equal_opportunity, a metric of your own, "
        "or a list of these",
    ),
]
Distance = Annotated[
    str | Role | Mapping[str, Any] | FittedModel | Callable[..., Any] | None,
    Option(
        "How far a person is from the other decision: score (the default), log-odds, a column, a linear rule "
        "(coefficients and intercept; on the command line a .json file), a fitted classifier or a predict function.",
        form=linear_rule,
    ),
]


def tolerances(text: str) -> Any:
    """'0.05' for all, '0.05,0.02' in the order of the table, 'tpr=0.05,fpr=0.02' by metric or group.

    >>> tolerances("0.05"), tolerances("0.05,0.02"), tolerances("tpr=0.05,fpr=0.02")
    (0.05, [0.05, 0.02], {'tpr': 0.05, 'fpr': 0.02})
    """
    if "=" not in text:
        return options.numbers(text)
    return dict(options.named_number(part.strip()) for part in text.split(","))


AllowedGap = Annotated[
    float | str | Mapping[str, float] | Sequence[float],
    Option(
        "The rates may differ by this much, such as 0.05; by metric or group, such as tpr=0.05,fpr=0.02 (others not at "
        "all); or a list, one for each equality in the order of the table.",
        least=0,
        below=1,
        form=tolerances,
        shares=True,
        must="a number of at least 0 and below 1, a table of metrics or groups and such numbers, or a list of them",
    ),
]
Direction = Annotated[
    Literal["differs", "above", "below"],
    Option("Whether gaps to both sides of the reference group have to go, or only those above or below."),
]
ReferenceGroup = Annotated[
    Mapping[str, Any] | None,
    Option(
        "The reference group, such as race=Caucasian; default: the largest.",
        form=options.target,
        must=A_GROUP,
    ),
]
Norm = Annotated[Literal["l1", "l2", "linf"], Option("How a move of several features is measured.")]
Units = Annotated[
    Literal["model", "standard"] | None,
    Option("Whether features are measured as the model sees them or in standard deviations."),
]
Immutable = Annotated[str | Sequence[str], Option("Features that may not move.", many=True)]
Minimum = Annotated[int, Option("Groups with fewer members are listed as not compared.", least=1)]


@method(
    question="How little would have to change?",
    short="Smallest change",
    help="How little would have to change? The smallest move across the boundary that makes rates equal.",
    order=50,
    shows="disparity",
    cost=Cost(2, 20),
    result=TransportResult,
    of_groups=True,
    evidence=("unit",),
    refusal="the smallest change moves people who all count alike",
)
def transport(
    audit: Audit,
    metric: RatesOrCriterion,
    *,
    by: a.By = None,
    target: ReferenceGroup = None,
    within: a.Within = None,
    tolerance: AllowedGap = 0.0,
    direction: Direction = "differs",
    distance: Distance = None,
    norm: Norm = "l2",
    units: Units = None,
    immutable: Immutable = (),
    minimum: Minimum = MINIMUM_SIZE,
    confidence_level: a.AnyLevel = 0.95,
    seed: a.Seed = 0,
) -> TransportResult:
    """The smallest change of decisions that would make a criterion hold, and whether the gap is more than chance.

    Several attributes are compared at once; groups that are listed must be disjoint. For models, `norm`, `units` and
    `immutable` say what a move costs.

    Parameters
    ----------
    audit : Audit
        The data and their roles.
    metric : str or Metric or dict or list
        Which rates are to be equal: a metric, such as fpr, or several; or a criterion, such as
        equal_opportunity, equalized_odds, statistical_parity, or conditional_parity (with within).
    by : str or dict or list or None, default None
        Attributes whose groups are compared, or groups such as race=Caucasian; default: the audit's
        groups.
    target : dict or None, default None
        The reference group, such as race=Caucasian; default: the largest.
    within : str or list or None, default None
        Columns people must be alike in, such as job and grade: gaps are compared within them.
    tolerance : float or str or dict or list, default 0.0
        The rates may differ by this much, such as 0.05; by metric or group, such as tpr=0.05,fpr=0.02
        (others not at all); or a list, one for each equality in the order of the table.
    direction : {'differs', 'above', 'below'}, default 'differs'
        Whether gaps to both sides of the reference group have to go, or only those above or below.
    distance : str or Role or dict or FittedModel or callable or None, default None
        How far a person is from the other decision: score (the default), log-odds, a column, a linear
        rule (coefficients and intercept; on the command line a .json file), a fitted classifier or a
        predict function.
    norm : {'l1', 'l2', 'linf'}, default 'l2'
        How a move of several features is measured.
    units : {'model', 'standard'} or None, default None
        Whether features are measured as the model sees them or in standard deviations.
    immutable : str or list, default ()
        Features that may not move.
    minimum : int, default 30
        Groups with fewer members are listed as not compared.
    confidence_level : float, default 0.95
        Of the intervals.
    seed : int, default 0
        Same seed, same numbers.

    Returns
    -------
    TransportResult
        Every group's rate now and after the change, who moves and how far, and the p-value of the gap.

    Examples
    --------
    >>> import fairtrial
    >>> audit = fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5)
    >>> groups = [{"race": "African-American"}, {"race": "Caucasian"}]
    >>> result = fairtrial.transport(audit, "predictive_equality", by=groups)
    >>> round(result.people_moved), [f"{line['rate']:.1%} to {line['rate_after']:.1%}" for line in result.estimates]
    (349, ['44.8% to 35.0%', '23.5% to 35.0%'])
    """
    from fairtrial._transport.answer import answer
    from fairtrial._transport.compared_rates import TransportRequest
    from fairtrial._transport.moves import Moves, feature_list

    request = TransportRequest(
        metric=metric, by=by, target=target, within=within, distance=distance,
        moves=Moves(norm=norm, units=units, immutable=feature_list("immutable", immutable)), tolerance=tolerance,
        direction=direction, minimum=minimum, confidence_level=confidence_level, seed=seed,
    )  # fmt: skip
    return answer(audit, request)

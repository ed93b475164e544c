"""The one table of metrics, and the criteria built from it.

A new metric is one row of METRICS, and every method gets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from fairtrial._errors import Fault, InputError, did_you_mean
from fairtrial._metrics.values import ROLES, Direction, Metric, Role, role


def _row(
    name: str,
    label: str,
    value: Role,
    given: dict[Role, int] | None,
    hurts: Direction | None,
    harm: str,
    each: Role | None = None,
) -> Metric:
    equal = f"every group has the same {label}"
    return Metric(name, value, given or {}, label, equal, hurts, harm, each)


_WITH, _WITHOUT = {role.outcome: 1}, {role.outcome: 0}
_SELECTED, _REJECTED = {role.decision: 1}, {role.decision: 0}

#: Every metric by name. A row is what makes a metric known to all methods and front ends; a value that no role has
#: yet is a Role with its formula, written in the row.
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        _row("selection_rate", "selection rate", role.decision, None, None,
             "a higher rate is more of the decision: good or bad as the decision is"),
        _row("mean_decision", "mean decision", role.amount, None, None,
             "a higher amount is good or bad as the decision is"),
        _row("base_rate", "base rate", role.outcome, None, None, "describes the people, not the decisions"),
        _row("tpr", "true positive rate", role.decision, _WITH, "below",
             "a lower rate withholds the decision from people who have the outcome"),
        _row("fpr", "false positive rate", role.decision, _WITHOUT, "above",
             "a higher rate puts the decision on people who do not have the outcome"),
        _row("tnr", "true negative rate", role.not_decision, _WITHOUT, "below",
             "a lower rate puts the decision on people who do not have the outcome"),
        _row("fnr", "false negative rate", role.not_decision, _WITH, "above",
             "a higher rate withholds the decision from people who have the outcome"),
        _row("ppv", "positive predictive value", role.outcome, _SELECTED, "below",
             "a lower value means the decision is less often right for the group"),
        _row("npv", "negative predictive value", role.not_outcome, _REJECTED, "below",
             "a lower value means a negative decision is less often right for the group"),
        _row("fdr", "false discovery rate", role.not_outcome, _SELECTED, "above",
             "a higher rate means the decision is more often wrong for the group"),
        _row("for", "false omission rate", role.outcome, _REJECTED, "above",
             "a higher rate means a negative decision is more often wrong for the group"),
        _row("accuracy", "accuracy", role.correct, None, "below", "a lower accuracy means more wrong decisions"),
        _row("error_rate", "error rate", role.error, None, "above", "a higher rate means more wrong decisions"),
        _row("mean_score", "mean score", role.score, None, None, "a higher score is good or bad as the decision is"),
        _row("balance_positive", "mean score of people with the outcome", role.score, _WITH, "below",
             "a lower mean understates people who have the outcome"),
        _row("balance_negative", "mean score of people without the outcome", role.score, _WITHOUT, "above",
             "a higher mean overstates people who do not have the outcome"),
        _row("calibration", "outcome rate in a score bin", role.outcome, None, "below",
             "a lower outcome at the same score means the score overstates the group", role.score_bin),
        _row("calibration_negative", "rate without the outcome in a score bin", role.not_outcome, None, "above",
             "fewer outcomes at the same score mean that the score overstates the group", role.score_bin),
        _row("brier", "Brier score", role.brier, None, "above", "a higher score means worse probabilities"),
        _row("log_loss", "log loss", role.log_loss, None, "above", "a higher loss means worse probabilities"),
        _row("squared_error", "mean squared error", role.squared_error, None, "above",
             "a higher error means worse predictions"),
        _row("absolute_error", "mean absolute error", role.absolute_error, None, "above",
             "a higher error means worse predictions"),
    )
}  # fmt: skip

#: Names by which other packages know these metrics: fairlearn's, AIF360's and scikit-learn's.
ALIASES: dict[str, str] = {
    "positive_rate": "selection_rate",
    "demographic_parity": "selection_rate",
    "demographic_parity_difference": "selection_rate",
    "demographic_parity_ratio": "selection_rate",
    "statistical_parity_difference": "selection_rate",
    "disparate_impact": "selection_rate",
    "true_positive_rate": "tpr",
    "recall": "tpr",
    "recall_score": "tpr",
    "sensitivity": "tpr",
    "equal_opportunity_difference": "tpr",
    "equal_opportunity_ratio": "tpr",
    "true_negative_rate": "tnr",
    "specificity": "tnr",
    "false_positive_rate": "fpr",
    "false_negative_rate": "fnr",
    "positive_predictive_value": "ppv",
    "precision": "ppv",
    "precision_score": "ppv",
    "negative_predictive_value": "npv",
    "false_discovery_rate": "fdr",
    "false_omission_rate": "for",
    "accuracy_score": "accuracy",
    "zero_one_loss": "error_rate",
    "prevalence": "base_rate",
    "mean_prediction": "mean_score",
    "brier_score_loss": "brier",
    "mean_squared_error": "squared_error",
    "mean_absolute_error": "absolute_error",
}

#: Criteria by name, with the metrics that they ask to be equal at once.
CRITERIA: dict[str, tuple[str, ...]] = {
    "independence": ("selection_rate",),
    "statistical_parity": ("selection_rate",),
    "equal_opportunity": ("tpr",),
    "predictive_equality": ("fpr",),
    "equalized_odds": ("tpr", "fpr"),
    "separation": ("tpr", "fpr"),
    "predictive_parity": ("ppv",),
    "sufficiency": ("ppv", "for"),
    "accuracy_equality": ("accuracy",),
    "fnr_parity": ("fnr",),
    "conditional_parity": ("selection_rate",),
    "conditional_statistical_parity": ("selection_rate",),
    "conditional_demographic_disparity": ("selection_rate",),
}
# these hold within strata: one mean per group does not answer them
STRATIFIED = frozenset(
    {"conditional_parity", "conditional_statistical_parity", "conditional_demographic_disparity"}
)


#: Every name of a metric or a criterion, for type checkers and editors.
MetricName = Literal[
    "selection_rate",
    "mean_decision",
    "base_rate",
    "tpr",
    "fpr",
    "tnr",
    "fnr",
    "ppv",
    "npv",
    "fdr",
    "for",
    "accuracy",
    "error_rate",
    "mean_score",
    "balance_positive",
    "balance_negative",
    "calibration",
    "calibration_negative",
    "brier",
    "log_loss",
    "squared_error",
    "absolute_error",
    "positive_rate",
    "demographic_parity",
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "statistical_parity_difference",
    "disparate_impact",
    "true_positive_rate",
    "recall",
    "recall_score",
    "sensitivity",
    "equal_opportunity_difference",
    "equal_opportunity_ratio",
    "true_negative_rate",
    "specificity",
    "false_positive_rate",
    "false_negative_rate",
    "positive_predictive_value",
    "precision",
    "precision_score",
    "negative_predictive_value",
    "false_discovery_rate",
    "false_omission_rate",
    "accuracy_score",
    "zero_one_loss",
    "prevalence",
    "mean_prediction",
    "brier_score_loss",
    "mean_squared_error",
    "mean_absolute_error",
    "independence",
    "statistical_parity",
    "equal_opportunity",
    "predictive_equality",
    "equalized_odds",
    "separation",
    "predictive_parity",
    "sufficiency",
    "accuracy_equality",
    "fnr_parity",
    "conditional_parity",
    "conditional_statistical_parity",
    "conditional_demographic_disparity",
]


def joined_metrics(item: object) -> tuple[object, ...]:
    """The metrics that a criterion's name stands for; anything else as it is."""
    if isinstance(item, str) and item not in STRATIFIED:
        return CRITERIA.get(item, (item,))
    return (item,)


def find_metric(who: str, metric: object, argument: str = "metric") -> Metric:
    """A Metric from its name, from a Metric, or from the dict form used in files.

    Parameters
    ----------
    who : str
        Whom a fault names.
    metric : str, Metric or mapping
        What was asked for.
    argument : str
        The argument that holds it.

    Returns
    -------
    Metric
        The metric; one that is not known is a fault.

    Examples
    --------
    >>> find_metric("certify", "fprr")
    Traceback (most recent call last):
    fairtrial._errors.InputError: certify: 'metric' is unknown: 'fprr'. Did you mean 'fpr'? Known: absolute_error, \
accuracy, balance_negative, balance_positive, base_rate, brier, calibration, calibration_negative, error_rate, fdr, \
fnr, for, fpr, log_loss, mean_decision, mean_score, npv, ppv, selection_rate, squared_error, tnr, tpr. \
Or make one of your own.
    """
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, Mapping):
        return _metric_from_dict(who, metric, argument)
    if isinstance(metric, str) and ALIASES.get(metric, metric) in METRICS:
        return METRICS[ALIASES.get(metric, metric)]
    hint = did_you_mean(metric, METRICS)
    if isinstance(metric, str) and metric in STRATIFIED:
        joined = " and ".join(CRITERIA[metric])
        hint = f" It is a criterion of {joined} within strata: certify, flag and transport take it."
    elif isinstance(metric, str) and metric in CRITERIA:
        hint = f" It is a criterion that joins {' and '.join(CRITERIA[metric])}: ask for those."
    hint += f" Known: {', '.join(sorted(METRICS))}. Or make one of your own."
    raise InputError(who, Fault(argument, f"is unknown: {metric!r}", hint=hint))


def find_criterion(who: str, metric: object, within: object) -> tuple[str, list[Metric]]:
    """The metrics that are judged together: those of a criterion, which is named, or one alone.

    Parameters
    ----------
    who : str
        Whom a fault names.
    metric : str, Metric or mapping
        A criterion's or a metric's name, or a metric.
    within : object
        The columns people must be alike in; a criterion that holds among people alike needs some.

    Returns
    -------
    tuple
        The criterion's name, empty for a metric, and the metrics.

    Examples
    --------
    >>> name, metrics = find_criterion("certify", "equalized_odds", None)
    >>> name, [metric.name for metric in metrics]
    ('equalized_odds', ['tpr', 'fpr'])
    """
    if not isinstance(metric, str) or metric not in CRITERIA:
        return "", [find_metric(who, metric)]
    if metric in STRATIFIED and not within:
        required = f"is needed: {metric} is a criterion among people alike"
        raise InputError(who, Fault("within", required, cure="name the columns in which they must be alike"))
    return metric, [METRICS[name] for name in CRITERIA[metric]]


def find_metrics(who: str, metrics: object, argument: str = "metric") -> list[Metric]:
    """Metrics from one name or several; a criterion's name stands for the metrics it joins.

    Parameters
    ----------
    who : str
        Whom a fault names.
    metrics : str, Metric, mapping or a list of them
        What was asked for.
    argument : str
        The argument that holds it.

    Returns
    -------
    list of Metric
        Each once, in the order asked for.
    """
    listed = list(metrics) if isinstance(metrics, list | tuple | set | frozenset) else [metrics]
    found: dict[str, Metric] = {}
    for part in (part for item in listed for part in joined_metrics(item)):
        metric = find_metric(who, part, argument)
        if metric.name in found and not _same(found[metric.name], metric):
            subject = "two different metrics"
            raise InputError(
                who,
                Fault(
                    argument,
                    f"are both named {metric.name!r}",
                    subject=subject,
                    cure="give one of them another name",
                ),
            )
        found[metric.name] = metric
    if not found:
        raise InputError(who, Fault(argument, "is empty", cure="name at least one metric"))
    return list(found.values())


def _same(one: Metric, other: Metric) -> bool:
    """Expressions have no truth value of equality: only the same object is the same condition."""
    if one.expression is not None or other.expression is not None:
        return one is other
    return one == other


def _metric_from_dict(who: str, content: Mapping[str, Any], argument: str) -> Metric:
    allowed = {"name", "value", "given", "label", "equal", "hurts", "harm"}
    if set(content) - allowed or "name" not in content or "value" not in content:
        required = f"needs 'name' and 'value' and may have {sorted(allowed)}"
        raise InputError(who, Fault(argument, required, got=dict(content), subject="a metric"))
    conditions = content.get("given", {})
    if not isinstance(conditions, Mapping):
        raise InputError(who, Fault("given", "must be a dict {name: value(s)}", got=conditions))
    given = {find_part(who, key, argument): value for key, value in conditions.items()}
    rest = {key: content[key] for key in ("label", "equal", "hurts", "harm") if key in content}
    return Metric(str(content["name"]), find_part(who, content["value"], argument), given, **rest)


def find_part(who: str, part: object, argument: str = "metric") -> Role | str:
    """A role from itself or from `role.x`; any other text is a column."""
    if isinstance(part, Role):
        return part
    text = str(part)
    if not text.startswith("role."):
        return text
    name = text.removeprefix("role.")
    if name not in ROLES:
        required = f"names the unknown role {text!r}; roles are {sorted(ROLES)}"
        raise InputError(who, Fault(argument, required, hint=did_you_mean(name, ROLES)))
    return ROLES[name]

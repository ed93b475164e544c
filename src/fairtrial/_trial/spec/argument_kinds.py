"""What a declared argument is about: metrics, groups or columns. The declaration says it, never the name."""

from __future__ import annotations

import typing

from fairtrial import _options as options
from fairtrial._method.arguments import MetricOrCriterion, Metrics, OneMetric
from fairtrial._metrics.metric import Metric
from fairtrial._options import Argument
from fairtrial._trial.spec.tables import role_keys


def admits_metrics(argument: Argument) -> bool:
    """Whether a metric may be its value, or part of it."""
    return _mentions(argument.hint, Metric)


def is_metric(argument: Argument) -> bool:
    """Whether it is declared as `OneMetric` or `Metrics`, and so takes nothing but metrics."""
    return argument.option in (typing.get_args(OneMetric)[1], typing.get_args(Metrics)[1])


def is_criterion(argument: Argument) -> bool:
    """Whether it is declared as `MetricOrCriterion`: a metric, or the name of a criterion that joins some."""
    return argument.option is typing.get_args(MetricOrCriterion)[1]


def admits_groups(argument: Argument) -> bool:
    """Whether a group such as {"race": "Caucasian"} may be its value, or part of it."""
    return argument.option.form in (options.group, options.compared, options.target)


def is_attributes(argument: Argument) -> bool:
    """Whether it lists attributes and groups to compare, in place of the audit's groups."""
    return argument.flag == role_keys()["groups"].flag


def is_target(argument: Argument) -> bool:
    """Whether it says what groups are compared with."""
    return argument.option.form is options.target


def _mentions(hint: object, wanted: type) -> bool:
    return hint is wanted or any(_mentions(part, wanted) for part in typing.get_args(hint))

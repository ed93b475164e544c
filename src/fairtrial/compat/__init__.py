"""Other tools' shapes: `from fairtrial.compat import MetricFrame`."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from fairtrial.compat.compared_people import Between, People, index_of, metric_of, name_of, pandas_module

__all__ = ["MetricFrame"]


# -- fairlearn's `MetricFrame`, with an interval beside every number: migration is one import.
# >>> from fairtrial.compat import MetricFrame
# >>> frame = MetricFrame(metrics="selection_rate", y_true=[1, 0, 1, 0], y_pred=[1, 1, 0, 0],
# ...                     sensitive_features=list("aabb"))
# >>> frame.difference()
# 1.0
# >>> [round(limit, 3) for limit in frame.difference_interval()]
# [0.0, 1.0]
class MetricFrame:
    """Metrics per group, shaped as fairlearn's, each with an interval that holds.

    Parameters
    ----------
    metrics : str, Metric, function or dict of these
        By name, as in `fairtrial.METRICS`, or fairlearn's or scikit-learn's function of the same metric; "count" and
        fairlearn's `count` are the sizes.
    y_true : array-like
        The outcome.
    y_pred : array-like
        The decision; for metrics of probabilities or of real values, the prediction.
    sensitive_features : array-like, dataframe or dict
        Who is compared; of several columns every intersection.
    control_features : array-like, dataframe or dict, optional
        Groups are compared within each of their combinations.
    sample_params : dict, optional
        Only {"sample_weight": array}, for all metrics.
    confidence_level : float, default 0.95
        Of the intervals.

    Attributes
    ----------
    by_group, overall : pandas.Series, pandas.DataFrame or number
        As fairlearn's.
    by_group_interval, overall_interval : pandas.DataFrame
        Beside them, with the columns "low" and "high", below each metric where there are several.

    Examples
    --------
    >>> import fairtrial
    >>> people = fairtrial.load("compas", backend="pandas")
    >>> frame = MetricFrame(metrics="fpr", y_true=people["two_year_recid"], y_pred=people["decile_score"] >= 5,
    ...                     sensitive_features=people["sex"])
    >>> frame.by_group.round(3).to_dict()
    {'Female': 0.321, 'Male': 0.324}
    >>> frame.by_group_interval.round(3).loc["Female"].to_dict()
    {'low': 0.291, 'high': 0.353}
    """

    def __init__(
        self,
        *,
        metrics: Any,
        y_true: Any,
        y_pred: Any,
        sensitive_features: Any,
        control_features: Any = None,
        sample_params: Mapping[str, Any] | None = None,
        confidence_level: float = 0.95,
    ) -> None:
        self._single = not isinstance(metrics, Mapping)
        named = {name_of(metrics): metrics} if self._single else dict(metrics)
        self._metrics = {str(name): metric_of(metric) for name, metric in named.items()}
        people = People(y_true, y_pred, sensitive_features, control_features, sample_params)
        self._sensitive, self._control = people.sensitive, people.control
        self._parts = people.parts(list(self._metrics.values()), confidence_level)

    # -- fairlearn's names ------------------------------------------------------------------------------------
    @property
    def sensitive_levels(self) -> list[str]:
        """Names of the sensitive features."""
        return list(self._sensitive)

    @property
    def control_levels(self) -> list[str] | None:
        """Names of the control features."""
        return list(self._control) or None

    @cached_property
    def by_group(self) -> Any:
        """Each metric in each group; NaN where a group has nobody."""
        return self._shown(self._by_group("rate"))

    @cached_property
    def overall(self) -> Any:
        """Each metric over everyone, or over everyone of each control group."""
        return self._of_parts(lambda part, name: part.overall(self._metrics[name], "rate"))

    def group_max(self) -> Any:
        """The largest number of any group."""
        return self._of_parts(lambda part, name: part.values(self._metrics[name]).max())

    def group_min(self) -> Any:
        """The smallest number of any group."""
        return self._of_parts(lambda part, name: part.values(self._metrics[name]).min())

    def difference(self, method: Between = "between_groups") -> Any:
        """The largest difference between two groups, or of a group to everyone."""
        return self._of_parts(lambda part, name: part.difference(self._metrics[name], method))

    def ratio(self, method: Between = "between_groups") -> Any:
        """The smallest ratio between two groups, or of a group to everyone, either way round."""
        return self._of_parts(lambda part, name: part.ratio(self._metrics[name], method))

    # -- what fairlearn has not --------------------------------------------------------------------------------
    @cached_property
    def by_group_interval(self) -> Any:
        """The limits of each number of `by_group`."""
        return self._with_limits(self._by_group("rate_low"), self._by_group("rate_high"))

    @cached_property
    def overall_interval(self) -> Any:
        """The limits of `overall`."""
        return self._limits_of_parts(
            lambda part, name: tuple(
                part.overall(self._metrics[name], f"rate_{side}") for side in ("low", "high")
            )
        )

    def difference_interval(self) -> Any:
        """Limits of the largest difference between two groups; they know that the two were chosen from the data."""
        return self._limits_of_parts(lambda part, name: part.largest_difference(self._metrics[name]))

    def ratio_interval(self) -> Any:
        """Limits of the smallest ratio between two groups; they know that the two were chosen from the data."""
        return self._limits_of_parts(lambda part, name: part.smallest_ratio(self._metrics[name]))

    # -- shapes --------------------------------------------------------------------------------------------------
    def _by_group(self, column: str) -> Any:
        """A frame with one column per metric, one row per control group and sensitive group."""
        pandas = pandas_module()
        tables = {
            levels: pandas.DataFrame(
                {name: part.by_group(metric, column) for name, metric in self._metrics.items()}
            )
            for levels, part in self._parts.items()
        }
        if not self._control:
            return tables[()]
        return pandas.concat(tables, names=self._control)

    def _shown(self, frame: Any) -> Any:
        return frame[next(iter(self._metrics))] if self._single else frame

    def _with_limits(self, low: Any, high: Any) -> Any:
        both = {
            name: pandas_module().DataFrame({"low": low[name], "high": high[name]}) for name in self._metrics
        }
        return self._shown(both) if self._single else pandas_module().concat(both, axis=1)

    def _of_parts(self, number: Any) -> Any:
        """One number per metric; per control group where there are some."""
        table = {name: [number(part, name) for part in self._parts.values()] for name in self._metrics}
        if not self._control:
            single = {name: values[0] for name, values in table.items()}
            return self._shown(single) if self._single else pandas_module().Series(single)
        index = index_of(list(self._parts), self._control)
        return self._shown(pandas_module().DataFrame(table, index=index))

    def _limits_of_parts(self, limits: Any) -> Any:
        if not self._control and self._single:
            return limits(self._parts[()], next(iter(self._metrics)))
        low, high = (self._of_parts(lambda part, name, at=at: limits(part, name)[at]) for at in (0, 1))
        if self._control and not self._single:
            return self._with_limits(low, high)
        return pandas_module().DataFrame({"low": low, "high": high})

"""The people behind a MetricFrame: one audit per control group, asked through `measure`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import product
from typing import Any, Literal

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._compare.method import measure
from fairtrial._errors import Fault, InputError, MissingExtra
from fairtrial._metrics.table import METRICS, find_metric
from fairtrial._metrics.values import Metric
from fairtrial._results.column import scalar
from fairtrial._work.extras import installing

WHO = "MetricFrame"
# What fairlearn's and scikit-learn's functions are called here.
NAME_OF = {
    "true_positive_rate": "tpr", "false_positive_rate": "fpr", "true_negative_rate": "tnr",
    "false_negative_rate": "fnr", "recall_score": "tpr", "precision_score": "ppv", "accuracy_score": "accuracy",
    "zero_one_loss": "error_rate", "brier_score_loss": "brier", "mean_squared_error": "squared_error",
    "mean_absolute_error": "absolute_error", **{name: name for name in METRICS},
}  # fmt: skip
Between = Literal["between_groups", "to_overall"]


class People:
    """Everyone, with the columns that name their groups."""

    def __init__(self, y_true: Any, y_pred: Any, sensitive: Any, control: Any, params: Any) -> None:
        pandas = pandas_module()
        unknown = set(params or {}) - {"sample_weight"}
        if unknown:
            required = f"may hold 'sample_weight' alone, got {sorted(map(str, unknown))}"
            raise InputError(WHO, Fault("sample_params", required, cure="leave the others out"))
        weight = {"weight": params["sample_weight"]} if params else {}
        groups = columns_of("sensitive_features", sensitive, "sensitive_feature_0")
        controls = {} if control is None else columns_of("control_features", control, "control_feature_0")
        clash = sorted(set(groups) & set(controls))
        if clash:
            raise InputError(
                WHO,
                Fault(
                    "control_features",
                    f"and sensitive_features both have {clash}",
                    cure="name each column once",
                ),
            )
        self.sensitive, self.control = list(groups), list(controls)
        columns = {"y_true": y_true, "y_pred": y_pred, **weight}
        given = {name: np.asarray(values).ravel() for name, values in columns.items()}
        lengths = {name: len(values) for name, values in {**given, **groups, **controls}.items()}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name}: {length:,}" for name, length in lengths.items())
            raise InputError(
                WHO, Fault("", f"every argument must have one value per row, got lengths {shown}")
            )
        self.given = pandas.DataFrame(given)
        self.groups = pandas.DataFrame(groups)
        self.controls = pandas.DataFrame(controls)

    def parts(self, metrics: list[Metric | None], level: float) -> dict[tuple[Any, ...], Part]:
        """One part per control group; one alone where there is none."""
        pandas = pandas_module()
        levels = [in_order(self.groups[name].unique()) for name in self.sensitive]
        index = index_of(list(product(*levels)), self.sensitive)
        keys = (
            pandas.MultiIndex.from_frame(self.groups) if len(levels) > 1 else self.groups[self.sensitive[0]]
        )
        code = index.get_indexer(keys)
        asked = [metric for metric in metrics if metric is not None]
        if not self.control:
            return {(): Part(self.given, code, index, asked, level)}
        rows = self.controls.groupby(self.control, sort=True).indices
        return {
            key if isinstance(key, tuple) else (key,): Part(
                self.given.iloc[places], code[places], index, asked, level
            )
            for key, places in rows.items()
        }


class Part:
    """The people who are compared with each other: everyone, or one control group."""

    def __init__(self, given: Any, code: Any, index: Any, metrics: list[Metric], level: float) -> None:
        needs = {need for metric in metrics for need in metric.needs}
        predicted = given["y_pred"].to_numpy()
        self.audit = Audit.from_arrays(
            y_true=given["y_true"].to_numpy() if "outcome" in needs else None,
            y_pred=predicted if "decision" in needs else None,
            y_score=predicted if "score" in needs else None,
            groups={"group": [_label(place) for place in code], "everyone": np.full(len(code), "everyone")},
            weight=given["weight"].to_numpy() if "weight" in given else None,
        )
        self.sizes = np.bincount(code, minlength=len(index))
        self.index, self.metrics, self.level = index, metrics, level
        self.compared: dict[tuple[int, float], dict[tuple[str, str], dict[str, Any]]] = {}

    @cached_property
    def plain(self) -> dict[tuple[str, str], dict[str, Any]]:
        """A row of measure for each metric and group, and for everyone."""
        rows = {} if not self.metrics else self._measured("rest", self.level)
        whole = (
            measure(self.audit, self.metrics, by="everyone", confidence_level=self.level).estimates
            if rows
            else ()
        )
        return {**rows, **{(row["metric"], "everyone"): row for row in whole}}

    def _measured(self, target: Any, level: float) -> dict[tuple[str, str], dict[str, Any]]:
        result = measure(
            self.audit, self.metrics, by="group", target=target, minimum=1, confidence_level=level
        )
        return {(row["metric"], row["group"]): row for row in result.estimates}

    def _against(self, code: int, level: float) -> dict[tuple[str, str], dict[str, Any]]:
        """Every group's row of measure with this group as the target; all metrics and scales are in it."""
        if (code, level) not in self.compared:
            self.compared[code, level] = self._measured({"group": _label(code)}, level)
        return self.compared[code, level]

    def by_group(self, metric: Metric | None, column: str) -> Any:
        """A column of measure for every group, in the order of the index."""
        numbers = (
            self.sizes.astype(float)
            if metric is None
            else [
                _number(self.plain.get((metric.name, _label(code)), {}).get(column))
                for code in range(len(self.index))
            ]
        )
        return pandas_module().Series(numbers, index=self.index, dtype=float)

    def values(self, metric: Metric | None) -> Any:
        """The metric in every group, NaN where it is undefined."""
        return self.by_group(metric, "rate")

    def overall(self, metric: Metric | None, column: str) -> float:
        """The metric over all of them."""
        if metric is None:
            return float(self.sizes.sum())
        return _number(self.plain[metric.name, "everyone"][column])

    def difference(self, metric: Metric | None, method: Between) -> float:
        """As fairlearn has it."""
        values = self.values(metric)
        if method == "between_groups":
            return float(values.max() - values.min())
        return float((values - self.overall(metric, "rate")).abs().max())

    def ratio(self, metric: Metric | None, method: Between) -> float:
        """As fairlearn has it."""
        values = self.values(metric)
        if method == "between_groups":
            return float(values.min() / values.max())
        ratio = values / self.overall(metric, "rate")
        return float(ratio.where(ratio <= 1.0, 1.0 / ratio).min())

    def largest_difference(self, metric: Metric | None) -> tuple[float, float]:
        """The highest of the pairs' upper limits, uncorrected, is one of the largest difference: that of the true pair
        is. The highest of their lower limits is one when all of them hold at once."""
        limits = self._pairs(metric, "difference")
        return (max(0.0, limits[0]), limits[1]) if limits else (np.nan, np.nan)

    def smallest_ratio(self, metric: Metric | None) -> tuple[float, float]:
        """The same for the smallest ratio, the other way round."""
        limits = self._pairs(metric, "ratio")
        return (limits[0], min(1.0, limits[1])) if limits else (np.nan, np.nan)

    def _pairs(self, metric: Metric | None, scale: str) -> tuple[float, float] | None:
        """Over all ordered pairs of groups: the outermost limit without, the innermost with its part of the error."""
        shown = np.flatnonzero(self.sizes)
        if metric is None or len(shown) < 2:
            return None
        corrected = 1.0 - (1.0 - self.level) / (len(shown) * (len(shown) - 1.0))
        lows, highs = self._limits(metric, scale, corrected)
        outer_lows, outer_highs = self._limits(metric, scale, self.level)
        if scale == "difference":  # a pair that tells nothing may be as far apart as can be
            return _most(lows, 0.0), _most(np.nan_to_num(outer_highs, nan=np.inf), np.inf)
        return -_most(-np.nan_to_num(outer_lows, nan=0.0), 0.0), -_most(-highs, -1.0)

    def _limits(self, metric: Metric, scale: str, level: float) -> Any:
        """The limits of every ordered pair: lower ones, upper ones."""
        rows = [
            row
            for code in np.flatnonzero(self.sizes).tolist()
            for (name, group), row in self._against(code, level).items()
            if name == metric.name and group != _label(code)
        ]
        return np.array([[_number(row[f"{scale}_{side}"]) for row in rows] for side in ("low", "high")])


def columns_of(argument: str, values: Any, only: str) -> dict[str, Any]:
    """The values of each feature by its name, as arrays; one that has no name is called `only`."""
    columns = _arrays_of(argument, values, only)
    empty = {name: int(pandas_module().isna(column).sum()) for name, column in columns.items()}
    for name, rows in empty.items():
        if rows:
            required = f"must name every row's group, but {name!r} is missing in {rows:,} row{'s' if rows > 1 else ''}"
            cure = "give them a group of their own, such as 'unknown', or leave these rows out"
            raise InputError(WHO, Fault(argument, required, cure=cure))
    return columns


def _arrays_of(argument: str, values: Any, only: str) -> dict[str, Any]:
    pandas = pandas_module()
    if isinstance(values, Mapping):
        return {str(name): np.asarray(column) for name, column in values.items()}
    if hasattr(values, "collect"):  # a lazy frame
        values = values.collect()
    if hasattr(values, "to_pandas"):
        values = values.to_pandas()
    if isinstance(values, pandas.DataFrame):
        return {str(name): values[name].to_numpy() for name in values.columns}
    array = np.asarray(values)
    if array.ndim == 2:
        return {f"{only.removesuffix('_0')}_{place}": array[:, place] for place in range(array.shape[1])}
    if array.ndim != 1:
        raise InputError(WHO, Fault(argument, "must have one value per row"))
    return {str(getattr(values, "name", None) or only): array}


def in_order(labels: Any) -> list[Any]:
    """The labels sorted; numbers and texts in one column by their text."""
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=str)


def name_of(metric: Any) -> str:
    return (
        metric
        if isinstance(metric, str)
        else str(getattr(metric, "name", getattr(metric, "__name__", "metric")))
    )


def metric_of(metric: Any) -> Metric | None:
    """The metric of this name or function; None stands for sizes."""
    if isinstance(metric, Metric):
        return metric
    name = name_of(metric)
    if name == "count":
        return None
    if isinstance(metric, str):
        return find_metric(WHO, NAME_OF.get(metric, metric))
    known = str(getattr(metric, "__module__", "")).split(".")[0] in ("fairlearn", "sklearn")
    if not known or name not in NAME_OF:
        cure = "name one of fairtrial.METRICS, make a fairtrial.Metric, or stay with fairlearn for it"
        raise InputError(
            WHO, Fault("metrics", f"has the function {name!r}, which is no mean of people", cure=cure)
        )
    return METRICS[NAME_OF[name]]


def index_of(keys: list[tuple[Any, ...]], names: list[str]) -> Any:
    """One level or several."""
    pandas = pandas_module()
    if len(names) > 1:
        return pandas.MultiIndex.from_tuples(keys, names=names)
    return pandas.Index([key[0] for key in keys], name=names[0])


def _most(numbers: Any, otherwise: float) -> float:
    """The largest, leaving out what is undefined."""
    known = np.asarray(numbers, dtype=float)
    known = known[~np.isnan(known)]
    return float(known.max()) if known.size else otherwise


def _label(code: int) -> str:
    """A text that stands for a group."""
    return f"number {code}"


def _number(value: Any) -> float:
    plain = scalar(value)  # undefined numbers carry their reason
    return np.nan if plain is None else float(plain)


def pandas_module() -> Any:
    try:
        import pandas
    except ImportError:
        text = f"MetricFrame: needs pandas, which is not installed: {installing(['pandas'])}"
        raise MissingExtra(text) from None
    return pandas

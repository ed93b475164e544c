"""Weights and repeated people in Spark by grouping: what their sums need comes back, and no row does.

Repeated people: sums per person and finest group, then equal people together: a pattern, and how many people have it.
Weights alone: every sum that is inferred from is smooth in a row's weight and at most quadratic in its value, so that
moments at a few Chebyshev nodes of the weights, for the powers 0, 1 and 2 of the value, say all of it to twelve digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from fairtrial._audit.cells import Bools, Coded, Floats, Ints, MetricMoments
from fairtrial._audit.engine import collect, read_floats, read_ints
from fairtrial._audit.query import Query
from fairtrial._audit.reading import QueryAnswer, evaluate, refuse_real_outcome
from fairtrial._errors import Fault, Faults, InputError, NotApplicable, Use, Words
from fairtrial._metrics.values import Metric

if TYPE_CHECKING:
    from fairtrial._audit.audit import Audit

MOST_LINES = 1_000_000  # that come back
NODES = 16
VALUES = np.array([-1.0, -1.0 / 3.0, 1.0 / 3.0, 1.0])
MOST_SHARE = (
    0.5  # of a finest group's weight that one row may have, for the nodes to be exact to twelve digits
)
WEIGHT, UNIT, TIMES, PATTERN = "weight_of_row", "unit_of_row", "times", "pattern"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitLines:
    """Per pattern of a person and finest group: sums of weights, of weighted values and of squared weights.

    `times` says for how many people a line's pattern stands, `rows` how many rows each has there; `low` and `high` are
    the ends of the values.
    """

    attributes: dict[str, Coded]
    pattern: Ints
    times: Floats
    rows: Ints
    weight: Floats
    total: Floats
    square: Floats
    low: Floats
    high: Floats
    binary: bool
    alike: bool  # all weights are equal
    weightless: bool = False  # some rows that the metric is about have no weight

    def __len__(self) -> int:
        return len(self.weight)


class _Asked:
    """One query with a row's weight and person beside the keys."""

    def __init__(self, who: str, audit: Audit, attributes: Sequence[str], metric: Metric) -> None:
        self.who, self.audit, self.attributes, self.metric = who, audit, tuple(attributes), metric
        self.query = Query(audit, who)
        self.query.ask(self.attributes, [metric], ())
        self.weight = "" if audit.weight is None else f"column {audit.weight}"
        if audit.weight is not None:
            self.query.number_column(audit.weight)
        self.aliases = {name: f"v{place}" for place, name in enumerate(self.query.values)}
        self.keys = list(self.query.keys)
        if audit.unit is not None:
            audit.kind(audit.unit)
            self.query.columns.add(audit.unit)
            if audit.missing == "drop":
                self.query.required.add(audit.unit)

    @property
    def value(self) -> str | None:
        """The real value that is summed; None where it follows from the keys."""
        named = [name for name in self.query.values if name != self.weight]
        return named[0] if named else None

    def frame(self) -> Any:
        """Spark's frame with keys, values, weight and person as columns; rows that do not count weigh nothing."""
        from pyspark.sql import functions as spark

        frame = self.query.data.lazy(self.query.columns, complete=self.query.required, each=True)
        columns = [expression.alias(alias) for alias, expression in self.query.keys.items()]
        columns += [self.query.values[name].alias(alias) for name, alias in self.aliases.items()]
        if self.audit.unit is not None:
            columns.append(nw.col(self.audit.unit).alias(UNIT))
        native = frame.select(*columns).to_native()
        weight = spark.col(self.aliases[self.weight]) if self.weight else spark.lit(1.0)
        return native.withColumn(WEIGHT, weight.cast("double"))

    def sums(self) -> list[Any]:
        """What is summed by line: rows, weights and weighted values."""
        from pyspark.sql import functions as spark

        weight = spark.col(WEIGHT)
        value = spark.lit(None) if self.value is None else spark.col(self.aliases[self.value])
        counts = weight if self.value is None else spark.when(value.isNotNull(), weight)
        return [
            spark.count(spark.lit(1)).alias("n"),
            spark.sum(spark.when(weight < 0, 1).otherwise(0)).alias("negative"),
            spark.sum(spark.when(weight == 0, 1).otherwise(0)).alias("zeros"),
            spark.sum(counts).alias("w"),
            spark.sum(counts * counts).alias("w2"),
            spark.min(spark.when(counts > 0, counts)).alias("w_low"),
            spark.max(counts).alias("w_high"),
            spark.count(weight).alias("w_count"),
            spark.sum(counts * value.cast("double")).alias("wy"),
            spark.count(value).alias("y_count"),
            spark.sum(value.cast("double")).alias("y"),
            spark.min(spark.when(counts > 0, value.cast("double"))).alias("y_low"),
            spark.max(spark.when(counts > 0, value.cast("double"))).alias("y_high"),
            spark.sum(spark.when((value != 0) & (value != 1), 1).otherwise(0)).alias("others"),
        ]

    def table(self, answer: dict[str, Any], rows: Ints) -> QueryAnswer:
        """The answer's keys, with the faults of the data that are found in them."""
        table = QueryAnswer(n=rows)
        for name in self.query.values:
            own = name == self.weight
            count = rows if not own and self.value is None else read_ints(
                answer["w_count" if own else "y_count"]
            )  # fmt: skip
            total = np.nan_to_num(read_floats(answer["w" if own else "y"]), posinf=np.inf)
            nothing = np.zeros(len(rows))
            table.values[name] = MetricMoments(count, total, nothing, nothing, nothing, nothing)
            table.others[name] = 1
        return self.query._read_keys(table, answer)


def unit_lines(who: str, audit: Audit, attributes: Sequence[str], metric: Metric) -> UnitLines:
    """The sums that weighted gaps are inferred from."""
    asked = _Asked(who, audit, attributes, metric)
    return _patterns(asked) if audit.unit is not None else _weights(asked)


def _lines(
    asked: _Asked, answer: dict[str, Any], pattern: Ints, times: Floats
) -> tuple[UnitLines, Bools, bool]:
    """The answer's lines that count, which of all they are, and whether their values were summed."""
    audit, metric = asked.audit, asked.metric
    _check_weights(asked, answer)
    rows = read_ints(answer["n"])
    table = asked.table(answer, rows)
    real = "outcome" in metric.needs and audit.outcome_is_real
    if real:
        refuse_real_outcome(asked.who, audit, metric)
    moments = evaluate(metric, table, outcome_real=real)
    weight, square, total = (np.nan_to_num(read_floats(answer[name])) for name in ("w", "w2", "wy"))
    low, high = read_floats(answer["y_low"]), read_floats(answer["y_high"])
    summed = asked.value is not None and not _follows_from_keys(metric, table, real)
    binary = summed and int(read_ints(answer["others"]).sum()) == 0
    if not summed:
        low = np.divide(moments.total, moments.count, out=np.zeros(len(rows)), where=moments.count > 0)
        high, total, binary = low, weight * low, bool(np.isin(low, (0.0, 1.0)).all())
    kept = (moments.count > 0) & (weight > 0)
    coded = audit.labels_of(table.labels, asked.attributes)
    ends = [read_floats(answer[name])[kept] for name in ("w_low", "w_high")]
    lines = UnitLines(
        attributes={name: Coded(one.codes[kept], one.labels) for name, one in coded.items()},
        pattern=np.unique(pattern[kept], return_inverse=True)[1].reshape(-1).astype(np.int64),
        times=times[kept], rows=rows[kept], weight=weight[kept], total=total[kept], square=square[kept],
        low=low[kept], high=high[kept], binary=binary,
        alike=not kept.any() or bool(ends[0].min() == ends[1].max()),
        weightless=bool(read_ints(answer["zeros"])[moments.count > 0].any()),
    )  # fmt: skip
    return lines, kept, summed


def _follows_from_keys(metric: Metric, table: QueryAnswer, outcome_real: bool) -> bool:
    value = metric.value
    if isinstance(value, str):
        return False
    return value.binary or (value.name == "outcome" and (not outcome_real or "outcome" in table.numbers))


def _check_weights(asked: _Asked, answer: dict[str, Any]) -> None:
    bad = int(read_ints(answer["negative"]).sum())
    if asked.weight and (bad or not np.nansum(read_floats(answer["w"])) > 0):
        required = "must not be negative and must not sum to zero"
        subject = f"weight {asked.audit.weight!r}"
        raise InputError(asked.who, Fault("weight", required, subject=subject))


# -- repeated people ------------------------------------------------------------------------------------------------
def _patterns(asked: _Asked) -> UnitLines:
    from pyspark.sql import functions as spark

    audit = asked.audit
    frame = asked.frame()
    own = frame.groupBy(UNIT, *asked.keys).agg(*asked.sums())
    lines = [name for name in own.columns if name != UNIT]
    person = own.groupBy(UNIT).agg(spark.sort_array(spark.collect_list(spark.struct(*lines))).alias(PATTERN))
    equal = person.groupBy(PATTERN).agg(
        spark.count(spark.lit(1)).alias(TIMES),
        spark.sum(spark.when(spark.col(UNIT).isNull(), 1).otherwise(0)).alias("nobody"),
    )
    numbered = equal.withColumn("number", spark.monotonically_increasing_id())
    spread = numbered.select("number", TIMES, "nobody", spark.inline(PATTERN)).limit(MOST_LINES + 1)
    answer = collect(nw.from_native(spread))
    pattern, times = read_ints(answer["number"]), read_floats(answer[TIMES])
    if len(pattern) > MOST_LINES:
        required = f"makes more than {MOST_LINES:,} different sums of people in Spark, which {{}} would have to fetch"
        cure = "Give a sample of people, drawn with a seed, or leave out weights or real values"
        raise NotApplicable(asked.who, Fault("unit", Words(required, Use(asked.who)), cure=cure))
    missing = int((read_ints(answer["nobody"]) * read_ints(answer["n"])).sum())
    if missing:
        faults = Faults(asked.who)
        required = f"is missing in {missing:,} rows"
        subject = f"{audit.unit!r} (unit)"
        faults.add(Fault("unit", required, subject=subject, cure="every row needs its person"))
        faults.raise_any()
    return _lines(asked, answer, pattern, times)[0]


# -- weights alone --------------------------------------------------------------------------------------------------
def _weights(asked: _Asked) -> UnitLines:
    """Moments at nodes, where no row has much of its finest group's weight; else the different weights, counted."""
    frame = asked.frame()
    answer = collect(nw.from_native(frame.groupBy(*asked.keys).agg(*asked.sums())))
    sums, kept, summed = _lines(asked, answer, np.arange(len(answer["n"])), np.ones(len(answer["n"])))
    if sums.alike:
        return sums
    low, high = (read_floats(answer[name])[kept] for name in ("w_low", "w_high"))
    if float(high.max()) > MOST_SHARE * float(_group_weights(sums).min()):
        return _different_weights(asked, frame)
    points = _Points(float(low.min()), float(high.max()))
    if summed:
        points.spread(sums)
    return points.lines(asked, frame)


def _group_weights(lines: UnitLines) -> Floats:
    """The weight of every finest group that somebody is in."""
    key = np.zeros(len(lines), dtype=np.int64)
    for coded in lines.attributes.values():
        key = key * max(len(coded.labels), 1) + coded.codes
    index = np.unique(key, return_inverse=True)[1].reshape(-1)
    return np.bincount(index, lines.weight).astype(np.float64)


def _different_weights(asked: _Asked, frame: Any) -> UnitLines:
    """Rows alike in everything, weight and value included, are one line that stands for all of them."""
    from pyspark.sql import functions as spark

    alike = [*asked.keys, WEIGHT, *sorted(set(asked.aliases.values()))]
    counted = frame.groupBy(*alike).agg(spark.count(spark.lit(1)).alias(TIMES))
    answer = collect(nw.from_native(counted.groupBy(*alike, TIMES).agg(*asked.sums()).limit(MOST_LINES + 1)))
    if len(answer["n"]) > MOST_LINES:
        required = (
            f"has more than {MOST_LINES:,} different values in Spark, some with much of a group's weight"
        )
        cure = "Round the weights, compare larger groups, or give a sample drawn with a seed"
        subject = f"weight {asked.audit.weight!r}"
        raise NotApplicable(asked.who, Fault("weight", required, subject=subject, cure=cure))
    return _lines(asked, answer, np.arange(len(answer["n"])), read_floats(answer[TIMES]))[0]


class _Points:
    """Weights at Chebyshev's nodes, of real values four each, so many times that all sums agree, cubes too."""

    def __init__(self, low: float, high: float) -> None:
        self.middle, self.half = (high + low) / 2.0, (high - low) / 2.0
        self.centre: float | None = None
        self.reach: float | None = None

    def spread(self, sums: UnitLines) -> None:
        """Values are summed: at their mean, and as far on both sides of it as they reach."""
        centre = float(sums.total.sum() / sums.weight.sum())
        self.centre, self.reach = (
            centre,
            float(max(sums.high.max() - centre, centre - sums.low.min(), 1e-300)),
        )

    def lines(self, asked: _Asked, frame: Any) -> UnitLines:
        from pyspark.sql import functions as spark

        inside = (spark.col(WEIGHT) - self.middle) / self.half
        angle = spark.acos(spark.greatest(spark.lit(-1.0), spark.least(spark.lit(1.0), inside)))
        counts = spark.col(WEIGHT) > 0
        powers = [spark.lit(1.0)]
        if self.centre is not None and self.reach is not None:
            value = spark.col(asked.aliases[str(asked.value)])
            counts = counts & value.isNotNull()
            away = (value - self.centre) / self.reach
            powers = [spark.lit(1.0), away, away * away, away * away * away]
        names = [(power, order) for power in range(len(powers)) for order in range(NODES)]
        moments = [
            spark.sum(spark.cos(order * spark.col("angle")) * powers[power]).alias(f"m{power}_{order}")
            for power, order in names
        ]
        prepared = frame.withColumn("angle", spark.when(counts, angle))
        answer = collect(nw.from_native(prepared.groupBy(*asked.keys).agg(*asked.sums(), *moments)))
        everyone = len(answer["n"])
        sums, kept, _ = _lines(asked, answer, np.arange(everyone), np.ones(everyone))
        found = np.array([read_floats(answer[f"m{power}_{order}"])[kept] for power, order in names])
        return self._placed(sums, np.nan_to_num(found).reshape(len(powers), NODES, len(sums)))

    def _placed(self, sums: UnitLines, moments: Any) -> UnitLines:
        angles = np.pi * (np.arange(NODES) + 0.5) / NODES
        share = np.cos(np.outer(angles, np.arange(NODES))) * np.where(np.arange(NODES) > 0, 2.0, 1.0) / NODES
        times = np.einsum("ko,pol->pkl", share, moments)  # powers × nodes × lines
        values = np.broadcast_to(sums.total / sums.weight, (1, len(sums)))
        if self.centre is not None and self.reach is not None:
            times = np.einsum("vp,pkl->vkl", np.linalg.inv(np.vander(VALUES, increasing=True).T), times)
            points = self.centre + self.reach * VALUES
            values = np.broadcast_to(points[:, None], (VALUES.size, len(sums)))
        weight = np.broadcast_to((self.middle + self.half * np.cos(angles))[None, :, None], times.shape)
        line = np.broadcast_to(np.arange(len(sums)), times.shape).reshape(-1)
        value = np.broadcast_to(values[:, None, :], times.shape).reshape(-1)
        weight = weight.reshape(-1)
        return UnitLines(
            attributes={name: Coded(one.codes[line], one.labels) for name, one in sums.attributes.items()},
            pattern=np.arange(line.size), times=times.reshape(-1), rows=np.ones(line.size, dtype=np.int64),
            weight=weight, total=weight * value, square=weight**2, low=sums.low[line], high=sums.high[line],
            binary=sums.binary, alike=False,
        )  # fmt: skip

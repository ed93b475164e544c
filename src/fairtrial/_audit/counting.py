"""The ways to the data: counts per combination of labels, rows as arrays, features as a matrix; each by one query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from fairtrial._audit import columns as limits
from fairtrial._audit.cells import (
    Cells,
    Coded,
    FeatureMatrix,
    Floats,
    Ints,
    LeftOut,
    MetricMoments,
    Rows,
    digest_of,
    distinct,
    sum_by,
    sum_hashes,
)
from fairtrial._audit.columns import Columns
from fairtrial._audit.engine import collect
from fairtrial._audit.frames import frame_for_estimators
from fairtrial._audit.query import Query, check_asked
from fairtrial._audit.reading import QueryAnswer, count_lacking, evaluate, refuse_real_outcome, weigh
from fairtrial._audit.role_expressions import decision_is_real
from fairtrial._errors import Elsewhere, Fault, Faults, InputError, NotApplicable, Use, Words
from fairtrial._labels import canonical, is_missing
from fairtrial._metrics.table import METRICS
from fairtrial._metrics.values import Metric
from fairtrial._work.memory import check_memory

MOST_LINES = 200_000  # of rows that are alike, which a cluster sends with their number
# Rows whose probabilities sum to something this near to 1 are divided by their sum; others are a fault.
ROUNDING = 0.01


def outcome_is_real(columns: Columns) -> bool:
    """Whether the outcome holds numbers other than 0 and 1 (known after the first query)."""
    if columns.found_real_outcome is None and columns.outcome_may_be_real:
        count_cells(columns, (), roles=("outcome",))
    return bool(columns.found_real_outcome)


def _moments(who: str, columns: Columns, metric: Metric, table: QueryAnswer) -> MetricMoments:
    real = "outcome" in metric.needs and outcome_is_real(columns)
    if real:
        refuse_real_outcome(who, columns, metric)
    return evaluate(metric, table, outcome_real=real)


# -- counts ---------------------------------------------------------------------------------------------------------
def count_cells(
    columns: Columns, by: Sequence[str], metrics: Sequence[Metric] = (), roles: Sequence[str] = (), *,
    unknown: bool = False, complete: bool = False, weights: bool = False, who: str = "Audit",
) -> Cells:  # fmt: skip
    """Counts per distinct combination, by one grouping query where the data lives."""
    check_asked(who, columns, by, metrics, roles)
    query = Query(columns, who, complete=complete)
    query.ask(by, metrics, roles, unknown=unknown)
    alone = columns.unit is None and columns.roles.drawn_by is None
    if weights and columns.weight is not None and alone:
        query.weights()
    table = query.grouped()
    labels = columns.labels_of(table.labels, by)
    keys = [coded.codes.astype(np.int64) for coded in labels.values()]
    role_values = [table.role(name) for name in roles]
    first, inverse = distinct(keys, role_values, len(table.n))
    cells = Cells(
        attributes=tuple(by),
        labels={name: coded.labels for name, coded in labels.items()},
        codes=np.array([key[first] for key in keys], dtype=np.int32).reshape(len(keys), len(first)).T,
        rows=sum_by(inverse, table.n, len(first)),
        roles={name: values[first] for name, values in zip(roles, role_values, strict=True)},
        columns=tuple(sorted(query.columns)),
        hashes=None if table.hashes is None else sum_hashes(inverse, table.hashes, len(first)),
    )
    for metric in metrics:
        moments = _moments(who, columns, metric, table)
        cells.add(metric.name, moments.merged(inverse, len(first)))
        cells.left_out[metric.name] = _left_out(columns, metric, table, moments.count, by)
        sides = weigh(metric, table, outcome_real="outcome" in metric.needs and outcome_is_real(columns))
        if sides is not None:
            cells.weights[metric.name] = sides.merged(inverse, len(first))
    return cells


def _left_out(
    columns: Columns, metric: Metric, table: QueryAnswer, count: Ints, by: Sequence[str]
) -> LeftOut:
    if columns.missing != "drop":
        return LeftOut(int(count.sum()), 0, 0)
    lacking, rows = count_lacking(metric, table, count)
    ungrouped = columns.count_rows() - int(table.n.sum())
    needed = _needed(columns, metric) if lacking else ()
    return LeftOut(
        rows + ungrouped, ungrouped, lacking, needed, _unlabelled(columns, by) if ungrouped else ()
    )


def _unlabelled(columns: Columns, by: Sequence[str]) -> tuple[str, ...]:
    """What rows without a label lack: a group, or a column that is none of the groups."""
    lacking = [name for name in by if name not in columns.groups and columns.lacks(name)]
    groups = any(columns.lacks(name) for name in by if name in columns.groups) or not lacking
    return (*(["a group"] if groups else []), *map(repr, lacking))


def _needed(columns: Columns, metric: Metric) -> tuple[str, ...]:
    """What the metric needs and some rows lack."""
    roles = {f"the {name}": columns.roles.role_columns(name) for name in sorted(metric.needs)}
    named = {**roles, **{repr(name): [name] for name in metric.columns}}
    return tuple(name for name, of in named.items() if any(map(columns.lacks, of)))


def count_labelled(columns: Columns) -> tuple[tuple[int, int], ...]:
    """How many outcomes are known, and how many people there are, among decisions of 0 and of 1."""
    answered = columns.outcome is not None and columns.has("decision") and not decision_is_real(columns)
    if not (answered and columns.roles.keeps_unlabelled):
        return ()
    key = ("labelled", *columns.decision_key, columns.outcome, repr(columns.positive.get("outcome")))
    found: tuple[tuple[int, int], ...] = columns.source.once(key, lambda: _count_labelled(columns))
    return found


def _count_labelled(columns: Columns) -> tuple[tuple[int, int], ...]:
    cells = count_cells(columns, (), roles=("decision", "outcome"), unknown=True)
    known = ~np.isnan(cells.roles["outcome"])
    sides = [cells.roles["decision"] == value for value in (0.0, 1.0)]
    return tuple((int(cells.rows[side & known].sum()), int(cells.rows[side].sum())) for side in sides)


# -- rows -----------------------------------------------------------------------------------------------------------
def read_rows(
    columns: Columns, *, attributes: Sequence[str] = (), metrics: Sequence[Metric] = (), roles: Sequence[str] = (),
    numbers: Sequence[str] = (), persons: Sequence[str] = (), complete: bool = True, who: str = "Audit",
) -> Rows:  # fmt: skip
    """Attributes, metrics' values, roles, columns of numbers and persons (of unit or pair) as arrays, row by row."""
    check_asked(who, columns, attributes, metrics, roles)
    columns.check_fetchable(who)
    query = Query(columns, who, complete=complete)
    query.ask(attributes, metrics, roles, real="outcome" in roles and outcome_is_real(columns))
    for name in numbers:
        columns.check_column(who, "columns", name)
        query.number_column(name)
    for role in persons:
        query.person(role)
    table = query.plain()
    found = Rows(n=len(table.n), attributes=columns.labels_of(table.labels, attributes))
    found.roles.update((name, table.role(name)) for name in roles)
    found.columns.update((name, table.value(f"column {name}")) for name in numbers)
    for metric in metrics:
        moments = _moments(who, columns, metric, table)
        found.values[metric.name], found.given[metric.name] = moments.total, moments.count > 0
    found.attributes.update((role, table.labels[f"{role} {getattr(columns, role)}"]) for role in persons)
    object.__setattr__(found, "digest", digest_of(found))
    return found


def probable_rows(
    who: str, audit: Columns, name: str, metrics: Sequence[Metric] = ()
) -> tuple[Rows, Floats, int]:
    """The rows, every row's probability of each group, and how many rows' were divided by their sum."""
    columns = list(audit.probable[name].values())
    for column in columns:
        if audit.kind(column) not in ("bool", "int", "float"):
            raise InputError(who, audit.not_numbers(column, "groups"))
    rows = read_rows(audit, metrics=metrics, numbers=columns, complete=False, who=who)
    weights = np.stack([rows.columns[column] for column in columns], axis=1)
    faults = Faults(who)
    for column, values in zip(columns, weights.T, strict=True):
        outside = int(((values < 0) | (values > 1)).sum())
        if outside:
            required = f"must hold probabilities between 0 and 1; {outside:,} rows have others"
            faults.add(Fault("groups", required, subject=repr(column)))
    faults.raise_any()
    total = weights.sum(axis=1)
    away = np.abs(total - 1.0) > ROUNDING
    if away.any():
        required = (
            f"must sum to 1 in every row; in {int(away.sum()):,} they do not, such as {total[away][0]:.3g}"
        )
        cure = "name a column for every group, the others included, or divide by the sum"
        raise InputError(who, Fault("groups", required, subject=f"the probabilities of {name!r}", cure=cure))
    divided = int((np.abs(total - 1.0) > 1e-9).sum())
    return rows, weights / total[:, None], divided


def counted_rows(
    who: str, audit: Columns, attributes: Sequence[str], roles: Sequence[str], columns: Sequence[str]
) -> Rows:
    """Complete rows of a cluster without fetching one: those alike in all that is asked for are counted there.

    They are repeated here. Rows alike cannot be told apart by what they are read for, so that nothing is lost but their
    order, which here is that of their values. Where there are more rows than methods read, a sample of them is drawn
    from the counts, by its seed.
    """
    check_asked(who, audit, attributes, (), roles)
    query = Query(audit, who, complete=True)
    real = "outcome" in roles and outcome_is_real(audit)
    query.ask(attributes, (), [name for name in roles if not (real and name == "outcome")])
    for name in [*columns, *([str(audit.outcome)] if real else [])]:
        audit.check_column(who, "columns", name)
        query.number_key(name)
    table = query.grouped()
    if len(table.n) > MOST_LINES:
        required = f"stays in Spark, and what is asked of {{}} parts it into {len(table.n):,} different rows"
        cure = f"Cut or round scores and numbers, or give at most {limits.MOST_ROWS:,} rows drawn with a seed"
        raise NotApplicable(who, Fault("data", Words(required, Use(who)), cure=cure))
    coded = audit.labels_of(table.labels, attributes)
    outcome = f"column {audit.outcome}"
    values = {
        name: table.numbers[outcome] if real and name == "outcome" else table.role(name) for name in roles
    }
    numbers = {name: table.numbers[f"column {name}"] for name in columns}
    keys: list[Any] = [*numbers.values(), *values.values(), *(one.codes for one in coded.values())]
    order = np.lexsort([np.zeros(len(table.n)), *keys])
    line = np.repeat(order, audit.drawn_counts(table.n[order]))
    found = Rows(
        n=len(line),
        attributes={name: Coded(one.codes[line], one.labels) for name, one in coded.items()},
        roles={name: of[line] for name, of in values.items()},
        columns={name: of[line] for name, of in numbers.items()},
    )
    object.__setattr__(found, "digest", digest_of(found))
    return found


# -- features -------------------------------------------------------------------------------------------------------
def feature_matrix(columns: Columns, features: Sequence[str] | None, who: str) -> FeatureMatrix:
    """Features as a numeric matrix in the order of the rows."""
    chosen = _chosen(columns, who, features)
    numeric = _numeric(columns, chosen)
    rows = read_rows(
        columns, attributes=[name for name in chosen if name not in numeric], numbers=numeric, who=who
    )
    width = len(numeric) + sum(len(coded.labels) for coded in rows.attributes.values())
    check_memory(who, 16 * rows.n * width, f"a matrix of {rows.n:,} rows and {width:,} columns")
    blocks: list[Floats] = []
    names: list[str] = []
    for name in chosen:
        if name in numeric:
            blocks.append(rows.columns[name][:, None])
            names.append(name)
        else:
            coded = rows.attributes[name]
            blocks.append((coded.codes[:, None] == np.arange(len(coded.labels))).astype(float))
            names += [f"{name}={label}" for label in coded.labels]
    feature_of = np.repeat(np.arange(len(chosen), dtype=np.int32), [block.shape[1] for block in blocks])
    return FeatureMatrix(np.hstack(blocks), tuple(names), feature_of, chosen)


def features_frame(columns: Columns, features: Sequence[str] | None, who: str) -> Any:
    """Features as a dataframe that scikit-learn takes, in the order of the rows."""
    import pyarrow as pa

    chosen = _chosen(columns, who, features)
    expressions = [columns.attribute_expression(name).alias(name) for name in chosen]
    frame = columns.lazy(chosen, complete=columns.roles.needed, in_order=True, each=True).select(*expressions)
    answer = columns.drawn(collect(frame))
    for name in columns.roles.merge.keys() & answer.keys():
        labels = [None if is_missing(value) else canonical(value) for value in answer[name].to_pylist()]
        answer[name] = pa.array(
            [None if text is None else columns.roles.label(name, text) for text in labels]
        )
    return frame_for_estimators(pa.table(answer), columns.frame)


def _numeric(columns: Columns, features: Sequence[str]) -> list[str]:
    """Those that a model sees as numbers: not cut, and no labels."""
    return [
        name
        for name in features
        if name not in columns.bins and columns.kind(name) in ("bool", "int", "float")
    ]


def _chosen(columns: Columns, who: str, features: Sequence[str] | None) -> tuple[str, ...]:
    listed = columns.features if features is None else features
    chosen = (listed,) if isinstance(listed, str) else tuple(listed)
    if not chosen:
        cure = Words("name columns{}", Elsewhere("features", "features", of="Audit"))
        raise InputError(who, Fault("features", "is missing", cure=cure))
    for name in chosen:
        columns.check_column(who, "features", name)
    return chosen


# -- checks ---------------------------------------------------------------------------------------------------------
def check_data(columns: Columns) -> None:
    """Look for all faults of the data now, in one message."""
    roles = [name for name in ("decision", "outcome", "score") if columns.has(name)]
    looks: list[Callable[[], object]] = [lambda: columns.favourable]
    if columns.order is not None:
        roles.remove("decision")
        looks.insert(0, columns.decision_cuts)
    elif "decision" in roles and decision_is_real(columns):
        roles.remove("decision")
        looks.append(partial(count_cells, columns, (), [METRICS["mean_decision"]]))
    looks += [partial(probable_rows, "Audit", columns, name) for name in columns.probable]
    looks += [
        partial(count_cells, columns, (name,)) for name in columns.groups if name not in columns.probable
    ]
    looks += [partial(count_cells, columns, (), roles=(name,)) for name in roles]
    looks.append(partial(_check_features, columns))
    faults = Faults("Audit")
    for look in looks:
        try:
            look()
        except InputError as error:
            faults.extend(error)
    faults.raise_any()


def _check_features(columns: Columns) -> None:
    """Look for all faults of the features where the rows lie: numbers by their sums, labels by those there are."""
    faults, numeric = Faults("Audit"), _numeric(columns, columns.features)
    parts = [numeric, *([name] for name in columns.features if name not in numeric)]
    for part in filter(None, parts):
        query = Query(columns, "Audit", complete=True)
        for name in part:
            columns.check_column("Audit", "features", name)
            query.number_column(name) if part is numeric else query.attribute(name)
        try:
            query.grouped()
        except InputError as error:
            faults.extend(error)
    faults.raise_any()

"""Groups known only with a probability: columns of probabilities in place of labels, and their faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from fairtrial._audit.cells import Floats, Rows
from fairtrial._errors import Example, Fault, Faults, InputError, Words
from fairtrial._labels import canonical
from fairtrial._metrics.metric import Metric

# Rows whose probabilities sum to something this near to 1 are divided by their sum; others are a fault.
ROUNDING = 0.01
FORM = {"race": {"White": "p_white", "Black": "p_black"}}

Probable = dict[str, dict[str, str]]


class Readable(Protocol):
    """What is asked of an audit here."""

    @property
    def probable(self) -> Probable: ...
    def kind(self, column: str) -> str: ...
    def not_numbers(self, column: str, use: str) -> Fault: ...
    def rows(
        self,
        *,
        metrics: Sequence[Metric] = (),
        columns: Sequence[str] = (),
        complete: bool = True,
        who: str = "Audit",
    ) -> Rows: ...


def split_groups(groups: object) -> tuple[object, Probable]:
    """The attributes by name, and of those known with a probability the column of each of their groups."""
    listed = groups if isinstance(groups, list | tuple) else [groups]
    if not any(isinstance(entry, Mapping) for entry in listed):
        return groups, {}
    names: list[Any] = []
    probable: Probable = {}
    for entry in listed:
        if not isinstance(entry, Mapping):
            names.append(entry)
            continue
        for name, columns in entry.items():
            if not isinstance(columns, Mapping):
                required = Words(
                    "must pair an attribute with a column for each group, such as {}", Example(FORM)
                )
                raise InputError("Audit", Fault("groups", required, got=columns))
            names.append(str(name))
            probable[str(name)] = {canonical(label): column for label, column in columns.items()}
    return names, probable


def probable_rows(
    who: str, audit: Readable, name: str, metrics: Sequence[Metric] = ()
) -> tuple[Rows, Floats, int]:
    """The rows, every row's probability of each group, and how many rows' were divided by their sum."""
    columns = list(audit.probable[name].values())
    for column in columns:
        if audit.kind(column) not in ("bool", "int", "float"):
            raise InputError(who, audit.not_numbers(column, "groups"))
    rows = audit.rows(metrics=metrics, columns=columns, complete=False, who=who)
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

"""Kinds of columns that a frame may hold and no grouping knows: made into what it knows, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairtrial._errors import Fault, InputError


def readable(column: Any) -> Any:
    """An Arrow column as DuckDB can have it; one that holds no values of people as lists, which are refused by name.

    Floats of two bytes become those of four, decimals of 32 bytes floats of eight, UUIDs texts, a column of nothing one
    of missing texts.
    """
    import pyarrow as pa

    kind = column.type
    if getattr(kind, "extension_name", "") == "arrow.uuid":
        return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())
    if _holds_no_value(kind):
        values = [None if value is None else [str(value)] for value in column.to_pylist()]
        return pa.array(values, pa.list_(pa.string()))
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    if pa.types.is_decimal256(kind):
        return column.cast(pa.float64())
    if kind != pa.float16():
        return column
    return pa.chunked_array([pa.array(column.to_numpy().astype(np.float32), from_pandas=True)])


def _holds_no_value(kind: Any) -> bool:
    """Pandas' periods, maps, unions, or labels that are such."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind) and pa.types.is_nested(kind.value_type):
        return True
    return isinstance(kind, pa.BaseExtensionType) or pa.types.is_map(kind) or pa.types.is_union(kind)


def named_intervals(data: Any) -> Any:
    """A pandas frame whose columns of intervals, as `cut` makes them, have their texts for labels."""
    if (type(data).__module__.partition(".")[0], type(data).__name__) != ("pandas", "DataFrame"):
        return data
    for name, kind in dict(data.dtypes).items():
        if type(getattr(kind, "categories", None)).__name__ == "IntervalIndex":
            data = data.copy(deep=False)
            data[name] = data[name].cat.rename_categories(str)
    return data


def is_name(name: object) -> bool:
    """Whether DuckDB can have a column of that name: none that is empty, holds a zero byte or is no Unicode."""
    text = str(name)
    return text != "" and "\x00" not in text and text == text.encode(errors="replace").decode()


def no_text(who: str, name: str) -> InputError:
    """The fault of a column whose text cannot be written."""
    required = "holds text that is no Unicode (half of a surrogate pair)"
    cure = "clean it, as by .encode('utf-8', 'replace').decode()"
    return InputError(who, Fault("data", required, subject=repr(name), cure=cure))

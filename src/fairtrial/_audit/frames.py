"""Dataframes in memory: anything with columns as Arrow, and Arrow as the frame that is asked for."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import narwhals as nw
import numpy as np

from fairtrial._audit.engine import WHO
from fairtrial._errors import Fault, InputError, Set, Words
from fairtrial._labels import canonical, is_missing

Frame = Literal["pandas", "polars", "pyarrow"]


# -- anything as Arrow
def as_table(data: object) -> object:
    """A dict of columns, a list of dicts or an array as a PyArrow table; anything else as it is.

    Columns of an array without names are called by their place: "0", "1", ….
    """
    if isinstance(data, np.ndarray):
        data = _array_columns(data)
    if isinstance(data, list) and data and all(isinstance(row, Mapping) for row in data):
        names = dict.fromkeys(key for row in data for key in row)
        data = {str(name): [row.get(name) for row in data] for name in names}
    if not isinstance(data, Mapping) or type(data).__module__.startswith("datasets."):
        return data
    import pyarrow as pa

    columns = {str(name): np.asarray(column, dtype=object).tolist() if isinstance(column, list | tuple) else column
               for name, column in data.items()}  # fmt: skip
    if not columns:
        raise InputError(
            WHO, Fault("data", "has no columns", cure="give a table with a column for each role")
        )
    lengths = {name: len(column) if hasattr(column, "__len__") else None for name, column in columns.items()}
    if None in lengths.values() or len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name!r}: {length or 'no list'}" for name, length in list(lengths.items())[:6])
        raise InputError(
            WHO, Fault("data", f"must have one value per row in each column, got lengths {shown}")
        )
    return pa.table({name: _array(name, column) for name, column in columns.items() if is_name(name)})


@dataclass(frozen=True, slots=True)
class Counted:
    """A table, and its column that says how many rows each line stands for.

    Only what counts rows can be asked of it: rates of decisions and outcomes, not means of real values.
    """

    table: Any
    column: str


def is_files(data: object) -> bool:
    """Whether data are a path, several paths or an open file."""
    if isinstance(data, list | tuple):
        return bool(data) and all(isinstance(item, str | os.PathLike) for item in data)
    return isinstance(data, str | os.PathLike) or (hasattr(data, "read") and not hasattr(data, "columns"))


def streamed(data: Any) -> object:
    """Record batches, their readers, datasets of Hugging Face and all else that gives its rows as an Arrow stream."""
    module, kind = type(data).__module__.partition(".")[0], type(data).__name__
    if module == "datasets" and kind == "Dataset":
        return data.with_format("arrow")[:]
    if module == "datasets":
        cure = "give one of its splits, loaded whole, such as data['train']"
        raise InputError(WHO, Fault("data", f"must be a table, and a {kind} is several or none", cure=cure))
    if not (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")):
        return data
    import pyarrow as pa

    try:
        if hasattr(data, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(data).read_all()
        return pa.Table.from_batches([pa.record_batch(data)])
    except (pa.ArrowException, TypeError, ValueError) as error:
        required = f"gives an Arrow stream that is no table: {str(error).splitlines()[0]}"
        raise InputError(
            WHO, Fault("data", required, cure="give a table with a column for each role")
        ) from None


def _array_columns(data: Any) -> object:
    if data.dtype.names:
        return {name: data[name] for name in data.dtype.names}
    return {str(place): data[:, place] for place in range(data.shape[1])} if data.ndim == 2 else data


def _array(name: str, column: Any) -> Any:
    """One column of a dict; values of several kinds become texts, as in a CSV file."""
    import pyarrow as pa

    column = _fit_array(name, column)
    for kind in (None, pa.uint64()):  # whole numbers above those that have a sign
        try:
            return pa.array(column, type=kind, from_pandas=True)
        except UnicodeEncodeError:
            raise _no_text(name) from None
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            break
        except OverflowError:
            continue
    return pa.array([None if is_missing(value) else canonical(value) for value in column], type=pa.string())


def _fit_array(name: str, column: Any) -> Any:
    """An array of a kind that Arrow has; complex numbers are no values of people."""
    kind = getattr(column, "dtype", None)
    if getattr(kind, "kind", "") == "c":
        required = "holds complex numbers, which are neither numbers nor labels here"
        cure = "take their real part or their size, or leave the column out"
        raise InputError(WHO, Fault("data", required, subject=repr(name), cure=cure))
    if getattr(kind, "kind", "") == "m":
        return np.asarray(column).astype("timedelta64[us]")
    wide = getattr(kind, "kind", "") == "f" and getattr(kind, "itemsize", 8) > 8
    return np.asarray(column, dtype=np.float64) if wide else column


def is_frame(data: object) -> bool:
    """Whether this is a dataframe in memory."""
    return isinstance(nw.from_native(data, pass_through=True), nw.DataFrame)


def series_kind(values: object) -> Frame | None:
    """The kind of library a series comes from; None where it is no series."""
    series = nw.from_native(values, series_only=True, pass_through=True)
    return frame_kind(series.to_frame()) if isinstance(series, nw.Series) else None


def arrow_of(name: str, values: Any) -> Any:
    """An array, a list or a series as one Arrow array."""
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return arrow_column(series.alias("values").to_frame(), "values").combine_chunks()
    return _array(name, values)


def frame_kind(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> Frame:
    if frame.implementation.is_pandas():
        return "pandas"
    return "polars" if frame.implementation.is_polars() else "pyarrow"


def arrow_column(frame: nw.DataFrame[Any], name: str) -> Any:
    """One column as Arrow; a pandas column of mixed Python objects becomes text."""
    import pyarrow as pa

    try:
        return _readable(frame.select(name).to_arrow().column(name))
    except pa.ArrowNotImplementedError:
        return _array(name, frame.get_column(name).to_numpy())
    except UnicodeEncodeError:
        raise _no_text(name) from None
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError):
        texts: list[str | None] = []
        first: dict[str, Any] = {}
        for value in frame.get_column(name).to_list():
            text = None if is_missing(value) else canonical(value)
            texts.append(text)
            if text is not None and first.setdefault(text, value) != value:
                required = (
                    f"has the labels {first[text]!r} and {value!r}, which are one label here; make them one"
                )
                raise InputError(WHO, Fault("data", required, subject=repr(name))) from None
        return pa.array(texts, type=pa.string())


# -- unsupported dtypes
def _readable(column: Any) -> Any:
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


def _no_text(name: str) -> InputError:
    """The fault of a column whose text cannot be written."""
    required = "holds text that is no Unicode (half of a surrogate pair)"
    cure = "clean it, as by .encode('utf-8', 'replace').decode()"
    return InputError(WHO, Fault("data", required, subject=repr(name), cure=cure))


# -- Arrow as a frame
def to_native(table: Mapping[str, Sequence[Any]], backend: str, kinds: Mapping[str, str]) -> Any:
    """A dict of columns as a dataframe of the asked kind; undefined values are null.

    `kinds` says what each column holds ("text", "state", "count", "people", "flag", else numbers), in their order.
    """
    import pyarrow as pa

    if backend not in ("pandas", "polars", "pyarrow"):
        fault = Fault("backend", "must be 'pandas', 'polars' or 'pyarrow'", got=backend)
        raise InputError("to_frame", fault)
    types = {"flag": pa.bool_()}
    types |= dict.fromkeys(("text", "state"), pa.string()) | dict.fromkeys(("count", "people"), pa.int64())
    arrays = {name: pa.array(table[name], type=types.get(kind, pa.float64())) for name, kind in kinds.items()}
    return from_arrow(pa.table(arrays), backend)


def from_arrow(table: Any, backend: str) -> Any:
    """A PyArrow table as the asked kind of frame."""
    if backend == "pandas":
        _require("pandas")
        return table.to_pandas()
    if backend == "polars":
        _require("polars")
        import polars as pl

        return pl.from_arrow(table)
    return table


def frame_for_estimators(table: Any, frame: Frame) -> Any:
    """A frame scikit-learn takes: the caller's kind, or pandas or Polars where one is installed."""
    if frame != "pyarrow":
        return from_arrow(table, frame)
    for backend in ("pandas", "polars"):
        if importlib.util.find_spec(backend):
            return from_arrow(table, backend)
    return np.column_stack([np.asarray(column.to_pylist(), dtype=object) for column in table.columns])


def _require(backend: str) -> None:
    if importlib.util.find_spec(backend) is None:
        cure = Words(f"use {{}} or install {backend}", Set("backend", "pyarrow"))
        raise InputError("to_frame", Fault("backend", "is not installed", subject=backend, cure=cure))

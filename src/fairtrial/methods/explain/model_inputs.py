"""The features as a model takes them: a matrix of numbers, or a dataframe for models that pick columns by name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial.data.audit import Audit
from fairtrial.errors import Fault, InputError, Named, Words
from fairtrial.methods.explain.explained_rows import ExplainedRows
from fairtrial.methods.explain.metric import WHO

BY_NAME = "a model that picks columns by name"


class ModelInputs:
    """The features as the model takes them: a number matrix, or a dataframe for pipelines that pick columns by name."""

    def __init__(self, audit: Audit, explained: ExplainedRows, model: Any) -> None:
        self.explained = explained
        self.columns: dict[str, NDArray[Any]] | None = None
        if _wants_names(model):
            if not audit.source.ordered:
                required, cure = "needs rows in a fixed order", "collect the data first"
                raise InputError(WHO, Fault("model", required, cure=cure, subject=BY_NAME))
            names = explained.columns_of((1 << len(explained.players)) - 1)
            frame = audit.features_frame(names)
            if isinstance(frame, np.ndarray):
                required = "needs pandas or Polars, and neither is installed"
                raise InputError(WHO, Fault("model", required, subject=BY_NAME))
            self.make = type(frame)
            self.columns = {name: np.asarray(frame[name]) for name in names}

    def take(self, columns: list[str], rows: NDArray[np.intp]) -> Any:
        if self.columns is None:
            return self.explained.matrix(columns, rows)
        return self.make({name: self.columns[name][rows] for name in columns})

    def mix(
        self, columns: list[str], absent: list[str], rows: NDArray[np.intp], other: NDArray[np.intp]
    ) -> Any:
        """`rows`, with the absent columns taken from the rows `other`."""
        source = {name: other if name in absent else rows for name in columns}
        if self.columns is None:
            return np.hstack([self.explained.blocks[name][source[name]] for name in columns])
        return self.make({name: self.columns[name][source[name]] for name in columns})

    def restricted(self, model: Any, columns: list[str]) -> Any:
        """The model without the named columns it will not see."""
        return model if self.columns is None else _without_columns(model, set(columns))

    def check_fitted(self, model: Any, columns: list[str]) -> None:
        """The columns must be those that the caller's model was fitted on."""
        names = getattr(model, "feature_names_in_", None)
        if names is not None and self.columns is not None and list(names) != columns:
            words = f"must be the columns {{}} was fitted on, in order: {list(names)}"
            raise InputError(WHO, Fault("features", Words(words, Named("model")), got=columns))
        width = self.explained.matrix(columns, np.arange(1)).shape[1]
        if self.columns is None and getattr(model, "n_features_in_", width) != width:
            required = f"was fitted on {model.n_features_in_} columns, the features give {width} (categories one-hot)"
            raise InputError(WHO, Fault("model", required))


def _wants_names(model: Any) -> bool:
    """Whether the model was fitted on, or picks, columns by name."""
    if getattr(model, "feature_names_in_", None) is not None:
        return True
    parameters = model.get_params(deep=True).values()
    return any(type(part).__name__ == "ColumnTransformer" for part in [model, *parameters])


def _without_columns(model: Any, present: set[str]) -> Any:
    """Take absent columns out of every ColumnTransformer that names its columns."""
    from sklearn.base import clone

    copy = clone(model)
    parts = {
        name: part
        for name, part in copy.get_params(deep=True).items()
        if type(part).__name__ == "ColumnTransformer"
    }
    for part in parts.values():
        kept = []
        for name, transformer, columns in part.transformers:
            if isinstance(columns, str):
                columns = [columns]
            if isinstance(columns, list | tuple) and all(isinstance(column, str) for column in columns):
                columns = [column for column in columns if column in present]
                if not columns:
                    continue
            kept.append((name, transformer, columns))
        part.transformers = kept
    return copy

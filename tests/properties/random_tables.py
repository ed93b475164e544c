"""Random tables of people as users have them: labels of many kinds, missing values, constants, few rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Generator = np.random.Generator
Values = NDArray[Any]
POOLS: tuple[tuple[Any, ...], ...] = (
    ("A", "B"), ("Yes", "No"), ("women", "men", "other"), ("a", "A", "b"), ("x ", "x", "y"),
    (0, 1), (1, 2, 3, 4), ("", "filled"), ("Ünïcode", "中文", "🙂"), ("<b>bold</b>", "</script>", "=1+1"),
    ("a\x00b", "c\u2028d"), (1.5, 2.5), (-0.0, 0.0, 1.0), (True, False), ("NaN", "nan", "None"), ("only",),
    tuple(f"level {i}" for i in range(12)), ("O'Brien", 'say "hi"', "semi;colon", "comma, blank"),
)  # fmt: skip
ROLES = {"d": "decision", "y": "outcome"}
YES_NO: tuple[tuple[Any, Any], ...] = (
    (0, 1),
    (False, True),
    (0.0, 1.0),
    ("no", "yes"),
    ("0", "1"),
    ("N", "Y"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns as the file has them, and the truth behind them for the oracle (NaN where missing)."""

    columns: Mapping[str, Values]
    decision: NDArray[np.float64]
    outcome: NDArray[np.float64]
    score: NDArray[np.float64]
    yes: Mapping[str, Any]  # the label that counts as 1, where it is a text


def draw_table(generator: Generator) -> Table:
    """One random table."""
    size = int(generator.choice([3, 12, 60, 200, 500], p=[0.03, 0.05, 0.2, 0.42, 0.3]))
    rate = float(generator.choice([0.0, 0.02, 0.3, 0.5, 0.9, 1.0], p=[0.04, 0.1, 0.36, 0.3, 0.16, 0.04]))
    columns: dict[str, Values] = {}
    for name in ("g", "h"):
        pool = POOLS[generator.integers(len(POOLS))]
        places = generator.choice(len(pool), size, p=generator.dirichlet(np.ones(len(pool))))
        kind = object if len({type(label) for label in pool}) > 1 else None
        columns[name] = np.array(pool, dtype=kind)[places]
    truth = {
        "d": (generator.random(size) < rate).astype(float),
        "y": (generator.random(size) < 0.4).astype(float),
    }
    yes: dict[str, Any] = {}
    for name, values in truth.items():
        no, one = YES_NO[generator.integers(len(YES_NO))]
        columns[name] = np.where(values == 1, one, no)
        if isinstance(one, str) and one != "1":
            yes[ROLES[name]] = one
    score = np.round(generator.random(size), int(generator.integers(1, 6)))
    if generator.random() < 0.1:
        score[:] = 0.5
    columns["s"] = score
    columns["w"] = np.round(generator.gamma(2.0, 1.0, size) + 0.01, 3)
    columns["u"] = np.char.add("p", generator.integers(0, max(2, size // 3), size).astype(str))
    return Table(columns, truth["d"], truth["y"], score, yes)


def as_pandas(columns: Mapping[str, Values]) -> Any:
    import pandas as pd

    return pd.DataFrame(dict(columns))


def as_polars(columns: Mapping[str, Values]) -> Any:
    import polars as pl

    return pl.DataFrame({name: values.tolist() for name, values in columns.items()}, strict=False)


def as_arrow(columns: Mapping[str, Values]) -> Any:
    import pyarrow as pa

    return pa.table({name: pa.array(values.tolist()) for name, values in columns.items()})


def as_lists(columns: Mapping[str, Values]) -> Any:
    return {name: values.tolist() for name, values in columns.items()}


FRAMES: tuple[Callable[[Mapping[str, Values]], Any], ...] = (as_pandas, as_polars, as_arrow, as_lists)

"""Odd columns and files: the right answer or one clean fault, alike on every engine, never a hang."""

from __future__ import annotations

import datetime as dt
import decimal
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.frames.makers import _CONNECTIONS

from fairtrial import Audit, InputError, measure
from inside.trial import profile_file

N = 40
REST = {"d": [0, 1] * (N // 2), "g": ["a", "b"] * (N // 2)}


def relation(table: pa.Table) -> Any:
    _CONNECTIONS.append(duckdb.connect())
    return _CONNECTIONS[-1].from_arrow(table)


ENGINES: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda x: pd.DataFrame({"x": pd.Series(x), **REST}),
    "polars": lambda x: pl.DataFrame({"x": x, **REST}, strict=False),
    "arrow": lambda x: pa.table({"x": pa.array(x), **REST}),
    "duckdb": lambda x: relation(pa.table({"x": pa.array(x), **REST})),
    "dict": lambda x: {"x": x, **REST},
}
UNFIT = {
    "list": [[i % 3] for i in range(N)],
    "struct": [{"a": i % 3} for i in range(N)],
    "timedelta": [dt.timedelta(days=i % 3) for i in range(N)],
}
ROLES: dict[str, dict[str, Any]] = {
    "group": {"decision": "d", "groups": "x"},
    "score": {"score": "x", "threshold": 1, "groups": "g"},
    "outcome": {"outcome": "x", "decision": "d", "groups": "g"},
    "decision": {"decision": "x", "groups": "g"},
    "weight": {"decision": "d", "weight": "x", "groups": "g"},
    "unit": {"decision": "d", "unit": "x", "groups": "g"},
    "bins": {"decision": "d", "groups": "x", "bins": {"x": 2}},
}


def asked(data: Any, role: str) -> list[tuple[str, int]]:
    metric = "base_rate" if role == "outcome" else "selection_rate"
    rows = measure(Audit(data, **ROLES[role]), metric, minimum=1).estimates
    return [(str(row["group"]).removeprefix("x: "), row["n"]) for row in rows]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", UNFIT)
def test_columns_that_hold_no_values_of_people(kind: str, role: str) -> None:
    for name, make in ENGINES.items():
        with pytest.raises(InputError, match="neither numbers, texts nor dates"):
            print(name, asked(make(UNFIT[kind]), role))


def _arrow(values: pa.Array) -> pa.Table:
    return pa.table({"x": values, **REST})


NO_VALUES: dict[str, Callable[[], Any]] = {
    "periods": lambda: ENGINES["pandas"](pd.period_range("2020", periods=N, freq="Y")),
    "maps": lambda: _arrow(pa.array([[("a", 1)]] * N, pa.map_(pa.string(), pa.int64()))),
    "unions": lambda: _arrow(
        pa.UnionArray.from_sparse(pa.array([0] * N, pa.int8()), [pa.array([1] * N), pa.array(["a"] * N)])
    ),
    "whole numbers of 16 bytes": lambda: pl.DataFrame({"x": pl.Series(range(N)).cast(pl.Int128), **REST}),
}


@pytest.mark.parametrize("kind", NO_VALUES)
def test_kinds_that_no_grouping_knows(kind: str) -> None:
    with pytest.raises(InputError, match="neither numbers, texts nor dates"):
        asked(NO_VALUES[kind](), "group")


@pytest.mark.parametrize("engine", ["pandas", "dict"])
def test_half_of_a_surrogate_pair_is_no_text(engine: str) -> None:
    values = np.array(["a\ud800", "b"] * (N // 2), dtype=object)
    column = pd.Series(values, dtype=object) if engine == "pandas" else values
    with pytest.raises(InputError, match="no Unicode .half of a surrogate pair.: clean it"):
        asked(ENGINES[engine](column), "group")


def test_bytes_that_are_not_utf_8_are_no_text() -> None:
    offsets = pa.py_buffer(np.array([0, 1, 2], dtype=np.int32))
    wrong = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"\xff\xfe")])
    with pytest.raises(InputError, match="is not UTF-8"):
        asked(_arrow(wrong.take(pa.array([0, 1] * (N // 2)))), "group")


def test_ranges_of_pandas_cut_are_labels() -> None:
    ages = pd.cut(pd.Series(range(N)), [-1, 9, 29, N])
    assert asked(pd.DataFrame({"x": ages, **REST}), "group") == [
        ("(-1, 9]", 10),
        ("(9, 29]", 20),
        ("(29, 40]", 10),
    ]


def test_uuids_are_labels() -> None:
    values = [uuid.UUID(int=i % 2) for i in range(N)]
    expected = [(str(uuid.UUID(int=i)), N // 2) for i in (0, 1)]
    assert asked(ENGINES["pandas"](values), "group") == asked(ENGINES["dict"](values), "group") == expected


def test_decimals_of_32_bytes() -> None:
    values = pa.array([decimal.Decimal("0.5"), decimal.Decimal("2")] * (N // 2), pa.decimal256(50, 2))
    assert asked(_arrow(values), "score") == [("a", 20), ("b", 20)]


@pytest.mark.parametrize("name", ["", "a\x00b", "\ud800"])
def test_a_name_that_no_column_can_have(name: str) -> None:
    frame = {name: [1, 2] * (N // 2), **REST}
    assert measure(Audit(frame, decision="d", groups="g"), "selection_rate", minimum=1).estimates
    with pytest.raises(InputError, match="unknown column"):
        Audit(frame, decision="d", groups=[name])


@pytest.mark.parametrize("kind", ["complex", "polars object"])
def test_complex_numbers(kind: str) -> None:
    values = np.array([1j * (i % 2) for i in range(N)])
    makers = ["polars"] if kind == "polars object" else ["pandas", "dict"]
    for name in makers:
        with pytest.raises(InputError, match="complex numbers|neither numbers, texts nor dates"):
            asked(ENGINES[name](values), "group")


@pytest.mark.parametrize("role", ["outcome", "decision"])
@pytest.mark.parametrize("value", [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1), dt.time(3), b"ab"])
def test_what_is_no_decision(value: Any, role: str) -> None:
    for make in ENGINES.values():
        with pytest.raises(InputError, match="must hold 0 and 1, two labels or numbers"):
            asked(make([value] * N), role)


@pytest.mark.parametrize("engine", ["pandas", "polars", "arrow", "dict"])
def test_short_and_long_floats(engine: str) -> None:
    halves = np.array([0.5 * (i % 3) for i in range(N)], dtype=np.float16)
    assert asked(ENGINES[engine](halves), "group") == [("0", 14), ("0.5", 13), ("1", 13)]
    assert asked(ENGINES[engine](halves), "score") == [("a", 20), ("b", 20)]
    if engine in ("pandas", "dict"):  # the others have none
        wide = np.array([0.1 * (i % 3) for i in range(N)], dtype=np.longdouble)
        assert asked(ENGINES[engine](wide), "group") == [("0", 14), ("0.1", 13), ("0.2", 13)]


@pytest.mark.parametrize("base", [2**53, 2**60, 2**63])
def test_large_whole_numbers(base: int) -> None:
    values = [base + i % 2 for i in range(N)]
    for name, make in ENGINES.items():
        if base == 2**63 and name in ("arrow", "duckdb"):
            continue  # Arrow has to be told that they have no sign
        assert asked(make(values), "group") == [(str(base), 20), (str(base + 1), 20)]
        result = measure(Audit(make(values), outcome="x", decision="d", groups="g"), "base_rate", minimum=1)
        assert [row["rate"] for row in result.estimates] == pytest.approx([base, base], rel=1e-12)


@pytest.mark.parametrize("values", [["-0", "0"], [-0.0, 0.0], ["-0.0", "0.0"]])
def test_zero_has_no_sign(values: list[Any], tmp_path: Path) -> None:
    column = values * (N // 2)
    frame = pd.DataFrame({"x": column, **REST})
    frame.to_csv(tmp_path / "zeros.csv", index=False)
    frame.to_parquet(tmp_path / "zeros.parquet")
    files = [str(tmp_path / "zeros.csv"), str(tmp_path / "zeros.parquet")]
    for data in [*(make(column) for make in ENGINES.values()), *files]:
        assert asked(data, "group") == [("0", N)]
    if isinstance(values[0], float):
        for data in [*(make(column) for make in ENGINES.values()), *files]:
            assert asked(data, "bins") == [("0 and over", N)]


ROWS = "".join(f"{'ab'[i % 2]},{i % 3 % 2}\n" for i in range(60))


@pytest.mark.parametrize("start", ["\n", "\n\n\n", "\ufeff\n"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_blank_lines_before_the_header(start: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes((start + "g,d\n" + ROWS).replace("\n", ending).encode())
    found = measure(Audit(path, decision="d", groups="g"), "selection_rate").estimates
    assert [(row["group"], row["n"]) for row in found] == [("a", 30), ("b", 30)]
    assert [(column.name, column.rows) for column in profile_file(str(path))] == [("g", 60), ("d", 60)]


FILES = {
    "long name": (b"g,d," + b"x" * 20_000 + b"\n", "has a name of more than 10,000 characters"),
    "very long name": (b"g,d," + b"x" * 3_000_000 + b"\n", "the header: field larger than field limit"),
    "line ends": (b"\r\n\r\ng,d\n" + ROWS.encode(), "its lines end in different ways"),
}


@pytest.mark.parametrize("kind", FILES)
def test_odd_headers(kind: str, tmp_path: Path) -> None:
    content, message = FILES[kind]
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    for look in (lambda: Audit(path, decision="d", groups="g"), lambda: profile_file(str(path))):
        with pytest.raises(InputError, match=message):
            look()


def test_many_columns(tmp_path: Path) -> None:
    names = ",".join(f"c{i}" for i in range(3000))
    values = ",".join("1" for _ in range(3000))
    path = tmp_path / "people.csv"
    path.write_text(f"g,d,{names}\n" + "".join(f"{'ab'[i % 2]},{i % 2},{values}\n" for i in range(20)))
    found = measure(Audit(path, decision="d", groups="g"), "selection_rate", minimum=1).estimates
    assert [(row["group"], row["rate"]) for row in found] == [("a", 0.0), ("b", 1.0)]


def test_a_long_value_is_a_fault_for_init(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("g,d\n" + ROWS + "a" * 1_000_000 + ",1\n")
    with pytest.raises(InputError, match="cannot be read: field larger than field limit"):
        profile_file(str(path))


def test_one_number_of_18_digits_in_a_score(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    score = ["0.5"] * 59 + ["123456789012345678"]
    path.write_text("g,d,s\n" + "".join(f"{'ab'[i % 2]},{i % 2},{s}\n" for i, s in enumerate(score)))
    with pytest.raises(
        InputError, match="'s' .score. must hold numbers of at most 15 digits, got '1234567890123"
    ):
        measure(Audit(path, decision="d", score="s", groups="g"), "mean_score")
    whole = [*range(59), 123456789012345678]
    path.write_text("g,d,s\n" + "".join(f"{'ab'[i % 2]},{i % 2},{s}\n" for i, s in enumerate(whole)))
    found = measure(Audit(path, decision="d", score="s", groups="g"), "mean_score").estimates
    assert found[1]["rate"] == pytest.approx(np.mean(whole[1::2]), rel=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("scale", [1e-60, 1e59, 1e-61, 1e61, 1e-300, 1e300])
def test_scores_of_any_size(scale: float, engine: str) -> None:
    """Right up to sizes whose powers are still numbers, one fault beyond; nothing in between."""

    def low(values: list[float], factor: float) -> float:
        audit = Audit(ENGINES[engine](values), score="x", groups="g")
        return float(measure(audit, "mean_score", minimum=1).estimates[0]["difference_low"]) / factor

    plain = [1 + (i * 7 % 11) / 10 for i in range(N)]
    if 1e-61 < scale < 1e60:
        assert low([value * scale for value in plain], scale) == pytest.approx(low(plain, 1.0), rel=1e-9)
    else:
        with pytest.raises(
            InputError, match="score 'x' must have its largest value between 1e-60 and 1e.60, got"
        ):
            low([value * scale for value in plain], scale)


@pytest.mark.parametrize(
    ("role", "call"),
    [
        ("features", Audit.check), ("score", lambda audit: measure(audit, "mean_score")),
        ("weight", lambda audit: measure(audit, "selection_rate")),
    ],
)  # fmt: skip
def test_only_a_sum_that_overflows_is_no_infinite_value(role: str, call: Callable[[Audit], object]) -> None:
    """The fault tells the largest value, and numpy warns of nothing."""
    people = pd.DataFrame({"g": ["a", "b"] * 50, "d": [0, 1, 1, 0] * 25, "x": 1.7e308})
    with pytest.raises(InputError, match="must have its largest value between .* got 1.7e.308"):
        call(Audit(people, **{"decision": "d", "groups": "g", role: "x"}))


def test_errors_too_large_to_square_are_not_said_to_be_infinite_values() -> None:
    people = pd.DataFrame({"g": ["a", "b"] * 50, "y": [0, 1, 1, 0] * 25, "s": 1e200})
    with pytest.raises(InputError, match="has infinite values, or some too large to square"):
        measure(Audit(people, outcome="y", score="s", groups="g"), "squared_error")
    people["s"] = np.inf
    with pytest.raises(InputError, match="score 's' has infinite values; remove or cap them"):
        measure(Audit(people, outcome="y", score="s", groups="g"), "mean_score")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "people.csv")
    for name in ("people.csv", "*.csv"):
        with pytest.raises(InputError, match="is no plain file; save its content in one"):
            Audit(str(tmp_path / name), decision="d")


def test_damaged_parquet(tmp_path: Path) -> None:
    """Shortened, flipped, with bytes lost or added: an answer where no damage shows, else one fault."""
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"g": ["a", "b"] * 500, "d": [0, 1] * 500}), path)
    whole, random, refused = path.read_bytes(), np.random.default_rng(0), 0
    for kind in [*range(4)] * 10:
        content, place = bytearray(whole), int(random.integers(len(whole) - 60))
        if kind == 0:
            content = content[:place]
        elif kind == 1:
            content[place] ^= 1 << int(random.integers(8))
        elif kind == 2:
            content[place:place] = bytes(random.integers(0, 256, 20, dtype=np.uint8))
        else:
            content[place : place + 40] = bytes(40)
        path.write_bytes(content)
        for look in (
            lambda: profile_file(str(path)),
            lambda: Audit(path, decision="d", groups="g").digest(),
            lambda: measure(Audit(path, decision="d", groups="g"), "selection_rate"),
        ):
            try:
                look()
            except InputError:
                refused += 1
    assert refused > 60

"""Faults of an Audit, its data and files, and of Metric and load."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

from snapshot import inputs
from snapshot.case import Case, role
from snapshot.inputs import audit, call, metric, people

NAN, INF = float("nan"), float("inf")


def bad(part: str, calls: dict[str, Callable[[], Any]]) -> Iterator[Case]:
    for name, run in calls.items():
        yield Case(f"faults/{part}/{name}", run, 2)


def faulty_calls(
    function: str, of: str, given: tuple[Any, ...], faulty: dict[str, dict[str, Any]], **base: Any
) -> Iterator[Case]:
    """One case per set of bad arguments of a method; `given` may be replaced under its own name."""
    names = inputs.POSITIONS[function][1:]
    for name, options in faulty.items():
        everything = {**dict(zip(names, given, strict=False)), **base, **options}
        first = [everything.pop(key) for key in names if key in everything]
        yield Case(f"faults/{function}/{name}", _run(function, of, first, everything), 2)


def _run(function: str, of: str, first: list[Any], options: dict[str, Any]) -> Callable[[], Any]:
    return lambda: call(function, audit(of), *first, **options)


# -- Audit and its data ----------------------------------------------------------------------------------------------
def _frame(**columns: Any) -> pd.DataFrame:
    return people(60).head(60).assign(**columns)


def _checked(data: Any, **roles: Any) -> Callable[[], Any]:
    """An audit with all faults of its data looked for."""

    def run() -> Any:
        made = call("Audit", data() if callable(data) else data, **roles)
        made.check()
        return "no fault"

    return run


def file_of(name: str, content: str | bytes) -> Callable[[], str]:
    def write() -> str:
        path = inputs.scratch() / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


def _two_files(first: str, second: str, pattern: str, names: tuple[str, str]) -> Callable[[], str]:
    def write() -> str:
        for name, content in zip(names, (first, second), strict=True):
            file_of(name, content)()
        return str(inputs.scratch() / pattern)

    return write


def audit_faults() -> Iterator[Case]:
    base = {"decision": "d", "groups": "g"}
    half = [NAN, *[0.5] * 59]
    yield from bad("Audit", {
        "unknown outcome": _checked(people, outcome="yy", **base),
        "unknown decision": _checked(people, decision="dd", groups="g"),
        "unknown score": _checked(people, score="score", **base),
        "unknown weight": _checked(people, weight="weights", **base),
        "unknown unit": _checked(people, unit="person", **base),
        "unknown group": _checked(people, decision="d", groups=["g", "rce"]),
        "unknown feature": _checked(people, features="levle", **base),
        "unknown bins": _checked(people, bins={"aeg": 4}, **base),
        "joined names": _checked(people, decision="d", groups="g, side"),
        "several faults": _checked(people, decision="dd", groups=["gg"], missing="dorp", threshold=1, bins={"age": 1}),
        "groups twice": _checked(people, decision="d", groups=["g", "g"]),
        "features twice": _checked(people, features=["level", "level"], **base),
        "groups number": _checked(people, decision="d", groups=3),
        "features dict": _checked(people, features={"a": 1}, **base),
        "threshold alone": _checked(people, outcome="y", threshold=0.5, groups="g"),
        "threshold and decision": _checked(people, score="s", threshold=0.5, **base),
        "threshold text": _checked(people, score="s", threshold="0.5", groups="g"),
        "threshold nan": _checked(people, score="s", threshold=NAN, groups="g"),
        "threshold inf": _checked(people, score="s", threshold=INF, groups="g"),
        "missing mode": _checked(people, missing="ignore", **base),
        "positive key": _checked(people, positive={"outcom": "yes"}, **base),
        "positive unknown": _checked(people, decision="dt", groups="g", positive="given"),
        "positive number": _checked(people, decision="d", groups="g", positive=7),
        "labels without positive": _checked(people, decision="dt", groups="g"),
        "decision of numbers": _checked(people, decision="decile", groups="g"),
        "bins one": _checked(people, bins={"age": 1}, **base),
        "bins many": _checked(people, bins={"age": 1000}, **base),
        "bins falling": _checked(people, bins={"age": [50, 30]}, **base),
        "bins text": _checked(people, bins={"age": "quarters"}, **base),
        "bins of edges": _checked(people, bins={"age": [30, "old"]}, **base),
        "bins empty": _checked(people, bins={"age": []}, **base),
        "bins of text": _checked(people, decision="d", groups="level", bins={"level": 3}),
        "score of text": _checked(people, score="level", groups="g"),
        "score infinite": _checked(lambda: _frame(s=[INF] * 60), score="s", groups="g"),
        "score infinite, cut": _checked(lambda: _frame(s=[INF, *[0.5] * 59]), score="s", threshold=0.4, groups="g"),
        "score missing": _checked(lambda: _frame(s=half), score="s", groups="g"),
        "outcome missing": _checked(lambda: _frame(y=[NAN, *[1.0] * 59]), outcome="y", groups="g"),
        "outcome infinite": _checked(lambda: _frame(y=[INF, *[1.0] * 59]), outcome="y", groups="g"),
        "outcome of text": _checked(people, outcome="level", groups="g"),
        "decision missing": _checked(lambda: _frame(d=[None, *[1] * 59]), decision="d", groups="g"),
        "group missing": _checked(lambda: _frame(g=[None, *["a"] * 59]), **base),
        "group infinite": _checked(lambda: _frame(g=[INF, *[1.0] * 59]), **base),
        "labels that collapse": _checked(lambda: _frame(g=pd.Series([1, "1", *[2] * 58], dtype=object)), **base),
        "label of missing": _checked(lambda: _frame(g=["(missing)", *["a"] * 59]), missing="category", **base),
        "no rows": _checked(lambda: people(60).head(0), **base),
        "all rows dropped": _checked(lambda: _frame(d=[None] * 60), missing="drop", **base),
        "data list": _checked([1, 2, 3], **base),
        "data number": _checked(7, **base),
        "data none": _checked(None, **base),
        "columns twice": _checked(lambda: pd.DataFrame([[1, 1]], columns=["d", "d"]), decision="d"),
        "no such file": _checked("nothing.csv", **base),
        "web address": _checked("https://example.com/people.csv", **base),
        "other file": _checked(file_of("people.xlsx", "nothing"), **base),
        "folder": _checked(lambda: str(file_of("folder/x.csv", "a,b\n1,2\n")()).rsplit("/", 1)[0], **base),
        "empty file": _checked(file_of("empty.csv", ""), **base),
        "binary file": _checked(file_of("binary.csv", b"\0\0\0abc"), **base),
        "cyrillic file": _checked(file_of("cyrillic.csv", b"g,d\n\xea\xee\xf4\xe5,1\n"), **base),
        "no name in the header": _checked(file_of("header.csv", "g,,d\na,1,1\n"), **base),
        "header twice": _checked(file_of("twice.csv", "g,d,d\na,1,1\n"), **base),
        "header by case": _checked(file_of("case.csv", "g,D,d\na,1,1\n"), **base),
        "torn line": _checked(file_of("torn.csv", "g,d\na,1\nb,1,2,3\n"), **base),
        "other columns": _checked(_two_files("g,d\na,1\n", "g,e\na,1\n", "o-*.csv", ("o-1.csv", "o-2.csv")), **base),
        "mixed files": _checked(_two_files("g,d\na,1\n", "x", "mixed-*", ("mixed-1.csv", "mixed-2.parquet")), **base),
        "no parquet": _checked(file_of("no.parquet", "nothing"), **base),
        "text among numbers": _checked(file_of("words.csv", "g,s\na,0.5\nb,high\n"), score="s", groups="g"),
    })  # fmt: skip
    yield from bad("load", {
        "name": lambda: call("load", "compass"), "backend": lambda: call("load", "compas", backend="dask"),
        "number": lambda: call("load", 3),
    })  # fmt: skip
    yield from bad("Metric", {
        "no name": lambda: metric("", role.decision), "name number": lambda: metric(3, role.decision),  # type: ignore[arg-type]
        "value number": lambda: metric("x", 3), "value bin": lambda: metric("x", role.score_bin),
        "hurts": lambda: metric("x", role.decision, hurts="up"),
        "given number": lambda: metric("x", role.decision, 3),
        "given key": lambda: metric("x", role.decision, {3: 1}),
        "given role": lambda: metric("x", role.decision, {role.error: 1}),
    })  # fmt: skip

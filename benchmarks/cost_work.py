"""The questions whose cost is measured, each beside the bare grouping query with the same keys, in its own process.

    python benchmarks/cost_work.py QUESTION FILE REPEATS     prints one line of JSON

Times are seconds of the processor, of all threads together: on a machine with other work they tell more than a clock.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

GROUPS = ("region", "race", "sex")
RATES = ["selection_rate", "tpr", "fpr", "ppv"]
MOMENTS = "sum({0}), var_samp({0}), min({0}), max({0}), sum(({0} - {1}) * ({0} - {1}) * ({0} - {1}))"


class Question(NamedTuple):
    """What is asked, the keys and values of the bare query, and what the cost depends on besides the rows."""

    ask: Callable[[str], Any]
    keys: tuple[str, ...]
    values: str = ""
    draws: int = 0


def audit(path: str, **more: Any) -> Any:
    import fairtrial

    roles: dict[str, Any] = {"outcome": "outcome", "decision": "decision", "groups": list(GROUPS)}
    return fairtrial.Audit(path, **{**roles, **more})


def _measure(path: str) -> Any:
    import fairtrial

    return fairtrial.measure(audit(path), RATES)


def _certify(path: str) -> Any:
    import fairtrial

    return fairtrial.certify(audit(path), "fpr", tolerance=0.05)


def _flag(path: str) -> Any:
    import fairtrial

    return fairtrial.flag(audit(path), "fpr", depth=3, tolerance=0.02)


def _scan(path: str, draws: int = 999) -> Any:
    import fairtrial

    features = ["region", "sex", "grade"]
    asked = audit(path, features=features)
    return fairtrial.scan(asked, "fpr", protected={"race": "B"}, permutations=draws)


def _transport(path: str) -> Any:
    import fairtrial

    asked = fairtrial.Audit(path, outcome="outcome", score="score", threshold=575, groups=["race"])
    return fairtrial.transport(asked, "equal_opportunity")


def _watch(path: str) -> Any:
    import fairtrial

    with tempfile.TemporaryDirectory() as folder:
        state = os.path.join(folder, "state.jsonl")
        return fairtrial.watch(state, audit(path), "fpr", period="week", tolerance=0.05)


def _means(path: str) -> Any:
    import fairtrial

    return fairtrial.measure(audit(path), fairtrial.Metric("amount", value="amount"))


BINARY = (*GROUPS, "decision", "outcome")
QUESTIONS = {
    "measure": Question(_measure, BINARY),
    "certify": Question(_certify, BINARY),
    "flag": Question(_flag, BINARY),
    "scan": Question(_scan, (*GROUPS, "grade", "decision", "outcome"), draws=999),
    "transport": Question(_transport, ("race", "score", "outcome")),
    "watch": Question(_watch, (*GROUPS, "week", "decision", "outcome")),
    "measure, means": Question(_means, GROUPS, MOMENTS.format("amount", 3000)),
}
MORE = {"scan, 99 draws": Question(lambda path: _scan(path, 99), QUESTIONS["scan"].keys, draws=99)}


def bare(path: str, keys: tuple[str, ...], values: str = "") -> int:
    """The bare query; gives the number of its lines."""
    import duckdb

    more = f", {values}" if values else ""
    text = path.replace("'", "''")
    sql = f"select {', '.join(keys)}, count(*) as n{more} from read_parquet('{text}') group by all"
    return len(duckdb.connect().execute(sql).fetchall())


def processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak() -> float:
    """The most memory that this process ever had, in MB: the kernel's mark, which a parent does not raise."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def timed(call: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of the processor and of the clock."""
    cpu, clock = processor(), time.perf_counter()
    call()
    return processor() - cpu, time.perf_counter() - clock


def measured(name: str, path: str, repeats: int) -> dict[str, Any]:
    """Question and bare query in turns after one warm-up of the question; the shortest times count."""
    question = {**QUESTIONS, **MORE}[name]
    warnings.simplefilter("ignore")
    lines = bare(path, question.keys, question.values)
    alone = peak()
    question.ask(path)
    ours, theirs = [], []
    for _ in range(repeats):
        theirs.append(timed(lambda: bare(path, question.keys, question.values)))
        ours.append(timed(lambda: question.ask(path)))
    return {
        "question": name,
        "cells": lines,
        "ours": min(cpu for cpu, _ in ours),
        "bare": min(cpu for cpu, _ in theirs),
        "ours_clock": min(clock for _, clock in ours),
        "bare_clock": min(clock for _, clock in theirs),
        "peak_mb": peak(),
        "bare_mb": alone,
        "repeats": repeats,
    }


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], sys.argv[2], int(sys.argv[3]))))

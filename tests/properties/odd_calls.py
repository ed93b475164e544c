"""Random calls of the API on random tables, and an oracle for the numbers of those that pass."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import dataclass
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

import fairtrial
from inside.ground import canonical
from properties.random_tables import FRAMES, Generator, Table, draw_table
from properties.tally import Tally

METRICS = (
    "selection_rate", "base_rate", "tpr", "fpr", "tnr", "fnr", "ppv", "npv", "fdr", "for", "accuracy", "error_rate",
    "mean_score", "balance_positive", "balance_negative", "brier", "absolute_error",
)  # fmt: skip
HOSTILE: dict[str, tuple[Any, ...]] = {
    "tolerance": (math.nan, -1, "x", [1, 2, 3], math.inf, [0.1, -0.1], {}),
    "minimum": (math.nan, -5, 1e308, "x", None, 2.5),
    "confidence_level": (0, 1, 95, math.nan, "x", None),
    "target": ({"nobody": "x"}, {"g": "nobody"}, math.nan, [], {"g": []}, "someone"),
    "by": ("nothing", 5, [], ["g", "g"], {"g": 1}, b"x"),
    "metric": ("nonsense", 5, [], "", None, ["fpr", "fpr"], "SELECTION_RATE"),
    "depth": (0, -1, 99, "x", math.nan),
    "seed": (-1, math.nan, 2**70, "x"),
}


def fuzz_calls(seed: int, count: int, folder: Path) -> Tally:
    """Make `count` calls; every foreign error and every wrong number is listed."""
    tally = Tally()
    for index in range(count):
        generator = np.random.default_rng([seed, index])
        table = draw_table(generator)
        call = draw_call(generator, table)
        where = f"seed {seed}, call {index}: {call.method}({call.arguments})"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fairtrial.FairtrialWarning)
            tally.attempt(where, partial(_wrong, call, table, tally))
    return tally


@dataclass(frozen=True, slots=True)
class Call:
    frame: Any
    roles: dict[str, Any]
    method: str
    arguments: dict[str, Any]


def draw_call(generator: Generator, table: Table) -> Call:
    frame = FRAMES[generator.integers(len(FRAMES))](table.columns)
    roles: dict[str, Any] = {"decision": "d", "outcome": "y", "score": "s", "groups": ["g", "h"]}
    if table.yes:
        roles["positive"] = dict(table.yes)
    if generator.random() < 0.8:
        roles["missing"] = "category"
    method = str(generator.choice(["measure", "certify", "flag"]))
    metric = str(generator.choice(METRICS))
    arguments: dict[str, Any] = {"metric": metric}
    if generator.random() < 0.7:
        arguments["by"] = ["g", "h", ["g", "h"]][generator.integers(3)]
    if generator.random() < 0.5:
        arguments["target"] = ["overall", "rest", 0.4][generator.integers(3)]
    if method != "measure" and generator.random() < 0.6:
        arguments["tolerance"] = [0.05, 0.2, (-0.1, 0.3), np.float32(0.1)][generator.integers(4)]
    if generator.random() < 0.4:
        arguments["minimum"] = [0, 1, 10, np.int64(30)][generator.integers(4)]
    if generator.random() < 0.3:
        arguments["confidence_level"] = [0.8, 0.9, 0.99, np.float64(0.95)][generator.integers(4)]
    if method == "flag" and generator.random() < 0.3:
        arguments["depth"] = 2
    if generator.random() < 0.15:
        known = signature(getattr(fairtrial, method)).parameters
        name = str(generator.choice([name for name in HOSTILE if name in known]))
        choices = HOSTILE[name]
        arguments[name] = choices[generator.integers(len(choices))]
    return Call(frame, roles, method, arguments)


def _wrong(call: Call, table: Table, tally: Tally) -> list[str]:
    """What of a result is not as the oracle has it, or does not survive being saved."""
    audit = fairtrial.Audit(call.frame, **call.roles)
    result = getattr(fairtrial, call.method)(audit, **call.arguments)
    found: list[str] = []
    content = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    if fairtrial.read_result(content).to_dict() != result.to_dict():
        found.append("does not round-trip")
    text = result.summary()
    if "nan" in text.lower().replace("nan\n", "").split() and "nan" not in _labels(table):
        found.append("prints nan")
    places = result.details.get("places")
    if places is None or len(places) != len(result.estimates):
        return found
    for row, place in zip(result.estimates, places, strict=True):
        members = np.ones(table.score.size, dtype=bool)
        for attribute, label in place:
            members &= np.array([canonical(value) == label for value in table.columns[attribute].tolist()])
        value, given = _oracle(str(row["metric"]), table)
        inside = members & given
        tally.numbers += 1
        if row["n"] != int(inside.sum()):
            found.append(f"{place}: n {row['n']}, the oracle counts {int(inside.sum())}")
        elif inside.any() and isinstance(row["rate"], float):
            mean = float(value[inside].mean())
            if not math.isclose(row["rate"], mean, rel_tol=1e-9, abs_tol=1e-9):
                found.append(f"{place}: rate {row['rate']}, the oracle has {mean}")
        found += _odd_interval(row, place)
    return found


def _odd_interval(row: dict[str, Any], place: Any) -> list[str]:
    found = []
    for name in ("rate", "difference"):
        ends = [row.get(key) for key in (f"{name}_low", name, f"{name}_high")]
        low, value, high = (number if isinstance(number, float) else math.nan for number in ends)
        if value < low - 1e-9 or value > high + 1e-9:
            found.append(f"{place}: {name} {value} outside [{low}, {high}]")
    p = row.get("p_value")
    if isinstance(p, float) and not 0 <= p <= 1:
        found.append(f"{place}: p {p}")
    return found


def _oracle(metric: str, table: Table) -> tuple[Any, Any]:
    y, d, s = table.outcome, table.decision, table.score
    everyone = np.ones(y.size, dtype=bool)
    return {
        "selection_rate": (d, everyone), "base_rate": (y, everyone), "tpr": (d, y == 1), "fpr": (d, y == 0),
        "tnr": (1 - d, y == 0), "fnr": (1 - d, y == 1), "ppv": (y, d == 1), "npv": (1 - y, d == 0),
        "fdr": (1 - y, d == 1), "for": (y, d == 0), "accuracy": ((y == d).astype(float), everyone),
        "error_rate": ((y != d).astype(float), everyone), "mean_score": (s, everyone),
        "balance_positive": (s, y == 1), "balance_negative": (s, y == 0), "brier": ((s - y) ** 2, everyone),
        "absolute_error": (np.abs(s - y), everyone),
    }[metric]  # fmt: skip


def _labels(table: Table) -> str:
    return " ".join(str(value).lower() for name in ("g", "h") for value in set(table.columns[name].tolist()))

"""Every argument of every public function, given what nobody should give it: one clear fault or an answer."""

from __future__ import annotations

import math
import resource
import warnings
from collections.abc import Callable
from contextlib import chdir
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fairtrial
from inside.methods import declared_methods
from properties.tally import Tally

ROLES: dict[str, Any] = {"decision": "d", "outcome": "y", "score": "s", "groups": ["g", "h"]}
# Kept small: what is in question is what becomes of one odd value, not of the rest.
CALLS: dict[str, dict[str, Any]] = {
    "plan": {"metric": "selection_rate", "rate": 0.3, "tolerance": 0.1},
    "measure": {"metric": "fpr"},
    "tabulate": {"table": "adverse-impact"},
    "certify": {"metric": "fpr", "tolerance": 0.1},
    "flag": {"metric": "fpr"},
    "scan": {"metric": "fpr", "protected": {"g": "B"}, "features": ["h", "level"], "permutations": 19, "top": 1},
    "transport": {"metric": "equal_opportunity", "by": "g"},
    "explain": {"metric": "selection_rate", "by": "g", "features": ["level"], "model": "tree"},
    "improve": {
        "by": "g", "candidates": {"fixed": "d2"}, "splits": 2, "bootstrap": 100,
    },
    "watch": {"metric": "fpr", "period": "week", "target": {"g": "A"}, "tolerance": 0.1},
}  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, math.nan, math.inf, -math.inf, -1, 0, -0.0, 1e-300, 1e308, 10**9, 2**70, 10**400, -(10**400), True, 0.5,
    "", " ", "x", "nan", "\x00", "a\u2028b", "x" * 100_000, "g", "d", b"x", 1j, Decimal("0.1"), Fraction(1, 2),
    [], {}, (), set(), frozenset({"g"}), [None], [math.nan], [[]], [["g"], ["h"]], [0.1, -0.1], ["g", "g"],
    [1e308, 1e308], {"": 1}, {"g": math.nan}, {"g": []}, {"g": {}}, {"g": None}, {"g": "nobody"}, {1: 2},
    {"g": {"A": math.inf}}, [{"g": "A"}], range(3), np.int64(3), np.int64(-1), np.float32(0.25), np.float64(math.nan),
    np.bool_(True), np.str_("g"), np.array([]), np.array([0.1, 0.2]), np.array(3), np.array([["g"]]),
    np.array(["g", "h"]),
    np.datetime64("2020-01-01"), pd.NA, pd.NaT, pd.Series(["g"]), datetime(2020, 1, 1, tzinfo=UTC), int, object(), ...,
    NotImplemented, iter("gh"), Path("nowhere"), slice(3),
)  # fmt: skip
MOST_MEGABYTES = 400  # more than any of these calls takes


def fuzz_arguments(seed: int, count: int, folder: Path) -> Tally:
    """So many of all combinations of function, argument and odd value, in random order."""
    places = [
        (name, argument, value)
        for name in (*CALLS, "Audit")
        for argument in list(signature(getattr(fairtrial, name)).parameters)
        for value in range(len(VALUES))
        # what a caller's own function raises is the caller's
        if not (argument == "progress" and callable(VALUES[value]))
    ]
    order = np.random.default_rng([seed, 6]).permutation(len(places))[:count]
    tally = Tally()
    for index in order:
        name, argument, value = places[index]
        where = f"{name}({argument}={VALUES[value]!r:.60})"
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with chdir(folder), warnings.catch_warnings():  # some texts are taken for names of files
            warnings.simplefilter("ignore", fairtrial.FairtrialWarning)
            tally.attempt(where, partial(_call, name, argument, VALUES[value], folder))
        taken = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        if taken > MOST_MEGABYTES:
            tally.wrong.append(f"{where}: took {taken:,.0f} MB")
    return tally


def _call(name: str, argument: str, value: Any, folder: Path) -> list[str]:
    function: Callable[..., Any] = getattr(fairtrial, name)
    if name == "Audit":
        fairtrial.measure(function(**{"data": people(), **ROLES, argument: value}), "selection_rate")
        return []
    given = dict(CALLS[name])
    if declared_methods()[name].takes_audit:
        given["audit"] = fairtrial.Audit(people(), **ROLES)
    if name == "watch":
        state = folder / "state.jsonl"
        state.unlink(missing_ok=True)
        given["state"] = str(state)
    result = function(**{**given, argument: value})
    return [] if fairtrial.read_result(result.to_dict()).to_dict() == result.to_dict() else ["no round-trip"]


@cache
def people() -> pd.DataFrame:
    """Three hundred people in two attributes, two features, ten weeks."""
    random, size = np.random.default_rng(6), 300
    group = random.choice(["A", "B", "C"], size)
    outcome = (random.random(size) < 0.4).astype(int)
    score = np.round(np.clip(random.random(size) * 0.6 + 0.2 * outcome + 0.1 * (group == "A"), 0, 1), 3)
    return pd.DataFrame({
        "g": group, "h": random.choice(["left", "right"], size), "level": random.integers(0, 3, size),
        "age": random.integers(18, 80, size), "week": np.sort(random.integers(0, 10, size)), "y": outcome,
        "s": score, "d": (score >= 0.5).astype(int), "d2": (score + 0.05 * (group != "A") >= 0.5).astype(int),
    })  # fmt: skip

"""improve: the bootstrap on cells against resampling rows, numbering rows against NumPy's, and whole analyses."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from harness import Growth, Row, compare, interleaved, limit
from inside.inference import Utility, bootstrap_levels, distinct_rows, level_cells

ROWS = 24_000  # about half of the 48,784 patients of Obermeyer et al.


def run(quick: bool) -> list[Row]:
    draws = 500 if quick else 10_000
    rows = []
    for name, utility in utilities(ROWS).items():
        rows += compare(
            f"bootstrap of {name}, {ROWS:,} rows, {draws:,} draws",
            lambda utility=utility: ours(utility, draws),
            {"resampling rows": (lambda utility=utility: resampled(utility, draws), None if quick else 50.0)},
            repeats=3,
            once=["resampling rows"],
            note="few draws, fixed costs weigh more: shown for scale" if quick else "",
            least=8.0,
        )
    group, utility = groups(ROWS), utilities(ROWS)["accuracy"]
    columns = [group, *utility.columns()]
    rows += compare(
        f"numbering distinct rows, {ROWS:,} rows",
        lambda: distinct_rows(columns),
        {"np.unique(axis=0)": (lambda: np.unique(np.stack(columns, axis=1), axis=0), None)},
        note="shown for scale",
        least=2.5,
    )
    return [*rows, *whole_analyses(quick)]


def whole_analyses(quick: bool) -> list[Row]:
    """A fixed rule on a million rows, and a search with seven splits on 50,000 rows of 20 features, with progress."""
    from fairtrial import Audit
    from validity.improve_asked import improve

    people, searched = (20_000, 2_000) if quick else (1_000_000, 50_000)
    audit = Audit(pa.table(challenged(people)), outcome="outcome", decision="decision", groups="group")
    fixed = {"candidates": "other", "sign": {"group": "a"}}
    seconds = best(lambda: improve(audit, "tpr", **fixed))
    rows = [limit(f"a fixed rule on all of {people:,} rows", seconds, 2.0)]
    table = learned(searched, 20)
    features = [name for name in table if name.startswith("x")]
    audit = Audit(pa.table(table), outcome="outcome", decision="decision", groups="group", features=features)
    told: list[Any] = []
    started = time.perf_counter()
    improve(audit, "selection_rate", margin=0.01, everyone=True, jobs=2, progress=told.append)
    seconds, steps = time.perf_counter() - started, f"{len(told)} times told how far it is"
    rows.append(
        limit(f"a search, seven splits, {searched:,} rows of 20 features", seconds, 180.0, note=steps)
    )
    return rows


def challenged(rows: int) -> dict[str, Any]:
    """Decisions now and of another rule, which is more accurate and less unfair."""
    rng = np.random.default_rng(3)
    group, need, luck = rng.integers(0, 2, rows), rng.normal(size=rows), rng.normal(size=rows)
    return {
        "group": np.array(["a", "b"])[group],
        "outcome": (need + 0.5 * rng.normal(size=rows) > 0).astype(np.int64),
        "decision": (need + luck - 0.4 * group > 0).astype(np.int64),
        "other": (need > 0).astype(np.int64),
    }


def learned(rows: int, features: int) -> dict[str, Any]:
    """Features of which one is a proxy of the group; decisions that follow it too much."""
    rng = np.random.default_rng(4)
    group, x = rng.integers(0, 2, rows), rng.normal(size=(rows, features))
    x[:, 0] += group
    merit = x[:, 1:6].sum(axis=1) / 2 + 0.3 * x[:, 0]
    columns: dict[str, Any] = {f"x{i}": x[:, i] for i in range(features)}
    return {
        **columns,
        "group": np.array(["a", "b"])[group],
        "outcome": (merit + rng.logistic(size=rows) > 0.15).astype(np.int64),
        "decision": (merit + x[:, 0] > 0.5).astype(np.int64),
    }


def growth(quick: bool) -> list[Growth]:
    sizes = (1_000, 10_000) if quick else (1_000, 10_000, 100_000, 1_000_000)
    seconds = tuple(best(lambda size=size: ours(utilities(size)["accuracy"], 1_000)) for size in sizes)
    return [Growth(name="bootstrap of accuracy, 1,000 draws", axis="rows", sizes=sizes, seconds=seconds)]


def best(call: Callable[[], Any]) -> float:
    return interleaved({"ours": call}, repeats=3)["ours"]


def groups(rows: int) -> np.ndarray:
    return (np.random.default_rng(0).random(rows) < 0.12).astype(np.int64)


def utilities(rows: int) -> dict[str, Utility]:
    """The classification rate, and the mean number of conditions of the 3% that each rule selects."""
    rng = np.random.default_rng(1)
    need = rng.gamma(1.0, 1.3, rows)
    conditions = rng.poisson(need).astype(float)
    scores = [need + rng.normal(size=rows) for _ in range(2)]
    ill = conditions > 2
    d0, d1 = ((score > np.quantile(score, 0.97)).astype(float) for score in scores)
    a0, a1 = ((score > 2.0) == ill for score in scores)
    ones = np.ones(rows)
    return {
        "accuracy": Utility(name="accuracy", u0=a0.astype(float), w0=ones, u1=a1.astype(float), w1=ones),
        "the selected's mean": Utility(name="mean", u0=conditions * d0, w0=d0, u1=conditions * d1, w1=d1),
    }


def ours(utility: Utility, draws: int) -> object:
    group = groups(utility.u0.size)
    return bootstrap_levels(level_cells(group, 2, [utility]), draws, np.random.default_rng(2)).draws


def resampled(utility: Utility, draws: int) -> object:
    """What the article describes: draw rows, recompute each group's level."""
    group = groups(utility.u0.size)
    rng = np.random.default_rng(2)
    rows = group.size
    levels = np.empty((draws, 2, 2))
    for draw in range(draws):
        picked = rng.integers(0, rows, rows)
        for g in (0, 1):
            chosen = picked[group[picked] == g]
            levels[draw, 0, g] = utility.u0[chosen].sum() / utility.w0[chosen].sum()
            levels[draw, 1, g] = utility.u1[chosen].sum() / utility.w1[chosen].sum()
    return levels

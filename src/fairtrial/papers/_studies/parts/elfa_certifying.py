"""ELFA, section 5.1: Tables 1 and 2, Figures 1, E.1 and E.2."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
from scipy import stats

from fairtrial._inference.evidence.atoms import Atoms
from fairtrial._inference.joint.joint_test import joint_test
from fairtrial._results.charts.theme import COLOURS, finish
from fairtrial._work.compiled import njit
from fairtrial.papers._studies.parts.keeping import each, kept
from fairtrial.papers.elfa import vector_log_ratio

PRINTED = json.loads((Path(__file__).parents[1] / "printed" / "elfa.json").read_text(encoding="utf-8"))
BOOTSTRAP_DRAWS = 500
LIKELIHOODS = {"EL": "empirical", "EEL": "euclidean"}
LEVELS = (np.arange(1, 100) - 0.5) / 99


def squared_errors(model: str, m: int, n: int, generator: np.random.Generator) -> Atoms:
    """Models (5.1) and (5.2): squared errors of the true line, less each group's true disparity."""
    x = generator.random(n)
    noise = generator.standard_normal(n) * (1.0 if model == "5.1" else np.sqrt(x))
    group = np.minimum((x * m).astype(int), m - 1)
    truth = np.ones(m) if model == "5.1" else (2 * np.arange(1, m + 1) - 1) / (2 * m)
    return Atoms.of_values([noise[group == j] ** 2 - truth[j] for j in range(m)])


def statistic(atoms: Atoms, name: str) -> float:
    """EL or EEL at the truth, which is zero here, by the limit law alone."""
    member = np.eye(atoms.count.size, dtype=bool)
    return joint_test(atoms, member, None, 0.0, LIKELIHOODS[name], by_limit_law=True).statistic  # type: ignore[arg-type]


@njit
def _largest_sums(
    error: np.ndarray, group: np.ndarray, share: np.ndarray, largest: np.ndarray, generator: np.random.Generator
) -> None:  # fmt: skip
    """Per resample the largest Pn(G)·P*(G)·(ε*(G) − ε̂(G)), signed and by size."""
    n, m = error.size, share.size
    for draw in range(largest.shape[0]):
        sums = np.zeros(m)
        for _ in range(n):
            row = int(generator.random() * n)
            sums[group[row]] += error[row]
        signed, size = -np.inf, 0.0
        for j in range(m):
            value = share[j] * sums[j] / n
            signed, size = max(signed, value), max(size, abs(value))
        largest[draw, 0], largest[draw, 1] = signed, size


def bootstrap_covers(atoms: Atoms, generator: np.random.Generator) -> tuple[bool, bool]:
    """Whether ε̂ ± t/Pn(G)² holds every true disparity, t the 95% quantile of the signed maximum, as the authors'
    code takes it, and of the largest |·|."""
    assert atoms.values is not None
    n, mean, share = float(atoms.count.sum()), atoms.mean, atoms.count / atoms.count.sum()
    error = np.concatenate([v - v.mean() for v in atoms.values])
    group = np.repeat(np.arange(mean.size), [v.size for v in atoms.values])
    largest = np.empty((BOOTSTRAP_DRAWS, 2))
    _largest_sums(error, group, share, largest, generator)
    assert n > 0
    place = int(np.ceil(0.95 * BOOTSTRAP_DRAWS)) - 1
    bound = np.sort(largest, axis=0)[place]
    return tuple(bool(np.all(np.abs(mean) <= t / share**2)) for t in bound)  # type: ignore[return-value]


def coverage(model: str, m: int, n: int, repeats: int, bootstraps: int) -> dict[str, Any]:
    """Shares of repeats whose region holds the truth, and quantiles of both statistics."""
    generator = np.random.default_rng([1, int(model[2]), m, n])
    found: dict[str, list[float]] = {"EL": [], "EEL": []}
    covered = []
    for repeat in range(repeats):
        atoms = squared_errors(model, m, n, generator)
        for name in found:
            found[name].append(statistic(atoms, name))
        if repeat < bootstraps:
            covered.append(bootstrap_covers(atoms, generator))
    critical = stats.chi2.isf(0.05, m)
    answer: dict[str, Any] = {"model": model, "m": m, "n": n}
    for name, values in found.items():
        answer[name] = float(np.mean(np.array(values) <= critical))
        answer[f"{name} quantiles"] = np.quantile(values, LEVELS).tolist()
    if covered:
        answer["signed"], answer["absolute"] = np.mean(covered, axis=0).tolist()
    return answer


def coverages(repeats: int, bootstraps: int, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Table 1 and the figures: m = 1 is for the figures alone."""

    rows: list[dict[str, Any]] = []
    for n in sizes:
        designs = [(model, m, n) for model in ("5.1", "5.2") for m in (1, 2, 5, 10)]
        tasks = [(*design, repeats, bootstraps if design[1] > 1 else 0) for design in designs]
        settings = {"repeats": repeats, "bootstraps": bootstraps, "n": n}
        rows += kept("elfa-table-1", settings, partial(each, coverage, tasks))
    return sorted(rows, key=lambda row: (row["model"], row["m"], row["n"]))


def table_1(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| model | m | n | EL printed | EL here | EEL printed | EEL here | bootstrap printed | signed maximum here | "
        "largest by size here |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    here = {(row["model"], row["m"], row["n"]): row for row in rows}
    for model, m, n, bootstrap, el, eel in PRINTED["table_1"]["rows"]:
        row = here.get((model, m, n))
        if row is not None:
            lines.append(
                f"| ({model}) | {m} | {n:,} | {el:.4f} | {row['EL']:.4f} | {eel:.4f} | {row['EEL']:.4f} | "
                f"{bootstrap:.4f} | {row['signed']:.3f} | {row['absolute']:.3f} |"
            )
    return "\n".join(lines)


# -- Table 2 ------------------------------------------------------------------------------------------------


def seconds(m: int, n: int, repeats: int) -> dict[str, float]:
    """Processor seconds of one data set, by method."""
    generator = np.random.default_rng([2, m, n])
    samples = [squared_errors("5.1", m, n, generator) for _ in range(repeats)]
    ways: dict[str, Callable[[Atoms], Any]] = {
        "EL": lambda atoms: statistic(atoms, "EL"),
        "EEL": lambda atoms: statistic(atoms, "EEL"),
        "bootstrap": lambda atoms: bootstrap_covers(atoms, generator),
        "vector": lambda atoms: vector_log_ratio(_score_rows(atoms), np.ones(n)),
    }
    answer = {}
    for name, way in ways.items():
        way(samples[0])  # compiled, and in the cache
        start = time.process_time()
        for atoms in samples:
            way(atoms)
        answer[name] = (time.process_time() - start) / repeats
    return answer


def _score_rows(atoms: Atoms) -> np.ndarray:
    """g of (3.2): one line per row, one column per group."""
    assert atoms.values is not None
    rows = np.zeros((int(atoms.count.sum()), atoms.count.size))
    start = 0
    for j, values in enumerate(atoms.values):
        rows[start : start + values.size, j] = values
        start += values.size
    return rows


def table_2(repeats: int) -> str:
    def compute() -> list[Any]:
        return [[m, n, seconds(m, n, repeats)] for m in (2, 5, 10) for n in (400, 2000, 4000)]

    here = {(m, n): times for m, n, times in kept("elfa-table-2", {"repeats": repeats}, compute)}
    lines = [
        "| m | n | bootstrap over EL, printed | here | EL over EEL, printed | here | EL per data set here | "
        "with one multiplier vector |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for m, n, bootstrap, el, eel in PRINTED["table_2"]["rows"]:
        times = here[m, n]
        lines.append(
            f"| {m} | {n:,} | {bootstrap / el:.1f} | {times['bootstrap'] / times['EL']:.1f} | {el / eel:.0f} | "
            f"{times['EL'] / times['EEL']:.1f} | {1000 * times['EL']:.2f} ms | {1000 * times['vector']:.2f} ms |"
        )
    return "\n".join(lines)


# -- Figures 1, E.1, E.2 ------------------------------------------------------------------------------------


def quantile_points(
    rows: list[dict[str, Any]], names: tuple[str, ...], groups: tuple[int, ...]
) -> list[dict[str, Any]]:
    return [
        {"row": f"{name}, model ({row['model']}), m = {row['m']}", "column": f"n = {row['n']:,}",
         "theory": float(theory), "sample": sample}
        for row in rows
        if row["m"] in groups
        for name in names
        for theory, sample in zip(stats.chi2.ppf(LEVELS, row["m"]), row[f"{name} quantiles"], strict=True)
    ]  # fmt: skip


def quantile_chart(points: list[dict[str, Any]], columns: int) -> Any:
    base = alt.Chart().encode(x=alt.X("theory:Q", title="χ² quantile"))
    dots = base.mark_circle(size=14, color=COLOURS["accent"], opacity=0.9).encode(
        y=alt.Y("sample:Q", title="statistic")
    )
    line = base.mark_line(color=COLOURS["second"], strokeWidth=1.5).encode(y="theory:Q")
    panels = alt.layer(line, dots, data=alt.Data(values=points)).properties(width=170, height=130)
    for point in points:
        point["panel"] = f"{point['row']}\n{point['column']}"
    order = list(dict.fromkeys(point["panel"] for point in points))
    two_lines = alt.Header(labelExpr="split(datum.label, '\\n')")  # in one line they ran into each other
    facet = alt.Facet("panel:N", title=None, sort=order, header=two_lines)
    return finish(panels.facet(facet, columns=columns).resolve_scale(x="independent", y="independent"))

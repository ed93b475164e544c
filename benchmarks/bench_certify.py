"""certify: empirical likelihood intervals against statsmodels and a bootstrap, and a thousand binary groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from harness import Growth, Row, interleaved, limit, missing, peer, row
from inside.direct_calls import el_mean_intervals
from inside.inference import (
    Atoms,
    Comparison,
    ResampledGap,
    SharedSkewness,
    Sums,
    TwoMeans,
    UnsharedSkewness,
    benjamini_hochberg,
    gap_covariance,
    make_gaps,
    simultaneous_level,
)

ROWS, GROUPS, DRAWS = 10_000, 20, 500
# A call of ours takes a fraction of a millisecond: the time of one is that of many in a row, divided.
IN_A_ROW = 100


def run(quick: bool) -> list[Row]:
    name = "tests and both kinds of intervals of 1,000 binary groups, after counting"
    return [*intervals_of_means(), *bounds_of_means(), limit(name, best(*tables(1_000)), 1.0)]


def intervals_of_means() -> list[Row]:
    values, codes = losses(ROWS, GROUPS)
    groups = [values[codes == code] for code in range(GROUPS)]
    member = members(codes)
    bootstrap = f"bootstrap, {DRAWS} draws"
    peers: dict[str, tuple[Callable[[], object] | None, float, str]] = {
        "statsmodels DescStatUV": (statsmodels_limits(groups), 20.0, "group by group"),
        f"{bootstrap}, any groups": (
            lambda: bootstrap_limits(values, member),
            500.0,
            "rows drawn with numpy, then one boolean mask per group, which may overlap",
        ),
        f"{bootstrap}, disjoint groups": (
            lambda: disjoint_bootstrap_limits(values, codes),
            500.0,
            "rows drawn with numpy, then two np.bincount for all groups: for a partition only",
        ),
    }
    times = interleaved(
        {
            "in a row": lambda: [el_mean_intervals(groups) for _ in range(IN_A_ROW)],
            "single": lambda: el_mean_intervals(groups),
            **{other: call for other, (call, _, _) in peers.items() if call is not None},
        },
        repeats=7,
    )
    name = f"empirical likelihood intervals of {GROUPS} means, {ROWS:,} rows"
    ours = times["in a row"] / IN_A_ROW
    single = f"a single one after a pause {1e3 * times['single']:.2g} ms"
    timing = f"one thread each; ours: {IN_A_ROW} calls in a row ({single})"
    return [
        missing(name, ours, other, goal)
        if call is None
        else row(name, ours, other, times[other], goal, note=f"{note}; {timing}")
        for other, (call, goal, note) in peers.items()
    ]


def bounds_of_means() -> list[Row]:
    """The bounds on means: from sums for a thousand groups, from rows for one."""
    generator = np.random.default_rng(7)
    sides = [Sums.of_values([generator.lognormal(size=size) for _ in range(1_000)]) for size in (40, 360)]
    bounds = [bound(TwoMeans(*sides)) for bound in (UnsharedSkewness, SharedSkewness)]
    calls: dict[str, tuple[Callable[[], object], float]] = {
        "limits of 1,000 skewed means from sums": (lambda: [bound.limits(0.025) for bound in bounds], 0.001),
        "p-values of 1,000 skewed means from sums": (
            lambda: [bound.tails(np.zeros(1_000)) for bound in bounds],
            0.08,
        ),
    }
    for size, other, goal in ((40, 360, 0.002), (520, 4_680, 0.02), (2_000, 18_000, 0.08)):
        pair = generator.lognormal(size=size), generator.lognormal(size=other)
        name = f"permutation and bootstrap of {size:,} against {other:,} rows"
        calls[name] = (lambda pair=pair: ResampledGap(*pair).tail(0.0, 1.0), goal)
    times = interleaved({name: call for name, (call, _) in calls.items()}, repeats=7)
    return [limit(name, times[name], goal) for name, (_, goal) in calls.items()]


def growth(quick: bool) -> list[Growth]:
    sizes = (10, 100) if quick else (10, 100, 1_000)
    seconds = tuple(best(*tables(size)) for size in sizes)
    return [Growth(name="certify, binary, after counting", axis="groups", sizes=sizes, seconds=seconds)]


def best(atoms: Atoms, comparison: Comparison) -> float:
    return interleaved({"ours": lambda: thousand_groups(atoms, comparison)}, repeats=3)["ours"]


def losses(rows: int, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Skewed losses of people in groups."""
    generator = np.random.default_rng(20_260)
    return generator.exponential(size=rows), generator.integers(0, groups, rows)


def statsmodels_limits(groups: list[np.ndarray]) -> Callable[[], Any] | None:
    descriptive = peer("statsmodels.emplike.descriptive")
    if descriptive is None:
        return None
    return lambda: [descriptive.DescStatUV(x).ci_mean(0.05) for x in groups]


def members(codes: np.ndarray) -> np.ndarray:
    return np.asarray(codes == np.arange(GROUPS)[:, None])


def bootstrap_limits(values: np.ndarray, member: np.ndarray) -> Any:
    """Resample the rows, recompute the mean of every group, which may overlap, take percentiles."""
    generator = np.random.default_rng(0)
    means = np.empty((DRAWS, GROUPS))
    for draw in range(DRAWS):
        chosen = generator.integers(0, values.size, values.size)
        drawn = values[chosen]
        for group in range(GROUPS):
            means[draw, group] = drawn[member[group][chosen]].mean()
    return np.quantile(means, [0.025, 0.975], axis=0)


def disjoint_bootstrap_limits(values: np.ndarray, codes: np.ndarray) -> Any:
    """The same for groups that do not overlap: one weighted count per draw serves them all."""
    generator = np.random.default_rng(0)
    means = np.empty((DRAWS, GROUPS))
    for draw in range(DRAWS):
        chosen = generator.integers(0, values.size, values.size)
        group = codes[chosen]
        means[draw] = np.bincount(group, values[chosen], GROUPS) / np.bincount(group, minlength=GROUPS)
    return np.quantile(means, [0.025, 0.975], axis=0)


def tables(groups: int) -> tuple[Atoms, Comparison]:
    """Counts of disjoint groups, each compared with everyone else."""
    generator = np.random.default_rng(groups)
    count = generator.integers(50, 5_000, groups).astype(float)
    ones = generator.binomial(count.astype(int), 0.3).astype(float)
    member = np.eye(groups, dtype=bool)
    rate = ones / count
    return Atoms(count, rate, count * rate * (1 - rate), True), Comparison(member, ~member)


def thousand_groups(atoms: Atoms, comparison: Comparison) -> Any:
    """What certify and flag compute once the counts are there."""
    gaps = make_gaps(atoms, comparison)
    together = simultaneous_level(gap_covariance(atoms, comparison.member, comparison.reference), 0.95)
    adjusted = benjamini_hochberg(gaps.p_equal(0.0))
    return gaps.limits(0.95), gaps.limits(together), adjusted

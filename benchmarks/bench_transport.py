"""transport: the exact fast routes against one argsort of the distances and against HiGHS without presolve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from harness import Growth, Row, compare, interleaved, within

K_GROUPS = 4
ATTRIBUTES = 3
GOAL_ROWS = 1_000_000


def run(quick: bool) -> list[Row]:
    sizes = (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000)
    rows: list[Row] = []
    for size in sizes:
        rows += against_argsort(size)
        rows += against_highs(size)
    return rows + whole_call(sizes[-1])


def growth(quick: bool) -> list[Growth]:
    sizes = (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000)
    found = []
    for name, problem in (
        ("one equality", two_groups),
        ("4 groups", many_groups),
        ("3 attributes at once", attributes),
    ):
        seconds = []
        for size in sizes:
            solve = solver(*problem(size))
            seconds.append(interleaved({"ours": solve}, repeats=3)["ours"])
        found.append(Growth(name=f"transport, {name}", axis="rows", sizes=sizes, seconds=tuple(seconds)))
    return found


def against_argsort(n: int) -> list[Row]:
    """One criterion between two groups, from codes to the optimum, beside sorting the distances once."""
    from inside.transport import disjoint_families

    group, score = drawn(n, 2)
    distance, decided = np.abs(score), (score > 0).astype(np.uint8)

    def ours() -> Any:
        return solver(disjoint_families(group, [((0, 1), 0)], decided), distance)()

    return compare(
        f"one criterion, {n:,} rows",
        ours,
        {"one argsort of the distances": (lambda: np.argsort(distance), goal_at(n, within(4)))},
        repeats=repeats(n),
        note=note_at(n),
        least=within(12),
    )


def against_highs(n: int) -> list[Row]:
    from inside.transport import band
    from oracles.transport_by_rows import project_by_rows

    rows: list[Row] = []
    for name, made, goal in (
        (f"{K_GROUPS} groups, {n:,} rows", many_groups(n), 20.0),
        (f"{ATTRIBUTES} attributes at once, {n:,} rows", attributes(n), 3.0),
    ):
        problem, distance = made
        limits = band(problem.size, 0.0, "differs")
        peer = "HiGHS dual simplex, presolve off"
        rows += compare(
            name,
            solver(problem, distance),
            {
                peer: (
                    lambda problem=problem, distance=distance, limits=limits: project_by_rows(
                        problem, distance, *limits
                    ),
                    goal_at(n, goal),
                )
            },
            repeats=repeats(n),
            once=[peer] if n > 100_000 else [],
            note=note_at(n),
            least=goal / 2,
        )
    return rows


def whole_call(n: int) -> list[Row]:
    """The public function from a PyArrow table, beside the statistic alone: what data access and the report cost."""
    import pyarrow as pa

    import fairtrial

    group, score = drawn(n, 2)
    table = pa.table({"group": np.array(["a", "b"])[group], "score": score})

    def ours() -> Any:
        audit = fairtrial.Audit(table, score="score", threshold=0.0, groups="group")
        return fairtrial.transport(audit, "statistical_parity")

    peers = {"one argsort of the distances": (lambda: np.argsort(np.abs(score)), None)}
    name = f"the whole public call, {n:,} rows"
    return compare(name, ours, peers, repeats=3, note="shown for scale", least=within(100))


def repeats(n: int) -> int:
    """Short work is disturbed by little, so it is repeated more often."""
    return {10_000: 25, 100_000: 9}.get(n, 3)


def goal_at(n: int, goal: float) -> float | None:
    """Goals are set for a million rows."""
    return goal if n >= GOAL_ROWS else None


def note_at(n: int) -> str:
    return "" if n >= GOAL_ROWS else "shown for scale"


def solver(problem: Any, distance: np.ndarray) -> Callable[[], Any]:
    from inside.transport import band, project

    limits = band(problem.size, 0.0, "differs")
    return lambda: project(problem, distance, *limits)


def drawn(n: int, groups: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(n + groups)
    group = generator.integers(0, groups, n)
    return group, generator.normal(size=n) + 0.1 * group


def two_groups(n: int) -> tuple[Any, np.ndarray]:
    return many_groups(n, 2)


def many_groups(n: int, groups: int = K_GROUPS) -> tuple[Any, np.ndarray]:
    from inside.transport import disjoint_families

    group, score = drawn(n, groups)
    return disjoint_families(group, [(range(groups), 0)], (score > 0).astype(np.uint8)), np.abs(score)


def attributes(n: int) -> tuple[Any, np.ndarray]:
    from inside.transport import overlapping_families

    generator = np.random.default_rng(n)
    columns = [generator.integers(0, 2, n) for _ in range(ATTRIBUTES)]
    score = generator.normal(size=n) + sum(0.1 * column for column in columns)
    return overlapping_families(columns, [0] * ATTRIBUTES, (score > 0).astype(np.uint8)), np.abs(score)

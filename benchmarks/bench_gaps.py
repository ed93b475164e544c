"""gaps: ratios, adjusted and weighted gaps of 24 groups on a million rows, against the bare grouping of those keys;
and many groups, small ones described."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from harness import Row, compare, interleaved, limit, within

GROUPS, STRATA = 24, 100


def run(quick: bool) -> list[Row]:
    return [*against_groupings(100_000 if quick else 1_000_000), *many_groups(1_000), *small_groups(500)]


def people(n: int, groups: int, strata: int) -> Any:
    """A PyArrow table of decisions about people of these groups and strata, with survey weights."""
    import pyarrow as pa

    generator = np.random.default_rng(17)

    def labels(letter: str, count: int) -> pa.Array:
        names = pa.array([f"{letter}{i:03d}" for i in range(count)])
        codes = generator.integers(0, count, n, dtype=np.int32)
        return pa.DictionaryArray.from_arrays(codes, names).cast(pa.string())

    return pa.table(
        {
            "g": labels("g", groups),
            "s": labels("s", strata),
            "d": (generator.random(n) < 0.3).astype(np.int64),
            "w": generator.uniform(0.5, 2.0, n),
        }
    )


def against_groupings(n: int) -> list[Row]:
    """Every group to everyone else by flag, from the raw table: nothing is cached between calls."""
    import duckdb

    import fairtrial

    table, connection = people(n, GROUPS, STRATA), duckdb.connect()

    def bare(keys: str, sums: str) -> Callable[[], Any]:
        query = f"select {keys}, count(*), {sums} from people group by all"
        return lambda: connection.from_arrow(table).query("people", query).fetchall()

    def ours(weight: str | None = None, **asked: Any) -> Callable[[], Any]:
        return lambda: fairtrial.flag(
            fairtrial.Audit(table, decision="d", groups="g", weight=weight), "selection_rate", **asked
        )

    rows = f"{n:,} rows"
    keys = "bare DuckDB grouping of the keys"
    grouped, stratified = bare("g", "sum(d)"), bare("g, s", "sum(d)")
    sums = "sum(w), sum(w * d), sum(w * w)"
    cases = [
        (f"ratios of 24 groups, {rows}", ours(scale="ratio"), grouped),
        (f"gaps within 100 strata, {rows}", ours(within="s"), stratified),
        (f"ratios within 100 strata, {rows}", ours(within="s", scale="ratio"), stratified),
        (f"weighted gaps, {rows}", ours("w"), bare("g", sums)),
    ]
    raced = [
        row for name, call, peer in cases for row in compare(name, call, {keys: (peer, within(2))}, repeats=3)
    ]
    # without a goal of its own: a regression over the strata of every group
    both, peers = f"weighted gaps within 100 strata, {rows}", {keys: (bare("g, s", sums), None)}
    return raced + compare(both, ours("w", within="s"), peers, repeats=3, least=0.2)


def many_groups(groups: int) -> list[Row]:
    """A thousand groups of about twenty people, counting included."""
    import fairtrial

    table = people(20 * groups, groups, 10)
    plain = fairtrial.Audit(table, decision="d", groups="g")
    weighted = fairtrial.Audit(table, decision="d", groups="g", weight="w")
    cases: dict[str, tuple[Any, dict[str, Any]]] = {
        "ratios": (plain, {"scale": "ratio"}),
        "gaps within ten strata": (plain, {"within": "s"}),
        "weighted gaps": (weighted, {}),
    }
    seconds = interleaved(
        {
            name: lambda audit=audit, asked=asked: fairtrial.flag(audit, "selection_rate", minimum=5, **asked)
            for name, (audit, asked) in cases.items()
        },
        repeats=3,
    )
    return [
        limit(f"{name} of {groups:,} groups, {20 * groups:,} rows to count", spent, 1.0)
        for name, spent in seconds.items()
    ]


def small_groups(groups: int) -> list[Row]:
    """Groups of one to thousands of people, most of them too small to judge: each described, and all together."""
    import pyarrow as pa

    import fairtrial

    generator = np.random.default_rng(5)
    sizes = np.clip(np.round(np.exp(generator.normal(3.0, 1.3, groups))), 1, 5_000).astype(int)
    names = np.repeat([f"g{index:03d}" for index in range(groups)], sizes)
    decided = (generator.random(names.size) < 0.3).astype(np.int64)
    audit = fairtrial.Audit(pa.table({"g": names, "d": decided}), decision="d", groups="g")
    ask = {"described": lambda: fairtrial.flag(audit, "selection_rate", tolerance=0.05)}
    seconds = interleaved(ask, repeats=3)["described"]
    return [limit(f"{groups} groups of 1 to 5,000 people, the small ones described", seconds, 2.0)]

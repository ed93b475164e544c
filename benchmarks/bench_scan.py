"""scan: exact search and null draws on COMPAS, against AIF360's bias_scan, and ten million rows through cells."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from harness import Growth, Row, alone, compare, interleaved, limit, peer, within

ATTRIBUTES = ["race", "sex", "age", "c_charge_degree", "priors_count"]
PROTECTED = {"race": "African-American"}
LARGE = ["region", "race", "sex", "grade"]
WIDE = [(2, 3, 4, 5, 8, 12, 20, 50)[place % 8] for place in range(20)]
BARE_SQL = """
select region, race, sex, grade, decision, outcome, count(*) as n from '{source}' group by all
"""


def run(quick: bool) -> list[Row]:
    return [
        *on_compas(),
        *against_bias_scan(20 if quick else 500),
        *many_subgroups(),
        *many_rows(1_000_000 if quick else 10_000_000),
        *([] if quick else many_attributes(1_000_000)),
    ]


def growth(quick: bool) -> list[Growth]:
    """The null draws against the number of attributes (three values each)."""
    sizes = (3, 4, 5) if quick else (3, 4, 5, 6)
    spent = []
    for features in sizes:
        setup = random_setup([3] * features)
        spent.append(interleaved({"ours": draws(setup, 100)}, repeats=3)["ours"])
    return [
        Growth(name="scan, 100 draws with exact search", axis="attributes", sizes=sizes, seconds=tuple(spent))
    ]


def compas() -> Any:
    """ProPublica's 6,172 defendants, as the article cuts them."""
    import fairtrial

    data = fairtrial.load("compas", backend="pandas")
    kept = data["days_b_screening_arrest"].between(-30, 30) & (data["is_recid"] != -1)
    return fairtrial.Audit(
        data[kept & (data["c_charge_degree"] != "O")], outcome="two_year_recid", score="decile_score", threshold=5,
        groups=ATTRIBUTES, bins={"age": [25], "priors_count": [1, 6]},
    )  # fmt: skip


def compas_setup() -> Any:
    """False positive rates of African-American defendants: table and designs, everything before the first fit."""
    from fairtrial import METRICS
    from fairtrial.papers.conditional_bias_scan import prepare
    from inside.metrics import Group
    from inside.scan import ScanRequest, read_data

    request = ScanRequest(
        who="bench", metric=METRICS["fpr"], protected=Group.of(PROTECTED),
        features=tuple(ATTRIBUTES[1:]),
    )  # fmt: skip
    return prepare(read_data(compas(), request).table)


def matched_draws(table: Any, count: int) -> Callable[[], Any]:
    """The default score: its strata, and draws searched over every subgroup."""
    from inside.scan import MatchedTable, attributes_of, plan_matched
    from inside.scan import matched_stratified as stratified

    own = MatchedTable.of(table)
    search, draw = plan_matched(attributes_of(table.arity), own.codes, 1.0), stratified(own)

    def work() -> Any:
        return search.maxima(*draw(count, np.random.default_rng(0)))

    return work


def draws(setup: Any, count: int) -> Callable[[], Any]:
    from fairtrial.papers.conditional_bias_scan import scan_draws, stratified

    draw = stratified(setup.table)

    def work() -> Any:
        generator = np.random.default_rng(0)
        return scan_draws(setup, draw(count, generator), generator)

    return work


def on_compas() -> list[Row]:
    from fairtrial.papers.conditional_bias_scan import scan_observed

    setup = compas_setup()
    jobs = {
        "scan": lambda: scan_observed(setup),
        "draws": draws(setup, 999),
        "matched": matched_draws(setup.table, 999),
    }
    times = interleaved(jobs, repeats=5)
    return [
        limit("exact COMPAS scan by the article's score, models and search", times["scan"], 0.005),
        limit("999 stratified draws of it, refitted and searched exactly, one core", times["draws"], 3.0),
        limit("999 stratified draws by the matched score, searched exactly, one core", times["matched"], 1.0),
    ]


def against_bias_scan(restarts: int) -> list[Row]:
    """The same people, events and expectations, one direction, penalty 1; the article takes 500 restarts."""
    import pandas as pd

    from fairtrial.papers.conditional_bias_scan import (
        SearchedCells,
        find_subgroups,
        plan_search,
        scan_observed,
    )

    setup = compas_setup()
    seen = scan_observed(setup)
    table, sums = setup.table, seen.sums
    size, events = sums.protected[0] * table.cell_scanned, sums.protected_events[0] * table.cell_scanned
    problem = SearchedCells(
        gaussian=False, codes=table.cell_codes, arity=table.arity, size=size, observed=events,
        expected=seen.expected, penalty=1.0,
    )  # fmt: skip
    plan = plan_search(table.arity, len(size), "exact")
    detectors = peer("aif360.detectors")
    theirs = None
    answers: list[float] = []
    if detectors is not None:
        with_event, without = events.astype(int), (size - events).astype(int)
        cell = np.concatenate(
            [np.repeat(np.arange(len(size)), with_event), np.repeat(np.arange(len(size)), without)]
        )
        happened = pd.Series(np.repeat([1.0, 0.0], [with_event.sum(), without.sum()]))
        frame = pd.DataFrame({name: table.cell_codes[cell, j] for j, name in enumerate(ATTRIBUTES[1:])})
        expected = pd.Series(seen.expected[cell])

        def theirs() -> None:
            _, score = detectors.bias_scan(
                data=frame, observations=happened, expectations=expected, favorable_value=1, overpredicted=False,
                scoring="Bernoulli", num_iters=restarts, penalty=1.0, mode="binary",
            )  # fmt: skip
            answers.append(float(score))

    name = f"aif360 bias_scan, {restarts} restarts"
    rows = compare(
        "COMPAS, best of 189 subgroups, given the expectations",
        lambda: find_subgroups(problem, ("above",), plan),
        {name: (theirs, 500.0 if restarts == 500 else None)},  # the goal is for 500 restarts
        once=[name],
        least=restarts / 2,
    )
    # a race between different answers would be worth little
    note = "".join(f"scores {seen.found[0].score:.2f} (ours) and {answer:.2f}" for answer in answers[:1])
    return [replace(one, note=note or one.note) for one in rows]


def random_setup(arity: list[int]) -> Any:
    from fairtrial.papers.conditional_bias_scan import prepare
    from inside.scan import CountedRows, build_table

    generator = np.random.default_rng(7)
    people = 20_000
    codes = np.stack([generator.integers(0, k, size=people) for k in arity], axis=1).astype(np.int64)
    rows = CountedRows(
        codes=codes, protected=generator.random(people) < 0.3, event=(generator.random(people) < 0.4).astype(float),
        scanned=np.ones(people, dtype=bool), condition=None, count=np.ones(people),
    )  # fmt: skip
    return prepare(build_table(rows, arity=np.array(arity)), search="exact")


def many_subgroups() -> list[Row]:
    """Eight attributes with 2, 2, 2, 2, 3, 3, 4 and 8 values: 59,535 steps for a proof over 15 million subgroups."""
    from fairtrial.papers.conditional_bias_scan import scan_observed

    setup = random_setup([2, 2, 2, 2, 3, 3, 4, 8])
    times = interleaved({"scan": lambda: scan_observed(setup)}, repeats=3)
    return [alone("exact scan, 8 attributes, 59,535 steps", times["scan"], most=5.0, note="shown for scale")]


def many_rows(n: int) -> list[Row]:
    """A Parquet file: one grouping query, then 999 draws on the cells, whose time does not depend on the rows."""
    import duckdb

    import fairtrial

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "people.parquet")
        duckdb.sql(
            f"""copy (select ['north', 'east', 'south', 'west'][1 + (h % 4)::int] as region,
                ['A', 'B', 'C'][1 + (h // 4 % 3)::int] as race, ['F', 'M'][1 + (h // 12 % 2)::int] as sex,
                'grade ' || (h // 24 % 6) as grade, (h // 144 % 100 < 40)::int as outcome,
                (h // 14400 % 100 < 30)::int as decision
                from (select hash(i) as h from range({n}) t(i))) to '{path}' (format parquet)"""
        )

        def ours() -> Any:
            audit = fairtrial.Audit(path, outcome="outcome", decision="decision", groups=LARGE)
            return fairtrial.scan(audit, "fpr", protected={"race": "A"}, permutations=999)

        def bare() -> Any:
            return duckdb.sql(BARE_SQL.format(source=path)).fetchall()

        return compare(
            f"scan with 999 draws, {n:,} rows, Parquet",
            ours,
            {"bare DuckDB grouping": (bare, within(3) if n >= 10_000_000 else None)},
            repeats=3,
            note="" if n >= 10_000_000 else "shown for scale",
            least=within(30),
        )


def wide_audit(n: int) -> Any:
    """Twenty attributes of 2 to 50 values, every third one ordered; class and decision share a table of two of them."""
    import pandas as pd

    import fairtrial

    generator = np.random.default_rng(3)
    codes = [generator.integers(0, size, n) for size in WIDE]
    shared = 0.4 * (codes[0] == 1) - 0.3 * (codes[3] > 2) + 0.5 * (codes[2] == 1) * (codes[4] > 4)
    inside = generator.random(n) < 1 / (1 + np.exp(0.8 - shared))
    harmed = inside & (codes[1] == 1) & (codes[5] < 4)
    decided = generator.random(n) < 1 / (1 + np.exp(1.0 - shared - 0.3 * harmed))
    columns = {}
    for place, (own, size) in enumerate(zip(codes, WIDE, strict=True)):
        labels = [f"v{value:02d}" for value in range(size)]
        columns[f"x{place}"] = pd.Categorical.from_codes(own, labels, ordered=place % 3 == 2)
    data = pd.DataFrame({**columns, "class": np.where(inside, "a", "b"), "decision": decided.astype(int)})
    return fairtrial.Audit(data, decision="decision", groups="class", features=list(columns))


def many_attributes(n: int) -> list[Row]:
    """Every two of twenty attributes, in the data and in 99 draws, on both sides; processor time."""
    import fairtrial

    def ours(rows: int) -> float:
        audit = wide_audit(rows)
        began = time.process_time()
        asked = {"protected": {"class": "a"}, "direction": "differs", "permutations": 99, "jobs": 1}
        fairtrial.scan(audit, "selection_rate", **asked)
        return time.process_time() - began

    ours(50_000)  # compiles the loops
    return [limit(f"scan of 20 attributes with 99 draws, {n:,} rows, one core", ours(n), 60.0)]

"""People with several rows (`unit=`): do transport, scan, explain and improve hold their level, and is power kept?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairtrial.methods.scan.solver.matched import MatchedTable
from fairtrial.methods.scan.solver.person_strata import PersonRows, PersonStrata
from fairtrial.methods.scan.solver.scan_table import ScanTable
from fairtrial.methods.transport.solver.gap_test import pooled_test
from fairtrial.methods.transport.solver.person_test import person_test
from fairtrial.methods.transport.solver.rate_contrasts import disjoint_families
from validity import scan_designs as designs
from validity.board import Cell
from validity.scan_rules import in_strata, p_at_most, search_of

Generator = np.random.Generator
Run = Callable[[int, Generator], np.ndarray]


def rows_of_people(
    people: int, each: int, groups: int, generator: Generator, gap: float = 0.0, spread: float = 0.25
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Person, group and decision of every row; a person's own rate lies about .4, and groups are persons' own."""
    person = np.repeat(np.arange(people), each)
    group = person % groups
    own = np.clip(0.4 + generator.uniform(-spread, spread, people) * 1.5, 0.02, 0.98)
    rate = np.clip(own[person] + gap * (group == 1), 0, 1)
    return person, group, (generator.random(person.size) < rate).astype(np.uint8)


def transport_found(people: int, each: int, groups: int, gap: float = 0.0, *, honoured: bool = True) -> Run:
    """Parity is refuted at 5%: by persons' sums, or with every row taken for a person."""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        found = np.zeros(repeats)
        nothing = np.zeros(groups - 1)
        for i in range(repeats):
            person, group, decision = rows_of_people(people, each, groups, generator, gap)
            problem = disjoint_families(group, [(range(groups), 0)], decision)
            test = person_test(problem, person, nothing, "differs") if honoured else None
            test = test or pooled_test(problem, None, nothing, "differs")
            found[i] = test.p_value <= 0.05
        return found

    return run


def transport_by_person(gap: float) -> Run:
    """The usual valid way: one decision drawn of each person, the others thrown away."""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        found = np.zeros(repeats)
        for i in range(repeats):
            person, group, decision = rows_of_people(80, 6, 2, generator, gap)
            one = np.arange(0, person.size, 6)
            problem = disjoint_families(group[one], [(range(2), 0)], decision[one])
            found[i] = pooled_test(problem, None, np.zeros(1), "differs").p_value <= 0.05
        return found

    return run


_TWO = "80 people with 6 decisions each, own rates of .4 ± .37, two groups"
TRANSPORT: list[Cell] = [
    Cell("transport", "repeated people, two groups", _TWO, "size", transport_found(80, 6, 2),
         covers=("transport.p_value",)),
    Cell("transport", "repeated people, rows taken as people", _TWO, "size",
         transport_found(80, 6, 2, honoured=False), variant="paper", counterpart="repeated people, two groups"),
    Cell("transport", "repeated people, few of them", "24 people with 10 decisions each, two groups", "size",
         transport_found(24, 10, 2), short=0),
    Cell("transport", "repeated people, four groups", "120 people with 5 decisions each, four groups", "size",
         transport_found(120, 5, 4)),
    Cell("transport", "repeated people, power", "80 people with 6 decisions each, 15 points", "power",
         transport_found(80, 6, 2, 0.15), nominal=0.5, rival=transport_by_person(0.15),
         rival_name="one decision of each person"),
]  # fmt: skip


# -- scan -------------------------------------------------------------------------------------------------------------
def scanned_people(
    generator: Generator, people: int, planted: float = 0.0, *, wander: bool = False
) -> tuple[ScanTable, PersonRows]:
    """Up to five rows of each person, whose own rate varies; `wander`: the last attribute differs from row to row."""
    own_codes, linear = designs.covariates(generator, people)
    if wander:  # what is not the person's own tells neither class nor event
        linear = linear - 0.7 * (own_codes[:, 2] - 1.0)
    protected = generator.random(people) < designs.expit(linear)
    person = np.repeat(np.arange(people), generator.integers(1, 6, people))
    codes = own_codes[person]
    if wander:
        codes[:, 2] = generator.integers(0, 3, person.size)
    hit = protected & (own_codes[:, 0] == 1) & (own_codes[:, 1] == 0)
    rate = designs.expit(0.6 * linear + 1.5 * generator.standard_normal(people) + planted * hit)[person]
    event = (generator.random(person.size) < rate).astype(np.float64)
    table = designs.table_of(codes, protected[person], event)
    assert table.row_atom is not None
    return table, PersonRows(
        atom=table.row_atom, person=person, count=np.ones(person.size), protected=protected[person]
    )


def scan_found(people: int, planted: float = 0.0, *, honoured: bool = True, wander: bool = False) -> Run:
    """The best subgroup's p is at most .05: whole persons dealt to the class, or row by row."""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        found = np.zeros(repeats)
        for i in range(repeats):
            table, rows = scanned_people(generator, people, planted, wander=wander)
            base, draw = in_strata(table)
            if honoured:
                persons = PersonStrata.of(table, MatchedTable.of(table), rows)
                base, draw = persons, persons.drawn()  # type: ignore[assignment]
            found[i] = p_at_most(base, draw, search_of(table, base), ("above",), generator)
        return found

    return run


def scan_one_row(planted: float) -> Run:
    """The usual valid way: one row of each person."""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        found = np.zeros(repeats)
        for i in range(repeats):
            table, rows = scanned_people(generator, 400, planted)
            _, first = np.unique(rows.person, return_index=True)
            atom = rows.atom[first]
            codes = table.searched_codes[table.atom_cell[atom]]
            own = designs.table_of(codes, rows.protected[first], table.atom_event[atom])
            base, draw = in_strata(own)
            found[i] = p_at_most(base, draw, search_of(own, base), ("above",), generator)
        return found

    return run


_SCANNED = "400 people with one to five rows, own log-odds spread by 1.5, class depends on the features"
SCAN: list[Cell] = [
    Cell("scan", "repeated people", _SCANNED, "size", scan_found(400), covers=("scan.p_value",)),
    Cell("scan", "repeated people, rows dealt out one by one", _SCANNED, "size", scan_found(400, honoured=False),
         variant="paper", counterpart="repeated people"),
    Cell("scan", "repeated people, features that change", f"{_SCANNED}; one feature differs from row to row", "size",
         scan_found(400, wander=True), short=0),
    Cell("scan", "repeated people, power", "400 people with one to five rows, log-odds 1.8 higher for a quarter",
         "power", scan_found(400, 1.8), nominal=0.5, rival=scan_one_row(1.8), rival_name="one row of each person"),
]  # fmt: skip

"""People with several rows (`unit=`): do transport, scan, explain and improve hold their level, and is power kept?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from inside.improve import accuracy_components
from inside.inference import Utility, adverse_levels, bootstrap_levels, by_person, level_cells
from inside.scan import MatchedTable, PersonRows, PersonStrata, ScanTable
from inside.transport import disjoint_families, person_test, pooled_test
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


# -- improve ----------------------------------------------------------------------------------------------------------
def improve_found(
    people: int, each: int, gain: float = 0.0, *, honoured: bool = True, one: bool = False
) -> Run:
    """The new rule is called as accurate as the old one, which it is to within `gain`; persons gain or lose as a whole.

    Of every person some rows are decided otherwise by the new rule, rightly with a chance of their own.
    """

    def run(repeats: int, generator: Generator) -> np.ndarray:
        found = np.zeros(repeats)
        for i in range(repeats):
            person = np.repeat(np.arange(people), each)
            right = generator.beta(0.6, 0.6, people)[person] < 0.5 * (1 - gain)
            changed = generator.random(person.size) < 0.4
            old = np.where(changed, right, generator.random(person.size) < 0.7).astype(float)
            new = np.where(changed, ~right, old).astype(float)
            keep = np.arange(0, person.size, each) if one else np.arange(person.size)
            ones = np.ones(keep.size)
            group, utilities = (
                np.zeros(keep.size, dtype=np.int64),
                [Utility(name="accuracy", u0=old[keep], w0=ones, u1=new[keep], w1=ones)],
            )
            most = 1.0
            if honoured and not one:
                group, utilities = by_person(person[keep], group, utilities)
                most = float(each)
            cells = level_cells(group, 1, utilities)
            levels = bootstrap_levels(cells, 200, generator)
            worst = most * np.tile(np.array([[1.0, 1.0], [0.0, 1.0]]), (2, 1, 1))
            adverse = adverse_levels(cells, 0, worst, 200, generator)
            (part,) = accuracy_components(
                levels, 0, ["all", "everyone"], kind="absolute", weights=None, adverse=adverse
            )
            found[i] = part.p_value(0.0) <= 0.05
        return found

    return run


_IMPROVED = (
    "100 people with 6 decisions each, 40% decided otherwise, persons gain or lose as a whole, no net gain"
)
IMPROVE: list[Cell] = [
    Cell("improve", "repeated people, accuracy at the edge", _IMPROVED, "size", improve_found(100, 6)),
    Cell("improve", "repeated people, rows drawn one by one", _IMPROVED, "size", improve_found(100, 6, honoured=False),
         variant="paper", counterpart="repeated people, accuracy at the edge"),
    Cell("improve", "repeated people, few of them", "40 people with 8 decisions each, no net gain", "size",
         improve_found(40, 8), short=0),
    Cell("improve", "repeated people, power", "100 people with 6 decisions each, gains prevail", "power",
         improve_found(100, 6, 0.35), nominal=0.5, rival=improve_found(100, 6, 0.35, one=True),
         rival_name="one decision of each person"),
]  # fmt: skip

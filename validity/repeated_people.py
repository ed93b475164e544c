"""People with several rows (`unit=`): do transport, scan, explain and improve hold their level, and is power kept?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairtrial.methods.transport.solver.gap_test import person_test, pooled_test
from fairtrial.methods.transport.solver.rate_contrasts import disjoint_families
from validity.board import Cell

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

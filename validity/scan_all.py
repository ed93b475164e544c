"""Validity of scan of every class: when no class matters, how often does any scan remain after Holm?

Every value of every sensitive attribute is scanned in turn, the other attributes building the subgroups. The p-value
is Besag and Clifford's sequential one, with the draws and the number of exceedances that such a scan uses; drawn in
smaller portions here, which leaves it the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from inside.inference import holm
from inside.scan import ENOUGH_EXCEEDANCES, ContrastDraw, CountedRows, MatchedSearch, ScanTable, build_table
from validity.board import Cell
from validity.printed_numbers import printed
from validity.scan_rules import Prepared, in_strata, search_of
from validity.whole_functions import lines

Generator = np.random.Generator
Codes = NDArray[np.int64]
# attributes' codes with their numbers of values, the event, and who is scanned
People = tuple[Codes, Codes, NDArray[np.float64], NDArray[np.bool_]]
Null = Callable[[ScanTable], Prepared]
ALPHA = 0.05
PORTION = 40


def people(
    generator: Generator,
    rows: int = 400,
    arity: tuple[int, ...] = (2, 3),
    dependence: float = 0.0,
    rate: float = 0.4,
    conditional: bool = False,
) -> People:
    """Events that ignore every attribute; with `dependence` the other attributes often follow the first."""
    first = generator.integers(0, arity[0], rows)
    columns = [first]
    for count in arity[1:]:
        own = generator.integers(0, count, rows)
        columns.append(np.where(generator.random(rows) < dependence, first % count, own))
    scanned = generator.random(rows) < 0.6 if conditional else np.ones(rows, dtype=bool)
    event = (generator.random(rows) < rate).astype(np.float64)
    return np.stack(columns, axis=1).astype(np.int64), np.array(arity, dtype=np.int64), event, scanned


def p_values(drawn: People, generator: Generator, null: Null = in_strata) -> NDArray[np.float64]:
    """One sequential p-value per value of every attribute."""
    codes, arity, event, scanned = drawn
    most = int(np.ceil(20 * arity.sum() / ALPHA)) - 1
    found = []
    for attribute, values in enumerate(arity):
        others = [a for a in range(arity.size) if a != attribute]
        for value in range(values):
            rows = CountedRows(
                codes=codes[:, others], protected=codes[:, attribute] == value, event=event, scanned=scanned,
                condition=None, count=np.ones(len(event)),
            )  # fmt: skip
            table = build_table(rows, arity=arity[others])
            base, draw = null(table)
            search = search_of(table, base)
            observed = float(search.maxima(*base.observed())[0])
            found.append(_sequential(search, draw, observed, most, generator))
    return np.array(found)


def _sequential(
    search: MatchedSearch, draw: ContrastDraw, observed: float, most: int, generator: Generator
) -> float:
    """Stop at the twentieth draw that reaches the observed score, or at `most`."""
    threshold = observed - 1e-9 * (1.0 + abs(observed))
    reached = drawn = 0
    portion = PORTION
    while drawn < most:
        size = min(portion, most - drawn)
        scores = search.maxima(*draw(size, generator))
        hits = np.flatnonzero(scores >= threshold)
        if reached + hits.size >= ENOUGH_EXCEEDANCES:
            return ENOUGH_EXCEEDANCES / (drawn + int(hits[ENOUGH_EXCEEDANCES - reached - 1]) + 1)
        reached, drawn, portion = reached + hits.size, drawn + size, 2 * portion
    return (1 + reached) / (1 + most)


def any_found(
    repeats: int,
    generator: Generator,
    *,
    make: Callable[[Generator], People],
    adjust: bool = True,
    null: Null = in_strata,
) -> NDArray[np.float64]:
    errors = np.zeros(repeats)
    for repeat in range(repeats):
        p = p_values(make(generator), generator, null)
        errors[repeat] = (holm(p) if adjust else p).min() <= ALPHA
    return errors


def _cell(name: str, design: str, run: object, **more: object) -> Cell:
    covers = ("scan.p_value", "scan.p_adjusted")
    return Cell("scan_all", name, design, "size", run, covers=covers, **more)  # type: ignore[arg-type]


_FIVE = "5 scans of two independent attributes, 400 people"
_DEPENDENT = "5 scans of two attributes of which one often follows the other, 400 people"

CELLS: list[Cell] = [
    _cell("no scan remains", _FIVE, partial(any_found, make=people)),
    _cell("every scan at its own 5%", _FIVE, partial(any_found, make=people, adjust=False), variant="paper",
          counterpart="no scan remains"),
    _cell("no scan remains, dependent attributes", _DEPENDENT,
          partial(any_found, make=partial(people, dependence=0.6))),
    _cell("no scan remains, rare events", "5 scans of two attributes, events of 4%, 600 people",
          partial(any_found, make=partial(people, rows=600, rate=0.04))),
    _cell("no scan remains, among those scanned", "5 scans of two attributes among 60% of 400 people",
          partial(any_found, make=partial(people, conditional=True))),
    _cell("no scan remains, three attributes", "6 scans of three attributes of two values, 400 people",
          partial(any_found, make=partial(people, arity=(2, 2, 2), dependence=0.3))),
    *lines("scan_all"),
    *printed("scan_all"),
]  # fmt: skip

"""How a repeat of the scan's lines is decided: 99 draws, the matched and the article's score, and exact sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from inside.scan import (
    ContrastDraw,
    Direction,
    MatchedSearch,
    MatchedTable,
    PersonTable,
    ScanTable,
    attributes_of,
    contrast_of,
    distinct_rows,
    fit_class,
    fit_event,
    matched,
    plan_matched,
    totals,
    usual_price,
)

FloatArray = NDArray[np.float64]
Make = Callable[[np.random.Generator], ScanTable]
People = Callable[
    [np.random.Generator], tuple[NDArray[np.int64], NDArray[np.bool_], FloatArray, FloatArray]
]  # codes, class, log-odds of the score, outcome
Prepared = tuple[MatchedTable | PersonTable, ContrastDraw]
DRAWS = 99
STAGES = (11, 22, 66)  # the 99 draws, in portions between which a decided repeat stops
LEVEL = 0.05


def in_strata(table: ScanTable) -> Prepared:
    """The stratified null: the class dealt out anew within strata."""
    own = MatchedTable.of(table)
    return own, matched.stratified(own)


def by_models(table: ScanTable) -> Prepared:
    """The propensity null: classes drawn from the fitted model with its selected blocks."""
    persons = PersonTable.of(table, fit_class(table).rates, fit_event(table).rates)
    return persons, persons.drawn_class()


def by_ladder(table: ScanTable) -> Prepared:
    """The null that the product takes where none is named."""
    from inside.scan import rung_of

    return in_strata(table) if rung_of("ladder", table).name == "stratified" else by_models(table)


def by_bootstrap(table: ScanTable) -> Prepared:
    """Events drawn from the fitted model, which is no null of the product: it holds only if that model is right."""
    own = MatchedTable.of(table)
    return own, drawn_events(table, own, fit_event(table).rates)


def drawn_events(scan_table: ScanTable, table: MatchedTable, rates: FloatArray) -> ContrastDraw:
    """Draw the events of every cell from rates that are blind to the class; real events add drawn residuals."""
    atoms = table.part_atoms
    cells, index = np.unique(scan_table.atom_cell[atoms], return_inverse=True)
    index = index.reshape(-1)
    sizes = [
        totals(index, people[atoms], len(cells))
        for people in (scan_table.atom_protected, scan_table.atom_comparison)
    ]
    stratum = distinct_rows(scan_table.cell_stratum[cells])[0]
    strata = table.strata
    fitted = rates[cells]
    residuals = np.repeat(
        scan_table.atom_event[atoms] - rates[scan_table.atom_cell[atoms]],
        scan_table.atom_total[atoms].astype(np.int64),
    )
    residuals = residuals - residuals.mean()

    def one_class(people: FloatArray, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Sums and squares of the events drawn for one class, per stratum."""
        counts = people.astype(np.int64)
        if not scan_table.real_valued:
            events = totals(stratum, generator.binomial(counts, fitted).astype(np.float64), strata)
            return events, events
        of = np.repeat(np.arange(len(counts)), counts)
        values = fitted[of] + generator.choice(residuals, len(of))
        return totals(stratum[of], values, strata), totals(stratum[of], values**2, strata)

    people = [totals(stratum, size, strata) for size in sizes]

    def draw(draws: int, generator: np.random.Generator) -> matched.Contrast:
        drawn = [[one_class(size, generator) for size in sizes] for _ in range(draws)]
        inside = np.array([one[0][0] for one in drawn])
        total = inside + np.array([one[1][0] for one in drawn])
        squares = np.array([one[0][1] + one[1][1] for one in drawn])
        found = contrast_of(people[0], inside, (people[0] + people[1], total, squares))
        return matched.Contrast(table.per_cell(found.gain), table.per_cell(found.variance))

    return draw


def rejects(
    repeats: int,
    generator: np.random.Generator,
    *,
    make: Make,
    null: Callable[[ScanTable], Prepared] = in_strata,
    directions: tuple[Direction, ...] = ("above",),
    ordered: tuple[int, ...] = (),
) -> FloatArray:
    """Whether p ≤ 5% by the matched score, with (1 + b)/(1 + 99)."""
    errors = np.zeros(repeats)
    for repeat in range(repeats):
        table = make(generator)
        base, draw = null(table)
        errors[repeat] = p_at_most(base, draw, search_of(table, base, ordered), directions, generator)
    return errors


def search_of(
    table: ScanTable, base: MatchedTable | PersonTable, ordered: tuple[int, ...] = ()
) -> MatchedSearch:
    in_order = np.isin(np.arange(table.searched), ordered)
    attributes = attributes_of(table.searched_arity, in_order)
    return plan_matched(attributes, base.codes, usual_price(attributes))


def p_at_most(
    base: MatchedTable | PersonTable,
    draw: ContrastDraw,
    search: MatchedSearch,
    directions: tuple[Direction, ...],
    generator: np.random.Generator,
) -> bool:
    def best(contrast: matched.Contrast) -> FloatArray:
        sides = [contrast.gain if side == "above" else -contrast.gain for side in directions]
        return np.max([search.maxima(side, contrast.variance) for side in sides], axis=0)  # type: ignore[no-any-return]

    observed = float(best(base.observed())[0])
    threshold = observed - 1e-9 * (1.0 + abs(observed))
    allowed = int(LEVEL * (DRAWS + 1)) - 1
    reached = 0
    for size in STAGES:
        reached += int((best(draw(size, generator)) >= threshold).sum())
        if reached > allowed:
            return False
    return True


def plain_scan_rejects(repeats: int, generator: np.random.Generator, *, people: People) -> FloatArray:
    """Whether p ≤ 5% by a plain bias scan of the class (MDSS; Zhang and Neill 2016), downwards.

    It takes the score for the true rate: odds q times the score's against the score's, for every subgroup of listed
    values, and outcomes drawn by the score for the null.
    """
    odds = np.linspace(-3.0, 0.0, 121)
    found = np.zeros(repeats)
    for repeat in range(repeats):
        codes, protected, logs, event = people(generator)
        rate = 1.0 / (1.0 + np.exp(-logs[protected]))
        member = _every_subgroup(codes[protected])
        outcomes = np.concatenate([event[None, protected], generator.random((DRAWS, rate.size)) < rate])
        spent = member @ np.log(1.0 - rate[:, None] + rate[:, None] * np.exp(odds))
        best = ((outcomes @ member.T)[..., None] * odds - spent).max(axis=(1, 2))
        found[repeat] = (1 + np.count_nonzero(best[1:] >= best[0] - 1e-9)) / (1 + DRAWS) <= LEVEL
    return found


def _every_subgroup(codes: NDArray[np.int64]) -> FloatArray:
    """The members of every subgroup that lists some values of every attribute, one row each."""
    sides = []
    for column in codes.T:
        values = np.arange(column.max() + 1)
        sides.append(
            [
                np.isin(column, values[np.array(mask)])
                for mask in product((False, True), repeat=values.size)
                if any(mask)
            ]
        )
    return np.array([np.logical_and.reduce(parts) for parts in product(*sides)], dtype=np.float64)


# -- sizes without chance ------------------------------------------------------------------------------------------
def exact_sizes(repeats: int, generator: np.random.Generator) -> FloatArray:
    """The exact error probability of p ≤ 5% with 99 draws, over a grid of strata.

    Given the sizes of the strata their events in the class are hypergeometric under the null. Every outcome is
    enumerated and scored by the search itself; p ≤ 5% when at most four of 99 draws reach its score.
    """
    del repeats, generator
    return np.array([_exact_size(*design) for design in _grid()])


def _grid() -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], bool]]:
    """Sizes, class sizes and events of three or four strata; the first attribute ordered or not."""
    sizes = {
        "even": (8, 8, 8, 8), "uneven": (20, 4, 6, 10), "tiny": (3, 4, 5, 3), "three": (12, 9, 6),
        "one large": (40, 5, 5),
    }  # fmt: skip
    for people in sizes.values():
        for share, rate in product((0.25, 0.5), (0.12, 0.3, 0.5)):
            inside = tuple(max(1, round(share * n)) for n in people)
            events = tuple(max(1, round(rate * n)) for n in people)
            for ordered in (False, True):
                yield people, inside, events, ordered


def _exact_size(
    people: tuple[int, ...], inside: tuple[int, ...], events: tuple[int, ...], ordered: bool
) -> float:
    from scipy.stats import binom, hypergeom

    possible = [
        np.arange(max(0, m + e - n), min(m, e) + 1) for n, m, e in zip(people, inside, events, strict=True)
    ]
    outcomes = np.array(list(product(*possible)), dtype=np.float64)
    n, m, e = (np.array(part, dtype=np.float64) for part in (people, inside, events))
    law = np.prod(
        [hypergeom.pmf(outcomes[:, s], people[s], events[s], inside[s]) for s in range(len(people))], axis=0
    )
    found = contrast_of(m, outcomes, (n, e, e))
    codes = np.arange(len(people))[:, None]
    arity = np.array([len(people)])
    if len(people) == 4:
        codes, arity = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([2, 2])
    in_order = np.arange(len(arity)) == (0 if ordered else -1)
    search = plan_matched(attributes_of(arity, in_order), codes, 1.0)
    scores = np.round(
        search.maxima(found.gain, found.variance[:1] if found.variance.ndim > 1 else found.variance[None]), 9
    )
    reach = np.array([law[scores >= score].sum() for score in np.unique(scores)])
    tail = reach[np.searchsorted(np.unique(scores), scores)]
    return float((law * binom.cdf(int(LEVEL * (DRAWS + 1)) - 1, DRAWS, np.minimum(tail, 1.0))).sum())


# -- the article's score -------------------------------------------------------------------------------------------
def article_rejects(
    repeats: int,
    generator: np.random.Generator,
    *,
    make: Make,
    null: Callable[[ScanTable], object] | None = None,
    doubly_robust: bool = False,
    directions: tuple[Direction, ...] = ("above",),
) -> FloatArray:
    """The same by the article's score, refitted in every draw; its stratified null unless another is given."""
    from inside.papers import Expectations, prepare, scan_draws, scan_observed, stratified

    errors = np.zeros(repeats)
    for repeat in range(repeats):
        how = Expectations(ridge=0.01, doubly_robust=doubly_robust)
        setup = prepare(make(generator), how=how, directions=directions)
        draw = (null or stratified)(setup.table)
        observed = scan_observed(setup).found[0].score
        threshold, reached = observed - 1e-9 * (1.0 + abs(observed)), 0
        for size in STAGES:
            drawn = draw(size, generator)  # type: ignore[operator]
            reached += int((scan_draws(setup, drawn, generator) >= threshold).sum())
            if reached > int(LEVEL * (DRAWS + 1)) - 1:
                break
        errors[repeat] = reached <= int(LEVEL * (DRAWS + 1)) - 1
    return errors

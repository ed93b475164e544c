"""A scan by the matched score: strata or fitted models, the search, the draws, and what it tells of a subgroup."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairtrial._errors import Fault, Named, NotApplicable, Note, Set, Words
from fairtrial._results.text import counted
from fairtrial._scan.request import ScanRequest
from fairtrial._scan.scan_data import ScanData
from fairtrial._scan.solver import matched
from fairtrial._scan.solver.blocks import SMALL_TABLE, THIN
from fairtrial._scan.solver.matched import MatchedTable
from fairtrial._scan.solver.matched_search import MatchedSearch, Subgroup, plan_matched
from fairtrial._scan.solver.person_strata import PersonStrata
from fairtrial._scan.solver.scan_table import (
    BoolArray,
    CellMoments,
    FloatArray,
    ScanTable,
    neighbours_apart,
    observed_moments,
    totals,
)
from fairtrial._scan.solver.value_sets import Direction, FoundSubgroup, usual_price


# -- Sizes and rates of a subgroup in both classes, as every score tells them.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rates:
    """Sizes and rates of a set of cells in both classes.

    `expected` is what comparable people outside the class get, and `difference` how far the class is from it, both
    over the people who have a counterpart; `unsupported` have none.
    """

    n: int
    rate: float | None
    expected: float | None
    difference: float | None
    target_n: int
    target_rate: float | None
    target_expected: float | None
    unsupported: int


def share(total: FloatArray, people: FloatArray, inside: BoolArray) -> float | None:
    """A mean over the cells inside; None where there is nobody."""
    n = float(people[inside].sum())
    return float(total[inside].sum()) / n if n > 0 else None


def people_of(sums: CellMoments, inside: BoolArray) -> tuple[int, int]:
    """How many are in the class, and how many outside it."""
    return round(float(sums.protected[0][inside].sum())), round(float(sums.comparison[0][inside].sum()))


def gap(rate: float | None, expected: float | None) -> float | None:
    return None if rate is None or expected is None else rate - expected


# Less of the class than this in strata that can move: the ladder goes on to fitted models. Planted biases were found
# by strata and by models in .37 and .48 of the data sets where 95% could move, .33 and .37 (60%), .48 and .78 (41%),
# .28 and .40 (42%), .25 and .57 (22%), .13 and .50 (10%).
FEW_MOVE = 0.5
# Strata of neighbouring scores further apart than this (`neighbours_apart`) are left for fitted models. With calibrated
# scores that a class has 1.5 logits lower, strata found a bias in .058 (at .15), .065 (.3), .83 (3.3) and .92 (3.8).
FAR_APART = 0.1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rung:
    """The null that is drawn from, the strata, and how much of the class can move within them."""

    name: str
    by_ladder: bool
    matched: MatchedTable
    share: float
    on_score: bool
    far_apart: bool = False  # scores within the strata

    def note(self, model: str = "", thin: int = 0) -> Note:
        """What the draws assume; `model` says which one was fitted, `thin` how many tables were not looked at."""
        if self.name == "stratified":
            return self._stratified()
        few = f"Only {100 * self.share:.0f}% of the protected class is in strata that can move:"
        if self.far_apart:
            few = "People with the same features are too few for strata of nearly the same score:"
        why = f"{few} second rung of the ladder. " if self.by_ladder else ""
        drawn = (
            f"{why}Propensity null: classes are drawn from a fitted P(class | features, condition) ({model})."
        )
        holds = (
            "Holds if the model of the class or that of the event is right; looked for up to three-way tables"
        )
        few = f"{counted(thin, 'table')} of more than {SMALL_TABLE} cells with fewer than {THIN:.0f} people each"
        holds += f", but {few} {'was' if thin == 1 else 'were'} not looked at." if thin else "."
        return Note("null-propensity", f"{drawn} {holds}")

    def _stratified(self) -> Note:
        strata, moving = self.matched.strata, int(self.matched.moves().sum())
        within = "features and neighbouring scores" if self.on_score else "features and condition"
        text = (
            f"Stratified null: class membership is permuted among people with the same {within}; "
            f"{100 * self.share:.0f}% of the protected class is in strata that can move "
            f"({moving:,} of {counted(strata, 'stratum', 'strata')})."
        )
        if self.share < FEW_MOVE:
            text += " The others say nothing about the class, so weak findings may be missed."
        if self.far_apart:
            text += (
                " Scores within a stratum lie far apart: a class with other scores can look treated differently "
                "where it is not. The propensity null does not rest on that."
            )
        return Note("null-stratified", text)


def rung_of(null: str | None, table: ScanTable) -> Rung:
    """The null that was named; the ladder's rung goes by the strata's sizes and scores alone."""
    strata = MatchedTable.of(table)
    share = strata.share_that_moves()
    far_apart = table.on_score and neighbours_apart(table) > FAR_APART
    by_ladder = null in ("ladder", None)
    if null is None or null == "ladder":
        null = "propensity" if share < FEW_MOVE or far_apart else "stratified"
    return Rung(
        name=null,
        by_ladder=by_ladder,
        matched=strata,
        share=share,
        on_score=table.on_score,
        far_apart=far_apart,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Models:
    """ê and m̂ of every cell, and in words what they are."""

    chance: FloatArray
    rates: FloatArray
    words: str
    thin: int = 0  # tables that were not looked at


def fitted_models(table: ScanTable, names: tuple[str, ...] = ()) -> Models:
    """ê = P(class | X, C), which sees no event, and m̂ = E(event | X, C), which sees no class."""
    from fairtrial._scan.solver.blocks import fit_class, fit_event

    of_class, of_event = fit_class(table), fit_event(table)
    words = f"class: {_blocks(of_class.blocks, names)}; event: {_blocks(of_event.blocks, names)}"
    return Models(chance=of_class.rates, rates=of_event.rates, words=words, thin=of_class.thin)


def _blocks(blocks: tuple[tuple[int, ...], ...], names: tuple[str, ...]) -> str:
    """Main effects and the blocks, by the names of their attributes."""
    if not blocks:
        return "main effects"
    listed = [" × ".join(names[j] if j < len(names) else "condition" for j in block) for block in blocks]
    return f"main effects and tables of {', '.join(listed)}"


_PEOPLE_AT_ONCE = 4_000_000


class MatchedScan:
    """One scan by the matched score."""

    sigma: float | None = None

    no_model = "the matched score has no model"
    driven = ""

    def __init__(self, request: ScanRequest, data: ScanData) -> None:
        self.request, self.table, self.attributes = request, data.table, data.attributes(request.ranges)
        null = request.null
        if data.persons is not None:
            _refuse_models_of_persons(request)
            null = null and "stratified"
        self.rung = rung_of(null, self.table)
        if data.persons is not None and null and self.rung.far_apart:
            raise _too_far_apart(request)
        self.models: Models | None = None
        self.base: matched.MatchedTable | matched.PersonTable | PersonStrata = self.rung.matched
        if self.rung.name == "propensity":
            names = (*(request.features or ("",)), *request.within)
            self.models = fitted_models(self.table, names)
            both = self.models.chance, self.models.rates
            self.base = matched.PersonTable.of(self.table, *both, self.rung.matched)
        if data.persons is not None:
            self.base = PersonStrata.of(self.table, self.rung.matched, data.persons)
        self.sums = observed_moments(self.table)

    @cached_property
    def plan(self) -> MatchedSearch:
        asked = self.request.penalty
        price = usual_price(self.attributes) if asked is None else float(asked)
        plan = plan_matched(self.attributes, self.base.codes, price, self.request.search)
        if plan.work > plan.limit or (plan.depth is None and plan.alternating):
            steps = f"would take {plan.work:.3g} steps per draw (the limit is {plan.limit:,.0f})"
            if plan.depth is None and plan.alternating:
                steps = "cannot go through two features of more than 12 values each"
            subject = "an exact search" if plan.depth is None else "a search of every two features"
            cure = "use fewer features or coarser bins"
            raise NotApplicable(self.request.who, Fault("features", steps, subject=subject, cure=cure))
        return plan

    @property
    def search(self) -> str:
        """'exact' is a proof over all subgroups, 'depth 2' over those that restrict at most two attributes."""
        return "exact" if self.plan.depth is None else "depth 2"

    @property
    def steps(self) -> float:
        return self.plan.work

    def subgroups(self, found: FoundSubgroup | None = None) -> float:
        """How many subgroups the search was over; for one from a deeper climb, how many there are."""
        deeper = found is not None and not found.tested
        return self.plan.all_subgroups if deeper else self.plan.subgroups

    # -- search and draws ---------------------------------------------------------------------------------------
    def find(self, top: int, seed: int) -> list[FoundSubgroup]:
        """The best subgroups of the data, best first; after them where deeper climbs came to, which is not tested."""
        del seed  # nothing is drawn
        contrast = self.base.observed()
        variance = contrast.variance[0]
        people = self._people()
        found, deeper = [], []
        for direction in self.request.directions:
            gain = contrast.gain[0] if direction == "above" else -contrast.gain[0]
            best = self.plan.ranked(gain, variance, people, top)
            found += [_found(one, direction) for one in best]
            if self.plan.depth is not None:
                climbed = self.plan.climb(gain, variance, best[0])
                if climbed.depth > 2 and climbed.score > best[0].score:
                    deeper.append(replace(_found(climbed, direction), tested=False))
        found.sort(key=lambda one: -one.score)
        return found[:top] + sorted(deeper, key=lambda one: -one.score)

    def _people(self) -> FloatArray:
        """The class's people of every searched cell."""
        strata = self.rung.matched
        return totals(strata.stratum_cell[strata.part_stratum], strata.part_protected, len(strata.codes))

    def batch(self) -> int:
        """Draws per batch; never depends on the number of jobs."""
        return int(np.clip(_PEOPLE_AT_ONCE // max(1, len(self.table.atom_cell)), 1, 50))

    @cached_property
    def draw(self) -> matched.ContrastDraw:
        if isinstance(self.base, PersonStrata):
            return self.base.drawn()
        if isinstance(self.base, matched.PersonTable):
            return self.base.drawn_class()
        return matched.stratified(self.base)

    def draw_scores(self, count: int, generator: np.random.Generator) -> FloatArray:
        """The best scores of data in which the class does not matter; every draw is searched as the data were."""
        drawn = self.draw(count, generator)
        sides = tuple(1 if direction == "above" else -1 for direction in self.request.directions)
        return self.plan.maxima(drawn.gain, drawn.variance, sides)

    # -- what is told -------------------------------------------------------------------------------------------
    @property
    def searched_cells(self) -> BoolArray:
        """The cells that subgroups are built of."""
        return self.table.cell_scanned

    @property
    def has_odds(self) -> bool:
        """Whether the shift is one of log-odds: of mean scores and of persons' sums there are none."""
        return not self.request.real_valued

    @property
    def by_models(self) -> bool:
        """Whether comparable people are found by fitted models rather than in strata."""
        return isinstance(self.base, matched.PersonTable)

    @cached_property
    def supported(self) -> BoolArray:
        """Cells with a counterpart: somebody outside the class in the stratum, or (by models) in the X cell."""
        home = self.table.cell_x if self.by_models else self.table.cell_stratum
        others = totals(home, self.sums.comparison[0] * self.table.cell_scanned, int(home.max()) + 1)
        return np.asarray(others[home] > 0)

    @cached_property
    def _odds(self) -> FloatArray:
        """How often each comparison person of a cell counts for people like them in the class."""
        if self.models is not None and self.by_models:
            return self.models.chance / (1.0 - self.models.chance)
        home, size = self.table.cell_stratum, int(self.table.cell_stratum.max()) + 1
        scanned = self.table.cell_scanned
        inside = totals(home, self.sums.protected[0] * scanned, size)
        others = totals(home, self.sums.comparison[0] * scanned, size)
        return np.divide(inside, others, out=np.zeros(size), where=others > 0)[home]

    @cached_property
    def _like_the_class(self) -> tuple[FloatArray, FloatArray]:
        """Events and people outside the class, weighted to be like those in it."""
        return self._odds * self.sums.comparison_events[0], self._odds * self.sums.comparison[0]

    def rates(self, inside: BoolArray) -> Rates:
        """Expected is the rate of people outside the class, weighted to be like those in it."""
        sums = self.sums
        n, others = people_of(sums, inside)
        matched_cells = inside if self.by_models else inside & self.supported
        expected = share(*self._like_the_class, inside)
        of_matched = share(sums.protected_events[0], sums.protected[0], matched_cells)
        return Rates(
            n=n,
            rate=share(sums.protected_events[0], sums.protected[0], inside),
            expected=expected,
            difference=gap(of_matched, expected),
            target_n=others,
            target_rate=share(sums.comparison_events[0], sums.comparison[0], inside),
            target_expected=None,
            unsupported=round(float(sums.protected[0][inside & ~self.supported].sum())),
        )

    def details(self) -> dict[str, object]:
        left = self.plan.in_turn
        return {"score": "matched", **({"pairs_in_turn": left} if left else {})}

    def checks(self, words: Callable[[FoundSubgroup], str]) -> tuple[dict[str, object], list[Note]]:
        """What models of expectations rest on, for charts and in words: strata need none."""
        del words
        return {}, []

    def notes(self) -> list[Note]:
        """What luck was drawn from, and what the search was over."""
        words = "" if self.models is None else self.models.words
        null = [] if self.request.null is None else [self._null_note(words)]
        return [*null, self._search_note()]

    def _null_note(self, words: str) -> Note:
        if not isinstance(self.base, PersonStrata):
            return self.rung.note(words, 0 if self.models is None else self.models.thin)
        text = (
            "Stratified null of whole persons: class membership is permuted among persons with equally many rows of "
            f"the same features and condition; {100 * self.base.share:.0f}% of the protected class is among them "
            f"({counted(self.base.exchanged, 'set')} of persons alike). n counts persons."
        )
        if self.base.share < FEW_MOVE:
            text += " The others say nothing about the class, so weak findings may be missed."
        return Note("null-stratified", text)

    def _search_note(self) -> Note:
        text, price = self._searched(), self.plan.penalty
        if self.request.penalty is None and price > 1.0:
            text += f" A listed value costs {price:.2f} of the score, since a feature has many values."
        return Note("search", text)

    def _searched(self) -> str:
        plan = self.plan
        count = f"{plan.subgroups:,.0f}" if plan.subgroups < 1e9 else f"{plan.subgroups:.2g}"
        if plan.depth is None:
            over = "the one subgroup there is" if plan.subgroups == 1 else f"all {count} subgroups"
            return f"Search: exact, a proof over {over}."
        most, pairs = f"at most two of the {len(plan.attributes)} features", len(plan.parts)
        left = plan.in_turn
        text = f"Search: all {count} subgroups that restrict {most}, in the data and in every draw"
        if left:
            text = (
                f"Search: subgroups that restrict {most}, in the data and in every draw: proved for "
                f"{pairs - left:,} of the {pairs:,} pairs of features; {counted(left, 'pair')} with more "
                f"than 12 values each {'was' if left == 1 else 'were'} solved in turn, which is no proof"
            )
        return f"{text}; of all {plan.all_subgroups:.3g} subgroups that is no proof."


def _refuse_models_of_persons(request: ScanRequest) -> None:
    """What models rows one by one, where rows belong together."""
    if request.null not in (None, "ladder", "stratified"):
        required = f"{request.null!r} draws row by row, and the unit says that rows belong together"
        cure = Words("use {}", Set("null", "stratified"))
        raise NotApplicable(request.who, Fault("null", required, cure=cure))


def _too_far_apart(request: ScanRequest) -> NotApplicable:
    """Persons have no models to go to where the scores within strata lie far apart."""
    required = (
        "has several rows for some, who are compared within strata of neighbouring scores; these lie so far apart here "
        "that a class with other scores would look treated differently"
    )
    cure = Words("keep one row of each, or search fewer {}", Named("features"))
    return NotApplicable(request.who, Fault("unit", required, cure=cure))


def _found(one: Subgroup, direction: Direction) -> FoundSubgroup:
    sign = 1.0 if direction == "above" else -1.0
    return FoundSubgroup(
        score=one.score, theta=sign * one.theta, listed=one.listed, direction=direction, values=one.values
    )

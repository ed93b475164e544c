"""A scan by the matched score: strata or fitted models, the search, the draws, and what it tells of a subgroup."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from fairtrial._errors import Fault, NotApplicable, Note, Set, Words
from fairtrial._results.text import counted
from fairtrial._scan.arguments import ScanSettings
from fairtrial._scan.rates import Rates, gap, people_of, share
from fairtrial._scan.rungs import FEW_MOVE, Models, Rung, fitted_models
from fairtrial._scan.solver import matched
from fairtrial._scan.solver.arrays import BoolArray, FloatArray
from fairtrial._scan.solver.found import Direction, Found
from fairtrial._scan.solver.matched_search import MatchedSearch, Subgroup, plan_matched
from fairtrial._scan.solver.person_strata import PersonRows, PersonStrata
from fairtrial._scan.solver.scan_table import ScanTable, observed_moments, totals
from fairtrial._scan.solver.value_sets import Attribute, usual_price

_PEOPLE_AT_ONCE = 4_000_000


class MatchedScan:
    """One scan by the matched score."""

    sigma: float | None = None

    def __init__(
        self,
        who: str,
        table: ScanTable,
        attributes: tuple[Attribute, ...],
        directions: tuple[Direction, ...],
        rung: Rung,
        settings: ScanSettings,
        names: tuple[str, ...] = (),
        persons: PersonRows | None = None,
    ) -> None:
        self.who, self.table, self.attributes = who, table, attributes
        self.directions, self.rung, self.settings = directions, rung, settings
        self.models: Models | None = None
        self.base: matched.MatchedTable | matched.PersonTable | PersonStrata = rung.matched
        if rung.name in ("propensity", "bootstrap"):
            self.models = fitted_models(who, table, settings, names)
        if self.models is not None and rung.name == "propensity":
            self.base = matched.PersonTable.of(table, self.models.chance, self.models.rates, rung.matched)
        if persons is not None:
            self.base = PersonStrata.of(table, rung.matched, persons)
        self.sums = observed_moments(table)

    @cached_property
    def plan(self) -> MatchedSearch:
        asked = self.settings.penalty
        price = usual_price(self.attributes) if asked is None else float(asked)
        plan = plan_matched(self.attributes, self.base.codes, price, self.settings.search)
        if plan.work > plan.limit or (plan.depth is None and plan.alternating):
            steps = f"would take {plan.work:.3g} steps per draw (the limit is {plan.limit:,.0f})"
            if plan.depth is None and plan.alternating:
                steps = "cannot go through two features of more than 12 values each"
            cure = Words("use {}, fewer features or coarser bins", Set("search", "depth-2"))
            subject = "an exact search" if plan.depth is None else "a search of every two features"
            raise NotApplicable(self.who, Fault("search", steps, subject=subject, cure=cure))
        return plan

    @property
    def search(self) -> str:
        """'exact' is a proof over all subgroups, 'depth 2' over those that restrict at most two attributes."""
        return "exact" if self.plan.depth is None else "depth 2"

    @property
    def steps(self) -> float:
        return self.plan.work

    def subgroups(self, found: Found | None = None) -> float:
        """How many subgroups the search was over; for one from a deeper climb, how many there are."""
        deeper = found is not None and not found.tested
        return self.plan.all_subgroups if deeper else self.plan.subgroups

    # -- search and draws ---------------------------------------------------------------------------------------
    def find(self, top: int, seed: int) -> list[Found]:
        """The best subgroups of the data, best first; after them where deeper climbs came to, which is not tested."""
        del seed  # nothing is drawn
        contrast = self.base.observed()
        variance = contrast.variance[0]
        people = self._people()
        found, deeper = [], []
        for direction in self.directions:
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
        name = self.rung.name
        if isinstance(self.base, PersonStrata):
            return self.base.drawn()
        if isinstance(self.base, matched.PersonTable):
            return self.base.drawn_class()
        if name == "global":
            return matched.whole_sample(self.table, self.base)
        if name == "bootstrap":
            assert self.models is not None
            return matched.drawn_events(self.table, self.base, self.models.rates)
        return matched.stratified(self.base)

    def draw_scores(self, count: int, generator: np.random.Generator) -> FloatArray:
        """The best scores of data in which the class does not matter; every draw is searched as the data were."""
        drawn = self.draw(count, generator)
        sides = tuple(1 if direction == "above" else -1 for direction in self.directions)
        return self.plan.maxima(drawn.gain, drawn.variance, sides)

    # -- what is told -------------------------------------------------------------------------------------------
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

    def notes(self) -> list[Note]:
        """What luck was drawn from, and what the search was over."""
        words = "" if self.models is None else self.models.words
        null = [] if self.settings.null is None else [self._null_note(words)]
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
        if self.settings.penalty is None and price > 1.0:
            text += f" A listed value costs {price:.2f} of the score, since a feature has many values."
        return Note("search", text)

    def _searched(self) -> str:
        plan = self.plan
        if plan.depth is None:
            count = f"{plan.subgroups:,.0f}" if plan.subgroups < 1e9 else f"{plan.subgroups:.2g}"
            over = "the one subgroup there is" if plan.subgroups == 1 else f"all {count} subgroups"
            return f"Search: exact, a proof over {over}."
        count = f"{plan.subgroups:,.0f}" if plan.subgroups < 1e9 else f"{plan.subgroups:.2g}"
        most, pairs, left = (
            f"at most two of the {len(plan.attributes)} features",
            len(plan.parts),
            plan.in_turn,
        )
        text = f"Search: all {count} subgroups that restrict {most}, in the data and in every draw"
        if left:
            text = (
                f"Search: subgroups that restrict {most}, in the data and in every draw: proved for "
                f"{pairs - left:,} of the {pairs:,} pairs of features; {counted(left, 'pair')} with more "
                f"than 12 values each {'was' if left == 1 else 'were'} solved in turn, which is no proof"
            )
        return f"{text}; of all {plan.all_subgroups:.3g} subgroups that is no proof."


def _found(one: Subgroup, direction: Direction) -> Found:
    sign = 1.0 if direction == "above" else -1.0
    return Found(
        score=one.score, theta=sign * one.theta, listed=one.listed, direction=direction, values=one.values
    )

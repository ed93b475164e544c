"""A scan by the article's score: expectations from logistic models, its search, its draws, and how the models fit."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from fairtrial._errors import FairtrialWarning, Fault, NotApplicable, Note, Set, Words
from fairtrial._results.text import counted
from fairtrial._scan.arguments import ScanSettings
from fairtrial._scan.rates import Rates, gap, people_of, share
from fairtrial._scan.rungs import Rung, fitted_models
from fairtrial._scan.solver import null as scan_null
from fairtrial._scan.solver import statistic
from fairtrial._scan.solver.arrays import BoolArray, FloatArray
from fairtrial._scan.solver.expectation import Expectations
from fairtrial._scan.solver.found import Direction, Found
from fairtrial._scan.solver.scan_table import ScanTable
from fairtrial._scan.solver.value_sets import Attribute, subgroup_count

SENSITIVITY = (1.0, 0.1, 0.01, 0.001)


class ArticleScan:
    """One scan by the article's score."""

    def __init__(
        self,
        who: str,
        table: ScanTable,
        attributes: tuple[Attribute, ...],
        directions: tuple[Direction, ...],
        rung: Rung,
        settings: ScanSettings,
        names: tuple[str, ...] = (),
    ) -> None:
        self.who, self.table, self.attributes = who, table, attributes
        self.directions, self.rung, self.settings, self.names = directions, rung, settings, names
        self.setup = self._prepared()
        self.plan = self.setup.plan
        self.model_words = ""

    def _prepared(self) -> statistic.ScanSetup:
        settings = self.settings
        how = Expectations(
            ridge=settings.ridge,
            doubly_robust=settings.expectation == "doubly-robust",
            of_score=settings.expectation == "score",
            event_model=None if isinstance(settings.expectation, str) else settings.expectation,
            class_model=None if isinstance(settings.propensity, str) else settings.propensity,
        )
        setup = statistic.prepare(
            self.table,
            how=how,
            directions=self.directions,
            penalty=1.0 if settings.penalty is None else float(settings.penalty),
            sigma=None if isinstance(settings.sigma, str) else float(settings.sigma),
            search=settings.search,  # type: ignore[arg-type]  # depth-2 is refused before
            restarts=settings.restarts,
            drop_unsupported=settings.unsupported == "drop",
            ordered=np.array([one.ordered and not one.apart for one in self.attributes]),
        )
        if setup.plan.exact and setup.plan.steps > statistic.EXACT_STEPS_LIMIT:
            steps = f"would take {setup.plan.steps:.3g} steps (the limit is {statistic.EXACT_STEPS_LIMIT:,})"
            cure = Words("use {}, fewer features or coarser bins", Set("search", "restarts"))
            raise NotApplicable(self.who, Fault("search", steps, subject="an exact search", cure=cure))
        return setup

    @property
    def search(self) -> str:
        return "exact" if self.plan.exact else "restarts"

    @property
    def steps(self) -> float:
        return self.plan.steps

    def subgroups(self, found: Found | None = None) -> float:
        del found
        return subgroup_count(self.attributes)

    # -- search and draws ---------------------------------------------------------------------------------------
    def find(self, top: int, seed: int) -> list[Found]:
        self.seen = statistic.scan_observed(self.setup, top=top, seed=seed)
        if self.sigma is not None and self.sigma < 1e-9:
            why = "do not vary within the classes: there is nothing to scan"
            raise NotApplicable(
                self.who, Fault("metric", why, subject="the scores", cure="Scan another metric")
            )
        return self.seen.found

    @property
    def sums(self) -> Any:
        return self.seen.sums

    @property
    def sigma(self) -> float | None:
        return self.seen.sigma

    def batch(self) -> int:
        return int(np.clip(4_000_000 // max(1, len(self.table.atom_cell)), 1, 50))

    @cached_property
    def draw(self) -> scan_null.Draw:
        name, table = self.rung.name, self.table
        if name == "stratified":
            return scan_null.stratified(table)
        if name == "global":
            return scan_null.whole_sample(table)
        models = fitted_models(self.who, table, self.settings, self.names)
        self.model_words = models.words
        if name == "propensity":
            return scan_null.drawn_class(table, models.chance)
        return scan_null.drawn_events(table, models.rates)

    def draw_scores(self, count: int, generator: np.random.Generator) -> FloatArray:
        return statistic.scan_draws(self.setup, self.draw(count, generator), generator)

    # -- what is told -------------------------------------------------------------------------------------------
    @cached_property
    def supported(self) -> BoolArray:
        """Cells with somebody outside the class who has the same features."""
        return np.asarray(statistic.supported_cells(self.table, self.sums)[0])

    def rates(self, inside: BoolArray) -> Rates:
        """Expected is what the model predicts for the class."""
        sums, expected = self.sums, self.seen.expected
        people, others = sums.protected[0], sums.comparison[0]
        n, target_n = people_of(sums, inside)
        rate, model = (
            share(sums.protected_events[0], people, inside),
            share(people * expected, people, inside),
        )
        return Rates(
            n=n,
            rate=rate,
            expected=model,
            difference=gap(rate, model),
            target_n=target_n,
            target_rate=share(sums.comparison_events[0], others, inside),
            target_expected=share(others * expected, others, inside),
            unsupported=round(float(people[inside & ~self.supported].sum())),
        )

    def worst_cell_fit(self) -> dict[str, Any]:
        """The largest gap between observed and expected over comparison cells of at least 30 people."""
        n = self.sums.comparison[0]
        big = self.table.cell_scanned & (n >= 30)
        if not big.any():
            return {"cells": 0, "gap": None, "n": None}
        gaps = np.abs(self.sums.comparison_events[0][big] / n[big] - self.seen.expected[big])
        worst = int(np.argmax(gaps))
        return {"cells": int(big.sum()), "gap": float(gaps[worst]), "n": round(float(n[big][worst]))}

    def by_ridge(self) -> list[tuple[float, Found]]:
        """The best subgroup when the ridge of the logistic models is another one."""
        if self.setup.how.event_model is not None or self.setup.how.of_score:
            return []
        found = []
        for ridge in sorted({*SENSITIVITY, self.setup.how.ridge}, reverse=True):
            other = replace(self.setup, how=replace(self.setup.how, ridge=ridge))
            found.append((ridge, statistic.scan_observed(other).found[0]))
        return found

    def details(self) -> dict[str, object]:
        return {"score": "article", "fit_worst_cell": self.worst_cell_fit()}

    def notes(self) -> list[Note]:
        """What luck was drawn from, what the search was over, and how the models fit."""
        notes = []
        if self.settings.null is not None:
            _ = self.draw  # the model is in its words
            notes.append(self.rung.note(self.model_words))
        notes += [self._search_note(), self._fit_note()]
        if self.setup.drop_unsupported:
            left_out = self.table.cell_scanned & ~self.supported
            dropped = self.sums.protected[0][left_out].sum()
            people = counted(round(dropped), "protected person", "protected people")
            were = "was" if round(dropped) == 1 else "were"
            text = f"{people} without a counterpart outside the class {were} left out of the search."
            notes.append(Note("dropped-unsupported", text, round(dropped)))
        return notes

    def _search_note(self) -> Note:
        subgroups = self.subgroups()
        if self.plan.exact:
            count = f"{subgroups:,.0f}" if subgroups < 1e9 else f"{subgroups:.2g}"
            over = "the one subgroup there is" if subgroups == 1 else f"all {count} subgroups"
            return Note("search", f"Search: exact, a proof over {over}.")
        climbs = f"{self.plan.restarts} restarts of coordinate ascent"
        text = f"Search: {climbs} over {subgroups:.3g} subgroups; not a proof."
        if self.settings.search == "auto":
            warnings.warn(f"scan: {text}", FairtrialWarning, stacklevel=7)  # the line that called scan
        return Note("search", text)

    def _fit_note(self) -> Note:
        worst = self.worst_cell_fit()
        if worst["gap"] is None:
            return Note("fit", "No comparison cell has 30 people to check the model of expectations on.")
        return Note(
            "fit",
            f"Fit of the expectations outside the class: largest gap {100 * worst['gap']:.1f} points over "
            f"{worst['cells']:,} cells of at least 30 people (that cell has {worst['n']:,}).",
        )

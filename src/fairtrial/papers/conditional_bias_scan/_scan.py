"""A scan by the article's score: expectations from logistic models, its search, its draws, and how the models fit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from fairtrial._errors import FairtrialWarning, Fault, NotApplicable, Note, Set, Words
from fairtrial._results.text import counted
from fairtrial._scan.matched_scan import Rates, fitted_models, gap, people_of, rung_of, share
from fairtrial._scan.request import ScanRequest
from fairtrial._scan.scan_data import ScanData
from fairtrial._scan.solver.scan_table import BoolArray, FloatArray, ScanTable
from fairtrial._scan.solver.value_sets import FoundSubgroup, subgroup_count
from fairtrial._scan.subgroups import MOST_CHART_VALUES
from fairtrial.papers.conditional_bias_scan import _null as scan_null
from fairtrial.papers.conditional_bias_scan import _statistic as statistic
from fairtrial.papers.conditional_bias_scan._expectation import (
    Expectations,
    NullModelName,
    pooled_propensity,
    pooled_rates,
)

SENSITIVITY = (1.0, 0.1, 0.01, 0.001)
# Columns of a pooled model above which fitting it is no longer reasonable.
MOST_COLUMNS = 3_000
_MODELS = {
    "pairwise": "all pairwise interactions",
    "saturated": "one rate per cell",
    "main": "main effects only",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleRequest(ScanRequest):
    """A scan as in the article: how expected rates are fitted, the spread of log-odds, and the climbs of the search."""

    models_condition: ClassVar[bool] = True

    sigma: float | Literal["estimated"] = 1.0
    expectation: Any = "logistic"
    propensity: Any = "logistic"
    ridge: float = 0.01
    iterations: int = 500
    unsupported: Literal["flag", "drop"] = "flag"
    null_model: NullModelName = "blocks"

    def recorded(self) -> dict[str, Any]:
        """As results record it: a classifier with its own settings."""
        models = {"expectation": self.expectation, "propensity": self.propensity}
        told = {name: model if isinstance(model, str) else repr(model) for name, model in models.items()}
        return ScanRequest.recorded(self) | told


class ArticleScan:
    """One scan by the article's score."""

    no_model = "nobody outside the class"
    driven = ": the score is driven by them and by the ridge"
    by_models = True
    has_odds = True

    def __init__(self, request: ArticleRequest, data: ScanData) -> None:
        self.request, self.data, self.table = request, data, data.table
        self.attributes = data.attributes(request.ranges)
        self.rung = rung_of(request.null, self.table)
        self.setup = self._prepared()
        self.plan = self.setup.plan
        self.model_words = ""

    def _prepared(self) -> statistic.ScanSetup:
        asked = self.request
        how = Expectations(
            ridge=asked.ridge,
            doubly_robust=asked.expectation == "doubly-robust",
            of_score=asked.expectation == "score",
            event_model=None if isinstance(asked.expectation, str) else asked.expectation,
            class_model=None if isinstance(asked.propensity, str) else asked.propensity,
        )
        setup = statistic.prepare(
            self.table,
            how=how,
            directions=asked.directions,
            penalty=1.0 if asked.penalty is None else float(asked.penalty),
            sigma=None if isinstance(asked.sigma, str) else float(asked.sigma),
            search=asked.search,  # type: ignore[arg-type]  # the declaration names these three
            restarts=asked.iterations,
            drop_unsupported=asked.unsupported == "drop",
            ordered=np.array([one.ordered and not one.apart for one in self.attributes]),
        )
        if setup.plan.exact and setup.plan.steps > statistic.EXACT_STEPS_LIMIT:
            steps = f"would take {setup.plan.steps:.3g} steps (the limit is {statistic.EXACT_STEPS_LIMIT:,})"
            cure = Words("use {}, fewer features or coarser bins", Set("search", "restarts"))
            raise NotApplicable(asked.who, Fault("search", steps, subject="an exact search", cure=cure))
        return setup

    @property
    def search(self) -> str:
        return "exact" if self.plan.exact else "restarts"

    @property
    def steps(self) -> float:
        return self.plan.steps

    def subgroups(self, found: FoundSubgroup | None = None) -> float:
        del found
        return subgroup_count(self.attributes)

    # -- search and draws ---------------------------------------------------------------------------------------
    def find(self, top: int, seed: int) -> list[FoundSubgroup]:
        self.seen = statistic.scan_observed(self.setup, top=top, seed=seed)
        if self.sigma is not None and self.sigma < 1e-9:
            why = "do not vary within the classes: there is nothing to scan"
            raise NotApplicable(
                self.request.who, Fault("metric", why, subject="the scores", cure="Scan another metric")
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
        table = self.table
        if self.rung.name == "stratified":
            return scan_null.stratified(table)
        if self.rung.name == "global":
            return scan_null.whole_sample(table)
        chance, rates, self.model_words = _null_model(self.request, table)
        if self.rung.name == "propensity":
            return scan_null.drawn_class(table, chance)
        return scan_null.drawn_events(table, rates)

    def draw_scores(self, count: int, generator: np.random.Generator) -> FloatArray:
        return statistic.scan_draws(self.setup, self.draw(count, generator), generator)

    # -- what is told -------------------------------------------------------------------------------------------
    @property
    def searched_cells(self) -> BoolArray:
        """The cells that subgroups are built of: those that are left out are not."""
        scanned = self.table.cell_scanned
        return scanned & self.supported if self.setup.drop_unsupported else scanned

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

    def by_ridge(self) -> list[tuple[float, FoundSubgroup]]:
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

    def checks(self, words: Callable[[FoundSubgroup], str]) -> tuple[dict[str, object], list[Note]]:
        """How the model fits the comparison class, and the best subgroup by ridge: for charts and in words."""
        ridge = [
            {"ridge": ridge, "score": best.score, "subgroup": words(best)} for ridge, best in self.by_ridge()
        ]
        notes = [_ridge_note(ridge, words(self.seen.found[0]))] if ridge else []
        return {"fit": self._fit_rows(), "ridge": ridge}, notes

    def _fit_rows(self) -> list[dict[str, Any]]:
        """The model in the comparison class, overall and per value: does it describe it?"""
        scanned = self.table.cell_scanned
        parts = [("everyone", "everyone", self.rates(scanned))]
        for j, (name, order) in enumerate(self.data.values.items()):
            column = self.table.column(j)
            for v, label in enumerate(order.labels[:MOST_CHART_VALUES]):
                parts.append((name, label, self.rates(scanned & (column == v))))
        return [
            {
                "attribute": name,
                "value": value,
                "n": told.target_n,
                "observed": told.target_rate,
                "expected": told.target_expected,
            }
            for name, value, told in parts
            if told.target_n
        ]

    def notes(self) -> list[Note]:
        """What luck was drawn from, what the search was over, and how the models fit."""
        notes = []
        if self.request.null is not None:
            _ = self.draw  # the model is in its words
            notes.append(self._null_note())
        notes += [self._search_note(), self._fit_note()]
        if self.setup.drop_unsupported:
            left_out = self.table.cell_scanned & ~self.supported
            dropped = self.sums.protected[0][left_out].sum()
            people = counted(round(dropped), "protected person", "protected people")
            were = "was" if round(dropped) == 1 else "were"
            text = f"{people} without a counterpart outside the class {were} left out of the search."
            notes.append(Note("dropped-unsupported", text, round(dropped)))
        return notes

    def _null_note(self) -> Note:
        if self.rung.name == "stratified":
            return self.rung.note()
        if self.rung.name == "global":
            text = (
                "Global null, as in the article: class membership is permuted over everybody. It is wrong when the "
                "class depends on the features; use it to reproduce published numbers only."
            )
            return Note("null-global", text)
        drawn = f"classes are drawn from a fitted P(class | features, condition) ({self.model_words})"
        if self.rung.name == "bootstrap":
            drawn = f"events are drawn from a fit that is blind to the class ({self.model_words})"
        text = f"{self.rung.name.capitalize()} null: {drawn}. Valid only if that model is right."
        return Note(f"null-{self.rung.name}", text)

    def _search_note(self) -> Note:
        subgroups = self.subgroups()
        if self.plan.exact:
            count = f"{subgroups:,.0f}" if subgroups < 1e9 else f"{subgroups:.2g}"
            over = "the one subgroup there is" if subgroups == 1 else f"all {count} subgroups"
            return Note("search", f"Search: exact, a proof over {over}.")
        climbs = f"{self.plan.restarts} restarts of coordinate ascent"
        text = f"Search: {climbs} over {subgroups:.3g} subgroups; not a proof."
        if self.request.search == "auto":
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


def _ridge_note(ridge: list[dict[str, Any]], best: str) -> Note:
    others = [row for row in ridge if row["subgroup"] != best]
    scores = ", ".join(f"{row['score']:.1f} (ridge {row['ridge']:g})" for row in ridge)
    change = f"another subgroup is best at {len(others)} of them" if others else "the same subgroup each time"
    return Note("ridge-sensitivity", f"Best score by ridge: {scores}; {change}.")


def _null_model(asked: ArticleRequest, table: ScanTable) -> tuple[FloatArray, FloatArray, str]:
    """ê = P(class | X, C), which sees no event, m̂ = E(event | X, C), which sees no class, and what they are."""
    if asked.null_model == "blocks":
        models = fitted_models(table, (*(asked.features or ("",)), *asked.within))
        return models.chance, models.rates, models.words
    arity = table.arity.astype(float)
    products = (arity.sum() ** 2 - (arity**2).sum()) / 2
    if asked.null_model == "pairwise" and products > MOST_COLUMNS:
        smaller = Set("null_model", "main"), Set("null_model", "blocks")
        cure = Words("use {} or {}, coarser features, or {}", *smaller, Set("null", "stratified"))
        columns = f"would have {products:,.0f} pairwise columns"
        raise NotApplicable(asked.who, Fault("null_model", columns, subject="the null's model", cure=cure))
    how = (table, asked.ridge, asked.null_model)
    return pooled_propensity(*how), pooled_rates(*how), _MODELS[asked.null_model]

"""Validity of scan: whether the p-value of the best subgroup holds when no subgroup is treated differently.

In every design the event is independent of the class given condition and covariates, while the class, the
outcomes and the scores may depend on the covariates as they like. Each repeat draws 99 null data sets; it stops
as soon as five of them reach the observed score, which decides p > 0.05 as well as all 99 would.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from inside.direct_calls import scan_with
from inside.inference import rate_interval
from inside.scan import MatchedTable, ScanTable, selected_rate_interval
from validity import scan_designs as designs
from validity.board import Cell
from validity.repeated_people import SCAN as REPEATED
from validity.scan_rules import (
    DRAWS,
    LEVEL,
    FloatArray,
    Make,
    article_rejects,
    by_bootstrap,
    by_ladder,
    by_models,
    exact_sizes,
    in_strata,
    plain_scan_rejects,
    rejects,
    search_of,
)
from validity.whole_functions import lines


def sequential_rejects(repeats: int, generator: np.random.Generator, *, make: Make) -> FloatArray:
    """Besag and Clifford's sequential p-value, as scans of every class use it: stop at 5 of at most 99 draws."""
    enough = 5
    errors = np.zeros(repeats)
    for repeat in range(repeats):
        table = make(generator)
        base, draw = in_strata(table)
        search = search_of(table, base)
        observed = float(search.maxima(*base.observed())[0])
        scores = search.maxima(*draw(DRAWS, generator))
        hits = np.flatnonzero(scores >= observed - 1e-9 * (1.0 + abs(observed)))
        p = enough / (hits[enough - 1] + 1) if len(hits) >= enough else (1 + len(hits)) / (1 + DRAWS)
        errors[repeat] = p <= LEVEL
    return errors


def misses_selected_rate(
    repeats: int,
    generator: np.random.Generator,
    *,
    people: int = 600,
    level: float = -0.3,
    outside: bool = False,
    plain: bool = False,
) -> FloatArray:
    """Whether the interval of the picked subgroup's rate misses its true rate; `outside` for its comparison.

    `plain` is the interval of a rate that was not picked (Wilson's).
    """
    errors = np.zeros(repeats)
    for repeat in range(repeats):
        codes, linear = designs.covariates(generator, people)
        protected = generator.random(people) < designs.expit(linear)
        rate = designs.expit(linear + level)
        event = (generator.random(people) < rate).astype(np.float64)
        table = MatchedTable.of(designs.table_of(codes, protected, event))
        values, subgroups = _picked(table)
        inside = ~protected if outside else protected.copy()
        for attribute in range(codes.shape[1]):
            inside &= values[attribute, codes[:, attribute]]
        size, mean = float(inside.sum()), float(event[inside].mean()) if inside.any() else 0.0
        low, high = (
            (float(limit) for limit in rate_interval(mean * size, size, 0.95))
            if plain
            else selected_rate_interval(mean, size, subgroups, 0.95)
        )
        errors[repeat] = bool(inside.any()) and not low <= float(rate[inside].mean()) <= high
    return errors


def _picked(table: MatchedTable) -> tuple[Any, float]:
    """The best subgroup over both directions, and out of how many."""
    from inside.scan import attributes_of, plan_matched

    search = plan_matched(attributes_of(designs.ARITY), table.codes, 1.0)
    gain, variance = (numbers[0] for numbers in table.observed())
    people = np.ones(len(table.codes))
    found = [search.ranked(side, variance, people, 1)[0] for side in (gain, -gain)]
    return max(found, key=lambda one: one.score).values, search.subgroups


def reads_numbers(repeats: int, generator: np.random.Generator) -> FloatArray:
    """The public function on raw numbers, which it cuts itself: ages that class and event rise with."""
    import pyarrow as pa

    from fairtrial import Audit, scan

    errors = np.zeros(repeats)
    for repeat in range(repeats):
        age = generator.integers(18, 80, size=1000)
        income = np.exp(generator.normal(10.0, 0.6, size=1000))
        linear = (age - 48.0) / 25.0
        group = np.where(generator.random(1000) < designs.expit(linear), "b", "a")
        rejected = (generator.random(1000) < designs.expit(0.8 * linear - 0.5)).astype(np.int64)
        data = pa.table({"group": group, "age": age, "income": income, "rejected": rejected})
        audit = Audit(data, decision="rejected", groups="group", features=["age", "income"])
        result = scan(
            audit, "selection_rate", protected={"group": "b"}, direction="above", permutations=99, jobs=1,
            seed=int(generator.integers(2**31)),
        )  # fmt: skip
        errors[repeat] = result.p_value is not None and result.p_value <= LEVEL
    return errors


def calibrated(repeats: int, generator: np.random.Generator, *, scores: str) -> FloatArray:
    """A whole scan: the outcome is a step of the score, and the class shifts the score."""
    import pyarrow as pa

    from fairtrial import Audit

    errors = np.zeros(repeats)
    for repeat in range(repeats):
        protected = generator.random(3000) < 0.4
        logs = generator.standard_normal(3000) + 0.8 * protected
        outcome = (generator.random(3000) < np.where(logs > 0.3, 0.8, 0.2)).astype(np.int64)
        columns = {"group": np.where(protected, "b", "a"), "score": designs.expit(logs), "outcome": outcome}
        columns |= {name: generator.integers(0, k, size=3000).astype(str) for name, k in (("x", 2), ("z", 3))}
        audit = Audit(
            pa.table(columns), outcome="outcome", score="score", groups="group", features=["x", "z"]
        )
        result = scan_with(
            audit, "calibration", protected={"group": "b"}, permutations=99, jobs=1, direction="differs",
            scores=scores, seed=int(generator.integers(2**31)),
        )  # fmt: skip
        errors[repeat] = result.p_value is not None and result.p_value <= LEVEL
    return errors


_RARE = partial(designs.class_depends_on_covariates, people=1500, strength=1.0, intercept=-3.4)


def _size(name: str, design: str, make: Make, **settings: Any) -> Cell:
    names = ("variant", "counterpart", "short", "long")
    board: dict[str, Any] = {key: settings.pop(key) for key in names if key in settings}
    run = settings.pop("rule", rejects)
    board |= {"long": board.get("long", 6000 if run is rejects else 2000), "covers": ("scan.p_value",)}
    return Cell("scan", name, design, "size", partial(run, make=make, **settings), **board)


_DEPENDS = "500 people, 12 cells; log-odds of the class ±2.6"
_CROSSED = "event and class follow a product of two attributes"
_PICKED = "picked as the best of 63 subgroups, no bias, 600 people"
_TEN = "ten attributes of three values, 2,000 people; class and event share"


_FIFTEEN = "fifteen attributes of 2 to 50 values, 3,000 people, two at a time; class and event share"


def _interval(name: str, design: str, **settings: Any) -> Cell:
    board = {key: settings.pop(key) for key in ("variant", "counterpart") if key in settings}
    run = partial(misses_selected_rate, **settings)
    side = "target_rate" if settings.get("outside") else "rate"
    covers = (f"scan.{side}_low", f"scan.{side}_high")
    return Cell(method="scan", name=name, design=design, claim="coverage", run=run, covers=covers, **board)


def _article_null(name: str) -> Callable[[ScanTable], object]:
    """A model-based null of the article's score."""
    from inside.papers import drawn_class, drawn_events, pooled_propensity, pooled_rates, whole_sample

    def null(table: ScanTable) -> object:
        if name == "global":
            return whole_sample(table)
        if name == "propensity":
            return drawn_class(table, pooled_propensity(table, 0.01, "pairwise"))
        return drawn_events(table, pooled_rates(table, 0.01, "main" if name == "main" else "pairwise"))

    return null


_NUMBERS = (
    "8 × 8 × 2 cells, two numbers searched as ranges; log-odds of class and event rise by 3 over the ages"
)
_STRATA = [
    _size("stratified, class depends strongly on covariates", _DEPENDS, designs.class_depends_on_covariates),
    _size("stratified, both directions", "the same, best of above and below", designs.class_depends_on_covariates,
          directions=("above", "below")),
    _size("stratified, rare class", "1,500 people, 5% in the class", _RARE),
    _size("stratified, base-rate difference",
          "outcomes differ by class, decisions do not given the outcome; scanned among Y=0",
          designs.base_rate_difference),
    _size("stratified, condition left free", "the same over both outcomes, strata by outcome", designs.free_condition),
    _size("stratified, unmodelled interaction", _CROSSED, designs.unmodelled_interaction),
    _size("stratified, mean scores", "real-valued event", designs.mean_scores, directions=("above", "below")),
    _size("stratified, ranges of numbers", f"{_NUMBERS}, 2,000 people", designs.many_numbers, ordered=(0, 1),
          short=200, long=4000),
    _size("stratified, ranges of numbers, many people", f"{_NUMBERS}, 20,000 people",
          partial(designs.many_numbers, people=20_000), ordered=(0, 1), short=100, long=1000),
    *(
        _size(f"calibration, {shape}", f"3,000 people, strata of 20 neighbouring scores; {words}",
              partial(designs.score_alone, shape=shape), directions=("above", "below"), short=200, long=4000)
        for shape, words in (
            ("step", "the outcome is a step of the score, the class shifts the score"),
            ("flat", "outcomes ignore a score that the class shifts"),
            ("bimodal", "the class's scores have two modes, outcomes are high at both ends"),
            ("shift differs", "the class shifts the score up in one half and down in the other"),
        )
    ),
    Cell("scan", "exact sizes of the stratified test", "60 designs of three and four strata, every outcome enumerated",
         "size", exact_sizes, exact=True, worst=0.05),
    Cell("scan", "sequential p-value", "stratified null, stop at 5 exceedances", "size",
         partial(sequential_rejects, make=designs.class_depends_on_covariates)),
    Cell("scan", "whole function, raw numbers", "age and income cut into eight bins each, ranges, 1,000 people",
         "size", reads_numbers, short=0, long=600),
    Cell("scan", "whole function, calibration of exact scores", "a step of the score, 3,000 people, x 2 × z 3",
         "size", partial(calibrated, scores="exact"), short=0, long=600),
    Cell("scan", "whole function, calibration of binned scores", "a step of the score, 3,000 people, x 2 × z 3",
         "size", partial(calibrated, scores="bins"), short=0, long=600),
]  # fmt: skip

_ALIKE = "perfectly calibrated scores, {}; the null that is taken where none is named"
_FEW_ALIKE = [
    _size(f"calibration, few alike, {name}", _ALIKE.format(words), partial(designs.few_alike, **how), null=by_ladder,
          directions=("above", "below"), short=20, long=60)
    for name, words, how in (
        ("shifted 1.5", "the class's 1.5 logits lower, 1,500 people in 48 cells", {}),
        ("shifted .8", "the class's .8 logits lower, 1,500 people in 48 cells", {"shape": "shifted 0.8"}),
        ("24 cells", "the class's 1.5 logits lower, 600 people in 24 cells", {"people": 600, "arity": (2, 3, 4)}),
        ("6 cells", "the class's 1.5 logits lower, 600 people in 6 cells", {"people": 600, "arity": (2, 3)}),
        ("180 cells", "the class's 1.5 logits lower, 3,000 people in 180 cells",
         {"people": 3000, "arity": (3, 3, 4, 5)}),
        ("wider", "the class's spread twice as far", {"shape": "wider"}),
        ("two modes", "the class's have two modes", {"shape": "two modes"}),
        ("rare", "a tenth is in the class, 1 logit lower", {"shape": "rare"}),
        ("rounded", "two digits, the class's 1 logit lower", {"shape": "rounded"}),
    )
]  # fmt: skip

_MODELS = [
    _size("propensity, few cells", _DEPENDS, designs.class_depends_on_covariates, null=by_models, short=150, long=2000),
    _size("propensity, base-rate difference", "scanned among Y=0; the class depends on X and Y",
          designs.base_rate_difference, null=by_models, short=150, long=2000),
    *(
        _size(f"second rung, {shared}", f"{_TEN} {words}", partial(designs.ten_attributes, shared=shared),
              null=by_models, short=0, long=300)
        for shared, words in (
            ("main", "main effects"), ("two-way", "a two-way table without main effects"),
            ("three-way", "a three-way table without main effects"), ("rare", "main effects; 4% in the class"),
            ("strong", "main effects, strong for the class"),
        )
    ),
    *(
        _size(f"second rung of fifteen attributes, {shared}", f"{_FIFTEEN} {words}",
              partial(designs.fifteen_attributes, shared=shared), null=by_models, short=0, long=400)
        for shared, words in (
            ("main", "main effects"), ("two-way", "a table of 8 by 12 values"),
            ("rare", "main effects; 4% in the class"),
        )
    ),
    _size("second rung of fifteen attributes, ranges", f"{_FIFTEEN} main effects; five of them ordered",
          partial(designs.fifteen_attributes, shared="main"), null=by_models, ordered=(4, 6, 9, 13, 14), short=0,
          long=400),
    _size("second rung refused nothing: stratified, ten attributes", f"{_TEN} a two-way table",
          partial(designs.ten_attributes, shared="two-way"), short=60, long=300),
    _size("bootstrap, model right", "class depends strongly on covariates", designs.class_depends_on_covariates,
          null=by_bootstrap, short=150, long=2000),
    _size("bootstrap, interaction found", "event and class follow a product of two attributes; blocks",
          designs.unmodelled_interaction, null=by_bootstrap, short=150, long=2000),
    _size("bootstrap, mean scores", "resampled residuals", designs.mean_scores, null=by_bootstrap, short=100,
          long=1000),
]  # fmt: skip

_ARTICLE = [
    _size("article's score, stratified", _CROSSED, designs.unmodelled_interaction, rule=article_rejects, short=200),
    _size("article's score, calibration", "the same strata of 20 neighbouring scores",
          partial(designs.continuous_score, shift=0.5), rule=article_rejects, short=100, long=600),
    _size("article's score, mean scores", "σ estimated in each draw", designs.mean_scores, rule=article_rejects,
          short=200),
    _size("article's score, doubly robust", "class depends strongly on covariates",
          designs.class_depends_on_covariates, rule=article_rejects, doubly_robust=True, short=200),
    _size("article's score, propensity", "pairwise model of the class", designs.class_depends_on_covariates,
          rule=article_rejects, null=_article_null("propensity"), short=200),
    _size("article's score, bootstrap", "pairwise model of the event", designs.unmodelled_interaction,
          rule=article_rejects, null=_article_null("pairwise"), short=200),
    _size("global permutation of the class (article)", _DEPENDS, designs.class_depends_on_covariates,
          rule=article_rejects, null=_article_null("global"), variant="paper",
          counterpart="stratified, class depends strongly on covariates"),
    _size("main-effects bootstrap", _CROSSED, designs.unmodelled_interaction, rule=article_rejects,
          null=_article_null("main"), variant="paper", counterpart="stratified, unmodelled interaction", short=200),
]  # fmt: skip

_INTERVALS = [
    _interval("interval of the picked subgroup's rate", _PICKED),
    _interval("interval of a rate that was not picked", _PICKED, plain=True, variant="paper",
              counterpart="interval of the picked subgroup's rate"),
    _interval("interval of the picked subgroup's rate, low rates", "no bias, rates about 5%, 600 people", level=-3.0),
    _interval("interval of the picked subgroup's rate, small sample", "no bias, 150 people", people=150),
    _interval("interval of the matching comparison's rate", "beside the best of 63 subgroups, no bias", outside=True),
]  # fmt: skip


def _power(name: str, design: str, make: Make, nominal: float, **settings: Any) -> Cell:
    board = {
        key: settings.pop(key) for key in ("short", "long", "rival", "rival_name", "loses") if key in settings
    }
    return Cell(
        "scan", name, design, "power", partial(rejects, make=make, **settings), nominal=nominal, **board
    )


_PLANTED = "4 × 3 × 3 cells, 1,500 people, log-odds +0.9 in a sixth of the class"
_CROSSED_PLANT = partial(designs.planted, crossed=0.8)
_MANY = "ten attributes, 20,000 people, log-odds +0.6 in a ninth of the class"

_FOUND = [
    _power("planted bias", _PLANTED, designs.planted, 0.5, short=100, long=400,
           rival=partial(article_rejects, make=designs.planted), rival_name="the article's score",
           loses="main effects are right here, which the matched score does not rely on; see the next line"),
    _power("planted bias, unmodelled interaction", f"{_PLANTED}; class and event also follow a product",
           _CROSSED_PLANT, 0.4, short=100, long=400,
           rival=partial(article_rejects, make=_CROSSED_PLANT), rival_name="the article's score"),
    _power("planted bias in calibration", "1,500 people, log-odds of the outcome −0.5 in half of the class",
           designs.planted_calibration, 0.5, short=100, long=400, directions=("below",),
           rival=partial(article_rejects, make=designs.planted_calibration, directions=("below",)),
           rival_name="the article's score, the same strata"),
    _power("planted bias in calibration, scores that are right for everyone else",
           "1,500 people, log-odds of the outcome −0.5 in half of the class", designs.planted_calibration, 0.5,
           short=100, long=400, directions=("below",),
           rival=partial(plain_scan_rejects, people=designs.people_of_scores), rival_name="a plain bias scan (MDSS)",
           loses="it is told that the score is everyone else's true rate; a score that is off for all alike it takes "
           "for a bias of the class"),
    _power("planted bias in calibration, few alike", "1,500 people in 48 cells, the class's scores 1.5 logits lower; "
           "log-odds of the outcome −0.7 in two thirds of the class", partial(designs.few_alike, harm=0.7), 0.5,
           short=20, long=60, null=by_ladder, directions=("above", "below")),
    _power("ten attributes, stratified", _MANY, designs.planted_among_many, 0.2, short=0, long=100),
    _power("ten attributes, second rung", _MANY, designs.planted_among_many, 0.9, short=0, long=100, null=by_models,
           rival=partial(rejects, make=designs.planted_among_many), rival_name="the stratified null"),
    _power("fifteen attributes, second rung", f"{_FIFTEEN} main effects; log-odds +2 in a twelfth of the class",
           partial(designs.fifteen_attributes, planted=2.0), 0.8, short=0, long=200, null=by_models),
]  # fmt: skip

# A repeat is a whole search with its draws: where it takes long there are fewer of them, and a wider bound.
CELLS = [
    replace(cell, whole_analysis=not cell.exact and (0 < cell.short < 400 or cell.long < 2000))
    for cell in (*_STRATA, *_FEW_ALIKE, *_MODELS, *_ARTICLE, *_INTERVALS, *_FOUND, *REPEATED, *lines("scan"))
]

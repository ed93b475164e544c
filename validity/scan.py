"""Validity of scan: whether the p-value of the best subgroup holds when no subgroup is treated differently.

In every design the event is independent of the class given condition and covariates, while the class, the
outcomes and the scores may depend on the covariates as they like. Each repeat draws 99 null data sets; it stops
as soon as five of them reach the observed score, which decides p > 0.05 as well as all 99 would.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairtrial.inference.rates.proportions import rate_interval
from fairtrial.methods.scan.solver.expectation import Expectations
from fairtrial.methods.scan.solver.null import Draw, drawn_class, drawn_events, stratified, whole_sample
from fairtrial.methods.scan.solver.scan_table import CountedRows, ScanTable, build_table, log_odds
from fairtrial.methods.scan.solver.statistic import (
    Direction,
    ScanSetup,
    prepare,
    scan_draws,
    scan_observed,
    subgroup_count,
)
from fairtrial.methods.scan.subgroups import selected_rate_interval
from validity.board import Cell
from validity.whole_functions import lines

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Make = Callable[[np.random.Generator], ScanTable]
Null = Callable[[ScanTable], Draw]

ARITY = np.array([2, 2, 3], dtype=np.int64)
DRAWS = 99
STAGES = (11, 22, 66)  # the 99 draws, in portions between which a decided repeat stops
LEVEL = 0.05
RIDGE = 0.01


def _expit(x: FloatArray) -> FloatArray:
    return 1.0 / (1.0 + np.exp(-x))


def _covariates(generator: np.random.Generator, people: int) -> tuple[IntArray, FloatArray]:
    """Three attributes with 2, 2 and 3 values, and a linear score of them."""
    codes = np.stack([generator.integers(0, k, size=people) for k in ARITY], axis=1).astype(np.int64)
    linear = 0.8 * (codes[:, 0] - 0.5) - 0.6 * (codes[:, 1] - 0.5) + 0.7 * (codes[:, 2] - 1.0)
    return codes, linear


def _table(
    codes: IntArray,
    protected: NDArray[np.bool_],
    event: FloatArray,
    scanned: NDArray[np.bool_] | None = None,
    condition: FloatArray | None = None,
    *,
    real_valued: bool = False,
    bins: int | None = None,
) -> ScanTable:
    rows = CountedRows(
        codes=codes,
        protected=protected,
        event=event,
        scanned=np.ones(len(codes), dtype=bool) if scanned is None else scanned,
        condition=condition,
        count=np.ones(len(codes)),
    )
    return build_table(rows, arity=ARITY, strata_bins=bins, real_valued=real_valued)


def class_depends_on_covariates(
    generator: np.random.Generator, people: int = 500, strength: float = 2.5, intercept: float = 0.0
) -> ScanTable:
    """A depends strongly on X, and so does the event; given X the event ignores A."""
    codes, linear = _covariates(generator, people)
    protected = generator.random(people) < _expit(intercept + strength * linear)
    event = (generator.random(people) < _expit(1.2 * linear - 0.3)).astype(np.float64)
    return _table(codes, protected, event)


def base_rate_difference(generator: np.random.Generator, people: int = 800) -> ScanTable:
    """Outcomes differ between the classes; decisions depend on outcome and X alone. Scanned among Y=0."""
    codes, linear = _covariates(generator, people)
    protected = generator.random(people) < _expit(1.5 * linear)
    outcome = generator.random(people) < _expit(0.8 * linear - 0.5 + 1.0 * protected)
    event = (generator.random(people) < _expit(linear - 0.5 + 1.5 * outcome)).astype(np.float64)
    return _table(codes, protected, event, scanned=~outcome)


def free_condition(generator: np.random.Generator, people: int = 800) -> ScanTable:
    """The same without restricting the outcome: C = Y enters the model."""
    codes, linear = _covariates(generator, people)
    protected = generator.random(people) < _expit(1.5 * linear)
    outcome = (generator.random(people) < _expit(0.8 * linear - 0.5 + 1.0 * protected)).astype(np.float64)
    event = (generator.random(people) < _expit(linear - 0.5 + 1.5 * outcome)).astype(np.float64)
    return _table(codes, protected, event, condition=outcome)


def unmodelled_interaction(generator: np.random.Generator, people: int = 800) -> ScanTable:
    """Event and class both follow a product of two attributes that the main-effects model cannot see."""
    codes, linear = _covariates(generator, people)
    crossed = np.where(codes[:, 0] == codes[:, 1], 1.0, -1.0)
    protected = generator.random(people) < _expit(1.2 * crossed)
    event = (generator.random(people) < _expit(1.2 * crossed + 0.3 * linear)).astype(np.float64)
    return _table(codes, protected, event)


def continuous_score(generator: np.random.Generator, people: int = 300, shift: float = 0.0) -> ScanTable:
    """A calibrated score of its own; outcomes follow it whatever the class. `shift` moves the class's scores."""
    codes, linear = _covariates(generator, people)
    protected = generator.random(people) < _expit(1.5 * linear)
    score = _expit(0.6 * linear + shift * protected + 0.6 * generator.standard_normal(people))
    event = (generator.random(people) < score).astype(np.float64)
    return _table(codes, protected, event, condition=log_odds(score), bins=10)


def mean_scores(generator: np.random.Generator, people: int = 500) -> ScanTable:
    """The score itself is the event, scanned among Y=0; the class depends on X."""
    codes, linear = _covariates(generator, people)
    protected = generator.random(people) < _expit(2.0 * linear)
    logs = 0.8 * linear + 0.6 * generator.standard_normal(people)
    outcome = generator.random(people) < _expit(logs)
    score = np.round(_expit(logs), 2).clip(0.01, 0.99)
    return _table(codes, protected, score, scanned=~outcome, real_valued=True)


def planted_bias(generator: np.random.Generator, people: int = 1500) -> ScanTable:
    """Class members with the first attribute's second value have log-odds raised by 1."""
    codes, linear = _covariates(generator, people)
    protected = generator.random(people) < _expit(linear)
    harmed = protected & (codes[:, 0] == 1)
    event = (generator.random(people) < _expit(linear - 0.3 + harmed)).astype(np.float64)
    return _table(codes, protected, event)


def rejects(
    repeats: int,
    generator: np.random.Generator,
    *,
    make: Make,
    null: Null,
    directions: tuple[Direction, ...] = ("above",),
    doubly_robust: bool = False,
) -> FloatArray:
    """Whether p ≤ 5%, with (1 + b)/(1 + 99)."""
    errors = np.zeros(repeats)
    how = Expectations(ridge=RIDGE, doubly_robust=doubly_robust)
    for repeat in range(repeats):
        setup = prepare(make(generator), how=how, directions=directions)
        errors[repeat] = _p_at_most(setup, null(setup.table), generator)
    return errors


def _p_at_most(setup: ScanSetup, draw: Draw, generator: np.random.Generator) -> bool:
    observed = scan_observed(setup).found[0].score
    threshold = observed - 1e-9 * (1.0 + abs(observed))
    allowed = int(LEVEL * (DRAWS + 1)) - 1
    reached = 0
    for size in STAGES:
        reached += int((scan_draws(setup, draw(size, generator), generator) >= threshold).sum())
        if reached > allowed:
            return False
    return True


def sequential_rejects(repeats: int, generator: np.random.Generator, *, make: Make) -> FloatArray:
    """Besag and Clifford's sequential p-value, as scan_all uses it: stop at 5 of at most 99 draws, reject at 5%."""
    enough = 5
    errors = np.zeros(repeats)
    for repeat in range(repeats):
        setup = prepare(make(generator))
        observed = scan_observed(setup).found[0].score
        draw = stratified(setup.table)
        scores = scan_draws(setup, draw(DRAWS, generator), generator)
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
        codes, linear = _covariates(generator, people)
        protected = generator.random(people) < _expit(linear)
        rate = _expit(linear + level)
        event = (generator.random(people) < rate).astype(np.float64)
        table = _table(codes, protected, event)
        found = scan_observed(prepare(table, directions=("above", "below"))).found[0]
        inside = ~protected if outside else protected.copy()
        for attribute in range(len(ARITY)):
            inside &= found.values[attribute, codes[:, attribute]]
        size, mean = float(inside.sum()), float(event[inside].mean()) if inside.any() else 0.0
        low, high = (
            (float(limit) for limit in rate_interval(mean * size, size, 0.95))
            if plain
            else selected_rate_interval(mean, size, subgroup_count(ARITY), 0.95)
        )
        errors[repeat] = bool(inside.any()) and not low <= float(rate[inside].mean()) <= high
    return errors


_PAIRWISE_EVENTS = partial(drawn_events, ridge=RIDGE, model="pairwise")
_MAIN_EVENTS = partial(drawn_events, ridge=RIDGE, model="main")
_PAIRWISE_CLASS = partial(drawn_class, ridge=RIDGE, model="pairwise")
_RARE = partial(class_depends_on_covariates, people=1500, strength=1.0, intercept=-3.4)


def _size(
    name: str,
    design: str,
    make: Make,
    null: Null = stratified,
    *,
    directions: tuple[Direction, ...] = ("above",),
    doubly_robust: bool = False,
    variant: Literal["ours", "paper"] = "ours",
    counterpart: str = "",
) -> Cell:
    run = partial(rejects, make=make, null=null, directions=directions, doubly_robust=doubly_robust)
    return Cell(
        method="scan",
        name=name,
        design=design,
        claim="size",
        run=run,
        variant=variant,
        counterpart=counterpart,
    )


_DEPENDS = "500 people, 12 cells; log-odds of the class ±2.6"
_CROSSED = "event and class follow a product of two attributes"
_PICKED = "picked as the best of 63 subgroups, no bias, 600 people"


def _interval(name: str, design: str, **settings: Any) -> Cell:
    board = {key: settings.pop(key) for key in ("variant", "counterpart") if key in settings}
    run = partial(misses_selected_rate, **settings)
    return Cell(method="scan", name=name, design=design, claim="coverage", run=run, **board)


CELLS = [
    _size(
        "stratified, class depends strongly on covariates",
        _DEPENDS,
        class_depends_on_covariates,
    ),
    _size(
        "stratified, both directions",
        "the same, best of above and below",
        class_depends_on_covariates,
        directions=("above", "below"),
    ),
    _size("stratified, rare class", "1,500 people, 5% in the class", _RARE),
    _size(
        "stratified, base-rate difference",
        "outcomes differ by class, decisions do not given the outcome; scanned among Y=0",
        base_rate_difference,
    ),
    _size("stratified, condition left free", "the same over both outcomes, C=Y in the model", free_condition),
    _size(
        "stratified, unmodelled interaction",
        _CROSSED,
        unmodelled_interaction,
    ),
    _size(
        "stratified, binned scores",
        "continuous score, 10 bins; scores do not depend on the class given X",
        continuous_score,
    ),
    _size(
        "stratified, binned scores that differ by class",
        "the same with the class's log-odds scores 0.5 higher",
        partial(continuous_score, shift=0.5),
    ),
    _size(
        "stratified, mean scores",
        "real-valued event (Gaussian score), σ estimated in each draw",
        mean_scores,
    ),
    _size(
        "stratified, doubly robust expectations",
        "class depends strongly on covariates",
        class_depends_on_covariates,
        doubly_robust=True,
    ),
    Cell(
        method="scan",
        name="sequential p-value",
        design="stratified null, stop at 5 exceedances",
        claim="size",
        run=partial(sequential_rejects, make=class_depends_on_covariates),
    ),
    _size(
        "bootstrap, model right",
        "pairwise model of the event; class depends strongly on covariates",
        class_depends_on_covariates,
        _PAIRWISE_EVENTS,
    ),
    _size(
        "bootstrap, interaction modelled",
        "event and class follow a product of two attributes; pairwise model",
        unmodelled_interaction,
        _PAIRWISE_EVENTS,
    ),
    _size("bootstrap, mean scores", "resampled log-odds residuals", mean_scores, _PAIRWISE_EVENTS),
    _size(
        "propensity, model right",
        "pairwise model of the class",
        class_depends_on_covariates,
        _PAIRWISE_CLASS,
    ),
    _size(
        "propensity, base-rate difference",
        "pairwise model of the class given X and Y",
        base_rate_difference,
        _PAIRWISE_CLASS,
    ),
    _size(
        "global permutation of the class (article)",
        _DEPENDS,
        class_depends_on_covariates,
        whole_sample,
        variant="paper",
        counterpart="stratified, class depends strongly on covariates",
    ),
    _size(
        "main-effects bootstrap",
        _CROSSED,
        unmodelled_interaction,
        _MAIN_EVENTS,
        variant="paper",
        counterpart="stratified, unmodelled interaction",
    ),
    _interval("interval of the picked subgroup's rate", _PICKED),
    _interval(
        "interval of a rate that was not picked",
        _PICKED,
        plain=True,
        variant="paper",
        counterpart="interval of the picked subgroup's rate",
    ),
    _interval(
        "interval of the picked subgroup's rate, low rates", "no bias, rates about 5%, 600 people", level=-3.0
    ),
    _interval("interval of the picked subgroup's rate, small sample", "no bias, 150 people", people=150),
    _interval(
        "interval of the matching comparison's rate", "beside the best of 63 subgroups, no bias", outside=True
    ),
    Cell(
        method="scan",
        name="planted bias is found",
        design="log-odds +1 in a quarter of the class, 1,500 people",
        claim="power",
        nominal=0.8,
        run=partial(rejects, make=planted_bias, null=stratified),
    ),
    *lines("scan"),
]

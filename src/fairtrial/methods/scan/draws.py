"""How likely the best score is by luck: draws under the null, in batches that can be resumed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairtrial import work
from fairtrial.errors import NotApplicable, Note
from fairtrial.methods.scan.solver import null as scan_null
from fairtrial.methods.scan.solver.expectation import NullModel
from fairtrial.methods.scan.solver.statistic import Setup, scan_draws

FloatArray = NDArray[np.float64]
Null = Literal["stratified", "bootstrap", "propensity", "global"]

NULLS = ("stratified", "bootstrap", "propensity", "global")
# Less of the protected class than this in strata that can be permuted: the stratified null is refused.
MINIMUM_MOVABLE = 0.2
# Columns of a pooled model above which fitting it is no longer reasonable.
MOST_COLUMNS = 3_000
# A sequential test stops after this many draws that reach the observed score (Besag & Clifford, 1991).
ENOUGH_EXCEEDANCES = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Luck:
    """The p-value and the scores it rests on."""

    p_value: float
    scores: FloatArray
    reached: int
    draws: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawing:
    """A null that is ready to be drawn from, and what it assumes."""

    draw: scan_null.Draw
    notes: tuple[Note, ...]


def prepare_null(who: str, setup: Setup, null: Null, model: NullModel, binned: bool) -> Drawing:
    """The draws of a null hypothesis; the stratified one is refused when too little can be permuted."""
    table, ridge = setup.table, setup.how.ridge
    if null == "stratified":
        can_move = scan_null.movable(table)
        share = can_move.protected / can_move.scanned_protected
        if share < MINIMUM_MOVABLE:
            raise NotApplicable(
                who,
                f"only {100 * share:.0f}% of the protected class is in strata that hold both classes and different "
                "events, so permuting within strata says too little. Use fewer or coarser features, or "
                "null='bootstrap' or null='propensity', which rest on a fitted model",
            )
        within = "features and score bin" if binned else "features and condition"
        text = (
            f"Stratified null: class membership is permuted among people with the same {within}; "
            f"{100 * share:.0f}% of the protected class is in strata that can move "
            f"({can_move.movable_strata:,} of {can_move.strata:,} strata)."
        )
        notes = [Note("null-stratified", text)]
        if binned:
            text = "Scores are compared within bins: exact for the null that the class does not matter given the bin."
            notes.append(Note("null-score-bins", text))
        return Drawing(draw=scan_null.stratified(table), notes=tuple(notes))
    if null == "global":
        text = (
            "Global null, as in the article: class membership is permuted over everybody. It is wrong when the class "
            "depends on the features; use it to reproduce published numbers only."
        )
        return Drawing(draw=scan_null.whole_sample(table), notes=(Note("null-global", text),))
    _check_model(who, setup, model)
    if null == "propensity":
        text = (
            f"Propensity null: classes are drawn from a fitted P(class | features, condition) ({_words(model)}). "
            "Valid only if that model is right."
        )
        draw = scan_null.drawn_class(table, ridge, model)
        return Drawing(draw=draw, notes=(Note("null-propensity", text),))
    text = (
        f"Bootstrap null: events are drawn from a fit that is blind to the class ({_words(model)}). "
        "Valid only if that model is right."
    )
    return Drawing(draw=scan_null.drawn_events(table, ridge, model), notes=(Note("null-bootstrap", text),))


def _words(model: NullModel) -> str:
    return {
        "pairwise": "all pairwise interactions",
        "saturated": "one rate per cell",
        "main": "main effects only",
    }[model]


def _check_model(who: str, setup: Setup, model: NullModel) -> None:
    arity = setup.table.arity.astype(float)
    products = (arity.sum() ** 2 - (arity**2).sum()) / 2
    if model == "pairwise" and products > MOST_COLUMNS:
        raise NotApplicable(
            who,
            f"the null's model would have {products:,.0f} pairwise columns; use null_model='main' or 'saturated', "
            "coarser features, or null='stratified'",
        )


def luck_of(
    setup: Setup,
    drawing: Drawing,
    observed: float,
    *,
    permutations: int,
    sequential: bool,
    name: str,
    key: str,
    seed: int,
    jobs: int | None,
    progress: Callable[[work.Progress], None] | None,
) -> Luck:
    """p = (1 + b)/(1 + B), or Besag and Clifford's sequential p when `sequential`.

    Scores that equal the observed one up to rounding count as reached.
    """
    batch = int(np.clip(4_000_000 // max(1, len(setup.table.atom_cell)), 1, 50))

    def task(part: range, generator: np.random.Generator) -> dict[str, NDArray[Any]]:
        return {"score": scan_draws(setup, drawing.draw(len(part), generator), generator)}

    def run(draws: int, stage: str) -> FloatArray:
        drawn = work.map_batches(
            task, draws, name=stage, seed=seed, batch_size=batch, key=key, jobs=jobs, progress=progress
        )
        return drawn["score"].astype(np.float64)

    threshold = observed - 1e-9 * (1.0 + abs(observed))
    if not sequential:
        scores = run(permutations, name)
        reached = int((scores >= threshold).sum())
        return Luck(
            p_value=(1 + reached) / (1 + permutations), scores=scores, reached=reached, draws=permutations
        )
    return _sequentially(run, threshold, permutations, name)


def _sequentially(run: Callable[[int, str], FloatArray], threshold: float, most: int, name: str) -> Luck:
    """Draw in growing stages until enough draws reached the observed score, or until `most`."""
    scores = np.empty(0)
    stage = 0
    while len(scores) < most:
        size = min(most - len(scores), 400 * 2**stage)
        scores = np.concatenate([scores, run(size, f"{name}, stage {stage + 1}")])
        stage += 1
        hits = np.flatnonzero(scores >= threshold)
        if len(hits) >= ENOUGH_EXCEEDANCES:
            used = int(hits[ENOUGH_EXCEEDANCES - 1]) + 1
            return Luck(
                p_value=ENOUGH_EXCEEDANCES / used,
                scores=scores[:used],
                reached=ENOUGH_EXCEEDANCES,
                draws=used,
            )
    reached = int((scores >= threshold).sum())
    return Luck(p_value=(1 + reached) / (1 + most), scores=scores, reached=reached, draws=most)

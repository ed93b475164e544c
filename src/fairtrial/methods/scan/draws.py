"""How likely the best score is by luck: draws under the null, in batches that can be resumed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial import work
from fairtrial.errors import Fault, NotApplicable, Note, Set, Words
from fairtrial.methods.scan.arguments import DrawSettings, NullModelName, NullName
from fairtrial.methods.scan.solver import null as scan_null
from fairtrial.methods.scan.solver.arrays import FloatArray
from fairtrial.methods.scan.solver.statistic import ScanSetup, scan_draws

# Less of the protected class than this in strata that can be permuted: the stratified null is refused.
MINIMUM_MOVABLE = 0.2
# Columns of a pooled model above which fitting it is no longer reasonable.
MOST_COLUMNS = 3_000
# A sequential test stops after this many draws that reach the observed score (Besag & Clifford, 1991).
ENOUGH_EXCEEDANCES = 20
_MODELS = {
    "pairwise": "all pairwise interactions",
    "saturated": "one rate per cell",
    "main": "main effects only",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Luck:
    """The p-value and the scores it rests on."""

    p_value: float
    scores: FloatArray

    @property
    def draws(self) -> int:
        return len(self.scores)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawing:
    """A null that is ready to be drawn from, and what it assumes."""

    draw: scan_null.Draw
    notes: tuple[Note, ...]


def prepare_null(who: str, setup: ScanSetup, null: NullName, model: NullModelName, binned: bool) -> Drawing:
    """The draws of a null hypothesis; the stratified one is refused when too little can be permuted."""
    if null == "stratified":
        return _stratified(who, setup, binned)
    table, ridge = setup.table, setup.how.ridge
    if null == "global":
        text = (
            "Global null, as in the article: class membership is permuted over everybody. It is wrong when the class "
            "depends on the features; use it to reproduce published numbers only."
        )
        return Drawing(draw=scan_null.whole_sample(table), notes=(Note("null-global", text),))
    _check_model(who, setup, model)
    if null == "propensity":
        drawn = "Propensity null: classes are drawn from a fitted P(class | features, condition)"
        draw = scan_null.drawn_class(table, ridge, model)
    else:
        drawn = "Bootstrap null: events are drawn from a fit that is blind to the class"
        draw = scan_null.drawn_events(table, ridge, model)
    text = f"{drawn} ({_MODELS[model]}). Valid only if that model is right."
    return Drawing(draw=draw, notes=(Note(f"null-{null}", text),))


def _stratified(who: str, setup: ScanSetup, binned: bool) -> Drawing:
    can_move = scan_null.movable(setup.table)
    share = can_move.protected / can_move.scanned_protected
    if share < MINIMUM_MOVABLE:
        raise NotApplicable(who, _too_little_moves(share))
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
    return Drawing(draw=scan_null.stratified(setup.table), notes=tuple(notes))


def _too_little_moves(share: float) -> Fault:
    why = (
        "is in strata that hold both classes and different events, so permuting within strata says too little"
    )
    others = "Use fewer or coarser features, or {} or {}, which rest on a fitted model"
    cure = Words(others, Set("null", "bootstrap"), Set("null", "propensity"))
    return Fault("null", why, subject=f"only {100 * share:.0f}% of the protected class", cure=cure)


def _check_model(who: str, setup: ScanSetup, model: NullModelName) -> None:
    arity = setup.table.arity.astype(float)
    products = (arity.sum() ** 2 - (arity**2).sum()) / 2
    if model == "pairwise" and products > MOST_COLUMNS:
        smaller = Set("null_model", "main"), Set("null_model", "saturated")
        cure = Words("use {} or {}, coarser features, or {}", *smaller, Set("null", "stratified"))
        columns = f"would have {products:,.0f} pairwise columns"
        raise NotApplicable(who, Fault("null_model", columns, subject="the null's model", cure=cure))


def luck_of(
    setup: ScanSetup, drawing: Drawing, observed: float, draws: DrawSettings, *, name: str, key: str
) -> Luck:
    """p = (1 + b)/(1 + B), or Besag and Clifford's sequential p where the draws are sequential.

    Scores that equal the observed one up to rounding count as reached.
    """
    batch = int(np.clip(4_000_000 // max(1, len(setup.table.atom_cell)), 1, 50))

    def task(part: range, generator: np.random.Generator) -> dict[str, NDArray[Any]]:
        return {"score": scan_draws(setup, drawing.draw(len(part), generator), generator)}

    def run(count: int, stage: str) -> FloatArray:
        drawn = work.map_batches(
            task, count, name=stage, seed=draws.seed, batch_size=batch, key=key, jobs=draws.jobs,
            progress=draws.progress,
        )  # fmt: skip
        return drawn["score"].astype(np.float64)

    threshold = observed - 1e-9 * (1.0 + abs(observed))
    if draws.sequential:
        return _sequentially(run, threshold, draws.permutations, name)
    return _luck(run(draws.permutations, name), threshold)


def _luck(scores: FloatArray, threshold: float) -> Luck:
    reached = int((scores >= threshold).sum())
    return Luck(p_value=(1 + reached) / (1 + len(scores)), scores=scores)


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
            return Luck(p_value=ENOUGH_EXCEEDANCES / used, scores=scores[:used])
    return _luck(scores, threshold)

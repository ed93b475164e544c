"""How likely the best score is by luck: draws under the null, in batches that can be resumed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial import work
from fairtrial.methods.scan.arguments import DrawSettings
from fairtrial.methods.scan.solver.arrays import FloatArray

# A sequential test stops after this many draws that reach the observed score (Besag & Clifford, 1991).
ENOUGH_EXCEEDANCES = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Luck:
    """The p-value and the scores it rests on."""

    p_value: float
    scores: FloatArray

    @property
    def draws(self) -> int:
        return len(self.scores)


def luck_of(scan: Any, observed: float, draws: DrawSettings, *, name: str, key: str) -> Luck:
    """p = (1 + b)/(1 + B), or Besag and Clifford's sequential p where the draws are sequential.

    Scores that equal the observed one up to rounding count as reached.
    """
    batch = scan.batch()

    def task(part: range, generator: np.random.Generator) -> dict[str, NDArray[Any]]:
        return {"score": scan.draw_scores(len(part), generator)}

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

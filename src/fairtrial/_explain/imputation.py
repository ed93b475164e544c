"""A coalition's decisions where absent features are imputed from background rows, and what each such row changes.

The background is a sample like the people: with other background rows every contribution would differ a little. What
leaving one of them out changes (the jackknife, which for averages is the variance of a two-sample U-statistic) is kept
by coalition, so that the intervals hold for the people and the background at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._explain.explained_rows import ExplainedRows
from fairtrial._explain.models import ModelInputs, decide, row_form, score_values
from fairtrial._explain.request import ExplainRequest
from fairtrial._explain.solver.esl import Floats
from fairtrial._explain.solver.group_values import BackgroundSums
from fairtrial._work import generator

# People and background rows joined in one call of the model.
IMPUTED_ROWS = 200_000


@dataclass(frozen=True, slots=True, eq=False)
class Background:
    """The background rows, and which of them stand in for whom.

    Where the model would be asked too often, the people are dealt into as many blocks as make 100 background rows in
    all, and each block has its own: few stand in for one person, but many for a group.
    """

    rows: NDArray[np.intp]
    block: NDArray[np.int64]  # of every background row
    people: NDArray[np.int64]  # the block of everybody who is evaluated
    sums: BackgroundSums

    @classmethod
    def drawn(cls, request: ExplainRequest, explained: ExplainedRows, coalitions: int) -> Background:
        pool = explained.train if explained.train.size else explained.test
        people = explained.test.size
        random = generator(request.seed, "explain background")
        each = min(request.background_rows(people, coalitions), pool.size)
        blocks = min(-(-request.all_background // each), pool.size // each)
        rows = random.choice(pool, blocks * each, replace=False)
        block = np.repeat(np.arange(blocks), each)
        order = np.lexsort((rows, block))
        dealt = random.permutation(people)
        dealt = dealt[np.argsort(explained.group[explained.test][dealt], kind="stable")]  # every group alike
        own = np.empty(people, dtype=np.int64)
        own[dealt] = np.arange(people) % blocks
        return cls(rows[order], block, own, _sums_of(request, explained))

    def parts(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """The people of every block and where its background rows are."""
        for number in range(int(self.block[-1]) + 1):
            yield np.flatnonzero(self.people == number), np.flatnonzero(self.block == number)


def _sums_of(request: ExplainRequest, explained: ExplainedRows) -> BackgroundSums:
    """Over whom changes are summed: groups by outcome, where the metric then counts everybody alike."""
    form = row_form(request.metric, explained.rows).take(explained.test)
    outcome = explained.rows.roles.get("outcome")
    slopes = form.value1 - form.value0, form.weight1 - form.weight0
    own = None if outcome is None else outcome[explained.test]
    return BackgroundSums.of(explained.group[explained.test], own, slopes)


@dataclass(frozen=True, slots=True, eq=False)
class Imputation:
    """One fitted model and the background rows whose values stand in for absent columns."""

    fitted: Any
    positive: frozenset[str]
    inputs: ModelInputs
    columns: list[str]
    background: Background
    request: ExplainRequest
    cut: float

    def outputs(self, absent: list[str]) -> tuple[Floats, Floats]:
        """Everybody's mean decision (or probability), and what leaving each background row out changes in the sums."""
        test, known = self.inputs.explained.test, self.background
        output = np.empty(test.size)
        change = np.zeros((known.rows.size, known.sums.group.size))
        if not absent:
            whole = self.inputs.take(self.columns, test)
            return decide(self.fitted, whole, self.request.scores, self.positive), change
        for people, rows in known.parts():
            output[people], change[rows] = self._of_block(absent, people, rows)
        return output, change

    def _of_block(
        self, absent: list[str], people: NDArray[np.intp], rows: NDArray[np.intp]
    ) -> tuple[Floats, Floats]:
        """The same of one block: people alike in what is present and rows alike in what is absent are asked once."""
        test = self.inputs.explained.test[people]
        present = [name for name in self.columns if name not in absent]
        asked, kind, _ = self.inputs.distinct(present, test)
        filled, filled_of, counts = self.inputs.distinct(absent, self.background.rows[rows])
        mean, change = np.empty(asked.size), np.zeros((filled.size, self.background.sums.group.size))
        order = np.argsort(kind, kind="stable")
        starts = np.searchsorted(kind[order], np.arange(asked.size + 1))
        step = max(1, IMPUTED_ROWS // filled.size)
        for start in range(0, asked.size, step):
            some = slice(start, min(start + step, asked.size))
            decided = self._decided(absent, asked[some], filled)
            mean[some] = decided @ counts / rows.size
            inside = order[starts[some.start] : starts[some.stop]]
            if rows.size > 1:
                change += self._changes(decided, mean[some], rows.size, kind[inside] - start, people[inside])
        return self._told(mean)[kind], change[filled_of]

    def _decided(self, absent: list[str], asked: NDArray[np.intp], filled: NDArray[np.intp]) -> Floats:
        """People × background rows."""
        mixed = self.inputs.mix(
            self.columns, absent, np.repeat(asked, filled.size), np.tile(filled, asked.size)
        )
        answers = decide(self.fitted, mixed, self.by_probability, self.positive)
        return answers.reshape(asked.size, filled.size)

    def _changes(
        self, decided: Floats, mean: Floats, rows: int, kind: NDArray[np.int64], people: NDArray[np.intp]
    ) -> Floats:
        """Σ over people of (their value − their value without the row), background rows × sums."""
        without = (rows * mean[:, None] - decided) / (rows - 1)
        sums = self.background.sums
        if not self.request.scores:  # people alike count together
            moved = self._told(mean)[:, None] - self._told(without)
            return np.asarray(moved.T @ sums.totals(people, kind, len(mean)))
        explained, metric = self.inputs.explained, self.request.metric
        outcome = explained.rows.roles.get("outcome")
        own = None if outcome is None else outcome[explained.test][people]
        moved = score_values(metric, mean[kind][:, None], own) - score_values(metric, without[kind], own)
        return np.asarray(moved.T @ sums.totals(people, np.arange(people.size), people.size))

    def _told(self, mean: Floats) -> Floats:
        """Decisions are cut from mean probabilities, where those were averaged."""
        if self.request.scores or not self.by_probability:
            return mean
        return (mean >= self.cut).astype(float)

    @property
    def by_probability(self) -> bool:
        return self.request.scores or self.request.averaged == "probabilities"

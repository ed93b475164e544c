"""The decisions of models that see only some features: refitted on them, or with the absent ones imputed."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial import work
from fairtrial.data.audit import Audit
from fairtrial.errors import Fault, InputError, Set, Words
from fairtrial.methods.explain.classifiers import decide, find_classifier, is_fitted, seeded_clone
from fairtrial.methods.explain.coalition_source import CoalitionSource
from fairtrial.methods.explain.explained_rows import ExplainedRows, check_both_outcomes
from fairtrial.methods.explain.metric import WHO
from fairtrial.methods.explain.model_inputs import ModelInputs
from fairtrial.methods.explain.solver.esl import Floats, Masks

# Decisions of earlier calls are kept up to this many bytes, so that a second metric needs no second fit.
CACHE_BYTES = 256_000_000
# Rows imputed in one call of the model.
IMPUTED_ROWS = 200_000


def model_outputs(
    source: CoalitionSource, audit: Audit, explained: ExplainedRows, masks: Masks
) -> NDArray[Any]:
    """Decisions or scores of the model's coalitions: test rows × coalitions."""
    model = find_classifier(source.model)
    inputs = ModelInputs(audit, explained, model)
    if source.kind == "retrain":
        check_both_outcomes(explained)
        task = _refit_task(source, explained, inputs, model, masks)
    else:
        task = _impute_task(source, explained, inputs, model, masks)
    with work.session() as current:
        store = current.store or CACHE
    answers = work.map_batches(
        task, masks.size, name=f"explain: {source.kind}", seed=source.seed, batch_size=1,
        key=_identity(source, explained, model, masks), jobs=source.jobs, progress=source.progress, store=store,
        prefer="processes",
    )  # fmt: skip
    return answers["outputs"].T


def _refit_task(
    source: CoalitionSource, explained: ExplainedRows, inputs: ModelInputs, model: Any, masks: Masks
) -> work.Task:
    """Clone, fit on the coalition's columns, decide the test rows. All coalitions share one random state."""
    state = _random_state(source)
    outcome = _training_outcome(explained)
    majority = float(outcome.mean() >= 0.5)

    def task(part: range, random: np.random.Generator) -> work.Arrays:
        outputs = []
        for i in part:
            columns = explained.columns_of(int(masks[i]))
            if not columns:  # nothing to see: the prior
                prior = float(outcome.mean()) if source.scores else majority
                outputs.append(np.full(explained.test.size, prior))
                continue
            fitted = seeded_clone(inputs.restricted(model, columns), state).fit(
                inputs.take(columns, explained.train), outcome
            )
            outputs.append(decide(fitted, inputs.take(columns, explained.test), source.scores))
        found = np.array(outputs)
        return {"outputs": found if source.scores else found.astype(np.uint8)}

    return task


@dataclass(frozen=True, slots=True, eq=False)
class _Imputation:
    """One fitted model and the background rows whose values stand in for absent columns."""

    fitted: Any
    positive: str | None
    inputs: ModelInputs
    columns: list[str]
    background: NDArray[np.intp]
    probabilities: bool

    def mean(self, absent: list[str], rows: NDArray[np.intp]) -> Floats:
        """Mean decision (or probability) of every row over the background's values of the absent columns."""
        total = np.zeros(rows.size)
        step = max(1, IMPUTED_ROWS // rows.size)
        for start in range(0, self.background.size, step):
            filled = self.background[start : start + step]
            present, other = np.tile(rows, filled.size), np.repeat(filled, rows.size)
            mixed = self.inputs.mix(self.columns, absent, present, other)
            decided = decide(self.fitted, mixed, self.probabilities, self.positive)
            total += decided.reshape(filled.size, rows.size).sum(axis=0)
        return np.asarray(total / self.background.size)


def _impute_task(
    source: CoalitionSource, explained: ExplainedRows, inputs: ModelInputs, model: Any, masks: Masks
) -> work.Task:
    """Absent features take the values of background rows; decisions or probabilities are averaged over them."""
    everything = explained.columns_of((1 << len(explained.players)) - 1)
    fitted, positive = _fitted(source, explained, inputs, model, everything)
    pool = explained.train if explained.train.size else explained.test
    random = work.generator(source.seed, "explain background")
    background = np.sort(random.choice(pool, min(source.background, pool.size), replace=False))
    by_probability = source.scores or source.averaged == "probabilities"
    imputation = _Imputation(fitted, positive, inputs, everything, background, by_probability)

    def task(part: range, random: np.random.Generator) -> work.Arrays:
        outputs = []
        for i in part:
            seen = set(explained.columns_of(int(masks[i])))
            absent = [name for name in everything if name not in seen]
            if not absent:
                whole = inputs.take(everything, explained.test)
                outputs.append(decide(fitted, whole, source.scores, positive))
                continue
            mean = imputation.mean(absent, explained.test)
            outputs.append(mean if source.scores or not by_probability else (mean >= 0.5).astype(float))
        return {"outputs": np.array(outputs)}

    return task


def _fitted(
    source: CoalitionSource, explained: ExplainedRows, inputs: ModelInputs, model: Any, columns: list[str]
) -> tuple[Any, str | None]:
    """The caller's fitted model and its label that counts as 1, or a fit on the rows set aside for that."""
    if is_fitted(model):
        inputs.check_fitted(model, columns)
        return model, source.positive
    if not explained.train.size:
        cure = Words("fit it, or give {} so that it is fitted on the other rows", Set("test"))
        raise InputError(WHO, Fault("model", "is not fitted", cure=cure))
    check_both_outcomes(explained)
    copy = seeded_clone(model, _random_state(source))
    return copy.fit(inputs.take(columns, explained.train), _training_outcome(explained)), None


def _random_state(source: CoalitionSource) -> int:
    return int(work.generator(source.seed, "explain model").integers(2**31 - 1))


def _training_outcome(explained: ExplainedRows) -> NDArray[np.int64]:
    return explained.rows.roles["outcome"].astype(np.int64)[explained.train]


# -- what was computed before ---------------------------------------------------------------------------------------
class _Cache:
    """The newest batches of earlier calls in this process."""

    def __init__(self) -> None:
        self.batches: OrderedDict[str, work.Arrays] = OrderedDict()
        self.size = 0

    def load(self, key: str) -> work.Arrays | None:
        found = self.batches.get(key)
        if found is not None:
            self.batches.move_to_end(key)
        return found

    def save(self, key: str, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        self.batches[key] = dict(arrays)
        self.size += sum(array.nbytes for array in arrays.values())
        while self.size > CACHE_BYTES and len(self.batches) > 1:
            _, oldest = self.batches.popitem(last=False)
            self.size -= sum(array.nbytes for array in oldest.values())


CACHE = _Cache()


def _identity(source: CoalitionSource, explained: ExplainedRows, model: Any, masks: Masks) -> str:
    """Everything the decisions depend on."""
    import joblib

    content = hashlib.sha256()
    asked = (source.coalitions, source.averaged, source.background, source.scores)
    content.update(repr((*asked, explained.players, explained.always)).encode())
    content.update(joblib.hash(model).encode())
    outcome = explained.rows.roles.get("outcome")
    for array in (masks, explained.test, explained.train, *explained.blocks.values(), outcome):
        if array is not None:
            content.update(np.ascontiguousarray(array).tobytes())
    return content.hexdigest()

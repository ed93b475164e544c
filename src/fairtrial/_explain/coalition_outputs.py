"""What each coalition's classifier decides: by refitted or imputed models, or brought along by the caller."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial import _work as work
from fairtrial._audit.audit import Audit
from fairtrial._errors import Fault, InputError, Set, Words
from fairtrial._explain.explained_rows import ExplainedRows, check_both_outcomes
from fairtrial._explain.imputation import Background, Imputation
from fairtrial._explain.models import (
    ModelInputs,
    Predictor,
    decide,
    find_system,
    seeded_clone,
)
from fairtrial._explain.request import WHO, ExplainRequest, is_fitted
from fairtrial._explain.solver.esl import Floats, Masks
from fairtrial._explain.solver.group_values import BackgroundChanges
from fairtrial._work.kept_files import sameness
from fairtrial._work.memory import check_memory

# Decisions of earlier calls are kept up to this many bytes, so that a second metric needs no second fit.
CACHE_BYTES = 256_000_000


def coalition_outputs(
    request: ExplainRequest, audit: Audit, explained: ExplainedRows, masks: Masks
) -> tuple[NDArray[Any], BackgroundChanges | None]:
    """Decisions (0/1, or shares of imputed decisions) or scores, test rows × coalitions.

    With them what each background row changes, where absent features are imputed.
    """
    changes = None
    if isinstance(request.coalitions, Mapping):
        outputs = _from_mapping(request.coalitions, explained, masks)
    elif request.from_model:
        outputs, changes = _from_model(request, audit, explained, masks)
    elif callable(request.coalitions):
        outputs = _from_callable(request, explained, masks)
    else:
        outputs = _from_matrix(request.coalitions, explained, masks)
    return _tidy(outputs, request.scores), changes


def _from_callable(request: ExplainRequest, explained: ExplainedRows, masks: Masks) -> NDArray[Any]:
    def task(part: range, random: np.random.Generator) -> work.Arrays:
        names = [explained.names_of(int(masks[i])) for i in part]
        return {"outputs": np.array([_checked(request.coalitions(seen), explained, seen) for seen in names])}

    answers = work.map_batches(
        task, masks.size, name="explain: coalitions", seed=request.seed, batch_size=1,
        jobs=request.jobs, progress=request.progress, store=work.MemoryStore(),
    )  # fmt: skip
    return answers["outputs"].T


def _from_mapping(coalitions: Mapping[Any, Any], explained: ExplainedRows, masks: Masks) -> NDArray[Any]:
    known = {frozenset((key,) if isinstance(key, str) else key): value for key, value in coalitions.items()}
    names = [explained.names_of(int(mask)) for mask in masks]
    missing = [seen for seen in names if seen and frozenset(seen) not in known]
    if missing:
        required = f"lacks the decisions of {len(missing)} coalitions, e.g. {missing[0]!r}"
        raise InputError(
            WHO, Fault("coalitions", required, cure="give those of every subset of the features")
        )
    nobody = np.zeros(explained.rows.n)
    return np.array([_checked(known.get(frozenset(seen), nobody), explained, seen) for seen in names]).T


def _from_matrix(coalitions: Any, explained: ExplainedRows, masks: Masks) -> NDArray[Any]:
    matrix = np.asarray(coalitions)
    people, players = explained.rows.n, len(explained.players)
    fits = matrix.ndim == 2 and matrix.shape[1] == 1 << players
    if not fits or matrix.shape[0] not in (people, explained.test.size):
        required = (
            f"must be a matrix of {people:,} rows (people) and {1 << players} columns (coalitions of {players} "
            f"features; feature k is in column m when bit k of m is set), got shape {matrix.shape}"
        )
        raise InputError(WHO, Fault("coalitions", required))
    rows = explained.test if matrix.shape[0] == people else np.arange(explained.test.size)
    return matrix[np.ix_(rows, masks)]


def _checked(answer: object, explained: ExplainedRows, names: tuple[str, ...]) -> Floats:
    """One coalition's decisions on the rows evaluated."""
    values = np.asarray(answer)
    if values.shape == (explained.rows.n,):
        values = values[explained.test]
    elif values.shape != (explained.test.size,):
        required = (
            f"must have {explained.rows.n:,} decisions, one per row of the audit, got shape {values.shape}"
        )
        raise InputError(WHO, Fault("coalitions", required, subject=f"the coalition {names!r}"))
    return values.astype(np.float64)


def _tidy(outputs: NDArray[Any], scores: bool) -> NDArray[Any]:
    """Whole decisions as bytes; shares and scores as floats; anything else refused."""
    values = np.asarray(outputs, dtype=np.float64) if outputs.dtype != np.uint8 else outputs
    if values.dtype == np.uint8 and not scores:
        return np.ascontiguousarray(values)
    if not np.isfinite(values).all():
        raise InputError(
            WHO, Fault("coalitions", "gave missing or infinite values", cure="return a number for every row")
        )
    if scores:
        return np.ascontiguousarray(values, dtype=np.float64)
    if values.min() < 0 or values.max() > 1:
        required = "must give decisions 0 and 1 (or shares between them)"
        raise InputError(WHO, Fault("coalitions", required))
    whole = bool(np.isin(values, (0.0, 1.0)).all())
    return np.ascontiguousarray(values.astype(np.uint8) if whole else values)


def _from_model(
    request: ExplainRequest, audit: Audit, explained: ExplainedRows, masks: Masks
) -> tuple[NDArray[Any], BackgroundChanges | None]:
    """Decisions or scores of the model's coalitions, test rows × coalitions, and what background rows change."""
    model = find_system(request.model, audit, request.scores)
    if request.kind == "retrain" and (request.imitates or isinstance(model, Predictor)):
        required = "can only be asked, not fitted again" if request.model is not None else "is missing"
        cure = Words("say {}, or give a scikit-learn classifier", Set("coalitions", "marginal"))
        raise InputError(WHO, Fault("model", required, cure=cure))
    people = explained.test.size
    check_memory(WHO, 16 * people * masks.size, f"{people:,} rows × {masks.size:,} coalitions")
    inputs, background = ModelInputs(audit, explained, model), None
    if request.kind == "retrain":
        check_both_outcomes(explained)
        task = _refit_task(request, inputs, masks)
    else:
        background = Background.drawn(request, explained, masks.size)
        task = _impute_task(request, inputs, masks, background)
    with work.session() as current:
        store = current.store or CACHE
    if isinstance(model, Predictor):  # what a function answers may change, so nothing of it is kept
        store, key = work.MemoryStore(), ""
    else:
        key = _identity(request, explained, model, masks, background)
    answers = work.map_batches(
        task, masks.size, name=f"explain: {request.kind}", seed=request.seed, batch_size=1, key=key, jobs=request.jobs,
        progress=request.progress, store=store, prefer="threads" if isinstance(model, Predictor) else "processes",
    )  # fmt: skip
    if background is None:
        return answers["outputs"].T, None
    return answers["outputs"].T, BackgroundChanges(
        answers["changes"].astype(np.float64), background.sums, background.rows, background.block
    )


def _refit_task(request: ExplainRequest, inputs: ModelInputs, masks: Masks) -> work.Task:
    """Clone, fit on the coalition's columns, decide the test rows. All coalitions share one random state."""
    explained, state = inputs.explained, _random_state(request)
    outcome = _training_outcome(explained)
    scores, prior = request.scores, float(outcome.mean())

    def task(part: range, random: np.random.Generator) -> work.Arrays:
        outputs = []
        for i in part:
            columns = explained.columns_of(int(masks[i]))
            if not columns:  # nothing to see: the prior
                outputs.append(np.full(explained.test.size, prior if scores else float(prior >= 0.5)))
                continue
            unfitted = seeded_clone(inputs.restricted(columns), state)
            fitted = unfitted.fit(inputs.take(columns, explained.train), outcome)
            outputs.append(decide(fitted, inputs.take(columns, explained.test), scores))
        return {"outputs": np.array(outputs, dtype=np.float64 if scores else np.uint8)}

    return task


def _impute_task(
    request: ExplainRequest, inputs: ModelInputs, masks: Masks, background: Background
) -> work.Task:
    """Absent features take the values of background rows; decisions or probabilities are averaged over them."""
    explained = inputs.explained
    everything = explained.columns_of((1 << len(explained.players)) - 1)
    fitted, positive = _fitted(request, inputs, everything)
    cut = 0.5 if inputs.threshold is None else inputs.threshold
    imputation = Imputation(fitted, positive, inputs, everything, background, request, cut)

    def task(part: range, random: np.random.Generator) -> work.Arrays:
        outputs, changes = [], []
        for i in part:
            seen = set(explained.columns_of(int(masks[i])))
            output, change = imputation.outputs([name for name in everything if name not in seen])
            outputs.append(output)
            changes.append(change)
        return {"outputs": np.array(outputs), "changes": np.array(changes)}

    return task


def _fitted(request: ExplainRequest, inputs: ModelInputs, columns: list[str]) -> tuple[Any, frozenset[str]]:
    """The caller's fitted model and its labels that count as 1, or a fit on the rows set aside for that."""
    explained = inputs.explained
    if isinstance(inputs.model, Predictor) or is_fitted(inputs.model):
        inputs.check_fitted(columns)
        return inputs.model, inputs.positive
    if not explained.train.size:
        cure = Words("fit it, or give {} so that it is fitted on the other rows", Set("test"))
        raise InputError(WHO, Fault("model", "is not fitted", cure=cure))
    copy = seeded_clone(inputs.model, _random_state(request))
    if request.imitates:
        return copy.fit(inputs.take(columns, explained.train), _audited(request, explained)), frozenset()
    check_both_outcomes(explained)
    return copy.fit(inputs.take(columns, explained.train), _training_outcome(explained)), frozenset()


def _audited(request: ExplainRequest, explained: ExplainedRows) -> Floats:
    """The audited decisions or scores that a copy learns."""
    made = explained.rows.roles["score" if request.scores else "decision"][explained.train]
    if np.unique(made).size < 2:
        required = "are all the same: there is nothing that a feature could carry"
        subject = f"the audited {'scores' if request.scores else 'decisions'}"
        raise InputError(
            WHO, Fault("decision", required, subject=subject, cure="Explain decisions that differ")
        )
    return made


def _random_state(request: ExplainRequest) -> int:
    return int(work.generator(request.seed, "explain model").integers(2**31 - 1))


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


def _identity(
    request: ExplainRequest, explained: ExplainedRows, model: Any, masks: Masks, background: Background | None
) -> str:
    """Everything the decisions depend on, and what background rows change in the metric."""
    asked = (request.coalitions, request.averaged, request.background, request.scores, request.imitates)
    roles = [explained.rows.roles.get(role) for role in ("outcome", "decision", "score")]
    rows = (masks, explained.test, explained.train, dict(explained.blocks), roles)
    summed = (
        None if background is None else (background.sums.parts, request.scores and request.metric.to_dict())
    )
    return sameness((asked, explained.players, explained.always, model, rows, summed))

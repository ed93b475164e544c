"""What each coalition's classifier decides: by refitted or imputed models, or brought along by the caller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial import work
from fairtrial.data.audit import Audit
from fairtrial.errors import Fault, InputError
from fairtrial.methods.explain.coalition_source import CoalitionSource
from fairtrial.methods.explain.explained_rows import ExplainedRows
from fairtrial.methods.explain.metric import WHO
from fairtrial.methods.explain.model_outputs import model_outputs
from fairtrial.methods.explain.solver.esl import Floats, Masks


def coalition_outputs(
    source: CoalitionSource, audit: Audit, explained: ExplainedRows, masks: Masks
) -> NDArray[Any]:
    """Decisions (0/1, or shares of imputed decisions) or scores: test rows × coalitions."""
    if isinstance(source.coalitions, Mapping):
        outputs = _from_mapping(source.coalitions, explained, masks)
    elif source.from_model:
        outputs = model_outputs(source, audit, explained, masks)
    elif callable(source.coalitions):
        outputs = _from_callable(source, explained, masks)
    else:
        outputs = _from_matrix(source.coalitions, explained, masks)
    return _tidy(outputs, source.scores)


def _from_callable(source: CoalitionSource, explained: ExplainedRows, masks: Masks) -> NDArray[Any]:
    def task(part: range, random: np.random.Generator) -> work.Arrays:
        names = [explained.names_of(int(masks[i])) for i in part]
        return {"outputs": np.array([_checked(source.coalitions(seen), explained, seen) for seen in names])}

    answers = work.map_batches(
        task, masks.size, name="explain: coalitions", seed=source.seed, batch_size=1,
        jobs=source.jobs, progress=source.progress, store=work.MemoryStore(),
    )  # fmt: skip
    return answers["outputs"].T


def _from_mapping(coalitions: Mapping[Any, Any], explained: ExplainedRows, masks: Masks) -> NDArray[Any]:
    known = {frozenset((key,) if isinstance(key, str) else key): value for key, value in coalitions.items()}
    names = [explained.names_of(int(mask)) for mask in masks]
    missing = [seen for seen in names if seen and frozenset(seen) not in known]
    if missing:
        required = f"lacks the decisions of {len(missing)} coalitions, e.g. {missing[0]!r}"
        raise InputError(WHO, Fault("coalitions", required))
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
        raise InputError(WHO, Fault("coalitions", "gave missing or infinite values"))
    if scores:
        return np.ascontiguousarray(values, dtype=np.float64)
    if values.min() < 0 or values.max() > 1:
        required = "must give decisions 0 and 1 (or shares between them)"
        raise InputError(WHO, Fault("coalitions", required))
    whole = bool(np.isin(values, (0.0, 1.0)).all())
    return np.ascontiguousarray(values.astype(np.uint8) if whole else values)

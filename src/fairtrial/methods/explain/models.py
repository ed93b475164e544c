"""What a coalition's classifier decides: refitted, imputed, called, or given."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial import work
from fairtrial.data.audit import Audit
from fairtrial.errors import InputError, did_you_mean
from fairtrial.labels import canonical
from fairtrial.methods.explain.players import WHO, Material, check_both_outcomes
from fairtrial.methods.explain.solver.esl import Floats, Masks
from fairtrial.methods.explain.tables import FeatureTable

MODELS = ("logistic", "tree", "forest", "boosting")
# Decisions of earlier calls are kept up to this many bytes, so that a second metric needs no second fit.
CACHE_BYTES = 256_000_000
# Rows imputed in one call of the model.
IMPUTED_ROWS = 200_000


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """How coalition decisions are made."""

    coalitions: Any
    model: Any
    averaged: str
    background: int
    scores: bool
    positive: str | None
    seed: int
    jobs: int | None
    progress: Callable[[work.Progress], None] | None


def named_model(name: str) -> Any:
    """A scikit-learn classifier with settings that need no tuning."""
    if name == "logistic":
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    if name == "tree":
        from sklearn.tree import DecisionTreeClassifier

        return DecisionTreeClassifier(max_depth=6, min_samples_leaf=20)
    if name == "forest":
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(n_estimators=100, min_samples_leaf=5)
    if name == "boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier()
    listed = ", ".join(repr(option) for option in MODELS)
    raise InputError(
        WHO,
        f"'model' must be a scikit-learn classifier or one of [{listed}], got {name!r}.{did_you_mean(name, MODELS)}",
    )


def coalition_outputs(asked: Asked, audit: Audit, material: Material, masks: Masks) -> NDArray[Any]:
    """Decisions (0/1, or shares of imputed decisions) or scores: test rows × coalitions."""
    if isinstance(asked.coalitions, Mapping):
        return _from_mapping(asked, material, masks)
    if isinstance(asked.coalitions, str):
        return _from_model(asked, audit, material, masks)
    if callable(asked.coalitions):
        return _from_callable(asked, material, masks)
    return _from_matrix(asked, material, masks)


# -- decisions made elsewhere -----------------------------------------------------------------------------------
def _from_callable(asked: Asked, material: Material, masks: Masks) -> NDArray[Any]:
    def task(part: range, random: np.random.Generator) -> work.Arrays:
        found = [
            _read_answer(asked.coalitions(material.names_of(int(masks[i]))), asked, material, int(masks[i]))
            for i in part
        ]
        return {"outputs": np.array(found)}

    answers = work.map_batches(
        task, masks.size, name="explain: coalitions", seed=asked.seed, batch_size=1,
        jobs=asked.jobs, progress=asked.progress, store=work.MemoryStore(),
    )  # fmt: skip
    return _tidy(answers["outputs"].T, asked.scores)


def _from_mapping(asked: Asked, material: Material, masks: Masks) -> NDArray[Any]:
    known = {
        frozenset((key,) if isinstance(key, str) else key): value for key, value in asked.coalitions.items()
    }
    missing = [
        material.names_of(int(mask)) for mask in masks if frozenset(material.names_of(int(mask))) not in known
    ]
    missing = [names for names in missing if names]
    if missing:
        raise InputError(
            WHO, f"'coalitions' lacks the decisions of {len(missing)} coalitions, e.g. {missing[0]!r}"
        )
    nobody = np.zeros(material.rows.n)
    columns = [
        _read_answer(known.get(frozenset(material.names_of(int(mask))), nobody), asked, material, int(mask))
        for mask in masks
    ]
    return _tidy(np.array(columns).T, asked.scores)


def _from_matrix(asked: Asked, material: Material, masks: Masks) -> NDArray[Any]:
    matrix = np.asarray(asked.coalitions)
    players = len(material.players)
    if (
        matrix.ndim != 2
        or matrix.shape[1] != 1 << players
        or matrix.shape[0] not in (material.rows.n, material.test.size)
    ):
        raise InputError(
            WHO,
            f"'coalitions' must be a matrix of {material.rows.n:,} rows (people) and {1 << players} columns "
            f"(coalitions of {players} features; feature k is in column m when bit k of m is set), "
            f"got shape {matrix.shape}",
        )
    rows = material.test if matrix.shape[0] == material.rows.n else np.arange(material.test.size)
    return _tidy(matrix[np.ix_(rows, masks)], asked.scores)


def _read_answer(answer: object, asked: Asked, material: Material, mask: int) -> Floats:
    values = np.asarray(answer)
    if values.shape == (material.rows.n,):
        values = values[material.test]
    elif values.shape != (material.test.size,):
        raise InputError(
            WHO,
            f"the coalition {material.names_of(mask)!r} must have {material.rows.n:,} decisions, one per row of "
            f"the audit, got shape {values.shape}",
        )
    return values.astype(np.float64)


def _tidy(outputs: NDArray[Any], scores: bool) -> NDArray[Any]:
    """Whole decisions as bytes; shares and scores as floats; anything else refused."""
    values = np.asarray(outputs, dtype=np.float64) if outputs.dtype != np.uint8 else outputs
    if values.dtype == np.uint8 and not scores:
        return np.ascontiguousarray(values)
    if not np.isfinite(values).all():
        raise InputError(WHO, "'coalitions' gave missing or infinite values")
    if scores:
        return np.ascontiguousarray(values, dtype=np.float64)
    if values.min() < 0 or values.max() > 1:
        raise InputError(WHO, "'coalitions' must give decisions 0 and 1 (or shares between them)")
    whole = bool(np.isin(values, (0.0, 1.0)).all())
    return np.ascontiguousarray(values.astype(np.uint8) if whole else values)


# -- models ---------------------------------------------------------------------------------------------------------
def _from_model(asked: Asked, audit: Audit, material: Material, masks: Masks) -> NDArray[Any]:
    from sklearn.base import is_classifier

    if asked.model is None:
        listed = ", ".join(repr(option) for option in MODELS)
        raise InputError(WHO, f"'model' is missing: a scikit-learn classifier, or one of [{listed}]")
    model = named_model(asked.model) if isinstance(asked.model, str) else asked.model
    if not hasattr(model, "get_params") or not is_classifier(model):
        raise InputError(WHO, f"'model' must be a scikit-learn classifier, got {type(model).__name__}")
    table = FeatureTable(audit, material, model)
    if asked.coalitions == "retrain":
        check_both_outcomes(material)
        task = _refit_task(asked, material, table, model, masks)
    else:
        task = _impute_task(asked, material, table, model, masks)
    with work.session() as current:
        store = current.store or _CACHE
    answers = work.map_batches(
        task, masks.size, name=f"explain: {asked.coalitions}", seed=asked.seed, batch_size=1,
        key=_identity(asked, material, model, masks), jobs=asked.jobs, progress=asked.progress, store=store,
        prefer="processes",
    )  # fmt: skip
    return _tidy(answers["outputs"].T, asked.scores)


def _refit_task(asked: Asked, material: Material, table: FeatureTable, model: Any, masks: Masks) -> work.Task:
    """Clone, fit on the coalition's columns, decide the test rows. All coalitions share one random state."""
    state = int(work.generator(asked.seed, "explain model").integers(2**31 - 1))
    outcome = material.rows.roles["outcome"].astype(np.int64)[material.train]
    majority = float(outcome.mean() >= 0.5)

    def task(part: range, random: np.random.Generator) -> work.Arrays:
        outputs = []
        for i in part:
            columns = material.columns_of(int(masks[i]))
            if not columns:  # nothing to see: the prior
                prior = float(outcome.mean()) if asked.scores else majority
                outputs.append(np.full(material.test.size, prior))
                continue
            fitted = seeded_clone(table.restricted(model, columns), state).fit(
                table.take(columns, material.train), outcome
            )
            outputs.append(decide(fitted, table.take(columns, material.test), asked.scores))
        return {"outputs": _small(np.array(outputs), asked.scores)}

    return task


def _impute_task(
    asked: Asked, material: Material, table: FeatureTable, model: Any, masks: Masks
) -> work.Task:
    """Absent features take the values of background rows; decisions or probabilities are averaged over them."""
    everything = material.columns_of((1 << len(material.players)) - 1)
    fitted, positive = _fitted(asked, material, table, model, everything)
    pool = material.train if material.train.size else material.test
    random = work.generator(asked.seed, "explain background")
    background = np.sort(random.choice(pool, min(asked.background, pool.size), replace=False))
    by_probability = asked.scores or asked.averaged == "probabilities"

    def task(part: range, random: np.random.Generator) -> work.Arrays:
        outputs = []
        for i in part:
            seen = set(material.columns_of(int(masks[i])))
            absent = [name for name in everything if name not in seen]
            if not absent:
                outputs.append(decide(fitted, table.take(everything, material.test), asked.scores, positive))
                continue
            mean = _imputed_mean(
                fitted, table, everything, absent, material.test, background, by_probability, positive
            )
            outputs.append(mean if asked.scores or not by_probability else (mean >= 0.5).astype(float))
        return {"outputs": np.array(outputs)}

    return task


def _imputed_mean(
    fitted: Any, table: FeatureTable, columns: list[str], absent: list[str],
    rows: NDArray[np.intp], background: NDArray[np.intp], probabilities: bool, positive: str | None,
) -> Floats:  # fmt: skip
    """Mean decision (or probability) of every row over the background's values of the absent columns."""
    total = np.zeros(rows.size)
    step = max(1, IMPUTED_ROWS // rows.size)
    for start in range(0, background.size, step):
        filled = background[start : start + step]
        present, other = np.tile(rows, filled.size), np.repeat(filled, rows.size)
        mixed = table.mix(columns, absent, present, other)
        total += decide(fitted, mixed, probabilities, positive).reshape(filled.size, rows.size).sum(axis=0)
    return np.asarray(total / background.size)


def _fitted(
    asked: Asked, material: Material, table: FeatureTable, model: Any, columns: list[str]
) -> tuple[Any, str | None]:
    """The caller's fitted model and its label that counts as 1, or a fit on the rows set aside for that."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError:
        if not material.train.size:
            raise InputError(
                WHO, "'model' is not fitted: fit it, or give test= so that it is fitted on the other rows"
            ) from None
        check_both_outcomes(material)
        state = int(work.generator(asked.seed, "explain model").integers(2**31 - 1))
        outcome = material.rows.roles["outcome"].astype(np.int64)[material.train]
        return seeded_clone(model, state).fit(table.take(columns, material.train), outcome), None
    table.check_fitted(model, columns)
    return model, asked.positive


def seeded_clone(model: Any, state: int) -> Any:
    """A fresh copy whose unset random states are set, so that one seed gives the same numbers."""
    from sklearn.base import clone

    copy = clone(model)
    unset = {
        name: state
        for name, value in sorted(copy.get_params(deep=True).items())
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    return copy.set_params(**unset) if unset else copy


def decide(fitted: Any, table: Any, scores: bool, positive: str | None = None) -> Floats:
    """Decisions as 0/1, or the probability of 1."""
    if scores:
        if not hasattr(fitted, "predict_proba"):
            raise InputError(WHO, f"'model' {type(fitted).__name__} gives no probabilities (predict_proba)")
        return np.asarray(fitted.predict_proba(table)[:, _positive_class(fitted, positive)], dtype=np.float64)
    return np.asarray(
        np.asarray(fitted.predict(table)) == fitted.classes_[_positive_class(fitted, positive)],
        dtype=np.float64,
    )


def _positive_class(fitted: Any, positive: str | None) -> int:
    """Where the label that counts as 1 is among the model's classes; the last one when the audit names none."""
    labels = [canonical(label) for label in fitted.classes_]
    return labels.index(positive) if positive in labels else -1


def _small(outputs: Floats, scores: bool) -> NDArray[Any]:
    return outputs if scores else outputs.astype(np.uint8)


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


_CACHE = _Cache()


def _identity(asked: Asked, material: Material, model: Any, masks: Masks) -> str:
    """Everything the decisions depend on."""
    import joblib

    content = hashlib.sha256()
    facts = (
        asked.coalitions,
        asked.averaged,
        asked.background,
        asked.scores,
        material.players,
        material.always,
    )
    content.update(repr(facts).encode())
    content.update(joblib.hash(model).encode())
    for array in (
        masks,
        material.test,
        material.train,
        *material.blocks.values(),
        material.rows.roles.get("outcome"),
    ):
        if array is not None:
            content.update(np.ascontiguousarray(array).tobytes())
    return content.hexdigest()

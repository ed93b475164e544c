"""What transport needs to know of a fitted classifier: its points, its boundary, and whose feature a column is.

Linear classifiers, kernel machines and single decision trees of scikit-learn are recognised by what they hold,
also at the end of a pipeline; everything else is asked through its predict function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.audit import Audit
from fairtrial._errors import Fault, InputError, Named, NotApplicable, Set, Words
from fairtrial._transport.solver.distances import leaf_boxes

WHO = "transport"
Floats = NDArray[np.float64]
Predict = Callable[[Floats], NDArray[np.integer]]
_LIST_FEATURES = Words("list its features with {}", Set("features", of="Audit"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Boundary:
    """A decision boundary and the rows as it sees them."""

    points: Floats
    columns: tuple[str, ...]
    sources: tuple[str, ...]  # the audit's feature behind each column
    unit: str = "units of the features"
    # own units of each column per unit of the model's; None where it has no such meaning
    scale: Floats | None = None
    # points back in the features' own units; None where they are, or where there is no way back
    back: Callable[[Floats], Floats] | None = None

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.sources))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearBoundary(Boundary):
    """A hyperplane."""

    margin: Floats
    coefficients: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KernelBoundary(Boundary):
    """A hyperplane in a kernel's own space."""

    margin: Floats
    dual: Floats
    gram: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TreeBoundary(Boundary):
    """The boxes of a decision tree's leaves, with the share of the second class in each."""

    lows: Floats
    highs: Floats
    leaf_share: Floats
    leaf_of_row: NDArray[np.integer]
    exact: Floats  # the points before they were rounded to single precision


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PredictBoundary(Boundary):
    """Wherever the predict function changes its answer."""

    predict: Predict


def read_boundary(audit: Audit, model: Any) -> Boundary:
    """The model's boundary in closed form where it has one, else its predict function."""
    if not callable(getattr(model, "predict", None)):
        return _function(audit, model, getattr(model, "__self__", None))
    _check_binary(model)
    before, last = _split(model)
    kind = _kind(last)
    if kind == "predict":
        return _function(audit, model.predict, model)
    table, names = _table(audit, model)
    # with its names, where the model knows them
    seen = before.transform(table) if before is not None else table
    points = _numbers(seen)
    columns, sources = _columns(before, names, points.shape[1])
    known: dict[str, Any] = {
        "points": points,
        "columns": columns,
        "sources": sources,
        **_own_units(before, points.shape[1]),
        "unit": "units of the features" + ("" if before is None else " after the pipeline's scaling"),
    }
    if kind == "linear":
        coefficients = _numbers(last.coef_)
        margin = points @ coefficients.ravel() + float(np.ravel(last.intercept_)[0])
        return LinearBoundary(margin=margin, coefficients=coefficients.ravel(), **known)
    if kind == "kernel":
        return KernelBoundary(margin=np.ravel(last.decision_function(seen)), **_kernel(last), **known)
    known["points"] = points.astype(np.float32).astype(float)  # trees compare in single precision
    return TreeBoundary(**_tree(last, seen, points.shape[1]), exact=points, **known)


def _kind(classifier: Any) -> str:
    """What the boundary is, by what the fitted classifier holds."""
    if hasattr(classifier, "coef_") and callable(getattr(classifier, "decision_function", None)):
        return "linear"
    if hasattr(classifier, "support_vectors_") and hasattr(classifier, "dual_coef_"):
        return "kernel"
    return "tree" if hasattr(classifier, "tree_") and hasattr(classifier, "classes_") else "predict"


def _check_binary(model: Any) -> None:
    classes = getattr(model, "classes_", None)
    if classes is None:
        required = f"must be a fitted classifier: {type(model).__name__} has no classes_"
        raise InputError(WHO, Fault("distance", required))
    if len(classes) != 2:
        required = f"must decide between two classes, the model has {len(classes)}"
        raise NotApplicable(WHO, Fault("distance", required))


def _split(model: Any) -> tuple[Any, Any]:
    """(everything before the classifier or None, the classifier) of a pipeline."""
    if hasattr(model, "steps") and hasattr(model, "named_steps"):
        before = [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
        return (model[:-1] if before else None), model.steps[-1][1]
    return None, model


def _table(audit: Audit, model: Any) -> tuple[Any, tuple[str, ...]]:
    """The features as the model was fitted on them: a frame where it knows names, else a matrix."""
    named = getattr(model, "feature_names_in_", None)
    if named is not None:
        names = tuple(str(name) for name in named)
        for name in names:
            audit.check_column(WHO, "distance", name)
        return audit.features_frame(list(names), who=WHO), names
    if not audit.features:
        raise InputError(WHO, Fault("distance", "is a model without feature names", cure=_LIST_FEATURES))
    design = audit.design(who=WHO)
    expected = getattr(model, "n_features_in_", design.matrix.shape[1])
    if expected != design.matrix.shape[1]:
        made = f"the audit's features make {design.matrix.shape[1]}: {list(design.names)}"
        raise InputError(
            WHO,
            Fault(
                "distance",
                f"expects {expected} columns, {made}",
                cure="Fit it on these features, or on a frame so that it knows their names",
            ),
        )
    return design.matrix, design.names


def _numbers(values: Any) -> Floats:
    dense = values.toarray() if hasattr(values, "toarray") else values
    if hasattr(dense, "to_numpy"):
        dense = dense.to_numpy()
    try:
        return np.asarray(dense, dtype=float)
    except (TypeError, ValueError):
        required = "needs numeric features, or a pipeline that makes them so"
        raise InputError(WHO, Fault("distance", required)) from None


def _columns(before: Any, names: tuple[str, ...], width: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the model's columns, and the feature each comes from."""
    if before is None:
        return names, tuple(name.split("=", 1)[0] for name in names)
    if width == len(names) and _scale(before, width) is not None:
        return names, names
    try:
        made = [str(name) for name in before.get_feature_names_out()]
    except (AttributeError, ValueError):
        made = [f"column {index + 1}" for index in range(width)]
    return tuple(made), tuple(_source(column, names) for column in made)


def _source(column: str, names: tuple[str, ...]) -> str:
    """The feature that a transformer made the column from, by its name."""
    bare = column.split("__", 1)[-1]
    fitting = [name for name in names if bare == name or bare.startswith(f"{name}_")]
    return max(fitting, key=len) if fitting else column


def _own_units(before: Any, width: int) -> dict[str, Any]:
    """How the steps before the model scale each column, and the way back, where they do nothing else."""
    scale = _scale(before, width)
    if before is None or scale is None:
        return {"scale": scale}
    return {"scale": scale, "back": lambda points: _numbers(before.inverse_transform(points))}


def _scale(before: Any, width: int) -> Floats | None:
    """Own units per unit of the model's, where the steps before it only shift and scale each column."""
    scale = np.ones(width)
    for _, step in before.steps if before is not None else []:
        if step in (None, "passthrough"):
            continue
        kind = type(step).__name__
        if kind not in ("StandardScaler", "MaxAbsScaler", "RobustScaler", "MinMaxScaler"):
            return None
        own = getattr(step, "scale_", None)
        if own is not None:
            scale = scale / own if kind == "MinMaxScaler" else scale * own
    return scale


def _kernel(machine: Any) -> dict[str, Any]:
    from sklearn.metrics.pairwise import pairwise_kernels

    vectors = machine.support_vectors_
    if callable(machine.kernel) or machine.kernel == "precomputed":
        cure = Words("give {} the model's predict function", Named("distance"))
        raise NotApplicable(WHO, Fault("distance", "with a kernel of one's own is not offered", cure=cure))
    options = {"gamma": machine._gamma, "degree": machine.degree, "coef0": machine.coef0}
    gram = pairwise_kernels(vectors, metric=machine.kernel, filter_params=True, **options)
    return {"dual": np.ravel(machine.dual_coef_), "gram": gram}


def _tree(classifier: Any, seen: Any, width: int) -> dict[str, Any]:
    tree = classifier.tree_
    nodes, lows, highs = leaf_boxes(
        tree.children_left, tree.children_right, tree.feature, tree.threshold, width
    )
    values = tree.value[nodes, 0, :]
    place = np.full(tree.node_count, -1)
    place[nodes] = np.arange(nodes.size)
    return {
        "lows": lows,
        "highs": highs,
        "leaf_share": values[:, 1] / values.sum(axis=1),
        "leaf_of_row": place[classifier.apply(seen)],
    }


def _function(audit: Audit, predict: Callable[..., Any], owner: Any) -> PredictBoundary:
    """A predict function of the features; of texts, behind a pipeline's own encoder; labels become 0 and 1."""
    named = getattr(owner, "feature_names_in_", None)
    names: Sequence[str] = [str(name) for name in named] if named is not None else audit.features
    if not names:
        raise InputError(WHO, Fault("distance", "is a predict function", cure=_LIST_FEATURES))
    text = [name for name in names if audit.kind(name) not in ("bool", "int", "float")]
    if text:
        return _encoded(audit, owner, text)
    design = audit.design(list(names), who=WHO)
    classes = getattr(owner, "classes_", None)

    def decide(points: Floats) -> NDArray[np.integer]:
        return _as_decisions(predict(_framed(points, names) if named is not None else points), classes)

    return PredictBoundary(points=design.matrix, columns=design.names, sources=tuple(names), predict=decide)


def _encoded(audit: Audit, owner: Any, text: Sequence[str]) -> PredictBoundary:
    """Texts have no way between them: people move in the columns that the pipeline's encoder makes of them."""
    before, last = _split(owner)
    if before is None:
        required = f"by a predict function needs numeric features to move along; {list(text)} are not"
        cure = "give a pipeline whose first steps encode them, or use the score"
        raise NotApplicable(WHO, Fault("distance", required, cure=cure))
    table, names = _table(audit, owner)
    points = _numbers(before.transform(table))
    columns, sources = _columns(before, names, points.shape[1])
    named = getattr(last, "feature_names_in_", None)

    def decide(moved: Floats) -> NDArray[np.integer]:
        return _as_decisions(
            last.predict(_framed(moved, columns) if named is not None else moved), last.classes_
        )

    return PredictBoundary(points=points, columns=columns, sources=sources, predict=decide)


def _as_decisions(answer: Any, classes: Any) -> NDArray[np.integer]:
    """An estimator's second class is 1; a function of no classes answers 0 and 1 itself."""
    found = np.asarray(answer)
    return np.asarray(found == classes[1] if classes is not None and len(classes) == 2 else found).astype(
        np.int64
    )


def _framed(points: Floats, names: Sequence[str]) -> Any:
    import pyarrow as pa

    from fairtrial._audit.frames import frame_for_estimators

    table = pa.table({name: points[:, index] for index, name in enumerate(names)})
    return frame_for_estimators(table, "pyarrow")

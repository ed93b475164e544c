"""A rule as a file: written by skops without pickle, and read with a fixed list of types that may be made.

The file says which types it holds; which of them are made is decided by the lists below alone. What is not on them, a
function, a class of another package, is refused by name before anything is made of it. skops trusts every estimator of
scikit-learn; here are only those that predict within the bounds of their arrays, whatever a file has put there, and
trees, which do not, are looked through before the rule is given to anybody.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._errors import Fault, InputError
from fairtrial._work.extras import lacking
from fairtrial._work.kept_files import check_output_file, write_whole

_OURS = "fairtrial._improve"
# Our own types, and those inside fitted scikit-learn models that skops does not trust by itself.
TRUSTED = (
    f"{_OURS}.rules.Rule",
    f"{_OURS}.rules.Reading",
    f"{_OURS}.scorers.ColumnScore",
    f"{_OURS}.scorers.Frontier",
    f"{_OURS}.scorers.GroupMargin",
    f"{_OURS}.scorers.Linear",
    f"{_OURS}.scorers.MeanOfClasses",
    f"{_OURS}.scorers.ModelScore",
    f"{_OURS}.scorers.SignedLinear",
    f"{_OURS}.scorers.Standardised",
    f"{_OURS}.scorers.TwoRegressions",
    f"{_OURS}.scorers.Tuned",
    "numpy.dtype",
    "sklearn._loss.link.Interval",
    "sklearn._loss.link.LogitLink",
    "sklearn._loss.link.IdentityLink",
    "sklearn._loss.link.MultinomialLogit",
    "sklearn._loss.loss.HalfBinomialLoss",
    "sklearn._loss.loss.HalfMultinomialLoss",
    "sklearn._loss.loss.HalfSquaredError",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.compose._column_transformer._RemainderColsList",
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
    "sklearn.utils._bunch.Bunch",
)
LOSSES = ("CyHalfBinomialLoss", "CyHalfMultinomialLoss", "CyHalfSquaredError")
# What else a file may hold: plain values, arrays, and estimators that compute in Python and NumPy. Support vector
# machines, neighbours and gradient boosting other than by histograms are not among them: their compiled code follows
# indices and sizes of the file without looking at them, and sparse arrays do the same.
PLAIN = (
    *(
        f"builtins.{name}"
        for name in ("bool", "dict", "float", "int", "list", "set", "slice", "str", "tuple")
    ),
    *(f"numpy.{name}" for name in ("ndarray", "bool", "bool_", "float32", "float64", "str_")),
    *(f"numpy.{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    "collections.OrderedDict",
    "numpy.random._generator.Generator",
    "numpy.random.mtrand.RandomState",
    "sklearn.svm._classes.LinearSVC",
    "sklearn.svm._classes.LinearSVR",
)
ESTIMATORS = (
    "sklearn.calibration.",
    "sklearn.compose.",
    "sklearn.decomposition._pca.",
    "sklearn.discriminant_analysis.",
    "sklearn.dummy.",
    "sklearn.ensemble._bagging.",
    "sklearn.ensemble._forest.",
    "sklearn.ensemble._hist_gradient_boosting.",
    "sklearn.ensemble._stacking.",
    "sklearn.ensemble._voting.",
    "sklearn.ensemble._weight_boosting.",
    "sklearn.impute.",
    "sklearn.isotonic.",
    "sklearn.kernel_approximation.",
    "sklearn.linear_model.",
    "sklearn.naive_bayes.",
    "sklearn.neural_network.",
    "sklearn.pipeline.",
    "sklearn.preprocessing.",
    "sklearn.tree._classes.",
)
LARGEST = 2**30  # bytes that a file may unpack to


def save_object(rule: Any, path: str | os.PathLike[str]) -> Path:
    """Write a rule; refuse one that could not be read again."""
    skops = skops_io()
    target = check_output_file("save", path)
    try:
        content = skops.dumps(rule)
    except Exception as error:
        raise _cannot_save(rule, str(error)) from error
    foreign = _foreign(content)
    if foreign:
        raise _cannot_save(rule, f"it holds {', '.join(foreign)}, which no file is trusted to make")
    unsound = unsound_trees(rule)
    if unsound:
        raise _cannot_save(rule, unsound)
    write_whole(target, content)
    return target


def _cannot_save(rule: Any, why: str) -> InputError:
    fault = Fault(
        "",
        f"cannot be saved: {why}",
        subject=f"the rule {rule.name!r}",
        cure="Keep what it was made of and fit it anew where it is needed",
    )
    return InputError("save", fault)


def read_object(path: str | os.PathLike[str]) -> Any:
    """What a file holds, made of trusted types only."""
    skops = skops_io()
    source = Path(path)
    if not source.is_file():
        raise InputError("load_rule", Fault("path", "must be a file", got=str(path)))
    try:
        content = source.read_bytes()
        foreign = _foreign(content)
        if foreign:
            required = f"holds {', '.join(foreign)}, which are not trusted; it was not read"
            raise _cannot_read(path, required, "read files that the save() of a rule has written")
        found = skops.loads(content, trusted=sorted(_trusted()))
        unsound = unsound_trees(found)
    except InputError:
        raise
    except Exception as error:
        raise _cannot_read(path, f"cannot be read as a rule: {error}") from error
    if unsound:
        raise _cannot_read(path, f"cannot be read as a rule: {unsound}")
    return found


def _cannot_read(
    path: str | os.PathLike[str], why: str, cure: str = "name a file that improve has saved"
) -> InputError:
    return InputError("load_rule", Fault("path", why, subject=f"{str(path)!r}", cure=cure))


def _foreign(content: bytes) -> list[str]:
    """Types that a file names and that are on no list, of ours or of skops."""
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        size = sum(part.file_size for part in packed.infolist())
        if size > LARGEST:
            raise ValueError(f"it unpacks to {size:,} bytes, more than {LARGEST:,}")
        named = set(_named(json.loads(packed.read("schema.json"))))
    trusted = _trusted()
    ours = {name for name in named if name in trusted or name in PLAIN or name.startswith(ESTIMATORS)}
    return sorted((named - ours) | (set(skops_io().get_untrusted_types(data=content)) - trusted))


def _trusted() -> set[str]:
    """The list above, with the compiled losses as the installed scikit-learn names them: before 1.9 their module is
    called `_loss`, a name that must not be trusted where it is not scikit-learn's."""
    from sklearn._loss import _loss as compiled

    return {*TRUSTED, *(f"{getattr(compiled, name).__module__}.{name}" for name in LOSSES)}


def _named(node: Any) -> Iterator[str]:
    """Every type that a part of the schema names."""
    if isinstance(node, dict):
        if "__module__" in node and "__class__" in node:
            yield f"{node['__module__']}.{node['__class__']}"
        for part in node.values():
            yield from _named(part)
    elif isinstance(node, list):
        for part in node:
            yield from _named(part)


def skops_io() -> Any:
    """The library that writes and reads rules."""
    try:
        import skops.io  # type: ignore[import-untyped]
    except ImportError:
        raise lacking("rules are saved and read with skops, which is not installed", "export") from None
    return skops.io


# -- Trees of a rule from a file, before anybody decides by them.
# Compiled code walks a tree from node to node and reads the feature that a node names without looking
# whether they exist: a file that names others could read memory that is not its own, or never come to an
# end. A tree is sound where every child is a later node of the same tree and every feature one of those
# that its estimator checks for.
def unsound_trees(found: Any) -> str:
    """Why the trees in an object cannot be trusted; empty where they can."""
    from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
    from sklearn.tree import BaseDecisionTree
    from sklearn.tree._tree import Tree

    trees, owned = [], set()
    for part in _parts(found):
        if isinstance(part, Tree | TreePredictor):
            trees.append(part)
        elif isinstance(part, BaseDecisionTree) and "tree_" in vars(part):
            owned.add(id(part.tree_))
            if not _sound_tree(part):
                return "a decision tree names nodes or features that it has not"
        elif isinstance(part, BaseHistGradientBoosting) and "_predictors" in vars(part):
            owned.update(id(tree) for each in part._predictors for tree in each)
            if not _sound_boosting(part):
                return "boosted trees name nodes or features that they have not, or categories"
    return "" if all(id(tree) in owned for tree in trees) else "it holds a tree that no estimator checks"


def _sound_tree(estimator: Any) -> bool:
    nodes = estimator.tree_.__getstate__()["nodes"]
    leaf = nodes["left_child"] == -1
    return _sound(estimator, leaf, nodes["left_child"], nodes["right_child"], nodes["feature"])


def _sound_boosting(estimator: Any) -> bool:
    if estimator._preprocessor is not None or vars(estimator).get("_in_fit", False):
        return False  # other columns than those that are checked
    every = [tree.nodes for each in estimator._predictors for tree in each]
    return all(
        _sound(estimator, nodes["is_leaf"] != 0, nodes["left"], nodes["right"], nodes["feature_idx"])
        and not nodes["is_categorical"].any()
        for nodes in every
    )


def _sound(
    estimator: Any,
    leaf: NDArray[np.bool_],
    left: NDArray[Any],
    right: NDArray[Any],
    feature: NDArray[Any],
) -> bool:
    """Whether children follow their parents, and features are among those that the estimator counts in new rows."""
    width = vars(estimator).get("n_features_in_")
    if type(width) is not int or not leaf.size:
        return False
    inner = np.flatnonzero(~leaf)
    children = np.stack([left[inner], right[inner]]).astype(np.int64)
    later = (children > inner) & (children < leaf.size)
    features = feature[inner].astype(np.int64)
    return bool(later.all() and (features >= 0).all() and (features < width).all())


def _parts(found: Any) -> Iterator[Any]:
    """The object and everything it is made of, each once."""
    waiting, seen = [found], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, list | tuple | set):
            waiting += part
        elif isinstance(part, np.ndarray):
            waiting += part.ravel().tolist() if part.dtype == object else []
        elif hasattr(part, "__dict__") and not isinstance(part, type):
            waiting += vars(part).values()

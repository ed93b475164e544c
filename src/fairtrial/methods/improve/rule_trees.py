"""Trees of a rule from a file, before anybody decides by them.

Compiled code walks a tree from node to node and reads the feature that a node names without looking whether they exist:
a file that names others could read memory that is not its own, or never come to an end. A tree is sound where every
child is a later node of the same tree and every feature one of those that its estimator checks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray


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

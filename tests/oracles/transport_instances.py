"""Random small transport problems for every criterion × distance kind, edge cases included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from inside.transport import (
    RateContrasts,
    band,
    disjoint_families,
    distances,
    from_matrices,
    overlapping_families,
)

Floats = np.ndarray


@dataclass(frozen=True)
class Instance:
    """One problem; `kind` says which criterion, distance and edge case it is of."""

    problem: RateContrasts
    distance: Floats
    lower: Floats
    upper: Floats
    criterion: str
    distance_kind: str
    edge: str
    direction: str


def _groups(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """Codes 0..k−1 of uneven sizes, each present."""
    codes = rng.choice(k, size=n, p=rng.dirichlet(np.full(k, 2.0)))
    codes[:k] = np.arange(k)
    return codes


def _single(
    rng: np.random.Generator, outcome: np.ndarray, group: np.ndarray, event: np.ndarray, want: int | None
):
    codes = group.copy()
    if want is not None:
        codes = np.where(outcome == want, group, -1)
    present = np.unique(codes[codes >= 0])
    renumbered = np.where(codes >= 0, np.searchsorted(present, codes), -1)
    k = present.size
    return disjoint_families(renumbered, [(range(k), int(rng.integers(k)))], event)


def _by_stratum(rng: np.random.Generator, stratum: np.ndarray, group: np.ndarray, event: np.ndarray):
    """One family per stratum; strata where only one group occurs are left out."""
    codes, families, used = np.full(group.size, -1), [], 0
    for value in np.unique(stratum):
        present = np.unique(group[stratum == value])
        if present.size < 2:
            continue
        for offset, label in enumerate(present):
            codes[(stratum == value) & (group == label)] = used + offset
        families.append((range(used, used + present.size), used + int(rng.integers(present.size))))
        used += present.size
    return disjoint_families(codes, families, event)


def _overlapping(rng: np.random.Generator, outcome: np.ndarray, event: np.ndarray, n: int) -> RateContrasts:
    count = int(rng.integers(2, 4))
    inside = outcome == 1 if rng.random() < 0.5 else np.ones(n, bool)
    while inside.sum() < 8:
        inside = np.ones(n, bool)
    columns = []
    for _ in range(count):
        k = int(rng.integers(2, 4))
        column = np.full(n, -1)
        column[inside] = _groups(rng, int(inside.sum()), k)
        columns.append(column)
    return overlapping_families(columns, [0] * count, event)


def _own(rng: np.random.Generator, event: np.ndarray, n: int) -> RateContrasts:
    """A tuple of one's own: cells that may overlap, contrasts that may mix several of them."""
    cells, contrasts = int(rng.integers(2, 5)), int(rng.integers(1, 3))
    u = (rng.random((n, cells)) < 0.5).astype(float)
    u[:cells] = np.eye(cells)
    w = rng.normal(size=(contrasts, cells)).round(1)
    w[:, 0] += 0.1
    w -= w.mean(axis=1, keepdims=True)
    w[:, -1] -= w.sum(axis=1)
    return from_matrices(u, w, event)


CRITERIA: dict[str, Callable[..., RateContrasts]] = {
    "equal opportunity": lambda r, n, y, t: _single(r, y, _groups(r, n, 2), t, 1),
    "predictive equality": lambda r, n, y, t: _single(r, y, _groups(r, n, 2), t, 0),
    "statistical parity": lambda r, n, y, t: _single(r, y, _groups(r, n, 2), t, None),
    "accuracy equality": lambda r, n, y, t: _single(r, y, _groups(r, n, 2), (t == y).astype(int), None),
    "false negative rate": lambda r, n, y, t: _single(r, y, _groups(r, n, 2), 1 - t, 1),
    "equalized odds": lambda r, n, y, t: _by_stratum(r, y, _groups(r, n, 2), t),
    "equalized odds, 4 groups": lambda r, n, y, t: _by_stratum(r, y, _groups(r, n, 4), t),
    "conditional parity": lambda r, n, y, t: _by_stratum(r, r.integers(0, 4, n), _groups(r, n, 2), t),
    "k groups": lambda r, n, y, t: _single(r, y, _groups(r, n, int(r.integers(3, 7))), t, 1),
    "overlapping attributes": lambda r, n, y, t: _overlapping(r, y, t, n),
    "own tuple": lambda r, n, y, t: _own(r, t, n),
}

EDGES = ("none", "on the boundary", "cannot move", "tolerance", "infeasible")
_THETA = np.array([1.0, -0.6, 0.4])


def _linear(x: Floats, norm: str) -> tuple[Floats, Floats]:
    margin = x @ _THETA - 0.1
    return margin >= 0, distances.linear_distance(margin, _THETA, norm, np.array([True, True, False]))


def _mixed(x: Floats) -> tuple[Floats, Floats]:
    discrete = np.round(x[:, :1])
    margin = discrete[:, 0] * _THETA[0] + x[:, 1:] @ _THETA[1:]
    part, reachable = discrete[:, 0] * _THETA[0], np.unique(discrete) * _THETA[0]
    return margin >= 0, distances.mixed_distance(margin, part, reachable, _THETA[1:], 0.3)


def _score(x: Floats, units: str) -> tuple[Floats, Floats]:
    score = np.round(1 / (1 + np.exp(-x @ _THETA)), 1 if units == "score" else 2).clip(0.01, 0.99)
    return score >= 0.5, distances.score_distance(score, 0.5, units)


def _predict(x: Floats) -> tuple[Floats, Floats]:
    def rule(points: Floats) -> Floats:
        return ((points[:, 0] ** 2 + points[:, 1]) > 0.7).astype(int)

    return rule(x), distances.predict_distance(x, rule(x), rule)


def _labels(x: Floats) -> Floats:
    labels = (x[:, 0] * x[:, 1] + 0.2 * x[:, 2] > 0).astype(int)
    labels[:2] = 0, 1
    return labels


def _kernel(x: Floats) -> tuple[Floats, Floats]:
    from sklearn.svm import SVC

    model = SVC(kernel="rbf", gamma=0.5).fit(x, _labels(x))
    squared = ((model.support_vectors_[:, None] - model.support_vectors_[None]) ** 2).sum(axis=2)
    values = model.decision_function(x)
    return values >= 0, distances.kernel_distance(values, model.dual_coef_, np.exp(-0.5 * squared))


def _tree(x: Floats) -> tuple[Floats, Floats]:
    from sklearn.tree import DecisionTreeClassifier

    x = x.astype(np.float32).astype(float)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(x, _labels(x))
    tree, decision = model.tree_, model.predict(x)
    nodes, lows, highs = distances.leaf_boxes(
        tree.children_left, tree.children_right, tree.feature, tree.threshold, x.shape[1]
    )
    leaf_decision = tree.value[nodes, 0].argmax(axis=1)
    return decision, distances.tree_distance(x, decision, lows, highs, leaf_decision)


DISTANCES: dict[str, Callable[[Floats], tuple[Floats, Floats]]] = {
    "linear l2": lambda x: _linear(x, "l2"),
    "linear l1": lambda x: _linear(x, "l1"),
    "linear l∞": lambda x: _linear(x, "linf"),
    "mixed discrete": _mixed,
    "discrete score": lambda x: _score(x, "score"),
    "score in log-odds": lambda x: _score(x, "log-odds"),
    "predict function": _predict,
    "kernel machine": _kernel,
    "decision tree": _tree,
    "column in large units": lambda x: (x[:, 0] > 0, np.abs(np.round(2 * x[:, 1]) * 17.0)),
}


def make_instance(seed: int, criterion: str, distance_kind: str, edge: str) -> Instance:
    """The instance of this seed; the draw is repeated until every compared cell has rows."""
    rng = np.random.default_rng([seed, 4])
    while True:
        n = int(rng.integers(30, 160))
        x, outcome = rng.normal(size=(n, 3)) + rng.uniform(-0.4, 0.4, 3), rng.integers(0, 2, n)
        decision, distance = DISTANCES[distance_kind](x)
        decision = np.asarray(decision).astype(int)
        try:
            problem = CRITERIA[criterion](rng, n, outcome, decision)
            break
        except ValueError:
            continue
    tolerance, direction = 0.0, str(rng.choice(["differs", "differs", "above", "below"]))
    if edge == "on the boundary":
        distance[rng.random(n) < 0.15] = 0.0
    elif edge == "cannot move":
        distance[rng.random(n) < 0.4] = np.inf
    elif edge == "tolerance":
        tolerance = float(rng.uniform(0.01, 0.15))
    elif edge == "infeasible":
        distance[rng.random(n) < 0.97] = np.inf
    lower, upper = band(problem.size, tolerance, direction)
    return Instance(problem, distance, lower, upper, criterion, distance_kind, edge, direction)

"""scan and transport: unknown subgroups, and the smallest change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np

from fairtrial import METRICS, papers
from inside.direct_calls import scan_with
from snapshot import inputs
from snapshot.case import (
    BETA,
    BINARY,
    Case,
    ask,
    in_words,
    own_metrics,
    role,
    varied,
)
from snapshot.inputs import audit, call, metric

# -- scan ------------------------------------------------------------------------------------------------------------
ARTICLE = {"expectation", "propensity", "sigma", "unsupported", "ridge"}  # options of the article's score
UNASKED = {"search", "scores", "neighbours"}  # what users of the question are not asked
SIDES = {"above": "positive", "below": "negative", "differs": "both", None: "both"}


def _scored(change: dict[str, Any]) -> dict[str, Any]:
    """With the score that the options belong to."""
    article = ARTICLE & set(change) or change.get("search") == "restarts"
    return {"score": "article", **change} if article else change


def _article_scan(of: str, name: str, score: str, **asked: Any) -> Any:
    """The article's scan with the choices that were usual when it was an option of `scan`."""
    side = asked.pop("direction", METRICS[name].hurts)
    usual: dict[str, Any] = {
        "search": "auto", "iterations": asked.pop("restarts", 50), "sigma": "estimated", "ranges": True,
        "null": "propensity" if name == "tpr" else "stratified", "direction": SIDES[side],
    }  # fmt: skip
    return papers.conditional_bias_scan.scan(audit(of), name, **{**usual, **asked})


def _scans(of: str, name: str, *, every: int, options: list[dict[str, Any]]) -> Iterator[Case]:
    """One case per set of options, by the score that they belong to."""
    for case, chosen in zip(varied("scan", of, name, every=every, options=options), options, strict=True):
        run = case.run
        if "score" in chosen:
            run = partial(_article_scan, of, name, **chosen)
        elif UNASKED & set(chosen):
            run = partial(lambda asked: scan_with(audit(of), name, **asked), chosen)
        yield replace(case, run=run)


def scan_cases() -> Iterator[Case]:
    base = {"protected": {"g": "Alpha"}, "permutations": 19, "top": 3}
    for name in [*BINARY, "mean_score", "balance_positive", "balance_negative"]:
        yield from varied(
            "scan", "people", name, every=6, options=[base, {**base, "direction": "differs", "null": None}]
        )
    changes: list[dict[str, Any]] = [
        {"direction": "above"}, {"direction": "below"}, {"direction": "differs"}, {"condition": 0},
        {"condition": 1},
        {"condition": "any"}, {"penalty": 0}, {"penalty": 3.5}, {"search": "exact"}, {"search": "restarts"},
        {"search": "restarts", "restarts": 4, "seed": 5}, {"null": "propensity"}, {"null": None}, {"permutations": 59},
        {"permutations": 59, "seed": 9},
        {"top": 1}, {"top": 12}, {"ridge": 1.0}, {"ridge": 1e-4}, {"unsupported": "drop"},
        {"confidence_level": 0.8},
        {"target": {"g": "Beta"}}, {"protected": {"g": ["Alpha", "Gamma"]}}, {"protected": {"g": "Beta"}},
        {"expectation": "doubly-robust"}, {"features": ["side"]}, {"features": "level"}, {"jobs": 1},
        {"protected": {"g": "Alpha", "side": "left"}, "features": ["level", "part"]},
    ]  # fmt: skip
    for change in changes:
        for name in ("fpr", "ppv"):
            yield from _scans("people", name, every=8, options=[{**base, **_scored(change)}])
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    for models in (
        {"expectation": LogisticRegression(C=0.5)},
        {"expectation": DecisionTreeClassifier(max_depth=2, random_state=0)},
        {"expectation": "doubly-robust", "propensity": DecisionTreeClassifier(max_depth=2, random_state=0)},
        {"expectation": "doubly-robust", "propensity": "logistic", "null": "bootstrap"},
    ):  # fmt: skip
        yield from _scans("people", "tpr", every=3, options=[{**base, **_scored(models)}])
    scores: list[dict[str, Any]] = [
        {"top": 4}, {"sigma": 0.1}, {"sigma": 0.4, "null": "bootstrap"}, {"scores": "bins"},
        {"neighbours": 10},
        {"neighbours": 40}, {"null": "propensity"},
        {"condition": 0},
        {"condition": "any"}, {"probability": "outcome-rate"},
    ]  # fmt: skip
    for change in scores:
        name = "balance_positive" if "condition" in change else "mean_score"
        yield from _scans("people", name, every=4, options=[{**base, **_scored(change)}])
        chosen = {**base, "probability": "outcome-rate", **_scored(change)}
        yield from _scans("people decile", name, every=4, options=[chosen])
    bins = {"protected": {"race": "African-American"}, "permutations": 39}
    for name in ("fpr", "fnr", "ppv", "for"):
        for change in (
            {},
            {"condition": "any", "direction": "differs"},
            {"target": {"race": "Caucasian"}},
        ):
            features = ["sex", "age_cat", "priors_count", "c_charge_degree"]
            chosen = {**bins, "features": features, **change}
            yield from varied("scan", "compas features", name, every=6, options=[chosen])
    yield from varied(
        "scan",
        "compas features",
        "tpr",
        options=[{**bins, "features": "age_cat", "protected": {"sex": "Male"}}],
    )
    for name, own in own_metrics().items():
        if name in ("column", "given column", "given list", "expression", "hurts"):
            yield Case(
                f"scan/own/{name} in strata",
                ask("scan", "people", own, features=["level"], **base),
                3,
            )
    yield from varied(
        "scan", "sparse two", "selection_rate", options=[{"protected": {"g": "rare"}, "permutations": 19}]
    )
    yield from varied("scan", "gaps drop", "fpr", options=[{**base, "features": ["level"]}])
    every_options: list[dict[str, Any]] = [
        {"permutations": 99}, {"permutations": 199, "protected": "side"},
        {"permutations": 99, "direction": "differs", "penalty": 2.0},
        {"permutations": 49, "features": ["side"], "top": 2},
        {"permutations": 99, "seed": 4, "condition": "any"},
        {"permutations": 99, "confidence_level": 0.8, "protected": ["g", "side"]},
    ]  # fmt: skip
    for change in every_options:
        yield from varied("scan", "people", "fpr", options=[change])
    yield from varied("scan", "people", "for", options=[{"protected": "side", "permutations": "enough"}])
    yield from varied("scan", "sparse two", "selection_rate", options=[{"permutations": 49}])
    yield from varied("scan", "people", "mean_score", options=[{"permutations": 49, "protected": ["g"]}])


# -- transport, and the paper's own test ----------------------------------------------------------------------------
PAPER = "papers.transport.fairness_test"


def transport_cases() -> Iterator[Case]:
    criteria: list[Any] = [
        "statistical_parity", "equal_opportunity", "predictive_equality", "equalized_odds", "separation",
        "accuracy_equality", "fnr_parity", "tnr", "error_rate", "fpr", ["tpr", "fpr"],
    ]  # fmt: skip
    for criterion in criteria:
        yield from varied(
            "transport", "people by score", criterion, every=3, options=[{}, {"by": ["g", "side"]}]
        )
    changes: list[dict[str, Any]] = [
        {"tolerance": 0.05}, {"tolerance": 0.2}, {"tolerance": 0.05, "direction": "above", "target": BETA},
        {"direction": "above"}, {"direction": "below"}, {"direction": "differs"},
        {"direction": "below", "target": {"g": "Alpha"}}, {"target": {"g": "Gamma"}}, {"distance": "score"},
        {"distance": "log-odds"}, {"distance": "far"}, {"within": "side"}, {"within": ["side", "level"]},
        {"minimum": 5}, {"minimum": 60}, {"confidence_level": 0.9}, {"seed": 4}, {"by": "level"},
        {"by": [{"g": "Alpha"}, {"g": ["Beta", "Gamma"]}]},
        {"by": [{"g": "Alpha", "side": "left"}, {"g": "Beta"}]},
    ]  # fmt: skip
    for change in changes:
        for criterion in ("equal_opportunity", "statistical_parity"):
            yield from varied("transport", "people by score", criterion, every=5, options=[change])
    by_the_paper: list[dict[str, Any]] = [
        {"calibration": "paper"}, {"calibration": "paper", "bandwidth": 0.5},
        {"calibration": "paper", "direction": "above", "tolerance": 0.05},
        {"calibration": "paper", "direction": "below"},
    ]  # fmt: skip
    for criterion in ("equal_opportunity", "statistical_parity"):
        yield from varied(PAPER, "people by score", criterion, every=5, options=by_the_paper)
    yield from varied("transport", "people by score", "equalized_odds", options=changes[:8])
    for within in ("side", ["side", "level"]):
        yield from varied("transport", "people by score", "conditional_parity", options=[{"within": within}])
    for of in ("people decisions", "people words", "gaps drop"):
        yield from varied("transport", of, "statistical_parity", options=[{}, {"tolerance": 0.05}])
    for minimum in (3, 30):
        yield from varied(
            "transport",
            "sparse",
            "statistical_parity",
            options=[{"minimum": minimum}, {"minimum": minimum, "tolerance": 0.1}],
        )
    yield from varied(
        "transport", "compas", "equalized_odds", options=[{}, {"by": "sex"}, {"by": "race", "minimum": 100}]
    )
    yield from varied("transport", "people decile", "predictive_equality", options=[{}, {"by": "side"}])
    moves: list[dict[str, Any]] = [
        {}, {"norm": "l1"}, {"norm": "linf"}, {"units": "standard"}, {"units": "model"},
        {"immutable": "male"},
        {"immutable": ["x2", "male"], "norm": "l1"}, {"immutable": ["x1", "x2", "male"]},
        {"units": "standard", "immutable": "x2"}, {"tolerance": 0.05},
    ]  # fmt: skip
    priced: list[dict[str, Any]] = [
        {"discrete": "male", "step_cost": 0.1, "calibration": "pooled"},
        {"discrete": ["male"], "step_cost": 2.0, "norm": "linf", "calibration": "pooled"},
        {"calibration": "paper"},
    ]  # fmt: skip
    for change in priced:
        for criterion in ("statistical_parity", "equal_opportunity"):
            yield from varied(
                PAPER, "linear", criterion, every=5, options=[{"distance": inputs.LINEAR, **change}]
            )
    for change in moves:
        for criterion in ("statistical_parity", "equal_opportunity"):
            yield from varied(
                "transport", "linear", criterion, every=5, options=[{"distance": inputs.LINEAR, **change}]
            )
    yield from varied(
        "transport", "linear scored", "equal_opportunity", options=[{"distance": "log-odds"}, {}]
    )
    for name in ("logistic", "scaled", "ridge", "tree", "svm", "linear svm", "bayes"):
        for change in ({}, {"units": "standard"}, {"norm": "l1", "immutable": "male"}):
            if name == "svm" and change:
                continue
            yield Case(f"transport/model/{name} {in_words(change)}".strip(), _by_model(name, change), 5)
    yield Case("transport/model/predict", lambda: _predicted({}), 3)
    yield Case(
        "transport/model/predict in its units", lambda: _predicted({"units": "model", "norm": "linf"}), 3
    )
    own = {
        "cells": [{"g": label, "role.outcome": 1} for label in ("Alpha", "Beta", "Gamma")],
        "contrasts": [[1, -1, 0], [0, 1, -1]], "names": ["first", "second", "third"], "name": "own equality",
    }  # fmt: skip
    for change in ({}, {"event": "role.not_decision"}, {"contrasts": [[1, -0.5, -0.5]]}):
        yield Case(
            f"{PAPER}/own/{in_words(change)}",
            ask(PAPER, "people by score", {**own, **change}, calibration="pooled"),
            2,
        )
    given = metric("left side", role.decision, {"side": "left"})
    yield Case("transport/own metric", ask("transport", "people by score", given), 2)
    yield Case(
        "transport/expression",
        ask("transport", "people by score", metric("old", role.decision, nw.col("age") > 40)),
    )


def _by_model(name: str, change: dict[str, Any]) -> Callable[[], Any]:
    def run() -> Any:
        frame, model = inputs.linear(), inputs.fitted_model(name)
        decided = frame.assign(d=model.predict(frame[["x1", "x2", "male"]]))
        roles = {"outcome": "y", "decision": "d", "groups": "race", "features": ["x1", "x2", "male"]}
        return call(
            "transport", call("Audit", decided, **roles), "statistical_parity", distance=model, **change
        )

    return run


def _rule(points: Any) -> Any:
    points = np.asarray(points, dtype=float)
    return (points @ np.array([1.0, 0.5, 0.4]) - 0.3499 > 0).astype(int)


def _predicted(change: dict[str, Any]) -> Any:
    return call("transport", audit("linear"), "statistical_parity", distance=_rule, **change)

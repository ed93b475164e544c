"""explain, compare and improve: what carries a gap, and what could have been better."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

import fairtrial
from snapshot import inputs
from snapshot.case import (
    BETA,
    BINARY,
    REAL,
    Case,
    ask,
    in_words,
    own_metrics,
    role,
    varied,
)
from snapshot.inputs import audit, call, metric


# -- explain and compare ---------------------------------------------------------------------------------------------
def decide(names: tuple[str, ...]) -> Any:
    """Coalition decisions made elsewhere: a sum of what is seen."""
    frame = inputs.people()
    seen = np.zeros(len(frame))
    for name in names:
        values = {
            "level": (frame["level"] == "level 2") * 0.5, "side": (frame["side"] == "left") * 0.2,
            "age": (frame["age"] - 48) / 40, "g": (frame["g"] == "Alpha") * 0.3,
        }  # fmt: skip
        seen = seen + values[name].to_numpy()
    return np.asarray(seen > 0.15)


@cache
def _wide() -> Any:
    """Nine numeric features."""
    frame = inputs.linear()
    random = np.random.default_rng(2)
    return frame.assign(
        **{f"x{k}": np.round(random.normal(size=len(frame)) + 0.1 * frame["x1"], 2) for k in range(9)}
    )


def _numbered(names: tuple[str, ...]) -> Any:
    return sum(_wide()[name].to_numpy() for name in names) > 0.2 * len(names)


def _many(options: dict[str, Any]) -> Callable[[], Any]:
    return lambda: call("explain", call("Audit", _wide(), outcome="y", groups="race"), "tpr", **options)


PAPER = "papers.shapley_rawls.explain"


def explain_cases() -> Iterator[Case]:
    told = {"coalitions": decide, "sensitive": "absent", "features": ["level", "side", "age"]}
    decided = [name for name in BINARY if name != "base_rate"]
    for name in decided:
        yield from varied("explain", "people", name, every=5, options=[told, {**told, "target": BETA}])
    changes: list[dict[str, Any]] = [
        {"allocation": "equal_surplus"}, {"allocation": "solidarity"}, {"allocation": "shapley"},
        {"allocation": "consensus"}, {"allocation": "lsp"},
        {"allocation": {"groups": [0.5, 0.5], "features": [0.5, 0.4]}},
        {"allocation": {"features": "solidarity"}},
        {"confidence_level": 0.8},
        {"by": ["g", "side"], "features": ["level", "age"]},
        {"by": [{"g": "Alpha"}, {"g": ["Beta", "Gamma"]}]}, {"by": "side", "features": ["level", "age"]},
        {"seed": 3}, {"test": 0.5}, {"test": "part"}, {"sensitive": "always"}, {"budget": 40},
        {"sensitive": "player", "features": ["level", "age", "g"]}, {"features": ["level"]},
    ]  # fmt: skip
    for change in changes:
        for name in ("tpr", "selection_rate"):
            yield from varied("explain", "people", name, every=6, options=[{**told, **change}])
    by_the_paper: list[dict[str, Any]] = [
        {"baseline": "prior", "interval": "certify"}, {"baseline": 0.3, "interval": "certify"},
        {"baseline": 2, "interval": "certify"}, {"interval": "paper"}, {"better": "higher", "interval": "certify"},
        {"better": "lower", "interval": "certify"},
    ]  # fmt: skip
    for change in by_the_paper:
        for name in ("tpr", "selection_rate"):
            yield from varied(PAPER, "people", name, every=6, options=[{**told, **change}])
    frame = inputs.people()
    names = [tuple(n for k, n in enumerate(("level", "age")) if mask >> k & 1) for mask in range(4)]
    matrix = np.column_stack([decide(seen) if seen else np.zeros(len(frame)) for seen in names]).astype(float)
    two = {"sensitive": "absent", "features": ["level", "age"]}
    yield from varied("explain", "people", "ppv", options=[{**two, "coalitions": matrix}])
    yield from varied(
        "explain", "people", "ppv", options=[{**two, "coalitions": matrix * 0.5 + 0.2, "target": BETA}]
    )
    given = {seen: decide(seen) for seen in names if seen}
    yield Case("explain/people/ppv dict", ask("explain", "people", "ppv", coalitions=given, **two), 2)
    for model in ("logistic", "tree", "forest", "boosting"):
        every = 3 if model in ("logistic", "tree") else 0
        yield from varied(
            "explain", "people aged", "fpr", every=every,
            options=[{"model": model}, {"model": model, "target": BETA, "test": "part"}],
        )  # fmt: skip
    fits: list[dict[str, Any]] = [
        {"sensitive": "player"}, {"sensitive": "always"}, {"test": 0.5, "seed": 2}, {"features": ["age"]},
        {"features": {"place": ["level", "side"], "age": ["age"]}}, {"features": ["level", "age", "g"]},
        {"allocation": "equal_surplus"}, {"by": ["g", "side"]}, {"test": (np.arange(900) % 3 == 0).tolist()},
        {"coalitions": "marginal"}, {"coalitions": "marginal", "background": 20},
        {"coalitions": "marginal", "averaged": "probabilities", "background": 20},
    ]  # fmt: skip
    for change in fits:
        yield from varied(
            "explain", "people aged", "selection_rate", every=5, options=[{"model": "logistic", **change}]
        )
        yield from varied("explain", "people aged", "tpr", every=5, options=[{"model": "tree", **change}])
    for name in REAL:
        yield from varied("explain", "people aged", name, every=4, options=[{"model": "logistic"}])
        chosen = {
            "model": "logistic", "coalitions": "marginal", "background": 10, "baseline": 0.5,
            "sensitive": "absent", "interval": "certify",
        }  # fmt: skip
        yield from varied(PAPER, "people aged", name, every=4, options=[chosen])
    yield from varied(
        "explain", "people six", "fpr", every=3,
        options=[{"model": "tree", "budget": 63}, {"model": "tree", "allocation": "equal_surplus"},
                 {"model": "tree", "features": {"a": ["level", "side"], "b": ["age", "grade"], "c": ["cost"]}}],
    )  # fmt: skip
    many = {"coalitions": _numbered, "sensitive": "absent", "features": [f"x{k}" for k in range(9)]}
    for change in (
        {"budget": 300},
        {"budget": 300, "seed": 2},
        {"allocation": "equal_surplus"},
        {"budget": 600},
    ):
        yield Case(f"explain/many/{in_words(change)}", _many({**many, **change}), 3)
    for name, own in own_metrics().items():
        if name in ("given column", "given list", "dict", "hurts"):
            yield Case(f"explain/own/{name}", ask("explain", "people", own, **told), 2)
    yield Case("explain/fitted/marginal", lambda: _fitted("logistic", {}), 3)
    yield Case("explain/fitted/tree", lambda: _fitted("tree", {"averaged": "probabilities"}), 3)
    yield Case("explain/fitted/all", lambda: _fitted("bayes", {"background": 1000}), 3)
    yield from varied(
        "explain", "compas numbers", "fpr", options=[{"model": "logistic", "target": {"sex": "Female"}}]
    )
    for name in ("fpr", "selection_rate"):
        for options in ({}, {"confidence_level": 0.8}):
            yield Case(f"compare/{name} {in_words(options)}".strip(), compared(name, options), 3)
    yield Case("compare/functions", lambda: _compared_functions(), 2)
    yield Case(
        "compare/seeds",
        lambda: call("compare", _explained("tpr", "logistic", BETA), _explained("tpr", "logistic", BETA)),
        2,
    )


def _explained(name: str, model: str, target: Any) -> Any:
    return call("explain", audit("people aged"), name, model=model, target=target, test="part")


def compared(name: str, options: dict[str, Any]) -> Callable[[], Any]:
    return lambda: call(
        "compare", _explained(name, "logistic", BETA), _explained(name, "tree", BETA), **options
    )


def _compared_functions() -> Any:
    told = {"sensitive": "absent", "features": ["level", "age"]}
    first = call("explain", audit("people"), "ppv", coalitions=decide, **told)
    second = call("explain", audit("people"), "ppv", coalitions=lambda names: ~decide(names), **told)
    return call("compare", first, second)


def _fitted(name: str, change: dict[str, Any]) -> Any:
    options = {"model": inputs.fitted_model(name), "coalitions": "marginal", **change}
    return call("explain", audit("linear"), "tpr", **options)


# -- improve ---------------------------------------------------------------------------------------------------------
QUICK = {"splits": 3, "bootstrap": 200}
FIXED = {**QUICK, "candidates": ["better"]}


def improve_cases() -> Iterator[Case]:
    pairs: list[tuple[Any, Any, dict[str, Any]]] = [
        ("accuracy", "selection_rate", {}), ("accuracy", "tpr", {}), ("accuracy", "fpr", {}),
        ("accuracy", "ppv", {}),
        ("accuracy", "for", {}), ("accuracy", "tnr", {}), ("accuracy", "fnr", {}),
        ("accuracy", "accuracy", {}),
        ("tpr", "selection_rate", {}), ("ppv", "fpr", {}), ("npv", "tpr", {}),
        ("accuracy", ["tpr", "fpr"], {}),
        ("accuracy", "equalized_odds", {}), ("accuracy", "sufficiency", {}),
        ("accuracy", "tpr", {"everyone": True}),
        ("accuracy", "tpr", {"absolute": True}), ("accuracy", "tpr", {"component": "paper"}),
        ("accuracy", "tpr", {"component": "paper", "absolute": True, "everyone": True}),
        ("accuracy", "tpr", {"direction": "below", "target": {"group": "a"}}),
        ("accuracy", "fpr", {"direction": "above", "target": {"group": "a"}}),
        ("error_rate", "fnr", {"absolute": True}), ("fpr", "fdr", {"absolute": True}),
        ({"name": "profit", "selected": "margin", "rejected": 0}, "tpr", {"absolute": True}),
        ("accuracy", {"name": "gain", "selected": "margin", "rejected": 0.5}, {"absolute": True}),
        ("accuracy", "tpr", {"aggregate": "running-median"}), ("accuracy", "tpr", {"aggregate": "single"}),
        ("accuracy", "tpr", {"aggregate": "running-median", "splits": 5}), ("accuracy", "tpr", {"splits": 1}),
        ("accuracy", "tpr", {"margin": 0.01, "reduction": 0.1}),
        ("accuracy", "tpr", {"margin": 0.05, "reduction": 0.2}),
        ("accuracy", "tpr", {"margin": {"a": 0.01, "b": 0.02}, "reduction": 0.1}),
        ("accuracy", "tpr", {"seed": 7}),
        ("accuracy", "tpr", {"margin": 0.02, "confidence_level": 0.8}),
        ("accuracy", "tpr", {"folds": 2}),
        ("accuracy", "tpr", {"train_share": 0.3}), ("accuracy", "tpr", {"bootstrap": 1000}),
        ("accuracy", "tpr", {"jobs": 1}),
        ("accuracy", "tpr", {"candidates": ["better", "near"]}),
        ("accuracy", "tpr", {"candidates": ["decision"]}),
        ("accuracy", "tpr", {"by": [{"group": "b"}, {"group": "a"}]}), ("accuracy", "tpr", {"capacity": 0.8}),
        ("accuracy", "tpr", {"blind": False}),
    ]  # fmt: skip
    for accuracy, fairness, change in pairs:
        yield from varied("improve", "misled", accuracy, fairness, every=5, options=[{**FIXED, **change}])
    for change in ({}, {"candidates": ["near", "better"], "splits": 5}, {"absolute": True}):
        yield from varied(
            "improve", "misled three", "accuracy", "tpr", every=3, options=[{**FIXED, **change}]
        )
    by_metric = metric("right about the rest", role.correct, {"sector": ["public", "other"]})
    yield Case("improve/own/accuracy", ask("improve", "misled", by_metric, "tpr", **FIXED))
    by_margin = metric("margin of the selected", "margin", {role.decision: 1})
    yield Case("improve/own/fairness", ask("improve", "misled", "accuracy", by_margin, **FIXED))
    for fairness in ("mean_score", "brier"):
        yield from varied(
            "improve", "misled scored", "accuracy", fairness, options=[{**FIXED, "candidates": ["near"]}]
        )
    yield Case("improve/payoff", lambda: _with_payoff(), 2)
    for name in ("logistic", "tree", "labelled", "two", "function"):
        yield Case(f"improve/fitted/{name}", _fitted_rules(name), 3)
    for name, change in {
        "capacity": {"capacity": 0.3}, "status quo": {"capacity": "status quo"},
        "banned": {"banned": ["proxy"]},
        "banned one": {"banned": "proxy"}, "monotone": {"rising": "need"}, "folds": {"folds": 2},
        "train": {"train_share": 0.7},
    }.items():  # fmt: skip
        yield Case(f"improve/constrained/{name}", _fitted_rules("logistic", change), 4)
    yield Case(
        "improve/portfolio",
        ask("improve", "misled", "accuracy", "tpr", candidates="portfolio", splits=1, bootstrap=200),
        0,
    )
    capped = {"candidates": "portfolio", "splits": 1, "bootstrap": 200, "capacity": 0.3}
    yield Case(
        "improve/portfolio of a capacity", ask("improve", "misled", "ppv", "selection_rate", **capped), 0
    )
    thresholds = {"candidates": ["group-thresholds"], "blind": False, **QUICK, "splits": 1}
    yield Case(
        "improve/group thresholds", ask("improve", "misled knowing", "accuracy", "tpr", **thresholds), 0
    )
    yield Case(
        "improve/reductions",
        ask("improve", "misled", "accuracy", "tpr", candidates=["reductions"], splits=1, bootstrap=200),
        0,
    )
    yield Case("improve/programs/F.5", lambda: _program("F.5", "accuracy"), 0)
    yield Case("improve/risk", lambda: _of_score("misled risk", "ppv", "selection_rate"), 2)
    yield Case("improve/conditions", lambda: _of_score("misled conditions", "ppv", "ppv"), 2)


def _with_payoff() -> Any:
    payoff = fairtrial.Payoff("profit", "margin")
    return call("improve", audit("misled"), payoff, "tpr", absolute=True, **FIXED)


def _of_score(of: str, accuracy: str, fairness: str) -> Any:
    from sklearn.linear_model import LinearRegression, LogisticRegression

    model = LogisticRegression() if of == "misled risk" else LinearRegression()
    return call("improve", audit(of), accuracy, fairness, candidates=[model], capacity=0.25, **QUICK)


def _program(name: str, what: str) -> Any:
    program = fairtrial.papers.improvability.LinearProgram(name, rows=14, seconds=30)
    return call("improve", audit("misled"), what, what, candidates=[program], splits=1, bootstrap=200)


def _fits(train: Any) -> Any:
    """A function candidate: a threshold on `need`."""
    return lambda inputs: np.asarray(inputs.frame["need"], dtype=float) > 0.05


def _fitted_rules(name: str, change: dict[str, Any] | None = None) -> Callable[[], Any]:
    def run() -> Any:
        from sklearn.linear_model import LogisticRegression
        from sklearn.tree import DecisionTreeClassifier

        tree = DecisionTreeClassifier(max_depth=3, random_state=0)
        labelled = fairtrial.Estimator
        candidates: dict[str, list[Any]] = {
            "logistic": [LogisticRegression()], "tree": [tree], "two": [LogisticRegression(), tree],
            "function": [_fits],
            "labelled": [labelled(LogisticRegression(), "plain"), labelled(LogisticRegression(C=0.01), "bent")],
        }  # fmt: skip
        options = {**QUICK, "candidates": candidates[name], **(change or {})}
        result = call("improve", audit("misled"), "accuracy", "tpr", **options)
        decided = None if result.rule is None else np.asarray(result.rule.predict(audit("misled"))).sum()
        gains = [result.largest_fairness_gain(loss) for loss in (0.0, 0.02)]
        return {
            "result": result,
            "decided": decided,
            "gains": gains,
            "p": result.p_value,
            "rejected": result.rejected,
        }

    return run

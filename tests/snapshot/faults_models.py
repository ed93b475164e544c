"""Faults of transport, explain, compare, improve, run and of saved results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import narwhals as nw
import numpy as np

import fairtrial
from snapshot import inputs
from snapshot.case import BETA, Case, role
from snapshot.cases_models import FIXED
from snapshot.cases_outputs import spec_of
from snapshot.cases_search import PAPER
from snapshot.faults_data import NAN, bad, faulty_calls, file_of
from snapshot.faults_groups import but, common_faults
from snapshot.inputs import audit, call, metric

TWO = [{"g": "Alpha"}, {"g": "Beta"}]
LINES = """[data]
source = "people.parquet"
decision = "dd"
groups = ["gg"]

[measure]
metric = ["tprr"]
minimun = 3
"""


def transport_faults() -> Iterator[Case]:
    yield from faulty_calls("transport", "people by score", ("equal_opportunity",), {
        **but(common_faults("metric"), *(f"metric {part}" for part in ("c", "d", "g", "k", "n", "r", "t"))),
        "criterion parity": {"metric": "predictive_parity"},
        "criterion sufficiency": {"metric": "sufficiency"},
        "criterion empty": {"metric": []}, "criterion score": {"metric": "mean_score"},
        "criterion base": {"metric": "base_rate"},
        "criterion events": {"metric": ["tpr", "fnr"]},
        "criterion calibration": {"metric": "calibration"},
        "criterion typo": {"metric": "equal_oportunity"},
        "strata lacks": {"metric": "conditional_parity"},
        "strata unknown": {"within": "sides"}, "strata number": {"within": 3},
        "direction": {"direction": "up"},
        "norm": {"norm": "l3"}, "units": {"units": "metres"},
        "several": {"direction": "up", "norm": "l3"},
        "tolerance": {"tolerance": -0.1}, "tolerance one": {"tolerance": 1},
        "tolerance text": {"tolerance": "x"},
        "tolerance true": {"tolerance": True}, "minimum": {"minimum": 0},
        "target number": {"target": 0.5}, "target rest": {"target": "rest"},
        "norm of a score": {"norm": "l1"},
        "immutable of a score": {"immutable": "age"}, "distance column": {"distance": "scor"},
        "distance negative": {"distance": "psi"},
        "distance number": {"distance": 3}, "distance text column": {"distance": "level"},
        "distance table": {"distance": {"coefficient": {}}},
        "distance empty": {"distance": {"coefficients": {}}},
        "distance feature": {"distance": {"coefficients": {"ages": 1}}},
        "distance wrong": {"distance": {"coefficients": {"age": 1.0}}},
        "overlap": {"by": [{"g": "Alpha"}, {"side": "left"}]},
        "by mixed": {"by": ["g", {"side": "left"}]}, "nobody": {"minimum": 100000},
    })  # fmt: skip
    yield from faulty_calls("transport", "linear", ("statistical_parity",), {
        "immutable unknown": {"immutable": "x3"},
        "rule": {"distance": {**inputs.LINEAR, "intercept": 3.0}},
        "key": {"distance": {**inputs.LINEAR, "bias": 3.0}},
        "score": {"distance": "score"}, "log-odds": {"distance": "log-odds"},
    }, distance=inputs.LINEAR)  # fmt: skip
    yield from faulty_calls(PAPER, "people by score", ("equal_opportunity",), {
        "calibration": {"calibration": "papr"}, "bandwidth": {"bandwidth": -1},
        "bandwidth pooled": {"bandwidth": 0.3, "calibration": "pooled"}, "step_cost": {"step_cost": 0},
        "paper tolerance": {"tolerance": 0.1},
        "own contrasts": {"criterion": {"cells": [{"g": "Alpha"}]}},
        "own event": {"criterion": {"cells": TWO, "contrasts": [[1, -1]], "event": "role.score"}},
        "own shape": {"criterion": {"cells": TWO, "contrasts": [[1, -1, 0]]}},
        "own sum": {"criterion": {"cells": TWO, "contrasts": [[1, 1]]}},
        "own role": {"criterion": {"cells": [{"role.outcom": 1}, {"g": "Beta"}], "contrasts": [[1, -1]]}},
        "own key": {"criterion": {"cells": [{"g": "Alpha"}], "contrasts": [[1]], "weights": 1}},
    })  # fmt: skip
    yield from faulty_calls(PAPER, "linear", ("statistical_parity",), {
        "discrete unknown": {"discrete": ["mal"], "step_cost": 1.0},
        "step lacks": {"discrete": "male"}, "step alone": {"step_cost": 1.0},
        "both": {"immutable": "male", "discrete": "male", "step_cost": 1.0},
    }, distance=inputs.LINEAR)  # fmt: skip
    yield from faulty_calls("transport", "people decisions", ("statistical_parity",), {
        "no outcome": {"metric": "tpr"}, "units without distance": {"units": "standard"},
        "predict": {"distance": np.sign},
    })  # fmt: skip
    yield from faulty_calls(
        "transport", "people decile", ("tpr",), {"log-odds of deciles": {"distance": "log-odds"}}
    )
    yield Case("faults/transport/not fitted", lambda: _transport_model("new"), 2)
    yield Case("faults/transport/many classes", lambda: _transport_model("many"), 2)
    yield Case("faults/transport/other decisions", lambda: _transport_model("other"), 2)
    yield Case(
        f"faults/{PAPER}/tree discrete",
        lambda: _transport_model("tree", PAPER, discrete="male", step_cost=1.0),
        2,
    )
    yield Case("faults/transport/kernel units", lambda: _transport_model("svm", units="standard"), 2)
    yield Case(
        "faults/transport/no plan",
        lambda: call("transport", audit("people decisions"), "statistical_parity").transport_plan(),
        2,
    )


def _transport_model(name: str, asked: str = "transport", **options: Any) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    frame = inputs.linear()
    x = frame[["x1", "x2", "male"]]
    models: dict[str, Callable[[], Any]] = {
        "new": LogisticRegression,
        "many": lambda: LogisticRegression().fit(x, frame["x1"].round().clip(-1, 1)),
        "other": lambda: LogisticRegression().fit(x, frame["male"]),
        "tree": lambda: DecisionTreeClassifier(max_depth=2, random_state=0).fit(x, frame["y"]),
        "svm": lambda: SVC().fit(x, frame["y"]),
    }  # fmt: skip
    model = models[name]()
    if name in ("tree", "svm"):
        frame = frame.assign(d=model.predict(x))
    roles = {"outcome": "y", "decision": "d", "groups": "race", "features": ["x1", "x2", "male"]}
    return call(asked, call("Audit", frame, **roles), "statistical_parity", distance=model, **options)


def explain_faults() -> Iterator[Case]:
    def decide(names: tuple[str, ...]) -> Any:
        return np.arange(900) % 2

    told = {"coalitions": decide, "sensitive": "absent", "features": ["level", "age"]}
    yield from faulty_calls("explain", "people", ("tpr",), {
        **but(common_faults(), "target", "metric column", "metric text"),
        "model lacks": {"coalitions": "retrain", "sensitive": None},
        "model name": {"coalitions": "retrain", "model": "logit", "sensitive": None},
        "model object": {"coalitions": "retrain", "model": 3, "sensitive": None},
        "coalitions word": {"coalitions": "shap"},
        "averaged": {"averaged": "scores"}, "background": {"background": 0},
        "background real": {"background": 1.5},
        "allocation": {"allocation": "shaply"}, "allocation dict": {"allocation": {"people": [1]}},
        "allocation size": {"allocation": {"features": [1, 2, 3, 4]}},
        "allocation equal": {"allocation": {"groups": [0.0, 0.0]}},
        "reference text": {"target": "Beta"}, "reference level": {"target": {"g": "Bet"}},
        "budget": {"budget": 0},
        "budget real": {"budget": 2.5}, "sensitive": {"sensitive": "proxy"},
        "sensitive lacks": {"sensitive": None},
        "sensitive absent": {"features": ["level", "g"]}, "sensitive player": {"sensitive": "player"},
        "features number": {"features": 3},
        "features twice": {"features": ["age", "age"]}, "features unknown": {"features": ["ages"]},
        "features empty": {"features": []},
        "by mixed": {"by": ["g", {"side": "left"}]}, "by one": {"by": [{"g": "Alpha"}]},
        "by overlap": {"by": [{"g": "Alpha"}, {"side": "left"}]},
        "by many": {"by": "decile"}, "test share": {"test": 1.5}, "test column": {"test": "level"},
        "test size": {"test": [True, False]},
        "test unknown": {"test": "parts"}, "test all": {"test": [True] * 900}, "seed": {"seed": -1},
        "base rate": {"metric": "base_rate"},
        "calibration": {"metric": "calibration"},
        "expression": {"metric": metric("old", role.decision, nw.col("age") > 40)},
        "mixed": {"metric": {"name": "x", "value": "role.score", "given": {"role.decision": 1}}},
        "matrix shape": {"coalitions": np.zeros((900, 3))},
        "matrix nan": {"coalitions": np.full((900, 4), NAN)},
        "matrix two": {"coalitions": np.full((900, 4), 2.0)},
        "dict lacks": {"coalitions": {("age",): np.zeros(900)}},
        "function size": {"coalitions": lambda names: [1, 0]},
        "marginal unfitted": {"coalitions": "marginal", "model": None, "sensitive": None},
    }, **told)  # fmt: skip
    yield from faulty_calls("papers.shapley_rawls.explain", "people", ("tpr",), {
        "baseline": {"baseline": "chance"}, "baseline zero": {"baseline": 0}, "baseline nan": {"baseline": NAN},
        "baseline true": {"baseline": True}, "interval": {"interval": "wald"}, "better": {"better": "up"},
        "prior of a score": {"metric": "mean_score", "baseline": "prior"},
    }, **told)  # fmt: skip
    yield from faulty_calls(
        "explain", "people cost", ("ppv",), {"real outcome": {}}, model="logistic", features=["age"]
    )
    yield from faulty_calls(
        "explain",
        "people decisions",
        ("tpr",),
        {"no outcome": {"model": "logistic"}, "no features": {"model": "logistic", "features": None}},
        features=["age"],
    )

    def made(**changes: Any) -> Any:
        return call("explain", audit("people"), changes.pop("metric", "tpr"), **{**told, **changes})

    yield from bad("compare", {
        "not explained": lambda: call("compare", made(), 3),
        "read": lambda: call("compare", made(), type(made()).from_dict(made().to_dict())),
        "metric": lambda: call("compare", made(), made(metric="fpr")),
        "features": lambda: call("compare", made(), made(features=["age", "side"])),
        "allocation": lambda: call("compare", made(), made(allocation="solidarity")),
        "groups": lambda: call("compare", made(), made(target=BETA)),
        "people": lambda: call("compare", made(), made(test="part")),
        "level": lambda: call("compare", made(), made(), confidence_level=2),
    })  # fmt: skip


def improve_faults() -> Iterator[Case]:
    program = fairtrial.papers.improvability.LinearProgram
    yield from faulty_calls("improve", "misled", ("accuracy", "tpr"), {
        "accuracy typo": {"keep": "accurcy"}, "accuracy same": {"keep": "base_rate"},
        "accuracy bins": {"keep": "calibration"},
        "accuracy lower": {"keep": "error_rate"},
        "accuracy negative": {"keep": {"name": "profit", "selected": "margin"}},
        "payoff key": {"keep": {"name": "profit", "selected": "margin", "other": 1}},
        "payoff nameless": {"keep": {"selected": "margin"}},
        "payoff column": {"keep": {"name": "p", "selected": "margins"}, "absolute": True},
        "fairness empty": {"metric": []}, "fairness typo": {"metric": "tprr"},
        "fairness score": {"metric": "mean_score"},
        "expression": {"keep": metric("old", role.decision, nw.col("need") > 0)},
        "candidates typo": {"candidates": ["beter"]},
        "candidates number": {"candidates": [3]},
        "candidates empty": {"candidates": []},
        "candidates twice": {"candidates": ["better", "better"]}, "program": {"candidates": [program("F.5")]},
        "program capacity": {"candidates": [program("P'")], "keep": "ppv", "metric": "ppv"},
        "margin text": {"margin": "none"}, "margin nan": {"margin": NAN}, "margin list": {"margin": [0, 1]},
        "margin name": {"margin": {"c": 0.1}}, "reduction": {"reduction": NAN}, "capacity": {"capacity": 1.5},
        "capacity text": {"capacity": "half"}, "capacity kept": {"capacity": 0.2},
        "method": {"component": "papr"}, "aggregate": {"aggregate": "mean"}, "scale": {"scale": "log"},
        "direction": {"direction": "up"},
        "direction alone": {"direction": "below"},
        "target unknown": {"direction": "below", "target": {"group": "c"}},
        "nothing behind": {"direction": "below", "target": {"group": "b"}},
        "monotone typo": {"rising": "needs"},
        "monotone both": {"rising": "need", "falling": "need"}, "monotone number": {"rising": 3},
        "monotone other": {"rising": "risk"},
        "banned typo": {"banned": ["prox"]}, "splits": {"splits": 0}, "splits real": {"splits": 2.5},
        "bootstrap": {"bootstrap": 10},
        "folds": {"folds": 1}, "train_share": {"train_share": 1.0}, "level": {"confidence_level": 0},
        "seed": {"seed": -3}, "blind": {"blind": "yes"},
        "by one": {"by": [{"group": "a"}]}, "by unknown": {"by": "groups"},
        "by small": {"by": "small"},
        "by overlap": {"by": [{"group": "a"}, {"sector": "public"}]},
        "group thresholds": {"candidates": ["group-thresholds"]},
    }, **FIXED)  # fmt: skip
    yield from faulty_calls(
        "improve",
        "misled risk",
        ("accuracy", "tpr"),
        {"no decision": {}, "status quo": {"capacity": "status quo"}},
        **FIXED,
    )
    yield from faulty_calls(
        "improve",
        "people decisions",
        ("accuracy", "tpr"),
        {"no outcome": {}, "no features": {"candidates": "portfolio"}},
        by="g",
    )
    yield Case("faults/improve/not monotone", lambda: _fitted(falling="need"), 2)
    yield Case("faults/improve/same name", lambda: _fitted(twice=True), 2)
    yield Case("faults/improve/banned used", lambda: _fitted(features=("need", "proxy"), banned=["proxy"]), 2)
    yield Case(
        "faults/improve/not a rule",
        lambda: call(
            "improve", audit("misled"), "accuracy", "tpr", candidates=[_nothing], splits=1, bootstrap=200
        ),
        2,
    )
    yield Case(
        "faults/improve/level of the surface",
        lambda: call("improve", audit("misled"), "accuracy", "tpr", **FIXED).surface(0.123),
        2,
    )


def _nothing(train: Any) -> Any:
    return 3


def _fitted(twice: bool = False, features: tuple[str, ...] | None = None, **options: Any) -> Any:
    from sklearn.linear_model import LogisticRegression

    candidates: list[Any] = [LogisticRegression(), *([LogisticRegression(C=2)] if twice else [])]
    if features:
        candidates = [fairtrial.Estimator(LogisticRegression(), features=features)]
    return call(
        "improve",
        audit("misled"),
        "accuracy",
        "tpr",
        candidates=candidates,
        splits=1,
        bootstrap=200,
        **options,
    )


# -- whole audits, results -------------------------------------------------------------------------------------------
def spec_faults() -> Iterator[Case]:
    changes: dict[str, dict[str, Any]] = {
        "no data": {"data": {}}, "no question": {"measure": [], "transport": []},
        "unknown key": {"mesure": {}},
        "unknown dataset": {"data": {"dataset": "compass", "decision": "d", "groups": ["g"]}},
        "no file": {"data": {"source": "peple.parquet", "decision": "d", "groups": ["g"]}},
        "no role": {"data": {"source": "people.parquet", "groups": ["g"]}},
        "no groups": {"data": {"source": "people.parquet", "decision": "d"}},
        "role unknown": {"data": {"source": "people.parquet", "decision": "dd", "groups": ["g"]}},
        "threshold alone": {"data": {"source": "people.parquet", "decision": "d", "threshold": 1, "groups": ["g"]}},
        "metric unknown": {"measure": {"metric": "selection"}},
        "argument unknown": {"measure": {"metric": "tpr", "intervals": "exact"}},
        "argument reserved": {"measure": {"seed": 1}},
        "wrong type": {"measure": {"metric": "selection_rate", "minimum": "many"}},
        "level unknown": {"measure": {"metric": "selection_rate", "by": [{"g": "Delta"}]}},
        "lacks": {"certify": {"tolerance": 0.1}},
        "not a table": {"measure": 3}, "needs outcome": {"measure": {"metric": "tpr"}},
        "title": {"measure": {"title": 3}},
        "preset unknown": {"preset": "insurance"},
        "preset needs": {"preset": "lending", "data": {"source": "people.parquet", "outcome": "y", "groups": ["g"]}},
        "own metric": {"metrics": {"tpr": {"value": "role.decision"}}},
        "own group": {"groups": {"g": {"g": "Beta"}}},
        "choice": {"transport": {"metric": "statistical_parity", "norm": "l3"}},
        "suppress": {"report": {"suppress_below": -1}},
        "alpha": {"run": {"alpha": 2}}, "seed": {"run": {"seed": -1}},
    }  # fmt: skip
    for name, change in changes.items():
        yield Case(f"faults/run/{name}", lambda change=change: call("run", _spec(change)), 2)
    yield from bad("run", {
        "jobs": lambda: call("run", _spec({}), jobs=0), "resume": lambda: call("run", _spec({}), resume=True),
        "seed of the call": lambda: call("run", _spec({}), seed=-1),
        "no spec": lambda: inputs.elsewhere(lambda: call("run", "missing.toml")),
        "folder": lambda: call("run", str(inputs.scratch())), "number": lambda: call("run", 3),
        "no toml": lambda: call("run", file_of("broken.toml", "[data\nx = 1")()),
        "lines": lambda: call("run", file_of("lines.toml", LINES)()),
    })  # fmt: skip
    yield from bad("result", {
        "frame": lambda: call("measure", audit("people"), "tpr").to_frame("dask"),
        "kind": lambda: _read({"schema": _schema(), "kind": "guess"}),
        "schema": lambda: _read({"schema": "x"}), "list": lambda: _read([]),
        "lacks": lambda: _read({"schema": _schema(), "kind": "plan"}),
        "name": lambda: fairtrial.mesure,  # type: ignore[attr-defined]
    })  # fmt: skip


def _read(content: Any) -> Any:
    return fairtrial.read_result(content)


def _schema() -> str:
    return "fairtrial/result/2"


def _spec(change: dict[str, Any]) -> dict[str, Any]:
    spec = spec_of("failing")
    spec["data"] = {**spec["data"], "source": str(inputs.scratch() / "people.parquet")}
    for key, content in change.items():
        if isinstance(content, dict) and "source" in content:
            content = {**content, "source": str(inputs.scratch() / content["source"])}
        spec[key] = content
    return spec

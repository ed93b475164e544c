"""Faults of measure, certify, flag, plan and scan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import narwhals as nw

import fairtrial
from snapshot.case import BETA, Case, role
from snapshot.faults_data import INF, NAN, faulty_calls
from snapshot.inputs import audit, call, metric


def common_faults(name: str = "metric") -> dict[str, dict[str, Any]]:
    """Bad arguments that every method which compares groups must refuse."""
    return {
        "metric unknown": {name: "fprr"}, "metric criterion": {name: "equalized_odds"},
        "metric number": {name: 3},
        "metric dict": {name: {"name": "x"}}, "metric role": {name: {"name": "x", "value": "role.decisoin"}},
        "metric key": {name: {"name": "x", "value": "role.decision", "gives": {}}},
        "metric given": {name: {"name": "x", "value": "role.decision", "given": 3}},
        "metric column": {name: {"name": "x", "value": "costs"}},
        "metric text": {name: {"name": "x", "value": "level"}},
        "metric condition": {name: {"name": "x", "value": "role.decision", "given": {"levels": 1}}},
        "by unknown": {"by": "race"}, "by number": {"by": 3}, "by empty": {"by": []},
        "by level": {"by": [{"g": "Delta"}]},
        "by continuous": {"by": "grade"}, "by no value": {"by": [{"g": []}]},
        "target word": {"target": "overal"},
        "target level": {"target": {"g": "Bta"}}, "target column": {"target": {"gg": "Beta"}},
        "target list": {"target": [1]},
        "level zero": {"confidence_level": 0}, "level 95": {"confidence_level": 95},
        "level text": {"confidence_level": "95%"},
        "level nan": {"confidence_level": NAN}, "level true": {"confidence_level": True},
    }  # fmt: skip


def but(faulty: dict[str, dict[str, Any]], *starts: str) -> dict[str, dict[str, Any]]:
    """Without the ones whose name starts so."""
    return {name: options for name, options in faulty.items() if not name.startswith(starts)}


def _tolerances() -> dict[str, dict[str, Any]]:
    values: list[Any] = [-0.1, "small", NAN, INF, True, [0.1], [0.2, 0.1], [0, "x"], 5, [-1, 1], 1.5]
    return {f"tolerance {value}": {"tolerance": value} for value in values}


def group_faults() -> Iterator[Case]:
    yield from faulty_calls("measure", "people", (), {
        **{key: value for key, value in common_faults("metric").items() if key != "metric criterion"},
        "metrics empty": {"metric": []},
        "metrics alike": {"metric": ["tpr", {"name": "tpr", "value": "cost"}]},
        "interval": {"interval": "wlison"}, "minimum zero": {"minimum": 0}, "minimum real": {"minimum": 2.5},
        "minimum true": {"minimum": True}, "depth zero": {"depth": 0}, "depth real": {"depth": 1.5},
        "target above one": {"target": 1.2}, "target nan": {"target": NAN}, "target true": {"target": True},
    })  # fmt: skip
    yield from faulty_calls(
        "measure", "people weighted", ("tpr",), {"interval with weight": {"interval": "exact"}}
    )
    yield from faulty_calls(
        "measure",
        "people decisions",
        ("tpr",),
        {"outcome lacks": {}, "score lacks": {"metric": ["brier", "calibration"]}},
    )
    yield from faulty_calls(
        "measure", "people cost", ("tpr",), {"real outcome": {}, "log loss of cost": {"metric": "log_loss"}}
    )
    yield from faulty_calls("measure", "people grade", ("log_loss",), {"log loss of real scores": {}})
    yield from faulty_calls("measure", "gaps error", ("tpr",), {"missing values": {}})
    yield from faulty_calls("certify", "people", ("tpr",), {
        **common_faults(), **_tolerances(), "calibration": {"metric": "calibration"},
        "power": {"power": 0.2}, "power text": {"power": "80%"}, "minimum": {"minimum": 0},
        "depth": {"depth": 0},
        "nobody": {"minimum": 100000},
 "estimate alone": {"target": {"estimate": 0.4}},
        "estimate text": {"target": {"estimate": "x", "influence": "psi"}},
        "level below half": {"confidence_level": 0.4},
        "influence short": {"target": {"estimate": 0.4, "influence": [0.1, 0.2]}},
        "influence unknown": {"target": {"estimate": 0.4, "influence": "psy"}},
        "target 2": {"target": 2}, "seed": {"seed": -1},
        "reference empty": {"target": {"g": "Alpha", "side": "up"}},
    })  # fmt: skip
    yield from faulty_calls(
        "certify",
        "losses",
        ("base_rate",),
        {
            "wide band": {"tolerance": 1e6},
        },
    )
    for_paper = {"target_method": "profile", "rule": "equivalence", "minimum": 30}
    yield from faulty_calls("papers.elfa.certify", "people", ("tpr",), {
        "likelihood": {"likelihood": "empirica"},
        "target_method": {"target_method": "profil"}, "rule": {"rule": "papers"},
        "rate_interval": {"rate_interval": "wald"},
        "refinement": {"refinement": "bartlet"},
        "refinement of a rate": {"refinement": "bartlett", "target": 0.4},
        "vector name": {"vector": {"Delta": 0.1}, "target": BETA},
        "vector lacks": {"vector": {"Alpha": 0.1}, "target": BETA},
        "vector size": {"vector": [0.1], "target": BETA},
        "vector nan": {"vector": [NAN, 0.1], "target": BETA},
        "vector overall": {"vector": [0, 0, 0], "target": "overall"},
        "vector rest": {"vector": [0, 0, 0]},
        "vector estimate": {"target": {"estimate": 0.4, "influence": "psi01"}, "vector": [0, 0, 0]},
    }, **for_paper)  # fmt: skip
    constant = {"vector constant": {"vector": [0.0] * 5, "target": {"g": "normal"}}}
    yield from faulty_calls("papers.elfa.certify", "losses", ("base_rate",), constant, **for_paper)
    faulty = {"likelihood": {"likelihood": "el"}, "target_method": {"target_method": "x"}}
    yield from faulty_calls("papers.elfa.flag", "people", ("tpr",), faulty, minimum=30)
    for of in ("people weighted", "people units"):
        role_name = of.split()[1]
        yield from faulty_calls("certify", of, ("tpr",), {f"{role_name} refused": {}})
        yield from faulty_calls("flag", of, ("tpr",), {f"{role_name} refused": {}})
        yield from faulty_calls("scan", of, ("tpr",), {f"{role_name} refused": {}}, protected={"g": "Alpha"})
        yield from faulty_calls("scan", of, ("tpr",), {f"each {role_name} refused": {}})
        yield from faulty_calls("transport", of, ("tpr",), {f"{role_name} refused": {}})
        yield from faulty_calls("explain", of, ("tpr",), {f"{role_name} refused": {}})
        yield from faulty_calls("improve", of, ("accuracy", "tpr"), {f"{role_name} refused": {}})
    yield from faulty_calls("flag", "people", ("tpr",), {
        **common_faults(), **_tolerances(), "direction": {"direction": "up"},
        "correction": {"correction": "bonferroni"},
        "level": {"confidence_level": 0}, "level two": {"confidence_level": 2}, "small": {"small": "shown"},
        "depth": {"depth": -1}, "minimum": {"minimum": "30"},
        "differs with a band": {"direction": "differs", "tolerance": [0, 1]},
        "differs nan": {"direction": "differs", "tolerance": NAN},
    })  # fmt: skip
    plans: dict[str, dict[str, Any]] = {
        "nothing": {}, "no rate": {"tolerance": 0.05}, "no goal": {"rate": 0.2},
        "rate 2": {"rate": 2, "tolerance": 0.1},
        "rate and deviation": {"rate": 0.2, "deviation": 1, "tolerance": 0.1},
        "groups": {"rate": 0.2, "disparity": 0.1, "groups": 0},
        "groups real": {"rate": 0.2, "disparity": 0.1, "groups": 1.5},
        "power": {"rate": 0.2, "disparity": 0.1, "power": 1},
        "level": {"rate": 0.2, "disparity": 0.1, "confidence_level": 0.3},
        "ratio": {"rate": 0.2, "disparity": 0.1, "target_ratio": 0},
        "inside": {"rate": 0.2, "disparity": 0.01, "tolerance": 0.05},
        "beyond": {"rate": 0.2, "disparity": 0.9},
        "one side": {"rate": 0.2, "tolerance": [0.01, 0.1]}, "too small": {"rate": 0.2, "disparity": 1e-8},
        "negative": {"rate": 0.2, "tolerance": -0.1},
    }  # fmt: skip
    for name, options in plans.items():
        yield Case(f"faults/plan/{name}", lambda options=options: call("plan", "fpr", **options), 2)
    yield Case("faults/plan/unknown", lambda: call("plan", "fprr", rate=0.2, tolerance=0.1), 2)
    yield Case("faults/plan/deviation", lambda: call("plan", "brier", deviation=-1, disparity=0.1), 2)
    yield Case("faults/plan/no deviation", lambda: call("plan", "brier", disparity=0.1), 2)


def scan_faults() -> Iterator[Case]:
    options: dict[str, dict[str, Any]] = {
        "direction": {"direction": "differs?"}, "null": {"null": "permutation"},
        "probability": {"probability": "rate"}, "penalty": {"penalty": -1}, "permutations": {"permutations": 5},
        "permutations text": {"permutations": "many"}, "top": {"top": 0}, "level": {"confidence_level": 1.5},
        "seed": {"seed": -1}, "seed real": {"seed": 1.5}, "condition": {"condition": 2},
        "condition text": {"condition": "all"}, "feature unknown": {"features": ["levl"]},
        "metric unknown": {"metric": "fprr"}, "metric real": {"metric": "brier"},
        "metric calibration": {"metric": "calibration"},
        "metric cost": {"metric": {"name": "cost", "value": "cost"}}, "many values": {"features": ["grade"]},
    }  # fmt: skip
    of_the_article: dict[str, dict[str, Any]] = {
        "search": {"search": "greedy"}, "null_model": {"null_model": "full"}, "unsupported": {"unsupported": "keep"},
        "scores": {"scores": "bin"}, "expectation": {"expectation": "logit"}, "propensity": {"propensity": "x"},
        "expectation object": {"expectation": 3}, "sigma": {"sigma": 0}, "sigma text": {"sigma": "known"},
        "ridge": {"ridge": 0}, "restarts": {"iterations": 0}, "neighbours": {"neighbours": 0},
        "several": {"direction": "x", "top": 0, "ridge": -1},
    }  # fmt: skip
    for what, wrong in of_the_article.items():
        asked = {"protected": {"g": "Alpha"}, "permutations": 19, **wrong}
        yield Case(
            f"faults/scan/{what}",
            lambda asked=asked: fairtrial.papers.conditional_bias_scan.scan(audit("people"), "fpr", **asked),
            2,
        )
    protected: dict[str, dict[str, Any]] = {
        "protected text": {"protected": "Alpha"}, "protected level": {"protected": {"g": "Delta"}},
        "protected column": {"protected": {"gg": "Alpha"}}, "protected empty": {"protected": {}},
        "target text": {"target": "Beta"}, "target level": {"target": {"g": "Bet"}},
        "defining feature": {"features": ["g", "level"]},
        "no condition": {"metric": "selection_rate", "condition": 1},
        "score condition": {"metric": {"name": "x", "value": "role.score", "given": {"level": "level 0"}}},
    }  # fmt: skip
    yield from faulty_calls(
        "scan", "people", ("fpr",), {**options, **protected}, protected={"g": "Alpha"}, permutations=19
    )
    yield from faulty_calls(
        "scan", "people decile", ("mean_score",), {"score no probability": {}}, protected={"g": "Alpha"}
    )
    yield from faulty_calls(
        "scan", "people decisions", ("fpr",), {"no outcome": {}}, protected={"g": "Alpha"}, features="side"
    )
    yield from faulty_calls(
        "scan", "people decisions", ("selection_rate",), {"no features": {}}, protected={"g": "Alpha"}
    )
    yield from faulty_calls(
        "scan",
        "sparse two",
        ("selection_rate",),
        {"nobody": {"metric": metric("none", role.decision, nw.lit(False))}},
        protected={"g": "big"},
    )
    every = {key: value for key, value in options.items() if key not in ("condition", "feature unknown")}
    every |= {
        "null none": {"null": None}, "unknown option": {"penalti": 1}, "protected unknown": {"protected": "race"},
        "protected continuous": {"protected": "grade"}, "target": {"target": {"g": "Beta"}},
    }  # fmt: skip
    yield from faulty_calls(
        "scan", "people", ("fpr",), {f"each {what}": asked for what, asked in every.items()}
    )
    yield from faulty_calls("scan", "linear", ("fpr",), {"each of nothing": {"protected": []}})

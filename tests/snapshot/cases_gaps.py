"""measure, certify, flag and plan: rates and gaps between groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from snapshot import inputs
from snapshot.case import (
    BETA,
    BINARY,
    CRITERIA,
    METRICS,
    REAL,
    TARGETS,
    Case,
    ask,
    cost,
    in_word,
    in_words,
    own_metrics,
    varied,
)
from snapshot.inputs import call

# What the paper's functions are asked as here: the numbers that certify and flag gave for these options.
CERTIFY = {
    "likelihood": "empirical", "target_method": "profile", "rule": "equivalence", "rate_interval": "bounded",
    "refinement": None, "minimum": 30,
}  # fmt: skip
FLAG = {"likelihood": "empirical", "target_method": "profile", "minimum": 30}


def by_paper(
    function: str, of: str, *given: Any, every: int = 4, options: list[dict[str, Any]]
) -> Iterator[Case]:
    """One case of the ELFA paper's function per set of options."""
    usual = CERTIFY if function == "certify" else FLAG
    for chosen in options:
        what = " ".join([*map(in_word, given), in_words(chosen)]).strip()
        name = f"papers.elfa.{function}"
        yield Case(f"{name}/{of}/{what}", ask(name, of, *given, **{**usual, **chosen}), every)


# -- measure ---------------------------------------------------------------------------------------------------------
def measure_cases() -> Iterator[Case]:
    for name in [*METRICS, "calibration"]:
        for target in TARGETS:
            yield from varied("measure", "people", name, every=8, options=[{"target": target}])
    for name in CRITERIA:
        yield from varied("measure", "people two", name, options=[{"depth": 2, "target": {"side": "left"}}])
    for interval in ("bounded", "wilson", "likelihood", "half-count", "exact"):
        for target in ("rest", 0.3):
            options = {"interval": interval, "target": target}
            yield from varied("measure", "people", ["fpr", "ppv"], options=[options])
            yield from varied("measure", "sparse", "selection_rate", options=[{**options, "minimum": 5}])
    for target in TARGETS:
        yield from varied("measure", "people", ["brier", "mean_score"], options=[{"target": target}])
    for target in ("rest", "overall", {"g": "normal"}, 1.5):
        yield from varied("measure", "losses", "base_rate", options=[{"target": target, "minimum": 8}])
    yield from varied(
        "measure", "people three", ["selection_rate", "tpr"],
        options=[
            {"depth": 2}, {"depth": 3, "minimum": 40}, {"depth": 3, "minimum": 1, "target": "overall"},
            {"by": ["g", "level"], "depth": 2, "confidence_level": 0.9},
            {"by": "level", "confidence_level": 0.99},
            {"by": [{"g": "Alpha"}, {"g": ["Beta", "Gamma"], "side": "left"}]}, {"by": {"side": "right"}},
            {"by": ["side"], "target": {"g": "Alpha", "side": "left"}},
        ],
    )  # fmt: skip
    for target in ("rest", "overall", {"g": "big"}, 0.15):
        for minimum in (1, 10, 30, 200):
            yield from varied(
                "measure", "sparse", ["selection_rate"], options=[{"target": target, "minimum": minimum}]
            )
    yield from varied(
        "measure", "sparse two", ["ppv", "for"], options=[{"depth": 2, "minimum": 3}, {"minimum": 1}]
    )
    for of in ("people weighted", "people units", "people both"):
        for target in TARGETS:
            for names in (["selection_rate", "fpr", "ppv"], ["accuracy", "for"], ["brier", "mean_score"]):
                yield from varied("measure", of, names, every=6, options=[{"target": target}])
    yield from varied(
        "measure", "people both", "tnr", options=[{"depth": 2, "minimum": 80, "confidence_level": 0.9}]
    )
    for of in ("sparse weighted", "losses weighted", "people cost weighted"):
        name = "selection_rate" if of == "sparse weighted" else "base_rate"
        yield from varied("measure", of, name, options=[{"minimum": 5}, {"minimum": 5, "target": 0.5}])
    for name, own in own_metrics().items():
        of = "people bins" if name == "given score" else "people"
        by = {"by": "g"}
        yield Case(f"measure/own/{name}", ask("measure", of, own, **by), 2)
        yield Case(f"measure/own/{name} with others", ask("measure", of, ["tpr", own], **by, target=BETA), 4)
    for of in (
        "people bins", "people quarters", "people words", "people turned", "people yes", "people flag",
        "people cost",
        "people grade", "people decile", "people decisions", "people by score", "gaps drop", "gaps category",
        "gaps weighted", "gaps plain", "losses half", "losses two", "linear", "compas", "adult", "ricci",
    ):  # fmt: skip
        names = {
            "people yes": ["base_rate"],
            "people cost": ["base_rate", "ppv", "for", "squared_error", "absolute_error"],
            "people grade": ["base_rate", "mean_score", "absolute_error"], "losses half": ["base_rate"],
            "losses two": ["base_rate"], "adult": ["base_rate"],
            "people decile": ["fpr", "calibration", "mean_score"],
            "people by score": ["calibration", "tpr"], "people quarters": ["calibration", "fnr"],
            "compas": ["fpr", "fnr", "ppv", "calibration"], "ricci": ["selection_rate", "mean_score"],
        }.get(of, ["selection_rate"])  # fmt: skip
        for options in ({}, {"target": "overall", "minimum": 10}):
            yield from varied("measure", of, names, every=3, options=[options])


# -- certify ---------------------------------------------------------------------------------------------------------
def certify_cases() -> Iterator[Case]:
    for name in METRICS:
        for target in TARGETS:
            for tolerance in (None, 0.1):
                yield from varied(
                    "certify", "people", name, every=12, options=[{"target": target, "tolerance": tolerance}]
                )
    for likelihood in ("empirical", "euclidean"):
        for method in ("profile", "orthogonal", "scaled", "plug-in"):
            for target in TARGETS:
                options = {"likelihood": likelihood, "target_method": method, "target": target}
                yield from by_paper(
                    "certify", "people", "fpr", every=8, options=[{**options, "tolerance": 0.08}]
                )
                yield from by_paper(
                    "certify", "people", "brier", every=8, options=[{**options, "tolerance": 0.02}]
                )
            for target in ("rest", {"g": "normal"}):
                options = {"likelihood": likelihood, "target_method": method, "target": target}
                yield from by_paper(
                    "certify", "losses", "base_rate", every=8, options=[{**options, "tolerance": 1.0}]
                )
    for tolerance in (0.02, 0.3, [-0.05, 0.2], [-1, 0.05], (0.0, 0.1)):
        for rule in ("equivalence", "paper"):
            yield from by_paper(
                "certify", "people", "selection_rate", options=[{"tolerance": tolerance, "rule": rule}]
            )
            yield from by_paper(
                "certify", "compas", "ppv", options=[{"tolerance": tolerance, "rule": rule, "by": "race"}]
            )
    for interval in ("bounded", "wilson", "likelihood", "half-count", "exact"):
        yield from by_paper("certify", "people", "tpr",
            options=[{"rate_interval": interval, "target": 0.5, "tolerance": 0.1}, {"rate_interval": interval}],
        )  # fmt: skip
        chosen = {"rate_interval": interval, "target": 0.1, "minimum": 4, "tolerance": 0.1}
        yield from by_paper("certify", "sparse", "selection_rate", options=[chosen])
    for refinement in ("bartlett", "balanced", "adjusted"):
        chosen = {"refinement": refinement, "target": 1.8, "tolerance": 0.5}
        yield from by_paper("certify", "losses", "base_rate", options=[chosen, {**chosen, "minimum": 8}])
        yield from by_paper("certify", "people", "brier", options=[{"refinement": refinement, "target": 0.2}])
    yield from varied(
        "certify", "people three", "tpr",
        options=[
            {"depth": 2, "tolerance": 0.1}, {"depth": 3, "tolerance": 0.1, "minimum": 10},
            {"by": "level", "minimum": 100},
            {"by": [{"g": "Alpha"}, {"side": "left"}], "tolerance": 0.2},
            {"tolerance": 0.1, "confidence_level": 0.9},
            {"tolerance": 0.1, "confidence_level": 0.99, "power": 0.9},
            {"tolerance": 0.05, "power": 0.6, "seed": 3},
            {"by": ["g", "side"], "depth": 2, "target": {"g": "Alpha", "side": "left"}, "tolerance": 0.1},
        ],
    )  # fmt: skip
    yield from by_paper("certify", "people", "tpr",
        options=[
            {"target": BETA, "vector": {"Alpha": 0.1, "Gamma": 0.0}}, {"target": BETA, "vector": [0.2, -0.1]},
            {"target": 0.5, "vector": [0.1, 0.0, 0.0]}, {"by": "side", "vector": [0.0, 0.0]},
        ],
    )  # fmt: skip
    yield from by_paper(
        "certify", "people", "brier", options=[{"target": BETA, "vector": {"Alpha": 0.01, "Gamma": 0.0}}]
    )
    frame = inputs.people()
    own = {"estimate": float(frame["cost"].mean()), "influence": "psi"}
    for tolerance in (None, 1.0):
        for name in ("psi", "list"):
            target = own if name == "psi" else {**own, "influence": frame["psi"].tolist()}
            chosen = {"target": target, "tolerance": tolerance}
            yield Case(
                f"certify/estimate/cost {name} {tolerance}", ask("certify", "people", cost(), **chosen)
            )
            yield Case(
                f"flag/estimate/cost {name} {tolerance}", ask("flag", "people", cost(), depth=1, **chosen)
            )
    share = {"estimate": float(frame["d"].mean()), "influence": "psi01"}
    yield Case(
        "certify/estimate/rate", ask("certify", "people", "selection_rate", target=share, tolerance=0.1), 2
    )
    yield Case("flag/estimate/rate", ask("flag", "people", "selection_rate", target=share), 2)
    for target in ("rest", "overall", {"g": "big"}, 0.15):
        for minimum in (2, 30):
            for tolerance in (None, 0.1):
                chosen = {"target": target, "minimum": minimum, "tolerance": tolerance}
                yield from varied("certify", "sparse", "selection_rate", every=6, options=[chosen])
    for target in ("rest", "overall", {"g": "normal"}, {"g": "constant"}, 2.0):
        for minimum in (5, 30):
            chosen = {"target": target, "minimum": minimum, "tolerance": 0.8}
            yield from varied("certify", "losses", "base_rate", every=6, options=[chosen])
    for name, own_metric in own_metrics().items():
        of = "people bins" if name == "given score" else "people"
        yield Case(
            f"certify/own/{name}", ask("certify", of, own_metric, by="g", target=BETA, tolerance=0.2), 3
        )
    for of in (
        "people words",
        "people turned",
        "people cost",
        "people grade",
        "gaps drop",
        "adult",
        "ricci",
        "linear",
    ):
        name = {"people cost": "ppv", "people grade": "base_rate", "adult": "base_rate"}.get(
            of, "selection_rate"
        )
        yield from varied(
            "certify", of, name, options=[{"tolerance": 0.1}, {"minimum": 5, "target": "overall"}]
        )


# -- flag and plan ---------------------------------------------------------------------------------------------------
def flag_cases() -> Iterator[Case]:
    for name in METRICS:
        yield from varied(
            "flag", "people two", name, every=6, options=[{}, {"target": "overall", "tolerance": 0.05}]
        )
    for direction in ("above", "below", "outside", "differs", None):
        for tolerance in (None, 0.05, [-0.1, 0.02]):
            if not (direction == "differs" and isinstance(tolerance, list)):
                chosen = {"direction": direction, "tolerance": tolerance}
                yield from varied("flag", "people two", "fpr", every=5, options=[chosen])
                yield from varied(
                    "flag", "people two", "absolute_error", every=5, options=[{**chosen, "target": BETA}]
                )
    for correction in ("bh", "by", "holm"):
        for level in (0.99, 0.95, 0.8):
            yield from varied(
                "flag",
                "people three",
                "selection_rate",
                every=5,
                options=[{"correction": correction, "confidence_level": level}],
            )
    for likelihood in ("empirical", "euclidean"):
        for method in ("profile", "orthogonal", "scaled", "plug-in"):
            chosen = {"likelihood": likelihood, "target_method": method}
            yield from by_paper("flag", "people two", "tpr", every=4, options=[chosen])
            yield from by_paper("flag", "losses two", "base_rate", every=4, options=[{**chosen, "depth": 1}])
    yield from varied(
        "flag", "people three", "tpr",
        options=[
            {"depth": 1}, {"depth": 3}, {"depth": 3, "minimum": 5}, {"minimum": 150},
            {"confidence_level": 0.8},
            {"by": ["g", "side"], "target": {"g": "Alpha"}},
            {"by": [{"g": "Alpha", "side": "left"}, {"g": "Beta"}]},
            {"target": 0.6, "tolerance": 0.1, "direction": "outside"},
        ],
    )  # fmt: skip
    for target in ("rest", "overall", {"g": "big"}, 0.15):
        for minimum in (3, 30):
            for direction in ("above", "differs"):
                chosen = {"target": target, "minimum": minimum, "direction": direction}
                yield from varied("flag", "sparse two", "selection_rate", every=8, options=[chosen])
    for target in ("overall", {"g": "normal"}, 2.0):
        chosen = {"target": target, "direction": "outside", "minimum": 6}
        yield from varied("flag", "losses", "base_rate", options=[chosen, {**chosen, "tolerance": 0.5}])
    for name, own in own_metrics().items():
        of = "people bins" if name == "given score" else "people two"
        yield Case(f"flag/own/{name}", ask("flag", of, own, by=["g"], depth=1), 3)
    for of in ("compas", "gaps drop", "gaps category", "people bins", "people quarters", "adult", "ricci"):
        name = "base_rate" if of == "adult" else "selection_rate"
        yield from varied("flag", of, name, options=[{}, {"direction": "below", "minimum": 10}])


def plan_cases() -> Iterator[Case]:
    for name in BINARY:
        if name not in ("base_rate", "ppv", "for"):
            yield from _plan(name, {"rate": 0.3, "tolerance": 0.05})
    for name in REAL:
        yield from _plan(name, {"deviation": 0.3, "disparity": 0.05})
    base = {"rate": 0.2, "tolerance": 0.05, "disparity": 0.1}
    changes: list[dict[str, Any]] = [
        {}, {"tolerance": None}, {"disparity": None}, {"disparity": -0.1}, {"target_known": True},
        {"target_ratio": 3.0},
        {"target_ratio": 0.25}, {"groups": 6}, {"power": 0.95}, {"power": 0.5}, {"confidence_level": 0.9},
        {"confidence_level": 0.99, "groups": 3}, {"tolerance": [-0.1, 0.05]},
        {"rate": 0.02, "disparity": 0.07},
        {"rate": 0.01, "tolerance": 0.01, "disparity": 0.05, "target_known": True},
        {"rate": 0.5, "disparity": 0.45},
    ]  # fmt: skip
    for change in changes:
        yield from _plan("fpr", {**base, **change})
    for change in changes[1:7]:
        yield from _plan(
            "brier",
            {"deviation": 0.4, **{key: value for key, value in {**base, **change}.items() if key != "rate"}},
        )
    yield from _plan("base_rate", {"rate": 0.4, "tolerance": 0.1})
    yield from _plan("base_rate", {"deviation": 12.0, "tolerance": 3})


def _plan(name: str, options: dict[str, Any]) -> Iterator[Case]:
    yield Case(f"plan/{name} {in_words(options)}", lambda: call("plan", name, **options), 6)

"""Conditional bias scan, section 4 and appendix B: recovery of an injected bias, Figures 1, 2 and 4 to 7."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import altair as alt
import numpy as np

from fairtrial._results.charts.theme import CATEGORIES, finish
from fairtrial._scan.solver.scan_table import CountedRows, build_table, log_odds
from fairtrial._scan.solver.value_sets import Direction
from fairtrial.papers._studies.parts.cbs_compas import ATTRIBUTES, audit_of, compas
from fairtrial.papers._studies.parts.cbs_rivals import gerryfair, multiaccuracy, one_hot
from fairtrial.papers._studies.parts.keeping import each, kept
from fairtrial.papers.conditional_bias_scan import (
    SearchedCells,
    find_subgroups,
    plan_search,
    prepare,
    scan_observed,
)

Floats = np.ndarray[Any, np.dtype[np.float64]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]

SCAN_METHODS = [
    "separation, predictions",
    "separation, recommendations",
    "sufficiency, predictions",
    "sufficiency, recommendations",
]
METHODS = [*SCAN_METHODS, "plain bias scan", "GerryFair", "Multiaccuracy Boost"]
WORDS = {
    "sep": "μ_sep: predicted log-odds raised by",
    "suf": "μ_suf: true log-odds lowered by",
    "shift": "δ: base rate raised by",
    "n_bias": "attributes that restrict the biased subgroup",
    "p_bias": "chance of each of their values to be in it",
    "noise": "σ_predict",
    "spread": "σ_true",
}
BIASES = {
    "μ_sep = 1": {"sep": 1.0},
    "μ_suf = 1": {"suf": 1.0},
    "δ = 0.5": {"shift": 0.5},
}


@dataclass(frozen=True)
class RecoveryDesign:
    """What is injected, and how people and predictions vary; the article's defaults."""

    sep: float = 0.0
    suf: float = 0.0
    shift: float = 0.0
    n_bias: int = 2
    p_bias: float = 0.5
    spread: float = 0.6
    noise: float = 0.2

    @property
    def seed(self) -> list[int]:
        return [
            round(1000 * (value + 10))
            for value in (self.sep, self.suf, self.shift, self.n_bias, self.p_bias, self.spread, self.noise)
        ]


@dataclass(frozen=True)
class Experiment:
    """One panel of a figure: the parameter that is varied, over which values, and what else is set."""

    figure: int
    panel: str
    varied: str
    values: tuple[float, ...]
    fixed: dict[str, float] = field(default_factory=dict)

    def designs(self) -> list[RecoveryDesign]:
        return [RecoveryDesign(**(self.fixed | {self.varied: value})) for value in self.values]  # type: ignore[arg-type]


def experiments(quick: bool) -> list[Experiment]:
    """Every panel of Figures 1, 2 and 4 to 7."""
    strengths = (0.0, 0.5, 1.0) if quick else (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
    shifts = (-1.0, 0.0, 1.0) if quick else (-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0)
    few_shifts = (-1.0, 1.0) if quick else (-1.0, -0.5, 0.0, 0.5, 1.0)
    counts, chances = ((1, 4), (0.2, 1.0)) if quick else ((1, 2, 3, 4), (0.1, 0.25, 0.5, 0.75, 1.0))
    spreads = (0.0, 2.0) if quick else (0.0, 0.25, 0.5, 1.0, 2.0)
    panels = [
        Experiment(1, "predictions shifted", "sep", strengths),
        Experiment(1, "outcomes shifted", "suf", strengths),
        Experiment(2, "", "shift", shifts),
    ]
    for words, bias in BIASES.items():
        panels.append(Experiment(4, words, "n_bias", counts, bias))
        panels.append(Experiment(4, words, "p_bias", chances, bias))
        panels.append(Experiment(6, words, "noise", spreads, bias))
        panels.append(Experiment(7, words, "spread", spreads, bias))
        if "shift" not in bias:
            panels.append(Experiment(5, words, "shift", few_shifts, bias))
    return sorted(panels, key=lambda panel: panel.figure)


@dataclass(frozen=True)
class Population:
    """COMPAS covariates as codes."""

    codes: np.ndarray[Any, np.dtype[np.int64]]
    arity: np.ndarray[Any, np.dtype[np.int64]]


@cache
def population() -> Population:
    rows = audit_of(compas()).rows(attributes=ATTRIBUTES)
    codes = np.stack([rows.attributes[name].codes for name in ATTRIBUTES], axis=1).astype(np.int64)
    return Population(codes, np.array([len(rows.attributes[name].labels) for name in ATTRIBUTES]))


@dataclass(frozen=True)
class Sample:
    """One semi-synthetic data set: covariates without the sensitive attribute, class, bias, outcomes, predictions."""

    codes: np.ndarray[Any, np.dtype[np.int64]]
    arity: np.ndarray[Any, np.dtype[np.int64]]
    protected: Bools
    biased: Bools
    outcome: Floats
    prediction: Floats


def draw_sample(people: Population, rng: np.random.Generator, design: RecoveryDesign) -> Sample:
    """Section 4; somebody must be biased."""
    while True:
        attribute = rng.integers(len(people.arity))
        protected = people.codes[:, attribute] == rng.integers(people.arity[attribute])
        others = np.delete(np.arange(len(people.arity)), attribute)
        codes, arity = people.codes[:, others], people.arity[others]
        biased = protected.copy()
        for j in rng.choice(len(others), size=int(design.n_bias), replace=False):
            biased &= (rng.random(arity[j]) < design.p_bias)[codes[:, j]]
        if biased.any():
            break
    weights = [rng.normal(0.0, 0.2, size=k) for k in arity]
    true = sum((weight[codes[:, j]] for j, weight in enumerate(weights)), np.zeros(len(codes)))
    true = true + rng.normal(0.0, design.spread, size=len(codes)) + design.shift * biased
    predicted = true + rng.normal(0.0, design.noise, size=len(codes)) + design.sep * biased
    outcome = rng.random(len(codes)) < 1 / (1 + np.exp(-(true - design.suf * biased)))
    prediction = 1 / (1 + np.exp(-predicted))
    return Sample(codes, arity, protected, biased, outcome.astype(float), prediction)


def detected(sample: Sample, method: str, rng: np.random.Generator) -> Bools:
    """The protected people of the best subgroup."""
    if method == "plain bias scan":
        return plain_bias_scan(sample)
    if method in ("GerryFair", "Multiaccuracy Boost"):
        features = one_hot(sample.codes, sample.arity, sample.protected)
        if method == "GerryFair":
            return gerryfair(features, sample.outcome, sample.prediction) & sample.protected
        return multiaccuracy(features, sample.outcome, sample.prediction, rng) & sample.protected
    decision = (sample.prediction >= 0.5).astype(float)
    separation, predictions = method.startswith("separation"), method.endswith("predictions")
    score = sample.prediction if predictions else decision
    if separation:
        event, condition = score, sample.outcome
    else:
        event, condition = sample.outcome, log_odds(score) if predictions else score
    rows = CountedRows(
        codes=sample.codes, protected=sample.protected, event=event, scanned=np.ones(len(event), dtype=bool),
        condition=condition, count=np.ones(len(event)),
    )  # fmt: skip
    table = build_table(rows, arity=sample.arity, real_valued=separation and predictions)
    directions: tuple[Direction, ...] = ("above",) if separation else ("below",)
    found = scan_observed(prepare(table, directions=directions, sigma=1.0)).found[0]
    return members(sample, found.values)


def plain_bias_scan(sample: Sample) -> Bools:
    """Zhang and Neill: outcomes below the predictions themselves, no comparison with people outside the class."""
    inside = sample.protected
    problem = SearchedCells(
        gaussian=False, codes=np.ascontiguousarray(sample.codes[inside]), arity=sample.arity,
        size=np.ones(inside.sum()), observed=sample.outcome[inside], expected=sample.prediction[inside], penalty=1.0,
    )  # fmt: skip
    plan = plan_search(sample.arity, int(inside.sum()), "exact")
    return members(sample, find_subgroups(problem, ("below",), plan)[0].values)


def members(sample: Sample, values: Any) -> Bools:
    inside = sample.protected.copy()
    for j in range(sample.codes.shape[1]):
        inside &= values[j, sample.codes[:, j]]
    return inside


def recovered(design: RecoveryDesign, datasets: int) -> dict[str, list[float]]:
    """Mean Jaccard similarity of the detected and the biased people per method, with its standard error."""
    rng = np.random.default_rng([11, *design.seed])
    found: dict[str, list[float]] = {method: [] for method in METHODS}
    for _ in range(datasets):
        sample = draw_sample(population(), rng, design)
        for method in METHODS:
            inside = detected(sample, method, rng)
            found[method].append(float((inside & sample.biased).sum() / (inside | sample.biased).sum()))
    return {
        method: [float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(datasets))]
        for method, values in found.items()
    }


def recovery(experiment: Experiment, datasets: int) -> list[dict[str, Any]]:
    """One panel's lines."""

    def compute() -> list[dict[str, list[float]]]:
        return each(recovered, [(design, datasets) for design in experiment.designs()])

    name = f"cbs-figure-{experiment.figure}-{experiment.varied}-{'-'.join(experiment.fixed)}"
    settings = {"datasets": datasets, "values": list(experiment.values), "fixed": experiment.fixed}
    return [
        {"panel": experiment.panel, "varied": experiment.varied, "value": value, "method": method, "jaccard": mean,
         "low": max(mean - 1.96 * error, 0.0), "high": min(mean + 1.96 * error, 1.0)}
        for value, means in zip(experiment.values, kept(name, settings, compute), strict=True)
        for method, (mean, error) in means.items()
    ]  # fmt: skip


def recovery_text(rows: list[dict[str, Any]]) -> str:
    grid = sorted({row["value"] for row in rows})
    lines = ["| method | " + " | ".join(f"{x:g}" for x in grid) + " |", "|---|" + "---:|" * len(grid)]
    for method in METHODS:
        values = {row["value"]: row["jaccard"] for row in rows if row["method"] == method}
        lines.append(f"| {method} | " + " | ".join(f"{values[x]:.2f}" for x in grid) + " |")
    return "\n".join(lines)


def figure(panels: list[list[dict[str, Any]]], columns: int, width: int = 330) -> Any:
    """One chart per panel, with the methods' colours and shapes in common."""
    colours = alt.Scale(domain=METHODS, range=CATEGORIES[: len(METHODS)])
    marks = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right"]
    shapes = alt.Scale(domain=METHODS, range=marks)
    legend = alt.Legend(orient="top", columns=min(4, 2 * columns), title=None, symbolOpacity=1)
    colour = alt.Color("method:N", scale=colours, legend=legend)
    charts = []
    for rows in panels:
        ticks = alt.Axis(values=sorted({row["value"] for row in rows}), format=".2~f", grid=False)
        place = alt.Scale(zero=False, nice=False, padding=8)
        base = alt.Chart(alt.Data(values=rows), title=rows[0]["panel"]).encode(
            x=alt.X("value:Q", title=WORDS[rows[0]["varied"]], axis=ticks, scale=place)
        )
        y = alt.Y("jaccard:Q", title="mean Jaccard similarity", scale=alt.Scale(domain=[0, 1]))
        spread = base.mark_rule(strokeWidth=1.5, opacity=0.5).encode(y="low:Q", y2="high:Q", color=colour)
        line = base.mark_line(strokeWidth=2).encode(y=y, color=colour)
        dots = base.mark_point(filled=True, size=45, opacity=1).encode(
            y=y, color=colour, shape=alt.Shape("method:N", scale=shapes, legend=legend)
        )
        charts.append(alt.layer(spread, line, dots).properties(width=width, height=190))
    lines = [alt.hconcat(*charts[i : i + columns]) for i in range(0, len(charts), columns)]
    return finish(alt.vconcat(*lines).resolve_scale(color="shared", shape="shared"))

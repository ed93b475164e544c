"""Tables 1 to 6 and Figures 2, 3, 6 and 7 of the improvability article, from the full file of its patients.

The file (48,784 rows) is not public: who has it names it by `data=`. Printed numbers are in printed/improvability.json;
the article's random halves are not published, so printed and computed numbers are compared by their median and range
over the seven splits.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LassoCV, LinearRegression

import fairtrial
from fairtrial import Estimator
from fairtrial._errors import Fault, InputError
from fairtrial._results.charts.theme import CATEGORIES, COLOURS, finish
from fairtrial.papers import improvability

PRINTED = json.loads((Path(__file__).parent / "printed" / "improvability.json").read_text(encoding="utf-8"))
NEEDED = {"race", "risk_score_t", "gagne_sum_t", "gagne_sum_tm1", "cost_t"}
GROUPS = ("black", "white")
YEARS = {
    "gagne_sum_t": ("the year after", "Figure 2", "Figure 3"),
    "gagne_sum_tm1": ("the year of the decision (H.2)", "Figure 6", None),
}


def models(trees: int, jobs: int) -> list[Estimator]:
    """The article's three ways to a risk score; scikit-learn's defaults but for the number of trees (footnote 28)."""
    return [
        Estimator(RandomForestRegressor(n_estimators=trees, n_jobs=jobs), "random forest"),
        Estimator(LassoCV(cv=5), "lasso"),
        Estimator(LinearRegression(), "linear regression"),
    ]


def patients(path: Path, outcome: str) -> fairtrial.Audit:
    """Features are the year before (`_tm1`) and demographics, without race and without the outcome itself."""
    with path.open(newline="", encoding="utf-8") as file:
        columns = next(csv.reader(file))
    if not set(columns) >= NEEDED:
        required = f"must have the columns {sorted(NEEDED - set(columns))}: is it the full file?"
        raise InputError("reproduce", Fault("data", required))
    features = [
        name
        for name in columns
        if name != outcome and (name.endswith("_tm1") or (name.startswith("dem_") and "race" not in name))
    ]
    return fairtrial.Audit(str(path), outcome=outcome, score="risk_score_t", groups="race", features=features)


def numbers(result: fairtrial.Result) -> np.ndarray:
    """The ten columns of the article's tables, a row per split; a p-value that is not defined counts as 1."""
    rows = []
    for split in result.details["splits"]:
        of_split = [row for row in result.estimates if row["split"] == split["split"]]
        cells = [
            1.0 if isinstance(row[name], dict) else row[name]
            for row in of_split
            for name in ("alternative", "status_quo", "p_value")
        ]
        rows.append([*cells, split["p_value"]])
    return np.array(rows)


def beside_printed(printed: np.ndarray, paper: np.ndarray, valid: np.ndarray) -> str:
    """Printed / by their formula / valid: the median over the seven splits, and the range."""
    lines = ["| | printed | by their formula | valid |", "|---|---|---|---|"]
    for place, name in enumerate(PRINTED["columns"]):
        digits = 4 if name.endswith("p") else 2
        shown = [
            f"{np.median(table[:, place]):.{digits}f} "
            f"({table[:, place].min():.{digits}f} to {table[:, place].max():.{digits}f})"
            for table in (printed, paper, valid)
        ]
        lines.append(f"| {name} | {' | '.join(shown)} |")
    return "\n".join(lines)


def printed_medians(beside: list[tuple[str, list[float]]], only: str = "") -> str:
    """A line per printed table, the median over its splits; below them lines of one's own in the same columns."""
    lines = [f"| table | {' | '.join(PRINTED['columns'])} |", "|---|" + "---:|" * len(PRINTED["columns"])]
    printed = [
        (f"{one['table']}: {one['rule']}, {YEARS[one['outcome']][0]}", list(np.median(one["values"], axis=0)))
        for one in PRINTED["tables"]
        if only in ("", one["table"])
    ]
    for name, values in [*printed, *beside]:
        cells = [
            f"{value:.{4 if column.endswith('p') else 2}f}"
            for column, value in zip(PRINTED["columns"], values, strict=True)
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def plane(results: dict[str, fairtrial.Result], groups: tuple[str, str], title: str) -> Any:
    """Figure 2: mean level of each group over the splits, under the status quo and under each selection rule."""
    now = _levels(next(iter(results.values())), groups, "status quo")
    places = {"status quo": now} | {
        name: _levels(found, groups, "alternative") for name, found in results.items()
    }
    points: list[dict[str, Any]] = [{"rule": name, "x": x, "y": y} for name, (x, y) in places.items()]
    ends = [value for point in points for value in (point["x"], point["y"])]
    pad = 0.08 * (max(ends) - min(ends))
    low, high = min(ends) - pad, max(ends) + pad
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    names = [point["rule"] for point in points]
    colours = alt.Scale(domain=names, range=[COLOURS["violated"], *CATEGORIES[: len(results)]])
    line = alt.Chart(alt.Data(values=[{"x": low, "y": low}, {"x": high, "y": high}])).mark_line(
        strokeDash=[4, 4], color=COLOURS["neutral"], strokeWidth=1
    )
    marks = alt.Chart(alt.Data(values=points)).mark_point(size=110, filled=True)
    axis = alt.Axis(tickCount=6)
    x = alt.X("x:Q", scale=scale, title=f"{title}, {groups[0]}", axis=axis)
    y = alt.Y("y:Q", scale=scale, title=f"{title}, {groups[1]}", axis=axis)
    drawn = marks.encode(
        x=x,
        y=y,
        color=alt.Color("rule:N", scale=colours, title=None, legend=alt.Legend(orient="top", columns=2)),
        shape=alt.Shape("rule:N", sort=names, legend=None),
    )
    return finish(alt.layer(line.encode(x=x, y=y), drawn).properties(width=300, height=300))


def _levels(result: fairtrial.Result, groups: tuple[str, str], rule: str) -> list[float]:
    means = {(row["rule"], row["group"]): row["mean"] for row in result.details["levels"]}
    return [means[rule, group] for group in groups]


def settings_of(draws: int, splits: int) -> dict[str, Any]:
    by = [{"race": group} for group in GROUPS]
    return {"by": by, "constraints": {"capacity": 0.03}, "bootstrap": draws, "splits": splits}


def table_of(path: Path, number: str, trees: int, draws: int, jobs: int, splits: int = 7) -> tuple[str, Any]:
    """One of Tables 1 to 6: printed, by the article's formula and valid; with the valid result."""
    printed = next(one for one in PRINTED["tables"] if one["table"] == number)
    audit = patients(path, printed["outcome"])
    [estimator] = [model for model in models(trees, jobs) if model.name == printed["rule"]]
    found = {
        method: improvability.improve(
            audit, "ppv", "ppv", candidates=[estimator], component=method, **settings_of(draws, splits)
        )
        for method in ("paper", "smooth")
    }
    text = beside_printed(np.array(printed["values"]), numbers(found["paper"]), numbers(found["smooth"]))
    return f"{text}\n\nVerdict: {found['smooth'].verdict.text}.", found["smooth"]


def item(path: Path, name: str, *, trees: int, draws: int, jobs: int = 1, splits: int = 7) -> tuple[str, Any]:
    """A table or a figure of the article from its file of patients."""
    kind, _, number = name.partition(" ")
    if kind == "table":
        return table_of(path, number, trees, draws, jobs, splits)[0], None
    if number == "7":
        return cost_as_accuracy(path, settings_of(draws, splits), models(trees, jobs)[0])
    outcome = "gagne_sum_tm1" if number == "6" else "gagne_sum_t"
    numbers_of = [one["table"] for one in PRINTED["tables"] if one["outcome"] == outcome]
    rules = {one["table"]: one["rule"] for one in PRINTED["tables"]}
    if number == "3":
        found = table_of(path, numbers_of[0], trees, draws, jobs, splits)[1]
        reached = found.largest_fairness_gain(0.0)
        said = "none" if reached is None else f"{reached:.2f}"
        return f"Largest Δf at Δa = 0: printed 0.64, ours {said}.", _surface(found)
    valid = {rules[table]: table_of(path, table, trees, draws, jobs, splits)[1] for table in numbers_of}
    return "", plane(valid, GROUPS, "mean conditions of the selected")


def cost_as_accuracy(path: Path, settings: dict[str, Any], estimator: Estimator) -> tuple[str, Any]:
    """Appendix H.3 and Figure 7: the mean cost of the selected as accuracy, their conditions as fairness."""
    cost = fairtrial.Metric("mean cost of the selected", value="cost_t", given={fairtrial.role.decision: 1})
    result = fairtrial.improve(patients(path, "gagne_sum_t"), "ppv", cost, candidates=[estimator], **settings)
    return f"The article does not reject (its Figure 7). Here: {result.verdict.text}.", _surface(result)


def _surface(result: fairtrial.Result) -> Any:
    return next((picture.chart for picture in result.pictures() if picture.name == "surface"), None)

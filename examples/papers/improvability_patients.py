"""Tables 1 to 6 and Figures 2, 3, 6 and 7 of the improvability article, from the full file of its patients.

The file (48,784 rows, the public release behind Obermeyer et al. 2019) is not bundled: name it.

    python examples/papers/improvability_patients.py --data data_new.csv
    python examples/papers/improvability_patients.py --data data_new.csv --full --out docs/papers

Without `--data` nothing is done. Printed numbers are in improvability_tables.json; the article's random halves are not
published, so printed and computed numbers are compared by their median and range over the seven splits.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
from parts.drawing import drawn
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LassoCV, LinearRegression

import fairtrial
from fairtrial import Estimator
from fairtrial._results.charts.theme import CATEGORIES, COLOURS, finish
from fairtrial.papers import improvability

PRINTED = json.loads(Path(__file__).with_name("improvability_tables.json").read_text(encoding="utf-8"))
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
        raise SystemExit(f"{path} has no columns {sorted(NEEDED - set(columns))}: is it the full file?")
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


def printed_medians(beside: list[tuple[str, list[float]]]) -> str:
    """A line per printed table, the median over its splits; below them lines of one's own in the same columns."""
    lines = [f"| table | {' | '.join(PRINTED['columns'])} |", "|---|" + "---:|" * len(PRINTED["columns"])]
    printed = [
        (f"{one['table']}: {one['rule']}, {YEARS[one['outcome']][0]}", list(np.median(one["values"], axis=0)))
        for one in PRINTED["tables"]
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
    points = [{"rule": name, "x": x, "y": y} for name, (x, y) in places.items()]
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


def year(path: Path, outcome: str, out: Path | None, settings: dict[str, Any], trees: int, jobs: int) -> str:
    """The three tables of one outcome, and its figures."""
    audit = patients(path, outcome)
    when, figure, surface = YEARS[outcome]
    parts, valid = [f"## Conditions in {when}"], {}
    for estimator in models(trees, jobs):
        found = {
            method: improvability.improve(
                audit, "ppv", "ppv", candidates=[estimator], component=method, **settings
            )
            for method in ("paper", "smooth")
        }
        valid[estimator.name] = found["smooth"]
        table = next(
            one for one in PRINTED["tables"] if (one["rule"], one["outcome"]) == (estimator.name, outcome)
        )
        parts.append(f"### Table {table['table']}: {estimator.name}")
        parts.append(
            beside_printed(np.array(table["values"]), numbers(found["paper"]), numbers(found["smooth"]))
        )
        parts.append(f"Verdict: {found['smooth'].verdict.text}.")
    parts.append(f"![{figure}](improvability_patients_{outcome}.svg)")
    if out is not None:
        _write(
            out / f"improvability_patients_{outcome}.svg",
            plane(valid, GROUPS, "mean conditions of the selected"),
        )
        if surface:
            _surface(valid["random forest"], out / "improvability_patients_surface.svg")
    if surface:
        reached = valid["random forest"].largest_fairness_gain(0.0)
        parts.append(f"![{surface}](improvability_patients_surface.svg)")
        parts.append(
            f"Largest Δf at Δa = 0: printed 0.64, ours {'none' if reached is None else f'{reached:.2f}'}."
        )
    return "\n\n".join(parts)  # fmt: skip


def cost_as_accuracy(path: Path, out: Path | None, settings: dict[str, Any], estimator: Estimator) -> str:
    """Appendix H.3 and Figure 7: the mean cost of the selected as accuracy, their conditions as fairness."""
    cost = fairtrial.Metric("mean cost of the selected", value="cost_t", given={fairtrial.role.decision: 1})
    result = fairtrial.improve(patients(path, "gagne_sum_t"), "ppv", cost, candidates=[estimator], **settings)
    if out is not None:
        _surface(result, out / "improvability_patients_cost.svg")
    return (
        "## Cost as accuracy (H.3)\n\nThe article does not reject (its Figure 7). Here: "
        f"{result.verdict.text}.\n\n![Figure 7](improvability_patients_cost.svg)"
    )


def _surface(result: fairtrial.Result, path: Path) -> None:
    for picture in result.pictures():
        if picture.name == "surface":
            _write(path, picture.chart)


def _write(path: Path, chart: Any) -> None:
    path.write_text(drawn(chart), encoding="utf-8")


def page(path: Path, out: Path | None, *, trees: int, draws: int, jobs: int = 1, splits: int = 7) -> str:
    """All tables of the article, with its figures written into `out`."""
    by = [{"race": group} for group in GROUPS]
    settings = {"by": by, "constraints": {"capacity": 0.03}, "bootstrap": draws, "splits": splits}
    return "\n\n".join(
        [
            "# The patients of Obermeyer et al. (2019)",
            f"{PRINTED['source']}: {PRINTED['settings']}. Median over the splits, and their range.",
            *(year(path, outcome, out, settings, trees, jobs) for outcome in YEARS),
            cost_as_accuracy(path, out, settings, models(trees, jobs)[0]),
        ]
    ) + "\n"  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=None, help="the article's file (48,784 rows)")
    parser.add_argument("--full", action="store_true", help="the article's numbers of trees and draws")
    parser.add_argument("--jobs", type=int, default=1, help="parallel workers of the random forest")
    parser.add_argument("--out", type=Path, default=None, help="write the page and its figures here")
    given = parser.parse_args()
    if given.data is None:
        print("fairtrial: the article's full file is not bundled; name it with --data")
        return
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
    trees, draws = (300, 10_000) if given.full else (30, 2000)
    text = page(given.data, given.out, trees=trees, draws=draws, jobs=given.jobs)
    print(text)
    if given.out is not None:
        (given.out / "improvability_patients.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Testing the Fairness-Accuracy Improvability of Algorithms (Auerbach, Liang, Okumura, Tabord-Meehan, 2025), again.

Table 1's design (E[Y | selected] under a capacity, random forest, lasso and linear regression, K = 7 splits), its
Figures 2 and 3, Appendix E's power curves, and the size of the article's fairness component near its kink.

    python examples/papers/improvability.py                       quick: Adult as a stand-in, a few minutes
    python examples/papers/improvability.py --full --out docs/papers

The article's own Tables 1 to 6 need the full file of patients: improvability_patients.py.

The hold-out sample of the same patients is used where FAIRTRIAL_OBERMEYER names it (or ../shared/data has it).
"""

from __future__ import annotations

import argparse
import hashlib
import os
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa
import pyarrow.csv
from improvability_patients import models, numbers, plane, printed_medians
from parts.drawing import drawn
from parts.keeping import kept, spent

import fairtrial
from fairtrial._results.charts.theme import CATEGORIES, COLOURS, finish
from fairtrial.papers import improvability
from validity.improve_designs import fairness_rejections, standard_errors

PROJECT = Path(__file__).resolve().parents[2]


def holdout_path() -> Path | None:
    named = os.environ.get("FAIRTRIAL_OBERMEYER")
    path = Path(named) if named else PROJECT.parent / "shared" / "data" / "obermeyer_holdout.csv"
    return path if path.exists() else None


def holdout(path: Path) -> fairtrial.Audit:
    """The third of the patients that no score was fitted on, with groups that say who they are."""
    table = pyarrow.csv.read_csv(path)
    race = np.where(np.asarray(table["dem_race_black"]) == 1, "Black", "White")
    return fairtrial.Audit(
        table.append_column("race", pa.array(race)),
        outcome="gagne_sum_t",
        score="risk_score_t",
        groups="race",
    )


def adult(rows: int) -> fairtrial.Audit:
    """A stand-in with the article's shape: a score made for something else (hours worked) decides who is selected."""
    table = fairtrial.load("adult", backend="pyarrow")
    order = np.sort(np.random.default_rng(0).permutation(table.num_rows)[:rows])
    table = table.take(order)
    features = [
        "age",
        "education_num",
        "hours_per_week",
        "capital_gain",
        "capital_loss",
        "workclass",
        "occupation",
    ]
    return fairtrial.Audit(
        table,
        outcome="income",
        positive={"outcome": ">50K"},
        score="hours_per_week",
        groups="sex",
        features=features,
        missing="category",
    )


def fixed(name: str) -> fairtrial.Fixed:
    """A score of the hold-out file, with the sign that was stated beforehand."""
    return fairtrial.Fixed(name, sign={"race": "Black"})


def called(candidate: Any) -> str:
    """The name of a candidate."""
    return candidate.rules if isinstance(candidate, fairtrial.Fixed) else candidate.name


def splits_table(result: fairtrial.Result) -> str:
    """Table 1's columns for one result."""
    groups = result.details["claim"]["groups"]
    head = [f"{group} a₁ | {group} a₀ | p" for group in groups]
    lines = [
        f"| split | {' | '.join(head)} | gap a₁ | gap a₀ | p_f | p |",
        "|" + "---|" * (3 * len(groups) + 5),
    ]
    for split in result.details["splits"]:
        rows = [row for row in result.estimates if row["split"] == split["split"]]
        cells = [f"{row['alternative']:.3g} | {row['status_quo']:.3g} | {row['p_value']:.4f}" for row in rows]
        lines.append(f"| {split['split']} | {' | '.join(cells)} | {split['p_value']:.4f} |")
    return "\n".join(lines)


def compared(audit: fairtrial.Audit, asked: list[Any], **settings: Any) -> tuple[str, dict[str, Any]]:
    """The article's fairness component and the smooth one side by side, for each selection rule alone."""
    lines = [
        "| selection rule | fairness component | median p | p_value | verdict | largest Δf at Δa = 0 |",
        "|---|---|---|---|---|---|",
    ]
    results = {}
    for candidate in asked:
        name = called(candidate)
        for method in ("paper", "smooth"):
            result = improvability.improve(
                audit, "ppv", "ppv", candidates=[candidate], component=method, **settings
            )
            results[name, method] = result
            gain = result.largest_fairness_gain(0.0)
            shown = "none" if gain is None or gain <= 0 else f"{gain:.2f}"
            middle = np.median([split["p_value"] for split in result.details["splits"]])
            words = "rejects" if result.rejected else "does not reject"
            lines.append(f"| {name} | {method} | {middle:.4f} | {result.p_value:.4f} | {words} | {shown} |")
    return "\n".join(lines), results


def power_curves(repeats: int, points: int) -> Any:
    """Figure 5: rejections against the candidate's unfairness η."""
    asked = {"repeats": repeats, "points": points}
    rows = kept("improvability-power", asked, lambda: _power_rows(repeats, points))
    return _curves(rows, "eta", "candidate's unfairness η (status quo 1.52)", "people")


def _power_rows(repeats: int, points: int) -> list[dict[str, Any]]:
    rows = []
    for people in (100, 200, 400):
        for eta in np.linspace(0, 1.75, points):
            rng = np.random.default_rng([people, round(1000 * eta)])
            shares = fairness_rejections(
                repeats, rng, rows=people, gap0=1.52, gap1=float(eta), draws=299
            ).mean(axis=1)
            rows += [
                {"people": f"{people} people", "eta": float(eta), "share": float(share), "method": method}
                for share, method in zip(shares, ("article", "smooth"), strict=True)
            ]
    return rows


def size_curves(repeats: int, points: int) -> tuple[Any, str]:
    """Rejections of a true null: the candidate is exactly as unfair as the status quo."""
    asked = {"repeats": repeats, "points": points}
    rows, lines = kept("improvability-size", asked, lambda: _size_rows(repeats, points))
    return _curves(rows, "gap", "size of both gaps, standard errors", "side"), "\n".join(lines)


def _size_rows(repeats: int, points: int) -> tuple[list[dict[str, Any]], list[str]]:
    rows, lines = [], ["| gaps, s.e. | side | article | smooth |", "|---|---|---|---|"]
    for k in np.linspace(0.5, 4, points):
        for side, sign in (("same side", 1), ("opposite sides", -1)):
            rng = np.random.default_rng([round(1000 * k), sign + 1])
            gap = standard_errors(float(k))
            shares = fairness_rejections(repeats, rng, gap0=gap, gap1=sign * gap, draws=299).mean(axis=1)
            rows += [
                {"side": side, "gap": float(k), "share": float(share), "method": method}
                for share, method in zip(shares, ("article", "smooth"), strict=True)
            ]
            lines.append(f"| {k:.2f} | {side} | {shares[0]:.3f} | {shares[1]:.3f} |")
    return rows, lines


def _curves(rows: list[dict[str, Any]], x: str, title: str, panel: str) -> Any:
    methods = alt.Scale(domain=["article", "smooth"], range=[COLOURS["violated"], CATEGORIES[0]])
    panels = []
    for name in dict.fromkeys(row[panel] for row in rows):
        data = alt.Data(values=[row for row in rows if row[panel] == name])
        lines = (
            alt.Chart(data)
            .mark_line(point=True)
            .encode(
                x=alt.X(f"{x}:Q", title=title, axis=alt.Axis(tickCount=5)),
                y=alt.Y("share:Q", title="share rejected at 5%", axis=alt.Axis(format=".0%")),
                color=alt.Color(
                    "method:N", scale=methods, title="fairness component", legend=alt.Legend(orient="top")
                ),
                strokeDash=alt.StrokeDash("method:N", legend=None),
            )
        )
        level = alt.Chart(alt.Data(values=[{"share": 0.05}])).mark_rule(
            color=COLOURS["neutral"], strokeDash=[2, 3]
        )
        panels.append(
            alt.layer(lines, level.encode(y="share:Q")).properties(width=230, height=200, title=name)
        )
    return finish(alt.hconcat(*panels))


PAGE = """# Testing the fairness-accuracy improvability of algorithms

Auerbach, Liang, Okumura and Tabord-Meehan (2025). Made by `examples/papers/improvability.py`{how}, {time}; what is here
of every definition, theorem and option is told [line by line](coverage/improvability.md).

The article tests whether some rule is more accurate for both groups and less unfair. fairtrial computes the same test
with p-values (1+k)/(1+Q), so that the article's 0.0000 is 0.0001 here, and with a fairness component that keeps its
level: see [improve](../improve.md). Its Tables 1 to 6 and Figures 2, 3, 6 and 7 are of 48,784 patients whose file is
not bundled: `examples/papers/improvability_patients.py --data data_new.csv` writes them, printed numbers, those by the
article's formula and the valid ones side by side. A third of these patients is below.

## In Python

`fairtrial.papers.improvability` holds the article's own test and its parts. `improve` takes the options of the
[question](../improve.md) and those that only the article has: `component` (its fairness component with the kink, or the
smooth one), `train_share` β, `aggregate`, `weights` of the groups' accuracies (footnote 11), and as constraints of its
section 1 `independent_given` and `permissible`.

```python
import fairtrial
from fairtrial.papers import improvability

people = fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5)
pair = [{{"race": "African-American"}}, {{"race": "Caucasian"}}]
tested = fairtrial.Fixed("decile_score", sign={{"race": "African-American"}})
asked = {{"by": pair, "candidates": tested, "constraints": {{"capacity": 0.3}}, "bootstrap": 500}}
for component in ("paper", "smooth"):
    found = improvability.improve(people, "fpr", component=component, **asked)
    print(component, round(found.p_value, 2))
```

```text
paper 1.0
smooth 1.0
```

`LinearProgram("F.5")`, `"F.6"` and `"P'"` are the mixed integer programs of Appendix F as candidates, exact searches
among linear rules on a subsample (40 rows by default); HiGHS proves optimality up to about fifty rows, the result
quotes what was proved on the subsample, and the time limit makes it depend on the machine. `best_linear_rule` solves
one on given rows. `kinked_gap` is the fairness component, `split_rows` the split, `combine_p_values` the median rule of
Corollary 1, and `splits_against_manipulation` the K of Proposition 1:

```python
print(improvability.splits_against_manipulation(0.05), improvability.combine_p_values([0.01, 0.04, 0.2], "median"))
```

```text
7 0.08
```

## Tables 1 to 6 as printed, beside the hold-out third

Medians over the article's seven splits: mean conditions of the selected under the candidate (a₁) and the status quo
(a₀), the gap between the groups, and the p-value of the test. The last lines are of the 16,099 patients at hand, whose
scores were fitted on the other two thirds: one test on all of them, by the article's formula and validly.

{printed}

{sections}

## Appendix E: power of the fairness component

![Power](improvability_power.svg)

Where both keep their level (gaps far from zero) they have the same power; near a perfectly fair candidate the smooth
form gives up some.

## The size of the fairness component

The candidate is exactly as unfair as the status quo; each point should be at most 5%. {repeats:,} repeats per point, so
that a share of 5% has a standard error of {noise:.1%}.

![Size](improvability_size.svg)

{size}

The article's Assumption 1 keeps the gap away from zero as the sample grows; it does not in a sample of given size. With
gaps one or two standard errors from zero, the absolute value has its kink within reach of the noise, and the bootstrap
rejects up to four times too often.
"""

SECTION = """## {title}

{intro}

{compared}

{name}, {method} component, test by test:

{table}

![The selection rules beside the status quo (the article's Figure 2)](improvability_{key}_rules.svg)

![Every test of the first rule](improvability_{key}_utilities.svg)

![Surface](improvability_{key}_surface.svg)
"""


def section(
    title: str, intro: str, key: str, audit: fairtrial.Audit, asked: list[Any], **settings: Any
) -> dict[str, Any]:
    """The section's text, its figures by name, and the lines that go beside the printed tables."""
    text, results = compared(audit, asked, **settings)
    name = called(asked[0])
    result = results[name, "smooth"]
    valid = {rule: found for (rule, method), found in results.items() if method == "smooth"}
    first, second = result.details["claim"]["groups"]
    charts = {"rules": plane(valid, (first, second), result.details["levels"][0]["metric"])}
    charts |= {picture.name: picture.chart for picture in result.pictures()}
    words = SECTION.format(
        title=title, intro=intro, compared=text, name=name.capitalize(), method="smooth",
        table=splits_table(result), key=key,
    )  # fmt: skip
    figures = {
        f"improvability_{key}_{part}": drawn(charts[part]) for part in ("rules", "utilities", "surface")
    }
    words_of = {"paper": "by their formula", "smooth": "valid"}
    lines = [(f"hold-out, {words_of[m]}", numbers(results[name, m])[0].tolist()) for m in words_of]
    return {"text": words, "figures": figures, "lines": lines}


def cost_as_accuracy(audit: fairtrial.Audit, **settings: Any) -> str:
    """Appendix H.3: the mean cost of the selected as accuracy, their conditions as fairness."""
    cost = fairtrial.Metric("mean cost of the selected", value="cost_t", given={fairtrial.role.decision: 1})
    result = fairtrial.improve(audit, "ppv", cost, candidates=fixed("gagne_sum_t_hat"), **settings)
    return f"With the cost of the selected as accuracy (Appendix H.3), as in the article: {result.verdict.text}.\n"


def half_splits(audit: fairtrial.Audit, **settings: Any) -> str:
    """The same rule when half of the rows in each split only set a threshold and a sign."""
    found = [
        fairtrial.improve(
            audit, "ppv", "ppv", candidates={"fixed": "gagne_sum_t_hat"}, splits=7, seed=seed, **settings
        ).p_value
        for seed in range(3)
    ]
    listed = ", ".join(f"{p:.3f}" for p in found)
    return f"In seven half splits the same rule gets p = {listed} (three seeds).\n"


def on_holdout(held: Path, draws: int) -> dict[str, Any]:
    """The hold-out section, with the half splits and Appendix H.3 below it."""
    audit = holdout(held)
    intro = (
        "16,099 of these patients, with scores fitted on the others: rules fixed beforehand, tested on all rows "
        "(Section 3.2) with the capacity (3%) and the direction of the gap (selected Black patients are sicker) "
        "stated. The article's calibration stands beside the valid one."
    )
    settings = {"constraints": {"capacity": 0.03}, "bootstrap": draws}
    asked = [fixed(name) for name in ("gagne_sum_t_hat", "log_cost_t_hat")]
    found = section("The hold-out sample", intro, "holdout", audit, asked, **settings)
    below = [half_splits(audit, **settings), cost_as_accuracy(audit, **settings)]
    return found | {"text": "\n".join([found["text"], *below])}


def on_adult(rows: int, trees: int, draws: int, jobs: int) -> dict[str, Any]:
    intro = (
        f"{rows:,} people of the Adult data. The status quo selects the tenth with the longest hours: a stand-in "
        "for a score made for something else; Y is an income above 50,000 dollars."
    )
    asked = models(trees, jobs)
    return section(
        "The same design on Adult",
        intro,
        "adult",
        adult(rows),
        asked,
        constraints={"capacity": 0.1},
        bootstrap=draws,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--full", action="store_true", help="the article's numbers of trees, draws and repeats"
    )
    parser.add_argument("--jobs", type=int, default=1, help="parallel workers of the random forest")
    parser.add_argument(
        "--out", type=Path, default=None, help="write the page and its figures into this folder"
    )
    given = parser.parse_args()
    trees, draws, repeats, points = (300, 10_000, 5000, 15) if given.full else (30, 2000, 400, 8)
    rows = 48_842 if given.full else 30_000
    held, found = holdout_path(), []
    if held is not None:
        asked = {"draws": draws, "of": hashlib.sha256(held.read_bytes()).hexdigest()}
        found.append(kept("improvability-holdout", asked, lambda: on_holdout(held, draws)))
    asked = {"rows": rows, "trees": trees, "draws": draws}
    found.append(kept("improvability-adult", asked, lambda: on_adult(rows, trees, draws, given.jobs)))
    power, (size, size_table) = power_curves(repeats, points), size_curves(repeats, points)
    page = PAGE.format(
        how=" --full" if given.full else ", quick form", sections="\n".join(part["text"] for part in found).strip(),
        printed=printed_medians(found[0]["lines"] if held else []), repeats=repeats,
        noise=(0.05 * 0.95 / repeats) ** 0.5, size=size_table, time=spent(),
    )  # fmt: skip
    print(page)
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / "improvability.md").write_text(page, encoding="utf-8")
        charts = {"improvability_power": power, "improvability_size": size}
        figures = {name: drawn(chart) for name, chart in charts.items()}
        for name, svg in [
            item for part in [*found, {"figures": figures}] for item in part["figures"].items()
        ]:
            (given.out / f"{name}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()

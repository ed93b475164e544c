"""Testing the Fairness-Accuracy Improvability of Algorithms (Auerbach, Liang, Okumura, Tabord-Meehan, 2025), again.

Table 1's design (E[Y | selected] under a capacity, random forest, lasso and linear regression, K = 7 splits), its
Figures 2 and 3, Appendix E's power curves, and the size of the article's fairness component near its kink.

The article's own Tables 1 to 6 need the full file of patients (`improvability_patients`), which is not public; the
hold-out sample of the same patients is used where it is at hand.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa
import pyarrow.csv

import fairtrial
from fairtrial._results.charts.theme import CATEGORIES, COLOURS, finish
from fairtrial.papers import improvability
from fairtrial.papers._reproduction import Asked, Made
from fairtrial.papers._studies import improvability_patients as patients
from fairtrial.papers._studies.improvability_patients import models, numbers, plane, printed_medians
from fairtrial.papers._studies.parts.data_files import find
from fairtrial.papers._studies.parts.drawing import drawn
from fairtrial.papers._studies.parts.keeping import how, kept, spent, template
from fairtrial.papers._studies.parts.kink import fairness_rejections, standard_errors


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


# What the hold-out file's scores are called on the page.
SCORES = {"gagne_sum_t_hat": "fitted conditions", "log_cost_t_hat": "fitted log cost"}


def fixed(name: str) -> fairtrial.Fixed:
    """A score of the hold-out file, with the sign that was stated beforehand."""
    return fairtrial.Fixed(name, sign={"race": "Black"})


def called(candidate: Any) -> str:
    """The name of a candidate."""
    named = str(candidate.rules if isinstance(candidate, fairtrial.Fixed) else candidate.name)
    return SCORES.get(named, named)


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


def compared(
    audit: fairtrial.Audit, asked: list[Any], **settings: Any
) -> tuple[str, dict[tuple[str, str], Any]]:
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
    words = template("improvability_section").format(
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


def _sizes(asked: Asked) -> tuple[int, int, int, int]:
    """Trees, bootstrap draws, repeats and points of a curve."""
    return (300, 10_000, 5000, 15) if asked.full else (30, 2000, 400, 8)


def _patients_item(asked: Asked, name: str) -> Made:
    """A table or figure of the full file of patients; without it what is printed, beside the hold-out third."""
    path = find("patients", asked.data)
    trees, draws, *_ = _sizes(asked)
    if path is not None:
        return patients.item(path, name, trees=trees, draws=draws, jobs=asked.jobs)
    found = _holdout_part(asked)
    figures = {"figure 2": "rules", "figure 3": "surface", "figure 6": "rules", "figure 7": "surface"}
    drawing = (
        found["figures"][f"improvability_holdout_{figures[name]}"] if found and name in figures else None
    )
    stands = (
        "printed, beside the hold-out third" if found else "printed; the hold-out third is not at hand either"
    )
    text = f"The file of 48,784 patients is not public. {stands.capitalize()}:\n\n"
    return text + printed_medians(
        found["lines"] if found else [], name[6:] if name.startswith("table") else ""
    ), drawing


def _holdout_part(asked: Asked) -> dict[str, Any] | None:
    held, (_, draws, *_) = find("patients_holdout", asked.data), _sizes(asked)
    if held is None:
        return None
    settings = {"draws": draws, "of": hashlib.sha256(held.read_bytes()).hexdigest()}
    return dict(kept("improvability-holdout", settings, lambda: _holdout_once(held, draws)))


@cache
def _holdout_once(held: Path, draws: int) -> dict[str, Any]:
    return on_holdout(held, draws)


def _power(asked: Asked) -> Made:
    *_, repeats, points = _sizes(asked)
    rows = kept(
        "improvability-power", {"repeats": repeats, "points": points}, lambda: _power_rows(repeats, points)
    )
    lines = ["| people | candidate's unfairness η | article | smooth |", "|---:|---:|---:|---:|"]
    for article, smooth in zip(rows[::2], rows[1::2], strict=True):
        shares = f"{article['share']:.3f} | {smooth['share']:.3f}"
        lines.append(f"| {article['people'].split()[0]} | {article['eta']:.3f} | {shares} |")
    return "\n".join(lines), _curves(rows, "eta", "candidate's unfairness η (status quo 1.52)", "people")


def _item(name: str) -> Callable[[Asked], Made]:
    return lambda asked: _patients_item(asked, name)


ITEMS: dict[str, Callable[[Asked], Made]] = {
    **{f"table {number}": _item(f"table {number}") for number in range(1, 7)},
    **{f"figure {number}": _item(f"figure {number}") for number in (2, 3, 6, 7)},
    "figure 5": _power,
}


def page(asked: Asked) -> tuple[str, dict[str, Any]]:
    """The page and its figures."""
    trees, draws, repeats, points = _sizes(asked)
    held = _holdout_part(asked)
    found = [] if held is None else [held]
    rows = 48_842 if asked.full else 30_000
    settings = {"rows": rows, "trees": trees, "draws": draws}
    found.append(kept("improvability-adult", settings, lambda: on_adult(rows, trees, draws, asked.jobs)))
    size, size_table = size_curves(repeats, points)
    text = template("improvability").format(
        how=how(asked), sections="\n".join(part["text"] for part in found).strip(),
        printed=printed_medians(held["lines"] if held else []), repeats=repeats,
        noise=(0.05 * 0.95 / repeats) ** 0.5, size=size_table, power=_power(asked)[0], time=spent(),
    )  # fmt: skip
    figures = {"improvability_power": _power(asked)[1], "improvability_size": size}
    return text, {**{name: svg for part in found for name, svg in part["figures"].items()}, **figures}

"""Figure 1 of Si, Murthy, Blanchet and Nguyen (2021): statistic, threshold and accuracy against regularisation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fairtrial._results.charts.theme import COLOURS, finish
from fairtrial.papers._studies.parts import transport_tables as tables
from fairtrial.papers._studies.parts.keeping import each
from fairtrial.papers._studies.parts.transport_data import StudyData, compas, drug
from fairtrial.papers.transport import linear_distance

LOGISTIC, SVM = "(a) logistic regression, COMPAS", "(b) linear SVM, Drug"
MAKERS: dict[str, Callable[[float], Any]] = {
    LOGISTIC: lambda strength: LogisticRegression(C=1 / strength, max_iter=2000),
    SVM: lambda strength: SVC(kernel="linear", C=1 / strength),
}


def one_split(data: StudyData, make: Callable[[float], Any], strength: float, seed: int) -> dict[str, float]:
    """The test of one classifier on one 70/30 split; without a statistic where everybody is decided alike."""
    train, held = data.split(np.random.default_rng(seed))
    x = StandardScaler().fit(data.x[train]).transform(data.x)
    model = make(strength).fit(x[train], data.outcome[train])
    margin = model.decision_function(x[held])
    alike = bool((margin >= 0).all() or (margin < 0).all())
    tested = tables.NOT_TESTED
    if not alike:
        distance = linear_distance(margin, model.coef_.ravel())
        tested = tables.test(tables.posed(data, held, margin, False), distance)
    return {
        "statistic": tested.statistic, "threshold": tested.threshold, "article": tested.article,
        "pooled": tested.pooled, "accuracy": float(((margin >= 0) == data.outcome[held]).mean()),
        "decided": float((margin >= 0).mean()), "alike": float(alike),
    }  # fmt: skip


def regularised(data: StudyData, panel: str, points: int, splits: int) -> list[dict[str, Any]]:
    """Classifiers of growing regularisation, equal opportunity: medians over the splits and shares of them."""
    return each(_at_strength, [(data, panel, float(s), splits) for s in np.logspace(-2, 4, points)])


def _at_strength(data: StudyData, panel: str, strength: float, splits: int) -> dict[str, Any]:
    found = [one_split(data, MAKERS[panel], strength, seed) for seed in range(splits)]
    part = {name: np.array([one[name] for one in found]) for name in found[0]}
    known = ~np.isnan(part["article"])
    middle = {name: _median(part[name]) for name in ("statistic", "threshold", "article", "pooled")}
    spread = np.nanquantile(part["statistic"], [0.1, 0.9]).tolist() if known.any() else [np.nan, np.nan]
    return {
        "strength": strength, **middle, "low": spread[0], "high": spread[1],
        "rejected": float((part["article"][known] <= 0.05).sum() / splits),
        "rejected_pooled": float(np.nansum(part["pooled"] <= 0.05) / splits), "alike": float(part["alike"].mean()),
        "accuracy": float(part["accuracy"].mean()), "decided": float(part["decided"].mean()),
    }  # fmt: skip


def _median(values: np.ndarray) -> float:
    return float(np.nanmedian(values)) if (~np.isnan(values)).any() else float("nan")


def panels(folder: Path | None, points: int, splits: int) -> dict[str, list[dict[str, Any]]]:
    """Figure 1 (a) and, where the data is at hand, (b)."""
    found = {LOGISTIC: regularised(compas(), LOGISTIC, points, splits)}
    if folder is not None:
        found[SVM] = regularised(drug(folder), SVM, points, splits)
    return found


def figure_1(found: dict[str, list[dict[str, Any]]]) -> tuple[Any, str]:
    """(a) and (b): the statistic with its threshold above, the accuracy below."""
    charts = [_panel(name, rows) for name, rows in found.items()]
    text = [
        "| panel | λ | N·P (10% to 90% of the splits) | article's threshold | rejected by the article's test | "
        "by the pooled | decided alike | accuracy | decided 1 |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, rows in found.items():
        for row in rows[:: max(1, len(rows) // 6)]:
            text.append(
                f"| {name} | {row['strength']:.3g} | {_tested(row)} | {row['alike']:.0%} | {row['accuracy']:.1%} | "
                f"{row['decided']:.1%} |"
            )
    return finish(alt.hconcat(*charts)), "\n".join(text)


def _tested(row: dict[str, Any]) -> str:
    """The statistic, its threshold and both shares; there are none where every split decides everybody alike."""
    if row["statistic"] is None or np.isnan(row["statistic"]):
        return "everybody alike, nothing to test | – | – | –"
    return (
        f"{row['statistic']:.2f} ({row['low']:.2f} to {row['high']:.2f}) | {row['threshold']:.2f} | "
        f"{row['rejected']:.0%} | {row['rejected_pooled']:.0%}"
    )


def _panel(name: str, rows: list[dict[str, Any]]) -> alt.VConcatChart:
    base = alt.Chart(alt.Data(values=[_drawable(row) for row in rows]))
    ticks = alt.Axis(grid=False, values=[10.0**power for power in range(-2, 5)], format="~g")
    place = alt.X("strength:Q", scale=alt.Scale(type="log"), title="regularisation λ", axis=ticks)
    height = alt.Y("statistic:Q", title="N·P, dashed: 5% threshold", axis=alt.Axis(tickCount=4))
    spread = base.mark_area(color=COLOURS["certified"], opacity=0.15).encode(x=place, y="low:Q", y2="high:Q")
    statistic = base.mark_line(color=COLOURS["certified"]).encode(x=place, y=height)
    threshold = base.mark_line(color=COLOURS["violated"], strokeDash=[5, 4]).encode(x=place, y="threshold:Q")
    percent = alt.Axis(format="%", tickCount=4)
    scale = alt.Scale(zero=False, padding=6)
    accuracy = base.mark_line(color=COLOURS["accent"]).encode(
        x=place, y=alt.Y("accuracy:Q", title="accuracy", scale=scale, axis=percent)
    )
    top = alt.layer(spread, statistic, threshold).properties(width=300, height=170, title=name)
    return alt.vconcat(top, accuracy.properties(width=300, height=80))


def _drawable(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value if np.isfinite(value) else None for name, value in row.items()}


def said_of_figure_1(found: dict[str, list[dict[str, Any]]]) -> str:
    """What the panels show, from their numbers."""
    text = [_said(name, rows) for name, rows in found.items()]
    if SVM not in found:
        text.append("The article's panel (b) uses the Drug data, which was not at hand.")
    return "\n\n".join(text)


def _said(name: str, rows: list[dict[str, Any]]) -> str:
    above = [row for row in rows if row["statistic"] > row["threshold"]]
    shares = [row["rejected"] for row in rows]
    first = next((row["strength"] for row in rows if row["alike"] >= 0.5), None)
    alike = max((row["alike"] for row in rows if row["strength"] <= 1.0), default=0.0)
    span = f"{min(shares):.0%} to {max(shares):.0%}" if min(shares) < max(shares) else f"{max(shares):.0%}"
    words = (
        f"{name}. Printed: the statistic lies above its threshold at every λ. Here the median statistic lies above it "
        f"at {len(above)} of {len(rows)} λ, and the article's test rejects in {span} of the splits."
    )
    if alike:
        words += f" Up to λ = 1 at most {alike:.0%} of the splits give a rule that decides everybody alike."
    if first is not None:
        words += f" From λ = {first:.3g} on at least half of them do."
    return words

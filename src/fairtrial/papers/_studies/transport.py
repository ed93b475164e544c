"""Testing Group Fairness via Optimal Transport Projections (Si, Murthy, Blanchet, Nguyen, 2021): its experiments again.

Figure 1 (statistic, threshold and accuracy against regularisation), Figure 2 and Table 4 (the limit law and the
rejection rates in Appendix B.1's design), and Tables 1–3 on three data sets, each beside the version that holds its
level. COMPAS is bundled; Arrhythmia and Drug are read from a folder with arrhythmia.csv and drug_consumption.csv.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
from scipy.stats import chi2

from fairtrial._results.charts.theme import COLOURS, finish
from fairtrial.papers._reproduction import Asked, Made
from fairtrial.papers._studies.parts import transport_tables as tables
from fairtrial.papers._studies.parts.keeping import how, kept, spent, template
from fairtrial.papers._studies.parts.transport_data import StudyData, arrhythmia, compas, data_folder, drug
from fairtrial.papers._studies.parts.transport_figure import figure_1, panels, said_of_figure_1
from fairtrial.papers.transport import RateContrasts, disjoint_families

FIGURE_SPLITS = 20
LEVELS = (0.10, 0.05, 0.01)
TABLE_4 = {
    30: (0.2875, 0.2255, 0.1415),
    100: (0.0945, 0.0540, 0.0250),
    500: (0.0895, 0.0450, 0.0085),
    1000: (0.0900, 0.0430, 0.0065),
    2000: (0.0870, 0.0460, 0.0080),
}


# -- Appendix B.1 -------------------------------------------------------------------------------------------


def appendix_b1(rows: int, rng: np.random.Generator) -> tuple[RateContrasts, np.ndarray]:
    """A Gaussian mixture and θ = (0, 1), which is fair; samples without one of the two cells are drawn again."""
    while True:
        cell = rng.choice(4, size=rows, p=[0.4, 0.1, 0.4, 0.1])
        if (cell == 0).any() and (cell == 1).any():
            break
    margin = rng.normal(size=rows) * np.sqrt(5)
    decided = (margin >= 0).astype(np.uint8)
    return disjoint_families(np.where(cell < 2, cell, -1), [((0, 1), 1)], decided), np.abs(margin)


def table_4(repeats: int) -> tuple[str, list[dict[str, Any]]]:
    lines, histogram = [], []
    for rows, printed in TABLE_4.items():
        rng = np.random.default_rng(rows)
        found = [tables.test(*appendix_b1(rows, rng)) for _ in range(repeats)]
        for name, p_values in (
            ("article", [t.article for t in found]),
            ("pooled", [t.pooled for t in found]),
        ):
            rates = [float((np.array(p_values) <= level).mean()) for level in LEVELS]
            lines.append((rows, name, printed, rates))
        if rows >= 500:
            lines.append(
                (rows, "pooled, 200,000 repeats of the counts", printed, rejections_from_counts(rows, rng))
            )
        if rows <= 500:
            statistics = np.array([t.statistic for t in found])
            counts, edges = np.histogram(statistics, bins=np.linspace(0, 6, 31))
            density = counts / repeats / np.diff(edges)
            histogram += [
                {
                    "rows": f"N = {rows}",
                    "low": float(edges[i]),
                    "high": float(edges[i + 1]),
                    "density": float(density[i]),
                }
                for i in range(density.size)
            ]
    text = ["| N | calibration | α = .10 | α = .05 | α = .01 | article prints |", "|---|---|---|---|---|---|"]
    for rows, name, printed, rates in lines:
        shown = " | ".join(f"{rate:.3f}" for rate in rates)
        text.append(
            f"| {rows} | {name} | {shown} | {' / '.join(map(str, printed)) if name == 'article' else ''} |"
        )
    return "\n".join(text), histogram


def rejections_from_counts(rows: int, rng: np.random.Generator) -> list[float]:
    """The pooled test looks at four counts only, so that its size in this design can be had far more exactly."""
    sizes = rng.multinomial(rows, [0.4, 0.1, 0.5], size=200_000)[:, :2]
    events = rng.binomial(sizes, 0.5)
    pooled = events.sum(axis=1) / sizes.sum(axis=1)
    gap = events[:, 0] / sizes[:, 0] - events[:, 1] / sizes[:, 1]
    squared = gap**2 / (pooled * (1 - pooled) * (1 / sizes).sum(axis=1))
    return [float((chi2.sf(squared, 1) <= level).mean()) for level in LEVELS]


def figure_2(histogram: list[dict[str, Any]]) -> alt.TopLevelMixin:
    """The statistic's histogram and its limit, 0.70 · χ²₁ in this design (Corollary 1)."""
    density_at_zero = 1 / np.sqrt(2 * np.pi * 5)
    scale = 0.25 / density_at_zero / 2  # Σ/(2S): both share the factor 1/p₁ + 1/p₂
    grid = np.linspace(0.06, 6, 120)
    curve = alt.Data(values=[{"at": float(x), "limit": float(chi2.pdf(x / scale, 1) / scale)} for x in grid])
    panels = []
    for name in dict.fromkeys(part["rows"] for part in histogram):
        bars = (
            alt.Chart(alt.Data(values=[part for part in histogram if part["rows"] == name]), title=name)
            .mark_bar(color=COLOURS["faint"])
            .encode(
                x=alt.X("low:Q", bin="binned", title="N · D"),
                x2="high:Q",
                y=alt.Y("density:Q", title="density"),
            )
        )
        line = alt.Chart(curve).mark_line(color=COLOURS["accent"]).encode(x="at:Q", y="limit:Q")
        panels.append(alt.layer(bars, line).properties(width=240, height=170))
    chart: alt.TopLevelMixin = finish(alt.hconcat(*panels))
    return chart


READINGS: dict[str, Callable[[Path], StudyData]] = {
    "sex among the features": lambda folder: arrhythmia(folder, "sex too"),
    "twelve features besides sex": lambda folder: arrhythmia(folder, "twelve others"),
    "arrhythmia is positive": lambda folder: arrhythmia(folder, "arrhythmia"),
    "C = 0.1": lambda folder: drug(folder),
    "ethnicity among the features": lambda folder: drug(folder, "ethnicity too"),
    "ethnicity among the features, C = 0.1": lambda folder: drug(folder, "ethnicity too"),
    "ethnicity among the features, C = 0.01": lambda folder: drug(folder, "ethnicity too"),
    "Black against others": lambda folder: drug(folder, "Black"),
}
NO_OTHERS = "Arrhythmia and Drug were not at hand: their lines are missing here."


def data_sets(folder: Path | None, full: bool) -> list[tuple[StudyData, int]]:
    """The data at hand with the number of splits; a fit on COMPAS takes ten times the time of the others."""
    sets = [(compas(), 1000 if full else 10)]
    if folder is not None:
        sets = [
            (arrhythmia(folder), 1000 if full else 40),
            *sets,
            (drug(folder), 1000 if full else 40),
        ]
    return sets


def others(folder: Path | None, splits: int) -> str:
    """What is said of the two data sets that are not bundled."""
    if folder is None:
        return NO_OTHERS
    sets = [
        (words, make(folder), float(words.rpartition("C = ")[2]) if "C = " in words else 1.0)
        for words, make in READINGS.items()
    ]
    found = kept("transport-readings", {"splits": splits}, lambda: tables.readings_table(sets, splits))
    return template("transport_others").format(reading_splits=splits, readings=found)


def _repeats(asked: Asked) -> tuple[int, int, int]:
    """Repeats of the simulations, points of Figure 1, and splits where the loss varies."""
    return (2000, 25, 50) if asked.full else (300, 9, 10)


def _table_4(asked: Asked) -> tuple[str, list[dict[str, Any]]]:
    repeats = _repeats(asked)[0]
    text, histogram = kept("transport-table-4", {"repeats": repeats}, lambda: table_4(repeats))
    return str(text), list(histogram)


def _panels(asked: Asked) -> dict[str, list[dict[str, Any]]]:
    points, folder = _repeats(asked)[1], data_folder(asked.data)
    settings = {"points": points, "both": folder is not None, "splits": FIGURE_SPLITS}
    return dict(kept("transport-figure-1", settings, lambda: panels(folder, points, FIGURE_SPLITS)))


def _figure_1(asked: Asked) -> Made:
    chart, text = figure_1(_panels(asked))
    return text, chart


def _one_test(column: str) -> Callable[[Asked], Made]:
    """Tables 1 to 3 are three columns of one table here."""

    def make(asked: Asked) -> Made:
        lines = tables.tables_1_to_3(data_sets(data_folder(asked.data), asked.full)).splitlines()
        head = [cell.strip() for cell in lines[0].split("|")]
        place = next(k for k, cell in enumerate(head) if column in cell)
        cells = [line.split("|") for line in lines]
        return "\n".join("|".join([*line[:4], line[place], ""]) for line in cells), None

    return make


ITEMS: dict[str, Callable[[Asked], Made]] = {
    "table 1": _one_test("Table 1"),
    "table 2": _one_test("Table 2"),
    "table 3": _one_test("Table 3"),
    "table 4": lambda asked: (_table_4(asked)[0], None),
    "figure 1": _figure_1,
    "figure 2": lambda asked: ("", figure_2(_table_4(asked)[1])),
}


def page(asked: Asked) -> tuple[str, dict[str, Any]]:
    """The page and its figures."""
    (repeats, _, splits), folder = _repeats(asked), data_folder(asked.data)
    found = _panels(asked)
    text = template("transport").format(
        how=how(asked), figure_1=_figure_1(asked)[0], figure_1_said=said_of_figure_1(found),
        figure_splits=FIGURE_SPLITS, table_4=_table_4(asked)[0], repeats=repeats, others=others(folder, 4 * splits),
        tables=tables.tables_1_to_3(data_sets(folder, asked.full)), loss_splits=splits,
        losses=kept("transport-losses", {"splits": splits}, lambda: tables.losses_table(compas(), splits)),
        time=spent(),
    )  # fmt: skip
    return text, {f"transport_figure_{number}": ITEMS[f"figure {number}"](asked)[1] for number in (1, 2)}

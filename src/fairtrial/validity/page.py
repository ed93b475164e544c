"""The board as a Markdown page with a chart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairtrial import __version__
from fairtrial.validity.board import METHODS, Judged
from fairtrial.validity.run import Board

_INTRODUCTION = """# The validity board

Every p-value and every interval of fairtrial, run over repeats in designs where the truth is known. Written by
`make validity` (fairtrial {version}, {form} form, seed {seed}, {seconds:.0f} s); `fairtrial validity --seed 7` runs it
again with other random numbers.

**How to read it.** *Error* is the share of repeats in which the method was wrong: a rejection although the null
hypothesis holds (size), an interval that misses the truth (coverage: 1 − error), the share of flags that are false
(false flagging rate), a certificate for a group at the edge of the band (wrong certification). A line **fails** when
its error is above the *limit* by more than chance allows (one-sided 99.9% given the repeats): 6% for a 5% test, 6.5%
for a 95% interval. The column *fails above* is that bound. Being conservative (an error well under nominal) is shown
and not failed. Power lines have a promised power, and fail when the power is below it by more than chance.
Lines marked *published variant* run the formula of a paper in the same design. They are here because they do **not**
hold their level, and are expected to fail; that is why the default differs.

Seeds derive from the name of the line and are never chosen. {counts}

![Error rates of all lines](validity.svg)
"""


def write_page(board: Board, folder: Path) -> Path:
    """Write validity.md and validity.svg."""
    folder.mkdir(parents=True, exist_ok=True)
    ours = [line for line in board.judged if line.cell.variant == "ours"]
    papers = [line for line in board.judged if line.cell.variant == "paper"]
    counts = (
        f"{sum(line.holds for line in ours)} of {len(ours)} lines of fairtrial hold; "
        f"{sum(not line.holds for line in papers)} of {len(papers)} published variants fail, as expected."
    )
    text = _INTRODUCTION.format(
        version=__version__, form=board.form, seed=board.seed, seconds=board.seconds, counts=counts
    )
    for method in METHODS:
        lines = [line for line in board.judged if line.cell.method == method]
        if lines:
            text += f"\n## {method}\n\n{_table(lines)}\n"
    target = folder / "validity.md"
    target.write_text(text, encoding="utf-8")
    (folder / "validity.svg").write_text(_chart(board), encoding="utf-8")
    return target


def _table(lines: list[Judged]) -> str:
    rows = [
        "| what | design | claim | variant | nominal | repeats | error | fails above | |",
        "|---|---|---|---|---:|---:|---:|---:|---|",
    ]
    for line in lines:
        cell = line.cell
        variant = "fairtrial" if cell.variant == "ours" else "published variant"
        bound = "below " + f"{line.bound:.3f}" if cell.claim == "power" else f"{line.bound:.3f}"
        rows.append(
            f"| {cell.name} | {cell.design} | {cell.claim} | {variant} | {cell.nominal:g} | {line.repeats:,} "
            f"| {line.error:.4f} | {bound} | {_mark(line)} |"
        )
    return "\n".join(rows)


def _mark(line: Judged) -> str:
    if line.cell.variant == "ours":
        return "holds" if line.holds else "**FAILS**"
    return "fails, as expected" if not line.holds else "**holds unexpectedly**"


def _chart(board: Board) -> str:
    import altair as alt
    import vl_convert

    from fairtrial.charts.theme import COLOURS, finish

    values: list[dict[str, Any]] = [
        {
            "line": line.cell.key,
            "method": line.cell.method,
            "excess": min(line.error / line.cell.nominal, 20.0),
            "who": "fairtrial" if line.cell.variant == "ours" else "published variant",
            "order": [other for other in board.judged if other.cell.method == line.cell.method].index(line),
        }
        for line in board.judged
        if line.cell.claim != "power"
    ]
    names = ["fairtrial", "published variant"]
    data = alt.Data(values=values)
    x = alt.X(
        "excess:Q", title="error rate / nominal (log scale)", scale=alt.Scale(type="symlog", domain=[0, 20])
    )
    points = (
        alt.Chart(data)
        .mark_point(filled=True, size=70, opacity=0.75)
        .encode(
            x=x,
            y=alt.Y("method:N", sort=list(METHODS), title=None),
            yOffset=alt.YOffset("order:Q"),
            color=alt.Color(
                "who:N",
                title=None,
                scale=alt.Scale(domain=names, range=[COLOURS["accent"], COLOURS["violated"]]),
            ),
            shape=alt.Shape("who:N", title=None, scale=alt.Scale(domain=names, range=["circle", "square"])),
        )
    )
    nominal = alt.Chart(alt.Data(values=[{"x": 1}])).mark_rule(color=COLOURS["neutral"], strokeDash=[4, 3])
    spec = finish(alt.layer(nominal.encode(x="x:Q"), points), width=640, height=480).to_dict()
    svg: str = vl_convert.vegalite_to_svg(spec)
    return svg

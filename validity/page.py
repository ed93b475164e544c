"""The board as a Markdown page with a chart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairtrial import __version__
from validity.board import METHODS, Judged, cells
from validity.run import Board

FEWER = "†"  # beside the repeats of a whole analysis
_INTRODUCTION = """# The validity board

Every p-value and every interval of fairtrial, run over repeats in designs where the truth is known. Written by
`make validity` (fairtrial {version}, {form} form, seed {seed}); `python -m validity --long --seed 7` runs it
again with other random numbers. The lines took {minutes:.0f} minutes of processor time, added up from what
each of them took when it was computed. A stopped run goes on with the lines it has kept, but only with those of the
same repeats, seed
and code.

**How to read it.** *Error* is the share of repeats in which the method was wrong: a rejection although the null
hypothesis holds (size), an interval that misses the truth (coverage: 1 − error), the share of flags that are false
(false flagging rate), a certificate for a group at the edge of the band (wrong certification). A line **fails** when
its error is above the *limit* by more than chance allows (one-sided 99.9% given the repeats): 6% for a 5% test, 6.5%
for a 95% interval, unless the line names another. The column *fails above* is that bound: with 2,000 repeats a 5% test
"holds" up to an observed 7.7%, with 20,000 up to 6.5%, so a line's repeats say how sharp it is. *Exact* lines add up
the probabilities of all tables, over as many designs as the column *repeats* says; their error is the largest of these,
and no chance is allowed for. Being conservative (an error well under nominal) is shown and not failed. Lines of power
have a promised power, and fail when the power is below it by more than chance: there the column *error* shows the
power itself; beside a rival, see [power](#power). Lines marked *published variant* (↳) stand below the line of
fairtrial whose place they take: the same design, claim and nominal level, with the formula of a paper, or the usual
shortcut, in place of fairtrial's. They are here because they do **not** hold, and are expected to fail; that is why
the default differs.

*Repeats* are {repeats}. Lines named *whole function* call the public function on a table of people in every repeat; the
others run the same statistics in bulk. {exceptions}

Seeds derive from the name of the line and are never chosen. Lines that take long are *in the long form* alone.
{counts}

{summary}

![Error rates of all lines](validity.svg)
"""
_POWER = """A test that never rejects holds every level. Here is what validity costs: the power of fairtrial beside that
of the usual valid method, on the same draws. A line fails when more than ten points are lost beyond chance, unless the
last column says why."""
_NEVER = """A method that only refuses is never wrong either. These {count} of {all} lines of fairtrial made no error in
any repeat; what the same methods find where there is something to find, the lines of power tell. How often an interval
of means has no limit on a side, which is how it refuses, stands by shape, size and target on the page of
[means](means.md#what-holds-and-where-the-answer-is-undetermined)."""
# Of the lines of a form, what most have; the others are listed by name.
_USUAL = {"short": 400, "long": 2000}


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
        version=__version__, form=board.form, seed=board.seed, minutes=board.seconds / 60, counts=counts,
        repeats=f"at least {_USUAL[board.form]:,} in the {board.form} form", exceptions=_exceptions(board),
        summary=_summary(board),
    )  # fmt: skip
    for method in METHODS:
        lines = [line for line in board.judged if line.cell.method == method]
        if lines:
            text += f"\n## {method}\n\n{_table(side_by_side([*lines, *_not_run(lines, method)]))}\n"
    if any(line.rival is not None for line in board.judged):
        text += f"\n## Power\n\n{_POWER}\n\n{_power_table(board)}\n"
    text += _never_wrong([line for line in ours if line.cell.claim != "power"])
    target = folder / "validity.md"
    target.write_text(text, encoding="utf-8")
    (folder / "validity.svg").write_text(_chart(board), encoding="utf-8")
    return target


def _never_wrong(lines: list[Judged]) -> str:
    """The section of lines without an error, if there are any."""
    never = [line for line in lines if line.error == 0.0]
    if not never:
        return ""
    rows = [
        "| what | design | repeats |",
        "|---|---|---:|",
        *(
            f"| {line.cell.method}: {line.cell.name} | {line.cell.design} | {line.repeats:,} |"
            for line in never
        ),
    ]
    told = _NEVER.format(count=len(never), all=len(lines))
    return f"\n## Never wrong\n\n{told}\n\n" + "\n".join(rows) + "\n"


def _not_run(lines: list[Judged], method: str) -> list[Judged]:
    """The lines of a method that this form leaves out, with no repeats."""
    run = {line.cell.key for line in lines}
    return [Judged(cell, 0, float("nan"), 1.0) for cell in cells(method) if cell.key not in run]


def side_by_side(lines: list[Judged]) -> list[Judged]:
    """Our lines in their order, each followed by the published variants that take its place."""
    ours = [line for line in lines if line.cell.variant == "ours"]
    papers = [line for line in lines if line.cell.variant == "paper"]
    return [
        line
        for mine in ours
        for line in (mine, *(paper for paper in papers if paper.cell.counterpart == mine.cell.name))
    ]


def _exceptions(board: Board) -> str:
    fewer = sum(line.cell.whole_analysis for line in board.judged)
    if not fewer:
        return ""
    return f"{fewer} whole analyses that take seconds each ({FEWER}) have fewer, and bounds as wide as that makes them."


def _summary(board: Board) -> str:
    rows = [
        "| function | designs | lines that hold | published variants that fail |",
        "|---|---:|---:|---:|",
    ]
    for method in METHODS:
        lines = [line for line in board.judged if line.cell.method == method]
        ours = [line for line in lines if line.cell.variant == "ours"]
        papers = [line for line in lines if line.cell.variant == "paper"]
        if lines:
            designs = len({line.cell.design for line in ours})
            rows.append(
                f"| `{method}` | {designs} | {sum(line.holds for line in ours)} of {len(ours)} "
                f"| {sum(not line.holds for line in papers)} of {len(papers)} |"
            )
    return "\n".join(rows)


def _table(lines: list[Judged]) -> str:
    rows = [
        "| what | design | claim | variant | nominal | repeats | error | fails above | |",
        "|---|---|---|---|---:|---:|---:|---:|---|",
    ]
    for line in lines:
        cell = line.cell
        mine = cell.variant == "ours"
        if not line.repeats:
            name = cell.name if mine else f"↳ {cell.name}"
            rows.append(
                f"| {name} | {cell.design} | {cell.claim} | | {cell.nominal:g} | | | | in the long form |"
            )
            continue
        name, variant = (cell.name, "fairtrial") if mine else (f"↳ {cell.name}", "published variant")
        bound = "below " + f"{line.bound:.3f}" if cell.claim == "power" else f"{line.bound:.3g}"
        repeats = f"exact, {line.repeats:,}" if cell.exact else f"{line.repeats:,}"
        if cell.whole_analysis:
            repeats += f" {FEWER}"
        nominal = "" if line.rival is not None else f"{cell.nominal:g}"
        rows.append(
            f"| {name} | {cell.design} | {cell.claim} | {variant} | {nominal} | {repeats} "
            f"| {line.error:.4f} | {bound} | {_mark(line)} |"
        )
    return "\n".join(rows)


def _power_table(board: Board) -> str:
    rows = ["| what | design | fairtrial | rival | its power | |", "|---|---|---:|---|---:|---|"]
    for line in board.judged:
        if line.rival is not None:
            cell = line.cell
            rows.append(
                f"| {cell.method}: {cell.name} | {cell.design} | {line.error:.3f} | {cell.rival_name} "
                f"| {line.rival:.3f} | {cell.loses or _mark(line)} |"
            )
    return "\n".join(rows)


def _mark(line: Judged) -> str:
    if line.cell.variant == "ours":
        return "holds" if line.holds else "**FAILS**"
    return "fails, as expected" if not line.holds else "**holds unexpectedly**"


def _chart(board: Board) -> str:
    import altair as alt
    import vl_convert

    from inside.results import COLOURS, finish

    by_method: dict[str, list[Judged]] = {}
    for line in board.judged:
        if line.cell.claim != "power":
            by_method.setdefault(line.cell.method, []).append(line)
    values: list[dict[str, Any]] = [
        {
            "line": line.cell.key,
            "method": line.cell.method,
            "excess": min(line.error / line.cell.nominal, 20.0),
            "who": "fairtrial" if line.cell.variant == "ours" else "published variant",
            # From 0 to 1 within the method's band, in the board's order.
            "place": (index + 0.5) / len(lines),
        }
        for lines in by_method.values()
        for index, line in enumerate(lines)
    ]
    names = ["fairtrial", "published variant"]
    data = alt.Data(values=values)
    x = alt.X(
        "excess:Q",
        title="error rate / nominal (log scale)",
        scale=alt.Scale(type="symlog", domain=[0, 20]),
        axis=alt.Axis(values=[0, 0.5, 1, 2, 3, 5, 10, 20], format="~g"),
    )
    legend = alt.Legend(orient="top")
    points = (
        alt.Chart(data)
        .mark_point(filled=True, size=70, opacity=0.75)
        .encode(
            x=x,
            y=alt.Y("method:N", sort=list(METHODS), title=None),
            yOffset=alt.YOffset("place:Q", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color(
                "who:N",
                title=None,
                scale=alt.Scale(domain=names, range=[COLOURS["accent"], COLOURS["violated"]]),
                legend=legend,
            ),
            shape=alt.Shape(
                "who:N", title=None, scale=alt.Scale(domain=names, range=["circle", "square"]), legend=legend
            ),
        )
    )
    nominal = alt.Chart(alt.Data(values=[{"x": 1}])).mark_rule(color=COLOURS["neutral"], strokeDash=[4, 3])
    spec = finish(alt.layer(nominal.encode(x="x:Q"), points), width=640, height=480).to_dict()
    svg: str = vl_convert.vegalite_to_svg(spec)
    return svg

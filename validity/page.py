"""The board as Markdown: a summary that is kept in docs/, and every line with a chart, built with the docs' site."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from textwrap import fill
from typing import Any

from validity.board import AUDITS, METHODS, SECTIONS, Judged, cells
from validity.results import Board

SUMMARY = Path(__file__).parents[1] / "docs" / "validity.md"
EVERY_LINE, CHART = "validity-lines.md", "validity-lines.svg"  # in the built site
FEWER = "†"  # beside the repeats of a whole analysis
_SUMMARY = """# The validity board

Every p-value and every interval of fairtrial, and whole audits, run over repeats where the truth is known. This page
is a summary of `validity/results.jsonl`, which keeps each line with its repeats, its error and its bound; [every
line](validity-lines.md) stands on a page that `make docs` builds from it. Written by `make validity` (fairtrial
{version}, {form} form, seed {seed}), in {minutes:.0f} minutes of processor time.

{counts}
{audits}

{judged}

## By function

*Lines* are those of fairtrial in their *designs*. The largest error of a test at nominal 5% and of a 95% interval (1
− coverage) is that of the worst line, whole analyses of few repeats left aside: sizes up to 6% and misses up to 6.5%
are allowed, and chance on top of it. *Published variants* are a paper's formula, or the usual shortcut, in the same
designs: they are listed because they do **not** hold, and are expected to fail; that is why the default differs.

{table}

The lines of fairtrial nearest to their bounds:

{nearest}

## Power

{power} Of {rivals} lines beside a rival, {kept} lose at most ten points. Where more is given away the line says why:

{lost}

## Never wrong

{never} They are [listed](validity-lines.md#never-wrong) apart.

## Whole audits

A p-value can hold while the sentence around it is false. So whole audits are played in worlds whose truth is known:
{scenarios} scenarios in `truth/`, each written from the side of a user with a file, each {plays} times with other
people. Every scenario is asked through the API, and as `fairtrial init people.csv --yes` and `fairtrial run`.
Results state what they claim as data (who, against whom, on which side, within which tolerance), and each claim is
compared with the truth. A scenario **holds** when the share of questions with a false claim is not above 5% beyond
chance (one-sided 99.9%), when what is clearly there was found in at least 80% of repeats, and when nothing was
claimed that must never be. Of {questions:,} questions {wrong} had a false claim in them ({share:.1%}).

## Run it

`make validity` runs the long form and writes this page; after a stop it goes on with the lines it has kept, but only
with those of the same repeats, seed and code. `make truth` runs the whole audits. `python -m validity --method
certify` runs the short form of one function, `python -m validity --long --seed 7` all of it with other random
numbers. Seeds derive from the name of the line and are never chosen.
"""
_JUDGED = """**How a line is judged.** Its *error* is the share of repeats in which the method was wrong: a
rejection although the null hypothesis holds (size), an interval that misses the truth (coverage: 1 − error), the
share of flags that are false (false flagging rate), a certificate for a group at the edge of the band (wrong
certification). A line **fails** when its error is above the *limit* by more than chance allows (one-sided 99.9%
given the repeats): 6% for a 5% test, 6.5% for a 95% interval, unless the line names another. The *bound* is where
that is: with 2,000 repeats a 5% test "holds" up to an observed 7.7%, with 20,000 up to 6.5%. *Exact* lines add up
the probabilities of all tables over many designs; their error is the largest of these, and no chance is allowed for.
Being conservative (an error well under nominal) is shown and not failed. Lines of power have a promised power, and
fail when the power is below it by more than chance. Repeats are {repeats}; {fewer} whole analyses that take seconds
each ({mark}) have fewer, and bounds as wide as that makes them."""
_LINES = """# Every line of the validity board

What the lines are and how they are judged is told on the page of the [board](validity.md).

{judged}

The column *fails above* is the bound; for exact lines the column *repeats* says over how many designs the largest
error was taken. In lines of power the column *error* shows the power itself; beside a rival, see [power](#power).
Lines marked *published variant* (↳) stand below the line of fairtrial whose place they take: the same design, claim
and nominal level. Lines named *whole function* call the public function on a table of people in every repeat; the
others run the same statistics in bulk. Lines that take long are *in the long form* alone.

![Error rates of all lines](validity-lines.svg)
"""
_POWER = """A test that never rejects holds every level. Here is what validity costs: the power of fairtrial beside that
of the usual valid method, on the same draws. A line fails when more than ten points are lost beyond chance, unless it
says why."""
_NEVER = """A method that only refuses is never wrong either. These {count} of {all} lines of fairtrial made no error in
any repeat; what the same methods find where there is something to find, the lines of power tell."""
_REFUSED = """How often an interval of means has no limit on a side, which is how it refuses, stands by shape, size and
target on the page of [means](means.md#what-holds-and-where-the-answer-is-undetermined)."""
# Of the lines of a form, what most have; the others are marked.
_USUAL = {"short": 400, "long": 2000}


def summary_page(board: Board) -> str:
    """What stays in the repository."""
    rivals = [line for line in board.lines() if line.rival is not None]
    lost = [line for line in rivals if line.cell.loses]
    audits = board.lines(AUDITS)
    scenarios = [line for line in audits if line.cell.claim != "power"]
    questions = sum(line.repeats for line in scenarios)
    wrong = round(sum(line.repeats * line.error for line in scenarios))
    never, judged = _never_wrong(board)
    text = _SUMMARY.format(
        version=board.version, form=board.form, seed=board.seed, minutes=board.minutes, counts=verdict(board),
        audits=f"{sum(line.holds for line in audits)} of {len(audits)} lines of whole audits hold.",
        judged=_how_judged(board), table=_by_function(board), nearest=_nearest(board),
        power=_POWER, rivals=len(rivals), kept=len(rivals) - len(lost), lost=_given_away(lost),
        never=_NEVER.format(count=len(never), all=judged), scenarios=len(scenarios), plays=_plays(audits),
        questions=questions, wrong=wrong, share=wrong / max(questions, 1),
    )  # fmt: skip
    return "\n\n".join(map(_wrapped, text.strip().split("\n\n"))) + "\n"


def _wrapped(paragraph: str) -> str:
    """Prose in lines of one length; tables and headings as they are."""
    return paragraph if paragraph.startswith(("|", "#")) else fill(paragraph, 119, break_on_hyphens=False)


def full_page(board: Board) -> str:
    """Every line, those that this form leaves out too."""
    text = _LINES.format(judged=_how_judged(board))
    for section in SECTIONS:
        lines = board.lines(section)
        if lines:
            text += f"\n## {section}\n\n{_table(side_by_side([*lines, *_not_run(lines, section)]))}\n"
    rivals = [line for line in board.judged if line.rival is not None]
    if rivals:
        text += f"\n## Power\n\n{_POWER}\n\n{_power_table(rivals)}\n"
    never, judged = _never_wrong(board)
    if never:
        told = f"{_NEVER.format(count=len(never), all=judged)} {_REFUSED}"
        rows = ((_named(line), line.cell.design, f"{line.repeats:,}") for line in never)
        text += f"\n## Never wrong\n\n{told}\n\n{_markdown('what | design | repeats', '--r', rows)}\n"
    return text


def verdict(board: Board) -> str:
    """How many lines are as they should be, in one sentence."""
    ours, papers = board.lines(variant="ours"), board.lines(variant="paper")
    return (
        f"{sum(line.holds for line in ours)} of {len(ours)} lines of fairtrial hold; "
        f"{sum(not line.holds for line in papers)} of {len(papers)} published variants fail, as expected."
    )


def _markdown(titles: str, sides: str, rows: Iterable[Iterable[str]]) -> str:
    """A table; `sides` has an r for each column of numbers."""
    rule = "|".join("---:" if side == "r" else "---" for side in sides)
    return "\n".join([f"| {titles} |", f"|{rule}|", *(f"| {' | '.join(row)} |" for row in rows)])


def _how_judged(board: Board) -> str:
    fewer = sum(line.cell.whole_analysis for line in board.lines())
    return _JUDGED.format(
        repeats=f"at least {_USUAL[board.form]:,} in the {board.form} form", fewer=fewer, mark=FEWER
    )


def _plays(audits: list[Judged]) -> str:
    """How often a scenario was played: once for each repeat of a line of what is due."""
    plays = {line.repeats for line in audits if line.cell.claim == "power"} or {0}
    return f"{min(plays)}" if len(plays) == 1 else f"{min(plays)} to {max(plays)}"


def _never_wrong(board: Board) -> tuple[list[Judged], int]:
    """Lines without an error, and of how many."""
    lines = [line for line in board.lines(variant="ours") if line.cell.claim != "power"]
    return [line for line in lines if line.error == 0.0], len(lines)


def _by_function(board: Board) -> str:
    rows = []
    for method in METHODS:
        ours, papers = board.lines(method, "ours"), board.lines(method, "paper")
        if ours:
            power = [line for line in ours if line.cell.claim == "power"]
            rows.append([
                f"`{method}`", str(len({line.cell.design for line in ours})), _of(ours),
                _worst(ours, "size"), _worst(ours, "coverage"), _of(power) if power else "",
                f"{sum(not line.holds for line in papers)} of {len(papers)}",
            ])  # fmt: skip
    titles = (
        "function | designs | lines that hold | largest error, 5% tests | 95% intervals | lines of power "
        "| variants that fail"
    )
    return _markdown(titles, "-rrrrrr", rows)


def _of(lines: list[Judged]) -> str:
    return f"{sum(line.holds for line in lines)} of {len(lines)}"


def _worst(lines: list[Judged], claim: str) -> str:
    errors = [
        line.error
        for line in lines
        if line.cell.claim == claim and line.cell.nominal == 0.05 and not line.cell.whole_analysis
    ]
    return f"{max(errors):.3f}" if errors else ""


def _nearest(board: Board, count: int = 8) -> str:
    lines = [line for line in board.lines(variant="ours") if line.cell.claim != "power" and line.bound > 0]
    lines.sort(key=lambda line: line.error / line.bound, reverse=True)
    rows = (
        (
            _named(line),
            line.cell.claim,
            _repeats(line),
            f"{line.error:.4f}",
            f"{line.bound:.3g}",
        )
        for line in lines[:count]
    )
    return _markdown("what | claim | repeats | error | bound", "--rrr", rows)


def _not_run(lines: list[Judged], section: str) -> list[Judged]:
    """The lines of a section that this form leaves out, with no repeats."""
    run = {line.cell.key for line in lines}
    return [Judged(cell, 0, float("nan"), True) for cell in cells(section) if cell.key not in run]


def side_by_side(lines: list[Judged]) -> list[Judged]:
    """Our lines in their order, each followed by the published variants that take its place."""
    ours = [line for line in lines if line.cell.variant == "ours"]
    papers = [line for line in lines if line.cell.variant == "paper"]
    return [
        line
        for mine in ours
        for line in (mine, *(paper for paper in papers if paper.cell.counterpart == mine.cell.name))
    ]


def _table(lines: list[Judged]) -> str:
    rows = []
    for line in lines:
        cell = line.cell
        mine = cell.variant == "ours"
        name = cell.name if mine else f"↳ {cell.name}"
        if not line.repeats:
            rows.append(
                [name, cell.design, cell.claim, "", f"{cell.nominal:g}", "", "", "", "in the long form"]
            )
            continue
        bound = "below " + f"{line.bound:.3f}" if cell.claim == "power" else f"{line.bound:.3g}"
        rows.append([
            name, cell.design, cell.claim, "fairtrial" if mine else "published variant",
            "" if line.rival is not None else f"{cell.nominal:g}", _repeats(line), f"{line.error:.4f}", bound,
            _mark(line),
        ])  # fmt: skip
    titles = "what | design | claim | variant | nominal | repeats | error | fails above | "
    return _markdown(titles, "----rrrr-", rows)


def _named(line: Judged) -> str:
    return f"{line.cell.method}: {line.cell.name}"


def _repeats(line: Judged) -> str:
    repeats = f"exact, {line.repeats:,}" if line.cell.exact else f"{line.repeats:,}"
    return f"{repeats} {FEWER}" if line.cell.whole_analysis else repeats


def _power_table(lines: list[Judged]) -> str:
    rows = (
        (
            _named(line), line.cell.design, f"{line.error:.3f}", line.cell.rival_name,
            f"{line.rival:.3f}", line.cell.loses or _mark(line),
        )
        for line in lines
    )  # fmt: skip
    return _markdown("what | design | fairtrial | rival | its power | ", "--r-r-", rows)


def _given_away(lines: list[Judged]) -> str:
    rows = (
        (_named(line), f"{line.error:.3f}", f"{line.cell.rival_name}: {line.rival:.3f}", line.cell.loses)
        for line in lines
    )
    return _markdown("what | fairtrial | rival | why", "-r--", rows)


def _mark(line: Judged) -> str:
    if line.cell.variant == "ours":
        return "holds" if line.holds else "**FAILS**"
    return "fails, as expected" if not line.holds else "**holds unexpectedly**"


def chart(board: Board) -> str:
    """The error rates of all lines beside their nominal levels, as SVG."""
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

"""The truth board as a Markdown page."""

from __future__ import annotations

from pathlib import Path

from truth.board import DUE, LEVEL, Line

INTRODUCTION = """# The truth board

A p-value can hold while the sentence around it is false. So whole audits are played here, in worlds whose truth is
known: {count} scenarios, each written from the side of a user with a file, each {repeats} times with other people.
Every scenario is asked through the API, and as `fairtrial init people.csv --yes` and `fairtrial run`.
Results state what they claim as data (who, against whom, on which side, within which tolerance), and each claim is
compared with the truth. Written by `make truth`.

A scenario **holds** when the share of questions with a false claim is not above {level:.0%} beyond chance (one-sided
99.9%), when what is clearly there was found in at least {due:.0%} of repeats, and when nothing was claimed that must
never be. {good} of {count} hold.

| scenario | what is true | repeats | claims | false | due but missing | |
|---|---|---:|---:|---:|---:|---|
"""


def write_page(lines: list[Line], folder: Path) -> Path:
    """Write truth.md."""
    good = sum(line.holds for line in lines)
    text = INTRODUCTION.format(
        count=len(lines), repeats=len(lines[0].outcomes), level=LEVEL, due=DUE, good=good
    )
    for line in lines:
        claims = sum(
            said.kind in ("found", "certified") for outcome in line.outcomes for said in outcome.said
        )
        text += (
            f"| {line.scenario.name} | {line.scenario.story} | {len(line.outcomes)} | {claims} | {len(line.false)} "
            f"| {line.missing} | {'holds' if line.holds else '**FAILS**'} |\n"
        )
    target = folder / "truth.md"
    target.write_text(text, encoding="utf-8")
    return target

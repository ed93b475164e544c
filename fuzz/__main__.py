"""`python -m fuzz`: odd inputs by the thousand; `make fuzz` writes what became of them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from fuzz.calls import fuzz_calls
from fuzz.engines import fuzz_engines
from fuzz.files import FUZZERS
from fuzz.kills import fuzz_kills
from fuzz.tally import Tally

KINDS: dict[str, tuple[Callable[[int, int, Path], Tally], int]] = {
    "calls": (lambda seed, count, folder: fuzz_calls(seed, count), 2100),
    "files": (FUZZERS["files"], 520),
    "specs": (FUZZERS["specs"], 600),
    "results": (FUZZERS["results"], 320),
    "engines": (fuzz_engines, 520),
    "kills": (fuzz_kills, 20),
}
WHAT = {
    "calls": "calls of the API on random tables",
    "files": "CSV files, damaged or not",
    "specs": "specs with pieces lost, added or exchanged",
    "results": "results of a run, edited or damaged, made into a page",
    "engines": "calls on five engines each",
    "kills": "runs killed at a random moment, most with a kept file damaged, then taken up again",
}
PAGE = """# Odd inputs

What fairtrial does with inputs that nobody should give it, counted by seeded fuzzers (`make fuzz`): an input is
*answered*, its numbers compared with an oracle where one exists, or *refused* with a fault. A foreign error, a wrong
number or a disagreement between engines is *wrong*. A short form runs with every `make test`.

| inputs | how many | answered | refused | numbers checked | wrong |
|---|---:|---:|---:|---:|---:|
"""

app = typer.Typer(add_completion=False)


def line(kind: str, tally: Tally) -> str:
    """What became of one kind of inputs, as a line of the page."""
    counts = (tally.inputs, tally.answered, tally.refused, tally.checked, len(tally.wrong))
    return f"| {WHAT[kind]} | {' | '.join(f'{count:,}' for count in counts)} |\n"


@app.command(help="Feed odd inputs; exit code 1 when one is not answered rightly or refused clearly.")
def fuzz(
    share: Annotated[float, typer.Option(help="Of the usual number of inputs.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Same seed, same inputs.")] = 0,
    out: Annotated[str | None, typer.Option(help="Folder for odd-inputs.md.")] = None,
) -> None:
    text, wrong = PAGE, 0
    for kind, (run, count) in KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            tally: Tally = run(seed, max(1, int(share * count)), Path(folder))
        typer.echo(f"{kind}: {tally.inputs} inputs, {tally.refused} refused, {len(tally.wrong)} wrong")
        for found in tally.wrong[:20]:
            typer.echo(f"  {found[:300]}")
        wrong += len(tally.wrong)
        text += line(kind, tally)
    if out is not None:
        (Path(out) / "odd-inputs.md").write_text(text, encoding="utf-8")
    raise typer.Exit(1 if wrong else 0)


if __name__ == "__main__":
    app(prog_name="python -m fuzz")

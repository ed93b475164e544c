"""`python -m fuzz`: odd inputs by the thousand; `make fuzz` writes what became of them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from fuzz.arguments import fuzz_arguments
from fuzz.calls import fuzz_calls
from fuzz.engines import fuzz_engines
from fuzz.files import FUZZERS
from fuzz.kills import fuzz_kills
from fuzz.tally import Tally

KINDS: dict[str, tuple[Callable[[int, int, Path], Tally], int]] = {
    "calls": (lambda seed, count, folder: fuzz_calls(seed, count), 2100),
    "arguments": (fuzz_arguments, 100_000),
    "files": (FUZZERS["files"], 520),
    "specs": (FUZZERS["specs"], 600),
    "results": (FUZZERS["results"], 320),
    "engines": (fuzz_engines, 520),
    "kills": (fuzz_kills, 20),
}
WHAT = {
    "calls": "calls of the API on random tables",
    "arguments": "every argument of every method and of Audit, given values that make no sense there",
    "files": "CSV files, damaged or not",
    "specs": "specs with pieces lost, added or exchanged",
    "results": "results of a run, edited or damaged, made into a page",
    "engines": "calls on five engines each",
    "kills": "runs killed at a random moment, most with a kept file damaged, then taken up again",
}
PAGE = """# Odd inputs

What fairtrial does with inputs that nobody should give it, counted by seeded fuzzers (`make fuzz`): an input is
*answered* or *refused* with a fault. Where an oracle or another engine can compute the same numbers, they are
*compared*. A foreign error, a hang (a minute of the processor), 400 MB of memory for a small table, a wrong number or a
disagreement between engines is *wrong*. A short form runs with every `make test`.

| inputs | how many | answered | refused | with numbers compared | numbers | wrong |
|---|---:|---:|---:|---:|---:|---:|
"""

app = typer.Typer(add_completion=False)


def line(kind: str, tally: Tally) -> str:
    """What became of one kind of inputs, as a line of the page."""
    counts = (
        tally.inputs, tally.answered, tally.refused, tally.checked, tally.numbers, len(tally.wrong),
    )  # fmt: skip
    return f"{_start(kind)}{' | '.join(f'{count:,}' for count in counts)} |\n"


def _start(kind: str) -> str:
    return f"| {WHAT[kind]} | "


def write_page(path: Path, lines: dict[str, str]) -> None:
    """The page, with the lines of kinds that were not fed this time as they were."""
    before = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    kept = {kind: text for kind in KINDS for text in before if text.startswith(_start(kind))}
    known = kept | lines
    path.write_text(PAGE + "".join(known[kind] for kind in KINDS if kind in known), encoding="utf-8")


@app.command(help="Feed odd inputs; exit code 1 when one is not answered rightly or refused clearly.")
def fuzz(
    share: Annotated[float, typer.Option(help="Of the usual number of inputs.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Same seed, same inputs.")] = 0,
    only: Annotated[list[str] | None, typer.Option(help="Only inputs of this kind; repeat it.")] = None,
    out: Annotated[str | None, typer.Option(help="Folder for odd-inputs.md.")] = None,
) -> None:
    lines: dict[str, str] = {}
    wrong = 0
    for kind in only or KINDS:
        run, count = KINDS[kind]
        with tempfile.TemporaryDirectory() as folder:
            tally: Tally = run(seed, max(1, int(share * count)), Path(folder))
        typer.echo(f"{kind}: {tally.inputs} inputs, {tally.refused} refused, {len(tally.wrong)} wrong")
        for found in tally.wrong[:20]:
            typer.echo(f"  {found[:300]}")
        wrong += len(tally.wrong)
        lines[kind] = line(kind, tally)
        if out is not None:
            write_page(Path(out) / "odd-inputs.md", lines)
    raise typer.Exit(1 if wrong else 0)


if __name__ == "__main__":
    app(prog_name="python -m fuzz")

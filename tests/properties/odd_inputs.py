"""Kinds of odd inputs, how many of each are fed, and the page of what became of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from properties.engines import fuzz_engines
from properties.kills import fuzz_kills
from properties.odd_arguments import fuzz_arguments
from properties.odd_calls import fuzz_calls
from properties.odd_files import fuzz_files, fuzz_results, fuzz_specs
from properties.tally import Tally

MANY = bool(os.environ.get("FAIRTRIAL_MANY_INPUTS"))  # `make fuzz`
PAGE = Path(__file__).parents[2] / "docs" / "odd-inputs.md"
INTRODUCTION = """# Odd inputs

What fairtrial does with inputs that nobody should give it, counted by seeded fuzzers (`make fuzz`): an input is
*answered* or *refused* with a fault. Where an oracle or another engine can compute the same numbers, they are
*compared*. A foreign error, a hang (a minute of the processor), 400 MB of memory for a small table, a wrong number or a
disagreement between engines is *wrong*. A short form runs with every `make test`.

| inputs | how many | answered | refused | with numbers compared | numbers | wrong |
|---|---:|---:|---:|---:|---:|---:|
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of inputs: what the page says of it, who feeds so many to the package by a seed, and how many."""

    what: str
    feed: Callable[[int, int, Path], Tally]
    few: int
    many: int


KINDS = {
    "calls": Kind("calls of the API on random tables", fuzz_calls, 150, 2100),
    "arguments": Kind(
        "every argument of every method and of Audit, given values that make no sense there",
        fuzz_arguments, 300, 100_000,
    ),
    "files": Kind("CSV files, damaged or not", fuzz_files, 50, 520),
    "specs": Kind("specs with pieces lost, added or exchanged", fuzz_specs, 120, 600),
    "results": Kind("results of a run, edited or damaged, made into a page", fuzz_results, 16, 320),
    "engines": Kind("calls on five engines each", fuzz_engines, 25, 520),
    "kills": Kind(
        "runs killed at a random moment, most with a kept file damaged, then taken up again", fuzz_kills, 0, 20
    ),
}  # fmt: skip


def feed(kind: str, folder: Path) -> Tally:
    """Few inputs of another seed, or many, of which the page tells."""
    found = KINDS[kind]
    if not MANY:
        return found.feed(1, found.few, folder)
    tally = found.feed(0, found.many, folder)
    write_page(kind, tally)
    return tally


def write_page(kind: str, tally: Tally, page: Path = PAGE) -> None:
    """The page with this kind's line anew; those of kinds that were not fed this time stay as they were."""
    counts = (
        tally.inputs, tally.answered, tally.refused, tally.checked, tally.numbers, len(tally.wrong),
    )  # fmt: skip
    before = page.read_text(encoding="utf-8").splitlines(keepends=True) if page.exists() else []
    starts = {name: f"| {one.what} | " for name, one in KINDS.items()}
    lines = {name: text for name, start in starts.items() for text in before if text.startswith(start)}
    lines[kind] = f"{starts[kind]}{' | '.join(f'{count:,}' for count in counts)} |\n"
    page.write_text(INTRODUCTION + "".join(lines[name] for name in KINDS if name in lines), encoding="utf-8")

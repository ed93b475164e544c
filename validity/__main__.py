"""`python -m validity`: run the board; `make validity` and `make truth` run its long form."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from inside.results import make_output_folder
from validity.board import METHODS, SECTIONS, cells
from validity.page import SUMMARY, summary_page
from validity.results import read, write
from validity.run import code_of, run_board

app = typer.Typer(add_completion=False)


@app.command(help="Check that every p-value and interval holds its level; exit code 1 when one does not.")
def validity(
    method: Annotated[
        list[str] | None, typer.Option("--method", help="Only this method, or audits (of truth/); repeat it.")
    ] = None,
    long: Annotated[bool, typer.Option("--long/--short", help="Thousands of repeats, or hundreds.")] = False,
    seed: Annotated[int, typer.Option(help="Same seed, same numbers.")] = 0,
    jobs: Annotated[int, typer.Option(help="Parallel workers.")] = 1,
    keep: Annotated[
        str | None, typer.Option(help="Folder that keeps finished lines, to go on after a stop.")
    ] = None,
    new: Annotated[
        bool, typer.Option("--new", help="Only lines that validity/results.jsonl does not hold yet.")
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option(help="Only lines whose name holds this text; repeat it.")
    ] = None,
    publish: Annotated[
        bool, typer.Option(help="Write validity/results.jsonl and its summary, docs/validity.md.")
    ] = False,
) -> None:
    def tell(line: Any, done: int, total: int) -> None:
        mark = "as expected" if line.as_expected else "NOT AS EXPECTED"
        typer.echo(f"[{done}/{total}] {line.cell.key}: error {line.error:.4f} of {line.repeats:,}  {mark}")

    board = run_board(
        form="long" if long else "short",
        methods=tuple(method or METHODS),
        lines=_chosen(new, only or []),
        seed=seed,
        jobs=jobs,
        folder=None if keep is None else make_output_folder("validity", "--keep", keep),
        tell=tell,
    )
    if publish:
        write(board, [code_of(line.cell) for line in board.judged])
        SUMMARY.write_text(summary_page(read()), encoding="utf-8")
    good = sum(line.as_expected for line in board.judged)
    typer.echo(f"{good} of {len(board.judged)} lines are as expected ({board.seconds:.0f} s of computing)")
    raise typer.Exit(0 if board.as_expected else 1)


def _chosen(new: bool, texts: list[str]) -> list[str] | None:
    """The lines that are asked for; None for all."""
    if not new and not texts:
        return None
    known = {line.cell.key for line in read().judged} if new else set()
    keys = [cell.key for section in SECTIONS for cell in cells(section) if cell.key not in known]
    return [key for key in keys if not texts or any(text in key for text in texts)]


if __name__ == "__main__":
    app(prog_name="python -m validity")

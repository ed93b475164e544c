"""`fairtrial apply`: the decisions of a saved rule for new people."""

from __future__ import annotations

from typing import Annotated

import typer

from fairtrial._work.kept_files import check_output_file
from fairtrial.cli.printing import write_text

app = typer.Typer(add_completion=False)


@app.command()
def apply(
    rule: Annotated[str, typer.Argument(help="The rule, as `fairtrial improve --save` wrote it.")],
    data: Annotated[
        str,
        typer.Argument(
            help="CSV, Excel, Parquet, Arrow or JSON file with the rule's columns, or a glob of them."
        ),
    ],
    csv: Annotated[
        str | None, typer.Option("--csv", help="Write row, decision and score to this file.")
    ] = None,
    card: Annotated[
        bool, typer.Option("--card", help="Print the rule's card instead: where it comes from.")
    ] = False,
) -> None:
    """Decide about new people by a saved rule."""
    import json

    from fairtrial._improve.rules import load_rule

    if csv is not None:
        check_output_file("output", csv)
    found = load_rule(rule)
    if card:
        typer.echo(json.dumps(found.card, indent=2, ensure_ascii=False))
        return
    decision, score = found.decided(data)
    lines = [
        f"{i},{int(d)},{float(s)!r}" for i, (d, s) in enumerate(zip(decision, score, strict=True), start=1)
    ]
    text = "\n".join(["row,decision,score", *lines]) + "\n"
    selected = f"{int(decision.sum()):,} of {decision.size:,} rows are selected by {found.name}."
    if found.card is not None and not found.card["shown"]:
        selected += " It was not shown to be better than the rule in use."
    typer.echo(selected, err=csv is None)
    if csv is None:
        typer.echo(text, nl=False)
    else:
        typer.echo(f"wrote {write_text(csv, text)}", err=True)

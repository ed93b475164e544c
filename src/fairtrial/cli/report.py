"""`fairtrial report`: the page of saved results, again, and as PDF."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairtrial.errors import Fault, InputError
from fairtrial.results.output import check_output_file
from fairtrial.trial import load_results
from fairtrial.trial.report.pdf import find_chromium, print_pdf

app = typer.Typer(add_completion=False)


@app.command()
def report(
    results: Annotated[str, typer.Argument(help="results.json of a run, or its folder.")],
    out: Annotated[
        str | None, typer.Option("--out", help="The page to write; default: report.html beside it.")
    ] = None,
    card: Annotated[
        str | None, typer.Option("--card", help="Also write a model card's section on fairness to this file.")
    ] = None,
    pdf: Annotated[bool, typer.Option("--pdf", help="Also write it as PDF, through Chromium.")] = False,
    publish: Annotated[
        bool, typer.Option("--publish", help="Refuse results that were not made for strangers.")
    ] = False,
) -> None:
    """Render the report of saved results again."""
    from fairtrial.trial.report import card_markdown, write_report

    chromium = find_chromium() if pdf else None
    if pdf and chromium is None:
        cure = "install it, or print report.html from any browser"
        raise InputError("report", Fault("pdf", "needs Chromium or Chrome", cure=cure))
    source = Path(results)
    folder = source if source.is_dir() else source.parent
    content = load_results(results)
    if publish and not content["report"].get("publish"):
        required = "needs results that were made for strangers: small counts cannot be hidden afterwards"
        cure = "run the audit with --publish"
        raise InputError("report", Fault("publish", required, cure=cure))
    page = check_output_file("report", out if out is not None else folder / "report.html")
    card_file = check_output_file("report", card) if card is not None else None
    try:
        write_report(content, page)
        if card_file is not None:
            card_file.write_text(card_markdown(content), encoding="utf-8")
    except OSError as error:
        raise InputError("report", Fault("", f"cannot write {str(page)!r}: {error.strerror}")) from None
    typer.echo(f"report   {page}")
    if card_file is not None:
        typer.echo(f"card     {card_file}")
    if chromium is not None:
        typer.echo(f"pdf      {print_pdf(chromium, page)}")

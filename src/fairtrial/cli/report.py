"""`fairtrial report`: the page of saved results, again, and in other forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from fairtrial._errors import Fault, InputError, Set, Words
from fairtrial._report.pdf import find_chromium, print_pdf
from fairtrial._trial.results_file import load_results
from fairtrial._work.kept_files import check_output_file

app = typer.Typer(add_completion=False)

Pdf = Annotated[bool, typer.Option("--pdf", help="Also write it as PDF, through Chromium.")]
Open = Annotated[bool, typer.Option("--open", help="Open the page in the browser.")]


@app.command()
def report(
    results: Annotated[str, typer.Argument(help="results.json of a run, or its folder.")],
    out: Annotated[
        str | None, typer.Option("--out", help="The page to write; default: report.html beside it.")
    ] = None,
    card: Annotated[
        str | None, typer.Option("--card", help="Also write a model card's section on fairness to this file.")
    ] = None,
    excel: Annotated[
        str | None, typer.Option("--excel", help="Also write all tables with their notes to this .xlsx file.")
    ] = None,
    certificate: Annotated[
        str | None,
        typer.Option("--certificate", help="Also write a one-page certificate; refused unless certified."),
    ] = None,
    ll144: Annotated[
        str | None,
        typer.Option("--ll144", help="Also write the public summary of New York City's Local Law 144."),
    ] = None,
    pdf: Pdf = False,
    open_page: Open = False,
    publish: Annotated[
        bool, typer.Option("--publish", help="Refuse results that were not made for strangers.")
    ] = False,
) -> None:
    """Render the report of saved results again."""
    chromium = chromium_for_pdf() if pdf else None
    content = load_results(results)
    if publish and not content["report"].get("publish"):
        required = "needs results that were made for strangers: small counts cannot be hidden afterwards"
        cure = "run the audit with --publish"
        raise InputError("report", Fault("publish", required, cure=cure))
    source = Path(results)
    folder = source if source.is_dir() else source.parent
    page = check_output_file("report", out if out is not None else folder / "report.html")
    asked = {"card": card, "excel": excel, "certificate": certificate, "ll144": ll144}
    also = {name: check_output_file("report", path) for name, path in asked.items() if path is not None}
    _write(content, page, also)
    if chromium is not None:
        typer.echo(f"{'pdf':<12}{print_pdf(chromium, page)}")
    if open_page:
        open_in_browser(page)


def chromium_for_pdf() -> str:
    """The Chromium that prints; its absence is told before any work."""
    chromium = find_chromium()
    if chromium is None:
        cure = "install it, or print report.html from any browser"
        raise InputError("report", Fault("pdf", "needs Chromium or Chrome", cure=cure))
    return chromium


def open_in_browser(page: Path) -> None:
    """Open a page that was written; where no browser can be, its path has been told."""
    import webbrowser

    webbrowser.open(page.absolute().as_uri())


def _write(content: Mapping[str, Any], page: Path, also: Mapping[str, Path]) -> None:
    """What can be refused comes first, so that nothing is written then."""
    from fairtrial._report import card_markdown, write_public_summary, write_report
    from fairtrial._report.certificate import write_certificate
    from fairtrial._report.excel import write_excel

    writers: dict[str, Callable[[Mapping[str, Any], Path], object]] = {
        "certificate": write_certificate,
        "ll144": write_public_summary,
        "excel": write_excel,
        "card": lambda content, path: path.write_text(card_markdown(content), encoding="utf-8"),
    }
    try:
        for name, write in writers.items():
            if name in also:
                write(content, also[name])
        write_report(content, page)
    except OSError as error:
        raise InputError(
            "report",
            Fault(
                "",
                f"cannot write {str(page)!r}: {error.strerror}",
                cure=Words("Mend that, or choose another place with {}", Set("out")),
            ),
        ) from None
    for name, path in {"report": page, **also}.items():
        typer.echo(f"{name:<12}{path}")

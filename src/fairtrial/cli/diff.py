"""`fairtrial diff`: two audits side by side."""

from __future__ import annotations

import json as json_module
from typing import Annotated, Any

import typer

from fairtrial._errors import Fault, InputError
from fairtrial._report.difference_page import answer_text, change_text
from fairtrial._results.text import format_value
from fairtrial._trial.difference import difference
from fairtrial._trial.results_file import load_results
from fairtrial._work.kept_files import check_output_file
from fairtrial.cli.report import Open, open_in_browser

app = typer.Typer(add_completion=False)


@app.command()
def diff(
    old: Annotated[str, typer.Argument(help="results.json of the earlier audit, or its folder.")],
    new: Annotated[str, typer.Argument(help="results.json of the later audit, or its folder.")],
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    page: Annotated[str | None, typer.Option("--page", help="Also write it as a page to this file.")] = None,
    same_people: Annotated[
        bool, typer.Option("--same-people", help="The same people may be in both audits.")
    ] = False,
    open_page: Open = False,
) -> None:
    """Compare two audits: what changed by more than noise, and what became significant."""
    if open_page and page is None:
        raise InputError("diff", Fault("open", "needs a page to open", cure="name its file with --page"))
    target = None if page is None else check_output_file("diff", page)
    before, after = load_results(old), load_results(new)
    found = difference(before, after, same_people)
    if target is not None:
        from fairtrial._report.difference_page import write_difference

        write_difference(before, after, target, same_people)
    typer.echo(json_module.dumps(found, indent=2, ensure_ascii=False) if json else _text(found))
    if target is not None and open_page:
        open_in_browser(target)


def _text(found: dict[str, Any]) -> str:
    verdict = found["verdict"]
    lines = [
        "The verdict changed" if verdict["changed"] else "The verdict is the same",
        f"  old  {verdict['old']['text']}",
        f"  new  {verdict['new']['text']}",
        *([] if found["not_compared"] else ["", answer_text(found)]),
    ]
    parts = _parts(found)
    for title, listed in parts.items():
        if listed:
            lines += ["", title, *listed]
    return "\n".join(lines if any(parts.values()) else [*lines, "", "Nothing changed."])


def _parts(found: dict[str, Any]) -> dict[str, list[str]]:
    """What differs, under its heading."""
    others = [test for test in found["tests"] if test["old"] is None or test["new"] is None]
    changed = [section for section in found["sections"] if section["changed"]]
    return {
        "What differs around the numbers": [
            f"  {item['what']}: {item['old']} → {item['new']}" for item in found["setting"]
        ],
        "Gaps that changed by more than noise": [
            f"  {test['metric']} of {test['subject']}: {change_text(test)}" for test in found["changed_gaps"]
        ],
        "Became significant": [f"  {_test(test)}" for test in found["became_significant"]],
        "No longer significant": [f"  {_test(test)}" for test in found["no_longer_significant"]],
        "Asked in one audit only": [f"  {test['change']}: {_test(test)}" for test in others],
        "Answers that changed": [
            line
            for section in changed
            for line in (
                f"  {section['id']}",
                f"    old  {section['old']['text']}",
                f"    new  {section['new']['text']}",
            )
        ],
    }


def _test(test: dict[str, Any]) -> str:
    against = f" compared with {test['against']}" if test["against"] else ""
    sides = [_side(test[side]) for side in ("old", "new") if test[side] is not None]
    return f"{test['metric']} of {test['subject']}{against} ({test['method']}): {' → '.join(sides)}"


def _side(entry: dict[str, Any]) -> str:
    effect = "" if entry["effect"] is None else f"{format_value(entry['effect'], entry['kind'])}, "
    return f"{effect}adjusted p {format_value(entry['adjusted'], 'p')}"

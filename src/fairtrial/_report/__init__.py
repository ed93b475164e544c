"""Results → one self-contained HTML page, with tables and charts as files beside it."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairtrial._errors import Fault, InputError
from fairtrial._method.declaration import find_method, read_result
from fairtrial._report.builder import build_page, capital, left_out, limits
from fairtrial._report.certificate import certificate_page, write_certificate
from fairtrial._report.difference_page import difference_page, write_difference
from fairtrial._report.findings import correction_text, findings
from fairtrial._report.first_screen import first_screen
from fairtrial._report.pdf import asset as own_asset
from fairtrial._report.pdf import environment, page_text
from fairtrial._report.tables import csv_text, shown, write_parquet
from fairtrial._results.charts.drawing import ChartFailed, cleaned, svg
from fairtrial._results.charts.page import DARK, asset, json_text, script_text, security_policy, vega_bundle
from fairtrial._results.column import reason, scalar
from fairtrial._results.result import Result
from fairtrial._results.text import state_text
from fairtrial._trial.family import favourable_of, trial_tone
from fairtrial._trial.ledger import ledger_of
from fairtrial._trial.results_file import WRITE_ANEW, check_same_readers, check_schema, load_results
from fairtrial._trial.two_facts import section_words
from fairtrial._work.kept_files import write_whole

__all__ = [
    "card_markdown",
    "certificate_page",
    "difference_page",
    "public_summary_page",
    "render",
    "summary_markdown",
    "write_all",
    "write_certificate",
    "write_difference",
    "write_public_summary",
    "write_report",
]


# -- The summary that New York City's Local Law 144 has employers publish, as one printable page.
TABLE = "local-law-144"
_RATES = {"selection_rate": "Selection rate", "scoring_rate": "Scoring rate"}


def public_summary_page(content: Mapping[str, Any]) -> str:
    """The summary of a results.json that holds the law's table; an InputError where it does not."""
    found = [
        read_result(section["result"])
        for section in content["sections"]
        if section["result"] is not None and section["arguments"].get("table") == TABLE
    ]
    if not found:
        cure = 'ask for it: preset = "employment", or [[tabulate]] with table = "local-law-144"'
        raise InputError("report", Fault("ll144", "needs an audit with the law's table", cure=cure))
    summaries = [_summary(result) for result in found]
    date = str(content["run"].get("started", ""))[:10]
    return page_text(
        "public_summary.html.j2", "public_summary.css", title=content["report"]["title"], summaries=summaries,
        date=date, version=content["versions"].get("fairtrial", ""), digest=content["data"]["digest"],
    )  # fmt: skip


def write_public_summary(content: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write the summary to `path`."""
    target = Path(path)
    write_whole(target, public_summary_page(content))
    return target


def _summary(result: Result) -> dict[str, Any]:
    """What the employer stated, a table per rate and kind of category, and who is in none."""
    tables: dict[tuple[str, str], list[dict[str, Any]]] = {}
    unknown = ""
    for row, place in zip(result.estimates, result.details["places"], strict=True):
        if row["state"] == "unknown":
            unknown = _shown(row, "n", "people")
            continue
        attributes = " and ".join(str(name).replace("_", " ") for name, _ in place)
        tables.setdefault((str(row["metric"]), attributes), []).append(_line(result, row))
    return {
        "stated": result.details.get("stated", {}),
        "tables": [
            {
                "title": f"{_RATES.get(metric, metric)} by {attributes}",
                "rate": _RATES.get(metric, metric),
                "lines": lines,
            }
            for (metric, attributes), lines in tables.items()
        ],
        "unknown": unknown,
        "notes": [note.text for note in result.notes],
    }


def _line(result: Result, row: Mapping[str, Any]) -> dict[str, Any]:
    ratio = _shown(row, "impact_ratio", "ratio")
    return {
        "category": str(row["group"]),
        "n": _shown(row, "n", "people"),
        "events": _shown(row, "events", "people"),
        "rate": _shown(row, "rate", "rate"),
        "ratio": state_text(result, row) if ratio == "–" else ratio,
    }


def _shown(row: Mapping[str, Any], name: str, kind: Any) -> str:
    return reason(row.get(name)) or shown(scalar(row.get(name)), kind)


# -- Writes the report and its companions; each file is there whole or not at all, the numbers before the
# pictures.
def render(content: Mapping[str, Any]) -> str:
    """The page of a results.json: one HTML text that needs no other file and no network.

    The schema does not say what each method's details hold: whoever took some of them away is told so.
    """
    try:
        return _render(build_page(content))
    except InputError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        text = f"lacks or mixes up what the page shows of it ({type(error).__name__}: {str(error)[:200]})"
        raise InputError("results.json", Fault("", text, cure=WRITE_ANEW)) from error


def _render(page: dict[str, Any]) -> str:
    from markupsafe import Markup

    style = own_asset("report.css")
    scripts = [_bundle(page), script_text(asset("charts.js")), script_text(own_asset("report.js"))]
    text: str = (
        environment()
        .get_template("page.html.j2")
        .render(
            page=page,
            json=lambda value: Markup(
                json_text(cleaned(value))
            ),  # the only data in the page that is not escaped as HTML
            policy=security_policy(scripts, [style]),
            style=Markup(style),
            scripts=[Markup(script) for script in scripts],
            colours=DARK,
        )
    )
    return text


def _bundle(page: Mapping[str, Any]) -> str:
    """The script that draws the charts; where it cannot be made, each chart says so."""
    try:
        return vega_bundle()
    except ChartFailed as error:
        for section in page["sections"]:
            for chart in section.get("charts", ()):  # a question without an answer has none
                chart["failed"] = str(error)
        return ""


def write_report(content: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write the page to `path`."""
    target = Path(path)
    write_whole(target, render(content))
    return target


def write_all(content: Mapping[str, Any], folder: str | os.PathLike[str]) -> Path:
    """tables/ and results.json first, so that no chart can cost a number; then charts/, and report.html last."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    check_schema(content)
    check_same_readers(target, bool(content["report"].get("publish")))
    _remove_earlier(target)
    answered = [section for section in content["sections"] if section["result"] is not None]
    for section in answered:
        _write_tables(section["id"], read_result(section["result"]), target)
    write_whole(
        target / "results.json", json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    )
    write_whole(target / "summary.md", summary_markdown(content))
    page = build_page(content)
    for section, drawn in zip(content["sections"], page["sections"], strict=True):
        if section in answered:
            _write_charts(section["id"], drawn["charts"], target)
    write_whole(target / "report.html", _render(page))
    return target / "report.html"


def _remove_earlier(folder: Path) -> None:
    """Make room for this run: remove what an earlier one lists as its own, and nothing else."""
    for name in ("tables", "charts"):
        (folder / name).mkdir(exist_ok=True)
    try:
        earlier = load_results(folder / "results.json")
    except InputError:
        return
    (folder / "results.json").unlink()
    for section in earlier["sections"]:
        identity = str(section["id"])
        if identity.replace("-", "").replace("_", "").isalnum():
            for path in (*folder.glob(f"tables/{identity}.*"), *folder.glob(f"charts/{identity}.*.svg")):
                path.unlink()


def _write_tables(identity: str, result: Result, folder: Path) -> None:
    write_whole(folder / "tables" / f"{identity}.csv", csv_text(result))
    write_parquet(result, folder / "tables" / f"{identity}.parquet")


def _write_charts(identity: str, charts: Sequence[dict[str, Any]], folder: Path) -> None:
    """One file per chart; a chart that cannot be drawn says so in the report."""
    for chart in charts:
        try:
            write_whole(folder / "charts" / f"{identity}.{chart['name']}.svg", svg(chart["spec"]))
        except ChartFailed as error:
            chart["failed"] = str(error)


# -- Saved results as Markdown: a summary for a pull request, and a model card as the model hubs read it.
MARKS = {"bad": "❌", "good": "✅"}  # anything else is open
_SPECIAL = re.compile(r"([\\`*_\[\]#|<>~])")


def escape(text: object) -> str:
    r"""A text from data, so that Markdown and HTML take none of it for their own; always one line.

    >>> print(escape("a|b <script> *x* @you"))
    a\|b \<script\> \*x\* &#64;you
    """
    plain = " ".join(str(text).split()).replace("&", "&amp;")
    # a hub calls whoever stands after an @, and links addresses
    return _SPECIAL.sub(r"\\\1", plain).replace("@", "&#64;").replace("://", "&#58;//")


def summary_markdown(content: Mapping[str, Any]) -> str:
    """What a pull request shows: the verdict, the strongest findings and a line per question."""
    verdict = content["verdict"]
    lines = [f"## {MARKS.get(trial_tone(content), '❔')} {escape(content['report']['title'])}", ""]
    lines += [f"**{escape(capital(verdict['text']))}**", "", *_beside(content)]
    found = findings(content)
    if found:
        rows = [[item["what"], _effect(item), item["interval"], item["tolerance"] or "–"] for item in found]
        lines += [*_table(["finding", "gap", "interval", "tolerance"], rows), ""]
        lines += [escape(correction_text(content)), ""]
    return "\n".join([*lines, *_answers(content), "", _foot(content)]) + "\n"


def card_markdown(content: Mapping[str, Any], *, model: str | None = None) -> str:
    """A model card's section on fairness: metadata as the hubs' `model-index`, then the words of the summary."""
    report = content["report"]
    lines = ["---", *_metadata(content, model or report["title"]), "---", ""]
    lines += ["# Fairness", "", escape(capital(content["verdict"]["text"])), "", *_beside(content)]
    used = [text for name in ("context", "decision") if report[name] for text in (escape(report[name]), "")]
    lines += ["## Use and decision", "", *used] if used else []
    lines += ["## What was asked", "", *_answers(content), ""]
    lines += ["## Limits", "", *[f"- {escape(text)}" for text in limits(content)], ""]
    return "\n".join([*lines, _foot(content)]) + "\n"


def _beside(content: Mapping[str, Any]) -> list[str]:
    """What stands beside the verdict, as paragraphs."""
    unanswered = [section["id"] for section in content["sections"] if section["status"] != "done"]
    incomplete = [f"Not answered: {', '.join(unanswered)}."] if unanswered else []
    unpublished = content["report"].get("not_published", [])
    told = first_screen(content)
    first = ["".join(piece["text"] for piece in told["headline"])]
    texts = [*first, *left_out(content), *incomplete, *unpublished]
    return [line for text in texts if text for line in (escape(text), "")]


def _effect(item: Mapping[str, Any]) -> str:
    return f"{item['effect']} {item['unit']}".strip()


def _answers(content: Mapping[str, Any]) -> list[str]:
    favourable, lines = favourable_of(content["spec"]["content"]), ledger_of(content)
    rows = [
        [
            section["title"] or find_method(section["method"]).asks(favourable),
            section_words(section["id"], read_result(section["result"]), lines)
            if section["result"]
            else section["error"],
        ]
        for section in content["sections"]
    ]
    return _table(["question", "answer"], rows)


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    return [*lines, *[f"| {' | '.join(escape(text) for text in row)} |" for row in rows]]


def _foot(content: Mapping[str, Any]) -> str:
    started = str(content["run"].get("started", ""))[:10]
    made = f"fairtrial {content['versions'].get('fairtrial', '')}, {started}".rstrip(", ")
    data = content["data"]
    return f"<sub>{escape(made)}. {data['rows']:,} rows, fingerprint {escape(data['digest'])}.</sub>"


def _metadata(content: Mapping[str, Any], model: str) -> list[str]:
    """YAML as the hubs read it; every text as JSON, which is YAML."""
    task = {"type": "tabular-classification", "name": "Fairness audit"}
    data = content["data"]
    dataset = {"type": "private", "name": str(data["source"]), "revision": data["digest"]}
    shown = [section["result"] for section in content["sections"] if section["result"]]
    numbers = {number["name"]: number for result in shown for number in _numbers(result)}
    results = [{"task": task, "dataset": dataset, "metrics": list(numbers.values())}]
    index = json.dumps([{"name": model, "results": results}], ensure_ascii=True)
    return ["library_name: fairtrial", "tags:", "- fairness", f"model-index: {index}"]


def _numbers(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each group's rate that may be shown."""
    rows = [row for row in result["estimates"] if isinstance(row.get("group"), str) and row.get("metric")]
    rates = [(row, scalar(row.get("rate"))) for row in rows]
    return [
        {"type": str(row["metric"]), "name": f"{row['metric']}, {row['group']}", "value": round(rate, 6)}
        for row, rate in rates
        if isinstance(rate, int | float)
    ]

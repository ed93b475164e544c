"""Writes the report and its companions; each file is there whole or not at all, the numbers before the pictures."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairtrial.errors import Fault, InputError
from fairtrial.methods.declaration import read_result
from fairtrial.results.charts.drawing import ChartFailed, cleaned, svg
from fairtrial.results.charts.page import DARK, asset, json_text, script_text, security_policy, vega_bundle
from fairtrial.results.result import Result
from fairtrial.trial.report.builder import build_page
from fairtrial.trial.report.markdown import summary_markdown
from fairtrial.trial.report.pages import asset as own_asset
from fairtrial.trial.report.pages import environment
from fairtrial.trial.report.tables import csv_text, write_parquet
from fairtrial.trial.results_file import WRITE_ANEW, check_schema, load_results
from fairtrial.work.whole_files import write_whole


def render(content: Mapping[str, Any]) -> str:
    """The page of a results.json: one HTML text that needs no other file and no network.

    The schema does not say what each method's details hold: whoever took some of them away is told so.
    """
    try:
        return _render(build_page(content))
    except InputError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
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
            for chart in section["charts"]:
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
    _remove_earlier(target)
    answered = [section for section in content["sections"] if section["result"] is not None]
    for section in answered:
        _write_tables(section["id"], read_result(section["result"]), target)
    write_whole(
        target / "results.json", json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    )
    write_whole(target / "summary.md", summary_markdown(content))
    page = build_page(content)
    for section, shown in zip(content["sections"], page["sections"], strict=True):
        if section in answered:
            _write_charts(section["id"], shown["charts"], target)
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

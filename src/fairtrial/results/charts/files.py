"""One chart per result: charts show what the result holds and compute nothing."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fairtrial.errors import InputError

if TYPE_CHECKING:
    from altair import TopLevelMixin

    from fairtrial.results.result import Result

# kind of result -> the module that draws it
_MODULES = {
    "measure": "measure",
    "certify": "certify",
    "flag": "flag",
    "plan": "plan",
    "scan": "scan",
    "scan_all": "scan",
    "transport": "transport",
    "explain": "explain",
    "compare": "explain",
    "improve": "improve",
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart with its title and a sentence for those who cannot see it."""

    name: str
    title: str
    alt: str
    chart: TopLevelMixin


def charts_for(result: Result) -> list[Picture]:
    """All charts of a result, the main one first."""
    module = importlib.import_module(f"fairtrial.methods.{_MODULES[result.kind]}.chart")
    pictures: list[Picture] = module.pictures(result)
    return pictures


def main_chart(result: Result) -> TopLevelMixin:
    """The chart that answers the question."""
    return charts_for(result)[0].chart


def save_chart(result: Result, path: str) -> Path:
    """Write the main chart as .html, .svg or .png."""
    target = check_chart_file(path)
    try:
        _write_chart(result, target)
    except OSError as error:
        raise InputError("chart", f"cannot write {path}: {error.strerror}") from None
    return target


def check_chart_file(path: str) -> Path:
    """The file's name says the format."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".svg", ".png"):
        raise InputError("chart", f"the chart's file must end in .html, .svg or .png, got {path!r}")
    return target


def _write_chart(result: Result, target: Path) -> None:
    import vl_convert

    kind = target.suffix.lower()
    if kind == ".html":
        from fairtrial.results.charts.page import write_page

        write_page(charts_for(result), target, title=result.question)
        return
    spec = main_chart(result).to_dict()
    if kind == ".svg":
        target.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
    else:
        target.write_bytes(vl_convert.vegalite_to_png(spec, scale=2))

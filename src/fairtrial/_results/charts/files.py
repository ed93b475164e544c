"""Charts as files: .html, .svg or .png."""

from __future__ import annotations

from pathlib import Path

from fairtrial._errors import Fault, InputError
from fairtrial._results.charts.drawing import png, svg
from fairtrial._results.charts.page import write_page
from fairtrial._results.result import Result
from fairtrial._work.whole_files import write_whole


def save_chart(result: Result, path: str) -> Path:
    """Write the main chart as .html, .svg or .png."""
    target = check_chart_file(path)
    try:
        _write_chart(result, target)
    except OSError as error:
        raise InputError(
            "chart",
            Fault("", f"cannot write {path}: {error.strerror}", cure="Mend that, or choose another place"),
        ) from None
    return target


def check_chart_file(path: str) -> Path:
    """The file's name says the format."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".svg", ".png"):
        fault = Fault("chart", "must end in .html, .svg or .png", got=path, subject="the chart's file")
        raise InputError("chart", fault)
    return target


def _write_chart(result: Result, target: Path) -> None:
    kind = target.suffix.lower()
    if kind == ".html":
        write_page(result.pictures(), target, title=result.question)
        return
    spec = result.plot().to_dict()
    if kind == ".svg":
        write_whole(target, svg(spec))
    else:
        write_whole(target, png(spec))

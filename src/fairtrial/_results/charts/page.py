"""Charts as HTML: one self-contained page that works offline and runs no text from data.

Altair's own writer puts labels where a browser may execute them and loads its scripts from elsewhere. Here the
libraries are written once into the page, each chart is JSON inside a script element that browsers do not run
(`<` written as `\u003c`), Vega interprets expressions instead of compiling them, and the page's security
policy admits exactly the scripts and styles whose hashes it names.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairtrial._errors import Fault, InputError
from fairtrial._results.charts.drawing import bundle, cleaned, png, svg
from fairtrial._work.kept_files import write_whole

if TYPE_CHECKING:
    from fairtrial._results.charts import Picture


@cache
def vega_bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script (about 0.9 MB), in the version the chart specs are
    written for."""
    import altair

    return script_text(bundle(".".join(altair.SCHEMA_VERSION.lstrip("v").split(".")[:2])))


@cache
def asset(name: str) -> str:
    """One of the small files beside this module."""
    return files("fairtrial._results.charts").joinpath("assets", name).read_text(encoding="utf-8")


def script_text(text: str) -> str:
    """Our own script as it stands in the page; it must not be able to end its element."""
    if "</script" in text.lower() or "<!--" in text:
        raise ValueError("a script of the page holds a sequence that would end its element")
    return text


def json_text(value: Any) -> str:
    """JSON that is inert inside a script element: no `<`, no `&`, no line separators."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in ("<", ">", "&", "\u2028", "\u2029"):
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def security_policy(scripts: Iterable[str], styles: Iterable[str]) -> str:
    """A content security policy that admits these scripts and styles, pictures inside the page, nothing
    else."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(_hash(text) for text in scripts)}",
            f"style-src {' '.join(_hash(text) for text in styles)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# each colour of the theme with the one that takes its place on a dark page (contrast at least 4.5 on #151a21 for
# everything that carries meaning)
DARK = {
    "#b3261e": "#ff8a80",
    "#1b7f5c": "#5fd3a6",
    "#8a6d1d": "#e0be5a",
    "#2f5d9b": "#8ab4f0",
    "#656c76": "#9aa3ae",
    "#5b6470": "#a7b0bc",
    "#c46a12": "#f0a65a",
    "#c9ced6": "#4a5462",
    "#8b3f8f": "#d59ad8",
    "#7a8b1f": "#c0d062",
    "#0f7c8a": "#5cc3d0",
    "#3c434c": "#c8cfd8",
    "#e3e6ea": "#2b333d",
    "#20262e": "#e6eaf0",
}


def chart_page(pictures: Sequence[Picture], title: str) -> str:
    """All pictures as one HTML page."""
    style = asset("page.css")
    scripts = [vega_bundle(), script_text(asset("charts.js"))]
    figures = "\n".join(_figure(f"chart-{index}", picture) for index, picture in enumerate(pictures))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{html.escape(security_policy(scripts, [style]))}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)}</title>
<style>{style}</style>
</head>
<body>
<main>
{figures}
</main>
<script type="application/json" id="chart-colours">{json_text(DARK)}</script>
<script>{scripts[0]}</script>
<script>{scripts[1]}</script>
</body>
</html>
"""


def write_page(pictures: Sequence[Picture], path: Path, *, title: str) -> None:
    """The page of these pictures as a file."""
    write_whole(path, chart_page(pictures, title))


def _figure(identity: str, picture: Picture) -> str:
    return f"""<figure>
<figcaption>{html.escape(picture.title)}</figcaption>
<div class="chart" data-chart="{identity}" role="img" aria-label="{html.escape(picture.alt)}"></div>
<script type="application/json" id="{identity}">{json_text(cleaned(picture.chart.to_dict()))}</script>
</figure>"""


# -- Charts as files: .html, .svg or .png.


def save_chart(pictures: Sequence[Picture], path: str, *, title: str) -> Path:
    """Write the main chart as .svg or .png, or all of them as .html."""
    target = check_chart_file(path)
    try:
        _write_chart(pictures, target, title)
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


def _write_chart(pictures: Sequence[Picture], target: Path, title: str) -> None:
    kind = target.suffix.lower()
    if kind == ".html":
        write_page(pictures, target, title=title)
        return
    spec = pictures[0].chart.to_dict()
    if kind == ".svg":
        write_whole(target, svg(spec))
    else:
        write_whole(target, png(spec))

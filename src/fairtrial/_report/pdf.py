"""The page on paper, through the Chromium of the machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from fairtrial._errors import Fault, InputError
from fairtrial._results.charts.drawing import cleaned
from fairtrial._results.charts.page import security_policy

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
_PLACES = ("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",)
_WAIT = 30_000  # virtual milliseconds in which the charts are drawn


def find_chromium() -> str | None:
    """The path of a Chromium or Chrome, or None."""
    for name in _NAMES:
        if path := shutil.which(name):
            return path
    return next((path for path in _PLACES if os.access(path, os.X_OK)), None)


def print_pdf(chromium: str, page: Path) -> Path:
    """Print the page; the PDF stands beside it under the same name."""
    target = page.with_suffix(".pdf")
    with tempfile.TemporaryDirectory() as profile:
        partial = Path(profile) / "page.pdf"
        command = [
            chromium, "--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--disable-extensions",
            f"--user-data-dir={profile}/profile",
            "--no-pdf-header-footer", f"--virtual-time-budget={_WAIT}", f"--print-to-pdf={partial}",
            *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
            page.absolute().as_uri(),
        ]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, timeout=180, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError(
                "report",
                Fault(
                    "",
                    f"Chromium could not print the page: {error}",
                    cure="Print report.html from any browser",
                ),
            ) from None
        if not partial.exists():
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            text = f"Chromium could not print the page: {' '.join(said) or 'no message'}"
            raise InputError("report", Fault("", text, cure="Print report.html from any browser"))
        shutil.move(partial, target)
    return target


# -- A small page without scripts from a template and a style; everything from data is escaped.
@cache
def asset(name: str) -> str:
    """One of the report's own files of style or script."""
    return files("fairtrial._report").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def environment() -> Any:
    """Jinja's, with everything escaped and nothing undefined."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("fairtrial._report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        # every text from data, but not our own scripts and styles, whose hashes the page names
        finalize=lambda value: cleaned(value) if type(value) is str else value,
    )


def page_text(template: str, style: str, **content: Any) -> str:
    """The template with its style written in; it runs no script and fetches nothing."""
    from markupsafe import Markup

    text = asset(style)
    policy = security_policy([], [text]).replace("script-src ;", "script-src 'none';")
    page: str = environment().get_template(template).render(style=Markup(text), policy=policy, **content)
    return page

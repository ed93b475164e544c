"""A small page without scripts from a template and a style; everything from data is escaped."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from fairtrial._results.charts.drawing import cleaned
from fairtrial._results.charts.page import security_policy


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

"""Turn the formulas of the docs into MathML while the site is built: no script, nothing fetched by the reader."""

import html
import re

from latex2mathml.converter import convert

# what the arithmatex extension leaves in the page: \( … \) inline and \[ … \] as a block
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content, **_):
    """Called by MkDocs with the HTML of each page."""
    return _FORMULA.sub(_mathml, content)


def _mathml(found):
    tag, bracket, formula = found.groups()
    display = "block" if bracket == "[" else "inline"
    return f"<{tag}>{convert(html.unescape(formula).strip(), display=display)}</{tag}>"

"""Turn the formulas of the docs into MathML while the site is built: no script, nothing fetched by the reader."""

import html
import re

from latex2mathml.converter import convert

# what the arithmatex extension leaves in the page: \( … \) inline and \[ … \] as a block
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
_NUMBER = re.compile(r"\\tag\{([^}]*)\}")


def on_page_content(content, **_):
    """Called by MkDocs with the HTML of each page."""
    return _FORMULA.sub(_mathml, content)


def _mathml(found):
    tag, bracket, formula = found.groups()
    formula = html.unescape(formula).strip()
    if bracket == "(":
        return f"<{tag}>{convert(formula, display='inline')}</{tag}>"
    number = _NUMBER.search(formula)  # \\tag{…}: the converter would set it into the formula
    label = f'<span class="number">({html.escape(number.group(1))})</span>' if number else ""
    return f'<{tag} class="formula"><div>{convert(_NUMBER.sub("", formula), display="block")}</div>{label}</{tag}>'

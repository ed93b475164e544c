"""Show the >>> examples of docstrings as code: the reference would take them for quotations."""

import re

from griffe import Extension

_EXAMPLE = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


class Examples(Extension):
    """Put every example of a docstring into a fence."""

    def on_object(self, *, obj, **_):
        """Called by griffe for each object it has read."""
        if obj.docstring is not None:
            obj.docstring.value = _EXAMPLE.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)

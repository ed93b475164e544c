"""README.md's Python runs as written, and prints what the README says it prints."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

README = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r"```(python|text)\n(.*?)```\n", re.DOTALL)


def outputs(text: str) -> list[tuple[str, str]]:
    """(written, printed) for every ```text block, which follows the ```python block whose output it is."""
    names: dict[str, Any] = {}
    printed = io.StringIO()
    pairs = []
    for kind, content in BLOCK.findall(text):
        if kind == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(content, "README.md", "exec"), names)
        else:
            pairs.append((content, printed.getvalue()))
    return pairs


def tidy(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def test_readme_shows_real_output() -> None:
    pairs = outputs(README.read_text(encoding="utf-8"))
    assert len(pairs) == 5
    for written, printed in pairs:
        assert tidy(written) == tidy(printed)

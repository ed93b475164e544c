"""Put the real output of the Python blocks of README.md and the pages into their ```text blocks.

.venv/bin/python scripts/write_readme_outputs.py [page …]
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def with_outputs(text: str) -> str:
    """The page with each ```text block replaced by what the Python block before it prints."""
    names: dict[str, Any] = {"__name__": "__main__"}
    printed: str | None = None

    def replaced(block: re.Match[str]) -> str:
        nonlocal printed
        if block.group(1) == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(block.group(2), "page", "exec"), names)
            printed = out.getvalue()
            return block.group(0)
        if printed is None:  # a text of its own, such as a table of the gallery
            return block.group(0)
        lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
        return "\n".join(["```text", *lines, "```"])

    return BLOCK.sub(replaced, text)


def main(asked: list[str]) -> None:
    pages = [Path(name).resolve() for name in asked] or [
        ROOT / "README.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    ]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # what a page writes goes there
        for page in pages:
            text = page.read_text(encoding="utf-8")
            if "\n```text\n" in text:
                page.write_text(with_outputs(text), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

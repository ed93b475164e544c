"""Put the real output of README.md's Python blocks into its ```text blocks.

.venv/bin/python scripts/write_readme_outputs.py
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "unit"))

from test_readme import BLOCK, README, outputs, tidy  # noqa: E402

text = README.read_text(encoding="utf-8")
printed = iter([out for _, out in outputs(text)])


def replaced(match: object) -> str:
    kind, whole = match.group(1), match.group(0)  # type: ignore[attr-defined]
    return whole if kind == "python" else "```text\n" + "\n".join(tidy(next(printed))) + "\n```\n"


README.write_text(BLOCK.sub(replaced, text), encoding="utf-8")

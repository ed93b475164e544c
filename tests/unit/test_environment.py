"""scripts/environment.py pins every lower bound, and no tool of ours is published as an extra."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_every_lower_bound_is_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    pins = runpy.run_path("scripts/environment.py")["lowest_pins"]()
    content = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    extras = content["project"]["optional-dependencies"]
    tested = ("dask", "databases", "fair", "export", "web")
    wanted = content["project"]["dependencies"] + [line for name in tested for line in extras[name]]
    wanted += [line for line in content["dependency-groups"]["test"] if not line.startswith("fairtrial")]
    assert sorted(pins) == sorted(re.sub(">=([^,]*).*", r"==\1", line) for line in wanted)
    assert all(re.fullmatch(r"[\w,\[\]-]+==[\d.]+", pin) for pin in pins)
    assert not {"test", "lint", "docs"} & set(extras)

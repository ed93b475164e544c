"""What a release rests on is listed, under licences that may be used; what CI and the Action run cannot be changed."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
_SCRIPT = importlib.util.spec_from_file_location("sbom", ROOT / "scripts" / "sbom.py")
assert _SCRIPT is not None
assert _SCRIPT.loader is not None
sbom: Any = importlib.util.module_from_spec(_SCRIPT)
_SCRIPT.loader.exec_module(sbom)


def test_the_bill_names_every_declared_dependency_with_an_allowed_licence() -> None:
    content = sbom.bill()
    named = {part["name"] for part in content["components"]}
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {sbom.plain(re.match(r"[\w.-]+", line).group()) for line in declared} <= named  # type: ignore[union-attr]
    assert sbom.refused(content) == []


@pytest.mark.parametrize(
    ("text", "may"),
    [("MIT OR GPL-3.0", True), ("MIT AND GPL-3.0-only", False), ("GNU Affero General Public License", False),
     ("unknown", False), ("BSD-2-Clause AND Apache-2.0 WITH LLVM-exception", True)],
)  # fmt: skip
def test_licences(text: str, may: bool) -> None:
    assert sbom.allowed(text) is may


PAGES = [*(ROOT / ".github").rglob("*.yml"), *(ROOT / "docs").glob("*.md"), ROOT / "action.yml"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_actions_of_others_are_named_by_digest(page: Path) -> None:
    for name, version in re.findall(r"uses: ([\w./-]+)@(\S+)", page.read_text(encoding="utf-8")):
        assert name.startswith("fairtrial/") or re.fullmatch(r"[0-9a-f]{40}", version), f"{name}@{version}"


def test_the_action_installs_its_own_revision() -> None:
    text = (ROOT / "scripts" / "action.sh").read_text(encoding="utf-8")
    assert '"") python -I -m pip install --quiet "$own"' in text
    assert "python -m pip" not in text  # it would take a pip.py of the checked-out repository

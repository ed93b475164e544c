"""What a message says to type in order to install something works: from a clone, from a release, with any registry."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest

from inside.ground import extras

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_packages_of_an_extra_are_those_declared(extra: str) -> None:
    assert sorted(map(spelled, extras.packages(extra))) == sorted(map(spelled, EXTRAS[extra]))


def spelled(requirement: str) -> tuple[str, frozenset[str]]:
    """A requirement as name and bounds, whatever their order."""
    name, bounds = re.fullmatch(r"([\w\[\]-]+)(.*)", requirement.replace(" ", "")).groups()  # type: ignore[union-attr]
    return name, frozenset(bounds.split(","))


def test_what_is_typed_is_understood(tmp_path: Path) -> None:
    """pip itself takes the line, with no registry at all where the packages are there."""
    line = shlex.split(extras.installing(extras.packages("web")))
    assert line[0] == sys.executable or line[:2] == ["pip", "--python"]
    run = subprocess.run([*line, "--dry-run", "--no-index"], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "already satisfied: fastapi" in run.stdout


def test_without_pip_another_pip_is_told_which_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "pip" else find_spec(name))
    assert extras.installing(["mlflow"]) == f"pip --python {shlex.quote(sys.executable)} install mlflow"


def test_a_folder_that_was_never_installed_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", nowhere)
    assert extras.packages("web") == ["fairtrial[web]"]


def test_no_message_names_a_line_of_its_own() -> None:
    """The install lines of the package are made here and nowhere else."""
    own = [
        path.name
        for path in (ROOT / "src").rglob("*.py")
        if path.name != "extras.py"
        and re.search(r"pip install|[Ii]nstall fairtrial\[", path.read_text(encoding="utf-8"))
    ]
    assert own == []

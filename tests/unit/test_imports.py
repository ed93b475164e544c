"""Imports point downwards only, and importing the package stays light."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import fairtrial

SOURCE = Path(fairtrial.__file__).parent

# From the ground up; a module may import its own layer and the layers below it. Names on one line stand side by side
# and may not import each other.
LAYERS = [
    "labels errors work",
    "metrics",
    "data",
    "results inference",
    "methods",
    "trial",
    "cli",
]
# Upward imports that are still to be cut; the list may only shrink.
EXCEPTIONS: set[str] = set()
# What light imports must not load.
HEAVY = {"numba", "sklearn", "scipy.stats", "altair", "pandas", "polars", "pyarrow", "duckdb", "pydantic"}


def part_of(path: Path) -> str:
    """The first name below the package: fairtrial/stats/roots.py → stats, fairtrial/certify.py → certify."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def layer_of(part: str) -> int:
    """Private packages belong to the public module of their name: _scan → scan."""
    name = part.lstrip("_")
    for rank, parts in enumerate(LAYERS):
        if name in parts.split():
            return rank
    raise AssertionError(f"{part} is in no layer: add it to LAYERS")


def imported_parts(path: Path) -> list[tuple[int, str]]:
    """(line, part) of every import of this package in a file, those inside functions included."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = absolute(path, node)
            names = [f"fairtrial.{alias.name}" for alias in node.names] if module == "fairtrial" else [module]
        found += [(node.lineno, n.split(".")[1]) for n in names if n.startswith("fairtrial.")]
    return found


def absolute(path: Path, node: ast.ImportFrom) -> str:
    if node.level == 0:
        return node.module or ""
    package = path.relative_to(SOURCE.parent).parts[: -node.level]
    return ".".join([*package, node.module] if node.module else package)


def test_imports_point_downwards() -> None:
    upwards = []
    for path in sorted(SOURCE.rglob("*.py")):
        part = part_of(path)
        if part == "__init__":
            continue
        for line, other in imported_parts(path):
            # The package's own registry and version are not parts.
            if other not in {"RESULTS", "__version__"} and layer_of(other) > layer_of(part):
                upwards.append(f"{path.relative_to(SOURCE)}:{line} ({part}) imports {other}")
    assert upwards == []


def test_only_frames_and_files_know_dataframe_libraries() -> None:
    engines = {"pandas", "polars", "duckdb", "pyspark", "dask"}
    knows = {"frames": engines, "files": engines, "datasets": engines}
    knows |= {part: set() for part in ("audit", "candidates", "columns", "metrics", "query", "roles")}
    offenders = []
    for path in sorted(SOURCE.rglob("*.py")):
        part = part_of(path)
        forbidden = engines - knows[part] if part in knows else engines | {"narwhals"}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            offenders += [f"{path.relative_to(SOURCE)}: {n}" for n in names if n.split(".")[0] in forbidden]
    assert offenders == []


def test_every_third_party_import_is_declared() -> None:
    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["spark"], *extras["fair"]]
    declared = {re.split(r"[^\w.-]", line)[0].replace("-", "_") for line in wanted}
    declared |= {"sklearn", "vl_convert"}  # what scikit-learn and vl-convert-python are imported as
    declared |= {"pandas", "polars"}  # used where the caller brought them
    undeclared = set()
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            tops = {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"fairtrial"}
            undeclared |= {f"{path.relative_to(SOURCE)}: {top}" for top in tops - declared}
    assert undeclared == set()


def heavy_after(code: str) -> set[str]:
    """The heavy modules loaded in a fresh interpreter after running `code`."""
    program = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return HEAVY & set(json.loads(done.stdout.splitlines()[-1]))


def test_import_is_light() -> None:
    assert heavy_after("import fairtrial") == set()
    assert heavy_after("import fairtrial; dir(fairtrial); fairtrial.InputError") == set()


def test_the_heavy_modules_would_be_noticed() -> None:
    assert heavy_after("import pandas") >= {"pandas"}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_command_line_help_is_light(arguments: list[str]) -> None:
    code = f"""
import sys
sys.argv = ["fairtrial", *{arguments!r}]
from fairtrial.cli import main
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
"""
    assert heavy_after(code) == set()


@pytest.mark.parametrize("name", [n for n in fairtrial.__all__ if not n.startswith("_")])
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(fairtrial, name) is not None

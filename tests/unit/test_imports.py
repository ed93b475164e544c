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
    "_labels _errors _work _options",
    "_metrics",
    "_audit datasets",
    "_results _inference",
    "_method",
    "_compare",
    "_scan _transport _explain _improve _watch _plan",
    "papers",
    "_trial",
    "_report",
    "_web",
    "cli compat testing mlflow notebook",
    "scorers",
    "__main__",
]
# Inside the lowest layer and beside each other: who may know whom.
BESIDE = {
    "_errors": set(),
    "_labels": set(),
    "_work": {"_errors"},
    "_options": {"_errors"},
    "_inference": {"_work", "_errors"},
    "_results": {"_audit", "_metrics", "_labels", "_errors", "_options", "_work"},
    "datasets": {"_errors", "_audit"},
}
# Steps upwards, each with its reason.
UPWARDS = {
    ("_trial.record", "_report"),  # a trial writes its own report, and its certificate
    ("_trial.record", "_report.certificate"),
}
# What light imports must not load.
HEAVY = {"numba", "sklearn", "scipy.stats", "altair", "pandas", "polars", "pyarrow", "duckdb", "pydantic"}


def part_of(path: Path) -> str:
    """The first name below the package: fairtrial/_inference/power.py → inference."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def layer_of(part: str) -> int:
    for rank, parts in enumerate(LAYERS):
        if part in parts.split():
            return rank
    raise AssertionError(f"{part} is in no layer: add it to LAYERS")


def module_of(path: Path) -> str:
    """fairtrial/_audit/audit.py → fairtrial._audit.audit."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in sorted(SOURCE.rglob("*.py"))}


def imported_modules(path: Path) -> dict[str, int]:
    """Every module of this package that a file imports, with the line; lazy and type-only imports count."""
    found: dict[str, int] = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in MODULES else str(node.module) for name in whole]
        for name in names:
            if name in MODULES and name != "fairtrial":
                found.setdefault(name, node.lineno)
    return found


def test_imports_point_downwards() -> None:
    upwards = []
    for module, path in MODULES.items():
        part = part_of(path)
        if part == "__init__":
            continue
        for name, line in imported_modules(path).items():
            other = name.split(".")[1]
            allowed = other == part or (
                other in BESIDE[part] if part in BESIDE else layer_of(other) < layer_of(part)
            )
            if not allowed and (module[len("fairtrial.") :], name[len("fairtrial.") :]) not in UPWARDS:
                upwards.append(f"{path.relative_to(SOURCE)}:{line} ({module}) imports {name}")
    assert upwards == []


def test_no_module_imports_itself_in_a_circle() -> None:
    edges = {module: set(imported_modules(path)) for module, path in MODULES.items() if module != "fairtrial"}
    assert circles(edges) == []


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """What is left after taking away, again and again, modules that need nothing or that nothing needs."""
    left = {module: {other for other in others if other in edges} for module, others in edges.items()}
    while True:
        needed = {other for others in left.values() for other in others}
        gone = {module for module, others in left.items() if not others or module not in needed}
        if not gone:
            return [sorted(left)] if left else []
        left = {module: others - gone for module, others in left.items() if module not in gone}


def test_a_circle_would_be_noticed() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == [["b", "c"]]


def test_modules_are_imported_by_name_in_one_place_only() -> None:
    users = [
        module
        for module, path in MODULES.items()
        if "import_module" in path.read_text(encoding="utf-8")
        or "__import__" in path.read_text(encoding="utf-8")
    ]
    assert users == ["fairtrial._method.declaration"]


def test_only_frames_and_files_know_dataframe_libraries() -> None:
    engines = {"pandas", "polars", "duckdb", "pyspark", "dask"}
    knows = dict.fromkeys(
        ("_audit.source", "_audit.frames", "_audit.engine", "_audit.files", "datasets"), engines
    )
    knows |= {"_audit.spark_units": {"pyspark"}}  # patterns and arc cosines, which narwhals lacks
    knows |= {"papers._studies": {"pandas"}}  # the papers' tables again, by those who have it
    knows |= {"compat": {"pandas"}}  # its shapes are those of fairlearn, which are pandas
    offenders = []
    for module, path in MODULES.items():
        part = module.removeprefix("fairtrial.")
        known = next((known for name, known in knows.items() if part.startswith(name)), set())
        dataframes = part.startswith(("_audit.", "_metrics.", "_improve."))
        forbidden = (engines if dataframes else engines | {"narwhals"}) - known
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            offenders += [f"{path.relative_to(SOURCE)}: {n}" for n in names if n.split(".")[0] in forbidden]
    assert offenders == []


def test_every_third_party_import_is_declared() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], "starlette"]  # which fastapi is made of
    wanted += [
        line for extra in ("spark", "dask", "fair", "export", "web", "notebook") for line in extras[extra]
    ]
    declared = {re.split(r"[^\w.-]", line)[0].replace("-", "_") for line in wanted}
    declared |= {"sklearn", "vl_convert"}  # what scikit-learn and vl-convert-python are imported as
    declared |= {
        "pandas",
        "polars",
        "pytest",
        "mlflow",
        "openpyxl",
        "IPython",
        "traitlets",
        "aif360",
        "xgboost",
    }  # used where the caller brought them
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


AUDIT = """
import fairtrial
table = {"hired": [1, 0, 0, 1] * 50, "female": [1, 1, 0, 0] * 50}
audit = fairtrial.Audit(table, decision="hired", groups=["female"])
"""


@pytest.mark.parametrize("call", ['measure(audit, "selection_rate")', 'certify(audit, "selection_rate")'])
def test_a_table_of_rates_loads_no_compiler_and_no_models(call: str) -> None:
    assert heavy_after(f"{AUDIT}\nfairtrial.{call}") & {"numba", "sklearn", "altair"} == set()


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

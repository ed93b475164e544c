"""Which code a line of the board depends on: a hash of every file that its module imports, directly or not."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

import fairtrial

# What only shows results; changing it does not change a line of the board.
ONLY_SHOWS = (
    "fairtrial/cli", "fairtrial/results/charts", "fairtrial/trial/report", "validity/__main__.py", "validity/page.py",
    "validity/run.py", "validity/code.py",
)  # fmt: skip
FOLDERS = (Path(fairtrial.__file__).parent, Path(__file__).parent)
LIBRARIES = ("numpy", "scipy", "scikit-learn", "narwhals", "duckdb", "numba")


@cache
def code_digest(module: str) -> str:
    """A hash of all code that the lines of this module can depend on."""
    digest = hashlib.sha256()
    for place in sorted(_reached(module)):
        if not place.startswith(ONLY_SHOWS) and not place.endswith("/chart.py"):
            digest.update(f"{place}\n".encode() + _content(place))
    digest.update(" ".join(version(name) for name in LIBRARIES).encode())
    return digest.hexdigest()[:24]


@cache
def _files() -> dict[str, Path]:
    """Every file of the package and of the board, by its place."""
    return {
        path.relative_to(folder.parent).as_posix(): path
        for folder in FOLDERS
        for path in sorted(folder.rglob("*.py"))
    }


@cache
def _content(place: str) -> bytes:
    return _files()[place].read_bytes()


def _reached(module: str) -> set[str]:
    """The places of all files reached from a module; from the package's own name or a whole trial, every file."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in ("fairtrial", "fairtrial.trial.running"):
            return set(_files())
        for place in (f"{name.replace('.', '/')}.py", f"{name.replace('.', '/')}/__init__.py"):
            if place in _files() and place not in found:
                found.add(place)
                waiting.extend(_imported(place))
    return found


@cache
def _imported(place: str) -> tuple[str, ...]:
    """The modules that a file names in its imports, those inside functions too."""
    names: list[str] = []
    for node in ast.walk(ast.parse(_content(place))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            submodules = [f"{node.module}.{alias.name}" for alias in node.names]
            own = node.module != "fairtrial" or any(not _is_module(name) for name in submodules)
            names += submodules + ([node.module] if own else [])
    return tuple(name for name in names if name.split(".")[0] in ("fairtrial", "validity"))


def _is_module(name: str) -> bool:
    stem = name.replace(".", "/")
    return f"{stem}.py" in _files() or f"{stem}/__init__.py" in _files()

"""Which code a line of the board depends on: a hash of the board's files that list it, and of every file that the
functions which run it import, directly or not."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import fairtrial

# What only shows results; changing it does not change a line of the board.
ONLY_SHOWS = (
    "fairtrial/cli", "fairtrial/_results/charts", "fairtrial/_report", "validity/__main__.py", "validity/page.py",
    "validity/run.py", "validity/results.py", "validity/code.py",
)  # fmt: skip
ROOT = Path(__file__).parents[1]
FOLDERS = (Path(fairtrial.__file__).parent, *(ROOT / name for name in ("validity", "truth", "inside")))
OURS = ("fairtrial", "validity", "truth", "inside")
# Where the names of a facade come from is read off it: a line depends on what it names, not on all that a facade holds.
FACADES = {"fairtrial": Path(fairtrial.__file__).with_suffix(".pyi")} | {
    f"inside.{path.stem}": path for path in (ROOT / "inside").glob("*.py")
}
LIBRARIES = ("numpy", "scipy", "scikit-learn", "narwhals", "duckdb", "numba")


@cache
def code_digest(listed_in: str, run_by: frozenset[str]) -> str:
    """A hash of all code that a line can depend on: the module that lists it, and those of what it runs."""
    listing = {place for place in _reached(listed_in) if place.startswith(("validity/", "truth/"))}
    digest = hashlib.sha256()
    for place in sorted(listing.union(*(_reached(module) for module in run_by))):
        if not place.startswith(ONLY_SHOWS) and not place.endswith("/chart.py"):
            digest.update(f"{place}\n".encode() + _content(place))
    digest.update(" ".join(version(name) for name in LIBRARIES).encode())
    return digest.hexdigest()[:24]


def modules_of(*runs: Any) -> frozenset[str]:
    """The modules of functions and of all functions and objects that are bound to them."""
    found: set[str] = set()
    waiting, seen = list(runs), set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen or one is None or isinstance(one, str | int | float | bool):
            continue
        seen.add(id(one))
        if isinstance(one, partial):
            waiting += [one.func, *one.args, *one.keywords.values()]
        elif isinstance(one, Mapping):
            waiting += one.values()
        elif isinstance(one, Sequence | Set):
            waiting += one
        else:
            found.add(getattr(one, "__module__", None) or type(one).__module__)
            waiting += [cell.cell_contents for cell in getattr(one, "__closure__", None) or ()]
            if is_dataclass(one) and not isinstance(one, type):
                waiting += [getattr(one, field.name) for field in fields(one)]
    return frozenset(name for name in found if name.split(".")[0] in OURS)


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
        if name in ("fairtrial", "fairtrial._trial.running"):
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
            behind = _behind_facade(node.module)
            pairs = [behind.get(alias.name, (node.module, alias.name)) for alias in node.names]
            submodules = [f"{module}.{name}" for module, name in pairs if name != "__version__"]
            own = [
                module
                for module, name in pairs
                if module != "fairtrial" or not _is_module(f"{module}.{name}")
            ]
            names += submodules + own
    return tuple(name for name in names if name.split(".")[0] in OURS)


@cache
def _behind_facade(module: str) -> dict[str, tuple[str, str]]:
    """Where each name comes from that a facade gives out: its module there, and its name."""
    if module not in FACADES:
        return {}
    imports = [n for n in ast.parse(FACADES[module].read_bytes()).body if isinstance(n, ast.ImportFrom)]
    return {
        alias.asname or alias.name: (
            f"fairtrial.{node.module}" if node.level else str(node.module),
            alias.name,
        )
        for node in imports
        for alias in node.names
    }


def _is_module(name: str) -> bool:
    stem = name.replace(".", "/")
    return f"{stem}.py" in _files() or f"{stem}/__init__.py" in _files()

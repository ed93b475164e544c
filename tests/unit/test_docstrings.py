"""Docstrings and docs say what the declarations say, and every public thing has one."""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fairtrial

ROOT = Path(__file__).parents[2]
VALUES = {"METRICS", "CRITERIA", "role"}  # tables and names; described in docs/api.md


def script() -> Any:
    spec = importlib.util.spec_from_file_location(
        "write_parameters", ROOT / "scripts" / "write_parameters.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_parameters_are_as_declared() -> None:
    """`python scripts/write_parameters.py` writes them."""
    assert [str(path.relative_to(ROOT)) for path, _ in script().changes()] == []


def public() -> Iterator[tuple[str, Any]]:
    """Every public function and class, and the public methods of the classes."""
    for name in fairtrial.__all__:
        found = getattr(fairtrial, name)
        if name.startswith("_") or name in VALUES:
            continue
        yield name, found
        if not inspect.isclass(found) or issubclass(found, Exception):
            continue
        for own, member in vars(found).items():
            member = getattr(member, "fget", None) or getattr(member, "__func__", None) or member
            if not own.startswith("_") and inspect.isfunction(member):
                yield f"{name}.{own}", member


@pytest.mark.parametrize(
    ("name", "found"), list(public()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_public_thing_is_documented(name: str, found: Any) -> None:
    text = inspect.getdoc(found) or ""
    assert re.match(r"[(A-Z'\[`\d].*[.?]$", text.split("\n")[0]), f"{name}: {text[:60]!r}"


@pytest.mark.parametrize(
    ("name", "found"), list(public()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_no_docstring_describes_a_parameter_that_is_gone(name: str, found: Any) -> None:
    section = re.search(
        r"Parameters\n-+\n(.*?)(\n\n?[A-Z]\w+\n---|\Z)", inspect.getdoc(found) or "", re.DOTALL
    )
    if section is None:
        return
    told = re.findall(r"^(\S[^:\n]*) :", section[1], re.MULTILINE)
    described = {each.strip().lstrip("*") for line in told for each in line.split(",")}
    assert described <= set(inspect.signature(found).parameters), name


def test_public_functions_have_numpydoc_sections() -> None:
    for name in fairtrial.__all__:
        found = getattr(fairtrial, name)
        if inspect.isfunction(found):
            takes = ["Parameters\n----------"] if inspect.signature(found).parameters else []
            for section in (*takes, "Returns\n-------"):
                assert section in (inspect.getdoc(found) or ""), f"{name} has no section {section.split()[0]}"

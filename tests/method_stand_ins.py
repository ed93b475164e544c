"""Other functions in the place of a method's own, for tests of what happens when one fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from inside.methods import declaration


def stand_in(monkeypatch: pytest.MonkeyPatch, name: str, function: Callable[..., Any]) -> None:
    """Let `function` answer for a method; the declared options stay."""
    method = declaration.find_method(name)
    function.__wrapped__ = method.function  # type: ignore[attr-defined]
    monkeypatch.setitem(declaration._DECLARED, name, replace(method, function=function))

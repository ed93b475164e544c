"""fairtrial: put a decision system on a fair trial, with statistics that hold."""

from __future__ import annotations

from typing import Any

import lazy_loader

# The stub beside this file lists the public names; each is loaded on first use, so that importing stays light.
_load, _names, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("fairtrial")
    return _load(name)


def __dir__() -> list[str]:
    return sorted([*_names(), "__version__"])

"""The one place that imports numba, so that nothing else decides how loops are compiled and cached."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import event

from fairtrial._work import COMPILING, announce

Function = TypeVar("Function", bound=Callable[..., object])

# Sums may be added in another order, which lets several rows go at once; NaN and infinity keep their meaning.
IN_ANY_ORDER = {"reassoc", "contract", "nsz"}
# Also lets minima and maxima of several rows go at once; only for values that are not NaN.
WITHOUT_NAN = IN_ANY_ORDER | {"nnan"}


class _Compiling(event.Listener):
    """Says so when a loop of ours has to be compiled, the first time in a process; code from the cache is no event."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Any) -> None:
        module = event.data["dispatcher"].py_func.__module__
        if not self.said and module.startswith("fairtrial."):
            self.said = True
            announce(COMPILING)

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Compiling())  # type: ignore[no-untyped-call]


def njit(function: Function) -> Function:
    """Compile a loop once, keep the machine code on disk and release the GIL while it runs."""
    return _compile(function)


def njit_sums(function: Function) -> Function:
    """The same for sums and products over rows, several at once; a division by zero gives infinity."""
    return _compile(function, fastmath=IN_ANY_ORDER, error_model="numpy")


def njit_extremes(function: Function) -> Function:
    """The same for minima and maxima over rows without NaN, several at once."""
    return _compile(function, fastmath=WITHOUT_NAN)


def _compile(function: Function, **options: Any) -> Function:
    """numba refuses to cache when neither the source folder nor the user's cache folder can be written
    (read-only containers); a private temporary folder then takes the compiled code for this process.
    """
    compiler = numba.njit(cache=True, nogil=True, **options)
    try:
        return compiler(function)  # type: ignore[no-any-return]
    except RuntimeError:
        folder = tempfile.mkdtemp(prefix="fairtrial-numba-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        numba.config.CACHE_DIR = folder  # type: ignore[attr-defined]
        return compiler(function)  # type: ignore[no-any-return]

"""The one place that imports numba, so that nothing else decides how loops are compiled and cached."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from typing import TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def njit(function: Function) -> Function:
    """Compile a loop once, keep the machine code on disk and release the GIL while it runs.

    numba refuses to cache when neither the source folder nor the user's cache folder can be written
    (read-only containers); a private temporary folder then takes the compiled code for this process.
    """
    try:
        return _compile(function)
    except RuntimeError:
        folder = tempfile.mkdtemp(prefix="fairtrial-numba-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        numba.config.CACHE_DIR = folder  # type: ignore[attr-defined]
        return _compile(function)


def _compile(function: Function) -> Function:
    return numba.njit(cache=True, nogil=True)(function)  # type: ignore[return-value]

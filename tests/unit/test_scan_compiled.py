"""Compiled loops work where nothing can be written, and are not loaded by `import fairtrial`."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np
from fairtrial._inference.numeric.logistic import build_design, fit_logistic, predict_logistic
import numba

design = build_design(np.array([[0], [1]]), np.array([2]))
p = predict_logistic(design, fit_logistic(design, np.array([4.0, 4.0]), np.array([1.0, 3.0]), 0.01))
print(numba.config.CACHE_DIR, np.round(p, 2).tolist(), sep="|")
"""


@pytest.mark.slow
def test_without_a_writable_cache_folder() -> None:
    """Only a folder named by the user is looked at, and none is named: as with a read-only source and home."""
    surroundings = {**os.environ, "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    surroundings.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=surroundings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    folder, fitted = done.stdout.strip().split("|")
    assert "fairtrial-numba-" in folder
    assert fitted == "[0.25, 0.75]"


def test_import_is_light() -> None:
    program = "import sys, fairtrial; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"

"""A call of the program, as a user types it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

from fairtrial import FairtrialWarning


@pytest.fixture(autouse=True)
def notes_instead_of_warnings() -> Iterator[None]:
    """As `main` does: the results' notes say what a FairtrialWarning says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairtrialWarning)
        yield


@pytest.fixture
def run(typed):
    return typed

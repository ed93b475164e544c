"""A call of the program, as a user types it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator

import pytest

from fairtrial import FairtrialWarning
from inside.cli import main


@pytest.fixture(autouse=True)
def notes_instead_of_warnings() -> Iterator[None]:
    """As `main` does: the results' notes say what a FairtrialWarning says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairtrialWarning)
        yield


@pytest.fixture
def run(monkeypatch, capsys):
    """Exit code, standard output and standard error of one call."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["fairtrial", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        return int(stopped.value.code or 0), printed.out, printed.err

    return call

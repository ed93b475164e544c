"""A call of the program, as a user types it."""

from __future__ import annotations

import sys

import pytest

from fairtrial.cli import main


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

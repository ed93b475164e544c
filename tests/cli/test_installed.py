"""Half an installation is refused: a gate must never pass because nothing ran."""

from __future__ import annotations

from importlib import metadata

import pytest

from fairtrial import cli
from inside.cli import _numbers, check_installed

VERSION = metadata.version


def test_the_installation_of_the_tests_is_whole() -> None:
    check_installed()


@pytest.mark.parametrize(
    ("found", "message"), [("0.12.0", "typer 0.12.0 is older than"), (None, "typer is missing")]
)
def test_an_old_or_missing_dependency_stops_every_command(found, message, monkeypatch, capsys) -> None:
    def version(name: str) -> str:
        if name != "typer":
            return VERSION(name)
        if found is None:
            raise metadata.PackageNotFoundError(name)
        return str(found)

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr("sys.argv", ["fairtrial", "run", "audit.toml", "--fail-on", "violated"])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert message in told.err
    assert 'install "typer>=' in told.err


def test_versions_are_compared_as_numbers() -> None:
    assert _numbers("1.10") > _numbers("1.9.9")
    assert _numbers("2.0.0rc1") == _numbers("2.0")
    assert _numbers("1.9.0.post1") == _numbers("1.9")

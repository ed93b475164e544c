"""A missing Chromium or Java skips with its reason, and fails where everything must be tested."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.outcomes import Failed, Skipped

import requirements


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)


@pytest.mark.usefixtures("nothing_installed")
@pytest.mark.parametrize("require", [requirements.require_chromium, requirements.require_java])
def test_skips_or_fails_with_the_reason(require, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("FAIRTRIAL_REQUIRE_ALL", raising=False)
    with pytest.raises(Skipped, match="is not installed"):
        require()
    monkeypatch.setenv("FAIRTRIAL_REQUIRE_ALL", "1")
    with pytest.raises(Failed, match="is not installed"):
        require()


@pytest.mark.parametrize(("user", "outcome"), [(0, Failed), (1000, Skipped)])
@pytest.mark.usefixtures("nothing_installed")
def test_in_ci_only_root_can_install(user: int, outcome: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRTRIAL_REQUIRE_ALL", raising=False)
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr("os.geteuid", lambda: user)
    with pytest.raises(outcome, match="is not installed"):
        requirements.require_chromium()


def test_an_old_java_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert requirements.find_java() == (None, "Java 11 is older than 17, which Spark needs")

"""A full disk, a read-only or locked folder, signals, killed workers: one clear message, and what is finished stays."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fairtrial
from inside.ground import NotWritten
from inside.trial import FOLDER, LOCK, Keeper

SPEC = """\
[data]
dataset = "compas"
outcome = "two_year_recid"
score = "decile_score"
threshold = 5
groups = ["race", "sex"]

[measure]
metric = ["fpr"]

[flag]
metric = "fpr"

[scan]
metric = "fpr"
protected = { race = "African-American" }
features = ["sex", "age_cat", "c_charge_degree"]
permutations = 999
"""
COMMAND = [sys.executable, "-m", "fairtrial", "run", "audit.toml"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "audit.toml").write_text(SPEC, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def undisturbed() -> dict[str, Any]:
    import tomllib

    return published(fairtrial.run(tomllib.loads(SPEC)).to_dict())


def published(content: dict[str, Any]) -> dict[str, Any]:
    """What two runs have in common: all but what tells of the run, and of where the spec lay."""
    return {name: part for name, part in content.items() if name not in ("run", "spec")}


def written(out: Path) -> dict[str, Any]:
    return published(json.loads((out / "results.json").read_text(encoding="utf-8")))


def run(folder: Path, out: Path, *more: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, "--out", str(out), *more]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, **settings)


@contextlib.contextmanager
def small_disk(place: Path, kilobytes: int) -> Iterator[None]:
    """A file system of that size; skips where one may not be mounted."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(place)]
    if (
        os.geteuid() != 0
        or shutil.which("mount") is None
        or subprocess.run(command, capture_output=True).returncode
    ):
        pytest.skip("a small file system needs root; the limit of a file's size stands in for it")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def one_message(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("run: "), done.stderr
    for part in parts:
        assert part in last, last


@pytest.mark.slow
@pytest.mark.parametrize("kilobytes", [24, 400])
def test_a_full_disk(kilobytes: int, folder: Path, undisturbed: dict[str, Any]) -> None:
    """Full at a kept section, and while the report is written."""
    out = folder / "small"
    with small_disk(out, kilobytes):
        full = run(folder, out)
        one_message(full, "no space left on device", "finished sections are kept", "go on with --resume")
        kept = {path.stem.split("-")[0] for path in (out / FOLDER).glob("*-*.json")} - {"made"}
        assert not (out / LOCK).exists()
        if kilobytes == 400:
            assert kept == {"measure", "flag", "scan"}
            assert written(out) == undisturbed, "the numbers come before the pictures"
        subprocess.run(["mount", "-o", "remount,size=40m", str(out)], check=True)
        again = run(folder, out, "--resume")
        assert again.returncode == 0, again.stderr
        assert set(json.loads((out / "results.json").read_text())["run"]["kept"]) == kept
        assert written(out) == undisturbed


@pytest.mark.slow
def test_a_limit_of_a_file_s_size(folder: Path, undisturbed: dict[str, Any]) -> None:
    """As a full disk for who is not root: the report is the largest file."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    out = folder / "out"
    stopped = run(folder, out, preexec_fn=limit)
    one_message(stopped, "report.html", "file too large", "go on with --resume")
    assert written(out) == undisturbed
    again = run(folder, out, "--resume")
    assert again.returncode == 0, again.stderr
    assert json.loads((out / "results.json").read_text())["run"]["kept"] == ["measure", "flag", "scan"]
    assert written(out) == undisturbed


def test_a_read_only_disk(folder: Path) -> None:
    out = folder / "small"
    with small_disk(out, 100):
        subprocess.run(["mount", "-o", "remount,ro", str(out)], check=True)
        one_message(run(folder, out), "must be a folder one can write to", "it may not be written to")
        one_message(run(folder, out / "new"), "must be a folder one can write to", "read-only file system")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT, errno.EIO])
def test_whatever_the_system_says_is_one_fault(number: int, tmp_path: Path, monkeypatch) -> None:
    def refuse(self: Keeper, key: str, result: Any) -> None:
        raise OSError(number, os.strerror(number))

    spec = {
        "data": {"dataset": "ricci", "decision": "passed", "groups": ["race"]},
        "measure": {"metric": "selection_rate"},
    }
    with monkeypatch.context() as patch:
        patch.setattr(Keeper, "save", refuse)
        with pytest.raises(NotWritten, match="run: cannot write .*: finished sections are kept.*resume=True"):
            fairtrial.run(spec, out=tmp_path / "out")
    assert not (tmp_path / "out" / LOCK).exists()
    assert fairtrial.run(spec, out=tmp_path / "out", resume=True).complete


@pytest.mark.slow
def test_two_runs_in_one_folder(folder: Path) -> None:
    """The second says so at once and disturbs the first in nothing."""
    first = subprocess.Popen(
        [*COMMAND, "--out", "out"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while first.poll() is None and not (folder / "out" / LOCK).exists():
        time.sleep(0.005)
    os.kill(first.pid, signal.SIGSTOP)  # it cannot be through before the second has looked
    try:
        second = run(folder, folder / "out")
    finally:
        os.kill(first.pid, signal.SIGCONT)
    one_message(second, f"is used by another run (process {first.pid})", "--out")
    assert first.wait() == 0


@pytest.mark.slow
@pytest.mark.parametrize(("number", "moment"), [(signal.SIGINT, "early"), (signal.SIGTERM, "inside")])
def test_a_stopped_run_says_how_to_go_on(
    number: int, moment: str, folder: Path, undisturbed: dict[str, Any]
) -> None:
    out = folder / "out"
    sign = out / LOCK if moment == "early" else out / FOLDER / "batches"
    process = subprocess.Popen(
        [*COMMAND, "--out", "out"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in the background of a shell
    )  # fmt: skip
    while process.poll() is None and not (sign.exists() and (moment == "early" or any(sign.glob("*.npz")))):
        time.sleep(0.002)
    process.send_signal(number)
    _, told = process.communicate(timeout=300)
    assert process.returncode == 4, told
    assert "Traceback" not in told
    assert "Finished sections are kept. To go on: fairtrial run audit.toml --out out --resume" in told
    again = run(folder, out, "--resume")
    assert again.returncode == 0, again.stderr
    assert written(out) == undisturbed

"""kill -9 at any moment, then --resume: the same results.json, apart from what tells of the run itself."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SPEC = """\
[data]
dataset = "compas"
outcome = "two_year_recid"
score = "decile_score"
threshold = 5
groups = ["race", "sex"]
bins = { priors_count = [1, 4, 10] }

[measure]
metric = ["fpr"]

[flag]
metric = "fpr"
depth = 2

[scan]
metric = "fpr"
protected = { race = "African-American" }
features = ["sex", "age_cat", "priors_count", "c_charge_degree"]
permutations = 39999

[transport]
metric = "equalized_odds"
by = "sex"
"""
COMMAND = [
    sys.executable,
    "-c",
    "from fairtrial.cli import main; main()",
    "run",
    "audit.toml",
    "--out",
    "out",
]
STATE = Path("out") / ".unfinished"


def start(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, *more],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=_heed_ctrl_c,
    )


def _heed_ctrl_c() -> None:
    """Tests that were started with nohup ignore it, and so would whatever they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def results(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "out" / "results.json").read_text())
    content.pop("run")
    return content


def batches(folder: Path) -> int:
    return len(list((folder / STATE / "batches").glob("*.npz")))


def kill(process: subprocess.Popen[bytes]) -> bool:
    """True when the process was still running."""
    alive = process.poll() is None
    if alive:
        os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return alive


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], float]:
    """The results of a run that nobody disturbed, and how long it took."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "audit.toml").write_text(SPEC)
    clock = time.monotonic()
    assert start(folder).wait() == 0
    return results(folder), time.monotonic() - clock


@pytest.mark.slow
def test_killed_at_random_moments(whole: tuple[dict[str, Any], float], tmp_path: Path) -> None:
    expected, seconds = whole
    (tmp_path / "audit.toml").write_text(SPEC)
    random = np.random.default_rng()  # any moment must do
    for attempt, share in enumerate(random.uniform(0.1, 0.9, size=4)):
        process = start(tmp_path, *(["--resume"] if attempt else []))
        time.sleep(share * seconds)
        killed = kill(process)
        written = tmp_path / "out" / "results.json"
        assert killed or written.exists()
        if killed and written.exists():
            json.loads(written.read_text())  # never half a file
    assert start(tmp_path, "--resume").wait() == 0
    assert results(tmp_path) == expected
    assert not (tmp_path / STATE).exists()


@pytest.mark.slow
def test_killed_inside_the_permutation_loop(whole: tuple[dict[str, Any], float], tmp_path: Path) -> None:
    expected, _ = whole
    (tmp_path / "audit.toml").write_text(SPEC)
    process = start(tmp_path)
    while process.poll() is None and batches(tmp_path) < 2:
        time.sleep(0.005)
    assert kill(process), "the run ended before it could be killed inside the loop"
    assert not (tmp_path / "out" / "results.json").exists()
    found = batches(tmp_path)
    assert found >= 2
    finished = [path.name for path in (tmp_path / STATE).glob("*.json")]
    assert any(name.startswith("measure") for name in finished)
    assert not any(name.startswith("scan") for name in finished)
    assert start(tmp_path, "--resume").wait() == 0
    assert results(tmp_path) == expected
    assert json.loads((tmp_path / "out" / "results.json").read_text())["run"]["kept"] == ["measure", "flag"]


@pytest.mark.slow
def test_stopped_by_the_user(whole: tuple[dict[str, Any], float], tmp_path: Path) -> None:
    """Ctrl-C inside the loop: what is finished is in a report that says it is incomplete, and --resume goes on."""
    (tmp_path / "audit.toml").write_text(SPEC)
    process = start(tmp_path)
    while process.poll() is None and batches(tmp_path) < 2:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 4
    content = json.loads((tmp_path / "out" / "results.json").read_text())
    assert content["status"] == "incomplete"
    assert {section["id"]: section["status"] for section in content["sections"]} == {
        "measure": "done",
        "flag": "done",
        "scan": "stopped",
        "transport": "stopped",
    }
    assert "Not answered" in (tmp_path / "out" / "report.html").read_text()
    assert start(tmp_path, "--resume").wait() == 0
    assert results(tmp_path) == whole[0]


CONTAINER = ["unshare", "--pid", "--fork", "--kill-child"]


def can_make_containers() -> bool:
    """Whether this machine lets a process be the first of its own."""
    return (
        shutil.which("unshare") is not None
        and not subprocess.run([*CONTAINER, "true"], capture_output=True, check=False).returncode
    )


@pytest.mark.slow
@pytest.mark.skipif(not can_make_containers(), reason="needs a process namespace")
def test_a_run_killed_in_a_container_goes_on_in_the_next_one(tmp_path: Path) -> None:
    """In each container the run has the same process number, so a lock that held it would be its own."""
    (tmp_path / "audit.toml").write_text(SPEC)
    lock = tmp_path / "out" / ".lock"
    process = subprocess.Popen([*CONTAINER, *COMMAND], cwd=tmp_path, stderr=subprocess.DEVNULL)
    wait_until(lambda: lock.exists() and lock.read_text() != "")
    number = lock.read_text()
    process.kill()
    process.wait()
    assert lock.read_text() == number == "1"
    (tmp_path / "audit.toml").write_text(SPEC.replace("permutations = 39999", "permutations = 199"))
    done = subprocess.run(
        [*CONTAINER, *COMMAND, "--resume"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not lock.exists()


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 300
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)

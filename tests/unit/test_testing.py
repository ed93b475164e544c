"""Gates for test suites: what passes, what fails, and what the plugin reports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import fairtrial
from fairtrial.testing import assert_certified, assert_not_violated

AUDIT = fairtrial.Audit(
    fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5, groups="sex"
)


def test_a_certificate_passes_and_is_returned() -> None:
    assert assert_certified(AUDIT, "fpr", tolerance=0.1).verdict.code == "certified"
    assert assert_not_violated(AUDIT, "fpr", tolerance=0.1).verdict.code == "certified"


def test_undetermined_passes_the_weaker_gate_alone() -> None:
    assert assert_not_violated(AUDIT, "fpr", tolerance=0.02).verdict.code == "undetermined"
    with pytest.raises(AssertionError, match="undetermined"):
        assert_certified(AUDIT, "fpr", tolerance=0.02)


def test_a_violation_fails_with_the_table() -> None:
    with pytest.raises(fairtrial.FairtrialError, match="violated: .*points") as caught:
        assert_not_violated(AUDIT, "selection_rate", tolerance=0.01)
    assert "Female" in str(caught.value)
    assert isinstance(caught.value, AssertionError)


def test_answers_at_hand_are_judged_too() -> None:
    result = fairtrial.certify(AUDIT, "fpr", tolerance=0.1)
    assert assert_certified(result) is result
    with pytest.raises(fairtrial.InputError, match="is an answer already"):
        assert_certified(result, "fpr")
    with pytest.raises(fairtrial.InputError, match="must be an Audit"):
        assert_certified(3)
    with pytest.raises(fairtrial.InputError, match="'metric' is missing"):
        assert_certified(AUDIT)
    trial = fairtrial.run(
        {
            "data": {"dataset": "ricci", "decision": "passed", "groups": ["race"]},
            "certify": {"tolerance": 0.1, "metric": "selection_rate"},
        }
    )
    with pytest.raises(AssertionError, match=trial.verdict.text[:20]):
        assert_certified(trial)


@pytest.mark.slow
@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["one process", "two processes"])
def test_the_plugin_reports_every_verdict(tmp_path: Path, processes: list[str]) -> None:
    (tmp_path / "test_gate.py").write_text(
        "import fairtrial\n"
        "from fairtrial.testing import assert_certified, assert_not_violated\n"
        "people = {'d': [1, 0] * 200, 'g': ['a|<b>'] * 200 + ['b'] * 200}\n"
        "audit = fairtrial.Audit(people, decision='d', groups='g')\n"
        "def test_passes(): assert_not_violated(audit, 'selection_rate', tolerance=0.2)\n"
        "def test_fails(): assert_certified(audit, 'selection_rate', tolerance=0.01)\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]  # the plugin comes with the package
    options = ["--fairtrial-summary", "summary.md", *processes]
    done = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout
    assert "PASSED test_gate.py::test_passes: certified" in done.stdout
    assert "FAILED test_gate.py::test_fails: undetermined" in done.stdout
    lines = (tmp_path / "summary.md").read_text().splitlines()
    assert len(lines) == 4
    assert all(line.replace("\\|", "").count("|") == 4 and "<b>" not in line for line in lines)

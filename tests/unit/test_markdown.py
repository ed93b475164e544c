"""The summary of a trial for a pull request, its model card, and the action that writes the summary."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fairtrial
from fairtrial.mlflow import metrics_of
from inside.trial import Trial

ODD = "a|b <img src=x> *c* @you http://x.y"


@pytest.fixture(scope="module")
def trial() -> Trial:
    people = {"hired": [1, 0, 0, 0] * 100 + [1, 1, 0, 0] * 100, "group": [ODD] * 400 + ["other"] * 400}
    spec = {
        "data": {"decision": "hired", "groups": ["group"], "favourable": 1},
        "report": {"title": "Hiring", "context": "For |clerks|.", "decision": "Whether to go on."},
        "measure": {"metric": "selection_rate"},
        "certify": {"metric": "selection_rate", "tolerance": 0.4},
    }
    return fairtrial.run(spec, data=people)


def test_the_summary_has_the_verdict_the_findings_and_every_answer(trial: Trial) -> None:
    text = trial.to_markdown()
    assert text.startswith("## ❌ Hiring\n")
    for answer in trial.answers:
        assert answer.result is not None
    assert "| A difference is shown: group:" in text
    assert "Within your tolerance of 40 points; the ratio is not shown to be within 0.8 to 1.25." in text
    assert "25 of 100" in text
    assert "50 of 100" in text


def test_nothing_from_data_is_taken_for_markdown_or_html(trial: Trial) -> None:
    for text in (trial.to_markdown(), trial.model_card().split("---", 2)[2]):
        assert "<img" not in text.replace("\\<img", "")
        assert "@" not in text
        assert "http://" not in text
        for line in text.splitlines():
            if line.startswith("|"):
                assert line.replace("\\|", "").count("|") in (3, 5), line


def test_the_card_begins_with_the_hubs_metadata(trial: Trial) -> None:
    _, metadata, text = trial.model_card(model="clerk").split("---", 2)
    index = json.loads(next(line for line in metadata.splitlines() if line.startswith("model-index: "))[13:])
    assert index[0]["name"] == "clerk"
    rates = {number["name"]: number["value"] for number in index[0]["results"][0]["metrics"]}
    assert rates == {f"selection_rate, {ODD}": 0.25, "selection_rate, other": 0.5}
    assert "## Limits" in text


def test_metrics_for_a_tracker_are_the_tables_numbers(trial: Trial) -> None:
    found = metrics_of(trial.to_dict(), "audit")
    assert found["audit/measure/selection_rate/other/rate"] == 0.5
    assert all(
        set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-. :/") for name in map(str.lower, found)
    )


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "code"), [("violated undetermined", 3), ("", 0)])
def test_the_action_writes_the_summary_and_fails_by_policy(tmp_path: Path, policy: str, code: int) -> None:
    (tmp_path / "audit.toml").write_text(
        '[data]\ndataset = "ricci"\ndecision = "passed"\ngroups = ["race"]\n[measure]\nmetric = "selection_rate"\n'
    )
    script = Path(__file__).parents[2] / "scripts" / "action.sh"
    environment = {
        **os.environ, "FAIRTRIAL_INSTALL": "none", "FAIRTRIAL_FAIL_ON": policy, "GITHUB_STEP_SUMMARY": "step.md",
        "GITHUB_OUTPUT": "output", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }  # fmt: skip
    done = subprocess.run(
        ["bash", str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == code, done.stderr
    assert (tmp_path / "step.md").read_text() == (tmp_path / "audit-report" / "summary.md").read_text()
    assert (tmp_path / "output").read_text() == "report=audit-report/report.html\n"
    assert (tmp_path / "audit-report" / "report.html").exists()

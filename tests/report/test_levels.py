"""Every view names the level of its own intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fairtrial
from inside.methods import trial_methods
from inside.trial import load_results

pytestmark = pytest.mark.slow


def test_an_audit_at_80_percent_says_so_everywhere(whole_spec: dict[str, Any], tmp_path: Path) -> None:
    spec = dict(whole_spec)
    for name, method in trial_methods().items():
        if any(argument.name == "confidence_level" for argument in method.arguments):
            tables = spec[name] if isinstance(spec[name], list) else [spec[name]]
            spec[name] = [{**table, "confidence_level": 0.8} for table in tables]
    spec["watch"][0]["state"] = str(tmp_path / "state.jsonl")  # a state's question is fixed, its level too
    trial = fairtrial.run(spec, out=tmp_path)
    assert trial.complete, [answer.error for answer in trial.answers]
    content = load_results(tmp_path)
    assert {entry["level"] for entry in content["family"]} <= {0.8, None}
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "80% interval" in page
    texts = {
        "report.html": page.split('<section id="glossary"')[0],
        "results.json": (tmp_path / "results.json").read_text(encoding="utf-8"),
    }
    texts |= {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "charts").glob("*.svg")}
    texts |= {name: result.summary() for name, result in trial.results.items()}
    assert [name for name, text in texts.items() if "95%" in text or "0.95 interval" in text] == []

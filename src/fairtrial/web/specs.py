"""From what the page's forms hold to a spec: checked as `run` checks it, and written as TOML, Python and a command."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairtrial.errors import InputError
from fairtrial.trial.running import check_spec
from fairtrial.trial.spec.speech import TOML, value_text

EXPLORATORY = "Exploratory: rates were looked at before the questions were fixed."


def with_source(content: Mapping[str, Any], place: Path, dataset: str | None) -> dict[str, Any]:
    """The spec's content with the file's own place; a page may not name another."""
    data = {
        name: value
        for name, value in dict(content.get("data", {})).items()
        if name not in ("source", "dataset")
    }
    source = {"dataset": dataset} if dataset else {"source": str(place)}
    return {**content, "data": {**source, **data}}


def faults_of(content: Mapping[str, Any]) -> list[str]:
    """Everything that is wrong with a spec, before any work is done for it."""
    try:
        check_spec(content)
    except InputError as error:
        return [line for line in error.said(TOML).splitlines() if line.strip()]
    return []


def marked(content: Mapping[str, Any], meta: Mapping[str, Any]) -> dict[str, Any]:
    """The spec with how its questions came about in the report's words: fixed beforehand, or exploratory."""
    report = dict(content.get("report", {}))
    if meta.get("exploratory"):
        note = EXPLORATORY
        report["title"] = f"Exploratory: {report.get('title') or 'Fairness audit'}"
    else:
        note = f"Groups, metrics, tolerance and scale were fixed on {meta['planned']}, before any rate was shown "
        note += f"(SHA-256 of the plan {meta['plan']})."
    report["context"] = " ".join(part for part in (str(report.get("context", "")).strip(), note) if part)
    return {**content, "report": report}


def as_toml(content: Mapping[str, Any]) -> str:
    """The spec as `fairtrial run` reads it."""
    lines = [f"{name} = {value_text(value)}" for name, value in content.items() if not _is_table(value)]
    for name, value in content.items():
        if isinstance(value, Mapping):
            lines += ["", f"[{name}]", *_pairs(value)]
        elif _is_table(value):
            for part in value:
                lines += ["", f"[[{name}]]", *_pairs(part)]
    return "\n".join(lines).strip() + "\n"


def as_python(content: Mapping[str, Any]) -> str:
    """The same as a call."""
    text = json.dumps(content, indent=4, ensure_ascii=False)
    plain = text.replace(": true", ": True").replace(": false", ": False").replace(": null", ": None")
    return f'import fairtrial\n\ntrial = fairtrial.run({plain}, out="audit-report")\nprint(trial.summary())\n'


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)
    )


def _pairs(table: Mapping[str, Any]) -> list[str]:
    return [f"{key(name)} = {value_text(value)}" for name, value in table.items() if value is not None]


def key(name: str) -> str:
    """A key of TOML, quoted where it must be."""
    plain = name.replace("_", "").replace("-", "")
    return name if plain.isascii() and plain.isalnum() else json.dumps(name)

"""The summary that New York City's Local Law 144 has employers publish, as one printable page."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairtrial.errors import Fault, InputError
from fairtrial.methods.declaration import read_result
from fairtrial.results.column import reason, scalar
from fairtrial.results.result import Result
from fairtrial.results.text import state_text
from fairtrial.trial.report.pages import page_text
from fairtrial.trial.report.tables import shown
from fairtrial.work.whole_files import write_whole

TABLE = "local-law-144"
_RATES = {"selection_rate": "Selection rate", "scoring_rate": "Scoring rate"}


def public_summary_page(content: Mapping[str, Any]) -> str:
    """The summary of a results.json that holds the law's table; an InputError where it does not."""
    found = [
        read_result(section["result"])
        for section in content["sections"]
        if section["result"] is not None and section["arguments"].get("table") == TABLE
    ]
    if not found:
        cure = 'ask for it: preset = "employment", or [[tabulate]] with table = "local-law-144"'
        raise InputError("report", Fault("ll144", "needs an audit with the law's table", cure=cure))
    summaries = [_summary(result) for result in found]
    date = str(content["run"].get("started", ""))[:10]
    return page_text(
        "public_summary.html.j2", "public_summary.css", title=content["report"]["title"], summaries=summaries,
        date=date, version=content["versions"].get("fairtrial", ""), digest=content["data"]["digest"],
    )  # fmt: skip


def write_public_summary(content: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write the summary to `path`."""
    target = Path(path)
    write_whole(target, public_summary_page(content))
    return target


def _summary(result: Result) -> dict[str, Any]:
    """What the employer stated, a table per rate and kind of category, and who is in none."""
    tables: dict[tuple[str, str], list[dict[str, Any]]] = {}
    unknown = ""
    for row, place in zip(result.estimates, result.details["places"], strict=True):
        if row["state"] == "unknown":
            unknown = _shown(row, "n", "people")
            continue
        attributes = " and ".join(str(name).replace("_", " ") for name, _ in place)
        tables.setdefault((str(row["metric"]), attributes), []).append(_line(result, row))
    return {
        "stated": result.details.get("stated", {}),
        "tables": [
            {
                "title": f"{_RATES.get(metric, metric)} by {attributes}",
                "rate": _RATES.get(metric, metric),
                "lines": lines,
            }
            for (metric, attributes), lines in tables.items()
        ],
        "unknown": unknown,
        "notes": [note.text for note in result.notes],
    }


def _line(result: Result, row: Mapping[str, Any]) -> dict[str, Any]:
    ratio = _shown(row, "impact_ratio", "ratio")
    return {
        "category": str(row["group"]),
        "n": _shown(row, "n", "people"),
        "events": _shown(row, "events", "people"),
        "rate": _shown(row, "rate", "rate"),
        "ratio": state_text(result, row) if ratio == "–" else ratio,
    }


def _shown(row: Mapping[str, Any], name: str, kind: Any) -> str:
    return reason(row.get(name)) or shown(scalar(row.get(name)), kind)

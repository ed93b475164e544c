"""One printable page that says what was certified and nothing else; refused where the verdict is another."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairtrial._compare.words import band_words
from fairtrial._errors import Fault, InputError
from fairtrial._method.declaration import find_method, read_result
from fairtrial._report.pdf import page_text
from fairtrial._results.column import scalar
from fairtrial._results.result import Result
from fairtrial._trial.rederived import contradictions
from fairtrial._work.kept_files import write_whole

MOST_NAMED = 40  # groups that one sheet has room for


def certificate_page(content: Mapping[str, Any]) -> str:
    """The certificate of a results.json as one HTML page; an InputError with the reason where there is none to give."""
    check_certified(content)
    return page_text("certificate.html.j2", "certificate.css", certificate=_certificate(content))


def write_certificate(content: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write the certificate to `path`; nothing is written where it is refused."""
    target = Path(path)
    write_whole(target, certificate_page(content))
    return target


def check_certified(content: Mapping[str, Any]) -> None:
    """Raise with the reason unless the whole trial is certified."""
    reasons = [f"the file's numbers contradict each other: {text}" for text in contradictions(content)[:1]]
    if content["status"] != "complete":
        open_ones = [section["id"] for section in content["sections"] if section["status"] != "done"]
        reasons.append(f"not every question was answered: {', '.join(open_ones)}")
    code, text = content["verdict"]["code"], content["verdict"]["text"]
    if code != "certified":
        reasons.append(f"the verdict is “{code}”, not “certified”. {text}")
    elif not _certified_sections(content):
        reasons.append("no question asked for a certification")
    if reasons:
        cure = "What to do next stands on the first screen of the report"
        raise InputError("certificate", Fault("", f"refused, for {reasons[0].rstrip('.')}", cure=cure))


def _certified_sections(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [
        section
        for section in content["sections"]
        if section["result"] is not None and find_method(section["method"]).shows == "certificate"
    ]


def _certificate(content: Mapping[str, Any]) -> dict[str, Any]:
    data, report = content["data"], content["report"]
    return {
        "title": report["title"],
        "author": report["author"],
        "decision": report["decision"],
        "parts": [_part(read_result(section["result"])) for section in _certified_sections(content)],
        "data": [
            ("Data", str(data["source"])),
            ("Rows", f"{data['rows']:,}"),
            *[(name.capitalize(), str(value)) for name, value in data["roles"].items()],
            ("Data fingerprint", data["digest"]),
            *([("SHA-256 of the data", data["sha256"])] if data["sha256"] else []),
        ],
        "date": str(content["run"].get("started", ""))[:10],
        "version": content["versions"].get("fairtrial", ""),
    }


def _part(result: Result) -> dict[str, Any]:
    """One certification: what was compared, of whom, on which scale, within what, and how surely."""
    details = result.details
    level, scale = float(details["confidence_level"]), str(details.get("scale", "difference"))
    within = [str(name) for name in details.get("within") or ()]
    facts = [
        ("Metric", _metric(details)),
        ("Groups", _groups([str(row["group"]) for row in result.estimates])),
        ("Compared with", str(details["target"])),
        *([("Among people alike in", ", ".join(within))] if within else []),
        ("Scale", _scale(details, scale)),
        ("Tolerance", _tolerance(details, scale)),
        ("Level", f"{100 * level:g}% for each comparison"),
        ("People", _people(result)),
        ("Not tested", _groups([str(item["group"]) for item in _too_small(result)]) or "no group"),
    ]
    return {"statement": str(details.get("statement") or result.verdict.text), "facts": facts}


def _metric(details: Mapping[str, Any]) -> str:
    labels = details.get("labels")
    return f"{details['label']} ({', '.join(labels.values())})" if labels else str(details["label"])


def _scale(details: Mapping[str, Any], scale: str) -> str:
    if scale == "ratio":
        return "ratio of the group's rate to that it is compared with"
    return "difference in points" if details["value_kind"] == "percent" else "difference of means"


def _tolerance(details: Mapping[str, Any], scale: str) -> str:
    low, high = details["tolerance"]
    band = (-math.inf if low is None else float(low), math.inf if high is None else float(high))
    return band_words(band, details["value_kind"] == "percent", scale)


def _groups(labels: Sequence[str]) -> str:
    named = list(dict.fromkeys(labels))
    more = f" and {len(named) - MOST_NAMED:,} more, listed in results.json" if len(named) > MOST_NAMED else ""
    return "; ".join(named[:MOST_NAMED]) + more


def _people(result: Result) -> str:
    counts = [(str(row["group"]), scalar(row["n"])) for row in result.estimates]
    known = {label: n for label, n in counts if isinstance(n, int)}
    if len(known) > MOST_NAMED:
        return f"{min(known.values()):,} to {max(known.values()):,} in each group"
    return "; ".join(f"{label} {n:,}" for label, n in known.items())


def _too_small(result: Result) -> list[Mapping[str, Any]]:
    """Groups that were not compared, but for the one that the others are compared with."""
    return [item for item in result.details.get("untested", ()) if item.get("state") != "reference"]

"""Two audits side by side as one printable page."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairtrial._method.declaration import find_method
from fairtrial._report.pdf import page_text
from fairtrial._report.tables import shown
from fairtrial._results.text import counted, interval_text, true_minus
from fairtrial._trial.difference import difference
from fairtrial._work.kept_files import write_whole

# Who the two audits are taken to be of.
WHO = {
    False: "We treat the people of the two audits as different people. If some are in both, use --same-people.",
    True: "The same people may be in both audits: no change is shown that this alone could explain.",
}
UNITS = {"points": " points", "ratio": " times"}


def difference_page(old: Mapping[str, Any], new: Mapping[str, Any], same_people: bool = False) -> str:
    """The page of two results.json: the verdicts, the gaps that changed, and everything around them that differs."""
    found = difference(old, new, same_people)
    both = [test for test in found["tests"] if test["old"] is not None and test["new"] is not None]
    return page_text(
        "difference.html.j2", "public_summary.css",
        title=new["report"]["title"], found=found, lines=[_line(test) for test in both],
        only=[_only(test) for test in found["tests"] if test["old"] is None or test["new"] is None],
        answer=answer_text(found), dates=[str(one["run"].get("started", ""))[:10] for one in (old, new)],
    )  # fmt: skip


def write_difference(
    old: Mapping[str, Any], new: Mapping[str, Any], path: str | os.PathLike[str], same_people: bool = False
) -> Path:
    """Write the page to `path`."""
    target = Path(path)
    write_whole(target, difference_page(old, new, same_people))
    return target


def answer_text(found: Mapping[str, Any]) -> str:
    """Whether anything changed by more than noise, and who the two audits are taken to be of."""
    if found["not_compared"]:
        return str(found["not_compared"])
    compared = sum(test["gap_change"] is not None for test in found["tests"])
    changed = len(found["changed_gaps"])
    who = WHO[bool(found["same_people"])]
    gaps = f"{counted(compared, 'gap')} changed by more than noise"
    if not changed:
        return f"None of {gaps}; that does not show that they stayed. {who}"
    return f"{changed:,} of {gaps} (corrected together, Holm). {who}"


def change_text(test: Mapping[str, Any]) -> str:
    """'+3.1 points (95% interval −1.0 to +7.2), adjusted p 0.140'; a dash where no test was made."""
    made = test["gap_change"]
    if made is None:
        return "–"
    kind = test["new"]["kind"]
    interval = true_minus(interval_text(made["low"], made["high"], kind))
    size = f"{shown(made['estimate'], kind)}{UNITS.get(kind, '')}"
    return f"{size} ({100 * made['level']:g}% interval {interval}), adjusted p {shown(made['adjusted'], 'p')}"


def _line(test: Mapping[str, Any]) -> dict[str, Any]:
    made = test["gap_change"]
    untested = "the gap told above" if test["repeats"] else "not tested"
    verdict = untested if made is None else "changed" if made["shown"] else "no change shown"
    return {
        "what": _what(test),
        "old": _side(test["old"]),
        "new": _side(test["new"]),
        "change": change_text(test),
        "verdict": f"{verdict}; {test['change']}" if test["change"] else verdict,
    }


def _only(test: Mapping[str, Any]) -> str:
    return f"{_what(test)} ({test['change']})"


def _what(test: Mapping[str, Any]) -> str:
    against = f" compared with {test['against']}" if test["against"] else ""
    return f"{test['metric']} of {test['subject']}{against} ({find_method(test['method']).short})"


def _side(entry: Mapping[str, Any]) -> str:
    if entry["effect"] is None:
        return f"adjusted p {shown(entry['adjusted'], 'p')}"
    return f"{shown(entry['effect'], entry['kind'])}{UNITS.get(entry['kind'], '')}"

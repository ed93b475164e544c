"""What can be seen of a finished audit: each view is a list of rows, and facts around them, read from results.json."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fairtrial._errors import Fault, InputError
from fairtrial._improve.result import ImproveResult
from fairtrial._method.declaration import find_method, read_result
from fairtrial._report.tables import safe_cell
from fairtrial._results.column import reason, scalar
from fairtrial._results.masking import published_rows
from fairtrial._results.result import Result
from fairtrial._trial.family import CORRECTIONS, favourable_of

Row = dict[str, Any]
Content = Mapping[str, Any]
# columns that a cell of the map tells of, where its question has them
TOLD = (
    "n", "rate", "rate_low", "rate_high", "target", "target_rate", "difference", "difference_low", "difference_high",
    "ratio", "ratio_low", "ratio_high", "impact_ratio", "p_value", "effect",
)  # fmt: skip
ENOUGH = "enough people, were there no gap: what is in doubt is the gap"
UNPLANNED = "sizes are only known for plain differences"
NOT_ASKED = "the trial did not ask about it"
ORDER = ("bad", "good", "open")
FOUND_BY = (
    "search",
    "subgroups",
    "null",
    "null_draws",
    "correction",
    "fdr",
    "tested",
    "depth",
    "direction",
    "score",
)


def results_of(content: Content) -> Iterator[tuple[Mapping[str, Any], Result]]:
    """Every section that was answered, with its result."""
    for section in content["sections"]:
        if section["result"] is not None:
            yield section, read_result(section["result"])


def asks(content: Content) -> Callable[[str], str]:
    """The question of a method, which speaks of harm only where it was said what is good for a person."""
    favourable = favourable_of(content["spec"]["content"])
    return lambda method: find_method(method).asks(favourable)


def titles(content: Content) -> dict[str, str]:
    """The question of every section, by the section's name."""
    question = asks(content)
    return {part["id"]: part["title"] or question(part["method"]) for part in content["sections"]}


def heat_map(content: Content) -> dict[str, Any]:
    """Every group and metric of the trial: how it was found, and what was not tested and why."""
    corrected = {(entry["section"], entry["metric"], entry["subject"]): entry for entry in content["family"]}
    found: dict[tuple[str, str], Row] = {}
    for section, result in results_of(content):
        if not {"metric", "group", "state"} <= {column.name for column in result.columns}:
            continue
        for row in result.estimates:
            cell = _cell(section, result, row, corrected)
            known = found.get((cell["group"], cell["metric"]))
            if known is None or _weight(cell) < _weight(known):
                found[cell["group"], cell["metric"]] = cell
    groups = list(dict.fromkeys(group for group, _ in found))
    metrics = list(dict.fromkeys(metric for _, metric in found))
    rows = [found.get((group, metric)) or _empty(group, metric) for group in groups for metric in metrics]
    labels = {cell["metric"]: cell["label"] for cell in found.values()}
    return {
        "rows": rows,
        "groups": groups,
        "metrics": metrics,
        "labels": labels,
        "correction": content["correction"],
    }


def _weight(cell: Row) -> tuple[bool, int]:
    return not cell["tested"], ORDER.index(cell["tone"])


def _empty(group: str, metric: str) -> Row:
    return {
        "group": group,
        "metric": metric,
        "tested": False,
        "tone": "open",
        "state": "not tested",
        "reason": NOT_ASKED,
    }


def _label(result: Result, metric: str) -> str:
    """A metric in words."""
    return str(result.details.get("labels", {}).get(metric) or result.details.get("label") or metric)


def _cell(
    section: Mapping[str, Any], result: Result, row: Row, corrected: Mapping[Any, Mapping[str, Any]]
) -> Row:
    """One group and metric, coloured by the verdict after the correction over the whole trial."""
    label = _label(result, row["metric"])
    entry = corrected.get((section["id"], label, row["group"]))
    state = next((kind for kind in result.states if kind.code == row["state"]), None)
    tone = "open" if state is None else state.tone
    words = row["state"] if state is None else state.text
    if tone == "bad" and not (entry and entry["significant"]):
        tone, words = "open", f"{words}, not after correction"  # and so not red
    value = {name: scalar(row.get(name)) for name in TOLD if name in row}
    why = row.get("state_reason") or next((text for name in TOLD if (text := reason(row.get(name)))), None)
    return {
        "group": row["group"], "metric": row["metric"], "label": label, "section": section["id"],
        "tested": scalar(row.get("p_value")) is not None, "tone": tone,
        "state": words, **value,
        "adjusted": None if entry is None else entry["adjusted"], "reason": why,
    }  # fmt: skip


def needed(content: Content) -> dict[str, Any]:
    """Every undetermined group: how many people it would take."""
    rows = []
    for section, result in results_of(content):
        found = more_people(result.estimates)
        rows += [{"section": section["id"], **row, "label": _label(result, row["metric"])} for row in found]
    return {"rows": rows}


def more_people(estimates: Iterable[Mapping[str, Any]]) -> list[Row]:
    """How many more members, and how many rows of the same shares, each undetermined group would have needed."""
    return [_more(row) for row in estimates if row.get("state") == "undetermined" and "members_needed" in row]


def _more(row: Mapping[str, Any]) -> Row:
    members, people = scalar(row["members_needed"]), scalar(row.get("n"))
    more = members - people if members is not None and people is not None else None
    why = reason(row["members_needed"]) or reason(row["rows_needed"]) or reason(row.get("n"))
    if more is not None and more <= 0:
        more, why = None, ENOUGH
    elif members is None and why is None:
        why = UNPLANNED
    told = {"metric": row["metric"], "group": row["group"], "n": people, "members_needed": members}
    return {**told, "more": more, "rows_needed": scalar(row["rows_needed"]), "reason": why}


def subgroups(content: Content) -> dict[str, Any]:
    """Groups that were searched for or listed: their rates, and how each search went."""
    rows, searches = [], {}
    for section, result in results_of(content):
        if section["method"] not in ("scan", "flag"):
            continue
        for number, row in enumerate(result.estimates, start=1):
            told = {name: scalar(cell) for name, cell in row.items()}
            why = row.get("state_reason") or reason(row.get("n")) or reason(row.get("rate"))
            rows.append({"id": f"{section['id']}.{number}", "section": section["id"], **told, "reason": why})
        searches[section["id"]] = {
            "question": result.question, "null": result.null, "method": result.method,
            "reading": published_rows(result).reading(),
            "facts": {name: result.details[name] for name in FOUND_BY if result.details.get(name) is not None},
            "values": result.details.get("values", []),
        }  # fmt: skip
    return {"rows": rows, "searches": searches}


def frontier(content: Content) -> dict[str, Any]:
    """Every rule that improve tried, by its gap; which of them nothing beats in both, and where the present rule is."""
    rows, facts = [], {}
    for section, result in _improved(content):
        found = [
            row for row in result.details["search"] if row["gap"] is not None and row["accuracy"] is not None
        ]
        best = -1.0
        for row in sorted(found, key=lambda row: (row["gap"], -row["accuracy"])):
            edge, best = row["accuracy"] > best, max(best, row["accuracy"])
            rows.append({"section": section["id"], **row, "frontier": edge})
        claim = result.details["claim"]
        facts[section["id"]] = {
            "status_quo": result.details["search_status_quo"], "accuracy": claim["accuracy_labels"][0],
            "fairness": claim["fairness_labels"][0], "scale": claim["scale"], "verdict": result.verdict.text,
        }  # fmt: skip
    return {"rows": rows, "searches": facts}


def surface(content: Content, loss: float = 0.0) -> dict[str, Any]:
    """How far the improvement reaches at each level, and the largest gain shown at one loss of accuracy."""
    rows, facts = [], {}
    for section, result in _improved(content):
        levels = [steps["level"] for steps in result.details["surface"]]
        for level in levels:
            for corner in result.surface(level).corners:
                told = {"level": level, "accuracy": corner.accuracy, "fairness": corner.fairness}
                rows.append({"section": section["id"], **told})
        gains = [{"level": level, "gain": _finite(result, level, loss)} for level in levels]
        claim = result.details["claim"]
        facts[section["id"]] = {
            "loss": loss, "gains": gains, "alpha": result.details["alpha"], "margin_kind": claim["margin_kind"],
            "accuracy": claim["accuracy_labels"][0], "fairness": claim["fairness_labels"][0],
        }  # fmt: skip
    return {"rows": rows, "surfaces": facts}


def _finite(result: ImproveResult, level: float, loss: float) -> float | None:
    gain = result.surface(level).largest_fairness_gain(-loss)
    return gain if gain > -1e300 else None


def _improved(content: Content) -> Iterator[tuple[Mapping[str, Any], ImproveResult]]:
    for section, result in results_of(content):
        if isinstance(result, ImproveResult):
            yield section, result


def watched(content: Content) -> dict[str, Any]:
    """What a watch shows so far: a row per group, and its sentences."""
    rows: list[Row] = []
    facts = {}
    for section, result in results_of(content):
        if result.kind == "watch":
            rows += [
                {"section": section["id"], **{name: scalar(cell) for name, cell in row.items()}}
                for row in result.estimates
            ]
            facts[section["id"]] = {
                "verdict": result.to_dict()["verdict"],
                "reading": published_rows(result).reading(),
            }
    return {"rows": rows, "watches": facts}


def watch_verdicts(content: Content) -> Iterator[tuple[str, str]]:
    """Each watch that the audit added to, by its name, and where it stands."""
    for section, result in results_of(content):
        if result.kind == "watch":
            yield Path(section["arguments"]["state"]).stem, result.to_dict()["verdict"]["text"]


def tests(content: Content) -> dict[str, Any]:
    """Every test of the trial, corrected together, the strongest first."""
    told = content["correction"]
    words = CORRECTIONS.get(told["method"], told["method"])
    return {"rows": [dict(entry) for entry in content["family"]], "correction": {**told, "words": words}}


VIEWS: dict[str, Callable[[Content], dict[str, Any]]] = {
    "heatmap": heat_map,
    "tests": tests,
    "subgroups": subgroups,
    "frontier": frontier,
    "surface": surface,
    "needed": needed,
    "watch": watched,
}


def present(content: Content) -> list[str]:
    """The views that have something to show."""
    return [name for name, view in VIEWS.items() if view(content)["rows"]]


def find_view(name: str) -> Callable[[Content], dict[str, Any]]:
    """A view by name."""
    if name not in VIEWS:
        raise InputError("view", Fault("view", f"must be one of {', '.join(VIEWS)}", got=name[:80]))
    return VIEWS[name]


def as_csv(rows: list[Row]) -> str:
    """Rows as CSV that a spreadsheet does not run; columns in the order in which they first come."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(names)
    for row in rows:
        writer.writerow([safe_cell(_plain(row.get(name))) for name in names])
    return out.getvalue()


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)

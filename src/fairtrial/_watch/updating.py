"""One update: check the question, open the state, count the new rows, append them, and answer."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Cells
from fairtrial._audit.groups import by_attributes, check_target, find_groups
from fairtrial._compare.tolerance import find_band
from fairtrial._errors import Fault, Faults, InputError, Note, Set, Words
from fairtrial._method.selective_labels import refuse_selective
from fairtrial._metrics.groups import Group, Target, explicit_groups, find_target
from fairtrial._metrics.table import find_metric
from fairtrial._metrics.values import Metric
from fairtrial._watch.answer import answer
from fairtrial._watch.counting import Counter, roles_of
from fairtrial._watch.monitor import Monitor
from fairtrial._watch.request import WHO, WatchRequest, check_reference
from fairtrial._watch.result import WatchResult
from fairtrial._watch.state_file import StateFile, damaged, from_arrays, open_state, to_arrays
from fairtrial._work.kept_files import check_output_file, write_whole

SCHEMA, ALERT = "fairtrial/watch/1", "fairtrial/watch/alert/1"
MOST_OF_AN_ALERT = 10_000_000  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of `watch` that make its question."""

    metric: Any
    period: str
    by: Any
    depth: int
    target: Any
    scale: str
    tolerance: Any
    direction: str
    bounds: Any
    waiting: int
    window: int | None
    reference: Any
    run_length: int
    block: int
    repeated: str
    confidence_level: float


def update(state: str, audit: Audit, chosen: Options, alert_file: str | None) -> WatchResult:
    """Add the rows of the audit to the state, once, and answer from all of its periods."""
    metric = find_metric(WHO, chosen.metric)
    asked, cells = question(audit, metric, chosen)
    if alert_file is not None:
        _check_alert(check_output_file(WHO, alert_file))
    with open_state(Path(os.path.expanduser(state))) as file:
        monitor, salt = restore(file, asked)
        counter = Counter(audit, metric, asked, salt, cells)
        batch, notes = counter.count(monitor.people, first=not monitor.batches)
        if file.unfinished:
            notes.append(Note("unfinished", "An update had been interrupted; its rows had not been counted."))
        again = _counted_before(batch, monitor)
        if again is None:
            if not file.bodies:
                file.append({"kind": "watch", "schema": SCHEMA, "asked": asked.to_dict(), "salt": salt})
            file.append({"kind": "batch", **batch})
            monitor.apply(batch)
            file.save_snapshot(to_arrays(monitor))
        else:
            notes.append(again)
        provenance = audit.provenance(
            counter.cells,
            batch=monitor.batches[-1] if monitor.batches else "",
            state=file.hashes[-1],
            arguments=asked.to_dict(),
        )
        result = answer(metric, asked, monitor, (*audit.notes(), *notes), provenance)
    if alert_file is not None:
        write_whole(Path(alert_file), json.dumps(alert(result, state), indent=2, ensure_ascii=False) + "\n")
    return result


def _check_alert(path: Path) -> None:
    """A file that a watch did not write is not written over."""
    if path.is_file() and path.stat().st_size and not is_alert(path):
        cure = "name a new file"
        raise InputError(
            WHO, Fault("alert_file", "must not be another file of yours", got=str(path), cure=cure)
        )


def is_alert(path: Path) -> bool:
    """Whether a file is an alert that a watch wrote."""
    try:
        content = json.loads(path.read_bytes()) if path.stat().st_size <= MOST_OF_AN_ALERT else None
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("schema") == ALERT


def _counted_before(batch: dict[str, Any], monitor: Monitor) -> Note | None:
    """Why a batch adds nothing; None where it does."""
    if batch["digest"] in monitor.batches:
        number = monitor.batches.index(batch["digest"]) + 1
        return Note("same-batch", f"These rows are those of batch {number}: they were not counted again.")
    if any(part for period in batch["periods"] for part in period["parts"]):
        return None
    if not monitor.batches:  # it would fix a family of no groups
        raise InputError(
            WHO,
            Fault(
                "data",
                "has no row that the metric is about",
                subject="the first batch",
                cure="begin with a period that has",
            ),
        )
    return Note("nothing-new", "No row of this batch counts: the state is as it was.")


def restore(file: StateFile, asked: WatchRequest) -> tuple[Monitor, str]:
    """The watch as its state has it, and what makes the names of its people unreadable."""
    if not file.bodies:
        return Monitor(asked), secrets.token_hex(16)
    head = next(file.lines())
    if head.get("schema") != SCHEMA:
        raise damaged(file.path, f"its first line is not that of a {SCHEMA} state")
    asked.check_same(head["asked"])
    stored = file.load_snapshot()
    monitor = None if stored is None else from_arrays(asked, stored)
    start = 1 if stored is None or monitor is None else int(stored["lines"])
    monitor = monitor or Monitor(asked)
    for line in file.lines(start):
        monitor.apply(line)
    return monitor, str(head["salt"])


# -- the question -----------------------------------------------------------------------------------------------
def question(audit: Audit, metric: Metric, chosen: Options) -> tuple[WatchRequest, Cells | None]:
    """The options, checked against the data, and the batch's cells where the checks have them."""
    refuse_selective(WHO, audit, [metric])
    audit.check_column(WHO, "period", chosen.period)
    target = find_target(WHO, chosen.target)
    cells = _cells(audit, metric, chosen, target)
    check_target(WHO, audit, target)
    find_groups(WHO, audit, chosen.by, chosen.depth)
    attributes, groups = _compared(audit, chosen)
    binary = _is_binary(audit, metric, chosen)
    bounds = _bounds(metric, chosen, binary)
    asked = WatchRequest(
        metric=metric.to_dict(), label=metric.label, roles=roles_of(audit), attributes=attributes, groups=groups,
        depth=chosen.depth, target=target, scale=chosen.scale, band=_band(metric, chosen, binary),
        direction=chosen.direction, period=chosen.period, bounds=bounds, waiting=chosen.waiting,
        window=chosen.window, reference=check_reference(chosen.reference), run_length=chosen.run_length,
        block=chosen.block, repeated=chosen.repeated if audit.unit is not None else "once",
        confidence_level=chosen.confidence_level, binary=binary,
    )  # fmt: skip
    _check(audit, asked)
    return asked, cells


def _cells(audit: Audit, metric: Metric, chosen: Options, target: Target) -> Cells | None:
    """The one grouping query of a watch, asked first: the checks that follow then know the groups.

    None where people come repeatedly, whose rows are read, and where something is wrong: the checks say what.
    """
    if audit.unit is not None:
        return None
    own = target.group.attributes if target.group is not None else ()
    try:
        attributes = dict.fromkeys([*by_attributes(WHO, audit, chosen.by), *own])
        return audit.cells((*attributes, chosen.period), [metric], who=WHO)
    except InputError:
        return None


def _compared(audit: Audit, chosen: Options) -> tuple[tuple[str, ...], tuple[Group, ...]]:
    """Attributes whose groups are found in the data, and groups that are named."""
    named = sorted(explicit_groups(chosen.by), key=lambda group: group.where)
    listed = [chosen.by] if isinstance(chosen.by, str) else chosen.by
    entries = audit.groups if listed is None else listed if isinstance(listed, list | tuple) else []
    attributes = tuple(dict.fromkeys(entry for entry in entries if isinstance(entry, str)))
    by_attributes(WHO, audit, chosen.by)
    return attributes, tuple(named)


def _is_binary(audit: Audit, metric: Metric, chosen: Options) -> bool:
    """Whether values are 0 and 1; where only the data can tell, bounds say that they are not."""
    if metric.binary is not None:
        return metric.binary
    return chosen.bounds is None and bool(audit.cells((), [metric], who=WHO).binary[metric.name])


def _bounds(metric: Metric, chosen: Options, binary: bool) -> tuple[float, float] | None:
    if binary:
        if chosen.bounds is not None:
            raise InputError(
                WHO,
                Fault(
                    "stream",
                    f"are for real values; {metric.name!r} is 0 or 1",
                    cure="leave them out",
                    subject="'bounds'",
                ),
            )
        return None
    if chosen.bounds is None:
        required = (
            f"are needed: {metric.name!r} has real values, and without bounds nothing holds at every look"
        )
        cure = Words(
            "state the smallest and the largest value it can take, e.g. {}", Set("stream", {"bounds": [0, 1]})
        )
        raise InputError(WHO, Fault("stream", required, cure=cure, subject="'bounds'"))
    pair = [float(end) for end in chosen.bounds]
    if len(pair) != 2 or not pair[0] < pair[1]:
        required = "must be two numbers, the smaller first"
        raise InputError(WHO, Fault("stream", required, got=chosen.bounds, subject="'bounds'"))
    if chosen.scale == "ratio" and pair[0] != 0.0:
        required = "of a ratio must begin at 0"
        raise InputError(WHO, Fault("stream", required, got=chosen.bounds, subject="'bounds'"))
    return pair[0], pair[1]


def _band(metric: Metric, chosen: Options, binary: bool) -> tuple[float, float] | None:
    """The tolerance on the scale: one number of a ratio stands for itself and its inverse."""
    if chosen.scale == "difference" or chosen.tolerance is None:
        return find_band(WHO, chosen.tolerance, metric)
    given = chosen.tolerance
    pair = list(given) if isinstance(given, list | tuple) else [given, 1 / given] if given else [0.0, 0.0]
    low, high = (min(pair), max(pair)) if not isinstance(given, list | tuple) else (pair[0], pair[-1])
    if len(pair) != 2 or not 0.0 < low <= 1.0 <= high:
        required = "of a ratio must be a number above 0, such as 0.8, or two numbers around 1"
        raise InputError(WHO, Fault("tolerance", required, got=given))
    return float(low), float(high)


def _check(audit: Audit, asked: WatchRequest) -> None:
    """Faults that show only when the parts are put together."""
    faults = Faults(WHO)
    if asked.scale == "ratio" and asked.target.kind == "overall":
        cure = Words("use {} or a reference group", Set("target", "rest"))
        required = "cannot be a ratio to everyone: the group's part in it changes over time"
        faults.add(Fault("scale", required, cure=cure))
    for name in asked.cell_attributes:
        if isinstance(audit.bins.get(name), int):
            required = f"of {name!r} must be edges: equal parts are cut anew for every batch"
            faults.add(Fault("bins", required))
    if asked.period in asked.cell_attributes:
        faults.add(
            Fault(
                "period",
                "cannot be an attribute that is compared",
                got=asked.period,
                cure="name the column that says when a row was decided",
            )
        )
    if asked.binary and asked.target.value is not None and not 0.0 < asked.target.value < 1.0:
        faults.add(Fault("target", "of a rate must lie between 0 and 1", got=asked.target.value))
    faults.raise_any()


def alert(result: WatchResult, state: str) -> dict[str, Any]:
    """What others pick up: whether there is an alert, and the findings behind it."""
    bad = [row for row in result.estimates if row["state"] == "violated" or row["changed"] is not None]
    keys = ("group", "state", "since", "changed", "log_e")
    return {
        "schema": ALERT,
        "alert": result.verdict.code in ("violated", "changed"),
        "state": state,
        "question": result.question,
        "verdict": {"code": result.verdict.code, "text": result.verdict.text},
        "period": result.details["last_period"],
        "groups": [{key: row[key] for key in keys} for row in bad],
    }

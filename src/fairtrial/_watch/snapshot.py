"""A watch as arrays, floats bit for bit: what saves replaying the lines of its state."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.sequential.streams import Streams
from fairtrial._metrics.groups import Group
from fairtrial._watch.asked import WatchRequest
from fairtrial._watch.monitor import PARTS, Cells, Monitor, cells_of

VERSION = 2
FACTS = ("opening", "batches", "periods", "left_out", "crossed")
TABLES = ("history", "prompt", "later", "windows")


def to_arrays(monitor: Monitor) -> dict[str, Any]:
    """All that a watch remembers."""
    facts = {
        "version": VERSION,
        "groups": [group.where for group in monitor.groups],
        "waiting": {label: [_listed(part) for part in parts] for label, parts in monitor.waiting.items()},
        "prompt": list(monitor.prompt),
        "later": list(monitor.later),
        "windows": [window[:2] for window in monitor.windows],
        **{name: getattr(monitor, name) for name in FACTS},
    }
    tables = {
        "history": monitor.history,
        "prompt": list(monitor.prompt.values()),
        "later": list(monitor.later.values()),
        "windows": [window[2] for window in monitor.windows],
    }
    arrays: dict[str, Any] = {"facts": np.array(json.dumps(facts, allow_nan=False))}
    for name in PARTS:
        arrays |= {f"{name} {part}": values for part, values in getattr(monitor, name)._asdict().items()}
    for name in TABLES:
        arrays |= _stacked(name, tables[name])
    people = np.array(sorted(int(name, 16) for name in monitor.people), dtype=np.uint64)
    return {**arrays, "people": people, "sums": monitor.sums, "reference": monitor.reference}


def from_arrays(asked: WatchRequest, arrays: Mapping[str, Any]) -> Monitor | None:
    """The watch again; None from another version of the snapshot."""
    facts = json.loads(str(arrays["facts"]))
    if facts["version"] != VERSION:
        return None
    found = Monitor(asked)
    found.add_groups(
        Group(tuple((name, tuple(values)) for name, values in where)) for where in facts["groups"]
    )
    for name in FACTS:
        setattr(found, name, facts[name])
    for name in PARTS:
        setattr(found, name, Streams(*(arrays[f"{name} {part}"] for part in Streams._fields)))
    tables = {name: _separate(name, arrays) for name in TABLES}
    found.people = {f"{number:016x}" for number in arrays["people"].tolist()}
    found.waiting = {label: [cells_of(part) for part in parts] for label, parts in facts["waiting"].items()}
    found.history = tables["history"]
    found.prompt = dict(zip(facts["prompt"], tables["prompt"], strict=True))
    found.later = dict(zip(facts["later"], tables["later"], strict=True))
    found.windows = [(*ends, said) for ends, said in zip(facts["windows"], tables["windows"], strict=True)]
    found.sums, found.reference = arrays["sums"], arrays["reference"]
    return found


def _listed(cells: Cells) -> list[Any]:
    return [[list(key), *values.tolist()] for key, values in cells.items()]


def _stacked(name: str, tables: list[Floats]) -> dict[str, Any]:
    """Tables of different lengths one below the other, and their lengths."""
    lengths = np.array([len(table) for table in tables], dtype=np.int64)
    return {name: np.concatenate(tables) if tables else np.zeros((0, 1)), f"{name} lengths": lengths}


def _separate(name: str, arrays: Mapping[str, Any]) -> list[Floats]:
    return (
        np.split(arrays[name], np.cumsum(arrays[f"{name} lengths"])[:-1])
        if arrays[f"{name} lengths"].size
        else []
    )

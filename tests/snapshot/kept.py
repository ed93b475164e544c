"""The kept records as text: one file per part, cases and places in order, so that a change can be read as a diff.

A line that is a text names a case, "certify/people/tpr tolerance=0.1". The lines after it hold its places:
{"estimates[*]/rate":[0.97,0.69]} is the column `rate`, one value per row (null: that row has none), and
{"estimates[0-1]/metric":"tpr"} a column that is the same in rows 0 to 1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Flat = dict[str, Any]
FOLDER = Path(__file__).with_name("kept")
SEPARATOR = "/"
WIDE = 100  # a mapping that is written in more characters has a line for each of its places
ROWS = re.compile(r"(.*)\[(?:\*|0-(\d+))\]")


def write(records: Mapping[str, Flat], folder: Path = FOLDER) -> int:
    """Replace the folder's files by these records; how many bytes they have."""
    parts: dict[str, list[str]] = {}
    for name in sorted(records):
        lines = parts.setdefault(name.split(SEPARATOR)[0], [])
        lines.append(_json(name))
        lines += [_json({path: value}) for path, value in _lines(_tree(records[name]), "")]
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.jsonl"):
        old.unlink()
    for part, lines in parts.items():
        (folder / f"{part}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return sum(path.stat().st_size for path in folder.glob("*.jsonl"))


def read(folder: Path = FOLDER) -> dict[str, Flat]:
    """The record of every case by its name."""
    records: dict[str, Flat] = {}
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            content = json.loads(line)
            if isinstance(content, str):
                flat = records[content] = {}
            else:
                ((path, value),) = content.items()
                flat.update(_places(path, value))
    return records


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def _tree(flat: Mapping[str, Any]) -> Any:
    """Paths as mappings in mappings, and as a list where the names are 0, 1, 2 …"""
    root: dict[str, Any] = {}
    for path, value in flat.items():
        *inner, last = path.split(SEPARATOR)
        if any(map(ROWS.fullmatch, inner)):
            raise ValueError(f"a place cannot be called {path!r}")
        node = root
        for part in inner:
            node = node.setdefault(part, {})
        node[last] = value
    return _in_order(root)


def _in_order(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    names = sorted(node, key=lambda name: (not name.isdigit(), int(name) if name.isdigit() else 0, name))
    content = {name: _in_order(node[name]) for name in names}
    return list(content.values()) if names == [str(index) for index in range(len(names))] else content


def _lines(node: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(node, list) and node and all(isinstance(row, dict) for row in node):
        for name in sorted({name for row in node for name in row}):
            cells = [row.get(name) for row in node]
            if len(cells) > 1 and len(set(map(_json, cells))) == 1:
                yield f"{path}[0-{len(cells) - 1}]{SEPARATOR}{name}", cells[0]
            else:
                yield f"{path}[*]{SEPARATOR}{name}", cells
    elif isinstance(node, dict) and (not path or len(_json(node)) > WIDE):
        for name, inner in node.items():
            yield from _lines(inner, f"{path}{SEPARATOR}{name}" if path else name)
    else:
        yield path, node


def _places(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The places that a line stands for."""
    parts = path.split(SEPARATOR)
    for index, part in enumerate(parts):
        if found := ROWS.fullmatch(part):
            cells = value if found[2] is None else [value] * (int(found[2]) + 1)
            for row, cell in enumerate(cells):
                if cell is not None:
                    yield from _flat(cell, [*parts[:index], found[1], str(row), *parts[index + 1 :]])
            return
    yield from _flat(value, parts)


def _flat(value: Any, path: list[str]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for name, content in inner:
            yield from _flat(content, [*path, str(name)])
    else:
        yield SEPARATOR.join(path), value

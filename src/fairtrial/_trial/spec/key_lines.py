"""Where each key of a TOML text stands: the standard parser gives values, a person wants line numbers."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from fairtrial._errors import Fault, InputError, did_you_mean
from fairtrial._options import Argument
from fairtrial._trial.spec.speech import TOML

Path = tuple[str | int, ...]

_HEADER = re.compile(r"^\s*(\[\[|\[)\s*(.+?)\s*(\]\]|\])\s*(#.*)?$")
_PART = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)\s*(\.|=)""")
_HEADER_PART = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)\s*(?:\.|$)""")


class KeyLines:
    """Line numbers by path; an unknown path answers with the line of its nearest known ancestor.

    >>> lines = KeyLines('[data]\\nsource = "a.csv"\\n\\n[[scan]]\\nmetric = "fpr"\\n')
    >>> lines.line(("data", "source")), lines.line(("scan", 0, "metric")), lines.line(("data", "oops"))
    (2, 5, 1)
    """

    def __init__(self, text: str) -> None:
        self._lines: dict[Path, int] = {}
        self._counts: dict[Path, int] = {}
        self._read(text)

    def line(self, path: Sequence[str | int]) -> int | None:
        """The line of `path`, or of the nearest enclosing table that has one."""
        known = tuple(path)
        while known:
            if known in self._lines:
                return self._lines[known]
            if (*known, 0) in self._lines and len(known) == len(path):
                return self._lines[*known, 0]
            known = known[:-1]
        return None

    def _read(self, text: str) -> None:
        table: Path = ()
        lines = text.splitlines()
        number = 0
        while number < len(lines):
            header = _HEADER.match(lines[number])
            if header:
                table = self._table(_header_parts(header.group(2)), header.group(1) == "[[")
                self._lines.setdefault(table, number + 1)
                number += 1
                continue
            keys = _keys(lines[number])
            if keys:
                for depth in range(1, len(keys) + 1):
                    self._lines.setdefault((*table, *keys[:depth]), number + 1)
                number += _value_length(lines[number:])
            else:
                number += 1

    def _table(self, parts: Sequence[str], array: bool) -> Path:
        """The path of a header, with the position inside each array of tables it runs through."""
        path: Path = ()
        for depth, part in enumerate(parts):
            path = (*path, part)
            last = depth == len(parts) - 1
            if last and array:
                self._counts[path] = self._counts.get(path, -1) + 1
            if path in self._counts:
                path = (*path, self._counts[path])
        return path


def _keys(line: str) -> list[str]:
    """The dotted key that a line assigns to; empty when it assigns to none."""
    keys: list[str] = []
    position = 0
    while match := _PART.match(line, position):
        keys.append(_unquote(match.group(1)))
        position = match.end()
        if match.group(2) == "=":
            return keys
    return []


def _header_parts(text: str) -> list[str]:
    parts: list[str] = []
    position = 0
    while position < len(text) and (match := _HEADER_PART.match(text, position)):
        parts.append(_unquote(match.group(1)))
        position = match.end()
    return parts


def _unquote(text: str) -> str:
    return text[1:-1] if text[:1] in ("'", '"') else text


def _value_length(lines: Sequence[str]) -> int:
    """How many lines an assignment takes: arrays and long texts may span several."""
    for length in range(1, len(lines) + 1):
        try:
            tomllib.loads("\n".join(lines[:length]))
        except tomllib.TOMLDecodeError:
            continue
        return length
    return 1


def describe(path: Sequence[str | int], content: Mapping[str, Any] | None = None) -> str:
    """A path as one writes it in the file: `[data] threshold`, `[[scan]] 2, metric`.

    >>> describe(("data", "threshold")), describe(("scan", 1, "metric")), describe(("preset",))
    ('[data] threshold', '[[scan]] number 2, metric', 'preset')
    """
    if not path:
        return "the file"
    first, rest = path[0], list(path[1:])
    text = str(first)
    if rest and isinstance(rest[0], int):
        text = f"[[{first}]] number {rest.pop(0) + 1}"  # type: ignore[operator]
        return text if not rest else f"{text}, {_dotted(rest)}"
    if rest:
        return f"[{first}] {_dotted(rest)}"
    table = text == "data" or (content is not None and isinstance(content.get(text), Mapping | list))
    return f"[{text}]" if table else text


def _dotted(parts: Sequence[str | int]) -> str:
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else str(part)
    return text


# -- Faults of a spec as a person can act on them: the line, the key, what is required, what came, what to
# write.
class SpecFaults:
    """Collects every fault of a spec with its place, so that one message lists them all."""

    def __init__(self, name: str, content: Mapping[str, Any], lines: KeyLines | None) -> None:
        self.name = name
        self.content = content
        self.lines = lines
        self.found: list[tuple[int, str]] = []

    def add(self, path: Path, fault: Fault) -> None:
        """A fault of the key at `path`; the sentence names its argument only where the place does not."""
        named = fault.argument in ("", str(path[-1]) if path else "")
        text = fault.about(TOML, fault.subject or ("" if named else TOML.subject(fault.argument)))
        line = self.lines.line(path) if self.lines else None
        where = describe(path, self.content)
        entry = (line or 0, f"{where}: {text}" if line is None else f"line {line}, {where}: {text}")
        if entry not in self.found:
            self.found.append(entry)

    def extend(self, path: Path, faults: Iterable[Fault]) -> None:
        """Faults that another part found with the value at `path`."""
        for fault in faults:
            self.add(path, fault)

    def raise_any(self) -> None:
        """Raise one InputError of all faults, in the order of the file."""
        if self.found:
            raise InputError(self.name, [Fault("", text) for _, text in sorted(self.found)])


def read_table(path: Path, table: object, keys: Mapping[str, Argument], faults: SpecFaults) -> dict[str, Any]:
    """The known keys of a table; unknown ones and values that do not fit are faults."""
    if not isinstance(table, Mapping):
        faults.add(path, Fault("", "must be a table", got=table))
        return {}
    for key, value in table.items():
        where = (*path, key)
        if key not in keys:
            faults.add(where, unknown_key(key, keys))
        elif value == "" and keys[key].default != "":
            faults.add(where, Fault("", "must not be empty: leave the line out instead"))
        elif fault := keys[key].fault(value):
            faults.add(where, fault)
    return {key: value for key, value in table.items() if key in keys}


def unknown_key(key: str, known: Collection[str]) -> Fault:
    """The fault of a key that a table does not have."""
    return Fault("", "unknown key", hint=f"{did_you_mean(key, known)} Known: {', '.join(sorted(known))}.")

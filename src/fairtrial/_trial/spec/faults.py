"""Faults of a spec as a person can act on them: the line, the key, what is required, what came, what to write."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from fairtrial._errors import Fault, InputError, did_you_mean
from fairtrial._options import Argument
from fairtrial._trial.spec.key_lines import KeyLines, Path, describe
from fairtrial._trial.spec.speech import TOML


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

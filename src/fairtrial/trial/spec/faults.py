"""Faults of a spec as a person can act on them: the line, the key, what is required, what came, a "
"suggestion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairtrial.errors import InputError, did_you_mean
from fairtrial.trial.spec.lines import Path, Places, describe

_WORDS = {
    "string_type": "must be a text in quotes",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "list_type": "must be a list in [ ]",
    "tuple_type": "must be a list in [ ]",
    "dict_type": "must be a table { key = value }",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "mapping_type": "must be a table { key = value }",
}


class SpecFaults:
    """Collects every fault of a spec with its place, so that one message lists them all."""

    def __init__(self, name: str, content: Mapping[str, Any], places: Places | None) -> None:
        self.name = name
        self.content = content
        self.places = places
        self.found: list[tuple[int, str]] = []

    def add(self, path: Path, text: str) -> None:
        line = self.places.line(path) if self.places else None
        where = describe(path, self.content)
        shown = f"{where}: {text}" if line is None else f"line {line}, {where}: {text}"
        entry = (line or 0, shown)
        if entry not in self.found:
            self.found.append(entry)

    def add_pydantic(
        self, errors: Sequence[Any], options: Mapping[Path, Iterable[str]], prefix: Path = ()
    ) -> None:
        """pydantic's error list, in our words; `options` names the keys a table may have."""
        for error in errors:
            path = (*prefix, *error["loc"])
            self.add(path, _words(error, options.get(path[:-1], ())))

    def extend(self, error: InputError, paths: Mapping[str, Path], otherwise: Path) -> None:
        """Faults another part found; each starts with the argument's name in quotes."""
        for fault in map(str, error.faults):
            argument = fault.split("'")[1] if fault.startswith("'") else ""
            self.add(paths.get(argument, otherwise), fault)

    def raise_any(self) -> None:
        if self.found:
            raise InputError(self.name, [text for _, text in sorted(self.found)])


def _words(error: Mapping[str, Any], options: Iterable[str]) -> str:
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    key = str(error["loc"][-1]) if error["loc"] else ""
    if kind == "extra_forbidden":
        known = sorted(options)
        return f"unknown key.{did_you_mean(key, known)} Known: {', '.join(known)}."
    if kind == "missing":
        return (
            "is missing: it names the data file and its roles; `fairtrial init DATA.csv` writes such a file"
        )
    if kind == "value_error":
        return str(context.get("error", error["msg"]))
    if kind == "literal_error":
        allowed = [
            part.strip().strip("'") for part in str(context["expected"]).replace(" or ", ", ").split(",")
        ]
        return f"must be one of {allowed}, got {value!r}.{did_you_mean(value, allowed)}"
    if kind in _WORDS:
        return f"{_WORDS[kind]}, got {value!r}"
    if kind in ("greater_than", "greater_than_equal", "less_than", "less_than_equal"):
        bound = next(iter(context.values()))
        return f"must be {kind.replace('_', ' ').replace('than equal', 'than or equal to')} {bound}, got {value!r}"
    return f"{error['msg']}, got {value!r}"

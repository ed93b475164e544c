"""The last pass over what is published: three digits, no path, no fingerprint by which counts could be guessed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from fairtrial._method.declaration import all_methods, declared_methods
from fairtrial._results.column import Column

DIGITS = 3
WITHHELD = "withheld"
# A fingerprint lets a reader try counts until it fits.
FINGERPRINTS = frozenset({"data", "digest", "sha256"})


def scrub(content: dict[str, Any]) -> dict[str, Any]:
    """The content of a results.json as a stranger may have it."""
    sections = [_section(section) for section in content["sections"]]
    source = content["data"]["source"]
    query = (content["spec"]["content"].get("data") or {}).get("sql")
    data = {
        **content["data"],
        "source": "a query" if source == query else _file_name(source),
        "sha256": None,
        "digest": WITHHELD,
        "missing": [
            {**item, "missing": 0 if item["missing"] == 0 else None} for item in content["data"]["missing"]
        ],
    }
    return {
        **content,
        "family": [_rounded(entry, {"p_value", "adjusted", "test_p"}) for entry in content["family"]],
        "sections": sections,
        "data": data,
        "spec": {
            "name": _file_name(content["spec"]["name"]),
            "text": "",
            "content": _asked(content["spec"]["content"]),
        },
    }


def _asked(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec without folders, addresses and queries."""
    asked = dict(spec)
    if isinstance(asked.get("data"), Mapping):
        data = {name: value for name, value in asked["data"].items() if name != "sql"}
        asked["data"] = {**data, "source": _file_name(str(data["source"]))} if data.get("source") else data
    if isinstance(asked.get("run"), Mapping):
        asked["run"] = {name: value for name, value in asked["run"].items() if name != "parallel"}
    asked.pop("papers", None)  # which are not published
    for name in declared_methods().keys() & asked.keys():
        listed = asked[name] if isinstance(asked[name], list) else [asked[name]]
        named = [_without_folders(name, one) if isinstance(one, Mapping) else one for one in listed]
        asked[name] = named if isinstance(asked[name], list) else named[0]
    return asked


def _without_folders(method: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that name files by their names alone."""
    paths = {argument.name for argument in all_methods()[method].arguments if argument.option.path}
    return {
        name: _file_name(str(value)) if name in paths and value is not None else value
        for name, value in arguments.items()
    }


def _section(section: dict[str, Any]) -> dict[str, Any]:
    """One answer; an error's text may tell anything and is not repeated."""
    result = section["result"]
    section = {**section, "arguments": _without_folders(section["method"], section["arguments"])}
    error = "This question could not be answered." if section["error"] else ""
    if result is None:
        return {**section, "error": error}
    columns = next(m.result.columns for m in all_methods().values() if m.result.kind == result["kind"])
    kinds = {column.name: column for column in columns}
    provenance = {name: value for name, value in result["provenance"].items() if name not in FINGERPRINTS}
    if isinstance(provenance.get("arguments"), Mapping):
        provenance["arguments"] = _without_folders(section["method"], provenance["arguments"])
    return {
        **section,
        "error": error,
        "result": {
            **result,
            "estimates": [_row(row, kinds) for row in result["estimates"]],
            "details": _rounded(result["details"], set()),
            "claims": _rounded(result["claims"], set()),
            "provenance": provenance,
        },
    }


def _row(row: Mapping[str, Any], kinds: Mapping[str, Column]) -> dict[str, Any]:
    """Limits are rounded outwards and p-values upwards, so that no claim becomes sharper."""
    found: dict[str, Any] = {}
    for name, cell in row.items():
        column = kinds.get(name)
        way = 0
        if column is not None and isinstance(cell, float):
            way = 1 if column.kind == "p" or column.is_high else -1 if column.is_low else 0
        found[name] = three_digits(cell, way) if isinstance(cell, float) else cell
    return found


def _rounded(value: Any, upwards: set[str]) -> Any:
    if isinstance(value, Mapping):
        return {
            name: three_digits(item, 1)
            if name in upwards and isinstance(item, float)
            else _rounded(item, upwards)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_rounded(item, upwards) for item in value]
    return three_digits(value) if isinstance(value, float) else value


def three_digits(value: float, way: int = 0) -> float:
    """The number with three significant digits: the nearest, or the next one up (1) or down (-1).

    >>> three_digits(0.448471), three_digits(0.050004, 1), three_digits(-0.12345, -1), three_digits(1.0, 1)
    (0.448, 0.0501, -0.124, 1.0)
    """
    if value == 0 or not math.isfinite(value):
        return value
    nearest = float(f"{value:.{DIGITS - 1}e}")
    if way == 0 or nearest == value or (nearest > value) == (way > 0):
        return nearest
    step = 10.0 ** (math.floor(math.log10(abs(value))) - DIGITS + 1)
    return float(f"{nearest + way * step:.{DIGITS - 1}e}")


def _file_name(source: str) -> str:
    """A source without the folders that it lies in."""
    return PurePath(source.replace("\\", "/")).name if ("/" in source or "\\" in source) else source

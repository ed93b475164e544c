"""Runs one case and writes down what came: a flat mapping of paths to numbers, texts and states."""

from __future__ import annotations

import dataclasses
import json
import re
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from inside.ground import recorded
from inside.methods import declared_methods
from snapshot import inputs
from snapshot.case import Case
from snapshot.kept import SEPARATOR, Flat

# what differs from run to run or from machine to machine and says nothing about the numbers
LEFT_OUT = {
    "versions",
    "data_digest",
    "seconds",
    "started",
    "host",
    "platform",
    "section_seconds",
    "sha256",
    "digest",
}
LONG = 40  # a longer list of plain numbers is kept as its size, sums and some of its members
ARGUMENT = re.compile(r"(.*)provenance/((?:other/)?arguments(?:/explanation)?)/([^/]+)(.*)")
TAKES = re.compile(r"(?<=It takes: )[\w, ]+(?=\.)")


def take(case: Case) -> Flat:
    """The record of one case; an error is a record too."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            content = plain(case.run())
        except Exception as error:
            content = _error(error)
    told = [str(item.message) for item in caught if item.category.__name__ == "FairtrialWarning"]
    if told:
        content = {**(content if isinstance(content, dict) else {"value": content}), "warnings": told}
    if not isinstance(content, dict):
        content = {"value": content}
    return tidy({SEPARATOR.join(path): value for path, value in _flatten(content, ())})


def tidy(flat: Flat) -> Flat:
    """The record without what says nothing: places of a mapping that hold none, and options at their default.

    So a new option with a default, and a new column that is empty unless asked for, change no case.
    """
    found = {}
    for path, value in flat.items():
        if value is not None or path.split(SEPARATOR)[-1].isdigit():
            found[path] = value
    given: dict[tuple[str, ...], Flat] = {}
    for path, value in found.items():
        if place := ARGUMENT.fullmatch(path):
            given.setdefault(place.groups()[:3], {})[place[4]] = value
    for (whole, where, name), value in given.items():
        method = "explain" if "/" in where else str(found.get(f"{whole}kind"))
        if value == _defaults(method).get(name):
            for inner in value:
                del found[f"{whole}provenance/{where}/{name}{inner}"]
    return found


@cache
def _defaults(method: str) -> dict[str, Flat]:
    """What an option of the method is recorded as where it stands at its default."""
    known = declared_methods()
    options = [option for option in known[method].arguments if not option.required] if method in known else []
    return {
        option.name: {
            SEPARATOR.join(path): value for path, value in _flatten(recorded(option.default), ("",))
        }
        for option in options
    }


def _error(error: Exception) -> dict[str, Any]:
    faults, who = getattr(error, "faults", None), getattr(error, "who", "")
    if faults is None:
        return {"error": type(error).__name__, "text": _clean(str(error))}
    return {
        "error": type(error).__name__,
        "who": _clean(str(who)),
        **takes([_clean(str(f)) for f in faults]),
    }


def takes(faults: list[str]) -> dict[str, Any]:
    """Faults, and apart from them each name that is listed as one that could have been given."""
    listed = [name for fault in faults for found in TAKES.finditer(fault) for name in found[0].split(", ")]
    content: dict[str, Any] = {"faults": [TAKES.sub("…", fault) for fault in faults]}
    return {**content, "takes": dict.fromkeys(listed, True)} if listed else content


def plain(content: Any) -> Any:
    """Results, trials and arrays as JSON values."""
    if hasattr(content, "estimates") and hasattr(content, "to_dict"):
        return _result(content)
    if hasattr(content, "family") and hasattr(content, "results"):
        return _trial(content)
    if isinstance(content, Mapping):
        return {str(key): plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [plain(value) for value in content]
    if isinstance(content, np.ndarray):
        return plain(content.tolist())
    if isinstance(content, np.generic):
        return content.item()
    if dataclasses.is_dataclass(content) and not isinstance(content, type):
        return plain(dataclasses.asdict(content))
    return content if isinstance(content, str | int | float | bool | None) else str(content)


def _result(result: Any) -> dict[str, Any]:
    content: dict[str, Any] = result.to_dict()
    content["provenance"] = _without_digests(content["provenance"])
    content["notes"] = _by_code(content["notes"])
    content["reading"] = list(result.reading())
    content["primary"] = [plain(one) for one in result.primary()]
    for name in ("plan", "null_scores"):
        if name in result.objects:
            content[f"object {name}"] = _sums(np.asarray(result.objects[name], dtype=float).tolist())
    del content["schema"]
    return content


def _by_code(notes: list[dict[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for note in notes:
        code, again = note["code"], 2
        while code in found:
            code, again = f"{note['code']} {again}", again + 1
        found[code] = note["text"]
    return found


def _without_digests(provenance: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in provenance.items() if name not in ("data", "versions")}
    return {name: _without_digests(value) if name == "other" else value for name, value in kept.items()}


def _trial(trial: Any) -> dict[str, Any]:
    content = trial.to_dict()
    published = {
        key: content[key] for key in ("verdict", "status", "correction", "family", "notes", "seed", "preset")
    }
    sections = {
        section["id"]: {"method": section["method"], "status": section["status"], "error": _clean(section["error"]),
                        "published": _masked(section["result"])}
        for section in content["sections"]
    }  # fmt: skip
    data = {key: value for key, value in content["data"].items() if key not in ("digest", "sha256", "source")}
    return {
        **published,
        "summary": trial.summary(),
        "data": json.loads(_clean(json.dumps(data))),
        "sections": sections,
        "results": {name: _result(result) for name, result in trial.results.items()},
    }


def _masked(result: dict[str, Any] | None) -> Any:
    """What is published of a result: the table alone, the rest is recorded unmasked."""
    return None if result is None else {"kind": result["kind"], "estimates": result["estimates"]}


def _clean(text: str) -> str:
    return text.replace(str(inputs.scratch()), "<scratch>")


def _flatten(content: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(content, Mapping):
        if not content:
            yield path, "(nothing)"
        for key, value in content.items():
            if key not in LEFT_OUT:
                yield from _flatten(value, (*path, str(key).replace(SEPARATOR, "|")))
    elif isinstance(content, list):
        numbers = len(content) > LONG and all(
            isinstance(x, int | float) and not isinstance(x, bool) for x in content
        )
        if not content:
            yield path, "(empty)"
        elif numbers:
            yield from _flatten(_sums(content), path)
        else:
            for index, value in enumerate(content):
                yield from _flatten(value, (*path, str(index)))
    elif isinstance(content, float):
        yield path, _short(content)
    else:
        yield path, content


def _sums(numbers: list[Any]) -> dict[str, Any]:
    """A long list by its size, its mean, a mean that knows the order, and a few members."""
    array = np.array(numbers, dtype=float).ravel()
    order = np.linspace(0.0, 1.0, array.size)
    return {
        "size": array.size,
        "mean": float(array.mean()) if array.size else None,
        "ordered": float((array * order).mean()) if array.size else None,
        "some": array[:: max(1, array.size // 5)].tolist(),
    }


def _short(value: float) -> float:
    """Two digits more than are compared."""
    size = abs(value)
    if size >= 1 or value == 0 or value != value or size == float("inf"):
        return float(f"{value:.14g}")
    return float(f"{value:.9g}") if size < 1e-6 else round(value, 14)

"""results.json: read again, and checked against the published schema."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from fairtrial._errors import Fault, InputError, Set, Words
from fairtrial._method.declaration import all_methods

SCHEMA = "fairtrial/_trial/2"
NAME_OURS = "Name the results.json that `fairtrial run` wrote"
WRITE_ANEW = "Write it anew with fairtrial run"  # what to do with a file that is none of ours any more
MAX_BYTES = 200_000_000
MOST_DIGITS = 20
LARGEST = 1e300  # in percent and as a sum it is a number still


def check_schema(content: Mapping[str, Any]) -> None:
    """Raise unless the content keeps to the published JSON schema, which names the place of the first fault."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    schema = json.loads(files("fairtrial._trial").joinpath("results.schema.json").read_text(encoding="utf-8"))
    try:
        fault = best_match(Draft202012Validator(schema).iter_errors(content))
    except RecursionError:
        raise InputError(
            "results.json", Fault("", "is nested too deep to be a result", cure=WRITE_ANEW)
        ) from None
    if fault is not None:
        place = "/".join(str(part) for part in fault.absolute_path)
        text = f"does not keep to its schema at {place or 'the top'}: {fault.message[:300]}"
        raise InputError("results.json", Fault("", text, cure=WRITE_ANEW))


def load_results(path: str | os.PathLike[str]) -> dict[str, Any]:
    """A results.json read again, checked for its schema; whoever wrote it, a bad one gives one message."""
    file = Path(path)
    who = file.name or str(path)
    if file.is_dir():
        file = file / "results.json"
    try:
        if file.stat().st_size > MAX_BYTES:
            text = f"is larger than {MAX_BYTES // 1_000_000} MB, which no trial writes"
            raise InputError(who, Fault("", text, cure=NAME_OURS))
        content: Any = json.loads(
            file.read_text(encoding="utf-8"), parse_constant=_refused, parse_float=_float, parse_int=_int
        )
    except FileNotFoundError:
        text = f"there is no file {str(path)!r}; `fairtrial run` writes results.json"
        raise InputError(who, Fault("", text)) from None
    except RecursionError:
        raise InputError(who, Fault("", "is nested too deep to be a result", cure=WRITE_ANEW)) from None
    except (OSError, ValueError) as error:
        raise InputError(who, Fault("", f"cannot be read as JSON: {error}", cure=NAME_OURS)) from None
    found = content.get("schema") if isinstance(content, dict) else None
    if not isinstance(content, dict) or found != SCHEMA:
        text = f"is not a result of `fairtrial run`: 'schema' must be {SCHEMA!r}, got {found!r}"
        raise InputError(who, Fault("", text))
    check_schema(content)
    _check_names(who, content)
    return content


def _check_names(who: str, content: Mapping[str, Any]) -> None:
    """Every test belongs to a section of the file, every section is there once and of a method that exists."""
    known, sections = all_methods(), [section["id"] for section in content["sections"]]
    twice = next((name for name in sections if sections.count(name) > 1), None)
    if twice is not None:
        raise InputError(who, Fault("", f"has the section {twice[:60]!r} more than once", cure=WRITE_ANEW))
    for item in (*content["sections"], *content["family"]):
        if item["method"] not in known:
            raise InputError(
                who,
                Fault("", f"names the method {item['method'][:60]!r}, which does not exist", cure=WRITE_ANEW),
            )
    for entry in content["family"]:
        if entry["section"] not in sections:
            raise InputError(
                who,
                Fault(
                    "", f"names the section {entry['section'][:60]!r}, which is not there", cure=WRITE_ANEW
                ),
            )


def _refused(constant: str) -> float:
    """NaN and infinities are not JSON, and no trial writes them."""
    raise ValueError(f"{constant} is no number that a trial writes")


def _float(text: str) -> float:
    number = float(text)
    return number if abs(number) <= LARGEST else _refused(text[:60])


def _int(text: str) -> int:
    """No count and no seed has more digits than 64 bits hold."""
    return int(text) if len(text) <= MOST_DIGITS else int(_refused(f"{text[:20]}…"))


def check_same_readers(folder: Path, publish: bool) -> None:
    """Raise where the owner's files and those for strangers would stand in one folder, or take each other's place."""
    if not folder.is_dir():
        return
    try:
        other = bool(load_results(folder / "results.json")["report"].get("publish")) is not publish
        held = "what was published" if other and not publish else "a report that was not made for strangers"
    except InputError:
        other = publish and any(any((folder / name).glob("*")) for name in ("tables", "charts"))
        other, held = other or (publish and (folder / "results.json").exists()), "files of another report"
    if other:
        cure = Words("choose another folder with {}", Set("out"))
        raise InputError("run", Fault("out", f"holds {held}", cure=cure, subject=f"the folder {folder}"))

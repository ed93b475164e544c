"""results.json: read again, and checked against the published schema."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from fairtrial.errors import Fault, InputError

SCHEMA = "fairtrial/trial/2"


def check_schema(content: Mapping[str, Any]) -> None:
    """Raise unless the content keeps to the published JSON schema, which names the place of the first fault."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    schema = json.loads(files("fairtrial.trial").joinpath("results.schema.json").read_text(encoding="utf-8"))
    fault = best_match(Draft202012Validator(schema).iter_errors(content))
    if fault is not None:
        place = "/".join(str(part) for part in fault.absolute_path)
        text = f"does not keep to its schema at {place or 'the top'}: {fault.message[:300]}"
        raise InputError("results.json", Fault("", text))


def load_results(path: str | os.PathLike[str]) -> dict[str, Any]:
    """A results.json read again, checked for its schema."""
    file = Path(path)
    who = file.name or str(path)
    if file.is_dir():
        file = file / "results.json"
    try:
        content: Any = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        text = f"there is no file {str(path)!r}; `fairtrial run` writes results.json"
        raise InputError(who, Fault("", text)) from None
    except (OSError, ValueError) as error:
        cure = "Name the results.json that `fairtrial run` wrote"
        raise InputError(who, Fault("", f"cannot be read as JSON: {error}", cure=cure)) from None
    found = content.get("schema") if isinstance(content, dict) else None
    if not isinstance(content, dict) or found != SCHEMA:
        text = f"is not a result of `fairtrial run`: 'schema' must be {SCHEMA!r}, got {found!r}"
        raise InputError(who, Fault("", text))
    return content

"""A linear rule from a file, for the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fairtrial.errors import Fault, InputError


def linear_rule(text: str) -> str | dict[str, Any]:
    """The rule in a JSON file, {"coefficients": …, "intercept": …}; any text that names no such file stays itself.

    Plain data: nothing is executed.
    """
    if not text.lower().endswith(".json"):
        return text
    try:
        content = json.loads(Path(text).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError("transport", Fault("distance", f"{text!r} could not be read: {error}")) from None
    if not isinstance(content, dict):
        required = f"{text!r} must hold a JSON object with 'coefficients'"
        raise InputError("transport", Fault("distance", required))
    return content

"""Faults and settings as they are written in an audit.toml: `[data] threshold = 0.5`."""

from __future__ import annotations

import json
from typing import Any

from fairtrial._errors import NOTHING, PYTHON
from fairtrial._trial.spec.tables import data_keys, run_keys


class TomlSpeech:
    """How the file names keys, settings and sections.

    >>> TOML.setting("positive", {"outcome": "yes"}, "Audit"), TOML.setting("depth", 2, ""), TOML.method("flag")
    ('[data] positive = { outcome = "yes" }', 'depth = 2', '[flag]')
    """

    def subject(self, argument: str) -> str:
        """The key at the head of a sentence."""
        return repr(argument)

    def name(self, argument: str, of: str) -> str:
        """The key inside a sentence."""
        if of not in ("", "Audit"):
            return PYTHON.name(argument, of)
        return f"{_table(argument, of)}{argument}"

    def setting(self, argument: str, value: Any, of: str) -> str:
        """A line of the file, or its beginning where no value is proposed."""
        if of not in ("", "Audit"):
            return PYTHON.setting(argument, value, of)
        shown = "" if value is NOTHING else f" {value_text(value)}"
        return f"{_table(argument, of)}{argument} ={shown}"

    def method(self, name: str) -> str:
        """The section that asks another question."""
        return f"[{name}]"

    def value(self, value: Any) -> str:
        """A value, as the file writes it."""
        return value_text(value)


def _table(argument: str, of: str) -> str:
    if of == "Audit" and argument in data_keys():
        return "[data] "
    return "[run] " if argument in run_keys() else ""


TOML = TomlSpeech()


def value_text(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _number_text(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(value_text(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {value_text(item)}" for key, item in value.items()) + " }"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _number_text(value: float) -> str:
    """As short as it can be and still be the same number."""
    if isinstance(value, int) or value.is_integer():
        return str(int(value))
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() and key.isascii() else value_text(key)

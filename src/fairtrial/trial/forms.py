"""What a form for one question looks like, as a JSON schema: for pages, and for programs that write specs."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from typing import Any

from fairtrial.methods.declaration import Method
from fairtrial.options import Argument, recorded
from fairtrial.trial.spec.argument_kinds import (
    admits_groups,
    admits_metrics,
    is_attributes,
    is_criterion,
    is_metric,
)
from fairtrial.trial.spec.sections import section_keys

_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
_BOUNDS = {"least": "minimum", "most": "maximum", "above": "exclusiveMinimum", "below": "exclusiveMaximum"}


def form_schema(method: Method) -> dict[str, Any]:
    """The JSON schema of a section that asks one question.

    Parameters
    ----------
    method : Method
        A declared method.

    Returns
    -------
    dict
        A schema (draft 2020-12) with one property for each key of the section.

    Examples
    --------
    >>> from fairtrial.methods.declaration import find_method
    >>> form_schema(find_method("certify"))["properties"]["confidence_level"]
    {'type': 'number', 'exclusiveMinimum': 0.5, 'exclusiveMaximum': 1, 'description': 'Of the intervals.', \
'default': 0.95}
    """
    keys = section_keys(method)
    title = {"type": "string", "description": "A heading of its own."}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": method.question,
        "description": method.help,
        "type": "object",
        "additionalProperties": False,
        "required": [name for name, argument in keys.items() if argument.required],
        "properties": {"title": title, **{name: property_schema(part) for name, part in keys.items()}},
    }


def property_schema(argument: Argument) -> dict[str, Any]:
    """What one key may hold: types, choices, bounds, default and help."""
    bounds = {
        word: getattr(argument.option, bound)
        for bound, word in _BOUNDS.items()
        if getattr(argument.option, bound) is not None
    }
    default = {} if argument.required else {"default": recorded(argument.default)}
    return {**_values(argument), **_about(argument), **bounds, "description": argument.option.help, **default}


def _about(argument: Argument) -> dict[str, Any]:
    """What its texts name, so that a page can offer them: metrics, groups or columns."""
    if is_metric(argument) or is_criterion(argument) or admits_metrics(argument):
        return {"format": "metric"}
    if is_attributes(argument):
        return {"format": "columns"}
    return {"format": "group"} if admits_groups(argument) else {}


def _values(argument: Argument) -> dict[str, Any]:
    """Types and choices; nothing where the method alone can tell."""
    if any(kind in (object, Any) for kind in argument.kinds):
        return {}
    types = list(dict.fromkeys(word for kind in argument.kinds if (word := json_type(kind))))
    choices = list(argument.choices)
    if not choices:
        return {"type": types[0] if len(types) == 1 else types} if types else {}
    if set(types) <= {"null"}:
        return {"enum": [*choices, *([None] if types else [])]}
    return {"anyOf": [{"type": types}, {"enum": choices}]}


def json_type(kind: Any) -> str | None:
    """The JSON type of a value of this kind; None for choices and for what JSON cannot hold."""
    if kind in _TYPES:
        return _TYPES[kind]
    origin = typing.get_origin(kind) or kind
    if not isinstance(origin, type):
        return None
    return "object" if issubclass(origin, Mapping) else "array" if issubclass(origin, Sequence) else None

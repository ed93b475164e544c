"""Whether what was given is what was given before: kept work is taken up again only if it is."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from collections.abc import Set as AnySet
from typing import Any


def sameness(value: Any) -> str:
    """A hash of all that a value is, for finding kept work again.

    Numbers, texts, lists and tables of them count by content, arrays, dataframes and estimators (fitted or not) by
    every value in them. What a function answers cannot be seen from outside, so none equals another, nor itself.

    >>> sameness({"a": [1, 2.0]}) == sameness({"a": (1, 2.0)})
    True
    >>> sameness(len) == sameness(len)
    False
    """
    return hashlib.sha256(repr(_plain(value)).encode("utf-8", "backslashreplace")).hexdigest()


def _plain(value: Any) -> Any:
    """The value as texts and lists whose repr is whole."""
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return repr(value)
    if isinstance(value, Mapping):
        return "table", sorted((repr(_plain(key)), _plain(part)) for key, part in value.items())
    if isinstance(value, AnySet):
        return "set", sorted(repr(_plain(part)) for part in value)
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return type(value).__module__, type(value).__qualname__, _content(value)


def _content(value: Any) -> str:
    """A hash of an object's values; of what has none that can be compared, something that is never met again."""
    import joblib

    if not callable(value):
        try:
            return str(joblib.hash(value, hash_name="sha1"))
        except Exception:  # whatever an object raises on being read whole
            pass
    return uuid.uuid4().hex

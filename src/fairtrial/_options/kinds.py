"""What kinds of values an argument may be, read from its type."""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal


def alternatives(hint: Any) -> tuple[Any, ...]:
    if typing.get_origin(hint) is Annotated:
        return alternatives(hint.__origin__)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return tuple(part for member in typing.get_args(hint) for part in alternatives(member))
    return (hint,)


SIMPLE: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    type(None): "nothing",
}


def is_literal(part: Any) -> bool:
    return typing.get_origin(part) is Literal


def fits(value: Any, part: Any) -> bool:
    if is_literal(part):
        return any(type(value) is type(choice) and value == choice for choice in typing.get_args(part))
    if isinstance(value, bool):  # which Python counts among the whole numbers
        return part is bool
    if part is float:
        return isinstance(value, int | float) and math.isfinite(value)
    return part in (int, str) and isinstance(value, part)


def is_open(part: Any) -> bool:
    return part not in SIMPLE and not is_literal(part)


def is_of(value: Any, part: Any) -> bool:
    """Whether a value is of a kind that the argument may be, whatever it holds."""
    if is_literal(part):
        return any(isinstance(value, type(choice)) for choice in typing.get_args(part))
    kind = typing.get_origin(part) or part
    if not isinstance(kind, type) or kind in (object, Any) or getattr(kind, "_is_protocol", False):
        return kind is not Callable or callable(value)
    if isinstance(value, bool):  # which Python counts among the whole numbers
        return kind is bool
    if isinstance(value, list | tuple | range):
        return kind in (Sequence, list) and _hold(filter(_is_nested, value), part)
    if isinstance(value, Mapping):
        return kind is Mapping and _hold(value.values(), part)
    return isinstance(value, int | float if kind is float else kind) and kind is not Sequence


def _is_nested(item: Any) -> bool:
    return isinstance(item, list | tuple | set | frozenset | Mapping)


def _hold(items: Iterable[Any], part: Any) -> bool:
    """Whether what is inside is of a kind that the declared list or table may hold; what kind is often not said."""
    inside = typing.get_args(part)[-1:]
    return not inside or all(any(is_of(item, kind) for kind in alternatives(inside[0])) for item in items)


def numbers_in(value: Any) -> Iterator[float]:
    """A number, or every one in a list or table of them."""
    if isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from numbers_in(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def finite(value: Any) -> bool:
    """Whether a number, and every one in a list or table of them, is finite."""
    return all(not isinstance(number, float) or math.isfinite(number) for number in numbers_in(value))


def plain(value: Any) -> Any:
    """NumPy scalars as Python ones, inside lists and tables too; everything else as it is."""
    if type(value).__module__ == "numpy":
        return value.item() if getattr(value, "ndim", 1) == 0 else value
    if type(value) is dict:
        return {plain(key): plain(item) for key, item in value.items()}
    return type(value)(map(plain, value)) if type(value) in (list, tuple) else value


def recorded(value: Any) -> Any:
    """An argument as results and files record it: plain JSON; of objects that are none, their name."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "to_dict") and not isinstance(value, type):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): recorded(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [recorded(item) for item in value]
    return getattr(value, "__name__", type(value).__name__)

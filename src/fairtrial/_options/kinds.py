"""What kinds of values an argument may be, read from its type, and how a typed text becomes one."""

from __future__ import annotations

import math
import re
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


# -- What a text of the command line stands for where the type does not say how to read it.


def number_or_text(text: str) -> float | str:
    """'0.3' is a number, 'random' a text."""
    try:
        return float(text)
    except ValueError:
        return text


def numbers(text: str) -> float | list[float] | str:
    """'0.05' is a number, '-0.02,0.05' two of them; anything else stays a text, which the check refuses."""
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        return text
    return found[0] if len(found) == 1 else found


class Share(float):
    """A share that was told in people: five in a hundred."""

    __slots__ = ()


def share(told: Any) -> Any:
    """A share told in people, alone or in a list or table; anything else as it is.

    >>> share("5 in 100"), share(["5 in 1,000", 0.1]), share("5 in 0")
    (0.05, [0.005, 0.1], '5 in 0')
    """
    if isinstance(told, dict):
        return {key: share(part) for key, part in told.items()}
    if isinstance(told, list | tuple):
        return type(told)(map(share, told))
    found = _IN_PEOPLE.fullmatch(told) if isinstance(told, str) else None
    if found is None:
        return told
    few, many = (float(part.replace(",", "")) for part in found.groups())
    return Share(few / many) if few < many else told


IN_PEOPLE = r"\s*([0-9][0-9.,]*)\s+in\s+([0-9][0-9,]*)\s*"
_IN_PEOPLE = re.compile(IN_PEOPLE)


def number_list(text: str) -> list[float] | str:
    """'0,0,0.1'."""
    found = numbers(text)
    return [found] if isinstance(found, float) else found


def group(text: str) -> dict[str, str | list[str]] | str:
    """'race=African-American,sex=Male'; 'race=A|B' admits two values. A label may hold commas.

    >>> group("race=A|B,sex=F"), group("name=Smith, J"), group("race")
    ({'race': ['A', 'B'], 'sex': 'F'}, {'name': 'Smith, J'}, 'race')
    """
    pairs: list[list[str]] = []
    for part in text.split(","):
        if "=" in part:
            pairs.append(part.split("=", 1))
        elif pairs:
            pairs[-1][1] += f",{part}"
        else:
            return text
    return {name.strip(): label.split("|") if "|" in label else label for name, label in pairs}


def compared(text: str) -> Any:
    """An attribute, a group, or an attribute with a column of probabilities for each of its groups.

    >>> compared("race"), compared("race=A|B"), compared("race: White=p_white, Black=p_black")
    ('race', {'race': ['A', 'B']}, {'race': {'White': 'p_white', 'Black': 'p_black'}})
    """
    name, colon, rest = text.partition(":")
    pairs = [part.partition("=") for part in rest.split(",")]
    if not colon or "=" in name or not all(label.strip() and column.strip() for label, _, column in pairs):
        return group(text)
    return {name.strip(): {label.strip(): column.strip() for label, _, column in pairs}}


def target(text: str) -> Any:
    """'rest', 'overall', a number, or a group such as 'race=Caucasian'."""
    return group(text) if "=" in text else number_or_text(text)


def named_number(text: str) -> tuple[str, Any]:
    """'income=1' as a pair."""
    name, _, value = text.rpartition("=")
    if not name:
        raise ValueError("income=1")
    found = number_or_text(value)
    return name, int(found) if isinstance(found, float) and found.is_integer() else found


MOST_PARTS = 20  # a larger number is no number of parts but a place to cut


def cuts(text: str) -> tuple[str, Any]:
    """'age=25,45' are edges, 'age=62' is one, and a small number is one of equal parts: 'age=4' are quarters.

    >>> cuts("age=25,45"), cuts("age=62"), cuts("age=4")
    (('age', [25.0, 45.0]), ('age', [62.0]), ('age', 4))
    """
    name, _, edges = text.partition("=")
    if not edges:
        raise ValueError("age=25,45 or age=62 or age=4")
    found = numbers(edges)
    if not isinstance(found, float):
        return name, found
    return name, int(found) if found.is_integer() and 2 <= found <= MOST_PARTS else [found]

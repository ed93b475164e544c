"""What an argument must be, in words for a person: its own, or from its type and bounds."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fairtrial.errors import Words
from fairtrial.options.kinds import SIMPLE, alternatives, is_literal, is_open
from fairtrial.options.option import Option


def required(kinds: Sequence[Any], option: Option) -> Words:
    """'must be a whole number of at least 1', 'must be one of ['a', 'b']', 'must be a name or a list of names'."""
    if option.must:
        own = option.must if isinstance(option.must, Words) else Words(option.must)
        return Words(f"must be {own.text}", *own.parts)
    opened = any(map(is_open, kinds))
    words = number_words(kinds, option)
    words += [
        SIMPLE[part] if part is bool or not opened else "a name" for part in kinds if part in (bool, str)
    ]
    words += dict.fromkeys(_open_words(part) for part in kinds if is_open(part))
    choices = [choice for part in kinds if is_literal(part) for choice in typing.get_args(part)]
    if choices:
        listed = ", ".join(repr(choice) for choice in choices)
        words.append(f"one of [{listed}]" if len(choices) > 1 else repr(choices[0]))
    return Words(f"must be {_either(words)}")


def number_words(kinds: Sequence[Any], option: Option) -> list[str]:
    """The numbers it may be, with their bounds: ['a number above 0']."""
    return [_number_words(part, option) for part in kinds if part in (int, float)]


def _either(words: Sequence[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 2 else words)


def _number_words(kind: type, option: Option) -> str:
    name = "a whole number" if kind is int else "a number"
    for low, high in ((option.least, option.most), (option.above, option.below)):
        if low is not None and high is not None:
            return f"{name} between {_shown(low)} and {_shown(high)}"
    bounds = (
        (option.least, "of at least"),
        (option.above, "above"),
        (option.most, "of at most"),
        (option.below, "below"),
    )
    words = [f"{word} {_shown(bound)}" for bound, word in bounds if bound is not None]
    return f"{name} {' and '.join(words)}".rstrip()


def _shown(bound: float) -> str:
    return f"{int(bound):,}" if float(bound).is_integer() else f"{bound:g}"


def _open_words(part: Any) -> str:
    kind = typing.get_origin(part) or part
    if getattr(kind, "kind", ""):  # a Result
        return f"a result of {kind.kind}"
    if getattr(kind, "_is_protocol", False):
        return "a scikit-learn estimator"
    inside = [item for hint in typing.get_args(part)[-1:] for item in alternatives(hint)]
    if kind is Mapping:
        return f"a table of names and {_several(inside)}"
    if kind is Sequence:
        return f"a list of {_several(inside)}"
    return "a function" if kind is Callable else _NAMED.get(kind.__name__, f"a {kind.__name__}")


_NAMED = {"ndarray": "an array", "Any": "data"}
_SEVERAL: dict[Any, str] = {float: "numbers", int: "whole numbers", str: "names", Mapping: "tables"}


def _several(kinds: Sequence[Any]) -> str:
    kind = typing.get_origin(kinds[0]) or kinds[0] if len(kinds) == 1 else None
    return _SEVERAL.get(kind, "values")

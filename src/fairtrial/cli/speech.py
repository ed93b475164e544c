"""Faults as whoever types a command must hear them: `--threshold 0.5`, not threshold=0.5."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from fairtrial import _options as options
from fairtrial._errors import NOTHING, PYTHON
from fairtrial._method.declaration import declared_methods
from fairtrial._options import Argument


class CommandSpeech:
    """How a command names its options; what is no option of it is named as in Python.

    Parameters
    ----------
    arguments : iterable of Argument
        Declared arguments that the command takes as options.
    named : mapping, optional
        Further parameters as they are typed: {"data": "DATA", "out": "--out"}.

    Examples
    --------
    >>> from fairtrial._audit.audit import Audit
    >>> from fairtrial._options import arguments_of
    >>> speech = CommandSpeech(arguments_of(Audit.__init__))
    >>> speech.setting("positive", {"outcome": "yes, late"}, "Audit"), speech.subject("groups")
    ("--positive 'outcome=yes, late'", '--by')
    """

    def __init__(self, arguments: Iterable[Argument], named: Mapping[str, str] | None = None) -> None:
        self.arguments = {argument.name: argument for argument in arguments}
        typed = {argument.flag: f"--{argument.flag}" for argument in self.arguments.values()}
        own = {argument.name: f"--{argument.flag}" for argument in self.arguments.values()}
        self.typed = {**(named or {}), **typed, **own}

    def subject(self, argument: str) -> str:
        """The argument at the head of a sentence."""
        return self.typed.get(argument, PYTHON.subject(argument))

    def name(self, argument: str, of: str) -> str:
        """The argument inside a sentence."""
        return self.typed.get(argument, PYTHON.name(argument, of))

    def setting(self, argument: str, value: Any, of: str) -> str:
        """The argument with a value, as it can be typed."""
        option = self.typed.get(argument) or _another_commands(argument)
        if option is None:
            return PYTHON.setting(argument, value, of)
        if value is NOTHING:
            return option
        declared = self.arguments.get(argument)
        if isinstance(value, bool) and (declared is None or declared.is_flag):
            return option if value else f"--no-{option.removeprefix('--')}"
        return " ".join(f"{option} {shlex.quote(text)}" for text in typed_texts(value, declared))

    def method(self, name: str) -> str:
        """Another method, as its command is called."""
        return name.replace("_", "-")

    def value(self, value: Any) -> str:
        """A value, as it can be typed."""
        return " ".join(shlex.quote(text) for text in typed_texts(value))


def _another_commands(argument: str) -> str | None:
    """The option of another command, which a fault sends people to."""
    declared = (part for method in declared_methods().values() for part in method.arguments)
    return next((f"--{part.flag}" for part in declared if part.name == argument), None)


def typed_texts(value: Any, argument: Argument | None = None) -> list[str]:
    """The texts that stand for a value: one for each time the option is given.

    >>> typed_texts(0.5), typed_texts({"age": [25, 45]}), typed_texts(None)
    (['0.5'], ['age=25,45'], ['none'])
    """
    is_group = argument is not None and argument.option.form in (options.group, options.target)
    many = argument is not None and argument.option.many
    if isinstance(value, Mapping):
        pairs = [f"{name}={_one(part, '|' if is_group else ',')}" for name, part in value.items()]
        return [",".join(pairs)] if is_group else pairs
    if isinstance(value, list | tuple) and many:
        return [text for item in value for text in typed_texts(item, argument)]
    return [_one(value)]


def _one(value: Any, joint: str = ",") -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return joint.join(_one(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)

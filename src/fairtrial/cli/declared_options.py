"""Declared arguments as options of a command: Typer is handed texts, and the declarations read them.

Only what was typed is passed on, so that Python's default is the only default.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer

from fairtrial._metrics.table import CRITERIA, METRICS
from fairtrial._options import Argument
from fairtrial.cli.speech import typed_texts

METRICAL = ("metric", "criterion", "accuracy", "fairness")  # flags that a metric or a criterion follows


def writable(arguments: Iterable[Argument]) -> tuple[Argument, ...]:
    """The arguments that can be typed."""
    return tuple(part for part in arguments if not part.option.python_only)


def read(arguments: Iterable[Argument], texts: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the options that were typed, by argument."""
    found = {}
    for argument in arguments:
        text = texts[parameter_name(argument)]
        if text is not None and text != []:
            found[argument.name] = read_one(argument, text)
    return found


def read_one(argument: Argument, text: Any) -> Any:
    """The value that was typed: pairs become a dict, a single text stays single where one will do."""
    if argument.is_flag:
        return text
    if not argument.option.many:
        return argument.read(text)
    values = [argument.read(part) for part in text]
    if all(isinstance(value, tuple) for value in values):
        return _table(values)
    return values[0] if len(values) == 1 and isinstance(values[0], str) and str in argument.kinds else values


def _table(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Pairs as a dict; a name that was typed several times has a list."""
    found: dict[str, list[Any]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def parameter_name(argument: Argument) -> str:
    """The name under which Typer hands over the texts of an option."""
    return argument.flag.replace("-", "_")


def option_parameter(argument: Argument, panel: str | None = None) -> inspect.Parameter:
    """What Typer reads one option from."""
    kind: Any = bool if argument.is_flag else list[str] if argument.option.many else str
    name = f"--{argument.flag}/--no-{argument.flag}" if argument.is_flag else f"--{argument.flag}"
    settings: dict[str, Any] = (
        {}
        if argument.is_flag
        else {"metavar": _metavar(argument), "autocompletion": completing(known_texts(argument))}
    )
    option = typer.Option(
        name, help=option_help(argument), rich_help_panel=panel, show_default=False, **settings
    )
    return inspect.Parameter(
        parameter_name(argument),
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[kind if argument.required else kind | None, option],
        default=inspect.Parameter.empty if argument.required else None,
    )


def known_texts(argument: Argument) -> list[str]:
    """What can be typed after an option, where that is known beforehand."""
    if argument.flag in METRICAL:
        return [*METRICS, *CRITERIA]
    return [typed_texts(choice)[0] for choice in argument.choices]


def completing(texts: Iterable[str]) -> Callable[[str], list[str]]:
    """What a shell completes a text to."""
    known = list(texts)
    return lambda incomplete: [text for text in known if text.startswith(incomplete)]


def positional_parameter(argument: Argument) -> inspect.Parameter:
    """What Typer reads an argument from that is typed by its place alone."""
    name = parameter_name(argument)
    place = typer.Argument(help=option_help(argument), metavar=name.upper())
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[str, place])


def fail_on_parameter(gates: Sequence[str]) -> inspect.Parameter:
    """The verdicts at which a command fails."""
    text = f"Exit with 3 when the verdict is: {', '.join(gates)}; repeat it."
    kind = Annotated[list[str] | None, typer.Option("--fail-on", help=text, rich_help_panel="Output")]
    return inspect.Parameter("fail_on", inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=None)


def set_signature(command: Callable[..., None], parameters: Sequence[inspect.Parameter]) -> None:
    """Give a function that takes anything the parameters Typer is to see."""
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {part.name: part.annotation for part in parameters}


def _metavar(argument: Argument) -> str:
    number = argument.option.form is None and set(argument.kinds) <= {int, float, type(None)}
    return "NUMBER" if number else "TEXT"


def option_help(argument: Argument) -> str:
    """What it is, what it may be, how often it may be given, and Python's default."""
    more = []
    if argument.choices:
        skipped = ["none"] if argument.optional and argument.default is not None else []
        more.append(" | ".join([*(typed_texts(choice)[0] for choice in argument.choices), *skipped]))
    if argument.bounded:
        more += argument.number_words()
    if argument.option.many:
        more.append("repeat it")
    if not argument.required and not any(argument.default is empty for empty in (None, (), "", False)):
        more.append(f"default: {' '.join(typed_texts(argument.default, argument))}")
    return f"{argument.option.help} ({'; '.join(more)})" if more else argument.option.help

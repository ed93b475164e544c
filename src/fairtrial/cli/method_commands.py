"""Declared arguments as options of a command: Typer is handed texts, and the declarations read them.

Only what was typed is passed on, so that Python's default is the only default.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from fairtrial import _work as work
from fairtrial._audit.audit import Audit
from fairtrial._errors import FairtrialWarning, check_choice
from fairtrial._method.declaration import Method, declared_methods
from fairtrial._metrics.table import CRITERIA, METRICS
from fairtrial._options import Argument
from fairtrial._results.result import Result
from fairtrial._trial.spec.tables import is_attributes, role_keys
from fairtrial._work.memory import check_limits
from fairtrial.cli.live import show_progress
from fairtrial.cli.printing import MORE_OUTPUTS, OUTPUT_OPTIONS, QUIET, OutputFiles
from fairtrial.cli.speech import CommandSpeech, typed_texts

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


# -- One command for each declared method: its options are the arguments of the function and of the Audit.

CONDITION_MET = 3  # exit code of a gate that closes
DATA = Annotated[
    str, typer.Argument(help="CSV, Excel, Parquet, Arrow or JSON file, or a glob of them.", metavar="DATA")
]


def questions() -> dict[str, Method]:
    """Methods that have a command, by the name one types."""
    return {
        name.replace("_", "-"): method for name, method in declared_methods().items() if not method.no_command
    }


@dataclass(frozen=True, slots=True)
class Question:
    """The options of one method: those that open its data, and its own."""

    method: Method
    roles: tuple[Argument, ...]
    own: tuple[Argument, ...]

    @classmethod
    def of(cls, method: Method) -> Question:
        """An option of the Audit's name and flag is the Audit's; one of its flag alone the method's, and tells it."""
        own = writable(method.arguments)
        if not method.takes_audit:
            return cls(method, (), own)
        roles = tuple(role_keys().values())
        own = tuple(
            part for part in own if (part.name, part.flag) not in {(role.name, role.flag) for role in roles}
        )
        return cls(method, tuple(role for role in roles if role.flag not in {part.flag for part in own}), own)

    @property
    def outputs(self) -> dict[str, Any]:
        """The files its answer can be written to."""
        return {**OUTPUT_OPTIONS, **MORE_OUTPUTS.get(self.method.name, {})}

    @property
    def speech(self) -> CommandSpeech:
        """How its faults are worded."""
        audit = role_keys().values() if self.method.takes_audit else ()
        outputs = {name: f"--{name}" for name in self.outputs}
        first = {name: name.upper() for name in self.method.before_audit}
        options = [part for part in self.method.arguments if part.name not in first]
        named = {"data": "DATA", "fail_on": "--fail-on", **first, **outputs}
        # of one name, the Audit's option is the one that is told of: a column is easier mistyped than a choice
        return CommandSpeech(writable([*options, *audit]), named)

    def ask(self, data: str | None, texts: Mapping[str, Any], quiet: bool = False) -> Result:
        """The answer to what was typed."""
        given = read(self.own, texts)
        opening = self.opening(texts, given)
        attributed = {part.name for part in self.own if is_attributes(part)}
        given = {name: _by_name(value) if name in attributed else value for name, value in given.items()}
        with work.session(progress=show_progress(quiet)), warnings.catch_warnings():
            warnings.simplefilter("ignore", FairtrialWarning)  # the result's notes say the same
            if data is None:
                return self.method.function(**given)
            return self.method.function(audit=Audit(data, **opening), **given)

    def opening(self, texts: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """The Audit's arguments; attributes that the method itself compares are its groups."""
        compared = [given[part.name] for part in self.own if is_attributes(part) and part.name in given]
        groups = {"groups": attributes(compared[0])} if compared else {}
        return {**read(self.roles, texts), **groups}

    def command(self) -> Callable[..., None]:
        """A function that Typer makes a command of."""

        gates = self.method.result.gates

        def command(**values: Any) -> None:
            check_limits(self.method.name)
            files = OutputFiles(**{name: values.pop(name) for name in self.outputs})
            files.check()
            fail_on = values.pop("fail_on", None) or []
            for condition in fail_on:
                check_choice(self.method.name, "fail_on", condition, gates)
            quiet = values.pop("quiet", False)
            result = self.ask(values.pop("data", None), values, quiet)
            files.take(result, quiet)
            if result.verdict.code in fail_on:
                raise typer.Exit(CONDITION_MET)

        parameter = inspect.Parameter
        first = [part for part in self.own if part.name in self.method.before_audit]
        data = [positional_parameter(part) for part in first]
        data += (
            [parameter("data", parameter.KEYWORD_ONLY, annotation=DATA)] if self.method.takes_audit else []
        )
        options = [option_parameter(role, "Data") for role in self.roles]
        options += [option_parameter(part, "Question") for part in self.own if part not in first]
        options += [fail_on_parameter(gates)] if gates else []
        outputs = [
            parameter(name, parameter.KEYWORD_ONLY, annotation=kind, default=None)
            for name, kind in self.outputs.items()
        ]
        quiet = parameter("quiet", parameter.KEYWORD_ONLY, annotation=QUIET, default=False)
        set_signature(command, [*data, *options, *outputs, quiet])
        return command


def attributes(by: Any) -> list[Any]:
    """The columns that attributes and groups such as {"race": "Caucasian"} are about; with their columns of
    probabilities where they have such."""
    listed = by if isinstance(by, list) else [by]
    probable = [item for item in listed if _is_probable(item)]
    names = [
        name
        for item in listed
        if item not in probable
        for name in (item if isinstance(item, Mapping) else [item])
    ]
    return [*dict.fromkeys(names), *probable]


def _is_probable(item: Any) -> bool:
    """Whether it is an attribute with columns of probabilities, which the Audit is told of."""
    return isinstance(item, Mapping) and any(isinstance(value, Mapping) for value in item.values())


def _by_name(value: Any) -> Any:
    """What a method is asked about, without the columns that the Audit was told of."""
    if isinstance(value, list):
        return [next(iter(item)) if _is_probable(item) else item for item in value]
    return value

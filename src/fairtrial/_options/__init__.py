"""Options are declared once, in the signature of the function that takes them."""

import functools
import inspect
import math
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, ParamSpec, TypeVar

from fairtrial._errors import NOTHING, Fault, Faults, InputError, Words, did_you_mean
from fairtrial._options.kinds import (
    SIMPLE,
    Share,
    alternatives,
    compared,
    cuts,
    finite,
    fits,
    group,
    is_literal,
    is_of,
    is_open,
    named_number,
    number_list,
    number_or_text,
    numbers,
    numbers_in,
    plain,
    recorded,
    share,
    target,
)


# -- What an argument is, beside its type.
@dataclass(frozen=True, slots=True)
class Option:
    """What an argument is, beside its type.

    Parameters
    ----------
    help : str
        One sentence for the command line, the docs and the page.
    least, most, above, below : float, optional
        Bounds of a number; `least` and `most` belong to it, `above` and `below` do not.
    form : callable, optional
        Makes the value from one text of the command line where the type does not say how.
    shares : bool
        Whether a number may be told in people: "5 in 100".
    many : bool
        Whether the command line takes the option several times and makes a list.
    flag : str, optional
        The command line's name where it differs: `--candidate` for one of `candidates`.
    python_only : str, optional
        Why the option cannot be written as text or in a file; empty when it can.
    whole_trial : bool
        Whether a trial sets it once for all its sections, such as the seed.
    not_in_file : str, optional
        Why an option of the command line has no key in the audit file; empty when it has one.
    path : bool
        Whether it names a file; in an audit file a relative one is relative to it.
    must : str or Words, optional
        What it must be, after "must be", where its type says too little: "the name of a metric, such as fpr".
    counts_by : str, optional
        What people are counted by, besides group, decision and outcome, when it is given: "strata" of the columns that
        it names, or "score". What is published must not tell of few people of those either.
    """

    help: str
    _: KW_ONLY
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    form: Callable[[str], Any] | None = None
    shares: bool = False
    many: bool = False
    flag: str = ""
    python_only: str = ""
    whole_trial: bool = False
    not_in_file: str = ""
    path: bool = False
    must: str | Words = ""
    counts_by: Literal["", "strata", "score"] = ""

    def admits(self, number: float) -> bool:
        """Whether a number lies inside the bounds."""
        at_least, at_most = self.least, self.most
        if (at_least is not None and number < at_least) or (at_most is not None and number > at_most):
            return False
        return (self.above is None or number > self.above) and (self.below is None or number < self.below)


__all__ = [
    "Argument",
    "Option",
    "Share",
    "arguments_of",
    "bind",
    "checked",
    "compared",
    "cuts",
    "faults_of",
    "group",
    "named_number",
    "number_list",
    "number_or_text",
    "numbers",
    "plain",
    "recorded",
    "target",
]


# -- Options are declared once, in the signature of the function that takes them.
# An argument's type is `Annotated[type, Option(help, bounds …)]`. From the signature follow the checks of a
# call, the options of the command line, the keys of the audit file, the tables of the documentation and the
# page's forms.
LARGEST = 2**63 - 1  # what a computer counts to
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Argument:
    """One declared argument of a function."""

    name: str
    hint: Any
    option: Option
    default: Any = NOTHING
    kinds: tuple[Any, ...] = field(
        default=(), repr=False
    )  # the types it may have, None's where it is optional

    @property
    def required(self) -> bool:
        return self.default is NOTHING

    @property
    def flag(self) -> str:
        """The option of the command line, without its dashes."""
        return (self.option.flag or self.name).replace("_", "-")

    @property
    def choices(self) -> tuple[Any, ...]:
        """The fixed values it may take; empty when it is not only a choice."""
        return tuple(value for part in self.kinds if is_literal(part) for value in typing.get_args(part))

    @property
    def optional(self) -> bool:
        return type(None) in self.kinds

    @property
    def is_flag(self) -> bool:
        """Whether it is only switched on or off."""
        return bool in self.kinds and set(self.kinds) <= {bool, type(None)}

    @property
    def bounded(self) -> bool:
        """Whether it is a number with bounds."""
        option = self.option
        return any(bound is not None for bound in (option.least, option.most, option.above, option.below))

    def plain(self, value: Any) -> Any:
        """The value with Python's own numbers, and lists in place of arrays unless it may be one."""
        value = share(value) if self.option.shares else value
        taken = any(getattr(typing.get_origin(part), "__name__", "") == "ndarray" for part in self.kinds)
        if float in self.kinds and isinstance(value, int) and abs(value) >= 2**63:
            return (math.inf if value > 0 else -math.inf) if abs(value) >= 2**1023 else float(value)
        array = type(value).__module__ == "numpy" and getattr(value, "ndim", 0) == 1 and not taken
        return plain(value.tolist() if array else value)

    def fault(self, value: Any) -> Fault | None:
        """What is wrong with a value that can be told without the data; None when nothing is."""
        value = share(value) if self.option.shares else value
        if value is None:
            return None if self.optional or self.default is None else self._fault(value)
        if any(fits(value, part) for part in self.kinds):
            return self._bounds_fault(value)
        if not self.open or not any(is_of(value, part) for part in self.kinds):
            # a text in place of a group is a label without its attribute: the method says which group it could mean
            return None if isinstance(value, str) and self._takes_group else self._fault(value)
        if not finite(value):
            return Fault(self.name, "must hold finite numbers", got=value)
        if all(map(self.option.admits, numbers_in(value))):
            return None
        return Fault(self.name, f"must hold in each place {self.number_words()[0]}", got=value)

    @property
    def _takes_group(self) -> bool:
        return self.option.form in (group, target)

    @property
    def open(self) -> bool:
        """Whether the type admits more than numbers, texts and choices; then the method checks the rest."""
        return any(map(is_open, self.kinds))

    def _fault(self, value: Any) -> Fault:
        choices = self.choices
        hint = did_you_mean(value, map(str, choices)) if isinstance(value, str) else ""
        infinite = isinstance(value, float) and not math.isfinite(value) and float in self.kinds
        if infinite and not self.bounded:
            return Fault(self.name, "must be a finite number", got=value)
        return Fault(self.name, self._required, got=value, hint=hint)

    @property
    def _required(self) -> Words:
        return required(self.kinds, self.option)

    def _bounds_fault(self, value: Any) -> Fault | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if isinstance(value, int) and abs(value) > LARGEST and int in self.kinds:
            return Fault(self.name, f"must be a whole number of at most {LARGEST:,}", got=value)
        if self.option.admits(value):
            return None
        return Fault(self.name, self._required, got=value)

    def number_words(self) -> list[str]:
        """The numbers it may be, with their bounds: ['a number above 0']."""
        return number_words(self.kinds, self.option)

    def read(self, text: str) -> Any:
        """The value that a text of the command line stands for."""
        for choice in self.choices:
            if str(choice) == text:
                return choice
        if self.optional and text == "none" and str not in self.kinds:
            return None
        if self.option.form is not None:
            try:
                return self.option.form(text)
            except ValueError as error:
                raise InputError(self.name, Fault(self.name, f"must look like {error}", got=text)) from None
        for part in (int, float):
            if part in self.kinds:
                try:
                    return part(text)
                except ValueError:
                    continue
        return text


@functools.cache
def arguments_of(function: Callable[..., Any]) -> tuple[Argument, ...]:
    """The declared arguments of a function, in the order of its signature.

    Each annotation is evaluated by itself, so that a name that only type checkers import hides no other.
    """
    function = inspect.unwrap(function)
    found = []
    for parameter in inspect.signature(function).parameters.values():
        hint = _evaluated(parameter.annotation, function)
        option = next((part for part in getattr(hint, "__metadata__", ()) if isinstance(part, Option)), None)
        if option is None:
            continue
        hint = hint.__origin__
        default = NOTHING if parameter.default is parameter.empty else parameter.default
        # a text that says a share stands for a number
        kinds = tuple(kind for kind in alternatives(hint) if not (option.shares and kind is str))
        found.append(Argument(parameter.name, hint, option, default, kinds))
    return tuple(found)


def _evaluated(annotation: Any, function: Callable[..., Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, function.__globals__)  # noqa: S307  our own source text
    except NameError:
        return Any


def faults_of(function: Callable[..., Any], given: Mapping[str, Any]) -> list[Fault]:
    """Every fault of the given arguments that the declaration can tell."""
    faults = [
        argument.fault(argument.plain(given[argument.name]))
        for argument in arguments_of(function)
        if argument.name in given
    ]
    return [fault for fault in faults if fault is not None]


def bind(
    function: Callable[..., Any], args: Sequence[Any], given: Mapping[str, Any]
) -> inspect.BoundArguments:
    """The arguments of a call, checked as they are declared, NumPy scalars as Python ones; all faults at once."""
    try:
        bound = inspect.signature(function).bind(*args, **given)
    except TypeError as error:
        names = [argument.name for argument in arguments_of(function)]
        unknown = [name for name in given if name not in names]
        raise TypeError(
            f"{function.__name__}() {error}.{did_you_mean(unknown[0], names) if unknown else ''}"
        ) from None
    faults = Faults(function.__name__)
    for fault in faults_of(function, bound.arguments):
        faults.add(fault)
    faults.raise_any()
    for argument in arguments_of(function):
        if argument.name in bound.arguments:
            bound.arguments[argument.name] = argument.plain(bound.arguments[argument.name])
    return bound


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The function with its arguments checked as they are declared."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        bound = bind(function, args, kwargs)
        return function(*bound.args, **bound.kwargs)

    return call


# -- What an argument must be, in words for a person: its own, or from its type and bounds.
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

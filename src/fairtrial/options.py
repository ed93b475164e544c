"""Options are declared once, in the signature of the function that takes them.

An argument's type is `Annotated[type, Option(help, bounds …)]`. From the signature follow the checks of a call, the
options of the command line, the keys of the audit file, the tables of the documentation and the page's forms.
"""

from __future__ import annotations

import functools
import inspect
import math
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any, Literal, ParamSpec, TypeVar

from fairtrial.errors import NOTHING, Fault, Faults, InputError, did_you_mean

P = ParamSpec("P")
R = TypeVar("R")


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
    """

    help: str
    _: KW_ONLY
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    form: Callable[[str], Any] | None = None
    many: bool = False
    flag: str = ""
    python_only: str = ""
    whole_trial: bool = False
    not_in_file: str = ""
    path: bool = False

    def admits(self, number: float) -> bool:
        """Whether a number lies inside the bounds."""
        at_least, at_most = self.least, self.most
        if (at_least is not None and number < at_least) or (at_most is not None and number > at_most):
            return False
        return (self.above is None or number > self.above) and (self.below is None or number < self.below)


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
        return tuple(value for part in self.kinds if _is_literal(part) for value in typing.get_args(part))

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
        taken = any(getattr(typing.get_origin(part), "__name__", "") == "ndarray" for part in self.kinds)
        if float in self.kinds and isinstance(value, int) and abs(value) >= 2**63:
            return math.copysign(math.inf, value) if abs(value) >= 2**1023 else float(value)
        array = type(value).__module__ == "numpy" and getattr(value, "ndim", 0) == 1 and not taken
        return plain(value.tolist() if array else value)

    def fault(self, value: Any) -> Fault | None:
        """What is wrong with a value that can be told without the data; None when nothing is."""
        if value is None:
            return None if self.optional or self.open else self._fault(value)
        if any(_fits(value, part) for part in self.kinds):
            return self._bounds_fault(value)
        if not self.open or not any(_is_of(value, part) for part in self.kinds):
            # a text in place of a table is a label without its attribute: the method says which group it could mean
            return None if isinstance(value, str) and self._takes_table else self._fault(value)
        return None if _finite(value) else Fault(self.name, "must hold finite numbers", got=value)

    @property
    def _takes_table(self) -> bool:
        return any((typing.get_origin(part) or part) is Mapping for part in self.kinds)

    @property
    def open(self) -> bool:
        """Whether the type admits more than numbers, texts and choices; then the method checks the rest."""
        return any(map(_is_open, self.kinds))

    def _fault(self, value: Any) -> Fault:
        choices = self.choices
        hint = did_you_mean(value, map(str, choices)) if isinstance(value, str) else ""
        infinite = isinstance(value, float) and not math.isfinite(value) and not self.bounded
        required = "a finite number" if infinite else self.required_words()
        return Fault(self.name, f"must be {required}", got=value, hint=hint)

    def _bounds_fault(self, value: Any) -> Fault | None:
        if isinstance(value, bool) or not isinstance(value, int | float) or self.option.admits(value):
            return None
        return Fault(self.name, f"must be {self.required_words()}", got=value)

    def required_words(self) -> str:
        """'a whole number of at least 1', 'one of ['a', 'b']'."""
        words = self.number_words()
        words += [_SIMPLE[part] for part in self.kinds if part in (bool, str)]
        words += dict.fromkeys(_open_words(part) for part in self.kinds if _is_open(part))
        choices = self.choices
        if choices:
            listed = ", ".join(repr(choice) for choice in choices)
            words.append(f"one of [{listed}]" if len(choices) > 1 else repr(choices[0]))
        return " or ".join(words)

    def number_words(self) -> list[str]:
        """The numbers it may be, with their bounds: ['a number above 0']."""
        return [_number_words(part, self.option) for part in self.kinds if part in (int, float)]

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


_SIMPLE: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    type(None): "nothing",
}


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


def _is_literal(part: Any) -> bool:
    return typing.get_origin(part) is Literal


def _fits(value: Any, part: Any) -> bool:
    if _is_literal(part):
        return any(type(value) is type(choice) and value == choice for choice in typing.get_args(part))
    if isinstance(value, bool):  # which Python counts among the whole numbers
        return part is bool
    if part is float:
        return isinstance(value, int | float) and math.isfinite(value)
    return part in (int, str) and isinstance(value, part)


def _is_open(part: Any) -> bool:
    return part not in _SIMPLE and not _is_literal(part)


def _is_of(value: Any, part: Any) -> bool:
    """Whether a value is of a kind that the argument may be, whatever it holds."""
    if _is_literal(part):
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
    return not inside or all(any(_is_of(item, kind) for kind in _alternatives(inside[0])) for item in items)


def _open_words(part: Any) -> str:
    kind = typing.get_origin(part) or part
    known = {Mapping: "a table of names and values", Sequence: "a list", Callable: "a function"}
    if getattr(kind, "kind", ""):  # a Result
        return f"a result of {kind.kind}"
    return known.get(kind) or f"a {getattr(kind, '__name__', 'value')}"


def _finite(value: Any) -> bool:
    """Whether a number, and every one in a list or table of them, is finite."""
    if isinstance(value, Mapping):
        return all(_finite(item) for item in value.values())
    if isinstance(value, list | tuple):
        return all(_finite(item) for item in value)
    return not isinstance(value, float) or math.isfinite(value)


def plain(value: Any) -> Any:
    """NumPy scalars as Python ones, inside lists and tables too; everything else as it is."""
    if type(value).__module__ == "numpy":
        return value.item() if getattr(value, "ndim", 1) == 0 else value
    if type(value) is dict:
        return {plain(key): plain(item) for key, item in value.items()}
    return type(value)(map(plain, value)) if type(value) in (list, tuple) else value


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
        found.append(Argument(parameter.name, hint, option, default, _alternatives(hint)))
    return tuple(found)


def _evaluated(annotation: Any, function: Callable[..., Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, function.__globals__)  # noqa: S307  our own source text
    except NameError:
        return Any


def _alternatives(hint: Any) -> tuple[Any, ...]:
    if typing.get_origin(hint) is Annotated:
        return _alternatives(hint.__origin__)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return tuple(part for member in typing.get_args(hint) for part in _alternatives(member))
    return (hint,)


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


# -- texts of the command line ------------------------------------------------------------------------------
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

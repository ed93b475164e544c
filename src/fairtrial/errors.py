"""What can go wrong, said once, clearly, before any work starts."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches


class FairtrialError(Exception):
    """Base of everything this package raises on purpose."""


class InputError(FairtrialError, ValueError):
    """The caller's input cannot be used; `faults` lists every reason found.

    >>> raise InputError("measure", ["'by' names the unknown column 'rce'", "'score' has 3 infinite values"])
    Traceback (most recent call last):
    fairtrial.errors.InputError: measure: 2 faults:
      - 'by' names the unknown column 'rce'
      - 'score' has 3 infinite values
    """

    def __init__(self, who: str, faults: str | Iterable[str]) -> None:
        self.who = who
        self.faults = (faults,) if isinstance(faults, str) else tuple(faults)
        if len(self.faults) == 1:
            text = f"{who}: {self.faults[0]}"
        else:
            text = "\n  - ".join([f"{who}: {len(self.faults)} faults:", *self.faults])
        super().__init__(text)


class NotApplicable(InputError):
    """The method cannot take this metric or these data; the message says which one can."""


class MissingExtra(FairtrialError, ImportError):
    """An optional dependency is needed; the message says how to install it."""


class Cancelled(FairtrialError):
    """Long work was stopped between two batches; what was finished is kept in its store."""


class FairtrialWarning(UserWarning):
    """Something was done in a weaker way than asked; the result's notes say the same."""


class Faults:
    """Collects faults so that one message lists them all."""

    def __init__(self, who: str) -> None:
        self.who = who
        self.texts: list[str] = []

    def add(self, text: str) -> None:
        if text not in self.texts:
            self.texts.append(text)

    def extend(self, error: InputError) -> None:
        for fault in error.faults:
            self.add(fault)

    def raise_any(self) -> None:
        if self.texts:
            raise InputError(self.who, self.texts)


def did_you_mean(word: object, options: Iterable[str]) -> str:
    """`" Did you mean 'fpr'?"` when something close exists, else an empty string."""
    close = get_close_matches(str(word), [str(option) for option in options], n=1, cutoff=0.6)
    return f" Did you mean {close[0]!r}?" if close else ""


def known_columns(names: Collection[str]) -> str:
    """`" Columns: 'age', 'sex'."`, the first twelve, for a name that resembles none of them."""
    shown = [repr(name) for name in list(names)[:12]]
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f" Columns: {', '.join(shown)}{more}."


def choice_fault(argument: str, value: object, options: Collection[str]) -> str | None:
    """The fault text when `value` is not one of `options`, else None."""
    if isinstance(value, str) and value in options:
        return None
    listed = ", ".join(repr(option) for option in options)
    return f"{argument!r} must be one of [{listed}], got {value!r}.{did_you_mean(value, options)}"


def check_choice(who: str, argument: str, value: object, options: Collection[str]) -> None:
    """Raise InputError unless `value` is one of `options`.

    >>> check_choice("certify", "likelihood", "empirica", ["empirical", "euclidean"])
    Traceback (most recent call last):
    fairtrial.errors.InputError: certify: 'likelihood' must be one of ['empirical', 'euclidean'], got 'empirica'. \
Did you mean 'empirical'?
    """
    fault = choice_fault(argument, value, options)
    if fault:
        raise InputError(who, fault)


def check_between(who: str, argument: str, value: float, low: float, high: float) -> None:
    """Raise InputError unless low < value < high."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low < value < high:
        raise InputError(who, f"{argument!r} must be a number between {low} and {high}, got {value!r}")

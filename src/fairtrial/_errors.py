"""What can go wrong and what a reader must know: facts, worded by whoever shows them.

A fault is raised once, as data. Python, the command line, the audit file and the page each name arguments and
settings in their own way (a `Speech`), so that no sentence is ever taken apart and put together again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from difflib import get_close_matches
from typing import Any, Protocol, Self


class _Nothing:
    """Stands for "no value was given", where None is a value."""

    def __repr__(self) -> str:
        return "NOTHING"


NOTHING: Any = _Nothing()


class Speech(Protocol):
    """How one front end names arguments, settings and methods."""

    def subject(self, argument: str) -> str: ...
    def name(self, argument: str, of: str) -> str: ...
    def setting(self, argument: str, value: Any, of: str) -> str: ...
    def method(self, name: str) -> str: ...
    def value(self, value: Any) -> str: ...


@dataclass(frozen=True, slots=True)
class Named:
    """An argument; `of` names the function it belongs to where that is not the one called."""

    argument: str
    of: str = ""

    def said(self, speech: Speech) -> str:
        return speech.name(self.argument, self.of)


@dataclass(frozen=True, slots=True)
class Set:
    """An argument with the value that would do; without a value, the argument to be given one."""

    argument: str
    value: Any = NOTHING
    of: str = ""

    def said(self, speech: Speech) -> str:
        return speech.setting(self.argument, self.value, self.of)


@dataclass(frozen=True, slots=True)
class Use:
    """Another method that can do what was asked."""

    method: str

    def said(self, speech: Speech) -> str:
        return speech.method(self.method)


@dataclass(frozen=True, slots=True)
class Example:
    """A value as it is written in a front end: {'race': 'A'} in Python, race=A on the command line."""

    value: Any

    def said(self, speech: Speech) -> str:
        return speech.value(self.value)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Where else an argument may be given: ", here or as groups= in the Audit"; nothing where it is the same option."""

    argument: str
    other: str
    of: str = ""

    def said(self, speech: Speech) -> str:
        there = speech.setting(self.other, NOTHING, self.of)
        return "" if there == speech.subject(self.argument) else f", here or as {there}"


Part = Named | Set | Use | Example | Elsewhere


@dataclass(frozen=True, slots=True, init=False)
class Words:
    """A text whose `{}` are arguments, settings and methods, each worded by the front end.

    >>> Words("name its column with {}", Set("decision", of="Audit")).said(PYTHON)
    'name its column with decision= in the Audit'
    """

    text: str
    parts: tuple[Part, ...]

    def __init__(self, text: str, *parts: Part) -> None:
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "parts", parts)

    def said(self, speech: Speech) -> str:
        if not self.parts:
            return self.text
        pieces = self.text.split("{}")
        if len(pieces) != len(self.parts) + 1:
            raise ValueError(f"{self.text!r} must have one {{}} for each of its {len(self.parts)} parts")
        said = [part.said(speech) for part in self.parts]
        return "".join(piece + more for piece, more in zip(pieces, [*said, ""], strict=True))


@dataclass(frozen=True, slots=True)
class Fault:
    """One reason why the input cannot be used.

    Parameters
    ----------
    argument : str
        The argument that is at fault; empty when it is none of them.
    required : str or Words
        What is required, or what is wrong, as the predicate of a sentence: "must be a number".
    got : object, optional
        What came instead.
    cure : str or Words, optional
        What to do.
    hint : str, optional
        A sentence of its own at the end: "Did you mean 'fpr'?", the known values.
    subject : str, optional
        Who the sentence is about where that is not the argument: "score 'decile_score'".

    Examples
    --------
    >>> print(Fault("threshold", "needs a score", cure=Words("name its column with {}", Set("score"))))
    'threshold' needs a score: name its column with score=
    >>> print(Fault("likelihood", "must be one of ['empirical']", got="x", hint="Did you mean 'empirical'?"))
    'likelihood' must be one of ['empirical'], got 'x'. Did you mean 'empirical'?
    """

    argument: str
    required: str | Words
    _: KW_ONLY
    got: Any = NOTHING
    cure: str | Words = ""
    hint: str = ""
    subject: str = ""

    def said(self, speech: Speech) -> str:
        """The whole sentence, as a front end words it."""
        return self.about(speech, self.subject or (speech.subject(self.argument) if self.argument else ""))

    def about(self, speech: Speech, subject: str) -> str:
        """The sentence with a subject of the caller's; empty where the place says it already."""
        text = _said(self.required, speech)
        if subject:
            text = f"{subject} {text}"
        if self.got is not NOTHING:
            text += f", got {_shown(self.got)}"
        cure = _said(self.cure, speech)
        if cure:
            text += f". {cure}" if cure[0].isupper() else f": {cure}"
        if self.hint:
            text += f"{'' if text.endswith(('.', '?')) else '.'} {self.hint.strip()}"
        return text if len(text) <= MOST_SAID else f"{text[:MOST_SAID]}…"

    def __str__(self) -> str:
        return self.said(PYTHON)

    def to_dict(self) -> dict[str, Any]:
        """For the page and other programs."""
        got = {} if self.got is NOTHING else {"got": _shown(self.got)}
        return {"argument": self.argument, **got, "text": str(self)}


MOST_SHOWN, MOST_SAID = 200, 4000


def _shown(value: Any) -> str:
    """A value as a message can hold it: on one line, and the beginning of a long one."""
    try:
        text = " ".join(line.strip() for line in repr(value).splitlines())
    except Exception:  # a number of more digits than Python writes, or an object's own failure
        return f"a value of the kind {type(value).__name__}"
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}… ({len(text):,} characters)"


def _said(words: str | Words, speech: Speech) -> str:
    return words if isinstance(words, str) else words.said(speech)


class PythonSpeech:
    """Arguments as they are written in a call."""

    def subject(self, argument: str) -> str:
        return repr(argument)

    def name(self, argument: str, of: str) -> str:
        return f"{argument}={_owner(of)}" if of else repr(argument)

    def setting(self, argument: str, value: Any, of: str) -> str:
        shown = "" if value is NOTHING else repr(value)
        return f"{argument}={shown}{_owner(of)}"

    def method(self, name: str) -> str:
        return name

    def value(self, value: Any) -> str:
        return repr(value)


def _owner(of: str) -> str:
    return f" in the {of}" if of else ""


PYTHON = PythonSpeech()
MOST_FAULTS = 50  # of the faults of one call: nobody reads more at once


class FairtrialError(Exception):
    """Base of everything this package raises on purpose."""


class InputError(FairtrialError, ValueError):
    """The caller's input cannot be used; `faults` lists every reason found.

    >>> raise InputError("measure", [Fault("by", "names the unknown column 'rce'"), Fault("score", "is infinite")])
    Traceback (most recent call last):
    fairtrial._errors.InputError: measure: 2 faults:
      - 'by' names the unknown column 'rce'
      - 'score' is infinite
    """

    def __init__(self, who: str, faults: Fault | Iterable[Fault]) -> None:
        self.who = who
        self.faults = (faults,) if isinstance(faults, Fault) else tuple(faults)
        super().__init__(self.said(PYTHON))

    def said(self, speech: Speech) -> str:
        """The whole message, as a front end words it."""
        texts = [fault.said(speech) for fault in self.faults[:MOST_FAULTS]]
        if len(self.faults) == 1:
            return f"{self.who}: {texts[0]}"
        more = len(self.faults) - len(texts)
        texts += [f"and {more:,} more"] if more else []
        return "\n  - ".join([f"{self.who}: {len(self.faults):,} faults:", *texts])


class NotApplicable(InputError):
    """The method cannot take this metric or these data; the message says which one can."""


class NotWritten(InputError):
    """A file cannot be written: the disk is full, or its place is read-only or gone."""


class MissingExtra(FairtrialError, ImportError):
    """An optional dependency is needed; the message says how to install it."""


class Cancelled(FairtrialError):
    """Long work was stopped between two batches; what was finished is kept in its store."""


class GateClosed(FairtrialError, AssertionError):
    """A trial ended in a way that the caller does not let pass."""


class FairtrialWarning(UserWarning):
    """Something was done in a weaker way than asked; the result's notes say the same."""


class Note(str):
    """A text that the reader must know: an assumption, a weakening, a count of what was left out.

    `code` names it for machines; `people` is the count of people that the text tells, so that masking need not read it.
    """

    code: str
    people: int | None

    def __new__(cls, code: str, text: str, people: int | None = None) -> Self:
        note = super().__new__(cls, text)
        note.__dict__.update(code=code, people=people)
        return note

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a note is not changed: {name}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Note, (self.code, self.text, self.people)

    @property
    def text(self) -> str:
        """The bare text."""
        return str(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        told = {} if self.people is None else {"people": self.people}
        return {"code": self.code, "text": self.text, **told}


def notes_where(said: Mapping[str, tuple[bool, str]]) -> list[Note]:
    """The notes that hold, by code: whether it holds, and the text."""
    return [Note(code, text) for code, (holds, text) in said.items() if holds]


class Faults:
    """Collects faults so that one message lists them all."""

    def __init__(self, who: str) -> None:
        self.who = who
        self.found: list[Fault] = []

    def add(self, fault: Fault) -> None:
        """Add one, unless the same sentence is there."""
        if str(fault) not in [str(other) for other in self.found]:
            self.found.append(fault)

    def extend(self, error: InputError) -> None:
        for fault in error.faults:
            self.add(fault)

    def raise_any(self) -> None:
        if self.found:
            raise InputError(self.who, self.found)


def did_you_mean(word: object, options: Iterable[str]) -> str:
    """`" Did you mean 'fpr'?"` when something close exists, else an empty string."""
    close = get_close_matches(str(word), [str(option) for option in options], n=1, cutoff=0.6)
    return f" Did you mean {close[0]!r}?" if close else ""


def known_columns(names: Collection[str]) -> str:
    """`" Columns: 'age', 'sex'."`, the first twelve, for a name that resembles none of them."""
    shown = [repr(name) for name in list(names)[:12]]
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f" Columns: {', '.join(shown)}{more}."


def column_fault(argument: str, name: object, known: Collection[str]) -> Fault | None:
    """The fault of a name that is no column; None when it is one."""
    if isinstance(name, str) and name in known:
        return None
    hint = did_you_mean(name, known) or known_columns(known)
    parts = [part.strip() for part in str(name).split(",")]
    if len(parts) > 1 and set(parts) <= set(known):
        hint = f" Name the columns one by one: {', '.join(map(repr, parts))}."
    return Fault(argument, f"names the unknown column {name!r}", hint=hint)


def choice_fault(argument: str, value: object, options: Collection[str] | Mapping[str, Any]) -> Fault | None:
    """The fault when `value` is not one of `options`, else None."""
    if isinstance(value, str) and value in options:
        return None
    listed = ", ".join(repr(option) for option in options)
    return Fault(argument, f"must be one of [{listed}]", got=value, hint=did_you_mean(value, options))


def check_choice(who: str, argument: str, value: object, options: Collection[str]) -> None:
    """Raise InputError unless `value` is one of `options`.

    >>> check_choice("certify", "likelihood", "empirica", ["empirical", "euclidean"])
    Traceback (most recent call last):
    fairtrial._errors.InputError: certify: 'likelihood' must be one of ['empirical', 'euclidean'], got 'empirica'. \
Did you mean 'empirical'?
    """
    fault = choice_fault(argument, value, options)
    if fault:
        raise InputError(who, fault)

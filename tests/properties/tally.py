"""What became of the inputs of a fuzzer."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NoReturn

import fairtrial

# Seconds after which an input counts as a hang: of the processor, and of the clock where it only waits.
LONGEST, LONGEST_WAIT = 60.0, 600.0


class Hang(BaseException):
    """Nothing that takes any Exception for a failure of its own can swallow it."""


@contextmanager
def no_hang() -> Iterator[None]:
    """Raise a Hang in what takes too long."""

    def stop(number: int, frame: object) -> NoReturn:
        raise Hang

    before = [signal.signal(kind, stop) for kind in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    signal.setitimer(signal.ITIMER_REAL, LONGEST_WAIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        for kind, handler in zip((signal.SIGPROF, signal.SIGALRM), before, strict=True):
            signal.signal(kind, handler)


@dataclass(slots=True)
class Tally:
    """Inputs that were answered or refused with a fault, those whose numbers an oracle checked, and what was wrong."""

    answered: int = 0
    refused: int = 0
    checked: int = 0
    numbers: int = 0
    wrong: list[str] = field(default_factory=list)
    messages: Counter[str] = field(default_factory=Counter)

    @property
    def inputs(self) -> int:
        return self.answered + self.refused

    def attempt(self, where: str, action: Callable[[], list[str]]) -> None:
        """Run one input: what it returns is wrong, a fault is a refusal, any other error is wrong too."""
        numbers = self.numbers
        try:
            with no_hang():
                found = action()
        except Hang:
            self.answered += 1
            self.wrong.append(f"{where}: a hang")
            return
        except fairtrial.FairtrialError as error:
            self.refused += 1
            self.messages[str(error)[:90]] += 1
            if not str(error).strip():
                self.wrong.append(f"{where}: an empty message")
            return
        except Exception as error:
            self.answered += 1
            self.wrong.append(f"{where}: {type(error).__name__}: {str(error)[:300]}")
            return
        self.answered += 1
        self.checked += self.numbers > numbers
        self.wrong += [f"{where}: {text}" for text in found]

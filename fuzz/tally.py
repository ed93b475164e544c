"""What became of the inputs of a fuzzer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import fairtrial


@dataclass(slots=True)
class Tally:
    """Inputs that were answered or refused with a fault, numbers that an oracle checked, and what was wrong."""

    answered: int = 0
    refused: int = 0
    checked: int = 0
    wrong: list[str] = field(default_factory=list)
    messages: Counter[str] = field(default_factory=Counter)

    @property
    def inputs(self) -> int:
        return self.answered + self.refused

    def attempt(self, where: str, action: Callable[[], list[str]]) -> None:
        """Run one input: what it returns is wrong, a fault is a refusal, any other error is wrong too."""
        try:
            found = action()
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
        self.wrong += [f"{where}: {text}" for text in found]

"""What people are called in a trial's ledger: in lists and tables, and in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairtrial._results.claims import target_words
from fairtrial._trial.spec.words import FileWords

REST = "everyone else"
Place = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Naming:
    """The groups of each attribute, and the file's words for them."""

    levels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    words: FileWords = field(default_factory=FileWords)

    @classmethod
    def of(cls, data: Mapping[str, Any], spec: Mapping[str, Any]) -> Naming:
        """From the facts about the data, and from the audit file."""
        levels = {name: [str(level["label"]) for level in listed] for name, listed in data["groups"].items()}
        return cls(levels, FileWords.of(spec))

    def label(self, place: Place) -> str:
        """'race: Black', or what the file calls them."""
        return self.words.label(place)

    def crowd(self, place: Place) -> str:
        """'Black applicants'."""
        return self.words.crowd(place)

    def target(self, asked: Any, place: Place) -> tuple[str, str]:
        """Whom people are compared with, as a label and in a sentence; of two groups, the other one."""
        others = self._others(place) if asked == "rest" else _labels_of(asked)
        if others is not None:
            return self.label(others), self.crowd(others)
        return target_words(asked), target_words(asked)

    def _others(self, place: Place) -> Place | None:
        """The other one of two groups; None of one among several."""
        if len(place) != 1 or len(self.levels.get(place[0][0], ())) != 2:
            return None
        attribute, label = place[0]
        left = [level for level in self.levels[attribute] if level != label]
        return [(attribute, left[0])] if len(left) == 1 else None


def _labels_of(asked: Any) -> Place | None:
    """A target that is a group, as attributes and labels."""
    if not isinstance(asked, Mapping) or "estimate" in asked:
        return None
    listed = {name: value if isinstance(value, list) else [value] for name, value in asked.items()}
    return [(name, " or ".join(map(str, labels))) for name, labels in listed.items()]

"""Labels that are spelled in several ways: ' m', 'M' and 'Male' are one group, once somebody confirms it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairtrial._trial.spec import name_words as words
from fairtrial._trial.spec.profile import Profile

_MARKS = re.compile(r"""[\s_'’"]+|(?<![0-9])\.|\.(?![0-9])|(?<=[^\W\d])[-/](?=[^\W\d])""")
Merged = dict[str, list[str]]


def alike_labels(profile: Profile) -> Merged:
    """Of each group the other spellings of it, under the spelling that most people have; empty where there are none.

    Alike are labels without case, accents, blanks and marks, the words and first letters of the sexes where all
    labels are such, and yes and no beside their first letters.
    """
    if not profile.category:
        return {}
    keys = [_key(label) for label in profile.labels]
    if all(re.fullmatch(r"[\d.]*", key) for key in keys):
        return {}  # 1 and 01 are codes: they are not one unless their file says so
    meant = _meant(keys)
    found: dict[str, list[tuple[int, str]]] = {}
    for key, label, count in zip(meant, profile.labels, profile.counts, strict=True):
        found.setdefault(key, []).append((count, label))
    return {
        chosen: [label for _, label in same if label != chosen]
        for same in found.values()
        if len(same) > 1
        for chosen in [_spelling(same)]
    }


def _spelling(same: Sequence[tuple[int, str]]) -> str:
    """The spelling of most people among those without blanks around them; of equals the longest, with a capital."""
    return max(
        same,
        key=lambda pair: (pair[1] == pair[1].strip(), pair[0], len(pair[1]), pair[1][:1].isupper(), pair[1]),
    )[1]


def _key(label: str) -> str:
    """Without case, accents, blanks and the marks inside words; signs stay, since A+ is not A-."""
    return _MARKS.sub("", words.fold(label)) or label


def _meant(keys: Sequence[str]) -> list[str]:
    """Words and first letters of the sexes, and of yes and no, as one where the column holds nothing else."""
    rest = {_key(word) for word in words.values("rest")}
    for one, other in (("female", "male"), ("yes", "no")):
        sides = {name: {_key(word) for word in words.values(name)} for name in (one, other)}
        initials = {
            side: {word[0] for word in said & set(keys) if len(word) > 1} for side, said in sides.items()
        }
        told = [_side(key, sides, initials) for key in keys]
        if len({side for side in told if side}) == 2 and all(
            side or key in rest for key, side in zip(keys, told, strict=True)
        ):
            return [side or key for key, side in zip(keys, told, strict=True)]
    return list(keys)


def _side(key: str, sides: dict[str, set[str]], initials: dict[str, set[str]]) -> str | None:
    """Which of two things a label says; None where it says neither, or could say both."""
    said = [
        name for name, known in sides.items() if key in known or (len(key) == 1 and key in initials[name])
    ]
    return said[0] if len(said) == 1 else None

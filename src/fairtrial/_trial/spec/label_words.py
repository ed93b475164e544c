"""What the labels of a decision or an outcome say: which of two means yes, and whether that is good for a person."""

from __future__ import annotations

from fairtrial._trial.spec import name_words as words
from fairtrial._trial.spec.profile import Profile

_YES_AND_NO = ({"0", "1"}, {"-1", "1"}, {"false", "true"})


def positive_label(profile: Profile) -> str | None:
    """The label that means yes, where words say it; of two numbers only -1 and 1 say it themselves."""
    if not profile.binary:
        return None
    if profile.numeric and set(profile.labels) not in _YES_AND_NO:
        return words.CODED.get(words.spoken(profile.name))
    return meaning_yes(profile.labels, profile.name)


def meaning_yes(labels: tuple[str, ...], name: str) -> str | None:
    """The label that says yes; of two else the one that is no opposite, what the column is called, or a good thing."""
    for word in words.YES:
        for label in labels:
            if label.strip().strip(".").lower() == word:
                return label
    for says in (_affirms, _is_named, _is_good) if len(labels) == 2 else ():
        found = [one for one, other in (labels, labels[::-1]) if says(one, other, name)]
        if len(found) == 1:
            return found[0]
    return None


def readable(profile: Profile) -> bool:
    """Whether it is known which of two values means yes."""
    return profile.zero_one or positive_label(profile) is not None


def good_for_a_person(name: str, label: str = "") -> int | None:
    """1 where a decision of 1 is good, 0 where it is bad: by its label or else its name; None where neither says it."""
    said = _tone(label)
    if said is None and (said := _tone(name)) is not None and label.strip().lower() in words.NO:
        return 1 - said
    return said


def _tone(text: str) -> int | None:
    good, bad = (words.rank(text, listed) is not None for listed in (words.GOOD, words.BAD))
    denied = any(part in words.NOT for part in words.parts(text))
    return None if good == bad else int(good != denied)


def _affirms(label: str, other: str, _: str) -> bool:
    """Whether the other is its opposite: promoted and not promoted, smoker and nonsmoker."""
    return _joined(other) in [opposite + _joined(label) for opposite in words.NOT]


def _is_named(label: str, _: str, name: str) -> bool:
    """Whether the column is called so: admitted in the column Admit."""
    short, long = sorted((_joined(label), _joined(name)), key=len)
    return len(short) > 3 and long.startswith(short)


def _is_good(label: str, *_: str) -> bool:
    return _tone(label) == 1


def _joined(text: str) -> str:
    return "".join(words.parts(text))

"""Words in names and values of columns that speak for a part of the audit; the lists are data, in name_words.toml."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from fairtrial._trial.spec.profile import Profile

Words = tuple[str, ...]

# -- How names and values are read ----------------------------------------------------------------------------------
_LETTERS = str.maketrans({"ø": "o", "æ": "ae", "œ": "oe", "đ": "d", "ł": "l", "ı": "i", "ð": "d", "ς": "σ"})
_ARABIC = str.maketrans({"أ": "ا", "إ": "ا", "آ": "ا", "ة": "ه", "ى": "ي"})
_JOINED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # written without blanks between words
COMPOUND = 8  # letters from which a word may be written apart: Bewerber-Nr. is bewerbernr
SHORT = 3  # letters up to which a word must be written with its accents: lön is pay, lon a longitude


@lru_cache(maxsize=50_000)
def fold(text: str) -> str:
    """The text without case, accents and forms of letters: Größe is grosse, ÂGE is age."""
    small = unicodedata.normalize("NFKC", text).casefold().translate(_LETTERS).translate(_ARABIC)
    marked = unicodedata.normalize("NFD", small)
    bare = "".join(sign for sign in marked if not "\u0300" <= sign <= "\u036f")
    return unicodedata.normalize("NFC", bare)


def spoken(name: str) -> str:
    """The name as words are looked for in it: decile-score and decileScore are decile_score."""
    return _spoken(name, True)


@lru_cache(maxsize=50_000)
def _spoken(name: str, folded: bool) -> str:
    cut = re.sub(r"(?<=[a-zß-ÿ])(?=[A-ZÀ-Þ])", "_", name)
    cut = fold(cut) if folded else unicodedata.normalize("NFKC", cut).casefold()
    return cut.replace("-", "_").replace(" ", "_")


def parts(name: str) -> list[str]:
    """The words of a name; a word begins after a number, too."""
    return list(_parts(name, True))


@lru_cache(maxsize=50_000)
def _parts(name: str, folded: bool) -> Words:
    text = _spoken(name, folded)
    kept = "".join(sign if sign.isalnum() or unicodedata.category(sign)[0] == "M" else " " for sign in text)
    return tuple(part for word in kept.split() for part in re.split(r"(?<=[0-9])(?=[^\W\d])", word) if part)


def speaks(name: str, word: str) -> bool:
    """Whether a word of the name begins with it, so that 'sex' is not found in 'sussex'; a short word must be there."""
    bare = word.strip("=.")
    folded = fold(bare)
    exact = len(folded) <= SHORT and folded != bare.casefold()  # a short word is one with its accents only
    bare = bare.casefold() if exact else folded
    if len(word) == 1 or word.startswith("="):
        return _spoken(name, not exact) == bare
    if _JOINED.search(bare):
        return bare in spoken(name).replace("_", "")
    found = _parts(name, not exact)
    if "_" in bare:
        return f"_{bare}" in "_" + "_".join(found)
    if len(bare) >= COMPOUND and "".join(found) == bare:
        return True
    long = len(bare) > 4 and not word.endswith(".")
    return any(part == bare or (long and part.startswith(bare)) for part in found)


def rank(name: str, words: Sequence[str]) -> int | None:
    """The place of the first word that the name speaks."""
    return next((place for place, word in enumerate(words) if speaks(name, word)), None)


# -- The lists ------------------------------------------------------------------------------------------------------
@cache
def _data() -> Mapping[str, Any]:
    text = files("fairtrial._trial.spec").joinpath("name_words.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def words_for(table: str, entry: str) -> Words:
    """The words of all languages, as they are listed: words_for("roles", "decision")."""
    return tuple(word for listed in _data()[table][entry].values() for word in listed)


@cache
def entries(table: str) -> Words:
    """What a table has words for: the roles, the fields, the attributes in the order in which they are proposed."""
    return tuple(_data()[table])


@cache
def values(entry: str) -> frozenset[str]:
    """The values that say it, folded: values("female")."""
    return frozenset(fold(word) for word in words_for("values", entry))


def role_rank(name: str, role: str) -> int | None:
    """How strongly a name speaks for a role: the place of its word; None where it does not."""
    return rank(name, words_for("roles", role))


def attribute_rank(name: str) -> int | None:
    """The place of the attribute that a name speaks for, in the order of proposal."""
    return next(
        (
            place
            for place, of in enumerate(entries("attributes"))
            if rank(name, words_for("attributes", of)) is not None
        ),
        None,
    )


def attribute_of(name: str) -> str | None:
    """The attribute that a name speaks for, such as 'sex' for Geschlecht."""
    place = attribute_rank(name)
    return None if place is None else entries("attributes")[place]


def else_rank(name: str) -> int | None:
    """The place of a name that may be an attribute's where no other column is one."""
    return rank(name, words_for("attributes_else", "any"))


# -- Labels by which a column is known whose name says nothing, such as colour: Black, White
def held_by(labels: Sequence[str]) -> str | None:
    """The attribute of which these are the groups."""
    said = {fold("".join(sign for sign in label if not sign.isdigit())).strip(" .)-_:") for label in labels}
    said -= values("rest") | {""}
    if len(said) < 2:
        return None
    pairs = [set(pair) for pair in _data()["pairs"]["sex"]]
    sexes = values("female") | values("male")
    letters = {word for word in said if len(word) == 1 and word not in sexes}
    initials = {word[0] for word in said & sexes}
    if said - letters <= sexes and (
        any(said == pair for pair in pairs) or (letters <= initials and said & sexes)
    ):
        return "sex"
    known = {re.sub(r"\W", "", word) for word in values("race")}
    return "race" if {re.sub(r"\W", "", word) for word in said} <= known else None


def label_of(name: str) -> str | None:
    """The attribute of which a name says one group: black and is_black of race, white_collar of none."""
    beside = words_for("members", "beside")
    left = [part for part in parts(name) if part not in beside]
    known = [of for of in entries("members") if of != "beside"]
    said = [next((of for of in known if part in map(fold, words_for("members", of))), None) for part in left]
    return said[0] if said and None not in said else None


# -- What the labels of a decision or an outcome say: which of two means yes, and whether that is good for a
# person.
_YES_AND_NO = ({"0", "1"}, {"-1", "1"}, {"false", "true"})


def positive_label(profile: Profile) -> str | None:
    """The label that means yes, where words say it; of two numbers only -1 and 1 say it themselves."""
    if not profile.binary:
        return None
    if profile.numeric and set(profile.labels) not in _YES_AND_NO:
        coded: str | None = _data()["coded"].get(spoken(profile.name))
        return coded if coded in profile.labels else None
    return meaning_yes(profile.labels, profile.name)


def meaning_yes(labels: tuple[str, ...], name: str) -> str | None:
    """The label that says yes; of two else the one that is no opposite, what the column is called, or a good thing."""
    said = {label: fold(label).strip(" .!") for label in labels}
    found = [label for word in words_for("values", "yes") for label in labels if said[label] == fold(word)]
    if found and len(set(found)) < len(labels):
        return found[0]
    for says in (_is_first, _affirms, _is_named, _is_good) if len(labels) == 2 else ():
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
    if said is None and (said := _tone(name)) is not None and fold(label).strip(" .!") in values("no"):
        return 1 - said
    return said


def good_amount(name: str) -> str | None:
    """Whether a high amount is good for a person, as pay is, or a low one, as a price is; None where no word says."""
    if role_rank(name, "pay") is not None:
        return "high"
    return None if rank(name, words_for("tone", "less")) is None else "low"


def _tone(text: str) -> int | None:
    """Whether what is said is good for a person; words that are bad in themselves come first: 不合格, not 合格."""
    left = spoken(text)
    for word in map(fold, words_for("tone", "bad")):
        left = left.replace(word, " ") if _JOINED.search(word) else left
    good = rank(left, words_for("tone", "good")) is not None
    bad = rank(text, words_for("tone", "bad")) is not None
    denied = any(_denies(left, word) for word in words_for("tone", "not"))
    return None if good == bad else int(good != denied)


def _denies(text: str, word: str) -> bool:
    return word in text if _JOINED.search(word) else fold(word) in parts(text)


def _is_first(label: str, other: str, _: str) -> bool:
    """Whether two letters or signs mean yes and no: J and N, ○ and ×."""
    return [fold(label).strip(), fold(other).strip()] in _data()["pairs"]["yes_no"]


def _affirms(label: str, other: str, _: str) -> bool:
    """Whether the other is its opposite: promoted and not promoted, smoker and nonsmoker."""
    return _joined(other) in [fold(opposite) + _joined(label) for opposite in words_for("tone", "not")]


def _is_named(label: str, _: str, name: str) -> bool:
    """Whether the column is called so: admitted in the column Admit."""
    short, long = sorted((_joined(label), _joined(name)), key=len)
    return len(short) > 3 and long.startswith(short)


def _is_good(label: str, *_: str) -> bool:
    return _tone(label) == 1


def _joined(text: str) -> str:
    return "".join(parts(text))


def fields() -> Iterator[tuple[str, Words]]:
    """Each field of audits and the words that speak for it."""
    for name in entries("fields"):
        yield name, words_for("fields", name)

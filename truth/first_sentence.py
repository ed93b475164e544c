"""Read the first sentence of a report back, and re-derive its counts and its direction from the file itself.

The rates are counted from the rows by the definitions in words; of fairtrial only the words for people and for what
was done are used, to know whom the sentence means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inside.trial import first_screen, words_of

Values = NDArray[Any]
NOT_READ = (
    "cannot be read back"  # what stands before a sentence that is told in other ways than counts and means
)
IN_COUNTS = re.compile(
    r"(?:Of (?P<among>.+?), )?(?P<first>[\d,]+) of (?P<base>[\d,]+) (?P<rest>.+), against "
    r"(?P<second>[\d,]+) of (?P=base) (?P<others>.+?)\.(?: |$)"
)
IN_MEANS = re.compile(
    r"The mean (?P<column>.+?) for (?P<who>.+) is (?P<first>[\d,.]+), against (?P<second>[\d,.]+) for "
    r"(?P<others>.+?)(?:: [\d.]+ (?:of|times) theirs)?\.(?: |$)"
)


class File:
    """The rows of a file, and what its audit says of them."""

    def __init__(self, content: Mapping[str, Any], columns: Mapping[str, Any]) -> None:
        self.content = content
        self.columns = {name: np.asarray(values) for name, values in columns.items()}
        self.words = words_of(content)
        self.data = content["spec"]["content"]["data"]
        self.rows = len(next(iter(self.columns.values())))
        times = self.data.get("count") or self.data.get("weight")
        self.times = np.ones(self.rows) if times is None else self.columns[times].astype(float)

    def crowds(self) -> dict[str, Values]:
        """Who is in each group of one or two attributes, by what a sentence calls it."""
        names = list(self.content["data"]["groups"])
        found: dict[str, Values] = {}
        for size in (1, 2, 3):
            for chosen in combinations([name for name in names if name in self.columns], size):
                for place in product(
                    *([(name, one) for one in _labels(self.columns[name])] for name in chosen)
                ):
                    inside = np.ones(self.rows, dtype=bool)
                    for name, label in place:
                        inside &= self.columns[name].astype(str) == label
                    found[self.words.crowd(place)] = inside
        return found

    def yes(self, role: str) -> tuple[Values, Values]:
        """Whether it is 1 of each row, and whether it is known."""
        name = self.data.get(role)
        if name is None and role == "decision":
            score = self.columns[self.data["score"]].astype(float)
            cut = self.content["data"]["roles"]["threshold"]
            cut = np.nanmedian(score) if cut == "median" else float(cut)
            return score >= cut, ~np.isnan(score)
        values = self.columns[name]
        positive = self.data.get("positive")
        labels = positive.get(role) if isinstance(positive, Mapping) else positive
        listed = labels if isinstance(labels, list) else [1 if labels is None else labels]
        texts = np.array([_text(value) for value in values])
        return np.isin(texts, [_text(label) for label in listed]), ~np.isin(texts, ["", "nan", "None"])

    def done(self) -> Iterator[tuple[str, Values, Values]]:
        """Each thing that may have been done, or have happened: its words, of whom it is true, of whom it is known."""
        for role in ("decision", "outcome"):
            if role not in self.data and (
                role != "decision" or "threshold" not in self.content["data"]["roles"]
            ):
                continue
            if (
                role == "decision"
                and self.content["data"]["roles"].get("decision")
                and _is_amount(self.columns[self.data[role]])
            ):
                continue
            true, known = self.yes(role)
            for label in (1, 0):
                yield self.words.done(role, label), true == bool(label), known
                column = self.words.columns.get(role, role)
                yield f"whose {column} is {label}", true == bool(label), known


def faults(content: Mapping[str, Any], columns: Mapping[str, Any]) -> list[str]:
    """What the first sentence says that the file does not; nothing where all of it is so."""
    text = "".join(piece["text"] for piece in first_screen(content)["headline"])
    file = File(content, columns)
    told = IN_COUNTS.match(text)
    if told is not None:
        return [f"{fault}: {text}" for fault in _counts(file, told)]
    means = IN_MEANS.match(text)
    return [f"{fault}: {text}" for fault in _means(file, means)] if means else [f"{NOT_READ}: {text}"]


def _counts(file: File, told: re.Match[str]) -> Iterator[str]:
    among = np.ones(file.rows, dtype=bool)
    for words, true, known in file.done():
        if told["among"] and (told["among"].endswith(f" who {words}") or told["among"].endswith(f" {words}")):
            among = true & known
            break
    else:
        if told["among"]:
            yield f"{NOT_READ}: who is meant by {told['among']!r}"
    found = [
        (who, true, known)
        for words, true, known in file.done()
        if told["rest"].endswith(f" {words}") and (who := told["rest"].removesuffix(f" {words}"))
    ]
    crowds = file.crowds()
    if not found or found[0][0] not in crowds:
        yield f"{NOT_READ}: who is meant by {told['rest']!r}"
        return
    who, true, known = found[0]
    inside = crowds[who]
    others = {"others": ~inside, "people overall": np.ones(file.rows, dtype=bool)}.get(
        told["others"], crowds.get(told["others"])
    )
    if others is None:
        yield f"{NOT_READ}: who is meant by {told['others']!r}"
        return
    base = _number(told["base"])
    rates = [
        float(np.average(true[rows], weights=file.times[rows]))
        for rows in (inside & among & known, others & among & known)
    ]
    for said, rate in zip((told["first"], told["second"]), rates, strict=True):
        if abs(_number(said) - rate * base) > 0.5 + 1e-6:
            yield f"{said} of {base:g} are {rate * base:.2f} in the file"
    if (_number(told["first"]) - _number(told["second"])) * (rates[0] - rates[1]) < 0:
        yield "the direction is the other one in the file"


def _means(file: File, told: re.Match[str]) -> Iterator[str]:
    crowds = file.crowds()
    column = next((name for name in file.columns if name == told["column"]), None)
    if column is None or told["who"] not in crowds:
        yield f"{NOT_READ}: of whom and of what it is a mean"
        return
    values, inside = file.columns[column].astype(float), crowds[told["who"]]
    others = {"everyone else": ~inside}.get(told["others"], crowds.get(told["others"]))
    means = [float(np.average(values[rows], weights=file.times[rows])) for rows in (inside, others)]
    for said, mean in zip((told["first"], told["second"]), means, strict=True):
        if abs(_number(said) - mean) > 0.005 * abs(mean):
            yield f"{said} is {mean:g} in the file"
    if (_number(told["first"]) - _number(told["second"])) * (means[0] - means[1]) < 0:
        yield "the direction is the other one in the file"


def _labels(values: Values) -> list[str]:
    return sorted({str(value) for value in values if _text(value) not in ("", "nan", "None")})


def _text(value: Any) -> str:
    number = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value)) if number or isinstance(value, bool | np.bool_) else str(value)


def _is_amount(values: Values) -> bool:
    return bool(np.issubdtype(values.dtype, np.number)) and len(np.unique(values)) > 2


def _number(text: str) -> float:
    return float(text.replace(",", ""))

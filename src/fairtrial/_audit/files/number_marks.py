"""Numbers as offices write them: decimal commas, thousands marks, percent and currency signs.

A column is read as numbers only where every value is one under a single convention, and where the values themselves,
the other columns of the file or the caller say which convention that is. Otherwise it stays as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

Mark = Literal[",", "."]

# Spaces, minus signs and digits of other alphabets, and the plain ones that they stand for.
_ALIKE = {
    "\u00a0\u202f\u2009\u2007\u3000": " ",
    "’‘´": "'",
    "−": "-",
    "％": "%",
    "￥": "¥",
    "＄": "$",
    "，": ",",
    "．": ".",
}
_FROM = "".join(_ALIKE) + "０１２３４５６７８９"
_TO = "".join(plain * len(marks) for marks, plain in _ALIKE.items()) + "0123456789"
_TABLE = str.maketrans(_FROM, _TO)

_SIGNS = r"[a-z]{0,3}[$€£¥₹₽₺₪₩₫₴₱฿]"
_WORDS = (
    "usd|eur|euro|gbp|chf|sek|nok|dkk|isk|pln|czk|huf|ron|bgn|jpy|cny|rmb|inr|krw|brl|mxn|cad|aud|nzd|zar|try|rub|uah|"
    r"ils|sgd|hkd|sfr\.?|fr\.|kr\.?|zł|kč|ft|rs\.?|lei|tl|円|元|원|руб\.?|р\."
)
_CURRENCY = f"(?:{_SIGNS}|{_WORDS})"
_END = r"(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?"  # of a number with a decimal point


def _grouped(mark: str) -> str:
    """Whole numbers, plain or in groups of three; after a comma also as in India, 12,34,567."""
    inside = "".join(f"|[1-9][0-9]{{0,2}}(?:{sign}[0-9]{{3}})+" for sign in (mark, " ", "'"))
    indian = r"|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}" if mark == "," else ""
    return f"(?:0|[1-9][0-9]*{inside}{indian})"


_POINT = rf"{_grouped(',')}{_END}|\.[0-9]+"
_COMMA = rf"{_grouped('[.]')}{_END.replace('[.]', ',').replace(chr(92) + '.', ',')}|,[0-9]+"
_OPEN = r"[1-9][0-9]{0,2}[.,][0-9]{3}"  # of which nobody can tell whether the mark is decimal


def _whole(number: str, no_cents: str = "") -> str:
    """A whole value: a number with its sign, its currency or its percent sign; 5,- is five without cents."""
    amount = f"({number}){no_cents}"
    return rf"(?i)^(?:\( ?)?[-+]? ?(?:{_CURRENCY})? ?[-+]? ?{amount} ?%? ?(?:{_CURRENCY})?-?(?: ?\))?$"


def _money(number: str) -> str:
    """A whole value that has a currency."""
    return rf"(?i)^(?:\( ?)?[-+]? ?(?:{_CURRENCY} ?[-+]? ?{number}|{number} ?{_CURRENCY})-?(?: ?\))?$"


READ_AS: dict[Mark, str] = {".": _whole(_POINT, r"(?:\.-{1,2})?"), ",": _whole(_COMMA, "(?:,-{1,2})?")}
UNDECIDED, UNDECIDED_MONEY = _whole(_OPEN), _money(_OPEN)
_PYTHON = {mark: re.compile(pattern) for mark, pattern in READ_AS.items()}
_PYTHON_OPEN = re.compile(UNDECIDED)

# What stands for nothing in a column of numbers.
NOTHING_THERE = (
    "", "na", "n/a", "n.a.", "#n/a", "#nv", "nan", "null", "none", "-", "--", "–", "—", ".", "?", "k.a.", "k. a.",
    "#div/0!", "#value!", "#wert!", "#ref!", "#bezug!", "#num!", "#zahl!", "#name?",
)  # fmt: skip
MOSTLY = 0.8  # of the values: such a column is one of numbers, and what else stands in it is said
TOO_LONG = r"[0-9]{16}"  # more digits than a float keeps


class Marks(NamedTuple):
    """How many values of a column are numbers under which convention."""

    present: int  # without those that stand for nothing
    nothing: int  # such as n/a
    infinite: int
    as_point: int
    as_comma: int
    only_point: int
    only_comma: int
    undecided: int
    undecided_money: int
    percent: int
    percent_or_zero: int
    currencies: int  # different ones
    bracketed: int
    point_marks: int  # undecided values whose mark is a point
    unusual: int  # that are no numbers as they are written

    def decimal(self, file_says: Mark | None = None) -> Mark | Literal["ask"] | None:
        """The decimal mark; None where the column does not hold numbers, "ask" where nobody can tell."""
        fits: dict[Mark, bool] = {".": self.as_point == self.present, ",": self.as_comma == self.present}
        if not self.present or not any(fits.values()) or self._mixed:
            return None
        if not all(fits.values()):
            return "." if fits["."] else ","
        if not self.undecided:
            return "."
        if 0 < self.point_marks < self.undecided:
            return "ask"
        mark: Mark = "." if self.point_marks else ","
        if self.undecided == self.undecided_money:  # money has two decimals: three digits are thousands
            return "," if mark == "." else "."
        return file_says or "ask"

    @property
    def _mixed(self) -> bool:
        """Percentages beside other numbers, two currencies, or nothing but numbers in brackets, which are labels."""
        return (
            (self.percent > 0 and self.percent_or_zero < self.present)
            or self.currencies > 1
            or self.bracketed == self.present
            or self.infinite > 0
        )

    @property
    def mostly_numbers(self) -> bool:
        """Whether a reader would call it a column of numbers."""
        return self.present > 0 and max(self.as_point, self.as_comma) >= MOSTLY * self.present


def plain(value: str) -> str:
    """A value in plain signs, without the blanks around it."""
    return value.translate(_TABLE).strip(" ")


def speaks_for_numbers(values: Iterable[str]) -> bool:
    """Whether most of some values are numbers, or stand for nothing in a column of numbers."""
    known = [value for value in map(plain, values) if value.lower() not in NOTHING_THERE]
    numbers = sum(any(pattern.fullmatch(value) for pattern in _PYTHON.values()) for value in known)
    return 0 < numbers >= MOSTLY * len(known)


def leaves_open(values: Iterable[str]) -> bool:
    """Whether some plain numbers could be whole ones with thousands marks: 1.234, but never 0.5 or 12.34."""
    marked = [value for value in set(values) if "." in value or "e" in value.lower()]
    return bool(marked) and all(_PYTHON_OPEN.fullmatch(value) for value in marked)


# -- the same in SQL
def sql_plain(name: str) -> str:
    """A quoted column in plain signs."""
    return f"trim(translate({name}, {_text(_FROM)}, {_text(_TO)}), ' ')"


def sql_nothing(value: str) -> str:
    """Whether a plain value stands for nothing."""
    return f"lower({value}) IN ({', '.join(map(_text, NOTHING_THERE))})"


def sql_marks(name: str) -> str:
    """The counts of `Marks`, of a quoted column."""
    value = "v"
    point, comma = (f"regexp_matches({value}, {_text(READ_AS[mark])})" for mark in (".", ","))
    undecided = f"regexp_matches({value}, {_text(UNDECIDED)})"
    currency = f"regexp_extract({value}, {_text('(?i)' + _CURRENCY)})"
    counted = {
        "nothing": "nothing",
        "infinite": f"regexp_matches({value}, '(?i)^[+-]?inf(inity)?$')",
        "point": "point", "comma": "comma", "only_point": "point AND NOT comma", "only_comma": "comma AND NOT point",
        "undecided": undecided, "money": f"regexp_matches({value}, {_text(UNDECIDED_MONEY)})",
        "percent": f"point_or_comma AND {value} LIKE '%\\%%' ESCAPE '\\'",
        "percent_or_zero":
            f"NOT nothing AND ({value} LIKE '%\\%%' ESCAPE '\\' OR regexp_matches({value}, '^0([.,]0+)?$'))",
    }  # fmt: skip
    counts = ", ".join(f"count(*) FILTER ({test})" for test in counted.values())
    inner = (
        f"SELECT {name} AS written, {sql_plain(name)} AS v, {sql_nothing('v')} AS nothing, "
        f"NOT nothing AND {point} AND NOT regexp_matches(v, '{TOO_LONG}') AS point, "
        f"NOT nothing AND {comma} AND NOT regexp_matches(v, '{TOO_LONG}') AS comma, "
        f"point OR comma AS point_or_comma FROM raw_values WHERE {name} IS NOT NULL"
    )
    return (
        f"SELECT count(*) FILTER (NOT nothing), {counts}, "
        f"count(DISTINCT rtrim(lower({currency}), '.')) FILTER (point_or_comma AND {currency} <> ''), "
        f"count(*) FILTER (point_or_comma AND {value} LIKE '(%'), "
        f"count(*) FILTER ({undecided} AND contains({value}, '.')), "
        f"count(*) FILTER (point_or_comma AND NOT regexp_matches(written, '^[+-]?[0-9]+([.][0-9]+)?$')) FROM ({inner})"
    )


def sql_number(name: str, decimal: Mark) -> str:
    """A quoted column as numbers."""
    value = sql_plain(name)
    digits = f"regexp_extract({value}, {_text(READ_AS[decimal])}, 1)"
    other = "." if decimal == "," else ","
    bare = f"replace(translate({digits}, {_text(other + ' ' + chr(39))}, ''), ',', '.')"
    minus = rf"regexp_matches({value}, '^[^0-9]*-|^\(|[0-9]-$')"
    return (
        f"CASE WHEN {name} IS NULL OR {sql_nothing(value)} THEN NULL "
        f"ELSE CAST({bare} AS DOUBLE) * CASE WHEN {minus} THEN -1 ELSE 1 END END"
    )


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"

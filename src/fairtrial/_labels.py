"""One canonical text for a label on every engine: 1, 1.0 and '1' are '1', booleans 'true' and 'false'."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

MISSING = "(missing)"
INFINITE = "(infinite)"  # stands for ±inf where numbers become labels; never a valid label
_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)\.0+")


def is_missing(value: Any) -> bool:
    """None, NaN, NaT and pandas' NA are missing; an empty text too, since files cannot say otherwise."""
    if hasattr(value, "item"):  # NumPy and Arrow scalars
        value = value.item()
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, float):
        return math.isnan(value)
    return isinstance(value, str) and value == ""


def canonical(value: Any) -> str:
    """The one text of a label.

    >>> [canonical(value) for value in (1, 1.0, "1", "1.0", True, "True", "01", None, 0.5)]
    ['1', '1', '1', '1', 'true', 'true', '01', '(missing)', '0.5']
    """
    if is_missing(value):
        return MISSING
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return str(int(value))
    text = str(value)
    if _WHOLE.fullmatch(text):
        text = text.split(".")[0]
    if text == "-0":
        return "0"
    return text.lower() if text in ("True", "False") else text


def is_number(value: object) -> bool:
    """Whether it is a finite number, or a text that stands for one."""
    try:
        return not isinstance(value, bool) and math.isfinite(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


def in_a_sentence(words: Sequence[str]) -> str:
    """Words as a list in a sentence; none for none.

    >>> in_a_sentence(["sex", "race", "age"]), in_a_sentence(["sex"]), in_a_sentence([])
    ('sex, race and age', 'sex', '')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else list(words))

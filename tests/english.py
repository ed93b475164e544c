"""Rules that every sentence of fairtrial keeps, whatever its values are."""

from __future__ import annotations

import re

# what no sentence may hold
BAD = re.compile(
    "|".join(
        (
            r"-0(?:\.0+)?(?![.\d-])",  # minus zero
            r"\d[eE]\+\d",  # a power of ten where digits can be written out
            r"\b(?:nan|NaN|inf)\b|\bNone\b(?! (?:of|is shown))",
            r"\b(?:True|False)\b(?! (?:positive|negative|omission|discovery) rate)",
            r"(?<![\d.,])1 (?:(?:protected|compared|fixed) )?(?:rows|people|tests|groups|draws|splits|periods|members|"
            r"classes|scans|candidates|questions|findings|certifications|coalitions|features|units|points|rules|others)\b",
            r"\b(?:all|any of) 1 ",
            r"(?i:\b(?P<twice>the|a|an|of|than|from|to|not|is|points|violated|certified|undetermined):? (?P=twice)\b)",
            r"\b(?:of|than|from|to) (?:of|than|from|to)\b",
            r"  | [,.;:)]|\( |\(\)|\[\]|\.\.|, ,|;\.|[,;:]$",
            r"\w=['\"\w]|[{}]",  # code
            r"\. [a-z]",
        )
    )
)


def reads(text: str) -> str:
    """The text itself, having been checked."""
    found = BAD.search(text)
    assert found is None, (found and found.group(), text)
    assert text
    assert text == text.strip()
    return text


def whole(text: str) -> str:
    """The same of a sentence that stands alone: it begins like one and ends like one."""
    reads(text)
    assert text[0].isupper() or text[0].isdigit() or text[0] in "'\"", text
    assert text[-1] in ".?", text
    return text

"""Every p-value and interval that a table prints has a line of the board that names it, or is listed here as open."""

from __future__ import annotations

from fairtrial.methods.declaration import declared_methods
from validity.board import cells

# Printed, and on the board by lines that do not say so (most of measure, certify, flag, improve), or by none (others):
# to be named or made. A new number must not join them.
OPEN = {
    "certify.certificate_high",
    "certify.certificate_low",
    "certify.p_adjusted",
    "certify.p_value",
    "certify.ratio_certificate_high",
    "certify.ratio_certificate_low",
    "certify.ratio_together_high",
    "certify.ratio_together_low",
    "certify.together_high",
    "certify.together_low",
    "compare.difference_high",
    "compare.difference_low",
    "compare.p_adjusted",
    "compare.p_value",
    "explain.rate_high",
    "explain.rate_low",
    "flag.p_adjusted",
    "flag.p_value",
    "improve.p_delta_method",
    "improve.p_split",
    "improve.p_value",
    "measure.difference_high",
    "measure.difference_low",
    "measure.p_adjusted",
    "measure.p_value",
    "measure.rate_high",
    "measure.rate_low",
    "scan_all.rate_high",
    "scan_all.rate_low",
    "transport.difference_high",
    "transport.difference_low",
    "watch.difference_high",
    "watch.ratio_high",
}


def declared() -> set[str]:
    """'method.column' of every p-value and limit."""
    return {
        f"{name}.{column.name}"
        for name, found in declared_methods().items()
        for column in found.result.columns
        if column.kind == "p" or column.is_low or column.is_high
    }


def test_every_printed_number_has_a_line_or_is_listed_as_open():
    named = {number for cell in cells() for number in cell.covers}
    assert declared() - named == OPEN, (
        "give a new number its line (covers=), and take it from the list once it has one"
    )

"""The arguments of an Audit, declared once: what the command line, the file and the docs know of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from fairtrial import options
from fairtrial.options import Option


def label(text: str) -> str | tuple[str, str]:
    """A text of the command line: 'Yes', or 'decision=Yes' for one of the two roles.

    >>> label("Yes"), label("outcome=died"), label("a=b")
    ('Yes', ('outcome', 'died'), 'a=b')
    """
    name, _, rest = text.partition("=")
    return (name, rest) if name in ("decision", "outcome") and rest else text


def plain_label(text: str) -> str:
    """A text of the command line, as it is."""
    return text


Data = Annotated[
    object,
    Option("A dataframe of any kind, a dict of columns, or a path or glob of CSV or Parquet files."),
]
Outcome = Annotated[str | None, Option("Column of what really happened: 0 and 1, two labels, or numbers.")]
Decision = Annotated[str | None, Option("Column of the decision: 0 and 1, or two labels.")]
Score = Annotated[str | None, Option("Column of the score that the decision rests on.")]
Threshold = Annotated[float | None, Option("Makes the decision from the score: 1 where score ≥ threshold.")]
Groups = Annotated[
    str | Sequence[str],
    Option("Columns whose groups are compared where a method is not told otherwise.", many=True, flag="by"),
]
Features = Annotated[
    str | Sequence[str],
    Option("Columns that models see and subgroups are built from.", many=True, flag="feature"),
]
Positive = Annotated[
    object,
    Option(
        "The label that counts as 1, for decision and outcome alike or one each, such as decision=yes.",
        form=label,
        many=True,
    ),
]
Favourable = Annotated[
    object,
    Option(
        "The decision that is good for a person: 1, 0 or its label; findings then say who is harmed.",
        form=plain_label,
    ),
]
Bins = Annotated[
    Mapping[str, Any] | None,
    Option(
        "Cuts of continuous columns: edges, such as age=25,45 or age=62, or equal parts, such as age=4.",
        form=options.cuts,
        many=True,
    ),
]
Missing = Annotated[
    Literal["error", "drop", "category"],
    Option("Missing values are an error, drop their row, or are a group of their own."),
]
Weight = Annotated[str | None, Option("Column of survey weights.")]
Unit = Annotated[str | None, Option("Column that names the person of repeated rows.")]
Pair = Annotated[
    str | None,
    Option("Column that names the person whose answers in different groups are compared, one row each."),
]

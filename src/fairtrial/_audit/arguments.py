"""The arguments of an Audit, declared once: what the command line, the file and the docs know of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from fairtrial import _options as options
from fairtrial._options import Option


def label(text: str) -> str | tuple[str, str]:
    """A text of the command line: 'Yes', or 'decision=Yes' for one of the two roles.

    >>> label("Yes"), label("outcome=died"), label("a=b")
    ('Yes', ('outcome', 'died'), 'a=b')
    """
    name, _, rest = text.partition("=")
    return (name, rest) if name in ("decision", "outcome") and rest else text


def definition(text: str) -> tuple[str, dict[str, Any]]:
    """A text of the command line: a group's name and its conditions.

    >>> definition("young women: sex=F|X, age>=18, age<25")
    ('young women', {'sex': ['F', 'X'], 'age': {'least': 18.0, 'below': 25.0}})
    """
    name, _, rest = text.partition(":")
    conditions: dict[str, Any] = {}
    last = ""
    for part in rest.split(","):
        found = re.match(r"\s*(.+?)\s*(>=|<=|<|>|=)\s*(.*?)\s*$", part)
        if found is None:
            if not isinstance(conditions.get(last), str):
                raise ValueError("'young women: sex=Female, age<25'")
            conditions[last] += f",{part}"  # a label may hold a comma
            continue
        last, sign, value = found.groups()
        if sign == "=":
            conditions[last] = value.split("|") if "|" in value else value
        else:
            conditions.setdefault(last, {})[_RANGES[sign]] = options.number_or_text(value)
    return name.strip(), conditions


_RANGES = {">=": "least", "<=": "most", ">": "above", "<": "below"}


def merging(text: str) -> tuple[str, dict[str, list[str]]]:
    """A text of the command line: a column, and labels of it that mean the same; blanks belong to a label.

    >>> merging("sex: M=m|Male, F=f")
    ('sex', {'M': ['m', 'Male'], 'F': ['f']})
    """
    name, _, rest = text.partition(":")
    found = [part.partition("=") for part in rest.split(",")]
    if not name.strip() or not all(label.strip() and same for label, _, same in found):
        raise ValueError("'sex: M=m|Male, F=f|Female'")
    return name.strip(), {label.strip(): same.split("|") for label, _, same in found}


def plain_label(text: str) -> str:
    """A text of the command line, as it is."""
    return text


def unlabelled(text: str) -> Any:
    """A text of the command line.

    >>> unlabelled("bounds"), unlabelled("odds=1.5,alike=region|income")
    ('bounds', {'odds': 1.5, 'alike': ['region', 'income']})
    """
    found = options.group(text)
    if isinstance(found, dict) and isinstance(found.get("odds"), str):
        return {**found, "odds": options.number_or_text(str(found["odds"]))}
    return found


Data = Annotated[
    object, Option("A dataframe of any kind, a dict of columns, or a path or glob of CSV or Parquet files.")
]
Outcome = Annotated[str | None, Option("Column of what really happened: 0 and 1, labels, or numbers.")]
Decision = Annotated[str | None, Option("Column of the decision: 0 and 1, or labels.")]
Score = Annotated[str | None, Option("Column of the score that the decision rests on.")]
Threshold = Annotated[float | None, Option("Makes the decision from the score: 1 where score ≥ threshold.")]
Groups = Annotated[
    str | Sequence[str | Mapping[str, Any]] | Mapping[str, Any],
    Option("Columns whose groups are compared where a method is not told otherwise.", many=True, flag="by"),
]
Define = Annotated[
    Mapping[str, Any] | None,
    Option(
        "Groups of your own, such as 'young women: sex=Female, age<25'; in Python also masks or functions.",
        form=definition,
        many=True,
    ),
]
Features = Annotated[
    str | Sequence[str],
    Option("Columns that models see and subgroups are built from.", many=True, flag="feature"),
]
Positive = Annotated[
    object,
    Option(
        "The labels that count as 1, for decision and outcome alike or of each, such as decision=yes.",
        form=label,
        many=True,
    ),
]
Order = Annotated[
    Sequence[Any] | None,
    Option(
        "The decision's labels from low to high: every cut between them is looked at, all at once.",
        many=True,
        form=plain_label,
    ),
]
Favourable = Annotated[
    object,
    Option(
        "The decision that is good for a person: 1, 0 or its label; findings then say who is harmed.",
        form=plain_label,
    ),
]
ScoreFavours = Annotated[
    Literal["high", "low"] | None,
    Option("The scores that are good for a person; without it no score harms anybody."),
]
Bins = Annotated[
    Mapping[str, Any] | None,
    Option(
        "Cuts of continuous columns: edges, such as age=25,45 or age=62, or equal parts, such as age=4.",
        form=options.cuts,
        many=True,
    ),
]
Merge = Annotated[
    Mapping[str, Any] | None,
    Option(
        "Labels of a column that mean the same, such as 'sex: M=m|Male, F=f|Female'.", form=merging, many=True
    ),
]
Missing = Annotated[
    Literal["error", "drop", "category"],
    Option("Missing values are an error, drop their row, or are a group of their own."),
]
Unlabelled = Annotated[
    Literal["bounds"] | Mapping[str, Any] | None,
    Option(
        "Unknown outcomes: bounds over all of them, or odds=2,alike=region within those of people alike.",
        form=unlabelled,
    ),
]
Weight = Annotated[str | None, Option("Column of survey weights.")]
Unit = Annotated[str | None, Option("Column that names the person of repeated rows.")]
Pair = Annotated[
    str | None,
    Option("Column that names the person whose answers in different groups are compared, one row each."),
]
Count = Annotated[
    str | None,
    Option("Column of how many people each row stands for, in a table of counts; no survey weights."),
]
Total = Annotated[
    str | None,
    Option("Column of how many people a row is about, of whom the decision says how many, or which share."),
]

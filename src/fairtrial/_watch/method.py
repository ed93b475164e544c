"""Does it stay fair? Verdicts on a stream of periods that hold however often one looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from fairtrial import _options as options
from fairtrial._audit.audit import Audit
from fairtrial._errors import Fault, Faults, did_you_mean
from fairtrial._method import arguments as a
from fairtrial._method.declaration import method
from fairtrial._options import Option
from fairtrial._watch.result import WatchResult

State = Annotated[
    str, Option("File that keeps the counts of all periods so far; made where there is none.", path=True)
]
Period = Annotated[str, Option("Column that says which period a row belongs to: a date, a week, a number.")]
Scale = Annotated[
    Literal["difference", "ratio"],
    Option("Gaps as differences, or as ratios (four fifths is a tolerance of 0.8)."),
]
Direction = Annotated[
    Literal["differs", "above", "below"],
    Option("Which gaps violate: on both sides of the tolerance, above it, or below it."),
]
Bounds = Annotated[
    Sequence[float] | None,
    Option(
        "The smallest and the largest value a real-valued metric can take, such as 0,1.",
        form=options.number_list,
    ),
]
Waiting = Annotated[
    int, Option("Periods to wait for late outcomes; what comes later is counted and left out.", least=0)
]
Window = Annotated[
    int | None,
    Option("Periods of separate windows, each with a claim of its own besides that of all.", least=1),
]


def two_texts(text: str) -> list[str]:
    """'2026-01,2026-13' as its two periods."""
    return [part.strip() for part in text.split(",")]


Reference = Annotated[
    Sequence[str] | None,
    Option("First and last period that later ones are compared with, to date a change.", form=two_texts),
]
RunLength = Annotated[int, Option("Periods to a false alarm of change, on average at least.", least=2)]
Block = Annotated[
    int,
    Option(
        "1: people of one period are compared with people of that period only. More, where rows come one by one: "
        "periods are pooled until both sides have so many rows, and the rates are taken as steady meanwhile.",
        least=1,
    ),
]
Repeated = Annotated[
    Literal["once", "these people"],
    Option("With a unit: count each person once ever, or count all rows and claim for these people only."),
]


# -- What few watches need: one option, whose parts are declared as options are.
def parts_of_stream(
    *,
    bounds: Bounds = None,
    waiting: Waiting = 0,
    window: Window = None,
    block: Block = 1,
    repeated: Repeated = "once",
    run_length: RunLength = 500,
) -> dict[str, Any]:
    """The parts of `stream`, those that were not given at their defaults."""
    return locals()


def part_of_stream(text: str) -> tuple[str, Any]:
    """One part of `stream`, typed.

    >>> part_of_stream("waiting=2"), part_of_stream("bounds=0,1"), part_of_stream("repeated=these people")
    (('waiting', 2), ('bounds', [0.0, 1.0]), ('repeated', 'these people'))
    """
    name, _, value = text.partition("=")
    if not value:
        raise ValueError("waiting=2 or bounds=0,1")
    found = options.numbers(value)
    return name, int(found) if isinstance(found, float) and found.is_integer() else found


def check_stream(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Every part of `stream`; all faults at once."""
    declared = {part.name: part for part in options.arguments_of(parts_of_stream)}
    faults = Faults("watch")
    for name, value in (given or {}).items():
        if name not in declared:
            required, hint = f"may name {', '.join(declared)}", did_you_mean(str(name), declared)
            faults.add(Fault("stream", required, got=name, hint=hint))
        elif (fault := declared[name].fault(declared[name].plain(value))) is not None:
            faults.add(replace(fault, argument="stream", subject=repr(name)))
    faults.raise_any()
    return parts_of_stream(**{name: declared[name].plain(value) for name, value in (given or {}).items()})


Stream = Annotated[
    Mapping[str, Any] | None,
    Option(
        "What few watches need: bounds=0,1 (the least and the largest value of a real-valued metric), waiting=2 "
        "(periods to wait for late outcomes; what comes later is counted and left out), window=12 (periods of "
        "separate windows, each with a claim of its own), block=5 (where rows come one by one: periods are pooled "
        "until both sides have so many rows), repeated=these people (with a unit: claim for these people only, "
        "instead of counting each once), run_length=500 (periods to a false alarm of change, on average at least).",
        form=part_of_stream,
        many=True,
        must="a table of bounds, waiting, window, block, repeated and run_length",
    ),
]
AlertFile = Annotated[
    str | None, Option("File to write the alert to, as JSON for other programs; nothing is sent.", path=True)
]


@method(
    question="Does it stay fair?",
    short="Watch",
    help="Does it stay fair? Verdicts that hold however often one looks.",
    order=90,
    shows="disparity",
    result=WatchResult,
    not_published="two looks differ by the people of one period, who are often few",
    complete_rows=False,
    evidence=("unit",),
)
def watch(
    state: State,
    audit: Audit,
    metric: a.OneMetric,
    *,
    period: Period,
    by: a.By = None,
    depth: a.Depth = 1,
    target: a.AnyTarget = "rest",
    scale: Scale = "difference",
    tolerance: a.Tolerance = None,
    direction: Direction = "differs",
    reference: Reference = None,
    stream: Stream = None,
    confidence_level: a.Level = 0.95,
    alert_file: AlertFile = None,
) -> WatchResult:
    """Add new rows to a watch and say what its periods show so far.

    Look as often as you like: the chance of ever saying 'violated' wrongly stays below 1 − confidence_level.

    Parameters
    ----------
    audit : Audit
        The data and their roles: the new rows only.
    state : str
        File that keeps the counts of all periods so far; made where there is none.
    metric : str or Metric or dict
        The metric by name, such as fpr, or one of your own.
    period : str
        Column that says which period a row belongs to: a date, a week, a number.
    by : str or dict or list or None, default None
        Attributes whose groups are compared, or groups such as race=Caucasian; default: the audit's
        groups.
    depth : int, default 1
        Intersections of up to this many attributes.
    target : str or float or dict, default 'rest'
        What each group is compared with: rest, overall, a number, or a reference group such as
        race=Caucasian.
    scale : {'difference', 'ratio'}, default 'difference'
        Gaps as differences, or as ratios (four fifths is a tolerance of 0.8).
    tolerance : float or str or list or None, default None
        The largest gap that is tolerated: '5 in 100', 0.05, or two numbers low,high.
    direction : {'differs', 'above', 'below'}, default 'differs'
        Which gaps violate: on both sides of the tolerance, above it, or below it.
    reference : list or None, default None
        First and last period that later ones are compared with, to date a change.
    stream : dict or None, default None
        What few watches need: bounds=0,1 (the least and the largest value of a real-valued metric),
        waiting=2 (periods to wait for late outcomes; what comes later is counted and left out), window=12
        (periods of separate windows, each with a claim of its own), block=5 (where rows come one by one:
        periods are pooled until both sides have so many rows), repeated=these people (with a unit: claim
        for these people only, instead of counting each once), run_length=500 (periods to a false alarm of
        change, on average at least).
    confidence_level : float, default 0.95
        Of the intervals.
    alert_file : str or None, default None
        File to write the alert to, as JSON for other programs; nothing is sent.

    Returns
    -------
    WatchResult
        Every group's two claims, the change where a reference was named, and the verdict.

    Examples
    --------
    >>> import os, tempfile
    >>> import fairtrial
    >>> import pandas as pd
    >>> week = pd.DataFrame({"week": [1] * 200 + [2] * 200, "race": ["A", "B"] * 200, "hired": [1, 0, 0, 1] * 100})
    >>> state = os.path.join(tempfile.mkdtemp(), "state.jsonl")
    >>> audit = fairtrial.Audit(week, decision="hired", groups="race")
    >>> result = fairtrial.watch(state, audit, "selection_rate", period="week", tolerance=0.3)
    >>> result.verdict.code
    'certified'
    """
    from fairtrial._watch.updating import Options, update

    chosen = Options(
        metric=metric, period=period, by=by, depth=depth, target=target, scale=scale, tolerance=tolerance,
        direction=direction, reference=reference, confidence_level=confidence_level, **check_stream(stream),
    )  # fmt: skip
    return update(state, audit, chosen, alert_file)

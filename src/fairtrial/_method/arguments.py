"""Arguments that mean the same in every method, declared once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fairtrial import _options as options
from fairtrial._errors import Example, Words
from fairtrial._inference import ways
from fairtrial._metrics.groups import COMPARED, TARGETS
from fairtrial._metrics.values import Metric
from fairtrial._options import Option
from fairtrial._work import Progress

if TYPE_CHECKING:
    from fairtrial._metrics.table import (
        MetricName as Named,
    )  # editors propose the names, a metric of one's own is a text
else:
    Named = str

Metrics = Annotated[
    Named | str | Metric | Mapping[str, Any] | Sequence[Named | str | Metric | Mapping[str, Any]],
    Option(
        "Metrics by name, such as fpr, or of your own.",
        many=True,
        must="the name of a metric, such as fpr, one of your own, or a list of these",
    ),
]
OneMetric = Annotated[
    Named | str | Metric | Mapping[str, Any],
    Option(
        "The metric by name, such as fpr, or one of your own.",
        must="the name of a metric, such as fpr, or one of your own",
    ),
]
MetricOrCriterion = Annotated[
    Named | str | Metric | Mapping[str, Any],
    Option(
        "The metric by name, such as fpr, one of your own, or a criterion, such as separation.",
        must="the name of a metric, such as fpr, or of a criterion, such as separation, or a metric of your own",
    ),
]
By = Annotated[
    str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]] | None,
    Option(
        "Attributes whose groups are compared, or groups such as race=Caucasian; default: the audit's groups.",
        form=options.compared,
        many=True,
        must=COMPARED,
    ),
]
Within = Annotated[
    str | Sequence[str] | None,
    Option(
        "Columns people must be alike in, such as job and grade: gaps are compared within them.",
        many=True,
        must="a column or a list of columns",
        counts_by="strata",
    ),
]
Depth = Annotated[int, Option("Intersections of up to this many attributes.", least=1)]
AnyTarget = Annotated[
    str | float | Mapping[str, Any],
    Option(
        "What each group is compared with: rest, overall, a number, or a reference group such as race=Caucasian.",
        form=options.target,
        must=TARGETS,
    ),
]
Tolerance = Annotated[
    float | str | Sequence[float] | None,
    Option(
        "The largest gap that is tolerated: '5 in 100', 0.05, or two numbers low,high.",
        form=options.numbers,
        shares=True,
        must=Words("a number, '5 in 100', or two numbers, low and high, such as {}", Example([-0.02, 0.05])),
    ),
]
Minimum = Annotated[int, Option("Groups with fewer members are listed as not tested.", least=0)]
Level = Annotated[float, Option("Of the intervals.", above=0.5, below=1)]
# measure, flag and scan have always taken any level
AnyLevel = Annotated[float, Option("Of the intervals.", above=0, below=1)]
Power = Annotated[
    float, Option("The chance of success that needed sizes are planned for.", above=0.5, below=1)
]
Seed = Annotated[int, Option("Same seed, same numbers.", least=0, whole_trial=True)]
Jobs = Annotated[
    int | None, Option("Parallel workers; numbers do not depend on it.", least=1, most=1024, whole_trial=True)
]
Tell = Annotated[
    Callable[[Progress], None] | None,
    Option(
        "Called as long loops go on.",
        python_only="it is a function; the command line shows a progress bar",
        whole_trial=True,
    ),
]
Scale = Annotated[
    ways.Scale,
    Option(
        "How a rate is compared: its difference to the target's, or its ratio to it (four fifths is 0.8)."
    ),
]
Adjustment = Annotated[
    Literal["strata", "model"],
    Option(
        "How people are made alike in `within`: counted in strata, or by models (doubly robust, cross-fitted)."
    ),
]

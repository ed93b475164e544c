"""What measure returns: rates per group with intervals, compared with a target."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from fairtrial._compare.columns import ADJUSTED_COLUMNS, PROBABLE_COLUMNS, UNKNOWN_COLUMNS
from fairtrial._compare.states import (
    DESCRIBED,
    EFFECT,
    EVERYONE,
    FAVOURED,
    FEW_IN_TARGET,
    NO_TARGET,
    NOBODY,
    TOO_FEW,
)
from fairtrial._compare.words import HOW_GAPS_ARE_INFERRED
from fairtrial._results.charts.picture import Picture
from fairtrial._results.column import Column, Primary, StateKind, scalar, state_columns, with_limits
from fairtrial._results.result import Result

NO_SPREAD = StateKind("no spread", words="not tested")
NOT_TESTED = StateKind("not tested")
UNDETERMINED = StateKind("undetermined")
UNTESTED = (TOO_FEW, NOBODY, EVERYONE, NO_TARGET, FEW_IN_TARGET, NO_SPREAD, NOT_TESTED)
UNTESTED_CODES = frozenset(kind.code for kind in UNTESTED)
STATES = (
    StateKind("violated", "bad", words="differs"), StateKind("harmed", "bad"), FAVOURED, DESCRIBED,
    StateKind("no violation shown", words="no difference shown"), UNDETERMINED, StateKind("reference"), *UNTESTED,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasureResult(Result):
    """Rates per group with intervals."""

    kind: ClassVar[str] = "measure"
    columns: ClassVar[tuple[Column, ...]] = (
        Column("metric", "metric", "text"),
        Column("value_kind", "values are", "text", shown=False),
        Column("group", "group", "text"),
        Column("threshold", "at threshold", "number"),
        Column("n", "n", "people"),
        Column("events", "events", "people", shown=False, part_of="n"),
        *with_limits("rate", "rate", "rate", share_of="n"),
        Column("target", "compared with", "text"),
        Column("target_rate", "target's rate", "rate", shown=False, share_of="target_n"),
        Column("target_n", "target's n", "people", shown=False),
        *with_limits("difference", "difference", "points"),
        Column("scale", "scale", "text", shown=False),
        *(
            replace(one, shown_with="unadjusted_ratio")
            for one in with_limits("ratio", "ratio", "ratio", shown=False)
        ),
        *UNKNOWN_COLUMNS[:5],
        *PROBABLE_COLUMNS,
        *with_limits("impact_ratio", "impact ratio", "ratio"),
        Column("four_fifths", "shown under four fifths", "flag"),
        Column("standardized", "standardized difference", "number"),
        *ADJUSTED_COLUMNS,
        Column("p_value", "p", "p", shown=False),
        Column("p_adjusted", "adjusted p", "p"),
        replace(EFFECT, shown=False),  # the finding says it
        *state_columns("finding"),
    )
    states: ClassVar[tuple[StateKind, ...]] = STATES
    people_in_details: ClassVar[frozenset[str]] = Result.people_in_details | {"people", "events", "others"}
    method: ClassVar[str] = (
        f"{HOW_GAPS_ARE_INFERRED} A single rate has the outermost of Wilson's limits and the exact ones, or those "
        "asked for; a mean the interval of its gap to zero. p-values are of no gap, or of the tolerance where one is "
        "given, adjusted by Holm over all groups and metrics measured."
    )
    citation: ClassVar[str] = (
        "Wilson (1927); Miettinen & Nurminen (1985), Statistics in Medicine 4; Koopman (1984), Biometrics 40; "
        "Holm (1979), Scandinavian Journal of Statistics 6."
    )

    def pictures(self) -> list[Picture]:
        """Rates with their intervals, then differences; over all thresholds the curves first."""
        from fairtrial._compare.measure.chart import pictures

        if "curves" in self.details:
            from fairtrial._compare.measure.curves_chart import curve_pictures

            return [*curve_pictures(self), *pictures(self)[1:]]
        return pictures(self)

    def reading(self) -> list[str]:
        """What was not compared; the rates themselves are in the chart and in the table."""
        sentences = []
        untested = [row for row in self.estimates if row["state"] in UNTESTED_CODES]
        if untested:
            sentences.append(
                f"{len(untested)} of {len(self.estimates)} lines could not be compared and are not judged."
            )
        return [self.verdict.text, *sentences]

    def primary(self) -> list[Primary]:
        """Every comparison's p-value, before the correction within this result."""
        labels, described = self.details["labels"], self.details.get("described", [])
        tested = [
            row
            for row in self.estimates
            if scalar(row["p_value"]) is not None and row["metric"] not in described
        ]
        return [Primary.of_gap(row, str(labels[row["metric"]]), str(row["target"])) for row in tested]

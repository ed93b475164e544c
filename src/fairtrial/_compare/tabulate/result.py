"""What tabulate returns: one of a field's own tables, a line per group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from fairtrial._compare.columns import ADJUSTED_COLUMNS
from fairtrial._compare.states import EFFECT, FAVOURED, UNTESTED
from fairtrial._results.charts.picture import Picture
from fairtrial._results.column import Column, Primary, StateKind, scalar, state_columns, with_limits
from fairtrial._results.result import Result

LISTED = StateKind("listed")
LEFT_OUT = StateKind("left out", compared=False)
UNKNOWN = StateKind("unknown", compared=False)
BEYOND = StateKind("beyond", "bad", words="beyond the threshold")
WITHIN = StateKind("within", "good", words="within the threshold")
UNDETERMINED = StateKind("undetermined")
NO_THRESHOLD = StateKind("no threshold", words="no threshold stated")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TabulateResult(Result):
    """A field's own table."""

    kind: ClassVar[str] = "tabulate"
    columns: ClassVar[tuple[Column, ...]] = (
        Column("metric", "what", "text"),
        Column("value_kind", "values are", "text", shown=False),
        Column("group", "group", "text"),
        Column("hazard", "hazard", "text"),
        Column("cutoff", "cut-off", "number"),
        Column("n", "n", "people"),
        Column("share", "of all", "rate"),
        Column("events", "number", "people", part_of="n"),
        *with_limits("rate", "rate", "rate", share_of="n"),
        Column("target", "compared with", "text"),
        Column("target_n", "target's n", "people"),
        Column("target_rate", "target's rate", "rate", share_of="target_n"),
        *with_limits("difference", "difference", "points"),
        *with_limits("basis_points", "basis points", "number"),
        Column("scale", "scale", "text", shown=False),
        *with_limits("ratio", "ratio", "ratio"),
        *with_limits("impact_ratio", "impact ratio", "ratio"),
        Column("four_fifths", "shown under four fifths (rule of thumb)", "flag"),
        Column("standard_deviations", "standard deviations", "number"),
        Column("fisher_p", "exact p", "p"),
        Column("fisher_p_adjusted", "adjusted exact p", "p"),
        Column("shortfall", "shortfall (people)", "number"),
        Column("exchanged_ratio", "ratio with one person exchanged", "ratio"),
        Column("reverses", "one person reverses it", "flag"),
        *with_limits("odds_ratio", "odds ratio of the unfavourable decision", "ratio"),
        Column("standardized", "standardized difference", "number"),
        *ADJUSTED_COLUMNS,
        Column("threshold", "threshold", "text"),
        Column("p_value", "p", "p", shown=False),
        Column("p_adjusted", "adjusted p", "p"),
        replace(EFFECT, shown=False),
        Column("mitigation", "mitigation", "text"),
        Column("review", "review", "text"),
        *state_columns("finding"),
    )
    states: ClassVar[tuple[StateKind, ...]] = (
        BEYOND, WITHIN, UNDETERMINED, NO_THRESHOLD, FAVOURED, LISTED, LEFT_OUT, UNKNOWN, *UNTESTED,
    )  # fmt: skip
    method: ClassVar[str] = (
        "Counts and rates as recorded. Ratios and differences to a target have the limits that measure, certify and "
        "flag give them; ratios to the highest rate have limits that know that it was chosen from the data. Exact "
        "p-values are Fisher's, over strata by the law of their sum given all margins; standard deviations and the "
        "shortfall are Mantel and Haenszel's (of one stratum the usual ones); limits of odds ratios are the exact "
        "conditional ones."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "Each person is there once.",
        "Groups, strata and thresholds were chosen before looking at these results.",
    )
    citation: ClassVar[str] = (
        "Fisher (1935), JRSS 98; Mantel & Haenszel (1959), JNCI 22; Koopman (1984), Biometrics 40; the law or "
        "practice of each table is cited in its notes."
    )

    def pictures(self) -> list[Picture]:
        """A forest for each ratio or difference that has limits."""
        from fairtrial._compare.tabulate.chart import pictures

        return pictures(self)

    def reading(self) -> list[str]:
        """The verdict, and what the field asks to be stated beside the numbers."""
        stated = [f"{name}: {value}." for name, value in self.details["stated"].items()]
        return [self.verdict.text, *stated]

    def primary(self) -> list[Primary]:
        """Tests against a stated threshold; the other numbers of a table describe and decide nothing."""
        tested = [row for row in self.estimates if scalar(row.get("p_value")) is not None]
        return [Primary.of_gap(row, str(row["metric"]), str(row["target"])) for row in tested]

"""What flag returns: every group with its gap, p-values and state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairtrial._compare.columns import (
    ADJUSTED_COLUMNS,
    CUT,
    PART,
    PROBABLE_COLUMNS,
    RATIO_COLUMNS,
    UNKNOWN_COLUMNS,
)
from fairtrial._compare.states import DESCRIBED, EFFECT, FAVOURED, UNTESTED
from fairtrial._compare.words import HOW_GAPS_ARE_INFERRED
from fairtrial._results.charts.picture import Picture
from fairtrial._results.column import Column, Primary, StateKind, scalar, state_columns, with_limits
from fairtrial._results.result import Result

TESTED = (
    StateKind("flagged", "bad"), FAVOURED, DESCRIBED, StateKind("not flagged"), StateKind("undetermined"),
)  # fmt: skip
TESTED_CODES = frozenset(kind.code for kind in TESTED)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlagResult(Result):
    """Every group with its disparity, p-value, adjusted p-value, and whether it is flagged."""

    kind: ClassVar[str] = "flag"
    columns: ClassVar[tuple[Column, ...]] = (
        Column("metric", "metric", "text", shown=False),
        Column("value_kind", "values are", "text", shown=False),
        Column("group", "group", "text"),
        PART,
        CUT,
        Column("depth", "depth", "count", shown=False),
        Column("n", "n", "people"),
        Column("rate", "rate", "rate", share_of="n"),
        Column("target_rate", "target", "rate", shown=False),
        *with_limits("difference", "difference", "points"),
        *RATIO_COLUMNS,
        *ADJUSTED_COLUMNS,
        *UNKNOWN_COLUMNS,
        *PROBABLE_COLUMNS,
        Column("p_value", "p", "p"),
        Column("p_adjusted", "adjusted p", "p"),
        Column("flagged", "flagged", "flag"),
        EFFECT,
        *state_columns("finding"),
        Column("rule", "inference", "text", shown=False),
    )
    states: ClassVar[tuple[StateKind, ...]] = (*TESTED, *UNTESTED)
    method: ClassVar[str] = (
        f"{HOW_GAPS_ARE_INFERRED} Tests are one-sided, two-sided or against a tolerance band. All groups "
        "of sufficient size form one family, corrected at once; a group's size alone decides whether it belongs."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "Groups, depth, direction and tolerance were chosen before looking at these results.",
    )
    citation: ClassVar[str] = (
        "Empirical Likelihood-based Fairness Auditing (ELFA), section 4 and supplement A, with a corrected treatment "
        "of estimated targets and of narrow tolerance bands; Benjamini & Hochberg (1995), JRSS B 57."
    )

    def pictures(self) -> list[Picture]:
        """The forest of tested groups, then the grid of intersections."""
        from fairtrial._compare.flag.chart import pictures

        return pictures(self)

    def reading(self) -> list[str]:
        """What a flag means, and what is said of groups that were not tested."""
        rate = f"{100 * self.details['fdr']:g}%"
        promise = (
            f"The chance of any wrong flag is at most {rate}."
            if self.details["correction"] == "holm"
            else f"Of the flagged groups, at most {rate} are expected to be flagged wrongly."
        )
        sentences = [self.verdict.text, *([promise] if self.verdict.code == "flagged" else [])]
        left_out = sum(row["state"] not in TESTED_CODES for row in self.estimates)
        if left_out:
            were = "group was" if left_out == 1 else "groups were"
            sentences.append(
                f"{left_out:,} {were} not tested; nothing is said about {'it' if left_out == 1 else 'them'}."
            )
        return sentences

    def primary(self) -> list[Primary]:
        """Every tested group's p-value, before the correction within this result."""
        label, target = str(self.details["label"]), str(self.details["target"])
        tested = [row for row in self.estimates if scalar(row["p_value"]) is not None]
        labels = self.details.get("labels", {})
        return [Primary.of_gap(row, str(labels.get(row["metric"], label)), target) for row in tested]

"""What flag returns: every group with its gap, what is found of it, and what small groups tell together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from fairtrial._compare.results import primary_of_gaps
from fairtrial._compare.words import (
    ADJUSTED_COLUMNS,
    CUT,
    DESCRIBED,
    EFFECT,
    FAVOURED,
    HOW_GAPS_ARE_INFERRED,
    PART,
    PROBABLE_COLUMNS,
    RATIO_COLUMNS,
    UNDETERMINED,
    UNKNOWN_COLUMNS,
    UNTESTED,
    unmeasured_sentences,
)
from fairtrial._results.charts import Picture
from fairtrial._results.column import (
    Column,
    Primary,
    StateKind,
    state_columns,
    with_limits,
)
from fairtrial._results.result import FurtherTable, Result

TESTED = (
    StateKind("flagged", "bad"), FAVOURED, DESCRIBED, StateKind("not flagged"), UNDETERMINED,
)  # fmt: skip
TESTED_CODES = frozenset(kind.code for kind in TESTED)


# What is told of small groups, and of those beside them: shown in a table of their own.
SMALL_COLUMNS = (
    Column("borrowed", "estimate (borrows)", "rate", shown=False, made_of="rate"),
    Column("borrowed_difference", "difference of the estimate", "points", shown=False),
    Column("rate_low", "low", "rate", shown=False),
    Column("rate_high", "high", "rate", shown=False),
    Column("furthest_low", "low, as one of the furthest", "rate", shown=False, made_of="rate"),
    Column("furthest_high", "high, as one of the furthest", "rate", shown=False, made_of="rate"),
    Column("rank_best", "best rank", "count", shown=False, made_of="rate"),
    Column("rank_worst", "worst rank", "count", shown=False, made_of="rate"),
)


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
        *SMALL_COLUMNS,
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
        """The forest of tested groups, the grid of intersections, then the small groups beside the others."""
        from fairtrial._compare.charts import flag_pictures

        if not self.details.get("small", {}).get("tables"):
            return flag_pictures(self)
        from fairtrial._compare.small_cell_chart import small_cell_pictures

        return [*flag_pictures(self), *small_cell_pictures(self)]

    def reading(self) -> list[str]:
        """What a flag means, and what is said of groups that were not tested."""
        rate = f"{100 * self.details['fdr']:g}%"
        promise = (
            f"The chance of any wrong flag is at most {rate}."
            if self.details["correction"] == "holm"
            else f"Of the flagged groups, at most {rate} are expected to be flagged wrongly."
        )
        sentences = [self.verdict.text, *unmeasured_sentences(self.estimates, self.details)]
        sentences += [promise] if self.verdict.code == "flagged" else []
        if self.details.get("small", {}).get("tables"):
            from fairtrial._compare.small_cell_words import sentences_of

            sentences += sentences_of(self.details)
        left_out = sum(
            row["state"] not in TESTED_CODES and row.get("rate_low") is None and row.get("borrowed") is None
            for row in self.estimates
        )
        if left_out:
            were = "group was" if left_out == 1 else "groups were"
            sentences.append(
                f"{left_out:,} {were} not tested; nothing is said about {'it' if left_out == 1 else 'them'}."
            )
        return sentences

    def at_least(self, groups: Sequence[str] | None = None, *, metric: str | None = None) -> int:
        """How many of these groups at least are beyond the tolerance, as against everyone.

        It holds at the confidence level for every choice of groups of the same attributes at once, made after looking
        too. `groups` are named as in the table, by default those of the attributes with most groups; groups of several
        depths share people and are counted together where one side is asked ("above" or "below"), not both.
        """
        from fairtrial._compare.small_cell_words import beyond_of

        return beyond_of(self, groups, metric)

    def further_tables(self) -> list[FurtherTable]:
        """The small groups, with the estimates that borrow and exact intervals."""
        rows = tuple(row for row in self.estimates if row.get("borrowed") is not None)
        if not rows or not self.details.get("small", {}).get("tables"):
            return []
        from fairtrial._compare.small_cell_words import small_table

        return [small_table(self, rows)]

    def primary(self) -> list[Primary]:
        """Every tested group's p-value, before the correction within this result."""
        return primary_of_gaps(self)

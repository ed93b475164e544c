"""What plan returns: members per group for each goal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairtrial._results.charts import Picture
from fairtrial._results.column import Column
from fairtrial._results.result import Result


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanResult(Result):
    """Members per group for each goal, and the power curve."""

    kind: ClassVar[str] = "plan"
    columns: ClassVar[tuple[Column, ...]] = (
        Column("goal", "to", "text"),
        Column("power", "power", "rate"),
        Column("members", "members of the group", "count"),
        Column("target_members", "members of the target", "count"),
        Column("rows", "rows that meet the condition", "count"),
        Column("periods", "periods", "count"),
    )
    people_in_details: ClassVar[frozenset[str]] = frozenset()  # people of a plan, nobody yet
    method: ClassVar[str] = (
        "Rates: counts that the sizes make likely go through the tests that certify and flag use, two one-sided ones "
        "to certify, the interval-null test to detect. Means: a normal approximation of the same tests."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "People are independent.",
        "The rate (or standard deviation) assumed is about right: too low a spread plans too few people.",
    )
    citation: ClassVar[str] = "Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15."

    def pictures(self) -> list[Picture]:
        """Power against members."""
        from fairtrial._plan.chart import pictures

        return pictures(self)

    def reading(self) -> list[str]:
        """The sentence, and what the numbers count."""
        return [
            self.verdict.text,
            f"Members are people who meet the condition of {self.details['label']}; a metric given an outcome or a "
            "decision needs more rows than that.",
        ]

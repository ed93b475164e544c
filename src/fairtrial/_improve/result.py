"""What improve returns: levels and gaps of both rules in every split, one p-value, and the Δ-surface."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from fairtrial._errors import Fault, InputError
from fairtrial._results.column import Column, Primary, Tone
from fairtrial._results.result import FurtherTable, Result

if TYPE_CHECKING:
    from fairtrial._audit.audit import Audit
    from fairtrial._improve.combining import Staircase
    from fairtrial._improve.rules import Rule
    from fairtrial._results.charts import Picture

# the log of the search: every candidate, how long it took, and its levels in every group
SEARCH = (
    Column("candidate", "candidate", "text"),
    Column("settings", "settings", "text", shown=False),
    Column("accuracy", "accuracy, out of fold", "number"),
    Column("accuracy_error", "standard error", "number", shown=False),
    Column("gap", "gap, out of fold", "number"),
    Column("gap_error", "standard error of the gap", "number", shown=False),
    Column("test_accuracy", "accuracy, other rows", "number"),
    Column("test_gap", "gap, other rows", "number"),
    Column("z", "weakest z", "number"),
    Column("chosen", "times chosen", "count"),
    Column("why", "why", "text"),
)
SEARCH_SECONDS = Column("seconds", "processor seconds", "number")
SEARCH_GROUPS = (
    Column("candidate", "candidate", "text"),
    Column("part", "part", "text"),
    Column("metric", "metric", "text"),
    Column("group", "group", "text"),
    Column("n", "n", "people", shown=False),
    Column("level", "out of fold", "number", share_of="n"),
    Column("test_level", "other rows", "number", share_of="n"),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImproveResult(Result):
    """Per split: levels, gaps and p-values of the chosen candidate; over all: one p-value and the Δ-surface."""

    kind: ClassVar[str] = "improve"
    columns: ClassVar[tuple[Column, ...]] = (
        Column("split", "test", "count"),
        Column("candidate", "candidate", "text"),
        Column("part", "part", "text"),
        Column("metric", "metric", "text"),
        Column("value_kind", "values are", "text", shown=False),
        Column("group", "group", "text"),
        Column("n", "n", "people", shown=False),
        Column("fewest", "fewest behind a gap", "people", shown=False),
        Column("status_quo", "status quo", "number", share_of="n"),
        Column("alternative", "alternative", "number", share_of="n"),
        Column("statistic", "holds by", "number", shown=False),
        Column("standard_error", "standard error", "number", shown=False),
        Column("p_value", "p", "p"),
        Column("p_delta_method", "delta-method p", "p", shown=False),
        Column("p_split", "p of the test", "p"),
    )
    verdict_tones: ClassVar[Mapping[str, Tone]] = {"alternative-exists": "bad", "undetermined": "open"}
    people_in_details: ClassVar[frozenset[str]] = frozenset(
        {"n", "gain_decision", "lose_decision", "selected_status_quo", "selected_alternative", "few_losses"}
    )
    method: ClassVar[str] = (
        "A rule fixed beforehand is tested on all rows; rules that are learned are chosen and fitted on earlier "
        "fifths of the rows and tested on later ones, in three random orders, or on one half and tested on the other "
        "in K random splits. Accuracy (no worse than the margin, for every group) is tested under Dirichlet weights "
        "of the rows and of one adverse row; the gap (smaller) by smooth intersection-union inequalities in the "
        "direction stated or found in training, with normal errors or a bootstrap. The largest p-value is the test's; "
        "the notes say how several become one. method='paper' is the article's test."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "Rows are independent people and represent those the rule decides about.",
        "The status quo, and any fixed candidate column, was not fitted on these rows.",
        "The status quo has a disparity; utilities and constraints were fixed before looking at the result.",
    )
    citation: ClassVar[str] = (
        "Auerbach, Liang, Okumura & Tabord-Meehan (2025), Testing the Fairness-Accuracy Improvability of Algorithms."
    )

    @property
    def p_value(self) -> float:
        """The combined p-value, to be compared with α itself."""
        return float(self.details["p_value"])

    @property
    def rejected(self) -> bool:
        """Whether a less discriminatory alternative was shown at the level asked for."""
        return bool(self.p_value < self.details["alpha"])

    @property
    def rule(self) -> Rule | None:
        """The rule to take away, fitted on all data: a scikit-learn classifier (not kept in saved results).

        Also without a rejection: then it is the best that was found, and its card says that it was not shown.
        """
        return self.objects.get("rule")

    def confirm(self, audit: Audit, *, seed: int = 0) -> ImproveResult:
        """The test of the refitted rule on people it has not seen: the claim as it was asked, on all their rows.

        What the search tested is the mixture of the rules it learned; this tests the one rule to take away. The
        direction of the status quo's gap is that of the first rows.

        Parameters
        ----------
        audit : Audit
            New people with the same roles.
        seed : int, default 0
            Same seed, same numbers.

        Returns
        -------
        ImproveResult
            One test on all rows of the new people.
        """
        again = self.objects.get("confirming")
        if again is None:
            cure = "ask again with the same data and seed, or save the rule and give it as Fixed"
            required = (
                "has no rule: one that was saved is not kept in it, and fixed rules need no second test"
            )
            raise InputError("confirm", Fault("", required, subject="the result", cure=cure))
        result: ImproveResult = again(audit, seed)
        return result

    def surface(self, level: float | None = None) -> Staircase:
        """The region of (Δ accuracy, Δ fairness) rejected at a level that was computed (default: α)."""
        from fairtrial._improve.combining import Corner, Staircase

        wanted = self.details["alpha"] if level is None else level
        for steps in self.details["surface"]:
            if math.isclose(steps["level"], wanted):
                corners = tuple(Corner(c["accuracy"], c["fairness"]) for c in steps["corners"])
                return Staircase(steps["level"], corners)
        known = [steps["level"] for steps in self.details["surface"]]
        raise InputError("improve", Fault("level", f"must be one of {known}", got=level))

    def largest_fairness_gain(self, accuracy_loss: float = 0.0) -> float | None:
        """The largest fairness gain shown at an accuracy loss of at most `accuracy_loss`, fixed in advance.

        Shares of the status quo, or units with an absolute margin; None where nothing is shown.
        """
        gain = self.surface().largest_fairness_gain(-accuracy_loss)
        return gain if math.isfinite(gain) else None

    @property
    def search(self) -> list[dict[str, Any]]:
        """The log of the search: every candidate with its numbers and why it was or was not chosen."""
        seconds = self.objects.get("seconds", {})
        return [
            {**row, "seconds": seconds[row["candidate"]]} if row["candidate"] in seconds else dict(row)
            for row in self.details["search"]
        ]

    def further_tables(self) -> list[FurtherTable]:
        """The log of the search, where there was one: every candidate, and its levels in every group."""
        rows = tuple(self.search)
        if not rows:
            return []
        columns = (*SEARCH, SEARCH_SECONDS) if "seconds" in rows[0] else SEARCH
        levels = tuple(
            {"candidate": row["candidate"], **level} for row in rows for level in row.get("groups", [])
        )
        return [
            FurtherTable("search", "Every candidate that was tried", columns, rows),
            FurtherTable("search_groups", "Every candidate in every group", SEARCH_GROUPS, levels),
        ]

    def pictures(self) -> list[Picture]:
        """Where the rules lie, how far the improvement reaches, and how the splits agree."""
        from fairtrial._improve.chart import pictures

        return pictures(self)

    def reading(self) -> list[str]:
        """What the splits, the surface and the refitted rule say."""
        from fairtrial._improve.sentences import sentences_of

        return [self.verdict.text, *sentences_of(self.details)]

    def primary(self) -> list[Primary]:
        """One p-value: that of all splits together."""
        claim, gap = self.details["claim"], self.details["gaps"][0]
        old, new = gap["mean_status_quo"], gap["mean_alternative"]
        return [
            Primary(
                metric=f"gap in {gap['metric']}, alternative",
                subject=" and ".join(claim["groups"]),
                p_value=self.p_value,
                effect=None if old is None or new is None else new - old,
                kind="points" if claim["fairness_is_rate"] else "number",
                against="status quo",
                n=self.details["rows"],
            )
        ]

"""The results of explain and compare: their columns, their words and what they claim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fairtrial.results.column import Column, Kind, Primary, scalar
from fairtrial.results.result import Result

ALL = "(all features)"
WORDS = {
    "shapley": "Shapley",
    "equal_surplus": "Equal Surplus",
    "solidarity": "Solidarity",
    "consensus": "Consensus",
    "lsp": "Least Squares Prenucleolus",
    "given": "the given sequence",
}
_CITATION = (
    "Amri-Jouidel, Kemel & Mussard (2026), Shapley meets Rawls, arXiv:2603.26476; Radzik & Driessen (2013), "
    "Mathematical Social Sciences 65; Castro, Gómez & Tejada (2009), Computers & Operations Research 36; "
    "Holm (1979), Scandinavian Journal of Statistics 6."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExplainResult(Result):
    """Which features carry a disparity."""

    kind: ClassVar[str] = "explain"
    columns: ClassVar[tuple[Column, ...]] = (
        Column("part", "part", "text"),
        Column("feature", "feature", "text"),
        Column("group", "group", "text"),
        Column("versus", "minus", "text"),
        Column("points", "points", "points"),
        Column("low", "low", "points"),
        Column("high", "high", "points"),
        Column("p_value", "p", "p", shown=False),
        Column("p_adjusted", "adjusted p", "p"),
        Column("value", "value", "number"),
        Column("value_low", "low", "number", shown=False),
        Column("value_high", "high", "number", shown=False),
        Column("error", "standard error", "points", shown=False),
        Column("monte_carlo", "Monte-Carlo error", "points"),
        Column("allocation", "allocation", "text", shown=False),
        Column("scale", "scale", "text", shown=False),
    )
    method: ClassVar[str] = (
        "First stage: the groups' rates over a baseline are shared out by an efficient, symmetric and linear (ESL) "
        "value; equality is tested with the pooled two-proportion test (chi-square for more groups) and the gap has "
        "the same interval as everywhere else in this package. Second stage: the same kind of value shares each "
        "group's rate out over the features, from classifiers that see only some of them. Every person has an "
        "influence on every contribution; standard errors are those of the influence, with Student quantiles; tests "
        "are adjusted by Holm over the features."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "Rows are independent people; group sizes are taken as they are.",
        "Intervals hold for the fitted classifiers as they are (and for the background sample, when imputing): they do "
        "not include the chance of another training sample.",
        "Feature tests are about drivers. They are not tests of the fairness criterion: features can cancel, and a "
        "fair system can have strong drivers. The first stage is the test of the criterion.",
    )
    citation: ClassVar[str] = _CITATION

    @property
    def gap(self) -> dict[str, Any]:
        """The first row: the gap of the first pair of groups."""
        return self.estimates[0]

    @property
    def p_value(self) -> float | None:
        """Of the hypothesis that all groups have the same rate."""
        found: float | None = scalar(self.details["omnibus"]["p_value"])
        return found

    @property
    def drivers(self) -> list[dict[str, Any]]:
        """Contributions to the gap(s), the largest first."""
        rows = [row for row in self.estimates if row["part"] == "contribution to the gap"]
        return sorted(rows, key=lambda row: -abs(scalar(row["points"]) or 0.0))

    def reading(self) -> list[str]:
        """What the explanation shows and what it does not."""
        details = self.details
        return [
            self.verdict.text,
            details["drivers_text"],
            *[entry["text"] for entry in details["pareto"] if entry["helps"]],
            details["meaning"],
            "These are drivers, not tests of the criterion: only the first sentence tests whether the rates are equal.",
        ]

    def primary(self) -> list[Primary]:
        """The first stage's test alone: feature tests are adjusted among themselves."""
        p = self.p_value
        gaps = [row for row in self.estimates if row["part"] == "gap" and scalar(row["points"]) is not None]
        if p is None or not gaps:
            return []
        row = max(gaps, key=lambda gap: abs(gap["points"]))
        people = {entry["group"]: entry["n"] for entry in self.details["groups"]}
        return [
            Primary(
                self.details["metric_label"],
                row["group"],
                p,
                effect=row["points"],
                low=row["low"],
                high=row["high"],
                kind="points" if self.details["binary"] else "number",
                against=row["versus"],
                n=people[row["group"]],
            )
        ]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CompareResult(Result):
    """How an explanation changed from one decision rule to another, on the same people."""

    kind: ClassVar[str] = "compare"
    columns: ClassVar[tuple[Column, ...]] = (
        Column("part", "part", "text"),
        Column("feature", "feature", "text"),
        Column("group", "group", "text"),
        Column("versus", "minus", "text"),
        Column("before", "before", "points"),
        Column("after", "after", "points"),
        Column("change", "change", "points"),
        Column("low", "low", "points"),
        Column("high", "high", "points"),
        Column("p_value", "p", "p", shown=False),
        Column("p_adjusted", "adjusted p", "p"),
        Column("error", "standard error", "points", shown=False),
        Column("scale", "scale", "text", shown=False),
    )
    method: ClassVar[str] = (
        "Both explanations are of the same people, so the change is the difference of two sums over the same rows, "
        "and its standard error comes from the differences of the rows' influence values: what both rules have in "
        "common cancels."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "Rows are independent people; group sizes are taken as they are.",
        "Both rules' fitted classifiers are taken as they are.",
    )
    citation: ClassVar[str] = _CITATION

    def reading(self) -> list[str]:
        return [self.verdict.text, self.details["drivers_text"]]

    def primary(self) -> list[Primary]:
        row = self.estimates[0]
        p = scalar(row["p_value"])
        if p is None:
            return []
        kind: Kind = "points" if self.details["binary"] else "number"
        subject = f"{row['group']} minus {row['versus']}, change"
        limits = {"effect": row["change"], "low": row["low"], "high": row["high"]}
        return [
            Primary(self.details["metric_label"], subject, float(p), **limits, kind=kind, against="before")
        ]

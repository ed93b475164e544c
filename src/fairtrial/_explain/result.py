"""What explain returns, and the change from one explanation to another: columns, states and claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from fairtrial._errors import Fault, InputError
from fairtrial._explain.request import (
    ABOUT,
    CARRIES,
    CHANGED,
    CITATION,
    DIFFERS,
    GAP,
    MEASURED,
    NOT_SHOWN,
    PEOPLE,
    TESTED,
    TO_GAP,
    UNDETERMINED,
    primary_of,
)
from fairtrial._results.charts import Picture
from fairtrial._results.claims import Claim, Judged, Side, place_words
from fairtrial._results.column import Column, Primary, StateKind, Tone, scalar, with_limits
from fairtrial._results.result import Result


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExplainResult(Result):
    """Which features carry a disparity."""

    kind: ClassVar[str] = "explain"
    columns: ClassVar[tuple[Column, ...]] = (
        *ABOUT,
        *PEOPLE,
        *with_limits("rate", "rate", "rate", share_of="n"),
        Column("difference", "difference", "points"),
        *TESTED,
        *with_limits("value", "value", "number"),
        Column("error", "standard error", "points", shown=False),
        Column("monte_carlo", "Monte-Carlo error", "points"),
        Column("allocation", "allocation", "text", shown=False),
    )
    verdict_tones: ClassVar[Mapping[str, Tone]] = {"violated": "bad"}
    states: ClassVar[tuple[StateKind, ...]] = (DIFFERS, CARRIES, NOT_SHOWN, UNDETERMINED, MEASURED)
    method: ClassVar[str] = (
        "First stage: the groups' rates over a baseline are shared out by an efficient, symmetric and linear (ESL) "
        "value; the gap of the audited decisions has the test and the interval it has everywhere in this package. "
        "Second stage: the same kind of value shares each group's rate under the explained system out over the "
        "features, from classifiers that see only some of them. Every person has an influence on every contribution; "
        "every group is joined by a quarter of a person at either end of what is possible, and interval and test are "
        "Welch's with these; tests are adjusted by Holm over the features. The change of a rate without a feature has "
        "the interval of paired decisions (Tango's, never sharper than Bonett and Price's)."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "Group sizes are taken as they are.",
        "Intervals hold for the fitted classifiers as they are (and for the background sample, when imputing): they do "
        "not include the chance of another training sample.",
        "Feature tests are about drivers. They are not tests of the fairness criterion: features can cancel, and a "
        "fair system can have strong drivers. The first stage is the test of the criterion.",
    )
    told_in_details: ClassVar[frozenset[str]] = frozenset({"finding", "drivers_text"})
    citation: ClassVar[str] = CITATION

    def by_metric(self) -> list[ExplainResult]:
        """One result for each metric of a criterion; of a single metric, the result itself."""
        parts = self.details.get("parts")
        if parts is None:
            return [self]
        return [
            replace(
                self,
                details=parts[name],
                estimates=tuple(row for row in self.estimates if row["metric"] == name),
            )
            for name in parts
        ]

    def pictures(self) -> list[Picture]:
        """The waterfall first, then both groups' bars, the panel of allocations, and mitigation; for every metric."""
        from fairtrial._explain.chart import pictures

        parts = self.by_metric()
        if len(parts) == 1:
            return pictures(parts[0])
        return [
            replace(picture, name=f"{picture.name}-{part.details['metric']}")
            for part in parts
            for picture in pictures(part)
        ]

    def claims(self) -> list[Claim]:
        """What it says of every gap of the audited decisions."""
        return [claim for part in self.by_metric() for claim in _gap_claims(part)]

    @property
    def gap(self) -> dict[str, Any]:
        """The first row: the gap of the first pair of groups, of the audited decisions where there are any."""
        return self.estimates[0]

    @property
    def p_value(self) -> float | None:
        """Of the hypothesis that all groups have the same rate."""
        found: float | None = scalar(self.details["omnibus"]["p_value"])
        return found

    @property
    def drivers(self) -> list[dict[str, Any]]:
        """Contributions to the gap(s), the largest first."""
        rows = [row for row in self.estimates if row["part"] == TO_GAP]
        return sorted(rows, key=lambda row: -abs(scalar(row["difference"]) or 0.0))

    def compare(self, other: ExplainResult, *, confidence_level: float = 0.95) -> CompareResult:
        """The change from this explanation to another (e.g. after a mitigation), with paired intervals.

        Both must explain the same metric, groups and features on the same rows, and come from this session: the rows'
        influence values are not saved with a result.

        Parameters
        ----------
        other : ExplainResult
            A result of explain.
        confidence_level : float, default 0.95
            Confidence level of the intervals.

        Returns
        -------
        CompareResult
            The change of every gap, rate and contribution.

        Examples
        --------
        >>> import fairtrial
        >>> table = fairtrial.load("compas", backend="pandas")
        >>> audit = fairtrial.Audit(table, outcome="two_year_recid", groups="sex", features=["priors_count", "age"])
        >>> before, after = (
        ...     fairtrial.explain(audit, "fpr", model=model, target={"sex": "Female"}) for model in ("tree", "logistic")
        ... )
        >>> before.compare(after).verdict.code
        'no change shown'
        """
        from fairtrial._explain.two_rules import WHO, compare_rules

        if not isinstance(other, ExplainResult):
            raise InputError(WHO, Fault("other", "must be a result of explain", got=other))
        return compare_rules(self, other, confidence_level, CompareResult)

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
        """The first stage's test alone, of every metric: feature tests are adjusted among themselves."""
        parts = self.by_metric()
        if len(parts) > 1:
            return [entry for part in parts for entry in part.primary()]
        p = self.p_value
        gaps = [row for row in self.estimates if row["part"] == GAP]
        known = [row for row in gaps if scalar(row["difference"]) is not None]
        if p is None or not known:
            return []
        row = max(known, key=lambda gap: abs(gap["difference"]))
        n = scalar(row["n"])  # a masked result has no count of few
        return [primary_of(self, row, p, subject=row["group"], against=row["target"], n=n)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CompareResult(Result):
    """How an explanation changed from one decision rule to another, on the same people."""

    kind: ClassVar[str] = "compare"
    columns: ClassVar[tuple[Column, ...]] = (
        *ABOUT,
        Column("before", "before", "points"),
        Column("after", "after", "points"),
        Column("difference", "change", "points"),
        *TESTED,
        Column("error", "standard error", "points", shown=False),
    )
    states: ClassVar[tuple[StateKind, ...]] = (CHANGED, NOT_SHOWN, UNDETERMINED, MEASURED)
    method: ClassVar[str] = (
        "Both explanations are of the same people, so the change is the difference of two sums over the same rows, "
        "and its standard error comes from the differences of the rows' influence values: what both rules have in "
        "common cancels."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "Group sizes are taken as they are.",
        "Both rules' fitted classifiers are taken as they are.",
    )
    told_in_details: ClassVar[frozenset[str]] = frozenset({"drivers_text"})
    citation: ClassVar[str] = CITATION

    def pictures(self) -> list[Picture]:
        """Every feature's contribution before and after."""
        from fairtrial._explain.chart import before_after

        return [before_after(self)]

    def reading(self) -> list[str]:
        """How the gap changed, and which contributions did."""
        return [self.verdict.text, self.details["drivers_text"]]

    def primary(self) -> list[Primary]:
        """The change of the first gap."""
        row = self.estimates[0]
        p = scalar(row["p_value"])
        if p is None:
            return []
        change = f"{row['group']} minus {row['target']}, change"
        return [primary_of(self, row, float(p), subject=change, against="before")]


def _gap_claims(result: ExplainResult) -> list[Claim]:
    places = {entry["group"]: place_words(entry["place"]) for entry in result.details["groups"]}
    found = []
    for row in result.estimates:
        size = scalar(row["difference"])
        if row["part"] != GAP or size is None:
            continue
        side: Side = "differs" if size == 0 else "above" if size > 0 else "below"
        judged: Judged = "found" if result.state_of(row).tone == "bad" else "undetermined"
        who, against = (places.get(row[name], str(row[name])) for name in ("group", "target"))
        level = result.confidence_level
        found.append(
            Claim(
                "explain",
                str(row["metric"]),
                who,
                against,
                side,
                float(size),
                "difference",
                None,
                level,
                judged,
            )
        )
    return found

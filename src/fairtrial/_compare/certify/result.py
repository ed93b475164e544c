"""What certify returns: every group's gap with its state, one joint test, and a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairtrial._compare.columns import (
    ADJUSTED_COLUMNS,
    CERTIFIED_RATIO_COLUMNS,
    CUT,
    PART,
    PROBABLE_COLUMNS,
    UNKNOWN_COLUMNS,
)
from fairtrial._compare.states import DESCRIBED, EFFECT, FAVOURED, UNTESTED
from fairtrial._compare.words import HOW_GAPS_ARE_INFERRED
from fairtrial._results.charts.picture import Picture
from fairtrial._results.column import Column, Primary, StateKind, scalar, state_columns, with_limits
from fairtrial._results.result import Result
from fairtrial._results.text import counted

STATES = (
    StateKind("violated", "bad"),
    StateKind("certified", "good"),
    FAVOURED,
    DESCRIBED,
    StateKind("undetermined"),
    StateKind("no violation shown"),
    *UNTESTED,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CertifyResult(Result):
    """Every group's disparity, a joint test, and certified / violated / undetermined."""

    kind: ClassVar[str] = "certify"
    columns: ClassVar[tuple[Column, ...]] = (
        Column("metric", "metric", "text", shown=False),
        Column("value_kind", "values are", "text", shown=False),
        Column("group", "group", "text"),
        PART,
        CUT,
        Column("n", "n", "people"),
        Column("rate", "rate", "rate", share_of="n"),
        Column("target", "compared with", "text", shown=False),
        Column("target_rate", "target", "rate"),
        *with_limits("difference", "difference", "points"),
        Column("together_low", "low, all at once", "points", shown=False),
        Column("together_high", "high, all at once", "points", shown=False),
        Column("certificate_low", "low of the certificate", "points", shown=False),
        Column("certificate_high", "high of the certificate", "points", shown=False),
        *CERTIFIED_RATIO_COLUMNS,
        *ADJUSTED_COLUMNS,
        *UNKNOWN_COLUMNS,
        *PROBABLE_COLUMNS,
        Column("p_value", "p", "p"),
        Column("p_adjusted", "adjusted p", "p"),
        EFFECT,
        *state_columns("verdict"),
        Column("family_state", "verdict, all at once", "state", shown=False),
        Column("members_needed", "members needed", "count"),
        Column("rows_needed", "rows needed", "count", shown=False),
        Column("labels_needed", "labels needed", "count"),
        Column("detectable", "detectable", "points"),
        Column("rule", "inference", "text", shown=False),
    )
    states: ClassVar[tuple[StateKind, ...]] = STATES
    method: ClassVar[str] = (
        f"{HOW_GAPS_ARE_INFERRED} A group is certified "
        "when its (1−2α) interval lies inside the tolerance and, where a count is below 10 or the target is a known "
        "rate, binomial tails agree; violated when the interval-null p-value is at most α. Overall: certified when "
        "every group is; violated by Holm's p-value or an interval that holds for all groups at once; without a "
        "tolerance by the joint test alone; "
        "intervals that hold for all groups at once use the largest |t| of the joint Gaussian limit."
    )
    assumptions: ClassVar[tuple[str, ...]] = ("The tolerance was chosen before looking at these results.",)
    told_in_details: ClassVar[frozenset[str]] = frozenset({"statement"})
    citation: ClassVar[str] = (
        "Empirical Likelihood-based Fairness Auditing (ELFA), sections 3 and 4, with a corrected treatment of "
        "estimated targets; Owen (2001), Empirical Likelihood; Miettinen & Nurminen (1985), Statistics in Medicine 4; "
        "Schuirmann (1987), two one-sided tests."
    )

    def pictures(self) -> list[Picture]:
        """The forest of differences against the tolerance."""
        from fairtrial._compare.certify.chart import pictures

        return pictures(self)

    @property
    def p_value(self) -> float:
        """The joint test that every disparity is zero."""
        return float(self.details["joint"]["p_value"])

    def reading(self) -> list[str]:
        """What the joint test, the tolerance and the sample say."""
        joint = self.details["joint"]
        sentences = [self.verdict.text]
        if joint.get("reason"):
            sentences.append(f"There is no joint test: {joint['reason']}.")
        else:
            p, alpha = joint["p_value"], 1 - self.details["confidence_level"]
            outcome = "rejects" if p <= alpha else "does not reject"
            over = f", corrected over {joint['cuts']} cuts" if joint.get("cuts") else ""
            by = (
                joint["rule"]
                if joint["statistic"] is None
                else f"χ² {joint['statistic']:,.2f} on {counted(joint['df'], 'degree')} of freedom"
            )
            sentences.append(
                f"The joint test {outcome} that every disparity is zero ({by}, p "
                f"{'< 0.001' if p < 0.001 else f'{p:.3f}'}{over})."
            )
        if self.details["tolerance"] is None:
            sentences.append(
                "Without a tolerance nothing can be certified: not finding a disparity is not its absence."
            )
        return [*sentences, *self._open_words()]

    def _open_words(self) -> list[str]:
        """Why groups stay undetermined: too few people, or as many as would do without a gap."""
        open_ones = [row for row in self.estimates if row["state"] == "undetermined"]
        needed = [(n, row) for row in open_ones if (n := scalar(row["members_needed"]))]
        if not needed:
            return []
        short = [(n, str(row["group"])) for n, row in needed if n > (scalar(row["n"]) or 0)]
        stay = (
            f"{len(open_ones)} of {counted(len(self.estimates), 'group')}"
            f"{' and cuts' if 'cuts' in self.details else ''} {'stays' if len(open_ones) == 1 else 'stay'} undetermined"
        )
        if not short:
            return [
                f"{stay}: at these sizes groups without a gap would mostly be certified, so a gap may be there."
            ]
        few = "" if len(short) == len(open_ones) else f"for {len(short)} of them "
        need, group = max(short)
        return [
            f"{stay}: {few}the sample is too small for this tolerance. {group} would need about {need:,} members to be "
            "certified with 80% power if its disparity were zero."
        ]

    def primary(self) -> list[Primary]:
        """One p-value: the joint test, or per group when violations of a tolerance were tested."""
        metric = str(self.details["label"])
        if self.details["tolerance"] is None:
            return [Primary(metric, "all groups", self.p_value, against=str(self.details["target"]))]
        tested = [row for row in self.estimates if scalar(row["p_value"]) is not None]
        labels = self.details.get("labels", {})
        target = str(self.details["target"])
        return [Primary.of_gap(row, str(labels.get(row["metric"], metric)), target) for row in tested]

"""What measure, certify and tabulate return: every group with its gap, intervals and state, and a verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from fairtrial._compare.words import (
    ADJUSTED_COLUMNS,
    BEYOND,
    CERTIFIED_RATIO_COLUMNS,
    CUT,
    DESCRIBED,
    EFFECT,
    FAVOURED,
    HOW_GAPS_ARE_INFERRED,
    LEFT_OUT,
    LISTED,
    NO_THRESHOLD,
    NOT_COMPARED,
    NOT_COMPARED_CODES,
    PART,
    PROBABLE_COLUMNS,
    UNDETERMINED,
    UNKNOWN,
    UNKNOWN_COLUMNS,
    UNTESTED,
    WITHIN,
    unmeasured_sentences,
)
from fairtrial._results.charts import Picture
from fairtrial._results.column import Column, Primary, StateKind, scalar, state_columns, with_limits
from fairtrial._results.result import Result
from fairtrial._results.text import counted

MEASURE_STATES = (
    StateKind("violated", "bad", words="differs"), StateKind("harmed", "bad"), FAVOURED, DESCRIBED,
    StateKind("no violation shown", words="no difference shown"), UNDETERMINED, StateKind("reference"), *NOT_COMPARED,
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
    states: ClassVar[tuple[StateKind, ...]] = MEASURE_STATES
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
        from fairtrial._compare.measure_charts import curve_pictures, measure_pictures

        if "curves" in self.details:
            return [*curve_pictures(self), *measure_pictures(self)[1:]]
        return measure_pictures(self)

    def reading(self) -> list[str]:
        """What was not compared; the rates themselves are in the chart and in the table."""
        sentences = []
        untested = [row for row in self.estimates if row["state"] in NOT_COMPARED_CODES]
        if untested:
            sentences.append(
                f"{len(untested)} of {len(self.estimates)} lines could not be compared and are not judged."
            )
        return [self.verdict.text, *unmeasured_sentences(self.estimates, self.details), *sentences]

    def primary(self) -> list[Primary]:
        """Every comparison's p-value, before the correction within this result."""
        labels, described = self.details["labels"], self.details.get("described", [])
        tested = [
            row
            for row in self.estimates
            if scalar(row["p_value"]) is not None and row["metric"] not in described
        ]
        return [Primary.of_gap(row, str(labels[row["metric"]]), str(row["target"])) for row in tested]


CERTIFY_STATES = (
    StateKind("violated", "bad"), StateKind("certified", "good"), FAVOURED, DESCRIBED, UNDETERMINED,
    StateKind("no violation shown"), *UNTESTED,
)  # fmt: skip


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
    states: ClassVar[tuple[StateKind, ...]] = CERTIFY_STATES
    method: ClassVar[str] = (
        f"{HOW_GAPS_ARE_INFERRED} A group is certified "
        "when its (1−2α) interval lies inside the tolerance and, where a count is below 10 or the target is a known "
        "rate, binomial tails agree; violated when the interval-null p-value is at most α. Overall: certified when "
        "every group is; violated by Holm's p-value or an interval that holds for all groups at once; without a "
        "tolerance by the joint test alone; intervals for all groups at once use the largest |t| of the joint law."
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
        from fairtrial._compare.charts import certify_pictures

        return certify_pictures(self)

    @property
    def p_value(self) -> float:
        """The joint test that every disparity is zero."""
        return float(self.details["joint"]["p_value"])

    def reading(self) -> list[str]:
        """What the joint test, the tolerance and the sample say."""
        joint = self.details["joint"]
        sentences = [self.verdict.text, *unmeasured_sentences(self.estimates, self.details)]
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
        return primary_of_gaps(self)


def primary_of_gaps(result: Result) -> list[Primary]:
    """One p-value per group, called by its metric where there are several."""
    label, target, labels = (
        result.details["label"],
        result.details["target"],
        result.details.get("labels", {}),
    )
    tested = [row for row in result.estimates if scalar(row["p_value"]) is not None]
    return [Primary.of_gap(row, str(labels.get(row["metric"], label)), str(target)) for row in tested]


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
        from fairtrial._compare.measure_charts import table_pictures

        return table_pictures(self)

    def reading(self) -> list[str]:
        """The verdict, and what the field asks to be stated beside the numbers."""
        stated = [f"{name}: {value}." for name, value in self.details["stated"].items()]
        return [self.verdict.text, *stated]

    def primary(self) -> list[Primary]:
        """Tests against a stated threshold; the other numbers of a table describe and decide nothing."""
        tested = [row for row in self.estimates if scalar(row.get("p_value")) is not None]
        return [Primary.of_gap(row, str(row["metric"]), str(row["target"])) for row in tested]

"""What watch returns: per group what was shown of any period, what holds on average so far, and whether it changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairtrial._results.charts import Picture
from fairtrial._results.column import (
    Column,
    Kind,
    Primary,
    StateKind,
    Tone,
    scalar,
    state_columns,
    with_limits,
)
from fairtrial._results.result import Result

STATES = (
    StateKind("violated", "bad"),
    StateKind("no violation shown"),
    StateKind("waiting", words="not compared yet", compared=False),
    StateKind("certified", "good", words="certified so far"),
    StateKind("outside", "bad", words="outside on average"),
    StateKind("undetermined"),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WatchResult(Result):
    """Two claims per group: that some period was outside the tolerance, and where the average gap lies."""

    kind: ClassVar[str] = "watch"
    columns: ClassVar[tuple[Column, ...]] = (
        Column("metric", "metric", "text", shown=False),
        Column("value_kind", "values are", "text", shown=False),
        Column("group", "group", "text"),
        Column("n", "n", "people"),
        Column("rate", "rate", "rate", share_of="n"),
        Column("target", "compared with", "text", shown=False),
        Column("target_rate", "target", "rate", share_of="target_n"),
        Column("target_n", "n of the target", "people", shown=False),
        *with_limits("difference", "average gap", "points"),
        *with_limits("ratio", "average ratio", "ratio"),
        Column("average_state", "on average so far", "state"),
        Column("log_e", "log of the e-value", "number", shown=False),
        Column("p_value", "p at any look", "p"),
        Column("p_adjusted", "adjusted p", "p", shown=False),
        *state_columns("any period"),
        Column("since", "shown since", "text"),
        Column("changed", "changed since", "text"),
        Column("blocks", "periods compared", "count", shown=False),
    )
    states: ClassVar[tuple[StateKind, ...]] = STATES
    verdict_tones: ClassVar[dict[str, Tone]] = {"changed": "bad", "none-shown": "open"}
    gates: ClassVar[tuple[str, ...]] = ("violated", "changed", "undetermined")
    method: ClassVar[str] = (
        "Periods enter one after the other, as counts, once their waiting time is over. Any period: rates learned from "
        "earlier periods are set against the nearest ones inside the tolerance, in likelihood (an e-process of two "
        "learners); violated when e-BH with weights fixed in advance lists the group. On average so far: products of "
        "bets on both groups bound the average gap, weighted by n·m/(n+m), at every look at once; certified when both "
        "ends of the tolerance are rejected. Change: an e-detector against the 99% interval of the reference period."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "Each person counts once.",
        "The question, the tolerance and the groups' weights were fixed before the first look.",
        "Whether a row's outcome is known in time does not depend on the outcome.",
    )
    citation: ClassVar[str] = (
        "The future work of Empirical Likelihood-based Fairness Auditing (ELFA); Turner, Ly & Grünwald (2024), Generic "
        "E-variables for k-sample tests; Waudby-Smith & Ramdas (2024), JRSS B 86; Howard et al. (2021), Annals of "
        "Statistics 49; Shin, Ramdas & Rinaldo (2024), E-detectors; Wang & Ramdas (2022), JRSS B 84."
    )

    def pictures(self) -> list[Picture]:
        """The average gap over time, the evidence over time, and where every group stands."""
        from fairtrial._watch.chart import pictures

        return pictures(self)

    def reading(self) -> list[str]:
        """One claim per sentence."""
        verdict, *others = self.details["sentences"]
        average = self.details.get("average", {}).get("text")
        return [verdict, *([average] if average else []), *others]

    def primary(self) -> list[Primary]:
        """One p-value per group that holds at any look."""
        found = []
        for row in self.estimates:
            if scalar(row["p_value"]) is not None:
                name = "ratio" if self.details["scale"] == "ratio" else "difference"
                effect, low, high = (scalar(row[f"{name}{end}"]) for end in ("", "_low", "_high"))
                kind: Kind = (
                    "ratio" if name == "ratio" else "points" if row["value_kind"] == "percent" else "number"
                )
                found.append(
                    Primary(
                        str(self.details["label"]), str(row["group"]), float(scalar(row["p_value"])), effect, low,
                        high, kind, str(self.details["target"]), int(row["n"]),
                    )
                )  # fmt: skip
        return found

"""What transport returns: every group's rate now and after the smallest change, who moves, and the gap's p-value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from fairtrial._compare.words import measured
from fairtrial._errors import Fault, InputError
from fairtrial._results.column import (
    Column,
    Primary,
    StateKind,
    Tone,
    reason,
    scalar,
    state_columns,
    with_limits,
)
from fairtrial._results.result import Result

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fairtrial._results.charts.picture import Picture
    from fairtrial._transport.movers import MovedRows

TOO_FEW = StateKind("too few", words="not compared", compared=False)
ALONE = StateKind("alone", words="not compared", compared=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TransportResult(Result):
    """The smallest change: who moves, how far, and whether the gap is more than chance."""

    kind: ClassVar[str] = "transport"
    columns: ClassVar[tuple[Column, ...]] = (
        Column("metric", "rate", "text"),
        Column("attribute", "attribute", "text", shown=False),
        Column("group", "group", "text"),
        Column("n", "n", "people"),
        Column("rate", "now", "rate", share_of="n"),
        Column("rate_after", "after", "rate", share_of="n"),
        Column("target", "compared with", "text"),
        Column("target_n", "target's n", "people", shown=False),
        *with_limits("difference", "difference", "points"),
        Column("gained", "0 → 1", "number", part_of="n"),
        Column("lost", "1 → 0", "number", part_of="n"),
        Column("share_moved", "share moved", "rate", share_of="n"),
        Column("mean_shift", "mean shift", "number"),
        Column("largest_shift", "largest shift", "number"),
        Column("cannot_move", "cannot move", "people", shown=False, part_of="n"),
        Column("tied", "tied at the edge", "people", shown=False, part_of="n"),
        *state_columns("finding"),
    )
    # which way the rate goes is no judgement; "compared" where no change could be computed
    verdict_tones: ClassVar[Mapping[str, Tone]] = {"violated": "bad"}
    states: ClassVar[tuple[StateKind, ...]] = (
        *(StateKind(code) for code in ("rises", "falls", "stays", "compared")),
        *(StateKind(f"reference{more}") for more in (", rises", ", falls", ", stays", "")),
        TOO_FEW,
        ALONE,
    )
    people_in_details: ClassVar[frozenset[str]] = frozenset({"rows", "count", "tied"})
    method: ClassVar[str] = (
        "The cheapest plan that moves people across the decision boundary until the criterion holds (an optimal "
        "transport projection), solved exactly by sorting, by a search for the common rate, or by a linear program "
        "with a certificate. The p-value is about the gap itself, and for one equality it is the gap's, as in measure, "
        "certify and flag; several equalities are tested at once with rates pooled under the null, drawn given the "
        "number of events where counts are not large. Differences have the intervals of those methods too; "
        "the one that the verdict quotes of the widest of several holds for all of them at once."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "The distance says what a move costs; another distance gives another smallest change, not another p-value for "
        "one equality.",
    )
    citation: ClassVar[str] = (
        "Si, Murthy, Blanchet & Nguyen (2021), Testing Group Fairness via Optimal Transport Projections, ICML."
    )

    @property
    def p_value(self) -> float | None:
        """The p-value of the gap; None where it is undefined (`details["p_value"]` has the reason)."""
        return _number(self.details["p_value"])

    @property
    def statistic(self) -> float | None:
        """N·P: the sum over people of move probability times distance."""
        return _number(self.details["statistic"])

    @property
    def people_moved(self) -> float | None:
        """How many people cross the boundary."""
        return _number(self.details["moved"])

    def moved(self, backend: str | None = None) -> Any:
        """Who moves, from where to where: one line per person, for whoever asks; nothing of it is published.

        Parameters
        ----------
        backend : {'pandas', 'polars', 'pyarrow'}, optional
            The kind of frame; the one the data came in by default.

        Returns
        -------
        dataframe
            The row's place among those the audit uses (from 0), its group, the decision now and after, the share of
            it that moves (below 1 where people are tied), the distance, which features change, and each of these
            before and after. A kernel machine or a column of distances tells no features.
        """
        return self._rows("moved").to_frame(backend or self.provenance.get("frame", "pyarrow"))

    def fair_distribution(self, backend: str | None = None) -> Any:
        """The nearest distribution that meets the criterion (Proposition 3): who stays, and who is moved where.

        Parameters
        ----------
        backend : {'pandas', 'polars', 'pyarrow'}, optional
            The kind of frame; the one the data came in by default.

        Returns
        -------
        dataframe
            A line for what stays of each compared row and one for what moves, with its weight and its decision there;
            rows that stay keep their features, those moved have the new ones.
        """
        return self._rows("fair_distribution").distribution(
            backend or self.provenance.get("frame", "pyarrow")
        )

    def transport_plan(self) -> NDArray[np.float64]:
        """Who moves.

        Returns
        -------
        ndarray
            The probability that each row moves, in the audit's row order; ties at a band's edge share it.
        """
        self._rows("transport_plan")
        plan: NDArray[np.float64] = self.objects["plan"]
        return plan.copy()

    def _rows(self, who: str) -> MovedRows:
        if "moved" not in self.objects:
            why = reason(self.details["statistic"]) or (
                "it is not saved with a result, and not made where rows were only counted: run transport again on rows"
            )
            raise InputError(who, Fault("", f"there is no plan: {why}"))
        rows: MovedRows = self.objects["moved"]
        return rows

    def pictures(self) -> list[Picture]:
        """Rates now and after the change, then the distances of those who move and stay."""
        from fairtrial._transport.chart import pictures

        return pictures(self)

    def reading(self) -> list[str]:
        """What the numbers say, and what they do not."""
        sentences = [self.verdict.text]
        unit = self.details["distance"]["unit"]
        for part in self.details["bands"]:
            shared = part["share_at_edge"] < 1 and part["at_edge"] > 1
            tied = f"; {part['at_edge']:,} are tied at that edge and share the last places" if shared else ""
            sentences.append(
                f"{part['group']}, {part['metric']}: {part['mass']:,.1f} decisions change {part['direction']}, "
                f"none by more than {measured(part['farthest'], unit)}{tied}."
            )
        sentences.append(
            "The plan is the cheapest one under this distance. It shows how near the boundary the gap sits; it is not "
            "a recommendation to decide any person differently."
        )
        return sentences

    def to_publish(self) -> Self:
        """Without the distances of people near the boundary, and who shares the last places."""
        alone = dict.fromkeys(("tied", "cannot_move"))
        return replace(
            self,
            estimates=tuple({**row, **alone} for row in self.estimates),
            details={**self.details, "histogram": [], "bands": [], "tied": 0},
            notes=tuple(note for note in self.notes if note.code not in ("ties", "cannot-move")),
        )

    def primary(self) -> list[Primary]:
        """One p-value for all equalities; the widest gap stands for them."""
        p = self.p_value
        if p is None:
            return []
        criterion = str(self.details["criterion"]).replace("_", " ")
        compared = [row for row in self.estimates if scalar(row["difference"]) is not None]
        if not compared:
            subject = f"by {', '.join(self.details['by'])}" if self.details["by"] else "between its cells"
            return [Primary(criterion, subject, p, of_many=True)]
        widest = max(compared, key=lambda row: abs(float(scalar(row["difference"]))))
        gap, low, high = (
            _number(widest[name]) for name in ("difference", "difference_low", "difference_high")
        )
        metric = f"{criterion} ({widest['metric']})" if widest["metric"] else criterion
        against = str(widest["target"])
        return [
            Primary(
                metric, str(widest["group"]), p, gap, low, high, against=against, n=int(widest["n"]), of_many=True
            )
        ]  # fmt: skip


def _number(cell: Any) -> float | None:
    value = scalar(cell)
    return None if value is None else float(value)

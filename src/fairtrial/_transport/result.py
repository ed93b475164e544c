"""What transport returns: every group's rate now and after the smallest change, who moves, and the gap's p-value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fairtrial._compare.words import measured, number_words, sentence
from fairtrial._errors import Fault, InputError, Note
from fairtrial._results.column import (
    Column,
    Primary,
    StateKind,
    Tone,
    Verdict,
    reason,
    scalar,
    state_columns,
    with_limits,
)
from fairtrial._results.result import Result
from fairtrial._results.text import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fairtrial._results.charts import Picture
    from fairtrial._transport.compared_rates import ComparedRates
    from fairtrial._transport.movers import MovedRows, SmallestChange
    from fairtrial._transport.solver.gap_test import GapTest

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


# -- The sentences of a transport result.

ABOUT_THE_GAP = Note(
    "about-the-gap", "The p-value is about the gap in the rates, not about the size of the change."
)


def question_words(rates: ComparedRates) -> str:
    """What was asked."""
    if not rates.by:
        between = ""
    elif isinstance(rates.by[0], str):
        between = f" by {', '.join(rates.by)}"
    else:
        between = f" between {' and '.join(', '.join(map(str, group.values())) for group in rates.by)}"
    return f"How little would have to change for {rates.name.replace('_', ' ')}{between}?"


def null_words(rates: ComparedRates, allowed: NDArray[np.float64], direction: str) -> str:
    """The null hypothesis."""
    tolerance = float(allowed[0])
    words = " and ".join(dict.fromkeys(cell.metric for cell in rates.cells))
    if len(words) > 200:
        words = rates.name.replace("_", " ")
    if (allowed != tolerance).any():
        side = "" if direction == "differs" else f" {direction}"
        gaps = f"no gap of a group to its reference group in {words}"
        return f"There is {gaps} that is{side} more than its own tolerance."
    if direction == "differs":
        within = f" up to {_points(tolerance)}" if tolerance else ""
        return f"All compared groups have the same {words}{within}."
    beyond = f"more than {_points(tolerance)} {direction}" if tolerance else direction
    return f"No group's {words} is {beyond} its reference group's."


def _points(tolerance: float) -> str:
    return f"{100 * tolerance:g} {'point' if round(100 * tolerance, 6) == 1 else 'points'}"


def verdict(
    rows: list[dict[str, Any]],
    details: dict[str, Any],
    test: GapTest | str,
    level: float,
    at_once: Mapping[int, tuple[float, float]],
) -> Verdict:
    """Whether the gap is more than chance, and how large the change is; `at_once` are limits of all rows' gaps."""
    change, moved = _change_words(details), math.ceil(scalar(details["moved"]) or 0)
    if isinstance(test, str):
        return Verdict("not-tested", f"not tested: {test}; {change}", people=moved)
    gap, told = _gap_words(rows, level, at_once)
    p = "p < 0.001" if test.p_value < 0.001 else f"p = {test.p_value:.3f}"
    if test.p_value <= 1 - level:
        return Verdict(
            "violated", f"violated: {gap or 'the contrasts are not zero'}, {p}; {change}", told, moved
        )
    calm = f"no violation shown: {gap or 'the contrasts may be zero'}, {p} (this is not a certificate of fairness)"
    return Verdict("none-shown", f"{calm}; {change}", told, moved)


def _gap_words(
    rows: list[dict[str, Any]], level: float, at_once: Mapping[int, tuple[float, float]]
) -> tuple[str, tuple[dict[str, Any], ...]]:
    """The widest gap with the interval that holds for all, and what names its row; empty where no group has a
    reference."""
    gaps = {place: row for place, row in enumerate(rows) if isinstance(row["difference"], float)}
    if not gaps:
        return "", ()
    place, widest = max(gaps.items(), key=lambda item: abs(item[1]["difference"]))
    gap = sentence(
        widest["metric"], widest["group"], widest["target"], widest["difference"], *at_once[place], level, "points"
    )  # fmt: skip
    told = {name: widest[name] for name in ("metric", "group", "target")}
    several = "both" if len(gaps) == 2 else f"all {len(gaps)}"
    return gap + (f" (the widest, over {several} gaps at once)" if len(gaps) > 1 else ""), (told,)


def _change_words(details: dict[str, Any]) -> str:
    count = scalar(details["moved"])
    if count is None:
        return str(details["moved"]["reason"])
    if count == 0:
        return "nothing has to change for the criterion to hold in these data"
    moved = f"{count:,.1f}" if count >= 0.05 else "less than 0.1"
    people = counted(details["compared"], "person", "people")
    by = measured(details["mean_shift"], details["distance"]["unit"])
    return f"the smallest change moves {moved} of {people} across the boundary, on average by {by}"


def notes(rates: ComparedRates, change: SmallestChange, minimum: int) -> list[Note]:
    """What a reader must know of the test, the change and the groups."""
    found = [*change.distances.notes, ABOUT_THE_GAP, *_about_the_change(rates, change)]
    if rates.left_out:
        groups, alone = "groups were", "their"
        if len(rates.left_out) == 1:
            groups, alone = "group was", "its"
        few = f"under {counted(minimum, 'row')}, or alone in {alone} stratum"
        found.append(Note("left-out", f"{len(rates.left_out):,} {groups} not compared: {few}."))
    found += _about_references(rates)
    if len(rates.contrasts.families) > 1 and not rates.contrasts.disjoint:
        text = "People belong to several compared groups at once; all equalities are met by one plan."
        found.append(Note("overlapping", text))
    return found


def size_notes(details: dict[str, Any]) -> list[Note]:
    """How sure the size of the change is, or why that is not known."""
    found = details["intervals"]
    if reason(details["moved"]):
        return []
    if why := reason(found["moved_low"]):
        return [Note("no-size-interval", f"The size of the change has no interval: {why}.")]
    level = f"{100 * details['confidence_level']:g}%"
    text = (
        f"{level} intervals of the size of the change: {found['moved_low']:,.1f} to {found['moved_high']:,.1f} people "
        f"moved, N·P {_span(found, 'statistic')}, mean shift {_span(found, 'mean_shift')}."
    )
    return [Note("size-interval", text, math.ceil(scalar(details["moved"]) or 0))]


def _span(found: dict[str, Any], size: str) -> str:
    return " to ".join(number_words(found[f"{size}_{end}"], "number") for end in ("low", "high"))


def person_notes(rates: ComparedRates) -> list[Note]:
    """What repeated rows mean for the numbers."""
    if rates.person is None:
        return []
    text = (
        "A person may have several rows: n counts people, and the test and the intervals of gaps go by each person's "
        "sum. What is moved are decisions, one per row."
    )
    return [Note("repeated-people", text)]


def counted_notes(rates: ComparedRates, why: str) -> list[Note]:
    """That rows were counted and not read, where they were."""
    if rates.contrasts.count is None:
        return []
    text = (
        f"{why}: people alike in groups, decision, outcome and score were counted together. The numbers are those "
        "of their rows; a plan row by row is not kept."
    )
    return [Note("score-cells", text)]


def _about_references(rates: ComparedRates) -> list[Note]:
    """Where the group that others are compared with is too small, another takes its place: say so."""
    chosen: dict[str, set[str]] = {}
    for cell in rates.cells:
        if cell.reference >= 0:
            chosen.setdefault(cell.attribute, set()).add(rates.cells[cell.reference].group)
    several = [sorted(groups) for groups in chosen.values() if len(groups) > 1]
    if not several:
        return []
    named = "; ".join(" or ".join(groups) for groups in several)
    text = f"Groups are not compared with the same one everywhere ({named}): it has too few rows in some comparisons."
    return [Note("several-references", text)]


def _about_the_change(rates: ComparedRates, change: SmallestChange) -> list[Note]:
    """Why there is none, who shares its last places, and who cannot move."""
    distance = change.distances.values
    if distance is None:
        return [Note("no-distance", f"No smallest change: {change.why_none}.")]
    found = []
    tied = 0 if change.after is None else change.after.shared
    if tied > 1:
        edge = "the edge of a moved band and share its last places: the moved set is not unique"
        found.append(Note("ties", f"{tied:,} people are tied at {edge}.", tied))
    stuck = int(rates.counts[np.isinf(distance) & rates.compared_rows].sum())
    if stuck:
        people = counted(stuck, "compared person", "compared people")
        found.append(Note("cannot-move", f"{people} cannot cross the boundary at any cost.", stuck))
    return found

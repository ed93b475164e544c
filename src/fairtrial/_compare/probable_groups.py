"""Gaps of groups known only with a probability: bounds first, and beside them two answers with their assumptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Cells, LeftOut, Rows
from fairtrial._audit.counting import probable_rows
from fairtrial._compare.between_ends import Bounds
from fairtrial._compare.request import Request
from fairtrial._compare.words import number_words
from fairtrial._errors import Example, Fault, NotApplicable, Note, Set, Words
from fairtrial._inference.evidence.atoms import Comparison
from fairtrial._inference.evidence.members import Members
from fairtrial._inference.evidence.probable_groups import InfluenceEstimate as Answer
from fairtrial._inference.evidence.probable_groups import ProbableGap, ProbableRows, halves
from fairtrial._inference.laws.end_gaps import EndGaps, probable_gaps
from fairtrial._inference.numeric.roots import Floats
from fairtrial._metrics.groups import Target
from fairtrial._metrics.values import Metric
from fairtrial._results.column import undefined
from fairtrial._results.text import counted

DEPENDS = "depends on who belongs to the group, which is known only with a probability"
WHATEVER = "whoever belongs to the groups"
WEIGHTED = "if value and group are independent given the probabilities"
DUAL = "if value and probabilities are independent given the group"
NOT_TOLD = "the probabilities do not tell the groups apart"


@dataclass(frozen=True, slots=True, eq=False)
class ProbableCells:
    """The rows with their probabilities, and the groups counted by about how many people they have."""

    cells: Cells
    rows: Rows
    probable: ProbableRows
    divided: int  # rows whose probabilities were divided by their sum


def find_probable(
    who: str, audit: Audit, metric: Metric, attributes: tuple[str, ...], target: object
) -> ProbableCells | None:
    """The groups of the attribute compared, where it is known with a probability; None where it is not."""
    named = [name for name in attributes if name in audit.probable]
    if not named:
        return None
    _refuse(who, audit, metric, attributes, target)
    name = named[0]
    rows, weights, divided = probable_rows(who, audit, name, [metric])
    given = rows.given[metric.name]
    value = rows.values[metric.name][given]
    if not np.isin(value, (0.0, 1.0)).all():
        required = "averages real values; groups known with a probability are compared by rates"
        raise NotApplicable(
            who,
            Fault(
                "metric",
                required,
                subject=repr(metric.name),
                cure=Words("ask for a metric of rates, such as {}", Example("selection_rate")),
            ),
        )
    probable = ProbableRows(value, weights[given], halves(int(given.sum())))
    return ProbableCells(_cells(audit, name, metric, rows, probable), rows, probable, divided)


def _refuse(who: str, audit: Audit, metric: Metric, attributes: tuple[str, ...], target: object) -> None:
    faults = []
    if len(attributes) > 1:
        required = f"joins {', '.join(map(repr, attributes))}, but groups known with a probability are compared alone"
        probable = next(name for name in attributes if name in audit.probable)
        faults.append(Fault("by", required, cure=Words("use {}", Set("by", probable))))
    if not isinstance(target, Target):
        faults.append(
            Fault(
                "target",
                "of your own estimate is not for groups known with a probability",
                cure="name a group",
            )
        )
    faults += [
        Fault(name, "is not for groups known with a probability yet", cure="Leave it out")
        for name in ("weight", "unit", "pair")
        if audit.has(name)
    ]
    if faults:
        raise NotApplicable(who, faults)


def _cells(audit: Audit, name: str, metric: Metric, rows: Rows, probable: ProbableRows) -> Cells:
    labels = tuple(audit.probable[name])
    count = np.rint(probable.expected).astype(np.int64)
    nothing = np.zeros(len(labels))
    cells = Cells(
        attributes=(name,),
        labels={name: labels},
        codes=np.arange(len(labels), dtype=np.int32)[:, None],
        rows=count,
    )
    cells.count[metric.name], cells.total[metric.name], cells.binary[metric.name] = count, nothing, True
    cells.m2[metric.name] = cells.m3[metric.name] = cells.low[metric.name] = cells.high[metric.name] = nothing
    ungrouped = audit.count_rows() - rows.n if audit.missing == "drop" else 0
    lacking = audit.cells((), [metric], who=name).left_out[metric.name]
    cells.left_out[metric.name] = LeftOut(lacking.rows, ungrouped, lacking.lacking, lacking.needed)
    return cells


def probable_rates(found: ProbableCells, member: Members) -> EndGaps:
    """Each group's own rate: its gap to a known zero."""
    zero = Comparison(member, member.nobody(), np.zeros(member.shape[0]))
    return probable_gaps(found.probable, zero)[0]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ProbableBounds(Bounds):
    """The three answers of every gap."""

    answers: list[ProbableGap]

    def more_cells(self, index: int, level: float) -> dict[str, Any]:
        answer = self.answers[index]
        return {**_cells_of("weighted", answer.weighted, level), **_cells_of("dual", answer.dual, level)}

    def more_words(self, index: int, level: float) -> str:
        """Both other answers, each with what it assumes."""
        answer = self.answers[index]
        words = f"; {WEIGHTED}: {_interval_words(answer.weighted, level)}"
        return words + ("" if answer.dual is None else f"; {DUAL}: {_interval_words(answer.dual, level)}")


def _cells_of(name: str, answer: Answer | None, level: float) -> dict[str, Any]:
    if answer is None:
        return {
            name: undefined(NOT_TOLD),
            f"{name}_low": undefined(NOT_TOLD),
            f"{name}_high": undefined(NOT_TOLD),
        }
    low, high = answer.limits(level)
    return {name: answer.value, f"{name}_low": low, f"{name}_high": high}


def _interval_words(answer: Answer, level: float) -> str:
    low, high = answer.limits(level)
    gap, low_text, high_text = (f"{number_words(value, 'points')}" for value in (answer.value, low, high))
    return f"a gap of {gap} points ({100 * level:g}% interval {low_text} to {high_text})"


def probable_bounds(
    request: Request, found: ProbableCells, comparison: Comparison
) -> tuple[EndGaps, ProbableBounds, list[Note]]:
    """The gaps by their bounds, what is behind them, and what readers must know."""
    faults = request.refuse_interval("groups known with a probability")
    for name, asked in (("within", request.within), ("scale", request.scale == "ratio")):
        if asked:
            faults.append(Fault(name, "is not for groups known with a probability yet", cure="Leave it out"))
    overlap = (comparison.member & comparison.reference).any(axis=1) & ~comparison.reference.all(axis=1)
    if overlap.any():
        faults.append(Fault("target", "needs a reference that shares nobody with the groups compared"))
    if faults:
        raise NotApplicable(request.who, faults)
    gaps, answers = probable_gaps(found.probable, comparison)
    least, most = _rates(found.probable, comparison)
    gaps.rates = np.stack(least)
    bounds = ProbableBounds(
        comparison=comparison, least=least, most=most, source=found.rows, depends=DEPENDS, assumption=WHATEVER,
        answers=answers,
    )  # fmt: skip
    return gaps, bounds, _notes(found)


def _rates(rows: ProbableRows, comparison: Comparison) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """The smallest and the largest rate of groups and targets."""
    sides = []
    for groups in (comparison.member, comparison.reference):
        ends = [rows.ends(group, None) if group.any() else None for group in groups]
        sides.append(
            [np.array([0.0 if end is None else end[which].value for end in ends]) for which in (0, 1)]
        )
    return (np.clip(sides[0][0], 0, 1), np.clip(sides[1][0], 0, 1)), (
        np.clip(sides[0][1], 0, 1),
        np.clip(sides[1][1], 0, 1),
    )


def _notes(found: ProbableCells) -> list[Note]:
    text = (
        "Groups are known only with a probability; nobody is put into one by a threshold, and n is about how many "
        "people a group has. Bounds hold whoever belongs to the groups, if the probabilities are right on average "
        "among people with alike ones; branches are chosen on one half of the rows and estimated on the other. The "
        "weighted gap is right if value and group are independent given the probabilities, the dual one if value and "
        "probabilities are independent given the group. The truth need not lie between the two."
    )
    notes = [Note("probable-groups", text)]
    if found.divided:
        rows = counted(found.divided, "row")
        notes.append(
            Note("divided", f"The probabilities of {rows} do not sum to 1 exactly; divided by their sum.")
        )
    return notes

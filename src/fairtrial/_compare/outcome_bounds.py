"""Gaps of which some outcomes are unknown: what is refused, what stands in the tables, and what is said of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Cells
from fairtrial._audit.groups import check_not_continuous
from fairtrial._audit.schema import UnknownOutcomes
from fairtrial._audit.unknown_outcomes import OutcomeCells, outcome_cells
from fairtrial._compare.between_ends import Bounds
from fairtrial._compare.inference_asked import Inference, refuse_ways
from fairtrial._errors import Fault, NotApplicable, Note, Set, Words
from fairtrial._inference.compare.end_gaps import EndGaps, PartlyLabelled, RateEnds, label_gaps
from fairtrial._inference.evidence.atoms import Atoms, Comparison
from fairtrial._inference.evidence.members import Members
from fairtrial._inference.numeric.roots import Floats
from fairtrial._metrics.groups import Target
from fairtrial._metrics.metric import Metric
from fairtrial._metrics.values import Role
from fairtrial._results.text import counted

if TYPE_CHECKING:
    from fairtrial._compare.sorted_groups import Estimate

DEPENDS = "depends on the people whose outcome is unknown"


def find_unknown(
    who: str, audit: Audit, metric: Metric, attributes: tuple[str, ...], target: Target | Estimate
) -> OutcomeCells | None:
    """Who lacks an outcome that the metric needs; None where nobody does or nothing is said of such people."""
    if audit.unlabelled is None or "outcome" not in metric.needs:
        return None
    _refuse_metric(who, audit, metric)
    for name in audit.unlabelled.alike:
        check_not_continuous(who, audit, name, "unlabelled")
    found = outcome_cells(who, audit, attributes, metric, audit.unlabelled.alike)
    if not found.matters:
        return None
    faults = [*_target_faults(target)]
    faults += [
        Fault(name, "is not for audits that reckon with people without an outcome yet", cure="Leave it out")
        for name in ("weight", "unit", "pair")
        if audit.has(name)
    ]
    if faults:
        raise NotApplicable(who, faults)
    return found


def _refuse_metric(who: str, audit: Audit, metric: Metric) -> None:
    """Bounds are of rates whose every part is known but the outcome."""
    why = ""
    if audit.outcome_is_real:
        why = f"needs an outcome of 0 and 1 where some are unknown, but {audit.roles.subject('outcome')} is real-valued"
    elif not isinstance(metric.value, Role) or not (metric.value.binary or metric.value.name == "outcome"):
        why = "averages real values; what unknown outcomes may change is reckoned for rates"
    elif metric.expression is not None:
        why = "has a condition of your own, which may read outcomes that are unknown"
    if why:
        cure = Words("Leave {} out", Set("unlabelled", of="Audit"))
        raise NotApplicable(who, Fault("metric", why, subject=repr(metric.name), cure=cure))


def _target_faults(target: Target | Estimate) -> list[Fault]:
    cure = Words("use {}, a reference group or a number", Set("target", "rest"))
    if not isinstance(target, Target):
        return [Fault("target", "of your own estimate is not for unknown outcomes", cure=cure)]
    if target.kind != "overall":
        return []
    required = (
        "'overall' contains the group itself: where outcomes are unknown, the largest gap to it need not lie where the "
        "group's rate is largest"
    )
    return [Fault("target", required, cure=cure)]


def refuse_inference(who: str, inference: Inference) -> None:
    """Ways of inference that know no ends, by name."""
    faults = refuse_ways(inference, "unknown outcomes: both ends have the ordinary law of rates")
    if inference.within:
        faults.append(Fault("within", "is not for unknown outcomes yet", cure="Leave it out"))
    if faults:
        raise NotApplicable(who, faults)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OutcomeBounds(Bounds):
    """The labels behind the gaps, and whom each gap leaves open."""

    assumed: UnknownOutcomes
    labels: PartlyLabelled
    decision: Floats

    @property
    def open(self) -> Floats:
        """People of each group whose unknown outcome matters."""
        member = self.comparison.member
        return np.asarray(member @ np.bincount(self.labels.atom, self.labels.open, member.shape[1]))

    def more_cells(self, index: int, level: float) -> dict[str, Any]:
        return {"unknown": int(self.open[index])}


def labels_of(found: OutcomeCells, assumed: UnknownOutcomes) -> PartlyLabelled:
    """What inference works on."""
    return PartlyLabelled(
        found.atom, found.ones, found.zeros, found.unknown, found.value1, found.given1, found.value0, found.given0,
        assumed.odds,
    )  # fmt: skip


def bound_gaps(
    who: str,
    found: OutcomeCells,
    assumed: UnknownOutcomes,
    comparison: Comparison,
    atoms: Atoms,
    inference: Inference,
) -> tuple[EndGaps, OutcomeBounds]:
    """The gaps at both ends, and what is behind them."""
    refuse_inference(who, inference)
    if comparison.shared(atoms).any():
        required = "needs a reference that shares nobody with the groups compared: some outcomes are unknown"
        raise NotApplicable(who, Fault("target", required))
    labels = labels_of(found, assumed)
    gaps = label_gaps(labels, comparison, inference.scale)
    return gaps, outcome_bounds(labels, comparison, assumed, found.decision, found.kinds)


def outcome_bounds(
    labels: PartlyLabelled, comparison: Comparison, assumed: UnknownOutcomes, decision: Floats, source: Cells
) -> OutcomeBounds:
    """What is behind the gaps."""
    rates = RateEnds(labels, comparison)
    least, most = ((rates.group[end].rate, rates.reference[end].rate) for end in (0, 1))
    return OutcomeBounds(
        comparison=comparison, least=least, most=most, source=source, depends=DEPENDS, assumption=assumed.words,
        assumed=assumed, labels=labels, decision=decision,
    )  # fmt: skip


def own_rates(found: OutcomeCells, assumed: UnknownOutcomes, member: Members) -> EndGaps:
    """Each group's own rate: its gap to a known zero."""
    labels = labels_of(found, assumed)
    zero = Comparison(member, member.nobody(), np.zeros(member.shape[0]))
    return label_gaps(labels, zero)


def bounds_note(bounds: OutcomeBounds) -> Note:
    """What the numbers assume, and how they are to be read."""
    text = (
        "Some outcomes are unknown. Gaps are between the least and the largest one that is possible "
        f"{bounds.assumed.words}; intervals cover every gap between the two (Imbens–Manski), and a finding or a "
        "certificate holds for all of them."
    )
    if bounds.assumed.assumed:
        text += " The data cannot show whether that is so, unless those labelled were drawn at random."
        labels = bounds.labels
        alone = int(labels.open[(labels.ones + labels.zeros) == 0].sum())
        if alone:
            text += (
                f" Of {counted(alone, 'person', 'people')} without anybody labelled alike nothing is assumed."
            )
    return Note("unknown-outcomes", text)
